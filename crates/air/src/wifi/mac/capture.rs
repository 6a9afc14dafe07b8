//! What a monitoring radio reports of the frames that it decodes.

use super::frame::{GROUP, Kind, Part};
use super::radio::Role;
use crate::wifi::air::Air;
use crate::wifi::api::{CapturedFrame, FrameType, Mac, Output, RadioId};
use crate::wifi::phy::decibel::dbm_from_mw;

impl<T: Clone> Air<T> {
    /// Reports the frames of a PPDU that were decoded, by bit.
    pub(crate) fn capture(&mut self, rx: usize, emitter: usize, decoded: u64) {
        let parts = core::mem::take(&mut self.radios[emitter].ppdu.parts);
        let last = parts.len().saturating_sub(1);
        for (n, part) in parts.iter().enumerate().filter(|(n, _)| decoded >> n & 1 == 1) {
            let frame = self.captured(rx, emitter, part, n == last);
            self.out.push_back(Output::Captured(Box::new(frame)));
        }
        self.radios[emitter].ppdu.parts = parts;
    }

    fn captured(&self, rx: usize, emitter: usize, part: &Part, last: bool) -> CapturedFrame<T> {
        let ppdu = &self.radios[emitter].ppdu;
        let hearer = &self.medium.receivers[rx];
        let frame_type = self.frame_type(emitter);
        let mac = |iface: u16| self.ifaces.get(usize::from(iface)).map_or(Mac::BROADCAST, |i| i.mac);
        let anonymous = matches!(ppdu.kind, Kind::Ack | Kind::Cts);
        let has_sequence = ppdu.kind == Kind::Data || ppdu.kind == Kind::Null || ppdu.kind.is_management();
        let is_data = matches!(ppdu.kind, Kind::Data | Kind::Null);
        let of_ap = |iface: u16| {
            let role = self.ifaces.get(usize::from(iface)).map(|i| &i.role);
            role.is_some_and(|role| matches!(role, Role::AccessPoint(..)))
        };
        let (to_ds, from_ds) = (is_data && of_ap(ppdu.to), is_data && of_ap(ppdu.from));
        let has_bssid = is_data || ppdu.kind.is_management() || ppdu.kind == Kind::Beacon;
        let queue =
            (ppdu.kind == Kind::Data).then(|| &self.peers[ppdu.peer as usize].tx[usize::from(ppdu.category)]);
        let mpdu = queue.and_then(|q| q.find(part.seq));
        let packets = mpdu.map_or(&[][..], |m| m.content.packets());
        let us = ppdu.nav_until.since(self.now).as_micros().min(32_767);
        CapturedFrame {
            at: self.now,
            radio: RadioId(rx as u16),
            channel: self.radios[rx].spec.channel,
            rate: ppdu.rate,
            signal_dbm: dbm_from_mw(hearer.lock.signal_mw),
            noise_dbm: dbm_from_mw(hearer.noise_mw),
            frame_type,
            receiver: mac(ppdu.to),
            transmitter: (!anonymous).then(|| mac(ppdu.from)),
            bssid: has_bssid.then(|| if of_ap(ppdu.to) { mac(ppdu.to) } else { mac(ppdu.from) }),
            to_ds,
            from_ds,
            retry: part.retry,
            power_management: ppdu.power_management,
            more_data: ppdu.more_data,
            sequence: has_sequence.then_some(part.seq),
            tid: (frame_type == FrameType::QosData).then(|| tid(ppdu.category)),
            duration_us: us as u16,
            len_bytes: part.bytes,
            ampdu: ppdu.aggregate.then_some((ppdu.number, last)),
            payloads: packets.iter().map(|w| w.packet.payload.clone()).collect(),
        }
    }

    fn frame_type(&self, emitter: usize) -> FrameType {
        let ppdu = &self.radios[emitter].ppdu;
        match ppdu.kind {
            Kind::Data if ppdu.to != GROUP && self.peers[ppdu.peer as usize].bounds.qos => FrameType::QosData,
            Kind::Data => FrameType::Data,
            Kind::Null => FrameType::Null,
            Kind::Ack => FrameType::Ack,
            Kind::BlockAck { start, bitmap } => FrameType::BlockAck { start, bitmap },
            Kind::BlockAckRequest { start } => FrameType::BlockAckRequest { start },
            Kind::Rts => FrameType::Rts,
            Kind::Cts => FrameType::Cts,
            Kind::CfEnd => FrameType::CfEnd,
            Kind::PsPoll => FrameType::PsPoll,
            Kind::Beacon => {
                let role = &self.ifaces[usize::from(ppdu.from)].role;
                let interval_tu = if let Role::AccessPoint(ap, _) = role { ap.beacon_interval_tu } else { 0 };
                FrameType::Beacon { interval_tu }
            }
            Kind::Authentication => FrameType::Authentication,
            Kind::AssociationRequest => FrameType::AssociationRequest,
            Kind::AssociationResponse => FrameType::AssociationResponse,
            Kind::Deauthentication => FrameType::Deauthentication,
        }
    }
}

/// The traffic identifier that stands for a category (802.1D priorities 1, 0, 5 and 6; table 10-1).
fn tid(category: u8) -> u8 {
    [1, 0, 5, 6][usize::from(category.min(3))]
}
