//! The socket: bound to one monitor interface, never blocking, several frames a call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, sockopt};

use super::filter::{LONGEST, Link, TO_ACCESS_POINTS, by_links};

/// `ARPHRD_IEEE80211_RADIOTAP` of linux/if_arp.h: what interfaces of type monitor are.
const RADIOTAP: u16 = 803;
/// Frames of one call.
const SLOTS: usize = 64;
/// The kernel's queue for us, bytes: some 50 ms of a channel at 300 Mbit/s.
const BUFFER: usize = 4 << 20;

/// Why an interface cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// There is none.
    #[error("there is no network interface named `{0}`")]
    NoSuchInterface(String),
    /// It has frames of another kind.
    #[error("{0} is no monitor interface: `iw phy PHY interface add mon0 type monitor` makes one")]
    NotAMonitor(String),
    /// The right is missing.
    #[error("listening at an interface needs CAP_NET_RAW: run as root, or grant that capability")]
    NotPermitted,
    /// Anything else.
    #[error("{what} failed: {source}")]
    System {
        /// The operation.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl MonitorError {
    fn system(what: &'static str, errno: Errno) -> MonitorError {
        match errno {
            Errno::PERM | Errno::ACCESS => MonitorError::NotPermitted,
            e => MonitorError::System { what, source: e.into() },
        }
    }
}

/// What the kernel counted since the socket was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that passed the filter, those that were dropped included.
    pub frames: u64,
    /// Frames that were dropped because we were slow.
    pub dropped: u64,
}

/// A socket at a monitor interface.
#[derive(Debug)]
pub struct Monitor {
    fd: OwnedFd,
    counted: Statistics,
}

impl Monitor {
    /// Listens at an interface of the calling thread's network namespace. Nothing is heard before
    /// the interface is up.
    ///
    /// # Errors
    /// There is no such interface, it is no monitor, or the right is missing.
    pub fn open(interface: &str) -> Result<Monitor, MonitorError> {
        Monitor::with(interface, &TO_ACCESS_POINTS)
    }

    /// The same, of headers of data from access points to stations of theirs: see
    /// [`Monitor::watch`].
    ///
    /// # Errors
    /// As those of [`Monitor::open`].
    pub fn of_links(interface: &str, links: &[Link]) -> Result<Monitor, MonitorError> {
        Monitor::with(interface, &by_links(links))
    }

    /// From now on these links are heard, at most [`MOST_LINKS`](super::MOST_LINKS). Frames that
    /// wait already are still to come.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn watch(&self, links: &[Link]) -> Result<(), MonitorError> {
        let attached = attach(self.as_fd(), &by_links(links));
        attached.map_err(|e| MonitorError::system("attaching a filter", e))
    }

    fn with(interface: &str, filter: &[libc::sock_filter]) -> Result<Monitor, MonitorError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Without a protocol it hears nothing before it is bound, when the filter is there.
        let fd = rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)
            .map_err(|e| MonitorError::system("opening a packet socket", e))?;
        let index = netdevice::name_to_index(&fd, interface)
            .map_err(|_| MonitorError::NoSuchInterface(interface.to_owned()))?;
        attach(fd.as_fd(), filter).map_err(|e| MonitorError::system("attaching a filter", e))?;
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            // Less than wanted still works: drops are counted.
            let _ = sockopt::set_socket_recv_buffer_size(&fd, BUFFER);
        }
        let mut address = address(index);
        bind(&fd, &address).map_err(|e| MonitorError::system("binding a packet socket", e))?;
        name(&fd, &mut address).map_err(|e| MonitorError::system("asking what an interface is", e))?;
        if address.sll_hatype != RADIOTAP {
            return Err(MonitorError::NotAMonitor(interface.to_owned()));
        }
        Ok(Monitor { fd, counted: Statistics::default() })
    }

    /// Waits until a frame is there, or something is wrong with the interface, or the time is over.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn wait(&self, at_most: Duration) -> io::Result<()> {
        let at_most = Timespec::try_from(at_most).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&at_most)) {
            Err(e) if e != Errno::INTR => Err(e.into()),
            _ => Ok(()),
        }
    }

    /// Takes what waits, as far as the batch has room, and returns how many frames that were: none
    /// when nothing waits.
    ///
    /// # Errors
    /// `ENETDOWN`, once, when the interface went down or away. It is heard again when it is up
    /// again; one that went away has to be opened anew.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<usize> {
        batch.prepare();
        batch.filled = 0;
        // SAFETY: `prepare` has pointed every message at an iovec, and that at a buffer of its own
        // with its true length, all in the batch, which is borrowed exclusively across the call.
        let n = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                batch.messages.as_mut_ptr(),
                SLOTS as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(n) {
            Ok(n) => batch.filled = n,
            Err(_) => match io::Error::last_os_error() {
                e if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                e => return Err(e),
            },
        }
        Ok(batch.filled)
    }

    /// What the kernel counted so far (`PACKET_STATISTICS`).
    pub fn statistics(&mut self) -> Statistics {
        let mut counts = [0u32; 2];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the pointers describe two integers and their length, which live across the call;
        // the kernel writes `struct tpacket_stats`, which is two such integers.
        let got = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        // Reading them begins them anew.
        if got == 0 {
            self.counted.frames += u64::from(counts[0]);
            self.counted.dropped += u64::from(counts[1]);
        }
        self.counted
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check(returned: libc::c_int) -> Result<(), Errno> {
    match returned {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Has the kernel apply a filter to each frame; it replaces an earlier one at once.
pub(super) fn attach(fd: BorrowedFd<'_>, filter: &[libc::sock_filter]) -> Result<(), Errno> {
    let mut program = filter.to_vec();
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the pointer and the length describe one program, whose instructions live across the
    // call; the kernel copies them.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}

fn address(index: u32) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

fn bind(fd: &OwnedFd, to: &libc::sockaddr_ll) -> Result<(), Errno> {
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe one address that lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(to).cast(), length) })
}

/// The kernel's own address of the socket, in which it says what the interface is.
fn name(fd: &OwnedFd, into: &mut libc::sockaddr_ll) -> Result<(), Errno> {
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointers describe one address and its length, which live across the call.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), std::ptr::from_mut(into).cast(), &raw mut length) })
}

/// Room for the frames of one call, made once.
pub struct Batch {
    buffers: Box<[u8]>,
    iovs: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
    filled: usize,
}

// SAFETY: the raw pointers are written anew before every call that uses them, point into the heap
// that the batch owns, and are read by nobody in between.
unsafe impl Send for Batch {}

impl Default for Batch {
    fn default() -> Batch {
        // SAFETY: mmsghdr is plain old data for which all zeroes is a valid value.
        let message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let iov = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Batch {
            buffers: vec![0; SLOTS * LONGEST].into(),
            iovs: vec![iov; SLOTS].into(),
            messages: vec![message; SLOTS].into(),
            filled: 0,
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("filled", &self.filled).finish_non_exhaustive()
    }
}

impl Batch {
    fn prepare(&mut self) {
        let buffers = self.buffers.chunks_exact_mut(LONGEST);
        for ((message, iov), buffer) in self.messages.iter_mut().zip(&mut self.iovs).zip(buffers) {
            (iov.iov_base, iov.iov_len) = (buffer.as_mut_ptr().cast(), buffer.len());
            message.msg_hdr.msg_iov = iov;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_flags = 0;
        }
    }

    /// The frames of the last call, each with its radiotap header.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let messages = self.messages.iter().take(self.filled);
        self.buffers.chunks_exact(LONGEST).zip(messages).map(|(b, m)| &b[..(m.msg_len as usize).min(LONGEST)])
    }
}
