//! Probing where the delay jitters by more than the queue that is targeted.
//!
//! There the absolute reading says little, yet the *answer* to a probe is plain: a probe that the
//! link takes does not lengthen the delay, and one that it does not take lengthens it by just what
//! was added. So every second or two the path sends a little faster for two intervals and watches.
//! If the delay grows by less than half of what was added the link has room, and the probe goes on,
//! harder. If not, what was added is drained again, and a little more, so that an unseen queue
//! cannot build up over many such cycles.

use super::steady::Inputs;

/// Intervals from one probe to the next: from few, after a probe that found room, to more, each time
/// none is found.
const LEAST_REST: u32 = 2;
const MOST_REST: u32 = 10;
/// A first probe adds a queue of this many times the noise, if the link has no room: enough to be seen.
const VISIBLE: f64 = 2.0;
const LEAST_PROBE_GAIN: f64 = 0.04;
/// Drained beyond what was added, in noises.
const EXTRA: f64 = 1.5;
const FIRST_PROBE_GAIN: f64 = 0.25;
/// Once there is room.
const FULL_PROBE_GAIN: f64 = 0.75;
/// So much more loss than usual while probing means a full queue.
const NEW_LOSS: f64 = 0.05;
/// Deepest drain.
const LEAST_GAIN: f64 = 0.6;

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// So many more intervals as the law says.
    Rest(u32),
    /// Pushing at a gain since the delay read `before`.
    Probe { gain: f64, before: f64, intervals: u32, added: [f64; 3] },
    /// Seconds of queue still to drain.
    Drain(f64),
}

#[derive(Clone, Debug)]
pub(super) struct JitterProbe {
    stage: Stage,
    /// Reading of the last intervals, smoothed.
    level: Option<f64>,
    rest: u32,
}

impl JitterProbe {
    pub(super) fn new() -> Self {
        JitterProbe { stage: Stage::Rest(1), level: None, rest: LEAST_REST }
    }

    /// A queue of somebody else's, or a change: start over.
    pub(super) fn interrupt(&mut self) {
        self.stage = Stage::Rest(self.rest);
    }

    /// End of a monitor interval: the gain for the next, or `None` where the ordinary law should
    /// decide.
    pub(super) fn step(&mut self, i: &Inputs<'_>) -> Option<f64> {
        let reading = i.report.queue;
        let level = self.level.map_or(reading, |l| l + (reading - l) * 0.3);
        self.level = Some(level);
        let noise = i.delay.noise();
        match self.stage {
            Stage::Rest(0) if i.report.app_limited => None,
            Stage::Rest(0) => {
                let probe = (VISIBLE * noise / i.interval()).clamp(LEAST_PROBE_GAIN, FIRST_PROBE_GAIN);
                let gain =
                    1.0 + if i.probe_allowed && !i.loss.is_policed() { probe } else { LEAST_PROBE_GAIN };
                self.stage = Stage::Probe { gain, before: level, intervals: 0, added: [0.0; 3] };
                Some(gain)
            }
            Stage::Rest(intervals) => {
                self.stage = Stage::Rest(intervals - 1);
                None
            }
            Stage::Probe { gain, before, intervals, added } => {
                // What was added in this interval shows in the one after the next.
                let now = added[0] + (gain - 1.0) * i.report.span;
                let added = [now, added[0], added[1]];
                self.probe(i, gain, before, intervals + 1, added)
            }
            Stage::Drain(left) => Some(self.drain(i, left)),
        }
    }

    fn probe(
        &mut self,
        i: &Inputs<'_>,
        gain: f64,
        before: f64,
        intervals: u32,
        added: [f64; 3],
    ) -> Option<f64> {
        let visible = added[2].max(added[1] / 2.0);
        let grown = i.report.queue - before;
        let noise = i.delay.noise();
        let filled = match visible > noise {
            true => grown > 0.5 * visible + 0.5 * noise,
            false => grown > visible + 2.0 * noise,
        } || i.loss_now() > i.loss.made_up() + NEW_LOSS;
        if i.report.app_limited {
            // The flows had nothing to probe with: that tells nothing, and what was added has gone.
            self.stage = Stage::Rest(1);
            return None;
        }
        if filled {
            self.rest = if intervals > 4 { LEAST_REST } else { (2 * self.rest).min(MOST_REST) };
            // Room that was found first took part of it; the delay says how much it did not take.
            let queue = grown.max(added[0] - added[2]).min(added[0]);
            return Some(self.drain(i, queue + EXTRA * noise));
        }
        let (gain, before, added) = match intervals {
            0..=2 => (gain, before, added),
            _ if !i.probe_allowed || i.loss.is_policed() => (1.0 + LEAST_PROBE_GAIN, before, added),
            // There is room: measure from here on.
            _ => (
                1.0 + FULL_PROBE_GAIN,
                before.max(self.level.unwrap_or(before)),
                [added[0] - added[2], added[1] - added[2], 0.0],
            ),
        };
        self.stage = Stage::Probe { gain, before, intervals, added };
        Some(gain)
    }

    fn drain(&mut self, i: &Inputs<'_>, left: f64) -> f64 {
        let gain = (1.0 - left / i.interval()).clamp(LEAST_GAIN, 1.0);
        let left = left - (1.0 - gain) * i.interval();
        self.stage = if left > 0.001 { Stage::Drain(left) } else { Stage::Rest(self.rest) };
        gain
    }
}
