//! How many handshakes a gateway starts per second, altogether and for one source.

use super::ResponderConfig;
use ropewalk_time::{Bucket, Rate, Time};

/// Places in the table of sources. Two sources that share a place share its rate until the next cookie secret.
const SOURCES: usize = 1024;

/// Refusals per second, and at once. They cost more than all before them, and nobody but a user
/// waits for one.
const REFUSALS: u32 = 20;

/// While so many handshakes wait to be worked on, another one has to prove its source, and counts
/// against that source's rate. At a hundred microseconds each they take some ten milliseconds.
const OPEN_MAX: usize = 256;
/// Handshakes of proven sources that may wait: a thousand clients come back at once after a
/// restart.
const PROVEN_MAX: usize = 1024;

/// Handshakes that wait to be worked on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    /// Of sources that have shown that they have their address.
    pub proven: usize,
    /// Of others.
    pub unproven: usize,
}

/// The limits of one gateway.
#[derive(Debug)]
pub(super) struct Load {
    rate: Rate,
    source_rate: Rate,
    /// For everybody.
    open: Bucket,
    /// For those who showed by a cookie that they have their address, when the first is empty.
    proven: Bucket,
    refusals: Bucket,
    sources: Box<[Bucket]>,
}

impl Load {
    pub(super) fn new(config: &ResponderConfig) -> Load {
        Load {
            rate: Rate::new(config.handshakes_per_second, config.burst),
            source_rate: Rate::new(config.per_source_per_second, config.per_source_per_second),
            open: Bucket::default(),
            proven: Bucket::default(),
            refusals: Bucket::default(),
            sources: vec![Bucket::default(); SOURCES].into_boxed_slice(),
        }
    }

    /// Whether a handshake of anybody may start; `false` means that the gateway is under load.
    pub(super) fn admit(&mut self, backlog: Backlog, now: Time) -> bool {
        backlog.unproven + backlog.proven < OPEN_MAX && self.open.take(self.rate, now).is_ok()
    }

    /// Whether a handshake may start whose sender has a cookie and whose address has this `hash`.
    pub(super) fn admit_proven(&mut self, hash: u16, backlog: Backlog, now: Time) -> bool {
        let source = &mut self.sources[usize::from(hash) % SOURCES];
        backlog.proven < PROVEN_MAX
            && source.take(self.source_rate, now).is_ok()
            && self.proven.take(self.rate, now).is_ok()
    }

    /// Whether somebody may be told that he is refused.
    pub(super) fn refuse(&mut self, now: Time) -> bool {
        self.refusals.take(Rate::new(REFUSALS, REFUSALS), now).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn admitted(load: &mut Load, tries: u32, now: Time) -> usize {
        (0..tries).filter(|_| load.admit(Backlog::default(), now)).count()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let config = ResponderConfig { handshakes_per_second: 100, burst: 10, ..ResponderConfig::default() };
        let mut load = Load::new(&config);
        let start = Time::from_millis(5);
        assert_eq!(admitted(&mut load, 50, start), 10);
        assert_eq!(admitted(&mut load, 50, start + Duration::from_millis(30)), 3);
        assert_eq!(admitted(&mut load, 50, start + Duration::from_secs(60)), 10);
    }

    #[test]
    fn while_many_unproven_handshakes_wait_a_source_has_to_prove_itself() {
        let mut load = Load::new(&ResponderConfig::default());
        let crowd = Backlog { unproven: OPEN_MAX, proven: 0 };
        assert!(!load.admit(crowd, Time::ZERO) && load.admit_proven(1, crowd, Time::ZERO));
        let returning = Backlog { unproven: 0, proven: PROVEN_MAX };
        assert!(!load.admit_proven(1, returning, Time::ZERO));
    }

    #[test]
    fn while_many_proven_handshakes_wait_no_source_has_more_than_its_share() {
        let mut load = Load::new(&ResponderConfig::default());
        let crowd = Backlog { unproven: 0, proven: OPEN_MAX };
        assert!(!load.admit(crowd, Time::ZERO));
        assert_eq!((0..100).filter(|_| load.admit_proven(1, crowd, Time::ZERO)).count(), 50);
        assert!(load.admit_proven(2, crowd, Time::ZERO));
    }

    #[test]
    fn one_source_does_not_take_all() {
        let config = ResponderConfig { per_source_per_second: 5, burst: 100, ..ResponderConfig::default() };
        let mut load = Load::new(&config);
        assert_eq!((0..50).filter(|_| load.admit_proven(1, Backlog::default(), Time::ZERO)).count(), 5);
        assert!(load.admit_proven(2, Backlog::default(), Time::ZERO));
    }
}
