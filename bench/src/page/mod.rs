//! A web page as a browser loads it by HTTP/1.1: 80 objects over twelve connections to two hosts.
//!
//! ```text
//!   client                                        gateway
//!   the first connection ──▶ the document ──────▶ one port
//!                            is there: then
//!   twelve connections ────▶ all the others ────▶ one port for each host
//!                            one after another
//! ```
//! A request has 400 bytes, of which the first four say how many are wanted. The server thinks for no time. Both ends
//! are threads of this process, in the namespaces of client and gateway.

mod client;
mod pattern;
mod server;

use std::time::Duration;

pub(crate) use client::load;
pub(crate) use server::Server;

/// Bytes of a request.
const REQUEST: usize = 400;
/// Of all connections, at both ends.
const CONGESTION: &str = "cubic";
/// A connection on which nothing moves for so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_page_comes_whole_and_its_server_ends() {
        let server = Server::listen(false).unwrap();
        let hosts = server.addresses(Ipv4Addr::LOCALHOST.into()).unwrap();
        let over = AtomicBool::new(false);
        let (loaded, served) = std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(&over));
            let loaded = load(&hosts, false);
            over.store(true, Ordering::Relaxed);
            (loaded, serving.join().unwrap())
        });
        assert!(!loaded.unwrap().is_empty());
        served.unwrap();
    }
}
