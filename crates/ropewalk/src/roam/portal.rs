//! Whether somebody else answers for the internet: a captive portal (RFC 8952) answers a plain HTTP request with a page of its own.

use ropewalk_net::patience::ReadUntil;
use ropewalk_net::stream;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// How long a connection, and an answer, may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer that are looked at.
const HEAD: u64 = 4096;
/// The first line of an answer is shorter, bytes.
const LINE: u64 = 256;

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The page itself answered.
    Open,
    /// A captive portal did; in words.
    Portal(String),
    /// Nobody did, or somebody who speaks something else; in words.
    Unreached(String),
}

impl Answer {
    /// Why the access point is not used; nothing if it is.
    pub(super) fn why(&self) -> &str {
        match self {
            Answer::Open => "",
            Answer::Portal(why) | Answer::Unreached(why) => why,
        }
    }

    /// Why the access point gives its place up, where that was the answer for too long.
    pub(super) fn why_it_gives_way(&self) -> &'static str {
        match self {
            Answer::Open => "",
            Answer::Portal(_) => "its portal stays shut: another network takes its place",
            Answer::Unreached(_) => {
                "the page that `portal` names is not reached: another network takes its place"
            }
        }
    }
}

/// A question whether somebody answers for a machine that is no web server, by sending browsers to
/// a page of his own.
#[derive(Debug)]
pub(crate) struct Redirect(Receiver<Option<String>>);

impl Redirect {
    /// Asks that machine's port 80 by an interface, on a thread. `names`: what it is called.
    pub(crate) fn start(interface: &str, machine: IpAddr, names: Vec<String>) -> Redirect {
        let (send, receive) = channel();
        let interface = interface.to_owned();
        let work = move || {
            let _ = send.send(redirected(&interface, machine, &names));
        };
        if let Err(error) = std::thread::Builder::new().name("portal".into()).spawn(work) {
            tracing::warn!(%error, "a portal cannot be looked for");
        }
        Redirect(receive)
    }

    /// What came of it, once it is over: the page that browsers are sent to, if there is a portal.
    pub(crate) fn poll(&self) -> Option<Option<String>> {
        match self.0.try_recv() {
            Ok(found) => Some(found),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(None),
        }
    }
}

/// Nobody answers for a gateway but itself, and its own web server sends browsers to itself.
fn redirected(interface: &str, machine: IpAddr, names: &[String]) -> Option<String> {
    let stream = stream::connect(SocketAddr::new(machine, 80), Some(interface), PATIENCE).ok()?;
    let target = Target { host: literal(machine), port: 80, path: "/".into() };
    send(&stream, &target).ok()?;
    let mut head = Vec::new();
    let mut answer = ReadUntil::new(&stream, PATIENCE).take(HEAD);
    answer.read_to_end(&mut head).ok().or((!head.is_empty()).then_some(0))?;
    elsewhere(&head, machine, names)
}

/// By the head of an answer: where it sends a browser, if that is somewhere else.
fn elsewhere(head: &[u8], machine: IpAddr, names: &[String]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let mut words = lines.next()?.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    let code: u16 = words.next()?.parse().ok()?;
    let location = lines
        .take_while(|l| !l.is_empty())
        .filter_map(|l| l.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("location"))
        .map(|(_, value)| value.trim().chars().filter(char::is_ascii_graphic).take(200).collect::<String>());
    // Most portals name the page that was asked for somewhere in the address of their own.
    let is_own = |host: &str| is_of(host, &literal(machine)) || names.iter().any(|name| is_of(host, name));
    let is_other = |to: &String| host_of(to).is_some_and(|host| !is_own(host));
    match code {
        // RFC 6585, section 6: network authentication required.
        511 => Some(location.unwrap_or_else(|| format!("http://{}/", literal(machine)))),
        300..=399 => location.filter(is_other),
        _ => None,
    }
}

/// An address as a URL has it.
fn literal(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// The host that a URL names, an IPv6 address with its brackets.
fn host_of(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    // Otherwise it is a path, with an address somewhere in it.
    scheme.bytes().all(|b| b.is_ascii_alphanumeric()).then_some(())?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => host,
    };
    (!host.is_empty()).then_some(host)
}

/// A host has this name, or one below it.
fn is_of(host: &str, name: &str) -> bool {
    let (host, name) = (host.to_ascii_lowercase(), name.to_ascii_lowercase());
    host.strip_suffix(&name).is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

/// A probe that is under way.
#[derive(Debug)]
pub(super) struct Probe(Receiver<Answer>);

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    host: String,
    port: u16,
    path: String,
}

/// Whether this is an address that can be asked.
pub(crate) fn check(url: &str) -> Result<(), String> {
    parse(url).map(drop)
}

fn parse(url: &str) -> Result<Target, String> {
    let wrong = || {
        format!(
            "portal is {url:?}, but has to be http://HOST/PATH or http://HOST:PORT/PATH: with https a portal could not answer"
        )
    };
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (authority, 80),
    };
    if host.is_empty() || host.contains('@') || !plain(host) || !plain(path) {
        return Err(wrong());
    }
    Ok(Target { host: host.into(), port, path: format!("/{path}") })
}

impl Probe {
    /// Asks by an interface, on a thread: names and connections take their time.
    pub(super) fn start(url: &str, interface: &str) -> Probe {
        let (send, receive) = channel();
        let (url, interface) = (url.to_owned(), interface.to_owned());
        let work = move || {
            let answer = ask(&url, &interface).unwrap_or_else(Answer::Unreached);
            let _ = send.send(answer);
        };
        if let Err(error) = std::thread::Builder::new().name("portal".into()).spawn(work) {
            tracing::warn!(%error, "a portal cannot be probed");
        }
        Probe(receive)
    }

    /// What came of it, once it is over.
    pub(super) fn poll(&self) -> Option<Answer> {
        match self.0.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Answer::Unreached("the page could not be asked for".into()))
            }
        }
    }
}

fn ask(url: &str, interface: &str) -> Result<Answer, String> {
    let target = parse(url)?;
    let bare = target.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (bare, target.port)
        .to_socket_addrs()
        .map_err(|e| format!("{bare} is not reached: its address is not known ({e})"))?;
    let addresses: Vec<SocketAddr> = addresses.take(4).collect();
    let mut why = format!("{bare} is not reached: it has no address");
    for address in addresses {
        let connected = stream::connect(address, Some(interface), PATIENCE);
        match connected.and_then(|stream| exchange(&stream, &target)) {
            Ok(line) => return Ok(judge(&line)),
            Err(error) => why = format!("{bare} is not reached: {error}"),
        }
    }
    Err(why)
}

fn exchange(stream: &TcpStream, target: &Target) -> std::io::Result<Vec<u8>> {
    send(stream, target)?;
    let mut line = Vec::new();
    BufReader::new(ReadUntil::new(stream, PATIENCE).take(LINE)).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn send(mut stream: &TcpStream, target: &Target) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Target { host, path, .. } = target;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: ropewalk\r\nConnection: close\r\n\r\n")
}

/// By the first line of an answer.
fn judge(line: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let version = words.next().is_some_and(|v| v.starts_with("HTTP/1."));
    match words.next().and_then(|code| code.parse::<u16>().ok()).filter(|_| version) {
        Some(200 | 204) => Answer::Open,
        Some(code) => Answer::Portal(format!("a captive portal answers, with {code}: log in to it first")),
        None => Answer::Unreached("what answers does not speak HTTP".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let target = |host: &str, port, path: &str| Ok(Target { host: host.into(), port, path: path.into() });
        assert_eq!(parse("http://192.0.2.1/generate_204"), target("192.0.2.1", 80, "/generate_204"));
        assert_eq!(parse("http://a.example:8080"), target("a.example", 8080, "/"));
        assert_eq!(parse("http://[2001:db8::1]/x"), target("[2001:db8::1]", 80, "/x"));
        assert_eq!(parse("http://[2001:db8::1]:81/x"), target("[2001:db8::1]", 81, "/x"));
        for wrong in
            ["https://a/", "a", "http:///", "http://a:x/", "http://u@a/", "http://a/ b", "http://a\r\n/"]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_gateway_that_sends_to_itself_is_no_portal() {
        let machine = IpAddr::from([192, 0, 2, 1]);
        let names = ["gw.example.org".to_owned()];
        let found = |head: &str| elsewhere(head.as_bytes(), machine, &names);
        let portal =
            "HTTP/1.1 302 Found\r\nServer: x\r\nLOCATION: http://login.example/?u=1\r\n\r\nLocation: no";
        assert_eq!(found(portal).as_deref(), Some("http://login.example/?u=1"));
        for page in [
            "https://login.example/?redirect=http://192.0.2.1/",
            "http://10.0.0.1:3990/prelogin?userurl=gw.example.org",
            "http://192.0.2.10/login",
            "http://[fd00::1]:8080/",
            "http://gw.example.org@login.example/",
            "http://notgw.example.org/",
        ] {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {page}\r\n\r\n");
            assert_eq!(found(&head).as_deref(), Some(page));
        }
        let required = "HTTP/1.1 511 Network Authentication Required\r\n\r\n";
        assert_eq!(found(required).as_deref(), Some("http://192.0.2.1/"));
        let six = elsewhere(required.as_bytes(), "2001:db8::1".parse().unwrap(), &[]);
        assert_eq!(six.as_deref(), Some("http://[2001:db8::1]/"));
        for other in [
            "HTTP/1.1 301 x\r\nLocation: https://192.0.2.1/\r\n\r\n",
            "HTTP/1.1 301 x\r\nLocation: https://GW.example.org:8443/\r\n\r\n",
            "HTTP/1.1 301 x\r\nLocation: https://www.gw.example.org/\r\n\r\n",
            "HTTP/1.1 301 x\r\nLocation: /login\r\n\r\n",
            "HTTP/1.1 301 x\r\nLocation: /login?next=http://login.example/\r\n\r\n",
            "HTTP/1.1 200 OK\r\nLocation: http://login.example/\r\n\r\n",
            "SSH-2.0-x\r\n",
            "HTTP/1.1",
            "",
        ] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }

    #[test]
    fn who_is_not_reached_is_no_portal() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let probe = Probe::start(&format!("http://{at}/"), "lo");
        let answer = probe.0.recv().unwrap();
        assert!(matches!(answer, Answer::Unreached(_)), "{answer:?}");
        assert!(answer.why().starts_with("127.0.0.1 is not reached: "), "{answer:?}");
        assert!(answer.why_it_gives_way().contains("is not reached: "));
        assert!(Answer::Portal("log in first".into()).why_it_gives_way().contains("portal stays shut"));
    }

    #[test]
    fn only_the_page_itself_opens() {
        assert_eq!(judge(b"HTTP/1.1 204 No Content\r\n"), Answer::Open);
        assert_eq!(judge(b"HTTP/1.0 200 OK\r\n"), Answer::Open);
        for line in [&b"HTTP/1.1 302 Found\r\n"[..], b"HTTP/1.1 511 x\r\n"] {
            assert!(matches!(judge(line), Answer::Portal(_)), "{line:?}");
        }
        for line in [&b"SSH-2.0 204\r\n"[..], b"", b"\xff\xff"] {
            assert!(matches!(judge(line), Answer::Unreached(_)), "{line:?}");
        }
    }
}
