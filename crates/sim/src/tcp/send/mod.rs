//! The sending half of a connection.
//!
//! ```text
//! write ─▶ limit      next: lost segments, then a probe, then new data ─▶ Outgoing
//!                       │ window (control), pacing, the peer's window
//! acknowledgement ─▶ scoreboard ─▶ rack ─▶ recovery ─▶ control (controller)
//! timers: RTO, tail loss probe, reordering, zero-window probe
//! ```

mod ack;
mod control;
mod rack;
mod recovery;
mod rtt;
mod scoreboard;
mod timers;

use super::{LossDetection, Mapping, TcpConfig};
pub(crate) use ack::Acknowledgement;
use control::Control;
use core::time::Duration;
use rack::Rack;
use recovery::Recovery;
use ropewalk_air::Time;
use rtt::RttEstimator;
use scoreboard::{Scoreboard, Sent};
use std::collections::VecDeque;
use timers::Timers;

/// The part of a segment that the sending half decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Offset of the first byte (or of the SYN).
    pub seq: u64,
    pub payload_bytes: u32,
    pub syn: bool,
    pub fin: bool,
    /// The last of what was written.
    pub push: bool,
    /// Sent before.
    pub repeated: bool,
}

/// A stretch of the stream that belongs somewhere in an MPTCP connection's data stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Offset in this subflow.
    pub offset: u64,
    /// Data sequence number of the first byte.
    pub data_sequence: u64,
    pub len: u64,
}

/// What has happened at the sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStats {
    /// Segments sent, retransmissions counted.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Reductions that were taken back.
    pub undos: u64,
    /// Reductions for marks.
    pub marks: u64,
    /// Duplicates that the receiver reported.
    pub duplicates: u64,
    /// Sum of the round-trip samples.
    pub rtt_sum: Duration,
    /// Their number.
    pub rtt_samples: u64,
}

#[derive(Debug)]
pub(crate) struct Sender {
    config: TcpConfig,
    /// Payload per segment, bytes.
    pub mss: u64,
    board: Scoreboard,
    pub rtt: RttEstimator,
    rack: Rack,
    pub control: Control,
    recovery: Recovery,
    timers: Timers,
    /// Lowest offset not acknowledged.
    pub una: u64,
    /// Next offset to be sent.
    pub next: u64,
    /// One past the last byte that was written.
    limit: u64,
    /// A FIN follows the last byte.
    fin: bool,
    fin_sent: bool,
    /// One past the last offset that the peer takes.
    pub right: u64,
    /// The largest window that the peer has offered.
    max_window: u64,
    /// Subflow: the peer's window is the connection's affair.
    pub ignore_peer_window: bool,
    /// End of the last segment that was shorter than the MSS (Minshall's form of Nagle).
    small_end: u64,
    last_send: Time,
    /// Pacing holds the next segment, if there is one.
    held: bool,
    /// A zero-window probe is due.
    window_probe: bool,
    /// The next data segment tells that the window was reduced (RFC 3168 §6.1.2).
    pub tell_reduced: bool,
    /// A subflow's data, where it belongs; in order.
    pub mappings: VecDeque<Mapped>,
    pub stats: SendStats,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Sender {
            mss,
            board: Scoreboard::default(),
            rtt: RttEstimator::new(config.rto),
            rack: Rack::default(),
            control: Control::new(config, mss),
            recovery: Recovery::default(),
            timers: Timers::default(),
            una: 0,
            next: 0,
            limit: 1,
            fin: false,
            fin_sent: false,
            right: 1,
            max_window: 0,
            ignore_peer_window: false,
            small_end: 0,
            last_send: Time::ZERO,
            held: false,
            window_probe: false,
            tell_reduced: false,
            mappings: VecDeque::new(),
            stats: SendStats::default(),
            config: config.clone(),
        }
    }

    pub(crate) fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
        self.control.set_mss(mss);
    }

    /// Takes as many of `bytes` as the send buffer has room for.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        let held = self.limit - self.una.max(1);
        let taken =
            bytes.min(self.config.send_buffer_bytes.saturating_sub(held)).min(u64::MAX / 4 - self.limit);
        self.limit += taken;
        taken
    }

    /// Written and not yet acknowledged, bytes.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.limit - self.una.clamp(1, self.limit)
    }

    /// Written and not yet sent, bytes.
    pub(crate) fn unsent(&self) -> u64 {
        self.limit - self.next.clamp(1, self.limit)
    }

    /// Acknowledged, bytes of data.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.una.clamp(1, self.limit) - 1
    }

    pub(crate) fn finish(&mut self) {
        self.fin = true;
    }

    /// The FIN was sent and acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_sent && self.una > self.limit
    }

    pub(crate) fn is_fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// Where the `len` bytes at `offset` belong in the data stream of an MPTCP connection.
    pub(crate) fn mapping(&self, offset: u64, len: u32) -> Option<Mapping> {
        let at = self.mappings.partition_point(|m| m.offset + m.len <= offset);
        let mapped = self.mappings.get(at).filter(|m| m.offset <= offset && len > 0)?;
        let data_sequence = mapped.data_sequence + (offset - mapped.offset);
        Some(Mapping { data_sequence, length: len as u16, subflow_sequence: offset as u32 })
    }

    pub(crate) fn flight(&self) -> u64 {
        self.board.flight()
    }

    /// A full segment that came now could leave now.
    pub(crate) fn is_ready(&self, now: Time) -> bool {
        let idle = self.unsent() == 0 && self.board.next_lost().is_none();
        self.una > 0 && idle && now >= self.control.release() && self.may_send(self.mss)
    }

    /// There is room, and nothing that may be sent: what is on the way says little of the path's rate.
    pub(crate) fn note_idle_room(&mut self) {
        self.control.on_idle_room(self.board.flight());
    }

    /// Adds `len` bytes that belong at `data_sequence` of an MPTCP connection's stream.
    pub(crate) fn write_mapped(&mut self, data_sequence: u64, len: u64) {
        let offset = self.limit;
        self.limit += len;
        self.mappings.push_back(Mapped { offset, data_sequence, len });
    }

    /// A timeout is being recovered from.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.rtt.backoff() > 0
    }

    /// The peer's window now ends at `right`.
    pub(crate) fn set_window(&mut self, right: u64, window: u64) {
        self.right = self.right.max(right);
        self.max_window = self.max_window.max(window);
    }

    /// The next segment to leave at `now`, if one may.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Outgoing> {
        if core::mem::take(&mut self.window_probe) {
            // An old byte's number without the byte: whoever gets it must answer (as Linux's `tcp_xmit_probe_skb`).
            return Some(Outgoing { seq: self.una - 1, ..Outgoing::default() });
        }
        if self.recovery.take_probe_due()
            && let Some(probe) = self.tail_loss_probe(now)
        {
            return Some(probe);
        }
        self.held = now < self.control.release();
        if self.held {
            return None;
        }
        self.decay_if_idle(now);
        if let Some(id) = self.board.next_lost()
            && !self.recovery.new_data_first
        {
            let len = self.board.get(id).map_or(0, |sent| u64::from(sent.len));
            return self.may_send(len).then(|| self.retransmit(now, id)).flatten();
        }
        if !self.may_send(1) {
            return None;
        }
        let Some(new) = self.next_new() else {
            if !self.ignore_peer_window {
                self.note_idle_room();
                self.await_window(now);
            }
            return None;
        };
        self.may_send(u64::from(new.payload_bytes)).then(|| self.send_new(now, new))
    }

    /// The congestion window has room for so many bytes; a first segment always leaves.
    fn may_send(&self, bytes: u64) -> bool {
        self.board.flight() == 0 || self.board.flight() + bytes <= self.control.window()
    }

    fn decay_if_idle(&mut self, now: Time) {
        if self.config.slow_start_after_idle && self.board.is_empty() && self.last_send > Time::ZERO {
            self.control.restart_after(now - self.last_send, self.rtt.rto());
        }
    }

    /// The next new segment, as far as data, Nagle and the peer's window allow.
    fn next_new(&self) -> Option<Outgoing> {
        if self.next == 0 {
            return Some(Outgoing { syn: true, ..Outgoing::default() });
        }
        if self.una == 0 || self.fin_sent {
            return None;
        }
        let unsent = self.limit - self.next;
        let len = self.mss.min(unsent).min(self.mapped_room());
        let fin = self.fin && len == unsent;
        if len == 0 && !fin {
            return None;
        }
        let len = self.fit_window(len)?;
        let last = len == unsent;
        if len < self.mss && !fin && !self.config.no_delay && self.small_end > self.una {
            return None;
        }
        Some(Outgoing {
            seq: self.next,
            payload_bytes: len as u32,
            fin: fin && last,
            push: last,
            ..Outgoing::default()
        })
    }

    /// How much from `next` on lies in one piece of the data stream.
    fn mapped_room(&self) -> u64 {
        if !self.ignore_peer_window {
            return u64::MAX;
        }
        let at = self.mappings.partition_point(|m| m.offset + m.len <= self.next);
        self.mappings.get(at).map_or(0, |m| m.offset + m.len - self.next)
    }

    /// No more than the peer takes, and no silly pieces (RFC 1122 §4.2.3.4).
    fn fit_window(&self, len: u64) -> Option<u64> {
        if self.ignore_peer_window {
            return Some(len);
        }
        let open = self.right.saturating_sub(self.next);
        if len <= open {
            return Some(len);
        }
        (open > 0 && open >= (self.max_window / 2).min(self.mss)).then_some(open)
    }

    fn send_new(&mut self, now: Time, new: Outgoing) -> Outgoing {
        let len = new.payload_bytes + u32::from(new.syn) + u32::from(new.fin);
        let snapshot = self.control.on_send(now, u64::from(new.payload_bytes), self.board.flight());
        self.board.push(Sent {
            seq: new.seq,
            len,
            syn: new.syn,
            fin: new.fin,
            sent: now,
            snapshot,
            transmissions: 1,
            sacked: false,
            lost: false,
            retransmitting: false,
        });
        self.next += u64::from(len);
        self.fin_sent |= new.fin;
        if u64::from(new.payload_bytes) < self.mss {
            self.small_end = self.next;
        }
        self.last_send = now;
        self.stats.segments += 1;
        self.on_new_sent(now);
        new
    }

    fn retransmit(&mut self, now: Time, id: u64) -> Option<Outgoing> {
        let sent = *self.board.get(id)?;
        let payload_bytes = sent.len - u32::from(sent.syn) - u32::from(sent.fin);
        let snapshot = self.control.on_send(now, u64::from(payload_bytes), self.board.flight());
        self.board.retransmit(id, now, snapshot);
        self.recovery.on_retransmit(now);
        self.timers.arm_rto_if_idle(now, self.rtt.rto());
        self.last_send = now;
        self.stats.segments += 1;
        self.stats.retransmits += 1;
        let push = sent.end() >= self.limit;
        Some(Outgoing { seq: sent.seq, payload_bytes, syn: sent.syn, fin: sent.fin, push, repeated: true })
    }

    fn uses_rack(&self) -> bool {
        self.config.loss_detection == LossDetection::RackTlp
    }
}
