//! What a run leaves behind: a table for each kind of thing, a time series, and where all of it comes from.
//!
//! Every figure has a name, `TABLE.ROW.COLUMN`, such as `flow.down.goodput_mbps`: expectations, charts, tables on the terminal and
//! columns of CSV files all call it so. Rows are named after the scenario: a flow by its name, a radio as `node:radio`.

mod metric;
mod rows;

pub use metric::{Aggregate, Metric, MetricError};
pub use rows::{
    BondRow, BunchRow, CpuRow, FlowRow, InterfaceRow, LinkRow, PathRow, RadioRow, RoamRow, StationRow,
    SubflowRow,
};

use serde::{Deserialize, Serialize};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub doc: &'static str,
    /// Its numbers are whole.
    pub whole: bool,
    /// A row may have nothing there.
    pub optional: bool,
}

/// A row of a table.
pub trait Row {
    /// The table's name.
    const TABLE: &'static str;
    /// What the rows are.
    const DOC: &'static str;
    /// Columns with text, after the name.
    const TEXTS: &'static [Column];
    /// Columns with numbers.
    const NUMBERS: &'static [Column];
    /// The row's name.
    fn name(&self) -> &str;
    /// As [`Row::TEXTS`].
    fn texts(&self) -> Vec<&str>;
    /// As [`Row::NUMBERS`]; none where there is nothing to say.
    fn numbers(&self) -> Vec<Option<f64>>;
}

/// Where results come from: with this, anyone can make them again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The scenario's title.
    pub title: String,
    /// The scenario file, as it was named.
    pub file: String,
    /// [`Scenario::hash`](crate::Scenario::hash) of what was run, settings of the command line and the sweep included.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// In a sweep: the axes with their labels.
    pub point: Vec<(String, String)>,
    /// Version of the program.
    pub version: String,
    /// Length of the run, seconds.
    pub duration_s: f64,
    /// Figures count from here, seconds.
    pub warmup_s: f64,
    /// Hash of all that arrived anywhere, and when: equal runs have equal ones.
    pub trace: String,
    /// Events that the simulator worked through.
    pub events: u64,
    /// The lab: how it kept time. None: the run was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabTime>,
}

/// How a run in real time kept it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabTime {
    /// Packets that the lab delivered.
    pub packets: u64,
    /// How late half, 99 of 100, and 999 of 1000 of them were at most, after they were due, and the latest, µs.
    pub late_us: [f64; 4],
    /// What 99 of 100 may be late for the run to count, µs.
    pub bound_us: f64,
    /// Of one processor's time, what the thread that moves packets worked.
    #[serde(default)]
    pub load: f64,
    /// What was forecast of that before the run, if it was.
    #[serde(default)]
    pub forecast: Option<f64>,
    /// Share of the machine's processor time that nobody used while the run counted.
    #[serde(default)]
    pub idle: Option<f64>,
    /// The machine, if its time was virtual.
    #[serde(default)]
    pub machine: Option<String>,
    /// Why the figures may not be used, a sentence each; none if they may.
    pub invalid: Vec<String>,
}

/// How far a figure of two reports may be apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Which figure, or figures.
    pub metric: String,
    /// As a share of the first report's.
    pub tolerance: f64,
    /// In the figure's unit; whichever is more.
    pub slack: f64,
}

/// Figures at regular times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Time between rows, seconds.
    pub interval_s: f64,
    /// Names of figures, `TABLE.ROW.COLUMN`.
    pub columns: Vec<String>,
    /// A row for each interval that ended: its values in the order of the columns.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// What a run leaves behind. Figures count from the end of the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where it comes from.
    pub provenance: Provenance,
    /// How far another report of the scenario may be from this one, as its file says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// Flows.
    pub flow: Vec<FlowRow>,
    /// Subflows of MPTCP flows.
    pub subflow: Vec<SubflowRow>,
    /// Who sent to whom by radio.
    pub station: Vec<StationRow>,
    /// Stations of clients of several access points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roam: Vec<RoamRow>,
    /// Radios.
    pub radio: Vec<RadioRow>,
    /// Processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<CpuRow>,
    /// Interfaces.
    pub interface: Vec<InterfaceRow>,
    /// Directions of links, with their queues.
    pub link: Vec<LinkRow>,
    /// Bonds.
    pub bond: Vec<BondRow>,
    /// Paths of bonds.
    pub path: Vec<PathRow>,
    /// Access points of bunches.
    pub bunch: Vec<BunchRow>,
    /// The time series, if one was asked for.
    pub series: Series,
}

impl Band {
    /// The bands that a scenario's file gives; if it gives none, the goodput of every flow within 15 %.
    pub fn of(scenario: &crate::Scenario) -> Vec<Band> {
        if scenario.compare.is_empty() {
            return vec![Band { metric: "flow.*.goodput_mbps".into(), tolerance: 0.15, slack: 0.0 }];
        }
        let band = |c: &crate::file::Compare| Band {
            metric: c.metric.clone(),
            tolerance: c.tolerance.0,
            slack: c.slack,
        };
        scenario.compare.iter().map(band).collect()
    }
}

/// Calls something once for each table, whatever its rows are.
pub trait TableVisitor {
    /// A table.
    fn table<R: Row>(&mut self, rows: &[R]);
}

impl Report {
    /// Shows every table.
    pub fn visit(&self, visitor: &mut impl TableVisitor) {
        visitor.table(&self.flow);
        visitor.table(&self.subflow);
        visitor.table(&self.station);
        visitor.table(&self.roam);
        visitor.table(&self.radio);
        visitor.table(&self.cpu);
        visitor.table(&self.interface);
        visitor.table(&self.link);
        visitor.table(&self.bond);
        visitor.table(&self.path);
        visitor.table(&self.bunch);
    }
}

/// A table without rows, for the reference and for the check of metrics.
#[derive(Clone, Copy, Debug)]
pub struct TableForm {
    /// Its name.
    pub name: &'static str,
    /// What its rows are.
    pub doc: &'static str,
    /// Columns with text.
    pub texts: &'static [Column],
    /// Columns with numbers.
    pub numbers: &'static [Column],
}

/// All tables.
pub fn tables() -> Vec<TableForm> {
    struct Collect(Vec<TableForm>);
    impl TableVisitor for Collect {
        fn table<R: Row>(&mut self, _: &[R]) {
            self.0.push(TableForm { name: R::TABLE, doc: R::DOC, texts: R::TEXTS, numbers: R::NUMBERS });
        }
    }
    let mut all = Collect(Vec::new());
    Report::default().visit(&mut all);
    all.0
}
