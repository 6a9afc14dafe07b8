//! Tables of the firewall that a client has made, and others take away: its kill switch, and the
//! guard of its address. They are back at once: without the first all leaves in the clear.

use super::network::Network;
use crate::daemon::{Lost, Running};
use ropewalk_net::setup::TableWatch;
use ropewalk_time::{Duration, Time};

/// The least time between two looks: somebody may flush the firewall all the time.
const PAUSE: Duration = Duration::from_millis(50);
/// How soon it is tried again to put back what the firewall refused; and how often it is looked
/// where the kernel does not tell.
const AGAIN: Duration = Duration::from_secs(1);

/// What is heard of them.
#[derive(Debug)]
pub(super) struct Tables {
    watch: Option<TableWatch>,
    lost: Lost,
    due: Time,
    looked: Option<Time>,
}

impl Tables {
    /// A client's own, which nobody watches yet.
    pub(super) fn new() -> Tables {
        Tables { watch: None, lost: Lost::tables(), due: Time::NEVER, looked: None }
    }

    /// Listens to the kernel from now on.
    pub(super) fn follow(&mut self, running: &Running) -> anyhow::Result<()> {
        match TableWatch::new() {
            Ok(watch) => {
                running.watch_news(&watch)?;
                self.watch = Some(watch);
            }
            Err(error) => {
                tracing::debug!(%error, "the kernel does not tell who flushes the firewall: it is looked each second");
                self.due = Time::ZERO;
            }
        }
        Ok(())
    }

    /// Takes what the kernel tells.
    pub(super) fn on_events(&mut self, now: Time) {
        match self.watch.as_mut().map(TableWatch::take_events) {
            Some(Ok(true)) => {
                let soon = self.looked.map_or(now, |looked| now.max(looked + PAUSE));
                self.due = self.due.min(soon);
            }
            Some(Ok(false)) | None => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "the kernel's events of the firewall");
                (self.watch, self.due) = (None, now);
            }
        }
    }

    /// When [`Tables::on_timer`] is due.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Puts back what is gone, if it is time to look.
    pub(super) fn on_timer(&mut self, network: &Network, now: Time) {
        if now < self.due {
            return;
        }
        let kept = network.keep_tables();
        let waits_for_event = kept.is_ok() && self.watch.is_some();
        (self.looked, self.due) = (Some(now), if waits_for_event { Time::NEVER } else { now + AGAIN });
        self.lost.say(
            kept,
            "the kill switch, if there is one, and the guard of the address inside are off",
            now,
        );
    }
}
