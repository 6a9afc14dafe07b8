//! The end that has the page.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use rand::RngCore;
use ropewalk_lab::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{bind, listen, sockopt};

use super::{CONGESTION, PATIENCE, REQUEST, pattern};
use crate::flow::socket;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;
/// How often a server to which nobody comes looks whether it is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The hosts of a page: a port for each.
pub(crate) struct Server {
    hosts: Vec<TcpListener>,
}

impl Server {
    /// Listens in the gateway.
    ///
    /// # Errors
    /// If the kernel lacks the protocol or the congestion control.
    pub(crate) fn open(gateway: &Namespace, mptcp: bool) -> Result<Server> {
        gateway.run(|| Server::listen(mptcp))?
    }

    /// Listens in the namespace of this thread.
    pub(super) fn listen(mptcp: bool) -> Result<Server> {
        let hosts = (0..pattern::HOSTS).map(|_| listener(mptcp)).collect::<Result<Vec<_>>>()?;
        Ok(Server { hosts })
    }

    /// Where the hosts are for whoever reaches the gateway at `target`.
    ///
    /// # Errors
    /// If a socket does not know its port.
    pub(crate) fn addresses(&self, target: IpAddr) -> Result<Vec<SocketAddr>> {
        self.hosts.iter().map(|host| Ok(SocketAddr::new(target, host.local_addr()?.port()))).collect()
    }

    /// Answers until it is over and the last client has ended its connections.
    ///
    /// # Errors
    /// If a connection cannot be accepted, or is under another congestion control.
    pub(crate) fn serve(&self, over: &AtomicBool) -> Result<()> {
        // Random, so that nothing on the way can make it shorter.
        let mut content = vec![0; pattern::largest()];
        rand::rng().fill_bytes(&mut content);
        let content = content.as_slice();
        std::thread::scope(|scope| {
            while !over.load(Ordering::Relaxed) {
                let mut waiting: Vec<PollFd<'_>> =
                    self.hosts.iter().map(|host| PollFd::new(host, PollFlags::IN)).collect();
                poll(&mut waiting, Some(&LOOK))?;
                for (host, waiting) in self.hosts.iter().zip(&waiting) {
                    if waiting.revents().contains(PollFlags::IN) {
                        let stream = accept(host)?;
                        scope.spawn(move || answer(stream, content));
                    }
                }
            }
            Ok(())
        })
    }
}

/// A listener on a port of its own. What it accepts, and further subflows of MPTCP, have its congestion control.
fn listener(mptcp: bool) -> Result<TcpListener> {
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let socket = socket::stream(everywhere, mptcp)?;
    bind(&socket, &everywhere).context("cannot bind a page's host")?;
    socket::set_congestion(&socket, CONGESTION)?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

fn accept(host: &TcpListener) -> Result<TcpStream> {
    let (stream, _) = host.accept()?;
    let under = sockopt::tcp_congestion(&stream)?;
    ensure!(under == CONGESTION, "a connection should have been under {CONGESTION} and was under {under}");
    // As servers do for connections that stay open.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Answers one request after the other until the client ends the connection.
fn answer(mut stream: TcpStream, content: &[u8]) {
    let mut request = [0; REQUEST];
    while stream.read_exact(&mut request).is_ok() {
        let [a, b, c, d, ..] = request;
        let wanted = u32::from_be_bytes([a, b, c, d]) as usize;
        // Nobody asks for more than the largest object.
        let Some(object) = content.get(..wanted) else { return };
        if stream.write_all(object).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::client;

    #[test]
    fn no_end_keeps_small_packets_back() {
        let server = Server::listen(false).unwrap();
        let hosts = server.addresses(Ipv4Addr::LOCALHOST.into()).unwrap();
        let client = client::open(hosts[0], false).unwrap();
        let served = accept(&server.hosts[0]).unwrap();
        assert!(client.nodelay().unwrap() && served.nodelay().unwrap());
    }
}
