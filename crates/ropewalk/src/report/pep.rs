//! What a TCP proxy says of itself.

use super::reasons::{bypass, named, reset, words};
use super::table::bytes;
use ropewalk_net::pep::Relay;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `ropewalk pep`, now. Counters count since it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PepStatus {
    /// How long it has been running, seconds.
    pub uptime_s: f64,
    /// Connections now.
    pub connections: usize,
    /// Bytes that it holds.
    pub held_bytes: u64,
    /// Connections that were taken.
    pub taken: u64,
    /// Connections that were too many.
    pub full: u64,
    /// Bytes that were acknowledged before their receiver had done so.
    pub early_bytes: u64,
    /// Bytes that were sent again from here.
    pub repaired_bytes: u64,
    /// Segments that ended here.
    pub absorbed: u64,
    /// Connections that were left alone, by reason; with `no-handshake` their packets.
    pub bypassed: BTreeMap<String, u64>,
    /// Connections that were reset, by reason.
    pub resets: BTreeMap<String, u64>,
}

impl PepStatus {
    /// As the relay has it.
    pub(crate) fn of(relay: &Relay, uptime_s: f64) -> PepStatus {
        let (connections, held_bytes) = relay.holds();
        let counts = relay.counts();
        PepStatus {
            uptime_s,
            connections,
            held_bytes,
            taken: counts.taken,
            full: counts.full,
            early_bytes: counts.early_bytes,
            repaired_bytes: counts.repaired_bytes,
            absorbed: counts.absorbed,
            bypassed: named(&counts.bypassed, bypass),
            resets: named(&counts.reset, reset),
        }
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "connections {} of {}, {} held; acknowledged early {}, sent again {}, segments that ended here {}; \
             left alone{}, too many {}; reset{}",
            self.connections,
            self.taken,
            bytes(self.held_bytes),
            bytes(self.early_bytes),
            bytes(self.repaired_bytes),
            self.absorbed,
            words(&self.bypassed),
            self.full,
            words(&self.resets),
        )
    }
}
