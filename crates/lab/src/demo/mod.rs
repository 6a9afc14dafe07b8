//! The demonstration: what a bond does, shown on this machine in a minute.
//!
//! ```text
//!   client                                              gateway
//!   wan1 ───── link A (40 Mb/s, 10 ms one way) ───────── wan1
//!   wan2 ───── link B (20 Mb/s, 30 ms one way) ───────── wan2
//!   rw0  ═══════════════ the bond ══════════════════════ rw0
//! ```
//! Five acts: one TCP flow over link A alone, over link B alone, over the bond; each with a ping beside it. Then a longer
//! flow over the bond, during which link A goes dead without anybody being told, and comes back. Nothing outside the two
//! namespaces is touched, and nothing is left of them.

mod bond;
mod plot;
mod sampler;
mod show;
mod stage;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ropewalk_air::wired::{LinkSpec, Rate};

use crate::{Iperf, Paths, Ping, PingReport, Result, Topology};
use bond::Bond;
pub use sampler::Sample;
use sampler::Sampler;
use stage::Stage;

/// How long a flow over one link, or over the bond, is measured, in seconds.
const FLOW_S: u32 = 8;
/// How long the flow lasts that loses a link, in seconds.
const CUT_FLOW_S: u32 = 18;
/// All of it with pings and the start, for the bar.
const ABOUT_S: u64 = 50;
/// When link A goes dead within it, and when it comes back.
const CUT_AT: Duration = Duration::from_secs(6);
const BACK_AT: Duration = Duration::from_secs(12);
/// A flow's first seconds are its start and say nothing of the bond.
const SETTLED: Duration = Duration::from_secs(2);
/// How often a ping goes beside a flow.
const PING_EVERY: Duration = Duration::from_millis(20);
/// The bond is back where it was when half a second carries this share of what it carried before the cut.
const AS_BEFORE: f64 = 0.9;

/// What to show, and where to leave the picture.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `ropewalk` program.
    pub ropewalk: PathBuf,
    /// The SVG file to write.
    pub out: PathBuf,
    /// The links, A and B.
    pub links: [LinkSpec; 2],
}

impl Options {
    /// The usual demonstration: 40 Mb/s with 10 ms one way beside 20 Mb/s with 30 ms.
    pub fn new(ropewalk: PathBuf, out: PathBuf) -> Options {
        let link = |mbps, ms| LinkSpec::new(mbps, Duration::from_millis(ms));
        Options { ropewalk, out, links: [link(40.0, 10), link(20.0, 30)] }
    }
}

/// One flow over one way, and the pings beside it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Mb/s (10⁶ bit/s) that arrived at the receiver's application.
    pub goodput_mbps: f64,
    /// Round trips with nothing else on the way.
    pub idle: PingReport,
    /// Round trips beside the flow, once it has settled.
    pub loaded: PingReport,
}

/// The flow that loses a link.
#[derive(Debug, Clone)]
pub struct Cut {
    /// What came through over time.
    pub samples: Vec<Sample>,
    /// When link A went dead, in seconds since the flow began.
    pub cut_s: f64,
    /// When it came back.
    pub back_s: f64,
    /// The longest time without anything delivered, from the cut on.
    pub pause: Duration,
    /// Mb/s delivered before the cut, while link A was dead, and in the end.
    pub mbps: [f64; 3],
    /// How long after link A's return the flow was as fast as before, if it was.
    pub recovered_s: Option<f64>,
}

/// All that was measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the links are like.
    pub specs: [LinkSpec; 2],
    /// Link A alone, link B alone, the bond.
    pub ways: [Measured; 3],
    /// The flow that loses link A.
    pub cut: Cut,
    /// Whether the emulated links kept time; if not, the machine was too busy for these figures to mean much.
    pub kept_time: bool,
}

/// Runs the demonstration: shows what goes on and what came out on the terminal, and leaves a picture. Needs root.
///
/// # Errors
/// If this is not root, a program is missing, or the tunnel does not come up.
pub fn run(options: &Options) -> Result<Outcome> {
    Topology::cleanup_stale();
    let outcome = play(options)?;
    plot::write(&outcome, &options.out)?;
    show::outcome(&outcome, &options.out);
    Ok(outcome)
}

fn play(options: &Options) -> Result<Outcome> {
    let stage = Stage::new(ABOUT_S);
    show::links(&stage, &options.links);
    let lab = Paths::symmetric(options.links.clone())?;
    let bond = Bond::start(&options.ropewalk, &lab, &stage)?;
    let a = measure(&lab, &stage, "link A alone", Paths::gateway_address(1), "wan1")?;
    let b = measure(&lab, &stage, "link B alone", Paths::gateway_address(2), "wan2")?;
    let both = measure(&lab, &stage, "the bond", bond.inside(), bond.device())?;
    let cut = cut(&lab, &stage, &bond)?;
    let kept_time = lab.topology.kept_time()?;
    stage.finish();
    Ok(Outcome { specs: options.links.clone(), ways: [a, b, both], cut, kept_time })
}

/// A ping, then a TCP flow with a ping beside it.
fn measure(lab: &Paths, stage: &Stage, name: &str, server: IpAddr, device: &str) -> Result<Measured> {
    stage.begin(&format!("{name}: ping"));
    let idle = Ping::new(server).count(50).interval(PING_EVERY).run(&lab.client)?;
    stage.begin(&format!("{name}: one TCP flow"));
    let flow = Iperf::tcp(server).seconds(FLOW_S).start(&lab.client, &lab.gateway)?;
    let sampler = Sampler::start(lab, device);
    stage.watch(&sampler, SETTLED);
    let left = Duration::from_secs(FLOW_S.into()) - SETTLED;
    let pings = (left.as_millis() / PING_EVERY.as_millis()) as u16;
    let ping = Ping::new(server).count(pings).interval(PING_EVERY).start(&lab.client);
    stage.watch(&sampler, left);
    let goodput_mbps = flow.finish()?.received_mbps;
    let loaded = ping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    sampler.finish()?;
    stage.end(&show::way(name, goodput_mbps, &idle, &loaded));
    Ok(Measured { goodput_mbps, idle, loaded })
}

/// A TCP flow over the bond that loses link A and gets it back.
fn cut(lab: &Paths, stage: &Stage, bond: &Bond) -> Result<Cut> {
    stage.begin("the bond: one TCP flow");
    let flow = Iperf::tcp(bond.inside()).seconds(CUT_FLOW_S).start(&lab.client, &lab.gateway)?;
    let sampler = Sampler::start(lab, bond.device());
    stage.watch(&sampler, CUT_AT);
    let cut_s = sampler.elapsed_s();
    lab.cables[0].set_up(false)?;
    stage.begin("the bond, link A dead");
    stage.watch(&sampler, BACK_AT - CUT_AT);
    let back_s = sampler.elapsed_s();
    lab.cables[0].set_up(true)?;
    stage.begin("the bond, link A back");
    stage.watch(&sampler, Duration::from_secs(CUT_FLOW_S.into()) - BACK_AT);
    let end_s = sampler.elapsed_s();
    flow.finish()?;
    let record = sampler.finish()?;
    let before = record.mean_between(SETTLED.as_secs_f64(), cut_s);
    let recovered = record.first_as_fast(back_s, AS_BEFORE * before);
    let settle = 1.0;
    let cut = Cut {
        pause: record.longest_pause(cut_s, end_s),
        mbps: [
            before,
            record.mean_between(cut_s + settle, back_s),
            record.mean_between(end_s - 2.0 * settle, end_s),
        ],
        recovered_s: recovered.map(|at| at - back_s),
        samples: record.samples(end_s),
        cut_s,
        back_s,
    };
    stage.end(&show::cut(&cut));
    Ok(cut)
}

/// A link as a person calls it: "40 Mb/s, 10 ms".
fn describe(link: &LinkSpec) -> String {
    let rate = match link.rate.mean_bps() {
        Some(bps) => format!("{} Mb/s", bps as f64 / 1e6),
        None => "any rate".to_owned(),
    };
    let traced = if matches!(link.rate, Rate::Traced(_)) { " in the mean" } else { "" };
    format!("{rate}{traced}, {} ms one way", link.delay.as_secs_f64() * 1e3)
}
