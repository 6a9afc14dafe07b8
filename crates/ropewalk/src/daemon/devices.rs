//! The devices between the kernel and the engine, each under the number by which the engine knows it. A client and a gateway on layer 3 have one; an access point on
//! layer 2 has one for each repeater.

use ropewalk_net::setup::{DeviceConfig, configure, join_bridge};
use ropewalk_net::tun::Tun;
use ropewalk_session::Layer;
use ropewalk_time::Time;
use std::collections::BTreeMap;

/// Packets that wait in a device for us; super-packets count as one.
pub(crate) const DEVICE_QUEUE: u32 = 500;
/// The number of a device that is the only one.
const ONLY: u32 = 0;

/// One device.
#[derive(Debug)]
pub(crate) struct Device {
    /// The device.
    pub tun: Tun,
    /// When it last had something.
    pub(super) last_read: Time,
    /// Packets written to it since it was last read: about as many answers wait there.
    pub(super) unanswered: u32,
    /// It was said that it is down, and no packet has got into it since.
    pub(super) down_said: bool,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Devices {
    name: String,
    all: BTreeMap<u32, Device>,
}

impl Devices {
    /// One device.
    pub(crate) fn one(tun: Tun) -> Devices {
        let mut devices = Devices { name: tun.name().into(), all: BTreeMap::new() };
        devices.insert(ONLY, tun);
        devices
    }

    /// None yet; the names of those to come begin with `prefix`.
    pub(crate) fn to_come(prefix: &str) -> Devices {
        Devices { name: format!("{prefix}*"), all: BTreeMap::new() }
    }

    /// What people call the bond's device, or devices.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The device with this number.
    pub(crate) fn get(&self, id: u32) -> Option<&Device> {
        self.all.get(&id)
    }

    /// The same, to change.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Device> {
        self.all.get_mut(&id)
    }

    /// All of them with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Device)> {
        self.all.iter().map(|(id, device)| (*id, device))
    }

    pub(super) fn insert(&mut self, id: u32, tun: Tun) {
        self.all.insert(id, Device { tun, last_read: Time::ZERO, unanswered: 0, down_said: false });
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.all.remove(&id);
    }
}

/// How a TAP device is to be: a repeater's, or an access point's for one repeater.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    /// The longest payload of a frame, bytes.
    pub mtu: u16,
    /// The bridge that it becomes a port of.
    pub bridge: Option<String>,
    /// The bridge joins it to no other port that is isolated.
    pub isolated: bool,
}

impl Tap {
    /// Makes one, up, and in its bridge. Without a name it is the first free of `rw0`, `rw1`, …
    ///
    /// # Errors
    /// The name is taken, or there is no such bridge.
    pub(crate) fn open(&self, name: Option<&str>) -> anyhow::Result<Tun> {
        let tap = Tun::open_tap(name)?;
        configure(&DeviceConfig {
            layer: Layer::Two,
            index: tap.index(),
            name: tap.name(),
            mtu: self.mtu.into(),
            queue: Some(DEVICE_QUEUE),
            addresses: &[],
        })?;
        if let Some(bridge) = &self.bridge {
            join_bridge(tap.index(), tap.name(), bridge, self.isolated)?;
        }
        Ok(tap)
    }
}
