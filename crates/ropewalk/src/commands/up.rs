//! `ropewalk up`.

use crate::cli::{LogFormat, Up};
use crate::client::{Client, Network, Resolver, Wish};
use crate::control::protocol::{Request, Response};
use crate::control::server::{Desk, Server};
use crate::daemon::{Core, Outbox, Running, mailbox, run as run_loop};
use crate::exit::{Code, failure};
use crate::logging;
use crate::state::{StateDir, identity};
use anyhow::Context;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::session::{CipherSet, Token};
use ropewalk_bond::time::Duration;
use ropewalk_net::links::Follower;
use ropewalk_net::poll::Signals;
use ropewalk_net::setup::Journal;
use ropewalk_net::tun::Tun;
use ropewalk_net::{clock, privileges};
use std::io::Read;

const TOKEN_FILE: &str = "token";

/// Connects to a gateway until told to stop.
pub fn run(args: Up) -> anyhow::Result<()> {
    logging::start(args.daemon.log.as_deref(), args.daemon.log_format.unwrap_or(LogFormat::Text))?;
    let config = Config::default();
    let given = given_token(args.token.as_deref())?;
    privileges::check()?;
    let dir = StateDir::open(&args.state.dir)?;
    let _lock = dir.lock()?;
    let token = remembered(&dir, given)?;
    let (journal, left_behind) = Journal::open(dir.path())?;
    if left_behind > 0 {
        tracing::info!(changes = left_behind, "took back what an earlier run had left behind");
    }
    let key = identity::load_or_make(&dir)?;
    let tun = Tun::open(args.daemon.tun.as_deref())?;
    let signals = Signals::new().context("signals cannot be caught")?;
    let follower = Follower::new()?;
    privileges::drop_all_but_network()?;

    let (inbox, outbox) = mailbox()?;
    let resolver = Resolver::start(outbox.clone())?;
    let network = Network::new(journal, &tun, args.routes, args.dns, config.tun_mtu.into());
    let now = clock::now();
    let who = ClientConfig {
        key,
        gateway: token.gateway,
        invite: token.invite,
        secret: token.secret.clone(),
        ciphers: CipherSet::of_this_cpu(),
    };
    let engine = Engine::client(config, who, rand::random(), now);
    let mut running = Running::new(Core::new(engine, tun, false), inbox, signals, Duration::ZERO)?;
    let wish = Wish {
        endpoints: token.endpoints().to_vec(),
        paths: args.paths,
        timeout: args.timeout.map(Duration::from_secs),
    };
    let mut client = Client::new(wish, follower, resolver, network, now);
    let server = Server::start(&dir, ClientDesk(outbox))?;
    let outcome = client.start(&mut running, clock::now());
    let outcome = outcome.and_then(|()| run_loop(&mut running, &mut client));
    drop(server);
    outcome.and(client.restore())
}

/// Answers requests to a client.
struct ClientDesk(Outbox);

impl Desk for ClientDesk {
    fn answer(&self, request: Request) -> Response {
        self.0.ask(request).unwrap_or_else(|error| Response::refused(&error))
    }
}

/// The token on the command line, or on standard input.
fn given_token(text: Option<&str>) -> anyhow::Result<Option<Token>> {
    let text = match text {
        Some("-") => {
            let mut all = String::new();
            std::io::stdin().take(8192).read_to_string(&mut all).context("the token cannot be read")?;
            all
        }
        Some(text) => text.to_owned(),
        None => return Ok(None),
    };
    Ok(Some(text.parse::<Token>()?))
}

/// The token to use: a given one, which is remembered, or the remembered one.
fn remembered(dir: &StateDir, given: Option<Token>) -> anyhow::Result<Token> {
    if let Some(token) = given {
        dir.write(TOKEN_FILE, token.to_text().as_bytes())?;
        return Ok(token);
    }
    let text = dir.read(TOKEN_FILE)?.ok_or_else(|| {
        let words = "there is no token: give the line that `ropewalk invite` printed on the gateway, as `ropewalk up TOKEN`";
        failure(Code::Usage, words)
    })?;
    Ok(text.parse::<Token>()?)
}
