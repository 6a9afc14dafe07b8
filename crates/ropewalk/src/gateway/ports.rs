//! Layer 2: the devices of an access point's repeaters. A device is made when its repeater first comes in, and stays until the repeater is revoked or the daemon ends. While
//! the repeater is away the device has no carrier, like a port whose cable is pulled out: the bridge forgets who was behind it, and nothing is sent there.

use crate::config::File;
use crate::daemon::{Running, Tap};
use ropewalk_net::setup::find_bridge;
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;

/// What the devices' names begin with, unless the file says otherwise.
const PREFIX: &str = "rwap";

/// What the devices' names begin with.
pub(crate) fn prefix(file: &File) -> &str {
    file.ap.tun.as_deref().unwrap_or(PREFIX)
}

/// The devices, by whose they are.
#[derive(Debug)]
pub(crate) struct Ports {
    prefix: String,
    tap: Tap,
    of: BTreeMap<PublicKey, u32>,
}

impl Ports {
    /// No devices yet.
    ///
    /// # Errors
    /// The bridge that they are to be ports of is not there.
    pub(crate) fn new(file: &File) -> anyhow::Result<Ports> {
        let (bridge, isolated) = (file.ap.bridge.clone(), file.ap.isolated);
        if let Some(name) = &bridge {
            find_bridge(name)?;
        }
        let tap = Tap { mtu: file.engine.tun_mtu, bridge, isolated };
        Ok(Ports { prefix: prefix(file).into(), tap, of: BTreeMap::new() })
    }

    /// A repeater has come in: its device is made, or gets its carrier back.
    pub(crate) fn plug(
        &mut self,
        running: &mut Running,
        client: PublicKey,
        device: u32,
    ) -> anyhow::Result<()> {
        // The number may have been that of a repeater that was revoked a moment ago.
        self.of.retain(|_, d| *d != device);
        self.of.insert(client, device);
        if let Some(there) = running.core.devices.get(device) {
            return Ok(there.tun.set_carrier(true)?);
        }
        let tap = self.tap.open(Some(&format!("{}{device}", self.prefix)))?;
        tracing::info!(device = tap.name(), bridge = self.tap.bridge, "device made");
        running.add_device(device, tap)
    }

    /// It is away.
    pub(crate) fn unplug(&mut self, running: &Running, client: &PublicKey) -> anyhow::Result<()> {
        let device = self.of.get(client).and_then(|d| running.core.devices.get(*d));
        Ok(device.map_or(Ok(()), |d| d.tun.set_carrier(false))?)
    }

    /// It was revoked, and will not come again.
    pub(crate) fn remove(&mut self, running: &mut Running, client: &PublicKey) {
        if let Some(device) = self.of.remove(client) {
            running.remove_device(device);
        }
    }
}
