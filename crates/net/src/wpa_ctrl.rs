//! The control interface that hostapd and wpa_supplicant share: datagrams of text over a Unix socket, one answer to each.
//!
//! Our own words rather than a crate: it is one socket and two calls, and the crates for it leave their own sockets in /tmp.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long the other end may take to answer what it has only to look up.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// Answers are shorter.
const LONGEST: usize = 8192;

/// A conversation.
#[derive(Debug)]
pub(crate) struct WpaCtrl(UnixDatagram);

impl WpaCtrl {
    /// Connects to the socket at `path`; answers may take as long as `patience`. After one that came too late the conversation is of no use any more.
    pub(crate) fn open(path: &Path, patience: Duration) -> io::Result<WpaCtrl> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // It answers to a name. An abstract one leaves no file behind, and a private /tmp does not hide it.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = format!("ropewalk-wpa-ctrl/{}-{number}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&own)?)?;
        socket.connect(path)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        Ok(WpaCtrl(socket))
    }

    /// The answer to a command. `WouldBlock` or `TimedOut`: there was none in time.
    pub(crate) fn ask(&self, question: &str) -> io::Result<String> {
        self.0.send(question.as_bytes())?;
        let mut answer = [0; LONGEST];
        loop {
            let len = self.0.recv(&mut answer)?;
            // Events begin with their level, and are not for us.
            if answer[0] != b'<' {
                return Ok(String::from_utf8_lossy(&answer[..len]).into_owned());
            }
        }
    }
}
