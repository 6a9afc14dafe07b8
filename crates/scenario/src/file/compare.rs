//! How far two reports of the scenario may be apart.

use crate::section;
use crate::units::Share;

section! {
    /// How far a figure of two runs of this file, one in the simulator and one in the lab, may be apart (`ropewalk compare`). Without any such table
    /// the goodput of every flow is compared, within 15 %.
    pub struct Compare {
        /// Which figures: `flow.*.goodput_mbps`; `*` stands for any characters of a row's name. Also `sum(…)` and the like, as in `expect`.
        metric: String,
        /// How far the second may be from the first, as a share of the first.
        tolerance: Share,
        /// So far apart they may always be, in the figure's unit: for figures near nothing.
        slack: f64 = 0.0,
    }
}
