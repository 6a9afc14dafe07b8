//! Several loops of one gateway, each a thread with an engine, sockets and a queue of the device of its own; what they hand each other.
//!
//! ```text
//!   sockets of one address ──▶ the loop that the datagram's index names      (net::udp, a program in the kernel)
//!   queues of the device ────▶ the loop by whose queue the connection was written last    (the kernel's guess)
//!                              └─ wrong for whatever begins at this end: handed on, once
//! ```
//!
//! The first loop is the gateway: it has the handshakes, the commands and all news. The others carry packets. Nothing is shared for each packet but
//! the table of whose the addresses inside are, which is read.

use crate::state::pool::Pool;
use ipnet::{IpNet, Ipv6Net};
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{Reply, Shard, Visitor};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::poll::Waker;
use ropewalk_session::PublicKey;
use ropewalk_time::Duration;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};

/// Messages of a kind that wait for a loop at most: bytes of packets and of datagrams, clients to let in, news of paths.
/// Beyond, packets and datagrams are dropped as by a full queue, clients ask again, and news of paths are not told.
const MOST: [usize; 4] = [1 << 20, 1 << 20, 256, 1024];
const PACKETS: usize = 0;
const DATAGRAMS: usize = 1;
const VISITORS: usize = 2;
const PATHS: usize = 3;
/// Messages that a loop takes before its sockets get their turn.
pub(super) const TURN: usize = 256;

/// What one loop hands another.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client that is the other's.
    Visitor(Visitor),
    /// What the first loop is to say to a client.
    Reply(Reply),
    /// News for the gateway.
    Event(Event),
    /// A packet of the device.
    Packet { vnet: Vnet, bytes: Vec<u8> },
    /// Datagrams of `segment` bytes each; the last may be shorter.
    Datagrams {
        link: u32,
        remote: SocketAddr,
        local: Option<IpAddr>,
        ecn: u8,
        segment: usize,
        bytes: Vec<u8>,
    },
    /// Settings that were read again: of the engine, and how long to look for work.
    Settings(Box<Config>, Duration),
    /// The loop has ended, for this reason.
    Failed(String),
    /// The gateway ends.
    Stop,
}

impl Message {
    /// Which of [`MOST`] bounds it, and what it counts there. Who comes and goes, replies, settings
    /// and the end are always told: each answers one of the bounded.
    fn cost(&self) -> Option<(usize, usize)> {
        match self {
            Message::Packet { bytes, .. } => Some((PACKETS, bytes.len() + size_of::<Message>())),
            Message::Datagrams { bytes, .. } => Some((DATAGRAMS, bytes.len() + size_of::<Message>())),
            Message::Visitor(_) => Some((VISITORS, 1)),
            Message::Event(Event::Path { .. } | Event::Outage { .. }) => Some((PATHS, 1)),
            _ => None,
        }
    }
}

/// What waits for a loop.
#[derive(Clone, Debug)]
struct Queue {
    sender: Sender<Message>,
    waker: Arc<Waker>,
    /// What counts, by [`MOST`].
    waiting: Arc<[AtomicUsize; MOST.len()]>,
    /// It has turned since it was last asked.
    turned: Arc<AtomicBool>,
}

/// Who has a packet of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// This loop.
    ThisLoop,
    /// Another.
    Loop(u32),
    /// Clients do not reach each other.
    Nobody,
}

/// One loop's end of what loops hand each other.
#[derive(Debug)]
pub(crate) struct Workers {
    shard: Shard,
    inbox: Receiver<Message>,
    queues: Vec<Queue>,
    clients: Arc<RwLock<Clients>>,
    /// Where clients have their addresses, and networks behind them, from.
    pool: Pool,
    /// The gateway's addresses inside, with the networks that clients have theirs from.
    networks: Vec<IpNet>,
}

/// Ends for so many loops; none where there is one alone. Clients have their addresses from `pool`.
pub(crate) fn workers(count: u32, pool: Pool) -> io::Result<Vec<Option<Workers>>> {
    if count < 2 {
        return Ok(vec![None]);
    }
    let (mut inboxes, mut queues) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (sender, inbox) = channel();
        let waker = Arc::new(Waker::new()?);
        queues.push(Queue { sender, waker, waiting: Arc::default(), turned: Arc::default() });
        inboxes.push(inbox);
    }
    let clients = Arc::<RwLock<Clients>>::default();
    let end = |(number, inbox): (u32, Receiver<Message>)| {
        let shard = Shard::new(number, count)?;
        let (queues, clients, networks) = (queues.clone(), Arc::clone(&clients), pool.gateway());
        Some(Workers { shard, inbox, queues, clients, pool, networks })
    };
    Ok((0..).zip(inboxes).map(end).collect())
}

impl Workers {
    /// Which loop this is, of how many.
    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// Whether this is the gateway itself.
    pub(crate) fn is_first(&self) -> bool {
        self.shard.number() == 0
    }

    /// What tells the gateway when this loop's thread has ended, however it ends.
    pub(crate) fn last_words(&self) -> LastWords {
        LastWords { first: self.queues[0].clone(), number: self.shard.number() }
    }

    /// What the poller watches.
    pub(super) fn waker(&self) -> &Waker {
        &self.own().waker
    }

    fn own(&self) -> &Queue {
        &self.queues[self.shard.number() as usize]
    }

    /// Hands something to another loop; `false` if too much waits there.
    pub(crate) fn send(&self, to: u32, message: Message) -> bool {
        let Some(queue) = self.queues.get(to as usize) else { return false };
        if let Some((kind, cost)) = message.cost() {
            let waiting = &queue.waiting[kind];
            if waiting.fetch_add(cost, Ordering::Relaxed) >= MOST[kind] {
                waiting.fetch_sub(cost, Ordering::Relaxed);
                return false;
            }
        }
        // A loop that has ended takes nothing, and the gateway is ending, too.
        let is_sent = queue.sender.send(message).is_ok();
        queue.waker.wake();
        is_sent
    }

    /// Whether one more client may wait for a loop.
    pub(super) fn has_room_for_visitor(&self, to: u32) -> bool {
        let waiting = |q: &Queue| q.waiting[VISITORS].load(Ordering::Relaxed);
        self.queues.get(to as usize).is_some_and(|queue| waiting(queue) < MOST[VISITORS])
    }

    /// Something for each of the others.
    pub(crate) fn send_to_others(&self, message: impl Fn() -> Message) {
        let others = (0..self.shard.of()).filter(|number| *number != self.shard.number());
        for number in others {
            self.send(number, message());
        }
    }

    /// What the others have handed over.
    pub(super) fn next(&self) -> Option<Message> {
        let message = self.inbox.try_recv().ok()?;
        if let Some((kind, cost)) = message.cost() {
            self.own().waiting[kind].fetch_sub(cost, Ordering::Relaxed);
        }
        Some(message)
    }

    /// This loop turns.
    pub(super) fn mark_turn(&self) {
        self.own().turned.store(true, Ordering::Relaxed);
    }

    /// Whether all loops have turned since this was last so.
    pub(super) fn have_turned(&self) -> bool {
        let others = || self.queues.iter().skip(1);
        let all = others().all(|p| p.turned.load(Ordering::Relaxed));
        if all {
            others().for_each(|p| p.turned.store(false, Ordering::Relaxed));
        }
        all
    }

    /// A client has a session in this loop's engine: packets for these addresses, and for the network
    /// behind it, are this loop's.
    pub(super) fn client_came(&self, client: &PublicKey, inside: &[IpAddr]) {
        let behind = |address: &IpAddr| match address {
            IpAddr::V6(address) => self.pool.network_behind(*address).map(|n| IpAddr::V6(n.network())),
            IpAddr::V4(_) => None,
        };
        let all: Vec<IpAddr> = inside.iter().copied().chain(inside.iter().filter_map(behind)).collect();
        let mut clients = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        clients.put(client, &all, self.shard.number());
    }

    /// A client has none any more.
    pub(super) fn client_went(&self, client: &PublicKey) {
        self.clients.write().unwrap_or_else(PoisonError::into_inner).remove(client, self.shard.number());
    }

    /// Who has a packet that came by this loop's queue. `are_joined`: clients may reach each other.
    pub(super) fn owner_of(&self, packet: &[u8], are_joined: bool) -> Owner {
        let Some((from, to)) = ends(packet) else { return Owner::ThisLoop };
        if !are_joined && self.is_a_clients(&from) && self.is_a_clients(&to) {
            return Owner::Nobody;
        }
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        match clients.number_of(&to) {
            // Its engine counts it.
            None => Owner::ThisLoop,
            Some(number) if number == self.shard.number() => Owner::ThisLoop,
            Some(number) => Owner::Loop(number),
        }
    }

    /// Whether an address is a client's, or may become one: a client's first packets are here before
    /// all loops know of it.
    fn is_a_clients(&self, address: &IpAddr) -> bool {
        self.networks.iter().any(|net| net.contains(address) && net.addr() != *address)
    }
}

/// Tells the gateway that a worker has ended: without one of them it cannot go on.
#[derive(Debug)]
pub(crate) struct LastWords {
    first: Queue,
    number: u32,
}

impl LastWords {
    /// It ended with an error.
    pub(crate) fn failed(&self, error: &anyhow::Error) {
        self.say(format!("worker {} cannot go on: {error:#}", self.number));
    }

    fn say(&self, why: String) {
        // A gateway that ends, too, does not listen.
        let _ = self.first.sender.send(Message::Failed(why));
        self.first.waker.wake();
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.say(format!("worker {} has panicked: the lines before this one say where", self.number));
        }
    }
}

/// Which loops have which addresses inside.
#[derive(Debug, Default)]
struct Clients {
    of: HashMap<IpAddr, (u32, PublicKey)>,
    addresses: HashMap<PublicKey, Vec<IpAddr>>,
}

impl Clients {
    /// A network behind a client has its place under its first address, which no host has.
    fn number_of(&self, address: &IpAddr) -> Option<u32> {
        let network = || match address {
            IpAddr::V6(address) => {
                let network = Ipv6Net::new(*address, 64).ok()?.network();
                self.of.get(&IpAddr::V6(network))
            }
            IpAddr::V4(_) => None,
        };
        self.of.get(address).or_else(network).map(|(number, _)| *number)
    }

    fn put(&mut self, client: &PublicKey, inside: &[IpAddr], number: u32) {
        self.forget(client, |_| true);
        self.of.extend(inside.iter().map(|address| (*address, (number, *client))));
        self.addresses.insert(*client, inside.to_vec());
    }

    /// Those that the loop with this number has.
    fn remove(&mut self, client: &PublicKey, number: u32) {
        self.forget(client, |of| of == number);
    }

    /// An address may have become another client's.
    fn forget(&mut self, client: &PublicKey, has: impl Fn(u32) -> bool) {
        let Some(mut addresses) = self.addresses.remove(client) else { return };
        addresses.retain(|address| match self.of.get(address) {
            Some((number, owner)) if owner == client && has(*number) => {
                self.of.remove(address);
                false
            }
            Some((_, owner)) => owner == client,
            None => false,
        });
        if !addresses.is_empty() {
            self.addresses.insert(*client, addresses);
        }
    }
}

/// Source and destination of an IP packet.
fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let at = |from: usize| packet.get(from..from + 4)?.try_into().ok().map(<[u8; 4]>::into);
            Some((at(12)?, at(16)?)).map(|(s, d): (Ipv4Addr, Ipv4Addr)| (s.into(), d.into()))
        }
        6 => {
            let at = |from: usize| packet.get(from..from + 16)?.try_into().ok().map(<[u8; 16]>::into);
            Some((at(8)?, at(24)?)).map(|(s, d): (Ipv6Addr, Ipv6Addr)| (s.into(), d.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_bond::path::State;

    const ALICE: PublicKey = PublicKey([1; 32]);
    const BOB: PublicKey = PublicKey([2; 32]);

    fn packet(from: &str, to: &str) -> Vec<u8> {
        match (from.parse().unwrap(), to.parse().unwrap()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                [&[0x45; 12][..], &from.octets(), &to.octets(), &[0; 8]].concat()
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                [&[0x60; 8][..], &from.octets(), &to.octets(), &[0; 8]].concat()
            }
            _ => panic!("two kinds"),
        }
    }

    fn two() -> [Workers; 2] {
        let networks = ["10.77.0.1/24", "fd77::1/64"].map(|n| n.parse().unwrap());
        two_of(Pool::new(&networks).unwrap())
    }

    fn two_of(pool: Pool) -> [Workers; 2] {
        workers(2, pool).unwrap().into_iter().map(Option::unwrap).collect::<Vec<_>>().try_into().unwrap()
    }

    fn inside(addresses: &[&str]) -> Vec<IpAddr> {
        addresses.iter().map(|a| a.parse().unwrap()).collect()
    }

    #[test]
    fn a_packet_goes_to_the_loop_that_has_the_client() {
        let [first, second] = two();
        first.client_came(&ALICE, &inside(&["10.77.0.2", "fd77::2"]));
        second.client_came(&BOB, &inside(&["10.77.0.3", "fd77::3"]));
        for (from, of_alice, of_bob) in
            [("192.0.2.1", "10.77.0.2", "10.77.0.3"), ("2001:db8::1", "fd77::2", "fd77::3")]
        {
            assert_eq!(first.owner_of(&packet(from, of_alice), false), Owner::ThisLoop);
            assert_eq!(first.owner_of(&packet(from, of_bob), false), Owner::Loop(1));
            assert_eq!(second.owner_of(&packet(from, of_alice), false), Owner::Loop(0));
            assert_eq!(second.owner_of(&packet(from, from), false), Owner::ThisLoop, "nobody's");
            assert_eq!(first.owner_of(&packet(of_alice, of_bob), false), Owner::Nobody);
            assert_eq!(second.owner_of(&packet(of_alice, of_bob), false), Owner::Nobody, "by either queue");
            assert_eq!(first.owner_of(&packet(of_alice, of_bob), true), Owner::Loop(1));
        }
        for (from, to) in [("10.77.0.9", "10.77.0.3"), ("fd77::9", "fd77::3")] {
            assert_eq!(
                first.owner_of(&packet(from, to), false),
                Owner::Nobody,
                "a client that is not known yet"
            );
        }
        for (from, to) in [("10.77.0.1", "10.77.0.3"), ("fd77::1", "fd77::3")] {
            assert_eq!(first.owner_of(&packet(from, to), false), Owner::Loop(1), "the gateway itself");
        }
        for broken in [&[][..], &[0x45; 19], &[0x60; 39], &[0x20; 60]] {
            assert_eq!(first.owner_of(broken, false), Owner::ThisLoop, "its engine drops it");
        }
    }

    #[test]
    fn a_packet_for_a_network_behind_a_client_goes_to_its_loop() {
        let pool = Pool::new(&["2001:db8:100::1/56".parse().unwrap()]).unwrap();
        let [first, second] = two_of(pool.delegating());
        second.client_came(&BOB, &inside(&["2001:db8:100:2::7277"]));
        let to = |address: &str| first.owner_of(&packet("2001:db8:9::1", address), false);
        assert_eq!([to("2001:db8:100:2::9"), to("2001:db8:100:2::7277")], [Owner::Loop(1); 2]);
        assert_eq!(to("2001:db8:100:3::9"), Owner::ThisLoop, "nobody's");
        let between = packet("2001:db8:100:1::9", "2001:db8:100:2::9");
        assert_eq!(first.owner_of(&between, false), Owner::Nobody);
        second.client_went(&BOB);
        assert_eq!(first.owner_of(&packet("2001:db8:9::1", "2001:db8:100:2::9"), false), Owner::ThisLoop);
    }

    #[test]
    fn an_address_that_went_to_another_client_stays_there() {
        let [first, second] = two();
        first.client_came(&ALICE, &inside(&["10.77.0.2"]));
        second.client_came(&BOB, &inside(&["10.77.0.2"]));
        first.client_went(&ALICE);
        let here = packet("192.0.2.1", "10.77.0.2");
        assert_eq!(first.owner_of(&here, false), Owner::Loop(1));
        first.client_went(&BOB);
        assert_eq!(first.owner_of(&here, false), Owner::Loop(1), "only its own loop says so");
        second.client_went(&BOB);
        assert_eq!(first.owner_of(&here, false), Owner::ThisLoop);
        let clients = first.clients.read().unwrap();
        assert!(clients.of.is_empty() && clients.addresses.is_empty(), "{clients:?}");
    }

    #[test]
    fn packets_that_wait_are_bounded_in_bytes_and_news_are_not_lost() {
        let [first, second] = two();
        let big = || Message::Packet { vnet: Vnet::default(), bytes: vec![0; 60_000] };
        let sent = (0..100).filter(|_| first.send(1, big())).count();
        assert!((17..=18).contains(&sent), "{sent}");
        let junk = || {
            let remote = SocketAddr::from(([192, 0, 2, 1], 4500));
            let bytes = vec![0; 60_000];
            Message::Datagrams { link: 0, remote, local: None, ecn: 0, segment: 1200, bytes }
        };
        assert!(first.send(1, junk()), "datagrams do not push out packets, or packets them");
        assert!(first.send(1, Message::Stop));
        assert_eq!(std::iter::from_fn(|| second.next()).count(), sent + 2);
        assert!(first.send(1, big()), "there is room again");
    }

    #[test]
    fn news_of_paths_are_bounded_and_who_comes_is_always_told() {
        let [first, second] = two();
        let remote = SocketAddr::from(([192, 0, 2, 1], 4500));
        let path = || Message::Event(Event::Path { peer: ALICE, path: 0, remote, state: State::Active });
        assert_eq!((0..5000).filter(|_| second.send(0, path())).count(), MOST[PATHS]);
        let went = Message::Event(Event::ClientDown { client: ALICE, why: "" });
        assert!(second.send(0, went));
        assert_eq!(std::iter::from_fn(|| first.next()).count(), MOST[PATHS] + 1);
    }

    #[test]
    fn a_worker_that_panics_or_fails_is_told_to_the_gateway() {
        let [first, second] = two();
        let why = || match first.next() {
            Some(Message::Failed(why)) => why,
            other => panic!("{other:?}"),
        };
        let last_words = second.last_words();
        let thread = std::thread::spawn(move || {
            let _last_words = last_words;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(thread.join().is_err());
        assert!(why().starts_with("worker 1 has panicked"));
        second.last_words().failed(&anyhow::anyhow!("no device"));
        assert_eq!(why(), "worker 1 cannot go on: no device");
        assert!(first.next().is_none(), "who ends in good order says nothing");
    }

    #[test]
    fn a_loop_that_stands_still_is_noticed() {
        let [first, second] = two();
        assert!(!first.have_turned());
        second.mark_turn();
        assert!(first.have_turned() && !first.have_turned());
    }
}
