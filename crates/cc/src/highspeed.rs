//! HighSpeed TCP (RFC 3649): NewReno up to 38 datagrams, above that steeper up and less far down, so that a large
//! window is sustained at loss rates that real paths have. Windows are in datagrams inside this file, as in the RFC.

use super::window::{Core, Law, LossBased};
use super::{Ack, Sibling};

/// Up to this window the law is NewReno's (RFC 3649 §5, Low_Window).
const LOW_WINDOW: f64 = 38.0;
/// The window at which the decrease is `HIGH_DECREASE` (High_Window), reached at a loss rate of 10⁻⁷.
const HIGH_WINDOW: f64 = 83_000.0;
/// The part given up at `HIGH_WINDOW` (High_Decrease).
const HIGH_DECREASE: f64 = 0.1;

/// The law of HighSpeed.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeedLaw;

/// HighSpeed as a controller.
pub type HighSpeed = LossBased<HighSpeedLaw>;

/// b(w): the part of the window that a congestion event takes (§5).
fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    let share = libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    ((HIGH_DECREASE - 0.5) * share + 0.5).max(HIGH_DECREASE)
}

/// a(w): growth per round trip, datagrams (§5), with the response p(w) = 0.078 / w^1.2 of §5.
fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    let (loss, b) = (0.078 / libm::pow(window, 1.2), decrease(window));
    (window * window * loss * 2.0 * b / (2.0 - b)).max(1.0)
}

impl Law for HighSpeedLaw {
    const NAME: &'static str = "highspeed";

    fn increase(&mut self, core: &Core, ack: &Ack, _siblings: &[Sibling]) -> f64 {
        let a = increase(core.window as f64 / core.mtu as f64);
        a * core.mtu as f64 * ack.bytes as f64 / core.window as f64
    }

    fn reduced(&mut self, core: &Core, _siblings: &[Sibling]) -> f64 {
        let window = core.window as f64;
        window * (1.0 - decrease(window / core.mtu as f64))
    }

    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_table_of_the_rfc() {
        // RFC 3649, Appendix B: w, a(w), b(w). The last row is §5's own, from p = 10⁻⁷ exactly.
        let rows = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
            (83_000.0, 72.0, 0.10),
        ];
        for (window, a, b) in rows {
            assert!((decrease(window) - b).abs() < 0.011, "b({window}) = {}", decrease(window));
            assert!((increase(window) - a).abs() <= 0.6 + 0.02 * a, "a({window}) = {}", increase(window));
        }
    }

    #[test]
    fn is_newreno_while_the_window_is_small() {
        for window in [1.0, 10.0, 38.0] {
            assert_eq!((increase(window), decrease(window)), (1.0, 0.5));
        }
    }
}
