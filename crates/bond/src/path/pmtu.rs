//! The largest datagram a path carries: Datagram Packetization Layer PMTU Discovery (RFC 8899).

use ropewalk_time::{Duration, Time};

/// RFC 8899 §5.1.2: what works nearly everywhere and is the least of IPv6. IP packet length, bytes.
pub(crate) const BASE: u16 = 1280;
/// §5.1.2 MAX_PROBES.
const MAX_PROBES: u8 = 3;
/// How long after the base was refuted it is tried again: §5.2 leaves that to whoever builds it.
const RETRY_BASE: Duration = Duration::from_secs(5);
/// The same where packets as long come the other way: the way was mended, perhaps.
const RETRY_HEARD: Duration = Duration::from_millis(500);
/// §5.1.1 PMTU_RAISE_TIMER.
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// Sizes closer than this are not worth another probe.
const RESOLUTION: u16 = 16;
/// Nothing larger is tried because the peer sent it.
const JUMBO: u16 = 9000;
/// Long datagrams lost in a row, while shorter ones pass, that mean a black hole (§4.3).
const BLACK_HOLE: u8 = 8;
/// Round trips that the row spans at least: a full queue drops as many at once, and takes the next.
const BLACK_HOLE_ROUNDS: u32 = 2;

/// Whether a datagram of the base size passes (§5.2, the states BASE, SEARCHING and ERROR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// Nobody knows; data goes there meanwhile.
    Unknown,
    /// One has passed.
    Proven,
    /// Several did not, while the path works.
    Refuted,
}

/// Long datagrams that were lost since one as long arrived. Times are those at which datagrams
/// left: losses are found late, and not in order.
#[derive(Debug, Default)]
struct Row {
    lost: u8,
    first: Option<Time>,
    /// The shortest of them.
    least: u16,
    /// A shorter one that left after the first of them arrived.
    shorter_passed: bool,
}

/// Search state of one path. Sizes are whole IP packets.
#[derive(Debug)]
pub(crate) struct Mtu {
    current: u16,
    base: Base,
    /// Known not to pass, or the interface's limit plus one.
    ceiling: u16,
    interface: u16,
    probing: Option<u16>,
    /// Probes of this size that were lost in a row.
    failing: u16,
    failures: u8,
    next: Time,
    row: Row,
    /// The newest long one that arrived, and its size.
    newest_long: Option<(Time, u16)>,
}

impl Mtu {
    /// A path over an interface of MTU `interface`.
    pub(crate) fn new(interface: u16) -> Self {
        let interface = interface.max(BASE);
        Mtu {
            current: BASE,
            base: Base::Unknown,
            ceiling: interface.saturating_add(1),
            interface,
            probing: None,
            failing: 0,
            failures: 0,
            next: Time::ZERO,
            row: Row::default(),
            newest_long: None,
        }
    }

    /// Largest IP packet known to pass, bytes.
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// The MTU of the interface, bytes.
    pub(crate) fn interface(&self) -> u16 {
        self.interface
    }

    /// The path works, and does not pass the base: it is of no use for data.
    pub(crate) fn is_too_narrow(&self) -> bool {
        self.base == Base::Refuted
    }

    /// Datagrams above this are long ones: what is looked for is what swallows them.
    fn short(&self) -> u16 {
        if self.current > BASE { BASE } else { BASE / 2 }
    }

    /// The largest size is another one now: what was counted of another is worth nothing.
    fn set_current(&mut self, size: u16) {
        self.current = size;
        (self.row, self.newest_long) = (Row::default(), None);
    }

    /// A probe to send now, bytes of IP packet. `rtt_guard` spaces probes.
    pub(crate) fn poll_probe(&mut self, now: Time, rtt_guard: Duration) -> Option<u16> {
        if now < self.next || self.probing.is_some() {
            return None;
        }
        if self.wants_base() {
            self.probing = Some(BASE);
            self.next = now + rtt_guard;
            return self.probing;
        }
        if self.ceiling - self.current <= RESOLUTION.min(self.ceiling - BASE)
            && self.ceiling <= self.interface
        {
            // Searched: look again later, the route may have grown (§5.3.1).
            self.ceiling = self.interface.saturating_add(1);
            self.failures = 0;
            self.next = now + RAISE_AFTER;
            return None;
        }
        if self.current >= self.interface {
            self.next = now + RAISE_AFTER;
            return None;
        }
        let size = self.candidate();
        self.probing = Some(size);
        self.next = now + rtt_guard;
        Some(size)
    }

    /// The base itself is in question, and nothing larger that could answer for it is to be tried
    /// first.
    fn wants_base(&self) -> bool {
        match self.base {
            Base::Proven => false,
            Base::Refuted => true,
            Base::Unknown => self.ceiling <= self.interface || self.interface == BASE,
        }
    }

    /// The interface's own MTU first, since it mostly works; then halves of what is left (§5.3.2).
    fn candidate(&self) -> u16 {
        if self.ceiling > self.interface {
            return self.interface;
        }
        self.current + (self.ceiling - self.current) / 2
    }

    /// When [`Mtu::poll_probe`] wants to be asked again.
    pub(crate) fn next_probe(&self) -> Time {
        if self.probing.is_some() { Time::NEVER } else { self.next }
    }

    /// A packet of `size` bytes came the other way: one larger than this end thought possible is worth a try.
    pub(crate) fn on_received(&mut self, now: Time, size: u16) {
        if size >= BASE && self.is_too_narrow() {
            self.next = self.next.min(now + RETRY_HEARD);
        }
        let size = size.min(JUMBO);
        if size > self.interface {
            (self.interface, self.ceiling) = (size, size.saturating_add(1));
            (self.failures, self.next) = (0, Time::ZERO);
        }
    }

    /// A probe arrived. `true` if the MTU grew.
    pub(crate) fn on_probe_acked(&mut self, size: u16) -> bool {
        self.probing = None;
        self.failures = 0;
        self.base = Base::Proven;
        let grew = size > self.current && size < self.ceiling;
        if grew {
            self.set_current(size);
        }
        grew
    }

    /// A probe was lost.
    pub(crate) fn on_probe_lost(&mut self, now: Time, size: u16) {
        if self.failing != size {
            (self.failing, self.failures) = (size, 0);
        }
        self.failures += 1;
        self.forget_probe(now);
        if self.failures < MAX_PROBES {
            return;
        }
        self.failures = 0;
        if size > BASE {
            self.ceiling = self.ceiling.min(size);
        } else if self.base != Base::Proven {
            // From now on one is enough.
            (self.base, self.next, self.failures) = (Base::Refuted, now + RETRY_BASE, MAX_PROBES - 1);
        }
    }

    /// A probe was lost with all else on its way: that says nothing of its size.
    pub(crate) fn forget_probe(&mut self, now: Time) {
        (self.probing, self.next) = (None, now);
    }

    /// The kernel refuses `size`; believed only downwards (§4.6.1), and below the base only once it
    /// has refused probes of that.
    pub(crate) fn on_too_big(&mut self, now: Time, size: u16) {
        if self.probing == Some(BASE) {
            return self.on_probe_lost(now, BASE);
        }
        self.probing = None;
        if size <= self.current {
            self.set_current(BASE);
        }
        if size < BASE && self.base == Base::Proven {
            self.base = Base::Unknown;
        }
        self.ceiling = self.ceiling.min(size.max(BASE + 1));
        self.next = now;
    }

    /// A datagram of `size` bytes that left at `sent` arrived. To be told before the losses that the same word brings.
    pub(crate) fn on_arrived(&mut self, sent: Time, size: u16) {
        if size >= BASE && self.base == Base::Unknown {
            self.base = Base::Proven;
        }
        if size > self.short() && self.newest_long.is_none_or(|(newest, _)| newest <= sent) {
            self.newest_long = Some((sent, size));
        }
        if self.row.first.is_some_and(|first| first < sent) {
            match size < self.row.least {
                true => self.row.shorter_passed = true,
                false => self.row = Row::default(),
            }
        }
    }

    /// A datagram of `size` bytes that left at `sent` was lost. `true` if the path now counts as a
    /// black hole: the MTU fell to the base, or the base is refuted.
    pub(crate) fn on_lost(&mut self, now: Time, sent: Time, size: u16, rtt: Duration) -> bool {
        let passed = self.newest_long.is_some_and(|(newest, longer)| sent <= newest && size <= longer);
        if size <= self.short() || passed || self.is_too_narrow() {
            return false;
        }
        let row = &mut self.row;
        let first = row.first.map_or(sent, |first| first.min(sent));
        row.least = if row.first.is_some() { row.least.min(size) } else { size };
        (row.first, row.lost) = (Some(first), row.lost.saturating_add(1));
        let is_row = row.lost >= BLACK_HOLE && sent.since(first) >= rtt * BLACK_HOLE_ROUNDS;
        if !is_row || !row.shorter_passed {
            return false;
        }
        if self.current == BASE {
            self.base = Base::Refuted;
        }
        // An overfull queue may look like this: probes say what passes, and one that is lost settles nothing.
        self.failures = 0;
        // A probe that is under way says more than the next one would.
        self.set_current(BASE);
        self.next = now;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(interface: u16, real: u16) -> (u16, u32) {
        let (mut m, mut probes) = (Mtu::new(interface), 0);
        for ms in 0..10_000 {
            let now = Time::from_millis(ms);
            if let Some(size) = m.poll_probe(now, Duration::ZERO) {
                probes += 1;
                if size <= real {
                    m.on_probe_acked(size);
                } else {
                    m.on_probe_lost(now, size);
                }
            }
        }
        (m.current(), probes)
    }

    #[test]
    fn what_comes_the_other_way_is_tried_and_no_more_than_a_jumbo_frame() {
        let mut m = Mtu::new(1500);
        let first = m.poll_probe(Time::ZERO, Duration::ZERO).unwrap();
        m.on_probe_acked(first);
        m.on_received(Time::ZERO, 1500);
        assert_eq!(m.poll_probe(Time::from_millis(1), Duration::ZERO), None);
        m.on_received(Time::ZERO, 2290);
        let size = m.poll_probe(Time::from_millis(2), Duration::ZERO).unwrap();
        assert!(m.on_probe_acked(size) && m.current() == 2290);
        m.on_received(Time::ZERO, 60_000);
        assert_eq!(m.interface(), JUMBO);
    }

    #[test]
    fn a_narrow_path_is_tried_soon_where_long_packets_come_the_other_way_and_no_more_than_that() {
        let probes = |size: u16| {
            let mut m = Mtu::new(BASE);
            let lost = (0..10_000).filter(|ms| {
                let now = Time::from_millis(*ms);
                m.on_received(now, size);
                let probe = m.poll_probe(now, Duration::ZERO);
                probe.inspect(|size| m.on_probe_lost(now, *size)).is_some()
            });
            lost.count()
        };
        assert_eq!((probes(BASE - 1), probes(BASE)), (3 + 1, 3 + 19));
    }

    #[test]
    fn finds_the_interface_in_one_probe_and_anything_else_closely() {
        assert_eq!(search(1500, 1500), (1500, 1));
        for real in [1280, 1300, 1400, 1420, 1452, 1492] {
            let (found, probes) = search(1500, real);
            assert!(found <= real && real - found <= RESOLUTION, "{real}: {found}");
            assert!(probes < 30, "{real}: {probes}");
        }
        assert_eq!(search(9000, 9000).0, 9000);
    }

    #[test]
    fn falls_to_the_base_in_a_black_hole_and_climbs_again() {
        let mut m = Mtu::new(1500);
        m.poll_probe(Time::ZERO, Duration::ZERO);
        assert!(m.on_probe_acked(1500));
        let (now, rtt) = (Time::from_millis(900), Duration::from_millis(20));
        let lose = |m: &mut Mtu, ms| m.on_lost(now, Time::from_millis(ms), 1450, rtt);
        assert!(!(100..200).any(|ms| lose(&mut m, ms)), "the whole path may be gone");
        m.on_arrived(Time::from_millis(150), 120);
        assert!(lose(&mut m, 200) && m.current() == BASE, "what is shorter passes");
        for ms in 1_000..1_100 {
            match m.poll_probe(Time::from_millis(ms), Duration::ZERO) {
                Some(size) if size <= 1400 => _ = m.on_probe_acked(size),
                Some(size) => m.on_probe_lost(Time::from_millis(ms), size),
                None => break,
            }
        }
        assert!((1400 - RESOLUTION..=1400).contains(&m.current()), "{}", m.current());
    }

    #[test]
    fn what_looked_like_a_black_hole_and_was_none_costs_one_probe() {
        let mut m = Mtu::new(1500);
        m.poll_probe(Time::ZERO, Duration::ZERO);
        m.on_probe_acked(1500);
        let (now, rtt) = (Time::from_millis(900), Duration::from_millis(20));
        assert!(!(100..200).any(|ms| m.on_lost(now, Time::from_millis(ms), 1450, rtt)));
        m.on_arrived(Time::from_millis(150), 120);
        assert!(m.on_lost(now, Time::from_millis(200), 1450, rtt) && m.current() == BASE);
        assert_eq!(m.poll_probe(now, Duration::ZERO), Some(1500));
        assert!(m.on_probe_acked(1500) && m.current() == 1500);
    }

    #[test]
    fn a_path_that_does_not_pass_the_base_is_found_out_and_found_again() {
        let mut m = Mtu::new(1500);
        let mut at = Vec::new();
        for ms in 0..30_000 {
            let now = Time::from_millis(ms);
            let passes = if ms < 12_000 { 1200 } else { 1300 };
            let Some(size) = m.poll_probe(now, Duration::ZERO) else { continue };
            at.push((ms, size));
            if size <= passes {
                _ = m.on_probe_acked(size)
            } else {
                m.on_probe_lost(now, size)
            };
            assert_eq!(m.is_too_narrow(), (5..12_000).contains(&ms), "{ms}");
        }
        assert!((1284..=1300).contains(&m.current()) && !m.is_too_narrow());
        assert_eq!(
            at[..6].iter().map(|(_, size)| *size).collect::<Vec<_>>(),
            [1500, 1500, 1500, 1280, 1280, 1280]
        );
        assert!(at.len() < 30, "a path that is too narrow costs little: {at:?}");
    }

    #[test]
    fn a_black_hole_below_the_base_refutes_it_until_a_probe_passes() {
        let mut m = Mtu::new(1280);
        assert_eq!(m.poll_probe(Time::ZERO, Duration::ZERO), Some(BASE));
        m.on_probe_acked(BASE);
        let (now, rtt) = (Time::from_millis(900), Duration::from_millis(20));
        let lose = |m: &mut Mtu, ms, size| m.on_lost(now, Time::from_millis(ms), size, rtt);
        assert!(!(100..200).any(|ms| lose(&mut m, ms, BASE)), "the whole path may be gone");
        m.on_arrived(Time::from_millis(150), 120);
        assert!(!lose(&mut m, 200, 600), "what is short is lost for other reasons");
        assert!(lose(&mut m, 200, BASE) && m.is_too_narrow());
        assert!(!lose(&mut m, 300, BASE), "said once");
        assert_eq!(m.poll_probe(now, Duration::ZERO), Some(BASE));
        m.on_probe_acked(BASE);
        assert!(!m.is_too_narrow());
    }

    /// Sends a probe at each of these times, which are milliseconds; it is lost.
    fn lose_probes(m: &mut Mtu, at: impl IntoIterator<Item = u64>) -> Vec<u16> {
        let lose = |ms| {
            let size = m.poll_probe(Time::from_millis(ms), Duration::ZERO)?;
            m.on_probe_lost(Time::from_millis(ms), size);
            Some(size)
        };
        at.into_iter().filter_map(lose).collect()
    }

    #[test]
    fn the_base_is_refuted_by_probes_of_its_own_in_a_row_and_not_after_data_of_it_arrived() {
        let mut m = Mtu::new(1500);
        assert_eq!(lose_probes(&mut m, 0..2), [1500, 1500]);
        m.on_too_big(Time::from_millis(2), 1400);
        assert_eq!(lose_probes(&mut m, 3..5), [BASE, BASE]);
        assert!(!m.is_too_narrow(), "two of its own");
        let mut proven = Mtu::new(BASE);
        assert_eq!(lose_probes(&mut proven, 0..2), [BASE, BASE]);
        assert_eq!(proven.poll_probe(Time::from_millis(2), Duration::ZERO), Some(BASE));
        proven.on_arrived(Time::from_millis(1), BASE);
        proven.on_probe_lost(Time::from_millis(3), BASE);
        assert!(!proven.is_too_narrow());
        // The null case; then one that fell silent with its probe on the way.
        assert_eq!(lose_probes(&mut m, [5]), [BASE]);
        assert!(m.is_too_narrow());
        let mut silent = Mtu::new(BASE);
        for ms in 0..9 {
            assert_eq!(silent.poll_probe(Time::from_millis(ms), Duration::ZERO), Some(BASE));
            silent.forget_probe(Time::from_millis(ms));
        }
        assert!(!silent.is_too_narrow());
    }

    #[test]
    fn a_row_of_losses_by_chance_is_put_right_within_three_probes() {
        let mut m = Mtu::new(BASE);
        m.poll_probe(Time::ZERO, Duration::ZERO);
        m.on_probe_acked(BASE);
        let (now, rtt) = (Time::from_millis(900), Duration::from_millis(20));
        assert!(!(100..200).any(|ms| m.on_lost(now, Time::from_millis(ms), BASE, rtt)));
        m.on_arrived(Time::from_millis(150), 120);
        assert!(m.on_lost(now, Time::from_millis(200), BASE, rtt) && m.is_too_narrow());
        // Three at once, and then one each five seconds.
        assert_eq!(lose_probes(&mut m, 900..20_000).len(), 3 + 3);
    }

    #[test]
    fn a_full_queue_is_no_black_hole() {
        let mut m = Mtu::new(1500);
        m.poll_probe(Time::ZERO, Duration::ZERO);
        m.on_probe_acked(1500);
        let (now, rtt) = (Time::from_millis(900), Duration::from_millis(20));
        for round in 0..20 {
            let begin = 10 * round;
            // The end of a burst is dropped, but for what is short; the next burst's beginning arrives.
            m.on_arrived(Time::from_millis(begin + 9), 120);
            m.on_arrived(Time::from_millis(begin), 1500);
            let fell = (1..9).any(|ms| m.on_lost(now, Time::from_millis(begin + ms), 1500, rtt));
            assert!(!fell && m.current() == 1500, "round {round}");
        }
        // What left before one as long that has arrived is no sign at all, however late it is missed.
        m.on_arrived(Time::from_millis(800), 1500);
        m.on_arrived(Time::from_millis(801), 120);
        assert!(!(300..800).any(|ms| m.on_lost(now, Time::from_millis(ms), 1500, rtt)));
    }
}
