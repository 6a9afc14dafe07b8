//! `ropewalk setup gateway`.

use super::dialogue::Dialogue;
use super::machine::{self, Firewall};
use super::record::Record;
use super::service::{End, Systemd};
use super::{Answer, Common, Places, list, shell};
use crate::address::is_public;
use crate::cli::{StoreArgs, Which};
use crate::commands::{Invite, create_token};
use crate::config::File;
use crate::control::ask::Line;
use crate::exit::{Code, failure};
use crate::qr;
use crate::state::StateDir;
use clap::Args;
use ipnet::IpNet;
use ropewalk_session::{Endpoint, Host};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A gateway that does not run by then has a reason, which its log says.
const START: Duration = Duration::from_secs(15);

/// Where web servers listen, and networks let everybody out.
const TLS_PORT: u16 = 443;

/// `ropewalk setup gateway`.
#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    #[command(flatten)]
    common: Common,
    /// UDP port to listen on [default: 4500, or the next that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Address or name of this machine from outside [default: its first public address]
    #[arg(long, value_name = "HOST[:PORT]")]
    endpoint: Option<String>,
    /// Offer TLS on TCP port 443 too, for devices in networks that block UDP [default: no]
    #[arg(long, value_name = "ANSWER")]
    tls: Option<Answer>,
    /// Inner address of the gateway, with the network of its clients [default: 10.77.0.1/24, or one that is free]
    #[arg(long, value_name = "CIDR")]
    address: Option<IpNet>,
    /// Let clients reach the internet through this gateway [default: yes where nftables is]
    #[arg(long, value_name = "ANSWER")]
    masquerade: Option<Answer>,
    /// Open the port in the firewall (ufw, firewalld) [default: no, the command is printed]
    #[arg(long, value_name = "ANSWER")]
    open_firewall: Option<Answer>,
    /// Name of the first device to invite
    #[arg(long, value_name = "NAME", default_value = "first")]
    device: String,
}

/// What is to be set up.
struct Plan {
    port: u16,
    endpoint: Endpoint,
    tls: bool,
    address: IpNet,
    masquerade: bool,
    firewall: Option<Firewall>,
    open: bool,
    service: bool,
}

/// Asks, does it, and prints the first token.
pub(super) fn run(args: &GatewayArgs) -> anyhow::Result<()> {
    let places = Places::new(&args.common.root, &args.common.name)?;
    places.check_free()?;
    let dialogue = Dialogue::new(args.common.yes);
    let plan = ask(args, &places, &dialogue)?;
    let mut record = Record::new(&places)?;
    let made = set_up(&plan, &places, &mut record, args).and_then(|()| token(&plan, &places, args));
    let token = match made {
        Ok(token) => token,
        Err(error) => {
            dialogue.say("Setting up failed; taking back what was done:");
            record.undo(&places, true)?;
            return Err(error);
        }
    };
    finish(&plan, &places, args, &dialogue, &token)
}

fn ask(args: &GatewayArgs, places: &Places, dialogue: &Dialogue) -> anyhow::Result<Plan> {
    dialogue.say("A gateway on this machine. Enter takes what stands in brackets.");
    let port = ask_port(args.port, dialogue)?;
    let endpoint = ask_endpoint(args.endpoint.as_deref(), port, dialogue)?;
    let tls = ask_tls(args.tls, dialogue)?;
    let address = ask_address(args.address, dialogue)?;
    let can = machine::output("nft", &["--version"]).is_some();
    if !can {
        dialogue.say("  nftables is not installed here: without it clients reach the gateway, but not the internet through it.");
    }
    let question = "Let clients reach the internet through this gateway?";
    let masquerade = dialogue.confirm(question, args.masquerade, can)?;
    let firewall = Firewall::find();
    let open = match firewall {
        Some(firewall) if firewall.can_be_told() => {
            dialogue.say(&format!("  A firewall runs here. This opens the port: {}", firewall.command(port)));
            dialogue.confirm("Open it?", args.open_firewall, false)?
        }
        _ => false,
    };
    let can = Systemd::runs(places);
    if args.common.service == Some(Answer::Yes) && !can {
        return Err(failure(Code::Usage, "--service yes: systemd does not run this machine"));
    }
    let question = "Start it now, and with the machine?";
    let service = can && dialogue.confirm(question, args.common.service, true)?;
    Ok(Plan { port, endpoint, tls, address, masquerade, firewall, open, service })
}

fn ask_port(given: Option<u16>, dialogue: &Dialogue) -> anyhow::Result<u16> {
    let free = machine::free_port().unwrap_or(4500);
    if free != 4500 && given.is_none() {
        dialogue.say("  UDP port 4500 is taken on this machine.");
    }
    let taken = |port| failure(Code::Taken, format!("UDP port {port} is taken: {free} is free"));
    loop {
        let port = dialogue.value("UDP port to listen on", given, free)?;
        match (machine::is_free(port) && port > 0, given.is_some() || dialogue.is_silent()) {
            (true, _) => return Ok(port),
            (false, true) => return Err(taken(port)),
            (false, false) => dialogue.say(&format!("  Port {port} cannot be had; {free} is free.")),
        }
    }
}

fn ask_tls(given: Option<Answer>, dialogue: &Dialogue) -> anyhow::Result<bool> {
    let is_free = machine::is_free_tcp(TLS_PORT);
    if given == Some(Answer::Yes) && !is_free {
        let words = format!(
            "--tls yes: TCP port {TLS_PORT} is taken, by a web server perhaps: the guide says how that passes TLS on (\"Networks that block UDP\")"
        );
        return Err(failure(Code::Taken, words));
    }
    let question = "Offer TLS on TCP port 443 too, for devices in networks that block UDP?";
    Ok(is_free && dialogue.confirm(question, given, false)?)
}

fn ask_endpoint(given: Option<&str>, port: u16, dialogue: &Dialogue) -> anyhow::Result<Endpoint> {
    let addresses = machine::addresses()?;
    let best = addresses.first().copied();
    let default = best.map_or_else(String::new, |ip| ip.to_string());
    if given.is_none()
        && let Some(ip) = best.filter(|ip| !is_public(*ip))
    {
        dialogue.say(&format!(
            "  {ip} is a private address. Devices outside need the public one, and the router in front has to forward UDP port {port} to {ip}."
        ));
    }
    loop {
        let answer = dialogue.value(
            "Address or name of this machine from outside",
            given.map(str::to_owned),
            default.clone(),
        )?;
        match endpoint(&answer, port) {
            Ok(endpoint) => return Ok(endpoint),
            Err(why) if given.is_some() || dialogue.is_silent() => {
                return Err(failure(Code::Usage, format!("--endpoint: {why}")));
            }
            Err(why) => dialogue.say(&format!("  {why}")),
        }
    }
}

/// `HOST`, `HOST:PORT`, an IPv6 address with or without brackets.
fn endpoint(text: &str, port: u16) -> Result<Endpoint, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse() {
        return Ok(Endpoint { host: Host::Address(ip), port });
    }
    let whole = if text.contains(':') { text.to_owned() } else { format!("{text}:{port}") };
    whole.parse().map_err(|e: ropewalk_session::EndpointError| e.to_string())
}

fn ask_address(given: Option<IpNet>, dialogue: &Dialogue) -> anyhow::Result<IpNet> {
    let taken = machine::networks()?;
    loop {
        let answer = dialogue.value(
            "Inner address of the gateway, with its network",
            given,
            machine::inner_network(&taken),
        )?;
        let clash = machine::collision(&answer, &taken);
        let valid = crate::state::pool::Pool::new(&[answer]).map(drop).map_err(|e| e.to_string());
        let collides =
            |c: &IpNet| format!("{answer} collides with {c}, which this machine is in or has a route to");
        let wrong = clash.map(collides).or(valid.err());
        match wrong {
            None => return Ok(answer),
            Some(why) if given.is_some() || dialogue.is_silent() => return Err(failure(Code::Usage, why)),
            Some(why) => dialogue.say(&format!("  {why}")),
        }
    }
}

fn set_up(plan: &Plan, places: &Places, record: &mut Record, args: &GatewayArgs) -> anyhow::Result<()> {
    let text = config(plan, places);
    File::parse(&places.config(), &text)?;
    if plan.service {
        Systemd::install(places, record, End::Gateway)?;
        if plan.tls {
            Systemd::allow_low_ports(places, record, &End::Gateway.unit(&places.name))?;
        }
    }
    record.write(&places.config(), &text, 0o640)?;
    if let (Some(firewall), true) = (plan.firewall, plan.open) {
        record.open_port(firewall, plan.port)?;
    }
    record.will_have_state(places, Some(&args.device))?;
    if plan.service {
        Systemd::hand_over(&places.config())?;
        Systemd::enable(record, &End::Gateway.unit(&places.name))?;
    }
    Ok(())
}

/// The file. What is the default is not said, so that a later version may have a better one.
fn config(plan: &Plan, places: &Places) -> String {
    let mut text = format!(
        "# Written by `ropewalk setup gateway`. `ropewalk check {}` checks it after a change.\n[serve]\n",
        shell(&places.config())
    );
    if plan.port != 4500 {
        let mut listen = vec![format!("0.0.0.0:{}", plan.port)];
        listen.extend(machine::has_ipv6().then(|| format!("[::]:{}", plan.port)));
        text.push_str(&format!("listen = {}\n", list(&listen)));
    }
    text.push_str(&format!("address = {}\n", list(&[plan.address])));
    text.push_str(&format!("endpoints = {}\n", list(&[&plan.endpoint])));
    text.push_str(&format!("masquerade = {}\n", plan.masquerade));
    if plan.tls {
        let mut listen = vec![format!("0.0.0.0:{TLS_PORT}")];
        listen.extend(machine::has_ipv6().then(|| format!("[::]:{TLS_PORT}")));
        text.push_str(&format!("tls-listen = {}\n", list(&listen)));
    }
    text
}

/// The first token: of the daemon where one was started, else on the files, and the daemon finds it there.
fn token(plan: &Plan, places: &Places, args: &GatewayArgs) -> anyhow::Result<String> {
    if plan.service {
        wait_for_daemon(places)?;
    }
    create_token(&Invite {
        name: args.device.clone(),
        state: Which { dir: Some(places.state()) },
        store: StoreArgs::default(),
        endpoints: vec![plan.endpoint.clone()],
        qr: false,
    })
}

fn wait_for_daemon(places: &Places) -> anyhow::Result<()> {
    let until = Instant::now() + START;
    loop {
        if places.state().is_dir() && Line::try_open(&StateDir::existing(&places.state())?)?.is_some() {
            return Ok(());
        }
        if Instant::now() >= until {
            let unit = End::Gateway.unit(&places.name);
            return Err(failure(
                Code::Failure,
                format!("{unit} did not start: `journalctl -u {unit}` says why"),
            ));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn finish(
    plan: &Plan,
    places: &Places,
    args: &GatewayArgs,
    dialogue: &Dialogue,
    token: &str,
) -> anyhow::Result<()> {
    let name = &places.name;
    dialogue.say("");
    if plan.service {
        dialogue.say(&format!("The gateway runs: {}", End::Gateway.unit(name)));
    } else {
        let (state, config) = (places.state(), places.config());
        dialogue.say("Start the gateway with this command:");
        dialogue.say(&format!("  ropewalk serve --state {} --config {}", shell(&state), shell(&config)));
    }
    if let Some(firewall) = plan.firewall.filter(|_| !plan.open) {
        dialogue.say("A firewall runs here. Open the port:");
        dialogue.say(&format!("  {}", firewall.command(plan.port)));
    }
    if plan.tls && plan.firewall.is_some() {
        dialogue.say("For TLS, open TCP port 443 as well.");
    }
    dialogue.say(&format!("The token for the device \"{}\", which lets one device in, once:\n", args.device));
    eprint!("{}", qr::render(token, std::io::stderr().is_terminal())?);
    dialogue.say("");
    println!("{token}");
    dialogue.say("\nOn the device: ropewalk setup client, and paste the line.");
    dialogue.say(&format!("To take all of this back: ropewalk setup undo{}", undo_arguments(places)));
    Ok(())
}

/// What `ropewalk setup undo` needs to find this setup.
pub(super) fn undo_arguments(places: &Places) -> String {
    let name = if places.name == "home" { String::new() } else { format!(" {}", places.name) };
    let at_root = places.root == std::path::Path::new("/");
    let root = if at_root { String::new() } else { format!(" --root {}", shell(&places.root)) };
    name + &root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outside_address_may_lack_its_port() {
        for (text, whole) in [
            ("192.0.2.1", "192.0.2.1:4500"),
            ("gw.example.org", "gw.example.org:4500"),
            ("gw.example.org:53", "gw.example.org:53"),
            ("2001:db8::1", "[2001:db8::1]:4500"),
            ("[2001:db8::1]", "[2001:db8::1]:4500"),
            ("[2001:db8::1]:53", "[2001:db8::1]:53"),
        ] {
            assert_eq!(endpoint(text, 4500).unwrap().to_string(), whole);
        }
        assert!(endpoint("", 4500).is_err() && endpoint("a b", 4500).is_err());
    }
}
