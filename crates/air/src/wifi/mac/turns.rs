//! Which station has its turn.

use super::backlog::Discipline;
use crate::wifi::air::Air;

/// Airtime of a turn (`IEEE80211_DEFAULT_AIRTIME_WEIGHT` in Linux, µs).
const TURN_NS: i64 = 256_000;

impl<T: Clone> Air<T> {
    /// The peer that is served next, at the head of its list.
    pub(crate) fn next_peer(&mut self, radio: usize, category: usize) -> Option<u32> {
        match self.radios[radio].spec.queue.discipline {
            Discipline::TailDrop | Discipline::FqCodel => {}
            Discipline::Fifo => self.oldest_first(radio, category),
            Discipline::AirtimeFair => self.least_used_first(radio, category),
        }
        self.radios[radio].ready[category].front().copied()
    }

    /// Whose oldest packet came first goes to the head; of equals, who was there first.
    fn oldest_first(&mut self, radio: usize, category: usize) {
        let ready = &mut self.radios[radio].ready[category];
        let since = |&(_, peer): &(usize, &u32)| self.peers[*peer as usize].tx[category].oldest();
        if let Some((place, _)) = ready.iter().enumerate().min_by_key(since)
            && let Some(peer) = ready.remove(place)
        {
            ready.push_front(peer);
        }
    }

    /// Who has used up its airtime gets another turn's worth, behind the others.
    fn least_used_first(&mut self, radio: usize, category: usize) {
        while let Some(&peer) = self.radios[radio].ready[category].front() {
            let queue = &mut self.peers[peer as usize].tx[category];
            if queue.deficit_ns >= 0 {
                return;
            }
            queue.deficit_ns += TURN_NS;
            self.radios[radio].ready[category].rotate_left(1);
        }
    }

    /// Packets of a category in a radio's one line, those included that wait for their acknowledgement.
    pub(crate) fn fifo_len(&self, radio: u16, category: usize) -> usize {
        let here = self.peers.iter().filter(|p| p.radio == radio).map(|p| &p.tx[category]);
        let sent = |m: &super::queue::Mpdu<T>| m.content.packets().len();
        here.map(|q| q.waiting.len() + q.window.iter().map(sent).sum::<usize>()).sum()
    }
}
