//! The keys of a session, one set after another without a gap, each within its limits.

use crate::config::Config;
use core::net::{IpAddr, Ipv6Addr};
use ropewalk_session::{Cipher, Index, KeyLimits, Opener, Sealer, SessionKeys};
use ropewalk_time::{Duration, Time};

/// Neither end uses keys for longer than this (WireGuard's REJECT_AFTER_TIME).
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// The keys before the current ones still open what was on its way: a minute covers any network.
const RETIRED_FOR: Duration = Duration::from_secs(60);
/// Keys that a RESPONSE offered wait so long for their first datagram: longer than a gateway answers copies of an INIT, and a round trip.
pub(crate) const OFFERED_FOR: Duration = Duration::from_secs(20);
/// Offers to one client that stand beside each other: its own, and those that a replayer's INITs
/// led to, who has fewer networks than this.
const OFFERS: usize = 4;

/// The network that an INIT came from: an IPv4 address or an IPv6 /64. A valid mac2 shows that its
/// sender has an address there, and who has one /64 has all addresses of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source(IpAddr);

impl Source {
    pub(crate) fn of(address: IpAddr) -> Source {
        Source(match address.to_canonical() {
            IpAddr::V6(a) => Ipv6Addr::from_bits(a.to_bits() & !u128::from(u64::MAX)).into(),
            v4 => v4,
        })
    }
}

/// Which of a client's offers gives way to a new one. Of each, the oldest first, is told whether it
/// is of the same source: who sends many INITs pushes out his own.
pub(crate) fn gives_way(mut is_same: impl ExactSizeIterator<Item = bool>) -> Option<usize> {
    let count = is_same.len();
    is_same.position(|same| same).or((count >= OFFERS).then_some(0))
}

/// One set of keys.
#[derive(Debug)]
pub(crate) struct Epoch {
    /// Seals what goes out.
    pub sealer: Sealer,
    /// Opens what comes in.
    pub opener: Opener,
    /// The index by which the peer names these keys.
    pub local: Index,
    /// The index by which this end names them.
    pub remote: Index,
    /// When the handshake ended.
    pub since: Time,
    /// Until when they may be used.
    until: Time,
    limits: KeyLimits,
    /// Blocks of 16 bytes sealed and opened.
    sealed: u64,
    opened: u64,
    /// Datagrams that did not open.
    forged: u64,
}

impl Epoch {
    /// The keys of a handshake that ended at `now`.
    pub(crate) fn new(keys: SessionKeys, config: &Config, now: Time) -> Self {
        let (local, remote, cipher) = (keys.local_index, keys.peer_index, keys.cipher);
        let (sealer, opener) = keys.into_ends();
        let limits = cipher.limits().at_most(config.key_limits);
        let until = now + REJECT_AFTER;
        Epoch { sealer, opener, local, remote, since: now, until, limits, sealed: 0, opened: 0, forged: 0 }
    }

    /// Accounts a sealed part of `len` bytes that leaves.
    #[inline]
    pub(crate) fn on_sealed(&mut self, len: usize) {
        self.sealed += Cipher::blocks(len);
    }

    /// Accounts a sealed part of `len` bytes that came, and whether it opened.
    #[inline]
    pub(crate) fn on_arrived(&mut self, len: usize, is_authentic: bool) {
        match is_authentic {
            true => self.opened += Cipher::blocks(len),
            false => self.forged += 1,
        }
    }

    /// They may not be used any more.
    #[inline]
    fn is_over(&self, now: Time) -> bool {
        now >= self.until || self.most_blocks() >= self.limits.blocks || self.forged >= self.limits.forgeries
    }

    /// They are to be renewed soon: half of what they may seal, open or refuse is used up, or they are older than `age`.
    fn is_worn(&self, now: Time, age: Duration) -> bool {
        now.since(self.since) >= age
            || self.most_blocks() >= self.limits.blocks / 2
            || self.forged >= self.limits.forgeries / 2
    }

    fn most_blocks(&self) -> u64 {
        self.sealed.max(self.opened)
    }
}

/// Keys that the client has not used yet.
#[derive(Debug)]
struct Offered {
    /// `None` if the INIT had no valid mac2: anybody may have sent it from anywhere.
    source: Option<Source>,
    epoch: Epoch,
}

impl Offered {
    fn is_of(&self, source: Option<Source>) -> bool {
        source.is_some() && self.source == source
    }
}

/// Current keys, the ones before, and at a gateway the ones that the client has not used yet.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// What this end seals with.
    current: Option<Epoch>,
    /// What the peer may still seal with. Of the same session: packet numbers go on from one to the next.
    previous: Option<Epoch>,
    /// Offered in RESPONSEs, the oldest first. An INIT may be a replay, so only a datagram sealed
    /// with some of them puts those in force, and until then others stand beside them.
    offered: Vec<Offered>,
    /// Indices that a confirmation put out of use, until the engine takes them.
    void: Vec<Index>,
}

impl Keyring {
    /// Puts `epoch` in force, and keeps the keys before it for what is on its way. Returns an index that fell out of use.
    pub(crate) fn renew(&mut self, epoch: Epoch, now: Time) -> Option<Index> {
        let mut old = self.current.replace(epoch)?;
        old.until = old.until.min(now + RETIRED_FOR);
        self.previous.replace(old).map(|e| e.local)
    }

    /// Puts the first keys of a session in force. All others are gone: their packet numbers are not those of this session.
    pub(crate) fn begin(&mut self, epoch: Epoch) {
        *self = Keyring { current: Some(epoch), ..Keyring::default() };
    }

    /// Offers `epoch` to the sender of an INIT, of a known `source` if the INIT had a valid mac2.
    /// Returns the index of an earlier offer, now void.
    pub(crate) fn offer(&mut self, mut epoch: Epoch, source: Option<Source>) -> Option<Index> {
        epoch.until = epoch.until.min(epoch.since + OFFERED_FOR);
        let old = gives_way(self.offered.iter().map(|o| o.is_of(source)));
        let void = old.map(|i| self.offered.remove(i).epoch.local);
        self.offered.push(Offered { source, epoch });
        void
    }

    /// The peer has used the keys that were offered under `index`: they are in force, and no others
    /// are offered. [`Keyring::take_void`] gives what fell out of use.
    pub(crate) fn confirm(&mut self, index: Index, now: Time) {
        let Some(i) = self.offered.iter().position(|o| o.epoch.local == index) else { return };
        let mut epoch = self.offered.swap_remove(i).epoch;
        epoch.until = epoch.since + REJECT_AFTER;
        self.void.extend(self.offered.drain(..).map(|o| o.epoch.local));
        let old = self.renew(epoch, now);
        self.void.extend(old);
    }

    /// Indices that fell out of use by [`Keyring::confirm`].
    pub(crate) fn take_void(&mut self) -> Vec<Index> {
        std::mem::take(&mut self.void)
    }

    /// Keys are offered and were not used yet.
    pub(crate) fn has_offer(&self, now: Time) -> bool {
        self.offered.iter().any(|o| !o.epoch.is_over(now))
    }

    /// Keys are offered, and all to this source.
    pub(crate) fn has_offers_of_only(&self, source: Option<Source>) -> bool {
        !self.offered.is_empty() && self.offered.iter().all(|o| o.is_of(source))
    }

    /// The keys in force.
    pub(crate) fn current(&self) -> Option<&Epoch> {
        self.current.as_ref()
    }

    /// The keys in force, to seal with.
    pub(crate) fn sealing(&mut self) -> Option<&mut Epoch> {
        self.current.as_mut()
    }

    /// Something may be sealed now.
    pub(crate) fn may_seal(&self, now: Time) -> bool {
        self.current.as_ref().is_some_and(|e| !e.is_over(now))
    }

    /// How long the keys have been in force without anything having opened under them.
    pub(crate) fn unheard(&self, now: Time) -> Duration {
        self.current.as_ref().filter(|e| e.opened == 0).map_or(Duration::ZERO, |e| now.since(e.since))
    }

    /// A client has to renew the keys.
    pub(crate) fn is_worn(&self, now: Time, age: Duration) -> bool {
        self.current.as_ref().is_some_and(|e| e.is_worn(now, age))
    }

    /// The keys that belong to `index` if they may be used, and whether they are the offered ones.
    #[inline]
    pub(crate) fn opening(&mut self, index: Index, now: Time) -> Option<(&mut Epoch, bool)> {
        let current = self.current.iter_mut().map(|e| (e, false));
        let offered = self.offered.iter_mut().map(|o| (&mut o.epoch, true));
        let previous = self.previous.iter_mut().map(|e| (e, false));
        let mut known = current.chain(offered).chain(previous);
        known.find(|(e, _)| e.local == index && !e.is_over(now))
    }

    /// Erases keys that may not be used any more. Returns their indices.
    pub(crate) fn expire(&mut self, now: Time) -> impl Iterator<Item = Index> + use<> {
        let over = [&mut self.current, &mut self.previous]
            .map(|keys| keys.take_if(|e| e.is_over(now)).map(|e| e.local));
        let offered: Vec<Offered> = self.offered.extract_if(.., |o| o.epoch.is_over(now)).collect();
        over.into_iter().flatten().chain(offered.into_iter().map(|o| o.epoch.local))
    }

    /// When [`Keyring::expire`] is due next.
    pub(crate) fn expires(&self) -> Option<Time> {
        self.all().map(|e| e.until).min()
    }

    /// All indices that the engine knows it by.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Index> {
        self.all().map(|e| e.local).chain(self.void.iter().copied())
    }

    fn all(&self) -> impl Iterator<Item = &Epoch> {
        let offered = self.offered.iter().map(|o| &o.epoch);
        [&self.current, &self.previous].into_iter().flatten().chain(offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshaken::session_keys;

    const S: Duration = Duration::from_secs(1);

    fn epoch(index: u32, limits: KeyLimits, now: Time) -> Epoch {
        let config = Config { key_limits: limits, ..Config::default() };
        Epoch::new(session_keys(Cipher::Aes128Gcm, index), &config, now)
    }

    fn ring(limits: KeyLimits) -> (Keyring, Index) {
        let mut keys = Keyring::default();
        keys.begin(epoch(1, limits, Time::ZERO));
        (keys, Index::new(1).unwrap())
    }

    #[test]
    fn keys_end_after_a_time() {
        let (mut keys, index) = ring(KeyLimits::NONE);
        let last = Time::ZERO + REJECT_AFTER - Duration::from_nanos(1);
        assert!(keys.may_seal(last) && keys.opening(index, last).is_some());
        let over = Time::ZERO + REJECT_AFTER;
        assert!(!keys.may_seal(over) && keys.opening(index, over).is_none(), "even before they are erased");
        assert_eq!(keys.expires(), Some(over));
        assert_eq!(keys.expire(over).collect::<Vec<_>>(), [index]);
        assert!(keys.current().is_none());
    }

    #[test]
    fn keys_end_after_so_much_sealed_or_opened_however_long_the_datagrams_are() {
        let limits = KeyLimits { blocks: 1000, ..KeyLimits::NONE };
        for len in [16, 1440, 8976] {
            let (mut sealing, _) = ring(limits);
            let (mut opening, index) = ring(limits);
            let (mut count, mut worn_at) = (0, 0);
            while sealing.may_seal(Time::ZERO) {
                sealing.sealing().unwrap().on_sealed(len);
                opening.opening(index, Time::ZERO).unwrap().0.on_arrived(len, true);
                count += 1;
                assert_eq!(sealing.is_worn(Time::ZERO, S), opening.is_worn(Time::ZERO, S));
                worn_at += u64::from(!sealing.is_worn(Time::ZERO, S));
            }
            assert_eq!(count, 1000_u64.div_ceil(len as u64 / 16), "{len} bytes");
            assert!(opening.opening(index, Time::ZERO).is_none());
            assert!(worn_at < count / 2 + 1, "renewed in time");
        }
    }

    #[test]
    fn forgeries_count_against_the_key_that_they_name_and_end_it() {
        let (mut keys, first) = ring(KeyLimits { forgeries: 10, ..KeyLimits::NONE });
        let second = Index::new(2).unwrap();
        keys.renew(epoch(2, KeyLimits { forgeries: 10, ..KeyLimits::NONE }, Time::ZERO), Time::ZERO);
        for n in 0..10 {
            keys.opening(first, Time::ZERO).unwrap_or_else(|| panic!("{n}")).0.on_arrived(100, false);
        }
        assert!(keys.opening(first, Time::ZERO).is_none(), "its own limit is reached");
        assert!(keys.opening(second, Time::ZERO).is_some() && !keys.is_worn(Time::ZERO, S));
        for _ in 0..5 {
            keys.opening(second, Time::ZERO).unwrap().0.on_arrived(100, false);
        }
        assert!(keys.is_worn(Time::ZERO, S));
    }

    #[test]
    fn a_session_that_begins_leaves_no_older_keys_and_a_renewal_leaves_them_for_a_minute() {
        let (mut keys, first) = ring(KeyLimits::NONE);
        let (second, third) = (Index::new(2).unwrap(), Index::new(3).unwrap());
        let at = Time::ZERO + 120 * S;
        assert_eq!(keys.renew(epoch(2, KeyLimits::NONE, at), at), None);
        assert!(keys.opening(first, at + 59 * S).is_some());
        assert!(keys.opening(first, at + 60 * S).is_none());
        keys.begin(epoch(3, KeyLimits::NONE, at));
        assert!(keys.opening(first, at).is_none() && keys.opening(second, at).is_none());
        assert!(keys.opening(third, at).is_some());
    }

    #[test]
    fn an_offer_that_nobody_takes_is_erased() {
        let (mut keys, first) = ring(KeyLimits::NONE);
        let second = Index::new(2).unwrap();
        keys.offer(epoch(2, KeyLimits::NONE, Time::ZERO), None);
        assert!(keys.has_offer(Time::ZERO + 19 * S));
        assert!(keys.opening(second, Time::ZERO + 19 * S).is_some_and(|(_, offered)| offered));
        assert!(!keys.has_offer(Time::ZERO + OFFERED_FOR));
        assert_eq!(keys.expire(Time::ZERO + OFFERED_FOR).collect::<Vec<_>>(), [second]);
        keys.offer(epoch(2, KeyLimits::NONE, Time::ZERO), None);
        keys.confirm(second, Time::ZERO + S);
        let used = Time::ZERO + 61 * S;
        assert!(keys.opening(second, used).is_some() && keys.opening(first, used).is_none());
    }

    fn source(address: &str) -> Option<Source> {
        Some(Source::of(address.parse().unwrap()))
    }

    /// Offers keys under the index `n`; gives the index of those that went.
    fn offer(keys: &mut Keyring, n: u32, from: Option<Source>) -> Option<u32> {
        keys.offer(epoch(n, KeyLimits::NONE, Time::ZERO), from).map(Index::get)
    }

    #[test]
    fn of_one_source_the_last_offer_stands_and_of_five_sources_four() {
        let (mut keys, _) = ring(KeyLimits::NONE);
        assert_eq!(offer(&mut keys, 2, None), None, "of nobody: nobody's next one takes its place");
        assert_eq!(offer(&mut keys, 3, source("192.0.2.1")), None);
        assert_eq!(offer(&mut keys, 4, source("2001:db8:0:1::1")), None);
        for n in (5..50).step_by(2) {
            assert_eq!(offer(&mut keys, n, source("::ffff:192.0.2.1")), Some(n - 2));
            assert_eq!(offer(&mut keys, n + 1, source("2001:db8:0:1:2::9")), Some(n - 1));
        }
        assert_eq!(offer(&mut keys, 60, source("2001:db8:0:2::1")), None);
        assert_eq!(offer(&mut keys, 61, source("192.0.2.2")), Some(2), "the fifth: the oldest goes");
        assert_eq!(offer(&mut keys, 62, source("192.0.2.3")), Some(49));
        assert_eq!(keys.indices().map(Index::get).collect::<Vec<_>>(), [1, 50, 60, 61, 62]);
    }

    #[test]
    fn whichever_offer_is_used_comes_in_force_and_all_others_go() {
        let (mut keys, first) = ring(KeyLimits::NONE);
        (2..6).for_each(|n| assert_eq!(offer(&mut keys, n, source(&format!("192.0.2.{n}"))), None));
        let used = Index::new(4).unwrap();
        assert!(keys.opening(used, Time::ZERO).is_some_and(|(_, offered)| offered));
        keys.confirm(used, Time::ZERO);
        assert_eq!(keys.current().map(|e| e.local), Some(used));
        assert!(keys.opening(first, Time::ZERO).is_some() && !keys.has_offer(Time::ZERO));
        assert!([2, 3, 5].iter().all(|n| keys.opening(Index::new(*n).unwrap(), Time::ZERO).is_none()));
        assert_eq!(keys.indices().count(), 5, "the engine has not taken them yet");
        assert_eq!(keys.take_void().into_iter().map(Index::get).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(keys.indices().collect::<Vec<_>>(), [used, first]);
        assert_eq!(offer(&mut keys, 7, None), None);
        keys.confirm(Index::new(7).unwrap(), Time::ZERO);
        assert_eq!(keys.take_void(), [first]);
    }
}
