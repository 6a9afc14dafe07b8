//! What an endpoint is to be like.

use core::time::Duration;
use ropewalk_cc::{Algorithm, Controller, SlowStart};

/// How much the receiver is ready to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// A window that does not grow, bytes: MM-2's RWIN.
    Fixed(u64),
    /// Grows with what the application reads per round trip, as Linux's dynamic right-sizing does.
    Auto {
        /// At first, bytes.
        initial: u64,
        /// At most, bytes.
        max: u64,
    },
}

impl ReceiveBuffer {
    /// Most it can become, bytes.
    pub const fn max(self) -> u64 {
        match self {
            ReceiveBuffer::Fixed(bytes) => bytes,
            ReceiveBuffer::Auto { max, .. } => max,
        }
    }

    /// At first, bytes.
    pub const fn initial(self) -> u64 {
        match self {
            ReceiveBuffer::Fixed(bytes) => bytes,
            ReceiveBuffer::Auto { initial, .. } => initial,
        }
    }
}

impl Default for ReceiveBuffer {
    /// Linux's defaults (`tcp_rmem` 4096 131072 6291456), of which half is window.
    fn default() -> ReceiveBuffer {
        ReceiveBuffer::Auto { initial: 65_535, max: 3 << 20 }
    }
}

/// Whether segments are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Only with controllers that are made for it (tidal), as on Linux without the `fq` queueing discipline.
    #[default]
    IfNeeded,
    /// At the rate the controller gives, whatever it is; as Linux with `fq`.
    Always,
    /// As the window allows.
    Never,
}

/// How the retransmission timeout follows from round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// The variance has a floor: timeout = srtt + max(4·rttvar, floor). Linux, with 200 ms.
    VarianceFloor(Duration),
    /// The timeout has a floor: max(srtt + 4·rttvar, floor). RFC 6298 §2.4, with 1 s.
    Floor(Duration),
}

impl RtoRule {
    /// Linux's default.
    pub const LINUX: RtoRule = RtoRule::VarianceFloor(Duration::from_millis(200));
    /// The RFC's.
    pub const RFC6298: RtoRule = RtoRule::Floor(Duration::from_secs(1));

    /// The floor itself.
    pub const fn floor(self) -> Duration {
        match self {
            RtoRule::VarianceFloor(floor) | RtoRule::Floor(floor) => floor,
        }
    }
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Longest wait for a second segment.
    pub delay: Duration,
    /// How many segments at the start are acknowledged at once (Linux's quick acknowledgements).
    pub quick: u32,
    /// Acknowledgements of segments out of order are thinned to one per a twentieth of a round trip, at most 1 ms, from
    /// the fourth on (Linux's SACK compression).
    pub compress_sack: bool,
    /// Spells in which it waits for more segments than two; none: there are none.
    pub hold: Option<AckHold>,
}

/// A receiver that at times acknowledges seldom although nothing is missing: what the dual-band poster saw (section 3, DB-11). In a held spell an
/// acknowledgement leaves when a number of segments has come that is drawn anew each time, or when the timer for delayed ones runs out.
/// All times are drawn evenly from 0 to twice their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckHold {
    /// Mean time until a held spell begins.
    pub clear: Duration,
    /// Mean time that it lasts.
    pub held: Duration,
    /// Most segments that an acknowledgement waits for, at least 2.
    pub segments: u32,
    /// Where chance comes from. The same for all subflows of a connection: they have one receiver.
    pub seed: u64,
}

impl Default for AckPolicy {
    fn default() -> AckPolicy {
        AckPolicy { delay: Duration::from_millis(40), quick: 16, compress_sack: true, hold: None }
    }
}

/// How losses are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossDetection {
    /// By time, with tail loss probes: RFC 8985.
    #[default]
    RackTlp,
    /// By three segments' worth of SACKed data above: RFC 6675.
    DupThresh,
}

/// What an endpoint is to be like. The defaults are those of Linux 6.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// MSS that is announced, bytes: MTU less 40.
    pub mss: u16,
    /// Congestion control.
    pub congestion_control: Algorithm,
    /// Growth as Linux has it where that is not the RFC's: CUBIC.
    pub linux_growth: bool,
    /// How slow start ends before a loss; none: as Linux does for this algorithm ([`TcpConfig::slow_start`]).
    pub slow_start: Option<SlowStart>,
    /// Receive buffer.
    pub receive_buffer: ReceiveBuffer,
    /// Most bytes written and not yet acknowledged; more is not taken.
    pub send_buffer_bytes: u64,
    /// RFC 7323 §2. Without it windows end at 64 KiB.
    pub window_scaling: bool,
    /// RFC 7323 §3.
    pub timestamps: bool,
    /// RFC 3168.
    pub ecn: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Retransmission timeout.
    pub rto: RtoRule,
    /// Delayed acknowledgements.
    pub ack: AckPolicy,
    /// Loss detection.
    pub loss_detection: LossDetection,
    /// Proportional rate reduction (RFC 6937) on the way to a smaller window; without it the window falls at once.
    pub prr: bool,
    /// Detection of spurious timeouts by original acknowledgements (RFC 5682).
    pub frto: bool,
    /// Undo of reductions that DSACK (RFC 3708) or timestamps (RFC 3522) show to be mistaken.
    pub undo: bool,
    /// Small segments are sent although others are unacknowledged (no Nagle).
    pub no_delay: bool,
    /// The window is to be rebuilt after an idle time of a timeout or more (RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// How long TIME-WAIT lasts.
    pub time_wait: Duration,
    /// Timeouts in a row without progress after which the connection is given up (Linux's `tcp_retries2`).
    pub max_timeouts: u32,
}

impl Default for TcpConfig {
    fn default() -> TcpConfig {
        TcpConfig {
            mss: 1460,
            congestion_control: Algorithm::Cubic,
            linux_growth: true,
            slow_start: None,
            receive_buffer: ReceiveBuffer::default(),
            send_buffer_bytes: u64::MAX,
            window_scaling: true,
            timestamps: true,
            ecn: false,
            pacing: Pacing::default(),
            rto: RtoRule::LINUX,
            ack: AckPolicy::default(),
            loss_detection: LossDetection::default(),
            prr: true,
            frto: true,
            undo: true,
            no_delay: false,
            slow_start_after_idle: true,
            time_wait: Duration::from_secs(60),
            max_timeouts: 15,
        }
    }
}

impl TcpConfig {
    /// The same with another congestion control.
    pub fn congestion_control(self, algorithm: Algorithm) -> TcpConfig {
        TcpConfig { congestion_control: algorithm, ..self }
    }

    /// The same with a window that does not grow, bytes.
    pub fn fixed_window(self, bytes: u64) -> TcpConfig {
        TcpConfig { receive_buffer: ReceiveBuffer::Fixed(bytes), ..self }
    }

    /// How slow start ends: as asked, else HyStart for CUBIC and nothing for the others, as in Linux.
    pub fn slow_start(&self) -> SlowStart {
        self.slow_start.unwrap_or(match self.congestion_control {
            Algorithm::Cubic => SlowStart::HyStart,
            _ => SlowStart::Standard,
        })
    }

    /// A fresh controller for segments of `mss` bytes.
    pub(crate) fn controller(&self, mss: u64) -> Box<dyn Controller> {
        match self.linux_growth {
            true => self.congestion_control.controller_of_linux(mss, self.slow_start()),
            false => self.congestion_control.controller_with(mss, self.slow_start()),
        }
    }
}
