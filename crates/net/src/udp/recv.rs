//! Receiving a batch: one system call, several sources, each with as many datagrams as the kernel could
//! merge.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::control::{Control, NAME_LEN, Name, int, parse_packet_info};
use super::socket::{UdpSocket, last_error};

/// Bytes of each of a batch's buffers: the most that the kernel merges.
pub const DATAGRAM_BUFFER: usize = 65_536;

/// Merged size, packet information, ECN and dropped count: 24 + 40 + 24 + 24 bytes at most.
type RecvControl = Control<128>;

/// Buffers and message headers for one receive call, made once and used again for every socket.
///
/// With few slots the buffers stay in the processor's cache; with many, fewer calls are needed when nothing
/// merges.
pub struct RecvBatch {
    buffers: Box<[u8]>,
    slots: Box<[Slot]>,
    iovs: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
    filled: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    name: Name,
    control: RecvControl,
}

// SAFETY: the raw pointers in `iovs` and `messages` are written anew before every call that uses them and
// point into the other fields, which move with the batch (they are on the heap, owned by it). Nothing reads
// them in between.
unsafe impl Send for RecvBatch {}

/// Datagrams of equal length from one source, received together.
#[derive(Debug)]
pub struct Datagrams<'b> {
    /// The datagrams, one after the other; they may be decrypted in place.
    pub data: &'b mut [u8],
    /// Bytes of each datagram; the last one may be shorter. Never zero.
    pub segment_size: usize,
    /// Who sent them.
    pub from: SocketAddr,
    /// The address of ours that they were sent to: the one to answer from.
    pub to: Option<IpAddr>,
    /// The interface that they came in by; 0 if unknown.
    pub interface: u32,
    /// The DSCP and ECN byte of the IP header; the lowest two bits are ECN, 3 is "congestion experienced".
    /// The kernel merges only datagrams whose bytes agree.
    pub tos: u8,
    /// How many datagrams this socket has dropped since it was opened because its buffer was full, if the
    /// kernel said.
    pub dropped: Option<u32>,
}

impl RecvBatch {
    /// Room for `slots` messages of 64 KiB each, at least one.
    pub fn new(slots: usize) -> Self {
        let slots = slots.max(1);
        // SAFETY: msghdr and mmsghdr are plain old data for which all zeroes is a valid value.
        let message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let iov = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        RecvBatch {
            buffers: vec![0; slots * DATAGRAM_BUFFER].into(),
            slots: vec![Slot { name: Name::empty(), control: RecvControl::new() }; slots].into(),
            iovs: vec![iov; slots].into(),
            messages: vec![message; slots].into(),
            filled: 0,
        }
    }

    /// How many messages the last receive call brought.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the last receive call brought nothing.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// What the last receive call brought. Empty datagrams and any that were cut off are left out.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = Datagrams<'_>> {
        let slots = self.slots.iter().zip(&*self.messages).take(self.filled);
        self.buffers
            .chunks_exact_mut(DATAGRAM_BUFFER)
            .zip(slots)
            .filter_map(|(buffer, (slot, message))| read_slot(buffer, slot, message))
    }

    /// Points the message headers at the storage, which may have moved since the last call.
    fn prepare(&mut self) {
        let buffers = self.buffers.chunks_exact_mut(DATAGRAM_BUFFER);
        let slots = self.slots.iter_mut().zip(buffers);
        for ((message, iov), (slot, buffer)) in self.messages.iter_mut().zip(&mut self.iovs).zip(slots) {
            iov.iov_base = buffer.as_mut_ptr().cast();
            iov.iov_len = buffer.len();
            let header = &mut message.msg_hdr;
            header.msg_name = slot.name.as_mut_ptr().cast();
            header.msg_namelen = NAME_LEN as libc::socklen_t;
            header.msg_iov = iov;
            header.msg_iovlen = 1;
            header.msg_control = slot.control.as_mut_ptr().cast();
            header.msg_controllen = size_of::<[u8; 128]>() as _;
            header.msg_flags = 0;
        }
    }
}

impl std::fmt::Debug for RecvBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecvBatch").field("slots", &self.slots.len()).field("filled", &self.filled).finish()
    }
}

impl UdpSocket {
    /// Receives what waits, as far as the batch has slots, and returns the number of messages: zero when
    /// nothing waits, fewer than the slots when that was all.
    pub fn recv(&self, batch: &mut RecvBatch) -> io::Result<usize> {
        batch.prepare();
        batch.filled = 0;
        let slots = batch.messages.len() as libc::c_uint;
        // SAFETY: `prepare` has pointed every message at a name, an iovec and a control buffer of the batch
        // with their true lengths, and every iovec at a buffer of its own; the batch is borrowed exclusively
        // across the call.
        let n = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                batch.messages.as_mut_ptr(),
                slots,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(n) {
            Ok(n) => batch.filled = n,
            Err(_) => match last_error() {
                Errno::AGAIN | Errno::INTR => {}
                e => return Err(e.into()),
            },
        }
        Ok(batch.filled)
    }
}

fn read_slot<'b>(buffer: &'b mut [u8], slot: &Slot, message: &libc::mmsghdr) -> Option<Datagrams<'b>> {
    let len = message.msg_len as usize;
    if len == 0 || message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
        return None;
    }
    let from = slot.name.decode()?;
    let mut datagrams = Datagrams {
        data: buffer.get_mut(..len)?,
        segment_size: len,
        from,
        to: None,
        interface: 0,
        tos: 0,
        dropped: None,
    };
    for (level, kind, data) in slot.control.messages(message.msg_hdr.msg_controllen as _) {
        read_control(&mut datagrams, level, kind, data);
    }
    Some(datagrams)
}

fn read_control(datagrams: &mut Datagrams<'_>, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
    match (level, kind) {
        (libc::SOL_UDP, libc::UDP_GRO) => {
            if let Some(size) = int(data).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) {
                datagrams.segment_size = size;
            }
        }
        (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            if let Some((address, interface)) = parse_packet_info(level, data) {
                (datagrams.to, datagrams.interface) = (Some(address), interface);
            }
        }
        // One byte for IPv4, an int for IPv6.
        (libc::IPPROTO_IP, libc::IP_TOS) => datagrams.tos = data.first().copied().unwrap_or(0),
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => datagrams.tos = int(data).unwrap_or(0) as u8,
        (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => datagrams.dropped = int(data).map(|n| n as u32),
        _ => {}
    }
}

/// Reads a sender's address and ancillary data out of any bytes; for the fuzzer.
pub(crate) fn read_any(bytes: &[u8]) {
    let (len, name, control) =
        (1 + bytes.len() % 1500, Name::of(bytes), RecvControl::of(bytes.get(NAME_LEN..).unwrap_or(&[])));
    // SAFETY: mmsghdr is plain old data for which all zeroes is a valid value.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_len = len as libc::c_uint;
    message.msg_hdr.msg_controllen = control.len() as _;
    let mut buffer = [0; 1500];
    if let Some(datagrams) = read_slot(&mut buffer, &Slot { name, control }, &message) {
        assert!(datagrams.data.len() == len && datagrams.segment_size > 0);
    }
}
