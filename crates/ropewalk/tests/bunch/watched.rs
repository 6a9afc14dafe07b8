//! An upload whose two ends are watched: what came, how each end ended, and when.

use super::street::{Net, PATIENCE, SERVER, pattern};
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(5);
/// How often the kernel is asked in the end. A connection that is over takes seconds to go.
const ASK: Duration = Duration::from_millis(250);

/// How an end of the connection ended, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Result<(), ErrorKind>,
    pub(crate) at: Instant,
}

impl Ended {
    fn now(outcome: std::io::Result<()>) -> Ended {
        Ended { outcome: outcome.map_err(|e| e.kind()), at: Instant::now() }
    }
}

/// What came of an upload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// Ok: the receiver said that it has all.
    pub(crate) sender: Ended,
    /// Ok: a close in order, after whatever came.
    pub(crate) receiver: Ended,
    /// Bytes that came.
    pub(crate) came: usize,
    /// Each of them is the one that was sent at its place.
    pub(crate) is_right: bool,
    /// The sender's kernel saw its FIN acknowledged: a sender that only closes believes that all has
    /// come.
    pub(crate) is_acked: bool,
}

/// What the sender's kernel says of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes that were acknowledged.
    pub(crate) acked: usize,
    /// Bytes that have not left; a FIN counts as one.
    pub(crate) unsent: usize,
}

#[derive(Debug, Default)]
struct Shared {
    may_write: AtomicBool,
    /// The sender has said that nothing follows.
    is_closed: AtomicBool,
    /// The receiver does not read.
    is_paused: AtomicBool,
    came: AtomicUsize,
}

/// An upload that goes on, with a thread at each end.
pub(crate) struct Watched {
    bytes: usize,
    shared: Arc<Shared>,
    sender: TcpStream,
    receiver: TcpStream,
    here: JoinHandle<Ended>,
    there: JoinHandle<(Vec<u8>, Ended)>,
}

impl Watched {
    /// Connects. Nothing is written yet.
    pub(crate) fn open(net: &Net, bytes: usize) -> Watched {
        let listener = net.listener();
        let sender = net.connect();
        let receiver = listener.accept().unwrap().0;
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        let shared = Arc::new(Shared::default());
        let (from, of_sender) = (sender.try_clone().unwrap(), Arc::clone(&shared));
        let (into, of_receiver) = (receiver.try_clone().unwrap(), Arc::clone(&shared));
        let here = std::thread::spawn(move || write_all(from, &of_sender, &pattern(bytes)));
        let there = std::thread::spawn(move || read_all(into, &of_receiver));
        Watched { bytes, shared, sender, receiver, here, there }
    }

    /// The sender may write, and the receiver reads.
    pub(crate) fn go_on(&self) {
        self.shared.may_write.store(true, Ordering::SeqCst);
        self.shared.is_paused.store(false, Ordering::SeqCst);
    }

    /// The receiver stops reading.
    pub(crate) fn pause(&self) {
        self.shared.is_paused.store(true, Ordering::SeqCst);
    }

    /// The sender has said that nothing follows.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::SeqCst)
    }

    /// Bytes that the receiver has read.
    pub(crate) fn came(&self) -> usize {
        self.shared.came.load(Ordering::SeqCst)
    }

    /// What has left, and what was acknowledged; nothing if the connection is over.
    pub(crate) fn sent(&self, net: &Net) -> Sent {
        let said = net.sender.shell(&format!("ss -HtinO dport = :{}", port())).unwrap();
        let of = |name: &str| -> usize {
            let word = said.split_whitespace().find_map(|word| word.strip_prefix(name));
            word.map_or(0, |number| number.parse().unwrap())
        };
        // The SYN was acknowledged, too.
        Sent { acked: of("bytes_acked:").saturating_sub(1).min(self.bytes), unsent: of("notsent:") }
    }

    /// Waits until it is so. False: an end has ended before.
    pub(crate) fn waits_until(&self, what: &str, mut so: impl FnMut() -> bool) -> bool {
        let until = Instant::now() + PATIENCE;
        while !self.here.is_finished() && !self.there.is_finished() {
            if so() {
                return true;
            }
            assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
            std::thread::sleep(LOOK);
        }
        false
    }

    /// From now on each end gives up when it has heard nothing for so long.
    pub(crate) fn give_up_after(&self, sender: Duration, receiver: Duration) {
        for (stream, limit) in [(&self.sender, sender), (&self.receiver, receiver)] {
            sockopt::set_tcp_user_timeout(stream, limit.as_millis() as u32).unwrap();
            // A receiver has nothing to send, and hears nothing if it does not ask.
            sockopt::set_tcp_keepidle(stream, Duration::from_secs(1)).unwrap();
            sockopt::set_tcp_keepintvl(stream, Duration::from_secs(1)).unwrap();
            sockopt::set_socket_keepalive(stream, true).unwrap();
        }
    }

    /// Waits for both ends.
    pub(crate) fn ends(self, net: &Net) -> Ends {
        let mut is_acked = false;
        while !self.here.is_finished() || !self.there.is_finished() {
            let said = net.sender.shell(&format!("ss -HtnO state fin-wait-2 dport = :{}", port())).unwrap();
            is_acked |= !said.trim().is_empty();
            std::thread::sleep(ASK);
        }
        let (came, receiver) = self.there.join().unwrap();
        let sender = self.here.join().unwrap();
        let is_right = pattern(self.bytes).starts_with(&came);
        Ends { sender, receiver, came: came.len(), is_right, is_acked }
    }
}

/// The port by which `ss` finds the connection.
fn port() -> &'static str {
    SERVER.split_once(':').unwrap().1
}

fn write_all(mut to: TcpStream, shared: &Shared, bytes: &[u8]) -> Ended {
    while !shared.may_write.load(Ordering::SeqCst) {
        std::thread::sleep(LOOK);
    }
    let closed = to.write_all(bytes).and_then(|()| to.shutdown(Shutdown::Write));
    Ended::now(closed.and_then(|()| {
        shared.is_closed.store(true, Ordering::SeqCst);
        to.read_exact(&mut [0])
    }))
}

fn read_all(mut from: TcpStream, shared: &Shared) -> (Vec<u8>, Ended) {
    let (mut all, mut part) = (Vec::new(), vec![0; 16_384]);
    loop {
        while shared.is_paused.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
        }
        match from.read(&mut part) {
            Ok(0) => {
                let ended = Ended::now(Ok(()));
                // Whether the sender hears this is the sender's to say.
                let _ = from.write_all(b"!");
                return (all, ended);
            }
            Ok(n) => {
                all.extend_from_slice(&part[..n]);
                shared.came.store(all.len(), Ordering::SeqCst);
            }
            // The end of a child, where a read has a timeout.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (all, Ended::now(Err(error))),
        }
    }
}
