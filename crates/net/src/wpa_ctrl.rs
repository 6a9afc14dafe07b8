//! The control interface that hostapd and wpa_supplicant share: datagrams of text over a Unix socket, one answer to each.
//!
//! Our own words rather than a crate: it is one socket and two calls, and the crates for it leave their own sockets in /tmp.

use crate::patience::until;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long the other end may take to answer what it has only to look up.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// Answers are shorter.
const LONGEST: usize = 8192;

/// A conversation.
#[derive(Debug)]
pub(crate) struct WpaCtrl {
    socket: UnixDatagram,
    patience: Duration,
}

impl WpaCtrl {
    /// Connects to the socket at `path`; answers may take as long as `patience`. After one that came too late the conversation is of no use any more.
    pub(crate) fn open(path: &Path, patience: Duration) -> io::Result<WpaCtrl> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // It answers to a name. An abstract one leaves no file behind, and a private /tmp does not hide it.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = format!("ropewalk-wpa-ctrl/{}-{number}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&own)?)?;
        socket.connect(path)?;
        socket.set_write_timeout(Some(patience))?;
        Ok(WpaCtrl { socket, patience })
    }

    /// The answer to a command. Late ([`crate::patience::is_late`]): there was none in time.
    pub(crate) fn ask(&self, question: &str) -> io::Result<String> {
        self.socket.send(question.as_bytes())?;
        let end = Instant::now() + self.patience;
        let mut answer = [0; LONGEST];
        loop {
            let len = until(end, |left| {
                self.socket.set_read_timeout(Some(left))?;
                self.socket.recv(&mut answer)
            })?;
            // Events begin with their level, and are not for us.
            if answer[0] != b'<' {
                return Ok(String::from_utf8_lossy(&answer[..len]).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Before, the end of a child was taken for an interface that is not there.
    #[test]
    fn a_child_that_ends_does_not_end_the_wait() {
        let path = std::env::temp_dir().join(format!("rw-wpa-ctrl-test-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let far = UnixDatagram::bind(&path).unwrap();
        let asks = std::thread::spawn({
            let path = path.clone();
            move || WpaCtrl::open(&path, PATIENCE).unwrap().ask("PING").map_err(|e| e.kind())
        });
        // Which thread a signal wakes is the kernel's choice, so there are several.
        far.recv(&mut [0; 16]).unwrap();
        for _ in 0..40 {
            Command::new("true").status().unwrap();
        }
        let end = asks.join().unwrap();
        assert!(matches!(end, Err(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)), "{end:?}");
        std::fs::remove_file(&path).unwrap();
    }
}
