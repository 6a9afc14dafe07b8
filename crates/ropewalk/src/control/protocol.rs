//! What can be asked, and what is answered.

use crate::bunch::report::{BunchStatus, FleetRecord};
use crate::commands::PathOptions;
use crate::exit::{self, Code};
use crate::gateway::grants::{Change, Grants};
use crate::gateway::quotas::QuotaChange;
use crate::report::Snapshot;
use crate::report::flows::Flows;
use crate::report::history::Happened;
use crate::report::pep::PepStatus;
use crate::roam::report::RoamStatus;
use crate::state::clients::KnownClient;
use ropewalk_bond::airtime::Air;
use ropewalk_session::{Endpoint, PublicKey};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Longest line, bytes: a status of a gateway with thousands of clients fits.
pub(crate) const LINE_MAX: u64 = 64 << 20;
/// Longest request, bytes.
pub(crate) const REQUEST_MAX: u64 = 64 << 10;

/// A line to the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// How it does.
    Status {},
    /// How a client of several access points does.
    Roam {},
    /// What happened since the event with this number.
    History {
        /// The last one that is known already; 0 for none.
        since: u64,
    },
    /// Which connections there are.
    Flows {
        /// How many to tell of: those with the highest rates.
        most: u16,
    },
    /// Gateway: who may come in, by name.
    Clients {
        /// The name after which to begin; none for the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// How many to tell of.
        most: u16,
    },
    /// How a part of a bunch does.
    Bunch {},
    /// Gateway of a bunch: what the gateways of its fleet have signed.
    BunchAccounts {},
    /// How a TCP proxy does.
    Pep {},
    /// Gateway: let a device in.
    Invite {
        /// What to call it.
        name: String,
        /// Where it reaches the gateway; empty: where it listens.
        endpoints: Vec<String>,
    },
    /// Gateway: let a device in no more.
    Revoke {
        /// What it is called.
        name: String,
    },
    /// Gateway: take no sessions, and send away those that there are.
    Drain {
        /// Take them again.
        off: bool,
    },
    /// Gateway: what clients are granted.
    Grants {},
    /// Gateway: change what clients are granted.
    Grant {
        /// How.
        change: Change,
    },
    /// Gateway: give a client a quota, or take it.
    Quota {
        /// How.
        change: QuotaChange,
    },
    /// Gateway, within the daemon only: clients may reach each other, as the firewall lets them.
    #[serde(skip)]
    JoinClients {
        /// They may.
        on: bool,
    },
    /// Client: use another interface or endpoint.
    PathAdd {
        /// `IFACE` or `IFACE@HOST:PORT`.
        name: String,
        /// What it may be used for.
        options: PathOptions,
    },
    /// Client: use it no more.
    PathRemove {
        /// `IFACE` or `IFACE@HOST:PORT`.
        name: String,
    },
    /// Client: say what it may be used for.
    PathSet {
        /// `IFACE` or `IFACE@HOST:PORT`.
        name: String,
        /// What it may be used for.
        options: PathOptions,
    },
    /// Client: forget what was said of it.
    PathReset {
        /// `IFACE` or `IFACE@HOST:PORT`.
        name: String,
    },
    /// Gateway, within the daemon only: end the session of this key.
    #[serde(skip)]
    Expel {
        /// The client's key.
        client: PublicKey,
    },
    /// Gateway, within the daemon only: this key's session goes on elsewhere.
    #[serde(skip)]
    Dismiss {
        /// The client's key.
        client: PublicKey,
    },
    /// Client, within the daemon only: a name was resolved.
    #[serde(skip)]
    Resolved {
        /// The endpoint with the name.
        endpoint: Endpoint,
        /// Its addresses; none if the name is not known.
        addresses: Vec<SocketAddr>,
    },
    /// Client, within the daemon only: what the network of an interface says of NAT64.
    #[serde(skip)]
    Translated {
        /// The interface.
        interface: String,
        /// The prefixes; `None` if its name servers did not answer.
        prefixes: Option<Vec<ropewalk_net::nat64::Prefix>>,
    },
    /// Client, within the daemon only: the air that packets take by `ropewalk roam`'s interfaces.
    #[serde(skip)]
    Air {
        /// All of which it is known, by the interface's name.
        interfaces: Vec<(String, Air)>,
    },
}

impl Request {
    /// Every loop of a gateway that has several is asked.
    pub(crate) fn is_for_all_loops(&self) -> bool {
        matches!(
            self,
            Request::Status {}
                | Request::Flows { .. }
                | Request::Drain { .. }
                | Request::JoinClients { .. }
                | Request::Expel { .. }
                | Request::Dismiss { .. }
        )
    }
}

/// The daemon's line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(crate) enum Response {
    /// How it does.
    Status {
        /// All of it.
        status: Box<Snapshot>,
    },
    /// How a client of several access points does.
    Roam {
        /// All of it.
        status: Box<RoamStatus>,
    },
    /// What happened, the oldest first.
    History {
        /// The daemon's clock, nanoseconds.
        clock_ns: u64,
        /// What is still known of it.
        events: Vec<Happened>,
    },
    /// Which connections there are.
    Flows {
        /// Those that were asked for.
        flows: Box<Flows>,
    },
    /// Who may come in.
    Clients {
        /// Those that were asked for.
        clients: Vec<KnownClient>,
        /// How many there are in all.
        total: u64,
    },
    /// What clients are granted.
    Grants {
        /// All of it.
        grants: Box<Grants>,
    },
    /// How a part of a bunch does.
    Bunch {
        /// All of it.
        status: Box<BunchStatus>,
    },
    /// What the gateways of a bunch have signed.
    BunchAccounts {
        /// The last record of each access point at each gateway.
        accounts: Vec<FleetRecord>,
    },
    /// How a TCP proxy does.
    Pep {
        /// All of it.
        status: Box<PepStatus>,
    },
    /// A token for a new client.
    Token {
        /// The line to hand on.
        token: String,
    },
    /// It is done.
    Done {
        /// What there is to say about it; may be empty.
        said: String,
    },
    /// It is not done.
    Refused {
        /// The exit code for the command that asked.
        code: u8,
        /// Why.
        sentence: String,
    },
}

impl Response {
    /// A refusal out of an error.
    pub(crate) fn refused(error: &anyhow::Error) -> Response {
        Response::Refused { code: exit::kind_of(error) as u8, sentence: format!("{error:#}") }
    }

    /// This answer, and another loop's to the same request.
    pub(crate) fn with(mut self, other: Response) -> Response {
        match (&mut self, other) {
            (Response::Status { status }, Response::Status { status: other }) => status.absorb(*other),
            (Response::Flows { flows }, Response::Flows { flows: other }) => flows.absorb(*other),
            (Response::Refused { .. }, _) => {}
            (_, refused @ Response::Refused { .. }) => return refused,
            _ => {}
        }
        self
    }

    /// A refusal because this end of a bond does not do that.
    pub(crate) fn wrong_end(end: &str) -> Response {
        let sentence = format!("this is for a {end}, and the daemon with this state directory is none");
        Response::Refused { code: Code::Usage as u8, sentence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::quota::QuotaStatus;

    #[test]
    fn lines_stay_readable_for_other_programs() {
        let line = |r: &Request| serde_json::to_string(r).unwrap();
        assert_eq!(line(&Request::Status {}), r#"{"ask":"status"}"#);
        assert_eq!(line(&Request::Pep {}), r#"{"ask":"pep"}"#);
        let clients = |after: Option<&str>| Request::Clients { after: after.map(str::to_owned), most: 9 };
        assert_eq!(line(&clients(None)), r#"{"ask":"clients","most":9}"#);
        assert_eq!(line(&clients(Some("bob"))), r#"{"ask":"clients","after":"bob","most":9}"#);
        let invite = Request::Invite { name: "alice".into(), endpoints: vec!["gw:1".into()] };
        assert_eq!(line(&invite), r#"{"ask":"invite","name":"alice","endpoints":["gw:1"]}"#);
        let options = PathOptions { cap: Some(crate::config::Amount(5)), ..PathOptions::default() };
        let set = Request::PathSet { name: "wan0".into(), options };
        assert_eq!(serde_json::from_str::<Request>(&line(&set)).unwrap(), set);
        let done = serde_json::to_string(&Response::Done { said: String::new() }).unwrap();
        assert_eq!(done, r#"{"answer":"done","said":""}"#);
    }

    #[test]
    fn the_most_clients_that_can_be_asked_for_are_a_line() {
        let longest = "x".repeat(64);
        let quota = QuotaStatus {
            bytes: u64::MAX,
            per: "month".into(),
            used_bytes: u64::MAX,
            state: "stopped".into(),
            then_bps: Some(u64::MAX),
            until: "9999-12-31".into(),
        };
        let client = KnownClient {
            name: longest.clone(),
            came: false,
            inside: vec![[255; 4].into(), [0xffff_u16; 8].into()],
            gateway: Some(longest),
            used_bytes: Some(u64::MAX),
            quota: Some(quota),
            network: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128".parse().ok(),
        };
        let length = |clients: Vec<KnownClient>| {
            serde_json::to_vec(&Response::Clients { clients, total: u64::MAX }).unwrap().len() as u64
        };
        let (none, one) = (length(Vec::new()), length(vec![client]));
        // A comma after each but the last, and the end of the line.
        assert!(none + u64::from(u16::MAX) * (one - none + 1) <= LINE_MAX, "{none} {one}");
    }

    #[test]
    fn nobody_outside_can_expel_or_resolve_or_leave_the_ranges() {
        let fair = r#"{"ask":"path-set","name":"wan0","options":{"weight":1000,"reset_day":31}}"#;
        assert!(serde_json::from_str::<Request>(fair).is_ok());
        for line in [
            r#"{"ask":"expel","client":"x"}"#,
            r#"{"ask":"resolved"}"#,
            r#"{"ask":"air","interfaces":[]}"#,
            r#"{"ask":"join-clients","on":true}"#,
            "{}",
            "[]",
            r#"{"ask":"status","x":1}"#,
            r#"{"ask":"path-set","name":"wan0","options":{"weight":0}}"#,
            r#"{"ask":"path-set","name":"wan0","options":{"weight":1001}}"#,
            r#"{"ask":"path-add","name":"wan0","options":{"reset_day":0}}"#,
            r#"{"ask":"path-add","name":"wan0","options":{"reset_day":32}}"#,
        ] {
            assert!(serde_json::from_str::<Request>(line).is_err(), "{line}");
        }
    }
}
