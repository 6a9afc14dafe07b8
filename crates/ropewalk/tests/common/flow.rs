//! A TCP flow whose every byte is looked at: numbers, each the next.

use super::backhaul::eventually;
use ropewalk_lab::Namespace;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest that a socket waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes handed to a socket at once: numbers of eight bytes.
const CHUNK: usize = 8192;

/// A flow that goes on until it is told to end.
pub(crate) struct Flow {
    enough: Arc<AtomicBool>,
    arrived: Arc<AtomicU64>,
    sender: JoinHandle<io::Result<u64>>,
    receiver: JoinHandle<Result<u64, String>>,
}

impl Flow {
    /// From one machine to another, which is asked at `address` for it.
    pub(crate) fn start(from: &Namespace, to: &Namespace, address: &str) -> Flow {
        let address: IpAddr = address.parse().unwrap();
        let listener = to.run(|| TcpListener::bind((address, 0))).unwrap().unwrap();
        let at = listener.local_addr().unwrap();
        let out = from.run(|| TcpStream::connect_timeout(&at, PATIENCE)).unwrap().unwrap();
        let (into, _) = listener.accept().unwrap();
        out.set_write_timeout(Some(PATIENCE)).unwrap();
        into.set_read_timeout(Some(PATIENCE)).unwrap();
        let (enough, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stop, count) = (Arc::clone(&enough), Arc::clone(&arrived));
        let sender = std::thread::spawn(move || send(out, &stop));
        let receiver = std::thread::spawn(move || receive(into, &count));
        Flow { enough, arrived, sender, receiver }
    }

    /// A quarter of a megabyte more arrives.
    pub(crate) fn goes_on(&self, what: &str) {
        let before = self.arrived.load(Ordering::Relaxed);
        eventually(what, || {
            assert!(!self.receiver.is_finished() && !self.sender.is_finished(), "{what}: the flow broke off");
            self.arrived.load(Ordering::Relaxed) > before + 32_768
        });
    }

    /// Ends it: everything that was sent has come, right and in order.
    pub(crate) fn ends_whole(self) {
        self.enough.store(true, Ordering::Relaxed);
        let sent = self.sender.join().unwrap().expect("sent to the end");
        assert_eq!(self.receiver.join().unwrap(), Ok(sent), "not what was sent");
    }
}

fn send(mut to: TcpStream, enough: &AtomicBool) -> io::Result<u64> {
    let mut next = 0_u64;
    while !enough.load(Ordering::Relaxed) {
        let chunk: Vec<u8> = (next..).take(CHUNK / 8).flat_map(u64::to_be_bytes).collect();
        to.write_all(&chunk)?;
        next += (CHUNK / 8) as u64;
    }
    to.shutdown(Shutdown::Write)?;
    Ok(next)
}

fn receive(mut from: TcpStream, arrived: &AtomicU64) -> Result<u64, String> {
    let mut next = 0_u64;
    let mut word = [0; 8];
    let mut reader = io::BufReader::with_capacity(CHUNK, &mut from);
    loop {
        match reader.read_exact(&mut word) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(next),
            Err(e) => return Err(format!("after {next} numbers: {e}")),
        }
        if u64::from_be_bytes(word) != next {
            return Err(format!("{} where {next} was sent", u64::from_be_bytes(word)));
        }
        next += 1;
        arrived.store(next, Ordering::Relaxed);
    }
}
