//! The rows of the table of targets, a file for each kind.

mod added_rtt;
mod back;
mod backhaul;
mod bunch;
mod call;
mod ceiling;
mod compare;
mod cores;
mod crowd;
mod dual_band;
mod environments;
mod failover;
mod flapping;
mod fleet;
mod latency;
mod memory;
mod million;
mod pages;
mod rivals;
mod short;
mod sim;
mod simulated;
mod sums;
mod throughput;
mod tls;
mod udp;

use std::time::Instant;

use anyhow::{Context, Result};

use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, RowReport};

/// What a row's measurements gave.
pub(crate) struct Outcome {
    /// How it was measured.
    pub method: String,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// A row.
pub struct Row {
    /// Its name on the command line; stable.
    pub name: &'static str,
    /// What it measures.
    pub what: &'static str,
    /// It measures the binary `ropewalk`, not this program's own code.
    pub by_binary: bool,
    measurements: fn(&Plan) -> u64,
    run: fn(&Bench) -> Result<Outcome>,
}

/// All rows, in the order of the table.
pub const ALL: [Row; 29] = [
    Row {
        name: "equal",
        what: "one CUBIC flow over 20+20 Mb/s, 10 ms one way",
        by_binary: true,
        measurements: sums::measurements,
        run: sums::equal,
    },
    Row {
        name: "unequal",
        what: "one CUBIC flow over 300 Mb/s 10 ms + 80 Mb/s 30 ms",
        by_binary: true,
        measurements: sums::measurements,
        run: sums::unequal,
    },
    Row {
        name: "environments",
        what: "one CUBIC flow in sixteen environments",
        by_binary: true,
        measurements: environments::tcp_measurements,
        run: environments::tcp,
    },
    Row {
        name: "quic",
        what: "one QUIC flow, reordering threshold 3, in sixteen environments",
        by_binary: true,
        measurements: environments::quic_measurements,
        run: environments::quic,
    },
    Row {
        name: "lossy",
        what: "one CUBIC flow over 2 × 50 Mb/s, 20 ms one way, 2 % random loss",
        by_binary: true,
        measurements: sums::measurements,
        run: sums::lossy,
    },
    Row {
        name: "latency",
        what: "what load adds to a ping: p99 in a saturated bond over the idle round trip",
        by_binary: true,
        measurements: latency::measurements,
        run: latency::run,
    },
    Row {
        name: "failover",
        what: "longest stall of one flow when one of two paths dies silently, 2 × 50 Mb/s, 20 ms round trip",
        by_binary: true,
        measurements: failover::measurements,
        run: failover::run,
    },
    Row {
        name: "flapping",
        what: "one flow while paths of 20 Mb/s go away for 0.3 s again and again: two in turn, and one alone",
        by_binary: true,
        measurements: flapping::flapping_measurements,
        run: flapping::flapping,
    },
    Row {
        name: "blockage",
        what: "one flow over 240 and 70 Mb/s while the faster path goes away for 1 s in each 5 s",
        by_binary: true,
        measurements: flapping::blockage_measurements,
        run: flapping::blockage,
    },
    Row {
        name: "dual-band",
        what: "one flow over 60 GHz and 5 GHz at an eighth of their rates, in the live lab",
        by_binary: true,
        measurements: dual_band::live_measurements,
        run: dual_band::live,
    },
    Row {
        name: "dual-band-causes",
        what: "the same at full rate under each cause that made the paper's runs late, over many seeds, simulated",
        by_binary: true,
        measurements: dual_band::causes_measurements,
        run: dual_band::causes,
    },
    Row {
        name: "short",
        what: "downloads of 10 kB to 10 MB in sixteen environments, simulated",
        by_binary: true,
        measurements: short::measurements,
        run: short::run,
    },
    Row {
        name: "pages",
        what: "web pages of 80 objects over twelve connections, and a call of 4 Mb/s beside them",
        by_binary: true,
        measurements: pages::measurements,
        run: pages::run,
    },
    Row {
        name: "return",
        what: "until one flow has the sum again after a path came back, simulated",
        by_binary: true,
        measurements: back::measurements,
        run: back::run,
    },
    Row {
        name: "rivals",
        what: "the bond's share of a path beside foreign TCP, simulated",
        by_binary: true,
        measurements: rivals::measurements,
        run: rivals::run,
    },
    Row {
        name: "call",
        what: "a call over paths that lose in bursts: what comes too late, simulated",
        by_binary: true,
        measurements: call::measurements,
        run: call::run,
    },
    Row {
        name: "udp",
        what: "UDP at 90 % of the sum of rates: loss and reordering",
        by_binary: true,
        measurements: udp::measurements,
        run: udp::run,
    },
    Row {
        name: "throughput",
        what: "one TCP flow over an unshaped veth pair",
        by_binary: true,
        measurements: throughput::measurements,
        run: throughput::run,
    },
    Row {
        name: "ceiling",
        what: "the bond beside a bare relay: one flow over a veth pair, and processor time over a path that is full",
        by_binary: true,
        measurements: ceiling::measurements,
        run: ceiling::run,
    },
    Row {
        name: "cores",
        what: "a gateway's second loop: eight clients by two over one, and a neighbour that floods the other loop",
        by_binary: true,
        measurements: cores::measurements,
        run: cores::run,
    },
    Row {
        name: "tls",
        what: "one CUBIC flow by TLS on TCP alone, and by UDP and TLS at once",
        by_binary: true,
        measurements: tls::measurements,
        run: tls::run,
    },
    Row {
        name: "added-rtt",
        what: "round trip that an idle tunnel adds to a bare veth pair, median",
        by_binary: true,
        measurements: added_rtt::measurements,
        run: added_rtt::run,
    },
    Row {
        name: "memory",
        what: "a gateway with 1,000 idle clients, and how fast it lets them in",
        by_binary: true,
        measurements: memory::measurements,
        run: memory::run,
    },
    Row {
        name: "crowd",
        what: "a gateway with 10,000 clients: at rest, all of them back at once, 1,000 of them with 1 Mb/s each",
        by_binary: true,
        measurements: crowd::measurements,
        run: crowd::run,
    },
    Row {
        name: "fleet",
        what: "each part of a fleet killed at each step of a client's life: what is given twice, or lost",
        by_binary: false,
        measurements: fleet::measurements,
        run: fleet::run,
    },
    Row {
        name: "million",
        what: "a million clients in a fleet's etcd: what a gateway's start, copy and calls cost then",
        by_binary: false,
        measurements: million::measurements,
        run: million::run,
    },
    Row {
        name: "backhaul",
        what: "two Wi-Fi links of an access point and a repeater over the sum of each alone, simulated",
        by_binary: true,
        measurements: backhaul::measurements,
        run: backhaul::run,
    },
    Row {
        name: "bunch-gateway",
        what: "packets that one core of a bunch's gateway puts together, for one home and many",
        by_binary: false,
        measurements: bunch::measurements,
        run: bunch::run,
    },
    Row {
        name: "sim",
        what: "the simulator's speed, beside ns-3 if ROPEWALK_NS3 names a Python with its wheel",
        by_binary: false,
        measurements: sim::measurements,
        run: sim::run,
    },
];

impl Row {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Row> {
        ALL.iter().find(|row| row.name == name)
    }

    /// How many measurements it makes.
    pub fn measurements(&self, plan: &Plan) -> u64 {
        (self.measurements)(plan)
    }

    /// Makes them.
    ///
    /// # Errors
    /// If the lab cannot be built. A measurement that fails is a case without a figure, no error.
    pub fn run(&self, bench: &Bench) -> Result<RowReport> {
        let began = Instant::now();
        let outcome = (self.run)(bench).with_context(|| format!("row {}", self.name))?;
        let took_s = began.elapsed().as_secs_f64();
        Ok(RowReport {
            name: self.name,
            what: self.what,
            method: outcome.method,
            took_s,
            cases: outcome.cases,
        })
    }
}
