//! `ropewalk setup client`.

use super::dialogue::Dialogue;
use super::record::{Record, check_absent};
use super::service::{End, Systemd};
use super::{Answer, Common, Places, gateway, list, quoted, shell};
use crate::cli::interface;
use crate::commands::snapshot;
use crate::config::{Domain, File};
use crate::control::ask::Line;
use crate::exit::{Code, failure};
use crate::report::Snapshot;
use crate::state::StateDir;
use crate::wireguard::{self, Imported};
use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use ropewalk_net::links::{self, Link};
use ropewalk_net::nat64;
use ropewalk_session::{Endpoint, Host, Token};
use std::io::Read;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes; a token has 4096 at most.
const FILE_MAX: u64 = 8192;
/// A client that is not connected by then may need help.
const CONNECT: Duration = Duration::from_secs(20);

/// `ropewalk setup client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    common: Common,
    /// Read the token from this file, or with `-` from standard input [default: it is asked for]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Use only this interface; give it again for more [default: every usable interface]
    #[arg(long = "path", value_name = "IFACE", value_parser = interface)]
    paths: Vec<String>,
    /// Send everything through the bond [default: no, only the gateway's network]
    #[arg(long, value_name = "ANSWER", conflicts_with = "routes")]
    full_tunnel: Option<Answer>,
    /// Route this network through the bond; give it again for more
    #[arg(long = "route", value_name = "CIDR")]
    routes: Vec<IpNet>,
    /// Block all traffic outside the bond until the client is stopped; needs a full tunnel [default: no]
    #[arg(long, value_name = "ANSWER")]
    kill_switch: Option<Answer>,
    /// Use this name server through the bond; give it again for more [default: none]
    #[arg(long = "dns", value_name = "ADDR")]
    dns: Vec<IpAddr>,
    /// Ask these name servers only about this domain, such as corp.example; give it again for more
    #[arg(long = "dns-domain", value_name = "DOMAIN")]
    dns_domains: Vec<Domain>,
    /// Take routes, name servers, MTU and keepalive from this file of wg-quick
    #[arg(long, value_name = "FILE")]
    from_wg: Option<PathBuf>,
}

/// What is to be set up.
struct Plan {
    token: Token,
    /// The user keeps the token where a setup would write it.
    is_kept: bool,
    routes: Vec<IpNet>,
    kill_switch: bool,
    dns: Vec<IpAddr>,
    dns_domains: Vec<Domain>,
    paths: Vec<String>,
    imported: Imported,
    service: bool,
}

/// Asks, and does it.
pub(super) fn run(args: &ClientArgs) -> anyhow::Result<()> {
    let places = Places::new(&args.common.root, &args.common.name)?;
    places.check_free()?;
    let dialogue = Dialogue::new(args.common.yes);
    let plan = ask(args, &places, &dialogue)?;
    let mut record = Record::new(&places)?;
    if let Err(error) = set_up(&plan, &places, &mut record) {
        dialogue.say("Setting up failed; taking back what was done:");
        record.undo(&places, true)?;
        return Err(error);
    }
    finish(&plan, &places, &dialogue)
}

fn ask(args: &ClientArgs, places: &Places, dialogue: &Dialogue) -> anyhow::Result<Plan> {
    let is_kept = is_kept(args, places)?;
    dialogue.say("A client on this machine. Enter takes what stands in brackets.");
    let imported = imported(args.from_wg.as_deref(), dialogue)?;
    let token = ask_token(args, dialogue)?;
    show_links(&token, &args.paths, dialogue)?;
    let mut routes = [&args.routes[..], &imported.routes].concat();
    if routes.is_empty() && dialogue.confirm("Send everything through the bond?", args.full_tunnel, false)? {
        routes = vec!["0.0.0.0/0".parse()?, "::/0".parse()?];
    }
    let full = routes.iter().any(|r| r.prefix_len() == 0);
    let kill_switch = full
        && dialogue.confirm("Block everything outside the bond (kill switch)?", args.kill_switch, false)?;
    if args.kill_switch == Some(Answer::Yes) && !full {
        return Err(failure(Code::Usage, "--kill-switch yes needs --full-tunnel yes, or --route 0.0.0.0/0"));
    }
    if kill_switch && token.endpoints().iter().all(|e| matches!(e.host, Host::Name(_))) {
        let words = "a kill switch needs an address of the gateway, and this token has a name only: invite with --endpoint ADDR:PORT";
        return Err(failure(Code::Usage, words));
    }
    let given = [&args.dns[..], &imported.dns].concat();
    let dns = if full { dialogue.values("Name servers to ask through the bond", &given)? } else { given };
    let dns_domains = args.dns_domains.clone();
    if dns.is_empty() && !dns_domains.is_empty() {
        return Err(failure(Code::Usage, "--dns-domain needs a name server, such as --dns 10.77.0.1"));
    }
    let can = Systemd::runs(places);
    if args.common.service == Some(Answer::Yes) && !can {
        return Err(failure(Code::Usage, "--service yes: systemd does not run this machine"));
    }
    let service = can && dialogue.confirm("Connect now, and with the machine?", args.common.service, true)?;
    let paths = args.paths.clone();
    Ok(Plan { token, is_kept, routes, kill_switch, dns, dns_domains, paths, imported, service })
}

fn imported(file: Option<&Path>, dialogue: &Dialogue) -> anyhow::Result<Imported> {
    let Some(path) = file else { return Ok(Imported::default()) };
    let imported = wireguard::from_file(path)?;
    dialogue.say(&format!("From {}:", path.display()));
    imported.said.iter().for_each(|line| dialogue.say(&format!("  {line}")));
    Ok(imported)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let unreadable = || format!("{} cannot be read", path.display());
    let file = std::fs::File::open(path).with_context(unreadable)?;
    file.take(FILE_MAX).read_to_string(&mut text).with_context(unreadable)?;
    Ok(text)
}

/// The token file that was given is the setup's own. Another file there would be in the way.
fn is_kept(args: &ClientArgs, places: &Places) -> anyhow::Result<bool> {
    let place = places.token();
    let given = args.token_file.as_deref().filter(|path| *path != Path::new("-"));
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if given.and_then(real).is_some_and(|given| real(&place) == Some(given)) {
        return Ok(true);
    }
    check_absent(&place)?;
    Ok(false)
}

/// Never an argument: every user of the machine sees those.
fn ask_token(args: &ClientArgs, dialogue: &Dialogue) -> anyhow::Result<Token> {
    let given = match args.token_file.as_deref() {
        Some(path) if path == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin().take(FILE_MAX).read_to_string(&mut text).context("the token cannot be read")?;
            Some(text)
        }
        Some(path) => Some(read(path)?),
        None => None,
    };
    if let Some(text) = given {
        return Ok(text.parse::<Token>()?);
    }
    if dialogue.is_silent() {
        return Err(failure(
            Code::Usage,
            "--yes needs the token: --token-file FILE, or `--token-file -` and standard input",
        ));
    }
    loop {
        match dialogue.line("The token that `ropewalk invite` or `setup gateway` printed")?.parse::<Token>() {
            Ok(token) => return Ok(token),
            Err(why) => dialogue.say(&format!("  {why}")),
        }
    }
}

/// Which links the bond will have, and what keeps the others out.
fn show_links(token: &Token, wanted: &[String], dialogue: &Dialogue) -> anyhow::Result<()> {
    let remotes: Vec<SocketAddr> = token.endpoints().iter().flat_map(resolve).collect();
    let named: Vec<String> = token.endpoints().iter().map(Endpoint::to_string).collect();
    dialogue.say(&format!("The gateway is at {}. Links of this machine:", named.join(" or ")));
    if remotes.is_empty() {
        dialogue.say("  its name is not known here now: is this machine online?");
    }
    let mut usable = 0;
    for link in links::list()?.iter().filter(|l| !l.loopback) {
        if !wanted.is_empty() && !wanted.contains(&link.name) {
            continue;
        }
        let (word, why) = match link.unusable(&[]) {
            Some(why) => ("not used", why.to_string()),
            None if leads_to(link, &remotes) => ("used", addresses(link)),
            None => ("not used", "it has no route to the gateway".into()),
        };
        usable += usize::from(word == "used");
        dialogue.say(&format!("  {:<15}  {word:<8}  {why}", link.name));
    }
    if let Some(missing) =
        wanted.iter().find(|w| links::list().is_ok_and(|l| l.iter().all(|l| l.name != **w)))
    {
        return Err(failure(Code::Usage, format!("there is no network interface named `{missing}`")));
    }
    if usable < 2 {
        dialogue.say("  A bond wants two links or more; others are used as soon as they are there.");
    }
    Ok(())
}

fn resolve(endpoint: &Endpoint) -> Vec<SocketAddr> {
    match &endpoint.host {
        Host::Address(ip) => vec![SocketAddr::new(*ip, endpoint.port)],
        Host::Name(name) => {
            (name.as_str(), endpoint.port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
        }
    }
}

fn leads_to(link: &Link, remotes: &[SocketAddr]) -> bool {
    let prefixes = nat64::needed(link, remotes);
    remotes.is_empty() || remotes.iter().any(|r| nat64::reached_as(link, &prefixes, *r).is_some())
}

fn addresses(link: &Link) -> String {
    let all: Vec<String> = link.addresses.iter().filter(|a| a.usable).map(|a| a.ip.to_string()).collect();
    all.join(" ")
}

fn set_up(plan: &Plan, places: &Places, record: &mut Record) -> anyhow::Result<()> {
    let text = config(plan, places);
    File::parse(&places.config(), &text)?;
    if plan.service {
        Systemd::install(places, record, End::Client)?;
        if !plan.dns.is_empty() {
            Systemd::allow_dns(places, record)?;
        }
    }
    record.write(&places.config(), &text, 0o640)?;
    if !plan.is_kept {
        record.write_secret(&places.token(), &plan.token.to_text(), 0o640)?;
    }
    record.will_have_state(places, None)?;
    if plan.service {
        Systemd::hand_over(&places.config())?;
        if plan.is_kept {
            record.make_readable(&places.token())?;
        } else {
            Systemd::hand_over(&places.token())?;
        }
        Systemd::enable(record, &End::Client.unit(&places.name))?;
    }
    Ok(())
}

fn config(plan: &Plan, places: &Places) -> String {
    let mut text = format!(
        "# Written by `ropewalk setup client`. `ropewalk check {}` checks it after a change.\n[up]\n",
        shell(&places.config())
    );
    text.push_str(&format!(
        "# It is remembered after the first start, and the file may go.\ntoken-file = {}\n",
        quoted(&places.token().display().to_string())
    ));
    text.push_str(&format!("route = {}\n", list(&plan.routes)));
    if !plan.dns.is_empty() {
        text.push_str(&format!("dns = {}\n", list(&plan.dns)));
    }
    if !plan.dns_domains.is_empty() {
        let names: Vec<&str> = plan.dns_domains.iter().map(|domain| domain.0.as_str()).collect();
        text.push_str(&format!("dns-domains = {}\n", list(&names)));
    }
    text.push_str(&format!("kill-switch = {}\n", plan.kill_switch));
    for path in &plan.paths {
        text.push_str(&format!("\n[[up.path]]\ninterface = {}\n", quoted(path)));
    }
    let Imported { mtu, keepalive, .. } = &plan.imported;
    if mtu.is_some() || keepalive.is_some() {
        text.push_str("\n[engine]\n");
        text.extend(mtu.map(|mtu| format!("tun-mtu = {mtu}\n")));
        text.extend(keepalive.map(|s| format!("keepalive-s = {s}\n")));
    }
    text
}

fn finish(plan: &Plan, places: &Places, dialogue: &Dialogue) -> anyhow::Result<()> {
    dialogue.say("");
    let (state, config) = (places.state(), places.config());
    if plan.service {
        match wait(places) {
            Some(status) => {
                if !plan.is_kept {
                    let _ = std::fs::remove_file(places.token());
                }
                connected(&status, dialogue);
            }
            None => {
                let unit = End::Client.unit(&places.name);
                dialogue.say(&format!("{unit} runs and goes on trying, but is not connected yet."));
                dialogue.say(&format!("`ropewalk doctor --state {}` says what may be wrong.", shell(&state)));
            }
        }
    } else {
        dialogue.say("Connect with this command:");
        dialogue.say(&format!("  ropewalk up --state {} --config {}", shell(&state), shell(&config)));
    }
    dialogue
        .say(&format!("To take all of this back: ropewalk setup undo{}", gateway::undo_arguments(places)));
    Ok(())
}

fn wait(places: &Places) -> Option<Snapshot> {
    let until = Instant::now() + CONNECT;
    while Instant::now() < until {
        let status = StateDir::existing(&places.state()).ok().and_then(|dir| {
            let mut daemon = Line::try_open(&dir).ok()??;
            snapshot(&mut daemon).ok()
        });
        if let Some(status) = status.filter(|s| s.peers.iter().any(|p| p.up)) {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    None
}

fn connected(status: &Snapshot, dialogue: &Dialogue) {
    let inside: Vec<String> = status.peers.iter().flat_map(|p| &p.inside).map(IpAddr::to_string).collect();
    let paths: Vec<&str> = status.peers.iter().flat_map(|p| &p.paths).map(|p| p.name.as_str()).collect();
    dialogue.say(&format!(
        "Connected: {} is {} there, over {}.",
        status.device,
        inside.join(" "),
        paths.join(", ")
    ));
    dialogue.say("`ropewalk status` shows how it does.");
}
