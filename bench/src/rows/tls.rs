//! `tls`: one steady flow by a path over TLS alone, and by one over UDP and one over TLS at once.

use anyhow::{Context, Result};
use ropewalk_lab::env::Environment;

use super::Outcome;
use super::compare::{Comparison, figure_of, ratio};
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit};
use crate::system::System;

/// Path B is the one that goes by TLS.
const SYSTEMS: [System; 4] = [System::Path(1), System::Path(2), System::Tls, System::UdpAndTls];
const CASES: [(&str, &str); 3] = [
    ("20+20 Mb/s, 10 ms", "equal_20"),
    ("300 Mb/s 10 ms + 80 Mb/s 30 ms", "unequal_300_80"),
    (LOSSY, "lossy_50"),
];
/// Here the flow alone is slow for CUBIC's sake, not for want of TLS: nothing is asked.
const LOSSY: &str = "2 × 50 Mb/s, 20 ms, 2 % loss";
const REPEATS: u32 = 3;

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * (SYSTEMS.len() * CASES.len()) as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let repeats = bench.plan.repeats(REPEATS);
    let seconds = bench.plan.pick(12, 7);
    let case = |(name, environment): &(&str, &str)| -> Result<Case> {
        let environment = Environment::named(environment).context("no such environment")?;
        let label = format!("tls {name}");
        let comparison = Comparison {
            bench,
            label,
            links: &environment.links,
            systems: &SYSTEMS,
            repeats,
            unit: Unit::Mbps,
        };
        let values = comparison
            .run(|site, open| Ok(Sample::of(bench.flow(site, open, seconds)?.steady_mbps(WARM_UP))))?;
        let [a, b, tls, both] = SYSTEMS.map(|system| figure_of(&values, system));
        let sum = a.zip(b).map(|(a, b)| a + b);
        let goal = |least, aim| if *name == LOSSY { Goal::none() } else { Goal::at_least(least, aim) };
        let figures = vec![
            Figure::new("TLS over TCP alone", Unit::Times, ratio(tls, b), [], goal(0.8, 0.95)),
            Figure::new("UDP and TLS over the sum", Unit::Times, ratio(both, sum), [], goal(0.9, 0.96)),
        ];
        Ok(Case { name: (*name).to_owned(), values, figures })
    };
    let cases = CASES.iter().map(case).collect::<Result<Vec<_>>>()?;
    let method = format!(
        "Flows of {seconds} s, of which the first {} do not count. Of path B the gateway's firewall drops UDP, so that the client finds its way by TLS there; \
         alone, or with path A by UDP. TCP under the stream is CUBIC until something is lost, then BBR; the flows are CUBIC: where packets are lost the two are not compared. Median of {repeats}.",
        WARM_UP.as_secs()
    );
    Ok(Outcome { method, cases })
}
