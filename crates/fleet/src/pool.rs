//! Which addresses a gateway gives out.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use ropewalk_session::Inner;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// Prefix lengths of networks that have a /64 for each client.
pub const DELEGATING: RangeInclusive<u8> = 32..=63;
/// The interface identifier of a client in the /64 behind it: both ends know the network by it.
const BEHIND: u128 = 0x7277;

/// The networks inside the bond, with the gateway's own address in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    v4: Option<Ipv4Net>,
    v6: Option<Ipv6Net>,
    /// Each client has a /64 of `v6`.
    delegates: bool,
}

/// Why a list of addresses is no pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// None, or two of one kind.
    #[error("--address takes one IPv4 network and one IPv6 network, at least one of the two")]
    Number,
    /// The address cannot be a host's.
    #[error(
        "{0} is the network itself or its broadcast address: give the gateway a host's address, as in 10.77.0.1/24"
    )]
    NotAHost(IpNet),
    /// There is nothing left for clients.
    #[error("{0} has no address left for a client: use a shorter prefix, as in 10.77.0.1/24")]
    TooSmall(IpNet),
}

impl Pool {
    /// The pool of the gateway's addresses.
    pub fn new(addresses: &[IpNet]) -> Result<Pool, PoolError> {
        let mut pool = Pool { v4: None, v6: None, delegates: false };
        for address in addresses {
            let taken = match address {
                IpNet::V4(net) => pool.v4.replace(*net).is_some(),
                IpNet::V6(net) => pool.v6.replace(*net).is_some(),
            };
            if taken {
                return Err(PoolError::Number);
            }
            check(address)?;
        }
        if pool.v4.is_none() && pool.v6.is_none() { Err(PoolError::Number) } else { Ok(pool) }
    }

    /// No addresses at all: a backhaul on layer 2 has none.
    pub fn none() -> Pool {
        Pool { v4: None, v6: None, delegates: false }
    }

    /// The same, where each client has its address in a /64 of its own, for a network behind it. The
    /// first /64 and the gateway's are nobody's. A client that comes when no other is left gets an
    /// address in the first, and no network.
    #[must_use]
    pub fn delegating(self) -> Pool {
        Pool { delegates: true, ..self }
    }

    /// Whether clients have networks behind them.
    pub fn delegates(&self) -> bool {
        self.delegates
    }

    /// The network behind the client that has this address, if it has one.
    pub fn network_behind(&self, client: Ipv6Addr) -> Option<Ipv6Net> {
        let inner = self.inner_v6(Some(client)).filter(|_| self.delegates)?;
        network_behind(&inner)
    }

    /// Whether it has any.
    pub fn has_addresses(&self) -> bool {
        self.v4.is_some() || self.v6.is_some()
    }

    /// The gateway's own addresses with their networks.
    pub fn gateway(&self) -> Vec<IpNet> {
        self.v4.map(IpNet::V4).into_iter().chain(self.v6.map(IpNet::V6)).collect()
    }

    /// The networks alone, for all gateways of a fleet to have the same.
    pub fn networks(&self) -> String {
        let all: Vec<String> = self.gateway().iter().map(ToString::to_string).collect();
        all.join(" ")
    }

    /// A free IPv4 address; the unspecified one if this pool has no IPv4, `None` if none is free.
    /// `next` says which number from a given one on nobody has; `turn` is where to begin to look,
    /// and 0 finds the lowest.
    pub fn free_v4(&self, turn: u128, next: impl Fn(u128) -> Option<u128>) -> Option<Ipv4Addr> {
        let Some(net) = self.v4 else { return Some(Ipv4Addr::UNSPECIFIED) };
        let (first, last) = (u32::from(net.network()), u32::from(net.broadcast()));
        // Two addresses are two hosts (RFC 3021).
        let edge = u32::from(net.prefix_len() < 31);
        let hosts = (u128::from(first + edge), u128::from(last - edge));
        let free = free(hosts, u128::from(u32::from(net.addr())), turn, next)?;
        u32::try_from(free).ok().map(Ipv4Addr::from)
    }

    /// A free IPv6 address, found in the same way; `Some(None)` if this pool has no IPv6.
    pub fn free_v6(&self, turn: u128, next: impl Fn(u128) -> Option<u128>) -> Option<Option<Ipv6Addr>> {
        let Some(net) = self.v6 else { return Some(None) };
        if let Some(client) = self.free_network(&next) {
            return Some(Some(client));
        }
        let first = u128::from(net.network());
        let last = if self.delegates { first | u128::from(u64::MAX) } else { u128::from(net.broadcast()) };
        // The first is the routers' anycast address (RFC 4291 §2.6.1).
        let hosts = (first.saturating_add(1), last);
        free(hosts, u128::from(net.addr()), turn, next).map(|free| Some(Ipv6Addr::from(free)))
    }

    /// The first address with a network behind it that nobody has, in a pool that gives such out.
    fn free_network(&self, next: impl Fn(u128) -> Option<u128>) -> Option<Ipv6Addr> {
        let net = self.v6.filter(|n| self.delegates && DELEGATING.contains(&n.prefix_len()))?;
        let count = 1u128 << (64 - net.prefix_len());
        let mut all = (1..count).map(|n| u128::from(net.network()) + (n << 64) + BEHIND);
        let has_network = |a: u128| self.network_behind(Ipv6Addr::from(a)).is_some();
        all.find(|a| next(*a) == Some(*a) && has_network(*a)).map(Ipv6Addr::from)
    }

    /// Whether an address given out earlier still belongs to the pool.
    pub fn holds_v4(&self, address: Ipv4Addr) -> bool {
        match self.v4 {
            Some(net) => net.contains(&address) && address != net.addr(),
            None => address.is_unspecified(),
        }
    }

    /// The same for IPv6. Whether the client has a network behind it has to be as the pool says.
    pub fn holds_v6(&self, address: Option<Ipv6Addr>) -> bool {
        match (self.v6, address) {
            (Some(net), Some(address)) => {
                let inner = Inner { client: address, gateway: net.addr(), prefix: net.prefix_len() };
                let has_network = network_behind(&inner).is_some();
                net.contains(&address) && address != net.addr() && has_network == self.delegates
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// What a client is told about its IPv4. A pool without says so with zeros.
    pub fn inner_v4(&self, client: Ipv4Addr) -> Inner<Ipv4Addr> {
        match self.v4 {
            Some(net) => Inner { client, gateway: net.addr(), prefix: net.prefix_len() },
            None => Inner { client: Ipv4Addr::UNSPECIFIED, gateway: Ipv4Addr::UNSPECIFIED, prefix: 0 },
        }
    }

    /// What a client is told about its IPv6.
    pub fn inner_v6(&self, client: Option<Ipv6Addr>) -> Option<Inner<Ipv6Addr>> {
        let (net, client) = (self.v6?, client?);
        Some(Inner { client, gateway: net.addr(), prefix: net.prefix_len() })
    }
}

/// The network behind the client that was told these addresses: the /64 of its own, if the gateway
/// gives such out.
pub fn network_behind(told: &Inner<Ipv6Addr>) -> Option<Ipv6Net> {
    let whole = Ipv6Net::new(told.gateway, told.prefix).ok()?.trunc();
    let own = Ipv6Net::new(told.client, 64).ok()?.trunc();
    let is_own = whole.contains(&own) && own.network() != whole.network() && !own.contains(&told.gateway);
    let is_marked = u128::from(told.client) & u128::from(u64::MAX) == BEHIND;
    (DELEGATING.contains(&told.prefix) && is_own && is_marked).then_some(own)
}

/// The first free number of these but `own`, from the place `turn` on, or else from the first on.
fn free(
    (first, last): (u128, u128),
    own: u128,
    turn: u128,
    next: impl Fn(u128) -> Option<u128>,
) -> Option<u128> {
    let start = first + turn % (last - first).saturating_add(1);
    let from = |n: u128| match next(n) {
        Some(found) if found == own => next(own.checked_add(1)?),
        found => found,
    };
    [start, first].into_iter().find_map(|place| from(place).filter(|found| *found <= last))
}

fn check(address: &IpNet) -> Result<(), PoolError> {
    let host = match address {
        IpNet::V4(net) => {
            net.prefix_len() > 30 || (net.addr() != net.network() && net.addr() != net.broadcast())
        }
        IpNet::V6(net) => net.prefix_len() > 126 || net.addr() != net.network(),
    };
    if !host {
        return Err(PoolError::NotAHost(*address));
    }
    if address.prefix_len() >= address.max_prefix_len() { Err(PoolError::TooSmall(*address)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Runs;

    fn pool(text: &[&str]) -> Result<Pool, PoolError> {
        Pool::new(&text.iter().map(|t| t.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn addresses_are_given_out_until_there_are_none() {
        let pool = pool(&["10.77.0.1/29", "fd77::1/64"]).unwrap();
        let number = |a: Ipv4Addr| u128::from(u32::from(a));
        let mut taken = Runs::default();
        let mut count = 0;
        while let Some(a) = pool.free_v4(count * 5, |n| taken.next_free(n)) {
            assert!(pool.holds_v4(a) && !taken.contains(number(a)));
            taken.insert(number(a));
            count += 1;
        }
        assert_eq!(count, 5);
        let third = Ipv4Addr::new(10, 77, 0, 4);
        taken.remove(number(third));
        for turn in [0, 1, 4, u128::MAX] {
            assert_eq!(pool.free_v4(turn, |n| taken.next_free(n)), Some(third), "{turn}");
        }
        assert_eq!(pool.free_v4(0, Some), Some(Ipv4Addr::new(10, 77, 0, 2)), "the lowest");
        assert_eq!(pool.free_v6(0, Some).unwrap().unwrap(), "fd77::2".parse::<Ipv6Addr>().unwrap());
        let far = pool.free_v6(7 << 32, Some).unwrap().unwrap();
        assert_eq!(far, "fd77::7:0:1".parse::<Ipv6Addr>().unwrap(), "no walk leads there");
    }

    #[test]
    fn small_and_whole_networks_have_their_hosts() {
        let two = pool(&["10.0.0.0/31"]).unwrap();
        assert_eq!(two.free_v4(0, Some), Some(Ipv4Addr::new(10, 0, 0, 1)));
        let edge = pool(&["255.255.255.1/24"]).unwrap();
        assert_eq!(edge.free_v4(252, Some), Some(Ipv4Addr::new(255, 255, 255, 253)));
        assert_eq!(edge.free_v4(0, |n| Runs::from_iter(0xffff_ff00..0x1_0000_0000).next_free(n)), None);
        let all = pool(&["fd77::1/0"]).unwrap();
        assert_eq!(all.free_v6(0, Some), Some(Some(Ipv6Addr::LOCALHOST)));
    }

    #[test]
    fn each_client_has_a_network_of_its_own_until_there_are_none() {
        let pool = pool(&["2001:db8:100:2::1/62"]).unwrap().delegating();
        let mut taken = Runs::default();
        let mut give = || {
            let address = pool.free_v6(0, |n| taken.next_free(n)).unwrap().unwrap();
            taken.insert(u128::from(address));
            let network = pool.network_behind(address);
            assert_eq!(pool.holds_v6(Some(address)), network.is_some(), "{address}");
            (address.to_string(), network.map(|n| n.to_string()))
        };
        let with = |n: u8| (format!("2001:db8:100:{n}::7277"), Some(format!("2001:db8:100:{n}::/64")));
        assert_eq!([give(), give()], [with(1), with(3)], "the first and the gateway's are left out");
        assert_eq!([give(), give()].map(|g| g.1), [None, None], "none is left");
        taken.remove(u128::from("2001:db8:100:1::7277".parse::<Ipv6Addr>().unwrap()));
        let next = pool.free_v6(0, |n| taken.next_free(n)).unwrap();
        assert_eq!(next.map(|a| a.to_string()), Some(with(1).0), "it is free again");
    }

    #[test]
    fn a_network_is_known_by_the_addresses_alone_and_by_no_others() {
        let behind = |client: &str, gateway: &str, prefix: u8| {
            let (client, gateway) = (client.parse().unwrap(), gateway.parse().unwrap());
            network_behind(&Inner { client, gateway, prefix }).map(|n| n.to_string())
        };
        let own = Some("2001:db8:100:5::/64".to_owned());
        assert_eq!(behind("2001:db8:100:5::7277", "2001:db8:100::1", 56), own);
        for (client, gateway, prefix) in [
            ("2001:db8:100:5::7277", "2001:db8:100::1", 31),
            ("2001:db8:100:5::7277", "2001:db8:100::1", 64),
            ("2001:db8:100:5::7277", "2001:db8:100::1", 129),
            ("2001:db8:100:5::2", "2001:db8:100::1", 56),
            ("2001:db8:100:5::7277", "2001:db8:100:5::1", 56),
            ("2001:db8:100::7277", "2001:db8:100:5::1", 56),
            ("2001:db8:200:5::7277", "2001:db8:100::1", 56),
        ] {
            assert_eq!(behind(client, gateway, prefix), None, "{client} {gateway} {prefix}");
        }
        let plain = pool(&["2001:db8:100::1/56"]).unwrap();
        let address = "2001:db8:100:5::7277".parse().unwrap();
        assert!(!plain.holds_v6(Some(address)) && plain.network_behind(address).is_none());
        assert!(plain.delegating().holds_v6(Some(address)));
    }

    #[test]
    fn either_kind_may_be_missing() {
        let six = pool(&["fd77::1/64"]).unwrap();
        assert_eq!(six.free_v4(0, Some), Some(Ipv4Addr::UNSPECIFIED));
        assert_eq!(six.inner_v4(Ipv4Addr::UNSPECIFIED).prefix, 0);
        let four = pool(&["10.77.0.1/24"]).unwrap();
        assert_eq!(four.free_v6(0, Some), Some(None));
        assert!(four.holds_v6(None) && !four.holds_v6(Some(Ipv6Addr::LOCALHOST)));
    }

    #[test]
    fn what_is_no_pool_is_refused() {
        assert_eq!(pool(&[]), Err(PoolError::Number));
        assert_eq!(pool(&["10.0.0.1/24", "10.1.0.1/24"]), Err(PoolError::Number));
        assert!(matches!(pool(&["10.0.0.0/24"]), Err(PoolError::NotAHost(_))));
        assert!(matches!(pool(&["10.0.0.1/32"]), Err(PoolError::TooSmall(_))));
    }
}
