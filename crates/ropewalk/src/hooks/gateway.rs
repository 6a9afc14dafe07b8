//! What a gateway's programs are told: clients that come and go, from where, and their quotas. A
//! bunch's gateway has access points for clients.
//!
//! Values are names that [`is_name`] lets through (or keys), addresses and numbers: a client says
//! nothing that a program would read.

use super::programs::{ADDRESSES, DEVICE, Event, Programs, Queue, REMOTE, Topic};
use ropewalk_fleet::{Account, is_name};
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Events that may wait, some 2 MB. Of a client three do at most, so this is for many of them.
const WAITING: usize = 4096;

/// A gateway's programs, and the clients that they were told of.
#[derive(Debug)]
pub(crate) struct GatewayHooks {
    programs: Programs,
    present: BTreeMap<PublicKey, Present>,
}

/// A client that came and did not go.
#[derive(Debug)]
struct Present {
    /// As it was called when it came: one that is revoked has no name any more.
    name: String,
    inside: String,
    /// Where it comes from, by path.
    paths: BTreeMap<u8, IpAddr>,
    /// Where it came from, until it is known by which path that was.
    first: Option<IpAddr>,
}

impl GatewayHooks {
    /// Starts the thread that runs them. `device` is the bond's.
    ///
    /// # Errors
    /// The directory is none, or others may write into it.
    pub(crate) fn start(dir: &Path, device: &str) -> anyhow::Result<GatewayHooks> {
        let programs = Programs::start(dir, (DEVICE, device), WAITING)?;
        Ok(GatewayHooks { programs, present: BTreeMap::new() })
    }

    /// For the thread that looks after quotas.
    pub(crate) fn quotas(&self) -> QuotaHooks {
        QuotaHooks { queue: self.programs.queue() }
    }

    /// A client came in from `remote`. A client without a name is told of by its key.
    pub(crate) fn came(&mut self, key: PublicKey, name: Option<String>, inside: &[IpAddr], remote: IpAddr) {
        let name = name.filter(|name| is_name(name)).unwrap_or_else(|| key.to_string());
        let client = Present { name, inside: words(inside), paths: BTreeMap::new(), first: Some(remote) };
        self.programs
            .tell(client.event("client-connected", Topic::Presence).with(REMOTE, remote.to_string()));
        self.present.insert(key, client);
    }

    /// A path of a client works, and comes from `remote`: that is told where it is another address.
    pub(crate) fn comes_from(&mut self, key: &PublicKey, path: u8, remote: IpAddr) {
        let Some(client) = self.present.get_mut(key) else { return };
        let known = client.paths.insert(path, remote);
        let known = known.or_else(|| client.first.take_if(|first| *first == remote));
        if known != Some(remote) {
            let event = client.event("client-address", Topic::Address);
            self.programs.tell(event.with(REMOTE, remote.to_string()));
        }
    }

    /// A client is gone.
    pub(crate) fn went(&mut self, key: &PublicKey) {
        if let Some(client) = self.present.remove(key) {
            self.programs.tell(client.event(GONE, Topic::Presence));
        }
    }

    /// The gateway ends, and so does every session. The programs have some time to hear of it.
    pub(crate) fn finish(mut self) {
        for client in std::mem::take(&mut self.present).into_values() {
            self.programs.tell(client.event(GONE, Topic::Presence));
        }
        self.programs.finish();
    }
}

const GONE: &str = "client-disconnected";
const CLIENT: &str = "ROPEWALK_CLIENT";

impl Present {
    fn event(&self, name: &'static str, topic: Topic) -> Event {
        Event::new(name)
            .about(&self.name, topic)
            .with(CLIENT, self.name.clone())
            .with(ADDRESSES, self.inside.clone())
    }
}

/// Tells the programs of quotas.
#[derive(Clone, Debug)]
pub(crate) struct QuotaHooks {
    queue: Arc<Queue>,
}

impl QuotaHooks {
    /// A client has used its quota up.
    pub(crate) fn reached(&self, account: &Account) {
        let event = Event::new("quota-reached").with(ADDRESSES, words(&account.inside));
        let event = event.with("ROPEWALK_QUOTA", account.quota.bytes.to_string());
        let event = event.with("ROPEWALK_UNTIL", account.until().to_string());
        self.tell(
            event.with("ROPEWALK_RATE", account.quota.then_bps.unwrap_or(0).to_string()),
            &account.client,
        );
    }

    /// A client may go on.
    pub(crate) fn lifted(&self, client: &str) {
        self.tell(Event::new("quota-lifted"), client);
    }

    fn tell(&self, event: Event, client: &str) {
        if is_name(client) {
            self.queue.put(event.about(client, Topic::Quota).with(CLIENT, client.to_owned()));
        }
    }
}

fn words(addresses: &[IpAddr]) -> String {
    let all: Vec<String> =
        addresses.iter().filter(|a| !a.is_unspecified()).map(ToString::to_string).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::programs::tests::noted;
    use super::*;
    use ropewalk_fleet::{Period, Quota};

    const ALICE: PublicKey = PublicKey([7; 32]);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// What programs were told when this was over.
    fn told(work: impl FnOnce(&mut GatewayHooks)) -> Vec<String> {
        let line =
            "$ROPEWALK_EVENT $ROPEWALK_CLIENT $ROPEWALK_REMOTE $ROPEWALK_ADDRESSES $ROPEWALK_RATE$HOME";
        noted(line, |dir| {
            let mut hooks = GatewayHooks::start(dir, "rw0").unwrap();
            work(&mut hooks);
            hooks.finish();
        })
    }

    #[test]
    fn a_client_is_told_of_by_its_name_to_the_end_and_by_its_key_where_it_has_none() {
        let inside = [ip("10.77.0.2"), ip("fd77::2"), ip("::")];
        let lines = told(|hooks| {
            hooks.came(ALICE, Some("alice".into()), &inside, ip("192.0.2.1"));
            hooks.programs.settle();
            // The path that it came by, and another.
            hooks.comes_from(&ALICE, 0, ip("192.0.2.1"));
            hooks.comes_from(&ALICE, 1, ip("198.51.100.1"));
            hooks.programs.settle();
            hooks.comes_from(&ALICE, 1, ip("198.51.100.1"));
            hooks.comes_from(&ALICE, 0, ip("192.0.2.9"));
            hooks.programs.settle();
            hooks.comes_from(&PublicKey([8; 32]), 0, ip("192.0.2.66"));
            hooks.went(&PublicKey([8; 32]));
            hooks.went(&ALICE);
            hooks.programs.settle();
            hooks.came(PublicKey([9; 32]), Some("eve; reboot".into()), &[], ip("192.0.2.2"));
        });
        let key = PublicKey([9; 32]).to_string();
        let expected = [
            "client-connected alice 192.0.2.1 10.77.0.2 fd77::2".to_owned(),
            "client-address alice 198.51.100.1 10.77.0.2 fd77::2".into(),
            "client-address alice 192.0.2.9 10.77.0.2 fd77::2".into(),
            "client-disconnected alice 10.77.0.2 fd77::2".into(),
            format!("client-disconnected {key}"),
        ];
        // The last came in the moment in which the gateway ended.
        assert_eq!(
            lines.iter().filter(|l| **l != format!("client-connected {key} 192.0.2.2")).count(),
            5,
            "{lines:?}"
        );
        assert_eq!(lines[..4], expected[..4]);
        assert_eq!(lines.last(), expected.last());
    }

    #[test]
    fn a_quota_is_told_with_what_becomes_of_the_client() {
        let account = |client: &str, then_bps| Account {
            client: client.into(),
            inside: vec![ip("10.77.0.2")],
            quota: Quota { bytes: 1_000_000, per: Period::Month, then_bps },
            used: 1_000_000,
            since: "2026-11-01".parse().unwrap(),
        };
        let lines = told(|hooks| {
            let quotas = hooks.quotas();
            quotas.reached(&account("alice", None));
            quotas.reached(&account("bob", Some(2_000_000)));
            quotas.reached(&account("bob\nROPEWALK_EVENT=x", None));
            hooks.programs.settle();
            quotas.lifted("alice");
        });
        let expected =
            ["quota-reached alice 10.77.0.2 0", "quota-reached bob 10.77.0.2 2000000", "quota-lifted alice"];
        assert_eq!(lines, expected);
    }
}
