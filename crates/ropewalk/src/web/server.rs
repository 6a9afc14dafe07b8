//! What is answered to browsers of this machine.

use super::access::{Access, Refused};
use super::actions::{self, Action};
use super::assets::{ASSETS, Asset};
use super::feed::{Published, Shared};
use super::past::Span;
use crate::metrics::server::{HEAD, Pulse, Server};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A connection is closed by which no browser that was let in asked or took anything for this long.
const IDLE: Duration = Duration::from_secs(30);
/// Most bytes of a request's body.
const BODY_MAX: usize = 4096;
/// Whatever goes wrong, a page loads and asks nothing but its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const JSON: &str = "application/json";
/// What is there besides the page's files.
const API: [&str; 7] =
    ["/api/open", "/api/live", "/api/history", "/api/clients", "/api/flows", "/api/grants", "/api/act"];

/// What every connection works with.
#[derive(Debug)]
pub(super) struct Site {
    pub access: Access,
    pub shared: Arc<Shared>,
    server: Server,
}

impl Site {
    /// For browsers that `access` lets in.
    pub(super) fn new(access: Access, shared: Arc<Shared>) -> Arc<Site> {
        Arc::new(Site { access, shared, server: Server::new(IDLE, true) })
    }

    /// A link that is good once, and the one before no more. The token is in the fragment, which
    /// browsers send to nobody.
    pub(super) fn link(&self, base: &str) -> String {
        format!("{base}/#{}", self.access.token())
    }

    /// Answers on a connection, on a task of its own, once there is room for it.
    pub(super) async fn welcome(
        self: &Arc<Site>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let Some(room) = self.server.room().await else { return };
        let site = Arc::clone(self);
        let answer = move |request, pulse| Arc::clone(&site).answer(request, pulse);
        self.server.converse(room, stream, answer);
    }

    async fn answer(self: Arc<Site>, request: Request<Incoming>, pulse: Arc<Pulse>) -> Response<Page> {
        let mut response = match self.route(request, pulse).await {
            Ok(response) => response,
            Err(Trouble(status, words)) => {
                page(status, "text/plain; charset=utf-8", format!("{words}\n").into())
            }
        };
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    async fn route(
        self: Arc<Site>,
        request: Request<Incoming>,
        pulse: Arc<Pulse>,
    ) -> Result<Response<Page>, Trouble> {
        let changes = request.method() != Method::GET && request.method() != Method::HEAD;
        self.access.is_meant_for_us(request.headers(), changes)?;
        let path = request.uri().path();
        if let Some(asset) = ASSETS.iter().find(|a| a.path == path) {
            return if changes { Err(Trouble::method()) } else { Ok(file(asset)) };
        }
        match (path, changes) {
            ("/api/open", true) => self.open(request).await,
            ("/api/live", false) => {
                self.may_look(request.headers(), &pulse)?;
                Ok(self.live(pulse))
            }
            ("/api/history", false) => {
                self.may_look(request.headers(), &pulse)?;
                self.history(request.uri().query().unwrap_or(""))
            }
            ("/api/clients", false) => self.ask(request.headers(), &pulse, actions::clients).await,
            ("/api/flows", false) => self.ask(request.headers(), &pulse, actions::flows).await,
            ("/api/grants", false) => self.ask(request.headers(), &pulse, actions::grants).await,
            ("/api/act", true) => {
                self.access.may_change(request.headers())?;
                pulse.beat();
                let action: Action = read(request).await?;
                let shared = Arc::clone(&self.shared);
                blocking(move || actions::act(&shared, action)).await
            }
            _ if API.contains(&path) => Err(Trouble::method()),
            _ => Err(Trouble(StatusCode::NOT_FOUND, "there is nothing here".into())),
        }
    }

    /// Whether a request may look. Who may look may stay on its connection, too.
    fn may_look(&self, headers: &HeaderMap, pulse: &Pulse) -> Result<(), Refused> {
        self.access.may_look(headers)?;
        pulse.beat();
        Ok(())
    }

    async fn open(&self, request: Request<Incoming>) -> Result<Response<Page>, Trouble> {
        #[derive(serde::Deserialize)]
        struct Open {
            token: String,
        }
        #[derive(Serialize)]
        struct Opened {
            key: String,
        }
        let asked: Open = read(request).await?;
        let Some(admitted) = self.access.open(&asked.token) else {
            let words = "this link was used already, or is of an earlier start: `ropewalk web --link` prints another, as Enter does where `ropewalk web` runs";
            return Err(Trouble(StatusCode::FORBIDDEN, words.into()));
        };
        eprintln!("ropewalk: a browser has opened the page");
        let mut response = json(&Opened { key: admitted.key });
        let cookie = HeaderValue::from_str(&admitted.cookie).map_err(|_| Trouble::broken())?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    }

    fn history(&self, query: &str) -> Result<Response<Page>, Trouble> {
        let of = |name: &str| {
            query.split('&').filter_map(|p| p.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
        };
        let span = match of("span") {
            Some("seconds") => Span::Seconds,
            Some("minutes") => Span::Minutes,
            _ => return Err(Trouble(StatusCode::BAD_REQUEST, "span is seconds or minutes".into())),
        };
        let series = match of("of") {
            Some("roam") => self.shared.walk().series(span),
            Some("bunch") => self.shared.members().series(span),
            // Names of clients have no letters that are escaped in a query.
            _ => self.shared.rings().of(of("peer").unwrap_or(""), span),
        };
        Ok(json(&series))
    }

    /// What the daemon says to who may look.
    async fn ask<T: Serialize + Send + 'static>(
        &self,
        headers: &HeaderMap,
        pulse: &Pulse,
        work: fn(&Shared) -> anyhow::Result<T>,
    ) -> Result<Response<Page>, Trouble> {
        self.may_look(headers, pulse)?;
        let shared = Arc::clone(&self.shared);
        blocking(move || work(&shared)).await
    }

    fn live(&self, pulse: Arc<Pulse>) -> Response<Page> {
        let (events, frames) = mpsc::channel(2);
        tokio::spawn(tell(Arc::clone(&self.shared), events));
        let mut response = Response::new(Page::Live(frames, pulse));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }
}

/// Sends the news to one page, the latest only where it is slow, until it is gone.
async fn tell(shared: Arc<Shared>, page: mpsc::Sender<Bytes>) {
    let mut news = shared.subscribe();
    news.mark_changed();
    shared.watchers.fetch_add(1, Ordering::Relaxed);
    let mut version = None;
    while news.changed().await.is_ok() {
        let Published { now, timeline, version: current } = news.borrow_and_update().clone();
        if version != Some(current) {
            version = Some(current);
            if page.send(timeline).await.is_err() {
                break;
            }
        }
        if page.send(now).await.is_err() {
            break;
        }
    }
    shared.watchers.fetch_sub(1, Ordering::Relaxed);
}

/// What is sent back.
enum Page {
    Whole(Full<Bytes>),
    Live(mpsc::Receiver<Bytes>, Arc<Pulse>),
}

impl Body for Page {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Page::Whole(full) => Pin::new(full).poll_frame(context),
            Page::Live(frames, pulse) => frames.poll_recv(context).map(|frame| {
                pulse.beat();
                frame.map(|f| Ok(Frame::data(f)))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Page::Whole(full) if full.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Page::Whole(full) => full.size_hint(),
            Page::Live(..) => SizeHint::default(),
        }
    }
}

/// On every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// An answer that is no success.
struct Trouble(StatusCode, String);

impl Trouble {
    fn method() -> Trouble {
        Trouble(StatusCode::METHOD_NOT_ALLOWED, "this is not done here with that method".into())
    }

    fn broken() -> Trouble {
        Trouble(StatusCode::INTERNAL_SERVER_ERROR, "something is broken in `ropewalk web`".into())
    }
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Trouble {
        let (status, words) = match refused {
            Refused::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "this page is for this machine: open the link that `ropewalk web` printed",
            ),
            Refused::Origin => (StatusCode::FORBIDDEN, "another page asked for this"),
            Refused::Cookie => (StatusCode::UNAUTHORIZED, "open the link that `ropewalk web --link` prints"),
            Refused::Key => {
                (StatusCode::FORBIDDEN, "this browser tab may look, but has no key: open a new link in it")
            }
        };
        Trouble(status, words.into())
    }
}

fn page(status: StatusCode, kind: &'static str, bytes: Bytes) -> Response<Page> {
    let mut response = Response::new(Page::Whole(Full::new(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn file(asset: &Asset) -> Response<Page> {
    page(StatusCode::OK, asset.kind, Bytes::from_static(asset.text.as_bytes()))
}

fn json(value: &impl Serialize) -> Response<Page> {
    match serde_json::to_vec(value) {
        Ok(bytes) => page(StatusCode::OK, JSON, bytes.into()),
        Err(_) => page(StatusCode::INTERNAL_SERVER_ERROR, JSON, Bytes::from_static(b"null")),
    }
}

/// The body, as JSON.
async fn read<T: serde::de::DeserializeOwned>(request: Request<Incoming>) -> Result<T, Trouble> {
    if request.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind != JSON) {
        return Err(Trouble(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body has to be application/json".into(),
        ));
    }
    let whole = timeout(HEAD, Limited::new(request.into_body(), BODY_MAX).collect()).await;
    let whole = whole.map_err(|_| Trouble(StatusCode::REQUEST_TIMEOUT, "the body did not come".into()))?;
    let too_long = |_| Trouble(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {BODY_MAX} bytes"));
    serde_json::from_slice(&whole.map_err(too_long)?.to_bytes())
        .map_err(|error| Trouble(StatusCode::BAD_REQUEST, error.to_string()))
}

/// Asks the daemon, beside the server's thread.
async fn blocking<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> Result<Response<Page>, Trouble> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(answer)) => Ok(json(&answer)),
        Ok(Err(error)) => {
            let status =
                if actions::is_refusal(&error) { StatusCode::CONFLICT } else { StatusCode::BAD_GATEWAY };
            Err(Trouble(status, format!("{error:#}")))
        }
        Err(_) => Err(Trouble::broken()),
    }
}
