//! Inviting and revoking: over the control socket while the daemon runs, else on the files.

use super::audit::{Audit, Entry};
use super::endpoints::{self, Listening};
use super::grants::Keeper;
use super::quotas::{QuotaChange, Quotas};
use super::registry::SharedClients;
use crate::control::protocol::{Request, Response};
use crate::control::server::ControlHandler;
use crate::daemon::{Outbox, entropy};
use crate::exit::{Code, failure};
use crate::state::clients::Clients;
use anyhow::Context;
use ropewalk_session::{Endpoint, InviteId, InviteSecret, PublicKey, Token};

/// Answers requests to a gateway.
pub(crate) struct GatewayControl {
    /// The clients.
    pub clients: SharedClients,
    /// The gateway's public key.
    pub key: PublicKey,
    /// Where it listens.
    pub listening: Listening,
    /// The loop.
    pub loop_: Outbox,
    /// What clients are granted.
    pub keeper: Keeper,
    /// What they may use; none where nobody can be held to it.
    pub quotas: Option<Quotas>,
    /// Who did what.
    pub audit: Audit,
}

impl ControlHandler for GatewayControl {
    fn answer(&self, request: Request, by: u32) -> Response {
        let outcome = match request {
            Request::Invite { name, endpoints } => self.invite(&name, &endpoints).inspect(|_| {
                self.audit.note(Entry::new("invited").client(&name).by(by));
            }),
            // It counts even where it could not be noted.
            Request::Revoke { name } => {
                let known = self.clients.is_known(&name);
                let outcome = self.revoke(&name);
                if known {
                    self.audit.note(Entry::new("revoked").client(&name).by(by));
                }
                outcome
            }
            Request::Grants {} => Ok(Response::Grants { grants: Box::new(self.keeper.granted()) }),
            Request::Grant { change } => self.keeper.change(change).map(|said| {
                tracing::info!("{said}");
                self.audit.note(Entry::new("changed").detail(&said).by(by));
                Response::Done { said }
            }),
            Request::Quota { change } => self.quota(&change).map(|said| {
                tracing::info!("{said}");
                self.audit.note(Entry::new("changed").detail(&said).by(by));
                Response::Done { said }
            }),
            Request::Drain { off } => {
                // Whether or not the loop answers in time, it is in force.
                self.audit.note(Entry::new(if off { "drain ended" } else { "drained" }).by(by));
                self.drain(off)
            }
            Request::Clients { after, most } => {
                let (clients, total) = self.clients.page(after.as_deref(), most.into());
                Ok(Response::Clients { clients, total: total as u64 })
            }
            other => self.loop_.ask(other),
        };
        outcome.unwrap_or_else(|error| Response::refused(&error))
    }
}

impl GatewayControl {
    fn invite(&self, name: &str, endpoints: &[String]) -> anyhow::Result<Response> {
        let (endpoints, tls) = match self.clients.fleet_reach() {
            // The port of this gateway's TLS says nothing of other gateways'.
            Some(fleet) if endpoints.is_empty() && !fleet.endpoints.is_empty() => {
                (fleet.endpoints, fleet.tls)
            }
            Some(fleet) => (choose(endpoints, &self.listening)?, fleet.tls),
            None => {
                let endpoints = choose(endpoints, &self.listening)?;
                let tls = endpoints::by_tls(&self.listening, &endpoints)?;
                (endpoints, tls)
            }
        };
        let token = new_token(self.key, endpoints)?.with_tls(tls);
        self.clients.invite(name, token.invite, &token.secret)?;
        // What another of that name had is not this one's.
        self.keeper.forget(name).inspect_err(|_| drop(self.clients.revoke(name)))?;
        tracing::info!(client = name, "invited");
        Ok(Response::Token { token: token.to_text().to_string() })
    }

    /// Takes no sessions from now on, and sends away those that there are; or takes them again.
    fn drain(&self, off: bool) -> anyhow::Result<Response> {
        // Before clients are sent away: who comes back at once is not to be let in.
        self.clients.drain(!off);
        let said =
            if off { "sessions are taken again" } else { "clients are sent elsewhere, and none are taken" };
        tracing::info!("{said}");
        self.loop_
            .ask(Request::Drain { off })
            .context("the change is in force, but connected clients may not have been told")?;
        Ok(Response::Done { said: said.into() })
    }

    fn quota(&self, change: &QuotaChange) -> anyhow::Result<String> {
        let words = "a bunch, and a backhaul on layer 2, hold their clients to no quota";
        self.quotas.as_ref().ok_or_else(|| failure(Code::Usage, words))?.change(change)
    }

    /// The client goes first, whatever becomes of the note of it.
    fn revoke(&self, name: &str) -> anyhow::Result<Response> {
        let client = self.clients.revoke(name)?;
        let expelled = client.map(|client| self.loop_.ask(Request::Expel { client })).transpose();
        let (saved, forgotten) = (self.clients.save(), self.keeper.forget(name));
        tracing::info!(client = name, "revoked");
        revoked(name, expelled.map(drop), saved, forgotten)
    }
}

/// All outcomes of a revocation: of the session, of the note that keeps the client out after a
/// restart, and of what it was granted.
fn revoked(
    name: &str,
    expelled: anyhow::Result<()>,
    saved: anyhow::Result<()>,
    forgotten: anyhow::Result<()>,
) -> anyhow::Result<Response> {
    let out = match &expelled {
        Ok(()) => format!("{name} is out, and is let in no more"),
        Err(error) => format!(
            "{name} is let in no more, but a session of it may last until this gateway stops ({error:#})"
        ),
    };
    match (expelled, saved, forgotten) {
        (Ok(()), Ok(()), Ok(())) => Ok(Response::Done { said: format!("{name} is revoked") }),
        (Err(_), Ok(()), Ok(())) => Err(failure(Code::Failure, out)),
        (_, Ok(()), Err(error)) => {
            let words = format!(
                "{out}; but what it was granted is not taken back yet: {error:#}. The gateway tries again by itself"
            );
            Err(failure(Code::Failure, words))
        }
        (_, Err(error), _) => {
            let words = format!(
                "{out}; but that could not be noted, and counts only until the gateway stops: {error:#}. Make room: the gateway tries again by itself, and \
                 `ropewalk revoke {name}` says when it is done"
            );
            Err(failure(Code::Unwritable, words))
        }
    }
}

/// The endpoints that are named, or else where the gateway listens.
pub(crate) fn choose(named: &[String], listening: &Listening) -> anyhow::Result<Vec<Endpoint>> {
    let mut endpoints = Vec::new();
    for text in named {
        endpoints.push(text.parse()?);
    }
    if endpoints.is_empty() {
        endpoints = endpoints::of(listening)?;
    }
    if endpoints.is_empty() {
        let words =
            "this machine has no address that a device could reach: name one with --endpoint HOST:PORT";
        return Err(failure(Code::Usage, words));
    }
    Ok(endpoints)
}

/// Puts an invite into the clients; the token for it.
pub(crate) fn invite(
    clients: &mut Clients,
    gateway: PublicKey,
    name: &str,
    endpoints: Vec<Endpoint>,
) -> anyhow::Result<Token> {
    let token = new_token(gateway, endpoints)?;
    clients.invite(name, token.invite, &token.secret)?;
    Ok(token)
}

/// A token with an invite that nobody knows yet.
fn new_token(gateway: PublicKey, endpoints: Vec<Endpoint>) -> anyhow::Result<Token> {
    let (id, secret) = (InviteId::generate(&mut entropy()), InviteSecret::generate(&mut entropy()));
    Ok(Token::new(gateway, id, secret, endpoints)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::mailbox;
    use crate::firewall::SharedJournal;
    use crate::gateway::audit::{self, AuditEnd};
    use crate::gateway::grants::Machine;
    use crate::state::pool::Pool;
    use crate::state::tests::{Scratch, hello};
    use crate::state::{StateDir, clients};
    use ropewalk_bond::api::Registry;
    use ropewalk_session::{ClientHello, Refusal, StaticKey};
    use std::sync::mpsc::{Receiver, channel};

    const CLIENT: PublicKey = PublicKey([7; 32]);

    /// A handler whose loop tells whom it was to expel.
    fn handler(dir: &StateDir) -> (GatewayControl, Receiver<PublicKey>) {
        let (inbox, loop_) = mailbox().unwrap();
        let (told, expelled) = channel();
        std::thread::spawn(move || {
            while let Some(post) = inbox.wait() {
                if let Request::Expel { client } = post.request {
                    let _ = told.send(client);
                }
                let _ = post.reply.send(Response::Done { said: String::new() });
            }
        });
        (handler_of(dir, loop_).0, expelled)
    }

    /// A handler of this loop, and what writes down who did what.
    fn handler_of(dir: &StateDir, loop_: Outbox) -> (GatewayControl, AuditEnd) {
        let clients =
            SharedClients::open(dir, Pool::new(&["10.77.0.1/24".parse().unwrap()]).unwrap()).unwrap();
        let listening = Listening { listen: vec!["192.0.2.1:4500".parse().unwrap()], ..Listening::default() };
        let key = StaticKey::generate(&mut rand::rng()).unwrap().public();
        let keeper = Keeper::start(
            dir,
            &SharedJournal::default(),
            clients.clone(),
            loop_.clone(),
            Machine::that_grants_nothing(),
        )
        .unwrap();
        let (audit, end) = Audit::start(dir).unwrap();
        (GatewayControl { clients, key, listening, loop_, keeper, quotas: None, audit }, end)
    }

    /// Invites `alice`, and lets her in.
    fn let_in(handler: &GatewayControl) -> ClientHello {
        let Response::Token { token } = handler.invite("alice", &[]).unwrap() else { panic!("no token") };
        let token: Token = token.parse().unwrap();
        let hello = hello(token.invite, token.secret);
        handler.clients.clone().admit(&CLIENT, &hello).unwrap();
        handler.clients.save().unwrap();
        hello
    }

    /// A disk without room: files cannot be made.
    fn fill(dir: &StateDir, full: bool) {
        let place = dir.path().join(format!("{}.new", clients::FILE));
        if full { std::fs::create_dir(place).unwrap() } else { std::fs::remove_dir(place).unwrap() }
    }

    #[test]
    fn on_a_full_disk_the_client_is_out_and_both_outcomes_are_said() {
        let scratch = Scratch::new();
        let (handler, expelled) = handler(&scratch.0);
        let hello = let_in(&handler);
        fill(&scratch.0, true);
        for _ in 0..2 {
            let error = handler.revoke("alice").unwrap_err();
            let words = format!("{error:#}");
            assert!(words.contains("alice is out") && words.contains("could not be noted"), "{words}");
            assert_eq!(crate::exit::kind_of(&error), Code::Unwritable);
            assert_eq!(expelled.try_recv(), Ok(CLIENT));
        }
        assert_eq!(handler.clients.clone().admit(&CLIENT, &hello).unwrap_err(), Refusal::Revoked);
        fill(&scratch.0, false);
        assert!(
            matches!(handler.revoke("alice").unwrap(), Response::Done { said } if said == "alice is revoked")
        );
        let again = SharedClients::open(&scratch.0, Pool::none()).unwrap();
        assert_eq!(again.clone().admit(&CLIENT, &hello).unwrap_err(), Refusal::Revoked, "after a restart");
    }

    #[test]
    fn a_firewall_that_refuses_is_no_full_disk() {
        let refused = || Err(anyhow::anyhow!("`nft` said: no"));
        let error = revoked("alice", Ok(()), Ok(()), refused()).unwrap_err();
        let words = format!("{error:#}");
        assert!(words.starts_with("alice is out, and is let in no more; but what it was granted"), "{words}");
        assert!(words.contains("`nft` said: no") && !words.contains("noted"), "{words}");
        assert_eq!(crate::exit::kind_of(&error), Code::Failure);
        let both = revoked("alice", Ok(()), refused(), refused()).unwrap_err();
        assert_eq!(crate::exit::kind_of(&both), Code::Unwritable, "what ends with a restart goes first");
    }

    #[test]
    fn a_drain_without_the_loops_answer_is_in_force_and_both_are_said() {
        let scratch = Scratch::new();
        let (inbox, loop_) = mailbox().unwrap();
        drop(inbox);
        let (handler, end) = handler_of(&scratch.0, loop_);
        let Response::Refused { sentence, .. } = handler.answer(Request::Drain { off: false }, 0) else {
            panic!("the loop has answered")
        };
        assert!(sentence.starts_with("the change is in force, but"), "{sentence}");
        assert!(handler.clients.is_draining());
        drop((handler, end));
        let (entries, _) = audit::read(&scratch.0).unwrap();
        assert_eq!(entries.iter().map(|e| e.what.as_str()).collect::<Vec<_>>(), ["drained"]);
    }

    #[test]
    fn an_invite_that_cannot_be_written_can_be_repeated() {
        let scratch = Scratch::new();
        let (handler, _expelled) = handler(&scratch.0);
        fill(&scratch.0, true);
        assert!(handler.invite("alice", &[]).is_err());
        fill(&scratch.0, false);
        assert!(handler.invite("alice", &[]).is_ok());
    }
}
