//! Interfaces of a radio, and how many stations it may be at once.

use std::io;
use std::time::Duration;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkHeader, LinkMessage};
use serde::{Deserialize, Serialize};

use super::{WifiError, open};
use crate::feedback::StationInfo;
use crate::genl::{Raw, nla, u32_of};
use crate::netlink::Netlink;
use crate::setup::SetupError;

const GET_WIPHY: u8 = 1;
const GET_INTERFACE: u8 = 5;
const NEW_INTERFACE: u8 = 7;
const DEL_INTERFACE: u8 = 8;
const GET_STATION: u8 = 17;
const ATTR_WIPHY: u16 = 1;
const ATTR_WIPHY_NAME: u16 = 2;
const ATTR_IFINDEX: u16 = 3;
const ATTR_IFNAME: u16 = 4;
const ATTR_IFTYPE: u16 = 5;
const ATTR_MAC: u16 = 6;
const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;
const TYPE_STATION: u32 = 2;
const TYPE_MONITOR: u32 = 6;

/// An interface of a radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its radio.
    pub radio: u32,
    /// Its address.
    pub mac: [u8; 6],
    /// It is a station, or would be.
    pub is_station: bool,
    /// It only listens.
    pub is_monitor: bool,
    /// Centre of the channel that it is on, MHz; 0: on none.
    pub frequency_mhz: u32,
}

/// All interfaces of all radios of this namespace.
///
/// # Errors
/// There is no Wi-Fi.
pub fn interfaces() -> Result<Vec<Interface>, WifiError> {
    let answers = open()?.ask(Raw::new(GET_INTERFACE, &[]), NLM_F_DUMP);
    let answers = answers.map_err(|e| WifiError::system("listing Wi-Fi interfaces", e))?;
    Ok(answers.iter().filter_map(interface).collect())
}

fn interface(answer: &Raw) -> Option<Interface> {
    let name = answer.get(ATTR_IFNAME)?;
    let name = name.split(|b| *b == 0).next().unwrap_or_default();
    let is = |kind| answer.get(ATTR_IFTYPE).map(u32_of) == Some(kind);
    Some(Interface {
        index: u32_of(answer.get(ATTR_IFINDEX)?),
        name: String::from_utf8_lossy(name).into_owned(),
        radio: u32_of(answer.get(ATTR_WIPHY)?),
        mac: answer.get(ATTR_MAC).and_then(|m| m.first_chunk()).copied().unwrap_or_default(),
        is_station: is(TYPE_STATION),
        is_monitor: is(TYPE_MONITOR),
        frequency_mhz: answer.get(ATTR_WIPHY_FREQ).map_or(0, u32_of),
    })
}

/// How many stations a radio may be at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Stations.
    pub stations: u32,
    /// Channels that they may be on.
    pub channels: u32,
}

/// A radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radio {
    /// The kernel's number.
    pub number: u32,
    /// Its name, such as `phy0`.
    pub name: String,
    /// By its *valid interface combinations*, as `iw list` shows them.
    pub capacity: Capacity,
}

impl Radio {
    /// All of this namespace.
    ///
    /// # Errors
    /// There is no Wi-Fi.
    pub fn all() -> Result<Vec<Radio>, WifiError> {
        let question = Raw::new(GET_WIPHY, &[nla(ATTR_SPLIT_WIPHY_DUMP, &[])]);
        let parts = open()?.ask(question, NLM_F_DUMP);
        let parts = parts.map_err(|e| WifiError::system("asking what radios can do", e))?;
        let mut radios: Vec<Radio> = Vec::new();
        for part in &parts {
            let Some(number) = part.get(ATTR_WIPHY).map(u32_of) else { continue };
            let place = radios.iter().position(|r| r.number == number).unwrap_or_else(|| {
                // A driver that names no combination has one interface.
                let capacity = Capacity { stations: 1, channels: 1 };
                radios.push(Radio { number, name: format!("phy{number}"), capacity });
                radios.len() - 1
            });
            if let Some(name) = part.get(ATTR_WIPHY_NAME) {
                let name = name.split(|b| *b == 0).next().unwrap_or_default();
                radios[place].name = String::from_utf8_lossy(name).into_owned();
            }
            if let Some((stations, channels)) = part.stations_at_once() {
                radios[place].capacity = Capacity { stations: stations.max(1), channels: channels.max(1) };
            }
        }
        Ok(radios)
    }
}

/// A station interface of our own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationInterface {
    /// Its name.
    pub name: String,
    /// Its radio.
    pub radio: u32,
    /// Its address.
    pub mac: [u8; 6],
}

impl StationInterface {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        let made = add(&self.name, self.radio, TYPE_STATION, &[nla(ATTR_MAC, &self.mac)]);
        made.map_err(|e| SetupError::system(format!("making the station interface {}", self.name), e))
    }

    /// Removes it, if it is the one that was made: another's of the same name has another address.
    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        let gone = delete(&self.name, |i| i.mac == self.mac && i.radio == self.radio);
        gone.map_err(|e| SetupError::system(format!("removing the station interface {}", self.name), e))
    }
}

/// A monitor interface of our own, whose name nobody else gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorInterface {
    /// Its name.
    pub name: String,
    /// Its radio.
    pub radio: u32,
}

impl MonitorInterface {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        let made = add(&self.name, self.radio, TYPE_MONITOR, &[]);
        made.map_err(|e| SetupError::system(format!("making the monitor interface {}", self.name), e))
    }

    /// Removes it, unless something else has its name now.
    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        let gone = delete(&self.name, |i| i.is_monitor && i.radio == self.radio);
        gone.map_err(|e| SetupError::system(format!("removing the monitor interface {}", self.name), e))
    }
}

/// Gives a radio of the calling thread's namespace an interface with the radio's own address.
/// It is a station until hostapd makes it an access point.
///
/// # Errors
/// The name is taken; the right is missing.
pub fn add_station(name: &str, radio: u32) -> Result<(), WifiError> {
    let made = add(name, radio, TYPE_STATION, &[]);
    made.map_err(|e| WifiError::system(format!("making the interface {name}"), e))
}

/// Makes an interface of this type.
fn add(name: &str, radio: u32, kind: u32, more: &[Vec<u8>]) -> io::Result<()> {
    let name = [name.as_bytes(), &[0]].concat();
    let mut attributes = vec![
        nla(ATTR_WIPHY, &radio.to_ne_bytes()),
        nla(ATTR_IFNAME, &name),
        nla(ATTR_IFTYPE, &kind.to_ne_bytes()),
    ];
    attributes.extend_from_slice(more);
    ask(Raw::new(NEW_INTERFACE, &attributes))
}

/// The interfaces that there are: none where Wi-Fi is gone. Any other error says nothing about them.
fn present(listed: Result<Vec<Interface>, WifiError>) -> Result<Vec<Interface>, WifiError> {
    match listed {
        Err(WifiError::NoWifi) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Removes the interface of this name, if there is one that is `ours`.
fn delete(name: &str, ours: impl Fn(&Interface) -> bool) -> io::Result<()> {
    let all = present(interfaces()).map_err(io::Error::other)?;
    let Some(found) = all.iter().find(|i| i.name == name && ours(i)) else { return Ok(()) };
    match ask(Raw::new(DEL_INTERFACE, &[nla(ATTR_IFINDEX, &found.index.to_ne_bytes())])) {
        Err(e) if e.raw_os_error() != Some(libc::ENODEV) => Err(e),
        _ => Ok(()),
    }
}

/// An interface of another's that was off, and is on to listen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOn {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
}

impl SwitchedOn {
    pub(crate) fn set(&self) -> Result<(), SetupError> {
        self.switch(true)
    }

    /// Off again, if it is there.
    pub(crate) fn restore(&self) -> Result<(), SetupError> {
        let what = || format!("looking for {}", self.name);
        let all = present(interfaces()).map_err(|e| SetupError::system(what(), io::Error::other(e)))?;
        let is_there = all.iter().any(|i| i.index == self.index && i.name == self.name);
        if is_there { self.switch(false) } else { Ok(()) }
    }

    fn switch(&self, on: bool) -> Result<(), SetupError> {
        let what = || format!("switching {} {}", self.name, if on { "on" } else { "off" });
        link_up(&self.name, self.index, on).map_err(|e| SetupError::system(what(), io::Error::other(e)))
    }
}

fn ask(order: Raw) -> io::Result<()> {
    open().map_err(io::Error::other)?.order(order)
}

/// Switches an interface on or off.
///
/// # Errors
/// The radio is blocked, or has too many interfaces on.
pub fn link_up(name: &str, index: u32, up: bool) -> Result<(), WifiError> {
    let mut message = LinkMessage::default();
    let flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    message.header = LinkHeader { index, flags, change_mask: LinkFlags::Up, ..LinkHeader::default() };
    let outcome = Netlink::open().and_then(|mut n| n.change(RouteNetlinkMessage::SetLink(message), 0));
    outcome.map_err(|e| match e.raw_os_error() {
        Some(libc::ERFKILL) => WifiError::Blocked(name.to_owned()),
        _ => WifiError::system(format!("switching {name} {}", if up { "on" } else { "off" }), e),
    })
}

/// What a station has of its access point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// The access point.
    pub bssid: [u8; 6],
    /// Signal of its last frame, dBm.
    pub signal_dbm: Option<f64>,
    /// Rate of the last frame from it, bit/s; 0 if unknown.
    pub rx_bps: u64,
    /// Rate of the last frame to it, bit/s; 0 if unknown.
    pub tx_bps: u64,
    /// Frames to it, tries again and those given up included as they were counted.
    pub tx_packets: u32,
    /// Tries again.
    pub tx_retries: u32,
    /// Packets from it.
    pub rx_packets: u32,
    /// Bytes from it, and to it.
    pub bytes: (u64, u64),
    /// Since it was last heard, beacons not counted by all drivers.
    pub inactive: Option<Duration>,
    /// Beacons heard, if they are counted.
    pub beacons: Option<u64>,
}

/// What the station on an interface has of its access point; none while it is not with one.
///
/// # Errors
/// The interface is gone.
pub fn listen(index: u32) -> Result<Option<Heard>, WifiError> {
    let question = Raw::new(GET_STATION, &[nla(ATTR_IFINDEX, &index.to_ne_bytes())]);
    let answers = open()?.ask(question, NLM_F_DUMP);
    let answers = answers.map_err(|e| WifiError::system("reading a station's counters", e))?;
    let heard = |s: StationInfo| Heard {
        bssid: s.mac,
        signal_dbm: s.signal_dbm.map(f64::from),
        rx_bps: s.rx_rate_bps,
        tx_bps: s.tx_rate_bps,
        tx_packets: s.tx_packets,
        tx_retries: s.tx_retries,
        rx_packets: s.rx_packets,
        bytes: (s.rx_bytes, s.tx_bytes),
        inactive: s.inactive,
        beacons: s.beacons,
    };
    Ok(answers.iter().find_map(Raw::station).map(heard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_not_gone_because_the_kernel_gives_no_list() {
        let no_memory = io::Error::from_raw_os_error(libc::ENOBUFS);
        assert!(present(Err(WifiError::system("listing Wi-Fi interfaces", no_memory))).is_err());
        assert!(present(Err(WifiError::NoWifi)).unwrap().is_empty());
        assert!(present(Ok(Vec::new())).unwrap().is_empty());
    }
}
