//! HTTP that holds against hostile clients: bounded in connections, in bytes of a request's head,
//! and in patience. Metrics are served by it, and the page of `ropewalk web`.

use http::header::HOST;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Connections at a time; more than that wait.
pub(super) const CONNECTIONS: usize = 32;
/// A request's head has to be there within this, and so has its body.
pub(crate) const HEAD: Duration = Duration::from_secs(5);
/// How often connections on which nothing happens are looked for.
const LOOK: Duration = Duration::from_secs(5);
/// Most bytes of a request's head.
const HEAD_MAX: usize = 16 * 1024;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;

/// What connections share.
#[derive(Debug)]
pub(crate) struct Server {
    connections: Arc<Semaphore>,
    idle: Duration,
    keep_alive: bool,
    began: Instant,
}

impl Server {
    /// A connection whose [`Pulse`] did not beat for `idle` is closed, and without `keep_alive`
    /// after its first answer, too.
    pub(crate) fn new(idle: Duration, keep_alive: bool) -> Server {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        Server { connections, idle, keep_alive, began: Instant::now() }
    }

    /// Room for one more connection, once there is some.
    pub(crate) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).acquire_owned().await.ok()
    }

    /// Answers on a connection, on a task of its own, which has the `room` until it ends. Whom
    /// `answer` knows it lets stay by the pulse: others could ask again and again.
    pub(crate) fn converse<F, B>(
        &self,
        room: OwnedSemaphorePermit,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        answer: impl Fn(Request<Incoming>, Arc<Pulse>) -> F + Send + 'static,
    ) where
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let pulse = Arc::new(Pulse { began: self.began, last: AtomicU64::new(0) });
        pulse.beat();
        let beats = Arc::clone(&pulse);
        let service = service_fn(move |request: Request<Incoming>| {
            let response = answer(request, Arc::clone(&beats));
            async move { Ok::<_, Infallible>(response.await) }
        });
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .keep_alive(self.keep_alive)
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_MAX)
            .max_headers(HEADERS_MAX);
        let mut connection = Box::pin(server.serve_connection(TokioIo::new(stream), service));
        let (idle, look) = (self.idle, LOOK.min(self.idle));
        tokio::spawn(async move {
            // Also a client that takes nothing of what it is sent is not waited for.
            while timeout(look, &mut connection).await.is_err() && pulse.silent() < idle {}
            drop((connection, room));
        });
    }
}

/// When something happened last on a connection that may hold it.
#[derive(Debug)]
pub(crate) struct Pulse {
    began: Instant,
    last: AtomicU64,
}

impl Pulse {
    /// Something happens now.
    pub(crate) fn beat(&self) {
        self.last.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silent(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

/// The `Host` of a request if it is this machine: no name that was made to lead here. `own` is the
/// address that is listened at.
pub(crate) fn local_host(headers: &HeaderMap, own: Option<IpAddr>) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).into_iter();
    match (hosts.next().map(|h| h.to_str()), hosts.next()) {
        (Some(Ok(host)), None) if is_local(host, own) => Some(host),
        _ => None,
    }
}

/// Whether an authority is this machine; the port may be a forwarded one.
fn is_local(authority: &str, own: Option<IpAddr>) -> bool {
    let port =
        |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(|p| p.parse::<u16>().is_ok());
    let own = own.map(|ip| match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    });
    let mut names = ["127.0.0.1", "localhost", "[::1]"].into_iter().chain(own.as_deref());
    names.any(|name| authority.strip_prefix(name).is_some_and(port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http_body_util::Full;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpStream};

    /// Serves who asks for `/known`, and everybody else for `idle`.
    fn serving(idle: Duration) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().enable_time().build().unwrap();
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let server = Server::new(idle, true);
                while let (Some(room), Ok((stream, _))) = (server.room().await, listener.accept().await) {
                    server.converse(room, stream, |request, pulse: Arc<Pulse>| {
                        if request.uri().path() == "/known" {
                            pulse.beat();
                        }
                        std::future::ready(Response::new(Full::new(Bytes::new())))
                    });
                }
            });
        });
        address
    }

    /// Asks again and again on one connection; how long it lasted, `most` at most.
    fn lasts(address: SocketAddr, path: &str, most: Duration) -> Duration {
        let mut answers = BufReader::new(TcpStream::connect(address).unwrap());
        let began = Instant::now();
        let mut is_open = true;
        while is_open && began.elapsed() < most {
            let asked = write!(answers.get_mut(), "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
            is_open = asked.is_ok();
            // The head of the answer, which has no body.
            let mut line = String::new();
            while is_open && line != "\r\n" {
                line.clear();
                is_open = answers.read_line(&mut line).is_ok_and(|read| read > 0);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        began.elapsed()
    }

    #[test]
    fn who_asks_again_and_again_holds_no_connection_unless_it_is_known() {
        let idle = Duration::from_secs(2);
        let address = serving(idle);
        let known = std::thread::spawn(move || lasts(address, "/known", idle * 5 / 2));
        let most = Duration::from_secs(60);
        assert!(lasts(address, "/", most) < most);
        assert!(known.join().unwrap() >= idle * 5 / 2);
    }
}
