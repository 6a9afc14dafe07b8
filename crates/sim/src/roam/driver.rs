//! What calls a client: an endpoint of its node, with a timer.

use super::Shared;
use super::client::EVERY;
use crate::app::{Context, Endpoint};
use crate::net::mac_of;
use crate::packet::PacketRef;
use ropewalk_air::Time;
use ropewalk_air::wifi::PeerStats;

/// Lets a client decide every 100 ms.
#[derive(Debug)]
pub struct Driver {
    client: Shared,
    next: Option<Time>,
}

impl Driver {
    /// Of this client.
    pub fn new(client: Shared) -> Driver {
        Driver { client, next: None }
    }

    /// What each access point has counted towards its station.
    fn counters(&self, cx: &Context<'_>) -> Vec<PeerStats> {
        let client = self.client.borrow();
        let Some(radios) = &cx.net.radios else { return Vec::new() };
        let of = |s: &super::Station| {
            let mac = mac_of(s.interface);
            radios.peer_stats(s.access_point.1).into_iter().find(|p| p.0 == mac).map(|p| p.1)
        };
        client.stations().iter().map(|s| of(s).unwrap_or_default()).collect()
    }
}

impl Endpoint for Driver {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.next = Some(cx.now() + EVERY);
    }

    fn on_packet(&mut self, _cx: &mut Context<'_>, _packet: PacketRef) {}

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + EVERY);
        let counters = self.counters(cx);
        let (commands, changed) = self.client.borrow_mut().on_tick(now, &counters);
        for command in commands {
            // Refused is leaving an access point that was lost: nothing to do.
            let _ = cx.net.command_air(command);
        }
        if changed {
            cx.net.wake(self.client.borrow().followers());
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}
