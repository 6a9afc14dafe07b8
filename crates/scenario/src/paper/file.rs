//! The keys of a paper's file.

use crate::tree::Node;
use crate::units::Share;
use crate::{choice, section};
use indexmap::IndexMap;

section! {
    /// What a paper reported, and how it is measured here.
    pub struct File {
        /// The paper's title.
        title: String,
        /// Who wrote it, where and when it came out.
        citation: String,
        /// What a reader has to know before the tables: what stands for the paper's machines, and where the bands come from. Markdown.
        about: String = String::new(),
        /// What `--quick` sets in every scenario, each as `--set` takes it: `duration=2s`.
        quick: Vec<String>,
        /// What the lab's runs are set to, in the same form: its time is real, and the kernel's chance has no seed.
        lab: Vec<String>,
        /// What is run.
        run: Vec<Run>,
        /// By what runs are sorted into classes.
        rule: Vec<Rule>,
        /// Figures of the runs, which formulas name.
        series: Vec<Series>,
        /// What the paper says, one by one.
        claim: Vec<Claim>,
        /// Tables of the simulator's figures, before the claims.
        table: Vec<Table>,
        /// The charts of its page.
        plot: Vec<Plot>,
    }
}

section! {
    /// A scenario with its sweep.
    pub struct Run {
        /// What to call it.
        name: String,
        /// The scenario file, beside this one.
        scenario: String,
        /// What `--quick` sets in this run, after what it sets in all.
        quick: Vec<String>,
        /// How the lab runs it.
        lab: LabRun,
    }
}

section! {
    /// How the lab runs one scenario.
    pub struct LabRun {
        /// What is set in its runs, after what is set in all, and after what the axes of its sweep set.
        set: Vec<String>,
        /// Axes of its sweep with the labels that are run. Those that are not named are run whole.
        only: IndexMap<String, Vec<Node>>,
        /// Why the lab does not run it at all. If not said, it does.
        skip: Option<String>,
        /// What a reader has to know of its figures.
        note: Option<String>,
    }
}

section! {
    /// By what a run of two subflows, a fast one and a slow one, is sorted into a class (the dual-band poster, section 3). The first that fits counts.
    /// `collapse`: in some two seconds the tenth part of the intervals carries less than a third of the run's median, while the fast subflow's round
    /// trips reach `rtt` and nothing is sent again. `ideal`: over the last eight seconds 0.95 of what both carry alone. `late`: the fast subflow
    /// comes to 0.79 of what it carries alone (1.5 of 1.9 Gbit/s) within `takes`, and from then on the slow one carries what `left` says.
    pub struct Rule {
        /// What to call it.
        name: String,
        /// The flow.
        flow: String,
        /// The interface of the fast subflow, as `node:interface`.
        fast: String,
        /// The interface of the slow one.
        slow: String,
        /// What each carries alone, the fast one first, Mbit/s.
        alone: Vec<f64>,
        /// From when to when the fast one comes to its rate, s.
        takes: Vec<f64>,
        /// What the slow one carries from then on, at least and at most, Mbit/s.
        left: Vec<f64>,
        /// Round trips of the fast subflow in a collapse reach this, ms.
        rtt: f64 = 40.0,
    }
}

section! {
    /// A figure of a run: one number, or one for each label of an axis.
    pub struct Series {
        /// What formulas call it: letters, digits and `_`.
        name: String,
        /// The run that it is a figure of.
        run: String,
        /// Which figure, as in a scenario's `expect`; or `class.RULE.NAME`, what a rule says of the run's time series: 1 or 0 for `ideal`, `late`, `collapse`
        /// and `other`, of which one is 1, and the figures behind them `takes_s`, `start_mbps`, `left_mbps`, `fast_rtt_ms`, `slow_rtt_ms` and `share`.
        metric: String,
        /// Where on the sweep: axes with their labels.
        when: IndexMap<String, Node>,
        /// The axis that it runs over; `seed` for the sweep's seeds, `time` for the scenario's time series, whose labels are the ends of its
        /// intervals, such as `0.5s`. If not said, it is one number. Of several seeds it is the mean, unless it runs over them.
        over: Option<String>,
        /// Of this seed alone; for one run's time series.
        seed: Option<u64>,
    }
}

choice! {
    /// What a claim's figure is worth.
    pub enum ClaimKind {
        /// It could have come out otherwise.
        Measured = "measured",
        /// A scenario was tuned to it, so that it comes out says little.
        Fitted = "fitted",
        /// A null case: what has to come out where the effect is not.
        Control = "control",
    }
}

section! {
    /// Something that the paper says. Exactly one of `value`, `setting`, `missing` and `without-radios` says what becomes of it.
    pub struct Claim {
        /// Its number in the list of claims.
        id: String,
        /// Where it stands in the paper.
        place: String,
        /// What it is about, in a few words.
        what: String,
        /// What was reported: a number, two as `[least, most]`, or a text.
        reported: Node,
        /// The unit of that number.
        unit: String = String::new(),
        /// What its figure is worth. Arithmetic, a formula without a run, is known by itself.
        kind: ClaimKind = ClaimKind::Measured,
        /// The formula of the same figure here.
        value: Option<String>,
        /// How far it may be away from what was reported, as a share of that.
        tolerance: Option<Share>,
        /// It is at least this.
        min: Option<f64>,
        /// It is at most this.
        max: Option<f64>,
        /// Why it differs, by `sim`, `lab` and `virtual`; needed for a figure outside its band.
        because: IndexMap<String, String>,
        /// It is no result but part of the setup: where it is set here.
        setting: Option<String>,
        /// What is lacking here to say it; a gap that the page names.
        missing: Option<String>,
        /// Why no model can say it.
        without_radios: Option<String>,
        /// The paper does not say it: it is asked of what goes past the paper, and has a table of its own. `place` names who asks.
        own: bool = false,
    }
}

section! {
    /// A chart of series beside what was reported.
    pub struct Plot {
        /// The name of its file.
        name: String,
        /// What it says above.
        title: String,
        /// What goes to the right.
        x: String,
        /// What goes up, with its unit.
        y: String,
        /// The lines that it has.
        line: Vec<Line>,
    }
}

section! {
    /// A line of a chart.
    pub struct Line {
        /// What to call it.
        title: String,
        /// The formula of its values, one for each label of an axis.
        value: String,
        /// Claims whose reported numbers are drawn beside it, by label.
        reported: IndexMap<String, String>,
    }
}

section! {
    /// A table of series, with a column for each label of their axis.
    pub struct Table {
        /// What it says above.
        title: String,
        /// What a reader has to know. Markdown.
        about: String = String::new(),
        /// What stands above the rows' titles.
        corner: String,
        /// Its rows.
        row: Vec<TableRow>,
    }
}

section! {
    /// A row of a table.
    pub struct TableRow {
        /// What to call it.
        title: String,
        /// Formulas over one axis, the same for all rows; a cell has the value of each.
        value: Vec<String>,
    }
}
