//! The socket of a radio in Ropewalk's lab (docs/guide/link.md has the protocol for other programs).
//!
//! It is an abstract Unix socket, so it belongs to the node's network namespace: `wlan0` of one node is not that of another, and nothing of it outlives the
//! lab. Whoever may open sockets in a namespace could take the name first, so only root and this process's own user are believed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt,
};

use super::{Channel, Events, FeedbackError, LinkFeedback, LinkReport, Load, Source, Station, index_of};

/// What messages begin with.
const MAGIC: [u8; 4] = *b"RWLF";
/// The version of the protocol that this speaks.
const VERSION: u16 = 1;
const SUBSCRIBE: u16 = 1;
const STATE: u16 = 2;
const REFUSAL: u16 = 3;
const SWITCH: u16 = 4;
const DONE: u16 = 5;
/// Fixed parts of a state and of each of its stations, of version 1.
const HEADER: usize = 128;
const STATION: usize = 128;
/// The longest message of version 1: 64 stations, with room for what later minor versions add at the ends of their parts.
const LONGEST: usize = 32 * 1024;
/// How long the lab may take to answer; a thread of its own does nothing else.
const PATIENCE: Duration = Duration::from_millis(500);

/// The name of the socket of an interface, without the zero byte that makes it abstract.
pub fn socket_name(interface: &str) -> String {
    format!("ropewalk-radio/{interface}")
}

/// The socket.
pub(super) struct Lab {
    socket: OwnedFd,
    buffer: Box<[u8]>,
    last: LinkReport,
}

/// The radio of an interface, if a lab has it.
pub(crate) fn open(interface: &str, every: Duration) -> Result<Box<dyn LinkFeedback>, FeedbackError> {
    Ok(Box::new(Lab::open(interface, every)?))
}

/// Has the access point of an interface announce another channel.
pub(crate) fn announce(interface: &str, to_mhz: u32, beacons: u8) -> Result<(), FeedbackError> {
    let mut message = subscribe(Duration::ZERO);
    message[6..8].copy_from_slice(&SWITCH.to_le_bytes());
    message[8..12].copy_from_slice(&to_mhz.to_le_bytes());
    message[12] = beacons;
    let mut lab = Lab::call(interface, &message)?;
    lab.wait()?;
    match recv(&lab.socket, &mut lab.buffer[..], RecvFlags::DONTWAIT) {
        Ok((len, _)) if len >= 8 && Fields(&lab.buffer[..len]).u16(6) == DONE => Ok(()),
        Ok((0, _)) | Err(_) => Err(FeedbackError::Gone(Source::Lab)),
        Ok((len, _)) => parse(&lab.buffer[..len]).map(drop),
    }
}

impl Lab {
    pub(super) fn open(interface: &str, every: Duration) -> Result<Lab, FeedbackError> {
        let mut lab = Lab::call(interface, &subscribe(every))?;
        lab.wait()?;
        lab.read()?;
        Ok(lab)
    }

    /// Connects, and says one thing.
    fn call(interface: &str, message: &[u8]) -> Result<Lab, FeedbackError> {
        index_of(interface)?;
        let none = |e: Errno| match e {
            Errno::CONNREFUSED | Errno::NOENT => {
                FeedbackError::unsupported(Source::Lab, "this is no radio of a lab")
            }
            e => FeedbackError::System(e.into()),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(io::Error::from)?;
        let name = SocketAddrUnix::new_abstract_name(socket_name(interface).as_bytes()).map_err(none)?;
        connect(&socket, &name).map_err(none)?;
        believe(&socket)?;
        send(&socket, message, SendFlags::NOSIGNAL).map_err(none)?;
        Ok(Lab { socket, buffer: vec![0; LONGEST].into(), last: LinkReport::default() })
    }

    /// Waits for the first answer.
    fn wait(&self) -> Result<(), FeedbackError> {
        let limit = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&limit)) {
            Ok(0) => Err(FeedbackError::unsupported(Source::Lab, "the lab does not answer")),
            Ok(_) => Ok(()),
            Err(e) => Err(FeedbackError::System(e.into())),
        }
    }
}

impl LinkFeedback for Lab {
    fn source(&self) -> Source {
        Source::Lab
    }

    /// All that has come is taken; the newest counts.
    fn read(&mut self) -> Result<LinkReport, FeedbackError> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(FeedbackError::Gone(Source::Lab)),
                Ok((len, whole)) if len == whole => self.last = parse(&self.buffer[..len])?,
                Ok(_) => return Err(FeedbackError::not_understood(Source::Lab, "a message too long")),
                Err(Errno::AGAIN) => return Ok(self.last.clone()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(FeedbackError::Gone(Source::Lab)),
            }
        }
    }

    fn events(&self) -> Events<'_> {
        Events::Readable(self.socket.as_fd())
    }
}

/// Refuses a socket that somebody else listens at.
fn believe(socket: &OwnedFd) -> Result<(), FeedbackError> {
    let other = sockopt::socket_peercred(socket).map_err(io::Error::from)?;
    let own = rustix::process::geteuid();
    if other.uid.is_root() || other.uid == own {
        return Ok(());
    }
    let sentence =
        format!("the socket is user {}'s, who is neither root nor who runs this", other.uid.as_raw());
    Err(FeedbackError::unsupported(Source::Lab, sentence))
}

/// The message that asks for updates, no more often than so.
fn subscribe(every: Duration) -> [u8; 16] {
    let interval_us = u32::try_from(every.as_micros()).unwrap_or(u32::MAX);
    let mut message = [0; 16];
    message[..4].copy_from_slice(&MAGIC);
    message[4..6].copy_from_slice(&VERSION.to_le_bytes());
    message[6..8].copy_from_slice(&SUBSCRIBE.to_le_bytes());
    message[8..12].copy_from_slice(&interval_us.to_le_bytes());
    message
}

/// Little-endian numbers at places of a message; beyond its end all is 0.
struct Fields<'m>(&'m [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    fn nanoseconds(&self, at: usize) -> Duration {
        Duration::from_nanos(self.u64(at))
    }
}

/// Reads a message of the lab.
fn parse(message: &[u8]) -> Result<LinkReport, FeedbackError> {
    let bad = |sentence: String| FeedbackError::not_understood(Source::Lab, sentence);
    let f = Fields(message);
    if message.len() < 8 || f.bytes(0) != MAGIC {
        return Err(bad("something else than the protocol of radios".into()));
    }
    let (version, kind) = (f.u16(4), f.u16(6));
    if kind == REFUSAL {
        let sentence = String::from_utf8_lossy(&message[8..]).into_owned();
        return Err(FeedbackError::unsupported(Source::Lab, sentence));
    }
    if (version, kind) != (VERSION, STATE) {
        return Err(bad(format!("version {version}, message {kind}")));
    }
    let (header, step, stations) = (usize::from(f.u16(8)), usize::from(f.u16(10)), usize::from(f.u16(12)));
    if header < HEADER || step < STATION || message.len() != header + step * stations {
        return Err(bad(format!("{stations} stations in {} bytes", message.len())));
    }
    Ok(LinkReport {
        epoch: 0,
        delivered: f.u64(40),
        failed: f.u64(48).saturating_add(f.u64(56)).saturating_add(f.u64(64)),
        retries: f.u64(72),
        backlog_packets: f.u32(16),
        backlog_bytes: f.u64(32),
        tx_rate_bps: f.u64(80),
        channel: Some(Channel {
            frequency_mhz: f.u32(112),
            width_mhz: f.u32(116),
            load: Some(Load { observed: f.nanoseconds(104), busy: f.nanoseconds(96) }),
        }),
        stations: message[header..].chunks_exact(step).map(station).collect(),
    })
}

fn station(part: &[u8]) -> Station {
    let f = Fields(part);
    let flags = f.u16(6);
    Station {
        mac: f.bytes(0),
        // Bit 0: something was heard of it, so that what follows from that is known.
        signal_dbm: (flags & 1 != 0).then(|| f64::from(f.u32(8) as i32) / 1e3),
        tx_rate_bps: f.u64(16),
        rx_rate_bps: f.u64(24),
        expected_bps: 0,
        inactive: (flags & 1 != 0).then(|| f.nanoseconds(32)),
        delivered: f.u64(40),
        delivered_bytes: f.u64(48),
        failed: f.u64(56),
        retries: f.u64(64),
        received: f.u64(72),
        received_bytes: f.u64(80),
        airtime_tx: Some(f.nanoseconds(88)),
        airtime_rx: Some(f.nanoseconds(96)),
        backlog_bytes: f.u64(104),
        backlog_packets: [112, 116, 120, 124].map(|at| f.u32(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state as the table in docs/guide/link.md has it: every field another number.
    fn state(header: usize, step: usize, stations: usize) -> Vec<u8> {
        let mut m = vec![0; header + step * stations];
        m[..4].copy_from_slice(b"RWLF");
        let mut u16_at = |at: usize, v: u16| m[at..at + 2].copy_from_slice(&v.to_le_bytes());
        u16_at(4, 1);
        u16_at(6, 2);
        u16_at(8, header as u16);
        u16_at(10, step as u16);
        u16_at(12, stations as u16);
        m[16..20].copy_from_slice(&17u32.to_le_bytes());
        for at in (24..112).step_by(8) {
            m[at..at + 8].copy_from_slice(&(at as u64).to_le_bytes());
        }
        m[112..116].copy_from_slice(&5180u32.to_le_bytes());
        m[116..120].copy_from_slice(&40u32.to_le_bytes());
        for i in 0..stations {
            let s = &mut m[header + i * step..][..step];
            s[..6].copy_from_slice(&[2, 0, 0, 0, 0, i as u8]);
            s[6] = 1;
            s[8..12].copy_from_slice(&(-51_500i32).to_le_bytes());
            for at in (16..112).step_by(8) {
                s[at..at + 8].copy_from_slice(&(at as u64).to_le_bytes());
            }
            s[112..116].copy_from_slice(&3u32.to_le_bytes());
            s[124..128].copy_from_slice(&4u32.to_le_bytes());
        }
        m
    }

    #[test]
    fn every_field_is_where_the_table_says() {
        let report = parse(&state(HEADER, STATION, 2)).unwrap();
        assert_eq!((report.delivered, report.failed, report.retries), (40, 48 + 56 + 64, 72));
        assert_eq!((report.backlog_packets, report.backlog_bytes, report.tx_rate_bps), (17, 32, 80));
        let channel = report.channel.unwrap();
        assert_eq!((channel.frequency_mhz, channel.width_mhz), (5180, 40));
        let load = channel.load.unwrap();
        assert_eq!((load.busy, load.observed), (Duration::from_nanos(96), Duration::from_nanos(104)));
        let s = &report.stations[1];
        assert_eq!((s.mac, s.signal_dbm), ([2, 0, 0, 0, 0, 1], Some(-51.5)));
        assert_eq!((s.tx_rate_bps, s.rx_rate_bps, s.inactive), (16, 24, Some(Duration::from_nanos(32))));
        assert_eq!((s.delivered, s.delivered_bytes, s.failed, s.retries), (40, 48, 56, 64));
        assert_eq!((s.received, s.received_bytes), (72, 80));
        assert_eq!(
            (s.airtime_tx, s.airtime_rx),
            (Some(Duration::from_nanos(88)), Some(Duration::from_nanos(96)))
        );
        assert_eq!((s.backlog_bytes, s.backlog_packets), (104, [3, 0, 0, 4]));
    }

    #[test]
    fn longer_parts_of_a_later_lab_are_read_as_far_as_they_are_known() {
        let longer = parse(&state(HEADER + 8, STATION + 16, 3)).unwrap();
        assert_eq!(longer.stations, parse(&state(HEADER, STATION, 3)).unwrap().stations);
    }

    #[test]
    fn nonsense_is_refused() {
        let whole = state(HEADER, STATION, 1);
        for damaged in [
            vec![],
            b"RWLF".to_vec(),
            vec![255; 300],
            whole[..whole.len() - 1].to_vec(),
            [whole.clone(), vec![0]].concat(),
            {
                let mut m = whole.clone();
                m[4] = 2;
                m
            },
            {
                let mut m = whole.clone();
                m[6] = 9;
                m
            },
            {
                let mut m = whole.clone();
                m[8] = 0;
                m
            },
        ] {
            assert!(matches!(parse(&damaged), Err(FeedbackError::NotUnderstood { .. })), "{damaged:?}");
        }
    }

    #[test]
    fn a_refusal_is_said_in_the_labs_words() {
        let words = "too many readers";
        let message = [&b"RWLF\x01\x00\x03\x00"[..], words.as_bytes()].concat();
        assert_eq!(parse(&message).unwrap_err().to_string(), "lab: too many readers");
    }

    #[test]
    fn asking_is_sixteen_bytes() {
        assert_eq!(
            subscribe(Duration::from_micros(500)),
            *b"RWLF\x01\x00\x01\x00\xf4\x01\x00\x00\x00\x00\x00\x00"
        );
    }
}
