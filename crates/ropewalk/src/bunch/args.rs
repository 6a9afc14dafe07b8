//! The arguments of `ropewalk bunch`.

use super::accounts::Verifier;
use crate::cli::{Existing, FleetArgs, LogFormat, Show, State, StoreArgs, Which, interface};
use crate::commands::{Invite, Revoke};
use crate::config::Amount;
use clap::{Args, Subcommand, ValueEnum};
use ipnet::{IpNet, Ipv4Net};
use ropewalk_session::Endpoint;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `ropewalk bunch`.
#[derive(Debug, Subcommand)]
pub(crate) enum Bunch {
    /// Run a gateway: it puts uploads together and hands them to receivers
    Gateway(BunchGateway),
    /// Create a token that lets one access point in
    Invite(BunchInvite),
    /// Run an access point: it helps the uploads of its home, of its neighbours, or both
    Ap(BunchAp),
    /// Show the state of the running gateway or access point
    Status(BunchStatus),
    /// Watch the running gateway or access point live
    Top(BunchTop),
    /// Show what contributors carried, by records that both ends signed; prove such a record
    Accounts(Accounts),
    /// See how much of an uplink nobody uses, and for how long
    #[cfg(feature = "parquet")]
    #[command(subcommand)]
    Harvest(super::harvest::Harvest),
    /// Remove an access point: end its tunnel and keep it out
    Revoke(BunchRevoke),
}

/// How a daemon is observed.
#[derive(Clone, Debug, Args)]
pub(crate) struct Observed {
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// Serve metrics for Prometheus by HTTP at this address
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
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

/// When an access point forgets a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BunchRelease {
    /// When the receiver has acknowledged it.
    Acknowledged,
    /// When somebody is told to forward it, as the paper has it: acknowledged bytes are lost with
    /// the one who was told.
    Scheduled,
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
    /// Run the programs of this directory when access points come and go
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    #[command(flatten)]
    pub fleet: FleetArgs,
    #[command(flatten)]
    pub observed: Observed,
}

/// `ropewalk bunch invite`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchInvite {
    /// Name for the access point
    pub name: String,
    #[command(flatten)]
    pub state: Existing,
    /// Outside address of the gateway; give it again for more [default: the addresses it listens on]
    #[arg(long = "endpoint", value_name = "HOST:PORT")]
    pub endpoints: Vec<Endpoint>,
    /// Print the token as a QR code, too
    #[arg(long)]
    pub qr: bool,
}

/// As for a gateway of a bond. In a fleet the running gateway is asked, which knows the store.
impl From<BunchInvite> for Invite {
    fn from(args: BunchInvite) -> Invite {
        let BunchInvite { name, state, endpoints, qr } = args;
        let (state, store) = (Which { dir: Some(state.dir) }, StoreArgs::default());
        Invite { name, state, store, endpoints, qr }
    }
}

/// `ropewalk bunch revoke`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchRevoke {
    /// Name of the access point
    pub name: String,
    #[command(flatten)]
    pub state: Existing,
}

impl From<BunchRevoke> for Revoke {
    fn from(args: BunchRevoke) -> Revoke {
        let state = Which { dir: Some(args.state.dir) };
        Revoke { name: args.name, state, store: StoreArgs::default() }
    }
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
    /// What the uplink carries, Mbit/s: the home's own traffic then goes before the tunnel's, which keeps half a megabit, or a quarter of the rate if that is less (HTB); with --uplink
    #[arg(long, value_name = "MBPS", requires = "uplink")]
    pub uplink_rate: Option<f64>,
    /// What the uplink may carry for neighbours in a month, such as 10GB; with --uplink
    #[arg(long, value_name = "AMOUNT", requires = "uplink")]
    pub cap: Option<Amount>,
    /// The day of the month on which a new allowance begins [default: 1]
    #[arg(long, value_name = "DAY", requires = "cap", value_parser = clap::value_parser!(u8).range(1..=31))]
    pub reset_day: Option<u8>,
    /// Help the uploads of devices at this interface
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub home: Option<String>,
    /// The network of the neighbours: hand them the home's packets, and help with theirs
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub share: Option<String>,
    /// Neighbours overhear instead: frames of stations are heard at this monitor interface. With
    /// --home it is one of the home's own radio
    #[arg(long, value_name = "IFACE", value_parser = interface, conflicts_with = "share")]
    pub monitor: Option<String>,
    /// For experiments: leave out so many of 100 packets that a neighbour would be handed
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub miss: u8,
    /// For experiments: when a packet is forgotten
    #[arg(long, default_value = "acknowledged")]
    pub release: BunchRelease,
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
    /// Seconds between records of what was carried, which both ends sign
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub account_every: u64,
    /// Run the programs of this directory when the tunnel or neighbours come and go, or --cap is used up
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    #[command(flatten)]
    pub observed: Observed,
}

/// `ropewalk bunch accounts`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Accounts {
    /// Something else than to list them.
    #[command(subcommand)]
    pub command: Option<AccountsCommand>,
    /// State directory of the gateway or access point; it need not run
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ropewalk bunch accounts …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AccountsCommand {
    /// Prove records by the signatures alone; with files of both ends, find what one of them lacks
    Verify(Verify),
}

/// `ropewalk bunch accounts verify`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Verify {
    /// Files as `ropewalk bunch accounts` names them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The gateway has to have signed with this key
    #[arg(long, value_name = "KEY")]
    pub gateway: Option<Verifier>,
    /// The contributor has to have signed with this key
    #[arg(long, value_name = "KEY")]
    pub contributor: Option<Verifier>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ropewalk bunch status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchStatus {
    #[command(flatten)]
    pub state: Existing,
    #[command(flatten)]
    pub show: Show,
}

/// `ropewalk bunch top`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BunchTop {
    #[command(flatten)]
    pub state: Existing,
}
