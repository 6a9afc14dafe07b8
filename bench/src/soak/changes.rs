//! What happens to the paths during a soak: one thing after the other, on one path at a time, so that a path is always
//! there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use ropewalk_air::wired::{Loss, Rate};
use ropewalk_lab::{Direction, Paths};

use crate::site::Site;
use crate::system::Bond;

/// Between two changes, s.
const PAUSE_S: std::ops::Range<f64> = 1.0..6.0;
/// How long one lasts, s.
const LASTS_S: std::ops::Range<f64> = 0.1..4.0;
/// How often is looked whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// What may happen.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Nothing passes.
    Cut(Direction),
    /// Another rate, Mb/s.
    Rate(f64),
    /// Another share of lost packets, of a hundred.
    Loss(f64),
    /// `ropewalk path remove`, and `add` again.
    Removed,
    /// The client's interface goes down, and up again.
    InterfaceDown,
}

/// Changes the paths until it is over; gives how often.
pub(super) fn run(site: &Site, bond: &Bond, seed: u64, over: &AtomicBool) -> Result<u64> {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut done = 0;
    while wait(dice.random_range(PAUSE_S), over) {
        let path = dice.random_range(1..=site.paths);
        let change = draw(&mut dice);
        change.begin(site, bond, path)?;
        wait(dice.random_range(LASTS_S), over);
        change.end(site, bond, path)?;
        done += 1;
    }
    Ok(done)
}

/// Sleeps; false if it is over.
fn wait(seconds: f64, over: &AtomicBool) -> bool {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < until && !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    !over.load(Ordering::Relaxed)
}

fn draw(dice: &mut StdRng) -> Change {
    let all = [
        Change::Cut(Direction::Both),
        Change::Cut(Direction::Forward),
        Change::Cut(Direction::Backward),
        Change::Rate(dice.random_range(5.0..150.0)),
        Change::Loss(dice.random_range(2.0..15.0)),
        Change::Removed,
        Change::InterfaceDown,
    ];
    *all.choose(dice).unwrap_or(&Change::Removed)
}

impl Change {
    fn begin(self, site: &Site, bond: &Bond, path: u64) -> Result<()> {
        let cable = &site.lab.cables[path as usize - 1];
        match self {
            Change::Cut(direction) => cable.set_direction_up(direction, false)?,
            Change::Rate(mbps) => cable.set_rate(Direction::Both, Rate::mbps(mbps))?,
            Change::Loss(percent) => cable.set_loss(Direction::Both, Loss::percent(percent))?,
            Change::Removed => bond.remove_path(site, path)?,
            Change::InterfaceDown => {
                site.lab.client.ip(&[format!("link set {} down", Paths::interface(path))])?;
            }
        }
        Ok(())
    }

    /// Takes it back.
    fn end(self, site: &Site, bond: &Bond, path: u64) -> Result<()> {
        let cable = &site.lab.cables[path as usize - 1];
        let link = &super::links()[path as usize - 1];
        match self {
            Change::Cut(direction) => cable.set_direction_up(direction, true)?,
            Change::Rate(_) => cable.set_rate(Direction::Both, link.rate.clone())?,
            Change::Loss(_) => cable.set_loss(Direction::Both, link.loss)?,
            Change::Removed => bond.add_path(site, path)?,
            Change::InterfaceDown => {
                site.lab.client.ip(&[format!("link set {} up", Paths::interface(path))])?;
            }
        }
        Ok(())
    }
}
