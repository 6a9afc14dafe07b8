//! Paths over TLS on TCP, for networks that let no UDP through: a stream that carries the bond's
//! datagrams.
//!
//! ```text
//!   loop ──batches──▶ Outgoing of a connection ──▶ thread: frames, records, TCP
//!        ◀──Inbox (datagrams of all, news)────────         one epoll for all connections and listeners
//! ```
//!
//! A connection is TLS 1.3, then one HTTP/1.1 request with `Upgrade: ropewalk/1` and its answer
//! 101, then datagrams, each after its length ([`frame`]). TLS is a garment here, not the lock:
//! what is inside is sealed and authenticated by the session, so a client takes any certificate,
//! and a proxy that opens TLS learns sizes and times, no more.
//!
//! All of TLS is done by one thread: handshakes and the sealing of records delay no packet of the
//! other paths. What a client can make the thread and its memory bear is in `limits`. Where TCP
//! takes no more, a batch is refused ([`Full`]), and the engine sees the datagrams lost, as where a
//! UDP socket is full; TCP holds little that is not under way (`TCP_NOTSENT_LOWAT`), so what is
//! refused is new. What waits above TCP is 100 ms or 70 KiB, whichever is more, in each of two
//! places: the queue, and what the thread has taken of it.

mod conn;
pub mod frame;
mod http;
mod identity;
mod limits;
mod pipe;
mod socket;
mod worker;

pub use http::PROTOCOL;
pub use identity::{Identity, TlsError, make_certificate};
pub use pipe::{Full, Inbox, News, Run};
pub use worker::{Listeners, Tls};

use std::net::SocketAddr;

/// Numbers of connections begin here: the driver's other sockets have smaller ones
/// ([`ropewalk_bond::path::STREAMS`]).
pub const FIRST: u32 = ropewalk_bond::path::STREAMS;

/// The MTU that a path over a stream has: longer datagrams would cost less, but the one behind
/// waits for all of the one before.
pub const MTU: u16 = 1500;

/// Where a client connects to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub remote: SocketAddr,
    /// What the request calls it, and TLS if it is a name: `HOST` or `HOST:PORT`.
    pub host: String,
    /// The interface to go by.
    pub device: Option<String>,
    /// The mark for policy routing ([`crate::setup::MARK`]).
    pub mark: Option<u32>,
    /// The way passes no packets of 1280 bytes, and whether it says so by ICMP is not known:
    /// segments are short from the beginning.
    pub is_narrow: bool,
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// TCP did not connect, or broke.
    #[error("{0}")]
    Tcp(String),
    /// What answers does not speak TLS, or not as a gateway does.
    #[error("what answers there does not speak TLS 1.3: {0}")]
    NotTls(String),
    /// What answers is another web server.
    #[error("a web server that is no gateway answers there, with {code}{}", towards(.location))]
    Other {
        /// Its answer, as HTTP counts.
        code: u16,
        /// Where it wants a browser to go.
        location: Option<String>,
    },
    /// The other end closed it.
    #[error("the other end closed the connection")]
    Closed,
    /// It took too long, or was of no use.
    #[error("{0}")]
    Late(&'static str),
    /// The other end sent what is no datagram.
    #[error("what came is not a stream of datagrams")]
    Garbage,
}

fn towards(location: &Option<String>) -> String {
    location.as_ref().map_or_else(String::new, |l| format!(" and sends browsers to {l}"))
}
