//! Who may see the page, and who may change something by it.
//!
//! A link carries a token that is good once: it is exchanged for a cookie, which scripts cannot
//! read, and a key, which other ports of this machine are not sent. Whoever looks needs the cookie,
//! whoever changes something both.

use crate::metrics::server::local_host;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::{COOKIE, HeaderName, ORIGIN};
use rand::RngCore;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Browsers that are let in at a time; the one that came first goes first.
const SESSIONS: usize = 16;
/// Where a page sends its key.
const KEY: HeaderName = HeaderName::from_static("ropewalk-key");
/// What browsers say of where a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A browser that was let in.
#[derive(Debug)]
struct Session {
    cookie: String,
    key: String,
}

/// The doorkeeper.
#[derive(Debug)]
pub(super) struct Access {
    cookie_name: String,
    /// The address that the page is at, where it has one.
    own: Option<IpAddr>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    token: Option<String>,
    sessions: VecDeque<Session>,
}

/// What a browser gets for its token.
#[derive(Debug)]
pub(super) struct Admitted {
    /// The value of `Set-Cookie`.
    pub cookie: String,
    /// What changes are to carry.
    pub key: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its `Host` is not this machine: a name that was made to lead here.
    Host,
    /// It comes from a page of somebody else.
    Origin,
    /// It has no cookie of this process.
    Cookie,
    /// It has not the key that goes with its cookie.
    Key,
}

impl Access {
    /// Lets nobody in yet. The page is at the address `own`, unless it is at a socket.
    pub(super) fn new(own: Option<IpAddr>) -> Access {
        // Cookies know no ports: two pages on one machine must not have the same name for theirs.
        let cookie_name = format!("ropewalk-{}", &secret()[..8]);
        Access { cookie_name, own, inner: Mutex::default() }
    }

    /// A token that is good once; the one before is good no more.
    pub(super) fn token(&self) -> String {
        let token = secret();
        self.lock().token = Some(token.clone());
        token
    }

    /// Exchanges the token.
    pub(super) fn open(&self, token: &str) -> Option<Admitted> {
        let mut inner = self.lock();
        if !inner.token.as_ref().is_some_and(|t| same(t, token)) {
            return None;
        }
        inner.token = None;
        let session = Session { cookie: secret(), key: secret() };
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name, session.cookie);
        let key = session.key.clone();
        if inner.sessions.len() >= SESSIONS {
            inner.sessions.pop_front();
        }
        inner.sessions.push_back(session);
        Some(Admitted { cookie, key })
    }

    /// Whether a request was meant for this machine by its own name, and comes from this page where
    /// it says where it comes from.
    pub(super) fn is_meant_for_us(&self, headers: &HeaderMap, changes: bool) -> Result<(), Refused> {
        let host = local_host(headers, self.own).ok_or(Refused::Host)?;
        if headers.get(SITE).is_some_and(|site| site != "same-origin" && site != "none") && changes {
            return Err(Refused::Origin);
        }
        let own = |origin: &str| {
            origin.strip_prefix("http://").or(origin.strip_prefix("https://")).is_some_and(|o| o == host)
        };
        match headers.get(ORIGIN).map(|o| o.to_str()) {
            None if changes => Err(Refused::Origin),
            None => Ok(()),
            Some(Ok(origin)) if own(origin) => Ok(()),
            Some(_) => Err(Refused::Origin),
        }
    }

    /// Whether this request may look.
    pub(super) fn may_look(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let given = self.cookie(headers).ok_or(Refused::Cookie)?;
        let inner = self.lock();
        if inner.sessions.iter().any(|s| same(&s.cookie, given)) { Ok(()) } else { Err(Refused::Cookie) }
    }

    /// Whether this request may change something.
    pub(super) fn may_change(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let given = self.cookie(headers).ok_or(Refused::Cookie)?;
        let key = headers.get(KEY).and_then(|k| k.to_str().ok()).ok_or(Refused::Key)?;
        let inner = self.lock();
        let session = inner.sessions.iter().find(|s| same(&s.cookie, given)).ok_or(Refused::Cookie)?;
        if same(&session.key, key) { Ok(()) } else { Err(Refused::Key) }
    }

    fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let all = headers.get_all(COOKIE).into_iter().filter_map(|c| c.to_str().ok());
        let mut pairs = all.flat_map(|c| c.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie_name).map(|(_, value)| value)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same(a: &str, b: &str) -> bool {
    verify_slices_are_equal(a.as_bytes(), b.as_bytes()).is_ok()
}

/// 256 bits as text.
fn secret() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    fn cookie_of(admitted: &Admitted) -> String {
        admitted.cookie.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_token_is_good_once() {
        let access = Access::new(None);
        assert!(access.open("").is_none() && access.open("x").is_none());
        let (old, token) = (access.token(), access.token());
        assert!(access.open(&old).is_none(), "a later link is made instead of the earlier");
        let admitted = access.open(&token).unwrap();
        assert!(access.open(&token).is_none());
        let cookie = cookie_of(&admitted);
        assert_eq!(access.may_look(&headers(&[("cookie", &format!("a=b; {cookie}"))])), Ok(()));
        assert_eq!(access.may_look(&headers(&[("cookie", &format!("{cookie}x"))])), Err(Refused::Cookie));
        assert_eq!(access.may_change(&headers(&[("cookie", &cookie)])), Err(Refused::Key));
        let with = |key: &str| headers(&[("cookie", &cookie), ("ropewalk-key", key)]);
        assert_eq!(access.may_change(&with("other")), Err(Refused::Key));
        assert_eq!(access.may_change(&with(&admitted.key)), Ok(()));
    }

    #[test]
    fn browsers_are_bounded_and_the_first_goes() {
        let access = Access::new(None);
        let first = access.open(&access.token()).unwrap();
        let looks = |a: &Admitted| access.may_look(&headers(&[("cookie", &cookie_of(a))]));
        for _ in 0..SESSIONS - 1 {
            access.open(&access.token()).unwrap();
        }
        assert_eq!(looks(&first), Ok(()));
        let last = access.open(&access.token()).unwrap();
        assert_eq!((looks(&first), looks(&last)), (Err(Refused::Cookie), Ok(())));
    }

    #[test]
    fn only_this_machine_by_its_own_names() {
        let access = Access::new(None);
        for host in ["127.0.0.1:4580", "localhost", "localhost:8080", "[::1]:4580"] {
            assert_eq!(access.is_meant_for_us(&headers(&[("host", host)]), false), Ok(()), "{host}");
        }
        for host in ["evil.example:4580", "127.0.0.1.evil.example", "localhost.", "127.0.0.1:x", "[::1]x", ""]
        {
            let refused = access.is_meant_for_us(&headers(&[("host", host)]), false);
            assert_eq!(refused, Err(Refused::Host), "{host}");
        }
        assert_eq!(access.is_meant_for_us(&headers(&[]), false), Err(Refused::Host));
        let two = headers(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(access.is_meant_for_us(&two, false), Err(Refused::Host));
    }

    #[test]
    fn the_address_that_the_page_is_at_is_a_name_too() {
        let at = |own: &str, host: &str| {
            let access = Access::new(Some(own.parse().unwrap()));
            access.is_meant_for_us(&headers(&[("host", host)]), false)
        };
        for host in ["127.0.0.2:4580", "127.0.0.2", "127.0.0.1:4580", "localhost"] {
            assert_eq!(at("127.0.0.2", host), Ok(()), "{host}");
        }
        assert_eq!(at("::1", "[::1]:4580"), Ok(()));
        for host in ["127.0.0.20", "127.0.0.3:4580", "127.0.0.2.evil.example"] {
            assert_eq!(at("127.0.0.2", host), Err(Refused::Host), "{host}");
        }
        assert_eq!(at("127.0.0.1", "127.0.0.2:4580"), Err(Refused::Host));
    }

    #[test]
    fn changes_come_from_the_page_itself() {
        let access = Access::new(None);
        let from = |origin: &str| headers(&[("host", "127.0.0.1:4580"), ("origin", origin)]);
        assert_eq!(access.is_meant_for_us(&from("http://127.0.0.1:4580"), true), Ok(()));
        for origin in ["http://127.0.0.1:4581", "http://evil.example", "null", "127.0.0.1:4580"] {
            for changes in [true, false] {
                let refused = access.is_meant_for_us(&from(origin), changes);
                assert_eq!(refused, Err(Refused::Origin), "{origin}");
            }
        }
        let none = headers(&[("host", "localhost")]);
        assert_eq!(access.is_meant_for_us(&none, true), Err(Refused::Origin));
        let mut cross = from("http://127.0.0.1:4580");
        cross.insert(SITE, "same-site".parse().unwrap());
        assert_eq!(access.is_meant_for_us(&cross, true), Err(Refused::Origin));
    }
}
