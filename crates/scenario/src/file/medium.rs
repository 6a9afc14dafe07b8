//! What all radios share: how signals fade with distance and time, and who disturbs.

use crate::units::{Db, Dbm, Position};
use crate::{choice, section};
use std::time::Duration;

choice! {
    /// What decides who sends when, and what arrives.
    pub enum MediumModel {
        /// IEEE 802.11: contention, rates, errors.
        Wifi = "802.11",
        /// No 802.11: radios of a channel take turns by weighted fair queueing, each packet takes its radio's `packet-time`, and nothing
        /// is lost but what finds the queue full: the model of the multi-AP paper.
        WeightedFair = "weighted-fair",
    }
}

section! {
    /// What all radios share. Channels are apart by themselves, as far as their frequencies are.
    pub struct Medium {
        /// What decides who sends when. The abstract model is for outcomes of contention that are set by hand; it knows no distance, rates,
        /// frames or priorities, and keys about those are refused with it.
        model: MediumModel = MediumModel::Wifi,
        /// How a signal weakens with distance.
        path_loss: PathLoss,
        /// Pairs of radios whose path loss is given rather than worked out.
        loss: Vec<PairLoss>,
        /// Standard deviation of the lasting difference between pairs of radios (walls, furniture), drawn once per pair. 0, because a
        /// figure that depends on luck needs many seeds.
        shadowing: Db = Db(0.0),
        /// How a signal comes and goes with time.
        fading: Fading,
        /// Pairs of radios that people walk through, 60 GHz most of all.
        blockage: Vec<PairBlockage>,
        /// When a stronger frame takes a receiver from a weaker one.
        capture: Capture,
        /// How many times slower everything goes on the air, 1 to 1000: with 8 radios carry an
        /// eighth, and all that they do takes eight times as long, intervals, pauses and figures of
        /// this file about them included. With rates and delays of cables to match, a path has the
        /// same bandwidth-delay product in packets, at rates that a machine carries in the lab;
        /// timers of TCP and of bonds, and times of events, stay what they are.
        time_dilation: u16 = 1,
    }
}

section! {
    /// When a stronger frame takes a receiver from a weaker one that came before.
    pub struct Capture {
        /// It happens at all.
        enabled: bool = true,
        /// How long after the first frame's start the second may come: the training fields of OFDM, as in ns-3.
        window: Duration = Duration::from_micros(16),
        /// By how much it must be stronger. As in ns-3.
        margin: Db = Db(5.0),
        /// The same for a frame that comes after the window. If not said, it never takes the receiver, as in ns-3; a testbed (Lee et al., 2007)
        /// saw it from about 10 dB on.
        late_margin: Option<Db>,
    }
}

choice! {
    /// How a signal weakens with distance.
    pub enum PathLossModel {
        /// By the logarithm of the distance.
        LogDistance = "log-distance",
        /// Only as `medium.loss` says; pairs that are not listed do not hear each other.
        Matrix = "matrix",
    }
}

section! {
    /// How a signal weakens with distance: reference-loss + 10 · exponent · log10(metres).
    pub struct PathLoss {
        /// Which model.
        model: PathLossModel = PathLossModel::LogDistance,
        /// 2 is free space, 3 indoors; 3 is also what ns-3 takes, which our figures are held against.
        exponent: f64 = 3.0,
        /// At 1 m: 46.68 dB is free space at 5.15 GHz. The default suits 5 GHz; free space is 40.05 dB at 2.4 GHz and 68.0 dB at 60 GHz.
        reference_loss: Db = Db(46.6777),
    }
}

section! {
    /// The path loss between two radios, in both directions.
    pub struct PairLoss {
        /// Two radios as `node:radio`, or two nodes if each has one radio.
        between: Vec<String>,
        /// The loss.
        loss: Db,
    }
}

section! {
    /// People who walk through the line between two radios at times drawn from the seed: clear and blocked times take turns, both
    /// exponentially distributed. Radios with sector antennas train anew when somebody comes or goes, which cuts the pair for a sweep.
    pub struct PairBlockage {
        /// Two radios as `node:radio`, or two nodes if each has one radio.
        between: Vec<String>,
        /// Mean time with nobody in the way, from 1 ms.
        clear: Duration,
        /// Mean time with somebody in the way, from 1 ms. 300 ms is one walker (measured: 0.2 to 0.4 s).
        blocked: Duration = Duration::from_millis(300),
        /// What a body takes away: 15 to 30 dB at 60 GHz (IEEE 802.11-09/0334r8).
        loss: Db = Db(20.0),
    }
}

choice! {
    /// How a signal comes and goes.
    pub enum FadingModel {
        /// It does not.
        None = "none",
        /// No direct sight: the power is exponentially distributed.
        Rayleigh = "rayleigh",
        /// A direct ray and scattered ones.
        Rician = "rician",
    }
}

section! {
    /// How a signal comes and goes with time, for each pair of radios by itself.
    pub struct Fading {
        /// Which model. None, because a figure that depends on luck needs many seeds.
        model: FadingModel = FadingModel::None,
        /// Rician only: how much stronger the direct ray is than all scattered ones together.
        k_factor: Db = Db(6.0),
        /// After this time the fading has changed. 20 ms is a walking person at 5 GHz.
        coherence: Duration = Duration::from_millis(20),
    }
}

section! {
    /// A source of energy that is no radio of the scenario: a microwave oven, a camera, a foreign network.
    pub struct Interferer {
        /// What to call it.
        name: String,
        /// Where it stands.
        position: Position = Position::default(),
        /// The channel it disturbs.
        channel: u16,
        /// Width of what it sends, MHz.
        width: u16 = 20,
        /// What it sends with.
        power: Dbm = Dbm(16.0),
        /// How long it sends at a time.
        on: Duration,
        /// How long it is silent between. 0: it never stops.
        off: Duration = Duration::ZERO,
        /// Draw both times from exponential distributions with these means, rather than keeping to them.
        random: bool = false,
        /// It looks like Wi-Fi: radios defer to it as to a frame they cannot decode, from their preamble threshold on, not only from
        /// the energy threshold.
        wifi: bool = false,
        /// When it is switched on.
        start: Duration = Duration::ZERO,
        /// When it is switched off; if not said, at the end.
        stop: Option<Duration>,
    }
}
