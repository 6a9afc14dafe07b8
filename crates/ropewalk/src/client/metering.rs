//! Keeping the account of metered paths: the engine counts down, here it is written up.

use super::Client;
use crate::daemon::Running;
use crate::report::history::What;
use crate::state::usage::{Ledger, Left, Use};
use jiff::Zoned;
use jiff::civil::Date;
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
    /// An account that is due never until a path is metered.
    pub(crate) fn new(ledger: Ledger) -> Meter {
        Meter { ledger, next: Time::NEVER, told: BTreeSet::new() }
    }

    /// When the next entry is due.
    pub(crate) fn due(&self) -> Time {
        self.next
    }
}

impl Client {
    /// Writes up what metered paths have carried, and renews allowances whose day has come.
    pub(super) fn settle(&mut self, running: &mut Running, now: Time) {
        let metered = self.uplinks.iter().any(|w| w.settings.allowance().is_some());
        self.meter.next = if metered { now + EVERY } else { Time::NEVER };
        if !metered {
            return;
        }
        let status = running.core.engine.status(now);
        let metered = self.uplinks.iter_mut().filter_map(|w| Some((w.settings.allowance()?, w)));
        let uses: Vec<Use> = metered
            .map(|(cap, uplink)| {
                let interface = uplink.name.interface.clone();
                Use { interface, cap, spent: uplink.settle(&status) }
            })
            .collect();
        let left = self.meter.ledger.settle(&uses, today(), now);
        let metered = self.uplinks.iter_mut().filter(|w| w.settings.allowance().is_some());
        for (uplink, Left { bytes, renewed }) in metered.zip(left) {
            let interface = &uplink.name.interface;
            if bytes > 0 {
                self.meter.told.remove(interface);
            }
            if renewed {
                tracing::info!(interface, bytes, "a new allowance begins");
            }
            if uplink.allowance() != Some(bytes) {
                uplink.set(running, uplink.settings, bytes);
            }
        }
        self.meter.ledger.save();
    }

    /// A metered path may carry nothing more.
    pub(super) fn on_exhausted(&mut self, running: &mut Running, path: u8, now: Time) {
        self.settle(running, now);
        let Some(uplink) = self.uplinks.iter().find(|w| w.attempts().iter().any(|a| a.path == path)) else {
            return;
        };
        let Some(cap) = uplink.settings.allowance() else { return };
        if self.meter.told.insert(uplink.name.interface.clone()) {
            let reset_day = cap.reset_day;
            running.history.note(now, What::Exhausted { name: uplink.name.to_string() });
            tracing::warn!(path = %uplink.name, reset_day, "the path's allowance is used up; it rests until its day comes");
        }
    }
}

/// The date where this machine is.
fn today() -> Date {
    Zoned::now().date()
}
