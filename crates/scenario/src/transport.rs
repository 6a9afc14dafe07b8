//! What holds for a flow's TCP, when the flow, its machines and Linux each have something to say. Both drivers ask here.

use crate::Scenario;
use crate::file::{Ecn, Flow, NodeMptcp, NodeTcp, TcpControl};
use crate::units::Bytes;

/// How a flow's connections are set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Congestion control of the end that sends data.
    pub congestion: TcpControl,
    /// Buffer of the end that receives data; none: Linux's tuning.
    pub receive_buffer: Option<Bytes>,
    /// Buffer of the end that sends data; none: Linux's tuning.
    pub send_buffer: Option<Bytes>,
}

/// The machine of a flow's end, `node` or `node:interface`.
fn node(end: &str) -> &str {
    end.split(':').next().unwrap_or(end)
}

impl Scenario {
    /// How a flow's connections are set: by the flow, else by the machine that it concerns, else as Linux has it.
    pub fn transport(&self, flow: &Flow) -> Transport {
        let tcp = |end: &str| self.node.get(node(end)).map(|n| &n.tcp);
        let (from, to) = (tcp(&flow.from), tcp(&flow.to));
        let of = |spec: Option<&NodeTcp>, key: fn(&NodeTcp) -> Option<Bytes>| spec.and_then(key);
        Transport {
            congestion: flow.congestion.or(from.and_then(|t| t.congestion)).unwrap_or(TcpControl::Cubic),
            receive_buffer: flow.receive_buffer.or_else(|| of(to, |t| t.receive_buffer)),
            send_buffer: flow.send_buffer.or_else(|| of(from, |t| t.send_buffer)),
        }
    }

    /// What a machine does about ECN by itself; a flow's own wish goes before its asking.
    pub fn ecn_of(&self, machine: &str) -> Ecn {
        self.node.get(machine).map_or(Ecn::Answer, |n| n.tcp.ecn)
    }

    /// Whether a flow asks for ECN when the machine `opener` opens its connection.
    pub fn asks_for_ecn(&self, flow: &Flow, opener: &str) -> bool {
        flow.ecn.unwrap_or(self.ecn_of(opener) == Ecn::Ask)
    }

    /// Most subflows beyond the first of a connection that the machine `opener` opens to `waiter`; `announced`: those that come of
    /// addresses that the waiter tells.
    pub fn further_subflows(&self, opener: &str, waiter: &str, announced: bool) -> usize {
        let of =
            |machine: &str, key: fn(&NodeMptcp) -> u8| self.node.get(machine).map_or(0, |n| key(&n.mptcp));
        let both = of(opener, |m| m.subflows).min(of(waiter, |m| m.subflows));
        let taken = if announced { of(opener, |m| m.add_addr_accepted) } else { u8::MAX };
        both.min(taken).into()
    }
}
