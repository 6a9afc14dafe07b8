//! Inviting and revoking: over the control socket while the daemon runs, else on the files.

use super::endpoints::{self, Listening};
use super::registry::SharedBook;
use crate::control::protocol::{Request, Response};
use crate::control::server::Desk;
use crate::daemon::Outbox;
use crate::exit::{Code, failure};
use crate::state::clients::Clients;
use ropewalk_bond::session::{Endpoint, InviteId, InviteSecret, PublicKey, Token};

/// Answers requests to a gateway.
pub struct GatewayDesk {
    /// The clients.
    pub book: SharedBook,
    /// The gateway's public key.
    pub key: PublicKey,
    /// Where it listens.
    pub listening: Listening,
    /// The loop.
    pub loop_: Outbox,
}

impl Desk for GatewayDesk {
    fn answer(&self, request: Request) -> Response {
        let outcome = match request {
            Request::Invite { name, endpoints } => self.invite(&name, &endpoints),
            Request::Revoke { name } => self.revoke(&name),
            other => self.loop_.ask(other),
        };
        outcome.unwrap_or_else(|error| Response::refused(&error))
    }
}

impl GatewayDesk {
    fn invite(&self, name: &str, endpoints: &[String]) -> anyhow::Result<Response> {
        let endpoints = choose(endpoints, &self.listening)?;
        let token = self.book.change(|clients| invite(clients, self.key, name, endpoints))?;
        tracing::info!(client = name, "invited");
        Ok(Response::Token { token: token.to_text().to_string() })
    }

    fn revoke(&self, name: &str) -> anyhow::Result<Response> {
        if let Some(client) = self.book.change(|clients| Ok(clients.revoke(name)?))? {
            self.loop_.ask(Request::Expel { client })?;
        }
        tracing::info!(client = name, "revoked");
        Ok(Response::Done { said: String::new() })
    }
}

/// The endpoints that are named, or else where the gateway listens.
pub fn choose(named: &[String], listening: &Listening) -> anyhow::Result<Vec<Endpoint>> {
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

/// Puts an invite into the book; the token for it.
pub fn invite(
    clients: &mut Clients,
    gateway: PublicKey,
    name: &str,
    endpoints: Vec<Endpoint>,
) -> anyhow::Result<Token> {
    let (id, secret) = (InviteId::generate(&mut rand::rng()), InviteSecret::generate(&mut rand::rng()));
    let token = Token::new(gateway, id, secret.clone(), endpoints)?;
    clients.invite(name, id, &secret)?;
    Ok(token)
}
