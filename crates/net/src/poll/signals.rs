//! Signals as something to poll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// What the signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM: stop.
    Stop,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// SIGINT, SIGTERM and SIGHUP, caught for the whole process from creation on.
///
/// A self-pipe rather than signalfd: the latter needs the signals blocked in every thread, and children would
/// inherit that.
#[derive(Debug)]
pub struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// Starts catching.
    pub fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let wanted = [SIGINT, SIGTERM, SIGHUP];
        SignalDelivery::with_pipe(read, write, SignalOnly, wanted).map(Signals)
    }

    /// What has been asked since the last call.
    pub fn pending(&mut self) -> impl Iterator<Item = Signal> + '_ {
        self.0.pending().map(|signal| if signal == SIGHUP { Signal::Reload } else { Signal::Stop })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}
