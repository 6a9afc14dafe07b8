//! Large batches without a copy into the kernel's pages.
//!
//! `sendmsg` copies a batch into pages that the processor of the receiver read a moment ago, and on a machine with few processors that copy is what
//! sending costs most: the lines of the old content are fetched from the other processor's cache to be written over. Batches that are sealed in memory of
//! [`Pages`] are lent to the kernel instead (`vmsplice(2)`, `splice(2)`; `MSG_SPLICE_PAGES` of Linux 6.5 and later). `splice` takes no
//! address, so a twin is a second socket at the same port, connected to one peer. The kernel prefers a connected socket, so a twin also gets all that
//! this peer sends and has to be read.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags};

use super::error::{OpenError, SendError};
use super::pages::{Lendable, SLOT};
use super::recv::RecvBatch;
use super::send::{MAX_SEGMENTS, Transmit};
use super::socket::{UdpSocket, set_int};

/// A batch has to be so long for its copy to cost more than two system calls.
const LEAST: usize = 16 << 10;
/// The first Linux whose UDP sockets take pages in one piece.
const SINCE: (u32, u32) = (6, 5);

/// A socket connected to one peer. See the module's page.
#[derive(Debug)]
pub struct Twin {
    socket: UdpSocket,
    /// Read end and write end.
    pipe: (OwnedFd, OwnedFd),
    remote: SocketAddr,
    from: Option<IpAddr>,
    tos: u8,
    segment: usize,
}

impl Twin {
    /// A twin of `socket` for what goes to `remote` from `from`. `siblings` are the twins that `socket` has already.
    ///
    /// # Errors
    /// [`OpenError`], if the kernel lacks what it takes or `remote` cannot be reached.
    pub fn of<'s>(
        socket: &'s UdpSocket,
        siblings: impl Iterator<Item = &'s Twin> + Clone,
        from: Option<IpAddr>,
        remote: SocketAddr,
    ) -> Result<Twin, OpenError> {
        let twin = socket.connected(siblings.map(|t| &t.socket), from, remote)?;
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(|e| OpenError::system("opening a pipe", e))?;
        // The default of 16 pages would do for a batch that begins at a page; not every kernel gives as much to everybody.
        rustix::pipe::fcntl_setpipe_size(&pipe.1, 2 * SLOT)
            .map_err(|e| OpenError::system("widening a pipe", e))?;
        Ok(Twin { socket: twin, pipe, remote, from, tos: 0, segment: 0 })
    }

    /// Whether this twin is for what goes to `remote` from `from`.
    pub fn is_for(&self, from: Option<IpAddr>, remote: SocketAddr) -> bool {
        self.remote == remote && self.from == from
    }

    /// Whether a batch is worth a twin, and fits one.
    pub fn suits(transmit: &Transmit<'_>) -> bool {
        let len = transmit.data.len();
        (LEAST..=SLOT).contains(&len)
            && len > transmit.segment_size
            && len <= transmit.segment_size * MAX_SEGMENTS
    }

    /// Sends a batch that [`Twin::suits`]: `lendable` is its data. The kernel may go on reading it until its datagrams are settled.
    ///
    /// # Errors
    /// [`SendError`], and nothing was sent. After any but [`SendError::Full`] the twin is of no use.
    pub fn send(&mut self, transmit: &Transmit<'_>, lendable: Lendable<'_>) -> Result<(), SendError> {
        self.set_header(transmit).map_err(SendError::from_errno)?;
        self.lend(lendable.bytes()).map_err(|error| {
            self.empty_the_pipe();
            SendError::from_errno(error)
        })
    }

    /// Receives as [`UdpSocket::recv`].
    ///
    /// # Errors
    /// The kernel's; a connected socket also hears of ICMP errors.
    pub fn recv(&self, batch: &mut RecvBatch) -> std::io::Result<usize> {
        self.socket.recv(batch)
    }

    /// What a control message says for one batch the socket says for all that follow.
    fn set_header(&mut self, transmit: &Transmit<'_>) -> Result<(), Errno> {
        if self.segment != transmit.segment_size {
            let size = transmit.segment_size as libc::c_int;
            set_int(&self.socket.fd, libc::SOL_UDP, libc::UDP_SEGMENT, size)?;
            self.segment = transmit.segment_size;
        }
        if self.tos != transmit.tos {
            let (level, kind) = match self.remote {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            set_int(&self.socket.fd, level, kind, libc::c_int::from(transmit.tos))?;
            self.tos = transmit.tos;
        }
        Ok(())
    }

    fn lend(&self, bytes: &[u8]) -> Result<(), Errno> {
        // SAFETY: the slice is `Lendable`, so in a mapping for this use: whatever is written there next are sealed datagrams too, and a page that
        // the kernel holds outlives the mapping.
        let lent = unsafe {
            rustix::pipe::vmsplice(&self.pipe.1, &[IoSliceRaw::from_slice(bytes)], SpliceFlags::NONBLOCK)
        }?;
        if lent != bytes.len() {
            return Err(Errno::AGAIN);
        }
        // A room begins at a page and has sixteen, which the kernel hands on in one piece: one call is one batch.
        let sent = rustix::pipe::splice(
            &self.pipe.0,
            None,
            &self.socket.fd,
            None,
            bytes.len(),
            SpliceFlags::NONBLOCK,
        )?;
        if sent == bytes.len() { Ok(()) } else { Err(Errno::IO) }
    }

    /// What the socket did not take must not become the beginning of the next batch.
    #[cold]
    fn empty_the_pipe(&self) {
        let mut scratch = [0; 4096];
        while rustix::io::read(&self.pipe.0, &mut scratch).is_ok_and(|n| n > 0) {}
    }
}

impl AsFd for Twin {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether this kernel's UDP sockets take pages in one piece.
pub fn twins_work() -> bool {
    static WORK: OnceLock<bool> = OnceLock::new();
    *WORK.get_or_init(|| {
        let name = rustix::system::uname();
        version(&name.release().to_string_lossy()).is_some_and(|v| v >= SINCE)
    })
}

/// Major and minor number of a release such as `6.18.44-cloud`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_releases_of_kernels() {
        assert_eq!(version("6.18.44"), Some((6, 18)));
        assert_eq!(version("5.15.0-91-generic"), Some((5, 15)));
        assert_eq!(version("6.5-rc1"), Some((6, 5)));
        assert_eq!(version("unknown"), None);
        assert!(version("5.15.0").unwrap() < SINCE && version("6.5.0").unwrap() >= SINCE);
    }
}
