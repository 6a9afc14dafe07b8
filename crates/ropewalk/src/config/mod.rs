//! The configuration file.
//!
//! Every key has a default, and the reason for it stands beside it; `docs/guide/config.md` is made from these comments. An unknown key
//! is refused with the nearest known one: a setting that silently does nothing is worse than no start.

mod backhaul;
mod error;
mod roam;
mod values;

pub(crate) use backhaul::{Ap, BackhaulLink, Migrate, Repeater, RoutedSubnets, dedicated};
pub(crate) use error::ConfigError;
pub(crate) use roam::Roam;
pub(crate) use values::{Amount, BitRate, Domain, Name};

use crate::cli::{LogFormat, PathName};
use ipnet::{IpNet, Ipv6Net};
use ropewalk_bond::backhaul::limiter;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Shard;
use ropewalk_bond::schedule::{DeviceThreshold, Kind};
use ropewalk_cc::Algorithm;
use ropewalk_fleet::StoreAddress;
use ropewalk_fleet::pool::DELEGATING;
use ropewalk_session::{Endpoint, ResponderConfig, TLS_ENDPOINTS_MAX};
use ropewalk_time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The least packet memory of an engine, bytes.
const LEAST_MEMORY: u64 = 8_000_000;

/// A configuration file. Each daemon reads the section of its name (`serve`, `up`, `ap`, `repeater`, `roam`), and all read `[engine]`, `[log]` and `[metrics]`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct File {
    /// The gateway. The command line goes before all of it.
    pub serve: Serve,
    /// The client. The command line goes before all of it.
    pub up: Up,
    /// The access point of a backhaul to a repeater. With this section `[engine]` has other
    /// defaults: below.
    pub ap: Ap,
    /// The repeater. With this section `[engine]` has other defaults: below.
    pub repeater: Repeater,
    /// A station of several access points at once: `ropewalk roam`. The command line goes before all of it.
    pub roam: Roam,
    /// The bonding engine. The defaults suit links from 1 Mb/s to 1 Gb/s.
    pub engine: Engine,
    /// What is logged.
    pub log: Log,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
}

/// The gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Serve {
    /// UDP addresses to listen on. Default: `["0.0.0.0:4500", "[::]:4500"]`, because port 4500 (IPsec's) is let out by most networks.
    #[schemars(with = "Vec<String>")]
    pub listen: Vec<SocketAddr>,
    /// Name of the network device. Default: the first free of `rw0`, `rw1`, …
    pub tun: Option<String>,
    /// The gateway's addresses inside, with the networks that clients get theirs from: one for IPv4, one for IPv6. Default:
    /// `["10.77.0.1/24"]`, a network that few others use.
    #[schemars(with = "Vec<String>")]
    pub address: Vec<IpNet>,
    /// Let clients reach the internet through this machine. Default: `false`, because it changes the firewall.
    pub masquerade: bool,
    /// The IPv6 network of `address` is global: the world sees clients' addresses there, untranslated also with `masquerade`, and opens no connection to them but
    /// where `ropewalk forward` says so. It has to be routed to this machine, or `proxy-ndp` be set. Default: `false`, because few machines have such a network.
    pub global6: bool,
    /// The interface on whose link that network is, where it is not routed to this machine: neighbour solicitations for clients' addresses are answered there. Default:
    /// none.
    pub proxy_ndp: Option<String>,
    /// Give each client a /64 of that network, for what is behind it (`lan` under `[up]`). The network has to be a /32 to /63 that is routed to this machine. Default:
    /// `false`: each client has one address. Not changed by a reload.
    pub delegate: bool,
    /// Let clients reach each other through the bond. Default: `false`: they share a gateway, not a network.
    pub client_to_client: bool,
    /// The rate that all clients together get at most, such as `"450Mbit"`: a little less than the line carries, or the queue is in the provider's equipment. They share it, equally or as
    /// `ropewalk limit set --share` says. Default: none: nothing holds clients back but their caps. Not changed by a reload.
    #[schemars(with = "Option<String>")]
    pub down_rate: Option<BitRate>,
    /// Threads that carry packets, 64 at most, each with a part of the clients, of `memory` and of `max-clients`. Default: 1. More pay where there are processors for
    /// them and several clients: one client is carried by one of them. Not with `scheduler = "backpressure"`.
    pub workers: Option<u32>,
    /// A directory of programs that are run when clients come and go, or have used their quota up. Default: none. Not changed by a reload.
    pub hooks: Option<PathBuf>,
    /// TCP addresses to offer TLS at, for clients in networks that let no UDP through, such as `["0.0.0.0:443", "[::]:443"]`. Default: none: no port is opened that
    /// nobody asked for.
    #[schemars(with = "Vec<String>")]
    pub tls_listen: Vec<SocketAddr>,
    /// A file with the certificate that is shown there, in PEM, with those that it is signed by. Default: one of the gateway's own, made at the first start, which
    /// clients take as well. A reload reads the file again.
    pub tls_cert: Option<PathBuf>,
    /// A file with its key. Default: none; with `tls-cert` it is needed.
    pub tls_key: Option<PathBuf>,
    /// What new tokens name as the address for TLS, as `HOST:PORT`, two at most. Default: the hosts of `endpoints` with the port of `tls-listen`, which is wrong
    /// behind a reverse proxy of another name.
    #[schemars(with = "Vec<String>")]
    pub tls_endpoints: Vec<Name<Endpoint>>,
    /// What new tokens name as the gateway's address, as `HOST:PORT`. Default: the addresses that it listens on, which is wrong behind a
    /// port forwarding.
    #[schemars(with = "Vec<String>")]
    pub endpoints: Vec<Name<Endpoint>>,
    /// The etcd of a fleet, as `etcd://HOST:PORT[,HOST:PORT…]/PREFIX`: gateways with the same one share their clients. Default: none, the state directory has
    /// them.
    #[schemars(with = "Option<String>")]
    pub store: Option<Name<StoreAddress>>,
    /// A PEM file with the certificates of who signs for etcd. Default: none, which only an etcd on this machine is spoken to with.
    pub store_ca: Option<PathBuf>,
    /// A PEM file with the certificate that etcd asks this gateway for. Default: none.
    pub store_cert: Option<PathBuf>,
    /// A PEM file with its key. Default: none.
    pub store_key: Option<PathBuf>,
    /// What this gateway is called in its fleet; no other is called so. Default: the machine's name.
    pub name: Option<String>,
}

/// The client.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Up {
    /// The line that `ropewalk invite` printed. Default: what is in `token-file`, or the token used last with this state directory.
    pub token: Option<String>,
    /// A file with that line; it may go once it was read, for the token is remembered. Default: none.
    pub token_file: Option<PathBuf>,
    /// Name of the network device. Default: the first free of `rw0`, `rw1`, …
    pub tun: Option<String>,
    /// Networks to send through the bond; `0.0.0.0/0` and `::/0` are everything. Default: none, so that a first try changes nothing.
    #[schemars(with = "Vec<String>")]
    pub route: Vec<IpNet>,
    /// Name servers to ask through the bond, by systemd-resolved. Default: none.
    #[schemars(with = "Vec<String>")]
    pub dns: Vec<IpAddr>,
    /// Domains that these name servers are asked about, such as `["corp.example"]`: all other names
    /// are asked for as before. Default: none, all names are theirs. Not changed by a reload.
    #[schemars(with = "Vec<String>")]
    pub dns_domains: Vec<Name<Domain>>,
    /// The interface whose hosts get global IPv6 addresses of the network that the gateway gives (`delegate` under `[serve]`): this machine advertises it there, and
    /// passes IPv6 on. Default: none. Not changed by a reload.
    pub lan: Option<String>,
    /// Let nothing leave this machine but through the bond, from the start until the client is told to stop: also while the bond is down, or was killed. It
    /// needs a default route into the bond and nftables. Default: `false`, because the machine is cut off while the bond is.
    pub kill_switch: bool,
    /// When to go by TLS on TCP: `auto` (where UDP is not answered, and until it is), `off` or `only`. Default: `auto`; the token says whether the gateway has TLS.
    /// Not changed by a reload.
    pub tls: TlsMode,
    /// Where the gateway has TLS, as `HOST:PORT`. Default: what the token says; a token that was made before the gateway had TLS says nothing. Not changed by a reload.
    #[schemars(with = "Vec<String>")]
    pub tls_endpoints: Vec<Name<Endpoint>>,
    /// A directory of programs that are run when paths and the connection come and go. Default: none. Not changed by a reload.
    pub hooks: Option<PathBuf>,
    /// Give up if there is no connection after so many seconds. Default: never.
    pub timeout_s: Option<u64>,
    /// Seal with ChaCha20-Poly1305 even where both ends have instructions for AES. Default: `false`, because AES-128-GCM is faster there.
    pub chacha20: bool,
    /// Interfaces to use, one `[[up.path]]` each. Default: every usable one, as they come and go.
    pub path: Vec<PathEntry>,
}

/// When a client goes by TLS on TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TlsMode {
    /// Where UDP is not answered, and until it is.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Always, and by UDP never.
    Only,
}

/// One interface.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PathEntry {
    /// Its name.
    pub interface: String,
    /// Its own endpoint, as `HOST:PORT`. Default: those of the token.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub endpoint: Option<Name<Endpoint>>,
    /// `active` (always used), `backup` (used while no other path works) or `metered` (used until `cap` is used up). Default: `active`.
    #[serde(default)]
    pub class: Option<ClassName>,
    /// Bytes that a metered path may carry in a month, both directions together, such as `"10GB"`. Default: none.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub cap: Option<Amount>,
    /// The day of the month on which a new allowance begins, 1 to 31; in a shorter month its last day. Default: 1.
    #[serde(default)]
    pub reset_day: Option<u8>,
    /// Its share under the `weighted` scheduler. Default: 1.
    #[serde(default)]
    pub weight: Option<u32>,
}

/// What a path may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClassName {
    /// Always.
    Active,
    /// While no other path works.
    Backup,
    /// Until its allowance is used up.
    Metered,
}

/// The bonding engine.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Engine {
    /// Which path takes the next bytes: `earliest-arrival`, `redundant-low-latency`, `min-rtt`,
    /// `round-robin`, `weighted`, `redundant` or `backpressure` (as the links complete, for a
    /// wireless backhaul; with `congestion = "none"`). Default: `earliest-arrival`, the only one
    /// that fills unlike paths and keeps order by itself; under `[ap]` and `[repeater]` `backpressure`.
    #[schemars(with = "String")]
    pub scheduler: Name<Kind>,
    /// Congestion control of each path: `tidal`, `cubic`, `newreno`, `lia`, `olia`, `balia`, `highspeed` or `none` (a window of 1024
    /// datagrams; only under `backpressure`, where the links' completions are the limit, and never over the Internet). Default: `tidal`, because it keeps
    /// the queues of the paths short; `none` under `[ap]` and `[repeater]` with `backpressure`. Concerns paths made later.
    #[schemars(with = "String")]
    pub congestion: Name<Algorithm>,
    /// Lost datagrams are sent again. Default: `true`: TCP inside hardly notices random loss then.
    pub recovery: bool,
    /// Packets of a flow come out in order. Default: `true`; `false` shows what that is worth. It counts at the end that receives. Not changed by a reload.
    pub ordered: bool,
    /// No packet waits longer than this for missing ones before it, milliseconds. Default: none,
    /// for each of them as long as a repair takes. A backhaul between access point and repeater has
    /// 100; the Multifacet paper had 10.
    pub order_deadline_ms: Option<u64>,
    /// A path slower than the fastest by more than this carries no ordered data, in milliseconds. Default: 200, TCP's least
    /// retransmission timeout.
    pub max_spread_ms: u64,
    /// MTU of the network device, bytes. Default: 1420, so that a full packet fits one datagram of a 1500-byte path. Not changed by a reload.
    pub tun_mtu: u16,
    /// Packet memory. Default: `"100MB"`; pages are only backed when used. Not changed by a reload.
    #[schemars(with = "String")]
    pub memory: Amount,
    /// Most bytes in one session's queue. Default: `"32MB"`, as fq_codel of Linux: a burst of one TCP window fits, and CoDel keeps it far below.
    #[schemars(with = "String")]
    pub queue: Amount,
    /// Most packets in it, segments of super-packets counted. Default: none, bytes alone count; under `backpressure` 200, or what leaves in 100 ms if that
    /// is more, which rides out changes of the links' rates. Not changed by a reload.
    pub queue_packets: Option<u32>,
    /// How many datagrams a link may hold under `backpressure`: at least, before its completions were counted, and at most. Between the bounds it is what the
    /// link completes in 8 ms. Default: `[4, 16, 512]`: one on the air and some behind it; half an aggregate; what 11ac at 800 Mb/s sends in 8 ms.
    pub device_threshold: [u32; 3],
    /// How links on the channel of a repeater's clients are limited: `off`, `mimd` (the Multifacet
    /// paper's, every 200 ms) or `balance` (by the clients' queue, every 10 ms). Default: `mimd`; under `[ap]` and `[repeater]` `balance`.
    /// It concerns bonds whose repeater's radio reports its queues.
    #[schemars(with = "String")]
    pub limiter: Name<limiter::Kind>,
    /// How often a repeater tells of its clients' queues, milliseconds. Default: 200 with `mimd`, which the paper found best, and 10 with `balance`.
    pub report_period_ms: Option<u16>,
    /// A client's queue shorter than the first may be longer, one longer than the second is too long, packets. Default: `[32, 192]`: an aggregate,
    /// and six of them. Both ends should have the same.
    pub limiter_queue: [u32; 2],
    /// An idle path says something this often, seconds. Default: 20, because some NATs forget UDP after 30.
    pub keepalive_s: u64,
    /// A peer that is silent for this long is forgotten, seconds. Default: 300.
    pub idle_timeout_s: u64,
    /// Keys are renewed after this, seconds: 10 to 150. Default: 120, as WireGuard does. Keys older than 180 s are used by neither end.
    pub rekey_after_s: u64,
    /// Gateway: most clients at once. Default: 4096, which bounds the memory that unknown senders
    /// can make it use.
    pub max_clients: usize,
    /// Gateway: handshakes per second before clients have to prove their address first. Default: 2000. Whatever is set, handshakes of those
    /// who are not known yet use at most half of one processor.
    pub handshakes_per_second: u32,
    /// Count connections, for `ropewalk flows`, the page, and how many noticed that a path was dead: who speaks with whom, how much and how fast. Default:
    /// `true`. It is kept in memory while the connection lasts, in a megabyte at most, and only the daemon's own user is told; who runs a gateway could see
    /// these packets anyway. `false`: nothing of it is kept.
    pub flows: bool,
    /// How long to look for packets before going to sleep, microseconds. Default: 0. 50 takes some 10 µs off a round trip and keeps one core busy.
    pub busy_poll_us: u64,
    /// Niceness of the daemon, -20 to 19: who goes first where programs want the same processor. Default: -10, because a packet otherwise waits behind the
    /// programs it is for; a sixth more throughput where two processors carry one flow as fast as they can. 0: as it was started. A niceness that whoever
    /// starts the daemon gave it stays, and without the right to raise it (`CAP_SYS_NICE`) it stays 0. Not changed by a reload.
    pub nice: i8,
}

/// What is logged.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Log {
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter as in `RUST_LOG`. Default: `RUST_LOG`, else `info`.
    pub level: Option<String>,
    /// `text` or `json`. Default: `text`.
    #[schemars(with = "Option<String>")]
    pub format: Option<LogFormat>,
}

/// Metrics for Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Metrics {
    /// Serve them by HTTP at this address. Default: not at all, because whoever reaches it learns who is connected.
    #[schemars(with = "Option<String>")]
    pub listen: Option<SocketAddr>,
}

impl Default for Engine {
    fn default() -> Engine {
        let d = Config::default();
        Engine {
            scheduler: Name(d.scheduler),
            congestion: Name(d.congestion),
            recovery: d.recovery,
            ordered: d.ordered,
            order_deadline_ms: None,
            max_spread_ms: d.max_spread.as_millis() as u64,
            tun_mtu: d.tun_mtu,
            memory: Amount(100_000_000),
            queue: Amount(32_000_000),
            queue_packets: d.queue_packets,
            device_threshold: {
                let t = d.device_threshold;
                [t.least, t.start, t.most]
            },
            limiter: Name(d.limiter.kind),
            report_period_ms: None,
            limiter_queue: [d.limiter.low, d.limiter.high],
            keepalive_s: d.keepalive.as_secs(),
            idle_timeout_s: d.idle_timeout.as_secs(),
            rekey_after_s: d.rekey_after.as_secs(),
            max_clients: d.max_peers,
            handshakes_per_second: d.responder.handshakes_per_second,
            flows: true,
            busy_poll_us: 0,
            nice: -10,
        }
    }
}

impl Engine {
    /// As the engine wants it.
    pub(crate) fn to_config(&self) -> Config {
        let responder = ResponderConfig {
            handshakes_per_second: self.handshakes_per_second,
            ..ResponderConfig::default()
        };
        Config {
            memory_bytes: self.memory.0 as usize,
            queue_bytes: self.queue.0,
            queue_packets: self.queue_packets,
            limiter: {
                let [low, high] = self.limiter_queue;
                let every = self.report_period_ms.map(|ms| Duration::from_millis(ms.into()));
                limiter::Config { kind: self.limiter.0, every, low, high, ..limiter::Config::default() }
            },
            device_threshold: {
                let [least, start, most] = self.device_threshold;
                DeviceThreshold { least, start, most }
            },
            scheduler: self.scheduler.0,
            congestion: self.congestion.0,
            max_spread: Duration::from_millis(self.max_spread_ms),
            recovery: self.recovery,
            ordered: self.ordered,
            order_deadline: self.order_deadline_ms.map(Duration::from_millis),
            tun_mtu: self.tun_mtu,
            rekey_after: Duration::from_secs(self.rekey_after_s),
            keepalive: Duration::from_secs(self.keepalive_s),
            idle_timeout: Duration::from_secs(self.idle_timeout_s),
            max_peers: self.max_clients,
            flows: if self.flows { Config::default().flows } else { 0 },
            responder,
            ..Config::default()
        }
    }

    /// Whether the scheduler decides by what links report of their queues (Multifacet, MF-7): then they are read all the time.
    pub(crate) fn lives_on_completions(&self) -> bool {
        self.scheduler.0.counts_completions()
    }

    /// How long the loop looks for work before it sleeps.
    pub(crate) fn busy_poll(&self) -> Duration {
        Duration::from_micros(self.busy_poll_us)
    }
}

impl Serve {
    /// The clients' IPv6 network, if the world sees its addresses.
    pub(crate) fn global_network(&self) -> Option<Ipv6Net> {
        let network = self.address.iter().find_map(|address| match address {
            IpNet::V6(network) => Some(network.trunc()),
            IpNet::V4(_) => None,
        });
        network.filter(|_| self.global6)
    }

    /// What such a network needs: the key that is wrong, and why.
    pub(crate) fn check_global6(&self) -> Result<(), (&'static str, String)> {
        if let Some(interface) = &self.proxy_ndp {
            crate::cli::check_interface(interface).map_err(|why| ("proxy-ndp", why))?;
            if !self.global6 {
                return Err((
                    "proxy-ndp",
                    "proxy-ndp is for a network that is global: set global6, too".into(),
                ));
            }
        }
        if self.global6 && self.global_network().is_none() {
            let words = "global6 needs an IPv6 network for the clients, such as address 2001:db8:1::1/64";
            return Err(("global6", words.into()));
        }
        if self.global6 && self.store.is_some() {
            let words = "global6 is not for a gateway of a fleet: its clients go to other gateways with their addresses, the network does not";
            return Err(("global6", words.into()));
        }
        let is_unfit = |n: Ipv6Net| !DELEGATING.contains(&n.prefix_len()) || self.proxy_ndp.is_some();
        if self.delegate && self.global_network().is_none_or(is_unfit) {
            let words = "delegate needs a global IPv6 network of /32 to /63 that is routed to this machine: set global6 and, for example, address 2001:db8:100::1/56, and no proxy-ndp";
            return Err(("delegate", words.into()));
        }
        Ok(())
    }
}

impl PathEntry {
    /// Nothing is said but the name.
    pub(crate) fn new(interface: &str) -> PathEntry {
        PathEntry {
            interface: interface.into(),
            endpoint: None,
            class: None,
            cap: None,
            reset_day: None,
            weight: None,
        }
    }

    /// As on the command line.
    pub(crate) fn name(&self) -> PathName {
        PathName { interface: self.interface.clone(), endpoint: self.endpoint.clone().map(|e| e.0) }
    }
}

impl File {
    /// Reads and checks a file.
    pub(crate) fn read(path: &Path) -> Result<File, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|e| ConfigError::unreadable(path, e))?;
        File::parse(path, &text)
    }

    /// Reads the file if there is one to read, else the defaults.
    pub(crate) fn read_if_any(path: Option<&Path>) -> Result<File, ConfigError> {
        path.map_or_else(|| Ok(File::default()), File::read)
    }

    /// Reads and checks what stands in the file at `path`.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<File, ConfigError> {
        let mut file: File = toml::from_str(text).map_err(|e| ConfigError::from_toml(path, text, &e))?;
        let sections = backhaul::engine_of_a_backhaul(&mut file, text);
        sections.map_err(|(key, sentence)| ConfigError::about(path, text, key, sentence))?;
        file.check().map_err(|(key, sentence)| ConfigError::about(path, text, key, sentence))?;
        Ok(file)
    }

    /// Each worker of a gateway has a part of its memory.
    pub(crate) fn check_workers(&self) -> Result<(), (&'static str, String)> {
        let workers = self.serve.workers.unwrap_or(1);
        if !(1..=Shard::MOST).contains(&workers) {
            let why = format!("workers is {workers}, but has to be from 1 to {}", Shard::MOST);
            return Err(("workers", why));
        }
        // An access point has one loop, whatever is said of a gateway's.
        if workers == 1 || !self.ap.link.is_empty() {
            return Ok(());
        }
        if self.engine.lives_on_completions() {
            let why = format!(
                "workers = {workers} does not go with scheduler = \"backpressure\": leave workers out, or choose another scheduler in [engine]"
            );
            return Err(("workers", why));
        }
        if self.engine.memory.0 / u64::from(workers) < LEAST_MEMORY {
            let least = u64::from(workers) * LEAST_MEMORY / 1_000_000;
            return Err(("memory", format!("workers = {workers} needs a memory of at least {least}MB")));
        }
        Ok(())
    }

    /// What types cannot say: the key that is wrong, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.roam.check()?;
        let e = &self.engine;
        let within = |key, value: u64, least: u64, most: u64| {
            let sentence = || format!("{key} is {value}, but has to be from {least} to {most}");
            if (least..=most).contains(&value) { Ok(()) } else { Err((key, sentence())) }
        };
        if self.serve.tls_cert.is_some() != self.serve.tls_key.is_some() {
            return Err(("tls-cert", "tls-cert and tls-key belong together: name both, or neither".into()));
        }
        self.serve.check_global6()?;
        self.check_workers()?;
        if self.up.dns.is_empty() && !self.up.dns_domains.is_empty() {
            return Err((
                "dns-domains",
                "dns-domains needs name servers, such as dns = [\"10.77.0.1\"]".into(),
            ));
        }
        if let Some(interface) = &self.up.lan {
            crate::cli::check_interface(interface).map_err(|why| ("lan", why))?;
        }
        within("tls-endpoints", self.serve.tls_endpoints.len() as u64, 0, TLS_ENDPOINTS_MAX as u64)?;
        within("tun-mtu", e.tun_mtu.into(), 1280, 9000)?;
        within("max-spread-ms", e.max_spread_ms, 1, 10_000)?;
        within("keepalive-s", e.keepalive_s, 1, 3600)?;
        within("idle-timeout-s", e.idle_timeout_s, 10, 86_400)?;
        within("rekey-after-s", e.rekey_after_s, 10, 150)?;
        within("max-clients", e.max_clients as u64, 1, 1 << 20)?;
        within("busy-poll-us", e.busy_poll_us, 0, 10_000)?;
        if !(-20..=19).contains(&e.nice) {
            return Err(("nice", format!("nice is {}, but has to be from -20 to 19", e.nice)));
        }
        within("memory", e.memory.0, LEAST_MEMORY, 64_000_000_000)?;
        within("queue", e.queue.0, 200_000, e.memory.0)?;
        within("queue-packets", e.queue_packets.unwrap_or(200).into(), 10, 100_000)?;
        within("order-deadline-ms", e.order_deadline_ms.unwrap_or(10), 1, 10_000)?;
        let [least, start, most] = e.device_threshold.map(u64::from);
        within("device-threshold", least, 1, 1024)?;
        within("device-threshold", start, least, 1024)?;
        within("device-threshold", most, start, 1024)?;
        within("report-period-ms", e.report_period_ms.unwrap_or(5).into(), 1, 5000)?;
        within("limiter-queue", e.limiter_queue[0].into(), 1, 10_000)?;
        within("limiter-queue", e.limiter_queue[1].into(), e.limiter_queue[0].into(), 10_000)?;
        within("handshakes-per-second", e.handshakes_per_second.into(), 1, 1_000_000)?;
        for p in &self.up.path {
            crate::cli::check_interface(&p.interface).map_err(|why| ("interface", why))?;
            within("reset-day", p.reset_day.unwrap_or(1).into(), 1, 31)?;
            within("weight", p.weight.unwrap_or(1).into(), 1, 1000)?;
            if p.class == Some(ClassName::Metered) && p.cap.is_none() {
                return Err(("class", "a metered path needs a cap, such as cap = \"10GB\"".into()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
