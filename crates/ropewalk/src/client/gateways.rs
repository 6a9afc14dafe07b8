//! Where a client has found its gateway, and why it went there from another one of a fleet.

use crate::report::gateways::{Gateways, Moved, words};
use crate::report::history::What;
use ropewalk_time::Time;
use std::net::SocketAddr;

/// Addresses of a gateway that are remembered; the oldest go first.
const MOST: usize = 16;

/// The gateway of the session, by its addresses: all paths of a session lead to one gateway.
#[derive(Debug, Default)]
pub(super) struct Found {
    here: Vec<SocketAddr>,
    /// The session is new: the next path that works says where its gateway is.
    is_new: bool,
    /// What the gateway did, where another is looked for.
    why: Option<&'static str>,
    moved: Option<(Time, Vec<SocketAddr>, &'static str)>,
}

impl Found {
    /// Another gateway is looked for.
    pub(super) fn search(&mut self, dismissed: bool) {
        if dismissed {
            self.why = Some("said goodbye");
        } else {
            // After a goodbye it is silent, too.
            self.why.get_or_insert("did not answer");
        }
    }

    /// A session began.
    pub(super) fn connected(&mut self) {
        self.is_new = true;
    }

    /// A path to this address works; returns what happened if another gateway is there than before.
    pub(super) fn answered(&mut self, remote: SocketAddr, now: Time) -> Option<What> {
        let is_new = std::mem::take(&mut self.is_new);
        // A gateway that was silent, and goes on with the session, was not left.
        let why = self.why.take();
        if self.here.contains(&remote) {
            return None;
        }
        // The same host by another port, such as that of TLS.
        let is_here = self.here.iter().any(|here| here.ip() == remote.ip());
        if !is_new || is_here || self.here.is_empty() {
            if self.here.len() >= MOST {
                self.here.remove(0);
            }
            self.here.push(remote);
            return None;
        }
        let (from, why) = (std::mem::replace(&mut self.here, vec![remote]), why.unwrap_or("was slower"));
        let what = What::Moved { from: words(&from), to: remote.to_string(), why: why.into() };
        self.moved = Some((now, from, why));
        Some(what)
    }

    /// What it says of itself; `known` are the endpoints, of each uplink in its order.
    pub(super) fn report(&self, known: impl Iterator<Item = String>, now: Time) -> Gateways {
        let here: Vec<String> = self.here.iter().map(ToString::to_string).collect();
        let mut others: Vec<String> = Vec::new();
        for one in known {
            if !here.contains(&one) && !others.contains(&one) {
                others.push(one);
            }
        }
        let moved = self.moved.as_ref().map(|(at, from, why)| Moved {
            from: from.clone(),
            why: (*why).to_owned(),
            ago_s: now.since(*at).as_secs_f64(),
        });
        Gateways { here: self.here.clone(), others, moved }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 2, n, 2], 4500))
    }

    fn known() -> impl Iterator<Item = String> {
        // As two uplinks have them.
        [1, 2, 1, 2].map(|n| at(n).to_string()).into_iter()
    }

    fn why(what: Option<What>) -> Option<String> {
        match what {
            Some(What::Moved { why, .. }) => Some(why),
            _ => None,
        }
    }

    #[test]
    fn a_client_knows_which_gateway_it_left_and_why() {
        let (mut found, second) = (Found::default(), Time::from_secs);
        found.search(false);
        found.connected();
        assert_eq!(found.answered(at(1), second(1)), None, "it was nowhere before");
        assert_eq!(found.answered(at(1), second(2)), None, "the other uplink");
        let gateways = found.report(known(), second(3));
        assert_eq!((gateways.here, gateways.others), (vec![at(1)], vec![at(2).to_string()]));
        assert_eq!(gateways.moved, None);
        found.search(true);
        // Its paths die by that.
        found.search(false);
        found.connected();
        let moved = found.answered(at(2), second(10)).unwrap();
        let (from, to) = (at(1).to_string(), at(2).to_string());
        assert_eq!(moved, What::Moved { from, to, why: "said goodbye".into() });
        let gateways = found.report(known(), second(12));
        let moved = Moved { from: vec![at(1)], why: "said goodbye".into(), ago_s: 2.0 };
        assert_eq!((gateways.here, gateways.moved), (vec![at(2)], Some(moved)));
        found.search(false);
        found.connected();
        assert_eq!(why(found.answered(at(1), second(20))).as_deref(), Some("did not answer"));
    }

    #[test]
    fn a_gateway_that_starts_anew_or_has_two_addresses_is_no_other() {
        let mut found = Found::default();
        found.connected();
        assert_eq!(found.answered(at(1), Time::ZERO), None);
        assert_eq!(found.answered(at(2), Time::ZERO), None, "in the same session");
        found.search(true);
        found.connected();
        assert_eq!(found.answered(at(2), Time::ZERO), None, "it was here");
        assert_eq!(found.report(known(), Time::ZERO).here, [at(1), at(2)]);
        // Nothing was amiss, and a way through another gateway was faster.
        found.connected();
        assert_eq!(why(found.answered(at(3), Time::ZERO)).as_deref(), Some("was slower"));
        // It was silent, and went on with the session: later that is no reason.
        found.search(false);
        assert_eq!(found.answered(at(3), Time::ZERO), None);
        found.connected();
        assert_eq!(why(found.answered(at(4), Time::ZERO)).as_deref(), Some("was slower"));
        // By TLS it has another port.
        let by_tls = SocketAddr::new(at(4).ip(), 443);
        found.connected();
        assert_eq!(found.answered(by_tls, Time::ZERO), None);
        assert_eq!(found.report(known(), Time::ZERO).here, [at(4), by_tls]);
        for n in 4..100 {
            found.answered(at(n), Time::ZERO);
        }
        assert_eq!(found.report(known(), Time::ZERO).here.len(), MOST);
    }
}
