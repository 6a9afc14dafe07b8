//! The access point's account with its gateway: what it carried, signed by both.

use super::Daemon;
use crate::bunch::accounts::Words;
use crate::bunch::words::Word;
use ropewalk_bunch::Time;

impl Daemon<'_> {
    /// Packets and bytes of others' senders that went into tunnels so far.
    pub(super) fn carried(&self) -> (u64, u64) {
        let counts = self.ap.counts();
        (counts.carried_packets, counts.carried_bytes)
    }

    /// Has the gateway sign what was carried, when it is time.
    pub(super) fn claim(&mut self, now: Time) {
        let carried = self.carried();
        let Some(tunnel) = &mut self.tunnel else { return };
        if let Some(about) = self.account.claim(carried, now) {
            // What is broken is found out when it is flushed.
            let _ = tunnel.say(&Word::Account { about: Box::new(about) });
        }
    }

    /// The gateway's word about the account.
    pub(super) fn on_account(&mut self, about: Words) {
        let (answer, record) = self.account.hear(about);
        // An answer that is lost is told again with the next claim.
        record.into_iter().for_each(|r| self.parts.accounts.1.keep(self.parts.token.gateway, r));
        if let (Some(about), Some(tunnel)) = (answer, &mut self.tunnel) {
            // What is broken is found out when it is flushed.
            let _ = tunnel.say(&Word::Account { about: Box::new(about) });
        }
    }
}
