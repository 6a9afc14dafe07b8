//! A TCP connection that carries numbers, each the next, and knows how long it stood still.

use std::io::{BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ropewalk_lab::Namespace;

/// The longest that a socket waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes handed to a socket at once, and how often: 4 MB/s at most.
const CHUNK: usize = 8192;
const EVERY: Duration = Duration::from_millis(2);

/// What is known of it.
#[derive(Default)]
struct Progress {
    arrived: AtomicU64,
    longest_ms: AtomicU64,
    is_broken: AtomicBool,
}

/// A connection that goes on until its value goes.
pub(crate) struct Numbers {
    sockets: [TcpStream; 2],
    progress: Arc<Progress>,
}

impl Numbers {
    /// From one machine to another, which is asked at `address` for it.
    pub(crate) fn start(from: &Namespace, to: &Namespace, address: IpAddr) -> Result<Numbers> {
        let listener = to.run(|| TcpListener::bind((address, 0)))??;
        let at = listener.local_addr()?;
        let out = from.run(|| TcpStream::connect_timeout(&at, PATIENCE))??;
        let (into, _) = listener.accept()?;
        out.set_write_timeout(Some(PATIENCE))?;
        into.set_read_timeout(Some(PATIENCE))?;
        let (progress, sockets) = (Arc::new(Progress::default()), [out.try_clone()?, into.try_clone()?]);
        let (sending, receiving) = (Arc::clone(&progress), Arc::clone(&progress));
        std::thread::spawn(move || {
            send(out);
            sending.is_broken.store(true, Ordering::Relaxed);
        });
        std::thread::spawn(move || {
            receive(into, &receiving);
            receiving.is_broken.store(true, Ordering::Relaxed);
        });
        Ok(Numbers { sockets, progress })
    }

    /// Whether more arrives within a minute.
    pub(crate) fn goes_on(&self) -> bool {
        let arrived = || self.progress.arrived.load(Ordering::Relaxed);
        let (before, until) = (arrived(), Instant::now() + PATIENCE);
        while arrived() < before + 32_768 {
            if self.progress.is_broken.load(Ordering::Relaxed) || Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// The longest that nothing arrived so far.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_millis(self.progress.longest_ms.load(Ordering::Relaxed))
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.sockets.iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}

/// Until it fails.
fn send(mut to: TcpStream) {
    let mut next = 0_u64;
    loop {
        let chunk: Vec<u8> = (next..).take(CHUNK / 8).flat_map(u64::to_be_bytes).collect();
        if to.write_all(&chunk).is_err() {
            return;
        }
        next += (CHUNK / 8) as u64;
        std::thread::sleep(EVERY);
    }
}

/// Until it fails, or something else comes than what was sent.
fn receive(from: TcpStream, progress: &Progress) {
    let (mut next, mut word, mut last) = (0_u64, [0; 8], Instant::now());
    let mut reader = BufReader::with_capacity(CHUNK, from);
    while reader.read_exact(&mut word).is_ok() && u64::from_be_bytes(word) == next {
        let silent = last.elapsed().as_millis() as u64;
        progress.longest_ms.fetch_max(silent, Ordering::Relaxed);
        last = Instant::now();
        next += 1;
        progress.arrived.store(next, Ordering::Relaxed);
    }
}
