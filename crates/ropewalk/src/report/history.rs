//! What happened to a bond, for whoever asks later: the last events with their times.

use super::Outages;
use crate::control::protocol::Response;
use ropewalk_time::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Events that are kept; the oldest go first.
const KEPT: usize = 256;

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct History {
    events: VecDeque<Happened>,
    last: u64,
    outages: Outages,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Happened {
    /// Its number; each event has the next.
    pub seq: u64,
    /// When, on the daemon's clock, nanoseconds.
    pub at_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(crate) enum What {
    /// Client: the session is up.
    Connected {},
    /// Client: the gateway refused, for now.
    Refused {
        /// Its reason.
        why: String,
    },
    /// Client: no path leads to the gateway.
    Unreachable {},
    /// Client: another gateway has the session than before.
    Moved {
        /// Where the one before was.
        from: String,
        /// Where it is.
        to: String,
        /// What the one before did: `said goodbye`, `did not answer` or `was slower`.
        why: String,
    },
    /// Gateway: a client came in.
    ClientUp {
        /// What it is called.
        peer: String,
    },
    /// Gateway: a client is gone.
    ClientDown {
        /// What it is called.
        peer: String,
        /// Why.
        why: String,
    },
    /// A path has another state.
    Path {
        /// Whose.
        peer: String,
        /// Client: the interface as `ropewalk path` names it. Gateway: the client's address.
        name: String,
        /// `validating`, `active`, `suspect`, `down` or `too narrow`.
        state: String,
    },
    /// A path was dead, or is, and it is known which connections noticed.
    Outage {
        /// Whose.
        peer: String,
        /// As of `path`.
        name: String,
        /// Since when nothing had come by it, on the daemon's clock, nanoseconds.
        since_ns: u64,
        /// Connections that were delivering then.
        connections: u32,
        /// Of these, those that noticed.
        noticed: u32,
    },
    /// Client: an uplink's datagrams are carried by something else.
    Carrier {
        /// As `ropewalk path` names it.
        name: String,
        /// `udp` or `tls`.
        carrier: String,
        /// Why, as a sentence.
        #[serde(default)]
        why: String,
    },
    /// Client: a captive portal answers by an uplink, and nobody else.
    Portal {
        /// As `ropewalk path` names it.
        name: String,
        /// Where it wants a browser to go.
        at: String,
    },
    /// A metered path has used its allowance up.
    Exhausted {
        /// As `ropewalk path` names it.
        name: String,
    },
}

impl History {
    /// Keeps an event.
    pub(crate) fn note(&mut self, now: Time, what: What) {
        if self.events.len() >= KEPT {
            self.events.pop_front();
        }
        if let What::Outage { connections, noticed, .. } = &what {
            self.outages.paths += 1;
            self.outages.connections += u64::from(*connections);
            self.outages.noticed += u64::from(*noticed);
        }
        self.last += 1;
        self.events.push_back(Happened { seq: self.last, at_ns: now.as_nanos(), what });
    }

    /// All outages that were noted, also those whose events are kept no more.
    pub(crate) fn outages(&self) -> Outages {
        self.outages
    }

    /// The events after the one with this number.
    pub(crate) fn since(&self, seq: u64, now: Time) -> Response {
        let events = self.events.iter().filter(|e| e.seq > seq).cloned().collect();
        Response::History { clock_ns: now.as_nanos(), events }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_and_numbered() {
        let mut history = History::default();
        for _ in 0..1000 {
            history.note(Time::ZERO, What::Connected {});
        }
        let of = |since| match history.since(since, Time::ZERO) {
            Response::History { events, .. } => events,
            other => panic!("{other:?}"),
        };
        assert_eq!((of(0).len(), of(0)[0].seq, of(998).len(), of(1000).len()), (KEPT, 745, 2, 0));
        let line = serde_json::to_string(&of(999)[0]).unwrap();
        assert_eq!(line, r#"{"seq":1000,"at_ns":0,"what":"connected"}"#);
        assert_eq!(history.outages(), Outages::default());
    }

    #[test]
    fn outages_are_counted_beyond_what_is_kept() {
        let mut history = History::default();
        for noticed in 0..1000 {
            let (peer, name) = ("gateway".to_owned(), "wan1".to_owned());
            let outage = What::Outage { peer, name, since_ns: 0, connections: 3, noticed: noticed % 2 };
            history.note(Time::ZERO, outage);
        }
        assert_eq!(history.outages(), Outages { paths: 1000, connections: 3000, noticed: 500 });
    }
}
