//! The one request and answer of HTTP/1.1 that a stream begins with (RFC 9110, section 7.8:
//! Upgrade), so that it is a web server's connection to whoever looks on, and an ordinary reverse
//! proxy passes it.

use httparse::{EMPTY_HEADER, Header, Request, Response, Status};

/// What the connection changes to.
pub const PROTOCOL: &str = "ropewalk/1";
/// The longest head, bytes.
pub(super) const HEAD_MAX: usize = 8192;
/// Headers of a head that are looked at; with more it is refused.
const HEADERS: usize = 48;

/// What a server makes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// More has to come.
    More,
    /// A client, whose datagrams begin after so many bytes.
    Upgrade(usize),
    /// A browser, or a proxy that asks whether this server lives: the status that it is answered
    /// with.
    Page(u16),
}

/// What a client makes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// More has to come.
    More,
    /// A gateway, whose datagrams begin after so many bytes.
    Switched(usize),
    /// Somebody else.
    Other {
        /// The status; 0 if it was not HTTP.
        code: u16,
        /// The Location header.
        location: Option<String>,
    },
}

/// What a client sends.
pub(super) fn request(host: &str) -> Vec<u8> {
    format!("GET /ropewalk HTTP/1.1\r\nHost: {host}\r\nUser-Agent: ropewalk\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n")
        .into_bytes()
}

/// What a gateway answers a client.
pub(super) fn switching() -> Vec<u8> {
    format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n")
        .into_bytes()
}

/// What a gateway answers anybody else.
pub(super) fn page(status: u16) -> Vec<u8> {
    let (reason, text) = match status {
        200 => ("OK", "<!doctype html><title>Welcome</title><p>This server works.\n"),
        404 => ("Not Found", "<!doctype html><title>404</title><p>Not found.\n"),
        _ => ("Bad Request", "<!doctype html><title>400</title><p>Bad request.\n"),
    };
    let length = text.len();
    format!("HTTP/1.1 {status} {reason}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
        .into_bytes()
}

/// Reads a request.
pub(super) fn read_request(head: &[u8]) -> Asked {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    let length = match request.parse(head) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if head.len() < HEAD_MAX => return Asked::More,
        _ => return Asked::Page(400),
    };
    let is_get = request.method == Some("GET");
    if is_get
        && lists(request.headers, "connection", "upgrade")
        && lists(request.headers, "upgrade", PROTOCOL)
    {
        return Asked::Upgrade(length);
    }
    Asked::Page(if is_get && request.path == Some("/") { 200 } else { 404 })
}

/// Reads an answer.
pub(super) fn read_answer(head: &[u8]) -> Answered {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut response = Response::new(&mut headers);
    let other = |code| Answered::Other { code, location: None };
    match response.parse(head) {
        Ok(Status::Complete(length)) => match response.code.unwrap_or(0) {
            101 if lists(response.headers, "upgrade", PROTOCOL) => Answered::Switched(length),
            code => {
                let location = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case("location"));
                let text = location.map(|h| h.value.iter().copied().filter(u8::is_ascii_graphic));
                let location = text.map(|bytes| bytes.take(200).map(char::from).collect());
                Answered::Other { code, location }
            }
        },
        Ok(Status::Partial) if head.len() < HEAD_MAX => Answered::More,
        _ => other(0),
    }
}

/// A header names this among what it lists.
fn lists(headers: &[Header<'_>], name: &str, wanted: &str) -> bool {
    let values = headers.iter().filter(|h| h.name.eq_ignore_ascii_case(name));
    let words = values.flat_map(|h| h.value.split(|b| *b == b','));
    words.map(<[u8]>::trim_ascii).any(|word| word.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_understand_each_other() {
        let head = request("gw.example.org");
        assert_eq!(read_request(&head), Asked::Upgrade(head.len()));
        assert_eq!(read_request(&[&head[..], b"\0\x04more"].concat()), Asked::Upgrade(head.len()));
        assert_eq!(read_request(&head[..head.len() - 1]), Asked::More);
        let head = switching();
        assert_eq!(read_answer(&head), Answered::Switched(head.len()));
        assert_eq!(read_answer(&head[..20]), Answered::More);
        for status in [200, 404, 400] {
            assert_eq!(read_answer(&page(status)), Answered::Other { code: status, location: None });
        }
    }

    #[test]
    fn a_proxy_may_change_headers_and_a_browser_is_answered() {
        let proxied = b"GET /a/b HTTP/1.1\r\nX-Forwarded-For: 1.2.3.4\r\nUPGRADE: websocket, Ropewalk/1\r\nconnection: keep-alive, Upgrade\r\n\r\n";
        assert_eq!(read_request(proxied), Asked::Upgrade(proxied.len()));
        assert_eq!(read_request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), Asked::Page(200));
        assert_eq!(read_request(b"GET /.env HTTP/1.1\r\n\r\n"), Asked::Page(404));
        assert_eq!(read_request(b"POST / HTTP/1.1\r\n\r\n"), Asked::Page(404));
        assert_eq!(
            read_request(b"GET / HTTP/1.1\r\nUpgrade: ropewalk/1\r\n\r\n"),
            Asked::Page(200),
            "no Connection"
        );
        for garbage in [&b"\x16\x03\x01"[..], b"SSH-2.0-x\r\n", &[b'A'; HEAD_MAX]] {
            assert_eq!(read_request(garbage), Asked::Page(400), "{garbage:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(read_request(many.as_bytes()), Asked::Page(400));
    }

    #[test]
    fn a_portal_is_somebody_else() {
        let found = read_answer(b"HTTP/1.1 302 Found\r\nLocation: http://login.example/?a\r\n\r\n");
        assert_eq!(found, Answered::Other { code: 302, location: Some("http://login.example/?a".into()) });
        assert_eq!(
            read_answer(b"HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n"),
            Answered::Other { code: 101, location: None }
        );
        assert_eq!(read_answer(b"220 smtp.example\r\n"), Answered::Other { code: 0, location: None });
    }

    /// Reads any bytes as either.
    fn read_any(bytes: &[u8]) {
        if let Asked::Upgrade(length) = read_request(bytes) {
            assert!(length <= bytes.len());
        }
        if let Answered::Switched(length) = read_answer(bytes) {
            assert!(length <= bytes.len());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes: Vec<u8>, at in 0usize..200) {
            read_any(&bytes);
            let mut head = request("gw");
            let at = at % head.len();
            head.splice(at..at, bytes);
            read_any(&head);
        }
    }
}
