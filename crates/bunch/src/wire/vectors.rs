//! Test vectors for a second implementation. `docs/bunch-protocol.md` has the file that is compared
//! here, word for word.
//! After an intended change: `ROPEWALK_WRITE_VECTORS=1 cargo test -p ropewalk-bunch vectors`, and
//! take it over.

use super::*;
use crate::elide::Elision;
use crate::inner::tests::segment;
use std::fmt::Write as _;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/wire/vectors.txt");
const PROTOCOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bunch-protocol.md");

fn flow() -> Flow {
    let (source, destination) = ("192.168.1.2:40000".parse().unwrap(), "10.9.0.2:5201".parse().unwrap());
    let bssid = [2, 0, 0, 0, 0, 1];
    Flow { bssid, station: [2, 0, 0, 0, 0, 9], tid: 0, protocol: 6, source, destination }
}

fn put(out: &mut String, what: &str, bytes: &[u8]) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "{what}\n  {hex}").unwrap();
}

/// A message with its length; it is read back.
fn message(out: &mut String, what: &str, m: Message) {
    let mut bytes = Vec::new();
    m.write(&mut bytes);
    assert_eq!(all(&bytes), Ok(vec![m]), "{what}");
    put(out, what, &bytes);
}

fn from_access_point(out: &mut String) {
    let outer = Some("203.0.113.7:1234".parse().unwrap());
    let register = Register { session: 1, home: true, flow: flow(), outer, boot: 0x0102_0304_0506_0708 };
    message(out, "REGISTER: session 1, home, behind 203.0.113.7:1234", Message::Register(register));
    let run = |first, count, seq, stamp| Run { first, count, seq, len: 1350, stamp };
    let runs = vec![run(5000, 20, 1000, Some(70)), run(5021, 3, 28_000, Some(95))];
    let marks = vec![(5012, 0xDEAD_BEEF)];
    let list = List { session: 1, room: 64 << 10, runs, marks };
    message(
        out,
        "LIST: numbers 5000 to 5019 and 5021 to 5023, 1350 bytes each, one mark",
        Message::List(list),
    );
    let heard = |numbers: Vec<u64>| Heard { session: 1, room: 64 << 10, numbers, marks: vec![] };
    message(out, "HEARD: 5000 to 5019, as lengths", Message::Heard(heard((5000..5020).collect())));
    let some = (5000..5020).filter(|n| n % 3 != 1).collect();
    message(
        out,
        "HEARD: of 5000 to 5019 those that leave no 1 by 3, as a bitmap",
        Message::Heard(heard(some)),
    );
    let data = Data { session: 1, number: 5000, elided: vec![0xAA; 2] };
    message(out, "DATA: number 5000, two bytes of an elided packet", Message::Data(data));
    message(out, "ALIVE: room of 70000 bytes", Message::Alive { room: 70_000 });
}

fn from_gateway(out: &mut String) {
    let key = [7; 16];
    let registered = Message::Registered { session: 1, apid: 2, key, audit: Some([8; 16]) };
    message(out, "REGISTERED: session 1 is access point 2, with an audit key", registered);
    let ranges = vec![(5000, 3), (5007, 1), (4990, 2)];
    message(
        out,
        "SCHEDULE: 5000 to 5002, 5007, 4990 and 4991 by access point 2",
        Message::Schedule { session: 1, apid: 2, ranges },
    );
    message(out, "RELEASE: below 28000", Message::Release { session: 1, below: 28_000 });
    message(out, "DOWN: two bytes of a packet", Message::Down { packet: vec![0x45, 0] });
    message(out, "NATIVE: on", Message::Native { session: 1, on: true });
    message(out, "CLOSE", Message::Close { session: 1 });
    let share = Share { flow: flow(), number: 5000, packet: vec![0x45, 0] };
    message(out, "SHARE: number 5000, two bytes of a packet", Message::Share(Box::new(share)));
}

fn elided(out: &mut String) {
    let (mut a, mut b) = (Elision::default(), Elision::default());
    for (what, number, seq, stamp) in [
        ("elided: the first packet of a session, seq 1000, 4 bytes of payload", 5000, 1000, 70),
        ("elided: number 5002, seq 1008, timestamp 2 ms later", 5002, 1008, 72),
    ] {
        let (packet, mut bytes) = (segment(seq, 4, Some(stamp)), Vec::new());
        a.encode(&flow(), number, &packet, &mut bytes);
        assert_eq!(b.decode(&flow(), number, seq, &bytes), Some(packet));
        put(out, what, &bytes);
    }
}

#[test]
fn messages_are_those_of_the_file_and_the_page_has_it() {
    let mut vectors = String::new();
    from_access_point(&mut vectors);
    from_gateway(&mut vectors);
    elided(&mut vectors);
    if std::env::var_os("ROPEWALK_WRITE_VECTORS").is_some() {
        std::fs::write(FILE, &vectors).unwrap();
    }
    assert_eq!(std::fs::read_to_string(FILE).unwrap(), vectors, "see this file's first lines");
    let page = std::fs::read_to_string(PROTOCOL).unwrap();
    assert!(page.contains(&vectors), "docs/bunch-protocol.md has not the vectors word for word");
}
