//! What a device does to packets before anybody sees them (ethtool, `linux/ethtool.h`).

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;

/// Has an interface hand on segments as they come, or joined to super-packets (GRO).
///
/// # Errors
/// No such interface, no CAP_NET_ADMIN.
pub fn set_gro(interface: &str, joins: bool) -> io::Result<()> {
    order(interface, [ETHTOOL_SGRO, joins.into()]).map(drop)
}

/// Whether it joins them.
///
/// # Errors
/// No such interface.
pub fn has_gro(interface: &str) -> io::Result<bool> {
    order(interface, [ETHTOOL_GGRO, 0]).map(|value| value != 0)
}

/// Gives `struct ethtool_value` to the kernel, and its value back.
fn order(interface: &str, mut value: [u32; 2]) -> io::Result<u32> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: a structure of numbers and of a pointer, for which zeros are values.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the kernel reads the request and writes two words, both of which live.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_interface_has_are_refused() {
        for name in ["", "a-name-of-sixteen", "none-such"] {
            assert!(has_gro(name).is_err() && set_gro(name, true).is_err(), "{name}");
        }
        assert!(has_gro("lo").is_ok());
    }
}
