//! What is said when others take away what this daemon has made: routing rules, and tables of the
//! firewall.

use ropewalk_time::{Duration, Time};

/// The least time between two words about them: somebody may take them away all the time.
const AGAIN: Duration = Duration::from_secs(60);

/// When it was said last.
#[derive(Debug, Default)]
pub(crate) struct RulesLost {
    said: Option<Time>,
}

impl RulesLost {
    /// Says how many were `kept`, which were gone, or why they are not back; and what happens while
    /// they are gone.
    pub(crate) fn say(&mut self, kept: Result<usize, impl Into<anyhow::Error>>, meanwhile: &str, now: Time) {
        if !note_said(&mut self.said, &kept, now) {
            return;
        }
        match kept {
            Ok(count) => tracing::warn!(
                count,
                "routing rules or routes were gone, and are there again; while they are gone, {meanwhile}. A restart of systemd-networkd takes rules away \
                 that are not its own, unless its configuration has ManageForeignRoutingPolicyRules=no"
            ),
            Err(error) => tracing::warn!(
                "routing rules or routes may be gone, and cannot be put back: {:#}; while they are gone, {meanwhile}",
                error.into()
            ),
        }
    }
}

/// When it was said last that tables were gone.
#[derive(Debug, Default)]
pub(crate) struct TablesLost {
    said: Option<Time>,
}

impl TablesLost {
    /// Says how many were `kept`, which were gone, or why they are not back; and what happens while
    /// they are gone.
    pub(crate) fn say(&mut self, kept: Result<usize, impl Into<anyhow::Error>>, meanwhile: &str, now: Time) {
        if !note_said(&mut self.said, &kept, now) {
            return;
        }
        match kept {
            Ok(count) => tracing::warn!(
                count,
                "tables of the firewall were gone, as after `nft flush ruleset`, and are there again; while they are gone, {meanwhile}"
            ),
            Err(error) => tracing::warn!(
                "tables of the firewall may be gone, and cannot be put back: {:#}; while they are gone, {meanwhile}",
                error.into()
            ),
        }
    }
}

/// Notes that it is said now. False: there is nothing to say, or it was said of late.
fn note_said<E>(said: &mut Option<Time>, kept: &Result<usize, E>, now: Time) -> bool {
    if matches!(kept, Ok(0)) || said.is_some_and(|said| now.since(said) < AGAIN) {
        return false;
    }
    *said = Some(now);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_again_and_again_is_said_once_a_minute() {
        let mut said = None;
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        assert!(!note_said(&mut said, &Ok::<_, ()>(0), at(1)), "nothing was gone");
        let told: Vec<u64> = (1..200).filter(|s| note_said(&mut said, &Ok::<_, ()>(2), at(*s))).collect();
        assert_eq!(told, [1, 61, 121, 181]);
        assert!(!note_said(&mut said, &Err(()), at(200)));
    }
}
