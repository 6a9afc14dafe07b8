//! Which arriving packets get a mark, so that the sender moves its traffic to better access points
//! (paper 001, §5.2).
//!
//! Marks of rate δ on the subflow of a slow access point are safe if the subflow could still fill
//! that access point alone: δ takes away the queue and no more. With p = 2·(T/RTT)² marks and
//! losses a Reno-like sender fills a link of packet time T whose round trip is RTT; without the
//! queue it may have 2·(T/RTTmin)². The difference is δ. Other senders have other laws (CUBIC), or
//! none (BBR).

use core::time::Duration;

/// A subflow is marked from this many times the packet time of the best access point on (paper 001,
/// §5.2).
const THRESHOLD: f64 = 1.2;
/// Most packets marked: with 5 % the sender's window is six packets, and with fewer a loss becomes
/// a timeout.
const CAP: f64 = 0.05;
/// Least round trips are forgotten after one to two of these: long enough to see the queue empty
/// once.
const SPAN: Duration = Duration::from_secs(30);

/// The marking rate that takes the queue away, and no more: 2·T²·(1/RTTmin² − 1/RTT²), without the
/// cap. 0 if there is no queue.
pub fn rate(packet_time: Duration, least_rtt: Duration, rtt: Duration) -> f64 {
    if least_rtt.is_zero() || rtt <= least_rtt {
        return 0.0;
    }
    let packets = |rtt: Duration| packet_time.as_secs_f64() / rtt.as_secs_f64();
    let (without_queue, with_queue) = (packets(least_rtt), packets(rtt));
    2.0 * (without_queue * without_queue - with_queue * with_queue)
}

/// Equation 5 as the paper prints it, a baseline, `rtt` being as measured, with the queue. It is
/// not the solution of equations 3 and 4: some 900 times too small at a packet time of 3 ms and a
/// path of 25 ms. None: it has no value there, or a pole.
pub fn printed_rate(packet_time: Duration, rtt: Duration) -> Option<f64> {
    let (t, rtt) = (packet_time.as_secs_f64(), rtt.as_secs_f64());
    let left = rtt - 50.0 * t;
    (left > 0.0).then(|| {
        let root = 50.0 * t * t / (rtt * left);
        0.5 * root * root
    })
}

/// Which equation gives the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Law {
    /// [`rate`].
    #[default]
    Corrected,
    /// [`printed_rate`].
    Printed,
}

/// Round trips of a subflow as its receiver sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    smoothed: Option<Duration>,
    /// Least of this span and of the one before.
    least: [Option<Duration>; 2],
    span_began: Duration,
}

impl RoundTrips {
    /// A sample. One of zero says nothing.
    pub fn on_sample(&mut self, rtt: Duration, now: Duration) {
        if rtt.is_zero() {
            return;
        }
        let lasted = now.saturating_sub(self.span_began);
        if lasted >= SPAN {
            // After a pause, what was before it is older than the span before this one.
            let is_of_before = lasted < 2 * SPAN || self.smoothed.is_none();
            self.least = [None, self.least[0].filter(|_| is_of_before)];
            self.span_began = now;
        }
        self.least[0] = Some(self.least[0].map_or(rtt, |least| least.min(rtt)));
        // As RFC 6298 has it: an eighth of the difference.
        self.smoothed = Some(self.smoothed.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8));
    }

    /// A least round trip that somebody else has measured: nothing that is smoothed.
    pub fn on_least(&mut self, rtt: Duration) {
        if !rtt.is_zero() {
            self.least[0] = Some(self.least[0].map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Smoothed.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The least of the last 30 to 60 s: the path without its queue.
    pub fn least(&self) -> Option<Duration> {
        self.least.into_iter().flatten().min()
    }
}

/// Marks one subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marker {
    law: Law,
    rate: f64,
    /// No mark before this: a sender answers once in a round trip, so nearer marks say nothing
    /// more.
    not_before: Duration,
    rtt: Duration,
}

impl Marker {
    /// One that marks nothing until told.
    pub fn new(law: Law) -> Marker {
        Marker { law, ..Marker::default() }
    }

    /// Works out the rate anew, from the packet time of this access point and the shortest of all.
    pub fn update(&mut self, packet_time: Duration, best: Duration, trips: &RoundTrips) {
        let (Some(rtt), Some(least)) = (trips.smoothed(), trips.least()) else { return };
        self.rtt = rtt;
        let is_worse = packet_time.as_secs_f64() >= THRESHOLD * best.as_secs_f64();
        self.rate = match self.law {
            _ if !is_worse => 0.0,
            Law::Corrected => rate(packet_time, least, rtt).min(CAP),
            // Where the printed equation has no value the queue is short, so there is nothing to
            // take away.
            Law::Printed => printed_rate(packet_time, rtt).unwrap_or(0.0).min(CAP),
        };
    }

    /// Share of packets to be marked.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether the packet that arrives gets a mark. `draw` is a random number from 0 to 1, 1 left
    /// out. A packet whose sender cannot answer marks (`is_ect` false) gets none (RFC 3168 §5).
    pub fn marks(&mut self, is_ect: bool, draw: f64, now: Duration) -> bool {
        let marks = is_ect && now >= self.not_before && draw < self.rate;
        if marks {
            self.not_before = now + self.rtt;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The path's round trip and the packet time, ms; what is measured has a queue of 100 packets.
    fn with_queue(path: u64, packet: u64) -> (Duration, Duration, Duration) {
        (ms(packet), ms(path), ms(path + 100 * packet))
    }

    #[test]
    fn the_vectors_of_formula_6_3() {
        let vectors = [
            (10, 1, 0.01983),
            (25, 3, 0.02863),
            (50, 3, 0.007053),
            (50, 6, 0.02863),
            (100, 1, 0.000150),
            (100, 6, 0.007053),
            (10, 6, 0.7198),
        ];
        for (path, packet, delta) in vectors {
            let (packet_time, least, rtt) = with_queue(path, packet);
            let got = rate(packet_time, least, rtt);
            assert!((got / delta - 1.0).abs() < 2e-3, "({path}, {packet}): {got} for {delta}");
        }
    }

    #[test]
    fn the_printed_rate_is_900_times_too_small() {
        let (packet_time, least, rtt) = with_queue(25, 3);
        let ratio = rate(packet_time, least, rtt) / printed_rate(packet_time, rtt).unwrap();
        assert!((900.0..950.0).contains(&ratio), "{ratio}");
        // The paper's grid hits its pole if the path's own round trip is put in.
        assert_eq!(printed_rate(ms(1), ms(50)), None);
    }

    #[test]
    fn equation_3_holds_with_the_corrected_rate_only() {
        let (packet_time, least, rtt) = with_queue(25, 3);
        let p = 2.0 * (packet_time.as_secs_f64() / rtt.as_secs_f64()).powi(2);
        let packets_s = |loss: f64, rtt: Duration| (2.0 / loss).sqrt() / rtt.as_secs_f64();
        assert!((packets_s(p, rtt) - 1000.0 / 3.0).abs() < 0.1);
        assert!((packets_s(p + rate(packet_time, least, rtt), least) - 1000.0 / 3.0).abs() < 0.1);
        assert!((packets_s(p + printed_rate(packet_time, rtt).unwrap(), least) - 3983.0).abs() < 5.0);
    }

    #[test]
    fn without_a_queue_nothing_is_marked() {
        assert_eq!(rate(ms(3), ms(25), ms(25)), 0.0);
        assert_eq!(rate(ms(3), ms(25), ms(20)), 0.0);
        assert_eq!(rate(ms(3), Duration::ZERO, ms(20)), 0.0);
    }

    #[test]
    fn the_least_round_trip_is_forgotten_in_time() {
        let mut trips = RoundTrips::default();
        trips.on_sample(ms(25), ms(0));
        trips.on_sample(Duration::ZERO, ms(1));
        for second in 1..=35 {
            trips.on_sample(ms(325), ms(second * 1000));
        }
        assert_eq!(trips.least(), Some(ms(25)));
        assert!(trips.smoothed().unwrap() > ms(320));
        for second in 36..=65 {
            trips.on_sample(ms(325), ms(second * 1000));
        }
        assert_eq!(trips.least(), Some(ms(325)));
    }

    #[test]
    fn a_least_round_trip_of_before_a_pause_is_forgotten() {
        let mut trips = RoundTrips::default();
        trips.on_sample(ms(25), ms(0));
        trips.on_sample(ms(100), ms(59_000));
        assert_eq!(trips.least(), Some(ms(25)));
        trips.on_sample(ms(200), ms(600_000));
        assert_eq!(trips.least(), Some(ms(200)), "ten minutes later the way is another");
    }

    #[test]
    fn a_least_round_trip_of_somebody_else_moves_the_least_alone() {
        let mut trips = RoundTrips::default();
        trips.on_sample(ms(300), ms(0));
        trips.on_least(ms(25));
        trips.on_least(Duration::ZERO);
        assert_eq!((trips.smoothed(), trips.least()), (Some(ms(300)), Some(ms(25))));
    }

    fn marker(packet: u64, path: u64, queue: u64) -> Marker {
        let mut trips = RoundTrips::default();
        trips.on_sample(ms(path), ms(0));
        (0..60).for_each(|_| trips.on_sample(ms(path + queue), ms(1)));
        let mut marker = Marker::new(Law::Corrected);
        marker.update(ms(packet), Duration::from_micros(2_500), &trips);
        marker
    }

    #[test]
    fn only_access_points_a_fifth_worse_are_marked_and_the_rate_is_capped() {
        assert_eq!(marker(2, 25, 200).rate(), 0.0);
        assert!((marker(3, 25, 300).rate() - 0.02863).abs() < 1e-4);
        assert_eq!(marker(6, 10, 600).rate(), CAP);
        // Nobody knows the round trip yet.
        let mut early = Marker::new(Law::Corrected);
        early.update(ms(6), ms(1), &RoundTrips::default());
        assert_eq!(early.rate(), 0.0);
    }

    #[test]
    fn marks_are_a_round_trip_apart_and_on_ect_only() {
        let mut marker = marker(6, 10, 90);
        assert!(!marker.marks(false, 0.0, ms(1)));
        assert!(!marker.marks(true, 0.05, ms(1)));
        assert!(marker.marks(true, 0.049, ms(1)));
        assert!(!marker.marks(true, 0.0, ms(100)));
        assert!(marker.marks(true, 0.0, ms(102)));
    }
}
