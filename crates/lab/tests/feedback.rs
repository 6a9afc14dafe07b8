//! What radios tell the programs of their nodes, read by the product's own reader. Needs root; says so and passes otherwise.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{possible, scenario};
use ropewalk_lab::live::{Counters, Lab, Options};
use ropewalk_lab::{LabError, MonitorInterface, Topology};
use ropewalk_net::feedback::{Events, FeedbackError, LinkFeedback, LinkReport, Source, open, socket_name};
use ropewalk_net::monitor::{self, Batch, Monitor, MonitorError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};

/// A station that talks to its access point at 6.5 Mbit/s, and a neighbour.
const CELL: &str = r#"
duration = "60s"
[node.ap]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "cell"
[node.sta]
position = [2.0, 0.0]
[node.sta.radio.r0]
standard = "11n"
channel = 36
rate-control = { fixed = "MCS0" }
[node.sta.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
[node.other]
position = [0.0, 2.0]
[node.other.radio.r0]
standard = "11n"
channel = 36
[node.other.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
"#;

const EVERY: Duration = Duration::from_millis(1);

/// None, with the reason on standard error, where the lab cannot work.
fn lab() -> Option<Lab> {
    possible(Lab::start(&scenario(CELL), &Options::new(Path::new("."))))
}

/// A reader of a node's radio; or why it is none of the lab's, and the queue of the device had to do.
fn source(lab: &Lab, node: &str) -> Result<Box<dyn LinkFeedback>, String> {
    let opened = lab.node(node).unwrap().enter(|| open("wlan0", EVERY)).unwrap().unwrap();
    match opened.feedback.source() {
        Source::Lab => Ok(opened.feedback),
        Source::Qdisc => Err(opened.passed_over[0].clone()),
        other => panic!("{other}"),
    }
}

/// Sends datagrams of 1000 bytes as fast as the kernel takes them.
fn blast(lab: &Lab, from: &str, to: &str, datagrams: usize) {
    let [_, address] = lab.addresses(from, to).unwrap();
    lab.node(from)
        .unwrap()
        .enter(move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for _ in 0..datagrams {
                socket.send_to(&[0; 1000], (address, 9)).unwrap();
            }
        })
        .unwrap();
}

/// Waits for news and reads it, until `done` says so; at most ten seconds.
fn read_until(
    source: &mut dyn LinkFeedback,
    what: &str,
    mut done: impl FnMut(&LinkReport) -> bool,
) -> LinkReport {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(10) {
        let Events::Readable(fd) = source.events() else { panic!("a lab's radio has news") };
        let limit = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)).unwrap();
        let report = source.read().unwrap();
        if done(&report) {
            return report;
        }
    }
    panic!("waited ten seconds in vain: {what}: {:?}", source.read());
}

/// Delivered, failed, and bytes by the report's table of stations, of what `from` sent since `begin`.
fn by_the_report(lab: &Lab, begin: &Counters, from: &str) -> (u64, u64, u64) {
    let rows = lab.report(begin, &lab.counters().unwrap()).station;
    let mine = rows.iter().filter(|r| r.from == from);
    mine.fold((0, 0, 0), |(d, f, b), r| (d + r.delivered, f + r.failed + r.dropped + r.expired, b + r.bytes))
}

#[test]
fn a_loaded_radio_tells_its_backlog_and_what_became_of_every_packet() {
    let Some(lab) = lab() else { return };
    let begin = lab.counters().unwrap();
    let mut sta = source(&lab, "sta").unwrap();
    assert_eq!(sta.source(), Source::Lab);
    let idle = sta.read().unwrap();
    assert_eq!((idle.delivered, idle.failed, idle.backlog_packets), (0, 0, 0), "{idle:?}");
    // 300 datagrams take about half a second at 6.5 Mbit/s, and 500 fit into the queue; the rest is dropped, or too old after half a second.
    blast(&lab, "sta", "ap", 300);
    let loaded = read_until(&mut *sta, "a queue", |r| r.backlog_packets > 100);
    assert_eq!(loaded.backlog_bytes, u64::from(loaded.backlog_packets) * 1028, "{loaded:?}");
    let ap =
        loaded.stations.iter().find(|s| s.backlog_packets[1] > 0).expect("it waits for the access point");
    assert_eq!(ap.backlog_packets, [0, loaded.backlog_packets, 0, 0], "best effort");
    let empty = read_until(&mut *sta, "an empty queue", |r| r.backlog_packets == 0 && r.delivered > 0);
    let (delivered, failed, bytes) = by_the_report(&lab, &begin, "sta:wlan0");
    assert_eq!((empty.delivered, empty.failed), (delivered, failed), "the report counts the same");
    assert_eq!((empty.delivered + empty.failed, empty.backlog_bytes), (300, 0));
    assert!(empty.delivered > 100 && empty.tx_rate_bps == 6_500_000, "{empty:?}");
    let ap = empty.stations.iter().find(|s| s.mac == ap.mac).unwrap();
    assert_eq!((ap.delivered, ap.delivered_bytes), (delivered, bytes));
    assert!(ap.airtime_tx.unwrap() > Duration::from_millis(100) && ap.tx_rate_bps == 6_500_000, "{ap:?}");
    let channel = empty.channel.unwrap();
    assert_eq!((channel.frequency_mhz, channel.width_mhz), (5180, 20));
    let load = channel.load.unwrap().since(&idle.channel.unwrap().load.unwrap()).unwrap();
    assert!((0.2..=1.0).contains(&load), "the channel was busy with it: {load}");
}

#[test]
fn both_ends_and_bystanders_see_their_own() {
    let Some(lab) = lab() else { return };
    let [mut sta, mut ap, mut other] = ["sta", "ap", "other"].map(|node| source(&lab, node).unwrap());
    blast(&lab, "sta", "ap", 50);
    let sent =
        read_until(&mut *sta, "fifty delivered", |r| r.delivered + r.failed == 50 && r.backlog_packets == 0);
    let heard =
        read_until(&mut *ap, "all received", |r| r.stations.iter().any(|s| s.received >= sent.delivered));
    let station = heard.stations.iter().find(|s| s.received > 0).unwrap();
    assert_eq!((station.received, station.rx_rate_bps), (sent.delivered, 6_500_000));
    let signal = station.signal_dbm.unwrap();
    assert!((-80.0..-10.0).contains(&signal), "{signal}");
    assert!(station.inactive.unwrap() < Duration::from_secs(5));
    let bystander = other.read().unwrap();
    assert_eq!((bystander.delivered, bystander.failed, bystander.backlog_packets), (0, 0, 0));
    // What a radio hears of others shows in the load of its channel alone.
    let busy = |r: &LinkReport| r.channel.unwrap().load.unwrap().busy;
    let later = read_until(&mut *other, "news without traffic", |r| busy(r) >= busy(&bystander));
    assert!(busy(&later) > Duration::from_millis(10), "{later:?}");
}

/// A connection to a radio's socket by hand.
fn connection(lab: &Lab, node: &str) -> OwnedFd {
    let connected = lab.node(node).unwrap().enter(|| {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &SocketAddrUnix::new_abstract_name(socket_name("wlan0").as_bytes())?)?;
        rustix::io::Result::Ok(socket)
    });
    connected.unwrap().unwrap()
}

/// What a request is answered with: the kind of message, and the rest.
fn answer(socket: &OwnedFd, request: &[u8]) -> (u16, Vec<u8>) {
    send(socket, request, SendFlags::NOSIGNAL).unwrap();
    let mut bytes = vec![0; 32 * 1024];
    let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)).unwrap(), 1, "no answer");
    let (len, _) = recv(socket, &mut bytes[..], RecvFlags::empty()).unwrap();
    bytes.truncate(len);
    assert!(len > 8 && bytes.starts_with(b"RWLF\x01\x00"), "{bytes:?}");
    (u16::from_le_bytes([bytes[6], bytes[7]]), bytes.split_off(8))
}

const SUBSCRIBE: &[u8] = b"RWLF\x01\x00\x01\x00\xe8\x03\x00\x00\x00\x00\x00\x00";

#[test]
fn strangers_are_refused_with_a_sentence_and_hurt_nobody() {
    let Some(lab) = lab() else { return };
    let mut sta = source(&lab, "sta").unwrap();
    let refusals = [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "no request for the states of a radio"),
        (&[0; 64][..], "no request for the states of a radio"),
        (b"RWLF\x02\x00\x01\x00\xe8\x03\x00\x00\x00\x00\x00\x00", "version 1 of the protocol and not 2"),
    ];
    for (request, sentence) in refusals {
        let (kind, words) = answer(&connection(&lab, "sta"), request);
        let words = String::from_utf8(words).unwrap();
        assert!(kind == 3 && words.contains(sentence), "{words}");
    }
    // Some say nothing, some leave at once, some subscribe and are killed before they have read anything.
    let silent: Vec<OwnedFd> = (0..40).map(|_| connection(&lab, "sta")).collect();
    for _ in 0..10 {
        send(connection(&lab, "sta"), SUBSCRIBE, SendFlags::NOSIGNAL).unwrap();
    }
    blast(&lab, "sta", "ap", 50);
    read_until(&mut *sta, "fifty done", |r| r.delivered + r.failed == 50);
    drop(silent);
    assert!(source(&lab, "sta").is_ok(), "the next is served");
}

#[test]
fn a_reader_that_stands_still_loses_states_and_nothing_else() {
    let Some(lab) = lab() else { return };
    let lazy = connection(&lab, "sta");
    let (kind, _) = answer(&lazy, SUBSCRIBE);
    assert_eq!(kind, 2);
    let mut sta = source(&lab, "sta").unwrap();
    for _ in 0..5 {
        blast(&lab, "sta", "ap", 100);
        let before = sta.read().unwrap();
        read_until(&mut *sta, "it goes on", |r| r.backlog_packets == 0 && r.delivered > before.delivered);
    }
    let done = sta.read().unwrap();
    assert_eq!(done.delivered + done.failed, 500);
    // What the kernel kept for the lazy one is old and bounded; after it the newest comes.
    let (mut bytes, mut waiting, mut last) = (vec![0; 32 * 1024], 0, 0);
    while let Ok((len, _)) = recv(&lazy, &mut bytes[..], RecvFlags::DONTWAIT) {
        let delivered = u64::from_le_bytes(bytes[40..48].try_into().unwrap());
        assert!(len >= 128 && delivered >= last, "counters only grow");
        (waiting, last) = (waiting + len, delivered);
    }
    assert!(waiting < 256 * 1024, "{waiting} bytes were kept for who does not read");
    let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
    poll(&mut [PollFd::new(&lazy, PollFlags::IN)], Some(&limit)).unwrap();
    recv(&lazy, &mut bytes[..], RecvFlags::empty()).unwrap();
    assert_eq!(u64::from_le_bytes(bytes[40..48].try_into().unwrap()), done.delivered);
}

#[test]
fn there_are_so_many_places_and_they_are_given_back() {
    let Some(lab) = lab() else { return };
    let mut all: Vec<_> = (0..32).map(|_| source(&lab, "sta").unwrap()).collect();
    let full = source(&lab, "ap").err().unwrap();
    assert!(full.contains("have 32 readers already"), "{full}");
    all.truncate(20);
    // The lab notices when it next has something to tell them.
    let since = Instant::now();
    while source(&lab, "ap").is_err() {
        assert!(since.elapsed() < Duration::from_secs(10), "places are not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(lab);
    let gone = (0..).map(|_| all[0].read()).find(Result::is_err).unwrap().unwrap_err();
    assert!(matches!(gone, FeedbackError::Gone(Source::Lab)), "{gone}");
}

/// A radiotap header without fields, and a frame of this kind and control byte with a packet.
fn frame(kind: u8, control: u8, bytes: u16) -> Vec<u8> {
    let mut packet = vec![7; usize::from(bytes)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&bytes.to_be_bytes());
    let head = [0, 0, 8, 0, 0, 0, 0, 0, kind, control, 0, 0].into_iter().chain([2; 18]);
    head.chain([0x10, 0, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]).chain(packet).collect()
}

#[test]
fn a_monitor_interface_gives_what_stations_send_to_access_points_and_counts_what_it_drops() {
    let topology = match Topology::new() {
        Ok(topology) => topology,
        Err(error @ LabError::NotRoot) => return ropewalk_skip::skip(error),
        Err(other) => panic!("{other}"),
    };
    let node = topology.namespace("node").unwrap();
    let open = |name: &str| node.run(|| Monitor::open(name)).unwrap();
    assert!(matches!(open("lo"), Err(MonitorError::NotAMonitor(_))));
    assert!(matches!(open("none"), Err(MonitorError::NoSuchInterface(_))));
    let interface = MonitorInterface::open(&node, "mon0").unwrap();
    let (mut monitor, mut batch) = (open("mon0").unwrap(), Batch::default());
    assert_eq!(monitor.receive(&mut batch).unwrap(), 0, "it does not wait");
    let data = frame(0x88, 0x01, 1000);
    // From the access point, a beacon, nothing in it, shorter than it says; then an encrypted one.
    let short = [&[0, 0, 200, 0][..], &[0; 40]].concat();
    for bytes in [&data, &frame(0x88, 0x02, 900), &frame(0x80, 0, 900), &frame(0xc8, 0x01, 900), &short] {
        interface.hear(bytes).unwrap();
    }
    interface.hear(&frame(0x88, 0x41, 1400)).unwrap();
    assert_eq!(monitor.receive(&mut batch).unwrap(), 2);
    let heard: Vec<Vec<u8>> = batch.frames().map(<[u8]>::to_vec).collect();
    assert_eq!((&heard[0], heard[1].len()), (&data, 512), "encrypted frames are cut");
    assert_eq!(monitor::read(&heard[0]).unwrap().sequence, 1);
    assert_eq!(monitor::read(&heard[1]), Err(monitor::Left::Encrypted));
    assert_eq!(monitor.statistics(), monitor::Statistics { frames: 2, dropped: 0 });
    // More than its queue takes.
    (0..20_000).for_each(|_| interface.hear(&data).unwrap());
    let counted = monitor.statistics();
    assert!(counted.frames == 20_002 && counted.dropped > 0, "{counted:?}");
    let mut came = 2;
    while let n @ 1.. = monitor.receive(&mut batch).unwrap() {
        came += n as u64;
    }
    assert_eq!(came + counted.dropped, counted.frames);
    // It goes down, which is said once, and comes back.
    node.ip(&["link set mon0 down"]).unwrap();
    assert!(monitor.receive(&mut batch).is_err());
    assert_eq!(monitor.receive(&mut batch).unwrap(), 0);
    node.ip(&["link set mon0 up"]).unwrap();
    interface.hear(&data).unwrap();
    assert_eq!(monitor.receive(&mut batch).unwrap(), 1);
}
