//! What has to come out.

use crate::section;
use crate::tree::Node;
use crate::units::Share;
use indexmap::IndexMap;

section! {
    /// A band that a figure has to be in. A run whose figure is outside ends with an exit code of its own, and says which.
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
    /// A ratio to another figure of the same run.
    pub struct Ratio {
        /// The other figure.
        to: String,
        /// It is at least this many times the other.
        min: Option<f64>,
        /// It is at most this many times the other.
        max: Option<f64>,
    }
}
