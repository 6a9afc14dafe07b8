//! What the ends can have said by now. The rest is of long ago, or of somebody who sees nothing of
//! the connection and guesses its numbers (RFC 5961).

use super::Open;
use crate::stamps::newer;
use crate::{Config, Policy, Time};
use core::time::Duration;
use ropewalk_packet::{Timestamps, seq};

/// Answers to guesses are no closer together (RFC 5961 §7; Linux's `tcp_invalid_ratelimit`).
const CHALLENGES_APART: Duration = Duration::from_millis(500);

impl Open {
    pub(super) fn may_challenge(&mut self, now: Time) -> bool {
        let due = self.challenged.is_none_or(|at| now >= at + CHALLENGES_APART);
        self.challenged = if due { Some(now) } else { self.challenged };
        due
    }

    /// RFC 9293 §3.10.7.4 and RFC 5961 §5.2: the sender can have said this by now. What a holder
    /// brings may acknowledge things of any age.
    pub(super) fn is_plausible(&self, config: &Config, at: u64, ack: u32) -> bool {
        let ahead = ack.wrapping_sub(self.receiver.next_seq) as i32;
        let behind = self.sender.ack.wrapping_sub(ack) as i32;
        let recent = i64::from(behind) <= i64::from(self.sender.max_window);
        at <= self.limit(config) && ahead <= 0 && (recent || config.policy != Policy::Split)
    }

    /// The sender can have begun a segment with this number by now, and not long ago.
    pub(crate) fn expects(&self, config: &Config, number: u32) -> bool {
        let at = seq::offset(self.agreed.sender_isn, self.sender.acked, number);
        at.is_some_and(|at| at <= self.limit(config) && self.is_of_today(at))
    }

    /// RFC 9293 §3.10.7.4: what ends before the window says nothing of the other direction. A
    /// keep-alive is one number back.
    pub(super) fn is_of_today(&self, end: u64) -> bool {
        end + 1 >= self.receiver.acked
    }

    /// RFC 9293 §3.10.7.4: the receiver can have sent this number by now, and not long ago. Twice
    /// the window, since what is repeated may have crossed its acknowledgement.
    pub(super) fn is_near(&self, number: u32) -> bool {
        let apart = (number.wrapping_sub(self.sender.ack) as i32).unsigned_abs();
        u64::from(apart) <= 2 * u64::from(self.sender.max_window) + 1
    }

    /// RFC 7323 §4.3: who sends no data goes on by its acknowledgements. Else they are of another
    /// time after half a round of its clock: 25 days, or 36 minutes by microseconds.
    pub(super) fn go_on_by(&mut self, at: u64, stamp: Option<Timestamps>) {
        let real = self.receiver.acked;
        let has_all = self.sender.newest_end <= real && at <= real && self.is_of_today(at);
        if let Some(t) = stamp.filter(|_| has_all) {
            self.sender.oldest = newer(self.sender.oldest, t.value);
            self.sender.recent = newer(self.sender.recent, t.value);
        }
    }
}
