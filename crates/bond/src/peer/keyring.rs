//! The keys of a session, one set after another without a gap, each within its limits.

use crate::config::Config;
use ropewalk_session::{Cipher, Index, KeyLimits, Opener, Sealer, SessionKeys};
use ropewalk_time::{Duration, Time};

/// Neither end uses keys for longer than this (WireGuard's REJECT_AFTER_TIME).
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// The keys before the current ones still open what was on its way: a minute covers any network.
const RETIRED_FOR: Duration = Duration::from_secs(60);
/// Keys that a RESPONSE offered wait so long for their first datagram: longer than a gateway answers copies of an INIT, and a round trip.
pub(crate) const OFFERED_FOR: Duration = Duration::from_secs(20);

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

/// Current keys, the ones before, and at a gateway the ones that the client has not used yet.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// What this end seals with.
    current: Option<Epoch>,
    /// What the peer may still seal with. Of the same session: packet numbers go on from one to the next.
    previous: Option<Epoch>,
    /// Offered in a RESPONSE. An INIT may be a replay, so only a datagram sealed with them puts them in force.
    offered: Option<Epoch>,
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

    /// Offers `epoch`. Returns the index of an earlier offer, now void.
    pub(crate) fn offer(&mut self, mut epoch: Epoch) -> Option<Index> {
        epoch.until = epoch.until.min(epoch.since + OFFERED_FOR);
        self.offered.replace(epoch).map(|e| e.local)
    }

    /// The peer has used the offered keys: they are in force. Returns an index that fell out of use.
    pub(crate) fn confirm(&mut self, now: Time) -> Option<Index> {
        let mut epoch = self.offered.take()?;
        epoch.until = epoch.since + REJECT_AFTER;
        self.renew(epoch, now)
    }

    /// Keys are offered and were not used yet.
    pub(crate) fn has_offer(&self, now: Time) -> bool {
        self.offered.as_ref().is_some_and(|e| !e.is_over(now))
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
        let known = [(&mut self.current, false), (&mut self.offered, true), (&mut self.previous, false)];
        let mut known = known.into_iter().filter_map(|(e, offered)| Some((e.as_mut()?, offered)));
        known.find(|(e, _)| e.local == index && !e.is_over(now))
    }

    /// Erases keys that may not be used any more. Returns their indices.
    pub(crate) fn expire(&mut self, now: Time) -> impl Iterator<Item = Index> + use<> {
        let over = [&mut self.current, &mut self.previous, &mut self.offered]
            .map(|keys| keys.take_if(|e| e.is_over(now)).map(|e| e.local));
        over.into_iter().flatten()
    }

    /// When [`Keyring::expire`] is due next.
    pub(crate) fn expires(&self) -> Option<Time> {
        [&self.current, &self.previous, &self.offered].into_iter().flatten().map(|e| e.until).min()
    }

    /// All indices in use.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Index> {
        [&self.current, &self.previous, &self.offered].into_iter().flatten().map(|e| e.local)
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
        keys.offer(epoch(2, KeyLimits::NONE, Time::ZERO));
        assert!(keys.has_offer(Time::ZERO + 19 * S));
        assert!(keys.opening(second, Time::ZERO + 19 * S).is_some_and(|(_, offered)| offered));
        assert!(!keys.has_offer(Time::ZERO + OFFERED_FOR));
        assert_eq!(keys.expire(Time::ZERO + OFFERED_FOR).collect::<Vec<_>>(), [second]);
        keys.offer(epoch(2, KeyLimits::NONE, Time::ZERO));
        keys.confirm(Time::ZERO + S);
        let used = Time::ZERO + 61 * S;
        assert!(keys.opening(second, used).is_some() && keys.opening(first, used).is_none());
    }
}
