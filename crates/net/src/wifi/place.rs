//! Radios that move into another network namespace, and get an interface there.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{WifiError, open};
use crate::genl::{Raw, nla};

const NEW_INTERFACE: u8 = 7;
const SET_WIPHY_NETNS: u8 = 49;
const ATTR_WIPHY: u16 = 1;
const ATTR_IFNAME: u16 = 4;
const ATTR_IFTYPE: u16 = 5;
const ATTR_NETNS_FD: u16 = 219;
const TYPE_STATION: u32 = 2;

/// Moves a radio, by the kernel's number, from the calling thread's namespace into another one.
///
/// # Errors
/// There is no such radio here; its driver does not let it go; the right is missing.
pub fn move_radio(number: u32, namespace: BorrowedFd<'_>) -> Result<(), WifiError> {
    let fd = namespace.as_raw_fd() as u32;
    let attributes = [nla(ATTR_WIPHY, &number.to_ne_bytes()), nla(ATTR_NETNS_FD, &fd.to_ne_bytes())];
    let moved = open()?.order(Raw::new(SET_WIPHY_NETNS, &attributes));
    moved.map_err(|e| WifiError::system(format!("moving radio {number} into a namespace"), e))
}

/// Gives a radio of the calling thread's namespace an interface with the radio's own address; a station, until hostapd makes it an access point.
///
/// # Errors
/// The name is taken; the right is missing.
pub fn add_interface(radio: u32, name: &str) -> Result<(), WifiError> {
    let mut text = name.as_bytes().to_vec();
    text.push(0);
    let attributes = [
        nla(ATTR_WIPHY, &radio.to_ne_bytes()),
        nla(ATTR_IFNAME, &text),
        nla(ATTR_IFTYPE, &TYPE_STATION.to_ne_bytes()),
    ];
    let made = open()?.order(Raw::new(NEW_INTERFACE, &attributes));
    made.map_err(|e| WifiError::system(format!("making the interface {name}"), e))
}
