//! The end that has the file.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};
use rand::RngCore;

use super::{LISTENING, NAME, PATIENCE, Upload, block_on, socket, transport};

/// Bytes given to quinn at a time.
const BLOCK: usize = 64 << 10;

/// Serves one client: bytes without end until it has enough. Leaves its certificate in a file, prints [`Upload`].
///
/// # Errors
/// If the address cannot be bound, or nobody comes.
pub fn server(listen: SocketAddr, certificate: &Path) -> Result<()> {
    block_on(async {
        let own = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let mut config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
        config.transport_config(transport());
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket(listen)?, runtime)?;
        std::fs::write(certificate, own.cert.der())?;
        println!("{LISTENING} on {listen}");
        std::io::stdout().flush()?;
        let incoming = tokio::time::timeout(PATIENCE, endpoint.accept()).await?;
        let upload = serve(incoming.context("nobody came")?).await?;
        println!("{}", serde_json::to_string(&upload)?);
        Ok(())
    })?
}

async fn serve(incoming: Incoming) -> Result<Upload> {
    let connection = incoming.await?;
    // The request is the stream itself; its first byte opens it.
    let (mut send, _receive) = connection.accept_bi().await?;
    let mut block = vec![0; BLOCK];
    rand::rng().fill_bytes(&mut block);
    while send.write_all(&block).await.is_ok() {}
    let path = connection.stats().path;
    Ok(Upload {
        sent_packets: path.sent_packets,
        lost_packets: path.lost_packets,
        congestion_events: path.congestion_events,
    })
}
