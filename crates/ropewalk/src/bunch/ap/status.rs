//! What an access point says of itself.

use super::Daemon;
use crate::bunch::flows::Flows;
use crate::bunch::overhear::Overhear;
use crate::bunch::report::{AccountStatus, ApStatus, ShareStatus};
use crate::bunch::share::Share;

impl Daemon<'_> {
    /// How it does now.
    pub(super) fn status(&mut self) -> ApStatus {
        self.settle(self.now());
        let air = self.parts.overhear.as_mut().map(Overhear::status);
        let (counts, share) = (self.ap.counts(), self.parts.share.as_ref());
        let shares = share.map(|s| s.counts).unwrap_or_default();
        ApStatus {
            device: self.parts.tun.name().to_owned(),
            uptime_s: self.now().as_secs_f64(),
            gateway: self.tunnel.is_some().then(|| self.remote.clone()),
            address: self.flows.as_ref().map(Flows::address),
            captures: self.captures,
            sessions: self.ap.sessions(),
            flows: self.flows.as_ref().map_or(0, Flows::len),
            helped: self.flows.as_ref().map_or(0, Flows::helped),
            neighbours: share.map_or(0, Share::neighbours),
            captured: counts.captured,
            held_bytes: self.ap.held_bytes() as u64,
            refused: counts.refused,
            repeated: counts.repeated,
            forwarded: counts.forwarded,
            payload_bytes: counts.payload_bytes,
            data_bytes: counts.data_bytes,
            report_bytes: counts.report_bytes,
            native_packets: self.native_packets,
            dropped_packets: self.dropped_packets,
            shares: ShareStatus { sent: shares.sent, received: shares.received, refused: shares.refused },
            account: self.account_status(),
            cap: self.cap(),
            handed: self.parts.args.share.clone(),
            air,
        }
    }

    fn account_status(&self) -> AccountStatus {
        let (head, counts) = (self.account.head(), self.account.counts());
        AccountStatus {
            records: head.map_or(0, |r| r.statement.number),
            signed_bytes: head.map_or(0, |r| r.statement.totals.carried_bytes),
            refused: counts.refused,
            unanswered: counts.unanswered,
        }
    }
}
