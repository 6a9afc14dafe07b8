//! A hash over everything that arrived anywhere: two runs are the same if theirs are.

use crate::net::NodeId;
use crate::packet::FlowId;
use ropewalk_air::Time;

/// Time in nanoseconds, node and flow, and length of each packet that an interface took in, by FNV-1a's step on 64-bit
/// words with a rotation after each.
///
/// No byte of any payload goes in: a tunnel's ciphertext may depend on the machine, its lengths and times may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    hash: u64,
    arrivals: u64,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, arrivals: 0 }
    }
}

impl Trace {
    /// Takes an arrival in.
    pub fn arrival(&mut self, at: Time, node: NodeId, len: u32, flow: FlowId) {
        let who = u64::from(node.0) << 32 | u64::from(flow.0);
        for word in [at.as_nanos(), who, u64::from(len)] {
            // The rotation lets the high bits of a word, where a node's number is, reach the low ones.
            self.hash = ((self.hash ^ word).wrapping_mul(0x100_0000_01b3)).rotate_left(23);
        }
        self.arrivals += 1;
    }

    /// The hash so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many arrivals went in.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts() {
        let one = |at, node, len, flow| {
            let mut t = Trace::default();
            t.arrival(Time::from_nanos(at), NodeId(node), len, FlowId(flow));
            t.hash()
        };
        let all = [one(1, 1, 1, 1), one(2, 1, 1, 1), one(1, 2, 1, 1), one(1, 1, 2, 1), one(1, 1, 1, 2)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }
}
