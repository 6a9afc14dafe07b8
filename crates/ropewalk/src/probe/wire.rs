//! What the two ends say to each other: lines of JSON over TCP, and datagrams that carry a session's token.
//!
//! ```text
//!   server ── Hello { version, nonce } ──────────▶ client
//!   client ── Answer { nonce, proof } ───────────▶ server     proof = HMAC(key, "client" ‖ nonces)
//!   server ── Welcome { proof } ─────────────────▶ client     proof = HMAC(key, "server" ‖ nonces)
//!   client ── Request … server ── Reply, in turn
//! ```
//!
//! Both ends prove that they know the key before anything is measured. The token of the session's datagrams comes from the key and both nonces,
//! so nobody can make the server send anywhere: it answers a datagram only with the same length, and only to who completed the handshake.

use super::mptcp::Sample;
use crate::exit::{Code, failure};
use crate::roam::text::is_deceiving;
use anyhow::{Context, Result};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ropewalk_net::patience::{ReadUntil, is_late};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What both ends must agree on.
pub(super) const VERSION: u32 = 1;
/// Longest line, bytes: a request has about a hundred.
pub(super) const MAX_LINE: u64 = 4096;
/// How long an end waits for the other's next line.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Most connections of a test.
pub(super) const MAX_STREAMS: u8 = 16;
/// Longest test of one direction, seconds.
pub(super) const MAX_SECONDS: f64 = 20.0;

/// Where the first line does not come. It serves one client at a time: whoever comes meanwhile waits
/// to be accepted, or is cut off by a test that waits for its own connections.
const BUSY: &str = "the other end takes connections and says nothing: it is busy with somebody else, or no \
                    `ropewalk probe --serve`; try again in three minutes";
const CUT_OFF: &str = "the other end closed the connection at once: it is busy with somebody else, or \
                       `ropewalk probe --serve` says there why; try again in three minutes";

/// What a session's datagrams and data connections begin with.
pub(super) type Token = [u8; 16];

/// The secret that both ends share.
#[derive(Clone, Debug)]
pub(super) struct Key(hmac::Key);

impl Key {
    /// From a text; any will do, long ones are safer.
    pub(super) fn new(text: &str) -> Key {
        Key(hmac::Key::new(hmac::HMAC_SHA256, text.trim().as_bytes()))
    }

    /// A new one of 128 bits, as text.
    pub(super) fn generate() -> String {
        BASE64.encode(rand::random::<[u8; 16]>())
    }

    fn input(what: &str, nonces: &(Vec<u8>, Vec<u8>)) -> Vec<u8> {
        [b"ropewalk probe ", what.as_bytes(), b"\0", &nonces.0, &nonces.1].concat()
    }

    fn prove(&self, what: &str, nonces: &(Vec<u8>, Vec<u8>)) -> String {
        BASE64.encode(hmac::sign(&self.0, &Key::input(what, nonces)))
    }

    /// In constant time.
    fn verify(&self, what: &str, nonces: &(Vec<u8>, Vec<u8>), proof: &str) -> bool {
        let proof = BASE64.decode(proof).unwrap_or_default();
        hmac::verify(&self.0, &Key::input(what, nonces), &proof).is_ok()
    }

    fn token(&self, nonces: &(Vec<u8>, Vec<u8>)) -> Token {
        let tag = hmac::sign(&self.0, &Key::input("token", nonces));
        let mut token = Token::default();
        token.copy_from_slice(&tag.as_ref()[..16]);
        token
    }
}

/// The server's first line.
#[derive(Serialize, Deserialize)]
struct Hello {
    ropewalk_probe: u32,
    nonce: String,
}

/// The client's first line.
#[derive(Serialize, Deserialize)]
struct Answer {
    nonce: String,
    proof: String,
}

/// The server's second line.
#[derive(Serialize, Deserialize)]
struct Welcome {
    /// None: the client's proof was wrong.
    proof: Option<String>,
}

/// What the client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(super) enum Request {
    /// Streams of TCP data for so long; each connection says itself which end sends.
    Load {
        /// So many connections.
        streams: u8,
        /// How long, seconds.
        seconds: f64,
        /// The receivers' buffers, bytes; none: the kernel's own.
        window: Option<u32>,
        /// The connection is to be MPTCP: each end says what became of it.
        #[serde(default)]
        mptcp: bool,
    },
    /// What came of the trains of datagrams so far.
    Trains,
    /// Send trains to where the client's datagrams come from.
    TrainsBack,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub(super) enum Reply {
    /// The connections may come.
    Ready,
    /// What its end of the streams saw.
    Load {
        /// The streams.
        ends: Vec<End>,
    },
    /// Rates at which trains arrived, Mbit/s.
    Trains {
        /// One for each train of which enough arrived.
        mbps: Vec<f64>,
    },
    /// The trains that were asked for have left.
    Sent,
    /// It will not, or could not.
    Refused {
        /// Why, a sentence.
        why: String,
    },
}

/// One end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct End {
    /// A receiver: what arrived after slow start, Mbit/s.
    pub mbps: f64,
    /// A sender: its smoothed round trip, ms.
    pub rtt_ms: f64,
    /// A sender: segments sent.
    pub sent: u32,
    /// A sender: of them, sent again.
    pub retransmitted: u32,
    /// A sender: share of its time in which the receiver's window held it back, 0 to 1.
    pub window_limited: f64,
    /// A sender: share of its time in which its own buffer was too small, 0 to 1.
    pub buffer_limited: f64,
    /// A sender: the receiver's window at the end, bytes.
    pub window_bytes: u32,
    /// A sender: bytes in a segment.
    pub mss: u32,
    /// A test of MPTCP: what became of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<Sample>,
}

/// A connection that speaks in lines.
pub(super) struct Channel {
    reader: BufReader<Patient>,
    writer: TcpStream,
    patience: Duration,
}

/// Reads until a moment, however little comes at a time: the server has nobody else meanwhile.
struct Patient {
    stream: TcpStream,
    end: Instant,
}

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        ReadUntil::new(&self.stream, left).read(into)
    }
}

impl Channel {
    /// Over a connection.
    pub(super) fn new(stream: TcpStream) -> Result<Channel> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(Patient { stream: stream.try_clone()?, end: Instant::now() });
        Ok(Channel { reader, writer: stream, patience: PATIENCE })
    }

    /// How long to wait for a whole line.
    pub(super) fn patience(&mut self, wait: Duration) {
        self.patience = wait;
    }

    /// Says something.
    pub(super) fn send(&mut self, what: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.writer.write_all(&line).context("the other end went away")
    }

    /// Hears something.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T> {
        let closed =
            "the other end closed the connection; what `ropewalk probe --serve` prints there may say why";
        self.hear::<T>()?.context(closed)
    }

    /// The same; none: the other end closed the connection.
    fn hear<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let mut line = Vec::new();
        self.reader.get_mut().end = Instant::now() + self.patience;
        (&mut self.reader)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .context("the other end says nothing")?;
        if line.is_empty() {
            return Ok(None);
        }
        let what = serde_json::from_slice(&line).map(plain);
        what.and_then(serde_json::from_value)
            .map(Some)
            .context("the other end speaks something else; is it `ropewalk probe --serve` of this version?")
    }

    /// The server's side of the handshake; none: whoever it is does not know the key.
    pub(super) fn welcome(&mut self, key: &Key) -> Result<Option<Token>> {
        let own = rand::random::<[u8; 32]>().to_vec();
        self.send(&Hello { ropewalk_probe: VERSION, nonce: BASE64.encode(&own) })?;
        let answer: Answer = self.receive()?;
        let nonces = (own, nonce(&answer.nonce)?);
        if !key.verify("client", &nonces, &answer.proof) {
            self.send(&Welcome { proof: None })?;
            return Ok(None);
        }
        self.send(&Welcome { proof: Some(key.prove("server", &nonces)) })?;
        Ok(Some(key.token(&nonces)))
    }

    /// The client's side of the handshake.
    pub(super) fn introduce(&mut self, key: &Key) -> Result<Token> {
        let hello: Option<Hello> =
            self.hear().map_err(|error| match error.downcast_ref::<io::Error>().is_some_and(is_late) {
                true => anyhow::Error::msg(BUSY),
                false => error,
            })?;
        let hello = hello.context(CUT_OFF)?;
        anyhow::ensure!(
            hello.ropewalk_probe == VERSION,
            "the other end speaks version {} of the probe, this one {VERSION}; use the same ropewalk at both",
            hello.ropewalk_probe
        );
        let own = rand::random::<[u8; 32]>().to_vec();
        let nonces = (nonce(&hello.nonce)?, own.clone());
        self.send(&Answer { nonce: BASE64.encode(&own), proof: key.prove("client", &nonces) })?;
        let welcome: Welcome = self.receive()?;
        let wrong =
            || failure(Code::Refused, "the key is wrong; `ropewalk probe --serve` printed the right one");
        let proof = welcome.proof.ok_or_else(wrong)?;
        if !key.verify("server", &nonces, &proof) {
            return Err(failure(
                Code::Refused,
                "the other end does not know the key itself; it is not the one you look for",
            ));
        }
        Ok(key.token(&nonces))
    }
}

fn nonce(text: &str) -> Result<Vec<u8>> {
    let bytes = BASE64.decode(text).unwrap_or_default();
    anyhow::ensure!(bytes.len() == 32, "the other end's nonce has {} bytes, not 32", bytes.len());
    Ok(bytes)
}

impl Request {
    /// What a server will not do.
    pub(super) fn refusal(&self) -> Option<String> {
        let Request::Load { streams, seconds, window, mptcp } = self else { return None };
        if !(1..=MAX_STREAMS).contains(streams) {
            return Some(format!("{streams} connections: 1 to {MAX_STREAMS} are"));
        }
        // What an end says of more has no place in a line.
        if *mptcp && *streams != 1 {
            return Some(format!("{streams} connections of MPTCP: 1 is"));
        }
        if !(*seconds > 0.0 && *seconds <= MAX_SECONDS) {
            return Some(format!("{seconds} s: at most {MAX_SECONDS} are"));
        }
        let odd = window.filter(|w| !(2048..=64 << 20).contains(w))?;
        Some(format!("a window of {odd} bytes: 2 KiB to 64 MiB are"))
    }
}

/// The same without what a terminal would obey: what the other end says is printed, also in errors.
fn plain(value: Value) -> Value {
    let words = |text: String| text.replace(|c: char| c.is_control() || is_deceiving(c), "?");
    match value {
        Value::String(text) => Value::String(words(text)),
        Value::Array(all) => all.into_iter().map(plain).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (words(key), plain(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (Channel, Channel) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Channel::new(client).unwrap(), Channel::new(listener.accept().unwrap().0).unwrap())
    }

    #[test]
    fn who_knows_the_key_gets_the_same_token() {
        let (mut client, mut server) = pair();
        let theirs = std::thread::spawn(move || server.welcome(&Key::new("rope")).unwrap());
        let ours = client.introduce(&Key::new("rope\n")).unwrap();
        assert_eq!(theirs.join().unwrap(), Some(ours));
    }

    #[test]
    fn who_does_not_is_refused() {
        let (mut client, mut server) = pair();
        let theirs = std::thread::spawn(move || server.welcome(&Key::new("rope")).unwrap());
        let error = client.introduce(&Key::new("robe")).unwrap_err();
        assert!(error.to_string().contains("the key is wrong"), "{error}");
        assert_eq!(theirs.join().unwrap(), None);
    }

    #[test]
    fn a_server_that_says_nothing_may_be_busy() {
        let (mut client, server) = pair();
        client.patience(Duration::from_millis(50));
        let error = client.introduce(&Key::new("rope")).unwrap_err();
        assert!(error.to_string().contains("busy with somebody else"), "{error}");
        // So is one whose test with another client waits for connections.
        drop(server);
        let error = client.introduce(&Key::new("rope")).unwrap_err();
        assert!(error.to_string().starts_with("the other end closed the connection at once"), "{error}");
        assert!(error.to_string().contains("busy with somebody else"), "{error}");
    }

    #[test]
    fn a_server_that_does_not_know_the_key_is_not_believed() {
        let (mut client, mut server) = pair();
        let theirs = std::thread::spawn(move || {
            server.send(&Hello { ropewalk_probe: VERSION, nonce: BASE64.encode([1; 32]) }).unwrap();
            let _: Answer = server.receive().unwrap();
            server.send(&Welcome { proof: Some(BASE64.encode([0; 32])) }).unwrap();
        });
        let error = client.introduce(&Key::new("rope")).unwrap_err();
        theirs.join().unwrap();
        assert!(error.to_string().contains("does not know the key"), "{error}");
    }

    #[test]
    fn what_the_other_end_says_moves_no_cursor() {
        let (mut client, mut server) = pair();
        let mut say = |line: &str| {
            server.writer.write_all(line.as_bytes()).unwrap();
            client.receive::<Reply>().map_or_else(|e| format!("{e:#}"), |reply| format!("{reply:?}"))
        };
        let refused =
            serde_json::to_string(&Reply::Refused { why: "\u{1b}[2J\u{9b}1m\u{202e}".into() }).unwrap();
        for line in [refused + "\n", "{\"say\":\"\\u001b]0;x\\u0007\"}\n".into()] {
            let said = say(&line);
            assert!(
                said.contains('?') && !said.contains(|c: char| c.is_control() || is_deceiving(c)),
                "{said}"
            );
        }
    }

    #[test]
    fn who_speaks_byte_by_byte_does_not_hold_the_server() {
        let (mut client, mut server) = pair();
        server.patience(Duration::from_millis(300));
        let began = Instant::now();
        let theirs = std::thread::spawn(move || server.welcome(&Key::new("rope")).is_err());
        let _: Hello = client.receive().unwrap();
        while !theirs.is_finished() && began.elapsed() < Duration::from_secs(10) {
            // Fails once the server has ended the session.
            let _ = client.writer.write_all(b" ");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(theirs.is_finished(), "each byte bought it more time");
        assert!(theirs.join().unwrap());
    }

    #[test]
    fn long_lines_and_nonsense_end_the_session() {
        for bytes in [vec![b'x'; 10_000], b"{}\n".to_vec(), b"SSH-2.0-OpenSSH\r\n".to_vec(), Vec::new()] {
            let (mut client, mut server) = pair();
            let theirs = std::thread::spawn(move || server.welcome(&Key::new("rope")).is_err());
            let _: Hello = client.receive().unwrap();
            client.writer.write_all(&bytes).unwrap();
            // Fails if the server has ended the session already.
            let _ = client.writer.shutdown(std::net::Shutdown::Write);
            assert!(theirs.join().unwrap());
        }
    }

    #[test]
    fn requests_are_bounded() {
        let test =
            |streams, seconds, window, mptcp| Request::Load { streams, seconds, window, mptcp }.refusal();
        let load = |streams, seconds, window| test(streams, seconds, window, false);
        assert_eq!(load(1, 5.0, None), None);
        assert_eq!(load(16, 20.0, Some(16384)), None);
        assert_eq!(test(1, 5.0, None, true), None);
        for refused in [
            load(0, 5.0, None),
            load(17, 5.0, None),
            load(1, 21.0, None),
            load(1, f64::NAN, None),
            load(1, 5.0, Some(1)),
            test(2, 5.0, None, true),
        ] {
            assert!(refused.is_some());
        }
    }
}
