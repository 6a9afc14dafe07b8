//! Which holder is asked for what, where the driver does not schedule itself.

use super::{Asked, Open};
use crate::{Config, Output, Time};
use std::collections::VecDeque;

impl Open {
    /// Asks for each range that is held and not here: the first reporter, then another.
    pub(super) fn fetch(&mut self, config: &Config, now: Time, out: &mut VecDeque<Output>) {
        let mut at = self.receiver.acked;
        while config.fetches && !self.custody.is_empty() && at < self.sender.newest_end {
            if let Some(end) = self.onward.have.end_from(at) {
                at = end;
                continue;
            }
            let asked = self.asked.iter().position(|k| k.from <= at && at < k.until);
            if let Some(k) = asked.map(|i| &self.asked[i]).filter(|k| now < k.at + config.fetch_timeout) {
                at = k.until;
                continue;
            }
            let before = asked.map(|i| self.asked.remove(i).holder);
            let Some((holder, end)) = self.custody.holder_of(at, before) else {
                at += 1;
                at = self.next_known(at);
                continue;
            };
            let next = self.onward.have.iter().map(|r| r.start).find(|s| *s > at).unwrap_or(u64::MAX);
            let busy = self.asked.iter().map(|k| k.from).filter(|f| *f > at).min().unwrap_or(u64::MAX);
            let until = end.min(next).min(busy);
            if self.asked.len() >= crate::MAX_RANGES {
                return;
            }
            self.asked.push(Asked { from: at, until, holder, at: now });
            out.push_back(Output::Fetch { range: at..until, holder });
            at = until;
        }
        let have = &self.onward.have;
        self.asked.retain(|k| have.end_from(k.from).is_none_or(|end| end < k.until));
    }

    fn next_known(&self, at: u64) -> u64 {
        let copy = self.onward.have.iter().map(|r| r.start);
        copy.chain(self.custody.starts()).filter(|s| *s >= at).min().unwrap_or(u64::MAX)
    }
}
