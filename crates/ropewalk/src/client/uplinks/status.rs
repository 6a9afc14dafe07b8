//! What an uplink says of itself.

use super::Uplink;
use crate::report;
use ropewalk_net::udp::PathError;
use ropewalk_time::Time;

impl Uplink {
    /// What it says of itself; `refused` says why the kernel sends nothing by a socket, if so.
    pub(crate) fn report(&self, refused: impl Fn(u32) -> Option<PathError>, now: Time) -> report::Uplink {
        let why = || {
            let refused = self.refused(&refused).map(|why| why.to_string());
            refused.or_else(|| self.hindered.obstacle(now)).or_else(|| self.unresolved())
        };
        report::Uplink {
            name: self.name.to_string(),
            class: self.class().name().into(),
            cap: self.settings.allowance().map(|cap| cap.bytes),
            left: self.settings.allowance().and(self.left),
            reset_day: self.settings.reset_day,
            weight: self.settings.weight,
            paths: self.attempts.iter().map(|a| a.path).collect(),
            obstacle: self.obstacle().or_else(|| why().filter(|_| !self.is_up)),
        }
    }

    /// Why this machine lets nothing out by UDP, whichever socket it is asked by.
    fn refused(&self, by: impl Fn(u32) -> Option<PathError>) -> Option<PathError> {
        let sockets = self.attempts.iter().filter(|a| !a.is_tls);
        let all: Option<Vec<PathError>> = sockets.map(|a| by(a.link)).collect();
        all?.pop()
    }

    /// Nothing is tried by UDP while none of the gateway's names has an address. That is not in
    /// [`Uplink::obstacle`], for which a client may end at its start: nobody has answered yet then.
    fn unresolved(&self) -> Option<String> {
        let is_unknown = self.hindered.allows_udp() && self.targets.known().next().is_none();
        let has_names = self.targets.names().next().is_some();
        let names = self.targets.names_as_words();
        (is_unknown && has_names).then(|| format!("no address is known of {names}, where the gateway is"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::PathName;
    use crate::client::hindered::{Hindered, TlsOptions};
    use crate::client::settings::Settings;
    use crate::client::uplinks::Attempt;
    use crate::config::TlsMode;
    use ropewalk_net::links::{Address, Link};
    use ropewalk_session::Endpoint;
    use ropewalk_time::Duration;

    fn wan1(endpoint: &Endpoint) -> Uplink {
        let name = PathName { interface: "wan1".into(), endpoint: None };
        let (endpoints, tls) = ([endpoint.clone()], TlsOptions::default());
        let mut up = Uplink::new(name, (&endpoints, &tls), Settings::default(), true);
        let addresses = vec![Address::new([192, 0, 2, 9].into(), 24)];
        up.link = Some(Link { index: 5, name: "wan1".into(), up: true, addresses, ..Link::default() });
        up
    }

    #[test]
    fn a_name_that_is_not_resolved_is_why_nothing_is_tried() {
        let endpoint: Endpoint = "gw.example.org:4500".parse().unwrap();
        let mut up = wan1(&endpoint);
        assert_eq!(up.obstacle(), None, "it may be resolved in a moment");
        let why = |up: &Uplink| up.report(|_| None, Time::ZERO).obstacle;
        let words = "no address is known of gw.example.org:4500, where the gateway is";
        assert_eq!(why(&up).as_deref(), Some(words));
        up.is_up = true;
        assert_eq!(why(&up), None, "TLS carries it");
        up.is_up = false;
        up.targets.on_resolved(&endpoint, &["192.0.2.1:4500".parse().unwrap()]);
        assert_ne!(why(&up).as_deref(), Some(words));
    }

    #[test]
    fn an_interface_that_reaches_an_endpoint_by_tls_alone_is_of_use() {
        let [udp, tls] = ["[2001:db8::1]:4500", "192.0.2.1:443"].map(|e| e.parse::<Endpoint>().unwrap());
        let mut up = wan1(&udp);
        up.hindered = Hindered::new(&TlsOptions { mode: TlsMode::Auto, endpoints: vec![tls.clone()] });
        up.targets.on_resolved(&udp, &["[2001:db8::1]:4500".parse().unwrap()]);
        up.hindered.on_resolved(&tls, &["192.0.2.1:443".parse().unwrap()]);
        let words = up.obstacle().unwrap();
        assert!(words.contains("interface wan1 has no route to 2001:db8::1"), "{words}");
        // The route is the kernel's to know.
        up.hindered.retarget(Some, Time::ZERO);
        assert_eq!(up.obstacle(), None);
    }

    #[test]
    fn a_firewall_of_this_machine_is_not_a_gateway_that_is_silent() {
        let endpoint: Endpoint = "192.0.2.1:4500".parse().unwrap();
        let mut up = wan1(&endpoint);
        let remote = "192.0.2.1:4500".parse().unwrap();
        up.on_resolved(&endpoint, &[remote], Time::ZERO);
        // The route is the kernel's to know.
        up.targets.retarget(Some);
        up.hindered.on_silence(Time::ZERO);
        let (is_tls, is_narrow, since, dead_since) = (false, false, Time::ZERO, None);
        let attempt =
            |link| Attempt { link, path: 0, remote, is_tls, is_narrow, since, dead_since, granted: 0 };
        up.attempts = vec![attempt(1), attempt(2)];
        let now = Time::ZERO + Duration::from_secs(60);
        let why = |refused: &[u32]| {
            let by = |link| refused.contains(&link).then_some(PathError::Forbidden);
            up.report(by, now).obstacle.unwrap()
        };
        assert_eq!(why(&[1, 2]), PathError::Forbidden.to_string());
        assert!(why(&[1]).starts_with("no answer by UDP"), "the other socket is not refused");
        assert!(why(&[]).starts_with("no answer by UDP"));
    }
}
