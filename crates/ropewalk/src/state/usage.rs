//! What metered paths have used of their allowance.
//!
//! An allowance is for a period that begins on a day of the month. The period is found by the date alone, never by counting time. Clocks of
//! small machines jump: they start in 1970, or wake up in the wrong year. So
//!
//! * a date before the period on record changes nothing (the clock is wrong, or was set back: neither gives an allowance again);
//! * a date before this was written changes nothing, and a period that began then only gets its true date;
//! * a later period begins only after the date has stood still for ten minutes of time that passed;
//! * a period on record that lies more than two months ahead came from a wrong clock: it is moved back, and what was used stays used.

use super::StateDir;
use super::saver::Saver;
use jiff::ToSpan;
use jiff::civil::{Date, date};
use ropewalk_time::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FILE: &str = "usage.json";
/// How long a new date has to stand before it is believed.
const BELIEVE: Duration = Duration::from_secs(600);
/// When this was written: an earlier date is a wrong clock's.
const WRITTEN: Date = date(2026, 11, 1);
/// Of the dates since then, none is in a period that began earlier.
const EARLIEST: Date = date(2026, 10, 1);
/// Days: longer than any month, so that a clock set back by a month is not taken for a correction.
const TOO_FAR: i64 = 62;

/// One path's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// First day of the period.
    since: Date,
    /// Bytes.
    used: u64,
}

type Records = BTreeMap<String, Record>;

/// All records, and who writes them to the disk.
#[derive(Debug)]
pub(crate) struct Ledger {
    records: Arc<Mutex<Records>>,
    saver: Saver,
    /// Periods that may be about to begin, and since when.
    coming: BTreeMap<String, (Date, Time)>,
    dirty: bool,
}

/// An allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    /// Bytes in a period.
    pub bytes: u64,
    /// The day of the month on which a period begins.
    pub reset_day: u8,
}

/// What a path has carried since it was last accounted for.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// Its interface: paths by one interface share one allowance.
    pub interface: String,
    /// What it may carry.
    pub cap: Cap,
    /// Bytes.
    pub spent: u64,
}

/// What a path may still carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Bytes, which all paths by its interface have together.
    pub bytes: u64,
    /// A new period has begun just now.
    pub renewed: bool,
}

impl Ledger {
    /// The ledger in `dir`; empty at first.
    pub(crate) fn open(dir: &StateDir) -> anyhow::Result<Ledger> {
        let records: Records = dir.read_json(FILE)?.unwrap_or_default();
        let records = Arc::new(Mutex::new(records));
        let copy = Arc::clone(&records);
        let saver = Saver::start(dir.clone(), FILE, move || serde_json::to_vec_pretty(&*lock(&copy)))?;
        Ok(Ledger { records, saver, coming: BTreeMap::new(), dirty: false })
    }

    /// Accounts for all paths at once; gives what each may carry from now on.
    pub(crate) fn settle(&mut self, uses: &[Use], today: Date, now: Time) -> Vec<Left> {
        let mut renewed = BTreeSet::new();
        for Use { interface, cap, spent } in uses {
            if self.left(interface, *cap, today, now).1 {
                renewed.insert(interface);
            }
            self.spend(interface, *spent);
        }
        let left = |one: &Use| Left {
            bytes: self.left(&one.interface, one.cap, today, now).0,
            renewed: renewed.contains(&one.interface),
        };
        uses.iter().map(left).collect()
    }

    /// Bytes that `path` may still carry on the day `today`. The flag says that a new period has begun just now.
    fn left(&mut self, path: &str, cap: Cap, today: Date, now: Time) -> (u64, bool) {
        let current = period(today, cap.reset_day);
        let mut records = lock(&self.records);
        let record = records.entry(path.into()).or_insert_with(|| {
            self.dirty = true;
            Record { since: current, used: 0 }
        });
        let mut renewed = false;
        if today < WRITTEN {
            // Not even a record that seems too far ahead is: once the clock is set, it would be renewed.
        } else if record.since < EARLIEST {
            record.since = current;
            self.dirty = true;
        } else if current > record.since {
            let (date, since) = *self.coming.entry(path.into()).or_insert((current, now));
            if date != current {
                self.coming.insert(path.into(), (current, now));
            } else if now.since(since) >= BELIEVE {
                (*record, renewed) = (Record { since: current, used: 0 }, true);
            }
        } else if record.since > period(today.saturating_add(TOO_FAR.days()), cap.reset_day) {
            record.since = current;
            self.dirty = true;
        }
        if renewed || current <= record.since {
            self.coming.remove(path);
        }
        self.dirty |= renewed;
        (cap.bytes.saturating_sub(record.used), renewed)
    }

    /// `path` has carried this many bytes more.
    fn spend(&mut self, path: &str, bytes: u64) {
        if let Some(record) = lock(&self.records).get_mut(path).filter(|_| bytes > 0) {
            record.used = record.used.saturating_add(bytes);
            self.dirty = true;
        }
    }

    /// Writes what changed, in a while.
    pub(crate) fn save(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.saver.save_soon();
        }
    }
}

fn lock(records: &Mutex<Records>) -> MutexGuard<'_, Records> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first day of the period that `today` is in.
fn period(today: Date, reset_day: u8) -> Date {
    let start = |month: Date| {
        let day = (reset_day.clamp(1, 31) as i8).min(month.days_in_month());
        month.with().day(day).build().unwrap_or(month)
    };
    let this = start(today.first_of_month());
    if this <= today { this } else { start(today.first_of_month().saturating_sub(1.month())) }
}

/// For the fuzzer: every date of a file has a period, which begins on that day or before.
pub(crate) fn fuzz(text: &str) {
    let Ok(records) = serde_json::from_str::<Records>(text) else { return };
    for record in records.values() {
        for reset_day in [0, 1, 15, 31, 255] {
            assert!(period(record.since, reset_day) <= record.since);
            let _ = period(record.since.saturating_add(TOO_FAR.days()), reset_day);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    const CAP: Cap = Cap { bytes: 1000, reset_day: 15 };

    fn at(seconds: u64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    #[test]
    fn periods_begin_on_their_day_or_on_the_last_of_a_short_month() {
        assert_eq!(period(date(2026, 11, 20), 15), date(2026, 11, 15));
        assert_eq!(period(date(2026, 11, 14), 15), date(2026, 10, 15));
        assert_eq!(period(date(2026, 1, 3), 15), date(2025, 12, 15));
        assert_eq!(period(date(2026, 3, 1), 31), date(2026, 2, 28));
        assert_eq!(period(date(2026, 2, 27), 31), date(2026, 1, 31));
    }

    #[test]
    fn an_allowance_is_used_up_kept_and_renewed() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(&scratch.0).unwrap();
        let today = date(2026, 11, 20);
        assert_eq!(ledger.left("wan0", CAP, today, at(0)), (1000, false));
        ledger.spend("wan0", 700);
        ledger.save();
        drop(ledger);
        let mut ledger = Ledger::open(&scratch.0).unwrap();
        assert_eq!(ledger.left("wan0", CAP, today, at(1)), (300, false));
        let next = date(2026, 12, 15);
        assert_eq!(ledger.left("wan0", CAP, next, at(2)), (300, false), "not believed yet");
        assert_eq!(ledger.left("wan0", CAP, next, at(603)), (1000, true));
    }

    #[test]
    fn jumping_clocks_give_nothing_away() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(&scratch.0).unwrap();
        let today = date(2026, 11, 20);
        ledger.left("wan0", CAP, today, at(0));
        ledger.spend("wan0", 900);
        for (n, wrong) in [date(1970, 1, 1), date(2026, 10, 1), date(2031, 1, 1)].into_iter().enumerate() {
            assert_eq!(ledger.left("wan0", CAP, wrong, at(n as u64)), (100, false), "{wrong}");
        }
        assert_eq!(ledger.left("wan0", CAP, today, at(5000)), (100, false));
        // A wrong year that lasts is believed, but back in the true one the record does not wait for years.
        ledger.left("wan0", CAP, date(2031, 1, 1), at(5001));
        assert_eq!(ledger.left("wan0", CAP, date(2031, 1, 1), at(6000)), (1000, true));
        ledger.spend("wan0", 400);
        assert_eq!(ledger.left("wan0", CAP, today, at(6001)), (600, false));
        ledger.left("wan0", CAP, date(2026, 12, 15), at(6002));
        assert_eq!(ledger.left("wan0", CAP, date(2026, 12, 15), at(6700)), (1000, true));
    }

    #[test]
    fn a_clock_that_starts_in_1970_gives_nothing_away_once_it_is_set() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(&scratch.0).unwrap();
        let (start, today, next) = (date(1970, 1, 1), date(2026, 11, 20), date(2026, 12, 15));
        ledger.left("wan0", CAP, today, at(0));
        ledger.spend("wan0", 900);
        // Its first use was before the clock was set.
        ledger.left("wan1", CAP, start, at(1));
        ledger.spend("wan1", 300);
        for (day, seconds) in [(start, 2), (start, 800), (today, 801), (today, 1500), (next, 1501)] {
            assert_eq!(ledger.left("wan0", CAP, day, at(seconds)), (100, false), "{day}");
            assert_eq!(ledger.left("wan1", CAP, day, at(seconds)), (700, false), "{day}");
        }
        for path in ["wan0", "wan1"] {
            assert_eq!(ledger.left(path, CAP, next, at(2200)), (1000, true));
        }
    }

    #[test]
    fn paths_by_one_interface_share_an_allowance_and_each_hears_that_it_is_renewed() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(&scratch.0).unwrap();
        let one = |interface: &str, spent| Use { interface: interface.into(), cap: CAP, spent };
        let left = |bytes, renewed| Left { bytes, renewed };
        let today = date(2026, 11, 20);
        let uses = [one("wwan0", 300), one("wwan0", 500), one("wan1", 100)];
        let all = ledger.settle(&uses, today, at(0));
        assert_eq!(all, [left(200, false), left(200, false), left(900, false)]);
        let next = date(2026, 12, 15);
        let idle = uses.map(|u| Use { spent: 0, ..u });
        assert_eq!(ledger.settle(&idle, next, at(1)), all, "not believed yet");
        assert_eq!(ledger.settle(&idle, next, at(700)), [left(1000, true); 3]);
        assert_eq!(ledger.settle(&idle, next, at(710)), [left(1000, false); 3]);
    }
}
