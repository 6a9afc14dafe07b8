//! Random operations on two engines: send, cut, lose, rebind, restart, add and remove paths, change classes, renew keys.
//!
//! A failing list is shrunk by proptest; it is then kept, readable, under `regressions` below.

use proptest::prelude::*;
use ropewalk_air::wired::{LinkSpec, Loss};
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::path::Class;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, number, udp};
use ropewalk_time::{Duration, Time};
use std::collections::BTreeMap;

/// Links of a case, Mb/s and ms.
const LINKS: [(f64, u64); 3] = [(20.0, 10), (50.0, 25), (5.0, 60)];
/// An engine that wants to be called more often than this does not wait for anything.
const CALLS_PER_SECOND: u64 = 20_000;
/// Sizes of packets: small ones are urgent, so their order is not promised.
const ORDERED: usize = 301;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Packets of one flow, one per `gap_us`.
    Send { from: End, flow: u8, len: u16, count: u16, gap_us: u16 },
    /// Time passes.
    Advance { ms: u16 },
    /// A path dies without a word.
    Cut { path: u8 },
    /// And comes back.
    Restore { path: u8 },
    /// It loses so many per cent.
    SetLoss { path: u8, percent: u8 },
    /// A NAT changes the client's port.
    Rebind { path: u8, port: u16 },
    /// The gateway forgets everything.
    RestartGateway,
    /// The interface under a path is gone.
    RemovePath { path: u8 },
    /// It is there again.
    AddPath { path: u8 },
    /// 0 active, 1 backup, 2 metered.
    SetClass { path: u8, class: u8 },
}

use Op::*;

fn op() -> impl Strategy<Value = Op> {
    let path = 0..LINKS.len() as u8;
    let end = prop_oneof![Just(End::Client), Just(End::Gateway)];
    prop_oneof![
        6 => (end, 0u8..4, prop_oneof![40u16..300, 301u16..1500, 1500u16..60_000], 1u16..120, 0u16..2000)
            .prop_map(|(from, flow, len, count, gap_us)| Send { from, flow, len, count, gap_us }),
        3 => (1u16..1500).prop_map(|ms| Advance { ms }),
        1 => path.clone().prop_map(|path| Cut { path }),
        1 => path.clone().prop_map(|path| Restore { path }),
        1 => (path.clone(), 0u8..40).prop_map(|(path, percent)| SetLoss { path, percent }),
        1 => (path.clone(), 1024u16..).prop_map(|(path, port)| Rebind { path, port }),
        1 => Just(RestartGateway),
        1 => path.clone().prop_map(|path| RemovePath { path }),
        1 => path.clone().prop_map(|path| AddPath { path }),
        1 => (path, 0u8..3).prop_map(|(path, class)| SetClass { path, class }),
    ]
}

/// A pair, and what it is known to have been asked.
struct Case {
    p: Pair,
    /// The identifier of each link's path, while it has one.
    ids: [Option<u8>; LINKS.len()],
    next: u32,
    /// The session was begun anew: the new gateway cannot know what the old one delivered.
    restarted: bool,
}

impl Case {
    fn new(rekey_ms: u64) -> Case {
        let links = LINKS.map(|(mbps, ms)| LinkSpec::new(mbps, Duration::from_millis(ms)));
        let config = Config { rekey_after: Duration::from_millis(rekey_ms), ..Config::default() };
        let mut p = Pair::new(&links, config, 9);
        p.run_for(Duration::from_millis(800));
        Case { p, ids: [Some(0), Some(1), Some(2)], next: 0, restarted: false }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Send { from, flow, len, count, gap_us } => {
                for _ in 0..count.min(if len > 1500 { 20 } else { 120 }) {
                    self.send(from, flow, len);
                    self.pass(Duration::from_micros(gap_us.into()));
                }
            }
            Advance { ms } => self.pass(Duration::from_millis(ms.into())),
            Cut { path } => self.p.set_up(path as usize, false),
            Restore { path } => self.p.set_up(path as usize, true),
            SetLoss { path, percent } => self.set_loss(path as usize, percent.into()),
            Rebind { path, port } => self.p.ports[path as usize] = port,
            RestartGateway => {
                self.restarted = true;
                self.p.restart_gateway();
            }
            RemovePath { path } => {
                if let Some(id) = self.ids[path as usize].take() {
                    self.p.client.remove_path(id, self.p.now);
                    self.p.poll(End::Client);
                }
            }
            AddPath { path } => self.add(path as usize),
            SetClass { path, class } => {
                let class = [Class::Active, Class::Backup, Class::Metered { left: 100_000 }][class as usize];
                self.set_class(path as usize, class);
            }
        }
    }

    fn send(&mut self, from: End, flow: u8, len: u16) {
        // Sizes keep their kind of flow, so that a flow of data never looks like one of key presses.
        let len = (len as usize).max(32);
        let port = u16::from(flow) + if len < ORDERED { 100 } else { 200 };
        let gso = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
        let vnet = if len > 1400 { gso } else { Vnet::default() };
        let packet = udp(from, port, self.next, len);
        self.next += 1;
        self.p.device(from, &packet, vnet);
    }

    /// Time passes; neither engine may ask for more calls than it can have a use for.
    fn pass(&mut self, d: Duration) {
        let before = self.p.timeouts;
        self.p.run_for(d);
        for (end, before) in before.into_iter().enumerate() {
            let most = CALLS_PER_SECOND * d.as_micros() as u64 / 1_000_000 + 400;
            let calls = self.p.timeouts[end] - before;
            assert!(
                calls <= most,
                "end {end} wanted {calls} calls in {d:?}, the last for {}",
                self.p.why[end]
            );
        }
    }

    fn set_loss(&mut self, path: usize, percent: f64) {
        let now = ropewalk_air::Time::from_nanos(self.p.now.as_nanos());
        for link in [&mut self.p.up[path], &mut self.p.down[path]] {
            link.set_loss(now, Loss::percent(percent)).expect("under a hundred per cent");
        }
    }

    fn set_class(&mut self, path: usize, class: Class) {
        if let Some(id) = self.ids[path] {
            self.p.client.set_class(id, class);
            self.p.poll(End::Client);
        }
    }

    fn add(&mut self, path: usize) {
        if self.ids[path].is_none() {
            self.ids[path] = self.p.add_path(path, Class::Active);
        }
    }

    /// Everything is well again: data must flow, and leave nothing behind.
    fn recover(&mut self) {
        for path in 0..LINKS.len() {
            self.p.set_up(path, true);
            self.set_loss(path, 0.0);
            self.add(path);
            self.set_class(path, Class::Active);
        }
        self.pass(Duration::from_secs(8));
        let (up, down) = (self.p.at_gateway.len(), self.p.at_client.len());
        for _ in 0..50 {
            self.send(End::Client, 9, 1000);
            self.send(End::Gateway, 9, 1000);
            self.pass(Duration::from_millis(4));
        }
        self.pass(Duration::from_secs(2));
        let (up, down) = (self.p.at_gateway.len() - up, self.p.at_client.len() - down);
        assert!(
            up == 50 && down == 50,
            "{up} and {down} of 50 after the recovery: {:#?}",
            self.p.client.status(self.p.now)
        );
    }

    fn check_deliveries(&self) {
        let reconnected = self.p.events.iter().filter(|e| matches!(e.2, Event::Connected(_))).count() > 1;
        for (from, got) in [(End::Client, &self.p.at_gateway), (End::Gateway, &self.p.at_client)] {
            let mut flows: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
            for (_, bytes, _) in got.iter() {
                let (port, n) = (u16::from_be_bytes([bytes[20], bytes[21]]), number(bytes));
                assert!(*bytes == udp(from, port, n, bytes.len()), "{n} is not as it was sent");
                flows.entry(port).or_default().push(n);
            }
            if !self.restarted && !reconnected {
                self.check_flows(from, &flows);
            }
        }
    }

    fn check_flows(&self, from: End, flows: &BTreeMap<u16, Vec<u32>>) {
        let receiver = if from == End::Client { &self.p.gateway } else { &self.p.client };
        let late: u64 = receiver.status(self.p.now).peers.iter().map(|p| p.order.late).sum();
        let mut inversions = 0;
        for (port, numbers) in flows {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), numbers.len(), "duplicates in flow {port}");
            if *port >= 200 {
                inversions += numbers.windows(2).filter(|w| w[0] > w[1]).count() as u64;
            }
        }
        assert!(inversions <= late, "{inversions} out of order, {late} of them late");
    }

    fn close(&mut self) {
        self.p.client.close();
        self.p.poll(End::Client);
        self.pass(Duration::from_secs(1));
        for (name, engine) in [("client", &self.p.client), ("gateway", &self.p.gateway)] {
            let s = engine.status(self.p.now);
            assert_eq!((s.peers.len(), s.memory_used), (0, 0), "the {name} keeps something");
        }
    }
}

fn run(rekey_ms: u64, ops: &[Op]) {
    let mut case = Case::new(rekey_ms);
    for op in ops {
        case.apply(*op);
    }
    case.recover();
    case.check_deliveries();
    case.close();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_promises_hold(rekey_ms in prop_oneof![Just(120_000u64), 300u64..3000], ops in prop::collection::vec(op(), 1..24)) {
        run(rekey_ms, &ops);
    }
}

/// Few, for each takes a tenth of a second; more with `PROPTEST_CASES`.
fn cases() -> u32 {
    ProptestConfig::default().cases * 3 / 32
}

/// What random operations have found.
mod regressions {
    use super::*;

    #[test]
    fn a_client_whose_gateway_does_not_answer_waits_between_its_attempts() {
        let links = [LinkSpec::new(20.0, Duration::from_millis(10))];
        let mut p = Pair::new(&links, Config::default(), 1);
        p.set_up(0, false);
        p.run_until(Time::from_millis(11_000));
        assert!(p.timeouts[0] < 1000, "{} calls in ten seconds, the last for {}", p.timeouts[0], p.why[0]);
    }

    #[test]
    fn a_path_that_is_new_does_not_hide_that_the_gateway_has_forgotten() {
        run(120_000, &[RemovePath { path: 0 }, RestartGateway]);
    }

    /// It asked to be called at once, again and again, for an MTU probe that waits for the first round trip.
    #[test]
    fn a_gateway_that_knows_no_round_trip_yet_waits_for_it() {
        run(
            701,
            &[
                Send { from: End::Gateway, flow: 0, len: 1785, count: 15, gap_us: 0 },
                RestartGateway,
                Send { from: End::Client, flow: 0, len: 40, count: 100, gap_us: 1905 },
                Advance { ms: 68 },
            ],
        );
    }

    /// The last bytes of a flow waited for six seconds: each path had declined them while it was the slower one of two.
    #[test]
    fn a_path_that_has_become_the_fastest_is_asked_again() {
        run(
            120_000,
            &[
                Cut { path: 0 },
                RestartGateway,
                Advance { ms: 182 },
                Send { from: End::Client, flow: 1, len: 13_058, count: 20, gap_us: 0 },
                Send { from: End::Client, flow: 1, len: 539, count: 96, gap_us: 0 },
            ],
        );
    }

    #[test]
    fn a_class_that_was_changed_on_a_lossy_path_reaches_the_gateway() {
        for class in [1, 0, 1, 0, 1] {
            let mut case = Case::new(120_000);
            case.apply(SetLoss { path: 1, percent: 60 });
            case.apply(SetClass { path: 1, class });
            case.apply(Send { from: End::Client, flow: 1, len: 1400, count: 120, gap_us: 2000 });
            case.set_loss(1, 0.0);
            case.pass(Duration::from_secs(3));
            let name = |e: &ropewalk_bond::engine::Engine| {
                e.status(case.p.now).peers[0].paths.iter().find(|p| p.id == 1).map(|p| p.class)
            };
            assert_eq!(name(&case.p.gateway), name(&case.p.client));
        }
    }
}
