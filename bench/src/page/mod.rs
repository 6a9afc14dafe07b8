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

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) use client::load;
pub(crate) use server::Server;

/// Bytes of a request.
const REQUEST: usize = 400;
/// Of all connections, at both ends.
const CONGESTION: &str = "cubic";
/// A connection on which nothing moves for so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says that it is over when it is dropped, also by a panic: until then a scope would wait for the threads beside it.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_page_comes_whole_and_its_server_ends() {
        let server = Server::listen(false).unwrap();
        let hosts = server.addresses(Ipv4Addr::LOCALHOST.into()).unwrap();
        let over = AtomicBool::new(false);
        let (loaded, served) = std::thread::scope(|scope| {
            let ends = Ends(&over);
            let serving = scope.spawn(|| server.serve(&over));
            let loaded = load(&hosts, false);
            drop(ends);
            (loaded, serving.join().unwrap())
        });
        assert!(!loaded.unwrap().is_empty());
        served.unwrap();
    }

    #[test]
    fn a_panic_ends_what_runs_beside_it() {
        let over = AtomicBool::new(false);
        let panicked = std::panic::catch_unwind(|| {
            let _ends = Ends(&over);
            panic!("while a page loads");
        });
        assert!(panicked.is_err() && over.load(Ordering::Relaxed));
    }
}
