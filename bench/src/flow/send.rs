//! The sending end of a flow.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use rand::RngCore;
use rustix::net::connect;

use super::{Departure, socket};
use crate::clock;

/// Bytes given to the kernel at a time, as iperf3 does.
const BLOCK: usize = 128 << 10;
/// How often a sender that cannot send looks at the clock.
const LOOK: Duration = Duration::from_millis(100);
/// The receiver ends the flow; a sender that does not hear of it ends so long after its time.
const GRACE: Duration = Duration::from_secs(2);

/// Sends to `to` until the receiver has enough or the time is over, then prints a [`Departure`].
///
/// # Errors
/// If nobody can be connected to, or the kernel lacks the protocol or the congestion control.
pub fn send(to: SocketAddr, seconds: u32, mptcp: bool, congestion: &str) -> Result<()> {
    let began = clock::now();
    let until = began + Duration::from_secs(seconds.into()) + GRACE;
    let socket = socket::stream(to, mptcp)?;
    socket::set_congestion(&socket, congestion)?;
    connect(&socket, &to).with_context(|| format!("cannot connect to {to}"))?;
    socket::forget_on_close(&socket)?;
    let mut stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(LOOK))?;
    // Random, so that nothing on the way can make it shorter.
    let mut block = vec![0; BLOCK];
    rand::rng().fill_bytes(&mut block);
    let mut bytes = 0;
    while clock::now() < until {
        match stream.write(&block) {
            Ok(len) => bytes += len as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let departure = Departure { began_ns: began.as_nanos() as u64, bytes };
    println!("{}", serde_json::to_string(&departure)?);
    Ok(())
}
