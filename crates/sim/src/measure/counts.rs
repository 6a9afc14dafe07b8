//! Counters that only grow, so that a figure over any span of time is a difference.

/// Declares a structure of counters with a difference.
macro_rules! counters {
    ($(#[doc = $doc:literal])+ pub struct $name:ident { $( $(#[doc = $field_doc:literal])+ $field:ident, )* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $( $(#[doc = $field_doc])+ pub $field: u64, )* }

        impl $name {
            /// What has been added since `earlier`.
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $( $field: self.$field.saturating_sub(earlier.$field), )* }
            }
        }
    };
}

counters! {
    /// What a flow did since the start.
    pub struct FlowCounts {
        /// Packets with payload that were sent, repeated ones included.
        sent,
        /// Bytes of payload that were sent or, by a stream, written.
        sent_bytes,
        /// Packets received, copies not counted.
        received,
        /// Bytes of payload that the application got.
        received_bytes,
        /// Packets that came after one sent later (RFC 4737 §3.3).
        reordered,
        /// Packets that came again.
        duplicates,
        /// Packets that came with Congestion Experienced (RFC 3168).
        ce_marks,
        /// One-way delays, ns in sum.
        delay_ns,
        /// How many.
        delays,
        /// Round trips, ns in sum.
        rtt_ns,
        /// How many.
        rtts,
        /// Segments sent again.
        retransmissions,
        /// Retransmission timeouts.
        timeouts,
        /// Requests or segments that were answered in full.
        responses,
        /// Times that nothing came for longer than [`super::FlowRecord::STALL`].
        gaps,
        /// Video frames judged.
        frames,
        /// Of these, those that could be shown.
        frames_good,
        /// Adaptive streaming: segments.
        segments,
        /// Sum of their bit rates, bit/s.
        bitrate_sum,
        /// Segments of another quality than the one before.
        switches,
        /// Times that the picture froze.
        freezes,
        /// How long it was frozen, ns.
        frozen_ns,
    }
}

impl FlowCounts {
    /// Mean one-way delay, ms.
    pub fn delay_ms(&self) -> Option<f64> {
        mean_ms(self.delay_ns, self.delays)
    }

    /// Mean round trip, ms.
    pub fn rtt_ms(&self) -> Option<f64> {
        mean_ms(self.rtt_ns, self.rtts)
    }
}

fn mean_ms(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e6)
}
