//! `ropewalk bunch ap`: the access point of `ropewalk-bunch` on a Linux router.
//!
//! ```text
//!  home ─▶ device ─▶ flows ─┬─▶ Ap: held, reported, forwarded ─▶ tunnel ─▶ gateway
//!                           └─▶ small connections, handshakes ──▶ tunnel
//!  neighbours ◀─▶ share ◀─▶ Ap            (who is handed packets)
//!  monitor interface ─▶ overhear ─▶ Ap    (who overhears: `air`)
//! ```

mod account;
mod air;
mod background;
mod metered;
mod status;

use super::accounts::{AccountFiles, Contributor, Keeper, Signer};
use super::args::{BunchAp as Args, BunchRelease};
use super::flows::{self, Flows};
use super::hello::{self, Dialled};
use super::overhear::Overhear;
use super::record::{Broken, Channel, Records};
use super::report::BunchStatus;
use super::share::Share;
use super::tunnel::Tunnel;
use super::words::{self, Word};
use crate::control::protocol::{Request, Response};
use crate::daemon::{Mailbox, Watchdog, entropy};
use crate::exit::{Code, failure};
use crate::firewall::{SharedJournal, with};
use crate::hooks::BunchHooks;
use anyhow::Context;
use background::Background;
use ipnet::Ipv4Net;
pub(super) use metered::Metered;
use rand::Rng;
use ropewalk_bond::vnet::Vnet;
use ropewalk_bunch::ap::{Ap, Config, Custody, Input, Output};
use ropewalk_bunch::{Mac, Time, icmp, inner};
use ropewalk_net::poll::{Events, Interest, Poller, Signals, SleepWatch, Slept, Waker};
use ropewalk_net::service;
use ropewalk_net::setup::{Capture, capture, release};
use ropewalk_net::tun::Tun;
use ropewalk_session::{Refusal, StaticKey, Token};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;
use std::time::Instant;
use zeroize::Zeroizing;

/// Packets in a row before anything else is looked at.
const BATCH: usize = 64;
/// A tunnel that is lost is dialled again after this, and after twice as long each time, up to the
/// other.
const AGAIN: Duration = Duration::from_millis(500);
const AGAIN_AT_MOST: Duration = Duration::from_secs(8);
/// Without a tunnel for so long, connections are given up, and new ones go as if nobody were here.
const GRACE: Duration = Duration::from_secs(5);
/// The gateway has hung up on whoever slept for so long.
const SLEPT: Duration = Duration::from_millis(1500);
/// While the tunnel is as good as full, its room is looked at so often.
const LOOK: Duration = Duration::from_millis(2);
const FULL: u64 = 16 << 10;

const DEVICE: u64 = 0;
const SIGNALS: u64 = 1;
const MAIL: u64 = 2;
const SHARE: u64 = 3;
const DIALLED: u64 = 4;
const TUNNEL: u64 = 5;
const AIR: u64 = 6;
const SLEEP: u64 = 7;

/// What it is started with.
pub(super) struct Parts<'a> {
    pub args: Args,
    pub key: StaticKey,
    pub token: Token,
    pub tun: Tun,
    pub share: Option<Share>,
    pub overhear: Option<Overhear>,
    pub accounts: (AccountFiles, Keeper),
    pub metered: Option<Metered>,
    pub hooks: Option<&'a mut BunchHooks>,
    pub mailbox: Mailbox,
    pub signals: Signals,
}

struct Daemon<'a> {
    parts: Parts<'a>,
    journal: SharedJournal,
    poller: Poller,
    watchdog: Watchdog,
    started: Instant,
    ap: Ap,
    bssid: Mac,
    timeout: Option<Time>,
    flows: Option<Flows>,
    tunnel: Option<Tunnel>,
    remote: String,
    /// Which of the endpoints let us in last: connections may go on there.
    endpoint: usize,
    dialling: Option<Receiver<anyhow::Result<Dialled>>>,
    waker: Arc<Waker>,
    dial_at: Option<Time>,
    pause: Duration,
    lost_at: Option<Time>,
    captures: bool,
    /// Which gateway knows our connections.
    boot: Option<u64>,
    /// Resets for receivers that wait for a tunnel.
    owed: Vec<Vec<u8>>,
    native_packets: u64,
    dropped_packets: u64,
    account: Contributor,
    background: Background,
    end: Option<anyhow::Error>,
}

/// Runs until told to stop, or refused for good.
pub(super) fn run(parts: Parts<'_>, journal: SharedJournal) -> anyhow::Result<()> {
    let poller = Poller::new().context("epoll")?;
    let waker = Arc::new(Waker::new()?);
    poller.add(&parts.tun, DEVICE, Interest::Read).context("watching the device")?;
    poller.add(&parts.signals, SIGNALS, Interest::Read).context("watching for signals")?;
    poller.add(parts.mailbox.waker(), MAIL, Interest::Read)?;
    poller.add(&*waker, DIALLED, Interest::Read)?;
    if let Some(share) = &parts.share {
        poller.add(share, SHARE, Interest::Read)?;
    }
    if let Some(monitor) = parts.overhear.as_ref().and_then(Overhear::monitor) {
        poller.add(monitor, AIR, Interest::Read)?;
    }
    let config = Config {
        memory_bytes: parts.args.memory.0 as usize,
        report_every: Duration::from_millis(parts.args.report_interval),
        custody: match parts.args.release {
            BunchRelease::Acknowledged => Custody::UntilAcknowledged,
            BunchRelease::Scheduled => Custody::UntilScheduled,
        },
        // Until neighbours are there.
        share: false,
        ..Config::new(entropy().random(), vec![(Ipv4Addr::UNSPECIFIED, None)])
    };
    let every = Duration::from_secs(parts.args.account_every);
    let head = parts.accounts.0.last(&parts.token.gateway);
    let account = Contributor::new(Signer::of(&parts.key)?, parts.key.public(), head, every, Time::ZERO);
    let mut daemon = Daemon {
        bssid: words::cell(&parts.key.public()),
        parts,
        journal,
        poller,
        watchdog: Watchdog::new(Time::ZERO),
        started: Instant::now(),
        ap: Ap::new(config),
        timeout: None,
        flows: None,
        tunnel: None,
        remote: String::new(),
        endpoint: 0,
        dialling: None,
        waker,
        dial_at: Some(Time::ZERO),
        pause: AGAIN,
        lost_at: None,
        captures: false,
        boot: None,
        owed: Vec::new(),
        native_packets: 0,
        dropped_packets: 0,
        account,
        background: Background::default(),
        end: None,
    };
    // What it has carried already is known before it carries anything.
    daemon.settle(Time::ZERO);
    let outcome = daemon.serve();
    daemon.finish();
    outcome
}

impl Daemon<'_> {
    fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        let (sleep, mut slept) = (SleepWatch::told_to(&self.poller, SLEEP), Slept::from_now());
        let mut events = Events::new(8);
        loop {
            let wait = self.next_timeout().map(|at| at.since(self.now()));
            self.poller.wait(&mut events, wait).context("waiting")?;
            // First: the tunnel, and what was dialled, are from before the sleep.
            if slept.take() >= SLEPT {
                self.wake()?;
            }
            for ready in events.iter().map(|r| r.token).collect::<Vec<_>>() {
                match ready {
                    DEVICE => self.on_device()?,
                    SIGNALS => {
                        if self.parts.signals.pending().any(|s| s == ropewalk_net::poll::Signal::Stop) {
                            return Ok(());
                        }
                    }
                    MAIL => self.on_mail(),
                    SHARE => self.on_share()?,
                    AIR => self.on_air()?,
                    DIALLED => self.on_dialled()?,
                    SLEEP => sleep.iter().for_each(SleepWatch::clear),
                    _ => self.on_tunnel()?,
                }
            }
            self.on_time()?;
            if let Some(error) = self.end.take() {
                return Err(error);
            }
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let grace = self.lost_at.map(|at| at + GRACE);
        let flush = self.tunnel.as_ref().and_then(Tunnel::flush_at);
        let look = self.tunnel.as_ref().filter(|t| t.room() < FULL).map(|_| self.now() + LOOK);
        let claim = self.tunnel.as_ref().map(|_| self.account.due());
        let alive = Some(self.watchdog.due()).filter(|at| *at < Time::NEVER);
        let account = self.parts.metered.as_ref().map(Metered::due);
        let all = [self.timeout, self.dial_at, grace, flush, look, claim, alive, account, self.air_due()];
        all.into_iter().flatten().min()
    }

    fn on_time(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        self.watchdog.on_timer(now, None);
        if self.dial_at.is_some_and(|at| at <= now) {
            self.dial();
        }
        if self.lost_at.is_some_and(|at| at + GRACE <= now) {
            self.lost_at = None;
            self.give_up("the gateway was away for too long")?;
        }
        self.on_air_time()?;
        if let Some(room) = self.tunnel.as_ref().map(Tunnel::room) {
            self.put(Input::Room(room))?;
        }
        if self.timeout.is_some_and(|at| at <= now) {
            self.put(Input::Timer)?;
        }
        self.claim(now);
        self.on_metered(now);
        self.choose_class(now);
        self.flush()
    }

    /// Hands something to the state machine, and does what it says.
    fn put(&mut self, input: Input<'_>) -> anyhow::Result<()> {
        let now = self.now();
        self.ap.handle(input, now);
        loop {
            match self.ap.poll_output() {
                Output::ToTunnel(bytes) => self.tunnel.iter_mut().for_each(|t| t.write(&bytes, now)),
                Output::Forward(packet) => self.up(packet.to_vec()),
                Output::ToSender(packet) => self.send_home(&packet)?,
                Output::ToNeighbours(message) => {
                    self.parts.share.iter_mut().for_each(|s| s.send(&message));
                }
                Output::Hangup => self.lose("it speaks something else")?,
                Output::Timeout(at, _) => {
                    self.timeout = at;
                    return Ok(());
                }
            }
        }
    }

    /// A packet that the home sends to somebody who is helped.
    fn on_home(&mut self, packet: &[u8]) -> anyhow::Result<()> {
        let now = self.now();
        let parsed = inner::parse(packet).zip(self.flows.as_mut());
        let Some((inner, flows)) = parsed else {
            // Fragments, and what comes before there is a gateway.
            self.dropped_packets += 1;
            return Ok(());
        };
        let Some(flow) = flows.out(packet, &inner, now) else {
            self.dropped_packets += 1;
            return Ok(());
        };
        if flow.dead {
            return flows::answer(packet, &inner).map_or(Ok(()), |reset| self.send_home(&reset));
        }
        if !flow.is_worth_help() {
            self.up(packet.to_vec());
            return Ok(());
        }
        let outer = flow.outer;
        let overhear = self.parts.overhear.as_mut();
        let Some(frame) = air::frame(flow, overhear, self.bssid, packet, &inner, now) else {
            self.up(packet.to_vec());
            return Ok(());
        };
        if !std::mem::replace(&mut flow.helped, true) {
            let flow = ropewalk_bunch::Flow {
                bssid: frame.bssid,
                station: frame.station,
                tid: frame.tid,
                protocol: inner.protocol,
                source: inner.source,
                destination: inner.destination,
            };
            self.put(Input::Outer(flow, outer))?;
        }
        self.put(Input::Captured(frame, packet.into()))
    }

    /// A packet of the home goes to the gateway on its own.
    fn up(&mut self, packet: Vec<u8>) {
        let outer = inner::parse(&packet).zip(self.flows.as_ref());
        let outer = outer.and_then(|(inner, flows)| flows.outer(&inner));
        let sent = match (outer, &mut self.tunnel) {
            (Some(outer), Some(tunnel)) => tunnel.packet(&flows::translated(packet, true, outer)),
            _ => Ok(false),
        };
        match sent {
            Ok(true) => self.native_packets += 1,
            // What is broken is found out when it is flushed.
            Ok(false) | Err(_) => self.dropped_packets += 1,
        }
    }

    fn send_home(&mut self, packet: &[u8]) -> anyhow::Result<()> {
        match self.parts.tun.send(&Vnet::default(), &[packet]) {
            Err(error) if !error.loses_packets_only() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// A packet of the gateway's side for somebody at home.
    fn on_packet(&mut self, mut packet: Vec<u8>) -> anyhow::Result<()> {
        if let Some(trouble) = icmp::read(&packet) {
            let (protocol, here, there) = (trouble.protocol, trouble.source, trouble.destination);
            let home = self.flows.as_ref().and_then(|f| f.home_of(protocol, here, there));
            let Some((home, _)) = home else { return Ok(()) };
            icmp::readdress(&mut packet, home);
            return self.send_home(&packet);
        }
        let Some((inner, flows)) = inner::parse(&packet).zip(self.flows.as_ref()) else { return Ok(()) };
        match flows.back(&inner) {
            Some((source, true)) => self.send_home(&flows::translated(packet, false, source)),
            // Nobody has this connection any more, and its receiver should know.
            _ => {
                if let (Some(reset), Some(tunnel)) = (flows::answer(&packet, &inner), &mut self.tunnel) {
                    let _ = tunnel.packet(&reset);
                }
                Ok(())
            }
        }
    }

    fn on_share(&mut self) -> anyhow::Result<()> {
        for _ in 0..BATCH {
            match self.parts.share.as_mut().and_then(Share::receive) {
                None => break,
                Some(None) => {}
                Some(Some((cell, message))) => self.put(Input::FromNeighbour(Some(cell), &message))?,
            }
        }
        self.flush()
    }

    fn on_mail(&mut self) {
        self.parts.mailbox.waker().clear();
        while let Some(post) = self.parts.mailbox.next() {
            let answer = match post.request {
                Request::Bunch {} => Response::Bunch { status: Box::new(BunchStatus::Ap(self.status())) },
                _ => Response::wrong_end("bond, or for the gateway of a bunch"),
            };
            // Who asked may be gone.
            let _ = post.reply.send(answer);
        }
    }

    /// Connects on a thread of its own: names are resolved and handshakes waited for.
    fn dial(&mut self) {
        self.dial_at = None;
        let (send, receive) = channel();
        let (token, key, endpoint) = (self.parts.token.clone(), self.parts.key.clone(), self.endpoint);
        let (uplink, waker) = (self.parts.args.uplink.clone(), Arc::clone(&self.waker));
        let work = move || {
            let _ = send.send(hello::dial(&token, &key, uplink.as_deref(), endpoint));
            waker.wake();
        };
        match std::thread::Builder::new().name("dial".into()).spawn(work) {
            Ok(_) => self.dialling = Some(receive),
            Err(error) => {
                tracing::warn!("no tunnel: a thread cannot be started: {error}; trying again");
                self.dial_at = Some(self.now() + AGAIN_AT_MOST);
            }
        }
    }

    fn on_dialled(&mut self) -> anyhow::Result<()> {
        self.waker.clear();
        let result = match self.dialling.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => return Ok(()),
            Some(Ok(result)) => result,
            Some(Err(TryRecvError::Disconnected)) => Err(anyhow::anyhow!("dialling ended early")),
        };
        self.dialling = None;
        match result.and_then(|dialled| self.connected(dialled)) {
            Ok(()) => Ok(()),
            Err(error) => {
                let refused = error.downcast_ref::<Refusal>().is_some_and(|r| !r.is_temporary());
                if refused {
                    self.give_up("the gateway refuses this access point")?;
                    self.end = Some(error);
                    return Ok(());
                }
                tracing::warn!("no tunnel: {error:#}; trying again");
                self.dial_at = Some(self.now() + self.pause);
                self.pause = (self.pause * 2).min(AGAIN_AT_MOST);
                Ok(())
            }
        }
    }

    fn connected(&mut self, dialled: Dialled) -> anyhow::Result<()> {
        let Dialled { stream, frames, keys, accept, remote, endpoint } = dialled;
        let buffer = self.parts.args.send_buffer.0;
        if self.parts.args.uplink_rate.is_some() {
            self.background.begin(&stream)?;
        }
        let tunnel = Tunnel::new(stream, frames, Records::new(keys), buffer, true)?;
        self.poller.add(&tunnel, TUNNEL, Interest::Read)?;
        (self.remote, self.endpoint, self.pause) = (remote.to_string(), endpoint, AGAIN);
        let address = accept.ipv4.client;
        if self.flows.as_ref().is_none_or(|f| f.address() != address) {
            self.give_up("the gateway has given another address")?;
            self.flows = Some(Flows::new(address));
        }
        self.tunnel = Some(tunnel);
        self.account.on_tunnel(self.carried());
        let room = self.tunnel.as_ref().map_or(0, Tunnel::room);
        self.parts.overhear.iter_mut().for_each(Overhear::forget);
        // Pairs are numbered by the gateway: another one, or the same started anew, means others.
        self.parts.share.iter_mut().for_each(|s| s.set(&[]));
        // The first record: with it the gateway knows that the handshake was no replay.
        let place = self.parts.share.as_ref().map(Share::place);
        if let (Some((network, port)), Some(tunnel)) = (place, &mut self.tunnel) {
            tunnel.say(&Word::Lan { network, port })?;
        }
        self.put(Input::TunnelUp { room })?;
        self.on_tunnel()
    }

    fn on_tunnel(&mut self) -> anyhow::Result<()> {
        let Some(tunnel) = &mut self.tunnel else { return Ok(()) };
        match tunnel.read() {
            Ok(records) => {
                for (channel, payload) in records {
                    match channel {
                        Channel::Stream => self.put(Input::FromTunnel(&payload))?,
                        Channel::Packet => self.on_packet(payload)?,
                        // It may have a secret.
                        Channel::Word => self.on_word(&Zeroizing::new(payload))?,
                    }
                }
            }
            Err(broken) => self.lose(&broken.to_string())?,
        }
        self.flush()
    }

    fn on_word(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match Word::read(bytes) {
            Some(Word::Setup { boot, serve, udp }) => self.set_up(boot, serve, udp),
            Some(Word::Neighbours { all }) => {
                self.parts.share.iter_mut().for_each(|s| s.set(&all));
                let there = self.parts.share.as_ref().is_some_and(|s| s.neighbours() > 0);
                self.ap.set_share(there);
                tracing::info!(neighbours = all.len(), "neighbours");
                if let (Some(hooks), Some(share)) = (&mut self.parts.hooks, &self.parts.share) {
                    hooks.neighbours(share.places());
                }
                Ok(())
            }
            Some(Word::Listen { all }) => {
                self.parts.overhear.iter_mut().for_each(|air| air.listen(&all));
                tracing::debug!(uploads = all.len(), "uploads to listen for");
                Ok(())
            }
            Some(Word::Account { about }) => {
                self.on_account(*about);
                Ok(())
            }
            Some(Word::Lan { .. } | Word::Hears { .. }) | None => {
                tracing::debug!("the gateway says something that this version does not know");
                Ok(())
            }
        }
    }

    fn set_up(&mut self, boot: u64, serve: Vec<Ipv4Net>, udp: bool) -> anyhow::Result<()> {
        self.lost_at = None;
        if self.boot.replace(boot).is_some_and(|old| old != boot) {
            // It knows nothing of what an earlier one has acknowledged.
            self.give_up("the gateway is another, or has started anew")?;
        }
        for reset in std::mem::take(&mut self.owed) {
            self.tunnel.iter_mut().for_each(|t| drop(t.packet(&reset)));
        }
        if let Some(home) = self.parts.args.home.clone() {
            let (device, index) = (self.parts.tun.name().to_owned(), self.parts.tun.index());
            let wanted = Capture { device, home, destinations: serve, udp };
            with(&self.journal, |journal| release(journal).and_then(|()| capture(journal, index, wanted)))??;
            self.captures = true;
        }
        let home = self.parts.args.home.as_deref().unwrap_or("none");
        tracing::info!(gateway = self.remote, home, "access point ready: connected");
        if let (Some(hooks), Some(flows)) = (&mut self.parts.hooks, &self.flows) {
            hooks.connected(flows.address());
        }
        service::ready();
        Ok(())
    }

    /// The tunnel is gone. Connections may go on if it is back soon.
    fn lose(&mut self, why: &str) -> anyhow::Result<()> {
        let Some(tunnel) = self.tunnel.take() else { return Ok(()) };
        tracing::warn!(gateway = self.remote, "the tunnel is gone: {why}");
        self.parts.hooks.iter_mut().for_each(|hooks| hooks.disconnected());
        tunnel.abort();
        let now = self.now();
        (self.dial_at, self.lost_at) = (Some(now + self.pause), Some(now));
        self.put(Input::TunnelDown)
    }

    /// The machine has slept: the gateway is dialled at once, and not when the tunnel is found dead.
    fn wake(&mut self) -> anyhow::Result<()> {
        self.lose("this machine has slept")?;
        // A dial from before may be as dead. It sends no record, so it ends no later tunnel.
        (self.dialling, self.dial_at, self.pause) = (None, Some(self.now()), AGAIN);
        Ok(())
    }

    /// Ends the home's connections, and lets new ones go as if nobody were here.
    fn give_up(&mut self, why: &str) -> anyhow::Result<()> {
        if self.tunnel.is_none() && std::mem::take(&mut self.captures) {
            with(&self.journal, release)??;
        }
        let Some(flows) = &mut self.flows else { return Ok(()) };
        let (home, away) = flows.end_all();
        if !home.is_empty() {
            tracing::warn!(connections = home.len(), "connections are reset: {why}");
        }
        home.iter().try_for_each(|reset| self.send_home(reset))?;
        self.owed.extend(away);
        // Who sends still is told by its next packet.
        let excess = self.owed.len().saturating_sub(4096);
        self.owed.drain(..excess);
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        let Some(tunnel) = &mut self.tunnel else { return Ok(()) };
        let outcome: Result<(), Broken> = tunnel.flush(now);
        let interest = if tunnel.waits() { Interest::ReadWrite } else { Interest::Read };
        self.poller.modify(&*tunnel, TUNNEL, interest)?;
        outcome.or_else(|broken| self.lose(&broken.to_string()))
    }

    /// Told to stop: both ends of each connection are told, while there is a tunnel.
    fn finish(&mut self) {
        let resets = self.flows.as_mut().map(Flows::end_all).unwrap_or_default();
        let told = resets.0.iter().try_for_each(|reset| self.send_home(reset));
        if let Err(error) = told {
            tracing::debug!("the home's connections could not be reset: {error:#}");
        }
        let now = self.now();
        self.settle(now);
        if let Some(mut tunnel) = self.tunnel.take() {
            for reset in resets.1 {
                let _ = tunnel.packet(&reset);
            }
            tunnel.close(now);
        }
    }
}

/// What `Args` cannot say by its types.
pub(super) fn check(args: &Args) -> anyhow::Result<()> {
    if args.home.is_none() && args.share.is_none() && args.monitor.is_none() {
        let words = "an access point has a home to help (--home IFACE), neighbours to help (--share IFACE or --monitor IFACE), or both";
        return Err(failure(Code::Usage, words));
    }
    if args.uplink_rate.is_some_and(|r| !(0.1..=10_000.0).contains(&r)) {
        return Err(failure(Code::Usage, "--uplink-rate is in Mbit/s, from 0.1 to 10000"));
    }
    Ok(())
}
