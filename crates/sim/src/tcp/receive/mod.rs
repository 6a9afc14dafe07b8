//! The receiving half of a connection: reassembly, acknowledgements, the window.

mod acks;
mod hold;
pub(crate) mod reassembly;
mod window;

use super::{Ecn, TcpConfig};
use acks::Acks;
use core::time::Duration;
use reassembly::{Arrival, Reassembly};
use ropewalk_air::Time;
use window::Window;

/// What has happened at the receiving half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveStats {
    /// Segments with data, duplicates counted.
    pub segments: u64,
    /// Segments that brought nothing new.
    pub duplicates: u64,
    /// Segments that came before one sent earlier.
    pub early: u64,
    /// Segments with a congestion mark.
    pub marked: u64,
    /// Segments outside the window, dropped.
    pub outside: u64,
    /// The newest round trip that this end measured by the echo of its own timestamps (RFC 7323
    /// §4.1), to the millisecond.
    pub rtt: Duration,
    /// How many it has measured.
    pub rtt_samples: u64,
}

/// A segment's data, in offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    pub seq: u64,
    pub payload_bytes: u32,
    pub syn: bool,
    pub fin: bool,
    pub ecn: Ecn,
    /// The sender has reduced its window.
    pub reduced: bool,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    mss: u64,
    order: Reassembly,
    acks: Acks,
    pub window: Window,
    /// Offset of the FIN.
    fin: Option<u64>,
    /// Data bytes that the application has taken.
    read: u64,
    /// Next offset as of the last acknowledgement.
    acknowledged: u64,
    /// What came twice, for the next acknowledgement (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Marks are echoed until the sender says that it has reduced (RFC 3168 §6.1.3).
    pub echo_marks: bool,
    /// Newest timestamp to echo.
    pub echo: u32,
    pub stats: ReceiveStats,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Receiver {
            mss,
            order: Reassembly::default(),
            acks: Acks::new(config.ack),
            window: Window::new(config.receive_buffer, mss),
            fin: None,
            read: 0,
            acknowledged: 0,
            duplicate: None,
            echo_marks: false,
            echo: 0,
            stats: ReceiveStats::default(),
        }
    }

    /// Next offset expected.
    pub(crate) fn next(&self) -> u64 {
        self.order.next()
    }

    /// Next offset as of the last acknowledgement.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Data in order that the application has not taken, bytes.
    pub(crate) fn readable(&self) -> u64 {
        self.received() - self.read
    }

    /// Data that has arrived in order, bytes.
    pub(crate) fn received(&self) -> u64 {
        let end = self.fin.map_or(self.order.next(), |fin| self.order.next().min(fin));
        end.saturating_sub(1)
    }

    /// All data and the FIN have arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.order.next() > fin)
    }

    pub(crate) fn read(&mut self, now: Time, max: u64) -> u64 {
        let bytes = max.min(self.readable());
        self.read += bytes;
        self.window.on_read(now, bytes, self.mss);
        if bytes > 0 && self.window.is_worth_telling(self.next()) {
            self.acks.at_once();
        }
        bytes
    }

    /// Takes in a round trip.
    pub(crate) fn sample_rtt(&mut self, rtt: Duration) {
        self.window.sample_rtt(rtt);
        self.stats.rtt = rtt;
        self.stats.rtt_samples += 1;
    }

    /// Takes in a segment that occupies sequence space.
    pub(crate) fn on_segment(
        &mut self,
        now: Time,
        segment: &Incoming,
        srtt: Option<Duration>,
        rto: Duration,
    ) {
        let len = segment.payload_bytes + u32::from(segment.syn) + u32::from(segment.fin);
        let (start, end) = (segment.seq, segment.seq + u64::from(len));
        self.stats.segments += 1;
        self.note_marks(segment);
        if start > 0 && start >= self.window.right() && start > self.next() {
            self.stats.outside += 1;
            return self.acks.at_once();
        }
        self.mss = self.mss.max(u64::from(segment.payload_bytes));
        if segment.fin {
            self.fin = Some(end - 1);
        }
        match self.order.insert(start, end) {
            Arrival::InOrder { filled } => self.on_in_order(now, filled, segment, rto),
            Arrival::Early => {
                self.stats.early += 1;
                self.acks.on_early(now, srtt);
            }
            Arrival::Duplicate => {
                self.stats.duplicates += 1;
                self.duplicate = Some((start, end));
                self.acks.at_once();
            }
        }
    }

    fn on_in_order(&mut self, now: Time, filled: bool, segment: &Incoming, rto: Duration) {
        if segment.syn {
            // The handshake is acknowledged by whoever runs it.
            return self.acknowledged = self.next();
        }
        let unacknowledged = self.next() - self.acknowledged;
        let window_segments = self.window.right().saturating_sub(self.next()) / self.mss;
        self.acks.on_in_order(now, unacknowledged, self.mss, window_segments, rto);
        // RFC 5681 §4.2: at once when a gap closes or shrinks; and the end is answered at once as well.
        if filled && self.has_gap() {
            self.acks.on_filled_one_of_several();
        } else if filled || segment.fin {
            self.acks.at_once();
        }
    }

    fn note_marks(&mut self, segment: &Incoming) {
        if segment.reduced {
            self.echo_marks = false;
        }
        if segment.ecn == Ecn::Ce {
            self.stats.marked += 1;
            self.echo_marks = true;
            self.acks.on_mark();
        }
    }

    /// An acknowledgement must leave, whatever came.
    pub(crate) fn acknowledge_at_once(&mut self) {
        self.acks.at_once();
    }

    pub(crate) fn is_ack_due(&self) -> bool {
        self.acks.is_due()
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.acks.next_timeout()
    }

    pub(crate) fn on_timer(&mut self, now: Time, rto: Duration) {
        self.acks.on_timer(now, rto);
    }

    pub(crate) fn on_data_sent(&mut self, now: Time) {
        self.acks.on_data_sent(now);
    }

    /// Blocks for an acknowledgement: what came twice first, then what came early, `room` at most.
    pub(crate) fn blocks(&mut self, room: usize) -> Vec<(u64, u64)> {
        self.duplicate.take().into_iter().chain(self.order.blocks()).take(room).collect()
    }

    /// An acknowledgement leaves: the window that it offers.
    pub(crate) fn on_ack_sent(&mut self, scale: u8) -> u16 {
        self.acks.on_ack_sent();
        self.acknowledged = self.next();
        self.window.offer(self.order.next(), self.mss, scale)
    }

    /// Something came early, and is not yet continued.
    pub(crate) fn has_gap(&self) -> bool {
        self.order.has_gap()
    }
}
