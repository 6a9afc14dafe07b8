//! A bond between an access point and a repeater: the real `ropewalk ap` and `ropewalk repeater`. The access point has a socket on each radio, so that the radios'
//! completions drive the striper; the repeater reads the queue in front of its clients.

use std::fmt::Write;
use std::time::Duration;

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Bond, BondPath, Interface, Migrate, Mode, Scheduler};
use ropewalk_sim::BuildError;

/// Whether a bond is such a backhaul: it lives on what its radios complete, shares one with the
/// repeater's clients, or may leave its channel.
pub(super) fn is_backhaul(bond: &Bond) -> bool {
    bond.scheduler == Scheduler::Backpressure || bond.paths.iter().any(|p| p.shared) || bond.migrate.is_some()
}

/// The gateway's interface at the other end of a path: the one that it names, or the one on its network.
fn other_end<'a>(scenario: &'a Scenario, bond: &'a Bond, path: &'a BondPath) -> Option<&'a str> {
    let of = |node: &str| scenario.node.get(node).map(|n| &n.interface);
    if let Some(to) = &path.to {
        return Some(to);
    }
    let net = of(&bond.client)?.get(&path.interface)?.address?;
    let near = |i: &Interface| i.address.is_some_and(|a| net.contains(&a.addr()));
    of(&bond.gateway)?.iter().find(|(_, i)| near(i)).map(|(name, _)| name.as_str())
}

/// The interface by which the repeater's clients hang on the radio of a shared path.
fn clients<'a>(scenario: &'a Scenario, bond: &Bond) -> Option<&'a str> {
    let interfaces = &scenario.node.get(&bond.client)?.interface;
    let radios: Vec<_> = bond
        .paths
        .iter()
        .filter(|p| p.shared)
        .filter_map(|p| interfaces.get(&p.interface)?.radio.as_ref())
        .collect();
    let serves =
        |i: &Interface| i.mode == Some(Mode::Ap) && i.radio.as_ref().is_some_and(|r| radios.contains(&r));
    interfaces.iter().find(|(_, i)| serves(i)).map(|(name, _)| name.as_str())
}

/// What keeps a backhaul from running live.
pub(super) fn refusals(scenario: &Scenario, name: &str, bond: &Bond) -> Vec<BuildError> {
    let mut all = Vec::new();
    let wrong = |why: &str| BuildError::new(format!("bond.{name}.paths"), why);
    if bond.paths.iter().any(|p| other_end(scenario, bond, p).is_none()) {
        all.push(wrong(
            "an access point listens on the interfaces of its radios: say which each path goes to (`to`)",
        ));
    }
    if bond.paths.iter().any(|p| p.shared) && clients(scenario, bond).is_none() {
        all.push(wrong("a path is shared with clients, but no interface on its radio is their access point"));
    }
    let test = bond.migrate.as_ref().map(|m| m.test);
    if test.is_some_and(|t| t != Duration::from_millis(20)) {
        let why = "the daemon tries a channel for 20ms; leave it out in the lab";
        all.push(BuildError::new(format!("bond.{name}.migrate.test"), why));
    }
    all
}

/// The links of one end.
fn links<'a>(end: &str, all: impl Iterator<Item = (&'a str, bool)>) -> String {
    all.fold(String::new(), |mut out, (interface, shared)| {
        let _ = write!(out, "[[{end}.link]]\ninterface = \"{interface}\"\nshared = {shared}\n");
        out
    })
}

/// The access point's part of its configuration. Networks behind a repeater that does not translate addresses are named.
pub(super) fn ap(scenario: &Scenario, (name, bond): (&str, &Bond), address: &str, port: u16) -> String {
    let ends = bond.paths.iter().filter_map(|p| Some((other_end(scenario, bond, p)?, p.shared)));
    let behind = match &behind(scenario, name, bond)[..] {
        [] => String::new(),
        networks => format!("[[ap.repeater]]\nname = \"lab\"\nnetworks = [{}]\n", quoted(networks)),
    };
    let migrate = bond.migrate.as_ref().map_or(String::new(), migrate);
    format!(
        "[ap]\ntun = \"{name}\"\naddress = [\"{address}\"]\nport = {port}\n{}{behind}{migrate}",
        links("ap", ends)
    )
}

fn migrate(keys: &Migrate) -> String {
    format!(
        "[ap.migrate]\nchannels = {:?}\nsearch = \"{}\"\nleast-mbps = {:?}\nwindow-ms = {}\nrest-s = {}\nbeacons = {}\n",
        keys.channels,
        keys.search.name(),
        keys.least.bps as f64 / 1e6,
        keys.window.as_millis(),
        keys.rest.as_secs(),
        keys.beacons
    )
}

/// The repeater's part; `routes` go through the backhaul.
pub(super) fn repeater(scenario: &Scenario, (name, bond): (&str, &Bond), routes: &[String]) -> String {
    let clients = match clients(scenario, bond) {
        Some(radio) => format!("clients = \"{radio}\""),
        // No radio is shared with them, so no queue of theirs is read.
        None => format!("lan = \"{}\"", inner(scenario, bond).next().map_or("lo", |(name, _)| name)),
    };
    let networks = quoted(&behind(scenario, name, bond));
    let own = bond.paths.iter().map(|p| (p.interface.as_str(), p.shared));
    format!(
        "[repeater]\ntun = \"{name}\"\n{clients}\nroute = [{}]\nnetworks = [{networks}]\n{}",
        quoted(routes),
        links("repeater", own)
    )
}

fn quoted(all: &[String]) -> String {
    all.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ")
}

/// The repeater's interfaces that are no links of the backhaul.
fn inner<'a>(scenario: &'a Scenario, bond: &'a Bond) -> impl Iterator<Item = (&'a str, &'a Interface)> {
    let all = scenario.node.get(&bond.client).into_iter().flat_map(|n| &n.interface);
    all.filter(|(i, _)| !bond.paths.iter().any(|p| p.interface == **i)).map(|(name, i)| (name.as_str(), i))
}

/// Networks on these; none where the repeater hides them behind the backhaul's address.
fn behind(scenario: &Scenario, name: &str, bond: &Bond) -> Vec<String> {
    if scenario.node.get(&bond.client).is_some_and(|n| n.nat.iter().any(|i| i == name)) {
        return Vec::new();
    }
    inner(scenario, bond).filter_map(|(_, i)| Some(i.address?.trunc().to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "duration = \"1s\"\n[node.ap]\nforward = true\nradio.s = { standard = \"11a\", channel = 36 }\n\
         interface.wlan1 = { radio = \"s\", mode = \"ap\", ssid = \"up\" }\n\
         [node.rep]\nforward = true\nnat = [\"rw0\"]\nradio.s = { standard = \"11a\", channel = 36 }\n\
         interface.wlan0 = { radio = \"s\", mode = \"station\", ssid = \"up\" }\ninterface.wlan2 = { radio = \"s\", mode = \"ap\", ssid = \"down\" }\n\
         [bond.rw0]\nclient = \"rep\"\ngateway = \"ap\"\nscheduler = \"backpressure\"\ncongestion = \"none\"\n\
         paths = [{ interface = \"wlan0\", shared = true }]\n";

    /// What both ends are told, and what keeps it from running.
    fn told(text: &str) -> (String, String, usize) {
        let scenario = ropewalk_scenario::Document::parse("test", text).unwrap().scenario().unwrap();
        let (name, bond) = scenario.bond.iter().next().unwrap();
        assert!(is_backhaul(bond));
        let this = (name.as_str(), bond);
        let repeater = repeater(&scenario, this, &["10.9.0.0/24".to_owned()]);
        let refused = refusals(&scenario, name, bond).len();
        (ap(&scenario, this, "10.77.0.1/24", 4500), repeater, refused)
    }

    #[test]
    fn each_end_is_told_of_its_radios_and_the_repeater_where_its_clients_are() {
        let (ap, repeater, refused) = told(SCENARIO);
        // The access point's interface is found by the network.
        assert!(ap.contains("[[ap.link]]\ninterface = \"wlan1\"\nshared = true\n"), "{ap}");
        assert!(!ap.contains("[[ap.repeater]]"), "hidden clients have no network: {ap}");
        assert!(
            repeater.contains("clients = \"wlan2\"\nroute = [\"10.9.0.0/24\"]\nnetworks = []"),
            "{repeater}"
        );
        assert_eq!(refused, 0);
    }

    #[test]
    fn clients_that_are_not_hidden_or_on_no_shared_radio_are_said() {
        let (ap, repeater, refused) =
            told(&SCENARIO.replace("nat = [\"rw0\"]\n", "").replace(", shared = true", ""));
        let behind = ap.split("networks = ").nth(1).unwrap_or_default();
        assert!(ap.contains("[[ap.repeater]]\nname = \"lab\"") && behind.starts_with("[\"10.1."), "{ap}");
        assert!(repeater.contains("lan = \"wlan2\"") && repeater.contains(behind.trim_end()), "{repeater}");
        assert_eq!(refused, 0);
        let (_, _, refused) =
            told(&SCENARIO.replace("mode = \"ap\", ssid = \"down\"", "mode = \"station\", ssid = \"up\""));
        assert_eq!(refused, 1, "nobody can be a client of a station");
    }
}
