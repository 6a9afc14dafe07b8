//! The commands, one file each.

mod ap;
mod audit;
mod clients;
mod drain;
mod flows;
mod grants;
mod invite;
mod link;
mod mptcp;
mod pages;
mod path;
mod pep;
mod quota;
mod repeater;
mod restore;
mod revoke;
mod serve;
mod status;
mod up;

pub(crate) use ap::Ap;
pub(crate) use audit::AuditArgs;
pub(crate) use clients::Clients;
#[cfg(feature = "web")]
pub(crate) use clients::page as clients_page;
pub(crate) use drain::Drain;
pub(crate) use flows::{FlowsArgs, flows};
pub(crate) use grants::{ExitArgs, ForwardArgs, GroupArgs, LimitArgs};
pub(crate) use invite::{Invite, create_token, run as invite};
pub(crate) use link::LinkArgs;
pub(crate) use mptcp::Mptcp;
pub(crate) use pages::{Check, Completions, Pages};
pub(crate) use path::{PathArgs, PathOptions};
pub(crate) use pep::PepArgs;
pub(crate) use quota::QuotaArgs;
pub(crate) use repeater::Repeater;
pub(crate) use restore::Restore;
pub(crate) use revoke::{Revoke, run as revoke};
pub(crate) use serve::Serve;
pub(crate) use status::{Status, snapshot};
pub(crate) use up::{Up, read_token, remembered as remembered_token};

use crate::cli::{Cli, Command};

/// Does what the command line says.
pub(crate) fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Setup(args) => crate::setup::run(args),
        Command::Doctor(args) => crate::doctor::run(&args),
        Command::Invite(args) => invite(&args),
        Command::Clients(args) => clients::run(&args),
        Command::Forward(args) => grants::forward(args),
        Command::Group(args) => grants::group(args),
        Command::Limit(args) => grants::limit(args),
        Command::Exit(args) => grants::exit(args),
        Command::Quota(args) => quota::run(args),
        Command::Audit(args) => audit::run(&args),
        Command::Drain(args) => drain::run(&args),
        Command::Up(args) => up::run(args),
        Command::Ap(args) => ap::run(args),
        Command::Repeater(args) => repeater::run(args),
        Command::Roam(args) => crate::roam::run(args),
        Command::Status(args) => status::run(&args),
        Command::Flows(args) => flows::run(&args),
        Command::Top(args) => crate::top::run(&args),
        #[cfg(feature = "web")]
        Command::Web(args) => crate::web::run(&args),
        Command::Path(args) => path::run(args),
        Command::Link(args) => link::run(&args),
        Command::Bunch(args) => crate::bunch::run(args),
        Command::Pep(args) => pep::run(&args),
        Command::Revoke(args) => revoke(&args),
        Command::Restore(args) => restore::run(&args),
        #[cfg(feature = "lab")]
        Command::Experiment(experiment) => crate::experiments::run(experiment),
        Command::Probe(args) => crate::probe::run(&args),
        Command::Mptcp(args) => mptcp::run(&args),
        Command::Check(args) => pages::check(&args),
        Command::Completions(args) => {
            pages::completions(&args);
            Ok(())
        }
        Command::Man(args) => pages::man(&args),
        Command::Reference(args) => pages::reference(&args),
    }
}
