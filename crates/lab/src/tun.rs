//! TUN devices: the ends of emulated cables.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl;

use crate::{LabError, Namespace, Result};

/// `TUNSETIFF`, `IFF_TUN` and `IFF_NO_PI` of linux/if_tun.h; `IFNAMSIZ` of linux/if.h.
const TUNSETIFF: ioctl::Opcode = ioctl::opcode::write::<libc::c_int>(b'T', 202);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFNAMSIZ: usize = 16;

/// `struct ifreq` of linux/if.h as TUNSETIFF reads it: 40 bytes on 64-bit machines.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

/// Opens a new TUN device in a namespace: bare IP packets, without offloads, never blocking. The device ends with the
/// file.
pub(crate) fn open(namespace: &Namespace, name: &str) -> Result<File> {
    let mut request = InterfaceRequest { name: [0; IFNAMSIZ], flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
    let fits = (1..IFNAMSIZ).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if !fits {
        return Err(LabError::InterfaceName(name.to_owned()));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let open = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open("/dev/net/tun")
    };
    let file = namespace.run(open)?.map_err(LabError::kernel("open /dev/net/tun"))?;
    // SAFETY: TUNSETIFF reads one `struct ifreq`, which `InterfaceRequest` is byte for byte.
    unsafe { ioctl::ioctl(&file, ioctl::Setter::<TUNSETIFF, InterfaceRequest>::new(request)) }
        .map_err(LabError::kernel(format!("make the device {name} in {}", namespace.name())))?;
    Ok(file)
}
