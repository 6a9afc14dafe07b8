//! What has to come out.

use crate::choice;
use crate::section;
use crate::tree::Node;
use crate::units::Share;
use indexmap::IndexMap;

choice! {
    /// Whose figure has to be in the band.
    pub enum Over {
        /// Every run's own.
        Each = "each",
        /// The mean over the seeds of a point of a sweep.
        Mean = "mean",
        /// Their median.
        Median = "median",
        /// Every run's own, but for so many seeds as `share` leaves.
        Share = "share",
    }
}

section! {
    /// A band that a figure has to be in. A run whose figure is outside ends with an exit code of its own, and says which.
    /// With `over`, what is judged are the seeds of each point of a sweep together; a single run then says nothing of it.
    pub struct Expect {
        /// Which figure: `flow.NAME.goodput_mbps`, or of several `sum(flow.*.goodput_mbps)`; also `mean`, `min`, `max` and `jain`, the
        /// fairness index. The guide lists all figures.
        metric: String,
        /// It is at least this.
        min: Option<f64>,
        /// It is at most this.
        max: Option<f64>,
        /// It is this, but for a tolerance.
        within: Option<Within>,
        /// It has a ratio to another figure.
        ratio: Option<Ratio>,
        /// Whose figure has to be in the band.
        over: Over = Over::Each,
        /// With `over = "share"`: at least this share of the seeds has to be in the band.
        share: Option<Share>,
        /// With `over`: not only the figure has to be in the band, but all of its confidence interval: of the mean by Student's distribution, of the
        /// median by the order of the runs, of a share its lower bound by Clopper and Pearson. `"95%"` is usual.
        confidence: Option<Share>,
        /// In a sweep: only at points where the axes have these labels.
        when: IndexMap<String, Node>,
    }
}

section! {
    /// A value with a tolerance.
    pub struct Within {
        /// The value.
        of: f64,
        /// How far it may be away, as a share of the value.
        tolerance: Share,
    }
}

section! {
    /// A ratio to another figure of the same run; over seeds, the ratios of single runs are what is judged.
    pub struct Ratio {
        /// The other figure.
        to: String,
        /// It is at least this many times the other.
        min: Option<f64>,
        /// It is at most this many times the other.
        max: Option<f64>,
    }
}
