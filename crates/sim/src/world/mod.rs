//! The world: a network, the endpoints on it, and the loop that lets time pass.
//!
//! # How time passes
//! The loop takes the timer that is due first, calls whose it is, then does what follows from that (packets for endpoints,
//! answers, packets for tunnels) in the order in which it came up, until nothing is left to do at this instant. Endpoints
//! never call each other. Time jumps; nothing waits.

use crate::app::{Context, Endpoint, FIRST_PORT, MAX_ENDPOINTS, SubflowCounts};
use crate::clock::TimerId;
use crate::measure::{FlowCounts, FlowRecord};
use crate::net::{Net, NodeId, Owner, Work};
use crate::packet::FlowId;
use ropewalk_air::Time;

/// An endpoint, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u32);

impl EndpointId {
    /// Its port.
    pub fn port(self) -> u16 {
        FIRST_PORT + self.0 as u16
    }
}

#[derive(Debug)]
struct Slot {
    node: NodeId,
    timer: TimerId,
    endpoint: Box<dyn Endpoint>,
}

/// More endpoints than ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a world holds {MAX_ENDPOINTS} endpoints, and this one is full; use fewer flows")]
pub struct Full;

/// Everything that is simulated.
#[derive(Debug, Default)]
pub struct World {
    /// The network.
    pub net: Net,
    /// Records of flows.
    pub flows: Vec<FlowRecord>,
    slots: Vec<Slot>,
    events: u64,
}

impl World {
    /// An empty world at time zero.
    pub fn new() -> World {
        World::default()
    }

    /// Adds a flow's record.
    pub fn add_flow(&mut self) -> FlowId {
        self.flows.push(FlowRecord::default());
        FlowId(self.flows.len() as u32 - 1)
    }

    /// The endpoint that the next [`World::add_endpoint`] makes: flows name the far end's port before it is there.
    pub fn next_endpoint(&self) -> EndpointId {
        EndpointId(self.slots.len() as u32)
    }

    /// Puts an endpoint of a flow, or of none, on a node.
    ///
    /// # Errors
    /// All ports are taken.
    pub fn add_endpoint(
        &mut self,
        node: NodeId,
        flow: FlowId,
        endpoint: Box<dyn Endpoint>,
    ) -> Result<EndpointId, Full> {
        if self.slots.len() >= MAX_ENDPOINTS {
            return Err(Full);
        }
        let id = self.next_endpoint();
        let timer = self.net.add_timer(Owner::Endpoint(self.slots.len()));
        self.net.flow_of_endpoint.push(flow);
        self.slots.push(Slot { node, timer, endpoint });
        Ok(id)
    }

    /// Starts an endpoint now.
    pub fn start(&mut self, id: EndpointId) {
        self.call(id.0 as usize, |e, cx| e.start(cx));
        self.settle();
    }

    /// Stops an endpoint now.
    pub fn stop(&mut self, id: EndpointId) {
        self.call(id.0 as usize, |e, cx| e.stop(cx));
        self.settle();
    }

    /// The run is over: what is still to be judged is judged.
    pub fn finish(&mut self) {
        for slot in 0..self.slots.len() {
            self.call(slot, |e, cx| e.finish(cx));
        }
    }

    /// The warm-up is over: spans of time are forgotten, counters go on.
    pub fn start_measuring(&mut self) {
        let now = self.net.now;
        self.flows.iter_mut().for_each(|f| f.start_measuring(now));
        self.net.directions.iter_mut().for_each(|d| d.wait.clear());
    }

    /// Counts of all flows, what their endpoints count themselves included.
    pub fn flow_counts(&self) -> Vec<FlowCounts> {
        let mut all: Vec<FlowCounts> = self.flows.iter().map(|f| f.counts).collect();
        for (slot, flow) in self.slots.iter().zip(&self.net.flow_of_endpoint) {
            if let Some(counts) = all.get_mut(flow.index()) {
                slot.endpoint.account(counts);
            }
        }
        all
    }

    /// The subflows of an endpoint.
    pub fn subflows(&self, id: EndpointId) -> Vec<SubflowCounts> {
        self.slots.get(id.0 as usize).map(|s| s.endpoint.subflows()).unwrap_or_default()
    }

    /// How often a timer was due.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Lets time pass until `until`; what is due then has happened.
    pub fn run_until(&mut self, until: Time) {
        while let Some((at, timer)) = self.net.timers.first().filter(|t| t.0 <= until) {
            self.net.now = self.net.now.max(at);
            self.events += 1;
            match self.net.owners[timer.0 as usize] {
                Owner::Direction(d) => self.net.run_direction(d),
                Owner::Air => self.net.run_air(),
                Owner::Proxy(node) => self.net.run_proxy(node),
                Owner::Cpu(node) => self.net.run_cpu(node),
                Owner::Endpoint(e) => self.call(e, |e, cx| e.on_timer(cx)),
            }
            self.settle();
        }
        self.net.now = self.net.now.max(until);
    }

    /// Does what follows at this instant.
    fn settle(&mut self) {
        while let Some(work) = self.net.work.pop_front() {
            match work {
                Work::Deliver(node, packet) => {
                    let slot = usize::from(packet.dport.wrapping_sub(FIRST_PORT));
                    if self.slots.get(slot).is_some_and(|s| s.node == node) {
                        self.call(slot, |e, cx| e.on_packet(cx, packet));
                    } else {
                        self.net.nodes[node.index()].counters.unclaimed += 1;
                    }
                }
                Work::Left { endpoint, dropped } => self.call(endpoint, |e, cx| e.on_left(cx, dropped)),
                Work::Wake(endpoint) => self.call(endpoint, |e, cx| e.on_timer(cx)),
                Work::Transit { endpoint, by, packet } => {
                    self.call(endpoint, |e, cx| e.on_transit(cx, by, packet));
                }
                Work::Overheard { endpoint, heard } => self.call(endpoint, |e, cx| e.on_overheard(cx, heard)),
                Work::Tunnel(slot, packet) => self.call(slot, |e, cx| e.on_tunnel(cx, packet)),
            }
        }
    }

    fn call(&mut self, slot: usize, what: impl FnOnce(&mut dyn Endpoint, &mut Context<'_>)) {
        let Slot { node, timer, endpoint } = &mut self.slots[slot];
        let port = FIRST_PORT + slot as u16;
        let mut cx = Context { net: &mut self.net, flows: &mut self.flows, node: *node, port };
        what(endpoint.as_mut(), &mut cx);
        self.net.timers.set(*timer, endpoint.next_timeout());
    }
}

#[cfg(test)]
mod tests;
