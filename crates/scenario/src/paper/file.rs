//! The keys of a paper's file.

use crate::section;
use crate::tree::Node;
use crate::units::Share;
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
        /// Figures of the runs, which formulas name.
        series: Vec<Series>,
        /// What the paper says, one by one.
        claim: Vec<Claim>,
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
    /// A figure of a run: one number, or one for each label of an axis.
    pub struct Series {
        /// What formulas call it: letters, digits and `_`.
        name: String,
        /// The run that it is a figure of.
        run: String,
        /// Which figure, as in a scenario's `expect`.
        metric: String,
        /// Where on the sweep: axes with their labels.
        when: IndexMap<String, Node>,
        /// The axis that it runs over; `seed` for the sweep's seeds, `time` for the scenario's time series, whose labels are the ends of its
        /// intervals, such as `0.5s`. If not said, it is one number. Of several seeds it is the mean, unless it runs over them.
        over: Option<String>,
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
        /// The formula of the same figure here.
        value: Option<String>,
        /// How far it may be away from what was reported, as a share of that.
        tolerance: Option<Share>,
        /// It is at least this.
        min: Option<f64>,
        /// It is at most this.
        max: Option<f64>,
        /// Why it differs, by `sim` and `lab`; needed for a figure outside its band.
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
