//! The command line.

use crate::config::{Amount, ClassName, File};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ipnet::{IpNet, Ipv4Net};
use ropewalk_session::Endpoint;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// One encrypted link out of every link in reach.
#[derive(Debug, Parser)]
#[command(name = "ropewalk", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gateway: the end that clients reach
    Serve(Serve),
    /// Make a token that lets one device in, and print it
    Invite(Invite),
    /// Connect this machine to a gateway over every link it has
    Up(Up),
    /// Run the access point of a repeater with two radios
    Ap(Ap),
    /// Run a repeater with two radios
    Repeater(Repeater),
    /// Be a station of several access points at once
    Roam(Roam),
    /// Say how the running bond does
    Status(Status),
    /// Watch the running bond
    Top(Top),
    /// Serve a page that shows the running bond, and changes it
    Web(crate::web::Web),
    /// Change the paths of the running bond
    Path(PathArgs),
    /// Say how long interfaces' queues are, what became of packets, and how radios hear their neighbours
    Link(Link),
    /// Upload over the neighbours' uplinks, too
    #[command(subcommand)]
    Bunch(Bunch),
    /// Help TCP connections that this router forwards: split them, or repair loss behind it
    Pep(Pep),
    /// Let a device in no more, and end its session
    Revoke(Revoke),
    /// Take back what a daemon that was killed, or failed under a kill switch, left on this machine: routes, firewall, settings
    Restore(Restore),
    /// Simulate a scenario: radios, links, TCP and bonds in virtual time
    Sim(crate::sim::Sim),
    /// Put two reports of a scenario side by side, and say whether they agree
    Compare(crate::compare::Compare),
    /// Measure a path: what limits it, what to set, and what that would give
    Probe(crate::probe::Probe),
    /// Run the scenarios of a paper and write what it reported beside what came out
    Reproduce(crate::reproduce::Reproduce),
    /// Make a scenario live: network namespaces whose radios and cables are models
    Lab(crate::lab::Lab),
    /// Coupled congestion control for the kernel's own MPTCP
    Mptcp(Mptcp),
    /// Check a configuration file
    Check(Check),
    /// Print the completions for a shell
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
    /// Directory for keys and state; made if it is not there
    #[arg(long = "state", value_name = "DIR")]
    pub dir: PathBuf,
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
    /// Name of the network device [default: the first free of rw0, rw1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
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

/// `ropewalk serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub state: State,
    #[command(flatten)]
    pub daemon: Daemon,
    /// UDP address to listen on; give it again for more [default: 0.0.0.0:4500 and, with IPv6, [::]:4500]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Vec<SocketAddr>,
    /// The gateway's address inside the bond, with the network that clients get theirs from; once for IPv4, once for IPv6
    /// [default: 10.77.0.1/24]
    #[arg(long, value_name = "CIDR")]
    pub address: Vec<IpNet>,
    /// Let clients reach the internet through this machine (nftables and forwarding)
    #[arg(long)]
    pub masquerade: bool,
    /// Let clients reach each other through the bond
    #[arg(long)]
    pub client_to_client: bool,
}

/// `ropewalk invite`.
#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// What to call the device
    pub name: String,
    #[command(flatten)]
    pub state: State,
    /// Where the device reaches the gateway; give it again for more [default: the addresses that it listens on]
    #[arg(long = "endpoint", value_name = "HOST:PORT")]
    pub endpoints: Vec<Endpoint>,
}

/// `ropewalk link`.
#[derive(Debug, Args)]
pub(crate) struct Link {
    /// The interfaces [default: all that have something to say]
    #[arg(value_name = "IFACE")]
    pub interfaces: Vec<String>,
    #[command(flatten)]
    pub show: Show,
}

/// How something that changes is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct Show {
    /// Print JSON: one line, and with --watch one each second
    #[arg(long)]
    pub json: bool,
    /// Go on until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// `ropewalk up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// What `ropewalk invite` printed; `-` reads it from standard input, where no list of processes shows it [default: the one used last with this state]
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub state: State,
    #[command(flatten)]
    pub daemon: Daemon,
    /// Use this interface, to this endpoint if one is given; give it again for more [default: every usable interface]
    #[arg(long = "path", value_name = "IFACE[@HOST:PORT]")]
    pub paths: Vec<PathName>,
    /// Send this network through the bond; 0.0.0.0/0 and ::/0 are everything
    #[arg(long = "route", value_name = "CIDR")]
    pub routes: Vec<IpNet>,
    /// Ask this name server, through the bond
    #[arg(long = "dns", value_name = "ADDR")]
    pub dns: Vec<IpAddr>,
    /// Let nothing leave this machine but through the bond, until the client is told to stop; with --route 0.0.0.0/0. `ropewalk restore` takes it back where
    /// the client was killed
    #[arg(long)]
    pub kill_switch: bool,
    /// Give up if there is no connection after this long
    #[arg(long, value_name = "SECS")]
    pub timeout: Option<u64>,
}

/// What both ends of a backhaul take.
#[derive(Clone, Debug, Args)]
pub(crate) struct BackhaulArgs {
    /// Read settings from this TOML file; the command line goes before it
    #[arg(long, value_name = "FILE", required = true)]
    pub config: Option<PathBuf>,
    /// Directory for keys and state; made if it is not there [default: the file's `state`]
    #[arg(long = "state", value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
}

impl BackhaulArgs {
    /// As other daemons take it.
    pub(crate) fn daemon(&self) -> Daemon {
        let BackhaulArgs { config, log, log_format, metrics, .. } = self.clone();
        Daemon { config, tun: None, log, log_format, metrics }
    }
}

/// `ropewalk ap`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Ap {
    /// Something else than to run it.
    #[command(subcommand)]
    pub command: Option<ApCommand>,
    #[command(flatten)]
    pub backhaul: BackhaulArgs,
}

/// What else there is to an access point.
#[derive(Debug, Subcommand)]
pub(crate) enum ApCommand {
    /// Make a token that lets one repeater in, and print it
    Invite {
        /// What to call the repeater, as in [[ap.repeater]]
        name: String,
        /// The access point's file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Directory for keys and state [default: the file's `state`]
        #[arg(long = "state", value_name = "DIR")]
        state: Option<PathBuf>,
        /// Where the repeater reaches the access point; give it again for more [default: the addresses of its radios' interfaces]
        #[arg(long = "endpoint", value_name = "HOST:PORT")]
        endpoints: Vec<Endpoint>,
    },
}

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

fn interface(name: &str) -> Result<String, String> {
    check_interface(name).map(|()| name.to_owned())
}

/// `ropewalk roam`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Roam {
    /// Something else than to run it.
    #[command(subcommand)]
    pub command: Option<RoamCommand>,
    #[command(flatten)]
    pub run: RoamArgs,
}

/// What `ropewalk roam` takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RoamArgs {
    /// Read settings from this TOML file, section [roam]; the command line goes before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The radio, as `iw list` names it [default: the only one]
    #[arg(long, value_name = "PHY")]
    pub radio: Option<String>,
    /// A station interface of the radio, to listen with [default: its first]
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub interface: Option<String>,
    /// wpa_supplicant's file with the networks to join [default: /etc/wpa_supplicant/wpa_supplicant-IFACE.conf, or wpa_supplicant.conf there]
    #[arg(long, value_name = "FILE")]
    pub networks: Option<PathBuf>,
    /// Directory for what is noted to be taken back [default: /run/ropewalk/roam]
    #[arg(long = "state", value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// What else there is to roaming.
#[derive(Debug, Subcommand)]
pub(crate) enum RoamCommand {
    /// Listen, and print what would be joined and why
    Scan {
        #[command(flatten)]
        run: RoamArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say how the running `ropewalk roam` does
    Status {
        /// Directory that it was started with [default: /run/ropewalk/roam]
        #[arg(long = "state", value_name = "DIR")]
        state: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `ropewalk status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub state: State,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ropewalk top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    pub state: State,
}

/// `ropewalk path`.
#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PathCommand,
}

/// What can be done with paths.
#[derive(Debug, Subcommand)]
pub(crate) enum PathCommand {
    /// Use another interface, or another endpoint by an interface
    Add {
        /// Which
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: State,
        #[command(flatten)]
        options: PathOptions,
    },
    /// Use an interface no more, until the daemon starts again
    Remove {
        /// Which
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: State,
    },
    /// Say what a path may be used for; it is remembered
    Set {
        /// Which
        #[arg(value_name = "IFACE[@HOST:PORT]")]
        name: PathName,
        #[command(flatten)]
        state: State,
        #[command(flatten)]
        options: PathOptions,
    },
}

/// What a path may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathOptions {
    /// active: always used; backup: while no other works; metered: until its cap is used up
    #[arg(long)]
    pub class: Option<ClassName>,
    /// What a metered path may carry in a month, both directions together, such as 10GB
    #[arg(long, value_name = "AMOUNT")]
    pub cap: Option<Amount>,
    /// The day of the month on which a new allowance begins
    #[arg(long, value_name = "DAY", value_parser = clap::value_parser!(u8).range(1..=31))]
    pub reset_day: Option<u8>,
    /// Its share under the weighted scheduler
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub weight: Option<u32>,
}

/// `ropewalk revoke`.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// What the device is called
    pub name: String,
    #[command(flatten)]
    pub state: State,
}

/// `ropewalk bunch`.
#[derive(Debug, Subcommand)]
pub(crate) enum Bunch {
    /// Run a gateway: it puts uploads together and hands them to receivers
    Gateway(BunchGateway),
    /// Make a token that lets one access point in, and print it
    Invite(Invite),
    /// Run an access point: it helps the uploads of its home, of its neighbours, or both
    Ap(BunchAp),
    /// Say how the running gateway or access point does
    Status(BunchStatus),
    /// Let an access point in no more, and end its tunnel
    Revoke(Revoke),
}

/// How a daemon logs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Log {
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// What is done for TCP by a bunch's gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BunchVariant {
    /// Nothing: packets go on as they come.
    Plain,
    /// They go on in order.
    SimpleBuffer,
    /// They are acknowledged in the receiver's name when they are safe.
    ProactiveAck,
}

/// Who forwards a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BunchScheduling {
    /// The first that reports it and whose send buffer has room.
    FirstCome,
    /// The one by which it is expected first.
    ExpectedDelivery,
}

/// `ropewalk bunch gateway`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchGateway {
    #[command(flatten)]
    pub state: State,
    /// TCP address at which access points find it
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Uploads leave by this interface only [default: as routes lead]
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub deliver: Option<String>,
    /// Help uploads to this network; give it again for more [default: 0.0.0.0/0, which is all but private networks]
    #[arg(long, value_name = "CIDR")]
    pub serve: Vec<Ipv4Net>,
    /// Help UDP, too
    #[arg(long)]
    pub udp: bool,
    /// The gateway's address among its access points, with the network that their senders get addresses from
    #[arg(long, value_name = "CIDR", default_value = "10.78.0.1/24")]
    pub address: IpNet,
    /// Name of the network device [default: the first free of bunch0, bunch1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// What is done for TCP
    #[arg(long, default_value = "proactive-ack")]
    pub variant: BunchVariant,
    /// proactive-ack: how many holders are enough where the home access point is not one
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=31))]
    pub custody: u8,
    /// Who forwards a packet
    #[arg(long, default_value = "expected-delivery")]
    pub scheduling: BunchScheduling,
    /// Acknowledged bytes that nobody has reset both ends after so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 3000, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    pub grace: u64,
    #[command(flatten)]
    pub log: Log,
}

/// `ropewalk bunch ap`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchAp {
    /// What `ropewalk bunch invite` printed; `-` reads it from standard input, where no list of processes shows it [default: the one used last with this state]
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub state: State,
    /// Reach the gateway by this interface only [default: as routes lead]
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub uplink: Option<String>,
    /// What the uplink carries, Mbit/s: the home's own traffic then goes before the tunnel's, which keeps half a megabit (HTB); with --uplink
    #[arg(long, value_name = "MBPS", requires = "uplink")]
    pub uplink_rate: Option<f64>,
    /// Help the uploads of devices at this interface
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub home: Option<String>,
    /// The network of the neighbours: hand them the home's packets, and help with theirs
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub share: Option<String>,
    /// For experiments: leave out so many of 100 packets that a neighbour would be handed
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub miss: u8,
    /// Name of the network device [default: the first free of bunch0, bunch1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// Most bytes of packets to hold
    #[arg(long, value_name = "AMOUNT", default_value = "32MB")]
    pub memory: Amount,
    /// Most bytes on the way to the gateway
    #[arg(long, value_name = "AMOUNT", default_value = "64KiB")]
    pub send_buffer: Amount,
    /// Milliseconds between reports
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub report_interval: u64,
    #[command(flatten)]
    pub log: Log,
}

/// `ropewalk bunch status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchStatus {
    #[command(flatten)]
    pub state: State,
    #[command(flatten)]
    pub show: Show,
}

/// What a TCP proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PepPolicy {
    /// Acknowledge in the receiver's name what is here: two connections with a shorter round trip each.
    Split,
    /// Acknowledge nothing, and send again what is lost behind this machine.
    Snoop,
}

/// `ropewalk pep`.
#[derive(Debug, Args)]
pub(crate) struct Pep {
    #[command(flatten)]
    pub state: State,
    /// What to do for connections
    #[arg(long)]
    pub policy: PepPolicy,
    /// Most kilobytes (1024 bytes) to keep of each direction of a connection
    #[arg(long, value_name = "KIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=65_536))]
    pub window: u64,
    /// Most connections at once; what is too many passes as it came
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: u32,
    /// Name of the network device [default: the first free of pep0, pep1, …]
    #[arg(long, value_name = "NAME")]
    pub tun: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// `ropewalk restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub state: State,
}

/// `ropewalk mptcp`.
#[derive(Debug, Args)]
pub(crate) struct Mptcp {
    /// What of it.
    #[command(subcommand)]
    pub command: MptcpCommand,
}

/// What there is to MPTCP.
#[derive(Debug, Subcommand)]
pub(crate) enum MptcpCommand {
    /// Congestion controllers for the kernel: LIA, OLIA and BALIA, which couple subflows, and
    /// HighSpeed TCP
    #[command(subcommand)]
    Cc(CcCommand),
}

/// What can be done with the kernel's controllers.
#[derive(Debug, Subcommand)]
pub(crate) enum CcCommand {
    /// Load controllers into the kernel, where they stay until `unload` or a reboot
    Load {
        /// Which; the kernel lists them as rw_lia, rw_olia, rw_balia, rw_hstcp
        #[arg(value_name = "NAME", required = true)]
        names: Vec<Controller>,
    },
    /// Say which are loaded, and what they carry
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take controllers out of the kernel; connections on them go on until they are closed
    Unload {
        /// Which [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<Controller>,
    },
}

/// A controller for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Controller {
    /// Linked increases, RFC 6356.
    Lia,
    /// Opportunistic linked increases.
    Olia,
    /// Balanced linked adaptation.
    Balia,
    /// HighSpeed TCP, RFC 3649; couples nothing.
    Hstcp,
}

impl From<Controller> for ropewalk_kern::Law {
    fn from(controller: Controller) -> ropewalk_kern::Law {
        match controller {
            Controller::Lia => ropewalk_kern::Law::Lia,
            Controller::Olia => ropewalk_kern::Law::Olia,
            Controller::Balia => ropewalk_kern::Law::Balia,
            Controller::Hstcp => ropewalk_kern::Law::Hstcp,
        }
    }
}

/// `ropewalk check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The file
    pub file: PathBuf,
}

/// `ropewalk completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Where pages go.
#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// The directory
    pub directory: PathBuf,
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
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_lines_of_the_contract_are_taken() {
        for line in [
            "ropewalk serve --state d --listen 0.0.0.0:4500 --tun rw0 --address 10.77.0.1/24",
            "ropewalk serve --state d --listen [::]:4500 --listen 0.0.0.0:1 --address 10.0.0.1/8 --address fd77::1/64 --masquerade",
            "ropewalk invite alice --state d --endpoint gw.example.org:4500 --endpoint [2001:db8::1]:4500",
            "ropewalk up - --state d --kill-switch --route 0.0.0.0/0",
            "ropewalk up --token-file f --state d",
            "ropewalk restore --state d",
            "ropewalk serve --state d --client-to-client",
            "ropewalk up rw1_x --state d --tun rw0 --path wan0 --path wan1@192.0.2.1:4500 --route 0.0.0.0/0 --route ::/0 --dns 10.77.0.1",
            "ropewalk ap --config f",
            "ropewalk ap --config f --state d --log debug --metrics 127.0.0.1:9100",
            "ropewalk ap invite attic --config f --endpoint 192.0.2.1:4500",
            "ropewalk repeater --config f",
            "ropewalk repeater rw1_x --config f --state d --lan eth0 --timeout 5",
            "ropewalk roam",
            "ropewalk roam --radio phy0 --interface wlan0 --networks f --config g --state d --log debug",
            "ropewalk roam scan --interface wlan0 --json",
            "ropewalk roam status --state d --json",
            "ropewalk bunch gateway --state d --listen 0.0.0.0:4520",
            "ropewalk bunch gateway --state d --listen [::]:4520 --deliver eth0 --serve 203.0.113.0/24 --udp --variant plain --scheduling first-come",
            "ropewalk bunch invite anna --state d --endpoint gw.example.org:4520",
            "ropewalk bunch ap - --state d --uplink wan0 --uplink-rate 1.9 --home lan0 --share mesh0 --memory 8MB",
            "ropewalk bunch ap --token-file f --state d --share mesh0",
            "ropewalk bunch status --state d --json --watch",
            "ropewalk bunch revoke anna --state d",
            "ropewalk status --state d --json",
            "ropewalk top --state d",
            "ropewalk path add wan0@gw:1 --state d --class backup",
            "ropewalk path remove wan0 --state d",
            "ropewalk path set wan0 --class metered --cap 10GB --reset-day 1 --weight 3 --state d",
            "ropewalk revoke alice --state d",
            "ropewalk check file.toml",
            "ropewalk serve --config f --state d",
            "ropewalk sim run f.toml --seed 3 --set a.b=1 --set c=2 --out d --pcap ap:wlan0 --pcap sta:r0 --json",
            "ropewalk sim sweep f.toml --jobs 2 --out d --resume",
            "ropewalk sim check f.toml g.toml",
            "ropewalk lab run f.toml --seed 3 --set a.b=1 --out d --json",
            "ropewalk lab check f.toml g.toml",
            "ropewalk compare sim-out lab-out/report.json --all",
            "ropewalk probe --serve --listen 0.0.0.0:4510 --key-file f",
            "ropewalk probe host:4510 --key k --seconds 2 --streams 4 --window 16KiB --json",
            "ropewalk reproduce 003 --sim --quick --out d --runs e --resume",
            "ropewalk lab up f.toml --name n --seed 3 --set a.b=1",
            "ropewalk lab exec ap --lab n -- iperf3 -s",
            "ropewalk lab shell ap",
            "ropewalk lab set sta position=1,2 --lab n",
            "ropewalk lab capture ap wlan0 --write f.pcapng",
            "ropewalk lab down --lab n",
            "ropewalk mptcp cc load olia balia",
            "ropewalk mptcp cc status --json",
            "ropewalk mptcp cc unload",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [
            "ropewalk serve",
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
            "ropewalk mptcp cc load",
            "ropewalk mptcp cc load cubic",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
