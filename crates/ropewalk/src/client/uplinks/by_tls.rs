//! What an uplink does where UDP does not pass: a path over TLS, and back ([`crate::client::hindered`]).

use super::{Attempt, STAGGER, Uplink, is_dead};
use crate::client::hindered::{PROBE_PATIENCE, STREAM_PATIENCE};
use crate::client::resolver::Resolver;
use crate::daemon::Running;
use crate::report::history::What;
use ropewalk_bond::path::State;
use ropewalk_net::setup::MARK;
use ropewalk_net::tls::{self, Ended, Target};
use ropewalk_time::Time;
use std::net::SocketAddr;

impl Uplink {
    /// Connects by TLS, where UDP is not answered; and asks whether a portal is why.
    pub(super) fn try_tls(&mut self, running: &mut Running, now: Time) {
        let Some(device) = self.link.as_ref().filter(|l| l.up).map(|l| l.name.clone()) else { return };
        if let Some(at) = self.hindered.look_for_portal(&device, &self.targets, now) {
            tracing::warn!(path = %self.name, at, "a captive portal answers, and nobody else: log in to it with a browser");
            running.history.note(now, What::Portal { name: self.name.to_string(), at });
        }
        if let Some((path, since)) = self.attempts.iter().find(|a| a.is_tls).map(|a| (a.path, a.since)) {
            // The gateway at its end has said goodbye, or is silent: the next may be at another.
            if !self.searching || self.chosen != Some(path) || now.since(since) < STAGGER {
                return;
            }
            self.abandon(running, path, now);
            self.hindered.search(now);
        }
        let Some((remote, host)) = self.hindered.target(now) else { return };
        let is_narrow = self.attempts.iter().any(|a| a.is_narrow);
        let target = Target { remote, host, device: Some(device), mark: Some(MARK), is_narrow };
        tracing::debug!(path = %self.name, %remote, "{}: trying TLS", self.hindered.in_vain());
        match running.connect(target) {
            Ok(id) => self.hindered.on_connecting(id),
            Err(error) => {
                tracing::warn!("{error:#}");
                self.hindered.on_failed(Ended::Tcp(format!("{error:#}")), now);
            }
        }
    }

    /// A connection carries datagrams. `false` if it is not this way's.
    pub(crate) fn on_stream(
        &mut self,
        running: &mut Running,
        id: u32,
        remote: SocketAddr,
        now: Time,
    ) -> bool {
        if !self.hindered.settles(id) {
            return false;
        }
        let mut is_made = self.make_path(running, (id, remote), tls::MTU, now);
        let in_vain = self.attempts.iter().find(|a| !a.is_tls && Some(a.path) != self.chosen).map(|a| a.path);
        if let Some(path) = in_vain.filter(|_| !is_made) {
            self.abandon(running, path, now);
            is_made = self.make_path(running, (id, remote), tls::MTU, now);
        }
        if !is_made {
            running.close_stream(id);
            self.hindered.on_failed(Ended::Late("all sixteen paths are taken: leave a path out"), now);
        }
        true
    }

    /// A connection is over. `false` if it was not this way's.
    pub(crate) fn on_stream_over(&mut self, running: &mut Running, id: u32, why: Ended, now: Time) -> bool {
        let attempt = self.attempts.iter().find(|a| a.link == id).map(|a| a.path);
        if !self.hindered.settles(id) && attempt.is_none() {
            return false;
        }
        tracing::debug!(path = %self.name, %why, "a connection by TLS is over");
        if let Some(path) = attempt {
            if self.chosen == Some(path) {
                let (peer, name) = ("gateway".into(), self.name.to_string());
                running.history.note(now, What::Path { peer, name, state: State::Down.name().into() });
            }
            running.core.engine.fail_path(id, now);
            self.abandon(running, path, now);
            self.hindered.on_silence(now);
        }
        self.hindered.on_failed(why, now);
        self.next = self.next.min(now);
        true
    }

    /// A stream on which the gateway does not answer, or not any more, makes room for another.
    pub(super) fn drop_hopeless_stream(&mut self, running: &mut Running, now: Time) {
        let is_hopeless = |a: &&Attempt| {
            a.is_tls
                && (is_dead(a, now) || Some(a.path) != self.chosen && now.since(a.since) > STREAM_PATIENCE)
        };
        if let Some(path) = self.attempts.iter().find(is_hopeless).map(|a| a.path) {
            self.abandon(running, path, now);
            self.hindered.on_failed(Ended::Late("the gateway does not answer through it"), now);
        }
    }

    /// An uplink that goes by TLS looks now and then whether UDP passes.
    pub(super) fn probe_udp(
        &mut self,
        running: &mut Running,
        resolver: &Resolver,
        now: Time,
    ) -> anyhow::Result<bool> {
        if self.attempts.iter().any(|a| a.is_narrow) {
            // The engine probes its base MTU, and says when that passes.
            self.next = Time::NEVER;
            return Ok(false);
        }
        let probe = self.attempts.iter().find(|a| !a.is_tls).map(|a| (a.path, a.since));
        if let Some((path, since)) = probe {
            if now.since(since) < PROBE_PATIENCE {
                self.next = since + PROBE_PATIENCE;
                return Ok(false);
            }
            self.abandon(running, path, now);
            self.hindered.on_probe_failed(now);
        }
        self.next = self.hindered.next_probe();
        if now < self.next {
            return Ok(false);
        }
        let Some(remote) = self.targets.take(|_| true).map(|(remote, _)| remote) else {
            // By the next probe a name may be resolved, or the network say how it translates.
            self.resolve(resolver, now);
            self.ask_nat64(resolver);
            self.hindered.on_probe_failed(now);
            self.next = self.hindered.next_probe();
            return Ok(false);
        };
        let is_made = self.attempt(running, remote, now)?;
        self.next = now + PROBE_PATIENCE;
        Ok(is_made)
    }

    /// What was found out of the network does not hold any more.
    pub(super) fn begin_anew(&mut self, running: &mut Running) {
        self.nat64 = None;
        if let Some(id) = self.hindered.reset() {
            running.close_stream(id);
        }
    }

    /// The uplink is carried by something from now on, by something else perhaps.
    pub(super) fn on_chosen(&mut self, running: &mut Running, is_tls: bool, now: Time) {
        if is_tls {
            self.hindered.on_tls(now);
            self.next = self.hindered.next_probe();
        } else {
            self.cancel_tls(running, now);
        }
        if std::mem::replace(&mut self.by_tls, is_tls) != is_tls {
            let carrier = if is_tls { "tls" } else { "udp" };
            let why = if is_tls { self.hindered.in_vain() } else { "UDP does" };
            tracing::info!(path = %self.name, carrier, "{why}: by {} now", carrier.to_uppercase());
            let (name, carrier, why) = (self.name.to_string(), carrier.into(), why.into());
            running.history.note(now, What::Carrier { name, carrier, why });
        }
    }

    /// UDP is answered: a connection that is being made is not wanted.
    pub(super) fn cancel_tls(&mut self, running: &mut Running, now: Time) {
        if let Some(id) = self.hindered.on_udp(now) {
            running.close_stream(id);
        }
    }
}
