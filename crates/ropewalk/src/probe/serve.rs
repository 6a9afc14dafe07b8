//! The end that is measured against. It listens because somebody started it, serves one client at a time, for a bounded time, and
//! only who knows the key; see [`super::wire`] for why it cannot be made to send to others.

use super::echo::{self, Seen};
use super::mptcp::{self, Syns};
use super::stream::{self, Sender, Test};
use super::wire::{Channel, Key, MAX_SECONDS, PATIENCE, Reply, Request, Token};
use super::{Probe, key};
use crate::exit::{Code, failure};
use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest session: all tests of a client with the longest of each.
const SESSION: Duration = Duration::from_secs(180);
/// How long a client may think between two requests: its own part of the tests is in it.
const BETWEEN: Duration = Duration::from_secs(MAX_SECONDS as u64 + 10);
/// After a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens, and serves until it is stopped.
pub(super) fn run(args: &Probe) -> Result<()> {
    let given = key(args)?;
    let text = given.clone().unwrap_or_else(Key::generate);
    let at = args.listen.unwrap_or(SocketAddr::from((Ipv4Addr::UNSPECIFIED, super::PORT)));
    let listener = ropewalk_net::mptcp::listen(at).map_err(|e| cannot_listen(at, &e))?;
    let at = listener.local_addr()?;
    // Each session has a socket of its own; that somebody else has the port is said now.
    drop(datagrams_at(at)?);
    // A key that was given is not shown again.
    let shown = if given.is_some() { "KEY" } else { &text };
    println!(
        "listening at {at}; on the other machine: ropewalk probe THIS-MACHINE:{} --key {shown}",
        at.port()
    );
    let key = Key::new(&text);
    loop {
        let (stream, from) = accept(&listener)?;
        match session(stream, &listener, from.ip(), &key) {
            Ok(true) => say(&format!("{}: measured", from.ip())),
            Ok(false) => say(&format!("{}: refused, it does not know the key", from.ip())),
            Err(error) => say(&format!("{}: {error:#}", from.ip())),
        }
    }
}

/// The next connection. That none can be accepted for a moment is said once, and waited for.
fn accept(listener: &TcpListener) -> Result<(TcpStream, SocketAddr)> {
    let mut is_said = false;
    loop {
        match listener.accept() {
            Err(error) if stream::passes(&error) => {
                if !is_said {
                    say(&format!("no connection can be accepted: {error}; trying again"));
                }
                is_said = true;
                std::thread::sleep(PAUSE);
            }
            accepted => return accepted.context("no connection can be accepted"),
        }
    }
}

/// Tells what happened; that nobody reads it any more is no reason to end.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn cannot_listen(at: SocketAddr, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::AddrInUse => {
            failure(Code::Taken, format!("{at} is taken; choose another address with --listen"))
        }
        ErrorKind::AddrNotAvailable => failure(Code::Usage, format!("{at} is no address of this machine")),
        ErrorKind::PermissionDenied => {
            failure(Code::Rights, format!("{at} may not be listened at; ports from 1024 on may"))
        }
        _ => failure(Code::Failure, format!("{at} cannot be listened at: {error}")),
    }
}

/// A socket for a session's datagrams.
fn datagrams_at(at: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind(at).map_err(|e| cannot_listen(at, &e))?;
    // The wait is short, so that the end is seen.
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(socket)
}

/// Serves a client; false: it did not know the key.
fn session(stream: TcpStream, listener: &TcpListener, peer: IpAddr, key: &Key) -> Result<bool> {
    // At the address that the client asked: a socket of all addresses answers from the one that the
    // route prefers, and the client's socket drops that.
    let socket = datagrams_at(stream.local_addr()?)?;
    let mut channel = Channel::new(stream)?;
    let Some(token) = channel.welcome(key)? else { return Ok(false) };
    channel.patience(BETWEEN);
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| echo::answer(&socket, peer, &token, &seen, &stop));
        let served = serve(&mut channel, (listener, &socket), peer, &token, &seen);
        stop.store(true, Ordering::Relaxed);
        served
    })?;
    Ok(true)
}

/// Answers requests until the client has gone.
fn serve(
    channel: &mut Channel,
    (listener, socket): (&TcpListener, &UdpSocket),
    peer: IpAddr,
    token: &Token,
    seen: &Seen,
) -> Result<()> {
    let end = Instant::now() + SESSION;
    while Instant::now() < end {
        // The client closes when it has all it wants.
        let Ok(request) = channel.receive::<Request>() else { return Ok(()) };
        if let Some(why) = request.refusal() {
            channel.send(&Reply::Refused { why })?;
            continue;
        }
        match request {
            Request::Trains => channel.send(&Reply::Trains { mbps: echo::rates(&seen.trains) })?,
            Request::TrainsBack => {
                // Its address is the one that the session's TCP connection comes from: nobody else is sent to.
                let client = *seen.client.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(client) = client {
                    echo::trains(token, |bytes| drop(socket.send_to(bytes, client)));
                }
                channel.send(&Reply::Sent)?;
            }
            Request::Load { streams, seconds, window, mptcp } => {
                let syns = Syns::watch(Sender::Server);
                channel.send(&Reply::Ready)?;
                let streams = stream::accept(listener, peer, token, streams, PATIENCE);
                let test = Test { window, seconds, mptcp };
                match streams.and_then(|all| stream::run(all, Sender::Server, test)) {
                    Ok(mut ends) => {
                        for sample in ends.iter_mut().filter_map(|end| end.mptcp.as_mut()) {
                            (sample.lacks, sample.asked) = (mptcp::lack(listener), syns.seen());
                        }
                        channel.send(&Reply::Load { ends })?;
                    }
                    Err(error) => {
                        channel.send(&Reply::Refused { why: format!("{error:#}") })?;
                        return Err(error);
                    }
                }
            }
        }
    }
    anyhow::bail!("the session took longer than {} s and was ended", SESSION.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{Shutdown, shutdown};

    #[test]
    fn datagrams_are_answered_from_the_address_that_was_asked() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let at = SocketAddr::from(([127, 0, 0, 2], listener.local_addr().unwrap().port()));
        let key = Key::new("a key for tests");
        std::thread::scope(|scope| {
            let served = scope.spawn(|| {
                let (stream, from) = listener.accept().unwrap();
                session(stream, &listener, from.ip(), &key)
            });
            let mut channel = Channel::new(TcpStream::connect(at).unwrap()).unwrap();
            let token = channel.introduce(&key).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(at).unwrap();
            let hops = echo::hops(&socket, &token);
            drop(channel);
            assert!(served.join().unwrap().unwrap());
            assert_eq!(hops, Some(1));
        });
    }

    #[test]
    fn a_client_hears_why_nothing_is_measured() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut client = Channel::new(TcpStream::connect(at).unwrap()).unwrap();
        let mut server = Channel::new(listener.accept().unwrap().0).unwrap();
        // Nothing can be accepted any more (EINVAL).
        shutdown(&listener, Shutdown::Both).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send(&Request::Load { streams: 1, seconds: 1.0, window: None, mptcp: false }).unwrap();
        let served = serve(&mut server, (&listener, &socket), at.ip(), &[7; 16], &Seen::default());
        let why = format!("{:#}", served.unwrap_err());
        assert_eq!(client.receive::<Reply>().unwrap(), Reply::Ready);
        assert_eq!(client.receive::<Reply>().unwrap(), Reply::Refused { why });
    }
}
