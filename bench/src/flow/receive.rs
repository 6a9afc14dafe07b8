//! The receiving end of a flow.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{bind, listen, sockopt};

use super::arrivals::Recorder;
use super::{Arrivals, LISTENING, PATIENCE, socket};
use crate::clock;

/// Bytes taken at a time.
const BLOCK: usize = 256 << 10;
/// How often a receiver to which nothing comes looks at the clock.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for one flow, takes it for `seconds`, then prints [`Arrivals`] as JSON.
///
/// # Errors
/// If the address cannot be listened on, or nobody comes.
pub fn receive(address: SocketAddr, seconds: u32, mptcp: bool) -> Result<()> {
    let socket = socket::stream(address, mptcp)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address).with_context(|| format!("cannot listen on {address}"))?;
    listen(&socket, 1)?;
    println!("{LISTENING} on {address}");
    std::io::stdout().flush()?;
    // Listened on to the end: MPTCP's further subflows come in through it.
    let listener = TcpListener::from(socket);
    let mut stream = accept(&listener)?;
    let arrivals = take(&mut stream, Duration::from_secs(seconds.into()))?;
    println!("{}", serde_json::to_string(&arrivals)?);
    Ok(())
}

fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let timeout = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout))? == 0 {
        bail!("nobody connected within {PATIENCE:?}");
    }
    let (stream, _) = listener.accept()?;
    socket::forget_on_close(&stream)?;
    stream.set_read_timeout(Some(LOOK))?;
    Ok(stream)
}

fn take(stream: &mut TcpStream, span: Duration) -> Result<Arrivals> {
    let mut block = vec![0; BLOCK];
    let mut recorder = Recorder::new(clock::now(), span);
    loop {
        let read = stream.read(&mut block);
        let now = clock::now();
        if now >= recorder.until() {
            return Ok(recorder.finish());
        }
        match read {
            Ok(0) => bail!("the sender ended before its time"),
            Ok(len) => recorder.record(now, len as u64),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("the flow broke"),
        }
    }
}
