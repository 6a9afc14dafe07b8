//! What a captured frame says of its link.

use crate::packet::PacketRef;
use ropewalk_air::wifi::phy::{Band, Standard, Timing, duration};
use ropewalk_air::wifi::{CapturedFrame, FrameType, RadioSpec};
use ropewalk_roam::airtime::{Air, Contention};
use ropewalk_roam::estimate::Frame;

/// What a client knows of its channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    standard: Standard,
    band: Band,
    timing: Timing,
    /// AIFSN of best effort, or 2 for DIFS.
    aifsn: u8,
    /// How its access points contend: as its own radio does.
    pub contention: Contention,
}

impl Channel {
    /// The channel of a radio.
    pub(super) fn of(spec: &RadioSpec) -> Channel {
        let band = spec.channel.band();
        let timing = Timing::new(spec.standard, band, spec.slots);
        let best_effort = spec.edca_params()[1];
        let (min, max) = (u32::from(best_effort.cw_min) + 1, u32::from(best_effort.cw_max) + 1);
        let contention = Contention {
            backoff_s: f64::from(best_effort.cw_min) / 2.0 * timing.slot.as_secs_f64(),
            doublings: (max / min).max(1).ilog2(),
            retries: u32::from(spec.retry_limit).saturating_sub(1),
        };
        Channel { standard: spec.standard, band, timing, aifsn: best_effort.aifsn, contention }
    }

    /// The frame as the estimator counts it, and its air; none if it carries no data to one station.
    pub(super) fn read(&self, captured: &CapturedFrame<PacketRef>) -> Option<(Frame, Air)> {
        let is_data = matches!(captured.frame_type, FrameType::Data | FrameType::QosData);
        if !is_data || captured.receiver.is_group() || !captured.from_ds {
            return None;
        }
        let frame = Frame {
            transmitter: captured.transmitter?.0,
            receiver: captured.receiver.0,
            tid: captured.tid,
            sequence: captured.sequence?,
            retry: captured.retry,
        };
        let rate = captured.rate;
        let basic = duration::default_basic_rates(self.standard, self.band);
        let answer_rate = duration::response_rate(rate, &basic);
        let (bytes, answer) = match captured.ampdu {
            Some(_) => (
                duration::ampdu_subframe_bytes(captured.len_bytes),
                duration::block_ack(answer_rate, self.band),
            ),
            None => (captured.len_bytes, duration::ack(answer_rate, self.band)),
        };
        let whole = duration::ppdu(rate, bytes, self.band);
        let empty = duration::ppdu(rate, 0, self.band);
        let overhead = empty + self.timing.sifs + answer + self.timing.aifs(self.aifsn);
        let aggregate = captured.ampdu.map(|a| a.0);
        Some((frame, Air { payload: whole - empty, overhead, aggregate }))
    }
}
