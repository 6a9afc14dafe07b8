//! What other threads ask of the gateway's loop, and what it says of itself.

use super::Daemon;
use crate::bunch::conn::{Conn, account_of};
use crate::bunch::listen::Listener;
use crate::bunch::report::{BunchStatus, Contributor, GatewayStatus, Upload};
use crate::control::protocol::{Request, Response};
use crate::report::reasons::{bypass as reason, named};
use ropewalk_bunch::gateway::{Account, Input, SessionView};
use ropewalk_bunch::inner::UDP;
use ropewalk_session::PublicKey;
use std::collections::BTreeMap;

impl Daemon<'_> {
    pub(super) fn on_mail(&mut self) -> anyhow::Result<()> {
        self.parts.mailbox.waker().clear();
        while let Some(post) = self.parts.mailbox.next() {
            let answer = self.answer(post.request)?;
            // Who asked may be gone.
            let _ = post.reply.send(answer);
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> anyhow::Result<Response> {
        match request {
            Request::Bunch {} => {
                let status = Box::new(BunchStatus::Gateway(self.status()));
                return Ok(Response::Bunch { status });
            }
            Request::Expel { client } => {
                // Also who was let in and has said nothing yet.
                self.hang_up(|conn| conn.is_of(|key| *key == client), "it is revoked")?;
                self.put(Input::Revoked(account_of(&client)))?;
            }
            Request::Dismiss { client } => {
                // One that has said nothing yet is newer than what the store knows.
                let is_up = |conn: &Conn| conn.member().is_some_and(|m| m.key == client);
                self.hang_up(is_up, "another gateway serves it")?;
            }
            Request::Drain { off: false } => {
                self.hang_up(|conn| conn.is_of(|_| true), "this gateway takes no access points")?;
            }
            Request::Drain { off: true } => {}
            _ => return Ok(Response::wrong_end("bond, or for the access point of a bunch")),
        }
        Ok(Response::Done { said: String::new() })
    }

    /// Ends the tunnels of these access points.
    fn hang_up(&mut self, is_one: impl Fn(&Conn) -> bool, why: &str) -> anyhow::Result<()> {
        let ids: Vec<u32> = self.conns.iter().filter(|(_, c)| is_one(c)).map(|(id, _)| *id).collect();
        ids.into_iter().try_for_each(|id| self.drop_conn(id, why))
    }

    fn status(&self) -> GatewayStatus {
        let counts = self.gateway.counts();
        let accounts: BTreeMap<u64, &Account> = self.gateway.accounts().collect();
        let of = |(who, key): (&u64, &PublicKey)| {
            let conn = self.conns.values().find(|c| c.member().is_some_and(|m| m.who == *who));
            let account = accounts.get(who).map(|a| **a).unwrap_or_default();
            Contributor {
                name: self.name(key),
                remote: conn.map(|c| c.remote.to_string()),
                address: conn.and_then(Conn::address),
                neighbours: conn.map_or(0, |c| c.neighbours.len()),
                hears_cells: conn.and_then(|c| c.listener.as_ref()).map(Listener::cells),
                packets: account.packets,
                bytes: account.bytes,
                failed: account.failed,
                late: account.late,
                damaged: account.damaged,
                data_bytes: account.data_bytes,
                report_bytes: account.report_bytes,
                score: account.score,
                carried_packets: account.carried_packets,
                carried_bytes: account.carried_bytes,
                delivered_packets: account.delivered_packets,
                delivered_bytes: account.delivered_bytes,
                records: self.ledgers.head(key).map_or(0, |r| r.statement.number),
                signed_bytes: self.ledgers.head(key).map_or(0, |r| r.statement.totals.carried_bytes),
            }
        };
        GatewayStatus {
            device: self.parts.tun.name().to_owned(),
            uptime_s: self.now().as_secs_f64(),
            sessions: self.gateway.sessions(),
            kept_bytes: self.gateway.kept_bytes(),
            bypassed: named(&counts.bypassed, reason),
            unhelped_packets: counts.unhelped_packets,
            cells_of_others: counts.cells_of_others,
            too_long: counts.too_long,
            cut_packets: counts.cut_packets,
            contributors: self.known.iter().map(of).collect(),
            uploads: self.gateway.views().map(upload).collect(),
            accounts_agreed: self.ledgers.counts().agreed,
            accounts_refused: self.ledgers.counts().refused,
            fleet: self.parts.clients.fleet_status().map(Box::new),
            ..self.counts.clone()
        }
    }
}

fn upload(view: SessionView) -> Upload {
    let state = match (view.bypassed, view.is_native) {
        (Some(why), _) => format!("left alone: {}", reason(why)),
        (None, true) => "by its home alone".to_owned(),
        (None, false) => "helped".to_owned(),
    };
    Upload {
        protocol: if view.protocol == UDP { "udp" } else { "tcp" }.into(),
        sender: view.sender.to_string(),
        receiver: view.receiver.to_string(),
        state,
        access_points: view.access_points,
        sent_bytes: view.sent_bytes,
        kept_bytes: view.kept_bytes,
    }
}
