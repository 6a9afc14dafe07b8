//! The two sections of a backhaul: an access point with two radios, and a repeater.

use super::File;
use ipnet::IpNet;
use ropewalk_bond::backhaul::channel_search::{Search, Settings};
use ropewalk_bond::backhaul::limiter;
use ropewalk_bond::schedule::Kind;
use ropewalk_cc::Algorithm;
use ropewalk_net::channel::centre_mhz;
use ropewalk_session::{Layer, NETWORKS_MAX};
use ropewalk_time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// The access point of a repeater with two radios: `ropewalk ap --config FILE`. With this section
/// other keys of `[engine]` have other defaults, where the file does not name them: `scheduler =
/// "backpressure"`, `congestion = "none"`, `order-deadline-ms = 100`, `limiter = "balance"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Ap {
    /// Directory for keys and state. Default: none; `--state` goes before it.
    pub state: Option<PathBuf>,
    /// 3: the backhaul is a route, and packets go through it. 2: it is a port of a bridge, and
    /// frames do. Default: 3, because bridges bring their broadcasts along.
    #[schemars(with = "u8")]
    pub layer: LayerKey,
    /// Name of the network device. Default: the first free of `rw0`, `rw1`, … On layer 2, where each repeater has a device of its own, what their names begin with: `tap` makes
    /// `tap0`, `tap1`, … Default: `rwap`.
    pub tun: Option<String>,
    /// Layer 2: the bridge that the devices become ports of. Default: none, put them into one yourself.
    pub bridge: Option<String>,
    /// Layer 2: repeaters reach the other ports of the bridge, but not each other. Default: `false`, because a bridge joins all that are connected to it.
    pub isolated: bool,
    /// Layer 3: the access point's addresses inside the backhaul, with the networks that repeaters
    /// get theirs from. Default: `["10.77.0.1/24"]`.
    #[schemars(with = "Vec<String>")]
    pub address: Vec<IpNet>,
    /// Layer 3: let repeaters and their clients reach the internet with this machine's address. Default: `false`, because it changes the firewall.
    pub masquerade: bool,
    /// A directory of programs that are run when repeaters come and go. Default: none.
    pub hooks: Option<PathBuf>,
    /// UDP port on the radios' interfaces. Default: 4500.
    pub port: u16,
    /// The radios' interfaces, one `[[ap.link]]` each.
    pub link: Vec<BackhaulLink>,
    /// What lies behind repeaters, one `[[ap.repeater]]` each; on layer 2 there is nothing to say.
    pub repeater: Vec<RoutedSubnets>,
    /// Where the dedicated radio goes when it carries too little. Default: none, and it stays where
    /// it is.
    pub migrate: Option<Migrate>,
}

/// When the dedicated radio looks for another channel (the shared one never does, for the clients
/// are only there), and how: `[ap.migrate]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Migrate {
    /// Channels to try, by number (2.4 and 5 GHz), in this order. Name none that needs radar detection first, unless the radio has done it.
    pub channels: Vec<u32>,
    /// `adequate`: the first that carries more than before. `best`: all are tried, then the best is taken. Default: `adequate`, because each try costs the link a
    /// quarter of a second.
    #[serde(default = "adequate")]
    #[schemars(with = "String")]
    pub search: SearchKey,
    /// Search when the link carries less than this, Mb/s, though data waits for it. Default: 5.
    #[serde(default = "least_mbps")]
    pub least_mbps: f64,
    /// For so long, ms. Default: 1000.
    #[serde(default = "window_ms")]
    pub window_ms: u64,
    /// So long after a search there is no other, s. Default: 30.
    #[serde(default = "rest_s")]
    pub rest_s: u64,
    /// Beacons that announce a switch. Default: 2.
    #[serde(default = "beacons")]
    pub beacons: u8,
    /// Directory of hostapd's control sockets, its `ctrl_interface`. Default: `/run/hostapd`, and else the lab's radio.
    #[serde(default)]
    pub hostapd: Option<PathBuf>,
}

/// A search by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SearchKey {
    /// [`Search::Adequate`].
    Adequate,
    /// [`Search::Best`].
    Best,
}

fn adequate() -> SearchKey {
    SearchKey::Adequate
}

fn least_mbps() -> f64 {
    5.0
}

fn window_ms() -> u64 {
    1000
}

fn rest_s() -> u64 {
    30
}

fn beacons() -> u8 {
    2
}

impl Migrate {
    /// For the engine's search.
    pub(crate) fn settings(&self) -> Settings {
        let usual = Settings::default();
        Settings {
            candidates_mhz: self.channels.iter().filter_map(|n| centre_mhz(*n)).collect(),
            search: match self.search {
                SearchKey::Adequate => Search::Adequate,
                SearchKey::Best => Search::Best,
            },
            least_bps: self.least_mbps * 1e6,
            window: Duration::from_millis(self.window_ms),
            rest: Duration::from_secs(self.rest_s),
            // Beacons come every 102.4 ms; the rest of the usual patience is the station's way.
            patience: usual.patience + Duration::from_millis(103) * u32::from(self.beacons.saturating_sub(2)),
            ..usual
        }
    }

    fn check(&self, links: &[BackhaulLink]) -> Result<(), Wrong> {
        if let Some(n) = self.channels.iter().find(|n| centre_mhz(**n).is_none()) {
            let words = format!("there is no channel {n} at 2.4 or 5 GHz (1 to 14, 32 to 177)");
            return Err(("channels", words));
        }
        if self.channels.is_empty() {
            return Err((
                "channels",
                "there is nowhere to go: name channels, or leave out [ap.migrate]".into(),
            ));
        }
        if !(self.least_mbps > 0.0 && self.window_ms >= 100 && self.beacons >= 1) {
            let words = "least-mbps is to be above 0, window-ms at least 100, beacons at least 1";
            return Err(("migrate", words.into()));
        }
        if dedicated(links).count() != 1 {
            let words = "the radio that may leave its channel is the one link that is not shared: say shared = true of the others";
            return Err(("migrate", words.into()));
        }
        Ok(())
    }
}

/// The links that need not be where the clients are.
pub(crate) fn dedicated(links: &[BackhaulLink]) -> impl Iterator<Item = &BackhaulLink> {
    links.iter().filter(|l| l.shared != Some(true))
}

/// The interface of one radio towards the other end.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct BackhaulLink {
    /// Its name.
    pub interface: String,
    /// Its channel is the one that the repeater's clients are on, so it may only take the air that they leave. Default: unsaid, and then
    /// another one has to be `true`.
    #[serde(default)]
    pub shared: Option<bool>,
    /// Its radio sends an RTS before frames of more than 500 bytes, while this runs. Default: where `shared` is `true` and the radio is 802.11n or newer, because the clients
    /// seldom hear the access point, and what they send meanwhile costs a whole aggregate.
    #[serde(default)]
    pub rts: Option<bool>,
}

impl BackhaulLink {
    /// Whether its radio is to protect longer frames by RTS/CTS, if that can pay.
    pub(crate) fn protects(&self) -> bool {
        self.rts.unwrap_or(self.shared == Some(true))
    }
}

/// The networks behind one repeater.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RoutedSubnets {
    /// The name that the repeater was invited by.
    pub name: String,
    /// Networks that its clients may have; they are routed to it, and it may send from them.
    #[schemars(with = "Vec<String>")]
    pub networks: Vec<IpNet>,
}

/// A repeater with two radios: `ropewalk repeater --config FILE`. It changes the same defaults of `[engine]` as `[ap]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Repeater {
    /// Directory for keys and state. Default: none; `--state` goes before it.
    pub state: Option<PathBuf>,
    /// The line that `ropewalk ap invite` printed. Default: what is in `token-file`, or the token used last with this state directory.
    pub token: Option<String>,
    /// A file with that line; it may go once it was read, for the token is remembered. Default: none.
    pub token_file: Option<PathBuf>,
    /// 3: the backhaul is a route, and packets go through it. 2: it is a port of a bridge, and
    /// frames do. Default: 3; it has to be the access point's.
    #[schemars(with = "u8")]
    pub layer: LayerKey,
    /// Name of the network device. Default: the first free of `rw0`, `rw1`, …
    pub tun: Option<String>,
    /// Layer 2: the bridge that the device becomes a port of. Default: none, put it into one yourself.
    pub bridge: Option<String>,
    /// Layer 3: networks to send through the backhaul. Default: `["0.0.0.0/0"]`, because the
    /// backhaul is the clients' way to everything.
    #[schemars(with = "Vec<String>")]
    pub route: Vec<IpNet>,
    /// Layer 3: the networks of this repeater's clients, at most 8; `ap.toml` has to name them too. Default: none, and then clients have to be hidden behind this
    /// machine's address.
    #[schemars(with = "Vec<String>")]
    pub networks: Vec<IpNet>,
    /// The interface towards the clients, on the shared radio: its queue is what the limiter lives
    /// on. Default: none, and then `lan` has to be there.
    pub clients: Option<String>,
    /// The clients are on this cable instead: no radio is shared, nothing is limited. Default:
    /// none. `--lan` goes before it.
    pub lan: Option<String>,
    /// A directory of programs that are run when links and the connection come and go. Default:
    /// none.
    pub hooks: Option<PathBuf>,
    /// Give up if there is no connection after so many seconds. Default: never.
    pub timeout_s: Option<u64>,
    /// The interfaces that are stations of the access point, one `[[repeater.link]]` each.
    pub link: Vec<BackhaulLink>,
}

impl Default for Ap {
    fn default() -> Ap {
        Ap {
            state: None,
            layer: LayerKey::default(),
            tun: None,
            bridge: None,
            isolated: false,
            address: Vec::new(),
            masquerade: false,
            hooks: None,
            port: 4500,
            link: Vec::new(),
            repeater: Vec::new(),
            migrate: None,
        }
    }
}

impl Default for Repeater {
    fn default() -> Repeater {
        Repeater {
            state: None,
            token: None,
            token_file: None,
            layer: LayerKey::default(),
            tun: None,
            bridge: None,
            route: vec![IpNet::V4(ipnet::Ipv4Net::default())],
            networks: Vec::new(),
            clients: None,
            lan: None,
            hooks: None,
            timeout_s: None,
            link: Vec::new(),
        }
    }
}

/// A layer as the file names it: 2 or 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub(crate) struct LayerKey(pub Layer);

impl TryFrom<u8> for LayerKey {
    type Error = String;

    fn try_from(number: u8) -> Result<LayerKey, String> {
        match number {
            2 => Ok(LayerKey(Layer::Two)),
            3 => Ok(LayerKey(Layer::Three)),
            other => {
                Err(format!("there is no layer {other}: it is 2 (frames, a bridge) or 3 (packets, routes)"))
            }
        }
    }
}

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

impl Ap {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        check_links(&self.link)?;
        if self.port == 0 {
            return Err((
                "port",
                "port is 0, but repeaters have to know it: choose one, such as 4500".into(),
            ));
        }
        check_bridge(self.bridge.as_deref(), self.layer)?;
        self.check_ports()?;
        self.migrate.as_ref().map_or(Ok(()), |m| m.check(&self.link))?;
        if self.layer.0 == Layer::Two
            && (!self.repeater.is_empty() || !self.address.is_empty() || self.masquerade)
        {
            let words = "on layer 2 the backhaul has no addresses: leave out address, masquerade and [[ap.repeater]], or set layer = 3";
            return Err(("layer", words.into()));
        }
        for (i, behind) in self.repeater.iter().enumerate() {
            check_networks(&behind.networks)?;
            let earlier = self.repeater[..i].iter().flat_map(|b| &b.networks);
            if let Some(twice) =
                earlier.clone().find(|e| behind.networks.iter().any(|n| n.trunc() == e.trunc()))
            {
                return Err((
                    "networks",
                    format!("{twice} lies behind one repeater only, but is named for two"),
                ));
            }
        }
        Ok(())
    }

    /// What is said of the devices on layer 2.
    fn check_ports(&self) -> Result<(), Wrong> {
        if self.isolated && self.bridge.is_none() {
            return Err((
                "isolated",
                "it is a bridge that isolates ports: name it with bridge = \"NAME\"".into(),
            ));
        }
        let prefix = self.tun.as_deref().filter(|_| self.layer.0 == Layer::Two);
        // Up to four digits follow.
        match prefix.map_or(Ok(()), |p| crate::cli::check_interface(&format!("{p}9999"))) {
            Ok(()) => Ok(()),
            Err(_) => Err((
                "tun",
                "on layer 2 the devices' names begin with it: 1 to 11 bytes, no slash, no space".into(),
            )),
        }
    }
}

impl Repeater {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        check_links(&self.link)?;
        check_networks(&self.networks)?;
        check_bridge(self.bridge.as_deref(), self.layer)?;
        if self.layer.0 == Layer::Two && !self.networks.is_empty() {
            return Err((
                "networks",
                "on layer 2 the backhaul has no networks: leave the key out, or set layer = 3".into(),
            ));
        }
        for name in self.clients.iter().chain(&self.lan) {
            crate::cli::check_interface(name).map_err(|why| ("clients", why))?;
            if self.link.iter().any(|l| l.interface == *name) {
                let words = format!(
                    "{name} cannot lead to the access point and to the clients: make an interface of its own for the clients"
                );
                return Err(("clients", words));
            }
        }
        Ok(())
    }

    /// What only counts once the command line is known.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn check_clients(&self) -> Result<(), String> {
        if self.lan.is_some() {
            return Ok(());
        }
        let Some(clients) = &self.clients else {
            return Err("it is not said where the clients are: set clients = \"IFACE\" under [repeater], the interface on the shared radio, or lan = \
                        \"IFACE\" for a cable"
                .into());
        };
        let unsaid: Vec<&str> =
            self.link.iter().filter(|l| l.shared.is_none()).map(|l| l.interface.as_str()).collect();
        if !unsaid.is_empty() && !self.link.iter().any(|l| l.shared == Some(true)) {
            return Err(format!(
                "no link is said to share the channel of {clients}: set shared = true for {}, or shared = false for all if none does",
                unsaid.join(" or ")
            ));
        }
        Ok(())
    }
}

fn check_links(links: &[BackhaulLink]) -> Result<(), Wrong> {
    if links.is_empty() {
        return Err((
            "interface",
            "the radios are not named: one [[….link]] with interface = \"IFACE\" for each".into(),
        ));
    }
    for (i, link) in links.iter().enumerate() {
        crate::cli::check_interface(&link.interface).map_err(|why| ("interface", why))?;
        if links[..i].iter().any(|l| l.interface == link.interface) {
            return Err(("interface", format!("{} is named twice", link.interface)));
        }
    }
    Ok(())
}

fn check_networks(networks: &[IpNet]) -> Result<(), Wrong> {
    if networks.len() > NETWORKS_MAX {
        return Err((
            "networks",
            format!("there are {} networks, but {NETWORKS_MAX} at most can be told", networks.len()),
        ));
    }
    match networks.iter().find(|n| n.prefix_len() == 0) {
        Some(all) => Err(("networks", format!("{all} is everything: name the clients' own networks"))),
        None => Ok(()),
    }
}

fn check_bridge(bridge: Option<&str>, layer: LayerKey) -> Result<(), Wrong> {
    let Some(name) = bridge else { return Ok(()) };
    crate::cli::check_interface(name).map_err(|why| ("bridge", why))?;
    if layer.0 == Layer::Three {
        return Err(("bridge", "a bridge takes frames: set layer = 2, or leave the bridge out".into()));
    }
    Ok(())
}

/// The defaults of a backhaul for what `text`, the file, does not name under `[engine]`.
pub(super) fn engine_of_a_backhaul(file: &mut File, text: &str) -> Result<(), Wrong> {
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(()) };
    match (table.contains_key("ap"), table.contains_key("repeater")) {
        (false, false) => return Ok(()),
        (true, true) => {
            let words = "a machine is the access point or the repeater of a backhaul: leave [ap] or [repeater] out, or make two files";
            return Err(("state", words.into()));
        }
        (true, false) => file.ap.check()?,
        (false, true) => file.repeater.check()?,
    }
    let named = |key: &str| table.get("engine").and_then(|e| e.get(key)).is_some();
    let e = &mut file.engine;
    if !named("scheduler") {
        e.scheduler.0 = Kind::Backpressure;
    }
    if !named("congestion") && e.scheduler.0 == Kind::Backpressure {
        e.congestion.0 = Algorithm::None;
    }
    if !named("order-deadline-ms") {
        e.order_deadline_ms = Some(100);
    }
    if !named("limiter") {
        e.limiter.0 = limiter::Kind::Balance;
    }
    let layer = if table.contains_key("ap") { file.ap.layer } else { file.repeater.layer };
    if !named("tun-mtu") && layer.0 == Layer::Two {
        e.tun_mtu = 1500;
    }
    Ok(())
}
