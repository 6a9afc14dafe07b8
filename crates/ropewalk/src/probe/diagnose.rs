//! What limits a path, by elimination, as the mesh paper (section III) does it: predict each candidate's limit and compare.
//!
//! 1. Several connections carry much more than one: something holds each connection back. The kernel says whether it was the window
//!    (rate ≤ window / round trip); if it was not, and segments were lost, it was loss (rate ≤ 1.22 · MSS / (round trip · √loss), Mathis et al., 1997).
//! 2. They do not: the path is full. If up and down together carry no more than one of them alone, both share a medium: airtime.
//! 3. Otherwise a link is full. If one connection filled it although segments were lost that its own queue did not drop, the machine's congestion control
//!    does not slow down for losses (BBR), and others would get the rate of Mathis: loss.
//! 4. If the link keeps much waiting, the queue is what hurts.

use super::echo::Echoes;
use serde::Serialize;

/// Several connections carry this many times one: not noise, but a limit of each connection.
const SCALES: f64 = 1.3;
/// Up and down together carry at most this many times the better: a shared medium. Two directions that do not share carry up to 2.
const SHARED: f64 = 1.25;
/// A queue of so many ms, and as many times the idle round trip, hurts (video calls want less than 30 ms of it).
const BLOAT_MS: f64 = 30.0;
/// A connection that its window holds back so much of its time is limited by it.
const HELD: f64 = 0.3;
/// Share of segments that a full link's connections lose now and then by themselves; more, with a queue that is short, is the path's.
const OWN_LOSS: f64 = 0.003;
/// Recommended windows are so many times rate times round trip, so that a window that comes a little late does not stop the sender.
const MARGIN: f64 = 1.25;

/// What a test of streams gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Load {
    /// Connections at once.
    pub streams: u8,
    /// What they carried, Mbit/s.
    pub mbps: f64,
    /// TCP's smoothed round trip, ms, mean over connections.
    pub tcp_rtt_ms: f64,
    /// Share of segments sent again, 0 to 1.
    pub loss: f64,
    /// Share of time in which the receivers' windows held senders back, 0 to 1.
    pub window_limited: f64,
    /// Share of time in which the senders' own buffers did.
    pub buffer_limited: f64,
    /// A receiver's window, bytes, mean over connections.
    pub window_bytes: f64,
    /// Bytes in a segment.
    pub mss: u32,
    /// Echoes beside them.
    pub echoes: Echoes,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Direction {
    /// One connection.
    pub one: Load,
    /// Several.
    pub several: Load,
}

/// What binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Limit {
    /// The window: the receiver's, or the sender's buffer.
    Window,
    /// Losses, at which TCP slows down.
    Loss,
    /// A medium that both directions share.
    Airtime,
    /// A link is full, and keeps much waiting.
    Queue,
    /// A link is full, as it should be.
    Link,
    /// Nothing passed.
    Nothing,
}

/// What is recommended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Finding {
    /// What binds one connection.
    pub limit: Limit,
    /// The figures that say so, a sentence.
    pub because: String,
    /// What to set, a sentence.
    pub set: String,
    /// A window to set, bytes.
    pub window_bytes: Option<u64>,
    /// Connections that do the same with windows as they are.
    pub streams: Option<u8>,
    /// What one transfer should carry then, Mbit/s.
    pub predicted_mbps: f64,
    /// The same as a factor.
    pub gain: f64,
}

impl Finding {
    fn new(limit: Limit, because: String, set: &str, mbps: f64) -> Finding {
        Finding {
            limit,
            because,
            set: set.into(),
            window_bytes: None,
            streams: None,
            predicted_mbps: mbps,
            gain: 1.0,
        }
    }
}

/// Finds what binds a direction; `both_mbps` is what up and down carried together.
pub(super) fn diagnose(
    direction: &Direction,
    idle: &Echoes,
    train_mbps: Option<f64>,
    both_mbps: f64,
    best_mbps: f64,
) -> Finding {
    let Direction { one, several } = direction;
    if one.mbps < 1e-3 {
        return Finding::new(
            Limit::Nothing,
            "no data passed".into(),
            "see whether a firewall is in the way",
            0.0,
        );
    }
    if several.mbps > SCALES * one.mbps {
        let held = one.window_limited.max(one.buffer_limited) >= HELD;
        return if held || one.loss == 0.0 { window(direction, idle, train_mbps) } else { loss(direction) };
    }
    if both_mbps > 0.0 && both_mbps < SHARED * best_mbps {
        return airtime(one, both_mbps, best_mbps);
    }
    if one.loss > OWN_LOSS && one.mbps > SCALES * mathis(one) && added(one, idle) < BLOAT_MS {
        return heedless(direction);
    }
    full(direction, idle)
}

/// What losses leave to a connection that slows down for them, Mbit/s (Mathis et al., 1997).
fn mathis(one: &Load) -> f64 {
    1.22 * f64::from(one.mss) * 8.0 / (one.tcp_rtt_ms.max(1e-3) * 1e3 * one.loss.sqrt())
}

/// What the load's queue adds to echoes, ms.
fn added(load: &Load, idle: &Echoes) -> f64 {
    load.echoes.median_ms - idle.median_ms
}

/// What the path could carry: what several connections did, or more if their windows bound them too and trains came faster.
fn capacity(several: &Load, train_mbps: Option<f64>) -> f64 {
    let bound = several.window_limited >= HELD;
    several.mbps.max(train_mbps.filter(|_| bound).unwrap_or(0.0) * 0.9)
}

fn window(Direction { one, several }: &Direction, idle: &Echoes, train_mbps: Option<f64>) -> Finding {
    let rtt_ms = if idle.received > 0 { idle.median_ms } else { one.tcp_rtt_ms };
    let law = one.window_bytes * 8.0 / one.tcp_rtt_ms.max(1e-3) / 1e3;
    let whose =
        if one.buffer_limited > one.window_limited { "the sender's buffer" } else { "the receiver's window" };
    let mbps = capacity(several, train_mbps);
    let bytes = round_up(mbps * 1e6 / 8.0 * one.tcp_rtt_ms.max(rtt_ms) / 1e3 * MARGIN);
    let streams = (mbps / one.mbps).ceil().clamp(2.0, 16.0) as u8;
    let because = format!(
        "{} connections carry {:.1} times one; {whose} held one back for {:.0} % of its time, and {:.0} KiB in {:.2} ms make {:.1} Mbit/s, of which it got {:.1}",
        several.streams,
        several.mbps / one.mbps,
        one.window_limited.max(one.buffer_limited) * 100.0,
        one.window_bytes / 1024.0,
        one.tcp_rtt_ms,
        law,
        one.mbps
    );
    let set = format!(
        "a window of at least {} KiB at the receiver (and as large a buffer at the sender), or {streams} connections at once",
        bytes / 1024
    );
    Finding {
        limit: Limit::Window,
        because,
        set,
        window_bytes: Some(bytes),
        streams: Some(streams),
        predicted_mbps: mbps,
        gain: mbps / one.mbps,
    }
}

fn loss(Direction { one, several }: &Direction) -> Finding {
    let law = mathis(one);
    let streams = (several.mbps / one.mbps).ceil().clamp(2.0, 16.0) as u8;
    let because = format!(
        "{} connections carry {:.1} times one; {:.2} % of segments were lost at a round trip of {:.2} ms, which makes about {law:.1} Mbit/s (Mathis), and one got {:.1}",
        several.streams,
        several.mbps / one.mbps,
        one.loss * 100.0,
        one.tcp_rtt_ms,
        one.mbps
    );
    let set = format!("a tunnel that repairs losses (`ropewalk up`), or {streams} connections at once");
    let (predicted_mbps, gain) = (several.mbps, several.mbps / one.mbps);
    Finding {
        limit: Limit::Loss,
        because,
        set,
        window_bytes: None,
        streams: Some(streams),
        predicted_mbps,
        gain,
    }
}

/// One connection fills the link because its congestion control does not slow down for losses; others do.
fn heedless(Direction { one, several }: &Direction) -> Finding {
    let law = mathis(one);
    let streams = (several.mbps / law).ceil().clamp(2.0, 16.0) as u8;
    let because = format!(
        "{:.2} % of segments were lost, and not to the connection's own queue; it carried {:.1} Mbit/s since its congestion control does not slow down for that (as BBR), and one that does (CUBIC, NewReno) gets about {law:.1} Mbit/s at a round trip of {:.2} ms (Mathis)",
        one.loss * 100.0,
        one.mbps,
        one.tcp_rtt_ms
    );
    let set = format!(
        "nothing here; for programs of other machines a tunnel that repairs losses (`ropewalk up`), or {streams} connections at once"
    );
    let finding = Finding::new(Limit::Loss, because, &set, one.mbps.max(several.mbps));
    Finding { streams: Some(streams), ..finding }
}

fn airtime(one: &Load, both_mbps: f64, best_mbps: f64) -> Finding {
    let because = format!(
        "up and down together carry {both_mbps:.1} Mbit/s, one of them alone {best_mbps:.1}: they share a medium (or a processor), and it is full"
    );
    let set = "another channel or another link (`ropewalk up` bonds them); neither windows nor more connections help";
    Finding::new(Limit::Airtime, because, set, one.mbps)
}

fn full(Direction { one, several }: &Direction, idle: &Echoes) -> Finding {
    // One careful connection may leave a queue short that several fill.
    let added = added(one, idle).max(added(several, idle));
    let rate = format!(
        "one connection carries {:.1} Mbit/s, {} carry {:.1}: a link is full",
        one.mbps, several.streams, several.mbps
    );
    if one.echoes.received + several.echoes.received == 0 || added < BLOAT_MS || added < idle.median_ms {
        return Finding::new(
            Limit::Link,
            rate,
            "nothing: more needs a faster link, or a second one",
            one.mbps,
        );
    }
    let bytes = round_up(one.mbps * 1e6 / 8.0 * idle.median_ms / 1e3 * MARGIN);
    let because =
        format!("{rate}, and its queue adds {added:.0} ms to a round trip of {:.1} ms", idle.median_ms);
    let set = format!(
        "at the narrow link a queue that keeps itself short (`tc qdisc … cake bandwidth {:.0}mbit`), or a window of {} KiB at the receiver",
        one.mbps * 0.95,
        bytes / 1024
    );
    let finding = Finding::new(Limit::Queue, because, &set, one.mbps * 0.95);
    Finding { window_bytes: Some(bytes), gain: 0.95, ..finding }
}

/// To whole KiB, and no less than two segments' worth.
fn round_up(bytes: f64) -> u64 {
    (bytes / 1024.0).ceil().max(3.0) as u64 * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoes(median_ms: f64) -> Echoes {
        Echoes::of(10, vec![median_ms; 10])
    }

    fn load(streams: u8, mbps: f64) -> Load {
        Load {
            streams,
            mbps,
            tcp_rtt_ms: 5.0,
            mss: 1448,
            echoes: echoes(5.0),
            window_bytes: 16384.0,
            ..Load::default()
        }
    }

    fn of(one: Load, several: Load, both: f64) -> Finding {
        let best = several.mbps.max(one.mbps);
        diagnose(&Direction { one, several }, &echoes(5.0), None, both, best)
    }

    /// The mesh paper's five hops: 16 KB in 5.01 ms make 26 Mbit/s, and the air has 82.
    #[test]
    fn a_small_window_is_found_and_the_right_one_named() {
        let found = of(Load { window_limited: 0.98, ..load(1, 25.0) }, load(8, 82.0), 160.0);
        assert_eq!((found.limit, found.streams), (Limit::Window, Some(4)));
        // 82 Mbit/s · 5 ms · 1.25 = 64062 bytes.
        assert_eq!(found.window_bytes, Some(63 * 1024));
        assert!((found.gain - 3.28).abs() < 0.01, "{found:?}");
        assert!(found.because.contains("26.2 Mbit/s") && found.because.contains("98 %"), "{}", found.because);
        let buffer = of(Load { buffer_limited: 0.9, ..load(1, 25.0) }, load(8, 82.0), 160.0);
        assert!(buffer.because.contains("the sender's buffer"), "{}", buffer.because);
    }

    /// Windows that bind several connections too hide what the path has; trains show it.
    #[test]
    fn trains_tell_more_than_connections_that_are_bound_themselves() {
        let several = Load { window_limited: 0.9, ..load(8, 82.0) };
        let direction = Direction { one: Load { window_limited: 0.98, ..load(1, 10.0) }, several };
        let found = diagnose(&direction, &echoes(5.0), Some(200.0), 300.0, 82.0);
        assert_eq!((found.limit, found.predicted_mbps), (Limit::Window, 180.0));
    }

    #[test]
    fn losses_are_told_from_windows() {
        let found = of(Load { loss: 0.01, ..load(1, 25.0) }, load(8, 82.0), 160.0);
        assert_eq!((found.limit, found.window_bytes), (Limit::Loss, None));
        // 1.22 · 1448 · 8 / (5 ms · 0.1) = 28.3 Mbit/s.
        assert!(found.because.contains("28.3 Mbit/s"), "{}", found.because);
    }

    /// Figures of a cable of 40 Mbit/s and 10 ms that loses 1 %, under BBR.
    #[test]
    fn losses_are_found_where_congestion_control_does_not_heed_them() {
        let one = |loss, queue_ms| Load { loss, tcp_rtt_ms: 22.0, echoes: echoes(queue_ms), ..load(1, 37.0) };
        let several = Load { loss: 0.012, echoes: echoes(52.0), ..load(8, 38.0) };
        let of =
            |one| diagnose(&Direction { one, several: several.clone() }, &echoes(20.0), None, 74.0, 38.0);
        let found = of(one(0.01, 22.0));
        assert_eq!((found.limit, found.gain), (Limit::Loss, 1.0), "{found:?}");
        // 1.22 · 1448 · 8 / (22 ms · 0.1) = 6.4 Mbit/s, of which six make 38.
        assert!(found.because.contains("about 6.4 Mbit/s"), "{}", found.because);
        assert_eq!(found.streams, Some(6));
        // What its own long queue drops, or hardly anything, is the queue's.
        assert_eq!(of(one(0.01, 90.0)).limit, Limit::Queue);
        assert_eq!(of(one(0.001, 22.0)).limit, Limit::Queue);
    }

    #[test]
    fn a_full_path_is_a_medium_a_queue_or_a_link() {
        assert_eq!(of(load(1, 80.0), load(8, 82.0), 85.0).limit, Limit::Airtime);
        assert_eq!(of(load(1, 80.0), load(8, 82.0), 160.0).limit, Limit::Link);
        let bloated = of(Load { echoes: echoes(105.0), ..load(1, 80.0) }, load(8, 82.0), 160.0);
        assert_eq!((bloated.limit, bloated.window_bytes), (Limit::Queue, Some(62 * 1024)));
        assert!(bloated.because.contains("adds 100 ms"), "{}", bloated.because);
        assert_eq!(of(load(1, 0.0), load(8, 0.0), 0.0).limit, Limit::Nothing);
    }
}
