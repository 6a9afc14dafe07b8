//! A scenario's flows on the kernel's sockets, over cables. Needs root; says so and passes otherwise.
//!
//! Figures of time and rate are not asserted: a busy machine has others. Bytes, numbers, order, loss and the form of the report are.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ropewalk_air::wired::{LinkSpec, Loss};
use ropewalk_lab::live::flows::{Hosts, Traffic, TrafficCounts};
use ropewalk_lab::{LabError, Namespace, Paths, Result, Topology};
use ropewalk_scenario::report::FlowRow;
use ropewalk_scenario::{Document, Scenario};

/// False, with the reason on standard error, where the lab cannot work.
fn possible() -> bool {
    match Topology::new() {
        Ok(_) => true,
        Err(LabError::NotRoot) => {
            ropewalk_skip::skip(LabError::NotRoot);
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// A client and a gateway with two cables, as [`Paths`] makes them and the scenarios below declare them.
struct Two(Paths);

impl Hosts for Two {
    fn namespace(&self, node: &str) -> Result<Namespace> {
        Ok(if node == "client" { self.0.client.clone() } else { self.0.gateway.clone() })
    }

    fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2]> {
        // The gateway's address to which both cables lead.
        let of = |end: &str| match end.starts_with("client") {
            true => Ipv4Addr::new(10, 1, 1, 1),
            false => Ipv4Addr::new(10, 9, 0, 1),
        };
        Ok([of(from), of(to)])
    }

    fn reaches(&self, _: &str, _: Ipv4Addr) -> bool {
        true
    }
}

const NODES: &str = r#"
title = "two"
duration = "1s"
[node.client]
interface.wan1 = { address = "10.1.1.1/24" }
interface.wan2 = { address = "10.1.2.1/24" }
[node.gateway]
interface.wan1 = { address = "10.1.1.2/24" }
interface.wan2 = { address = "10.1.2.2/24" }
[[link]]
name = "wan1"
ends = ["client:wan1", "gateway:wan1"]
rate = "50Mbit/s"
[[link]]
name = "wan2"
ends = ["client:wan2", "gateway:wan2"]
rate = "50Mbit/s"
"#;

fn scenario(flows: &str) -> Scenario {
    Document::parse("two.toml", &format!("{NODES}{flows}"))
        .unwrap()
        .scenario()
        .unwrap_or_else(|e| panic!("{e}"))
}

/// A flow of a kind from the gateway to the client.
fn flow(kind: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{kind}\"\nkind = \"{kind}\"\nfrom = \"gateway\"\nto = \"client\"\n{more}\n")
}

/// A run over two cables.
struct Run {
    traffic: Traffic,
    before: TrafficCounts,
    lab: Two,
}

impl Run {
    fn begin(flows: &str, link: LinkSpec) -> Run {
        let lab = Two(Paths::symmetric([link.clone(), link]).unwrap());
        let mut traffic = Traffic::prepare(&scenario(flows), &lab).unwrap_or_else(|e| panic!("{e}"));
        let before = traffic.counts();
        traffic.begin(Instant::now()).unwrap();
        Run { traffic, before, lab }
    }

    fn rows(&self) -> Vec<FlowRow> {
        self.traffic.tables(&self.before, &self.traffic.counts()).0
    }

    /// Waits until the rows are so; they must become so in the end.
    fn until(&self, what: &str, so: impl Fn(&[FlowRow]) -> bool) -> Vec<FlowRow> {
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            let rows = self.rows();
            if so(&rows) {
                return rows;
            }
            assert!(Instant::now() < limit, "{what}: {rows:#?} {:?}", self.traffic.faults());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it; nothing may have arrived other than it was sent.
    fn end(mut self) -> Vec<FlowRow> {
        self.traffic.end();
        assert_eq!(self.traffic.faults(), [""; 0]);
        let rows = self.rows();
        drop(self.lab);
        rows
    }
}

fn quick() -> LinkSpec {
    LinkSpec::new(50.0, Duration::from_millis(2))
}

#[test]
fn a_bulk_flow_delivers_every_byte_once_whatever_is_lost() {
    if !possible() {
        return;
    }
    let flows = flow("tcp", "bytes = \"2MB\"\nstreams = 3\ncongestion = \"newreno\"");
    let lossy = LinkSpec { loss: Loss::Random { probability: 0.01 }, ..quick() };
    let run = Run::begin(&flows, lossy);
    run.until("all bytes", |rows| rows[0].completion_s.is_some());
    let rows = run.end();
    assert_eq!(rows[0].bytes, 2_000_000);
    assert!(rows[0].retransmissions > Some(0), "{rows:?}");
    // Ten segments are what a connection begins with.
    assert!(rows[0].cwnd_bytes.is_some_and(|w| (1448..100 * 1448).contains(&w)), "{rows:?}");
    assert!(
        rows[0].sent_packets > 2_000_000 / 1448 && rows[0].rtt_ms.is_some_and(|ms| ms >= 4.0),
        "{rows:?}"
    );
    assert_eq!((rows[0].kind.as_str(), rows[0].loss_percent, rows[0].responses), ("tcp", None, None));
}

#[test]
fn a_bulk_flow_with_a_rate_is_no_faster() {
    if !possible() {
        return;
    }
    let run = Run::begin(&flow("tcp", "bytes = \"500kB\"\nrate = \"4Mbit/s\""), quick());
    run.until("all bytes", |rows| rows[0].completion_s.is_some());
    let rows = run.end();
    // A second; the cable alone would have been through in a tenth of it.
    assert!(rows[0].bytes == 500_000 && rows[0].completion_s > Some(0.95), "{rows:?}");
}

#[test]
fn requests_and_segments_are_answered_whole() {
    if !possible() {
        return;
    }
    let flows = flow("request", "bytes = \"30kB\"\ninterval = \"5ms\"\necn = true")
        + &flow("adaptive", "segments = { length = \"200ms\", qualities = [\"1Mbit/s\", \"4Mbit/s\"] }");
    let run = Run::begin(&flows, quick());
    run.until("answers", |rows| rows[0].responses >= Some(10) && rows[1].quality_mbps >= Some(2.0));
    let rows = run.end();
    let whole = rows[0].responses.unwrap() * 30_000;
    assert!((whole..whole + 30_000).contains(&rows[0].bytes), "{rows:?}");
    assert!(rows[0].response_ms.is_some_and(|ms| ms >= 4.0), "{rows:?}");
    assert!(rows[1].stalls.is_some() && rows[1].quality_mbps <= Some(4.0), "{rows:?}");
}

#[test]
fn datagrams_are_numbered_counted_and_missed() {
    if !possible() {
        return;
    }
    let flows = flow("udp", "rate = \"5Mbit/s\"\npacket = \"500B\"\nbytes = \"472kB\"");
    let whole = Run::begin(&flows, quick());
    whole.until("all datagrams", |rows| rows[0].bytes == 472_000);
    let rows = whole.end();
    // 472 bytes of payload each.
    assert_eq!((rows[0].sent_packets, rows[0].loss_percent, rows[0].reordered), (1000, Some(0.0), 0));
    assert!(rows[0].delay_ms.is_some_and(|ms| ms >= 2.0), "{rows:?}");
    let holed = Run::begin(&flows, LinkSpec { loss: Loss::Random { probability: 0.2 }, ..quick() });
    holed.until("all sent", |rows| rows[0].sent_packets == 1000);
    let rows = holed.end();
    // Twenty of a hundred; six standard deviations of a thousand draws are 7.6.
    assert!(rows[0].loss_percent.is_some_and(|l| (12.0..28.0).contains(&l)), "{rows:?}");
}

#[test]
fn a_flow_without_a_rate_fills_the_cable_and_does_not_flood_it() {
    if !possible() {
        return;
    }
    let run = Run::begin(&flow("udp", ""), quick());
    run.until("five thousand datagrams", |rows| rows[0].bytes > 5000 * 1472);
    let rows = run.end();
    // The cable's queue has room for what is kept on the way.
    assert_eq!(rows[0].reordered, 0);
    assert!(rows[0].sent_packets < rows[0].bytes / 1472 + 600, "{rows:?}");
}

#[test]
fn a_video_is_judged_by_its_frames_and_echoes_come_back() {
    if !possible() {
        return;
    }
    let flows = flow("video", "rate = \"4Mbit/s\"") + &flow("ping", "interval = \"20ms\"\npacket = \"200B\"");
    let run = Run::begin(&flows, quick());
    run.until("two groups of frames and fifty echoes", |rows| {
        rows[0].psnr_db.is_some() && rows[0].sent_packets > 350 && rows[1].bytes >= 50 * 172
    });
    let rows = run.end();
    assert_eq!((rows[0].reordered, rows[1].reordered), (0, 0));
    assert!(rows[1].rtt_min_ms.is_some_and(|ms| ms >= 4.0) && rows[1].loss_percent <= Some(5.0), "{rows:?}");
    let cut = Run::begin(
        &flow("video", "rate = \"4Mbit/s\""),
        LinkSpec { loss: Loss::Random { probability: 0.2 }, ..quick() },
    );
    cut.until("two groups of frames", |rows| rows[0].psnr_db.is_some() && rows[0].sent_packets > 350);
    // Of a frame's eleven packets one is missing nearly always, and with it the frames that refer to it.
    assert!(cut.end()[0].psnr_db < Some(20.0));
}

#[test]
fn mptcp_has_a_row_for_each_path() {
    if !possible() {
        return;
    }
    let flows = flow("mptcp", "paths = [\"client:wan1\", \"client:wan2\"]");
    let run = Run::begin(&flows, quick());
    let limit = Instant::now() + Duration::from_secs(30);
    let both = |run: &Run| run.traffic.tables(&run.before, &run.traffic.counts()).1;
    while !(both(&run).len() == 2 && both(&run).iter().all(|s| s.bytes > 1_000_000)) {
        assert!(Instant::now() < limit, "{:#?} {:#?} {:?}", run.rows(), both(&run), run.traffic.faults());
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut names: Vec<String> = both(&run).into_iter().map(|s| s.name).collect();
    names.sort();
    assert_eq!(names, ["mptcp:client:wan1", "mptcp:client:wan2"]);
    run.end();
}

#[test]
fn a_window_is_what_the_scenario_says() {
    if !possible() {
        return;
    }
    // 64 KiB over 40 ms are 13.1 Mbit/s; without a window the cable's 50 are filled.
    let long = LinkSpec::new(50.0, Duration::from_millis(20));
    let run = Run::begin(&flow("tcp", "receive-buffer = \"64KiB\""), long);
    run.until("three megabytes", |rows| rows[0].bytes > 3_000_000);
    let (rows, seen) = (run.rows(), run.traffic.windows());
    assert!(seen[0].is_some_and(|w| (60_000..=69_000).contains(&w)), "{seen:?} {rows:?}");
    assert_eq!(run.end()[0].retransmissions, Some(0));
}

#[test]
fn a_flow_has_its_own_congestion_control_whatever_its_routes_say() {
    if !possible() {
        return;
    }
    for (kind, more) in [("tcp", ""), ("mptcp", "paths = [\"client:wan1\", \"client:wan2\"]")] {
        let lab = Two(Paths::symmetric([quick(), quick()]).unwrap());
        for namespace in [&lab.0.client, &lab.0.gateway] {
            for route in namespace.shell("ip -4 route").unwrap().lines() {
                namespace
                    .shell(&format!("ip route replace {} congctl cubic", route.replace("linkdown", "")))
                    .unwrap();
            }
        }
        let flows = scenario(&flow(kind, &format!("congestion = \"newreno\"\n{more}")));
        let mut traffic = Traffic::prepare(&flows, &lab).unwrap_or_else(|e| panic!("{e}"));
        traffic.begin(Instant::now()).unwrap();
        // Of both ends, those of subflows too.
        let connections = if kind == "tcp" { 1 } else { 2 };
        let of = |n: &Namespace| {
            let said = n.shell("ss -Htin state established").unwrap();
            ["reno", "cubic"].map(|name| said.split_whitespace().filter(|word| *word == name).count())
        };
        let limit = Instant::now() + Duration::from_secs(30);
        while of(&lab.0.gateway) != [connections, 0] {
            assert!(Instant::now() < limit, "{kind}: {:?} {:?}", of(&lab.0.gateway), traffic.faults());
            std::thread::sleep(Duration::from_millis(20));
        }
        traffic.end();
        assert_eq!(traffic.faults(), [""; 0]);
    }
}

#[test]
fn what_no_kernel_can_do_is_refused_with_its_key() {
    if !possible() {
        return;
    }
    let lab = Two(Paths::symmetric([quick(), quick()]).unwrap());
    let refused = Traffic::prepare(&scenario(&flow("mptcp", "congestion = \"olia\"")), &lab).err().unwrap();
    assert!(refused.to_string().starts_with("flow.mptcp.congestion: "), "{refused}");
}
