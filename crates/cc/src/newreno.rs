//! NewReno (RFC 5681, in the form of RFC 9002 §7): one datagram per round trip up, a half down.

use super::window::{Core, Law, LossBased};
use super::{Ack, Sibling};

/// The law of NewReno.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenoLaw;

/// NewReno as a controller.
pub type NewReno = LossBased<NewRenoLaw>;

impl Law for NewRenoLaw {
    const NAME: &'static str = "newreno";

    fn increase(&mut self, core: &Core, ack: &Ack, _siblings: &[Sibling]) -> f64 {
        core.mtu as f64 * ack.bytes as f64 / core.window as f64
    }

    fn reduced(&mut self, core: &Core, _siblings: &[Sibling]) -> f64 {
        core.window as f64 / 2.0
    }

    fn reset(&mut self) {}
}
