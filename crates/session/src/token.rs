//! The invite token: the one line that `ropewalk invite` prints and `ropewalk up` takes.
//!
//! ```text
//! text     "rw1_" base64url(content ‖ check), no padding (RFC 4648 §5)
//! content  gateway public key[32] | invite id[16] | invite secret[16] | number of endpoints u8 (1..8) | endpoints | extensions
//! endpoint 4 | address[4] | port u16        an IPv4 address
//!          6 | address[16] | port u16       an IPv6 address
//!          1 | length u8 | name | port u16  a name
//! extension type u8 | length u16 | value; type 1: an endpoint where the gateway is reached by TLS over TCP
//! check    the first 4 bytes of SHA-256("ropewalk 1 token" ‖ content)
//! ```
//!
//! A reader skips extensions that it does not know.
//!
//! The check finds typing and copying mistakes; it protects nothing. The digits after `rw` are the version.

use core::str::FromStr;
use std::net::IpAddr;

use aws_lc_rs::digest;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::endpoint::{Endpoint, Host, HostName};
use super::reader::Reader;
use super::{InviteId, InviteSecret, PublicKey};

/// Most endpoints in a token.
pub const ENDPOINTS_MAX: usize = 8;
/// Most endpoints by TLS: one for each IP version.
pub const TLS_ENDPOINTS_MAX: usize = 2;
/// Longest text that is looked at, in bytes; ten names of 253 bytes make 3524.
pub const TOKEN_TEXT_MAX: usize = 4096;

const PREFIX: &str = "rw1_";
const LABEL: &[u8] = b"ropewalk 1 token";
const CHECK_LEN: usize = 4;
/// Extension: an endpoint by TLS over TCP.
const TLS: u8 = 1;

/// Why a text is not a token that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It does not begin as a token does.
    #[error(
        "this is not a Ropewalk token: a token begins with {PREFIX}; `ropewalk invite NAME` on the gateway prints one"
    )]
    NotAToken,
    /// It begins as one, but something is missing, added or changed.
    #[error("the token is damaged: copy the whole line again, from {PREFIX} to its end")]
    Damaged,
    /// It is of a later version of Ropewalk.
    #[error("the token was made by a newer Ropewalk: update ropewalk on this machine")]
    Newer,
    /// A token to be made has no endpoint, or more than [`ENDPOINTS_MAX`].
    #[error("a token holds 1 to {ENDPOINTS_MAX} endpoints; name that many with --endpoint HOST:PORT")]
    Endpoints,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Who the gateway is.
    pub gateway: PublicKey,
    /// Which invite this is.
    pub invite: InviteId,
    /// What proves that it was given.
    pub secret: InviteSecret,
    endpoints: Vec<Endpoint>,
    tls: Vec<Endpoint>,
}

impl Token {
    /// A token for `endpoints`, the preferred one first.
    ///
    /// # Errors
    /// [`TokenError::Endpoints`] if there are none or too many.
    pub fn new(
        gateway: PublicKey,
        invite: InviteId,
        secret: InviteSecret,
        endpoints: Vec<Endpoint>,
    ) -> Result<Token, TokenError> {
        if !(1..=ENDPOINTS_MAX).contains(&endpoints.len()) {
            return Err(TokenError::Endpoints);
        }
        Ok(Token { gateway, invite, secret, endpoints, tls: Vec::new() })
    }

    /// Where the gateway can be reached, the preferred endpoint first; 1 to [`ENDPOINTS_MAX`].
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The same, of a gateway that is reached by TLS over TCP, too; no more than
    /// [`TLS_ENDPOINTS_MAX`] are kept.
    #[must_use]
    pub fn with_tls(mut self, endpoints: impl IntoIterator<Item = Endpoint>) -> Token {
        self.tls = endpoints.into_iter().take(TLS_ENDPOINTS_MAX).collect();
        self
    }

    /// Where the gateway is reached by TLS over TCP, if it is.
    pub fn tls_endpoints(&self) -> &[Endpoint] {
        &self.tls
    }

    /// The line to hand to a user. It is a secret until its first use.
    pub fn to_text(&self) -> Zeroizing<String> {
        // Sized for the longest token, so that no copy of the secret stays behind in a buffer grown out of.
        let mut content = Zeroizing::new(Vec::with_capacity(TOKEN_TEXT_MAX));
        content.extend_from_slice(self.gateway.as_bytes());
        content.extend_from_slice(&self.invite.0);
        content.extend_from_slice(&self.secret.0);
        content.push(self.endpoints.len() as u8);
        for endpoint in &self.endpoints {
            put_endpoint(&mut content, endpoint);
        }
        for endpoint in &self.tls {
            let mut value = Vec::new();
            put_endpoint(&mut value, endpoint);
            content.push(TLS);
            content.extend_from_slice(&(value.len() as u16).to_be_bytes());
            content.extend_from_slice(&value);
        }
        let check = check(&content);
        content.extend_from_slice(&check);
        let mut text = Zeroizing::new(String::with_capacity(TOKEN_TEXT_MAX));
        text.push_str(PREFIX);
        URL_SAFE_NO_PAD.encode_string(&*content, &mut text);
        text
    }
}

impl FromStr for Token {
    type Err = TokenError;

    /// Reads a token. White space in it, as a terminal that wraps lines puts there, is ignored.
    fn from_str(text: &str) -> Result<Token, TokenError> {
        if text.len() > TOKEN_TEXT_MAX {
            return Err(TokenError::NotAToken);
        }
        let mut line = Zeroizing::new(String::with_capacity(text.len()));
        line.extend(text.chars().filter(|letter| !letter.is_whitespace()));
        let encoded = version_1(&line)?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(encoded).map_err(|_| TokenError::Damaged)?);
        let (content, sum) = bytes.split_last_chunk::<CHECK_LEN>().ok_or(TokenError::Damaged)?;
        if check(content) != *sum {
            return Err(TokenError::Damaged);
        }
        parse(content).ok_or(TokenError::Damaged)
    }
}

/// The part behind the prefix of a version 1 token.
fn version_1(line: &str) -> Result<&str, TokenError> {
    let (version, encoded) =
        line.strip_prefix("rw").and_then(|rest| rest.split_once('_')).ok_or(TokenError::NotAToken)?;
    match version {
        "1" => Ok(encoded),
        "" => Err(TokenError::NotAToken),
        _ if version.len() <= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(TokenError::Newer)
        }
        _ => Err(TokenError::NotAToken),
    }
}

fn check(content: &[u8]) -> [u8; CHECK_LEN] {
    let mut hash = digest::Context::new(&digest::SHA256);
    hash.update(LABEL);
    hash.update(content);
    *hash.finish().as_ref().first_chunk().expect("SHA-256 has 32 bytes")
}

fn parse(content: &[u8]) -> Option<Token> {
    let mut reader = Reader(content);
    let gateway = PublicKey(reader.array()?);
    let invite = InviteId(reader.array()?);
    let secret = InviteSecret(reader.array()?);
    let count = usize::from(reader.u8()?);
    if !(1..=ENDPOINTS_MAX).contains(&count) {
        return None;
    }
    let endpoints = (0..count).map(|_| take_endpoint(&mut reader)).collect::<Option<_>>()?;
    let tls = take_extensions(&mut reader)?;
    Some(Token { gateway, invite, secret, endpoints, tls })
}

/// The endpoints by TLS among the extensions, to the end.
fn take_extensions(reader: &mut Reader<'_>) -> Option<Vec<Endpoint>> {
    let mut tls = Vec::new();
    while !reader.0.is_empty() {
        let (kind, len) = (reader.u8()?, usize::from(reader.u16()?));
        let mut value = Reader(reader.bytes(len)?);
        if kind == TLS {
            let endpoint = take_endpoint(&mut value)?;
            if !value.0.is_empty() || tls.len() == TLS_ENDPOINTS_MAX {
                return None;
            }
            tls.push(endpoint);
        }
    }
    Some(tls)
}

fn put_endpoint(out: &mut Vec<u8>, endpoint: &Endpoint) {
    match &endpoint.host {
        Host::Address(IpAddr::V4(address)) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
        Host::Address(IpAddr::V6(address)) => {
            out.push(6);
            out.extend_from_slice(&address.octets());
        }
        Host::Name(name) => {
            // A checked name has at most 253 bytes.
            out.extend_from_slice(&[1, name.as_str().len() as u8]);
            out.extend_from_slice(name.as_str().as_bytes());
        }
    }
    out.extend_from_slice(&endpoint.port.to_be_bytes());
}

fn take_endpoint(reader: &mut Reader<'_>) -> Option<Endpoint> {
    let host = match reader.u8()? {
        4 => Host::Address(IpAddr::from(reader.array::<4>()?)),
        6 => Host::Address(IpAddr::from(reader.array::<16>()?)),
        1 => {
            let len = usize::from(reader.u8()?);
            let name = core::str::from_utf8(reader.bytes(len)?).ok()?;
            Host::Name(HostName::new(name).ok()?)
        }
        _ => return None,
    };
    let port = reader.u16()?;
    (port != 0).then_some(Endpoint { host, port })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Token {
        let endpoints = ["gw.example.org:4500", "192.0.2.1:4500", "[2001:db8::1]:443"];
        let endpoints = endpoints.map(|text| text.parse().unwrap()).to_vec();
        Token::new(PublicKey([1; 32]), InviteId([2; 16]), InviteSecret([3; 16]), endpoints).unwrap()
    }

    #[test]
    fn text_comes_back_even_wrapped() {
        let text = sample().to_text();
        assert!(text.starts_with("rw1_") && text.len() < 200, "{}", *text);
        assert_eq!(text.parse(), Ok(sample()));
        let (a, b) = text.split_at(80);
        assert_eq!(format!("  {a}\r\n {b}\n").parse(), Ok(sample()));
    }

    #[test]
    fn every_changed_letter_is_noticed() {
        let text = sample().to_text();
        for at in 4..text.len() {
            let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
            let mut changed = text.to_string();
            changed.replace_range(at..=at, other);
            assert_eq!(changed.parse::<Token>(), Err(TokenError::Damaged), "letter {at}");
            assert_eq!(text[..at].parse::<Token>(), Err(TokenError::Damaged), "cut at {at}");
        }
    }

    #[test]
    fn other_texts_are_told_apart() {
        for text in ["", "rw", "rw_", "rw1", "hello", "rwx_AAAA", "rw12345_A", &"A".repeat(5000)] {
            assert_eq!(text.parse::<Token>(), Err(TokenError::NotAToken), "{text}");
        }
        for text in ["rw2_", "rw10_whatever", "rw0_"] {
            assert_eq!(text.parse::<Token>(), Err(TokenError::Newer), "{text}");
        }
        for text in ["rw1_", "rw1_A", "rw1_AAAAAAAA", "rw1_ä"] {
            assert_eq!(text.parse::<Token>(), Err(TokenError::Damaged), "{text}");
        }
    }

    #[test]
    fn the_longest_token_fits() {
        let name = format!("{}a:65535", "abc.".repeat(63));
        let endpoints = vec![name.parse().unwrap(); ENDPOINTS_MAX];
        let tls = endpoints[..TLS_ENDPOINTS_MAX].to_vec();
        let token =
            Token::new(PublicKey([0; 32]), InviteId([0; 16]), InviteSecret([0; 16]), endpoints).unwrap();
        let token = token.with_tls(tls);
        assert!(token.to_text().len() <= TOKEN_TEXT_MAX);
        assert_eq!(token.to_text().parse(), Ok(token));
    }

    #[test]
    fn a_token_needs_an_endpoint() {
        for count in [0, 9] {
            let endpoints = vec!["gw:1".parse().unwrap(); count];
            let token = Token::new(PublicKey([0; 32]), InviteId([0; 16]), InviteSecret([0; 16]), endpoints);
            assert_eq!(token, Err(TokenError::Endpoints));
        }
    }

    #[test]
    fn endpoints_by_tls_come_back_and_unknown_extensions_are_skipped() {
        let token = sample().with_tls(["gw.example.org:443".parse().unwrap()]);
        let read: Token = token.to_text().parse().unwrap();
        assert_eq!(read, token);
        assert_eq!(read.tls_endpoints()[0].to_string(), "gw.example.org:443");
        let bytes = URL_SAFE_NO_PAD.decode(&token.to_text()[PREFIX.len()..]).unwrap();
        let content = &bytes[..bytes.len() - CHECK_LEN];
        let more = |extension: &[u8]| with_check(&[content, extension].concat()).parse::<Token>();
        assert_eq!(more(&[9, 0, 2, 7, 7]), Ok(token));
        for broken in [&[1][..], &[9, 0, 3, 7], &[1, 0, 1, 4], &[1, 0, 8, 4, 1, 2, 3, 4, 0, 80, 0]] {
            assert_eq!(more(broken), Err(TokenError::Damaged), "{broken:?}");
        }
    }

    /// A text whose check is right over content that need not be.
    fn with_check(content: &[u8]) -> String {
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode([content, &check(content)].concat()))
    }

    fn endpoint() -> impl Strategy<Value = Endpoint> {
        let host = prop_oneof![
            any::<[u8; 4]>().prop_map(|address| Host::Address(address.into())),
            any::<[u8; 16]>().prop_map(|address| Host::Address(address.into())),
            "[a-z]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z]([a-z0-9-]{0,20}[a-z0-9])?){0,3}"
                .prop_map(|name| Host::Name(HostName::new(&name).unwrap())),
        ];
        (host, 1u16..).prop_map(|(host, port)| Endpoint { host, port })
    }

    proptest! {
        #[test]
        fn any_token_comes_back(
            key: [u8; 32], id: [u8; 16], secret: [u8; 16],
            endpoints in prop::collection::vec(endpoint(), 1..=ENDPOINTS_MAX),
            tls in prop::collection::vec(endpoint(), 0..=TLS_ENDPOINTS_MAX),
        ) {
            let token = Token::new(PublicKey(key), InviteId(id), InviteSecret(secret), endpoints).unwrap();
            let token = token.with_tls(tls);
            prop_assert_eq!(token.to_text().parse(), Ok(token));
        }

        #[test]
        fn any_text_is_taken(text in "(rw1_)?\\PC*") {
            prop_assert!(text.parse::<Token>().is_err());
        }

        #[test]
        fn any_content_is_taken(head in any::<[u8; 64]>(), tail in prop::collection::vec(0u8..9, 0..60)) {
            let content = [&head[..], &tail].concat();
            if let Ok(token) = with_check(&content).parse::<Token>() {
                prop_assert_eq!(token.to_text().parse(), Ok(token));
            }
        }
    }
}
