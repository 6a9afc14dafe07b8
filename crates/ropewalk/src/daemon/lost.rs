//! What is said when others take away what this daemon has made: routing rules, and tables and rules
//! of the firewall.

use ropewalk_time::{Duration, Time};

/// The least time between two words about them: somebody may take them away all the time.
const AGAIN: Duration = Duration::from_secs(60);

/// Things of a kind that others take away, and when that was said last.
#[derive(Debug)]
pub(crate) struct Lost {
    what: &'static str,
    /// What stands behind that they were gone, and at the end.
    cause: &'static str,
    remedy: &'static str,
    said: Option<Time>,
}

impl Lost {
    /// Rules of routing, and routes.
    pub(crate) fn rules() -> Lost {
        let remedy = ". A restart of systemd-networkd takes rules away that are not its own, unless its \
                      configuration has ManageForeignRoutingPolicyRules=no";
        Lost { what: "routing rules or routes", cause: "", remedy, said: None }
    }

    /// Tables of the firewall, and rules in them.
    pub(crate) fn tables() -> Lost {
        let cause = ", as after `nft flush ruleset`";
        Lost { what: "tables or rules of the firewall", cause, remedy: "", said: None }
    }

    /// Says how many were `kept`, which were gone, or why they are not back; and what happens while
    /// they are gone.
    pub(crate) fn say(&mut self, kept: Result<usize, impl Into<anyhow::Error>>, meanwhile: &str, now: Time) {
        if !self.note_said(&kept, now) {
            return;
        }
        let Lost { what, cause, remedy, .. } = self;
        match kept {
            Ok(count) => tracing::warn!(
                count,
                "{what} were gone{cause}, and are there again; while they are gone, {meanwhile}{remedy}"
            ),
            Err(error) => tracing::warn!(
                "{what} may be gone, and cannot be put back: {:#}; while they are gone, {meanwhile}",
                error.into()
            ),
        }
    }

    /// Notes that it is said now. False: there is nothing to say, or it was said of late.
    fn note_said<E>(&mut self, kept: &Result<usize, E>, now: Time) -> bool {
        if matches!(kept, Ok(0)) || self.said.is_some_and(|said| now.since(said) < AGAIN) {
            return false;
        }
        self.said = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_again_and_again_is_said_once_a_minute() {
        let mut lost = Lost::tables();
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        assert!(!lost.note_said(&Ok::<_, ()>(0), at(1)), "nothing was gone");
        let told: Vec<u64> = (1..200).filter(|s| lost.note_said(&Ok::<_, ()>(2), at(*s))).collect();
        assert_eq!(told, [1, 61, 121, 181]);
        assert!(!lost.note_said(&Err(()), at(200)));
    }
}
