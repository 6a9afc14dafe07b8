//! Scans, on a thread each: one may take seconds, and the loop has beacons to count.

use super::signal::Scans;
use ropewalk_net::setup::{Change, Journal, SetupError};
use ropewalk_net::wifi::{self, Bss, SwitchedOn, WifiError};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// At most one scan at a time.
#[derive(Debug, Default)]
pub(super) struct Listener {
    running: Option<Receiver<Result<Vec<Bss>, WifiError>>>,
    /// The interface that listens was off.
    switched_on: Option<SwitchedOn>,
    /// It was said that it cannot be switched on.
    is_off_said: bool,
    scans: Scans,
}

impl Listener {
    /// A scan is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Starts one by this interface, on one channel or on all.
    pub(super) fn start(&mut self, name: &str, index: u32, channel_mhz: Option<u32>) {
        let (send, receive) = channel();
        let name = name.to_owned();
        let work = move || {
            let channels: Vec<u32> = channel_mhz.into_iter().collect();
            let _ = send.send(wifi::scan(&name, index, &channels));
        };
        match std::thread::Builder::new().name("scan".into()).spawn(work) {
            Ok(_) => self.running = Some(receive),
            Err(error) => tracing::warn!(%error, "a scan cannot be started"),
        }
    }

    /// Switches the interface that listens on; false where that cannot be done now, as while rfkill blocks its radio.
    pub(super) fn switch_on(&mut self, journal: &mut Journal, on: SwitchedOn) -> bool {
        let made = journal.make(Change::SwitchedOn(on.clone())).map_err(anyhow::Error::from);
        if let (Err(error), false) = (&made, self.is_off_said) {
            tracing::warn!("no access points are looked for: {error:#}; trying again");
        }
        self.is_off_said = made.is_err();
        self.switched_on = made.ok().map(|()| on);
        self.switched_on.is_some()
    }

    /// Off again, if it was: it would take a station's place.
    pub(super) fn switch_off(&mut self, journal: &mut Journal) -> Result<(), SetupError> {
        self.switched_on.take().map_or(Ok(()), |on| journal.undo(&Change::SwitchedOn(on)))
    }

    /// What it heard, once it is over.
    pub(super) fn poll(&mut self) -> Option<Result<Vec<Bss>, WifiError>> {
        let result = match self.running.as_ref()?.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Ok(Vec::new()),
        };
        self.running = None;
        result.iter().for_each(|heard| self.scans.take(heard));
        Some(result)
    }

    /// The weaker signal of the last two scans; none where one of them did not hear the access point.
    pub(super) fn weaker_dbm(&self, bssid: [u8; 6]) -> Option<f64> {
        self.scans.weaker_dbm(bssid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_that_cannot_be_switched_on_is_no_end_and_said_once() {
        let scratch = crate::state::tests::Scratch::new();
        let (dir, path) = (scratch.0.handle().unwrap(), scratch.0.path());
        let (mut journal, _) = Journal::open_in(dir, path, |_| false).unwrap();
        let nobody = SwitchedOn { name: "none-such".into(), index: 0x7fff_ffff };
        let mut listener = Listener::default();
        for _ in 0..2 {
            assert!(!listener.switch_on(&mut journal, nobody.clone()));
            assert!(listener.is_off_said && journal.changes().is_empty());
        }
        listener.switch_off(&mut journal).unwrap();
    }
}
