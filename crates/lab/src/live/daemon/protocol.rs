//! What is said over the socket: a line of JSON each way, again and again.

use serde::{Deserialize, Serialize};

use super::Map;

/// What a command asks of a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Who is there.
    About,
    /// The tables of a report since the last time this conversation asked; the first time, since the start.
    Report,
    /// Who hears whom.
    Map,
    /// Does at once what an event with these keys would do: TOML, as in a scenario file, without `at`.
    Change(String),
    /// Switches an interferer on or off.
    Interferer {
        /// Its name.
        name: String,
        /// On.
        on: bool,
    },
    /// After the answer the socket carries a pcapng file: what this radio (`node:interface` or `node:radio`) hears, until the
    /// other end closes.
    Capture(String),
    /// Until the other end closes, what this radio hears comes out of a new monitor interface of its node.
    Monitor {
        /// The node.
        node: String,
        /// Its interface or its radio.
        iface: String,
        /// What the monitor interface is to be called.
        device: String,
    },
    /// Ends the lab. The answer comes when nothing of it is left.
    Stop,
}

/// What the lab answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// Done.
    Done,
    /// To [`Request::About`].
    About(About),
    /// To [`Request::Report`].
    Report(Box<Report>),
    /// To [`Request::Map`].
    Map(Map),
    /// It cannot be done; a sentence says why.
    Refused(String),
}

/// Who is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The lab's name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// The scenario's file and title.
    pub file: String,
    /// The scenario's title.
    pub title: String,
    /// Seconds since it began.
    pub up_s: f64,
    /// Its nodes.
    pub nodes: Vec<NodeAbout>,
    /// Its links.
    pub links: Vec<String>,
    /// The daemons of its bonds.
    pub daemons: Vec<DaemonAbout>,
}

/// A daemon of a bond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DaemonAbout {
    /// The bond's name, and its device's.
    pub bond: String,
    /// Its node.
    pub node: String,
    /// Its state directory.
    pub state: String,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeAbout {
    /// Its name.
    pub name: String,
    /// Its network namespace, as `ip netns` calls it.
    pub namespace: String,
    /// Its interfaces, each with its address.
    pub interfaces: Vec<(String, String)>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Seconds that the tables are about.
    pub seconds: f64,
    /// The tables `station`, `radio`, `interface`, `link`, `bond`, `path`.
    pub tables: ropewalk_scenario::report::Report,
    /// How late packets were so far: a line for people.
    pub lateness: String,
    /// Why figures of this lab may not be used; none if they may.
    pub invalid: Option<String>,
}
