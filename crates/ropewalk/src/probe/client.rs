//! The end that asks.

use super::diagnose::{Direction, Finding, Load, diagnose};
use super::echo::{self, Echoes, Trains};
use super::mptcp::{self, Both, Run, Syns};
use super::stream::{self, Sender, Test};
use super::wire::{Channel, End, Key, Reply, Request, Token};
use super::{Probe, key, show};
use crate::exit::{Code, failure};
use anyhow::{Context, Result, bail};
use ropewalk_session::Endpoint;
use serde::Serialize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Echoes on the idle path, and beside load: often enough for a median in a second.
const ECHO_EVERY: Duration = Duration::from_millis(20);

/// All that was measured, and what it means.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    /// The other end.
    pub host: String,
    /// Hops to it; none if they cannot be told.
    pub hops: Option<u8>,
    /// Receivers' buffers that were asked for, bytes.
    pub asked_window_bytes: Option<u32>,
    /// Echoes on the idle path.
    pub idle: Echoes,
    /// What the narrowest link on the way there seems to carry, by trains of datagrams, Mbit/s.
    pub train_mbps: Option<f64>,
    /// The same on the way back.
    pub train_down_mbps: Option<f64>,
    /// To the host.
    pub up: Direction,
    /// From the host.
    pub down: Direction,
    /// What both directions carried at once, together, Mbit/s.
    pub both_mbps: f64,
    /// A connection of MPTCP each way, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<Both>,
    /// What binds on the way there.
    pub limit_up: Finding,
    /// What binds on the way back.
    pub limit_down: Finding,
}

/// A session with a server.
struct Session {
    channel: Channel,
    socket: UdpSocket,
    server: SocketAddr,
    token: Token,
    window: Option<u32>,
    seconds: f64,
}

/// Measures, and says what it means.
pub(super) fn run(args: &Probe, host: &str) -> Result<()> {
    let Some(text) = key(args)? else {
        return Err(failure(
            Code::Usage,
            "the key is missing; give what `ropewalk probe --serve` printed with --key or --key-file",
        ));
    };
    if args.mptcp {
        mptcp::check()?;
    }
    let mut session = open(args, host, &Key::new(&text))?;
    let findings = session.measure(host, args.streams, args.mptcp)?;
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&findings)?),
        false => print!("{}", show::render(&findings)),
    }
    Ok(())
}

/// Connects and proves to know the key.
fn open(args: &Probe, host: &str, key: &Key) -> Result<Session> {
    let endpoint: Endpoint = match host.parse() {
        Ok(endpoint) => endpoint,
        // IPv6 addresses have colons of their own.
        Err(_) if host.parse::<Ipv6Addr>().is_ok() => format!("[{host}]:{}", super::PORT).parse()?,
        Err(_) => format!("{host}:{}", super::PORT).parse()?,
    };
    let unreachable = |why: String| failure(Code::Unreachable, why);
    let addresses = endpoint
        .to_string()
        .to_socket_addrs()
        .map_err(|e| unreachable(format!("{host} has no address: {e}")))?;
    let mut last = None;
    for server in addresses {
        match TcpStream::connect_timeout(&server, CONNECT) {
            Ok(stream) => {
                let mut channel = Channel::new(stream)?;
                let token = channel.introduce(key)?;
                let any: SocketAddr = if server.is_ipv4() {
                    (Ipv4Addr::UNSPECIFIED, 0).into()
                } else {
                    (Ipv6Addr::UNSPECIFIED, 0).into()
                };
                let socket = UdpSocket::bind(any).context("no UDP socket can be opened")?;
                socket.connect(server).context("no UDP socket can be opened")?;
                return Ok(Session {
                    channel,
                    socket,
                    server,
                    token,
                    window: args.window.map(|w| w.0),
                    seconds: args.seconds,
                });
            }
            Err(error) => {
                last = Some(format!(
                    "{server} does not answer ({error}); start `ropewalk probe --serve` there, and see that TCP and UDP port {} reach it",
                    server.port()
                ))
            }
        }
    }
    Err(unreachable(last.unwrap_or_else(|| format!("{host} has no address"))))
}

impl Session {
    fn measure(&mut self, host: &str, streams: u8, mptcp: bool) -> Result<Findings> {
        let hops = echo::hops(&self.socket, &self.token);
        let idle = self.idle();
        echo::trains(&self.token, |bytes| drop(self.socket.send(bytes)));
        let train_mbps = self.trains()?;
        let train_down_mbps = self.trains_back()?;
        let up = Direction {
            one: self.load(1, &[Sender::Client])?,
            several: self.load(streams, &[Sender::Client])?,
        };
        let down = Direction {
            one: self.load(1, &[Sender::Server])?,
            several: self.load(streams, &[Sender::Server])?,
        };
        let both_mbps = self.load(streams.max(2), &[Sender::Client, Sender::Server])?.mbps;
        let mptcp = match mptcp {
            true => Some(Both { up: self.mptcp(Sender::Client)?, down: self.mptcp(Sender::Server)? }),
            false => None,
        };
        let best = [&up, &down].map(|d| d.one.mbps.max(d.several.mbps)).into_iter().fold(0.0, f64::max);
        let limit_up = diagnose(&up, &idle, train_mbps, both_mbps, best);
        let limit_down = diagnose(&down, &idle, train_down_mbps, both_mbps, best);
        let asked_window_bytes = self.window;
        Ok(Findings {
            host: host.into(),
            hops,
            asked_window_bytes,
            idle,
            train_mbps,
            train_down_mbps,
            up,
            down,
            both_mbps,
            mptcp,
            limit_up,
            limit_down,
        })
    }

    fn idle(&self) -> Echoes {
        let begin = std::time::Instant::now();
        echo::ping(&self.socket, &self.token, ECHO_EVERY, &|| begin.elapsed() > Duration::from_secs(1))
    }

    /// The median rate of trains.
    fn trains(&mut self) -> Result<Option<f64>> {
        self.channel.send(&Request::Trains)?;
        match self.channel.receive()? {
            Reply::Trains { mbps } => Ok(median(mbps)),
            other => bail!("the other end answered something else: {other:?}"),
        }
    }

    /// The median rate of trains from there.
    fn trains_back(&mut self) -> Result<Option<f64>> {
        let (trains, done) = (Trains::default(), AtomicBool::new(false));
        let (channel, socket, token) = (&mut self.channel, &self.socket, &self.token);
        let reply = std::thread::scope(|scope| {
            scope.spawn(|| echo::collect(socket, token, &trains, &done));
            let reply = channel.send(&Request::TrainsBack).and_then(|()| channel.receive());
            done.store(true, Ordering::Relaxed);
            reply
        });
        match reply? {
            Reply::Sent => Ok(median(echo::rates(&trains))),
            other => bail!("the other end answered something else: {other:?}"),
        }
    }

    /// Streams, whose senders are in turn those of `senders`, with echoes beside them.
    fn load(&mut self, streams: u8, senders: &[Sender]) -> Result<Load> {
        let (own, theirs, echoes) = self.test(streams, senders, false)?;
        Ok(together(streams, &[own, theirs].concat(), echoes))
    }

    /// One connection of MPTCP.
    fn mptcp(&mut self, sender: Sender) -> Result<Run> {
        let syns = Syns::watch(Sender::Client);
        let (own, theirs, _) = self.test(1, &[sender], true)?;
        let mbps = own.iter().chain(&theirs).map(|end| end.mbps).sum();
        let sample = |ends: Vec<End>| ends.into_iter().find_map(|end| end.mptcp);
        let (mut client, server) = (sample(own).unwrap_or_default(), sample(theirs));
        client.asked = syns.seen();
        Ok(Run::new(mbps, client, server))
    }

    /// What both ends saw of streams, this one first, and of the echoes beside them.
    fn test(&mut self, streams: u8, senders: &[Sender], mptcp: bool) -> Result<(Vec<End>, Vec<End>, Echoes)> {
        let test = Test { window: self.window, seconds: self.seconds, mptcp };
        self.channel.send(&Request::Load { streams, seconds: test.seconds, window: test.window, mptcp })?;
        match self.channel.receive()? {
            Reply::Ready => {}
            Reply::Refused { why } => bail!("the other end refuses {why}"),
            other => bail!("the other end answered something else: {other:?}"),
        }
        let mut connections = Vec::new();
        for sender in senders.iter().cycle().take(streams.into()) {
            let stream = match mptcp {
                true => ropewalk_net::mptcp::connect(self.server, CONNECT),
                false => TcpStream::connect_timeout(&self.server, CONNECT),
            };
            let stream = stream.context(match mptcp {
                true => {
                    "no connection can be made that asks for MPTCP, though TCP works: somebody may drop SYNs with \
                     its option; without --mptcp the rest is measured"
                }
                false => "a connection of the test cannot be made",
            })?;
            stream::introduce(&stream, &self.token, *sender)?;
            connections.push((stream, *sender));
        }
        let over = AtomicBool::new(false);
        let (own, echoes) = std::thread::scope(|scope| {
            let pinger = scope.spawn(|| {
                echo::ping(&self.socket, &self.token, ECHO_EVERY, &|| over.load(Ordering::Relaxed))
            });
            let own = stream::run(connections, Sender::Client, test);
            over.store(true, Ordering::Relaxed);
            (own, pinger.join().unwrap_or_default())
        });
        match self.channel.receive()? {
            Reply::Load { ends } => Ok((own?, ends, echoes)),
            Reply::Refused { why } => bail!("the other end could not measure: {why}"),
            other => bail!("the other end answered something else: {other:?}"),
        }
    }
}

fn median(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

/// All ends of a test as one.
fn together(streams: u8, ends: &[End], echoes: Echoes) -> Load {
    let senders: Vec<&End> = ends.iter().filter(|e| e.sent > 0).collect();
    let mean = |of: fn(&End) -> f64| senders.iter().map(|e| of(e)).sum::<f64>() / senders.len().max(1) as f64;
    let (sent, again) =
        senders.iter().fold((0, 0), |(s, r), e| (s + u64::from(e.sent), r + u64::from(e.retransmitted)));
    Load {
        streams,
        mbps: ends.iter().map(|e| e.mbps).sum(),
        tcp_rtt_ms: mean(|e| e.rtt_ms),
        loss: if sent == 0 { 0.0 } else { again as f64 / sent as f64 },
        window_limited: mean(|e| e.window_limited),
        buffer_limited: mean(|e| e.buffer_limited),
        window_bytes: mean(|e| f64::from(e.window_bytes)),
        mss: senders.iter().map(|e| e.mss).max().unwrap_or(0),
        echoes,
    }
}
