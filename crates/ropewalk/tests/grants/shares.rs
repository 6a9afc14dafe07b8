//! A full line, and how clients share it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::{Net, download, net, rules};
use crate::common::{SOON, eventually, root};

/// What the line carries, Mbit/s: less than any machine of these tests could.
const LINE: f64 = 12.0;
/// Connections find their rates until then, and are measured from then on.
const FROM: Duration = Duration::from_secs(1);
const UNTIL: Duration = Duration::from_secs(4);

/// What comes to each client in the same seconds, Mbit/s.
fn all_at_once(net: &Net) -> Vec<f64> {
    let flow = |n: usize| {
        let at = SocketAddr::from(([10, 77, 0, n as u8 + 2], 9000));
        let sink = net.clients[n].1.run(|| TcpListener::bind(at).unwrap()).unwrap();
        let sent = net.gateway.run(|| TcpStream::connect_timeout(&at, SOON).unwrap()).unwrap();
        (sent, sink.accept().unwrap().0)
    };
    let flows: Vec<(TcpStream, TcpStream)> = (0..net.clients.len()).map(flow).collect();
    let started = Instant::now();
    let counts: Vec<_> = std::thread::scope(|s| {
        for (sent, _) in &flows {
            s.spawn(move || {
                let mut sent = sent;
                while sent.write_all(&[7; 16_384]).is_ok() {}
            });
        }
        let counts: Vec<_> = flows.iter().map(|(_, got)| s.spawn(move || count(got, started))).collect();
        let counts = counts.into_iter().map(|count| count.join()).collect();
        // Whoever writes ends, whatever was read.
        flows.iter().for_each(|(sent, _)| drop(sent.shutdown(Shutdown::Both)));
        counts
    });
    let mbit = |bytes: usize| bytes as f64 * 8.0 / 1e6 / (UNTIL - FROM).as_secs_f64();
    counts.into_iter().map(|count| mbit(count.unwrap())).collect()
}

fn count(mut got: &TcpStream, started: Instant) -> usize {
    got.set_read_timeout(Some(SOON)).unwrap();
    let (mut buffer, mut bytes) = (vec![0; 65_536], 0);
    loop {
        let length = got.read(&mut buffer).unwrap();
        match started.elapsed() {
            now if now > UNTIL => return bytes,
            now if now > FROM => bytes += length,
            _ => {}
        }
    }
}

/// The line is full, and each client has its part of what it carries within a quarter: the middle ones
/// of three tries, for other tests run beside this one.
fn are_shared(net: &Net, shares: [f64; 3]) {
    let tries = [(); 3].map(|()| all_at_once(net));
    eprintln!("{tries:.1?} Mbit/s");
    let middle = |mut all: [f64; 3]| {
        all.sort_by(f64::total_cmp);
        all[1]
    };
    let sums = tries.each_ref().map(|rates| rates.iter().sum::<f64>());
    assert!(middle(sums) > LINE * 0.75, "{tries:.1?}: the line has {LINE} Mbit/s");
    for (n, share) in shares.iter().enumerate() {
        let part = middle([0, 1, 2].map(|t| tries[t][n] / sums[t]));
        let due = share / shares.iter().sum::<f64>();
        assert!((part - due).abs() < due / 4.0, "{tries:.1?}: {due:.2} of it is due to client {n}");
    }
}

#[test]
fn a_full_line_is_shared_as_said_and_one_alone_has_all_of_it() {
    if !root() {
        return;
    }
    let net = net("shares", &["alice", "bob", "carol"]);
    let mut gateway = net.serve_with(&["--down-rate", "12Mbit"]);
    let _clients: Vec<_> = (0..3).map(|n| net.up(n)).collect();
    eventually("each has a class", || {
        let rules = rules(&net);
        [2, 3, 4].iter().all(|n| rules.contains(&format!("10.77.0.{n} : ")))
    });
    assert_eq!(net.done("limit set carol --share 2"), "carol has a share of 2\n");
    assert_eq!(net.done("limit list"), "carol  down no cap  up no cap  share 2\n");
    assert!(net.done("status").contains("\n  granted share 2\n"));
    // Two fifths: what comes to nobody of them counts as a client.
    let classes = net.gateway.shell("tc class show dev rw0").unwrap();
    assert!(classes.contains("rate 4800Kbit ceil 12Mbit"), "{classes}");

    let bytes = 1_500_000;
    let full = bytes as f64 * 8.0 / 1e6 / LINE;
    eventually("alone alice has nearly all, and no more", || {
        let took = download(&net, bytes).as_secs_f64();
        assert!(took > full * 0.8, "{took} s: nothing holds her to the line");
        took < full * 2.0
    });
    are_shared(&net, [1.0, 1.0, 2.0]);

    net.done("limit remove carol");
    let classes = net.gateway.shell("tc class show dev rw0").unwrap();
    assert!(!classes.contains("4800Kbit") && classes.contains("rate 3Mbit ceil 12Mbit"), "{classes}");
    are_shared(&net, [1.0; 3]);
    net.done("revoke bob");
    eventually("who is revoked has no part", || !rules(&net).contains("10.77.0.3 : "));
    gateway.stop();
    assert_eq!(rules(&net), "");
}
