//! How much of the time a link has work, of late.

use ropewalk_time::Time;

/// What was longer ago counts for little: longer than bursts of TCP are, and soon enough for one that has filled a link.
const MEMORY_S: f64 = 0.05;

/// Share of the time in which a link holds anything, weighted exponentially.
///
/// The length of what it holds says less: a flow that is paced by what was delivered (BBR) keeps a link at work without ever filling it, and a burst of a flow that
/// another link holds back fills it for a moment. Where completions are told by the peer alone the link seems to hold what has arrived and was not yet told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utilisation {
    share: f64,
    at: Time,
    holds: bool,
}

impl Utilisation {
    /// From now on it holds something, or nothing.
    pub(super) fn note(&mut self, now: Time, holds: bool) {
        self.share = self.share(now);
        (self.at, self.holds) = (now, holds);
    }

    /// From 0, never, to 1, always.
    pub(super) fn share(&self, now: Time) -> f64 {
        let old = (-now.since(self.at).as_secs_f64() / MEMORY_S).exp();
        self.share * old + if self.holds { 1.0 - old } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_share_of_time_and_forgets() {
        let mut link = Utilisation::default();
        assert_eq!(link.share(Time::from_millis(1000)), 0.0);
        // Three of four milliseconds.
        for ms in 1000..2000 {
            link.note(Time::from_millis(ms), ms % 4 != 0);
        }
        let share = link.share(Time::from_millis(2000));
        assert!((share - 0.75).abs() < 0.02, "{share}");
        link.note(Time::from_millis(2000), true);
        assert!(link.share(Time::from_millis(2100)) > 0.95);
        link.note(Time::from_millis(2100), false);
        assert!(link.share(Time::from_millis(2300)) < 0.02);
    }
}
