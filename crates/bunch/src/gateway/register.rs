//! Who takes part in which session.

use super::{Gateway, MAX_WAITING, Tunnel};
use crate::inner::Inner;
use crate::wire::Register;
use crate::{Time, is_served};

impl Gateway {
    /// A neighbour knows the flow, too, and must not become the home of another's session.
    fn may_be_home(&mut self, tunnel: Tunnel, m: &Register, known: Option<u32>) -> bool {
        let Some(peer) = self.peers.get(&tunnel) else { return false };
        let Some(home) = peer.behind else { return true };
        let has_address = m.outer.is_some_and(|o| *o.ip() == home.address);
        let has_cell = m.flow.bssid == home.cell
            || peer.on_air && has_address && self.cells.claim(m.flow.bssid, peer.who);
        self.counts.cells_of_others += u64::from(peer.on_air && has_address && !has_cell);
        let session = known.and_then(|id| self.sessions.get(&id));
        has_address && has_cell && session.is_none_or(|s| *s.outer.ip() == home.address)
    }

    /// Notes whether a number stands for a flow of the own home. One that does so no more means
    /// nothing of it: else the home's packets would count as carried for another.
    fn note_whose(&mut self, tunnel: Tunnel, m: &Register, now: Time) {
        let Some(peer) = self.peers.get_mut(&tunnel) else { return };
        let was_own = peer.own.remove(&m.session);
        peer.own.extend(m.home.then_some(m.session));
        let before = if was_own && !m.home { peer.sessions.remove(&m.session) } else { None };
        if let Some(id) = before {
            self.with(id, now, |s, cx| s.leave_as(cx, tunnel, m.session));
        }
    }

    pub(super) fn on_register(&mut self, tunnel: Tunnel, m: Register, now: Time) {
        self.note_whose(tunnel, &m, now);
        let known = self.by_flow.get(&m.flow).copied();
        if m.home && !self.may_be_home(tunnel, &m, known) {
            return;
        }
        let id = match known {
            Some(id) => id,
            None if m.home => {
                let source = m.outer.unwrap_or(m.flow.source);
                let (protocol, destination) = (m.flow.protocol, m.flow.destination);
                let inner =
                    Inner { protocol, source, destination, seq: 0, flags: 0, stamp: None, payload: 0..0 };
                let served = is_served(&self.config.serve, destination);
                match served.then(|| self.session_with(&inner, now)).flatten() {
                    Some(id) => id,
                    None => return,
                }
            }
            None => return self.wait(tunnel, m),
        };
        self.join(id, tunnel, &m, now);
        if self.by_flow.get(&m.flow) != Some(&id) {
            return;
        }
        let all = (m.flow, Tunnel(0))..=(m.flow, Tunnel(u32::MAX));
        for (flow, tunnel) in self.waiting.range(all).map(|w| *w.0).collect::<Vec<_>>() {
            self.peers.get_mut(&tunnel).into_iter().for_each(|p| p.waiting.retain(|f| *f != flow));
            if let Some(m) = self.waiting.remove(&(flow, tunnel)) {
                self.join(id, tunnel, &m, now);
            }
        }
    }

    /// A neighbour was there before the home access point. Who has too many forgets his own.
    fn wait(&mut self, tunnel: Tunnel, m: Register) {
        let Some(peer) = self.peers.get_mut(&tunnel) else { return };
        peer.waiting.retain(|flow| *flow != m.flow);
        peer.waiting.push_back(m.flow);
        self.waiting.insert((m.flow, tunnel), m);
        if peer.waiting.len() > MAX_WAITING
            && let Some(oldest) = peer.waiting.pop_front()
        {
            self.waiting.remove(&(oldest, tunnel));
        }
    }

    fn join(&mut self, id: u32, tunnel: Tunnel, m: &Register, now: Time) {
        let Some(peer) = self.peers.get_mut(&tunnel) else {
            return;
        };
        // Nobody is its own home's neighbour: its own packets would count as carried for others.
        let outer = self.sessions.get(&id).map(|s| *s.outer.ip());
        if !m.home && peer.behind.is_some_and(|home| Some(home.address) == outer) {
            return;
        }
        let (who, before) = (peer.who, peer.sessions.insert(m.session, id));
        if let Some(before) = before.filter(|before| *before != id) {
            self.with(before, now, |s, cx| s.leave_as(cx, tunnel, m.session));
        }
        let mut names = None;
        self.with(id, now, |s, cx| {
            let before = (s.flow, s.outer);
            s.register(cx, tunnel, who, m);
            names = Some((before, (s.flow, s.outer)));
        });
        let Some((before, after)) = names else { return };
        // The translation was told after the flow was known by its inner address.
        if before.1 != after.1 {
            self.by_ends.remove(&(m.flow.protocol, before.1, m.flow.destination));
            self.by_ends.insert((m.flow.protocol, after.1, m.flow.destination), id);
        }
        // One flow for each session, whatever the home access point calls it: a bound of memory.
        if before.0 != after.0 {
            self.flow_changes += 1;
            before.0.map(|flow| self.by_flow.remove(&flow));
            after.0.map(|flow| self.by_flow.insert(flow, id));
        }
    }
}
