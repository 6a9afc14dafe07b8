//! Keeping the account of metered paths: the engine counts down, here it is written up.

use super::Client;
use crate::daemon::Running;
use crate::report::history::What;
use crate::state::usage::{Left, Use};
use ropewalk_time::Time;

impl Client {
    /// Writes up what metered paths have carried, and renews allowances whose day has come.
    pub(super) fn settle(&mut self, running: &mut Running, now: Time) {
        let mut uses = Vec::new();
        if self.uplinks.iter().any(|w| w.settings.allowance().is_some()) {
            let status = running.core.engine.status(now);
            let metered = self.uplinks.iter_mut().filter_map(|w| Some((w.settings.allowance()?, w)));
            uses.extend(metered.map(|(cap, uplink)| {
                let interface = uplink.name.interface.clone();
                Use { interface, cap, spent: uplink.settle(&status) }
            }));
        }
        let left = self.meter.settle(&uses, now);
        let metered = self.uplinks.iter_mut().filter(|w| w.settings.allowance().is_some());
        for (uplink, Left { bytes, .. }) in metered.zip(left) {
            if bytes > 0 {
                self.meter.note_used_up(&uplink.name.interface, false);
            }
            if uplink.allowance() != Some(bytes) {
                uplink.set(running, uplink.settings, bytes);
            }
        }
    }

    /// A metered path may carry nothing more.
    pub(super) fn on_exhausted(&mut self, running: &mut Running, path: u8, now: Time) {
        self.settle(running, now);
        let Some(uplink) = self.uplinks.iter().find(|w| w.attempts().iter().any(|a| a.path == path)) else {
            return;
        };
        let Some(cap) = uplink.settings.allowance() else { return };
        if self.meter.note_used_up(&uplink.name.interface, true) {
            let reset_day = cap.reset_day;
            running.history.note(now, What::Exhausted { name: uplink.name.to_string() });
            tracing::warn!(path = %uplink.name, reset_day, "the path's allowance is used up; it rests until its day comes");
        }
    }
}
