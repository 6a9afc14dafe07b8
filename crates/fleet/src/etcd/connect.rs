//! Connections to the members of a cluster: one at a time is spoken to, and the next when it fails.

use super::StoreError;
use super::api::cluster;
use crate::address::StoreAddress;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long one member may take, to be connected to and to answer: a disk that flushes slowly has
/// that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of an answer at most: a page of a thousand records has a tenth.
const ANSWER_MAX: usize = 16 << 20;

/// Files that prove who is at either end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of who signs for etcd.
    pub ca: PathBuf,
    /// This gateway's certificate and key, where etcd asks for one.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// A cluster, and which of its members is spoken to.
#[derive(Clone)]
pub struct Etcd(Arc<Cluster>);

struct Cluster {
    hosts: Vec<(String, u16)>,
    tls: Option<TlsConnector>,
    current: AtomicUsize,
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Etcd({:?})", self.0.hosts)
    }
}

impl Etcd {
    /// A cluster; nothing is connected yet.
    ///
    /// # Errors
    /// [`StoreError::File`] if a certificate or key cannot be used, [`StoreError::Clear`] without TLS to another machine.
    pub fn new(address: &StoreAddress, tls: Option<&TlsFiles>) -> Result<Etcd, StoreError> {
        if tls.is_none() && !address.may_be_local() {
            return Err(StoreError::Clear);
        }
        let tls = tls.map(connector).transpose()?;
        Ok(Etcd(Arc::new(Cluster { hosts: address.hosts.clone(), tls, current: AtomicUsize::new(0) })))
    }

    pub(super) fn current(&self) -> usize {
        self.0.current.load(Ordering::Relaxed)
    }

    /// The member `at` did not do: the next is spoken to from now on, by everybody.
    pub(super) fn leave(&self, at: usize) {
        let next = (at + 1) % self.0.hosts.len();
        let _ = self.0.current.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn members(&self) -> usize {
        self.0.hosts.len()
    }

    /// A new connection to the member `at`.
    pub(super) async fn connect(&self, at: usize) -> Result<SendRequest<Full<Bytes>>, StoreError> {
        let (host, port) = &self.0.hosts[at];
        let whole = timeout(PATIENCE, self.open(host, *port)).await;
        let failed = |why: String| StoreError::Gone(format!("{host}:{port}: {why}"));
        whole.map_err(|_| failed("no answer".into()))?.map_err(|why| why.map_or(StoreError::Clear, failed))
    }

    /// A connection; `Err(None)` without TLS to what is not this machine.
    async fn open(&self, host: &str, port: u16) -> Result<SendRequest<Full<Bytes>>, Option<String>> {
        let words = |e: &dyn fmt::Display| e.to_string();
        let addresses = tokio::net::lookup_host((host, port)).await.map_err(|e| Some(words(&e)))?;
        let addresses = allowed(addresses, self.0.tls.is_some()).ok_or(None)?;
        let tcp = TcpStream::connect(addresses.as_slice()).await.map_err(|e| Some(words(&e)))?;
        tcp.set_nodelay(true).map_err(|e| words(&e))?;
        notice_silence(&tcp).map_err(|e| words(&e))?;
        match &self.0.tls {
            None => Ok(start(TokioIo::new(tcp)).await?),
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|e| words(&e))?;
                Ok(start(TokioIo::new(tls.connect(name, tcp).await.map_err(|e| words(&e))?)).await?)
            }
        }
    }

    /// One request on `sender`, and the head of its answer.
    pub(super) async fn send(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        at: usize,
        patience: Duration,
        path: &str,
        body: &Value,
    ) -> Result<Response<Incoming>, StoreError> {
        let (host, port) = &self.0.hosts[at];
        let gone = |why: String| StoreError::Gone(format!("{host}:{port}: {why}"));
        let request = Request::post(path)
            .header("host", host.as_str())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|e| StoreError::Answer(e.to_string()))?;
        let answer = timeout(patience, async {
            sender.ready().await?;
            sender.send_request(request).await
        });
        answer.await.map_err(|_| gone("no answer".into()))?.map_err(|e| gone(e.to_string()))
    }
}

/// The addresses that may be connected to: without TLS this machine's alone, whatever its name
/// says.
fn allowed(addresses: impl Iterator<Item = SocketAddr>, has_tls: bool) -> Option<Vec<SocketAddr>> {
    let all: Vec<SocketAddr> = addresses.collect();
    let is_here = |a: &SocketAddr| a.ip().to_canonical().is_loopback();
    (has_tls || all.iter().all(is_here)).then_some(all)
}

/// A connection and what it is spoken to with.
async fn start<T>(io: T) -> Result<SendRequest<Full<Bytes>>, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(io).await.map_err(|e| e.to_string())?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// A watch is silent for hours, so the kernel asks whether its other end is there: within some five
/// seconds it is known.
fn notice_silence(tcp: &TcpStream) -> rustix::io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, Duration::from_secs(2))?;
    sockopt::set_tcp_keepintvl(tcp, Duration::from_secs(1))?;
    sockopt::set_tcp_keepcnt(tcp, 3)
}

fn connector(files: &TlsFiles) -> Result<TlsConnector, StoreError> {
    let failed =
        |file: &Path, why: &dyn fmt::Display| StoreError::File { file: file.into(), why: why.to_string() };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&files.ca)? {
        roots.add(certificate).map_err(|e| failed(&files.ca, &e))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| failed(&files.ca, &e))?
        .with_root_certificates(roots);
    let config = match &files.own {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| failed(key, &e))?;
            config.with_client_auth_cert(chain, secret).map_err(|e| failed(certificate, &e))?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let failed = |why: String| StoreError::File { file: file.into(), why };
    let all = CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|e| failed(e.to_string()))?;
    if all.is_empty() { Err(failed("there is no certificate in it".into())) } else { Ok(all) }
}

/// One task's line to the cluster. A request that failed at one member is put to the next, so what
/// is asked has to bear being done twice.
#[derive(Debug)]
pub(crate) struct Caller {
    etcd: Etcd,
    open: Option<(usize, SendRequest<Full<Bytes>>)>,
    /// Which cluster answered last; 0: none yet.
    pub(crate) cluster: u64,
    /// How long one member may take to answer.
    pub(crate) patience: Duration,
}

impl Caller {
    pub(crate) fn new(etcd: Etcd) -> Caller {
        Caller { etcd, open: None, cluster: 0, patience: PATIENCE }
    }

    /// Asks until one member answers; each has a turn, and the first a second one.
    pub(crate) async fn call(&mut self, path: &str, body: &Value) -> Result<Value, StoreError> {
        let mut last = StoreError::Gone("no member is named".into());
        for _ in 0..=self.etcd.members() {
            let at = self.etcd.current();
            let asked = Instant::now();
            let is_old = self.open.as_ref().is_some_and(|(of, sender)| *of == at && !sender.is_closed());
            match self.ask(at, path, body).await {
                Ok(answer) => {
                    self.cluster = cluster(&answer).unwrap_or(self.cluster);
                    return Ok(answer);
                }
                Err(error @ (StoreError::Refused(_) | StoreError::Answer(_) | StoreError::Clear)) => {
                    return Err(error);
                }
                Err(error) => {
                    self.open = None;
                    // A kept connection may have been closed at the other end without meaning
                    // anything. A member that is silent is left at once: leases last a few seconds.
                    if !is_old || asked.elapsed() >= self.patience {
                        self.etcd.leave(at);
                    }
                    last = error;
                }
            }
        }
        Err(last)
    }

    async fn ask(&mut self, at: usize, path: &str, body: &Value) -> Result<Value, StoreError> {
        let mut sender = match self.open.take() {
            Some((of, sender)) if of == at && !sender.is_closed() => sender,
            _ => self.etcd.connect(at).await?,
        };
        let answer = self.etcd.send(&mut sender, at, self.patience, path, body).await?;
        let status = answer.status();
        let whole = timeout(self.patience, Limited::new(answer.into_body(), ANSWER_MAX).collect()).await;
        let whole = whole.map_err(|_| StoreError::Gone("an answer broke off".into()))?;
        let bytes = whole.map_err(|e| StoreError::Gone(e.to_string()))?.to_bytes();
        let value = understood(status, &bytes)?;
        self.open = Some((at, sender));
        Ok(value)
    }
}

/// The JSON of an answer, or what its refusal means.
pub(super) fn understood(status: StatusCode, bytes: &[u8]) -> Result<Value, StoreError> {
    let value = serde_json::from_slice::<Value>(bytes).map_err(|e| StoreError::Answer(e.to_string()));
    if status == StatusCode::OK {
        return value;
    }
    let words =
        value.ok().and_then(|v| v["error"].as_str().map(str::to_owned)).unwrap_or_else(|| status.to_string());
    // Without a majority, or while one is being formed: another member may know better.
    if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || status == StatusCode::REQUEST_TIMEOUT
    {
        return Err(StoreError::Gone(words));
    }
    Err(StoreError::Refused(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_the_address_says_what_is_this_machine() {
        let of = |all: &[&str], tls| allowed(all.iter().map(|a| a.parse().unwrap()), tls).map(|a| a.len());
        assert_eq!(of(&["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.2]:1"], false), Some(3));
        // `localhost` that some resolver has elsewhere.
        assert_eq!(of(&["127.0.0.1:1", "10.0.0.1:1"], false), None);
        assert_eq!(of(&["10.0.0.1:1"], true), Some(1));
    }
}
