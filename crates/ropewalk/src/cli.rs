//! The command line.

use crate::bunch::Bunch;
use crate::commands::{
    Ap, AuditArgs, Check, Clients, Completions, Drain, ExitArgs, FlowsArgs, ForwardArgs, GroupArgs, Invite,
    LimitArgs, LinkArgs, Mptcp, Pages, PathArgs, PepArgs, QuotaArgs, Repeater, Restore, Revoke, Serve,
    Status, Up,
};
use crate::config::File;
use crate::doctor::Doctor;
use crate::exit::{Code, failure};
use crate::roam::Roam;
use crate::setup::Setup;
use crate::store::StoreSettings;
use crate::top::Top;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use ropewalk_fleet::StoreAddress;
use ropewalk_session::Endpoint;
use serde::Deserialize;
use std::fmt::Write;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// One encrypted link out of every link in reach.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands by what they are for; those that a newcomer needs first.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start here", &["setup", "invite", "up", "status", "path", "doctor"]),
    (
        "Run and manage a bond",
        &[
            "serve", "clients", "revoke", "forward", "group", "limit", "exit", "quota", "audit", "drain",
            "flows", "top", "web", "restore", "check",
        ],
    ),
    ("Wi-Fi and other links", &["ap", "repeater", "roam", "bunch", "link", "pep", "mptcp", "probe"]),
    ("Simulate and compare", &["sim", "lab", "compare", "reproduce"]),
    ("Other", &["completions", "help"]),
];

/// The command line, its commands in groups.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let mut all = String::new();
    for (title, names) in GROUPS {
        // A small program has not all of them.
        let there: Vec<_> = names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if there.is_empty() {
            continue;
        }
        let _ = writeln!(all, "{title}:");
        for one in there {
            let about = one.get_about().map_or_else(String::new, ToString::to_string);
            let _ = writeln!(all, "  {:<11}  {about}", one.get_name());
        }
        all.push('\n');
    }
    let template = "{about-with-newline}\n{usage-heading} {usage}\n\n";
    Cli::command().help_template(format!("{template}{all}Options:\n{{options}}"))
}

/// What the command line says; where it is wrong, or asks for help, the program ends.
pub(crate) fn parse() -> Cli {
    Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up a gateway or a client on this machine, step by step
    Setup(Setup),
    /// Create a token that lets one device in
    Invite(Invite),
    /// Connect this machine to a gateway over all of its links
    Up(Up),
    /// Show the state of the running bond
    Status(Status),
    /// Serve a page that shows the running bond, and changes it
    #[cfg(feature = "web")]
    Web(crate::web::Web),
    /// Add, remove or change paths of the running bond
    Path(PathArgs),
    /// Check this machine and its bond, and say what to mend
    Doctor(Doctor),
    /// Run a gateway
    #[command(alias = "gateway")]
    Serve(Serve),
    /// List the devices that may come in
    Clients(Clients),
    /// Remove a device: end its session and keep it out
    Revoke(Revoke),
    /// Forward ports of the gateway to a device
    Forward(ForwardArgs),
    /// Let devices of a group reach each other
    Group(GroupArgs),
    /// Cap a device's rates, or set its share of a full line
    Limit(LimitArgs),
    /// Let a device's traffic leave the gateway by an interface of its own
    Exit(ExitArgs),
    /// Give devices a quota of data for a month or a day
    Quota(QuotaArgs),
    /// Show who did what at a gateway, and who came and went
    Audit(AuditArgs),
    /// Send a gateway's clients to the other gateways, and take none
    Drain(Drain),
    /// List connections by their rates, and whose they are
    Flows(FlowsArgs),
    /// Watch the running bond live
    Top(Top),
    /// Restore routes, firewall and settings after a crash
    Restore(Restore),
    /// Check a configuration file
    Check(Check),
    /// Run an access point with two radios
    Ap(Ap),
    /// Run a repeater with two radios
    Repeater(Repeater),
    /// Connect to several access points at once
    Roam(Roam),
    /// Show queues, completions and stations of interfaces
    Link(LinkArgs),
    /// Upload over the neighbours' uplinks, too
    #[command(subcommand)]
    Bunch(Bunch),
    /// Split or repair TCP connections that this router forwards
    Pep(PepArgs),
    /// Manage congestion control of the kernel's MPTCP
    Mptcp(Mptcp),
    /// Measure a path and find what limits it
    Probe(crate::probe::Probe),
    /// Simulator, lab and papers.
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Experiment(crate::experiments::Experiment),
    /// Print completions for a shell
    Completions(Completions),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man(Pages),
    /// Write the reference pages into a directory
    #[command(hide = true)]
    Reference(Pages),
}

/// Where the daemon keeps what it must not forget.
#[derive(Clone, Debug, Args)]
pub(crate) struct State {
    /// State directory (keys, token, clients); created if missing
    #[arg(long = "state", value_name = "DIR")]
    pub dir: PathBuf,
}

/// The daemon that a command is about, by the directory that it has made.
#[derive(Clone, Debug, Args)]
pub(crate) struct Existing {
    /// State directory of the daemon
    #[arg(long = "state", value_name = "DIR")]
    pub dir: PathBuf,
}

/// Which daemon a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// State directory of the daemon [default: the only one in /var/lib/ropewalk]
    #[arg(long = "state", value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The store of a fleet.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArgs {
    /// etcd of the fleet, where gateways share their clients
    #[arg(long, value_name = "etcd://HOST:PORT[,…]/PREFIX")]
    pub store: Option<StoreAddress>,
    /// Certificates of who signs for etcd (PEM)
    #[arg(long, value_name = "FILE")]
    pub store_ca: Option<PathBuf>,
    /// Certificate that etcd asks for (PEM)
    #[arg(long, value_name = "FILE")]
    pub store_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE")]
    pub store_key: Option<PathBuf>,
}

impl StoreArgs {
    /// The store that is named, if one is.
    pub(crate) fn settings(&self) -> anyhow::Result<Option<StoreSettings>> {
        let (ca, cert, key) = (self.store_ca.clone(), self.store_cert.clone(), self.store_key.clone());
        StoreSettings::new(self.store.clone(), ca, cert, key)
    }
}

/// A gateway's place in a fleet.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FleetArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// Name of this gateway in its fleet [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Where services have their state directories.
const STATES: &str = "/var/lib/ropewalk";

impl Which {
    /// The directory that is named, or the only one that there is.
    pub(crate) fn find(&self) -> anyhow::Result<PathBuf> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        let all = directories(Path::new(STATES)).map_err(|error| {
            let words = "run this as root (sudo), or name a state directory with --state DIR";
            failure(Code::Rights, format!("{STATES} cannot be looked into ({error}): {words}"))
        })?;
        match &all[..] {
            [one] => Ok(one.clone()),
            [] => Err(failure(
                Code::NotRunning,
                format!(
                    "there is no state directory in {STATES}: name one with --state DIR, or begin with `ropewalk setup`"
                ),
            )),
            many => {
                let names: Vec<String> = many.iter().map(|p| p.display().to_string()).collect();
                Err(failure(Code::Usage, format!("which of {}? Name it with --state DIR", names.join(", "))))
            }
        }
    }
}

/// The directories in `place`, in order; none where it is not there.
fn directories(place: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry?.path();
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => all.push(path),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    all.sort();
    Ok(all)
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// What both daemons take.
#[derive(Clone, Debug, Args)]
pub(crate) struct Daemon {
    /// Read settings from this TOML file; the command line goes before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Network device name [default: the first free of rw0, rw1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
}

impl Daemon {
    /// Puts what both daemons take into the configuration.
    pub(crate) fn merge_into(&self, file: &mut File) {
        file.log.level = self.log.clone().or(file.log.level.take());
        file.log.format = self.log_format.or(file.log.format);
        file.metrics.listen = self.metrics.or(file.metrics.listen);
    }
}

/// How something that changes is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    /// Print JSON: one line, and with --watch one each second
    #[arg(long)]
    pub json: bool,
    /// Repeat every second until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// An interface's name.
pub(crate) fn interface(name: &str) -> Result<String, String> {
    check_interface(name).map(|()| name.to_owned())
}

/// `IFACE` or `IFACE@HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathName {
    /// The interface.
    pub interface: String,
    /// Its own endpoint; without one, those of the token.
    pub endpoint: Option<Endpoint>,
}

impl std::str::FromStr for PathName {
    type Err = String;

    fn from_str(text: &str) -> Result<PathName, String> {
        let (interface, endpoint) = match text.split_once('@') {
            Some((interface, endpoint)) => {
                (interface, Some(endpoint.parse::<Endpoint>().map_err(|e| e.to_string())?))
            }
            None => (text, None),
        };
        check_interface(interface)?;
        Ok(PathName { interface: interface.into(), endpoint })
    }
}

/// Whether a text can name a network interface.
pub(crate) fn check_interface(name: &str) -> Result<(), String> {
    if (1..=15).contains(&name.len()) && !name.bytes().any(|b| b == b'/' || b.is_ascii_whitespace()) {
        return Ok(());
    }
    Err(format!("`{name}` cannot name a network interface: 1 to 15 bytes, no slash, no space"))
}

impl std::fmt::Display for PathName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.endpoint {
            Some(endpoint) => write!(f, "{}@{endpoint}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{Scratch, without_rights};
    use std::os::unix::fs::PermissionsExt;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn each_command_stands_in_one_group() {
        let is_built = |name: &&str| match *name {
            "sim" | "lab" | "compare" | "reproduce" => cfg!(feature = "lab"),
            "web" => cfg!(feature = "web"),
            _ => true,
        };
        let all = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut listed: Vec<&str> = all.filter(is_built).collect();
        listed.sort_unstable();
        let whole = command();
        let shown = whole.get_subcommands().filter(|c| !c.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).chain(["help"]).collect();
        shown.sort_unstable();
        assert_eq!(listed, shown);
        let help = command().render_help().to_string();
        assert!(help.find("setup").unwrap() < help.find("serve").unwrap(), "{help}");
        assert!(help.lines().all(|l| l.chars().count() <= 100), "{help}");
    }

    #[test]
    fn the_lines_of_the_contract_are_taken() {
        for line in [
            "ropewalk serve --state d --listen 0.0.0.0:4500 --tun rw0 --address 10.77.0.1/24",
            "ropewalk serve --state d --listen [::]:4500 --listen 0.0.0.0:1 --address 10.0.0.1/8 --address fd77::1/64 --masquerade",
            "ropewalk serve --state d --address 2001:db8:1::1/112 --global6 --proxy-ndp eth0",
            "ropewalk serve --state d --address 2001:db8:100::1/56 --global6 --delegate",
            "ropewalk serve --state d --address 2001:db8:100::1/56 --global6 --delegate",
            "ropewalk invite alice --state d --endpoint gw.example.org:4500 --endpoint [2001:db8::1]:4500",
            "ropewalk up - --state d --kill-switch --route 0.0.0.0/0",
            "ropewalk up --token-file f --state d --from-wg g --route 10.0.0.0/8 --dns 10.0.0.1",
            "ropewalk restore --state d",
            "ropewalk serve --state d --client-to-client",
            "ropewalk serve --state d --down-rate 500Mbit",
            "ropewalk limit set alice --down 20Mbit --share 4 --state d",
            "ropewalk up rw1_x --state d --tun rw0 --path wan0 --path wan1@192.0.2.1:4500 --route 0.0.0.0/0 --route ::/0 --dns 10.77.0.1",
            "ropewalk ap --config f",
            "ropewalk ap --config f --state d --log debug --metrics 127.0.0.1:9100",
            "ropewalk ap invite attic --config f --endpoint 192.0.2.1:4500",
            "ropewalk repeater --config f",
            "ropewalk repeater rw1_x --config f --state d --lan eth0 --timeout 5",
            "ropewalk roam",
            "ropewalk roam --radio phy0 --interface wlan0 --networks f --config g --state d --log debug --hooks h",
            "ropewalk roam scan --interface wlan0 --json",
            "ropewalk roam status --state d --json",
            "ropewalk bunch invite anna --state d --endpoint 192.0.2.1:4520 --qr",
            "ropewalk bunch revoke anna --state d",
            "ropewalk bunch gateway --state d --listen 0.0.0.0:4520 --hooks h",
            "ropewalk bunch ap --state d --home lan0 --uplink wan0 --cap 10GB --hooks h",
            "ropewalk pep --state d --policy snoop --window 64 --metrics 127.0.0.1:9477",
            "ropewalk pep status --state d --json",
            "ropewalk status",
            "ropewalk invite alice --qr",
            "ropewalk setup gateway --yes --port 4501 --endpoint gw.example.org --address 10.9.0.1/24 --masquerade no --device phone --root d",
            "ropewalk setup client --yes --token-file - --full-tunnel yes --kill-switch no --dns 10.77.0.1 --dns-domain lan --path wan0 --from-wg f",
            "ropewalk setup undo home --all",
            "ropewalk doctor --state d --config f --json",
            "ropewalk status --state d --json",
            "ropewalk top --state d",
            "ropewalk flows --limit 5 --json --state d",
            "ropewalk path add wan0@gw:1 --state d --class backup",
            "ropewalk path remove wan0 --state d",
            "ropewalk path set wan0 --class metered --cap 10GB --reset-day 1 --weight 3 --state d",
            "ropewalk path reset wan0@gw:1 --state d",
            "ropewalk revoke alice --state d",
            "ropewalk gateway --state d --store etcd://10.0.0.1:2379,10.0.0.2:2379/ropewalk --store-ca a --store-cert b --store-key c --name g1",
            "ropewalk invite alice --store etcd://127.0.0.1:2379/ropewalk",
            "ropewalk revoke alice --store etcd://127.0.0.1:2379/ropewalk",
            "ropewalk clients --json --store etcd://127.0.0.1:2379/ropewalk",
            "ropewalk forward add alice tcp 8080 --to 80 --masquerade --state d",
            "ropewalk forward remove udp 8080 --state d",
            "ropewalk forward list --json",
            "ropewalk group add home alice bob --state d",
            "ropewalk group remove home bob",
            "ropewalk group remove home",
            "ropewalk group list",
            "ropewalk limit set alice --down 20Mbit --up 500kbit --state d",
            "ropewalk limit remove alice",
            "ropewalk limit list",
            "ropewalk exit set alice wan2 --global6 --state d",
            "ropewalk exit set home wan2 --group",
            "ropewalk exit remove home --group",
            "ropewalk exit list --json",
            "ropewalk audit alice --json --state d",
            "ropewalk up --state d --dns 10.77.0.1 --dns-domain corp.example --dns-domain lan",
            "ropewalk up --state d --route ::/0 --lan br-lan",
            "ropewalk drain --state d",
            "ropewalk drain --off",
            "ropewalk check file.toml",
            "ropewalk serve --config f --state d",
            "ropewalk probe --serve --listen 0.0.0.0:4510 --key-file f",
            "ropewalk probe host:4510 --key k --seconds 2 --streams 4 --window 16KiB --mptcp --json",
            "ropewalk mptcp cc load olia balia",
            "ropewalk mptcp cc status --json",
            "ropewalk mptcp cc unload",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[cfg(feature = "lab")]
    #[test]
    fn the_lines_of_simulator_lab_and_papers_are_taken() {
        for line in [
            "ropewalk sim run f.toml --seed 3 --set a.b=1 --set c=2 --out d --pcap ap:wlan0 --pcap sta:r0 --json",
            "ropewalk sim sweep f.toml --jobs 2 --out d --resume",
            "ropewalk sim check f.toml g.toml",
            "ropewalk lab run f.toml --seed 3 --set a.b=1 --out d --json",
            "ropewalk lab check f.toml g.toml",
            "ropewalk compare sim-out lab-out/report.json --all",
            "ropewalk reproduce 003 --sim --quick --out d --runs e --resume",
            "ropewalk lab up f.toml --name n --seed 3 --set a.b=1",
            "ropewalk lab exec ap --lab n -- iperf3 -s",
            "ropewalk lab shell ap",
            "ropewalk lab set sta position=1,2 --lab n",
            "ropewalk lab capture ap wlan0 --write f.pcapng",
            "ropewalk lab down --lab n",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[test]
    fn a_place_that_may_not_be_read_is_no_empty_one() {
        let scratch = Scratch::new();
        let (place, one) = (scratch.0.path(), scratch.0.path().join("home"));
        std::fs::create_dir(&one).unwrap();
        std::fs::write(place.join("home.setup.json"), "{}").unwrap();
        assert_eq!(directories(place).unwrap(), [one]);
        assert!(directories(&place.join("nothing")).unwrap().is_empty());
        // Neither where its names may be read and no more.
        for mode in [0, 0o400] {
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = without_rights(|| directories(place).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{mode:o}");
        }
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// What a user copies out of the guide is taken, whatever has changed since it was written.
    #[test]
    fn the_commands_of_the_guide_are_taken() {
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
        let mut count = 0;
        for page in ["start.md", "gateway.md", "paths.md", "trouble.md", "repeater.md", "roam.md", "fleet.md"]
        {
            let text = std::fs::read_to_string(guide.join(page)).unwrap();
            let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
            for line in blocks.flat_map(str::lines).filter(|l| l.starts_with("ropewalk ")) {
                let line = line.split(['#', '<', '>', '|']).next().unwrap_or(line);
                assert!(parse(line).is_ok(), "{page}: {line}: {}", parse(line).unwrap_err());
                count += 1;
            }
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [
            "ropewalk serve",
            "ropewalk serve --state d --store http://127.0.0.1:2379/x",
            "ropewalk ap",
            "ropewalk repeater",
            "ropewalk ap invite attic",
            "ropewalk repeater --config f --lan a-name-that-is-too-long",
            "ropewalk up rw1_x --token-file f --state d",
            "ropewalk up rw1_x --state d --path wan0@nowhere",
            "ropewalk up rw1_x --state d --path a-name-that-is-too-long",
            "ropewalk path set wan0 --state d --reset-day 32",
            "ropewalk path set wan0 --state d --cap lots",
            "ropewalk invite alice --state d --endpoint 192.0.2.1",
            "ropewalk roam --interface a-name-that-is-too-long",
            "ropewalk roam scan --hooks h",
            "ropewalk pep",
            "ropewalk pep --state d",
            "ropewalk pep --window 64",
            "ropewalk pep status",
            "ropewalk pep --policy snoop --state d status --state d",
            "ropewalk bunch invite anna",
            "ropewalk bunch revoke anna --state d --store etcd://127.0.0.1:2379/ropewalk",
            "ropewalk setup client rw1_x",
            "ropewalk setup gateway --name ../x",
            "ropewalk setup client --full-tunnel yes --route 10.0.0.0/8",
            "ropewalk mptcp cc load",
            "ropewalk mptcp cc load cubic",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
