//! A call over UDP, from the gateway to the client: packets at an even spacing, each with its number and the time at
//! which it was sent.
//!
//! Both ends are threads of this process, in the namespaces of client and gateway, and read the same clock.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ropewalk_lab::Namespace;

use crate::clock;

/// Bytes of a packet with its headers of IPv4 and UDP.
const PACKET: usize = 1200;
const PAYLOAD: usize = PACKET - 20 - 8;
/// From one packet to the next: 4 Mb/s.
const EVERY: Duration = Duration::from_micros(2400);
/// Bytes of a packet's number and of the time at which it was sent.
const STAMP: usize = 8 + 8;
/// What is not there so long after the end is lost.
const LINGER: Duration = Duration::from_secs(1);
/// How often a receiver to which nothing comes looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// How often the client says where it is, and how long it waits after each: a packet may be lost.
const TRIES: u32 = 10;
const PATIENCE: Duration = Duration::from_millis(500);

/// A call to be.
pub(crate) struct Call {
    /// In the client.
    receiver: UdpSocket,
    /// In the gateway.
    sender: UdpSocket,
}

/// A packet of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// When it was sent, on the shared clock.
    pub sent: Duration,
    /// How long it was on its way; none if it is lost.
    pub delay: Option<Duration>,
}

impl Call {
    /// A call by the way on which the client reaches the gateway at `target`.
    ///
    /// # Errors
    /// If no packet of the client comes to the gateway.
    pub(crate) fn open(client: &Namespace, gateway: &Namespace, target: IpAddr) -> Result<Call> {
        let bind = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
        let (receiver, sender) = (client.run(bind)??, gateway.run(bind)??);
        receiver.connect((target, sender.local_addr()?.port()))?;
        sender.set_read_timeout(Some(PATIENCE))?;
        receiver.set_read_timeout(Some(LOOK))?;
        for _ in 0..TRIES {
            receiver.send(&[0])?;
            if let Ok((_, from)) = sender.recv_from(&mut [0]) {
                sender.connect(from)?;
                return Ok(Call { receiver, sender });
            }
        }
        bail!("no packet of the call came to the gateway")
    }

    /// Sends and receives until it is over; gives all packets in their order.
    ///
    /// # Errors
    /// If the client cannot receive.
    pub(crate) fn run(&self, over: &AtomicBool) -> Result<Vec<Packet>> {
        let (sent, arrived) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| self.receive(over));
            let sent = self.send(over);
            (sent, receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        Ok(packets(sent, arrived?))
    }

    /// Gives when each packet was sent.
    fn send(&self, over: &AtomicBool) -> Vec<Duration> {
        let (mut sent, mut packet, mut next) = (Vec::new(), [0; PAYLOAD], clock::now());
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(next.saturating_sub(clock::now()));
            let now = clock::now();
            packet[..STAMP].copy_from_slice(&stamp(sent.len() as u64, now));
            // What the network cannot take now is lost, not an error of the run.
            let _ = self.sender.send(&packet);
            sent.push(now);
            // A sender that was kept from its work does not make up for it by a burst.
            next = now.max(next + EVERY);
        }
        sent
    }

    /// Gives the number and the delay of each packet that comes.
    fn receive(&self, over: &AtomicBool) -> Result<Vec<(u64, Duration)>> {
        let (mut arrived, mut packet, mut until) = (Vec::new(), [0; PAYLOAD], None);
        loop {
            let came = self.receiver.recv(&mut packet);
            let now = clock::now();
            if over.load(Ordering::Relaxed) && now >= *until.get_or_insert(now + LINGER) {
                return Ok(arrived);
            }
            match came {
                Ok(len) => arrived.extend(read(&packet[..len], now)),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e).context("the call broke"),
            }
        }
    }
}

fn stamp(number: u64, sent: Duration) -> [u8; STAMP] {
    let mut stamp = [0; STAMP];
    stamp[..8].copy_from_slice(&number.to_be_bytes());
    stamp[8..].copy_from_slice(&(sent.as_nanos() as u64).to_be_bytes());
    stamp
}

/// The number of a packet that comes now, and how long it was on its way.
fn read(packet: &[u8], now: Duration) -> Option<(u64, Duration)> {
    let word = |from: usize| Some(u64::from_be_bytes(packet.get(from..from + 8)?.try_into().ok()?));
    let (number, sent) = (word(0)?, Duration::from_nanos(word(8)?));
    Some((number, now.saturating_sub(sent)))
}

/// What became of each packet. Of copies the first counts.
fn packets(sent: Vec<Duration>, arrived: Vec<(u64, Duration)>) -> Vec<Packet> {
    let mut packets: Vec<Packet> = sent.into_iter().map(|sent| Packet { sent, delay: None }).collect();
    for (number, delay) in arrived {
        if let Some(packet) = packets.get_mut(number as usize) {
            packet.delay.get_or_insert(delay);
        }
    }
    packets
}

/// What was heard of the packets that were sent in some spans of time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    /// How many were sent.
    pub sent: usize,
    /// How long those that arrived were on their way, in ms.
    pub delays_ms: Vec<f64>,
}

impl Heard {
    /// Counts the packets that were sent in these spans.
    pub(crate) fn of(packets: &[Packet], spans: &[Range<Duration>]) -> Heard {
        let counts = |packet: &&Packet| spans.iter().any(|span| span.contains(&packet.sent));
        let (mut sent, mut delays_ms) = (0, Vec::new());
        for packet in packets.iter().filter(counts) {
            sent += 1;
            delays_ms.extend(packet.delay.map(|delay| delay.as_secs_f64() * 1e3));
        }
        Heard { sent, delays_ms }
    }

    /// Of all that were sent, those that did not arrive.
    pub(crate) fn lost_percent(&self) -> f64 {
        100.0 * (self.sent - self.delays_ms.len()) as f64 / self.sent.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn it_has_four_megabits_in_a_second() {
        assert_eq!(PACKET as u128 * 8 * Duration::from_secs(1).as_nanos() / EVERY.as_nanos(), 4_000_000);
    }

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = stamp(1 << 40, ms(7_000_000));
        assert_eq!(read(&stamp, ms(7_000_031)), Some((1 << 40, ms(31))));
        assert_eq!(read(&stamp[..STAMP - 1], ms(7_000_031)), None);
    }

    #[test]
    fn what_counts_is_what_was_sent_meanwhile() {
        let sent = (0..10).map(|n| ms(1000 + n)).collect();
        // The third is lost, the fifth came twice, and the last came first; one that nobody sent is no packet of the call.
        let arrived = [9, 0, 1, 3, 4, 5, 6, 7, 8, 4, 99];
        let arrived = (10..).zip(arrived).map(|(delay, number)| (number, ms(delay))).collect();
        let packets = packets(sent, arrived);
        assert_eq!(packets[2], Packet { sent: ms(1002), delay: None });
        assert_eq!(packets[4], Packet { sent: ms(1004), delay: Some(ms(14)) });
        let heard = Heard::of(&packets, &[ms(1000)..ms(1003), ms(1008)..ms(1100)]);
        assert_eq!(heard, Heard { sent: 5, delays_ms: vec![11.0, 12.0, 18.0, 10.0] });
        assert_eq!(heard.lost_percent(), 20.0);
        assert_eq!(Heard::of(&packets, &[]).lost_percent(), 0.0);
    }
}
