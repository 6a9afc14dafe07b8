//! A queue that is shorter than what is to wait in it.
//!
//! A path that delivers in lumps is full only while several of them wait ([`super::delay`]). Where
//! its queue ends before that, it never comes to its target, and what it drops looks like random
//! loss, which is made up for. So loss beyond chance, interval after interval, while much waits for
//! the sake of lumps, means that less may wait.

use super::steady::Inputs;

/// Loss beyond what is known, and so many standard deviations of chance: part of all packets.
const LOSS: f64 = 0.01;
const CHANCE: f64 = 3.0;
/// So many intervals in a row of it are no burst of random loss.
const INTERVALS: u32 = 3;
/// The queue is then at least at this part of its target.
const FILLED: f64 = 0.5;

/// How long such loss has lasted.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflow {
    intervals: u32,
}

/// What the loss of an interval was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Random, as far as one sees.
    Random,
    /// Perhaps the queue's.
    Suspected,
    /// The queue's.
    Full,
}

impl Overflow {
    /// Takes in a monitor interval of packets with `mtu` bytes.
    pub(super) fn on_interval(&mut self, i: &Inputs<'_>, mtu: f64) -> Verdict {
        let packets = (i.report.acked + i.report.lost) / mtu;
        let known = i.loss.made_up();
        let chance = CHANCE * (known.max(LOSS) / packets.max(1.0)).sqrt();
        let lossy = i.loss_now() > known + LOSS + chance;
        let filled = i.delay.latest() > FILLED * i.target();
        if !(lossy && filled && i.delay.waits_for_lumps(i.base_target)) {
            self.intervals = 0;
            return Verdict::Random;
        }
        self.intervals += 1;
        if self.intervals < INTERVALS {
            return Verdict::Suspected;
        }
        self.intervals = 0;
        Verdict::Full
    }
}
