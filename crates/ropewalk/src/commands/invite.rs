//! `ropewalk invite`.

use crate::cli::{StoreArgs, Which};
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::exit::{Code, failure};
use crate::gateway::audit::{self, Entry};
use crate::gateway::control;
use crate::gateway::endpoints::{self, FILE as GATEWAY_FILE, Listening};
use crate::gateway::grants;
use crate::qr;
use crate::state::clients::{Clients, FILE};
use crate::state::quotas;
use crate::state::{StateDir, identity};
use clap::Args;
use ropewalk_net::privileges;
use ropewalk_session::Endpoint;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// `ropewalk invite`.
#[derive(Debug, Args)]
pub(crate) struct Invite {
    /// Name for the device
    pub name: String,
    #[command(flatten)]
    pub state: Which,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Outside address of the gateway; give it again for more [default: the addresses it listens on]
    #[arg(long = "endpoint", value_name = "HOST:PORT")]
    pub endpoints: Vec<Endpoint>,
    /// Print the token as a QR code, too
    #[arg(long)]
    pub qr: bool,
}

/// Prints one token line.
pub(crate) fn run(args: &Invite) -> anyhow::Result<()> {
    privileges::keep_secrets()?;
    let token = create_token(args)?;
    println!("{token}");
    if args.qr {
        print!("\n{}", qr::render(&token, std::io::stdout().is_terminal())?);
    }
    Ok(())
}

/// A new token.
pub(crate) fn create_token(args: &Invite) -> anyhow::Result<String> {
    if let Some(store) = args.store.settings()? {
        return Ok(store.invite(&args.name, &args.endpoints)?.to_text().to_string());
    }
    let state = args.state.find()?;
    let running = if state.is_dir() { Line::try_open(&StateDir::existing(&state)?)? } else { None };
    match running {
        Some(mut daemon) => ask(&mut daemon, args),
        None => on_files(&StateDir::open(&state)?, args),
    }
}

fn ask(daemon: &mut Line, args: &Invite) -> anyhow::Result<String> {
    let endpoints = args.endpoints.iter().map(ToString::to_string).collect();
    match daemon.ask(&Request::Invite { name: args.name.clone(), endpoints })? {
        Response::Token { token } => Ok(token),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}

fn on_files(dir: &StateDir, args: &Invite) -> anyhow::Result<String> {
    let _lock = lock(dir)?;
    let listening: Listening = dir.read_json(GATEWAY_FILE)?.unwrap_or_default();
    listening.check_own()?;
    if args.endpoints.is_empty() && listening.listen.is_empty() {
        let words = "`ropewalk serve` has not run with this state directory, so it is not known where the gateway listens: start \
                     it first, or name an address with --endpoint HOST:PORT";
        return Err(failure(Code::Usage, words));
    }
    let key = identity::load_or_make(dir)?.public();
    let named: Vec<String> = args.endpoints.iter().map(ToString::to_string).collect();
    let mut clients: Clients = dir.read_json(FILE)?.unwrap_or_default();
    let endpoints = control::choose(&named, &listening)?;
    let tls = endpoints::by_tls(&listening, &endpoints)?;
    let token = control::invite(&mut clients, key, &args.name, endpoints)?.with_tls(tls);
    dir.write_json(FILE, &clients)?;
    grants::forget_in(dir, &args.name)?;
    quotas::forget_in(dir, &args.name)?;
    let by = rustix::process::getuid().as_raw();
    audit::note_done(dir, &Entry::new("invited").client(&args.name).by(by));
    Ok(token.to_text().to_string())
}

/// The directory, for a moment. Another command may have it for as long; a daemon that starts just now has it for good.
pub(super) fn lock(dir: &StateDir) -> anyhow::Result<crate::state::Lock> {
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        if let Some(lock) = dir.try_lock()? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    dir.lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use ropewalk_session::Token;

    #[test]
    fn an_invite_that_cannot_be_noted_stands_and_its_token_is_told() {
        let scratch = Scratch::new();
        // No line can be added to that.
        std::fs::create_dir(scratch.0.path().join("audit.jsonl")).unwrap();
        let (state, store) = (Which { dir: None }, StoreArgs::default());
        let endpoints = vec!["192.0.2.1:4500".parse().unwrap()];
        let args = Invite { name: "alice".into(), state, store, endpoints, qr: false };
        let token = on_files(&scratch.0, &args).unwrap();
        assert!(token.parse::<Token>().is_ok());
    }
}
