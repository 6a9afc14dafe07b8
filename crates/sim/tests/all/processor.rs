//! Nodes with a processor: what they forward, what they send, and who pays when.

use crate::common::{flow, near, run};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::{CpuRow, Report};
use ropewalk_sim::Simulation;
use std::path::Path;

/// `server — router — client` by cables of 1 Gbit/s, 0.5 ms each.
fn wired(router: &str, ends: &str, load: &str) -> String {
    format!(
        "duration = \"3s\"\nwarmup = \"1s\"\n[node.server]\n{ends}\n[node.client]\n{ends}\n\
         [node.router]\nforward = true\n{router}\n\
         [[link]]\nends = [\"server:eth0\", \"router:wan\"]\nrate = \"1Gbit/s\"\ndelay = \"500us\"\n\
         [[link]]\nends = [\"router:lan\", \"client:eth0\"]\nrate = \"1Gbit/s\"\ndelay = \"500us\"\n\
         [[flow]]\nname = \"load\"\nfrom = \"server\"\nto = \"client\"\n{load}\n"
    )
}

const SLOW: &str = "cpu = { per-packet = \"30us\", per-byte = \"10ns\" }";
const UDP: &str = "kind = \"udp\"\nrate = \"500Mbit/s\"";

fn cpu<'a>(report: &'a Report, node: &str) -> &'a CpuRow {
    report.cpu.iter().find(|c| c.name == node).unwrap_or_else(|| panic!("{node} has no processor"))
}

#[test]
fn a_router_forwards_what_its_processor_can_and_drops_the_rest() {
    let report = run(&wired(SLOW, "", UDP));
    // 1500 bytes take 45 us, and 1472 of them are payload.
    assert!(near(flow(&report, "load").goodput_mbps, 1472.0 * 8.0 / 45.0, 0.002), "{report:?}");
    let row = cpu(&report, "router");
    assert!(near(row.busy_percent, 100.0, 0.001), "{row:?}");
    // A thousand wait in front of each.
    assert!(row.wait_ms.is_some_and(|ms| near(ms, 45.0, 0.01)), "{row:?}");
    let received: u64 =
        report.interface.iter().filter(|i| i.name.starts_with("router:")).map(|i| i.received).sum();
    assert!(near((row.packets + row.dropped) as f64, received as f64, 0.001), "{row:?} {received}");
}

#[test]
fn a_processor_that_keeps_up_costs_its_time_and_no_packet() {
    let plain = run(&wired("", "", UDP));
    assert!(plain.cpu.is_empty(), "null case: nobody has one");
    let report = run(&wired("cpu = { per-packet = \"10us\" }", "", UDP));
    let (with, without) = (flow(&report, "load"), flow(&plain, "load"));
    // Packets come every 24 us, and nobody waits.
    let delays = with.delay_ms.zip(without.delay_ms);
    assert!(delays.is_some_and(|(a, b)| near(a - b, 0.010, 0.01)), "{delays:?}");
    let row = cpu(&report, "router");
    assert!(near(row.busy_percent, 100.0 * 10.0 / 24.0, 0.002), "{row:?}");
    assert_eq!((row.dropped, row.wait_ms), (0, Some(0.0)));
}

#[test]
fn ends_pay_for_what_they_send_and_receive() {
    let report = run(&wired("", "cpu.per-packet = \"30us\"", "kind = \"tcp\"\nreceive-buffer = \"256KiB\""));
    // A segment each, and an acknowledgement for every two.
    assert!(near(flow(&report, "load").goodput_mbps, 1448.0 * 8.0 / 45.0, 0.03), "{report:?}");
    assert!(cpu(&report, "server").busy_percent > 95.0, "{:?}", report.cpu);
}

#[test]
fn a_sender_without_a_rate_is_refused_behind_a_processor() {
    let text = wired("", "cpu.per-packet = \"30us\"", "kind = \"udp\"");
    let scenario =
        Document::parse("test", &text).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    let refused = Simulation::new(&scenario, Path::new(".")).err().map(|e| e.to_string());
    assert!(refused.as_deref().is_some_and(|e| e.starts_with("flow.load.rate: ")), "{refused:?}");
}

#[test]
fn an_access_point_pays_for_what_it_passes_on_between_its_stations() {
    let radio = "radio.r0 = { standard = \"11n\", channel = 36, rate-control = { fixed = \"MCS7\" } }";
    let node = |name: &str, mode: &str, more: &str| {
        format!(
            "[node.{name}]\n{more}{radio}\ninterface.wlan0 = {{ radio = \"r0\", mode = \"{mode}\", ssid = \"x\" }}\n"
        )
    };
    let text = |cpu: &str| {
        format!(
            "duration = \"2s\"\n{}{}{}[[flow]]\nname = \"load\"\nkind = \"udp\"\nrate = \"10Mbit/s\"\n\
             from = \"one\"\nto = \"two\"\n",
            node("ap", "ap", cpu),
            node("one", "station", "position = [3.0, 0.0]\n"),
            node("two", "station", "position = [0.0, 3.0]\n"),
        )
    };
    // A packet of 1500 bytes each 1.2 ms, and 2 ms for each.
    let report = run(&text("cpu.per-packet = \"2ms\"\n"));
    assert!(near(flow(&report, "load").goodput_mbps, 1472.0 * 8.0 / 2000.0, 0.02), "{report:?}");
    assert!(flow(&run(&text("")), "load").goodput_mbps > 9.5, "null case");
}

#[test]
fn what_goes_through_a_bond_is_paid_for_as_the_datagrams_that_carry_it() {
    let text = "duration = \"3s\"\n[node.client]\ncpu.per-packet = \"1us\"\n[node.gateway]\ncpu.per-packet = \"1us\"\n\
                [[link]]\nname = \"wire\"\nends = [\"client:eth0\", \"gateway:eth0\"]\nrate = \"20Mbit/s\"\ndelay = \"2ms\"\n\
                [bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\npaths = [\"eth0\"]\n\
                [[flow]]\nname = \"load\"\nkind = \"tcp\"\nfrom = \"gateway\"\nto = \"client:rw0\"\n";
    let report = run(text);
    assert!(flow(&report, "load").goodput_mbps > 10.0, "{report:?}");
    for node in ["client", "gateway"] {
        let interface = report.interface.iter().find(|i| i.name == format!("{node}:eth0")).unwrap();
        let row = cpu(&report, node);
        // One may be half done when the run ends.
        assert!(row.packets.abs_diff(interface.sent + interface.received) <= 1, "{row:?} {interface:?}");
        assert_eq!(row.dropped, 0);
    }
}
