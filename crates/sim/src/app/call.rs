//! A receiver of datagrams that address translation hides: it calls the sender, which answers to where the call came from, as media servers do
//! (symmetric RTP, RFC 4961). The translator keeps the way open from then on.

use super::Context;
use crate::packet::{Body, FlowId, Packet, UDP_HEADERS, UDP_MARK, UdpMark};
use ropewalk_air::Time;
use std::net::Ipv4Addr;
use std::time::Duration;

/// A call that was not answered is repeated: it may have been lost, or the tunnel was not up.
const AGAIN: Duration = Duration::from_millis(100);

/// The receiver's part. One that was told of no sender never calls.
#[derive(Debug, Default)]
pub struct Caller {
    sender: Option<(Ipv4Addr, u16)>,
    next: Option<Time>,
}

impl Caller {
    /// Calls this sender when it is started.
    pub fn of(sender: (Ipv4Addr, u16)) -> Caller {
        Caller { sender: Some(sender), next: None }
    }

    /// It is started, or the time of [`Caller::next`] has come.
    pub fn call(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        let Some(to) = self.sender else { return };
        let body = Body::Udp(UdpMark { seq: 0, tag: 0, sent: cx.now() });
        let from = (Ipv4Addr::UNSPECIFIED, cx.port);
        // One that finds no way is repeated.
        let _ = cx.send(Packet::new(from, to, UDP_HEADERS + UDP_MARK, flow, body));
        self.next = Some(cx.now() + AGAIN);
    }

    /// Something has come from the sender.
    pub fn answered(&mut self) {
        (self.sender, self.next) = (None, None);
    }

    /// When it calls again.
    pub fn next(&self) -> Option<Time> {
        self.next
    }
}

/// Where a sender sends that waits for a call.
pub const UNCALLED: (Ipv4Addr, u16) = (Ipv4Addr::UNSPECIFIED, 0);
