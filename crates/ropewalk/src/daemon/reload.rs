//! Reading the configuration again without dropping a packet.

use super::run::Running;
use crate::config::{Engine, File};
use crate::logging;
use crate::wireguard::Imported;
use ropewalk_bond::config::Config;
use std::path::PathBuf;

/// The configuration in force and where it came from.
#[derive(Debug)]
pub(crate) struct Reload {
    path: Option<PathBuf>,
    /// As it was at the start: some keys count from there until the end.
    started: File,
    current: File,
    /// `--log` was given, which goes before the file.
    level_fixed: bool,
    /// So does what a file of wg-quick says of the engine.
    imported: Imported,
}

impl Reload {
    /// What was read at the start.
    pub(crate) fn new(path: Option<PathBuf>, current: File, level_fixed: bool) -> Reload {
        Reload { path, started: current.clone(), current, level_fixed, imported: Imported::default() }
    }

    /// The same beside a file of wg-quick, which is not read again.
    pub(crate) fn beside(self, imported: Imported) -> Reload {
        Reload { imported, ..self }
    }

    /// Reads the file again, applies what both ends have in common, and says what has to wait. `None` if the old one stays in force.
    pub(crate) fn again(&mut self, running: &mut Running) -> Option<File> {
        let Some(path) = &self.path else {
            tracing::warn!(
                "there is no configuration file to read again: this daemon was started without --config"
            );
            return None;
        };
        let mut new = match File::read(path) {
            Ok(new) => new,
            Err(error) => {
                tracing::error!("{error}; the old configuration stays in force");
                return None;
            }
        };
        self.imported.set_engine(&mut new.engine);
        for key in fixed(&self.started, &new) {
            tracing::warn!("{key} is fixed while the daemon runs: its new value counts from the next start");
        }
        let engine = applied(&self.current.engine, &new.engine);
        let Config { backhaul, client_to_client, .. } = running.core.engine.config().clone();
        let config = Config { backhaul, client_to_client, ..engine.to_config() };
        running.reconfigure(config, new.engine.busy_poll());
        if !self.level_fixed
            && new.log.level != self.current.log.level
            && let Err(error) = logging::set_filter(new.log.level.as_deref())
        {
            tracing::error!("{error:#}");
        }
        tracing::info!("the configuration was read again");
        self.current = File { engine, ..new.clone() };
        Some(new)
    }
}

/// What is in force after `new` was read where `old` was: some keys stay until the daemon ends.
fn applied(old: &Engine, new: &Engine) -> Engine {
    let mut engine = Engine {
        tun_mtu: old.tun_mtu,
        memory: old.memory,
        ordered: old.ordered,
        queue_packets: old.queue_packets,
        nice: old.nice,
        ..new.clone()
    };
    if old.lives_on_completions() != new.lives_on_completions() {
        // The controller goes with the scheduler: none is for links that report completions.
        (engine.scheduler, engine.congestion) = (old.scheduler.clone(), old.congestion.clone());
    }
    engine
}

/// Keys that changed and cannot change.
fn fixed(old: &File, new: &File) -> Vec<&'static str> {
    let changes = [
        ("serve.listen", old.serve.listen != new.serve.listen),
        ("serve.tun", old.serve.tun != new.serve.tun),
        ("serve.address", old.serve.address != new.serve.address),
        ("serve.masquerade", old.serve.masquerade != new.serve.masquerade),
        ("serve.global6", old.serve.global6 != new.serve.global6),
        ("serve.proxy-ndp", old.serve.proxy_ndp != new.serve.proxy_ndp),
        ("serve.delegate", old.serve.delegate != new.serve.delegate),
        ("serve.client-to-client", old.serve.client_to_client != new.serve.client_to_client),
        ("serve.down-rate", old.serve.down_rate != new.serve.down_rate),
        ("serve.workers", old.serve.workers != new.serve.workers),
        ("serve.endpoints", old.serve.endpoints != new.serve.endpoints),
        ("serve.tls-listen", old.serve.tls_listen != new.serve.tls_listen),
        ("serve.tls-endpoints", old.serve.tls_endpoints != new.serve.tls_endpoints),
        (
            "serve.tls-cert and tls-key (whose files are read again)",
            (&old.serve.tls_cert, &old.serve.tls_key) != (&new.serve.tls_cert, &new.serve.tls_key),
        ),
        ("up.tls", old.up.tls != new.up.tls),
        ("serve.store", store(old) != store(new)),
        ("serve.name", old.serve.name != new.serve.name),
        ("up.tls-endpoints", old.up.tls_endpoints != new.up.tls_endpoints),
        ("up.token", old.up.token != new.up.token),
        ("up.tun", old.up.tun != new.up.tun),
        ("up.token-file", old.up.token_file != new.up.token_file),
        ("up.dns", old.up.dns != new.up.dns),
        ("up.dns-domains", old.up.dns_domains != new.up.dns_domains),
        ("up.lan", old.up.lan != new.up.lan),
        ("up.kill-switch", old.up.kill_switch != new.up.kill_switch),
        ("up.path (which paths there are)", names(old) != names(new)),
        ("[ap]", old.ap != new.ap),
        ("[repeater]", old.repeater != new.repeater),
        ("up.hooks", old.up.hooks != new.up.hooks),
        ("serve.hooks", old.serve.hooks != new.serve.hooks),
        ("up.chacha20", old.up.chacha20 != new.up.chacha20),
        ("up.timeout-s", old.up.timeout_s != new.up.timeout_s),
        ("engine.ordered", old.engine.ordered != new.engine.ordered),
        ("engine.queue-packets", old.engine.queue_packets != new.engine.queue_packets),
        ("engine.nice", old.engine.nice != new.engine.nice),
        ("engine.tun-mtu", old.engine.tun_mtu != new.engine.tun_mtu),
        ("engine.memory", old.engine.memory != new.engine.memory),
        (
            "engine.scheduler (from or to backpressure, and engine.congestion with it)",
            old.engine.lives_on_completions() != new.engine.lives_on_completions(),
        ),
        ("log.format", old.log.format != new.log.format),
        ("metrics.listen", old.metrics.listen != new.metrics.listen),
    ];
    changes.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
}

/// The store, and what it is spoken to with.
fn store(file: &File) -> impl PartialEq + use<'_> {
    let s = &file.serve;
    (&s.store, &s.store_ca, &s.store_cert, &s.store_key)
}

fn names(file: &File) -> Vec<String> {
    file.up.path.iter().map(|p| p.name().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_bond::schedule::Kind;
    use ropewalk_cc::Algorithm;

    #[test]
    fn what_cannot_change_is_named() {
        let mut new = File::default();
        new.engine.tun_mtu = 1300;
        new.engine.keepalive_s = 5;
        new.serve.masquerade = true;
        assert_eq!(fixed(&File::default(), &new), ["serve.masquerade", "engine.tun-mtu"]);
    }

    #[test]
    fn schedulers_change_but_for_the_one_that_goes_by_completions() {
        let with = |kind| {
            let mut file = File::default();
            file.engine.scheduler.0 = kind;
            file
        };
        let [default, other, backpressure] =
            [Kind::EarliestArrival, Kind::MinRtt, Kind::Backpressure].map(with);
        assert!(fixed(&default, &other).is_empty());
        for (old, new) in [(&default, &backpressure), (&backpressure, &default)] {
            let [named] = fixed(old, new)[..] else { panic!("one key") };
            assert!(named.starts_with("engine.scheduler (from or to backpressure"), "{named}");
        }
    }

    #[test]
    fn what_was_refused_is_refused_again() {
        let old = Engine::default();
        let mut new = Engine { tun_mtu: 1300, ordered: false, keepalive_s: 5, ..Engine::default() };
        new.scheduler.0 = Kind::Backpressure;
        new.congestion.0 = Algorithm::None;
        let wanted = Engine { keepalive_s: 5, ..Engine::default() };
        let once = applied(&old, &new);
        assert_eq!(once, wanted);
        assert_eq!(applied(&once, &new), wanted);
    }
}
