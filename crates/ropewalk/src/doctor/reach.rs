//! Whether the gateway answers on each path.
//!
//! While the daemon runs, it knows. While it does not, a handshake is begun with a key and an
//! invite made up for it: a gateway that the token is of answers that it does not know the invite,
//! and so shows that it is there and has the key. The token is not used up, and nothing changes at
//! the gateway.

use super::by_tls::{self, Found};
use super::nat::{self, Mapping, Seen};
use super::{Finding, Patient};
use crate::config::TlsMode;
use crate::daemon::entropy;
use crate::report::{Path, Peer, Snapshot};
use ropewalk_bond::entropy::Entropy;
use ropewalk_net::clock;
use ropewalk_net::links::{self, Link};
use ropewalk_net::nat64::{self, Prefix};
use ropewalk_net::setup::MARK;
use ropewalk_net::udp::{Options, UdpSocket};
use ropewalk_session::{
    CipherSet, ClientHello, Endpoint, Extensions, Host, Index, Initiator, InviteId, InviteSecret,
    MessageType, StaticKey, Token,
};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// After so long an INIT is sent again; after the last one the path is silent.
const TRIES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1000), Duration::from_millis(1500)];
/// Pairs of interface and endpoint that are tried, all at once.
const PAIRS: usize = 32;
/// The largest datagram that matters here, bytes.
const ROOM: usize = 2048;
/// Where TLS works nothing has to be done.
const BY_ITSELF: &str = "nothing to do: the client goes by TLS here, and by UDP again where that passes";
/// IPv6's least MTU, which a handshake fits.
const MTU_MIN: u32 = 1280;

/// An interface, and where a client goes by it.
struct Way<'a> {
    link: &'a Link,
    remotes: Vec<SocketAddr>,
    /// How its network translates to IPv4.
    prefixes: Vec<Prefix>,
}

pub(super) fn check(patient: &Patient) -> anyhow::Result<Vec<Finding>> {
    if let Some(status) = &patient.status {
        return Ok(by_daemon(status));
    }
    let Some(token) = &patient.token else {
        let advice = "give --token-file FILE to try the gateway of a token";
        return Ok(if patient.is_gateway() {
            Vec::new()
        } else {
            vec![Finding::warning("gateway", "not tried: no token is known", advice)]
        });
    };
    let (wanted, of_token) = (patient.paths(), resolve_all(token.endpoints()));
    if of_token.is_empty() && wanted.iter().all(|(_, own)| own.is_none()) {
        let names: Vec<String> = token.endpoints().iter().map(Endpoint::to_string).collect();
        return Ok(vec![nameless("gateway".into(), &names.join(", "))]);
    }
    let links = links::list()?;
    let is_there = |name: &str| links.iter().any(|l| l.name == name);
    let absent = wanted.iter().filter(|(name, _)| !is_there(name)).map(|(name, _)| absent(name));
    let by_tls = tls_endpoints(patient, token);
    let of_tls = resolve_all(&by_tls);
    let chosen = links.iter().filter(|l| match wanted.is_empty() {
        true => l.unusable(&[]).is_none(),
        false => wanted.iter().any(|(name, _)| *name == l.name),
    });
    let ways: Vec<Way> = chosen
        .map(|link| {
            let remotes = remotes(link, &wanted, &of_token);
            let prefixes = nat64::needed(link, &[&remotes[..], &of_tls].concat());
            Way { link, remotes, prefixes }
        })
        .collect();
    let mut all = ask_all(token, &ways, &by_tls);
    all.extend(absent);
    if all.is_empty() {
        let advice = "plug a cable in, join a network: an interface needs an address and a route";
        all.push(Finding::failed("gateway", "no interface of this machine can carry a path", advice));
    }
    Ok(all)
}

fn resolve_all(endpoints: &[Endpoint]) -> Vec<SocketAddr> {
    endpoints.iter().flat_map(resolve).collect()
}

/// Where an interface leads to: its own endpoints where the configuration names them, else the token's.
fn remotes(link: &Link, wanted: &[(&str, Option<&Endpoint>)], of_token: &[SocketAddr]) -> Vec<SocketAddr> {
    if wanted.is_empty() {
        return of_token.to_vec();
    }
    let of_link = wanted.iter().filter(|(name, _)| *name == link.name);
    of_link.flat_map(|(_, own)| own.map_or_else(|| of_token.to_vec(), resolve)).collect()
}

/// Where a client looks for the gateway's TLS.
fn tls_endpoints(patient: &Patient, token: &Token) -> Vec<Endpoint> {
    match patient.file.as_ref().map(|file| &file.up) {
        Some(up) if up.tls == TlsMode::Off => Vec::new(),
        Some(up) if !up.tls_endpoints.is_empty() => up.tls_endpoints.iter().map(|e| e.0.clone()).collect(),
        _ => token.tls_endpoints().to_vec(),
    }
}

fn nameless(check: String, names: &str) -> Finding {
    let advice = "is this machine online, and its resolver? Is the name right?";
    Finding::failed(check, format!("the name of {names} is not known"), advice)
}

/// The configuration names an interface that is not there.
fn absent(name: &str) -> Finding {
    let found = format!("there is no network interface named `{name}`");
    Finding::failed(format!("path {name}"), found, "plug it in, or take it out of the configuration")
}

/// All paths at once.
fn ask_all(token: &Token, ways: &[Way], tls: &[Endpoint]) -> Vec<Finding> {
    // Each interface has its turn before the next endpoint does.
    let most = ways.iter().map(|way| way.remotes.len()).max().unwrap_or(0);
    let reached = (0..most).flat_map(|turn| {
        let with = ways.iter().filter_map(move |way| Some((way, *way.remotes.get(turn)?)));
        with.map(|(way, remote)| (way.link, remote, nat64::reached_as(way.link, &way.prefixes, remote)))
    });
    let pairs: Vec<(&Link, SocketAddr, Option<SocketAddr>)> = reached.take(PAIRS).collect();
    std::thread::scope(|scope| {
        let asked: Vec<_> = pairs
            .iter()
            .map(|(link, remote, reached)| {
                scope.spawn(move || (*link, reached.unwrap_or(*remote), ask(token, link, *reached)))
            })
            .collect();
        let answers: Vec<_> = asked.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let of = |index: u32| answers.iter().filter(move |(l, ..)| l.index == index);
        let asked: Vec<_> = ways
            .iter()
            .map(|way| {
                let heard = heard(of(way.link.index));
                let by_tls = move || by_tls::ask(token, tls, (way.link, &way.prefixes), resolve);
                scope.spawn(move || match heard.is_empty() {
                    true => (by_tls(), None),
                    false => (Found::NoWay, mapping(token, way.link, &heard)),
                })
            })
            .collect();
        let more = asked.into_iter().map(|thread| thread.join().unwrap_or((Found::NoWay, None)));
        let judged = ways.iter().zip(more).map(|(way, more)| match (way.remotes.is_empty(), &more.0) {
            (true, Found::NoWay | Found::Nobody(_)) => {
                nameless(format!("path {}", way.link.name), "the gateway")
            }
            _ => judge(way.link, of(way.link.index), &more),
        });
        judged.collect()
    })
}

/// The gateway's answers on a path, the quickest first.
fn heard<'a>(
    answers: impl Iterator<Item = &'a (&'a Link, SocketAddr, Answer)>,
) -> Vec<(Duration, SocketAddr, Option<Seen>)> {
    let mut all: Vec<_> = answers
        .filter_map(|(_, remote, answer)| match answer {
            Answer::Gateway(after, seen) => Some((*after, *remote, *seen)),
            _ => None,
        })
        .collect();
    all.sort_by_key(|(after, remote, _)| (*after, *remote));
    all
}

/// How the NAT in front maps: another endpoint is asked from the port from which the best was.
fn mapping(token: &Token, link: &Link, heard: &[(Duration, SocketAddr, Option<Seen>)]) -> Option<Mapping> {
    let seen = heard.first()?.2.filter(Seen::is_translated)?;
    let others = heard.iter().map(|(_, remote, _)| *remote);
    let others = others.filter(|o| *o != seen.remote && o.is_ipv4() == seen.remote.is_ipv4());
    // Another address says more than another port.
    let other = others.min_by_key(|o| o.ip() == seen.remote.ip())?;
    match converse(token, &link.name, other, seen.own.port()) {
        Ok(Answer::Gateway(_, Some(second))) => seen.mapping(&second),
        _ => None,
    }
}

/// What became of a handshake.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    /// The gateway answered after so long, and may have said which address it saw.
    Gateway(Duration, Option<Seen>),
    /// The machine there says that nobody listens.
    Closed,
    /// Nothing came.
    Silent,
    /// This machine does not send there.
    Unsendable(String),
    /// There is no way by this interface.
    NoRoute,
}

fn ask(token: &Token, link: &Link, reached: Option<SocketAddr>) -> Answer {
    let Some(remote) = reached else { return Answer::NoRoute };
    converse(token, &link.name, remote, 0).unwrap_or_else(|e| match e.downcast_ref::<Errno>() {
        Some(&Errno::CONNREFUSED) => Answer::Closed,
        Some(&(Errno::NETUNREACH | Errno::HOSTUNREACH)) => Answer::NoRoute,
        Some(&Errno::PERM) => {
            Answer::Unsendable("a firewall of this machine (or a kill switch) does not let it out".into())
        }
        _ => Answer::Unsendable(format!("{e:#}")),
    })
}

/// A handshake from a port of this machine; 0 is any.
fn converse(token: &Token, interface: &str, remote: SocketAddr, port: u16) -> anyhow::Result<Answer> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let options =
        Options { device: Some(interface), mark: Some(MARK), ..Options::at(SocketAddr::new(any, port)) };
    let socket =
        UdpSocket::open(&options).or_else(|_| UdpSocket::open(&Options { mark: None, ..options }))?;
    rustix::net::connect(&socket, &remote)?;
    let own = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    let mut rng = entropy();
    let mut handshake = handshake(token, &mut rng)?;
    let began = Instant::now();
    for wait in TRIES {
        send(&socket, handshake.datagram())?;
        let until = Instant::now() + wait;
        while let Some(datagram) = receive(&socket, until)? {
            match MessageType::of(&datagram) {
                Some(MessageType::Cookie) => {
                    if let Ok(again) = handshake.handle_cookie(&datagram, clock::now()) {
                        send(&socket, again)?;
                    }
                }
                // Whatever it says, it is said with the gateway's key.
                _ if handshake.finish(&datagram).is_ok() => {
                    let seen = handshake.observed().map(|outside| Seen { remote, own, outside });
                    return Ok(Answer::Gateway(began.elapsed(), seen));
                }
                _ => {}
            }
        }
        handshake.retry(&mut rng, clock::now())?;
    }
    Ok(Answer::Silent)
}

/// A handshake with a key and an invite that are made up.
pub(super) fn handshake(token: &Token, rng: &mut Entropy) -> anyhow::Result<Initiator> {
    let mut extensions = Extensions::of_this_version();
    extensions.ask_address();
    let hello = ClientHello {
        ciphers: CipherSet::of_this_cpu(),
        tun_mtu: 1420,
        resume: None,
        invite: InviteId::generate(rng),
        secret: InviteSecret::generate(rng),
        extensions,
    };
    let key = StaticKey::generate(rng)?;
    let index = Index::new(rand::random::<u32>() >> 8).unwrap_or_default();
    Ok(Initiator::start(rng, &key, &token.gateway, index, &hello, None, clock::now())?)
}

fn send(socket: &UdpSocket, datagram: &[u8]) -> anyhow::Result<()> {
    rustix::net::send(socket, datagram, SendFlags::empty())?;
    Ok(())
}

fn receive(socket: &UdpSocket, until: Instant) -> anyhow::Result<Option<Vec<u8>>> {
    let mut room = [0u8; ROOM];
    // Also while somebody floods the socket.
    while Instant::now() < until {
        match rustix::net::recv(socket, &mut room[..], RecvFlags::empty()) {
            Ok((length, _)) => return Ok(Some(room[..length.min(ROOM)].to_vec())),
            Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(5)),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(None)
}

/// A path on which the gateway answered.
fn judge_heard(
    link: &Link,
    (after, remote, seen): (Duration, SocketAddr, Option<Seen>),
    mapping: Option<Mapping>,
) -> Finding {
    let own = link.addresses.iter().filter(|a| a.usable && a.ip.is_ipv4() == remote.is_ipv4());
    let guess = own.filter_map(|a| nat::guess(a.ip, remote.ip())).next().map(str::to_owned);
    let behind = seen.map(|seen| seen.words(mapping)).or(guess);
    let behind = behind.map_or_else(String::new, |words| format!(", {words}"));
    let (name, ms) = (format!("path {}", link.name), after.as_secs_f64() * 1000.0);
    let found = format!("the gateway at {remote} answers in {ms:.0} ms; MTU {}{behind}", link.mtu);
    if link.mtu < MTU_MIN {
        return Finding::warning(
            name,
            found,
            format!(
                "an MTU below {MTU_MIN} is less than a path needs: raise it (ip link set {} mtu 1500)",
                link.name
            ),
        );
    }
    Finding::ok(name, found)
}

/// One line for an interface: the best of its answers.
fn judge<'a>(
    link: &Link,
    answers: impl Iterator<Item = &'a (&'a Link, SocketAddr, Answer)>,
    (by_tls, mapping): &(Found, Option<Mapping>),
) -> Finding {
    let name = format!("path {}", link.name);
    let answers: Vec<_> = answers.collect();
    if let Some(best) = heard(answers.iter().copied()).first() {
        return judge_heard(link, *best, *mapping);
    }
    if let Found::Gateway(remote, after) = by_tls {
        let ms = after.as_secs_f64() * 1000.0;
        let found = format!("UDP blocked, TLS works: the gateway at {remote} answers in {ms:.0} ms");
        return Finding::warning(name, found, BY_ITSELF);
    }
    if answers.is_empty() {
        let found = format!("not tried: there are more interfaces than {PAIRS}");
        return Finding::warning(name, found, "name those that count under [[up.path]] of the file");
    }
    let to: Vec<String> = answers.iter().map(|(_, r, _)| r.to_string()).collect();
    let to = to.join(", ");
    let has = |wanted: &Answer| answers.iter().any(|(.., a)| a == wanted);
    if let Some(why) = answers.iter().find_map(|(.., a)| match a {
        Answer::Unsendable(why) => Some(why),
        _ => None,
    }) {
        return Finding::failed(
            name,
            why.clone(),
            "`nft list ruleset` shows the rules; `ropewalk restore` takes a left kill switch back",
        );
    }
    if has(&Answer::Silent) {
        return Finding::failed(
            name,
            match by_tls {
                Found::Nobody(why) => format!("no answer from {to} (UDP); by TLS, {why}"),
                _ => format!("no answer from {to} (UDP)"),
            },
            "does the gateway run, is its UDP port open and forwarded, and is the token its own? If other paths work, this network blocks UDP",
        );
    }
    if has(&Answer::Closed) {
        let advice =
            "start the gateway, or mend the port in the token (`ropewalk invite NAME --endpoint HOST:PORT`)";
        return Finding::failed(name, format!("nobody listens at {to}"), advice);
    }
    if nat64::is_wanted(link) && answers.iter().all(|(_, remote, _)| remote.is_ipv4()) {
        let advice = "give the gateway an IPv6 address, or ask the network's own name servers (DNS64)";
        let found = format!("it has IPv6 alone, and its network names no NAT64 for {to}");
        return Finding::failed(name, found, advice);
    }
    Finding::failed(
        name,
        format!("no route to {to} by this interface"),
        format!(
            "give it one (ip route add default via ROUTER dev {} metric 1000), or leave it out with --path",
            link.name
        ),
    )
}

fn resolve(endpoint: &Endpoint) -> Vec<SocketAddr> {
    match &endpoint.host {
        Host::Address(ip) => vec![SocketAddr::new(*ip, endpoint.port)],
        Host::Name(name) => {
            (name.as_str(), endpoint.port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
        }
    }
}

/// What the running daemon knows of its paths.
fn by_daemon(status: &Snapshot) -> Vec<Finding> {
    if matches!(status.role.as_str(), "gateway" | "ap") {
        let up = status.peers.iter().filter(|p| p.up).count();
        return vec![Finding::ok("clients", format!("{up} connected"))];
    }
    let mut all = Vec::new();
    for peer in &status.peers {
        all.push(session(peer));
        let narrow: Vec<&Path> = peer.paths.iter().filter(|p| peer.is_beside_tls(p)).collect();
        let is_narrow = |p: &Path| narrow.iter().any(|other| other.name == p.name);
        let told = peer.paths.iter().filter(|p| !peer.is_beside_tls(p));
        all.extend(told.map(|p| path(p, is_narrow(p))));
    }
    let without = status.uplinks.iter().filter_map(|u| Some((&u.name, u.obstacle.as_ref()?)));
    all.extend(without.map(|(name, why)| {
        Finding::failed(format!("path {name}"), why.clone(), "put that right, or leave the path out; where UDP is blocked see the guide, \"Networks that block UDP\"")
    }));
    all.extend(
        status.notes.iter().map(|note| {
            Finding::warning("daemon", note.clone(), "see the guide, \"When something is wrong\"")
        }),
    );
    all
}

fn session(peer: &Peer) -> Finding {
    let inside: Vec<String> = peer.inside.iter().map(ToString::to_string).collect();
    if peer.up {
        return Finding::ok("gateway", format!("connected, {}", inside.join(" ")));
    }
    let advice = "is the gateway up, its UDP port open, and the token its own?";
    Finding::failed("gateway", "not connected", advice)
}

/// One path; `is_narrow` if one by UDP beside it is too narrow.
fn path(path: &Path, is_narrow: bool) -> Finding {
    let name = format!("path {}", path.name);
    let remote = path.remote.map_or_else(String::new, |r| format!(" to {r}"));
    let rtt = path.rtt_ms.map_or_else(String::new, |ms| format!(", {ms:.0} ms"));
    let found = format!("{}{remote}{rtt}, MTU {} measured", path.state, path.mtu);
    match path.state.as_str() {
        "active" if path.carrier == "tls" => {
            let why = if is_narrow { "UDP does not pass packets of 1280 bytes" } else { "UDP blocked" };
            Finding::warning(name, format!("{why}, TLS works: {found}"), BY_ITSELF)
        }
        "active" => Finding::ok(name, found),
        "suspect" => Finding::warning(name, found, "it is silent just now; look again"),
        "down" => Finding::failed(name, found, "is the link up, and does its network let UDP out?"),
        "too narrow" => Finding::failed(
            name,
            found,
            "packets of 1280 bytes do not pass: raise the MTU of the tunnel or link that it goes through",
        ),
        _ => Finding::failed(
            name,
            found,
            "the gateway does not answer there: route, firewall, or a network that blocks UDP",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn an_interface_that_had_no_turn_is_not_said_to_have_no_route() {
        let link = Link { name: "wan33".into(), mtu: 1500, ..Link::default() };
        let none: [(&Link, SocketAddr, Answer); 0] = [];
        let finding = judge(&link, none.iter(), &(Found::NoWay, None));
        assert_eq!(finding.level, Level::Warning);
        assert!(finding.found.starts_with("not tried"), "{}", finding.found);
        let answers = [(&link, "192.0.2.1:4500".parse().unwrap(), Answer::NoRoute)];
        let finding = judge(&link, answers.iter(), &(Found::NoWay, None));
        assert_eq!(finding.found, "no route to 192.0.2.1:4500 by this interface");
    }
}
