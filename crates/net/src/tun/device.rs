//! Opening, reading and writing the device.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::checksum;
use super::segment::{SegmentError, Segments};
use ropewalk_bond::vnet::Vnet;

/// The most slices that one [`Tun::send`] takes: a 64 KiB packet in pieces of at least 257 bytes.
pub const MAX_PARTS: usize = 255;

/// Everything that spares us work.
const ALL: Offloads = Offloads { header: true, csum: true, tso: true, uso: true };
/// Refuse a device that exists (`linux/if_tun.h`; libc has no name for it).
const IFF_TUN_EXCL: libc::c_int = 0x8000;
const DEVICE: &str = "/dev/net/tun";
const LARGEST_PACKET: usize = 65_535;

/// What can go wrong with the device.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The kernel's TUN driver is not there.
    #[error(
        "{DEVICE} is missing: load the driver with `modprobe tun`, or pass the device into the container"
    )]
    NoDriver,
    /// The capability is missing.
    #[error("creating a network device needs CAP_NET_ADMIN: run as root, or grant that capability")]
    NotPermitted,
    /// Another device has the name.
    #[error("a network device named `{0}` exists already: choose another name with --tun, or remove it")]
    NameTaken(String),
    /// The name is not one that a network device can have.
    #[error("`{0}` cannot name a network device: 1 to 15 bytes, no slash, no space")]
    BadName(String),
    /// The kernel looked at a packet and its virtio header and refused them; the packet is lost, the device
    /// is well.
    #[error("the kernel refused a packet as malformed")]
    Refused,
    /// The device is down, so it takes no packets.
    #[error("the bond's network device is down: `ip link set` it up again")]
    Down,
    /// Somebody deleted the device.
    #[error("the bond's network device was deleted by somebody else")]
    Gone,
    /// A super-packet that had to be cut here could not be.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// Anything else the kernel says.
    #[error("{what} failed")]
    System {
        /// The operation.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl TunError {
    /// Only packets are lost, as on any link: this one, or those until somebody sets the device up again.
    pub fn loses_packets_only(&self) -> bool {
        matches!(self, TunError::Refused | TunError::Segment(_) | TunError::Down)
    }
}

/// What the device spares us. Anything that is `false` is done here in software, and costs throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Packets carry a virtio header at all; without it nothing below is possible.
    pub header: bool,
    /// Packets may be handed out with their transport checksum unfinished.
    pub csum: bool,
    /// TCP super-packets, both IP versions.
    pub tso: bool,
    /// UDP super-packets, both IP versions (Linux 6.2).
    pub uso: bool,
}

/// One packet read from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// What the kernel says about the packet.
    pub header: Vnet,
    /// Its length in bytes, IP header included.
    pub len: usize,
}

/// A TUN device. It, its addresses and its routes vanish when this is dropped or the process dies.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    index: u32,
    offloads: Offloads,
    /// It carries frames.
    is_tap: bool,
    /// Room for a super-packet and one segment of it; only for the software path.
    scratch: Box<[u8]>,
}

impl Tun {
    /// Creates a device called `name`, or the first free `rw0`, `rw1`, … without a name, in the calling
    /// thread's network namespace. The device is nonblocking, and down until it is configured.
    pub fn open(name: Option<&str>) -> Result<Tun, TunError> {
        Self::open_with(name, ALL)
    }

    /// The same with so many queues: each is written and read by itself, and the packets of a connection
    /// come by the queue to which packets of it were written last (`IFF_MULTI_QUEUE`).
    pub fn open_queues(name: Option<&str>, count: u32) -> Result<Vec<Tun>, TunError> {
        if count < 2 {
            return Ok(vec![Self::open(name)?]);
        }
        let kind = libc::IFF_TUN | libc::IFF_MULTI_QUEUE;
        let mut queues = vec![Self::open_kind(name, ALL, kind | IFF_TUN_EXCL)?];
        for _ in 1..count {
            let queue = Self::open_kind(Some(&queues[0].name), queues[0].offloads, kind)?;
            queues.push(queue);
        }
        Ok(queues)
    }

    /// The same for Ethernet frames: a TAP device. Headers count from the start of the frame.
    pub fn open_tap(name: Option<&str>) -> Result<Tun, TunError> {
        Self::open_tap_with(name, ALL)
    }

    /// As [`open_tap`](Self::open_tap), but asks for no more than `wanted`.
    pub fn open_tap_with(name: Option<&str>, wanted: Offloads) -> Result<Tun, TunError> {
        Self::open_kind(name, wanted, libc::IFF_TAP | IFF_TUN_EXCL)
    }

    /// As [`open`](Self::open), but asks for no more than `wanted`.
    pub fn open_with(name: Option<&str>, wanted: Offloads) -> Result<Tun, TunError> {
        Self::open_kind(name, wanted, libc::IFF_TUN | IFF_TUN_EXCL)
    }

    fn open_kind(name: Option<&str>, wanted: Offloads, kind: libc::c_int) -> Result<Tun, TunError> {
        let pattern = name.unwrap_or("rw%d");
        let unnameable = |b: u8| b == b'/' || b == b':' || b.is_ascii_whitespace() || b == 0;
        if pattern.is_empty() || pattern.len() >= libc::IFNAMSIZ || pattern.bytes().any(unnameable) {
            return Err(TunError::BadName(pattern.into()));
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(DEVICE, flags, Mode::empty()).map_err(open_error)?;
        let (name, header) = create(&fd, pattern, wanted.header, kind)?;
        let index = rustix::net::netdevice::name_to_index(&fd_socket()?, &name)
            .map_err(|e| system("looking up the new device", e))?;
        let offloads = if header { negotiate(&fd, wanted)? } else { Offloads::default() };
        let is_tap = kind & libc::IFF_TAP != 0;
        Ok(Tun { fd, name, index, offloads, is_tap, scratch: vec![0; 2 * LARGEST_PACKET].into() })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device's interface index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// What the kernel granted.
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Says whether the other end of the device is there, as a plugged or pulled cable does: a bridge forgets who is behind a
    /// port that lost its carrier, and its spanning tree takes another way at once. A new device has a carrier.
    pub fn set_carrier(&self, present: bool) -> Result<(), TunError> {
        let present = libc::c_int::from(present);
        // SAFETY: TUNSETCARRIER reads one int through the pointer, which lives across the call.
        match unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TUNSETCARRIER as _, &present) } {
            0 => Ok(()),
            _ => Err(system("setting the device's carrier", last_error())),
        }
    }

    /// Reads one packet into `packet`, which should hold 65,535 bytes. `None` when nothing waits.
    pub fn recv(&self, packet: &mut [u8]) -> Result<Option<Received>, TunError> {
        let mut header = [0; Vnet::LEN];
        let read = if self.offloads.header {
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(packet)];
            rustix::io::readv(&self.fd, &mut parts)
        } else {
            rustix::io::read(&self.fd, packet).map(|n| n + Vnet::LEN)
        };
        match read {
            Ok(n) => {
                Ok(Some(Received { header: Vnet::from_device(&header), len: n.saturating_sub(Vnet::LEN) }))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(Errno::BADFD) => Err(TunError::Gone),
            Err(e) => Err(system("reading from the TUN device", e)),
        }
    }

    /// Writes one packet, given in at most [`MAX_PARTS`] slices, whose kind is `header`.
    ///
    /// A super-packet that the kernel would not take is cut first. [`TunError::Refused`] and
    /// [`TunError::Segment`] concern this packet alone.
    pub fn send(&mut self, header: &Vnet, parts: &[&[u8]]) -> Result<(), TunError> {
        if self.takes(header) {
            return self.write(header, parts);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let outcome = self.send_in_software(header, parts, &mut scratch);
        self.scratch = scratch;
        outcome
    }

    /// The packets that a super-packet of this device stands for.
    pub fn segments<'p>(&self, header: &Vnet, packet: &'p [u8]) -> Result<Segments<'p>, SegmentError> {
        if self.is_tap { Segments::of_frame(header, packet) } else { Segments::new(header, packet) }
    }

    /// Whether the kernel accepts a packet of this kind as it is. What it may hand out it also takes.
    fn takes(&self, header: &Vnet) -> bool {
        match header.kind() {
            Vnet::GSO_NONE => self.offloads.header || !header.needs_csum(),
            Vnet::GSO_TCPV4 | Vnet::GSO_TCPV6 => self.offloads.tso,
            Vnet::GSO_UDP_L4 => self.offloads.uso,
            _ => false,
        }
    }

    fn send_in_software(&self, header: &Vnet, parts: &[&[u8]], scratch: &mut [u8]) -> Result<(), TunError> {
        let (whole, room) = scratch.split_at_mut(LARGEST_PACKET);
        let packet = gather(parts, whole).ok_or(TunError::Refused)?;
        if !header.is_super() {
            if !checksum::finish(header, packet) {
                return Err(TunError::Refused);
            }
            return self.write(&Vnet::default(), &[packet]);
        }
        let mut segments = self.segments(header, packet)?;
        while let Some(segment) = segments.next_into(room) {
            self.write(&Vnet::default(), &[segment])?;
        }
        Ok(())
    }

    fn write(&self, header: &Vnet, parts: &[&[u8]]) -> Result<(), TunError> {
        match parts.len() {
            // Most packets are one or a few pieces; clearing the long list for each would cost more than the
            // copy.
            0..=15 => self.writev::<16>(header, parts),
            16..=MAX_PARTS => self.writev::<{ MAX_PARTS + 1 }>(header, parts),
            _ => Err(TunError::Refused),
        }
    }

    fn writev<const SLICES: usize>(&self, header: &Vnet, parts: &[&[u8]]) -> Result<(), TunError> {
        let encoded = header.to_device();
        let mut slices = [IoSlice::new(&[]); SLICES];
        slices[0] = IoSlice::new(&encoded);
        for (slice, part) in slices[1..].iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        let first = usize::from(!self.offloads.header);
        match rustix::io::writev(&self.fd, &slices[first..=parts.len()]) {
            Ok(_) => Ok(()),
            Err(Errno::INVAL | Errno::MSGSIZE) => Err(TunError::Refused),
            Err(Errno::IO) => Err(TunError::Down),
            Err(Errno::BADFD) => Err(TunError::Gone),
            Err(e) => Err(system("writing to the TUN device", e)),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Copies the parts into `whole`, one after the other.
fn gather<'w>(parts: &[&[u8]], whole: &'w mut [u8]) -> Option<&'w mut [u8]> {
    let mut len = 0;
    for part in parts {
        whole.get_mut(len..len + part.len())?.copy_from_slice(part);
        len += part.len();
    }
    Some(&mut whole[..len])
}

/// Creates the device behind `fd`; returns its name and whether it has a virtio header.
fn create(fd: &OwnedFd, pattern: &str, header: bool, kind: libc::c_int) -> Result<(String, bool), TunError> {
    let base = kind | libc::IFF_NO_PI;
    if header {
        match set_interface(fd, pattern, base | libc::IFF_VNET_HDR) {
            Ok(name) => return Ok((name, true)),
            // An emulated kernel that does not know the header; or a taken name, which the next attempt finds
            // again.
            Err(Errno::INVAL) => {}
            Err(e) => return Err(create_error(pattern, e)),
        }
    }
    match set_interface(fd, pattern, base) {
        Ok(name) => Ok((name, false)),
        Err(e) => Err(create_error(pattern, e)),
    }
}

fn create_error(pattern: &str, error: Errno) -> TunError {
    let exists = || fd_socket().is_ok_and(|s| rustix::net::netdevice::name_to_index(&s, pattern).is_ok());
    match error {
        Errno::PERM | Errno::ACCESS => TunError::NotPermitted,
        Errno::BUSY | Errno::EXIST => TunError::NameTaken(pattern.into()),
        // The name of a device of another kind.
        Errno::INVAL if exists() => TunError::NameTaken(pattern.into()),
        Errno::INVAL => TunError::BadName(pattern.into()),
        e => system("creating the TUN device", e),
    }
}

fn open_error(error: Errno) -> TunError {
    match error {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => TunError::NoDriver,
        Errno::PERM | Errno::ACCESS => TunError::NotPermitted,
        e => system("opening /dev/net/tun", e),
    }
}

fn system(what: &'static str, error: Errno) -> TunError {
    TunError::System { what, source: error.into() }
}

/// Asks for the offloads, the newest first, and settles for what the kernel knows.
fn negotiate(fd: &OwnedFd, wanted: Offloads) -> Result<Offloads, TunError> {
    let size = Vnet::LEN as libc::c_int;
    // SAFETY: TUNSETVNETHDRSZ reads one int through the pointer, which lives across the call.
    let set = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &size) };
    if set != 0 {
        return Err(system("setting the size of the virtio header", last_error()));
    }
    let csum = libc::TUN_F_CSUM;
    // TSO_ECN keeps a segment with CWR part of its super-packet instead of sending it alone.
    let tso = csum | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let uso = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    let attempts = [
        (wanted.tso && wanted.uso, tso | uso, Offloads { header: true, csum: true, tso: true, uso: true }),
        (wanted.tso, tso, Offloads { header: true, csum: true, tso: true, uso: false }),
        (wanted.csum, csum, Offloads { header: true, csum: true, tso: false, uso: false }),
    ];
    let granted = attempts.iter().find(|(asked, bits, _)| *asked && set_offload(fd, *bits));
    Ok(granted.map_or(Offloads { header: true, ..Offloads::default() }, |(_, _, got)| *got))
}

fn set_offload(fd: &OwnedFd, bits: libc::c_uint) -> bool {
    // SAFETY: TUNSETOFFLOAD takes its argument by value and touches no memory of ours.
    unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(bits)) == 0 }
}

/// TUNSETIFF; returns the name that the kernel chose.
fn set_interface(fd: &OwnedFd, pattern: &str, flags: libc::c_int) -> Result<String, Errno> {
    // SAFETY: ifreq is plain old data for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(pattern.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq through the pointer, which lives across the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } != 0 {
        return Err(last_error());
    }
    let name = request.ifr_name.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
    String::from_utf8(name).map_err(|_| Errno::INVAL)
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Any socket: the kernel wants one to answer questions about interfaces.
fn fd_socket() -> Result<OwnedFd, TunError> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| system("opening a socket", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_down_loses_packets_and_ends_nobody() {
        assert!(TunError::Down.loses_packets_only() && TunError::Refused.loses_packets_only());
        assert!(!TunError::Gone.loses_packets_only() && !TunError::NotPermitted.loses_packets_only());
    }
}
