//! Networks in rules of the firewall: of those within each other the narrower one counts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

use ipnet::IpNet;

/// The version of an address, as nftables has it.
pub(super) fn version(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "ip" } else { "ip6" }
}

/// A set of those networks that are `of` this version. In a set they must not overlap.
pub(super) fn set_of(networks: &[IpNet], of: &str) -> Option<String> {
    let all: Vec<IpNet> = networks.iter().filter(|n| version(n.addr()) == of).copied().collect();
    let all: Vec<String> = IpNet::aggregate(&all).iter().map(IpNet::to_string).collect();
    (!all.is_empty()).then(|| format!("{{ {} }}", all.join(", ")))
}

/// Networks that have others within them, here or `inside`, the widest first; and those that have
/// none. These do not overlap, so a map may have them.
pub(super) fn by_depth<T>(all: Vec<(IpNet, T)>, inside: &[IpNet]) -> (Vec<(IpNet, T)>, BTreeMap<IpNet, T>) {
    let known: BTreeSet<IpNet> = all.iter().map(|(n, _)| *n).chain(inside.iter().map(IpNet::trunc)).collect();
    // In this order a network comes right before those within it.
    let is_outer = |(n, _): &(IpNet, T)| {
        let mut after = known.range((Bound::Excluded(*n), Bound::Unbounded));
        after.next().is_some_and(|next| n.contains(next))
    };
    let (mut outer, apart): (Vec<_>, Vec<_>) = all.into_iter().partition(is_outer);
    outer.sort_by_key(|(n, _)| n.prefix_len());
    (outer, apart.into_iter().collect())
}

/// The part of a rule that asks whether an address is of `network`, and of none of `inside` that
/// lies within it. `side` is `saddr` or `daddr`.
pub(super) fn is_of(side: &str, network: IpNet, inside: &[IpNet]) -> String {
    let version = version(network.addr());
    let is_within = |n: &IpNet| *n != network && network.contains(n);
    let within: BTreeSet<IpNet> = inside.iter().map(IpNet::trunc).filter(is_within).collect();
    // In a set they must not overlap.
    let is_widest = |n: &&IpNet| within.iter().all(|w| w == *n || !w.contains(*n));
    let others: Vec<String> = within.iter().filter(is_widest).map(IpNet::to_string).collect();
    match others.is_empty() {
        true => format!("{version} {side} {network}"),
        false => format!("{version} {side} {network} {version} {side} != {{ {} }}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_within_one_are_left_out_of_it_and_do_not_overlap() {
        let inside = ["10.77.0.1/24", "10.0.0.0/8", "10.9.0.0/16", "10.9.1.0/24", "fd77::1/64"];
        let inside: [IpNet; 5] = inside.map(|n| n.parse().unwrap());
        let of = |network: &str| is_of("saddr", network.parse().unwrap(), &inside);
        assert_eq!(of("10.0.0.0/8"), "ip saddr 10.0.0.0/8 ip saddr != { 10.9.0.0/16, 10.77.0.0/24 }");
        assert_eq!(of("10.9.0.0/16"), "ip saddr 10.9.0.0/16 ip saddr != { 10.9.1.0/24 }");
        assert_eq!(of("10.77.0.2/32"), "ip saddr 10.77.0.2/32");
        assert_eq!(of("fd77::2/128"), "ip6 saddr fd77::2/128");
    }
}
