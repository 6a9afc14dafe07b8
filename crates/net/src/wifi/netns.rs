//! Radios that move into another network namespace.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{WifiError, open};
use crate::genl::{Raw, nla};

const SET_WIPHY_NETNS: u8 = 49;
const ATTR_WIPHY: u16 = 1;
const ATTR_NETNS_FD: u16 = 219;

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
