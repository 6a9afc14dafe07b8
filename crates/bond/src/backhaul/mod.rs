//! The wireless backhaul between an access point and a repeater: everything in which its sessions differ from those over the internet.
//!
//! ```text
//!   access point                        dedicated link                      repeater
//!   schedule by completions ═══════════════════════════════════════════════▶ ClientQueues, DeliveryPacer ─▶ clients
//!   SharedLinkLimiter       ══════════ shared link (the clients' channel) ══▶        │
//!          ▲                                                                         │
//!          └───────────────────────── queue report ◀──────────────────────────────── Reporter
//! ```
//!
//! Three things follow from links that are radios. What a link *completes* is known sooner and better than what the peer acknowledges, so links are filled by
//! that ([`crate::feedback`], [`crate::schedule::Backpressure`]). Each frame takes a turn on the air, so small ones wait for each other (`aggregation`),
//! and acknowledgements are few. And one of the links shares its channel with the repeater's clients, so it takes only the air that they leave
//! ([`limiter`]); what the clients' radio has no room for waits at the repeater (`delivery`).
//!
//! A `Backhaul` is one session's part of this. The session asks it through a few hooks and is otherwise as over the internet.

mod aggregation;
pub mod channel_search;
pub(crate) mod delivery;
pub mod limiter;
mod link;
mod reporter;
mod utilisation;

use crate::config::Config;
use crate::feedback::{LinkState, Source};
use crate::path::{Path, PathId, State, Traffic};
use crate::schedule::{DeviceThreshold, PathInfo};
use crate::wire::{MAX_PATHS, QueueFrame};
use aggregation::{AckAggregation, Backlog, SMALL_BACKLOG};
use limiter::{Allowance, ClientQueues, SharedLinkLimiter};
use link::Link;
use reporter::Reporter;
use ropewalk_time::{Duration, Time};

/// Acknowledgements of one path travel by another for so long after that was heard last. Less than the peer waits before it declares both down.
const ACKS_ELSEWHERE: Duration = Duration::from_millis(50);

/// What a path's link holds, as the backpressure scheduler counts it (Multifacet, MF-5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStatus {
    /// Datagrams without a completion.
    pub outstanding: u64,
    /// How many there may be: the link's `Device_threshold`, before any limiter.
    pub threshold: u32,
    /// Completions per second while the link was served, in datagrams of full length; 0 before that.
    pub completed_pps: f64,
    /// Whose reports count.
    pub source: Source,
    /// Its channel is one that a repeater's clients need, so it is limited, or the other end's is.
    pub is_shared: bool,
}

/// What an end knows of the queues towards the repeater's clients, and makes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BackhaulStatus {
    /// Repeater: clients whose queues are reported.
    pub clients: usize,
    /// Packets in the longest of these queues, at the access point as reported last.
    pub longest: u32,
    /// Repeater: queue reports sent.
    pub reports_sent: u64,
    /// Repeater: packets in order that wait until there is room in front of the clients.
    pub kept: usize,
    /// Repeater: how often packets had to.
    pub waits: u64,
    /// Access point: queue reports received.
    pub received: limiter::Counters,
    /// Access point: the limiter's name and what it allows the shared links. None before the first report, or if it is off.
    pub limiter: Option<(&'static str, Allowance)>,
}

/// One session's backhaul.
#[derive(Debug)]
pub(crate) struct Backhaul {
    /// The scheduler lives on completions; without that (as in the comparisons of the paper) links are filled as over the internet.
    by_completions: bool,
    thresholds: DeviceThreshold,
    config: limiter::Config,
    /// By path identifier.
    links: [Link; MAX_PATHS],
    /// Repeater: a bit for each path on a channel that its clients need too.
    shared: u16,
    /// The peer reads queue reports.
    peer_reads: bool,
    /// Repeater: what it tells the access point.
    reporter: Reporter,
    /// Access point: how shared links are limited; none until the peer reports.
    limiter: Option<SharedLinkLimiter>,
    /// Acknowledgements of flows, and small backlogs of all kinds.
    acks: AckAggregation,
    small: AckAggregation,
}

impl Backhaul {
    /// For one session.
    pub(crate) fn new(config: &Config) -> Backhaul {
        Backhaul {
            by_completions: config.scheduler.counts_completions(),
            thresholds: config.device_threshold,
            config: config.limiter,
            links: Default::default(),
            shared: 0,
            peer_reads: false,
            reporter: Reporter::default(),
            limiter: None,
            acks: AckAggregation::default(),
            small: AckAggregation::default(),
        }
    }

    /// The peer said in the handshake whether it reads queue reports.
    pub(crate) fn set_peer_reads(&mut self, reads: bool) {
        self.peer_reads = reads;
    }

    /// Whether the peer reads queue reports.
    pub(crate) fn peer_reads(&self) -> bool {
        self.peer_reads
    }

    /// Repeater: whether the channel of this path is also the one that its clients need.
    pub(crate) fn set_shared(&mut self, path: PathId, shared: bool) {
        self.shared = self.shared & !path.bit() | u16::from(shared) << path.get();
    }

    /// The configuration changed. Another limiter begins with the repeater's next report.
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        if self.config != config.limiter {
            (self.config, self.limiter) = (config.limiter, None);
        }
        self.thresholds = config.device_threshold;
    }

    /// The session begins anew.
    pub(crate) fn restart(&mut self) {
        self.limiter = None;
    }

    // --- paths and their links ---

    /// A path was added, whose first datagram has this number.
    pub(crate) fn on_path_added(&mut self, id: PathId, first: u64) {
        self.links[id.index()] = Link::starting_at(first);
        self.reporter.on_path_removed(id);
    }

    /// Whether acknowledgements to the peer should be few: it goes by its links.
    pub(crate) fn acknowledges_seldom(&self) -> bool {
        self.by_completions
    }

    /// A datagram of `bytes` on the wire left.
    pub(crate) fn on_sent(&mut self, now: Time, path: &Path, bytes: u32) {
        self.links[path.id.index()].on_sent(now, path, bytes);
    }

    /// The link under a path reports.
    pub(crate) fn on_link(&mut self, now: Time, path: &Path, state: LinkState) {
        self.links[path.id.index()].on_link(now, path, state);
    }

    /// The peer acknowledged this datagram, the highest so far.
    pub(crate) fn on_acked(&mut self, now: Time, path: &Path, number: u64) {
        self.links[path.id.index()].on_acked(now, path, number);
    }

    /// All that a path had in flight is declared lost.
    pub(crate) fn on_all_lost(&mut self, path: &Path) {
        self.links[path.id.index()].on_all_lost(path);
    }

    /// Since when the peer owes an answer to datagram `oldest.0`, which left at `oldest.1`. A link's report counts only where one comes every few
    /// completions.
    pub(crate) fn owed_since(&self, now: Time, path: PathId, oldest: (u64, Time)) -> Time {
        let completions = &self.links[path.index()].completions;
        match completions.source(now) {
            Source::Link if self.by_completions => completions.owed_since(oldest),
            _ => oldest.1,
        }
    }

    /// By how much the peer's acknowledgements on a path are later than over the internet.
    pub(crate) fn ack_delay(&self, now: Time, path: PathId) -> Duration {
        if self.by_completions { self.links[path.index()].ack_delay(now) } else { Duration::ZERO }
    }

    /// Whether the datagram that leaves now on a path is to ask for an acknowledgement. `threshold`: datagrams that the link may hold.
    pub(crate) fn asks(&mut self, now: Time, path: &Path, threshold: u32) -> bool {
        let link = &mut self.links[path.id.index()];
        let fills = link.outstanding(path) + 1 >= u64::from(threshold);
        self.by_completions && link.asks(now, path, fills)
    }

    /// A path whose link is changing its channel is used while no other works. Returns whether that is over now.
    pub(crate) fn set_away(&mut self, path: PathId, away: bool) -> bool {
        std::mem::replace(&mut self.links[path.index()].is_away, away) && !away
    }

    /// Whether a path's link is changing its channel.
    pub(crate) fn is_away(&self, path: PathId) -> bool {
        self.links[path.index()].is_away
    }

    /// Bytes carried by the link of a path, and whether it holds half of what it may: as under a flow that keeps its own queue short.
    pub(crate) fn link_load(&self, now: Time, path: &Path) -> (u64, bool) {
        let link = &self.links[path.id.index()];
        // Bare acknowledgements, which nobody acknowledges, are not what a flow has in flight.
        let in_flight = link.outstanding(path).min(u64::from(path.sent.datagrams_in_flight()));
        let full = 2 * in_flight >= u64::from(link.threshold(now, path, &self.thresholds));
        (link.completions.carried_bytes(), full)
    }

    // --- what the scheduler sees, and what may leave ---

    /// Nobody reports how the clients fare, and there is no dedicated link: carrying slowly is better than not at all.
    pub(crate) fn is_unlimited<'a>(&self, mut usable: impl Iterator<Item = &'a Path>) -> bool {
        let Some(limiter) = &self.limiter else { return true };
        limiter.is_silent() && usable.all(|p| limiter.is_shared(p.id))
    }

    /// Adjusts what the scheduler sees of a path. `unlimited`: [`Backhaul::is_unlimited`].
    pub(crate) fn adjust(&mut self, now: Time, path: &Path, unlimited: bool, info: &mut PathInfo) {
        let link = &self.links[path.id.index()];
        let outstanding = match self.by_completions {
            true => link.outstanding_full(path),
            false => link.outstanding(path),
        };
        info.outstanding = u32::try_from(outstanding).unwrap_or(u32::MAX);
        info.threshold = link.threshold(now, path, &self.thresholds);
        let limiter = self.limiter.as_mut().filter(|l| l.is_shared(path.id));
        info.is_shared = limiter.is_some() || self.shared & path.id.bit() != 0;
        match limiter.filter(|_| !unlimited) {
            Some(l) => (info.threshold, info.slots) = l.slots(now, path.id, info.outstanding, info.threshold),
            None if self.by_completions => info.slots = info.threshold.saturating_sub(info.outstanding),
            None => {}
        }
        info.has_room &= info.slots > 0;
        if self.by_completions {
            info.utilisation = link.utilisation.share(now);
        }
    }

    /// Datagrams of flows left on a path.
    pub(crate) fn on_batch(&mut self, now: Time, path: PathId, datagrams: u32) {
        if let Some(l) = self.limiter.as_mut().filter(|l| l.is_shared(path)) {
            l.on_sent(now, path, datagrams);
        }
    }

    /// Whether packets of the low-latency class may leave now on `path`; `only_acks`: all of them are acknowledgements of TCP.
    pub(crate) fn may_send_low_latency(
        &mut self,
        now: Time,
        path: &Path,
        only_acks: bool,
        paths: &[Path],
    ) -> bool {
        let link = &mut self.links[path.id.index()];
        let held = link.holds_low_latency(now, path);
        if self.by_completions && !self.acks.may_leave(now, backlog(only_acks, held, paths)) {
            return false;
        }
        link.last_low_latency = Some(path.sent.next_number());
        true
    }

    /// No packet of the low-latency class waits, or none can leave.
    pub(crate) fn no_low_latency(&mut self) {
        self.acks.end();
    }

    /// Whether queued packets, of so many bytes, may leave now.
    pub(crate) fn may_send_queued(&mut self, now: Time, bytes: u64, paths: &[Path]) -> bool {
        let small = bytes < SMALL_BACKLOG;
        !self.by_completions || self.small.may_leave(now, backlog(small, false, paths))
    }

    /// Nothing is queued.
    pub(crate) fn no_queued(&mut self) {
        self.small.end();
    }

    /// The path by which acknowledgements of path `own` leave: its own, unless that is on the channel of this end's clients and another is not,
    /// since each would take a turn from them. Nobody answers bare acknowledgements: that the other path is gone shows by what no longer comes on it.
    pub(crate) fn ack_path(&self, now: Time, own: PathId, paths: &[Path]) -> PathId {
        let is_shared = |id: PathId| self.shared & id.bit() != 0;
        let other = |p: &Path| {
            let heard = now.since(p.heard_at) < ACKS_ELSEWHERE;
            !is_shared(p.id) && heard && p.live.state == State::Active && p.may_speak()
        };
        let another = paths.iter().find(|p| is_shared(own) && other(p)).map(|p| p.id);
        another.unwrap_or(own)
    }

    // --- queue reports ---

    /// Repeater: a radio reports its queue towards a client, where the peer reads reports. `true`: it is to be told at once.
    pub(crate) fn on_client_queue(&mut self, now: Time, client: u32, state: LinkState) -> bool {
        self.reporter.on_client_queue(now, client, state)
    }

    /// Repeater: its clients' queues.
    pub(crate) fn clients(&self) -> &ClientQueues {
        &self.reporter.queues
    }

    /// Whether a report is to leave by this path now, though nothing else does.
    pub(crate) fn wants_turn(&self, now: Time, path: &Path) -> bool {
        let link_is_empty = self.links[path.id.index()].outstanding(path) == 0;
        self.reporter.wants_turn(now, path.id, link_is_empty)
    }

    /// The report that leaves with the next datagram of this path, if one does.
    pub(crate) fn take_report(&mut self, path: &Path) -> Option<QueueFrame> {
        self.reporter.take(path.id, path.sent.next_number(), self.shared, &self.config)
    }

    /// Access point: the repeater reports.
    pub(crate) fn on_report(&mut self, now: Time, report: &QueueFrame) {
        if self.limiter.is_none() {
            self.limiter = SharedLinkLimiter::new(&self.config, self.thresholds.most, now);
        }
        if let Some(l) = &mut self.limiter {
            l.on_report(now, report);
        }
    }

    /// Does what is due. `true`: shared links may do something else now.
    pub(crate) fn on_timer(&mut self, now: Time, paths: &[Path]) -> bool {
        if self.reporter.poll(now, self.config.every(), self.peer_reads) {
            let active = paths.iter().filter(|p| p.live.state == State::Active);
            let best = active.min_by_key(|p| {
                let settled = p.sent.next_number() - self.links[p.id.index()].outstanding(p);
                let held = self.reporter.is_held_by(p.id, settled);
                (held, self.shared & p.id.bit(), p.rtt.smoothed())
            });
            if let Some(id) = best.map(|p| p.id) {
                self.reporter.queue(now, id);
            }
        }
        self.limiter.as_mut().is_some_and(|l| l.on_timer(now))
    }

    /// When something is due next, and what. `waiting`: data waits to be sent.
    pub(crate) fn next_timeout(
        &self,
        now: Time,
        paths: &[Path],
        waiting: bool,
    ) -> Option<(Time, &'static str)> {
        let limiter = self.limiter.as_ref();
        let of_session = [
            (self.reporter.next_timeout(), "queue report"),
            (limiter.map(SharedLinkLimiter::silent_at), "silence of the repeater"),
            (limiter.filter(|_| waiting).and_then(SharedLinkLimiter::ready_at), "shared link"),
            (self.acks.opens_at(), "acknowledgements of flows"),
            (self.small.opens_at(), "small backlog"),
        ];
        // From then on acknowledgements alone count, and they may be overdue.
        let of_link = |p: &Path| {
            let heeded = self.by_completions && p.sent.datagrams_in_flight() > 0;
            let until = self.links[p.id.index()].completions.heeded_until(now).filter(|_| heeded);
            (until, "silence of the link")
        };
        let all = of_session.into_iter().chain(paths.iter().map(of_link));
        all.filter_map(|(at, why)| Some((at?, why))).min_by_key(|(at, _)| *at)
    }

    // --- status ---

    /// The link of a path, now.
    pub(crate) fn link_status(&self, now: Time, path: &Path) -> LinkStatus {
        let link = &self.links[path.id.index()];
        LinkStatus {
            outstanding: link.outstanding(path),
            threshold: link.threshold(now, path, &self.thresholds),
            completed_pps: link.completed_pps(path),
            source: link.completions.source(now),
            is_shared: self.shared & path.id.bit() != 0
                || self.limiter.as_ref().is_some_and(|l| l.is_shared(path.id)),
        }
    }

    /// The queues towards the clients; `None` where nobody reports any.
    pub(crate) fn status(&self) -> Option<BackhaulStatus> {
        let limiter = self.limiter.as_ref();
        let (queues, reports_sent) = (&self.reporter.queues, self.reporter.sent);
        let silent = queues.is_empty() && limiter.is_none() && reports_sent == 0;
        (!silent).then(|| BackhaulStatus {
            clients: queues.len(),
            longest: limiter.map_or(queues.longest(self.config.low), SharedLinkLimiter::packets),
            reports_sent,
            received: limiter.map(SharedLinkLimiter::counters).unwrap_or_default(),
            limiter: limiter.map(|l| (l.name(), l.allowance())),
            ..BackhaulStatus::default()
        })
    }
}

fn backlog(deferrable: bool, held: bool, paths: &[Path]) -> Backlog {
    let total = |of: fn(&Traffic) -> u64| paths.iter().map(|p| of(&p.traffic)).sum();
    Backlog { deferrable, held, received: total(|t| t.received), sent: total(|t| t.sent) }
}
