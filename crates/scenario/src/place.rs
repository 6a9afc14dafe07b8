//! Where machines stand whose place is drawn: [`NodeSpec::within`](crate::file::NodeSpec).

use crate::file::Scenario;
use crate::units::Position;
use sha2::{Digest, Sha256};

/// Draws every place that is to be drawn. The same seed and name give the same place whatever else the scenario has, so systems that are
/// compared stand alike; another seed draws anew.
pub(crate) fn settle(scenario: &mut Scenario) {
    let seed = scenario.seed;
    for (name, node) in &mut scenario.node {
        if let [a, b] = node.within[..] {
            let [east, north, up] = draw(seed, name);
            let at = |a: f64, b: f64, share: f64| ((a + (b - a) * share) * 1e6).round() / 1e6;
            let (x_m, y_m, z_m) = (at(a.x_m, b.x_m, east), at(a.y_m, b.y_m, north), at(a.z_m, b.z_m, up));
            node.position = Position { x_m, y_m, z_m };
        }
    }
}

/// Three numbers from 0 to 1.
fn draw(seed: u64, name: &str) -> [f64; 3] {
    let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name).finalize();
    std::array::from_fn(|i| {
        let bytes = hash[4 * i..4 * i + 4].iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        f64::from(bytes) / f64::from(u32::MAX)
    })
}

#[cfg(test)]
mod tests {
    use crate::Document;

    #[test]
    fn places_are_drawn_by_seed_and_name() {
        let text = "duration = \"1s\"\n[node.a]\nwithin = [[10, 0], [30, 5]]\n[node.b]\nwithin = [[10, 0], [30, 5]]\n[node.c]\n";
        let places = |seed: u64| {
            let mut document = Document::parse("s.toml", text).unwrap();
            document.set_text(&format!("seed={seed}")).unwrap();
            let all = document.scenario().unwrap().node;
            all.into_iter().map(|(_, n)| [n.position.x_m, n.position.y_m]).collect::<Vec<_>>()
        };
        assert_eq!(places(1), places(1));
        let mut mean = [0.0, 0.0];
        for seed in 0..400 {
            let [a, b, c] = places(seed)[..] else { panic!("three machines") };
            assert!((10.0..=30.0).contains(&a[0]) && (0.0..=5.0).contains(&a[1]));
            assert_ne!(a, b);
            assert_eq!(c, [0.0, 0.0]);
            mean = [mean[0] + a[0] / 400.0, mean[1] + a[1] / 400.0];
        }
        // The mean of 400 uniform draws: four standard errors are 1.2 m and 0.3 m here.
        assert!((mean[0] - 20.0).abs() < 1.2 && (mean[1] - 2.5).abs() < 0.3, "{mean:?}");
    }
}
