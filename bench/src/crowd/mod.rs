//! A crowd of clients in one process: an engine and a UDP socket for each, driven by one loop.
//!
//! They carry nothing: they come in, stay, and answer what a gateway asks of an idle client. Each has its own source
//! address out of [`SOURCES`], for a gateway lets in only so many handshakes per second from one.

mod client;
mod flood;
mod pure;

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ropewalk_lab::Namespace;
use ropewalk_session::Token;
use rustix::event::{Timespec, epoll};

use crate::site::Site;
use client::Client;

pub use flood::flood;
pub use pure::handshakes_per_second;

/// The network of the clients' addresses: the whole of it is local to the client's namespace.
pub const SOURCES: &str = "10.2.0.0/16";

/// Clients and their sockets.
pub struct Crowd {
    clients: Vec<Client>,
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
        let clients = namespace.run(|| {
            let one = |(number, token)| Client::new(source(number), token, gateway);
            tokens.iter().enumerate().map(one).collect::<Result<Vec<_>>>()
        })??;
        for (number, client) in clients.iter().enumerate() {
            let mark = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, client.socket.as_fd(), mark, epoll::EventFlags::IN)?;
        }
        Ok(Crowd { clients, epoll, start })
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

    /// How many are in.
    pub fn connected(&self) -> usize {
        self.clients.iter().filter(|client| client.connected).count()
    }

    /// Drives those whose time has come, waits until something happens, and drives those that have heard something.
    fn turn(&mut self, until: Instant) -> Result<()> {
        let now = self.start.elapsed();
        let due = self.clients.iter_mut().filter(|client| client.due <= now);
        due.for_each(|client| client.on_time(now));
        let next = self.clients.iter().map(|client| client.due).min().unwrap_or(now);
        let left = until.saturating_duration_since(Instant::now());
        let wait = next.saturating_sub(self.start.elapsed()).min(left);
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let mut events = Vec::with_capacity(256);
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait))?;
        for event in events {
            let now = self.start.elapsed();
            if let Some(client) = self.clients.get_mut(event.data.u64() as usize) {
                client.on_readable(now);
            }
        }
        Ok(())
    }
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
