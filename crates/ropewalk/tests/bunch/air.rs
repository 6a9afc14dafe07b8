//! Neighbours that overhear: the sender is a station, whose frames are heard by monitor interfaces.
//!
//! ```text
//!   sender ))) lan0, mon0 ── home ─── 4 Mbit/s ── gateway ── server
//!          ))) mon0 ──────── anna ─── 4 Mbit/s ──────┘
//! ```

use super::{APS, BINARY, Net, PATIENCE, SOON, in_time, net};
use crate::common::{root, ropewalk};
use ropewalk_lab::{MonitorInterface, OpenCell, Process};

/// The home's cable to the sender becomes a cell. Each monitor misses some frames, not the same.
fn on_air(net: &Net) -> OpenCell {
    let (home, anna) = (&net.aps[0], &net.aps[1]);
    home.ip(&["link del lan0"]).unwrap();
    let monitor = |of| MonitorInterface::open(of, "mon0").unwrap();
    let monitors = vec![(monitor(home), 50), (monitor(anna), 11)];
    let cell = OpenCell::open((&net.sender, "wlan0"), (home, "lan0"), monitors).unwrap();
    home.ip(&["addr add 192.168.1.1/24 dev lan0"]).unwrap();
    net.sender.ip(&["addr add 192.168.1.2/24 dev wlan0", "route add 0.0.0.0/0 via 192.168.1.1"]).unwrap();
    cell
}

fn start(net: &Net, ap: usize, more: &[&str]) -> Process {
    let state = net.states.of(APS[ap]);
    let args = ["bunch", "ap", &net.tokens[ap], "--state", &state, "--uplink", "wan0"];
    net.aps[ap].start(BINARY, args.iter().chain(more)).unwrap()
}

fn started(net: &Net, ap: usize, more: &[&str]) -> Process {
    let mut process = start(net, ap, more);
    process.wait_for_line("access point ready", SOON).unwrap();
    process
}

/// Uploads, and says what each uplink carried.
fn carried(net: &Net, bytes: usize) -> Vec<u64> {
    let before = net.all_sent();
    assert!(net.upload(bytes).ends(), "{}", net.status("gateway"));
    net.all_sent().iter().zip(before).map(|(now, then)| now - then).collect()
}

#[test]
fn a_neighbour_that_overhears_carries_its_part_and_one_that_does_not_carries_nothing() {
    if !root() {
        return;
    }
    let net = net("bunch-air");
    let _cell = on_air(&net);
    let _gateway = net.start_gateway();
    let _home = started(&net, 0, &["--home", "lan0", "--monitor", "mon0"]);
    // The null case: anna is there, and does not listen.
    let mut anna = started(&net, 1, &["--share", "mesh0"]);
    let alone = carried(&net, 1_500_000);
    assert!(alone[0] > 1_500_000 && alone[1] < 50_000, "{alone:?}");
    anna.kill();
    let mut refused = start(&net, 1, &["--monitor", "mesh0"]);
    assert!(!refused.wait(PATIENCE).unwrap().success());
    assert!(refused.stderr().contains("mesh0 is no monitor interface"), "{}", refused.stderr());

    let _anna = started(&net, 1, &["--monitor", "mon0"]);
    let bytes = 6_000_000;
    let together = carried(&net, bytes);
    let (home, anna) = (net.status("home"), net.status("anna"));
    println!("{bytes} bytes over uplinks: {together:?}; {home}; {anna}; {}", net.status("gateway"));
    let least = bytes as u64 / 5;
    assert!(together[0] > least && together[1] > least && together[2] < 50_000, "{together:?}");
    // The home's monitor misses frames, whose packets have no number. A repeated one is one packet.
    assert!(home["air"]["numbered"].as_u64() > home["air"]["unnumbered"].as_u64(), "{home}");
    assert!(
        home["air"]["unnumbered"].as_u64() > Some(0) && anna["repeated"].as_u64() > Some(0),
        "{home} {anna}"
    );
    assert!(anna["air"]["overheard"].as_u64() > Some(1000) && anna["air"]["dropped"] == 0, "{anna}");
    assert_eq!((net.status("gateway")["resets"].as_u64(), &anna["neighbours"]), (Some(0), &0.into()));
    let told = net.status("gateway")["contributors"].as_array().unwrap().clone();
    assert!(told.iter().any(|c| c["name"] == "anna" && c["hears_cells"] == 1), "{told:?}");
    in_time("nobody holds what was delivered", || net.status("anna")["held_bytes"] == 0);
    let (code, out, err) = ropewalk(&["bunch", "status", "--state", &net.states.of("anna")]);
    assert!(code == 0 && out.contains("overhears on mon0: 1 cell,"), "{out}{err}");

    goes_deaf(&net);
}

/// Anna's monitor interface goes away in an upload, which the home ends alone.
fn goes_deaf(net: &Net) {
    let heard = || net.status("anna")["air"]["overheard"].as_u64();
    let before = heard();
    let upload = net.upload(2_000_000);
    in_time("she listens", || heard() > before);
    net.aps[1].ip(&["link set mon0 down"]).unwrap();
    in_time("it is noticed", || net.status("anna")["air"]["is_up"] == false);
    assert!(upload.ends(), "what she held she still brings");
    net.aps[1].ip(&["link set mon0 up"]).unwrap();
    in_time("it is found again", || net.status("anna")["air"]["is_up"] == true);
}
