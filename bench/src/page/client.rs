//! The end that looks at the page.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::net::connect;

use super::{CONGESTION, PATIENCE, REQUEST, pattern};
use crate::clock;
use crate::flow::socket;

/// Loads the page once from its hosts, with new connections from the namespace of this thread: from the first SYN to
/// the last byte, on the shared clock.
///
/// # Errors
/// If a host cannot be connected to, or an object does not come.
pub(crate) fn load(hosts: &[SocketAddr], mptcp: bool) -> Result<Range<Duration>> {
    let connections = pattern::connections();
    let (first, others) = connections.split_first().context("the page has no connection")?;
    let (document, more) = first.objects.split_first().context("the page has no document")?;
    let began = clock::now();
    let stream = open(hosts[first.host], mptcp)?;
    fetch(&stream, *document)?;
    let ended = std::thread::scope(|scope| {
        let others: Vec<_> = others
            .iter()
            .map(|other| scope.spawn(move || fetch_all(&open(hosts[other.host], mptcp)?, &other.objects)))
            .collect();
        let mut ended = fetch_all(&stream, more)?;
        for other in others {
            ended = ended.max(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok::<_, anyhow::Error>(ended)
    })?;
    Ok(began..ended)
}

/// A connection to a host.
pub(super) fn open(host: SocketAddr, mptcp: bool) -> Result<TcpStream> {
    let socket = socket::stream(host, mptcp)?;
    socket::set_congestion(&socket, CONGESTION)?;
    connect(&socket, &host).with_context(|| format!("cannot connect to {host}"))?;
    let stream = TcpStream::from(socket);
    // As browsers do; else a request waits for the acknowledgement of the one before it on the same path.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Asks for objects one after the other; gives when the last byte was there.
fn fetch_all(stream: &TcpStream, objects: &[u32]) -> Result<Duration> {
    objects.iter().try_for_each(|bytes| fetch(stream, *bytes))?;
    Ok(clock::now())
}

fn fetch(mut stream: &TcpStream, bytes: u32) -> Result<()> {
    let mut request = [0; REQUEST];
    request[..4].copy_from_slice(&bytes.to_be_bytes());
    stream.write_all(&request).context("an object cannot be asked for")?;
    let came = io::copy(&mut stream.take(bytes.into()), &mut io::sink()).context("an object did not come")?;
    ensure!(came == u64::from(bytes), "the server ended after {came} of {bytes} bytes");
    Ok(())
}
