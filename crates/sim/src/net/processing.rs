//! Where a packet passes a node: its processor works on it, then it goes on.

use super::{Attach, Net, NodeId};
use crate::clock::TimerId;
use crate::cpu::{Cpu, CpuSpec};
use crate::measure::CpuCounts;
use crate::packet::{IfIndex, PacketRef};
use ropewalk_air::Time;

/// A packet at a node, and what is done with it.
#[derive(Debug)]
pub(super) enum Step {
    /// It came in by this interface.
    Take(IfIndex, PacketRef),
    /// It leaves by this one.
    Transmit(IfIndex, PacketRef),
}

/// Where the node has a packet from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A cable or a radio, which interrupts.
    Device,
    /// A program on the node.
    Program,
}

/// The processor of a node.
#[derive(Debug)]
pub struct Processor {
    cpu: Cpu<Step>,
    timer: TimerId,
}

impl Processor {
    /// What it did until now.
    pub fn counts(&self, now: Time) -> CpuCounts {
        self.cpu.counts(now)
    }
}

impl Net {
    /// Gives a node a processor: packets take it time from now on.
    pub fn add_cpu(&mut self, node: NodeId, spec: CpuSpec) {
        let timer = self.add_timer(super::Owner::Cpu(node));
        self.nodes[node.index()].cpu = Some(Processor { cpu: Cpu::new(spec), timer });
    }

    /// Does a step when the node's processor is through with the packet; at once if it has none.
    pub(super) fn process(&mut self, origin: Origin, step: Step) {
        let now = self.now;
        let (Step::Take(interface, packet) | Step::Transmit(interface, packet)) = &step;
        let interface = &self.interfaces[interface.index()];
        let (node, bytes) = (interface.node, packet.len);
        // What goes through a tunnel is paid for as the datagrams that carry it.
        let is_inside = matches!(interface.attach, Attach::Tunnel(_));
        let Some(this) = self.nodes[node.index()].cpu.as_mut().filter(|_| !is_inside) else {
            return self.step(step);
        };
        match origin {
            Origin::Device => this.cpu.receive(now, step, bytes),
            Origin::Program => this.cpu.send(now, step, bytes),
        }
        self.timers.set(this.timer, this.cpu.next_timeout());
    }

    pub(crate) fn run_cpu(&mut self, node: NodeId) {
        let now = self.now;
        while let Some(step) = self.nodes[node.index()].cpu.as_mut().and_then(|this| this.cpu.poll(now)) {
            self.step(step);
        }
        if let Some(this) = &self.nodes[node.index()].cpu {
            self.timers.set(this.timer, this.cpu.next_timeout());
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Take(by, packet) => self.take_from(by, packet),
            Step::Transmit(out, packet) => self.transmit(out, packet),
        }
    }
}
