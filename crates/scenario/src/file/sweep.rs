//! What is recorded, and the runs of a sweep.

use crate::field::{Field, Form, Reader};
use crate::section;
use crate::tree::{Node, Value};
use indexmap::IndexMap;
use std::time::Duration;

section! {
    /// What is recorded besides the totals.
    pub struct Measure {
        /// Keep a time series with a row each so often. If not said, none.
        interval: Option<Duration>,
    }
}

section! {
    /// The runs of `ropewalk sim sweep`: every combination of the axes, each with every seed.
    pub struct Sweep {
        /// Seeds: a number of them, counted up from `seed`, or a list.
        seeds: Seeds = Seeds::Count(1),
        /// The axes; the last changes fastest.
        axis: Vec<Axis>,
    }
}

section! {
    /// One thing that is varied: either `key` and `values`, or `cases`.
    pub struct Axis {
        /// What to call it in tables and figures. If not said, the last word of `key`.
        name: Option<String>,
        /// The key that is varied, dotted, as `--set` takes it: `node.ap.radio.r0.width`, `flow.down.rate`. A `*` in place of a name means
        /// all of them.
        key: Option<String>,
        /// Its values.
        values: Vec<Node>,
        /// Cases by name, each with the keys that it sets.
        cases: IndexMap<String, IndexMap<String, Node>>,
    }
}

/// Which seeds a sweep runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Seeds {
    /// So many, counted up from the scenario's own.
    Count(u32),
    /// These.
    List(Vec<u64>),
}

impl Seeds {
    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Seeds::Count(n) => *n as usize,
            Seeds::List(list) => list.len(),
        }
    }
}

impl Field for Seeds {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.value {
            Value::List(_) => Vec::read(node, reader).map(Seeds::List),
            _ => u32::read(node, reader).map(Seeds::Count),
        }
    }
    fn write(&self) -> Option<toml::Value> {
        match self {
            Seeds::Count(n) => n.write(),
            Seeds::List(list) => list.write(),
        }
    }
    fn form() -> Form {
        Form::one("a number of seeds such as `5`, or a list such as `[1, 7]`")
    }
}

section! {
    /// A chart.
    pub struct Figure {
        /// The name of its file.
        name: String,
        /// What it says above. If not said, the scenario's title.
        title: Option<String>,
        /// The axis of the sweep that goes to the right, or `time` for the time series of a run.
        x: String,
        /// The figures that go up, as in `expect`; with several, a line for each.
        y: Vec<String>,
        /// Another axis of the sweep: a line for each of its values.
        by: Option<String>,
    }
}
