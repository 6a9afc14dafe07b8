//! Environments: pairs of paths that are known by name.
//!
//! Every figure holds in both directions: a path of 20 ms has a round trip of 40 ms, one of 2 % loses 2 % of the data and
//! 2 % of the acknowledgements, and both directions have the rate.

use std::time::Duration;

use ropewalk_air::wired::LinkSpec;

/// A path, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathSpec {
    /// One-way delay in ms.
    pub delay_ms: f64,
    /// Standard deviation of the delay in ms, drawn for each packet.
    pub jitter_ms: f64,
    /// Random loss in packets of a hundred.
    pub loss_percent: f64,
    /// Rate in Mb/s (10⁶ bit/s of IP packets).
    pub rate_mbps: f64,
}

impl PathSpec {
    const fn new(delay_ms: f64, rate_mbps: f64) -> PathSpec {
        PathSpec { delay_ms, jitter_ms: 0.0, loss_percent: 0.0, rate_mbps }
    }

    const fn jitter(self, jitter_ms: f64) -> PathSpec {
        PathSpec { jitter_ms, ..self }
    }

    const fn loss(self, loss_percent: f64) -> PathSpec {
        PathSpec { loss_percent, ..self }
    }

    /// One direction of it, behind a home router's queue.
    pub fn link(&self) -> LinkSpec {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        LinkSpec::new(self.rate_mbps, ms(self.delay_ms))
            .jitter(ms(self.jitter_ms))
            .loss_percent(self.loss_percent)
    }
}

/// Two paths with a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: &'static str,
    /// Path A.
    pub a: PathSpec,
    /// Path B.
    pub b: PathSpec,
}

impl Environment {
    const fn new(name: &'static str, a: PathSpec, b: PathSpec) -> Environment {
        Environment { name, a, b }
    }

    /// The environment of this name, among the sixteen and the three.
    pub fn named(name: &str) -> Option<&'static Environment> {
        SIXTEEN.iter().chain(&TARGETS).find(|e| e.name == name)
    }

    /// One direction of both paths.
    pub fn links(&self) -> [LinkSpec; 2] {
        [self.a.link(), self.b.link()]
    }
}

const fn path(delay_ms: f64, rate_mbps: f64) -> PathSpec {
    PathSpec::new(delay_ms, rate_mbps)
}

/// Sixteen pairs that a peer published: a bond must never be slower there than its better path.
pub const SIXTEEN: [Environment; 16] = [
    Environment::new("baseline", path(20.0, 50.0), path(20.0, 50.0)),
    Environment::new("rtt_40", path(20.0, 50.0), path(40.0, 50.0)),
    Environment::new("rtt_70", path(20.0, 50.0), path(70.0, 50.0)),
    Environment::new("rtt_120", path(20.0, 50.0), path(120.0, 50.0)),
    Environment::new("rtt_320", path(20.0, 50.0), path(320.0, 50.0)),
    Environment::new("jit_5", path(20.0, 50.0).jitter(5.0), path(20.0, 50.0).jitter(5.0)),
    Environment::new("jit_20", path(20.0, 50.0).jitter(20.0), path(20.0, 50.0).jitter(20.0)),
    Environment::new("loss_05", path(20.0, 50.0).loss(0.5), path(20.0, 50.0).loss(0.5)),
    Environment::new("loss_2", path(20.0, 50.0).loss(2.0), path(20.0, 50.0).loss(2.0)),
    Environment::new("bw_4to1", path(20.0, 50.0), path(20.0, 12.0)),
    Environment::new("bw_10to1", path(20.0, 100.0), path(20.0, 10.0)),
    Environment::new(
        "dual_lte",
        path(30.0, 40.0).jitter(5.0).loss(0.5),
        path(45.0, 25.0).jitter(8.0).loss(0.5),
    ),
    Environment::new("fiber_lte", path(8.0, 300.0), path(40.0, 30.0).jitter(8.0).loss(0.5)),
    Environment::new("lte_starlink", path(35.0, 40.0).jitter(8.0), path(50.0, 100.0).jitter(25.0).loss(1.0)),
    Environment::new("lte_geo", path(35.0, 40.0), path(320.0, 20.0).jitter(20.0).loss(0.5)),
    Environment::new(
        "congested",
        path(50.0, 20.0).jitter(20.0).loss(2.0),
        path(60.0, 15.0).jitter(25.0).loss(2.0),
    ),
];

/// Three more that figures are asked for: 20 + 20 Mb/s at 10 ms; 300 Mb/s at 10 ms + 80 at 30; twice 50 Mb/s at 20 ms with
/// 2 % loss.
pub const TARGETS: [Environment; 3] = [
    Environment::new("equal_20", path(10.0, 20.0), path(10.0, 20.0)),
    Environment::new("unequal_300_80", path(10.0, 300.0), path(30.0, 80.0)),
    Environment::new("lossy_50", path(20.0, 50.0).loss(2.0), path(20.0, 50.0).loss(2.0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_possible_and_have_their_own_names() {
        for environment in SIXTEEN.iter().chain(&TARGETS) {
            environment.links().iter().for_each(|link| link.check().unwrap());
            assert_eq!(Environment::named(environment.name), Some(environment));
        }
        assert_eq!(Environment::named("moon"), None);
    }
}
