//! A metered uplink: what it may carry for neighbours in a month. The home's own goes on when that
//! is used up.

use super::Daemon;
use crate::bunch::args::BunchAp;
use crate::bunch::report::CapStatus;
use crate::state::StateDir;
use crate::state::meter::Meter;
use crate::state::usage::{Cap, Ledger, Use};
use ropewalk_bunch::Time;

/// The cap of an uplink, and its account.
#[derive(Debug)]
pub(in crate::bunch) struct Metered {
    interface: String,
    cap: Cap,
    left: u64,
    meter: Meter,
}

impl Metered {
    /// What the command line says; none: the uplink is not metered.
    pub(in crate::bunch) fn open(args: &BunchAp, dir: &StateDir) -> anyhow::Result<Option<Metered>> {
        let (Some(cap), Some(interface)) = (args.cap, args.uplink.clone()) else { return Ok(None) };
        let cap = Cap { bytes: cap.0, reset_day: args.reset_day.unwrap_or(1) };
        Ok(Some(Metered { interface, cap, left: 0, meter: Meter::new(Ledger::open(dir)?) }))
    }

    /// When it is to be written up.
    pub(super) fn due(&self) -> Time {
        self.meter.due()
    }

    /// Writes up what was carried; bytes that may be carried from now on.
    fn settle(&mut self, spent: u64, now: Time) -> u64 {
        let uses = [Use { interface: self.interface.clone(), cap: self.cap, spent }];
        self.left = self.meter.settle(&uses, now).first().map_or(0, |left| left.bytes);
        self.left
    }

    /// Says once that too little is left for a packet, which is seldom nothing.
    fn tell_end(&mut self, is_used_up: bool) {
        if self.meter.note_used_up(&self.interface, is_used_up) {
            let (uplink, reset_day) = (&self.interface, self.cap.reset_day);
            tracing::warn!(
                uplink,
                reset_day,
                "the uplink's allowance is used up; neighbours are not helped until its day comes"
            );
        }
    }
}

impl Daemon<'_> {
    /// Writes up what was carried for neighbours, if it is time.
    pub(super) fn on_metered(&mut self, now: Time) {
        if self.parts.metered.as_ref().is_some_and(|m| m.due() <= now) {
            self.settle(now);
        }
    }

    /// The same now.
    pub(super) fn settle(&mut self, now: Time) {
        let Some(metered) = &mut self.parts.metered else { return };
        let left = metered.settle(self.ap.take_spent(), now);
        self.ap.set_allowance(Some(left));
        let is_used_up = self.ap.is_used_up();
        metered.tell_end(is_used_up);
        if let Some(hooks) = &mut self.parts.hooks {
            hooks.capped(&metered.interface, metered.cap, is_used_up);
        }
    }

    /// How the account stands.
    pub(super) fn cap(&self) -> Option<Box<CapStatus>> {
        let metered = self.parts.metered.as_ref()?;
        Some(Box::new(CapStatus {
            bytes: metered.cap.bytes,
            left_bytes: metered.left,
            reset_day: metered.cap.reset_day,
            is_used_up: self.ap.is_used_up(),
            refused_packets: self.ap.counts().beyond_allowance,
        }))
    }
}
