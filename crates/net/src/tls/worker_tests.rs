//! Both ends within one process, over the loopback interface.

use super::*;
use crate::tls::{frame, make_certificate};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

fn gateway() -> (Tls, SocketAddr) {
    let (certificate, key) = make_certificate().unwrap();
    let listeners = Listeners::open(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let at = listeners.addresses()[0];
    (Tls::start(listeners, Some(Identity::from_der(certificate, key).unwrap())).unwrap(), at)
}

fn client(at: SocketAddr) -> (Tls, u32) {
    let mut tls = Tls::start(Listeners::default(), None).unwrap();
    let target =
        Target { remote: at, host: "gw.example.org:443".into(), device: None, mark: None, is_narrow: false };
    let id = tls.connect(target);
    (tls, id)
}

/// News and datagrams of one end, as they come.
#[derive(Default)]
struct Heard {
    inbox: Inbox,
    news: Vec<News>,
    datagrams: Vec<(u32, Vec<u8>)>,
}

impl Heard {
    fn look(&mut self, tls: &mut Tls) {
        tls.take(&mut self.inbox);
        for (run, bytes) in self.inbox.runs() {
            self.datagrams.extend(bytes.chunks(run.segment).map(|d| (run.id, d.to_vec())));
        }
        self.news.extend(self.inbox.take_news());
    }

    fn wait(&mut self, tls: &mut Tls, what: &str, so: impl Fn(&Heard) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            self.look(tls);
            if so(self) {
                return;
            }
            assert!(Instant::now() < until, "{what}: {:?}", self.news);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn opened(&self) -> Option<u32> {
        self.news.iter().find_map(|n| if let News::Open { id, .. } = n { Some(*id) } else { None })
    }

    fn over(&self) -> Option<&Ended> {
        self.news.iter().find_map(|n| if let News::Over { why, .. } = n { Some(why) } else { None })
    }
}

/// The server's end of TCP, whatever it says.
fn somebody(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 64];
        let _ = stream.read(&mut hello);
        stream.write_all(answer).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    at
}

#[test]
fn datagrams_go_both_ways_whole_and_in_order() {
    let (mut gateway, at) = gateway();
    let (mut client, id) = client(at);
    let (mut there, mut here) = (Heard::default(), Heard::default());
    here.wait(&mut client, "open", |h| h.opened() == Some(id));
    there.wait(&mut gateway, "open at the gateway", |h| h.opened().is_some());
    let far = there.opened().unwrap();
    assert!(far >= FIRST && id >= FIRST);
    // More than TCP and the queue hold at once: what is refused is sent again, as it is here only.
    let mut sent = 0_u32;
    while sent < 20_000 {
        let batch: Vec<u8> =
            (sent..sent + 40).flat_map(|n| [n.to_be_bytes().to_vec(), vec![7; 1196]].concat()).collect();
        match client.send(id, 1200, &batch) {
            Ok(()) => sent += 40,
            Err(Full) => there.look(&mut gateway),
        }
    }
    there.wait(&mut gateway, "all", |h| h.datagrams.len() == 20_000);
    for ((from, datagram), n) in there.datagrams.iter().zip(0_u32..) {
        assert!(*from == far && datagram.len() == 1200 && datagram[..4] == n.to_be_bytes(), "{n}");
    }
    gateway.send(far, 9000, &[1; 9000]).unwrap();
    gateway.send(far, 3, b"abcdefgh").unwrap();
    here.wait(&mut client, "answers", |h| h.datagrams.len() == 4);
    let lengths: Vec<usize> = here.datagrams.iter().map(|(_, d)| d.len()).collect();
    assert_eq!(lengths, [9000, 3, 3, 2]);
    assert_eq!(gateway.counts(), (1, 0));
    drop(client);
    there.wait(&mut gateway, "its end", |h| h.over().is_some());
    assert_eq!(gateway.counts().0, 0);
}

#[test]
fn who_answers_is_told_apart() {
    let cases: [(&[u8], &str); 2] = [
        (b"HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n", "does not speak TLS 1.3"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "does not speak TLS 1.3"),
    ];
    for (answer, words) in cases {
        let (mut tls, _) = client(somebody(answer));
        let mut heard = Heard::default();
        heard.wait(&mut tls, words, |h| h.over().is_some());
        let why = heard.over().unwrap().to_string();
        assert!(why.contains(words), "{why}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (mut tls, _) = client(nobody);
    let mut heard = Heard::default();
    heard.wait(&mut tls, "refused", |h| h.over().is_some());
    assert!(matches!(heard.over(), Some(Ended::Tcp(_))), "{:?}", heard.news);
}

/// A TLS client of rustls's own that says what it likes.
fn browser(at: SocketAddr, says: &[u8]) -> Vec<u8> {
    let config = identity::client_config().unwrap();
    let mut tls = rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut tcp = TcpStream::connect(at).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
    stream.write_all(says).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_browser_gets_a_page_and_garbage_an_end() {
    let (mut gateway, at) = gateway();
    let page = browser(at, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(page.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&page));
    assert!(browser(at, b"GET /x HTTP/1.1\r\n\r\n").starts_with(b"HTTP/1.1 404 "));
    assert!(browser(at, b"\0\0\0\0\r\n\r\n").starts_with(b"HTTP/1.1 400 "));
    // A stream whose first length is impossible.
    let mut says = crate::tls::http::request("x");
    says.extend_from_slice(b"\xff\xff\0");
    browser(at, &says);
    let mut heard = Heard::default();
    heard.wait(&mut gateway, "its end", |h| h.over() == Some(&Ended::Garbage));
    // What is no TLS at all.
    let mut tcp = TcpStream::connect(at).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let _ = tcp.read_to_end(&mut Vec::new());
}

/// A stream from 127.0.0.`n` on which nothing is ever said.
fn silent(at: SocketAddr, n: u8) -> Option<(rustls::ClientConnection, TcpStream)> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let tcp = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&tcp, &SocketAddr::from(([127, 0, 0, n], 0))).unwrap();
    connect(&tcp, &at).ok()?;
    let mut tcp = TcpStream::from(tcp);
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut tls =
        rustls::ClientConnection::new(identity::client_config().unwrap(), "x".try_into().unwrap()).unwrap();
    let mut answer = [0; 12];
    let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
    stream.write_all(&crate::tls::http::request("x")).ok()?;
    stream.read_exact(&mut answer).ok()?;
    assert_eq!(&answer, b"HTTP/1.1 101");
    Some((tls, tcp))
}

#[test]
fn streams_that_no_session_uses_make_room_and_one_that_is_used_stays() {
    let (mut gateway, at) = gateway();
    let (mut there, mut here) = (Heard::default(), Heard::default());
    let flood = |from: u8| (0..150).filter_map(|n| silent(at, from + n % 6)).collect::<Vec<_>>();
    let first = flood(10);
    assert!(first.len() >= 140, "{}", first.len());
    there.look(&mut gateway);
    let before = there.news.len();
    let (mut client, id) = client(at);
    here.wait(&mut client, "a client gets in beside them", |h| h.opened() == Some(id));
    there.wait(&mut gateway, "its stream", |h| {
        h.news[before..].iter().any(|n| matches!(n, News::Open { .. }))
    });
    let opened = |h: &Heard| {
        h.news.iter().filter_map(|n| if let News::Open { id, .. } = n { Some(*id) } else { None }).max()
    };
    let far = opened(&there).unwrap();
    gateway.keep(vec![far]);
    let more = flood(20);
    client.send(id, 3, b"abc").unwrap();
    there.wait(&mut gateway, "what it says", |h| {
        h.datagrams.iter().any(|(from, d)| *from == far && d == b"abc")
    });
    let is_over =
        |h: &Heard, stream| h.news.iter().any(|n| matches!(n, News::Over { id, .. } if *id == stream));
    assert!(!is_over(&there, far));
    let over = there.news.iter().filter(|n| matches!(n, News::Over { .. })).count();
    assert!(over > 100 && gateway.counts().1 > 100, "the oldest of the others went: {over}");
    drop((first, more));
}

#[test]
fn many_half_open_connections_leave_room_for_a_client() {
    let (mut gateway, at) = gateway();
    let idle: Vec<TcpStream> = (0..300).filter_map(|_| TcpStream::connect(at).ok()).collect();
    let until = Instant::now() + PATIENCE;
    while gateway.counts().1 < 200 {
        assert!(Instant::now() < until, "{:?}", gateway.counts());
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(idle);
    // Now there is room for its own address, too, as soon as their ends are seen.
    let (mut tls, mut id) = client(at);
    let mut heard = Heard::default();
    while heard.opened() != Some(id) {
        heard.look(&mut tls);
        if heard.over().is_some() {
            heard.news.clear();
            id = tls.connect(Target {
                remote: at,
                host: "x".into(),
                device: None,
                mark: None,
                is_narrow: false,
            });
        }
        assert!(Instant::now() < until, "{:?}", heard.news);
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut heard = Heard::default();
    heard.wait(&mut gateway, "open", |h| h.opened().is_some());
}

#[test]
fn silent_connections_do_not_shut_out_others_of_their_address() {
    let (gateway, at) = gateway();
    let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(at).unwrap()).collect();
    let until = Instant::now() + PATIENCE;
    while gateway.counts().1 < 8 {
        assert!(Instant::now() < until, "{:?}", gateway.counts());
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(limits::GRACE + Duration::from_millis(100));
    let (mut client, id) = client(at);
    let mut here = Heard::default();
    here.wait(&mut client, "news", |h| !h.news.is_empty());
    assert_eq!(here.opened(), Some(id), "{:?}", here.news);
    drop(idle);
}

#[test]
fn a_slow_loop_takes_from_all_streams() {
    let (mut gateway, at) = gateway();
    // Each second datagram begins a run, so what one receive call brings fills the inbox.
    let mut frames = Vec::new();
    while frames.len() < 1 << 20 {
        frame::put(&mut frames, &[0; 2]);
        frame::put(&mut frames, &[0; 1]);
    }
    let streams: Vec<_> = (1..=4).map(|n| silent(at, n).unwrap()).collect();
    let send = |(mut tls, mut tcp)| {
        let frames = frames.clone();
        std::thread::spawn(move || {
            let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
            while stream.write_all(&frames).is_ok() {}
        })
    };
    let senders: Vec<_> = streams.into_iter().map(send).collect();
    let mut inbox = Inbox::default();
    let mut streams_of = |takes: usize| {
        let (mut streams, mut count) = (BTreeSet::<u32>::new(), 0);
        let until = Instant::now() + PATIENCE;
        while count < takes {
            assert!(Instant::now() < until, "{streams:?}");
            std::thread::sleep(Duration::from_millis(3));
            gateway.take(&mut inbox);
            count += usize::from(inbox.runs().next().is_some());
            streams.extend(inbox.runs().map(|(run, _)| run.id));
        }
        streams
    };
    // Until all of them wait for room.
    streams_of(20);
    let streams = streams_of(20);
    assert_eq!(streams.len(), 4, "{streams:?}");
    drop(gateway);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}
