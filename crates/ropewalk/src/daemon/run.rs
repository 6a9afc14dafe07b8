//! The loop itself.

use super::core::{Buffers, Core};
use super::handshakes::HandshakeThread;
use super::mailbox::Mailbox;
use super::watchdog::Watchdog;
use super::workers::{Message, TURN};
use crate::control::protocol::{Request, Response};
use crate::report::history::History;
use anyhow::Context;
use ropewalk_bond::api::{Event, Input};
use ropewalk_bond::config::Config;
use ropewalk_net::clock;
use ropewalk_net::poll::{Events, Interest, Poller, Ready, Signal, Signals, SleepWatch};
use ropewalk_net::service;
use ropewalk_net::tls::{News, Target, Tls};
use ropewalk_net::tun::Tun;
use ropewalk_time::{Duration, Time};
use std::os::fd::AsFd;

/// Descriptors that one wait reports at most.
const READY: usize = 64;
/// Names of descriptors for the poller; sockets come after.
const MAIL: u64 = 1;
const SIGNALS: u64 = 2;
const NEWS: u64 = 3;
const HANDSHAKES: u64 = 4;
const STREAMS: u64 = 5;
const SLEEP: u64 = 6;
const WORKERS: u64 = 7;
const LINKS: u64 = 16;
/// What links say of themselves; sockets have 32 bits.
const FEEDBACK: u64 = 1 << 33;
/// Devices, the same.
const DEVICES: u64 = 1 << 34;
/// How long the last words may take: [`Core::engine`]'s `close` puts one datagram on each path.
const FAREWELL: Duration = Duration::from_millis(50);

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On.
    Continue,
    /// It ends in good order.
    Stop,
}

/// What a gateway or a client adds to the loop. Nothing here happens per packet.
pub(crate) trait Role {
    /// The engine has news.
    fn on_event(&mut self, running: &mut Running, event: Event, now: Time) -> anyhow::Result<Flow>;
    /// Somebody asks or orders something.
    fn on_request(&mut self, running: &mut Running, request: Request, now: Time) -> Response;
    /// The interfaces of this machine changed.
    fn on_news(&mut self, running: &mut Running, now: Time) -> anyhow::Result<()>;
    /// The time of [`Role::due`] has come.
    fn on_timer(&mut self, running: &mut Running, now: Time) -> anyhow::Result<Flow>;
    /// A connection of TLS carries datagrams now, or is over.
    fn on_stream(&mut self, running: &mut Running, news: News, now: Time);
    /// The configuration is to be read again.
    fn on_reload(&mut self, running: &mut Running, now: Time);
    /// When [`Role::on_timer`] is due.
    fn due(&self) -> Time;
    /// The start is done, and systemd was told so.
    fn is_ready(&self) -> bool {
        true
    }
    /// The loop ends; the sessions are still there.
    fn on_stop(&mut self, _running: &mut Running, _now: Time) {}
}

/// The loop's own things.
pub(crate) struct Running {
    /// Engine, devices, sockets.
    pub core: Core,
    poller: Poller,
    mailbox: Mailbox,
    /// The first loop's.
    signals: Option<Signals>,
    /// Ends a wait that began before the machine slept; none where the kernel has no such thing.
    sleep: Option<SleepWatch>,
    watchdog: Watchdog,
    /// A gateway's handshakes are done there.
    handshakes: Option<HandshakeThread>,
    /// How long to look for work before going to sleep.
    busy_poll: Duration,
    /// What happened, for whoever asks.
    pub history: History,
}

impl Running {
    /// Ready to run.
    pub(crate) fn new(
        core: Core,
        mailbox: Mailbox,
        signals: Option<Signals>,
        busy_poll: Duration,
    ) -> anyhow::Result<Running> {
        let poller = Poller::new().context("epoll cannot be had")?;
        for (id, device) in core.devices.iter() {
            poller.add(&device.tun, DEVICES + u64::from(id), Interest::Read)?;
        }
        poller.add(mailbox.waker(), MAIL, Interest::Read)?;
        if let Some(signals) = &signals {
            poller.add(signals, SIGNALS, Interest::Read)?;
        }
        if let Some(workers) = &core.workers {
            poller.add(workers.waker(), WORKERS, Interest::Read)?;
        }
        let sleep = SleepWatch::told_to(&poller, SLEEP);
        let watchdog = Watchdog::new(clock::now());
        let history = History::default();
        Ok(Running { core, poller, mailbox, signals, sleep, watchdog, handshakes: None, busy_poll, history })
    }

    /// The engine's handshakes are worked on by another thread.
    pub(crate) fn hand_out_handshakes(&mut self) -> anyhow::Result<()> {
        let thread = HandshakeThread::start()?;
        self.poller.add(thread.waker(), HANDSHAKES, Interest::Read)?;
        self.core.engine.hand_out_handshakes();
        self.handshakes = Some(thread);
        Ok(())
    }

    /// Reports to [`Role::on_news`] when `news` can be read.
    pub(crate) fn watch_news(&self, news: impl AsFd) -> anyhow::Result<()> {
        Ok(self.poller.add(news, NEWS, Interest::Read)?)
    }

    /// Adds a device to the loop under the engine's number for it.
    pub(crate) fn add_device(&mut self, id: u32, tun: Tun) -> anyhow::Result<()> {
        self.poller.add(&tun, DEVICES + u64::from(id), Interest::Read)?;
        self.core.devices.insert(id, tun);
        Ok(())
    }

    /// Takes a device out of the loop, and out of this machine.
    pub(crate) fn remove_device(&mut self, id: u32) {
        self.core.devices.remove(id);
    }

    /// Adds a socket to the loop; returns the engine's number for it.
    pub(crate) fn add_socket(
        &mut self,
        socket: ropewalk_net::udp::UdpSocket,
        name: String,
        mtu: Option<u16>,
    ) -> anyhow::Result<u32> {
        let id = self.core.sockets.add(socket, name, mtu);
        if let Some(link) = self.core.sockets.get(id) {
            self.poller.add(&link.socket, LINKS + u64::from(id), Interest::Read)?;
        }
        Ok(id)
    }

    /// Closes a socket.
    pub(crate) fn remove_socket(&mut self, id: u32) {
        self.core.sockets.remove(id);
        self.core.links.forget_socket(id);
    }

    /// A gateway's TLS is done there.
    pub(crate) fn offer_tls(&mut self, tls: Tls) -> anyhow::Result<()> {
        self.poller.add(tls.waker(), STREAMS, Interest::Read)?;
        self.core.streams.begin(tls);
        Ok(())
    }

    /// Begins to connect by TLS; returns the engine's number for the stream that may come of it.
    pub(crate) fn connect(&mut self, target: Target) -> anyhow::Result<u32> {
        let (tls, is_new) = self.core.streams.started().context("TLS cannot be used")?;
        if is_new {
            self.poller.add(tls.waker(), STREAMS, Interest::Read)?;
        }
        Ok(self.core.streams.connect(target)?)
    }

    /// Closes a stream.
    pub(crate) fn close_stream(&mut self, id: u32) {
        self.core.streams.close(id);
        self.core.links.forget_socket(id);
    }

    /// Reads what links say of themselves, as far as it is due.
    fn read_links(&mut self, now: Time) {
        if now >= self.core.links.due() {
            let Core { links, engine, sockets, keep_local, .. } = &mut self.core;
            let own = (!*keep_local).then_some(sockets);
            links.read(engine, own, (&self.poller, FEEDBACK), now);
        }
    }

    /// Changes the engine's settings, which are the whole gateway's, and how long to look for work
    /// before sleeping.
    pub(crate) fn reconfigure(&mut self, config: Config, busy_poll: Duration) {
        self.busy_poll = busy_poll;
        if let Some(workers) = self.core.workers.as_ref().filter(|workers| workers.is_first()) {
            workers.send_to_others(|| Message::Settings(Box::new(config.clone()), busy_poll));
        }
        let of = self.core.engine.shard().of();
        self.core.engine.reconfigure(config.part(of));
    }

    /// Tells the other loops to end.
    pub(crate) fn stop_others(&self) {
        self.core.workers.iter().for_each(|workers| workers.send_to_others(|| Message::Stop));
    }

    /// Hands other loops what the engine has for theirs.
    fn exchange(&mut self) {
        let Core { engine, workers: Some(workers), .. } = &mut self.core else { return };
        while let Some((to, visitor)) = engine.next_visitor() {
            if workers.has_room_for_visitor(to) {
                workers.send(to, Message::Visitor(visitor));
            } else {
                engine.forget_visitor(visitor, clock::now());
            }
        }
        while let Some(reply) = engine.next_reply() {
            workers.send(0, Message::Reply(reply));
        }
    }

    /// Before the role hears of it: whose the addresses inside are.
    fn note_client(&self, event: &Event) {
        let Core { engine, workers: Some(workers), .. } = &self.core else { return };
        match event {
            Event::ClientUp { client, inside, .. } => workers.client_came(client, inside),
            // Another session of it may have begun meanwhile.
            Event::ClientDown { client, .. } if engine.inside_of(client).is_empty() => {
                workers.client_went(client);
            }
            _ => {}
        }
    }

    /// Waits for work until `due`; busily at first, if asked to.
    fn wait(&self, events: &mut Events, due: Time) -> anyhow::Result<()> {
        let now = clock::now();
        if !self.busy_poll.is_zero() {
            let until = due.min(now + self.busy_poll);
            while clock::now() < until {
                self.poller.wait(events, Some(Duration::ZERO))?;
                if events.iter().next().is_some() {
                    return Ok(());
                }
            }
        }
        let timeout = (due != Time::NEVER).then(|| due.since(clock::now()));
        Ok(self.poller.wait(events, timeout)?)
    }

    /// The engine says goodbye to every peer.
    fn farewell(&mut self) -> anyhow::Result<()> {
        self.core.engine.close();
        let until = clock::now() + FAREWELL;
        loop {
            let due = self.core.pump()?;
            let now = clock::now();
            if now >= until || due > until {
                return Ok(());
            }
            std::thread::sleep(due.since(now));
            self.core.on_timeout(clock::now());
        }
    }
}

/// Runs until told to stop. On the way out the peers are told.
pub(crate) fn run(running: &mut Running, role: &mut impl Role) -> anyhow::Result<()> {
    let mut events = Events::new(READY);
    let mut buffers = Buffers::new();
    let outcome = turns(running, role, &mut events, &mut buffers);
    if running.core.workers.as_ref().is_none_or(|workers| workers.is_first()) {
        service::stopping();
        running.stop_others();
    }
    role.on_stop(running, clock::now());
    let farewell = running.farewell();
    outcome.and(farewell)
}

fn turns(
    running: &mut Running,
    role: &mut impl Role,
    events: &mut Events,
    buffers: &mut Buffers,
) -> anyhow::Result<()> {
    loop {
        while let Some(news) = running.core.streams.next_news() {
            role.on_stream(running, news, clock::now());
        }
        running.core.pump()?;
        running.core.give_way(buffers)?;
        let engine_due = running.core.pump()?;
        if let Some(thread) = &mut running.handshakes {
            thread.give_jobs(&mut running.core.engine);
        }
        running.exchange();
        while let Some(event) = running.core.events.pop_front() {
            running.note_client(&event);
            if role.on_event(running, event, clock::now())? == Flow::Stop {
                return Ok(());
            }
        }
        let due = engine_due.min(role.due()).min(running.watchdog.due()).min(running.core.links.due());
        running.wait(events, due)?;
        running.core.counters.wakeups += 1;
        for ready in events.iter() {
            if serve(running, role, ready, buffers)? == Flow::Stop {
                return Ok(());
            }
        }
        let now = clock::now();
        running.read_links(now);
        running.core.on_timeout(now);
        running.core.workers.iter().for_each(|workers| workers.mark_turn());
        running.watchdog.on_timer(now, running.core.workers.as_ref());
        if now >= role.due() && role.on_timer(running, now)? == Flow::Stop {
            return Ok(());
        }
    }
}

/// One descriptor has something for us.
fn serve(
    running: &mut Running,
    role: &mut impl Role,
    ready: Ready,
    buffers: &mut Buffers,
) -> anyhow::Result<Flow> {
    match ready.token {
        MAIL => {
            running.mailbox.waker().clear();
            while let Some(post) = running.mailbox.next() {
                let answer = role.on_request(running, post.request, clock::now());
                // Whoever asked may have gone.
                let _ = post.reply.try_send(answer);
            }
        }
        SIGNALS => return Ok(on_signals(running, role)),
        NEWS => role.on_news(running, clock::now())?,
        HANDSHAKES => {
            if let Some(thread) = &mut running.handshakes {
                thread.take_results(&mut running.core.engine, clock::now());
            }
        }
        STREAMS => running.core.read_streams()?,
        WORKERS => return on_messages(running, role),
        // The turn looks at all timers.
        SLEEP => running.sleep.iter().for_each(SleepWatch::clear),
        device if device >= DEVICES => running.core.read_device((device - DEVICES) as u32, buffers)?,
        news if news >= FEEDBACK => {
            let Core { links, engine, .. } = &mut running.core;
            links.on_news(news - FEEDBACK, engine, clock::now());
        }
        link => running.core.read_socket((link - LINKS) as u32, buffers)?,
    }
    Ok(Flow::Continue)
}

/// Other loops have handed something over.
fn on_messages(running: &mut Running, role: &mut impl Role) -> anyhow::Result<Flow> {
    running.core.workers.iter().for_each(|workers| workers.waker().clear());
    for _ in 0..TURN {
        let Some(message) = running.core.workers.as_ref().and_then(|workers| workers.next()) else {
            return Ok(Flow::Continue);
        };
        let (now, engine) = (clock::now(), &mut running.core.engine);
        match message {
            Message::Visitor(visitor) => engine.on_visitor(visitor, now),
            Message::Reply(reply) => engine.on_reply(reply, now),
            Message::Event(event) => {
                if role.on_event(running, event, now)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Message::Packet { vnet, bytes } => {
                engine.handle(Input::Device { device: 0, vnet, packet: &bytes }, now);
                running.core.pump()?;
            }
            Message::Datagrams { link, remote, local, ecn, segment, mut bytes } => {
                engine.handle(Input::Datagrams { link, remote, local, segment, bytes: &mut bytes, ecn }, now);
                running.core.pump()?;
            }
            Message::Settings(config, busy_poll) => {
                // Whether clients reach each other is told by itself, perhaps since these were read.
                let client_to_client = engine.config().client_to_client;
                running.reconfigure(Config { client_to_client, ..*config }, busy_poll);
            }
            Message::Failed(why) => anyhow::bail!(why),
            Message::Stop => return Ok(Flow::Stop),
        }
    }
    // There may be more, and the sockets come first.
    running.core.workers.iter().for_each(|workers| workers.waker().wake());
    Ok(Flow::Continue)
}

fn on_signals(running: &mut Running, role: &mut impl Role) -> Flow {
    let (mut stop, mut reload) = (false, false);
    for signal in running.signals.iter_mut().flat_map(Signals::pending) {
        stop |= signal == Signal::Stop;
        reload |= signal == Signal::Reload;
    }
    if stop {
        tracing::info!("stopping");
        return Flow::Stop;
    }
    if reload {
        // The end of a reload is told as the end of a start is.
        let is_ready = role.is_ready();
        if is_ready {
            service::reloading();
        }
        role.on_reload(running, clock::now());
        if is_ready {
            service::ready();
        }
    }
    Flow::Continue
}
