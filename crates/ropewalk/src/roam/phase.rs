//! How far a station is with its access point.

use super::portal::{Answer, Probe};
use crate::hooks::Standing;
use std::time::Duration;

/// From joining to traffic.
#[derive(Debug)]
pub(super) enum Phase {
    Joining,
    Addressing,
    /// With what came of the last probe, unless that was good.
    Probing {
        probe: Option<Probe>,
        again: Duration,
        last: Option<Answer>,
    },
    Active,
}

impl Phase {
    /// Whether the internet is behind it is asked from now on.
    pub(super) fn probing(now: Duration) -> Phase {
        Phase::Probing { probe: None, again: now, last: None }
    }

    /// It is with its access point, and nothing that takes a moment is under way: it may listen to
    /// others. A portal may be shut for as long as the access point is there.
    pub(super) fn may_scan(&self) -> bool {
        matches!(self, Phase::Probing { .. } | Phase::Active)
    }

    /// Somebody else answers for the internet, or nobody.
    pub(super) fn is_shut(&self) -> bool {
        matches!(self, Phase::Probing { last: Some(_), .. })
    }

    /// How it is used, as programs are told once it has an address. One in use may rest.
    pub(super) fn standing(&self, rests: bool) -> Option<Standing> {
        match self {
            Phase::Joining | Phase::Addressing => None,
            Phase::Probing { last: Some(Answer::Portal(_)), .. } => Some(Standing::Portal),
            Phase::Probing { .. } => Some(Standing::Joined),
            Phase::Active if rests => Some(Standing::Backup),
            Phase::Active => Some(Standing::Active),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shut(answer: fn(String) -> Answer) -> Phase {
        Phase::Probing { probe: None, again: Duration::ZERO, last: Some(answer("log in first".into())) }
    }

    #[test]
    fn programs_hear_of_one_that_has_an_address() {
        use Standing::{Active, Backup, Joined, Portal};
        let asked = Phase::probing(Duration::ZERO);
        let all = [
            Phase::Joining,
            Phase::Addressing,
            asked,
            shut(Answer::Unreached),
            shut(Answer::Portal),
            Phase::Active,
        ];
        let told = |rests| all.each_ref().map(|phase| phase.standing(rests));
        let joined = [None, None, Some(Joined), Some(Joined), Some(Portal)];
        assert_eq!(told(false)[..5], joined);
        assert_eq!(told(true)[..5], joined, "what is not used does not rest");
        assert_eq!((told(false)[5], told(true)[5]), (Some(Active), Some(Backup)));
    }

    #[test]
    fn one_with_a_portal_that_is_shut_looks_for_others() {
        assert!(!Phase::probing(Duration::ZERO).is_shut(), "nobody has answered yet");
        assert!(shut(Answer::Unreached).is_shut());
        let shut = shut(Answer::Portal);
        assert!(shut.is_shut() && !Phase::Active.is_shut());
        assert!(shut.may_scan() && Phase::Active.may_scan());
        assert!(!Phase::Joining.may_scan() && !Phase::Addressing.may_scan());
    }
}
