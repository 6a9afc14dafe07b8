//! The thread that does all of TLS, and the loop's end of it.

use super::conn::Conn;
use super::limits::{self, Verdict};
use super::pipe::{Full, Inbox, Inboxes, News, Outgoing};
use super::{Ended, FIRST, Identity, Target, identity, socket};
use crate::clock;
use crate::poll::{Events, Interest, Poller, Ready, Waker};
use crate::udp::OpenError;
use ropewalk_bond::engine::Shard;
use ropewalk_time::{Bucket, Duration, Time};
use rustls::ClientConfig;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Descriptors that one wait reports at most.
const READY: usize = 64;
/// Names for the poller: the waker, then listeners; connections have their numbers.
const WAKE: u64 = 0;
const LISTEN: u64 = 1;
/// Connections accepted before the others get their turn.
const ACCEPTS: usize = 16;
/// How often it is looked for connections whose time is over.
const TICK: Duration = Duration::from_millis(500);
/// Without a descriptor left, so long nobody is accepted.
const NO_DESCRIPTOR: Duration = Duration::from_secs(1);
/// Bytes read at once.
const ROOM: usize = 64 << 10;
/// A stack of 2 MiB, which is the default, may become one huge page.
const STACK: usize = 512 << 10;

/// What the loop asks of the thread.
enum Order {
    Connect(u32, Target),
    Close(u32),
    Used(Vec<u32>),
    Show(Identity),
}

/// What both ends see.
struct Shared {
    thread: Waker,
    orders: Mutex<Vec<Order>>,
    /// Connections for which something waits that the thread does not know of.
    ready: Mutex<Vec<u32>>,
    inboxes: Inboxes,
    next: AtomicU32,
    /// Loops that have not ended.
    loops: AtomicU32,
    open: AtomicU64,
    refused: AtomicU64,
}

impl Shared {
    /// A number that no connection has had for two thousand million connections.
    fn number(&self) -> u32 {
        FIRST | self.next.fetch_add(1, Ordering::Relaxed)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loop's end: connections by their numbers. When the last of them is dropped, the thread ends,
/// and with it all connections.
pub struct Tls {
    shared: Arc<Shared>,
    /// Which loop.
    number: u32,
    streams: HashMap<u32, Arc<Outgoing>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("streams", &self.streams.len()).finish()
    }
}

/// A listener for each address, which [`Tls::start`] takes: opened while a port below 1024 can be
/// had.
#[derive(Debug, Default)]
pub struct Listeners(Vec<TcpListener>);

impl Listeners {
    /// Listens at each address.
    ///
    /// # Errors
    /// One is taken, is not this machine's, or needs more rights.
    pub fn open(addresses: &[SocketAddr]) -> Result<Listeners, OpenError> {
        addresses.iter().map(|a| socket::listen(*a)).collect::<Result<_, _>>().map(Listeners)
    }

    /// The addresses, with the ports that the kernel chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().filter_map(|l| l.local_addr().ok()).collect()
    }
}

impl Tls {
    /// Starts the thread: at a gateway with listeners and what it shows, at a client with neither.
    ///
    /// # Errors
    /// The kernel has no descriptor or thread left.
    pub fn start(listeners: Listeners, identity: Option<Identity>) -> io::Result<Tls> {
        let ends = Tls::start_for(Shard::WHOLE, listeners, identity)?;
        ends.into_iter().next().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The same for the loops of a gateway, one for each of its engines: each gets the datagrams
    /// that are for its engine, and the news of all connections.
    ///
    /// # Errors
    /// As [`Tls::start`].
    pub fn start_for(shard: Shard, listeners: Listeners, identity: Option<Identity>) -> io::Result<Vec<Tls>> {
        let shared = Arc::new(Shared {
            thread: Waker::new()?,
            orders: Mutex::default(),
            ready: Mutex::default(),
            inboxes: Inboxes::new(shard)?,
            next: AtomicU32::new(0),
            loops: AtomicU32::new(shard.of()),
            open: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let mut thread = Thread::new(Arc::clone(&shared), listeners.0, identity)?;
        let builder = std::thread::Builder::new().name("tls".into()).stack_size(STACK);
        builder.spawn(move || thread.run())?;
        let end = |number| Tls { shared: Arc::clone(&shared), number, streams: HashMap::new() };
        Ok((0..shard.of()).map(end).collect())
    }

    /// What the poller watches: readable when [`Tls::take`] has something.
    pub fn waker(&self) -> &Waker {
        self.shared.inboxes.waker(self.number)
    }

    /// Begins to connect; news under the number that is returned tell how it went.
    pub fn connect(&mut self, target: Target) -> u32 {
        let id = self.shared.number();
        self.order(Order::Connect(id, target));
        id
    }

    /// Ends a connection; no news of it come any more.
    pub fn close(&mut self, id: u32) {
        self.streams.remove(&id);
        self.order(Order::Close(id));
    }

    /// Sessions have paths by these streams; others make room for whoever comes, and are closed in
    /// time. To be said again and again.
    pub fn keep(&mut self, used: Vec<u32>) {
        self.order(Order::Used(used));
    }

    /// Shows another certificate from now on.
    pub fn show(&mut self, identity: Identity) {
        self.order(Order::Show(identity));
    }

    fn order(&self, order: Order) {
        locked(&self.shared.orders).push(order);
        self.shared.thread.wake();
    }

    /// Sends a batch of datagrams of `segment` bytes each, the last may be shorter. On a connection
    /// that is gone they are lost.
    ///
    /// # Errors
    /// Too much waits already: nothing was taken.
    pub fn send(&mut self, id: u32, segment: usize, batch: &[u8]) -> Result<(), Full> {
        let Some(out) = self.streams.get(&id) else { return Ok(()) };
        if out.push(segment, batch)? {
            locked(&self.shared.ready).push(id);
            self.shared.thread.wake();
        }
        Ok(())
    }

    /// Takes what has come since the last call; what `inbox` held is gone.
    pub fn take(&mut self, inbox: &mut Inbox) {
        self.waker().clear();
        inbox.clear();
        std::mem::swap(&mut *self.shared.inboxes.lock(self.number), inbox);
        if inbox.stalled {
            self.shared.thread.wake();
        }
        self.streams.extend(inbox.opened.drain(..));
        for news in &inbox.news {
            if let News::Over { id, .. } = news {
                self.streams.remove(id);
            }
        }
    }

    /// Streams of datagrams now, and connections that were refused so far because there were too
    /// many.
    pub fn counts(&self) -> (u64, u64) {
        (self.shared.open.load(Ordering::Relaxed), self.shared.refused.load(Ordering::Relaxed))
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        self.shared.loops.fetch_sub(1, Ordering::Relaxed);
        self.shared.thread.wake();
    }
}

/// The thread.
struct Thread {
    shared: Arc<Shared>,
    poller: Poller,
    listeners: Vec<TcpListener>,
    /// Nobody is accepted before.
    accept_at: Option<Time>,
    identity: Option<Identity>,
    client: Option<Arc<ClientConfig>>,
    handshakes: Bucket,
    conns: BTreeMap<u32, Conn>,
    /// The connection that was resumed last.
    resumed: u32,
    room: Box<[u8]>,
    tick: Time,
}

impl Thread {
    fn new(
        shared: Arc<Shared>,
        listeners: Vec<TcpListener>,
        identity: Option<Identity>,
    ) -> io::Result<Thread> {
        let poller = Poller::new()?;
        poller.add(&shared.thread, WAKE, Interest::Read)?;
        for (listener, token) in listeners.iter().zip(LISTEN..) {
            poller.add(listener, token, Interest::Read)?;
        }
        let now = clock::now();
        Ok(Thread {
            shared,
            poller,
            listeners,
            accept_at: None,
            identity,
            client: None,
            handshakes: Bucket::default(),
            conns: BTreeMap::new(),
            resumed: 0,
            room: vec![0; ROOM].into(),
            tick: now,
        })
    }

    fn run(&mut self) {
        let mut events = Events::new(READY);
        while self.shared.loops.load(Ordering::Relaxed) > 0 {
            let now = clock::now();
            let tick = (!self.conns.is_empty()).then_some(self.tick.max(now));
            let due = tick.into_iter().chain(self.accept_at).min();
            if let Err(error) = self.poller.wait(&mut events, due.map(|at| at.since(now))) {
                tracing::error!(%error, "TLS has ended");
                return;
            }
            let now = clock::now();
            for ready in events.iter() {
                match ready.token {
                    WAKE => self.on_wake(now),
                    token if token < u64::from(FIRST) => self.accept((token - LISTEN) as usize, now),
                    token => self.on_ready(token as u32, ready, now),
                }
            }
            if self.accept_at.is_some_and(|at| at <= now) {
                self.accept_at = None;
                self.watch_listeners(Interest::Read);
            }
            if self.tick <= now {
                self.tick = now + TICK;
                self.end_expired(now);
            }
        }
    }

    /// The loop has said something.
    fn on_wake(&mut self, now: Time) {
        self.shared.thread.clear();
        let orders = std::mem::take(&mut *locked(&self.shared.orders));
        for order in orders {
            match order {
                Order::Connect(id, target) => self.connect(id, &target, now),
                Order::Close(id) => self.close(id, now),
                Order::Used(ids) => {
                    ids.iter().for_each(|id| {
                        self.conns.get_mut(id).into_iter().for_each(|conn| conn.is_used(now));
                    });
                }
                Order::Show(identity) => self.identity = Some(identity),
            }
        }
        let ready = std::mem::take(&mut *locked(&self.shared.ready));
        for id in ready {
            self.drive(id, |conn, _, _| conn.write(now));
        }
        self.resume(now);
    }

    /// Reads connections that waited for room, in turns: where the loop is slow, the first few fill
    /// the inbox each time.
    fn resume(&mut self, now: Time) {
        let later = self.conns.range((Bound::Excluded(self.resumed), Bound::Unbounded));
        let turns = later.chain(self.conns.range(..=self.resumed));
        let paused = turns.filter(|(_, conn)| conn.paused);
        let paused: Vec<(u32, u32)> = paused.map(|(id, conn)| (*id, conn.reader)).collect();
        for (id, reader) in paused {
            if self.shared.inboxes.lock(reader).stalls() {
                continue;
            }
            self.resumed = id;
            self.drive(id, |conn, room, shared| conn.read(room, &shared.inboxes, now));
        }
    }

    fn connect(&mut self, id: u32, target: &Target, now: Time) {
        let config = match &self.client {
            Some(config) => Ok(Arc::clone(config)),
            None => identity::client_config().map_err(|e| Ended::NotTls(e.to_string())),
        };
        let conn = config.and_then(|config| {
            self.client = Some(Arc::clone(&config));
            Conn::to(id, target, config, now)
        });
        match conn {
            Ok(conn) => self.keep(conn),
            Err(why) => self.tell(News::Over { id, why }),
        }
    }

    /// What waits is sent, as far as it goes at once.
    fn close(&mut self, id: u32, now: Time) {
        if let Some(mut conn) = self.conns.remove(&id) {
            let _ = conn.write(now);
            self.count();
        }
    }

    fn keep(&mut self, mut conn: Conn) {
        let interest = conn.interest();
        match self.poller.add(&conn.stream, conn.id.into(), interest) {
            Ok(()) => {
                conn.watched = Some(interest);
                self.conns.insert(conn.id, conn);
            }
            Err(error) if conn.is_known() => {
                self.tell(News::Over { id: conn.id, why: Ended::Tcp(error.to_string()) });
            }
            Err(_) => {}
        }
    }

    fn accept(&mut self, at: usize, now: Time) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(at) else { return };
            match listener.accept() {
                Ok((stream, remote)) => {
                    if self.admit(stream, remote, now)
                        && let Err(later) = self.handshakes.take(limits::HANDSHAKES, now)
                    {
                        return self.rest(later);
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // It was gone again before it was accepted.
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted");
                    return self.rest(now + NO_DESCRIPTOR);
                }
            }
        }
    }

    /// Nobody is accepted until then.
    fn rest(&mut self, until: Time) {
        self.accept_at = Some(until);
        self.watch_listeners(Interest::Nothing);
    }

    fn watch_listeners(&self, interest: Interest) {
        for (listener, token) in self.listeners.iter().zip(LISTEN..) {
            if let Err(error) = self.poller.modify(listener, token, interest) {
                tracing::warn!(%error, "a listener cannot be watched");
            }
        }
    }

    /// `true` if a handshake begins.
    fn admit(&mut self, stream: TcpStream, remote: SocketAddr, now: Time) -> bool {
        let there = self.conns.values().map(|c| (c.remote.ip(), c.half_open(now)));
        let goes = match limits::admit(remote.ip(), there) {
            Verdict::Take => None,
            Verdict::Replace => self.oldest(now, |_| true),
            Verdict::ReplaceOwn => {
                let own = limits::network(remote.ip());
                self.oldest(now, |address| limits::network(address) == own)
            }
            Verdict::Refuse => {
                self.shared.refused.fetch_add(1, Ordering::Relaxed);
                return false;
            }
        };
        if let Some(id) = goes {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            self.end(id, Ended::Late("it made room for another"));
        }
        let Some(identity) = &self.identity else { return false };
        let config = Arc::clone(&identity.0);
        match Conn::from(self.shared.number(), (stream, remote), config, now) {
            Ok(conn) => self.keep(conn),
            Err(why) => tracing::debug!(%remote, %why, "a connection is of no use"),
        }
        true
    }

    /// The connection that has been half open for longest, of these addresses.
    fn oldest(&self, now: Time, of: impl Fn(IpAddr) -> bool) -> Option<u32> {
        let these = self.conns.values().filter(|c| of(c.remote.ip()));
        let ages = these.filter_map(|c| Some((Reverse(c.half_open(now)?), c.id)));
        ages.min().map(|(_, id)| id)
    }

    fn on_ready(&mut self, id: u32, ready: Ready, now: Time) {
        self.drive(id, |conn, room, shared| {
            if ready.writable {
                conn.on_writable(now)?;
            }
            if ready.readable { conn.read(room, &shared.inboxes, now) } else { Ok(()) }
        });
    }

    /// Does something with a connection, and what has to follow.
    fn drive(&mut self, id: u32, work: impl FnOnce(&mut Conn, &mut [u8], &Shared) -> Result<(), Ended>) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let was_open = conn.is_open();
        let outcome = work(conn, &mut self.room, &self.shared);
        let interest = conn.interest();
        let outcome = outcome.and_then(|()| {
            if conn.watched != Some(interest) {
                self.poller
                    .modify(&conn.stream, id.into(), interest)
                    .map_err(|e| Ended::Tcp(e.to_string()))?;
                conn.watched = Some(interest);
            }
            Ok(())
        });
        let is_changed = conn.is_open() != was_open;
        if let Err(why) = outcome {
            self.end(id, why);
        } else if is_changed {
            self.count();
        }
        self.shared.inboxes.wake();
    }

    fn end(&mut self, id: u32, why: Ended) {
        let Some(conn) = self.conns.remove(&id) else { return };
        tracing::debug!(remote = %conn.remote, %why, "a connection has ended");
        self.count();
        if conn.is_known() {
            self.tell(News::Over { id, why });
        }
    }

    fn tell(&self, news: News) {
        self.shared.inboxes.tell(|inbox| inbox.news.push(news.clone()));
        self.shared.inboxes.wake();
    }

    fn count(&self) {
        let open = self.conns.values().filter(|c| c.is_open()).count();
        self.shared.open.store(open as u64, Ordering::Relaxed);
    }

    fn end_expired(&mut self, now: Time) {
        let over: Vec<(u32, Ended)> =
            self.conns.values().filter_map(|c| Some((c.id, c.expired(now)?))).collect();
        over.into_iter().for_each(|(id, why)| self.end(id, why));
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
