//! Environments: pairs of paths that are known by name, from the sweeps of two scenario files.

use std::path::Path;
use std::sync::LazyLock;

use ropewalk_air::wired::LinkSpec;
use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::Plan;
use ropewalk_sim::build;

/// Files with an axis `environment`, and their texts.
const SIXTEEN: (&str, &str) =
    ("scenarios/bench/sixteen.toml", include_str!("../../../scenarios/bench/sixteen.toml"));
const TARGETS: (&str, &str) =
    ("scenarios/bench/targets.toml", include_str!("../../../scenarios/bench/targets.toml"));

/// Two paths with a name, each the same in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: String,
    /// One direction of paths A and B.
    pub links: [LinkSpec; 2],
}

impl Environment {
    /// The environment of this name, among the sixteen and the three.
    pub fn named(name: &str) -> Option<&'static Environment> {
        sixteen().iter().chain(targets()).find(|e| e.name == name)
    }

    /// Rates of both paths, Mb/s (10⁶ bit/s of IP packets); without a limit: 0.
    pub fn rates_mbps(&self) -> [f64; 2] {
        [0, 1].map(|i| self.links[i].rate.mean_bps().unwrap_or(0) as f64 / 1e6)
    }
}

/// Sixteen pairs that a peer published: a bond must never be slower there than its better path.
pub fn sixteen() -> &'static [Environment] {
    static ALL: LazyLock<Vec<Environment>> = LazyLock::new(|| read(SIXTEEN));
    &ALL
}

/// Three more that figures are asked for.
pub fn targets() -> &'static [Environment] {
    static ALL: LazyLock<Vec<Environment>> = LazyLock::new(|| read(TARGETS));
    &ALL
}

/// The environments of a file, in its order. The files are part of this program and its tests, so what is wrong with them is no error of a run.
fn read((file, text): (&str, &str)) -> Vec<Environment> {
    let wrong = |why: &dyn std::fmt::Display| -> ! { panic!("{file}: {why}") };
    let document = Document::parse(file, text).unwrap_or_else(|e| wrong(&e));
    let plan = Plan::of(&document).unwrap_or_else(|e| wrong(&e));
    let mut all: Vec<Environment> = Vec::new();
    for point in &plan.points {
        let name = point.labels.iter().find(|(axis, _)| axis == "environment").map(|(_, name)| name);
        // The other axis says what the flow goes over; the links are the same.
        let Some(name) = name.filter(|n| all.iter().all(|e| e.name != **n)) else { continue };
        let scenario = plan.scenario(point).unwrap_or_else(|e| wrong(&e));
        let cables = build::link_specs(&scenario, Path::new(".")).unwrap_or_else(|e| wrong(&e));
        let [[a, _], [b, _]] = cables.try_into().unwrap_or_else(|_| wrong(&"an environment has two links"));
        all.push(Environment { name: name.clone(), links: [a, b] });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn path(delay_ms: u64, rate_mbps: f64) -> LinkSpec {
        LinkSpec::new(rate_mbps, Duration::from_millis(delay_ms))
    }

    #[test]
    fn the_files_have_what_figures_were_measured_with() {
        let names: Vec<&str> = sixteen().iter().map(|e| e.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "baseline",
                "rtt_40",
                "rtt_70",
                "rtt_120",
                "rtt_320",
                "jit_5",
                "jit_20",
                "loss_05",
                "loss_2",
                "bw_4to1",
                "bw_10to1",
                "dual_lte",
                "fiber_lte",
                "lte_starlink",
                "lte_geo",
                "congested"
            ]
        );
        let ms = Duration::from_millis;
        let cases = [
            ("baseline", path(20, 50.0), path(20, 50.0)),
            ("rtt_320", path(20, 50.0), path(320, 50.0)),
            ("bw_10to1", path(20, 100.0), path(20, 10.0)),
            ("loss_05", path(20, 50.0).loss_percent(0.5), path(20, 50.0).loss_percent(0.5)),
            ("lte_starlink", path(35, 40.0).jitter(ms(8)), path(50, 100.0).jitter(ms(25)).loss_percent(1.0)),
            ("equal_20", path(10, 20.0), path(10, 20.0)),
            ("unequal_300_80", path(10, 300.0), path(30, 80.0)),
            ("lossy_50", path(20, 50.0).loss_percent(2.0), path(20, 50.0).loss_percent(2.0)),
        ];
        for (name, a, b) in cases {
            assert_eq!(Environment::named(name).map(|e| e.links.clone()), Some([a, b]), "{name}");
        }
        assert_eq!(Environment::named("unequal_300_80").unwrap().rates_mbps(), [300.0, 80.0]);
        assert_eq!(Environment::named("moon"), None);
    }

    #[test]
    fn all_are_possible_and_the_same_both_ways() {
        for environment in sixteen().iter().chain(targets()) {
            environment.links.iter().for_each(|link| link.check().unwrap());
        }
        for file in [SIXTEEN, TARGETS] {
            let plan = Plan::of(&Document::parse(file.0, file.1).unwrap()).unwrap();
            for point in &plan.points {
                let cables = build::link_specs(&plan.scenario(point).unwrap(), Path::new(".")).unwrap();
                assert!(cables.iter().all(|[there, back]| there == back), "{:?}", point.labels);
            }
        }
    }
}
