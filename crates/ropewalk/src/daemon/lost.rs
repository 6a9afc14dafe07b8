//! What is said when others take routing rules away that this daemon has made.

use ropewalk_net::setup::SetupError;
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
    pub(crate) fn say(&mut self, kept: Result<usize, SetupError>, meanwhile: &str, now: Time) {
        let is_said = self.said.is_some_and(|said| now.since(said) < AGAIN);
        if is_said || matches!(kept, Ok(0)) {
            return;
        }
        self.said = Some(now);
        match kept {
            Ok(count) => tracing::warn!(
                count,
                "routing rules or routes were gone, and are there again; while they are gone, {meanwhile}. A restart of systemd-networkd takes rules away \
                 that are not its own, unless its configuration has ManageForeignRoutingPolicyRules=no"
            ),
            Err(error) => tracing::warn!(
                "routing rules or routes may be gone, and cannot be put back: {:#}; while they are gone, {meanwhile}",
                anyhow::Error::from(error)
            ),
        }
    }
}
