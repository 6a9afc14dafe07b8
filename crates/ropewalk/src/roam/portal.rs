//! Whether somebody else answers for the internet: a captive portal (RFC 8952) answers a plain HTTP request with a page of its own.

use ropewalk_net::udp::connect_by;
use std::io::{Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// How long a connection, and an answer, may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first line of an answer is shorter, bytes.
const LINE: usize = 256;

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The page itself answered.
    Open,
    /// Somebody else did, or nobody; in words.
    Shut(String),
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
            let answer = ask(&url, &interface).unwrap_or_else(Answer::Shut);
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
            Err(TryRecvError::Disconnected) => Some(Answer::Shut("the probe failed".into())),
        }
    }
}

fn ask(url: &str, interface: &str) -> Result<Answer, String> {
    let target = parse(url)?;
    let bare = target.host.trim_start_matches('[').trim_end_matches(']');
    let addresses =
        (bare, target.port).to_socket_addrs().map_err(|e| format!("{bare} has no address: {e}"))?;
    let addresses: Vec<SocketAddr> = addresses.take(4).collect();
    let mut why = format!("{bare} has no address");
    for address in addresses {
        match connect_by(interface, address, PATIENCE).and_then(|mut stream| exchange(&mut stream, &target)) {
            Ok(line) => return Ok(judge(&line)),
            Err(error) => why = format!("{bare} is not reached: {error}"),
        }
    }
    Err(why)
}

fn exchange(stream: &mut std::net::TcpStream, target: &Target) -> std::io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Target { host, path, .. } = target;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: ropewalk\r\nConnection: close\r\n\r\n"
    )?;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE && !line.ends_with(b"\n") && stream.read(&mut byte)? == 1 {
        line.push(byte[0]);
    }
    Ok(line)
}

/// By the first line of an answer.
fn judge(line: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let version = words.next().is_some_and(|v| v.starts_with("HTTP/1."));
    match words.next().and_then(|code| code.parse::<u16>().ok()).filter(|_| version) {
        Some(200 | 204) => Answer::Open,
        Some(code) => Answer::Shut(format!("a captive portal answers, with {code}: log in to it first")),
        None => Answer::Shut("what answers does not speak HTTP".into()),
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
    fn only_the_page_itself_opens() {
        assert_eq!(judge(b"HTTP/1.1 204 No Content\r\n"), Answer::Open);
        assert_eq!(judge(b"HTTP/1.0 200 OK\r\n"), Answer::Open);
        for line in
            [&b"HTTP/1.1 302 Found\r\n"[..], b"HTTP/1.1 511 x\r\n", b"SSH-2.0 204\r\n", b"", b"\xff\xff"]
        {
            assert!(matches!(judge(line), Answer::Shut(_)), "{line:?}");
        }
    }
}
