//! A bulk download over QUIC, as a browser or an update would make it: quinn at both ends, with the reordering
//! threshold of RFC 9002, section 6.1.1, fixed at 3 packets, so that a path which reorders is taken for one that loses.
//!
//! One process each: `bench quic-server`, `bench quic-client`.

mod client;
mod server;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use quinn::congestion::CubicConfig;
use quinn::{TransportConfig, VarInt};
use ropewalk_lab::Namespace;
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

pub use client::client;
pub use server::server;

/// How long an end may take to start, and to end after its time.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the server says when it can be connected to.
const LISTENING: &str = "listening";
/// The name in the server's certificate.
const NAME: &str = "gateway.bench";
/// Packets sent later that may arrive earlier before one is taken for lost.
const REORDERING_THRESHOLD: u32 = 3;
/// What may be on the way: 100 Mb/s over 640 ms is 8 MB, and a window has to hold more than that.
const WINDOW: u32 = 64 << 20;
/// Bytes that a socket keeps for a process that is not scheduled at once.
const SOCKET_BUFFER: usize = 8 << 20;

/// What a client saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Download {
    /// Bytes that arrived.
    pub bytes: u64,
    /// From the first attempt to connect to the end, in s.
    pub seconds: f64,
    /// Mb/s over that time.
    pub mbps: f64,
}

/// What a server saw of its one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that were taken for lost.
    pub lost_packets: u64,
    /// How often the window was cut.
    pub congestion_events: u64,
}

/// Downloads from `gateway`, reached at `target`, for so long.
///
/// # Errors
/// If an end does not start, or they do not meet.
pub fn download(
    program: &Path,
    client: &Namespace,
    gateway: &Namespace,
    target: IpAddr,
    seconds: u32,
    certificate: &Path,
) -> Result<(Download, Upload)> {
    static PORT: AtomicU16 = AtomicU16::new(0);
    let port = 40_000 + PORT.fetch_add(1, Ordering::Relaxed) % 10_000;
    let program = program.to_str().context("the program's path is not UTF-8")?;
    let certificate = certificate.to_str().context("the certificate's path is not UTF-8")?;
    let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).to_string();
    let words = ["quic-server", "--listen", &listen, "--certificate", certificate];
    let mut server = gateway.start(program, words)?;
    server.wait_for_line(LISTENING, PATIENCE)?;
    let (to, time) = (SocketAddr::new(target, port).to_string(), seconds.to_string());
    let words = ["quic-client", "--to", &to, "--certificate", certificate, "--seconds", &time];
    let mut client = client.start(program, words)?;
    client.wait(Duration::from_secs(seconds.into()) + PATIENCE)?;
    server.wait(PATIENCE)?;
    let download = serde_json::from_str(&client.stdout())
        .with_context(|| format!("the QUIC client failed: {}{}", client.stderr(), server.stderr()))?;
    let said = server.stdout();
    let upload = serde_json::from_str(said.lines().last().unwrap_or_default())
        .with_context(|| format!("the QUIC server failed: {}", server.stderr()))?;
    Ok((download, upload))
}

/// The transport of both ends.
fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .packet_threshold(REORDERING_THRESHOLD)
        .congestion_controller_factory(Arc::new(CubicConfig::default()))
        .receive_window(VarInt::from_u32(2 * WINDOW))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(2 * WINDOW))
        .max_idle_timeout(Some(VarInt::from_u32(PATIENCE.as_millis() as u32).into()));
    Arc::new(transport)
}

/// A socket that does not lose what its process is too busy to read.
fn socket(address: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind(address).with_context(|| format!("cannot bind {address}"))?;
    // Beyond the system's limit only with the right to it; less does as well, most of the time.
    if sockopt::set_socket_recv_buffer_size_force(&socket, SOCKET_BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
    }
    sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
    Ok(socket)
}

/// Runs a future on this thread to its end.
fn block_on<F: Future>(future: F) -> Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
