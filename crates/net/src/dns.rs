//! The resolver of a client, through systemd-resolved (`resolvectl(1)`), and name servers that are
//! asked by one interface.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};
use serde::{Deserialize, Serialize};
use smoltcp::wire::{
    DnsFlags, DnsOpcode, DnsPacket, DnsQueryType, DnsQuestion, DnsRcode, DnsRecord, DnsRecordData, DnsRepr,
};

use crate::command::Tool;
use crate::poll::{Events, Interest, Poller};
use crate::setup::{Change, Journal, MARK, SetupError};
use crate::udp::{Options, UdpSocket};

const RESOLVECTL: Tool = Tool { program: "resolvectl", purpose: "--dns", package: "systemd-resolved" };
/// How long setting all of it may take, and taking it back. The data loop waits for it once, before
/// the client is connected; from then on systemd watches it.
const SETTING: Duration = Duration::from_secs(6);
const REVERTING: Duration = Duration::from_secs(2);
/// resolved keeps its state here while it runs.
const STATE: &str = "/run/systemd/resolve";
/// Where name servers stand without it (`resolv.conf(5)`).
const SERVERS: &str = "/etc/resolv.conf";
/// Name servers that are asked, each so often, and how long each time is waited.
const MOST_SERVERS: usize = 2;
const TRIES: usize = 2;
const PATIENCE: Duration = Duration::from_secs(1);
/// Records of an answer that are read.
const MOST_RECORDS: u16 = 32;
/// The longest answer without extensions (RFC 1035 §4.2.1), bytes, and some to spare.
const BUFFER: usize = 1232;

/// What is set for a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolver {
    /// The bond's device.
    pub device: String,
    /// The name servers.
    pub servers: Vec<IpAddr>,
    /// What they are asked about: without any, all names.
    #[serde(default)]
    pub domains: Vec<String>,
}

/// Asks `servers` about names in `domains`, or without any about every name, through the bond's
/// `device`. Fails with a sentence where systemd-resolved does not run.
pub fn set(
    journal: &mut Journal,
    device: &str,
    servers: &[IpAddr],
    domains: &[String],
) -> Result<(), SetupError> {
    if !Path::new(STATE).exists() {
        return Err(SetupError::NoResolver);
    }
    let resolver = Resolver { device: device.into(), servers: servers.into(), domains: domains.into() };
    journal.make(Change::Resolver(resolver))
}

/// What the name servers of `interface` say of `name`, whoever is asked about it otherwise; nothing
/// if they do not know it or cannot be asked.
pub fn ask(interface: &str, name: &str) -> Vec<IpAddr> {
    let by = format!("--interface={interface}");
    match RESOLVECTL.run(&[&by, "--legend=no", "--", "query", name], "") {
        Ok(printed) => addresses(&printed),
        Err(error) => {
            tracing::debug!(interface, name, %error, "not resolved by this interface's name servers");
            Vec::new()
        }
    }
}

/// The IPv6 addresses that the name servers of an interface's network say `name` has; `None` if
/// nobody answered within some seconds.
pub fn ask_servers(interface: &str, name: &str) -> Option<Vec<Ipv6Addr>> {
    let six = |found: Vec<IpAddr>| -> Vec<Ipv6Addr> {
        let six = found.into_iter().filter_map(|ip| match ip {
            IpAddr::V6(six) => Some(six),
            IpAddr::V4(_) => None,
        });
        six.collect()
    };
    let by_resolved = if Path::new(STATE).exists() { ask(interface, name) } else { Vec::new() };
    if !by_resolved.is_empty() {
        return Some(six(by_resolved));
    }
    let servers = servers(&std::fs::read_to_string(SERVERS).ok()?, Some(interface));
    servers.into_iter().find_map(|server| query(Some(interface), server, name, DnsQueryType::Aaaa)).map(six)
}

/// What the name servers of `resolv.conf` say of `name` where they are asked past the bond: the
/// system's resolver asks them through it where they are behind the default route. Nothing if
/// nobody answers within some seconds.
pub fn ask_past_bond(name: &str) -> Vec<IpAddr> {
    let servers = std::fs::read_to_string(SERVERS).map(|text| servers(&text, None)).unwrap_or_default();
    let of = |server| {
        let found = [DnsQueryType::Aaaa, DnsQueryType::A].map(|kind| query(None, server, name, kind));
        found.into_iter().flatten().flatten().collect::<Vec<IpAddr>>()
    };
    servers.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The first name servers of `resolv.conf` that may be asked by an interface; without one, those of
/// other machines: whoever serves names on this one was asked by the system's resolver.
fn servers(text: &str, interface: Option<&str>) -> Vec<IpAddr> {
    let lines = text.lines().filter_map(|l| l.trim().strip_prefix("nameserver")?.split_whitespace().next());
    // An address of the link alone may name its interface; the socket is that interface's.
    let own = lines.filter_map(|word| match word.split_once('%') {
        Some((address, zone)) => address.parse().ok().filter(|_| Some(zone) == interface),
        None => word.parse().ok(),
    });
    own.filter(|server: &IpAddr| interface.is_some() || !server.is_loopback()).take(MOST_SERVERS).collect()
}

/// Asks one name server for addresses of a kind; `None` if it does not answer.
fn query(interface: Option<&str>, server: IpAddr, name: &str, kind: DnsQueryType) -> Option<Vec<IpAddr>> {
    match try_query(interface, server, name, kind) {
        Ok(found) => Some(found),
        Err(error) => {
            tracing::debug!(%server, name, %error, "a name server did not answer");
            None
        }
    }
}

/// The same. A server on this machine is asked by no interface.
fn try_query(
    interface: Option<&str>,
    server: IpAddr,
    name: &str,
    kind: DnsQueryType,
) -> io::Result<Vec<IpAddr>> {
    let any = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let device = interface.filter(|_| !server.is_loopback());
    let at = Options::at(SocketAddr::new(any, 0));
    let options = Options { device, mark: Some(MARK), buffer_bytes: 64 << 10, ..at };
    // A mark needs rights that whoever asks may not have.
    let socket = UdpSocket::open(&options).or_else(|_| UdpSocket::open(&Options { mark: None, ..options }));
    let socket = socket.map_err(io::Error::other)?;
    rustix::net::connect(&socket, &SocketAddr::new(server, 53))?;
    let (poller, mut events) = (Poller::new()?, Events::new(1));
    poller.add(&socket, 0, Interest::Read)?;
    let id = RandomState::new().build_hasher().finish() as u16;
    let (question, mut buffer) = (encoded(name), [0; BUFFER]);
    for _ in 0..TRIES {
        rustix::net::send(&socket, &encoded_question(id, &question, kind), SendFlags::empty())?;
        let until = Instant::now() + PATIENCE;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            poller.wait(&mut events, Some(left))?;
            let length = match rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => length.min(BUFFER),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if let Some(found) = answered(&buffer[..length], id, (&question, kind)) {
                return found;
            }
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// A name as labels (RFC 1035 §3.1).
fn encoded(name: &str) -> Vec<u8> {
    let label = |label: &str| [&[label.len() as u8], label.as_bytes()].concat();
    name.split('.').flat_map(label).chain([0]).collect()
}

fn encoded_question(id: u16, name: &[u8], kind: DnsQueryType) -> Vec<u8> {
    let query = DnsRepr {
        transaction_id: id,
        opcode: DnsOpcode::Query,
        flags: DnsFlags::RECURSION_DESIRED,
        question: DnsQuestion { name, type_: kind },
    };
    let mut bytes = vec![0; query.buffer_len()];
    query.emit(&mut DnsPacket::new_unchecked(&mut bytes[..]));
    bytes
}

/// The addresses of the kind in an answer; `None` if it is not the answer to this question.
fn answered(bytes: &[u8], id: u16, (name, kind): (&[u8], DnsQueryType)) -> Option<io::Result<Vec<IpAddr>>> {
    let packet = DnsPacket::new_checked(bytes).ok()?;
    let (mut rest, question) = DnsQuestion::parse(packet.payload()).ok()?;
    let is_own = packet.transaction_id() == id
        && packet.flags().contains(DnsFlags::RESPONSE)
        && question.type_ == kind
        && question.name.eq_ignore_ascii_case(name);
    match packet.rcode() {
        _ if !is_own => return None,
        DnsRcode::NoError | DnsRcode::NXDomain => {}
        other => return Some(Err(io::Error::other(format!("it refuses: {other:?}")))),
    }
    let mut found = Vec::new();
    for _ in 0..packet.answer_record_count().min(MOST_RECORDS) {
        let Ok((after, record)) = DnsRecord::parse(rest) else { break };
        rest = after;
        match record.data {
            DnsRecordData::A(ip) if kind == DnsQueryType::A => found.push(ip.into()),
            DnsRecordData::Other(DnsQueryType::Aaaa, data) if kind == DnsQueryType::Aaaa => {
                found.extend(<[u8; 16]>::try_from(data).ok().map(IpAddr::from));
            }
            _ => {}
        }
    }
    Some(Ok(found))
}

/// `NAME: ADDRESS -- link: IFACE`, further addresses below the first.
fn addresses(printed: &str) -> Vec<IpAddr> {
    printed.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

impl Resolver {
    pub(crate) fn set(&self) -> Result<(), SetupError> {
        let until = Instant::now() + SETTING;
        for arguments in self.commands() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let left = until.saturating_duration_since(Instant::now());
            if let Err(error) = RESOLVECTL.run_within(left, &arguments, "") {
                self.revert()?;
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// resolved forgets a device that is gone by itself, so failing is no failure.
    pub(crate) fn revert(&self) -> Result<(), SetupError> {
        let _ = RESOLVECTL.run_within(REVERTING, &["revert", &self.device], "");
        Ok(())
    }

    /// Servers; the names that belong to them (`~.` are all); and whether they are asked about
    /// names that belong to nobody.
    fn commands(&self) -> [Vec<String>; 3] {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut servers = words(&["dns", &self.device]);
        servers.extend(self.servers.iter().map(IpAddr::to_string));
        let mut domains = words(&["domain", &self.device]);
        domains.extend(self.domains.iter().map(|d| format!("~{d}")));
        if self.domains.is_empty() {
            domains.push("~.".into());
        }
        let default = if self.domains.is_empty() { "yes" } else { "no" };
        [servers, domains, words(&["default-route", &self.device, default])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_what_resolvectl_prints() {
        let printed = "gw.example.org: 192.0.2.1               -- link: wan1
                                       2001:db8::1             -- link: wan1
                                       fe80::1%3               -- link: wan1
                                       (other.example.org)
";
        assert_eq!(
            addresses(printed),
            ["192.0.2.1".parse::<IpAddr>().unwrap(), "2001:db8::1".parse().unwrap()]
        );
        assert_eq!(addresses(""), Vec::<IpAddr>::new());
    }

    #[test]
    fn servers_of_a_file_are_those_that_an_interface_may_ask() {
        let text = "# by hand\nsearch lan\nnameserver fe80::1%wan2\nnameserver fe80::2%wan1\nnameserver x\n  nameserver 2001:db8::53\nnameserver 192.0.2.53\n";
        let six = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(servers(text, Some("wan1")), [six("fe80::2"), six("2001:db8::53")]);
        assert_eq!(servers(text, None), [six("2001:db8::53"), six("192.0.2.53")]);
        assert_eq!(servers("", Some("wan1")), Vec::<IpAddr>::new());
        let local = "nameserver 127.0.0.1\nnameserver ::1\nnameserver 192.0.2.53\n";
        assert_eq!(servers(local, None), [six("192.0.2.53")], "those of this machine take no place");
        assert_eq!(servers(local, Some("wan1")), [six("127.0.0.1"), six("::1")]);
    }

    #[test]
    fn an_answer_is_read_and_another_is_none() {
        let (aaaa, a) = (DnsQueryType::Aaaa, DnsQueryType::A);
        let name = encoded("ipv4only.arpa");
        let question = encoded_question(7, &name, aaaa);
        assert_eq!(question[12..], *b"\x08ipv4only\x04arpa\0\0\x1c\0\x01");
        assert!(answered(&question, 7, (&name, aaaa)).is_none(), "a question");
        let mut answer = question.clone();
        (answer[2], answer[7]) = (0x81, 2);
        let record = |kind: u8, data: &[u8]| {
            [&[0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8], data].concat()
        };
        let six: Ipv6Addr = "64:ff9b::192.0.0.170".parse().unwrap();
        answer.extend(record(5, b"\x01x\0"));
        answer.extend(record(0x1c, &six.octets()));
        assert_eq!(answered(&answer, 7, (&name, aaaa)).unwrap().unwrap(), [IpAddr::from(six)]);
        assert!(answered(&answer, 8, (&name, aaaa)).is_none(), "another's");
        assert!(answered(&answer, 7, (&name, a)).is_none(), "to another question");
        assert!(answered(&answer, 7, (&encoded("ipv4only.example"), aaaa)).is_none());
        for length in 0..answer.len() {
            let found = answered(&answer[..length], 7, (&name, aaaa));
            assert!(found.is_none_or(|found| found.unwrap().is_empty()), "{length}: cut off");
        }
        answer[3] = 5;
        assert!(answered(&answer, 7, (&name, aaaa)).unwrap().is_err(), "refused");
        let mut answer = encoded_question(7, &name, a);
        (answer[2], answer[7]) = (0x81, 2);
        answer.extend(record(5, b"\x01x\0"));
        answer.extend(record(1, &[192, 0, 0, 170]));
        let found = answered(&answer, 7, (&name, a)).unwrap().unwrap();
        assert_eq!(found, [IpAddr::from([192, 0, 0, 170])]);
    }

    #[test]
    fn commands_name_device_and_servers() {
        let servers = vec![[10, 77, 0, 1].into(), "fd77::1".parse().unwrap()];
        let resolver = Resolver { device: "rw0".into(), servers, domains: Vec::new() };
        let [dns, domain, route] = resolver.commands();
        assert_eq!(dns, ["dns", "rw0", "10.77.0.1", "fd77::1"]);
        assert_eq!(domain, ["domain", "rw0", "~."]);
        assert_eq!(route, ["default-route", "rw0", "yes"]);
        let split = Resolver { domains: vec!["corp.example".into(), "lan".into()], ..resolver };
        let [_, domain, route] = split.commands();
        assert_eq!(domain, ["domain", "rw0", "~corp.example", "~lan"]);
        assert_eq!(route, ["default-route", "rw0", "no"]);
    }
}
