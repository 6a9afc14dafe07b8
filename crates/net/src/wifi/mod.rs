//! Stations on a radio, through nl80211: which interfaces it has, how many it may have, what it hears, and interfaces of our own.
//!
//! The keys and the handshake of a network are wpa_supplicant's ([`Supplicant`]).

mod bss;
mod netns;
mod quality;
mod scan;
mod stations;
mod supplicant;
mod unmanaged;

pub use bss::Bss;
pub(crate) use bss::read_any;
pub use netns::move_radio;
pub use quality::{Loss, Losses};
pub use scan::{cached, scan};
pub use stations::{
    Capacity, Heard, Interface, MonitorInterface, Radio, StationInterface, SwitchedOn, add_station,
    interfaces, link_up, listen,
};
pub use supplicant::{Association, KnownNetwork, Supplicant, known_networks};
pub use unmanaged::{Unmanaged, keep_others_off};

use std::io;

use crate::genl::Genl;

/// An address of layer 2, as people write it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Why a radio cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum WifiError {
    /// There is no nl80211.
    #[error("this kernel has no Wi-Fi: no driver is loaded, or the radio is not there")]
    NoWifi,
    /// A scan did not end.
    #[error("{0} does not end its scan: is another program scanning all the time?")]
    NoScan(String),
    /// The interface is down and cannot be brought up.
    #[error("{0} is blocked: `rfkill list` says by what, `rfkill unblock wifi` lifts it")]
    Blocked(String),
    /// The right is missing.
    #[error("{0} needs CAP_NET_ADMIN: run as root, or grant that capability")]
    NotPermitted(String),
    /// wpa_supplicant cannot be run, or does not answer.
    #[error("{0}")]
    Supplicant(String),
    /// Anything else.
    #[error("{what} failed: {source}")]
    System {
        /// The operation.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl WifiError {
    fn system(what: impl Into<String>, source: io::Error) -> WifiError {
        let what = what.into();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WifiError::NotPermitted(what),
            Some(libc::ERFKILL) => WifiError::Blocked(what),
            _ => WifiError::System { what, source },
        }
    }
}

fn open() -> Result<Genl, WifiError> {
    let opened = Genl::open("nl80211").map_err(|e| WifiError::system("opening a netlink socket", e))?;
    opened.ok_or(WifiError::NoWifi)
}
