//! `ropewalk repeater`: a repeater with two radios. It is a client whose paths are the stations on the access point's radios.

use super::ap::{self, BackhaulArgs};
use super::up;
use crate::cli::interface;
use crate::client::{ClientsQueue, RepeaterPart};
use crate::config::{File, PathEntry};
use crate::daemon::Reload;
use crate::exit::{Code, failure};
use crate::gateway::endpoints::FILE as GATEWAY_FILE;
use crate::state::StateDir;
use clap::Args;
use ropewalk_net::feedback::Radio;
use ropewalk_net::links;
use ropewalk_session::{BackhaulEnd, BackhaulRole, Endpoint, Host, Layer, Token};
use std::path::{Path, PathBuf};

/// `ropewalk repeater`.
#[derive(Debug, Args)]
pub(crate) struct Repeater {
    /// What `ropewalk ap invite` printed; `-` reads it from standard input, where no list of processes shows it [default: the file's, or the one used last
    /// with this state]
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub backhaul: BackhaulArgs,
    /// The clients are on this cable: no radio is shared with them, nothing is limited
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub lan: Option<String>,
    /// Give up if there is no connection after this long
    #[arg(long, value_name = "SECS")]
    pub timeout: Option<u64>,
}

/// Runs a repeater until it is told to stop.
pub(super) fn run(args: Repeater) -> anyhow::Result<()> {
    let Some(path) = args.backhaul.config.clone() else {
        return Err(failure(Code::Usage, "--config FILE is missing"));
    };
    let daemon = args.backhaul.daemon();
    let mut file = read(&path)?;
    let reload = Reload::new(Some(path.clone()), file.clone(), daemon.log.is_some());
    daemon.merge_into(&mut file);
    let r = &mut file.repeater;
    r.lan = args.lan.or(r.lan.take());
    r.check_clients().map_err(|words| failure(Code::Usage, format!("{}: {words}", path.display())))?;
    let state = ap::state_dir(args.backhaul.state.or_else(|| r.state.clone()), &path)?;
    let given = args.token.is_some();
    (file.up.token, file.up.token_file) = match (args.token, args.token_file) {
        (None, None) => (r.token.take(), r.token_file.take()),
        given => given,
    };
    file.up.kill_switch = false;
    file.up.timeout_s = args.timeout.or(r.timeout_s);
    file.up.tun = r.tun.clone();
    file.up.hooks = r.hooks.clone();
    file.up.path = r.link.iter().map(|l| PathEntry::new(&l.interface)).collect();
    if r.layer.0 == Layer::Three {
        file.up.route = r.route.clone();
    }
    let networks = r.networks.iter().map(ipnet::IpNet::trunc).collect();
    let backhaul = BackhaulEnd { role: BackhaulRole::Repeater, layer: r.layer.0, networks };
    up::start(
        file,
        reload,
        &state,
        up::Options { token_given: given, routes_fixed: true, backhaul: Some(backhaul), notes: Vec::new() },
    )
}

fn read(path: &Path) -> anyhow::Result<File> {
    let file = File::read(path)?;
    if !file.repeater.link.is_empty() {
        return Ok(file);
    }
    let what = match file.ap.link.is_empty() {
        true => "has no section [repeater]",
        false => {
            "is an access point's: run `ropewalk ap` with it, and `ropewalk repeater` on the other machine"
        }
    };
    Err(failure(Code::Usage, format!("{} {what}", path.display())))
}

/// What a repeater adds to a client; refuses what cannot work before anything is changed.
pub(super) fn part(file: &File, dir: &StateDir) -> anyhow::Result<RepeaterPart> {
    if dir.read(GATEWAY_FILE)?.is_some() {
        let words = format!(
            "the state directory {} is of an access point or gateway: are the roles swapped? Give the repeater one of its own",
            dir.path().display()
        );
        return Err(failure(Code::Usage, words));
    }
    let r = &file.repeater;
    if let Some(lan) = &r.lan {
        if links::list()?.iter().all(|l| l.name != *lan) {
            tracing::warn!(interface = lan, "the clients' interface is not there yet");
        }
        // Clients on a cable share no channel.
        return Ok(RepeaterPart { shared: Vec::new(), protected: Vec::new(), queue: None });
    }
    let shared = r.link.iter().filter(|l| l.shared == Some(true)).map(|l| l.interface.clone()).collect();
    let links: Vec<&str> = r.link.iter().map(|l| l.interface.as_str()).collect();
    if let Some(clients) = &r.clients
        && let Some(words) = one_role(clients, &links, Radio::of)
    {
        return Err(failure(Code::Usage, words));
    }
    let every = file.engine.to_config().limiter.every();
    let queue = r.clients.as_deref().map(|interface| ClientsQueue::new(interface, every));
    let protected = r.link.iter().filter(|l| l.protects()).cloned().collect();
    Ok(RepeaterPart { shared, protected, queue })
}

/// A token that leads to this machine was meant for another one.
pub(super) fn check_token(token: &Token) -> anyhow::Result<()> {
    let there = links::list()?;
    let is_here = |e: &Endpoint| match e.host {
        Host::Address(ip) => there.iter().flat_map(|l| &l.addresses).any(|a| a.ip == ip),
        Host::Name(_) => false,
    };
    if token.endpoints().iter().all(is_here) {
        let words =
            "the token's access point is this machine: run `ropewalk repeater` with it on the other one";
        return Err(failure(Code::Usage, words));
    }
    Ok(())
}

/// Why the clients cannot be on the radio that they are said to be on: it is a station already, and cannot be more. A name that is not there yet has no radio.
fn one_role(clients: &str, links: &[&str], radio: impl Fn(&str) -> Option<Radio>) -> Option<String> {
    let own = radio(clients).filter(|r| !r.is_station_beside_ap)?;
    let link = links.iter().find(|l| radio(l).is_some_and(|r| r.number == own.number))?;
    Some(format!(
        "{clients} and {link} are on one radio, which cannot be access point and station at once (`iw list`, valid interface combinations): put {clients} on \
         another radio, or the clients on a cable with lan = \"IFACE\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_of_one_role_is_said() {
        let radios = |able: bool| {
            move |name: &str| {
                let number = match name {
                    "wlan0" => 0,
                    "wlan1" | "wlan2" => 1,
                    _ => return None,
                };
                Some(Radio { number, is_station_beside_ap: able })
            }
        };
        let links = ["wlan0", "wlan1"];
        let words = one_role("wlan2", &links, radios(false)).unwrap();
        assert!(words.starts_with("wlan2 and wlan1 are on one radio, which cannot"), "{words}");
        assert_eq!(one_role("wlan2", &links, radios(true)), None);
        assert_eq!(one_role("wlan2", &links[..1], radios(false)), None, "another radio");
        assert_eq!(one_role("lan0", &links, radios(false)), None, "not of Wi-Fi, or not there yet");
    }
}
