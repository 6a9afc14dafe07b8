//! CUBIC (RFC 9438), with fast convergence. Windows are in datagrams inside this file, as in the RFC.

use super::window::{Core, Law, LossBased};
use super::{Ack, Sibling};
use ropewalk_time::Time;

/// Multiplicative decrease (RFC 9438 §4.6).
const BETA: f64 = 0.7;
/// Steepness of the cubic, datagrams per second cubed (§4.1).
const C: f64 = 0.4;
/// Additive increase that is as aggressive as Reno with `BETA` (§4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// One congestion-avoidance stage: from one reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Stage {
    start: Time,
    /// Seconds from `start` until the window is `w_max` again.
    k: f64,
    /// What Reno would have by now.
    w_est: f64,
}

/// Additive increase before any loss, as Linux bounds it from below: a datagram per so many acknowledged.
const LINUX_FIRST_STAGE: f64 = 20.0;

/// Whose CUBIC it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    /// The RFC's.
    #[default]
    Rfc,
    /// Linux's `tcp_cubic.c`, which counts whole datagrams, stays at the weaker additive increase beyond the old window,
    /// and grows by at least a twentieth in a round trip until the first loss.
    Linux,
}

/// The law of CUBIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct CubicLaw {
    style: Style,
    w_max: f64,
    /// Window just before the last reduction.
    w_prior: f64,
    stage: Option<Stage>,
    last_ack: Time,
}

/// CUBIC as a controller.
pub type Cubic = LossBased<CubicLaw>;

impl CubicLaw {
    /// As Linux has it, for models of Linux senders.
    pub fn of_linux() -> CubicLaw {
        CubicLaw { style: Style::Linux, ..CubicLaw::default() }
    }

    /// Growth in datagrams as Linux has it, `t` seconds after the stage began and `rtt` at its least.
    fn linux_increase(&self, stage: &Stage, window: f64, acked: f64, t: f64, rtt: f64) -> f64 {
        let window = window.floor().max(1.0);
        let target = C * (t + rtt - stage.k).powi(3) + self.w_max;
        let mut per = if target > window { window / (target - window) } else { 100.0 * window };
        if self.w_prior == 0.0 {
            per = per.min(LINUX_FIRST_STAGE);
        }
        // What Reno would have counts when it is a whole datagram ahead.
        let behind = stage.w_est.floor() - window;
        if behind >= 1.0 {
            per = per.min(window / behind);
        }
        acked / per.max(2.0)
    }

    fn begin(&mut self, now: Time, window: f64) -> Stage {
        // Without a reduction behind us (slow start ended by delay) the plateau is here (§4.2).
        self.w_max = self.w_max.max(window);
        if self.style == Style::Rfc {
            self.w_prior = self.w_prior.max(window);
        }
        Stage { start: now, k: libm::cbrt((self.w_max - window) / C), w_est: window }
    }
}

impl Law for CubicLaw {
    const NAME: &'static str = "cubic";

    fn increase(&mut self, core: &Core, ack: &Ack, _siblings: &[Sibling]) -> f64 {
        let mtu = core.mtu as f64;
        let (window, acked) = (core.window as f64 / mtu, ack.bytes as f64 / mtu);
        let mut stage = self.stage.unwrap_or_else(|| self.begin(ack.now, window));
        self.last_ack = ack.now;
        // Once Reno would have reached the old window, it grows by one a round trip as Reno does (§4.3).
        let strong = self.style == Style::Rfc && stage.w_est >= self.w_prior;
        let alpha = if strong { 1.0 } else { ALPHA };
        stage.w_est += alpha * acked / window;
        self.stage = Some(stage);

        if self.style == Style::Linux {
            let t = ack.now.since(stage.start).as_secs_f64();
            return self.linux_increase(&stage, window, acked, t, ack.min_rtt.as_secs_f64()) * mtu;
        }
        let cubic = |t: f64| C * (t - stage.k).powi(3) + self.w_max;
        let t = ack.now.since(stage.start).as_secs_f64();
        if cubic(t) < stage.w_est {
            return (stage.w_est - window).max(0.0) * mtu;
        }
        // Where the curve will be a round trip from now, but never down and never up by more than half (§4.2).
        let target = cubic(t + core.srtt.as_secs_f64()).clamp(window, window * 1.5);
        (target - window) / window * acked * mtu
    }

    fn reduced(&mut self, core: &Core, _siblings: &[Sibling]) -> f64 {
        let window = core.window as f64 / core.mtu as f64;
        // Fast convergence (§4.7): a flow that did not get back to its last peak makes room for a newcomer.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.w_prior = window;
        self.stage = None;
        match self.style {
            Style::Rfc => core.window as f64 * BETA,
            Style::Linux => (window.floor() * BETA).floor() * core.mtu as f64,
        }
    }

    fn on_app_limited(&mut self, ack: &Ack) {
        // Time in which the window was not used does not move the curve (§4.2, end).
        if let Some(stage) = &mut self.stage {
            stage.start += ack.now.since(self.last_ack);
        }
        self.last_ack = ack.now;
    }

    fn reset(&mut self) {
        *self = CubicLaw { style: self.style, ..CubicLaw::default() };
    }
}
