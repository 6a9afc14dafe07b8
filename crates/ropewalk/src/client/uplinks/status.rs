//! What an uplink says of itself.

use super::Uplink;
use crate::report;
use ropewalk_time::Time;

impl Uplink {
    /// What it says of itself.
    pub(crate) fn report(&self, now: Time) -> report::Uplink {
        let hindered = || self.hindered.obstacle(now).or_else(|| self.unresolved()).filter(|_| !self.is_up);
        report::Uplink {
            name: self.name.to_string(),
            class: self.class().name().into(),
            cap: self.settings.allowance().map(|cap| cap.bytes),
            left: self.settings.allowance().and(self.left),
            reset_day: self.settings.reset_day,
            weight: self.settings.weight,
            paths: self.attempts.iter().map(|a| a.path).collect(),
            obstacle: self.obstacle().or_else(hindered),
        }
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
    use crate::client::hindered::TlsOptions;
    use crate::client::settings::Settings;
    use ropewalk_net::links::{Address, Link};
    use ropewalk_session::Endpoint;

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
        let why = |up: &Uplink| up.report(Time::ZERO).obstacle;
        let words = "no address is known of gw.example.org:4500, where the gateway is";
        assert_eq!(why(&up).as_deref(), Some(words));
        up.is_up = true;
        assert_eq!(why(&up), None, "TLS carries it");
        up.is_up = false;
        up.targets.on_resolved(&endpoint, &["192.0.2.1:4500".parse().unwrap()]);
        assert_ne!(why(&up).as_deref(), Some(words));
    }
}
