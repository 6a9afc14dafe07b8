//! A learning bridge: which port leads to which interface.

use crate::packet::IfIndex;
use std::collections::BTreeMap;

/// Joins interfaces of a node to one segment, as `ip link add type bridge` does. It has no spanning tree: the scenario must
/// not close a loop.
#[derive(Clone, Debug, Default)]
pub struct Bridge {
    /// Its ports.
    pub ports: Vec<IfIndex>,
    learned: BTreeMap<IfIndex, IfIndex>,
}

impl Bridge {
    /// A bridge over these ports that has learnt nothing yet.
    pub fn new(ports: &[IfIndex]) -> Bridge {
        Bridge { ports: ports.to_vec(), learned: BTreeMap::new() }
    }

    /// Notes that frames of `source` come in by `port`. There is an entry per interface of the world at most.
    pub fn learn(&mut self, source: IfIndex, port: IfIndex) {
        if source != IfIndex::NONE && self.learned.get(&source) != Some(&port) {
            self.learned.insert(source, port);
        }
    }

    /// Forgets where an interface is: it has moved.
    pub fn forget(&mut self, interface: IfIndex) {
        self.learned.remove(&interface);
    }

    /// The port that leads to `interface`; none: all of them may.
    pub fn port_to(&self, interface: IfIndex) -> Option<IfIndex> {
        self.learned.get(&interface).copied()
    }
}
