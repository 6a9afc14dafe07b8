//! Sending a batch: one buffer of equal datagrams, one system call.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::control::{Control, Name, packet_info};
use super::error::{PathError, SendError};
use super::socket::{UdpSocket, last_error};
use crate::clock;

/// The most datagrams in one batch (the kernel's `UDP_MAX_SEGMENTS` before 6.9).
pub const MAX_SEGMENTS: usize = 64;
/// The most bytes in one batch: what IPv6 and UDP headers leave of 65,535.
pub const MAX_BATCH_BYTES: usize = 65_535 - 48;

/// Segmentation, packet information and ECN: 24 + 40 + 24 bytes at most.
type SendControl = Control<96>;

/// Datagrams for one destination.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'d> {
    /// Where to.
    pub to: SocketAddr,
    /// The local address to send from, of the same IP version; `None` lets the routes decide.
    pub from: Option<IpAddr>,
    /// The byte of the IP header that carries DSCP and ECN (RFC 3168, 5): 1 is ECT(1), 2 ECT(0), 3 CE.
    pub tos: u8,
    /// Bytes of each datagram; the last one may be shorter.
    pub segment_size: usize,
    /// The datagrams, one after the other. Any length: it is sent in as many batches as it needs.
    pub data: &'d [u8],
}

impl UdpSocket {
    /// Sends the datagrams and returns how many bytes of `data` went, a multiple of `segment_size` unless
    /// all. Fewer than all means that the next would have failed; it fails when asked for again. An error
    /// means that none went.
    ///
    /// Where the interface refuses batches (`EIO`, `EINVAL`), single datagrams go to that address
    /// for five minutes.
    pub fn send(&mut self, transmit: &Transmit<'_>) -> Result<usize, SendError> {
        let size = transmit.segment_size;
        if size == 0 || size > MAX_BATCH_BYTES {
            return Err(SendError::TooBig);
        }
        let batch = (MAX_BATCH_BYTES / size).min(MAX_SEGMENTS) * size;
        let mut sent = 0;
        for data in transmit.data.chunks(batch) {
            match self.send_batch(&Transmit { data, ..*transmit }) {
                Ok(n) => {
                    sent += n;
                    if n < data.len() {
                        break;
                    }
                }
                Err(_) if sent > 0 => break,
                Err(e) => return Err(e),
            }
        }
        Ok(sent)
    }

    fn send_batch(&mut self, batch: &Transmit<'_>) -> Result<usize, SendError> {
        let single = batch.data.len() <= batch.segment_size;
        if !single && !self.gso.is_for(batch.to.ip(), clock::now) {
            return self.send_singly(batch);
        }
        match self.send_message(batch, !single) {
            Ok(()) => {
                if !single {
                    self.gso.accept(batch.to.ip());
                }
                Ok(batch.data.len())
            }
            // EIO: the interface cannot do checksums, so not batches either. EINVAL: that, or segments above
            // the MTU, or a source address that is gone. Single datagrams tell which.
            Err(Errno::IO | Errno::INVAL) if !single => {
                let sent = self.send_singly(batch)?;
                self.gso.refuse(batch.to.ip(), clock::now());
                Ok(sent)
            }
            Err(e) => Err(explain(e, batch)),
        }
    }

    /// One `sendmsg`, cut by the kernel if `cut`.
    fn send_message(&self, batch: &Transmit<'_>, cut: bool) -> Result<(), Errno> {
        let mut name = Name::new(&batch.to);
        let mut control = control(batch);
        if cut {
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &(batch.segment_size as u16).to_ne_bytes());
        }
        let mut iov = iovec(batch.data);
        let message = message(&mut name, &mut iov, &mut control);
        loop {
            // SAFETY: `message` points to a name, an iovec and a control buffer that live in this function,
            // each with its true length; the iovec points to `batch.data`, which the kernel only reads.
            let n = unsafe { libc::sendmsg(self.fd.as_raw_fd(), &message, 0) };
            if n >= 0 {
                return Ok(());
            }
            match last_error() {
                Errno::INTR => {}
                e => return Err(e),
            }
        }
    }

    /// One `sendmmsg` with a message for each datagram: the way for kernels and interfaces without GSO.
    fn send_singly(&self, batch: &Transmit<'_>) -> Result<usize, SendError> {
        let mut name = Name::new(&batch.to);
        let mut control = control(batch);
        let mut iovs = [iovec(&[]); MAX_SEGMENTS];
        let mut messages =
            [libc::mmsghdr { msg_hdr: message(&mut name, &mut iovs[0], &mut control), msg_len: 0 };
                MAX_SEGMENTS];
        let mut count = 0;
        for ((datagram, iov), slot) in batch.data.chunks(batch.segment_size).zip(&mut iovs).zip(&mut messages)
        {
            *iov = iovec(datagram);
            slot.msg_hdr.msg_iov = iov;
            count += 1;
        }
        // SAFETY: the first `count` messages point to one name and one control buffer, which the kernel only
        // reads, and to an iovec each; all live in this function. The iovecs point into `batch.data`, which
        // the kernel only reads.
        let n =
            unsafe { libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count as libc::c_uint, 0) };
        match usize::try_from(n) {
            Ok(n) => Ok((n * batch.segment_size).min(batch.data.len())),
            Err(_) => match last_error() {
                Errno::INTR => Err(SendError::Full),
                e => Err(explain(e, batch)),
            },
        }
    }
}

/// What an error means for a message without segmentation.
fn explain(error: Errno, batch: &Transmit<'_>) -> SendError {
    match error {
        Errno::INVAL if batch.from.is_some() => PathError::AddressGone.into(),
        // The answer of a blackhole route, and of a bound address that went away.
        Errno::INVAL => PathError::NetworkUnreachable.into(),
        e => SendError::from_errno(e),
    }
}

fn control(batch: &Transmit<'_>) -> SendControl {
    let mut control = SendControl::new();
    if let Some(source) = batch.from.filter(|ip| !ip.is_unspecified()) {
        let (level, kind, data, len) = packet_info(source);
        control.push(level, kind, &data[..len]);
    }
    if batch.tos != 0 {
        let (level, kind) = match batch.to {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        control.push(level, kind, &libc::c_int::from(batch.tos).to_ne_bytes());
    }
    control
}

fn iovec(data: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() }
}

fn message(name: &mut Name, iov: &mut libc::iovec, control: &mut SendControl) -> libc::msghdr {
    // SAFETY: msghdr is plain old data for which all zeroes is a valid value; some platforms have padding
    // fields in it.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_namelen = name.len();
    message.msg_name = name.as_mut_ptr().cast();
    message.msg_iov = iov;
    message.msg_iovlen = 1;
    message.msg_controllen = control.len() as _;
    message.msg_control = if control.len() == 0 { std::ptr::null_mut() } else { control.as_mut_ptr().cast() };
    message
}
