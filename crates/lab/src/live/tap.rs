//! TAP devices: where a node's kernel meets the models.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl;

use crate::{LabError, Namespace, Result};

/// `TUNSETIFF`, `TUNSETOFFLOAD` and their flags, of linux/if_tun.h; `IFNAMSIZ` of linux/if.h.
const TUNSETIFF: ioctl::Opcode = ioctl::opcode::write::<libc::c_int>(b'T', 202);
const TUNSETOFFLOAD: ioctl::Opcode = ioctl::opcode::write::<libc::c_uint>(b'T', 208);
const TUNSETLINK: ioctl::Opcode = ioctl::opcode::write::<libc::c_int>(b'T', 205);
const TUNSETCARRIER: ioctl::Opcode = ioctl::opcode::write::<libc::c_int>(b'T', 226);
/// `ARPHRD_IEEE80211_RADIOTAP` of linux/if_arp.h.
const RADIOTAP: usize = 803;
const IFF_TAP: u16 = 0x0002;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
const IFF_TUN_EXCL: u16 = 0x8000;
const IFNAMSIZ: usize = 16;
/// Unfinished checksums; TCP over IPv4 and IPv6, with ECN; UDP over both (Linux 6.2).
const CSUM: u32 = 0x01;
const TSO: u32 = 0x02 | 0x04 | 0x08;
const USO: u32 = 0x20 | 0x40;

/// `struct ifreq` of linux/if.h as TUNSETIFF reads it: 40 bytes on 64-bit machines.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

/// Opens a new TAP device in a namespace: frames with a virtio header, with all offloads that the kernel has, never blocking. The device ends with
/// the file.
pub(super) fn open(namespace: &Namespace, name: &str) -> Result<File> {
    let file = create(namespace, name, IFF_VNET_HDR)?;
    let offload = |set: u32| {
        // SAFETY: TUNSETOFFLOAD takes a set of flags by value, and no memory.
        unsafe { ioctl::ioctl(&file, ioctl::IntegerSetter::<TUNSETOFFLOAD>::new_usize(set as usize)) }
    };
    offload(CSUM | TSO | USO)
        .or_else(|_| offload(CSUM | TSO))
        .map_err(LabError::kernel(format!("ask for the offloads of {name}")))?;
    Ok(file)
}

/// Opens a new monitor interface in a namespace: what is written to it, a radiotap header and an 802.11 frame, is what tcpdump and Wireshark see. It ends
/// with the file.
pub(crate) fn open_monitor(namespace: &Namespace, name: &str) -> Result<File> {
    let file = create(namespace, name, 0)?;
    // SAFETY: TUNSETLINK takes a number by value, and no memory.
    unsafe { ioctl::ioctl(&file, ioctl::IntegerSetter::<TUNSETLINK>::new_usize(RADIOTAP)) }
        .map_err(LabError::kernel(format!("make {name} a radiotap interface")))?;
    // Nothing of the node's own goes out there: it has neither addresses nor neighbours.
    namespace.ip(&[format!("link set {name} arp off multicast off mtu 8192 up")])?;
    Ok(file)
}

/// Tells a node whether an interface of its has a link.
pub(super) fn set_carrier(device: &File, on: bool) {
    let on = libc::c_int::from(on);
    // SAFETY: TUNSETCARRIER reads one `int`, which lives through the call.
    let set = unsafe { ioctl::ioctl(device, ioctl::Setter::<TUNSETCARRIER, libc::c_int>::new(on)) };
    if let Err(error) = set {
        tracing::debug!("a carrier cannot be set: {error}");
    }
}

/// Makes a TAP device of whole frames that never blocks.
fn create(namespace: &Namespace, name: &str, flags: u16) -> Result<File> {
    let fits = (1..IFNAMSIZ).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if !fits {
        return Err(LabError::InterfaceName(name.to_owned()));
    }
    let flags = IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL | flags;
    let mut request = InterfaceRequest { name: [0; IFNAMSIZ], flags, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let open = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open("/dev/net/tun")
    };
    let file = namespace.run(open)?.map_err(no_driver)?;
    // SAFETY: TUNSETIFF reads one `struct ifreq`, which `InterfaceRequest` is byte for byte.
    unsafe { ioctl::ioctl(&file, ioctl::Setter::<TUNSETIFF, InterfaceRequest>::new(request)) }
        .map_err(LabError::kernel(format!("make the device {name} in {}", namespace.label())))?;
    Ok(file)
}

fn no_driver(source: io::Error) -> LabError {
    match source.kind() {
        io::ErrorKind::NotFound => LabError::NoTun,
        io::ErrorKind::PermissionDenied => LabError::TunForbidden,
        _ => LabError::Kernel { what: "open /dev/net/tun".to_owned(), source },
    }
}
