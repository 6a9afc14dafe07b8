//! Paths that share a radio channel: a worse one gets only the air that a better one leaves
//! (paper 001; `docs/design/roam.md`, "Over the bond").
//!
//! ```text
//!   driver ── set_airtime ─▶ client ──── AIR frame, inside the session ────▶ gateway
//!                              │                                               │
//!                     told: packet time and channel of each path      told: what the frame says
//!                              └────────────▶ before each look at the paths: ◀─┘
//!               the worse paths of a channel rest, or send as its air allows ([`channel`])
//! ```
//!
//! Only schedulers that ask for it ([`crate::schedule::Scheduler::heeds_air`]) see fewer paths;
//! probes, keepalives and acknowledgements go by every path.

mod channel;
#[cfg(test)]
mod tests;

use crate::path::{Path, PathId};
use crate::schedule::PathInfo;
use crate::wire::{AirEntry, AirFrame, MAX_PATHS};
use arrayvec::ArrayVec;
use channel::{Channel, Look};
use ropewalk_time::{Duration, Time};

/// Packet times are clamped to these: 1500 bytes at 600 Mb/s, and well below a path's timeout.
const LEAST: Duration = Duration::from_micros(20);
const MOST: Duration = Duration::from_millis(200);
/// What was not said again for so long is forgotten.
const FORGET: Duration = Duration::from_secs(10);
/// A client tells of changes no more often than this,
const SOONEST: Duration = Duration::from_millis(200);
/// and of what has not changed this often.
const AGAIN: Duration = Duration::from_secs(1);
/// That nothing is known any more is told so often.
const FAREWELLS: u8 = 3;
/// Nanoseconds of one unit on the wire.
const UNIT_NS: u64 = 4_000;
/// Bytes of the packet that packet times are for.
const PACKET: f64 = 1500.0;

/// The air that packets take on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Air {
    /// Air that a delivered packet of 1500 bytes takes, retries included.
    pub packet_time: Duration,
    /// The client's number of the radio channel; paths of one number share its air.
    pub channel: u8,
}

impl Air {
    fn clamped(self) -> Air {
        Air { packet_time: self.packet_time.clamp(LEAST, MOST), ..self }
    }

    fn ns(&self) -> f64 {
        self.packet_time.as_nanos() as f64
    }
}

/// The air under a path, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirStatus {
    /// What was told.
    pub air: Air,
    /// The path rests: a better one of its channel has use for all the air.
    pub rests: bool,
}

/// Packet times differ by so much that one path is worse than the other.
fn is_worse(ns: f64, than: f64) -> bool {
    ns * 8.0 > than * 9.0
}

/// One session's knowledge of the air under its paths.
#[derive(Debug, Default)]
pub(crate) struct Airtime {
    /// By path identifier; and when it was said.
    told: [Option<(Air, Time)>; MAX_PATHS],
    /// What each path had delivered at the last look, bytes.
    delivered: [Option<u64>; MAX_PATHS],
    /// Those with several paths in use.
    channels: ArrayVec<Channel, MAX_PATHS>,
    /// Client: number of the last AIR frame, when it left, and whether something is new since.
    seq: u16,
    said_at: Option<Time>,
    is_changed: bool,
    farewells: u8,
    /// Gateway: number of the last frame that counted.
    heard: Option<u16>,
}

/// A path of a channel, as one look sees it.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Position among the infos.
    at: usize,
    id: PathId,
    ns: f64,
}

impl Airtime {
    // --- what is told ---

    /// The driver of a client says what it knows of a path.
    pub(crate) fn set(&mut self, now: Time, path: PathId, air: Option<Air>) {
        let air = air.map(Air::clamped);
        let before = self.told[path.index()].map(|t| t.0);
        self.told[path.index()] = air.map(|air| (air, now));
        // The wire's units decide what is another value.
        let shown = |air: Option<Air>| air.map(|a| entry(path, &a));
        if shown(before) != shown(air) {
            (self.is_changed, self.farewells) = (true, FAREWELLS);
        }
    }

    /// A client's frame replaces the one before; an older number is a frame that was overtaken.
    pub(crate) fn on_frame(&mut self, now: Time, frame: &AirFrame) {
        if self.heard.is_some_and(|heard| (frame.seq.wrapping_sub(heard) as i16) <= 0) {
            return;
        }
        self.heard = Some(frame.seq);
        self.told = Default::default();
        for entry in &frame.paths {
            let Some(path) = PathId::new(entry.path) else { continue };
            let packet_time = Duration::from_nanos(u64::from(entry.packet_time) * UNIT_NS);
            let air = Air { packet_time, channel: entry.channel }.clamped();
            self.told[path.index()] = (entry.packet_time > 0).then_some((air, now));
        }
    }

    /// A path is gone, or another has its identifier. A gateway keeps its client's last frame,
    /// which may be older than the path is here.
    pub(crate) fn on_other_path(&mut self, path: PathId, is_client: bool) {
        self.delivered[path.index()] = None;
        if is_client {
            self.is_changed |= self.told[path.index()].take().is_some();
        }
    }

    /// The session begins anew: the other end knows nothing.
    pub(crate) fn restart(&mut self) {
        let has_something = self.told.iter().any(Option::is_some);
        (self.delivered, self.said_at, self.is_changed) = (Default::default(), None, has_something);
        self.channels.clear();
    }

    fn air(&self, path: PathId) -> Option<Air> {
        self.told[path.index()].map(|t| t.0)
    }

    fn expire(&mut self, now: Time) {
        for told in &mut self.told {
            if told.is_some_and(|(_, at)| now.since(at) >= FORGET) {
                *told = None;
            }
        }
    }

    // --- telling the gateway ---

    /// When the next frame is to leave; `flowing`: data is sent or received.
    pub(crate) fn next_frame(&self, flowing: bool) -> Option<Time> {
        let after = |wait: Duration| self.said_at.map_or(Time::ZERO, |at| at + wait);
        let has_something = self.told.iter().any(Option::is_some);
        match (self.is_changed, has_something) {
            (true, _) => Some(after(SOONEST)),
            (false, true) => flowing.then(|| after(AGAIN)),
            (false, false) => (self.farewells > 0).then(|| after(AGAIN)),
        }
    }

    /// Whether a frame is to go with a datagram that leaves now anyway.
    pub(crate) fn rides(&self, now: Time) -> bool {
        self.next_frame(true).is_some_and(|at| at <= now)
    }

    /// What is known now. Call [`Airtime::on_said`] once it is written.
    pub(crate) fn frame(&mut self, now: Time) -> AirFrame {
        self.expire(now);
        let paths = PathId::all().filter_map(|id| Some(entry(id, &self.air(id)?))).collect();
        AirFrame { seq: self.seq.wrapping_add(1), paths }
    }

    /// The frame was written.
    pub(crate) fn on_said(&mut self, now: Time) {
        self.seq = self.seq.wrapping_add(1);
        (self.said_at, self.is_changed) = (Some(now), false);
        if self.told.iter().all(Option::is_none) {
            self.farewells = self.farewells.saturating_sub(1);
        }
    }

    // --- the rule ---

    /// Hides from the scheduler the paths that leave their channel's air to a better one.
    /// `is_empty`: nothing waits to be sent.
    pub(crate) fn apply(&mut self, now: Time, paths: &[Path], is_empty: bool, infos: &mut Vec<PathInfo>) {
        self.expire(now);
        let mut resting = 0u16;
        let mut seen: ArrayVec<u8, MAX_PATHS> = ArrayVec::new();
        for i in 0..infos.len() {
            let Some(number) = self.air(infos[i].id).map(|a| a.channel) else { continue };
            if !seen.contains(&number) {
                seen.push(number);
                resting |= self.share(now, number, paths, is_empty, infos);
            }
        }
        self.channels.retain(|c| seen.contains(&c.number));
        infos.retain(|v| resting & v.id.bit() == 0);
    }

    /// Shares one channel's air; a bit for each path that gets none now.
    fn share(
        &mut self,
        now: Time,
        number: u8,
        paths: &[Path],
        is_empty: bool,
        infos: &mut [PathInfo],
    ) -> u16 {
        let member = |(at, v): (usize, &PathInfo)| {
            let air = self.air(v.id).filter(|a| a.channel == number)?;
            Some(Member { at, id: v.id, ns: air.ns() })
        };
        let mut members: ArrayVec<Member, MAX_PATHS> =
            infos.iter().enumerate().filter_map(member).take(MAX_PATHS).collect();
        members.sort_by(|a, b| a.ns.total_cmp(&b.ns).then(a.id.cmp(&b.id)));
        let Some(least) = members.first().copied() else { return 0 };
        if members.len() == 1 {
            self.channels.retain(|c| c.number != number);
            return 0;
        }
        let mut look = Look::default();
        let place = self.channels.iter().position(|c| c.number == number).unwrap_or_else(|| {
            self.channels.push(Channel::new(number, least.id, now));
            self.channels.len() - 1
        });
        let channel = &mut self.channels[place];
        // One that is hardly worse stays the best: packet times are estimates.
        let best = members.iter().find(|m| m.id == channel.best && !is_worse(m.ns, least.ns));
        let best = *best.unwrap_or(&least);
        if best.id != channel.best {
            *channel = Channel::new(number, best.id, now);
        }
        channel.best_ns = best.ns;
        for m in &members {
            let Some(path) = paths.iter().find(|p| p.id == m.id) else { continue };
            let total = path.sampler.delivered();
            let before = self.delivered[m.id.index()].replace(total).unwrap_or(total);
            let bytes = total.saturating_sub(before) as f64;
            look.bytes += bytes;
            if !is_worse(m.ns, best.ns) {
                look.air_ns += bytes * m.ns / PACKET;
                look.round = look.round.max(infos[m.at].srtt);
                look.is_idle |= is_empty && infos[m.at].has_room || path.cc.is_starting();
            }
        }
        channel.on_look(now, &look);
        let (mut resting, mut better_takes) = (0, false);
        for m in &members {
            let info = &mut infos[m.at];
            if is_worse(m.ns, best.ns) {
                if better_takes || !channel.has_air() {
                    resting |= m.id.bit();
                    continue;
                }
                let carries = channel.allowance() * PACKET * 8.0 * 1e9 / m.ns;
                info.rate_bps = info.rate_bps.min(carries as u64);
            }
            better_takes |= info.has_room && !info.nothing_to_send;
        }
        resting
    }

    /// The channel of a path that is worse than its best.
    fn of_worse(&self, path: PathId) -> Option<(usize, f64)> {
        let air = self.air(path)?;
        let place = self.channels.iter().position(|c| c.number == air.channel)?;
        is_worse(air.ns(), self.channels[place].best_ns).then(|| (place, air.ns()))
    }

    /// Datagrams that may leave on a path at once.
    pub(crate) fn datagrams(&self, path: PathId) -> usize {
        self.of_worse(path).map_or(usize::MAX, |(place, ns)| self.channels[place].datagrams(ns))
    }

    /// A datagram of `bytes` on the wire left.
    pub(crate) fn on_sent(&mut self, path: PathId, bytes: u32) {
        if let Some((place, ns)) = self.of_worse(path) {
            self.channels[place].spend(f64::from(bytes) * ns / PACKET);
        }
    }

    /// When a channel has air for its worse paths again.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.channels.iter().filter_map(Channel::next_timeout).min()
    }

    /// What is known of a path.
    pub(crate) fn status(&self, path: PathId) -> Option<AirStatus> {
        Some(AirStatus { air: self.air(path)?, rests: self.rests(path) })
    }

    /// The path carries no data: a better one of its channel has use for all the air.
    pub(crate) fn rests(&self, path: PathId) -> bool {
        self.of_worse(path).is_some_and(|(place, _)| !self.channels[place].is_open())
    }

    /// Another scheduler, which may use every path: nobody rests.
    pub(crate) fn on_other_scheduler(&mut self) {
        self.channels.clear();
    }
}

fn entry(path: PathId, air: &Air) -> AirEntry {
    let units = (air.packet_time.as_nanos() as u64 / UNIT_NS).clamp(1, u64::from(u16::MAX));
    AirEntry { path: path.get(), channel: air.channel, packet_time: units as u16 }
}
