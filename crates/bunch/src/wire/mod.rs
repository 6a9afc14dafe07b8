//! Messages between access points and the gateway. The page is `docs/bunch-protocol.md`; its test
//! vectors are compared with this reader and writer.

pub mod report;
pub mod varint;
#[cfg(test)]
mod vectors;

pub use report::{Heard, List, MAX_NUMBER, Names, Run};

use crate::{Flow, Mac, hash::Key};
use std::net::{Ipv4Addr, SocketAddrV4};
use varint::Reader;

/// The longest message, bytes: a packet of 64 KiB and its head. Longer ones end the tunnel.
pub const MAX_MESSAGE: usize = 66_000;
/// Ranges of numbers in one SCHEDULE.
pub const MAX_RANGES: u64 = 1024;

/// An access point takes part in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The access point's own number for the session, in this tunnel.
    pub session: u8,
    /// It is the home access point.
    pub home: bool,
    /// What the session is for.
    pub flow: Flow,
    /// Home: the sender's address and port behind the home's address translation; none without one.
    pub outer: Option<SocketAddrV4>,
    /// What it drew when it started: another one means that what it held is gone.
    pub boot: u64,
}

/// A packet on its way to the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The session, as the access point numbers it.
    pub session: u8,
    /// The packet's number.
    pub number: u64,
    /// What [`crate::elide`] leaves of it.
    pub elided: Vec<u8>,
}

/// What access points and gateway tell each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// AP: it takes part.
    Register(Register),
    /// Home AP: which number is which part of the stream, and that it holds them.
    List(List),
    /// Other APs: which numbers they hold.
    Heard(Heard),
    /// AP: a packet.
    Data(Data),
    /// AP: a sign of life; bytes that its tunnel's send buffer has room for.
    Alive {
        /// Bytes.
        room: u64,
    },
    /// Gateway: answer to REGISTER.
    Registered {
        /// The session.
        session: u8,
        /// Number of the access point in the session.
        apid: u8,
        /// For anchors.
        key: Key,
        /// Home AP: chooses what is audited.
        audit: Option<Key>,
    },
    /// Gateway: who forwards these numbers, as first and count.
    Schedule {
        /// The session.
        session: u8,
        /// The chosen access point.
        apid: u8,
        /// Numbers in the order in which they are to leave.
        ranges: Vec<(u64, u64)>,
    },
    /// Gateway: the receiver has acknowledged all below this. TCP: number of a byte. UDP: of a packet.
    Release {
        /// The session.
        session: u8,
        /// The first that is to be kept.
        below: u64,
    },
    /// Gateway: a packet for the sender.
    Down {
        /// The whole packet.
        packet: Vec<u8>,
    },
    /// Gateway: nobody else hears the sender, so packets go their ordinary way; or no longer.
    Native {
        /// The session.
        session: u8,
        /// Their ordinary way.
        on: bool,
    },
    /// Gateway: the session is over; all of it may be forgotten.
    Close {
        /// The session.
        session: u8,
    },
    /// Home AP to a neighbour, over their own network: a packet that it holds, for those that
    /// cannot overhear it.
    Share(Box<Share>),
}

/// A captured packet, handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The session.
    pub flow: Flow,
    /// The packet's number at the home access point.
    pub number: u64,
    /// The whole packet.
    pub packet: Vec<u8>,
}

fn put_address(out: &mut Vec<u8>, a: SocketAddrV4) {
    out.extend_from_slice(&a.ip().octets());
    out.extend_from_slice(&a.port().to_be_bytes());
}

fn address(r: &mut Reader<'_>) -> Option<SocketAddrV4> {
    Some(SocketAddrV4::new(Ipv4Addr::from(r.array::<4>()?), u16::from_be_bytes(r.array()?)))
}

fn put_flow(out: &mut Vec<u8>, flow: &Flow) {
    out.extend_from_slice(&flow.bssid);
    out.extend_from_slice(&flow.station);
    out.extend_from_slice(&[flow.tid, flow.protocol]);
    put_address(out, flow.source);
    put_address(out, flow.destination);
}

fn flow(r: &mut Reader<'_>) -> Option<Flow> {
    let (bssid, station): (Mac, Mac) = (r.array()?, r.array()?);
    let [tid, protocol] = r.array()?;
    let (source, destination) = (address(r)?, address(r)?);
    let known = tid < 8 && matches!(protocol, 6 | 17);
    known.then_some(Flow { bssid, station, tid, protocol, source, destination })
}

fn put_register(out: &mut Vec<u8>, m: &Register) {
    let flags = u8::from(m.home) | u8::from(m.outer.is_some()) << 1;
    out.extend_from_slice(&[m.session, flags]);
    put_flow(out, &m.flow);
    m.outer.into_iter().for_each(|a| put_address(out, a));
    out.extend_from_slice(&m.boot.to_be_bytes());
}

fn register(r: &mut Reader<'_>) -> Option<Register> {
    let [session, flags] = r.array()?;
    let flow = flow(r)?;
    let outer = if flags & 2 != 0 { Some(address(r)?) } else { None };
    let boot = u64::from_be_bytes(r.array()?);
    (flags <= 3).then_some(Register { session, home: flags & 1 != 0, flow, outer, boot })
}

impl Message {
    /// Appends the message with its length, as it goes into a tunnel.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(64);
        self.write_body(&mut body);
        varint::put(out, body.len() as u64);
        out.extend_from_slice(&body);
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        match self {
            Message::Register(m) => {
                out.push(1);
                put_register(out, m);
            }
            Message::List(m) => {
                out.push(2);
                m.write(out);
            }
            Message::Heard(m) => {
                out.push(3);
                m.write(out);
            }
            Message::Data(m) => {
                out.extend_from_slice(&[4, m.session]);
                varint::put(out, m.number);
                out.extend_from_slice(&m.elided);
            }
            Message::Alive { room } => {
                out.push(5);
                varint::put(out, *room);
            }
            Message::Registered { session, apid, key, audit } => {
                out.extend_from_slice(&[16, *session, *apid, u8::from(audit.is_some())]);
                out.extend_from_slice(key);
                audit.iter().for_each(|a| out.extend_from_slice(a));
            }
            Message::Schedule { session, apid, ranges } => {
                out.extend_from_slice(&[17, *session, *apid]);
                varint::put(out, ranges.len() as u64);
                let mut last = 0;
                for (first, count) in ranges {
                    varint::put_signed(out, first.wrapping_sub(last) as i64);
                    varint::put(out, *count);
                    last = first.wrapping_add(*count);
                }
            }
            Message::Release { session, below } => {
                out.extend_from_slice(&[18, *session]);
                varint::put(out, *below);
            }
            Message::Down { packet } => {
                out.push(19);
                out.extend_from_slice(packet);
            }
            Message::Native { session, on } => out.extend_from_slice(&[20, *session, u8::from(*on)]),
            Message::Close { session } => out.extend_from_slice(&[21, *session]),
            Message::Share(m) => {
                out.push(32);
                put_flow(out, &m.flow);
                varint::put(out, m.number);
                out.extend_from_slice(&m.packet);
            }
        }
    }

    /// Reads a message without its length. None if it is none that this version knows, or damaged.
    pub fn read(body: &[u8]) -> Option<Message> {
        let mut r = Reader::new(body);
        let m = match r.byte()? {
            1 => Message::Register(register(&mut r)?),
            2 => Message::List(List::read(&mut r)?),
            3 => Message::Heard(Heard::read(&mut r)?),
            4 => {
                let (session, number) = (r.byte()?, packet_number(&mut r)?);
                Message::Data(Data { session, number, elided: r.rest().to_vec() })
            }
            5 => Message::Alive { room: r.number()? },
            16 => {
                let [session, apid, audits] = r.array()?;
                let key = r.array()?;
                let audit = if audits != 0 { Some(r.array()?) } else { None };
                Message::Registered { session, apid, key, audit }
            }
            17 => schedule(&mut r)?,
            18 => Message::Release { session: r.byte()?, below: r.number()? },
            19 => Message::Down { packet: r.rest().to_vec() },
            20 => Message::Native { session: r.byte()?, on: r.byte()? != 0 },
            21 => Message::Close { session: r.byte()? },
            32 => {
                let (flow, number) = (flow(&mut r)?, packet_number(&mut r)?);
                Message::Share(Box::new(Share { flow, number, packet: r.rest().to_vec() }))
            }
            _ => return None,
        };
        r.is_empty().then_some(m)
    }
}

fn packet_number(r: &mut Reader<'_>) -> Option<u64> {
    r.number().filter(|n| *n < MAX_NUMBER)
}

fn schedule(r: &mut Reader<'_>) -> Option<Message> {
    let [session, apid] = r.array()?;
    let count = r.number().filter(|n| *n <= MAX_RANGES)?;
    let mut last = 0u64;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let first = last.checked_add_signed(r.signed()?)?;
        let count = r.number().filter(|n| *n <= 1 << 16)?;
        last = first.checked_add(count).filter(|end| *end <= MAX_NUMBER)?;
        ranges.push((first, count));
    }
    Some(Message::Schedule { session, apid, ranges })
}

/// The stream is no stream of messages: the tunnel has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a message of {0} bytes, where {MAX_MESSAGE} are the most: the other end speaks something else; see that both run the same version"
)]
pub struct TooLong(pub u64);

/// Why there is no next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The stream is none of messages.
    #[error(transparent)]
    Long(#[from] TooLong),
    /// It names more packets than its sender may.
    #[error("a report names more packets than its sender may: it speaks for more than there can be")]
    Many,
}

/// Cuts a stream of bytes into messages. One at a time: a message of ten bytes may name 32,768
/// numbers.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    rest: Vec<u8>,
    /// Bytes of it that are done with.
    used: usize,
    data_bytes: u64,
    other_bytes: u64,
}

impl Splitter {
    /// Takes bytes of the stream. At most these and one message are kept, if
    /// [`next_message`](Self::next_message) is called until there is none.
    pub fn push(&mut self, bytes: &[u8]) {
        self.rest.drain(..self.used);
        self.used = 0;
        self.rest.extend_from_slice(bytes);
    }

    /// The next whole message; none before more bytes come. Unknown ones are left out.
    ///
    /// # Errors
    /// A length that no message has.
    pub fn next_message(&mut self) -> Result<Option<Message>, TooLong> {
        match self.next_message_if(|_| true) {
            Ok(message) => Ok(message),
            Err(Stop::Long(error)) => Err(error),
            Err(Stop::Many) => Ok(None),
        }
    }

    /// The same, where a report is asked about before a list is made of it: ten bytes can name
    /// 32,768 packets.
    ///
    /// # Errors
    /// A length that no message has, or a report that may not name so many.
    pub fn next_message_if(&mut self, mut may: impl FnMut(Names) -> bool) -> Result<Option<Message>, Stop> {
        loop {
            let rest = &self.rest[self.used..];
            let mut r = Reader::new(rest);
            let Some(len) = r.number() else {
                return if rest.len() > 9 { Err(TooLong(u64::MAX).into()) } else { Ok(None) };
            };
            if len > MAX_MESSAGE as u64 {
                return Err(TooLong(len).into());
            }
            let Some(body) = r.take(len as usize) else { return Ok(None) };
            if Names::of(body).is_some_and(|names| !may(names)) {
                return Err(Stop::Many);
            }
            let message = Message::read(body);
            let bytes = rest.len() - r.rest().len();
            self.used += bytes;
            match message {
                Some(Message::Data(_)) => self.data_bytes += bytes as u64,
                _ => self.other_bytes += bytes as u64,
            }
            if message.is_some() {
                return Ok(message);
            }
        }
    }

    /// Bytes so far of messages with packets, and of all others.
    pub fn counts(&self) -> (u64, u64) {
        (self.data_bytes, self.other_bytes)
    }
}

/// All messages of these bytes.
#[cfg(test)]
pub(crate) fn all(bytes: &[u8]) -> Result<Vec<Message>, TooLong> {
    let mut splitter = Splitter::default();
    splitter.push(bytes);
    core::iter::from_fn(|| splitter.next_message().transpose()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_asked_about_before_it_is_a_list() {
        let heard = Heard { session: 0, room: 0, numbers: (0..1 << 15).collect(), marks: vec![] };
        let mut bytes = Vec::new();
        Message::Heard(heard).write(&mut bytes);
        assert!(bytes.len() < 12, "{}", bytes.len());
        // Damaged behind its numbers it is no message, and costs no less.
        let behind = [&[bytes[0] + 1][..], &bytes[1..], &[9]].concat();
        // Nor within them: a second run that lies past what a report covers.
        let mut within = vec![3, 0, 0, 0, 2];
        [1 << 15, 1].into_iter().for_each(|len| varint::put(&mut within, len));
        let within = [&[within.len() as u8][..], &within].concat();
        for stream in [&bytes, &behind, &within] {
            let mut splitter = Splitter::default();
            splitter.push(stream);
            let mut asked = None;
            let refused = splitter.next_message_if(|names| {
                asked = Some(names.numbers);
                false
            });
            assert_eq!((refused, asked), (Err(Stop::Many), Some(1 << 15)));
        }
        // The null case: what names nothing is not asked about.
        let mut splitter = Splitter::default();
        Message::Alive { room: 5 }.write(&mut bytes);
        splitter.push(&bytes[bytes.len() - 3..]);
        let alive = splitter.next_message_if(|_| unreachable!());
        assert_eq!(alive, Ok(Some(Message::Alive { room: 5 })));
    }

    #[test]
    fn messages_come_one_by_one_however_the_stream_is_cut() {
        let mut stream = Vec::new();
        (0..50).for_each(|room| Message::Alive { room: room << 20 }.write(&mut stream));
        // An unknown one, and a length that none has.
        stream.extend([2, 99, 0, 0xFF, 0xFF, 0xFF, 0x7F]);
        for step in [1, 2, 7, stream.len()] {
            let (mut splitter, mut got, mut end) = (Splitter::default(), 0, None);
            for part in stream.chunks(step) {
                splitter.push(part);
                loop {
                    match splitter.next_message() {
                        Ok(Some(message)) => assert_eq!(message, Message::Alive { room: got << 20 }),
                        Ok(None) => break,
                        Err(error) => {
                            end = Some(error);
                            break;
                        }
                    }
                    got += 1;
                }
                assert!(splitter.rest.len() <= step + 10, "{}", splitter.rest.len());
            }
            assert_eq!((got, end), (50, Some(TooLong(0x0FFF_FFFF))), "{step}");
            assert_eq!(splitter.counts(), (0, stream.len() as u64 - 4));
        }
    }
}
