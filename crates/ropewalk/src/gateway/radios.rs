//! The interfaces of an access point's radios, and the sockets on them. An interface may go and come again while the access point runs, for instance when
//! hostapd starts anew; its sockets then do, too.

use crate::config::BackhaulLink;
use crate::daemon::Running;
use ropewalk_net::links::{Follower, Link, LinkError};
use ropewalk_net::udp::{OpenError, Options, UdpSocket};
use ropewalk_time::Time;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One radio's interface.
#[derive(Debug)]
struct Radio {
    interface: String,
    shared: Option<bool>,
    /// The kernel's index of the interface that the sockets belong to.
    index: Option<u32>,
    up: bool,
    /// Opened, and not in the loop yet.
    fresh: Vec<UdpSocket>,
    /// In the loop, by the engine's numbers.
    sockets: Vec<u32>,
}

/// All of them.
pub(crate) struct Radios {
    port: u16,
    radios: Vec<Radio>,
    follower: Follower,
}

impl Radios {
    /// Opens a socket for each IP version on each interface.
    ///
    /// # Errors
    /// An interface is not there, or its port is taken.
    pub(crate) fn open(port: u16, links: &[BackhaulLink]) -> anyhow::Result<Radios> {
        let follower = Follower::new()?;
        let mut radios = Vec::new();
        for BackhaulLink { interface, shared, .. } in links {
            let Some(link) = follower.links().iter().find(|l| l.name == *interface) else {
                return Err(LinkError::NoSuchInterface(interface.clone()).into());
            };
            radios.push(Radio {
                interface: interface.clone(),
                shared: *shared,
                index: Some(link.index),
                up: link.up,
                fresh: sockets(interface, port)?,
                sockets: Vec::new(),
            });
        }
        Ok(Radios { port, radios, follower })
    }

    /// What tells of changes.
    pub(crate) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Where repeaters reach it.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let names: Vec<&str> = self.radios.iter().map(|r| r.interface.as_str()).collect();
        addresses(self.follower.links(), &names, self.port)
    }

    /// Puts the sockets that are not in the loop yet there.
    pub(crate) fn attach(&mut self, running: &mut Running) -> anyhow::Result<()> {
        for radio in &mut self.radios {
            for socket in radio.fresh.drain(..) {
                tracing::info!(interface = radio.interface, address = %socket.local_addr(), "listening");
                radio.sockets.push(running.add_socket(socket, radio.interface.clone(), None)?);
            }
        }
        Ok(())
    }

    /// Interfaces changed.
    pub(crate) fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        self.follower.poll()?;
        for radio in &mut self.radios {
            let link = self.follower.links().iter().find(|l| l.name == radio.interface);
            radio.follow(link, self.port, running, now);
        }
        self.attach(running)
    }

    /// The engine's numbers of an interface's sockets.
    pub(crate) fn sockets(&self, interface: &str) -> &[u32] {
        self.radios.iter().find(|r| r.interface == interface).map_or(&[], |r| &r.sockets)
    }

    /// Whether the radio with this socket was said to share the clients' channel: its interface, and what was said.
    pub(crate) fn shared(&self, socket: u32) -> Option<(&str, bool)> {
        let radio = self.radios.iter().find(|r| r.sockets.contains(&socket))?;
        Some((&radio.interface, radio.shared?))
    }
}

impl Radio {
    fn follow(&mut self, link: Option<&Link>, port: u16, running: &mut Running, now: Time) {
        let index = link.map(|l| l.index);
        let up = link.is_some_and(|l| l.up);
        if self.up && !up {
            tracing::warn!(interface = self.interface, "interface is down; the other links carry on");
            self.sockets.iter().for_each(|s| running.core.engine.fail_path(*s, now));
        }
        self.up = up;
        if index == self.index {
            return;
        }
        self.sockets.drain(..).for_each(|socket| {
            running.core.engine.fail_path(socket, now);
            running.remove_socket(socket);
        });
        self.index = index;
        if index.is_some() {
            match sockets(&self.interface, port) {
                Ok(fresh) => self.fresh = fresh,
                Err(error) => {
                    // It may have gone again; the next news says so.
                    tracing::warn!(interface = self.interface, "{error}");
                    self.index = None;
                }
            }
        }
    }
}

fn sockets(interface: &str, port: u16) -> Result<Vec<UdpSocket>, OpenError> {
    let at = |ip: IpAddr| {
        UdpSocket::open(&Options { device: Some(interface), ..Options::at(SocketAddr::new(ip, port)) })
    };
    let mut sockets = vec![at(Ipv4Addr::UNSPECIFIED.into())?];
    match at(Ipv6Addr::UNSPECIFIED.into()) {
        Ok(socket) => sockets.push(socket),
        Err(OpenError::NoFamily(_) | OpenError::NoSuchAddress(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(sockets)
}

/// The addresses of these interfaces, in the order in which they are named.
pub(crate) fn addresses(links: &[Link], names: &[&str], port: u16) -> Vec<SocketAddr> {
    let of = |name: &&str| links.iter().find(|l| l.name == *name);
    let all = names.iter().filter_map(of).flat_map(|l| l.addresses.iter().filter(|a| a.usable));
    all.map(|a| SocketAddr::new(a.ip, port)).collect()
}
