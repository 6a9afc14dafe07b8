//! The tables of a scenario file. Each key's comment is its entry in the reference (`docs/guide/scenario.md`).

mod bond;
mod bunch;
mod compare;
mod event;
mod expect;
mod flow;
mod link;
mod medium;
mod node;
mod radio;
mod sweep;
mod transport;

pub use bond::{Bond, BondPath, CongestionControl, Migrate, PathClass, Scheduler, Search};
pub use bunch::{Bunch, BunchRelease, BunchScheduling, BunchVariant};
pub use compare::Compare;
pub use event::{Event, What};
pub use expect::{Expect, Over, Ratio, Within};
pub use flow::{
    AckHold, Flow, FlowKind, FlowSpells, MarkLaw, MptcpScheduler, SpellLengths, Steering, TcpControl,
    TcpSlowStart, VideoSegments,
};
pub use link::{Discipline, Link, LinkQueue, Loss, OneWay, QueueLimit};
pub use medium::{
    Capture, Fading, FadingModel, Interferer, Medium, MediumModel, PairBlockage, PairLoss, PathLoss,
    PathLossModel,
};
pub use node::{
    Bridge, Interface, Join, Mode, NodeCpu, NodePep, NodeSpec, PepPolicy, Roam, RoamPolicy, Route, Waypoint,
};
pub use radio::{
    AccessCategory, Aggregation, Antenna, Edca, GuardInterval, NamedRateControl, Radio, RadioDiscipline,
    RadioQueue, RateControl, Secondary, Slot, Standard,
};
pub use sweep::{Axis, Figure, Measure, Seeds, Sweep};
pub use transport::{Ecn, MPTCP_PLACES, NodeMptcp, NodeTcp};

use crate::section;
use indexmap::IndexMap;
use std::time::Duration;

section! {
    /// A scenario: who is there, what connects them, what happens, what is measured and what is expected of it.
    pub struct Scenario {
        /// What it shows, for people and for the head of results.
        title: String = String::new(),
        /// Where all chance comes from: the same seed gives the same run, byte for byte. `--seed` goes before it.
        seed: u64 = 1,
        /// How long the run lasts, in its own time.
        duration: Duration,
        /// Figures count from here, so that slow start and association do not blur them. 0 suits runs that are about the start.
        warmup: Duration = Duration::ZERO,
        /// What all radios share.
        medium: Medium,
        /// The machines, by name.
        node: IndexMap<String, NodeSpec>,
        /// The cables.
        link: Vec<Link>,
        /// The bonding tunnels, by name.
        bond: IndexMap<String, Bond>,
        /// Bunches of uplinks, by name.
        bunch: IndexMap<String, Bunch>,
        /// The traffic.
        flow: Vec<Flow>,
        /// What changes on the way.
        event: Vec<Event>,
        /// What disturbs the radios without being part of any network.
        interferer: Vec<Interferer>,
        /// What is recorded besides the totals.
        measure: Measure,
        /// The runs of `ropewalk sim sweep`.
        sweep: Sweep,
        /// What has to come out.
        expect: Vec<Expect>,
        /// How far the simulator and the lab may be apart.
        compare: Vec<Compare>,
        /// Charts that a sweep, or a run with a time series, draws.
        figure: Vec<Figure>,
    }
}
