//! What a TCP proxy says of itself.

use super::reasons::{bypass, named, reset, words};
use super::table::{bytes, time};
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
        self.parts().join("; ")
    }

    /// The same as `ropewalk pep status` prints it.
    pub(crate) fn render(&self) -> String {
        format!("up {}\n{}\n", time(self.uptime_s), self.parts().join("\n"))
    }

    fn parts(&self) -> [String; 4] {
        [
            format!("connections {} of {}, {} held", self.connections, self.taken, bytes(self.held_bytes)),
            format!(
                "acknowledged early {}, sent again {}, segments that ended here {}",
                bytes(self.early_bytes),
                bytes(self.repaired_bytes),
                self.absorbed
            ),
            format!("left alone{}, too many {}", words(&self.bypassed), self.full),
            format!("reset{}", words(&self.resets)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_like_this() {
        let status = PepStatus {
            uptime_s: 125.0,
            connections: 2,
            taken: 7,
            held_bytes: 12_345,
            early_bytes: 1_500_000,
            bypassed: [("mptcp".to_owned(), 3)].into(),
            ..PepStatus::default()
        };
        let want = "\
up 2 min 5 s
connections 2 of 7, 12.3 kB held
acknowledged early 1.5 MB, sent again 0 B, segments that ended here 0
left alone mptcp 3, too many 0
reset 0
";
        assert_eq!(status.render(), want);
        assert!(status.line().ends_with("ended here 0; left alone mptcp 3, too many 0; reset 0"));
    }
}
