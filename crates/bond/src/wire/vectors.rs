//! Test vectors of data datagrams for a second implementation. `docs/protocol.md` has the file that is compared here, and
//! that of the handshake, word for word.
//! After an intended change: `ROPEWALK_WRITE_VECTORS=1 cargo test -p ropewalk-bond wire::vectors`, and take it over.

use super::*;
use crate::vnet::Vnet;
use arrayvec::ArrayVec;
use std::fmt::Write as _;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/wire/vectors.txt");
const PROTOCOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");

const HEAD: Header = Header { path: 3, index: 0x6a7e3a, number: 1 };
/// A TCP super-packet over IPv4: 52 bytes of headers, segments of 1368 bytes.
const SUPER: Vnet =
    Vnet { flags: 1, gso_type: 1, hdr_len: 52, gso_size: 1368, csum_start: 20, csum_offset: 16 };
/// What the fragments hold; two bytes of it are enough for a picture.
const BYTES: &[u8] = &[0x45, 0x00];

fn put(out: &mut String, what: &str, bytes: &[u8]) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "{what}\n  {hex}").unwrap();
}

/// Room for any of the frames here, and more behind it.
const ROOMY: usize = 100;

/// The bytes of one frame, in a datagram that has `room` bytes for frames; they are read back.
fn frame(out: &mut String, what: &str, room: usize, write: &dyn Fn(&mut Writer<'_>)) {
    let begin = HEADER + TIMESTAMP;
    let mut datagram = vec![0; begin + room + TAG];
    let mut w = Writer::new(&mut datagram, HEAD, Timestamp::default());
    write(&mut w);
    let end = w.len();
    let bytes = &datagram[begin..end];
    let [Ok(_)] = &Frames::new(bytes).collect::<Vec<_>>()[..] else { panic!("{what}: {bytes:02x?}") };
    put(out, &format!("{what} ({} bytes)", bytes.len()), bytes);
}

fn control(out: &mut String) {
    let ranges = ArrayVec::from_iter([(0, 5), (1, 9)]);
    let ack = AckFrame { path: 3, largest: 77, received_us: 123_456, delay_us: 1500, ce_total: 4, ranges };
    let status = PathStatus { path: 3, seq: 9, state: 1, mtu: 1420 };
    frame(out, "PING", ROOMY, &|w| assert!(w.ping()));
    frame(
        out,
        "ACK of path 3: 73 to 77 and 63 to 71, 77 came at 123456 µs, 1500 µs ago; 4 CE marks",
        ROOMY,
        &|w| assert!(w.ack(&ack)),
    );
    frame(out, "CHALLENGE 0x0102030405060708", ROOMY, &|w| assert!(w.challenge(0x0102_0304_0506_0708)));
    frame(out, "RESPONSE 0x0102030405060708", ROOMY, &|w| assert!(w.response(0x0102_0304_0506_0708)));
    frame(out, "STATUS: path 3, change 9, backup, MTU 1420", ROOMY, &|w| assert!(w.status(&status)));
    let queue = QueueFrame { seq: 9, shared: 2, every_ms: 200, packets: 300, verdict: 0 };
    frame(out, "CLOSE, code 1 (revoked)", ROOMY, &|w| assert!(w.close(1)));
    frame(out, "SKIP: packet 7 of flow 6", ROOMY, &|w| assert!(w.skip(6, 7, false)));
    frame(out, "SKIP: packet 7 of flow 6, no gap before", ROOMY, &|w| assert!(w.skip(6, 7, true)));
    frame(out, "QUEUE: report 9, path 1 is shared, every 200 ms, 300 packets, decrease", ROOMY, &|w| {
        assert!(w.queue(&queue));
    });
    let entry = |path, packet_time| AirEntry { path, channel: 6, packet_time };
    let air = AirFrame { seq: 9, paths: ArrayVec::from_iter([entry(0, 125), entry(2, 750)]) };
    frame(out, "AIR: report 9, paths 0 and 2 on channel 6, 500 and 3000 µs", ROOMY, &|w| {
        assert!(w.air(&air))
    });
}

fn data(out: &mut String) {
    let plain = Vnet::default();
    let fragment = |flow, seq, offset, total, vnet, head| {
        move |w: &mut Writer<'_>| w.fragment(flow, seq, offset, total, &vnet, head, BYTES)
    };
    frame(
        out,
        "DATA: flow 5, packet 6, whole, more frames follow",
        ROOMY,
        &fragment(5, 6, 0, 2, plain, false),
    );
    // Without a length field the frame ends with the datagram.
    frame(
        out,
        "DATA: the same, at the end of the datagram, no gap before",
        8,
        &fragment(5, 6, 0, 2, plain, true),
    );
    frame(
        out,
        "DATA: low-latency flow 5, packet 6, whole, more frames follow",
        ROOMY,
        &fragment(0x8005, 6, 0, 2, plain, false),
    );
    frame(out, "DATA: whole, with offload header", ROOMY, &fragment(5, 6, 0, 2, SUPER, false));
    frame(
        out,
        "DATA: first bytes of a packet of 2788, with offload header, no gap before",
        ROOMY,
        &fragment(5, 6, 0, 2788, SUPER, true),
    );
    frame(
        out,
        "DATA: two bytes of the same packet from byte 1400 on",
        ROOMY,
        &fragment(5, 6, 1400, 2788, SUPER, false),
    );
}

fn vectors() -> String {
    let mut out = String::new();
    put(&mut out, "header: path 3, index 0x6a7e3a, datagram number 0x100000001 (8 bytes)", &HEAD.encode());
    put(
        &mut out,
        "timestamp of 12.5 s (3 bytes)",
        &Timestamp::of(ropewalk_time::Time::from_millis(12_500)).to_bytes(),
    );
    control(&mut out);
    data(&mut out);
    out
}

#[test]
fn frames_are_those_of_the_file() {
    let vectors = vectors();
    if std::env::var_os("ROPEWALK_WRITE_VECTORS").is_some() {
        std::fs::write(FILE, &vectors).unwrap();
    }
    assert_eq!(std::fs::read_to_string(FILE).unwrap(), vectors, "see this file's first lines");
}

#[test]
fn the_protocol_page_has_both_files() {
    let page = std::fs::read_to_string(PROTOCOL).unwrap();
    for (name, file) in [
        ("frames", include_str!("vectors.txt")),
        ("handshake", include_str!("../../../session/src/tests/vectors.txt")),
    ] {
        assert!(page.contains(file), "docs/protocol.md has not the {name} vectors word for word");
    }
}
