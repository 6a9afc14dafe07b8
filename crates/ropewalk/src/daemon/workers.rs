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

use ipnet::IpNet;
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

/// Packets that wait for a loop at most, bytes; beyond, they are dropped as by a full queue.
const PACKETS: usize = 1 << 20;
/// Clients that wait for a loop to let them in; beyond, they ask again.
const VISITORS: usize = 256;

/// What one loop hands another.
pub(crate) enum Mail {
    /// A client that is the other's.
    Visitor(Visitor),
    /// What the first loop is to say to a client.
    Reply(Reply),
    /// News for the gateway.
    Event(Event),
    /// A packet of the device.
    Packet { vnet: Vnet, bytes: Vec<u8> },
    /// A datagram.
    Datagram { link: u32, remote: SocketAddr, local: Option<IpAddr>, ecn: u8, bytes: Vec<u8> },
    /// Settings that were read again: of the engine, and how long to look for work.
    Settings(Box<Config>, Duration),
    /// The loop has ended, for this reason.
    Failed(String),
    /// The gateway ends.
    Stop,
}

impl Mail {
    fn packet_bytes(&self) -> usize {
        match self {
            Mail::Packet { bytes, .. } | Mail::Datagram { bytes, .. } => bytes.len() + size_of::<Mail>(),
            _ => 0,
        }
    }
}

/// Where a loop is reached.
#[derive(Clone, Debug)]
struct Place {
    mail: Sender<Mail>,
    waker: Arc<Waker>,
    packets: Arc<AtomicUsize>,
    visitors: Arc<AtomicUsize>,
    /// It has turned since it was last asked.
    turned: Arc<AtomicBool>,
}

/// Who has a packet of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This loop.
    Own,
    /// Another.
    Other(u32),
    /// Clients do not reach each other.
    Nobody,
}

/// One loop's end.
#[derive(Debug)]
pub(crate) struct Workers {
    shard: Shard,
    inbox: Receiver<Mail>,
    places: Vec<Place>,
    clients: Arc<RwLock<Clients>>,
    /// The gateway's addresses inside, with the networks that clients have theirs from.
    networks: Vec<IpNet>,
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mail({} bytes)", self.packet_bytes())
    }
}

/// Ends for so many loops; none where there is one alone. `networks` are the gateway's addresses
/// inside, with the networks that clients have theirs from.
pub(crate) fn workers(count: u32, networks: &[IpNet]) -> io::Result<Vec<Option<Workers>>> {
    if count < 2 {
        return Ok(vec![None]);
    }
    let (mut inboxes, mut places) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (mail, inbox) = channel();
        let waker = Arc::new(Waker::new()?);
        let (packets, visitors, turned) = (Arc::default(), Arc::default(), Arc::default());
        places.push(Place { mail, waker, packets, visitors, turned });
        inboxes.push(inbox);
    }
    let clients = Arc::<RwLock<Clients>>::default();
    let end = |(number, inbox): (u32, Receiver<Mail>)| {
        let shard = Shard::new(number, count)?;
        let (places, clients, networks) = (places.clone(), Arc::clone(&clients), networks.to_vec());
        Some(Workers { shard, inbox, places, clients, networks })
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
        LastWords(self.places[0].clone())
    }

    /// What the poller watches.
    pub(super) fn waker(&self) -> &Waker {
        &self.own().waker
    }

    fn own(&self) -> &Place {
        &self.places[self.shard.number() as usize]
    }

    /// Hands something to another loop. Packets are dropped where too many wait, which is `false`.
    pub(crate) fn send(&self, to: u32, mail: Mail) -> bool {
        let Some(place) = self.places.get(to as usize) else { return false };
        let bytes = mail.packet_bytes();
        if bytes > 0 && place.packets.fetch_add(bytes, Ordering::Relaxed) > PACKETS {
            place.packets.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        place.visitors.fetch_add(usize::from(matches!(mail, Mail::Visitor(_))), Ordering::Relaxed);
        // A loop that has ended takes nothing, and the gateway is ending, too.
        let is_sent = place.mail.send(mail).is_ok();
        place.waker.wake();
        is_sent
    }

    /// Whether one more client may wait for a loop.
    pub(super) fn has_room_for_visitor(&self, to: u32) -> bool {
        self.places.get(to as usize).is_some_and(|p| p.visitors.load(Ordering::Relaxed) < VISITORS)
    }

    /// Something for each of the others.
    pub(crate) fn send_to_others(&self, mail: impl Fn() -> Mail) {
        let others = (0..self.shard.of()).filter(|number| *number != self.shard.number());
        for number in others {
            self.send(number, mail());
        }
    }

    /// What the others have handed over.
    pub(super) fn next(&self) -> Option<Mail> {
        let mail = self.inbox.try_recv().ok()?;
        self.own().packets.fetch_sub(mail.packet_bytes(), Ordering::Relaxed);
        self.own().visitors.fetch_sub(usize::from(matches!(mail, Mail::Visitor(_))), Ordering::Relaxed);
        Some(mail)
    }

    /// This loop turns.
    pub(super) fn mark_turn(&self) {
        self.own().turned.store(true, Ordering::Relaxed);
    }

    /// Whether all loops have turned since this was last so.
    pub(super) fn have_turned(&self) -> bool {
        let others = || self.places.iter().skip(1);
        let all = others().all(|p| p.turned.load(Ordering::Relaxed));
        if all {
            others().for_each(|p| p.turned.store(false, Ordering::Relaxed));
        }
        all
    }

    /// A client has a session in this loop's engine: packets for these addresses are this loop's.
    pub(super) fn client_came(&self, client: &PublicKey, inside: &[IpAddr]) {
        let mut clients = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        clients.put(client, inside, self.shard.number());
    }

    /// A client has none any more.
    pub(super) fn client_went(&self, client: &PublicKey) {
        self.clients.write().unwrap_or_else(PoisonError::into_inner).remove(client, self.shard.number());
    }

    /// Who has a packet that came by this loop's queue. `are_joined`: clients may reach each other.
    pub(super) fn whose(&self, packet: &[u8], are_joined: bool) -> Whose {
        let Some((from, to)) = ends(packet) else { return Whose::Own };
        if !are_joined && self.is_a_clients(&from) && self.is_a_clients(&to) {
            return Whose::Nobody;
        }
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        match clients.number_of(&to) {
            // Its engine counts it.
            None => Whose::Own,
            Some(number) if number == self.shard.number() => Whose::Own,
            Some(number) => Whose::Other(number),
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
pub(crate) struct LastWords(Place);

impl LastWords {
    /// Says why.
    pub(crate) fn say(&self, why: String) {
        // A gateway that ends, too, does not listen.
        let _ = self.0.mail.send(Mail::Failed(why));
        self.0.waker.wake();
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.say("its thread is gone".into());
    }
}

/// Which loops have which addresses inside.
#[derive(Debug, Default)]
struct Clients {
    of: HashMap<IpAddr, (u32, PublicKey)>,
    addresses: HashMap<PublicKey, Vec<IpAddr>>,
}

impl Clients {
    fn number_of(&self, address: &IpAddr) -> Option<u32> {
        self.of.get(address).map(|(number, _)| *number)
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

/// A loop's part of what the whole gateway may use.
pub(crate) fn part(config: Config, of: u32) -> Config {
    let of = of as usize;
    Config {
        memory_bytes: config.memory_bytes / of,
        max_packets: config.max_packets / of,
        max_peers: config.max_peers.div_ceil(of),
        flows: config.flows.div_ceil(of),
        ..config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        workers(2, &networks).unwrap().into_iter().map(Option::unwrap).collect::<Vec<_>>().try_into().unwrap()
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
            assert_eq!(first.whose(&packet(from, of_alice), false), Whose::Own);
            assert_eq!(first.whose(&packet(from, of_bob), false), Whose::Other(1));
            assert_eq!(second.whose(&packet(from, of_alice), false), Whose::Other(0));
            assert_eq!(second.whose(&packet(from, from), false), Whose::Own, "nobody's");
            assert_eq!(first.whose(&packet(of_alice, of_bob), false), Whose::Nobody);
            assert_eq!(second.whose(&packet(of_alice, of_bob), false), Whose::Nobody, "by either queue");
            assert_eq!(first.whose(&packet(of_alice, of_bob), true), Whose::Other(1));
        }
        for (from, to) in [("10.77.0.9", "10.77.0.3"), ("fd77::9", "fd77::3")] {
            assert_eq!(
                first.whose(&packet(from, to), false),
                Whose::Nobody,
                "a client that is not known yet"
            );
        }
        for (from, to) in [("10.77.0.1", "10.77.0.3"), ("fd77::1", "fd77::3")] {
            assert_eq!(first.whose(&packet(from, to), false), Whose::Other(1), "the gateway itself");
        }
        for broken in [&[][..], &[0x45; 19], &[0x60; 39], &[0x20; 60]] {
            assert_eq!(first.whose(broken, false), Whose::Own, "its engine drops it");
        }
    }

    #[test]
    fn an_address_that_went_to_another_client_stays_there() {
        let [first, second] = two();
        first.client_came(&ALICE, &inside(&["10.77.0.2"]));
        second.client_came(&BOB, &inside(&["10.77.0.2"]));
        first.client_went(&ALICE);
        let here = packet("192.0.2.1", "10.77.0.2");
        assert_eq!(first.whose(&here, false), Whose::Other(1));
        first.client_went(&BOB);
        assert_eq!(first.whose(&here, false), Whose::Other(1), "only its own loop says so");
        second.client_went(&BOB);
        assert_eq!(first.whose(&here, false), Whose::Own);
        let clients = first.clients.read().unwrap();
        assert!(clients.of.is_empty() && clients.addresses.is_empty(), "{clients:?}");
    }

    #[test]
    fn packets_that_wait_are_bounded_in_bytes_and_news_are_not_lost() {
        let [first, second] = two();
        let big = || Mail::Packet { vnet: Vnet::default(), bytes: vec![0; 60_000] };
        let sent = (0..100).filter(|_| first.send(1, big())).count();
        assert!((17..=18).contains(&sent), "{sent}");
        assert!(first.send(1, Mail::Stop));
        assert_eq!(std::iter::from_fn(|| second.next()).count(), sent + 1);
        assert!(first.send(1, big()), "there is room again");
    }

    #[test]
    fn a_loop_that_stands_still_is_noticed() {
        let [first, second] = two();
        assert!(!first.have_turned());
        second.mark_turn();
        assert!(first.have_turned() && !first.have_turned());
    }
}
