//! `ropewalk bunch accounts`: what was agreed upon, and whether a file proves it.

use super::files::{AccountFile, AccountFiles, LONGEST};
use super::{Statement, Totals, Verifier, fleet};
use crate::bunch::args::{Accounts, AccountsCommand, Verify};
use crate::exit::{Code, failure};
use crate::report::table::bytes;
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE as CLIENTS_FILE};
use anyhow::Context;
use jiff::Timestamp;
use ropewalk_session::PublicKey;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A chain of records, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Account {
    /// The contributor's name at the gateway; none: nobody here knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its key in the gateway's registry, and by what both ends' signatures are proved.
    pub key: String,
    pub contributor: Verifier,
    pub gateway: Verifier,
    /// Numbers of the first and the last record that are here.
    pub first: u64,
    pub last: u64,
    /// Seconds since 1970.
    pub from: u64,
    pub until: u64,
    /// Of all, those before the first included.
    pub totals: Totals,
    /// The file, or whose record in the store it is.
    pub file: String,
}

/// `ropewalk bunch accounts`.
pub(crate) fn run(args: &Accounts) -> anyhow::Result<()> {
    if let Some(AccountsCommand::Verify(verify)) = &args.command {
        return self::verify(verify);
    }
    let Some(dir) = &args.state else {
        return Err(failure(Code::Usage, "bunch accounts takes the daemon's --state DIR"));
    };
    let dir = StateDir::existing(dir)?;
    // An access point has no registry, and needs none.
    let clients = dir.read_json::<Clients>(CLIENTS_FILE)?.unwrap_or_default();
    let name = |key: &PublicKey| clients.name_of(key).map(str::to_owned);
    let mut all = Vec::new();
    for (file, chain) in AccountFiles::new(&dir).all()? {
        let path = dir.path().join(&file).display().to_string();
        match chain.and_then(|chain| account(&chain, &path)) {
            Ok(Some(account)) => all.push(account),
            Ok(None) => {}
            Err(error) => eprintln!("{file}: {error:#}"),
        }
    }
    for account in &mut all {
        account.name = account.key.parse().ok().and_then(|key| name(&key));
    }
    match fleet::ask(&dir) {
        Ok(told) => fleet::take_in(&mut all, told),
        Err(error) => eprintln!("{error:#}: what other gateways of the fleet have signed is not shown"),
    }
    match args.json {
        true => println!("{}", serde_json::to_string(&all)?),
        false => print!("{}", list(&all)),
    }
    Ok(())
}

fn list(all: &[Account]) -> String {
    if all.is_empty() {
        return "no record yet: the first comes some minutes after packets were carried\n".into();
    }
    all.iter().map(line).collect()
}

fn line(a: &Account) -> String {
    let who = a.name.clone().unwrap_or_else(|| a.key.clone());
    let t = &a.totals;
    format!(
        "{who}: carried {} in {} packets, delivered {} in {}; records {} to {}, {} to {}\n  {}\n",
        bytes(t.carried_bytes),
        t.carried_packets,
        bytes(t.delivered_bytes),
        t.delivered_packets,
        a.first,
        a.last,
        at(a.from),
        at(a.until),
        a.file
    )
}

fn at(second: u64) -> String {
    i64::try_from(second)
        .ok()
        .and_then(|s| Timestamp::from_second(s).ok())
        .map_or("?".into(), |t| t.to_string())
}

/// What a file says, once its records are proved.
///
/// # Errors
/// A signature does not hold, or a record does not follow the one before.
pub(super) fn account(chain: &AccountFile, file: &str) -> anyhow::Result<Option<Account>> {
    let mut before: Option<&Statement> = None;
    for record in &chain.records {
        let statement = &record.statement;
        anyhow::ensure!(record.is_proved(), "record {}: a signature does not hold", statement.number);
        anyhow::ensure!(
            before.is_none_or(|b| statement.follows(Some(b))),
            "record {} does not follow record {}: what was between them is not here",
            statement.number,
            before.map_or(0, |b| b.number)
        );
        before = Some(statement);
    }
    let Some((first, last)) = chain.records.first().zip(before) else { return Ok(None) };
    Ok(Some(Account {
        name: None,
        key: last.key.to_string(),
        contributor: last.contributor,
        gateway: last.gateway,
        first: first.statement.number,
        last: last.number,
        from: first.statement.from,
        until: last.until,
        totals: last.totals,
        file: file.to_owned(),
    }))
}

fn verify(args: &Verify) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for path in &args.files {
        let chain = load(path)?;
        let account = account(&chain, &path.display().to_string());
        let proved = account.with_context(|| path.display().to_string())?;
        let Some(account) = proved else {
            return Err(failure(Code::Failure, format!("{}: it has no record", path.display())));
        };
        all.push((account, chain));
    }
    let said = judge(&all, args.gateway, args.contributor)?;
    match args.json {
        true => println!("{}", serde_json::to_string(&all.iter().map(|a| &a.0).collect::<Vec<_>>())?),
        false => print!("{said}"),
    }
    Ok(())
}

fn load(path: &Path) -> anyhow::Result<AccountFile> {
    let unreadable = || format!("{} cannot be read", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(unreadable)?;
    let length = file.take(LONGEST + 1).read_to_string(&mut text).with_context(unreadable)?;
    anyhow::ensure!(length as u64 <= LONGEST, "{} is longer than any account", path.display());
    serde_json::from_str(&text).with_context(|| format!("{} proves nothing", path.display()))
}

/// Holds files against the keys, and against each other: where two have the same number of one
/// account, it is the same statement.
pub(super) fn judge(
    all: &[(Account, AccountFile)],
    gateway: Option<Verifier>,
    contributor: Option<Verifier>,
) -> anyhow::Result<String> {
    let (mut said, mut known, mut newest) = (String::new(), BTreeMap::new(), BTreeMap::new());
    for (account, chain) in all {
        let is = |wanted: Option<Verifier>, found| wanted.is_none_or(|w| w == found);
        anyhow::ensure!(
            is(gateway, account.gateway),
            "{}: the gateway's signatures are of {}",
            account.file,
            account.gateway
        );
        anyhow::ensure!(
            is(contributor, account.contributor),
            "{}: the contributor's signatures are of {}",
            account.file,
            account.contributor
        );
        for record in &chain.records {
            let s = &record.statement;
            let name = (s.gateway, s.contributor, s.number);
            let (other, file) = known.entry(name).or_insert((s, &account.file));
            anyhow::ensure!(*other == s, "record {} is another in {file} than in {}", s.number, account.file);
        }
        let last = newest.entry((account.gateway, account.contributor)).or_insert(account.last);
        *last = account.last.max(*last);
    }
    for (account, _) in all {
        let last = newest.get(&(account.gateway, account.contributor)).copied().unwrap_or_default();
        said += &line(account);
        said += &format!(
            "  proved: the gateway is {}, the contributor {}\n",
            account.gateway, account.contributor
        );
        if account.last < last {
            said += &format!("  its end is missing: another file goes on to record {last}\n");
        }
    }
    Ok(said)
}
