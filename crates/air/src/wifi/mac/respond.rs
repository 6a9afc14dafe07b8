//! What follows a SIFS after a frame: an answer, or the next step of the radio's own exchange.

use super::frame::{self, GROUP};
use super::radio::{Reply, Step};
use crate::wifi::air::Air;
use crate::wifi::timers::Cause;

impl<T: Clone> Air<T> {
    /// Prepares an answer to what was just heard from `emitter`'s interface.
    pub(crate) fn prepare(&mut self, radio: usize, reply: Reply) {
        let r = &mut self.radios[radio];
        r.reply = Some(reply);
        let at = super::exchange::after(self.now, r.sifs_ns);
        self.timers.set(radio, Cause::Respond, at);
    }

    /// The SIFS is over.
    pub(crate) fn on_respond(&mut self, radio: usize) {
        if let Some(reply) = self.radios[radio].reply.take() {
            return self.send_reply(radio, &reply);
        }
        match self.radios[radio].exchange.step {
            Step::GotCts => self.send_planned(radio),
            Step::Continue => self.go_on(radio),
            Step::Recover { since } => {
                let idle =
                    !self.medium.receivers[radio].is_busy() && self.access[radio].idle_since() <= since;
                if !idle {
                    return self.release(radio, false);
                }
                let category = self.radios[radio].exchange.category;
                self.access[radio].note_failure(category);
                self.go_on(radio);
            }
            _ => {}
        }
    }

    fn send_reply(&mut self, radio: usize, reply: &Reply) {
        let r = &mut self.radios[radio];
        r.replying = true;
        let bytes = frame::frame_bytes(reply.kind, r.spec.standard);
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.from, ppdu.to, ppdu.rate) = (reply.kind, reply.from, reply.to, reply.rate);
        (ppdu.nav_until, ppdu.power_management) = (reply.nav_until, false);
        ppdu.set_single(0, bytes, false);
        debug_assert!(reply.to != GROUP);
        self.put_on_air(radio, reply.width);
    }
}
