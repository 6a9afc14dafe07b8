//! Networks within each other: what is of the narrower one is not of the wider.

use std::collections::BTreeSet;

use ipnet::IpNet;

/// The part of a rule that asks whether an address is of `network`, and of none of `inside` that
/// lies within it. `side` is `saddr` or `daddr`.
pub(super) fn is_of(side: &str, network: IpNet, inside: &[IpNet]) -> String {
    let version = if network.addr().is_ipv4() { "ip" } else { "ip6" };
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
