//! The account of metered links as a daemon keeps it: when it is due, and what people are told.

use super::usage::{Ledger, Left, Use};
use jiff::Zoned;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeSet;

/// How often the account is written: at most so much time of traffic is forgotten by a crash.
const EVERY: Duration = Duration::from_secs(10);

/// The account and when it is due.
#[derive(Debug)]
pub(crate) struct Meter {
    ledger: Ledger,
    next: Time,
    /// Interfaces whose end of allowance people have been told of.
    told: BTreeSet<String>,
}

impl Meter {
    /// An account that is never due until something is metered.
    pub(crate) fn new(ledger: Ledger) -> Meter {
        Meter { ledger, next: Time::NEVER, told: BTreeSet::new() }
    }

    /// When the next entry is due.
    pub(crate) fn due(&self) -> Time {
        self.next
    }

    /// Writes up what was carried, and renews allowances whose day has come; gives what each may
    /// carry from now on. Without uses nothing is metered.
    pub(crate) fn settle(&mut self, uses: &[Use], now: Time) -> Vec<Left> {
        self.next = if uses.is_empty() { Time::NEVER } else { now + EVERY };
        if uses.is_empty() {
            return Vec::new();
        }
        let all = self.ledger.settle(uses, Zoned::now().date(), now);
        for (Use { interface, .. }, Left { bytes, renewed }) in uses.iter().zip(&all) {
            if *renewed {
                tracing::info!(interface, bytes, "a new allowance begins");
            }
        }
        self.ledger.save();
        all
    }

    /// Notes whether an allowance is used up. True: it has become so, and people have to be told.
    pub(crate) fn note_used_up(&mut self, interface: &str, is_used_up: bool) -> bool {
        if is_used_up {
            return self.told.insert(interface.to_owned());
        }
        self.told.remove(interface);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use crate::state::usage::Cap;

    #[test]
    fn an_account_is_due_while_something_is_metered_and_its_end_is_told_once() {
        let scratch = Scratch::new();
        let mut meter = Meter::new(Ledger::open(&scratch.0).unwrap());
        assert_eq!(meter.due(), Time::NEVER);
        let one = |spent| {
            let cap = Cap { bytes: 1000, reset_day: 1 };
            [Use { interface: "wwan0".into(), cap, spent }]
        };
        let left = |meter: &mut Meter, spent, now| meter.settle(&one(spent), now)[0].bytes;
        assert_eq!(left(&mut meter, 700, Time::ZERO), 300);
        assert_eq!(meter.due(), Time::ZERO + EVERY);
        assert!(!meter.note_used_up("wwan0", false));
        assert!(meter.note_used_up("wwan0", true), "300 bytes may be too few");
        assert_eq!(left(&mut meter, 300, Time::ZERO + EVERY), 0);
        assert!(!meter.note_used_up("wwan0", true), "told before");
        assert!(
            !meter.note_used_up("wwan0", false) && meter.note_used_up("wwan0", true),
            "raised, and used up"
        );
        assert!(meter.settle(&[], Time::ZERO + EVERY * 2).is_empty());
        assert_eq!(meter.due(), Time::NEVER);
    }
}
