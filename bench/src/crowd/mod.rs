//! A crowd of clients in one process: an engine and a UDP socket for each, driven by one loop.
//!
//! They come in, stay, answer what a gateway asks of an idle client, and some send a little. Each
//! has its own source address out of [`SOURCES`], for a gateway lets in only so many handshakes per
//! second from one.

mod client;
mod flood;
mod pure;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use etherparse::PacketBuilder;
use ropewalk_lab::Namespace;
use ropewalk_session::Token;
use rustix::event::{Timespec, epoll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::site::Site;
use client::Client;

pub use flood::flood;
pub use pure::handshakes_per_second;

/// The network of the clients' addresses: the whole of it is local to the client's namespace.
pub const SOURCES: &str = "10.2.0.0/16";

/// The gateway's inner address.
const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The port of it to which they send (RFC 863).
pub const DISCARD: u16 = 9;

/// Clients and their sockets.
pub struct Crowd {
    clients: Vec<Client>,
    /// When each is due.
    due: BTreeSet<(Duration, usize)>,
    epoll: OwnedFd,
    start: Instant,
}

/// The address of one of the crowd.
fn source(number: usize) -> SocketAddr {
    let [.., high, low] = (number as u32 + 256).to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(10, 2, high, low), 0))
}

/// Makes the clients' addresses usable at both ends of path 1.
///
/// # Errors
/// If the kernel refuses the routes.
pub fn prepare(site: &Site) -> Result<()> {
    site.lab.client.ip(&[format!("route add local {SOURCES} dev lo")])?;
    let back = ropewalk_lab::Paths::client_address(1);
    Ok(site.lab.gateway.ip(&[format!("route add {SOURCES} via {back}")])?)
}

impl Crowd {
    /// One client for each token, in this namespace, all of them wanting to get to `gateway`.
    ///
    /// # Errors
    /// If a socket or a key cannot be made.
    pub fn new(namespace: &Namespace, tokens: &[Token], gateway: SocketAddr) -> Result<Crowd> {
        let start = Instant::now();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("cannot make an epoll")?;
        files(tokens.len() as u64 + 256)?;
        let clients = namespace.run(|| {
            let one = |(number, token)| Client::new(source(number), token, gateway);
            tokens.iter().enumerate().map(one).collect::<Result<Vec<_>>>()
        })??;
        for (number, client) in clients.iter().enumerate() {
            let mark = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, client.socket.as_fd(), mark, epoll::EventFlags::IN)?;
        }
        let due = clients.iter().enumerate().map(|(number, client)| (client.due, number)).collect();
        Ok(Crowd { clients, due, epoll, start })
    }

    /// Drives all until each is connected.
    ///
    /// # Errors
    /// If one is refused, or some are not in within `patience`.
    pub fn connect(&mut self, patience: Duration) -> Result<()> {
        let until = Instant::now() + patience;
        while self.connected() < self.clients.len() {
            self.turn(until)?;
            if let Some(refusal) = self.clients.iter().find_map(|client| client.refused.as_ref()) {
                bail!("a client was refused: {refusal}");
            }
            if Instant::now() >= until {
                bail!(
                    "{} of {} clients were let in within {patience:?}",
                    self.connected(),
                    self.clients.len()
                );
            }
        }
        Ok(())
    }

    /// Drives all for so long.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn stay(&mut self, span: Duration) -> Result<()> {
        let until = Instant::now() + span;
        while Instant::now() < until {
            self.turn(until)?;
        }
        Ok(())
    }

    /// All forget their sessions and want to get in again.
    ///
    /// # Errors
    /// If an engine takes no path.
    pub fn come_back(&mut self) -> Result<()> {
        let now = self.start.elapsed();
        for number in 0..self.clients.len() {
            let due = self.clients[number].due;
            self.clients[number].come_back(now)?;
            self.reorder(number, due);
        }
        Ok(())
    }

    /// For `span` the first `count` send a packet of `len` bytes to the gateway each, every so
    /// often and one after the other. Gives the number of packets.
    ///
    /// # Errors
    /// If one of them is not in, or the kernel refuses to wait.
    pub fn send(&mut self, count: usize, len: usize, every: Duration, span: Duration) -> Result<u64> {
        let inside = |client: &Client| client.inside.context("a client is not in");
        let packets: Vec<Vec<u8>> = self.clients[..count]
            .iter()
            .map(|client| Ok(packet(inside(client)?, len)))
            .collect::<Result<_>>()?;
        let (begun, gap) = (Instant::now(), every / count as u32);
        let mut sent = 0u64;
        while begun.elapsed() < span {
            // A loop that is late sends less: what was not sent is not asked of the gateway.
            let wanted = (begun.elapsed().as_nanos() / gap.as_nanos()) as u64;
            let now = wanted.min(sent + count as u64 / 10);
            while sent < now {
                let number = sent as usize % count;
                self.drive(number, |client, now| client.send(&packets[number], now));
                sent += 1;
            }
            self.turn(Instant::now() + gap)?;
        }
        Ok(sent)
    }

    /// How many are in.
    pub fn connected(&self) -> usize {
        self.clients.iter().filter(|client| client.inside.is_some()).count()
    }

    fn drive(&mut self, number: usize, by: impl FnOnce(&mut Client, Duration)) {
        let due = self.clients[number].due;
        by(&mut self.clients[number], self.start.elapsed());
        self.reorder(number, due);
    }

    /// One was due at `before`.
    fn reorder(&mut self, number: usize, before: Duration) {
        self.due.remove(&(before, number));
        self.due.insert((self.clients[number].due, number));
    }

    /// Drives those whose time has come, waits until something happens, and drives those that have heard something.
    fn turn(&mut self, until: Instant) -> Result<()> {
        let now = self.start.elapsed();
        while let Some(&(due, number)) = self.due.first()
            && due <= now
        {
            self.drive(number, |client, _| client.on_time(now));
            // One that wants to be called at once has its turn in the next.
            if self.clients[number].due <= now {
                break;
            }
        }
        let next = self.due.first().map_or(now, |(due, _)| *due);
        let left = until.saturating_duration_since(Instant::now());
        let wait = next.saturating_sub(self.start.elapsed()).min(left);
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let mut events = Vec::with_capacity(256);
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait))?;
        for event in events {
            let number = event.data.u64() as usize;
            if number < self.clients.len() {
                self.drive(number, Client::on_readable);
            }
        }
        Ok(())
    }
}

/// Lets this process have so many files open.
fn files(count: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        let maximum = limit.maximum.map(|maximum| maximum.max(count));
        setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum })
            .with_context(|| format!("this process may not open {count} files"))?;
    }
    Ok(())
}

/// A UDP packet of `len` bytes from this inner address to the gateway, which nobody there reads. It
/// is too long for the low-latency class.
fn packet(from: Ipv4Addr, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len);
    PacketBuilder::ipv4(from.octets(), INSIDE.octets(), 64)
        .udp(40_000, DISCARD)
        .write(&mut bytes, &vec![0; len - 28])
        .expect("a vector takes all");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_distinct_and_inside() {
        assert_eq!(source(0).to_string(), "10.2.1.0:0");
        assert_eq!(source(999).to_string(), "10.2.4.231:0");
    }
}
