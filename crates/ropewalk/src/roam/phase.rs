//! How far a station is with its access point.

use super::portal::Probe;
use std::time::Duration;

/// From joining to traffic.
#[derive(Debug)]
pub(super) enum Phase {
    Joining,
    Addressing,
    Probing {
        probe: Option<Probe>,
        again: Duration,
        /// Why it is not used, once that is known.
        why: String,
    },
    Active,
}

impl Phase {
    /// Whether the internet is behind it is asked from now on.
    pub(super) fn probing(now: Duration) -> Phase {
        Phase::Probing { probe: None, again: now, why: String::new() }
    }

    /// It is with its access point, and nothing that takes a moment is under way: it may listen to
    /// others. A portal may be shut for as long as the access point is there.
    pub(super) fn may_scan(&self) -> bool {
        matches!(self, Phase::Probing { .. } | Phase::Active)
    }

    /// Somebody else answers for the internet, or nobody.
    pub(super) fn is_shut(&self) -> bool {
        matches!(self, Phase::Probing { why, .. } if !why.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_with_a_portal_that_is_shut_looks_for_others() {
        assert!(!Phase::probing(Duration::ZERO).is_shut(), "nobody has answered yet");
        let shut = Phase::Probing { probe: None, again: Duration::ZERO, why: "log in first".into() };
        assert!(shut.is_shut() && !Phase::Active.is_shut());
        assert!(shut.may_scan() && Phase::Active.may_scan());
        assert!(!Phase::Joining.may_scan() && !Phase::Addressing.may_scan());
    }
}
