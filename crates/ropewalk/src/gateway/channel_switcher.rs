//! The dedicated radio's way to a better channel: the engine's link is read, [`Migration`] decides,
//! hostapd or the lab announces ([`ropewalk_net::channel`]).
//!
//! Whoever announces is asked on a thread of its own: the data loop waits for nobody.

use crate::config::Migrate;
use crate::daemon::Running;
use crate::report::backhaul::ChannelSwitcher as Report;
use ropewalk_bond::backhaul::channel_search::{Migration, Order, Outcome, Reading};
use ropewalk_net::channel::{self, ChannelError, ChannelSwitch};
use ropewalk_time::Time;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often the radio is asked where it is, in a search and at other times.
const SEARCHING: Duration = Duration::from_millis(5);
const RESTING: Duration = Duration::from_millis(500);
/// A search is one for so long after its last order.
const ATTENTION: Duration = Duration::from_secs(3);

/// What the thread knows.
#[derive(Debug, Default)]
struct Seen {
    /// Centre of the primary channel, MHz; 0 if it cannot be said.
    mhz: AtomicU32,
    /// Orders that were refused.
    refused: AtomicU32,
}

/// The search of one radio.
pub(super) struct ChannelSwitcher {
    interface: String,
    migration: Migration,
    orders: Sender<u32>,
    seen: Arc<Seen>,
    refused: u32,
    due: Time,
    switches: u64,
    last: Option<Outcome>,
}

impl ChannelSwitcher {
    /// A search for `interface`. The thread ends with the value.
    pub(super) fn start(interface: &str, keys: &Migrate, now: Time) -> std::io::Result<ChannelSwitcher> {
        let (orders, taken) = channel();
        let seen = Arc::new(Seen::default());
        let worker = Worker {
            interface: interface.to_owned(),
            control: keys.hostapd.clone(),
            beacons: keys.beacons,
            orders: taken,
            seen: Arc::clone(&seen),
        };
        std::thread::Builder::new().name("channel".into()).spawn(move || worker.serve())?;
        Ok(ChannelSwitcher {
            interface: interface.to_owned(),
            migration: Migration::new(keys.settings()),
            orders,
            seen,
            refused: 0,
            due: now,
            switches: 0,
            last: None,
        })
    }

    /// The interface of its radio.
    pub(super) fn interface(&self) -> &str {
        &self.interface
    }

    /// When [`ChannelSwitcher::look`] is due.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Looks at the radio's sockets and does what is to be done.
    pub(super) fn look(&mut self, running: &mut Running, sockets: &[u32], now: Time) {
        let refused = self.seen.refused.load(Ordering::Acquire);
        if std::mem::replace(&mut self.refused, refused) != refused {
            self.migration.refused(now);
        }
        let engine = &mut running.core.engine;
        let loads = || sockets.iter().map(|s| engine.link_load(*s, now));
        let mhz = self.seen.mhz.load(Ordering::Acquire);
        let reading = Reading {
            carried_bytes: loads().map(|l| l.0).sum(),
            wanted: loads().any(|l| l.1),
            channel_mhz: Some(mhz).filter(|m| *m > 0),
        };
        while let Some(order) = self.migration.poll(now, reading) {
            let held = matches!(order, Order::Move { .. });
            sockets.iter().for_each(|s| engine.set_link_away(*s, held, now));
            self.obey(order);
        }
        self.due = self.migration.next_timeout(now);
    }

    fn obey(&mut self, order: Order) {
        let interface = &self.interface;
        match order {
            Order::Move { to_mhz } => {
                self.switches += 1;
                tracing::info!(interface, to_mhz, "announcing another channel");
                // A thread that is gone has said why; the search finds that the radio does not move.
                let _ = self.orders.send(to_mhz);
            }
            Order::Resume => {}
            Order::Settled(o) => {
                let (before, after) = (o.before_bps / 1e6, o.after_bps / 1e6);
                match o.at_mhz {
                    Some(at) => tracing::info!(
                        interface,
                        probes = o.probes,
                        "the search ended at {at} MHz: {after:.1} Mb/s there, {before:.1} Mb/s before at {} MHz",
                        o.from_mhz
                    ),
                    None => tracing::warn!(interface, "the radio is not on the channel that it was sent to"),
                }
                self.last = Some(o);
            }
        }
    }

    /// What status says of it.
    pub(super) fn report(&self) -> Report {
        let mhz = self.seen.mhz.load(Ordering::Acquire);
        Report {
            interface: self.interface.clone(),
            channel_mhz: Some(mhz).filter(|m| *m > 0),
            searching: self.migration.is_searching(),
            searches: self.migration.searches(),
            switches: self.switches,
            last_from_mhz: self.last.map(|o| o.from_mhz),
            last_probes: self.last.map(|o| o.probes),
            last_before_bps: self.last.map(|o| o.before_bps),
            last_after_bps: self.last.map(|o| o.after_bps),
        }
    }
}

/// The thread that asks and orders.
struct Worker {
    interface: String,
    control: Option<PathBuf>,
    beacons: u8,
    orders: Receiver<u32>,
    seen: Arc<Seen>,
}

impl Worker {
    fn serve(self) {
        let mut radio: Option<Box<dyn ChannelSwitch>> = None;
        let mut busy_until = Instant::now();
        let mut complained = false;
        loop {
            let wait = if Instant::now() < busy_until { SEARCHING } else { RESTING };
            let order = match self.orders.recv_timeout(wait) {
                Ok(mhz) => Some(mhz),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if order.is_some() {
                busy_until = Instant::now() + ATTENTION;
            }
            let done = self.turn(&mut radio, order);
            match done {
                Ok(()) => complained = false,
                Err(error) => {
                    if order.is_some() {
                        self.seen.refused.fetch_add(1, Ordering::AcqRel);
                    } else {
                        // hostapd may come back, under the same name.
                        radio = None;
                        self.seen.mhz.store(0, Ordering::Release);
                    }
                    if order.is_some() || !std::mem::replace(&mut complained, true) {
                        tracing::warn!(interface = self.interface, "the radio's channel: {error}");
                    }
                }
            }
        }
    }

    fn turn(
        &self,
        radio: &mut Option<Box<dyn ChannelSwitch>>,
        order: Option<u32>,
    ) -> Result<(), ChannelError> {
        if radio.is_none() {
            *radio = Some(channel::open(&self.interface, self.control.as_deref())?);
        }
        let Some(radio) = radio else { return Ok(()) };
        if let Some(mhz) = order {
            return radio.announce(mhz, self.beacons);
        }
        self.seen.mhz.store(radio.channel_mhz()?, Ordering::Release);
        Ok(())
    }
}
