//! Packets without the headers that the gateway knows.
//!
//! The gateway knows a session's addresses and ports, and from the home access point's list where
//! the payload of each number begins. What else is in the headers follows from the packet before in
//! the same tunnel, or is said. The checksum of TCP or UDP always goes along: it covers what was
//! left out, so a packet that was put together wrongly is seen.
//!
//! The layout is in `docs/bunch-protocol.md`, section 4.

use crate::Flow;
use crate::inner::{self, STAMPED, TCP, UDP, half, word};
use crate::wire::varint::{self, Reader};

/// The whole packet follows.
const WHOLE: u8 = 0x01;
/// The IP identification is that of the packet before.
const SAME_ID: u8 = 0x02;
/// It has gone on as the number has.
const NEXT_ID: u8 = 0x04;
/// Acknowledgement and window follow.
const ACK: u8 = 0x08;
/// The control bits follow.
const FLAGS: u8 = 0x10;
/// Length and bytes of the options follow.
const OPTIONS: u8 = 0x20;
/// The timestamps' differences follow.
const STAMPS: u8 = 0x40;
/// Type of service, fragment field and time to live follow.
const IP: u8 = 0x80;

/// What both ends remember of the packet before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Last {
    number: u64,
    id: u16,
    /// Type of service, flags of fragmentation, time to live.
    ip: [u8; 4],
    ack: [u8; 4],
    window: [u8; 2],
    flags: u8,
    options: Vec<u8>,
}

/// One direction of one session in one tunnel. Both ends have one, and see the same packets in the
/// same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elision {
    last: Last,
}

/// The timestamps of options as Linux lays them out.
fn stamps(options: &[u8]) -> Option<(u32, u32)> {
    let fits = options.len() == 12 && options.starts_with(&STAMPED);
    fits.then(|| (word(options, 4).unwrap_or(0), word(options, 8).unwrap_or(0)))
}

impl Elision {
    /// Appends `packet` of `flow`, which has this number, without what is known.
    pub fn encode(&mut self, flow: &Flow, number: u64, packet: &[u8], out: &mut Vec<u8>) {
        let inner = inner::parse(packet);
        let fits = |i: &inner::Inner| {
            let ends = (i.protocol, i.source, i.destination);
            ends == (flow.protocol, flow.source, flow.destination)
        };
        // An urgent pointer, or reserved bits, are rare enough to be said whole.
        let plain = |i: &inner::Inner| {
            i.protocol == UDP || (i.flags & 0x20 == 0 && packet[32] & 0x0F == 0 && packet[38..40] == [0, 0])
        };
        let Some(inner) = inner.filter(|i| fits(i) && plain(i)) else {
            out.push(WHOLE);
            return out.extend_from_slice(packet);
        };
        let at = out.len();
        out.push(0);
        let mut flags = self.encode_ip(number, packet, out);
        if inner.protocol == TCP {
            flags |= self.encode_tcp(packet, inner.payload.start, out);
        }
        let sum = if inner.protocol == TCP { 36 } else { 26 };
        out.extend_from_slice(&packet[sum..sum + 2]);
        out.extend_from_slice(&packet[inner.payload]);
        out[at] = flags;
        self.last.number = number;
    }

    fn encode_ip(&mut self, number: u64, packet: &[u8], out: &mut Vec<u8>) -> u8 {
        let (id, ip) = (half(packet, 4).unwrap_or(0), [packet[1], packet[6], packet[7], packet[8]]);
        let ahead = number.wrapping_sub(self.last.number) as u16;
        let mut flags = match id.wrapping_sub(self.last.id) {
            0 => SAME_ID,
            step if step == ahead => NEXT_ID,
            _ => {
                out.extend_from_slice(&id.to_be_bytes());
                0
            }
        };
        if ip != self.last.ip {
            out.extend_from_slice(&ip);
            flags |= IP;
        }
        (self.last.id, self.last.ip) = (id, ip);
        flags
    }

    fn encode_tcp(&mut self, packet: &[u8], header: usize, out: &mut Vec<u8>) -> u8 {
        let mut flags = 0;
        let last = &mut self.last;
        if packet[28..32] != last.ack || packet[34..36] != last.window {
            last.ack.copy_from_slice(&packet[28..32]);
            last.window.copy_from_slice(&packet[34..36]);
            out.extend_from_slice(&packet[28..32]);
            out.extend_from_slice(&packet[34..36]);
            flags |= ACK;
        }
        if packet[33] != last.flags {
            last.flags = packet[33];
            out.push(packet[33]);
            flags |= FLAGS;
        }
        let options = &packet[40..header];
        if options != last.options {
            match (stamps(&last.options), stamps(options)) {
                (Some(old), Some(new)) => {
                    varint::put_signed(out, i64::from(new.0.wrapping_sub(old.0) as i32));
                    varint::put_signed(out, i64::from(new.1.wrapping_sub(old.1) as i32));
                    flags |= STAMPS;
                }
                _ => {
                    out.push(options.len() as u8);
                    out.extend_from_slice(options);
                    flags |= OPTIONS;
                }
            }
            last.options = options.to_vec();
        }
        flags
    }

    /// The packet again. `seq` is where its payload begins (0 for UDP). None if the bytes are not
    /// what [`encode`](Self::encode) makes.
    pub fn decode(&mut self, flow: &Flow, number: u64, seq: u32, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut r = Reader::new(bytes);
        let flags = r.byte()?;
        if flags & WHOLE != 0 {
            return (flags == WHOLE).then(|| r.rest().to_vec());
        }
        let ahead = number.wrapping_sub(self.last.number) as u16;
        self.last.id = match flags & (SAME_ID | NEXT_ID) {
            0 => u16::from_be_bytes(r.array()?),
            SAME_ID => self.last.id,
            NEXT_ID => self.last.id.wrapping_add(ahead),
            _ => return None,
        };
        if flags & IP != 0 {
            self.last.ip = r.array()?;
        }
        let tcp = flow.protocol == TCP;
        if tcp {
            self.decode_tcp(flags, &mut r)?;
        } else if flags & (ACK | FLAGS | OPTIONS | STAMPS) != 0 {
            return None;
        }
        let sum: [u8; 2] = r.array()?;
        self.last.number = number;
        self.assemble(flow, seq, sum, r.rest())
    }

    fn decode_tcp(&mut self, flags: u8, r: &mut Reader<'_>) -> Option<()> {
        if flags & ACK != 0 {
            (self.last.ack, self.last.window) = (r.array()?, r.array()?);
        }
        if flags & FLAGS != 0 {
            self.last.flags = r.byte()?;
        }
        if flags & OPTIONS != 0 {
            let len = usize::from(r.byte()?);
            self.last.options = r.take(len).filter(|o| o.len() <= 40 && o.len() % 4 == 0)?.to_vec();
        }
        if flags & STAMPS != 0 {
            let (value, echo) = stamps(&self.last.options)?;
            let value = value.wrapping_add(r.signed()? as u32);
            let echo = echo.wrapping_add(r.signed()? as u32);
            self.last.options[4..8].copy_from_slice(&value.to_be_bytes());
            self.last.options[8..12].copy_from_slice(&echo.to_be_bytes());
        }
        Some(())
    }

    fn assemble(&self, flow: &Flow, seq: u32, sum: [u8; 2], payload: &[u8]) -> Option<Vec<u8>> {
        let last = &self.last;
        let tcp = flow.protocol == TCP;
        let header = if tcp { 40 + last.options.len() } else { 28 };
        let total = u16::try_from(header + payload.len()).ok()?;
        let mut p = vec![0; header];
        p[0] = 0x45;
        (p[1], p[6], p[7], p[8]) = (last.ip[0], last.ip[1], last.ip[2], last.ip[3]);
        p[2..4].copy_from_slice(&total.to_be_bytes());
        p[4..6].copy_from_slice(&last.id.to_be_bytes());
        p[9] = flow.protocol;
        p[12..16].copy_from_slice(&flow.source.ip().octets());
        p[16..20].copy_from_slice(&flow.destination.ip().octets());
        p[20..22].copy_from_slice(&flow.source.port().to_be_bytes());
        p[22..24].copy_from_slice(&flow.destination.port().to_be_bytes());
        if tcp {
            p[24..28].copy_from_slice(&seq.to_be_bytes());
            p[28..32].copy_from_slice(&last.ack);
            p[32] = (((header - 20) / 4) << 4) as u8;
            p[33] = last.flags;
            p[34..36].copy_from_slice(&last.window);
            p[36..38].copy_from_slice(&sum);
            p[40..].copy_from_slice(&last.options);
        } else {
            p[24..26].copy_from_slice(&(total - 20).to_be_bytes());
            p[26..28].copy_from_slice(&sum);
        }
        inner::seal_header(&mut p);
        p.extend_from_slice(payload);
        Some(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::tests::{datagram, segment};
    use proptest::prelude::*;

    fn flow(protocol: u8) -> Flow {
        let (source, destination) = ("192.168.1.2:40000".parse().unwrap(), "10.9.0.2:5201".parse().unwrap());
        Flow { bssid: [1; 6], station: [2; 6], tid: 0, protocol, source, destination }
    }

    /// Both ends over these packets; the bytes that each took besides its payload.
    fn round(protocol: u8, packets: &[(u64, Vec<u8>)]) -> Vec<usize> {
        let (mut a, mut b) = (Elision::default(), Elision::default());
        let one = |(number, packet): &(u64, Vec<u8>)| {
            let mut out = Vec::new();
            a.encode(&flow(protocol), *number, packet, &mut out);
            let inner = inner::parse(packet).unwrap();
            assert_eq!(b.decode(&flow(protocol), *number, inner.seq, &out).as_ref(), Some(packet));
            out.len() - inner.payload.len()
        };
        packets.iter().map(one).collect()
    }

    #[test]
    fn a_bulk_transfer_keeps_five_bytes_of_fifty_two() {
        let packets: Vec<(u64, Vec<u8>)> =
            (0..20).map(|i| (500 + 3 * i, segment(1000 * i as u32, 1000, Some(70 + 5 * i as u32)))).collect();
        let took = round(TCP, &packets);
        assert!(took[1..].iter().all(|n| *n == 5), "{took:?}");
    }

    #[test]
    fn datagrams_keep_three_bytes_of_twenty_eight() {
        let with_id = |i: u64| {
            let mut p = datagram(i as u8, 200);
            p[4..6].copy_from_slice(&(65_530 + 4 * i as u32).to_be_bytes()[2..]);
            inner::seal_header(&mut p);
            (9 + 4 * i, p)
        };
        let took = round(UDP, &(0..20).map(with_id).collect::<Vec<_>>());
        assert!(took[1..].iter().all(|n| *n == 3), "{took:?}");
    }

    #[test]
    fn what_is_odd_goes_whole() {
        let mut urgent = segment(5, 10, None);
        urgent[33] |= 0x20;
        let mut options = segment(5, 10, None);
        options.splice(40..40, [1, 1, 1, 1]);
        options[32] = 6 << 4;
        options[3] += 4;
        inner::seal_header(&mut urgent);
        inner::seal_header(&mut options);
        let took = round(TCP, &[(1, urgent), (2, options), (3, segment(5, 10, Some(7)))]);
        assert_eq!(took[0], 41);
    }

    proptest! {
        #[test]
        fn any_packet_comes_back(change in proptest::collection::vec((0usize..60, any::<u8>(), any::<bool>()), 1..20)) {
            let mut packets = Vec::new();
            for (i, (at, with, stamped)) in change.into_iter().enumerate() {
                let mut p = segment(i as u32, 30, stamped.then_some(i as u32));
                if !matches!(at, 0 | 2 | 3 | 6 | 7 | 9..24 | 32) {
                    p[at] = with;
                }
                inner::seal_header(&mut p);
                packets.push((i as u64 * 2, p));
            }
            round(TCP, &packets);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), tcp in any::<bool>()) {
            let _ = Elision::default().decode(&flow(if tcp { TCP } else { UDP }), 3, 4, &bytes);
        }
    }
}
