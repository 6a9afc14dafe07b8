//! Datagrams: echoes for round trips, trains for the rate of the narrowest link.

use super::wire::Token;
use rustix::net::sockopt;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Token, kind, group, number.
const HEADER: usize = 16 + 1 + 1 + 4;
/// Length of an echo, bytes of UDP payload: that of a usual ping.
const ECHO_BYTES: usize = 56;
/// Length of a train's datagrams: full, yet inside the MTU of usual tunnels.
const TRAIN_BYTES: usize = 1300;
/// Datagrams in a train: long enough to average over Wi-Fi's aggregates, short enough for shallow queues.
const TRAIN_LENGTH: u32 = 48;
/// Trains in a test.
const TRAINS: u8 = 8;
/// Fewer arrivals than this say nothing.
const LEAST_ARRIVALS: u32 = 16;
/// Most hops that are looked for.
const MAX_HOPS: u8 = 32;
/// Time to live of usual datagrams (RFC 1700; Linux's `net.ipv4.ip_default_ttl`).
const DEFAULT_TTL: u8 = 64;

const ECHO: u8 = 0;
const TRAIN: u8 = 1;
const HOP: u8 = 2;

/// How a train arrived.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    first: Instant,
    last: Instant,
    count: u32,
    /// Without those of the first datagram.
    bytes: u64,
}

/// Trains by number.
pub type Trains = Mutex<BTreeMap<u8, Train>>;

/// What a server's socket has seen of a session.
#[derive(Debug, Default)]
pub struct Seen {
    /// Trains that came.
    pub trains: Trains,
    /// Where the client's last datagram came from: address translation may have changed its port.
    pub client: Mutex<Option<SocketAddr>>,
}

/// Round trips.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Echoes {
    /// Echoes sent.
    pub sent: usize,
    /// Echoes that came back.
    pub received: usize,
    /// Least round trip, ms.
    pub min_ms: f64,
    /// Half are shorter, ms.
    pub median_ms: f64,
    /// 99 of 100 are shorter, ms.
    pub p99_ms: f64,
}

impl Echoes {
    /// Of round trips in ms.
    pub fn of(sent: usize, mut ms: Vec<f64>) -> Echoes {
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| {
            ms.get(((ms.len() as f64 * share) as usize).min(ms.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0.0)
        };
        Echoes { sent, received: ms.len(), min_ms: at(0.0), median_ms: at(0.5), p99_ms: at(0.99) }
    }
}

fn datagram(token: &Token, kind: u8, group: u8, number: u32, length: usize) -> Vec<u8> {
    let mut bytes = token.to_vec();
    bytes.extend([kind, group]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(length, 0);
    bytes
}

/// Kind, group and number of a datagram of the session.
fn parse(bytes: &[u8], token: &Token) -> Option<(u8, u8, u32)> {
    let own = bytes.len() >= HEADER
        && aws_lc_rs::constant_time::verify_slices_are_equal(&bytes[..16], token).is_ok();
    own.then(|| (bytes[16], bytes[17], u32::from_be_bytes([bytes[18], bytes[19], bytes[20], bytes[21]])))
}

/// The server's part: sends echoes back, as long as they came, and notes trains. Everything else is dropped.
pub fn answer(socket: &UdpSocket, peer: IpAddr, token: &Token, seen: &Seen, stop: &AtomicBool) {
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let Some((kind, group, _)) = parse(&buffer[..length], token).filter(|_| from.ip() == peer) else {
            continue;
        };
        *seen.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
        match kind {
            TRAIN => note(&seen.trains, group, length),
            _ => drop(socket.send_to(&buffer[..length], from)),
        }
    }
}

fn note(trains: &Trains, group: u8, length: usize) {
    let now = Instant::now();
    let mut trains = trains.lock().unwrap_or_else(PoisonError::into_inner);
    match trains.get_mut(&group) {
        Some(train) => {
            (train.last, train.count, train.bytes) = (now, train.count + 1, train.bytes + length as u64)
        }
        None => drop(trains.insert(group, Train { first: now, last: now, count: 1, bytes: 0 })),
    }
}

/// Rates at which trains arrived, IP and UDP headers counted, Mbit/s.
pub fn rates(trains: &Trains) -> Vec<f64> {
    let trains = trains.lock().unwrap_or_else(PoisonError::into_inner);
    let enough = trains.values().filter(|t| t.count >= LEAST_ARRIVALS && t.last > t.first);
    let rate = |t: &Train| {
        (t.bytes + 28 * u64::from(t.count - 1)) as f64 * 8.0
            / t.last.duration_since(t.first).as_secs_f64()
            / 1e6
    };
    enough.map(rate).collect()
}

/// The client's part: an echo at each `interval` until `done`; late ones are waited for.
pub fn ping(socket: &UdpSocket, token: &Token, interval: Duration, done: &dyn Fn() -> bool) -> Echoes {
    let mut at: Vec<Instant> = Vec::new();
    let mut ms: Vec<Option<f64>> = Vec::new();
    let mut next = Instant::now();
    let mut end = None;
    loop {
        let now = Instant::now();
        if end.is_none() && done() {
            end = Some(now + Duration::from_millis(800));
        }
        if end.is_some_and(|end| now >= end || ms.iter().all(Option::is_some)) {
            return Echoes::of(at.len(), ms.into_iter().flatten().collect());
        }
        if end.is_none() && now >= next {
            at.push(now);
            ms.push(None);
            // Lost echoes are counted; there is nothing else to do about them.
            let _ = socket.send(&datagram(token, ECHO, 0, at.len() as u32 - 1, ECHO_BYTES));
            next = now + interval;
        }
        if let Some((ECHO, _, number)) = hear(socket, token, next.saturating_duration_since(Instant::now()))
            && let Some(sent) = at.get(number as usize)
        {
            ms[number as usize].get_or_insert(sent.elapsed().as_secs_f64() * 1e3);
        }
    }
}

/// The next datagram of the session, if one comes in time.
fn hear(socket: &UdpSocket, token: &Token, wait: Duration) -> Option<(u8, u8, u32)> {
    let mut buffer = [0; 2048];
    // A timeout of 0 would be none.
    socket.set_read_timeout(Some(wait.clamp(Duration::from_micros(100), Duration::from_millis(20)))).ok()?;
    let length = socket.recv(&mut buffer).ok()?;
    parse(&buffer[..length], token)
}

/// Sends trains by `send`, as fast as the machine can, with pauses between.
pub fn trains(token: &Token, send: impl Fn(&[u8])) {
    for group in 0..TRAINS {
        for number in 0..TRAIN_LENGTH {
            send(&datagram(token, TRAIN, group, number, TRAIN_BYTES));
        }
        std::thread::sleep(Duration::from_millis(80));
    }
    std::thread::sleep(Duration::from_millis(200));
}

/// The client's part while the server sends trains: notes them until `done`.
pub fn collect(socket: &UdpSocket, token: &Token, trains: &Trains, done: &AtomicBool) {
    let mut buffer = [0; 2048];
    // The wait is short, so that the end is seen.
    let _ = socket.set_read_timeout(Some(Duration::from_millis(20)));
    while !done.load(Ordering::Relaxed) {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        if let Some((TRAIN, group, _)) = parse(&buffer[..length], token) {
            note(trains, group, length);
        }
    }
}

/// How many hops away the server is: the least time to live (IPv6: hop limit) that reaches it; none if nothing came back.
pub fn hops(socket: &UdpSocket, token: &Token) -> Option<u8> {
    for ttl in 1..=MAX_HOPS {
        set_hops(socket, Some(ttl))?;
        for number in 0..2 {
            let _ = socket.send(&datagram(token, HOP, ttl, number, ECHO_BYTES));
        }
    }
    set_hops(socket, None)?;
    let end = Instant::now() + Duration::from_millis(800);
    let mut least = None;
    while Instant::now() < end {
        if let Some((HOP, ttl, _)) = hear(socket, token, Duration::from_millis(20)) {
            least = Some(least.map_or(ttl, |l: u8| l.min(ttl)));
        }
    }
    least
}

/// Bounds how far the socket's datagrams go; none: as far as the system has it.
fn set_hops(socket: &UdpSocket, most: Option<u8>) -> Option<()> {
    if socket.local_addr().ok()?.is_ipv6() {
        sockopt::set_ipv6_unicast_hops(socket, most).ok()
    } else {
        socket.set_ttl(most.unwrap_or(DEFAULT_TTL).into()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = [7; 16];

    /// A server and a client on loopback.
    fn with_server(test: impl FnOnce(&UdpSocket, &Seen)) {
        with_server_at("127.0.0.1".parse().unwrap(), test);
    }

    fn with_server_at(at: IpAddr, test: impl FnOnce(&UdpSocket, &Seen)) {
        let server = UdpSocket::bind((at, 0)).unwrap();
        server.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let client = UdpSocket::bind((at, 0)).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let (seen, stop) = (Seen::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| answer(&server, at, &TOKEN, &seen, &stop));
            test(&client, &seen);
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn echoes_come_back_and_trains_are_noted() {
        with_server(|client, noted| {
            let count = std::cell::Cell::new(0);
            let done = || count.replace(count.get() + 1) > 20;
            let echoes = ping(client, &TOKEN, Duration::from_millis(1), &done);
            assert!(echoes.sent > 0 && echoes.received == echoes.sent, "{echoes:?}");
            assert!(echoes.min_ms <= echoes.median_ms && echoes.median_ms <= echoes.p99_ms, "{echoes:?}");
            assert_eq!(hops(client, &TOKEN), Some(1));
            trains(&TOKEN, |bytes| drop(client.send(bytes)));
            assert!(!rates(&noted.trains).is_empty());
            assert_eq!(*noted.client.lock().unwrap(), client.local_addr().ok());
        });
    }

    #[test]
    fn hops_are_counted_over_ipv6_too() {
        if UdpSocket::bind("[::1]:0").is_err() {
            ropewalk_skip::skip("this machine has no IPv6");
            return;
        }
        with_server_at("::1".parse().unwrap(), |client, _| {
            assert_eq!(hops(client, &TOKEN), Some(1));
            let left = sockopt::ipv6_unicast_hops(client).unwrap();
            assert!(left > MAX_HOPS, "what follows may go as far as ever: {left}");
        });
    }

    /// Nobody without the token is answered, so a forged sender address gains nothing.
    #[test]
    fn datagrams_without_the_token_are_not_answered() {
        with_server(|client, noted| {
            for bytes in [
                datagram(&[8; 16], ECHO, 0, 0, ECHO_BYTES),
                TOKEN.to_vec(),
                vec![0; 1400],
                datagram(&[8; 16], TRAIN, 0, 0, 1300),
            ] {
                client.send(&bytes).unwrap();
            }
            let echoes = ping(client, &[8; 16], Duration::from_millis(1), &|| true);
            assert_eq!(echoes.received, 0);
            client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            assert!(client.recv(&mut [0; 64]).is_err());
            assert!(noted.trains.lock().unwrap().is_empty() && noted.client.lock().unwrap().is_none());
        });
    }

    #[test]
    fn an_answer_is_as_long_as_the_question() {
        with_server(|client, _| {
            for length in [HEADER, 100, 1400] {
                client.send(&datagram(&TOKEN, ECHO, 0, 9, length)).unwrap();
                client.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
                assert_eq!(client.recv(&mut [0; 2048]).unwrap(), length);
            }
        });
    }

    #[test]
    fn quantiles_are_of_what_came_back() {
        let echoes = Echoes::of(102, (1..=100).rev().map(f64::from).collect());
        assert_eq!(
            (echoes.sent, echoes.received, echoes.min_ms, echoes.median_ms, echoes.p99_ms),
            (102, 100, 1.0, 51.0, 100.0)
        );
        assert_eq!(Echoes::of(3, Vec::new()).received, 0);
    }
}
