//! Homes at one gateway of a bunch, without sockets and seals: what its state machine costs.
//!
//! Each home uploads datagrams, and two neighbours hear all of them. Access points and tunnels take
//! no time: the clock is told, and the processor is measured around the gateway alone.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use etherparse::PacketBuilder;
use ropewalk_bunch::Time;
use ropewalk_bunch::ap::{self, Ap, Frame};
use ropewalk_bunch::gateway::{self, Gateway, Tunnel};

/// Access points that help a home, its own among them.
const POINTS: usize = 3;
/// Datagrams of a home, and how often so many.
const BURST: usize = 8;
const EVERY: Duration = Duration::from_millis(20);
const PAYLOAD: usize = 1350;
/// Packets of a home in a second.
pub const PER_SECOND: usize = BURST * 50;
/// Rounds until neighbours help.
const WARM_UP: usize = 25;
/// Bytes that a tunnel takes at once.
const ROOM: u64 = 1 << 20;

enum Work {
    Up(usize, Vec<u8>),
    Down(usize, Vec<u8>),
    Native(ap::Packet),
}

struct Street {
    gateway: Gateway,
    /// All homes' access points, each home's own first.
    points: Vec<Ap>,
    now: Time,
    /// 802.11 number of the last frame, in all cells alike.
    frame: u16,
    work: VecDeque<Work>,
    /// What the gateway took of the processor.
    busy: Duration,
}

/// Packets that a gateway puts together in a second of one processor, with so many homes at once.
///
/// # Errors
/// Neighbours did not help.
pub fn packets_per_second(homes: usize, rounds: usize) -> Result<f64> {
    let mut street = Street::new(homes);
    (0..WARM_UP).for_each(|_| street.round());
    let before = street.brought();
    street.busy = Duration::ZERO;
    (0..rounds).for_each(|_| street.round());
    let (brought, sent) = (street.brought() - before, (homes * BURST * rounds) as u64);
    ensure!(brought * 10 >= sent * 9, "access points brought {brought} of {sent} packets");
    Ok(brought as f64 / street.busy.as_secs_f64())
}

impl Street {
    fn new(homes: usize) -> Street {
        let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
        let config = gateway::Config::new(everywhere.clone(), [7; 16]);
        let mut street = Street {
            gateway: Gateway::new(config),
            points: Vec::new(),
            now: Time::ZERO,
            frame: 0,
            work: VecDeque::new(),
            busy: Duration::ZERO,
        };
        for i in 0..homes * POINTS {
            let who = i as u64 + 1;
            street.points.push(Ap::new(ap::Config::new(who, everywhere.clone())));
            street.gateway(gateway::Input::TunnelUp(tunnel(i), who));
            street.point(i, ap::Input::TunnelUp { room: ROOM });
        }
        street.settle();
        street
    }

    /// Packets that access points brought in time.
    fn brought(&self) -> u64 {
        self.gateway.accounts().map(|(_, account)| account.packets).sum()
    }

    fn round(&mut self) {
        for _ in 0..BURST {
            self.frame = (self.frame + 1) % 4096;
            (0..self.points.len() / POINTS).for_each(|home| self.send(home));
        }
        self.now += EVERY;
        for i in 0..self.points.len() {
            self.point(i, ap::Input::Room(ROOM));
            self.point(i, ap::Input::Timer);
        }
        self.gateway(gateway::Input::Timer);
        self.settle();
    }

    fn send(&mut self, home: usize) {
        let packet: ap::Packet = datagram(home, self.frame).into();
        let mac = |first| [first, 0, 0, 0, (home >> 8) as u8, home as u8];
        let frame = Frame { bssid: mac(2), station: mac(6), tid: 0, sequence: self.frame, home: true };
        for k in 0..POINTS {
            let frame = Frame { home: k == 0, ..frame };
            self.point(home * POINTS + k, ap::Input::Captured(frame, packet.clone()));
        }
        self.settle();
    }

    fn point(&mut self, i: usize, input: ap::Input<'_>) {
        self.points[i].handle(input, self.now);
        loop {
            match self.points[i].poll_output() {
                ap::Output::ToTunnel(bytes) => self.work.push_back(Work::Up(i, bytes)),
                ap::Output::Forward(packet) => self.work.push_back(Work::Native(packet)),
                ap::Output::Timeout(..) => return,
                _ => {}
            }
        }
    }

    fn gateway(&mut self, input: gateway::Input<'_>) {
        let (begin, mut said) = (Instant::now(), Vec::new());
        self.gateway.handle(input, self.now);
        loop {
            match self.gateway.poll_output() {
                gateway::Output::Timeout(..) => break,
                output => said.push(output),
            }
        }
        self.busy += begin.elapsed();
        for output in said {
            if let gateway::Output::ToTunnel(Tunnel(number), bytes) = output {
                self.work.push_back(Work::Down(number as usize, bytes));
            }
        }
    }

    /// Until nobody has anything to say.
    fn settle(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Up(i, bytes) => self.gateway(gateway::Input::FromTunnel(tunnel(i), &bytes)),
                Work::Down(i, bytes) => self.point(i, ap::Input::FromTunnel(&bytes)),
                Work::Native(packet) => self.gateway(gateway::Input::FromSender(&packet)),
            }
        }
    }
}

fn tunnel(point: usize) -> Tunnel {
    Tunnel(point as u32)
}

/// A datagram of a home's device; each has another content.
fn datagram(home: usize, number: u16) -> Vec<u8> {
    let source = SocketAddrV4::new(Ipv4Addr::from(0x0a00_0002 + ((home as u32) << 8)), 40_000);
    let builder = PacketBuilder::ipv4(source.ip().octets(), [203, 0, 113, 9], 64).udp(source.port(), 443);
    let mut payload = [0; PAYLOAD];
    payload[..2].copy_from_slice(&number.to_be_bytes());
    let mut out = Vec::with_capacity(builder.size(PAYLOAD));
    // A vector takes everything.
    let _ = builder.write(&mut out, &payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_help_every_home() {
        let mut street = Street::new(3);
        (0..WARM_UP).for_each(|_| street.round());
        let before = street.brought();
        (0..10).for_each(|_| street.round());
        assert_eq!(street.brought() - before, (3 * BURST * 10) as u64);
        let views: Vec<_> = street.gateway.views().collect();
        assert!(views.len() == 3 && views.iter().all(|v| v.access_points == POINTS && !v.is_native));
        assert!(packets_per_second(1, 5).unwrap() > 0.0);
    }
}
