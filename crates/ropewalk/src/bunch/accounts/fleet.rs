//! Accounts in a fleet. Its gateways sign with one key, so an access point's chain goes on at the next
//! one, and the newest record says all.

use super::Record;
use super::files::AccountFile;
use super::show::{Account, account};
use crate::bunch::report::FleetRecord;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::control::server::ControlHandler;
use crate::gateway::control::GatewayControl;
use crate::gateway::endpoints::{FILE as GATEWAY_FILE, Listening};
use crate::state::StateDir;
use ropewalk_fleet::SignedRecord;

/// Answers what all gateways answer, and what was signed in the fleet.
pub(crate) struct BunchControl(pub GatewayControl);

impl ControlHandler for BunchControl {
    fn answer(&self, request: Request, by: u32) -> Response {
        match request {
            Request::BunchAccounts {} => self.accounts().unwrap_or_else(|error| Response::refused(&error)),
            other => self.0.answer(other, by),
        }
    }
}

impl BunchControl {
    fn accounts(&self) -> anyhow::Result<Response> {
        let clients = &self.0.clients;
        let all = clients.signed_records()?.into_iter();
        let one = |s: SignedRecord| FleetRecord {
            name: clients.name_of(&s.key),
            gateway: s.gateway,
            record: s.record,
        };
        Ok(Response::BunchAccounts { accounts: all.map(one).collect() })
    }
}

/// What the fleet of the gateway with this state directory has signed; nothing if it has none.
pub(super) fn ask(dir: &StateDir) -> anyhow::Result<Vec<FleetRecord>> {
    let listening = dir.read_json::<Listening>(GATEWAY_FILE)?.unwrap_or_default();
    if listening.store.is_none() {
        return Ok(Vec::new());
    }
    match Line::open(dir)?.ask(&Request::BunchAccounts {})? {
        Response::BunchAccounts { accounts } => Ok(accounts),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}

/// Each takes the place of what is known of its account, if it is newer.
pub(super) fn take_in(all: &mut Vec<Account>, told: Vec<FleetRecord>) {
    for FleetRecord { name, gateway, record } in told {
        let place = format!("in the store, by {gateway}");
        let record = Record::try_from(record).map_err(anyhow::Error::msg);
        let proved = record.and_then(|record| account(&AccountFile { records: vec![record] }, &place));
        let newest = match proved {
            Ok(Some(account)) => Account { name, ..account },
            Ok(None) => continue,
            Err(error) => {
                eprintln!("{place}: {error:#}");
                continue;
            }
        };
        let is_it = |a: &&mut Account| (a.gateway, a.contributor) == (newest.gateway, newest.contributor);
        match all.iter_mut().find(is_it) {
            Some(known) if known.last < newest.last => *known = newest,
            Some(known) => known.name = known.name.take().or(newest.name),
            None => all.push(newest),
        }
    }
}
