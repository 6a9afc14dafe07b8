//! Coupled controllers for paths that may share a bottleneck: LIA, OLIA and BALIA. Together the paths of a
//! session take about what one TCP flow would take on the best of them.
//!
//! Formulas count windows in bytes, so a per-acknowledgement increase that the papers give in packets becomes
//! `formula(bytes) · mtu · acked bytes`.

use super::window::{Core, Law, LossBased};
use super::{Ack, Sibling};

/// LIA, the linked increases of RFC 6356.
pub type Lia = LossBased<LiaLaw>;
/// OLIA, draft-khalili-mptcp-congestion-control-05.
pub type Olia = LossBased<OliaLaw>;
/// BALIA, draft-walid-mptcp-congestion-control-04.
pub type Balia = LossBased<BaliaLaw>;

/// The law of LIA.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiaLaw;
/// The law of OLIA.
#[derive(Clone, Copy, Debug, Default)]
pub struct OliaLaw;
/// The law of BALIA.
#[derive(Clone, Copy, Debug, Default)]
pub struct BaliaLaw;

/// A path as the formulas see it.
#[derive(Clone, Copy)]
struct View {
    window: f64,
    rtt: f64,
    since_loss: f64,
    is_self: bool,
}

impl View {
    fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

/// Round trips are never taken as shorter than this, so that a path without a sample does not divide by zero.
const MIN_RTT_S: f64 = 1e-5;

/// All paths that carry something, with this one's window and round trip from `core` (the caller's copy is
/// from before this acknowledgement).
fn views<'a>(core: &'a Core, siblings: &'a [Sibling]) -> impl Iterator<Item = View> + Clone + 'a {
    let own = View {
        window: core.window as f64,
        rtt: core.srtt.as_secs_f64().max(MIN_RTT_S),
        since_loss: siblings.iter().find(|s| s.is_self).map_or(0.0, |s| s.bytes_since_loss as f64),
        is_self: true,
    };
    let others = siblings.iter().filter(|s| !s.is_self && s.window > 0 && !s.srtt.is_zero()).map(|s| View {
        window: s.window as f64,
        rtt: s.srtt.as_secs_f64().max(MIN_RTT_S),
        since_loss: s.bytes_since_loss as f64,
        is_self: false,
    });
    core::iter::once(own).chain(others)
}

fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

impl Law for LiaLaw {
    const NAME: &'static str = "lia";

    fn increase(&mut self, core: &Core, ack: &Ack, siblings: &[Sibling]) -> f64 {
        let paths = views(core, siblings);
        let total: f64 = paths.clone().map(|p| p.window).sum();
        let rates: f64 = paths.clone().map(|p| p.rate()).sum();
        let best = max(paths.map(|p| p.window / (p.rtt * p.rtt)));
        let alpha = total * best / (rates * rates);
        // Never more aggressive than Reno on this path alone (RFC 6356 §3, the min).
        (alpha / total).min(1.0 / core.window as f64) * core.mtu as f64 * ack.bytes as f64
    }

    fn reduced(&mut self, core: &Core, _siblings: &[Sibling]) -> f64 {
        core.window as f64 / 2.0
    }

    fn reset(&mut self) {}
}

impl OliaLaw {
    /// α of this path: what is moved from paths with the largest window to the best paths without it.
    fn alpha(core: &Core, siblings: &[Sibling]) -> f64 {
        let paths = views(core, siblings);
        // Best by l²/rtt, an estimate of the rate from the distance between losses.
        let quality = |p: &View| p.since_loss * p.since_loss / p.rtt;
        let best = max(paths.clone().map(|p| quality(&p)));
        let largest = max(paths.clone().map(|p| p.window));
        let is_collected = |p: &View| quality(p) >= best && p.window < largest;
        let n = paths.clone().count() as f64;
        let collected = paths.clone().filter(is_collected).count() as f64;
        let maxed = paths.clone().filter(|p| p.window >= largest).count() as f64;
        let Some(own) = paths.clone().find(|p| p.is_self) else { return 0.0 };
        match collected > 0.0 {
            true if is_collected(&own) => 1.0 / (n * collected),
            true if own.window >= largest => -1.0 / (n * maxed),
            _ => 0.0,
        }
    }
}

impl Law for OliaLaw {
    const NAME: &'static str = "olia";

    fn increase(&mut self, core: &Core, ack: &Ack, siblings: &[Sibling]) -> f64 {
        let rates: f64 = views(core, siblings).map(|p| p.rate()).sum();
        let (window, rtt) = (core.window as f64, core.srtt.as_secs_f64().max(MIN_RTT_S));
        let shared = window / (rtt * rtt) / (rates * rates);
        (shared + Self::alpha(core, siblings) / window) * core.mtu as f64 * ack.bytes as f64
    }

    fn reduced(&mut self, core: &Core, _siblings: &[Sibling]) -> f64 {
        core.window as f64 / 2.0
    }

    fn reset(&mut self) {}
}

impl BaliaLaw {
    /// How much faster the fastest path is than this one.
    fn alpha(core: &Core, siblings: &[Sibling]) -> f64 {
        let own = core.window as f64 / core.srtt.as_secs_f64().max(MIN_RTT_S);
        max(views(core, siblings).map(|p| p.rate())) / own
    }
}

impl Law for BaliaLaw {
    const NAME: &'static str = "balia";

    fn increase(&mut self, core: &Core, ack: &Ack, siblings: &[Sibling]) -> f64 {
        let rates: f64 = views(core, siblings).map(|p| p.rate()).sum();
        let rtt = core.srtt.as_secs_f64().max(MIN_RTT_S);
        let own = core.window as f64 / rtt;
        let alpha = Self::alpha(core, siblings);
        let step = own / (rtt * rates * rates) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0;
        step * core.mtu as f64 * ack.bytes as f64
    }

    fn reduced(&mut self, core: &Core, siblings: &[Sibling]) -> f64 {
        let window = core.window as f64;
        window - window / 2.0 * Self::alpha(core, siblings).min(1.5)
    }

    fn reset(&mut self) {}
}
