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
        /// Congestion windows of TCP that were looked at, bytes in sum.
        window_bytes,
        /// How many.
        windows,
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

counters! {
    /// What a processor did since the start.
    pub struct CpuCounts {
        /// Packets that it worked on.
        packets,
        /// Packets that found no place to wait.
        dropped,
        /// Interrupts.
        interrupts,
        /// How long it worked, ns.
        busy_ns,
        /// How long packets waited for it, ns in sum.
        wait_ns,
    }
}

counters! {
    /// What a part of a bunch did since the start; those of an access point that was switched off go on.
    pub struct BunchCounts {
        /// Packets that it brought first, or that the gateway delivered.
        packets,
        /// Their bytes.
        bytes,
        /// Packets that it did not bring in time.
        failed,
        /// Packets that it brought too late.
        late,
        /// Packets with wrong content.
        damaged,
        /// Packets captured.
        captured,
        /// Repetitions on the air.
        repeated,
        /// Packets without memory for them.
        refused,
        /// Bytes of its reports.
        report_bytes,
        /// Bytes that it holds now.
        held_bytes,
        /// The gateway's: connections that were reset.
        resets,
    }
}

impl BunchCounts {
    /// What an access point says of itself, on top of what it had counted when it was switched off.
    pub(crate) fn on_ap(&mut self, base: &BunchCounts, now: &ropewalk_bunch::ap::Counts, held_bytes: u64) {
        self.captured = base.captured + now.captured;
        self.repeated = base.repeated + now.repeated;
        self.refused = base.refused + now.refused;
        (self.report_bytes, self.held_bytes) = (base.report_bytes + now.report_bytes, held_bytes);
    }

    /// What the gateway says of an access point.
    pub(crate) fn on_account(&mut self, account: &ropewalk_bunch::gateway::Account) {
        (self.packets, self.bytes, self.failed) = (account.packets, account.bytes, account.failed);
        (self.late, self.damaged) = (account.late, account.damaged);
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

    /// Mean congestion window, bytes.
    pub fn cwnd_bytes(&self) -> Option<u64> {
        self.window_bytes.checked_div(self.windows)
    }
}

fn mean_ms(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e6)
}
