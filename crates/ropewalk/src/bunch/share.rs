//! What neighbours hand each other over their own network: a message of the bunch protocol in a
//! sealed datagram.
//!
//! ```text
//! 0x62 | pair u32 | packet number u64 | sealed: message        the first 13 bytes are authenticated, too
//! ```
//!
//! Each pair has keys of its own, out of a secret that the gateway drew for the two; so a neighbour
//! cannot speak for another. The secret is drawn anew with each tunnel, and packet numbers begin
//! anew with it.

use super::words::{NEIGHBOURS, Neighbour};
use crate::exit::{Code, failure};
use anyhow::Context;
use ipnet::Ipv4Net;
use rand::Rng;
use ropewalk_bunch::Mac;
use ropewalk_net::links;
use ropewalk_session::{Cipher, Opener, ReplayWindow, Sealer, SessionKeys, TAG_LEN};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

const KIND: u8 = 0x62;
const HEAD: usize = 13;
/// The longest datagram: a packet of 64 KiB has no place on a network of neighbours.
const LONGEST: usize = 4096;
/// Where neighbours listen.
pub(super) const PORT: u16 = 4521;

/// A neighbour and the keys with it.
struct Pair {
    at: SocketAddrV4,
    cell: Mac,
    sealer: Sealer,
    opener: Opener,
    sent: u64,
    seen: ReplayWindow,
}

/// What it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShareCounts {
    /// Datagrams handed to neighbours.
    pub sent: u64,
    /// That neighbours handed here.
    pub received: u64,
    /// That were no neighbour's, or came before.
    pub refused: u64,
}

/// The network of neighbours.
pub(super) struct Share {
    socket: UdpSocket,
    network: Ipv4Net,
    pairs: BTreeMap<u32, Pair>,
    /// Of 100 packets so many are left out, as if they had not been heard.
    miss: u8,
    pub(super) counts: ShareCounts,
}

impl Share {
    /// Listens on an interface, at its first IPv4 address.
    pub(super) fn open(interface: &str, miss: u8) -> anyhow::Result<Share> {
        let all = links::list()?;
        let link = all.iter().find(|l| l.name == interface);
        // It may come yet: the service's manager has to try again.
        let missing = || format!("there is no network interface named `{interface}`");
        let link = link.ok_or_else(|| failure(Code::Failure, missing()))?;
        let address = link.addresses.iter().find_map(|a| match a.ip {
            IpAddr::V4(ip) => Some((ip, a.prefix_len)),
            IpAddr::V6(_) => None,
        });
        let (ip, prefix) = address.with_context(|| {
            format!("{interface} has no IPv4 address: give it one of the network that the neighbours share")
        })?;
        Ok(Share { miss, ..Share::at(ip, prefix, PORT)? })
    }

    fn at(ip: Ipv4Addr, prefix: u8, port: u16) -> anyhow::Result<Share> {
        let socket = UdpSocket::bind((ip, port));
        let socket = socket.with_context(|| format!("{ip} port {port} cannot be listened at"))?;
        socket.set_nonblocking(true)?;
        let network = Ipv4Net::new(ip, prefix)?;
        Ok(Share { socket, network, pairs: BTreeMap::new(), miss: 0, counts: ShareCounts::default() })
    }

    /// Its address with the network, and the port.
    pub(super) fn place(&self) -> (Ipv4Net, u16) {
        (self.network, self.socket.local_addr().map_or(PORT, |a| a.port()))
    }

    /// How many neighbours there are.
    pub(super) fn neighbours(&self) -> usize {
        self.pairs.len()
    }

    /// Where they are.
    pub(super) fn places(&self) -> BTreeSet<Ipv4Addr> {
        self.pairs.values().map(|pair| *pair.at.ip()).collect()
    }

    /// The gateway says who they are. Those that are known stay as they are: a packet number is not
    /// used twice.
    pub(super) fn set(&mut self, all: &[Neighbour]) {
        self.pairs.retain(|id, _| all.iter().any(|n| n.id == *id));
        for n in all.iter().take(NEIGHBOURS) {
            if !self.network.contains(n.at.ip()) {
                continue;
            }
            self.pairs.entry(n.id).or_insert_with(|| {
                let keys = SessionKeys::of_shared(&n.secret.0, Cipher::ChaCha20Poly1305, n.first);
                let (sealer, opener) = keys.into_ends();
                Pair { at: n.at, cell: n.cell, sealer, opener, sent: 0, seen: ReplayWindow::default() }
            });
        }
    }

    /// Gives a message to each neighbour. What the network does not take is not heard, as on the
    /// air.
    pub(super) fn send(&mut self, message: &[u8]) {
        for (id, pair) in &mut self.pairs {
            if self.miss > 0 && rand::rng().random_range(0..100) < self.miss {
                continue;
            }
            let mut datagram = Vec::with_capacity(HEAD + message.len() + TAG_LEN);
            datagram.push(KIND);
            datagram.extend_from_slice(&id.to_be_bytes());
            datagram.extend_from_slice(&pair.sent.to_be_bytes());
            datagram.extend_from_slice(message);
            datagram.extend_from_slice(&[0; TAG_LEN]);
            let (head, body) = datagram.split_at_mut(HEAD);
            let sealed = pair.sealer.seal(0, pair.sent, head, body).is_ok();
            pair.sent += 1;
            if sealed && self.socket.send_to(&datagram, pair.at).is_ok() {
                self.counts.sent += 1;
            }
        }
    }

    /// The next message of a neighbour, and its cell; `Some(None)` for a datagram that is none.
    pub(super) fn receive(&mut self) -> Option<Option<(Mac, Vec<u8>)>> {
        let mut datagram = [0; LONGEST];
        let (length, _) = self.socket.recv_from(&mut datagram).ok()?;
        let message = self.open_datagram(&mut datagram[..length]);
        match message {
            Some(_) => self.counts.received += 1,
            None => self.counts.refused += 1,
        }
        Some(message)
    }

    fn open_datagram(&mut self, datagram: &mut [u8]) -> Option<(Mac, Vec<u8>)> {
        let (head, body) = datagram.split_at_mut_checked(HEAD)?;
        let id = u32::from_be_bytes(head[1..5].try_into().ok()?);
        let number = u64::from_be_bytes(head[5..13].try_into().ok()?);
        let pair = self.pairs.get_mut(&id).filter(|_| head[0] == KIND)?;
        pair.seen.check(number).ok()?;
        let text = pair.opener.open(0, number, head, body).ok()?.to_vec();
        pair.seen.commit(number).ok()?;
        Some((pair.cell, text))
    }
}

impl AsFd for Share {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::Secret;
    use super::*;
    use crate::exit::kind_of;
    use zeroize::Zeroizing;

    fn here() -> Share {
        Share::at(Ipv4Addr::LOCALHOST, 8, 0).unwrap()
    }

    fn neighbour(id: u32, of: &Share, secret: u8, first: bool) -> Neighbour {
        let at = SocketAddrV4::new(Ipv4Addr::LOCALHOST, of.place().1);
        // Of the other end's cell.
        let cell = [id as u8, u8::from(first), 0, 0, 0, 0];
        Neighbour { id, at, cell, secret: Secret(Zeroizing::new([secret; 32])), first }
    }

    fn got(share: &mut Share) -> Option<(Mac, Vec<u8>)> {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            if let Some(message) = share.receive() {
                return message;
            }
            assert!(std::time::Instant::now() < until, "nothing came");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn an_interface_that_is_not_there_yet_is_no_wrong_command_line() {
        let Err(error) = Share::open("rw-nowhere", 0) else { panic!("nobody has it") };
        assert_eq!(error.to_string(), "there is no network interface named `rw-nowhere`");
        assert_eq!(kind_of(&error), Code::Failure);
    }

    #[test]
    fn neighbours_hear_each_other_and_nobody_else() {
        let (mut a, mut b, mut outsider) = (here(), here(), here());
        a.set(&[neighbour(5, &b, 1, true)]);
        b.set(&[neighbour(5, &a, 1, false)]);
        assert_eq!(a.places(), BTreeSet::from([Ipv4Addr::LOCALHOST]));
        a.send(b"one");
        assert_eq!(got(&mut b), Some(([5, 0, 0, 0, 0, 0], b"one".to_vec())));
        b.send(b"two");
        assert_eq!(got(&mut a), Some(([5, 1, 0, 0, 0, 0], b"two".to_vec())));
        outsider.set(&[neighbour(5, &b, 2, true)]);
        outsider.send(b"three");
        assert_eq!(got(&mut b), None, "another secret");
        let noise = UdpSocket::bind("127.0.0.1:0").unwrap();
        for bytes in [&[][..], &[KIND], &[KIND; 13], &[KIND, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2]] {
            noise.send_to(bytes, (Ipv4Addr::LOCALHOST, b.place().1)).unwrap();
            assert_eq!(got(&mut b), None);
        }
        assert_eq!((b.counts.received, b.counts.refused), (1, 5));
        a.set(&[]);
        a.send(b"four");
        assert_eq!(a.counts.sent, 1, "nobody is left");
    }

    #[test]
    fn what_was_heard_is_not_heard_again() {
        let (mut a, mut b) = (here(), here());
        a.set(&[neighbour(5, &b, 1, true)]);
        b.set(&[neighbour(5, &a, 1, false)]);
        let pair = a.pairs.get_mut(&5).unwrap();
        let mut datagram =
            [&[KIND][..], &5u32.to_be_bytes(), &3u64.to_be_bytes(), b"x", &[0; TAG_LEN]].concat();
        let (head, body) = datagram.split_at_mut(HEAD);
        pair.sealer.seal(0, 3, head, body).unwrap();
        assert_eq!(b.open_datagram(&mut datagram.clone()).map(|m| m.1).as_deref(), Some(&b"x"[..]));
        assert_eq!(b.open_datagram(&mut datagram), None);
    }
}
