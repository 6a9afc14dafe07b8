//! The INITs of the last seconds, so that one sent again costs no work: it gets the same answer again.
//!
//! This is for the client whose RESPONSE was lost, and it makes most replays harmless: one INIT
//! from one network makes one pending session, however often it arrives while the gateway remembers
//! it.
//!
//! There is an answer for each network that has shown itself by a cookie. Who sees an INIT on its
//! way and is first with a copy under a cookie of his own gets an answer, whose keys he may push
//! out; the client does not get that one.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::incoming::InitTag;
use super::initiator::INIT_LIFETIME;
use super::mac::{Mac, octets};
use ropewalk_time::Time;

/// Places of one hash: answers to copies of one INIT that stand beside each other, as offers to one
/// client do.
const WAYS: usize = 4;
/// Hashes. With [`WAYS`] 1024 INITs are remembered at most, of some 250 bytes each with their
/// answers, and of fewer than 600.
const PLACES: usize = 256;

/// Longer than a client sends an INIT again, for those that were long on their way.
const KEPT: Duration = INIT_LIFETIME.saturating_add(Duration::from_secs(5));

/// The network of an address: an IPv4 address or an IPv6 /64, for who has one /64 has all addresses
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Network([u8; 16]);

impl Network {
    pub(super) fn of(from: SocketAddr) -> Network {
        let mut network = octets(from.ip());
        if let IpAddr::V6(address) = from.ip()
            && address.to_ipv4_mapped().is_none()
        {
            network[8..].fill(0);
        }
        Network(network)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What is known of an INIT.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Nothing.
    New,
    /// It is worked on, or gets no answer.
    Waits,
    /// Its answer.
    Answered(&'a [u8]),
    /// Its sender has to show where it is: the copies that came have shown other networks.
    Elsewhere,
}

struct Known {
    tag: InitTag,
    expires: Time,
    /// `None` while it is worked on, and for one that gets no answer.
    answer: Option<Box<[u8]>>,
}

/// A table with a few places for each hash, and mac1 is the hash. Who floods can push answers out
/// of it; the owners' next INIT is then handled anew.
pub(super) struct Answers(Box<[[Option<Known>; WAYS]]>);

impl Answers {
    pub(super) fn new() -> Answers {
        Answers((0..PLACES).map(|_| [const { None }; WAYS]).collect())
    }

    /// What is known of the INIT with this `tag`. An answer for a network that has shown nothing is
    /// for all: by a cookie nobody can push out its keys alone.
    pub(super) fn find(&self, tag: &InitTag, now: Time) -> Found<'_> {
        let all = self.0[place(&tag.mac1)].iter().flatten();
        let known = || all.clone().filter(|known| known.tag.mac1 == tag.mac1 && now < known.expires);
        let answered = |known: &&Known| known.tag.network.is_none() && known.answer.is_some();
        match known().find(|known| known.tag == *tag).or_else(|| known().find(answered)) {
            Some(Known { answer: Some(answer), .. }) => Found::Answered(answer),
            Some(_) => Found::Waits,
            None if tag.network.is_none() && known().next().is_some() => Found::Elsewhere,
            None => Found::New,
        }
    }

    pub(super) fn put(&mut self, tag: InitTag, answer: Option<&[u8]>, now: Time) {
        let answer = answer.map(Into::into);
        let places = &mut self.0[place(&tag.mac1)];
        let own = places.iter().position(|k| k.as_ref().is_some_and(|known| known.tag == tag));
        let when = |i: &usize| places[*i].as_ref().map_or(Time::ZERO, |known| known.expires);
        // A free one, or the oldest.
        let at = own.or_else(|| (0..WAYS).min_by_key(when)).unwrap_or_default();
        places[at] = Some(Known { tag, expires: now + KEPT, answer });
    }

    pub(super) fn forget(&mut self, tag: &InitTag) {
        self.0[place(&tag.mac1)].iter_mut().for_each(|k| drop(k.take_if(|known| known.tag == *tag)));
    }
}

fn place(mac1: &Mac) -> usize {
    usize::from(u16::from_be_bytes([mac1[0], mac1[1]])) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(last: u8, network: Option<&str>) -> InitTag {
        let mut mac1 = [7; 16];
        mac1[15] = last;
        InitTag { mac1, network: network.map(|n| Network::of(n.parse().unwrap())) }
    }

    #[test]
    fn an_answer_is_for_the_network_that_it_was_made_for() {
        let mut answers = Answers::new();
        let find = |answers: &Answers, network| match answers.find(&tag(1, network), Time::ZERO) {
            Found::Answered(bytes) => bytes[0] as char,
            Found::Waits => 'w',
            Found::Elsewhere => 'e',
            Found::New => 'n',
        };
        let (here, there) = (Some("192.0.2.1:5"), Some("203.0.113.9:5"));
        assert_eq!((find(&answers, None), find(&answers, here)), ('n', 'n'));
        answers.put(tag(1, there), None, Time::ZERO);
        assert_eq!((find(&answers, None), find(&answers, here), find(&answers, there)), ('e', 'n', 'w'));
        answers.put(tag(1, there), Some(b"t"), Time::ZERO);
        answers.put(tag(1, here), Some(b"h"), Time::ZERO);
        assert_eq!((find(&answers, None), find(&answers, here), find(&answers, there)), ('e', 'h', 't'));
        assert_eq!(find(&answers, Some("192.0.2.1:6")), 'h', "of the network, whatever the port");
        // What was made for nobody is for all.
        answers.put(tag(1, None), None, Time::ZERO);
        assert_eq!((find(&answers, None), find(&answers, Some("192.0.2.2:5"))), ('w', 'n'));
        answers.put(tag(1, None), Some(b"a"), Time::ZERO);
        assert_eq!((find(&answers, None), find(&answers, Some("192.0.2.2:5"))), ('a', 'a'));
        answers.forget(&tag(1, None));
        assert_eq!((find(&answers, None), find(&answers, here)), ('e', 'h'));
        let later = Time::ZERO + KEPT;
        assert_eq!(answers.find(&tag(1, here), later), Found::New);
    }

    #[test]
    fn the_oldest_of_a_hash_gives_way() {
        let mut answers = Answers::new();
        for n in 0..=WAYS as u8 {
            answers.put(tag(n, None), Some(b"x"), Time::from_secs(n.into()));
        }
        let now = Time::from_secs(WAYS as u64);
        assert_eq!(answers.find(&tag(0, None), now), Found::New);
        assert!((1..=WAYS as u8).all(|n| answers.find(&tag(n, None), now) == Found::Answered(b"x")));
    }

    #[test]
    fn a_network_is_an_address_or_64_bits() {
        let of = |text: &str| Network::of(text.parse().unwrap());
        assert_eq!(of("192.0.2.1:5"), of("[::ffff:192.0.2.1]:6"));
        assert_ne!(of("192.0.2.1:5"), of("192.0.2.2:5"));
        assert_eq!(of("[2001:db8::1]:5"), of("[2001:db8::2:1]:5"));
        assert_ne!(of("[2001:db8::1]:5"), of("[2001:db8:0:1::1]:5"));
    }
}
