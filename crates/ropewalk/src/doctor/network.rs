//! Ports, other tunnels, routes and filters.

use super::{Finding, Patient};
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::state::StateDir;
use ipnet::IpNet;
use ropewalk_net::links::{self, Link, interface_towards};
use ropewalk_net::udp::{OpenError, Options, UdpSocket};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Kinds of interface that are tunnels; the kernel's words.
const TUNNELS: [&str; 11] =
    ["tun", "wireguard", "ovpn", "ipip", "gre", "sit", "xfrm", "vti", "ip6tnl", "ip6gre", "vti6"];
/// Stands for the internet in a lookup of routes (RFC 5737, RFC 3849); nothing is sent.
const WORLD: [(&str, &str); 2] = [("IPv4", "192.0.2.1"), ("IPv6", "2001:db8::1")];
/// Where a gateway listens that is told no address.
const UNNAMED: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 4500),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 4500),
];

pub(super) fn check(patient: &Patient) -> anyhow::Result<Vec<Finding>> {
    let links = links::list()?;
    let others = others(patient, &links);
    let mut all = Vec::new();
    if patient.is_gateway() {
        all.push(ports(patient));
        all.extend(forwarding(patient));
    }
    all.push(other_tunnel(&others)?);
    all.push(filters(patient, &others));
    all.extend(conflicts(patient, &others));
    Ok(all)
}

/// All but the bond's device. A daemon that may not be asked does not name it: none of its kind counts.
fn others<'a>(patient: &Patient, links: &'a [Link]) -> Vec<&'a Link> {
    let may_be_ours = |link: &Link| {
        link.name == patient.device() || patient.is_unasked && link.kind.as_deref() == Some("tun")
    };
    links.iter().filter(|link| !may_be_ours(link)).collect()
}

/// Whether the gateway's ports can be had, where it does not have them itself.
fn ports(patient: &Patient) -> Finding {
    let names = |listen: &[SocketAddr]| listen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if patient.status.is_some() {
        // Its command line may say otherwise than the file.
        let has = wrote_down(patient).filter(|listen| !listen.is_empty());
        let has = has.map_or_else(String::new, |listen| format!(" and has UDP {}", names(&listen)));
        return Finding::ok("port", format!("the gateway runs{has}"));
    }
    let named = patient.file.as_ref().map(|f| f.serve.listen.clone()).unwrap_or_default();
    let is_named = !named.is_empty();
    let listen = if is_named { named } else { UNNAMED.to_vec() };
    let mut free = Vec::new();
    for address in listen {
        // Each is closed before the next.
        match UdpSocket::open(&Options::at(address)) {
            Ok(_) => free.push(address),
            // The gateway does without it, too.
            Err(OpenError::NoFamily(_) | OpenError::NoSuchAddress(_)) if !is_named => {}
            Err(error) => return judge_port(address, &error, patient.is_unasked),
        }
    }
    Finding::ok("port", format!("UDP {} is free", names(&free)))
}

fn judge_port(address: SocketAddr, error: &OpenError, may_be_ours: bool) -> Finding {
    match error {
        OpenError::PortInUse(_) if may_be_ours => Finding::warning(
            "port",
            format!("UDP {address} is taken, perhaps by the gateway itself"),
            "run this as root (sudo), or as the daemon's user, to know",
        ),
        OpenError::PortInUse(_) => Finding::failed(
            "port",
            format!("UDP {address} is taken by another program"),
            format!(
                "`ss -ulpn 'sport = {}'` names it; stop it, or choose another with --listen",
                address.port()
            ),
        ),
        OpenError::NotPermitted(_) => {
            Finding::warning("port", format!("not tried: {error}"), "run this as root, as the daemon is")
        }
        error => Finding::failed("port", format!("UDP {address}: {error}"), "choose another with --listen"),
    }
}

/// Where a gateway that runs listens, as it wrote down when it started.
fn wrote_down(patient: &Patient) -> Option<Vec<SocketAddr>> {
    let dir = StateDir::existing(patient.state.as_deref()?).ok()?;
    Some(dir.read_json::<Listening>(GATEWAY_FILE).ok()??.listen)
}

/// Whether a running gateway that needs it still forwards, by each IP version that it serves.
fn forwarding(patient: &Patient) -> Option<Finding> {
    let serve = patient.file.as_ref().map(|f| &f.serve).filter(|_| patient.status.is_some())?;
    let has = |v6: bool| serve.masquerade && serve.address.iter().any(|net| net.addr().is_ipv6() == v6);
    // Without addresses in the file it serves IPv4.
    let v4 = has(false) || serve.masquerade && serve.address.is_empty();
    judge_forwarding(v4, has(true) || serve.global6, |key| {
        let now = std::fs::read_to_string(format!("/proc/sys/net/{key}"));
        now.is_ok_and(|now| now.trim() == "1")
    })
}

fn judge_forwarding(v4: bool, v6: bool, is_on: impl Fn(&str) -> bool) -> Option<Finding> {
    let needed = [(v4, "IPv4", "ipv4/ip_forward"), (v6, "IPv6", "ipv6/conf/all/forwarding")];
    let mut needed = needed.into_iter().filter(|(needed, ..)| *needed).peekable();
    needed.peek()?;
    Some(match needed.find(|(_, _, key)| !is_on(key)) {
        None => Finding::ok("forwarding", "on"),
        Some((_, version, key)) => Finding::failed(
            "forwarding",
            format!("something turned it off again for {version}"),
            format!("sysctl -w net.{}=1, and find out who", key.replace('/', ".")),
        ),
    })
}

/// Another VPN that has the default route carries the bond's programs, or the bond itself.
fn other_tunnel(links: &[&Link]) -> anyhow::Result<Finding> {
    for (version, world) in WORLD {
        let Some(name) = interface_towards(world.parse()?)? else { continue };
        let Some(link) = links.iter().find(|l| l.name == name) else { continue };
        if link.kind.as_deref().is_some_and(|k| TUNNELS.contains(&k)) {
            return Ok(Finding::warning(
                "other VPN",
                format!("the default route of {version} leads into {name}, another tunnel"),
                format!(
                    "stop it, or leave it: the bond's paths go around it by the real interfaces; a full tunnel here would fight it for the default route, and with --path {name} the bond would be a tunnel in a tunnel"
                ),
            ));
        }
    }
    Ok(Finding::ok("other VPN", "no other tunnel has the default route"))
}

/// A strict filter drops answers on all paths but one. The client loosens it while it runs.
fn filters(patient: &Patient, links: &[&Link]) -> Finding {
    let value = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"));
        text.ok().and_then(|t| t.trim().parse::<u8>().ok()).unwrap_or(0)
    };
    let usable = links.iter().filter(|l| l.unusable(&[]).is_none());
    let strict: Vec<&str> =
        usable.filter(|l| value("all").max(value(&l.name)) == 1).map(|l| l.name.as_str()).collect();
    let Some(first) = strict.first() else {
        return Finding::ok("rp_filter", "no interface filters strictly");
    };
    let found = format!("strict on {}", strict.join(", "));
    let advice = format!("sysctl -w net.ipv4.conf.{first}.rp_filter=2, and the same for the others");
    match &patient.status {
        Some(status) if matches!(status.role.as_str(), "client" | "repeater") => Finding::failed(
            "rp_filter",
            format!("{found}, though a client runs: answers on a path may be dropped"),
            advice,
        ),
        Some(_) => Finding::ok("rp_filter", format!("{found}; a gateway does not mind")),
        None if patient.is_gateway() => Finding::ok("rp_filter", format!("{found}; a gateway does not mind")),
        None => Finding::warning(
            "rp_filter",
            format!("{found}; a client loosens it while it runs"),
            format!("nothing, unless /proc/sys cannot be written here: then {advice}"),
        ),
    }
}

/// Networks of the configuration that this machine has elsewhere.
fn conflicts(patient: &Patient, links: &[&Link]) -> Vec<Finding> {
    let Some(file) = &patient.file else { return Vec::new() };
    let own = |l: &Link| -> Vec<(String, IpNet)> {
        let nets = l.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok());
        nets.map(|n| (l.name.clone(), n.trunc())).collect()
    };
    let used: Vec<(String, IpNet)> =
        links.iter().filter(|l| l.unusable(&[]).is_none()).flat_map(|l| own(l)).collect();
    let clash = |net: &IpNet| {
        let mut all = used.iter();
        all.find(|(_, other)| other.contains(&net.network()) || net.contains(&other.network())).cloned()
    };
    let mut out = Vec::new();
    for address in &file.serve.address {
        if let Some((name, net)) = clash(address) {
            out.push(Finding::failed(
                "routes",
                format!("the network inside, {address}, is also {net} of {name}"),
                "choose another address under [serve]",
            ));
        }
    }
    for route in file.up.route.iter().filter(|r| r.prefix_len() > 0) {
        if let Some((name, net)) = clash(route) {
            out.push(Finding::warning(
                "routes",
                format!("the route {route} collides with {net} of {name}"),
                "the longer prefix wins: take the route away, or make it smaller",
            ));
        }
    }
    if out.is_empty() {
        out.push(Finding::ok("routes", "no network of the configuration is one of this machine's"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{File, Serve};
    use crate::doctor::Level;
    use crate::report::Snapshot;
    use crate::state::tests::Scratch;
    use ropewalk_net::links::Address;

    #[test]
    fn a_running_gateway_has_the_ports_that_it_wrote_down() {
        let scratch = Scratch::new();
        let status = Some(Snapshot { role: "gateway".into(), ..Snapshot::default() });
        let patient = Patient { state: Some(scratch.0.path().into()), status, ..Patient::default() };
        assert_eq!(ports(&patient).found, "the gateway runs");
        let listen = vec!["192.0.2.1:4999".parse().unwrap(), "[::]:4999".parse().unwrap()];
        scratch.0.write_json(GATEWAY_FILE, &Listening { listen, ..Listening::default() }).unwrap();
        assert_eq!(ports(&patient).found, "the gateway runs and has UDP 192.0.2.1:4999, [::]:4999");
    }

    #[test]
    fn a_gateway_that_may_run_may_have_its_port() {
        let holder = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let serve = Serve { listen: vec![holder.local_addr().unwrap()], ..Serve::default() };
        let patient = Patient { file: Some(File { serve, ..File::default() }), ..Patient::default() };
        let finding = ports(&patient);
        assert!(finding.level == Level::Failed && finding.found.contains("by another"), "{finding:?}");
        let finding = ports(&Patient { is_unasked: true, ..patient });
        assert!(finding.level == Level::Warning && finding.found.contains("by the gateway"), "{finding:?}");
    }

    #[test]
    fn a_device_that_may_be_the_bond_s_is_no_other_vpn_and_no_other_network() {
        let link = |name: &str, kind: Option<&str>, address: &str| {
            let address = Address::new(address.parse().unwrap(), 24);
            let kind = kind.map(str::to_owned);
            Link { name: name.into(), kind, up: true, addresses: vec![address], ..Link::default() }
        };
        let links = [
            link("wan1", None, "192.0.2.1"),
            link("rw0", Some("tun"), "10.77.0.1"),
            link("wg0", Some("wireguard"), "10.9.0.1"),
        ];
        let names = |patient: &Patient| {
            others(patient, &links).iter().map(|l| l.name.clone()).collect::<Vec<_>>().join(" ")
        };
        let serve = Serve { address: vec!["10.77.0.1/24".parse().unwrap()], ..Serve::default() };
        let stopped = Patient { file: Some(File { serve, ..File::default() }), ..Patient::default() };
        assert_eq!(names(&stopped), "wan1 rw0 wg0");
        assert_eq!(conflicts(&stopped, &others(&stopped, &links))[0].level, Level::Failed);
        let unasked = Patient { is_unasked: true, ..stopped };
        assert_eq!(names(&unasked), "wan1 wg0");
        assert_eq!(conflicts(&unasked, &others(&unasked, &links))[0].level, Level::Ok);
        let status = Some(Snapshot { device: "rw0".into(), ..Snapshot::default() });
        assert_eq!(names(&Patient { status, ..Patient::default() }), "wan1 wg0");
    }

    #[test]
    fn forwarding_counts_for_each_ip_version_that_is_served() {
        let v4_only = |key: &str| key == "ipv4/ip_forward";
        assert!(judge_forwarding(false, false, v4_only).is_none());
        assert_eq!(judge_forwarding(true, false, v4_only).unwrap().level, Level::Ok);
        for v4 in [true, false] {
            let finding = judge_forwarding(v4, true, v4_only).unwrap();
            assert_eq!(finding.level, Level::Failed);
            let words = format!("{finding:?}");
            assert!(words.contains("IPv6") && words.contains("net.ipv6.conf.all.forwarding=1"), "{words}");
        }
        assert_eq!(judge_forwarding(true, true, |_| false).unwrap().level, Level::Failed);
    }
}
