//! What the kernel's Wi-Fi carried over our air, beside the same scenario files with the air's own
//! MAC and rate control, and beside ns-3. `./run hwsim` makes `docs/models/hwsim-kernel.csv`.

use ropewalk_scenario::Document;
use ropewalk_scenario::report::{Report, StationRow};
use ropewalk_sim::Simulation;

use super::ns3::{UDP_IP, repository};
use super::{Row, Table, contention, ns3};

/// How far goodput and mean rates may be off.
const BAND: f64 = 0.03;
const RATE_BAND: f64 = 0.05;
const PACKET_FAIR: &str = "node.*.radio.r.rate-control=per-packet-fair";
/// Whose frames are looked at: those that go there, or come from there.
const ACCESS_POINT: &str = "ap:wlan0";

/// A run of the kernel's.
struct Stored {
    name: String,
    scenario: String,
    changes: Vec<String>,
    got: Figures,
}

/// Goodput of all flows, as IP bytes of UDP and the application's of TCP, and mean rate of their
/// frames, Mb/s.
#[derive(Clone, Copy, Default)]
struct Figures {
    goodput: f64,
    rate: f64,
}

fn stored() -> Vec<Stored> {
    let text = std::fs::read_to_string(repository().join("docs/models/hwsim-kernel.csv"));
    let text = text.expect("the stored figures can be read");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let at = |name: &str| columns.iter().position(|column| *column == name);
        let text = |name: &str| at(name).and_then(|at| fields.get(at)).copied().unwrap_or_default();
        let number = |name: &str| text(name).parse::<f64>().unwrap_or_default();
        assert_ne!(text("valid"), "no", "row {} did not keep its times", text("row"));
        Stored {
            name: text("row").to_owned(),
            scenario: text("scenario").to_owned(),
            changes: text("changes").split_whitespace().map(str::to_owned).collect(),
            got: Figures { goodput: number("mbps"), rate: number("rate_mbps") },
        }
    };
    lines.map(of).collect()
}

fn figures(report: &Report) -> Figures {
    let goodput: f64 = report.flow.iter().map(|flow| flow.goodput_mbps).sum();
    let scale = if report.flow.iter().all(|flow| flow.kind == "udp") { UDP_IP } else { 1.0 };
    // Acknowledgements of TCP go the other way.
    let up = report.flow.iter().all(|flow| flow.to == "ap");
    let on_way = |s: &&StationRow| s.to != "*" && (if up { &s.to } else { &s.from }) == ACCESS_POINT;
    let (mut packets, mut rate) = (0.0, 0.0);
    for station in report.station.iter().filter(on_way) {
        packets += station.delivered as f64;
        rate += station.rate_mbps.unwrap_or_default() * station.delivered as f64;
    }
    Figures { goodput: goodput * scale, rate: rate / f64::max(packets, 1.0) }
}

/// What the simulator makes of the kernel's scenario: means over seeds.
fn simulated(row: &Stored, more: &[&str], seeds: u64) -> Figures {
    let path = repository().join("scenarios/validation/hwsim").join(&row.scenario);
    let mut document = Document::read(&path).unwrap_or_else(|problems| panic!("{problems}"));
    for change in row.changes.iter().map(String::as_str).chain(more.iter().copied()) {
        document.set_text(change).unwrap_or_else(|problems| panic!("{}: {problems}", row.name));
    }
    let mut scenario = document.scenario().unwrap_or_else(|problems| panic!("{}: {problems}", row.name));
    let run = |seed| {
        scenario.seed = seed;
        let mut simulation = Simulation::new(&scenario, &document.directory())
            .unwrap_or_else(|error| panic!("{}: {error}", row.name));
        simulation.run();
        figures(&simulation.report())
    };
    mean(&(1..=seeds).map(run).collect::<Vec<Figures>>())
}

fn mean(all: &[Figures]) -> Figures {
    let of = |figure: fn(&Figures) -> f64| all.iter().map(figure).sum::<f64>() / all.len() as f64;
    Figures { goodput: of(|f| f.goodput), rate: of(|f| f.rate) }
}

/// How many stations a row of this kind has: `udp-3`, or `tcp-3-lab`.
fn stations(row: &Stored, kind: &str, of: &str) -> Option<u16> {
    row.name.strip_prefix(kind)?.strip_suffix(of)?.parse().ok()
}

fn plural(stations: u16) -> &'static str {
    if stations == 1 { "station" } else { "stations" }
}

/// Goodput of the kernel's stations beside that of the air's own. With five, two rate controls that
/// take collisions for a bad channel are apart by as much as the band: the page tells it.
pub(super) fn udp() -> Table {
    let row = |stored: &Stored| {
        let n = stations(stored, "udp-", "").filter(|n| *n <= 3)?;
        let air = simulated(stored, &[], 3).goodput;
        Some(Row::new(format!("UDP up, {n} {}", plural(n)), air, stored.got.goodput, BAND))
    };
    let rows = stored().iter().filter_map(row).collect();
    Table { name: "hwsim-udp", unit: "kernel, Mb/s", source: "`air`, Mb/s", rows }
}

/// The kernel's TCP over its own Wi-Fi beside the same over the air's MAC.
pub(super) fn tcp() -> Table {
    let all = stored();
    let row = |over_air: &Stored| {
        let n = stations(over_air, "tcp-", "-lab")?;
        let kernel = all.iter().find(|row| stations(row, "tcp-", "") == Some(n))?;
        let case = format!("TCP down, {n} {}", plural(n));
        Some(Row::new(case, over_air.got.goodput, kernel.got.goodput, BAND))
    };
    let rows = all.iter().filter_map(row).collect();
    let source = "the kernel's TCP over `air`, Mb/s";
    Table { name: "hwsim-tcp", unit: "kernel, Mb/s", source, rows }
}

/// Goodput beside ns-3, where it was asked and what differs does not show: its rates are fixed, and
/// with many stations the kernel's are not; and TCP of several stations differs by itself.
pub(super) fn beside_ns3() -> Table {
    let row = |stored: &Stored| {
        let udp = stations(stored, "udp-", "").filter(|n| *n <= 2);
        let udp = udp.and_then(|n| Some((n, "UDP up", contention::oracle_54(n)?)));
        let tcp = stations(stored, "tcp-", "").filter(|n| *n == 1);
        let tcp = tcp.and_then(|n| Some((n, "TCP down", ns3::total("tcp-down-54-cubic")?)));
        let (n, what, theirs) = udp.or(tcp)?;
        Some(Row::new(format!("{what}, {n} {}", plural(n)), theirs, stored.got.goodput, BAND))
    };
    let rows = stored().iter().filter_map(row).collect();
    Table { name: "hwsim-ns3", unit: "kernel, Mb/s", source: "ns-3 3.44, Mb/s", rows }
}

/// The kernel's runs over SNR, and the SNR, dB.
fn over_snr() -> Vec<(String, Stored)> {
    let of = |row: Stored| Some((row.name.strip_prefix("snr-")?.to_owned(), row));
    stored().into_iter().filter_map(of).collect()
}

/// Mean rate over SNR, and the means over all of them.
pub(super) fn rates() -> Table {
    let (mut rows, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for (snr, row) in over_snr() {
        let air = simulated(&row, &[], 4);
        rows.push(Row::new(format!("mean rate at {snr} dB"), air.rate, row.got.rate, RATE_BAND));
        ours.push(air);
        theirs.push(row.got);
    }
    let [air, kernel] = [mean(&ours), mean(&theirs)];
    rows.push(Row::new("mean rate, mean of all", air.rate, kernel.rate, RATE_BAND));
    rows.push(Row::new("goodput, mean of all", air.goodput, kernel.goodput, RATE_BAND));
    Table { name: "hwsim-rates", unit: "kernel, Mb/s", source: "`air`, Mb/s", rows }
}

/// What has to be out of the bands: the kernel over the module's own medium, on which nothing takes
/// time, and another rate control.
pub(super) fn controls() -> Table {
    let all = stored();
    let named = |name: &str| all.iter().find(|row| row.name == name);
    let mut rows = Vec::new();
    if let (Some(null), Some(tcp)) = (named("null"), named("tcp-1-lab")) {
        let (above, null) = (tcp.got.goodput * (1.0 + BAND), null.got.goodput);
        rows.push(Row::between("TCP over the module's own medium", (above, above.max(null)), null, 0.0));
    }
    let (kernel, fair): (Vec<Figures>, Vec<Figures>) =
        over_snr().iter().map(|(_, row)| (row.got, simulated(row, &[PACKET_FAIR], 4))).unzip();
    let below = (0.0, mean(&kernel).rate * (1.0 - RATE_BAND));
    rows.push(Row::between("mean rate of `per-packet-fair`, mean of all", below, mean(&fair).rate, 0.0));
    Table { name: "hwsim-controls", unit: "Mb/s", source: "out of the band", rows }
}
