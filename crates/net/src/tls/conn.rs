//! One connection, from TCP to datagrams.
//!
//! ```text
//!   client   Connecting ─▶ Handshake ─▶ Head (asks) ───101──▶ Open
//!   gateway                Handshake ─▶ Head (is asked) ────▶ Open
//!                                            └── a browser ─▶ Farewell
//! ```

use super::frame::Deframer;
use super::http::{self, Answered, Asked};
use super::limits::{self, BEFORE};
use super::pipe::{Inboxes, News, Outgoing};
use super::socket::{self, Shape};
use super::{Ended, Target};
use crate::poll::Interest;
use ropewalk_time::{Duration, Time};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

/// Receive calls before the other connections get their turn.
const READS: usize = 4;
/// Bytes that are sealed before TCP is given them.
const FILL: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Handshake,
    Head,
    Open,
    Farewell,
}

/// One connection.
pub(super) struct Conn {
    pub(super) id: u32,
    pub(super) remote: SocketAddr,
    pub(super) stream: TcpStream,
    tls: Connection,
    stage: Stage,
    host: String,
    /// When this stage's patience began.
    since: Time,
    /// When a session last sent something by it.
    used: Option<Time>,
    received: usize,
    head: Vec<u8>,
    deframer: Deframer,
    pub(super) out: Arc<Outgoing>,
    /// Datagrams that were taken from `out`, and how far they are sealed.
    waiting: Vec<u8>,
    at: usize,
    shape: Shape,
    blocked: bool,
    /// The loop that is asked whether it has room before more is read.
    pub(super) reader: u32,
    /// That loop has too much to read already.
    pub(super) paused: bool,
    /// What the poller watches it for.
    pub(super) watched: Option<Interest>,
}

impl Conn {
    /// Of a client, on its way.
    pub(super) fn to(id: u32, target: &Target, config: Arc<ClientConfig>, now: Time) -> Result<Conn, Ended> {
        let stream = socket::connect(target).map_err(|e| Ended::Tcp(e.to_string()))?;
        let name = server_name(&target.host, target.remote.ip());
        let tls = ClientConnection::new(config, name).map_err(|e| Ended::NotTls(e.to_string()))?;
        Ok(Conn::new(id, target.remote, stream, tls.into(), Stage::Connecting, target.host.clone(), now))
    }

    /// At a gateway, accepted.
    pub(super) fn from(
        id: u32,
        (stream, remote): (TcpStream, SocketAddr),
        config: Arc<ServerConfig>,
        now: Time,
    ) -> Result<Conn, Ended> {
        socket::tune(&stream).map_err(|e| Ended::Tcp(e.to_string()))?;
        let tls = ServerConnection::new(config).map_err(|e| Ended::NotTls(e.to_string()))?;
        Ok(Conn::new(id, remote, stream, tls.into(), Stage::Handshake, String::new(), now))
    }

    fn new(
        id: u32,
        remote: SocketAddr,
        stream: TcpStream,
        tls: Connection,
        stage: Stage,
        host: String,
        now: Time,
    ) -> Conn {
        Conn {
            id,
            remote,
            stream,
            tls,
            stage,
            host,
            since: now,
            used: None,
            received: 0,
            head: Vec::new(),
            deframer: Deframer::default(),
            out: Arc::default(),
            waiting: Vec::new(),
            at: 0,
            shape: Shape::new(),
            blocked: false,
            reader: 0,
            paused: false,
            watched: None,
        }
    }

    fn is_server(&self) -> bool {
        matches!(self.tls, Connection::Server(_))
    }

    /// It carries datagrams.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// For how long it has been no stream yet, or one that no session uses: it makes room for
    /// others if it has to.
    pub(super) fn half_open(&self, now: Time) -> Option<Duration> {
        let is_half_open = !self.is_open() || self.is_server() && self.used.is_none();
        is_half_open.then(|| now.since(self.since))
    }

    /// A session has a path by it.
    pub(super) fn is_used(&mut self, now: Time) {
        self.used = Some(now);
    }

    /// The loop hears of its end: it has asked for it, or has heard of its beginning.
    pub(super) fn is_known(&self) -> bool {
        self.is_open() || !self.is_server()
    }

    /// What to wait for.
    pub(super) fn interest(&self) -> Interest {
        let writes = self.blocked || self.stage == Stage::Connecting;
        match (self.paused || self.stage == Stage::Connecting, writes) {
            (false, false) => Interest::Read,
            (false, true) => Interest::ReadWrite,
            (true, true) => Interest::Write,
            (true, false) => Interest::Nothing,
        }
    }

    /// Its time is over.
    pub(super) fn expired(&self, now: Time) -> Option<Ended> {
        let waited = now.since(self.since);
        let late = match (self.stage, self.used) {
            (Stage::Farewell, _) => (waited > limits::FAREWELL).then_some("the answer was not fetched"),
            (Stage::Open, _) if !self.is_server() => None,
            (Stage::Open, None) => (waited > limits::UNANSWERED).then_some("no session has begun to use it"),
            (Stage::Open, Some(used)) => (now.since(used) > limits::IDLE).then_some("no session uses it"),
            (_, _) => (waited > limits::HANDSHAKE).then_some("the other end took too long"),
        };
        late.map(Ended::Late)
    }

    /// It can be written.
    pub(super) fn on_writable(&mut self, now: Time) -> Result<(), Ended> {
        if self.stage == Stage::Connecting {
            match self.stream.take_error() {
                Ok(None) => self.stage = Stage::Handshake,
                Ok(Some(e)) | Err(e) => return Err(Ended::Tcp(e.to_string())),
            }
        }
        self.write(now)
    }

    /// Sends what waits, as far as TCP takes it.
    pub(super) fn write(&mut self, now: Time) -> Result<(), Ended> {
        if self.stage == Stage::Connecting {
            return Ok(());
        }
        loop {
            if !self.flush()? {
                return Ok(());
            }
            if self.stage == Stage::Farewell {
                // Whatever comes is read and dropped, so that the answer is not overtaken by a
                // reset.
                let _ = self.stream.shutdown(Shutdown::Write);
                return Ok(());
            }
            if self.stage != Stage::Open {
                return Ok(());
            }
            if self.at == self.waiting.len() {
                self.waiting.clear();
                self.at = 0;
                self.out.take(&mut self.waiting);
                if self.waiting.is_empty() {
                    return Ok(());
                }
            }
            self.shape.update(&self.stream, now);
            self.seal()?;
        }
    }

    /// Gives TCP what is sealed; `false` if it does not take all.
    fn flush(&mut self) -> Result<bool, Ended> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &self.stream) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.blocked = true;
                    return Ok(false);
                }
                Err(e) => return Err(Ended::Tcp(e.to_string())),
            }
        }
        self.blocked = false;
        Ok(true)
    }

    /// Makes records of some of what waits.
    fn seal(&mut self) -> Result<(), Ended> {
        let until = (self.at + FILL).min(self.waiting.len());
        while self.at < until {
            let record = &self.waiting[self.at..until.min(self.at + self.shape.record)];
            match self.tls.writer().write(record) {
                Ok(0) => break,
                Ok(n) => self.at += n,
                Err(e) => return Err(Ended::Tcp(e.to_string())),
            }
        }
        Ok(())
    }

    /// Takes in what has come, within bounds.
    pub(super) fn read(&mut self, room: &mut [u8], inboxes: &Inboxes, now: Time) -> Result<(), Ended> {
        for _ in 0..READS {
            self.paused = inboxes.lock(self.reader).stalls();
            if self.paused {
                break;
            }
            let n = match (&self.stream).read(room) {
                Ok(0) if self.stage == Stage::Handshake => {
                    return Err(Ended::NotTls("it closed the connection".into()));
                }
                Ok(0) => return Err(Ended::Closed),
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if self.stage == Stage::Handshake => return Err(Ended::NotTls(e.to_string())),
                Err(e) => return Err(Ended::Tcp(e.to_string())),
            };
            if !self.is_open() {
                self.received += n;
                if self.received > BEFORE {
                    return Err(Ended::Late("too much came before the stream began"));
                }
            }
            self.take_in(&room[..n], inboxes, now)?;
            if n < room.len() {
                break;
            }
        }
        self.write(now)
    }

    fn take_in(&mut self, mut bytes: &[u8], inboxes: &Inboxes, now: Time) -> Result<(), Ended> {
        while !bytes.is_empty() {
            let taken = self.tls.read_tls(&mut bytes).map_err(|e| Ended::NotTls(e.to_string()))?;
            if let Err(error) = self.tls.process_new_packets() {
                // The alert that says why.
                let _ = self.flush();
                return Err(Ended::NotTls(error.to_string()));
            }
            if self.stage == Stage::Handshake && !self.tls.is_handshaking() {
                self.stage = Stage::Head;
                if !self.is_server() {
                    let request = http::request(&self.host);
                    self.tls.writer().write_all(&request).map_err(|e| Ended::Tcp(e.to_string()))?;
                }
            }
            self.drain(inboxes)?;
            if self.stage == Stage::Head && !self.head.is_empty() {
                self.on_head(inboxes, now)?;
            }
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Takes what TLS has opened.
    fn drain(&mut self, inboxes: &Inboxes) -> Result<(), Ended> {
        let Conn { tls, deframer, head, stage, id, remote, reader: to, .. } = self;
        let mut reader = tls.reader();
        loop {
            let n = match reader.fill_buf() {
                Ok([]) => return Err(Ended::Closed),
                Ok(chunk) => {
                    match stage {
                        Stage::Open => deframe(deframer, chunk, (*id, *remote), inboxes, to)?,
                        Stage::Head => head.extend_from_slice(chunk),
                        _ => {}
                    }
                    chunk.len()
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Ended::Closed),
            };
            reader.consume(n);
        }
    }

    fn on_head(&mut self, inboxes: &Inboxes, now: Time) -> Result<(), Ended> {
        if !self.is_server() {
            return match http::read_answer(&self.head) {
                Answered::More => Ok(()),
                Answered::Switched(length) => self.open(length, inboxes, now),
                Answered::Other { code, location } => Err(Ended::Other { code, location }),
            };
        }
        let say = |tls: &mut Connection, text: Vec<u8>| {
            tls.writer().write_all(&text).map_err(|e: io::Error| Ended::Tcp(e.to_string()))
        };
        match http::read_request(&self.head) {
            Asked::More => Ok(()),
            Asked::Upgrade(length) => {
                say(&mut self.tls, http::switching())?;
                self.open(length, inboxes, now)
            }
            Asked::Page(status) => {
                say(&mut self.tls, http::page(status))?;
                self.tls.send_close_notify();
                (self.stage, self.since) = (Stage::Farewell, now);
                Ok(())
            }
        }
    }

    /// What stands behind the head is datagrams.
    fn open(&mut self, length: usize, inboxes: &Inboxes, now: Time) -> Result<(), Ended> {
        (self.stage, self.since) = (Stage::Open, now);
        inboxes.tell(|inbox| {
            inbox.opened.push((self.id, Arc::clone(&self.out)));
            inbox.news.push(News::Open { id: self.id, remote: self.remote });
        });
        let head = std::mem::take(&mut self.head);
        deframe(&mut self.deframer, &head[length..], (self.id, self.remote), inboxes, &mut self.reader)
    }
}

/// Gives the datagrams to the loops that they are for. `reader` is the loop that is asked whether it has room for more: one
/// that has none, or else the one that the last was for.
fn deframe(
    deframer: &mut Deframer,
    bytes: &[u8],
    (id, remote): (u32, SocketAddr),
    inboxes: &Inboxes,
    reader: &mut u32,
) -> Result<(), Ended> {
    let mut at = *reader;
    let mut inbox = inboxes.lock(at);
    let mut full = (!inbox.has_room()).then_some(at);
    let put = |datagram: &[u8]| {
        let number = inboxes.number_for(datagram);
        if number != at {
            at = number;
            inbox = inboxes.lock(number);
        }
        inbox.push(id, remote, datagram);
        if full.is_none() && !inbox.has_room() {
            full = Some(at);
        }
    };
    let outcome = deframer.push(bytes, put).map_err(|_| Ended::Garbage);
    *reader = full.unwrap_or(at);
    outcome
}

/// The name in the hello, for proxies that tell sites by it; none for an address.
fn server_name(host: &str, address: IpAddr) -> ServerName<'static> {
    let bare = host.rsplit_once(':').map_or(host, |(name, _)| name);
    match ServerName::try_from(bare.to_owned()) {
        Ok(name @ ServerName::DnsName(_)) => name,
        _ => ServerName::IpAddress(address.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame;
    use super::*;
    use ropewalk_bond::engine::Shard;

    /// Where what came last is for another loop, the one that has no room is still asked.
    #[test]
    fn a_full_inbox_is_asked_for_room_whoever_the_last_datagram_is_for() {
        let inboxes = Inboxes::new(Shard::new(0, 2).unwrap()).unwrap();
        let remote = SocketAddr::from(([192, 0, 2, 1], 443));
        let of = |index: u8, len: usize| {
            let mut datagram = vec![7; len];
            datagram[..4].copy_from_slice(&[0x40, 0, 0, index]);
            datagram
        };
        let (mut deframer, mut reader) = (Deframer::default(), 1);
        let mut is_full = false;
        for _ in 0..100 {
            let mut bytes = Vec::new();
            let fits = |datagram: Vec<u8>| frame::put(&mut bytes, &datagram);
            let mut all = (0..2000).map(|n| of(2, 4 + n % 2)).chain([of(1, 4)]);
            assert!(all.all(fits));
            deframe(&mut deframer, &bytes, (9, remote), &inboxes, &mut reader).unwrap();
            is_full = inboxes.lock(reader).stalls();
            if is_full {
                break;
            }
            assert_eq!(reader, 1, "while there is room the last is asked");
        }
        assert!(is_full && reader == 0);
        // What comes later for another loop, in a record of its own, changes nothing.
        let mut bytes = Vec::new();
        assert!(frame::put(&mut bytes, &of(1, 4)));
        deframe(&mut deframer, &bytes, (9, remote), &inboxes, &mut reader).unwrap();
        assert_eq!(reader, 0);
    }
}
