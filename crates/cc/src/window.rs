//! What all loss-based controllers share: slow start, one reduction per round trip, undoing a reduction that
//! was a mistake, and pacing.
//!
//! A loss-based algorithm is a [`Law`]: how a window grows per acknowledgement in congestion avoidance and to
//! what it shrinks. [`LossBased`] makes a [`Controller`] of it.

use super::hystart::{Growth, SlowStart, SlowStartExit};
use super::{Ack, Controller, Loss, Sibling};
use core::fmt::Debug;
use ropewalk_time::{Duration, Time};

/// Initial window, datagrams (RFC 6928; RFC 9002 §7.2).
const INITIAL_DATAGRAMS: u64 = 10;
/// Smallest window, datagrams (RFC 9002 §7.2).
const MIN_DATAGRAMS: u64 = 2;

/// State that every [`Law`] may look at.
#[derive(Clone, Debug)]
pub struct Core {
    /// Largest datagram, bytes on the wire.
    pub mtu: u64,
    /// Congestion window, bytes.
    pub window: u64,
    /// Slow start ends here, bytes.
    pub ssthresh: u64,
    /// Smoothed round-trip time (RFC 6298 weights); zero before the first sample.
    pub srtt: Duration,
    /// Part of a byte of growth not yet given to `window`.
    fraction: f64,
}

impl Core {
    fn new(mtu: u64) -> Self {
        let window = INITIAL_DATAGRAMS * mtu;
        Core { mtu, window, ssthresh: u64::MAX, srtt: Duration::ZERO, fraction: 0.0 }
    }

    /// The smallest window, bytes.
    pub fn min_window(&self) -> u64 {
        MIN_DATAGRAMS * self.mtu
    }

    fn grow(&mut self, bytes: f64) {
        let exact = self.window as f64 + self.fraction + bytes;
        let whole = exact.floor().max(self.min_window() as f64);
        self.fraction = (exact - whole).clamp(0.0, 1.0);
        self.window = whole as u64;
        // A law may shrink the window (OLIA); that is no reason to slow-start.
        self.ssthresh = self.ssthresh.min(self.window);
    }

    fn sample_rtt(&mut self, rtt: Duration) {
        self.srtt = if self.srtt.is_zero() { rtt } else { (self.srtt * 7 + rtt) / 8 };
    }
}

/// The part of a loss-based controller in which the algorithms differ.
pub trait Law: Clone + Debug + Send + 'static {
    /// The name it is chosen by.
    const NAME: &'static str;
    /// Change of the window for this acknowledgement in congestion avoidance, bytes; may be negative (OLIA).
    fn increase(&mut self, core: &Core, ack: &Ack, siblings: &[Sibling]) -> f64;
    /// The window after a congestion event, bytes.
    fn reduced(&mut self, core: &Core, siblings: &[Sibling]) -> f64;
    /// The acknowledged data did not fill the window, which was therefore left alone.
    fn on_app_limited(&mut self, _ack: &Ack) {}
    /// Forget what was learned about the path.
    fn reset(&mut self);
}

/// What to go back to if a reduction proves mistaken.
#[derive(Clone, Debug)]
struct Undo<L> {
    law: L,
    window: u64,
    ssthresh: u64,
    /// Bytes declared lost in that event and not yet seen to have arrived after all.
    unproven: u64,
}

/// A loss-based controller following the law `L`.
#[derive(Clone, Debug)]
pub struct LossBased<L> {
    core: Core,
    law: L,
    exit: SlowStartExit,
    /// Losses of packets sent before this belong to the congestion event already answered.
    recovery_start: Option<Time>,
    undo: Option<Undo<L>>,
    /// Bytes acknowledged since the last loss, and between the last two (OLIA's l2 and l1).
    since_loss: u64,
    between_losses: u64,
}

impl<L: Law> LossBased<L> {
    /// A controller for a path whose datagrams have `mtu` bytes on the wire.
    pub fn new(law: L, mtu: u64) -> Self {
        LossBased {
            core: Core::new(mtu),
            law,
            exit: SlowStartExit::new(SlowStart::default()),
            recovery_start: None,
            undo: None,
            since_loss: 0,
            between_losses: 0,
        }
    }

    /// The same with another way to find the end of slow start.
    pub fn with_slow_start(mut self, rule: SlowStart) -> Self {
        self.exit = SlowStartExit::new(rule);
        self
    }

    /// Begin in congestion avoidance at `window` bytes: the path's state is known from elsewhere.
    pub(super) fn start_at(&mut self, window: u64, srtt: Duration) {
        self.core.window = window.max(self.core.min_window());
        self.core.ssthresh = self.core.window;
        self.core.srtt = srtt;
    }

    fn in_slow_start(&self) -> bool {
        self.core.window < self.core.ssthresh
    }

    fn slow_start(&mut self, ack: &Ack) {
        match self.exit.on_ack(ack, self.core.window / self.core.mtu) {
            Growth::By(divisor) => {
                let room = self.core.ssthresh - self.core.window;
                self.core.window += (ack.bytes / divisor).min(room);
            }
            Growth::Done => self.core.ssthresh = self.core.window,
        }
    }

    /// A loss or a mark was answered: the bytes since then count anew.
    fn note_event(&mut self) {
        self.between_losses = core::mem::take(&mut self.since_loss);
    }

    /// Answer a congestion event about a packet sent at `sent`, unless that event is answered already: one
    /// reduction per round trip (RFC 9002 §7.3.2).
    fn congestion(&mut self, now: Time, sent: Time, siblings: &[Sibling]) -> bool {
        if self.recovery_start.is_some_and(|start| sent <= start) {
            return false;
        }
        self.recovery_start = Some(now);
        let (law, window, ssthresh) = (self.law.clone(), self.core.window, self.core.ssthresh);
        self.undo = Some(Undo { law, window, ssthresh, unproven: 0 });
        let reduced = self.law.reduced(&self.core, siblings) as u64;
        self.core.window = reduced.max(self.core.min_window());
        self.core.ssthresh = self.core.window;
        self.core.fraction = 0.0;
        true
    }
}

impl<L: Law> Controller for LossBased<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn on_sent(&mut self, _now: Time, _bytes: u64, _inflight: u64) {}

    fn on_ack(&mut self, ack: &Ack, siblings: &[Sibling]) {
        self.core.sample_rtt(ack.rtt);
        self.since_loss += ack.bytes;
        // A CE mark is a loss in all but name (RFC 3168 §5).
        if ack.ce_packets > 0 && self.congestion(ack.now, ack.newest_sent, siblings) {
            self.undo = None;
            self.note_event();
            return;
        }
        if self.recovery_start.is_some_and(|start| ack.newest_sent <= start) {
            return;
        }
        if ack.app_limited && ack.inflight + ack.bytes < self.core.window {
            self.law.on_app_limited(ack);
        } else if self.in_slow_start() {
            self.slow_start(ack);
        } else {
            let bytes = self.law.increase(&self.core, ack, siblings);
            self.core.grow(bytes);
        }
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &[Sibling]) {
        if self.congestion(loss.now, loss.newest_sent, siblings) {
            self.note_event();
        }
        if let Some(undo) = &mut self.undo {
            undo.unproven += loss.bytes;
        }
    }

    fn on_spurious_loss(&mut self, _now: Time, bytes: u64) {
        let Some(undo) = &mut self.undo else { return };
        undo.unproven = undo.unproven.saturating_sub(bytes);
        if undo.unproven == 0 {
            // Nothing was lost in that event (RFC 9438 §4.9).
            let undo = self.undo.take().expect("checked above");
            self.core.window = self.core.window.max(undo.window);
            self.core.ssthresh = undo.ssthresh;
            self.law = undo.law;
        }
    }

    fn reset(&mut self, _now: Time) {
        let mut law = self.law.clone();
        law.reset();
        *self = LossBased::new(law, self.core.mtu).with_slow_start(self.exit.rule());
    }

    fn set_mtu(&mut self, bytes: u64) {
        self.core.mtu = bytes.max(1);
        self.core.window = self.core.window.max(self.core.min_window());
    }

    fn window(&self) -> u64 {
        self.core.window
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        // Faster than a window per round trip, so that pacing is never what limits (RFC 9002 §7.7); in slow
        // start the window doubles in a round trip, and so must the rate.
        let bps = self.bandwidth_bps();
        let gained = if self.in_slow_start() { bps.saturating_mul(2) } else { bps.saturating_add(bps / 4) };
        (!self.core.srtt.is_zero()).then_some(gained)
    }

    fn bandwidth_bps(&self) -> u64 {
        let ns = self.core.srtt.as_nanos().max(1);
        (u128::from(self.core.window) * 8_000_000_000 / ns).min(u128::from(u64::MAX)) as u64
    }

    fn is_probing(&self) -> bool {
        self.in_slow_start()
    }

    fn bytes_since_loss(&self) -> u64 {
        self.since_loss.max(self.between_losses)
    }
}
