//! The end that wants the file.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::CertificateDer;
use quinn::{ClientConfig, Endpoint, EndpointConfig, TokioRuntime, VarInt};

use super::{Download, NAME, PATIENCE, block_on, socket, transport};

/// Bytes taken at a time.
const BLOCK: usize = 256 << 10;

/// Downloads for `seconds`, prints [`Download`] as JSON.
///
/// # Errors
/// If the server cannot be reached, or is not the one of the certificate.
pub fn client(to: SocketAddr, seconds: u32, certificate: &Path) -> Result<()> {
    let download = block_on(fetch(to, Duration::from_secs(seconds.into()), certificate))??;
    println!("{}", serde_json::to_string(&download)?);
    Ok(())
}

async fn fetch(to: SocketAddr, span: Duration, certificate: &Path) -> Result<Download> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let socket = socket((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let mut endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))?;
    endpoint.set_default_client_config(config);
    let began = Instant::now();
    let connection = endpoint.connect(to, NAME)?;
    let connection = tokio::time::timeout(PATIENCE, connection).await.context("no answer")??;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(b"?").await?;
    let (mut block, mut bytes) = (vec![0; BLOCK], 0);
    while let Some(left) = span.checked_sub(began.elapsed()) {
        match tokio::time::timeout(left, receive.read(&mut block)).await {
            Ok(read) => bytes += read?.context("the server ended")? as u64,
            Err(_) => break,
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    connection.close(VarInt::from_u32(0), b"enough");
    // The server has to hear of it, or it would wait for its time-out.
    let _ = tokio::time::timeout(Duration::from_secs(2), endpoint.wait_idle()).await;
    Ok(Download { bytes, seconds, mbps: bytes as f64 * 8.0 / 1e6 / seconds })
}
