//! The port that metrics are read at, on a thread of its own. Without scrapes it costs nothing.

use super::server::{Server, local_host};
use crate::control::protocol::Response;
use crate::exit::{Code, failure};
use anyhow::Context;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response as Answer, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// What a scraper may take its time for.
const PATIENCE: Duration = Duration::from_secs(10);
/// A text that is not older is given again: the loop is not asked for each scrape.
const FRESH: Duration = Duration::from_millis(500);
/// After a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Has the daemon say how it does.
type Ask = Box<dyn Fn() -> anyhow::Result<Response> + Send + Sync>;

/// What every scrape works with.
struct Port {
    /// The address that is listened at, where only this machine reaches it.
    loopback: Option<IpAddr>,
    ask: Ask,
    /// When the loop was asked last, and the text that was made of its answer.
    last: Mutex<Option<(Instant, Option<Bytes>)>>,
}

/// Starts to serve `http://address/metrics`; `ask` has the daemon say how it does.
pub(crate) fn serve(
    address: SocketAddr,
    ask: impl Fn() -> anyhow::Result<Response> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let address = start(address, Box::new(ask))?;
    tracing::info!(%address, "metrics at /metrics");
    Ok(())
}

/// The address is as given, but for a port that the kernel chose.
fn start(address: SocketAddr, ask: Ask) -> anyhow::Result<SocketAddr> {
    let listener = listen(address)?;
    let address = listener.local_addr()?;
    // One question at a time: whoever comes meanwhile gets the same text.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().max_blocking_threads(1).thread_name("metrics");
    let runtime = runtime.build().context("metrics cannot be served")?;
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let ip = address.ip();
    let loopback = ip.to_canonical().is_loopback().then_some(ip);
    let port = Arc::new(Port { loopback, ask, last: Mutex::new(None) });
    let thread = std::thread::Builder::new().name("metrics".into());
    thread.spawn(move || runtime.block_on(port.run(listener))).context("a thread cannot be started")?;
    Ok(address)
}

fn listen(address: SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address).map_err(|error| {
        let code = match error.kind() {
            ErrorKind::AddrInUse => Code::Taken,
            // It may come yet: the service's manager has to try again.
            ErrorKind::AddrNotAvailable => Code::Failure,
            _ => Code::Usage,
        };
        let sentence =
            format!("metrics cannot be served at {address}: {error}; choose another address with --metrics");
        failure(code, sentence)
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Port {
    async fn run(self: Arc<Port>, listener: TcpListener) {
        // One request a connection: nobody holds one by asking again and again.
        let server = Server::new(PATIENCE, false);
        while let Some(room) = server.room().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let port = Arc::clone(&self);
                    server.converse(room, stream, move |request, pulse| {
                        pulse.beat();
                        Arc::clone(&port).answer(request)
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: it passes.
                    tracing::warn!(%error, "a scraper cannot connect");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn answer(self: Arc<Port>, request: Request<Incoming>) -> Answer<Full<Bytes>> {
        // Else a page of somebody else could have a browser of this machine read them.
        if self.loopback.is_some() && local_host(request.headers(), self.loopback).is_none() {
            let words = "metrics are for this machine: ask for them at 127.0.0.1, localhost or [::1]\n";
            return whole(StatusCode::MISDIRECTED_REQUEST, "text/plain", words.into());
        }
        if request.uri().path() != "/metrics" {
            return whole(StatusCode::NOT_FOUND, "text/plain", "metrics are at /metrics\n".into());
        }
        match tokio::task::spawn_blocking(move || self.text()).await {
            Ok(Some(text)) => whole(StatusCode::OK, TYPE, text),
            _ => {
                let words = "the daemon does not answer\n";
                whole(StatusCode::SERVICE_UNAVAILABLE, "text/plain", words.into())
            }
        }
    }

    /// What the daemon says, or said a moment ago. Waits for it.
    fn text(&self) -> Option<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return text.clone();
        }
        let text = (self.ask)().ok().and_then(|said| super::text(said).ok()).map(Bytes::from);
        *last = Some((Instant::now(), text.clone()));
        text
    }
}

fn whole(status: StatusCode, kind: &'static str, text: Bytes) -> Answer<Full<Bytes>> {
    let mut answer = Answer::new(Full::new(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::kind_of;
    use crate::metrics::server::CONNECTIONS;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The port of a daemon that answers, and counts how often it is asked.
    fn serving(address: &str) -> (SocketAddr, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let ask = move || -> anyhow::Result<Response> {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Response::Status { status: Box::default() })
        };
        (start(address.parse().unwrap(), Box::new(ask)).unwrap(), asked)
    }

    fn get(address: SocketAddr, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn code(answer: &str) -> &str {
        answer.split(' ').nth(1).unwrap_or("")
    }

    #[test]
    fn who_is_slow_with_a_head_does_not_hold_the_port() {
        let (address, _) = serving("127.0.0.1:0");
        // As many as there is room for.
        let slow = (0..CONNECTIONS).map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /m").unwrap();
            stream
        });
        let mut slow: Vec<TcpStream> = slow.collect();
        std::thread::spawn(move || {
            for _ in 0..40 {
                std::thread::sleep(Duration::from_millis(500));
                for stream in &mut slow {
                    let _ = stream.write_all(b"e");
                }
            }
        });
        let began = Instant::now();
        let answer = get(address, "/metrics", "localhost");
        assert_eq!(code(&answer), "200", "{answer}");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    }

    #[test]
    fn only_this_machine_by_its_own_names_on_a_loopback_address() {
        let (address, asked) = serving("127.0.0.2:0");
        for host in ["evil.example", "127.0.0.2.evil.example", "127.0.0.3"] {
            assert_eq!(code(&get(address, "/metrics", host)), "421", "{host}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        let own = address.to_string();
        for host in [own.as_str(), "127.0.0.1:1", "localhost", "[::1]"] {
            assert_eq!(code(&get(address, "/metrics", host)), "200", "{host}");
        }
        assert_eq!(code(&get(address, "/", "localhost")), "404");
        let (mut open, _) = serving("0.0.0.0:0");
        open.set_ip([127, 0, 0, 1].into());
        assert_eq!(code(&get(open, "/metrics", "gateway.example")), "200", "others know it by its names");
    }

    #[test]
    fn an_address_that_is_not_there_yet_is_no_wrong_command_line() {
        let code = |address: SocketAddr| kind_of(&listen(address).unwrap_err());
        // RFC 5737: nobody's.
        assert_eq!(code("192.0.2.77:9477".parse().unwrap()), Code::Failure);
        let (taken, _) = serving("127.0.0.1:0");
        assert_eq!(code(taken), Code::Taken);
    }

    #[test]
    fn many_scrapes_are_few_questions() {
        let (address, asked) = serving("127.0.0.1:0");
        let began = Instant::now();
        for _ in 0..100 {
            let answer = get(address, "/metrics", "localhost");
            assert!(code(&answer) == "200" && answer.ends_with("# EOF\n"), "{answer}");
        }
        let most = 1 + began.elapsed().as_millis() / FRESH.as_millis();
        let asked = u128::from(asked.load(Ordering::Relaxed));
        assert!((1..=most).contains(&asked), "{asked} questions");
    }

    #[test]
    fn a_daemon_that_does_not_answer_is_said() {
        let ask = || -> anyhow::Result<Response> { anyhow::bail!("no answer") };
        let address = start("127.0.0.1:0".parse().unwrap(), Box::new(ask)).unwrap();
        assert_eq!(code(&get(address, "/metrics", "localhost")), "503");
    }
}
