//! `ropewalk bunch gateway`: the gateway of `ropewalk-bunch` on a Linux machine that reaches the
//! receivers.
//!
//! ```text
//!  access points ═ tunnels ═▶ Gateway ─▶ device ─▶ address translation ─▶ receivers
//! ```
//!
//! Each access point has an address in the device's network, and its senders appear there as ports
//! of it; the kernel translates that to this machine's own address.

mod requests;

use super::accounts::{AccountFiles, Keeper, Ledgers, Measured, Signer, Totals, Words};
use super::args::{BunchGateway as Args, BunchScheduling, BunchVariant};
use super::conn::{Conn, Event, Member};
use super::greeting;
use super::listen::{Due, Listener, Uploads};
use super::record::Channel;
use super::report::GatewayStatus;
use super::words::{self, NEIGHBOURS, Neighbour, Secret, Word};
use crate::daemon::{Mailbox, Watchdog, entropy};
use crate::gateway::SharedClients;
use crate::hooks::GatewayHooks;
use anyhow::Context;
use ipnet::Ipv4Net;
use rand::{Rng, RngCore};
use ropewalk_bond::vnet::Vnet;
use ropewalk_bunch::Time;
use ropewalk_bunch::gateway::{Config, Gateway, Home, Input, Output, Scheduling, Tunnel, Variant};
use ropewalk_bunch::icmp;
use ropewalk_bunch::inner::{self, UDP};
use ropewalk_net::poll::{Events, Interest, Poller, Signal, Signals};
use ropewalk_net::tun::Tun;
use ropewalk_net::{clock, privileges};
use ropewalk_session::{PublicKey, Responder, ResponderConfig, StaticKey};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// Packets in a row before anything else is looked at.
const BATCH: usize = 64;
/// A connection that has not shown who it is in this time is closed.
const GREETING: Duration = Duration::from_secs(10);
/// Bytes on the way to an access point at most; its downlink is wide.
const BUFFER: u64 = 512 << 10;
/// Handshakes in a second: one takes a third of a millisecond here, and access points stay.
const HANDSHAKES: ResponderConfig =
    ResponderConfig { handshakes_per_second: 200, burst: 200, per_source_per_second: 20 };

const DEVICE: u64 = 0;
const SIGNALS: u64 = 1;
const MAIL: u64 = 2;
const LISTEN: u64 = 3;
/// Connections have this number and those above, as tunnels have them from 0.
const FIRST: u64 = 16;

/// What it is started with.
pub(super) struct Parts<'a> {
    pub args: Args,
    pub serve: Vec<Ipv4Net>,
    pub key: StaticKey,
    pub clients: SharedClients,
    pub accounts: (AccountFiles, Keeper),
    pub listener: TcpListener,
    pub tun: Tun,
    pub hooks: Option<&'a mut GatewayHooks>,
    pub mailbox: Mailbox,
    pub signals: Signals,
}

struct Daemon<'a> {
    parts: Parts<'a>,
    poller: Poller,
    watchdog: Watchdog,
    responder: Responder,
    started: Instant,
    boot: u64,
    gateway: Gateway,
    conns: BTreeMap<u32, Conn>,
    /// How many of them there may be.
    places: usize,
    by_address: BTreeMap<Ipv4Addr, u32>,
    /// Who came since the start, by account.
    known: BTreeMap<u64, PublicKey>,
    next: u32,
    next_pair: u32,
    ledgers: Ledgers,
    listeners: Due,
    timeout: Option<Time>,
    counts: GatewayStatus,
}

fn config(args: &Args) -> Config {
    let mut secret = [0; 16];
    entropy().fill_bytes(&mut secret);
    Config {
        variant: match args.variant {
            BunchVariant::Plain => Variant::Plain,
            BunchVariant::SimpleBuffer => Variant::SimpleBuffer,
            BunchVariant::ProactiveAck => Variant::ProactiveAck { custody: args.custody },
        },
        scheduling: match args.scheduling {
            BunchScheduling::FirstCome => Scheduling::FirstCome,
            BunchScheduling::ExpectedDelivery => Scheduling::ExpectedDelivery,
        },
        grace: Duration::from_millis(args.grace),
        // What may really be sent is looked at packet by packet.
        ..Config::new(vec![(Ipv4Addr::UNSPECIFIED, None)], secret)
    }
}

/// How many connections this process has room for.
fn places() -> usize {
    let allowed = privileges::raise_descriptors(greeting::DESCRIPTORS);
    let places = greeting::places(allowed);
    if allowed < greeting::DESCRIPTORS {
        tracing::warn!(
            "this process may have {allowed} files open: there is room for {places} access points. A hard limit of {} \
             (LimitNOFILE= of the unit) makes room for all",
            greeting::DESCRIPTORS
        );
    }
    places
}

/// Runs until told to stop.
pub(super) fn run(parts: Parts<'_>) -> anyhow::Result<()> {
    let poller = Poller::new().context("epoll")?;
    poller.add(&parts.tun, DEVICE, Interest::Read).context("watching the device")?;
    poller.add(&parts.signals, SIGNALS, Interest::Read).context("watching for signals")?;
    poller.add(parts.mailbox.waker(), MAIL, Interest::Read)?;
    poller.add(&parts.listener, LISTEN, Interest::Read)?;
    let responder = Responder::new(&mut entropy(), parts.key.clone(), &HANDSHAKES, clock::now());
    let key = parts.key.clone();
    let mut daemon = Daemon {
        gateway: Gateway::new(config(&parts.args)),
        parts,
        poller,
        watchdog: Watchdog::new(Time::ZERO),
        responder,
        started: Instant::now(),
        boot: entropy().random(),
        conns: BTreeMap::new(),
        places: places(),
        by_address: BTreeMap::new(),
        known: BTreeMap::new(),
        next: 0,
        next_pair: 0,
        ledgers: Ledgers::new(Signer::of(&key)?),
        listeners: Due::default(),
        timeout: None,
        counts: GatewayStatus::default(),
    };
    daemon.serve()
}

impl Daemon<'_> {
    /// It stands still while the machine sleeps: then no access point was silent. Those that are
    /// gone are missed soon after.
    fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        let mut events = Events::new(64);
        loop {
            let wait = self.next_timeout().map(|at| at.since(self.now()));
            self.poller.wait(&mut events, wait).context("waiting")?;
            for token in events.iter().map(|r| r.token).collect::<Vec<_>>() {
                match token {
                    DEVICE => self.on_device()?,
                    SIGNALS => {
                        if self.parts.signals.pending().any(|s| s == Signal::Stop) {
                            return Ok(());
                        }
                    }
                    MAIL => self.on_mail()?,
                    LISTEN => self.on_listen()?,
                    _ => self.on_conn((token - FIRST) as u32)?,
                }
            }
            self.on_time()?;
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let conns = self.conns.values().filter_map(|c| c.timeout(GREETING));
        let listeners = self.listeners.at(self.gateway.flow_changes());
        let alive = Some(self.watchdog.due()).filter(|at| *at < Time::NEVER);
        conns.chain(self.timeout).chain(listeners).chain(alive).min()
    }

    fn on_time(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        self.watchdog.on_timer(now, None);
        let late = |c: &Conn| !c.is_up() && c.since + GREETING <= now;
        let silent: Vec<u32> = self.conns.iter().filter(|(_, c)| late(c)).map(|(id, _)| *id).collect();
        for id in silent {
            self.drop_conn(id, "it has not shown who it is")?;
        }
        if self.timeout.is_some_and(|at| at <= now) {
            self.put(Input::Timer)?;
        }
        if self.listeners.is_now(self.gateway.flow_changes(), now) {
            self.tell_listeners();
        }
        self.flush()
    }

    /// Tells who overhears what to listen for.
    fn tell_listeners(&mut self) {
        let uploads = Uploads::of(self.gateway.flows());
        for conn in self.conns.values_mut() {
            let Some(own) = conn.address() else { continue };
            let news = conn.listener.as_mut().and_then(|l| l.news(&uploads, own));
            if let Some(all) = news {
                conn.say(&Word::Listen { all });
            }
        }
    }

    fn put(&mut self, input: Input<'_>) -> anyhow::Result<()> {
        let now = self.now();
        self.gateway.handle(input, now);
        loop {
            match self.gateway.poll_output() {
                Output::ToTunnel(Tunnel(id), bytes) => {
                    self.conns.get_mut(&id).into_iter().for_each(|c| c.write(&bytes, now));
                }
                Output::Hangup(Tunnel(id)) => {
                    self.drop_conn(id, "it was silent, or speaks something else")?
                }
                Output::ToReceiver(packet) => self.deliver(&packet)?,
                Output::ToSender(packet) => self.send_back(&packet),
                Output::Ended { destination, why } => {
                    self.counts.resets += 1;
                    tracing::warn!(%destination, ?why, "a connection was lost: both ends are reset");
                }
                Output::Timeout(at, _) => {
                    self.timeout = at;
                    return Ok(());
                }
            }
        }
    }

    /// Whether a packet may leave: it is for somebody who is helped.
    fn may_leave(&self, packet: &[u8]) -> bool {
        inner::parse(packet).is_some_and(|i| {
            (i.protocol != UDP || self.parts.args.udp)
                && words::serves(&self.parts.serve, *i.destination.ip())
        })
    }

    fn deliver(&mut self, packet: &[u8]) -> anyhow::Result<()> {
        if !self.may_leave(packet) {
            self.counts.refused_packets += 1;
            return Ok(());
        }
        self.counts.delivered_packets += 1;
        self.counts.delivered_bytes += packet.len() as u64;
        match self.parts.tun.send(&Vnet::default(), &[packet]) {
            Err(error) if !error.loses_packets_only() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// By the tunnel of the access point whose sender it is for. Without a tunnel it is lost.
    fn send_back(&mut self, packet: &[u8]) {
        let to = inner::parse(packet).map(|i| *i.destination.ip());
        let to = to.or_else(|| icmp::read(packet).map(|trouble| *trouble.source.ip()));
        let id = to.and_then(|to| self.by_address.get(&to).copied());
        if let Some(conn) = id.and_then(|id| self.conns.get_mut(&id)) {
            conn.packet(packet);
        }
    }

    /// Packets of receivers.
    fn on_device(&mut self) -> anyhow::Result<()> {
        let mut buffer = vec![0; 65_535];
        for _ in 0..BATCH {
            let Some(received) = self.parts.tun.recv(&mut buffer)? else { break };
            self.put(Input::FromReceiver(&buffer[..received.len]))?;
        }
        self.flush()
    }

    fn on_listen(&mut self) -> anyhow::Result<()> {
        for _ in 0..BATCH {
            let (stream, remote) = match self.parts.listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    // Out of descriptors, most likely: it passes. The pause keeps the loop from
                    // spinning.
                    tracing::warn!(%error, "a connection could not be taken");
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    return Ok(());
                }
            };
            self.make_room(remote)?;
            if self.conns.len() >= self.places || stream.set_nonblocking(true).is_err() {
                self.counts.turned_away += 1;
                continue;
            }
            // Old ones may still be there when the numbers begin anew.
            while self.conns.contains_key(&self.next) {
                self.next = self.next.wrapping_add(1);
            }
            let id = self.next;
            self.next = self.next.wrapping_add(1);
            self.poller.add(&stream, FIRST + u64::from(id), Interest::Read)?;
            self.conns.insert(id, Conn::new(stream, remote, self.now()));
        }
        Ok(())
    }

    fn make_room(&mut self, of: SocketAddr) -> anyhow::Result<()> {
        let unknown = self.conns.iter().filter(|(_, c)| !c.is_up()).map(|(id, c)| (*id, c.remote));
        match greeting::makes_room(&unknown.collect::<Vec<_>>(), of) {
            Some(id) => self.drop_conn(id, "others came after it"),
            None => Ok(()),
        }
    }

    fn on_conn(&mut self, id: u32) -> anyhow::Result<()> {
        let Some(conn) = self.conns.get_mut(&id) else { return Ok(()) };
        let events = conn.read(&mut self.responder, &mut self.parts.clients, BUFFER);
        let events = match events {
            Ok(events) => events,
            Err(why) => return self.drop_conn(id, &why),
        };
        for event in events {
            match event {
                Event::Up(member) => self.on_up(id, member)?,
                Event::Record(channel, payload) => self.on_record(id, channel, &payload)?,
            }
        }
        self.flush()
    }

    /// A tunnel whose first record has opened: its handshake was no replay.
    fn on_up(&mut self, id: u32, member: Member) -> anyhow::Result<()> {
        let old = self.by_address.insert(member.address, id);
        if let Some(old) = old.filter(|old| *old != id) {
            self.drop_conn(old, "its access point has connected anew")?;
            self.by_address.insert(member.address, id);
        }
        let name = self.name(&member.key);
        let remote = self.conns.get(&id).map(|c| c.remote);
        let from = remote.map(|r| r.to_string());
        tracing::info!(name, remote = from, address = %member.address, "access point connected");
        if let (Some(hooks), Some(remote)) = (&mut self.parts.hooks, remote) {
            let name = self.parts.clients.name_of(&member.key);
            hooks.came(member.key, name, &[member.address.into()], remote.ip());
        }
        self.parts.clients.came(&member.key);
        self.known.insert(member.who, member.key);
        let setup =
            Word::Setup { boot: self.boot, serve: self.parts.serve.clone(), udp: self.parts.args.udp };
        self.say(id, &setup);
        let home = Home { address: member.address, cell: words::cell(&member.key) };
        self.put(Input::TunnelUpBehind(Tunnel(id), member.who, home))?;
        let totals = self.carried(member.who);
        let conn = self.conns.get_mut(&id);
        conn.into_iter().for_each(|c| c.carried = (totals.carried_packets, totals.carried_bytes));
        Ok(())
    }

    /// What a contributor carried for others since the start.
    fn carried(&self, who: u64) -> Totals {
        self.gateway.account(who).map_or_else(Totals::default, |a| Totals {
            carried_packets: a.carried_packets,
            carried_bytes: a.carried_bytes,
            delivered_packets: a.delivered_packets,
            delivered_bytes: a.delivered_bytes,
        })
    }

    /// A contributor's word about its account.
    fn on_account(&mut self, id: u32, about: Words) {
        let Some((member, before)) = self.conns.get(&id).and_then(|c| c.member().zip(Some(c.carried))) else {
            return;
        };
        let totals = self.carried(member.who);
        // Behind all of this tunnel's packets that were written before it.
        let tunnel = (totals.carried_packets - before.0, totals.carried_bytes - before.1);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let (files, keeper) = &self.parts.accounts;
        let now = Time::ZERO + self.started.elapsed();
        let measured = (member.key, Measured { totals, tunnel });
        let (answer, record) = self.ledgers.hear(measured, about, || files.last(&member.key), (now, at));
        if let Some(record) = record {
            self.parts.clients.keep_record(&member.key, record.clone().into());
            keeper.keep(member.key, record);
        }
        if let Some(about) = answer {
            self.say(id, &Word::Account { about: Box::new(about) });
        }
    }

    fn on_record(&mut self, id: u32, channel: Channel, payload: &[u8]) -> anyhow::Result<()> {
        match channel {
            Channel::Stream => self.put(Input::FromTunnel(Tunnel(id), payload)),
            Channel::Packet => {
                let own = self.conns.get(&id).and_then(Conn::address);
                let from = inner::parse(payload).map(|i| *i.source.ip());
                if from.is_none() || from != own || !self.may_leave(payload) {
                    self.counts.refused_packets += 1;
                    return Ok(());
                }
                self.put(Input::FromSender(payload))
            }
            Channel::Word => {
                match Word::read(payload) {
                    Some(Word::Lan { network, port }) => self.on_lan(id, network, port),
                    Some(Word::Account { about }) => self.on_account(id, *about),
                    Some(Word::Hears { cells }) => {
                        let conn = self.conns.get_mut(&id);
                        let listener = conn.map(|c| c.listener.get_or_insert_with(Listener::default));
                        listener.into_iter().for_each(|l| l.hears(&cells));
                        self.listeners.moved();
                        self.put(Input::OnAir(Tunnel(id)))?;
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    /// An access point listens on a network: it and those that are there already get to know each
    /// other, each pair with a secret of its own.
    fn on_lan(&mut self, id: u32, network: Ipv4Net, port: u16) {
        let same = |c: &Conn| c.lan.is_some_and(|(n, _)| n.trunc() == network.trunc() && n != network);
        let room = |c: &Conn| c.neighbours.len() < NEIGHBOURS;
        let others: Vec<u32> = self
            .conns
            .iter()
            .filter(|(other, c)| **other != id && same(c) && room(c))
            .map(|(o, _)| *o)
            .collect();
        let Some(conn) = self.conns.get_mut(&id).filter(|c| c.lan.is_none()) else { return };
        conn.lan = Some((network, port));
        for other in others.into_iter().take(NEIGHBOURS) {
            let mut secret = Secret(Zeroizing::new([0; 32]));
            entropy().fill_bytes(&mut *secret.0);
            let pair = self.next_pair;
            self.next_pair = self.next_pair.wrapping_add(1);
            for (me, you, first) in [(id, other, true), (other, id, false)] {
                let place = self.conns.get(&you).and_then(|c| c.lan.zip(c.member()));
                if let (Some(((net, port), member)), Some(conn)) = (place, self.conns.get_mut(&me)) {
                    let (at, cell) = (SocketAddrV4::new(net.addr(), port), words::cell(&member.key));
                    let secret = secret.clone();
                    conn.neighbours.push((you, Neighbour { id: pair, at, cell, secret, first }));
                }
            }
            self.tell_neighbours(other);
        }
        self.tell_neighbours(id);
    }

    fn tell_neighbours(&mut self, id: u32) {
        let all = self.conns.get(&id).map(|c| c.neighbours.iter().map(|n| n.1.clone()).collect());
        self.say(id, &Word::Neighbours { all: all.unwrap_or_default() });
    }

    fn say(&mut self, id: u32, word: &Word) {
        self.conns.get_mut(&id).into_iter().for_each(|c| c.say(word));
    }

    fn drop_conn(&mut self, id: u32, why: &str) -> anyhow::Result<()> {
        let Some(conn) = self.conns.remove(&id) else { return Ok(()) };
        let (member, neighbours, remote) = (conn.member(), conn.neighbours.clone(), conn.remote);
        conn.abort();
        let Some(member) = member else {
            self.counts.turned_away += 1;
            tracing::debug!(%remote, why, "a connection was turned away");
            return Ok(());
        };
        tracing::info!(name = self.name(&member.key), why, "access point gone");
        if self.by_address.get(&member.address) == Some(&id) {
            self.by_address.remove(&member.address);
            self.parts.clients.went(&member.key);
            self.parts.hooks.iter_mut().for_each(|hooks| hooks.went(&member.key));
        }
        for (other, _) in neighbours {
            if let Some(conn) = self.conns.get_mut(&other) {
                conn.neighbours.retain(|n| n.0 != id);
                self.tell_neighbours(other);
            }
        }
        self.put(Input::TunnelDown(Tunnel(id)))
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        let mut broken = Vec::new();
        for (id, conn) in &mut self.conns {
            if let Err(why) = conn.flush(now) {
                broken.push((*id, why));
            } else if let Some(interest) = conn.changed_interest() {
                self.poller.modify(&*conn, FIRST + u64::from(*id), interest)?;
            }
        }
        broken.into_iter().try_for_each(|(id, why)| self.drop_conn(id, &why))
    }

    fn name(&self, key: &PublicKey) -> String {
        self.parts.clients.name_of(key).unwrap_or_else(|| key.to_string())
    }
}
