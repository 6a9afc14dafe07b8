//! Streams of TCP data, and what their ends see.

use super::mptcp::Watch;
use super::wire::{End, Token};
use anyhow::{Context, Result, ensure};
use ropewalk_net::patience::is_late;
use ropewalk_net::tcp_info::{TcpInfo, tcp_info};
use rustix::io::Errno;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Who sends on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// The client: up.
    Client,
    /// The server: down.
    Server,
}

/// What a test is like, for each end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// The receivers' buffers, bytes; none: the kernel's own.
    pub window: Option<u32>,
    /// How long, seconds.
    pub seconds: f64,
    /// The connection is to be MPTCP.
    pub mptcp: bool,
}

/// The share of a test that is left to slow start.
const START: f64 = 0.3;
/// How long a new connection may take to say whose it is.
const INTRODUCTION: Duration = Duration::from_secs(1);
const PIECE: usize = 64 << 10;

/// Says whose connection it is, as the client.
pub(super) fn introduce(mut stream: &TcpStream, token: &Token, sender: Sender) -> Result<()> {
    let mut first = token.to_vec();
    first.push(u8::from(sender == Sender::Server));
    Ok(stream.write_all(&first)?)
}

/// Waits for the connections of a test; whatever else comes is closed.
pub(super) fn accept(
    listener: &TcpListener,
    peer: IpAddr,
    token: &Token,
    streams: u8,
    wait: Duration,
) -> Result<Vec<(TcpStream, Sender)>> {
    listener.set_nonblocking(true)?;
    let accepted = accept_until(Instant::now() + wait, listener, peer, token, streams);
    // Also after an error: the server waits for its next client by this.
    listener.set_nonblocking(false)?;
    let all = accepted?;
    ensure!(all.len() == usize::from(streams), "{} of {streams} connections came in time", all.len());
    Ok(all)
}

fn accept_until(
    end: Instant,
    listener: &TcpListener,
    peer: IpAddr,
    token: &Token,
    streams: u8,
) -> Result<Vec<(TcpStream, Sender)>> {
    let mut all = Vec::new();
    while all.len() < usize::from(streams) && Instant::now() < end {
        match listener.accept() {
            Ok((stream, from)) if from.ip() == peer => all.extend(whose(stream, token)),
            Ok(_) => {}
            Err(error) if passes(&error) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(error).context("no connection can be accepted"),
        }
    }
    Ok(all)
}

/// Whether `accept` may do better in a moment: nobody came yet, the connection was gone again, or
/// descriptors or memory are short (accept(2)).
pub(super) fn passes(error: &std::io::Error) -> bool {
    !matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::BADF | Errno::NOTSOCK))
}

/// The role of a connection that has the session's token.
fn whose(mut stream: TcpStream, token: &Token) -> Option<(TcpStream, Sender)> {
    let mut first = [0; 17];
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(INTRODUCTION)).ok()?;
    stream.read_exact(&mut first).ok()?;
    let own = aws_lc_rs::constant_time::verify_slices_are_equal(&first[..16], token).is_ok();
    own.then_some((stream, if first[16] == 0 { Sender::Client } else { Sender::Server }))
}

/// Bounds the window that the receiver will offer.
pub(super) fn bound_window(stream: &TcpStream, window: Option<u32>) -> Result<()> {
    // The kernel doubles what is asked for, and offers about half of that as a window (socket(7)).
    window.map_or(Ok(()), |bytes| {
        Ok(rustix::net::sockopt::set_socket_recv_buffer_size(stream, bytes as usize)?)
    })
}

/// Sends until the time is over or the receiver has gone. Segments count from when slow start should be over: what it drops is not the path's.
pub(super) fn send(mut stream: TcpStream, Test { seconds, mptcp, .. }: Test) -> Result<End> {
    stream.set_write_timeout(Some(Duration::from_millis(200)))?;
    // No two pieces alike, so that no link compresses them.
    let piece: Vec<u8> = (0..PIECE).map(|_| rand::random()).collect();
    let begin = Instant::now();
    let (from, end) =
        (begin + Duration::from_secs_f64(seconds * START), begin + Duration::from_secs_f64(seconds));
    let (mut first, mut last) = (None, TcpInfo::default());
    let mut watch = Watch::begin(&stream, mptcp);
    let mut asked = begin;
    while Instant::now() < end {
        match stream.write(&piece) {
            Ok(_) => {}
            Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        watch.look(&stream);
        if asked.elapsed() > Duration::from_millis(100) {
            (last, asked) = (tcp_info(&stream).unwrap_or(last), Instant::now());
            if asked >= from {
                first.get_or_insert((last.sent_segments, last.retransmitted));
            }
        }
    }
    let first = first.unwrap_or_default();
    let share =
        |part: Duration| if last.busy.is_zero() { 0.0 } else { part.as_secs_f64() / last.busy.as_secs_f64() };
    Ok(End {
        mbps: 0.0,
        rtt_ms: last.rtt.as_secs_f64() * 1e3,
        sent: last.sent_segments.saturating_sub(first.0),
        retransmitted: last.retransmitted.saturating_sub(first.1),
        window_limited: share(last.window_limited),
        buffer_limited: share(last.buffer_limited),
        window_bytes: last.window_bytes,
        mss: last.mss,
        mptcp: watch.end(),
    })
}

/// Receives until the time is over; counts from when slow start should be.
pub(super) fn receive(mut stream: TcpStream, Test { seconds, mptcp, .. }: Test) -> Result<End> {
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let begin = Instant::now();
    let (from, to) =
        (begin + Duration::from_secs_f64(seconds * START), begin + Duration::from_secs_f64(seconds));
    let mut watch = Watch::begin(&stream, mptcp);
    let mut piece = vec![0; PIECE];
    let mut bytes = 0_u64;
    while Instant::now() < to {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) if Instant::now() >= from => bytes += n as u64,
            Ok(_) => {}
            Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        watch.look(&stream);
    }
    let time = Instant::now().duration_since(from).as_secs_f64();
    let mbps = if time > 0.0 { bytes as f64 * 8.0 / time / 1e6 } else { 0.0 };
    Ok(End { mbps, mptcp: watch.end(), ..End::default() })
}

/// Runs this end of all connections at once.
pub(super) fn run(streams: Vec<(TcpStream, Sender)>, own: Sender, test: Test) -> Result<Vec<End>> {
    std::thread::scope(|scope| {
        let mut ends = Vec::new();
        for (stream, sender) in streams {
            if sender != own {
                bound_window(&stream, test.window)?;
            }
            let work = move || if sender == own { send(stream, test) } else { receive(stream, test) };
            ends.push(scope.spawn(work));
        }
        ends.into_iter()
            .map(|end| end.join().unwrap_or_else(|_| anyhow::bail!("a stream ended badly")))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_getfl};
    use rustix::net::{Shutdown, shutdown};

    #[test]
    fn an_error_leaves_the_listener_as_it_was() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Nothing can be accepted any more (EINVAL).
        shutdown(&listener, Shutdown::Both).unwrap();
        let peer = listener.local_addr().unwrap().ip();
        let accepted = accept(&listener, peer, &[0; 16], 1, Duration::from_secs(10));
        assert_eq!(accepted.unwrap_err().to_string(), "no connection can be accepted");
        assert!(!fcntl_getfl(&listener).unwrap().contains(OFlags::NONBLOCK));
    }
}
