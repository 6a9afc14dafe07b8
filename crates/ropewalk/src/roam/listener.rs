//! Scans, on a thread each: one may take seconds, and the loop has beacons to count.

use ropewalk_net::wifi::{self, Bss, WifiError};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// At most one scan at a time.
#[derive(Debug, Default)]
pub(super) struct Listener {
    running: Option<Receiver<Result<Vec<Bss>, WifiError>>>,
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

    /// What it heard, once it is over.
    pub(super) fn poll(&mut self) -> Option<Result<Vec<Bss>, WifiError>> {
        let result = match self.running.as_ref()?.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Ok(Vec::new()),
        };
        self.running = None;
        Some(result)
    }
}
