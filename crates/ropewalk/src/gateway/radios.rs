//! The interfaces of an access point's radios, and the sockets on them. An interface may come later than the access point, go, and come again, for instance when
//! hostapd starts anew; its sockets then do, too.

use crate::config::BackhaulLink;
use crate::daemon::Running;
use crate::firewall::{SharedJournal, with};
use ropewalk_bond::backhaul::limiter::{RTS_THRESHOLD, RTS_TRIES};
use ropewalk_net::links::{Follower, Link};
use ropewalk_net::setup::{Journal, is_worth_protecting, protect};
use ropewalk_net::udp::{OpenError, Options, UdpSocket};
use ropewalk_time::Time;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// One radio's interface.
#[derive(Debug)]
struct Radio {
    link: BackhaulLink,
    /// The kernel's index of the interface that the sockets belong to; none while it is waited for.
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
    journal: SharedJournal,
}

impl Radios {
    /// Opens a socket for each IP version on each interface that is there; the others are waited for.
    ///
    /// # Errors
    /// A port is taken.
    pub(crate) fn open(port: u16, links: &[BackhaulLink], journal: &SharedJournal) -> anyhow::Result<Radios> {
        let follower = Follower::new()?;
        let mut radios = Vec::new();
        for link in links {
            let there = follower.links().iter().find(|l| l.name == link.interface);
            radios.push(Radio {
                link: link.clone(),
                index: there.map(|l| l.index),
                up: there.is_some_and(|l| l.up),
                fresh: if there.is_some() { sockets(&link.interface, port)? } else { Vec::new() },
                sockets: Vec::new(),
            });
        }
        Ok(Radios { port, radios, follower, journal: Arc::clone(journal) })
    }

    /// What tells of changes.
    pub(crate) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Where repeaters reach it.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let names: Vec<&str> = self.radios.iter().map(|r| r.link.interface.as_str()).collect();
        addresses(self.follower.links(), &names, self.port)
    }

    /// What is waited for, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let waits = self.radios.iter().filter(|r| r.index.is_none());
        waits.map(|r| format!("nothing listens at {} yet: it is waited for", r.link.interface)).collect()
    }

    /// Puts the sockets that are not in the loop yet there.
    pub(crate) fn attach(&mut self, running: &mut Running) -> anyhow::Result<()> {
        for radio in &mut self.radios {
            for socket in radio.fresh.drain(..) {
                let interface = &radio.link.interface;
                tracing::info!(interface, address = %socket.local_addr(), "listening");
                radio.sockets.push(running.add_socket(socket, interface.clone(), None)?);
            }
        }
        Ok(())
    }

    /// Interfaces changed.
    pub(crate) fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()> {
        self.follower.poll()?;
        for radio in &mut self.radios {
            let link = self.follower.links().iter().find(|l| l.name == radio.link.interface);
            if radio.follow(link, self.port, running, now) {
                radio.protect(&self.journal);
            }
        }
        self.attach(running)
    }

    /// The engine's numbers of an interface's sockets.
    pub(crate) fn sockets(&self, interface: &str) -> &[u32] {
        self.radios.iter().find(|r| r.link.interface == interface).map_or(&[], |r| &r.sockets)
    }

    /// Whether the radio with this socket was said to share the clients' channel: its interface, and what was said.
    pub(crate) fn shared(&self, socket: u32) -> Option<(&str, bool)> {
        let radio = self.radios.iter().find(|r| r.sockets.contains(&socket))?;
        Some((&radio.link.interface, radio.link.shared?))
    }
}

impl Radio {
    /// The interface as it is now; true if it has come, and is listened at.
    fn follow(&mut self, link: Option<&Link>, port: u16, running: &mut Running, now: Time) -> bool {
        let interface = &self.link.interface;
        let index = link.map(|l| l.index);
        let up = link.is_some_and(|l| l.up);
        if self.up && !up {
            tracing::warn!(interface, "interface is down; the other links carry on");
            self.sockets.iter().for_each(|s| running.core.engine.fail_path(*s, now));
        }
        self.up = up;
        if index == self.index {
            return false;
        }
        self.sockets.drain(..).for_each(|socket| {
            running.core.engine.fail_path(socket, now);
            running.remove_socket(socket);
        });
        self.index = index;
        if index.is_some() {
            match sockets(interface, port) {
                Ok(fresh) => self.fresh = fresh,
                Err(error) => {
                    // It may have gone again; the next news says so.
                    tracing::warn!(interface, "{error}");
                    self.index = None;
                }
            }
        }
        self.index.is_some()
    }

    /// Has its longer frames protected. On a thread of its own: whoever changes the firewall may
    /// have the journal for half a minute.
    fn protect(&self, journal: &SharedJournal) {
        if !self.link.protects() {
            return;
        }
        let (link, journal) = (self.link.clone(), Arc::clone(journal));
        let work = move || drop(with(&journal, |journal| protect_frames(&link, journal)));
        if let Err(error) = std::thread::Builder::new().name("rts".into()).spawn(work) {
            tracing::warn!(interface = self.link.interface, "no RTS/CTS, for no thread starts: {error}");
        }
    }
}

/// Lets a radio that shares its channel with the clients send an RTS before longer frames, until `journal` takes it back. One that cannot is used as it is.
pub(crate) fn protect_frames(link: &BackhaulLink, journal: &mut Journal) {
    let interface = &link.interface;
    if !link.protects() || link.rts.is_none() && !is_worth_protecting(interface) {
        return;
    }
    match protect(journal, interface, RTS_THRESHOLD, RTS_TRIES) {
        Ok(true) => tracing::info!(
            interface,
            bytes = RTS_THRESHOLD,
            tries = RTS_TRIES,
            "RTS/CTS before longer frames"
        ),
        Ok(false) => {}
        Err(error) => tracing::warn!(
            interface,
            "{error}: if the clients do not hear the access point, both lose more (rts = false leaves the radio alone)"
        ),
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
