//! Tables of the firewall that others take away, as `nft flush ruleset` does and the restart of a
//! service that begins with it; and rules of theirs, as `nft flush chain` does.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::{Socket, protocols::NETLINK_NETFILTER};

use super::conntrack::Message;
use super::{Change, Journal, SetupError};
use crate::genl::{find, nla};
use crate::netlink::{HEADER, Netlink, split};
use crate::nft::{LOOP_WAITS, OURS, rules_by_chain};

/// `NFNLGRP_NFTABLES` (linux/netfilter/nfnetlink.h).
const GROUP: u32 = 7;
/// The subsystem's number (`NFNL_SUBSYS_NFTABLES`) and, below it, the message's.
const GET_TABLE: u16 = 0x0a01;
const DELETED_TABLE: u16 = 0x0a02;
const GET_RULE: u16 = 0x0a07;
const DELETED_RULE: u16 = 0x0a08;
/// The table's name: `NFTA_TABLE_NAME` and, of a rule, `NFTA_RULE_TABLE`.
const TABLE: u16 = 1;
/// `NFTA_RULE_CHAIN`.
const CHAIN: u16 = 2;
/// `struct nfgenmsg`, whose first byte is the family: `NFPROTO_INET`.
const INET: [u8; 4] = [1, 0, 0, 0];
/// Datagrams that are read in a row.
const MOST: usize = 1024;
/// How often a list is asked for that changed while it was told.
const ATTEMPTS: usize = 5;

/// Hears when tables of ours, or rules in them, are taken away. Readable, for a poller, when the firewall has changed.
pub struct TableWatch {
    socket: Socket,
    buffer: Vec<u8>,
}

impl TableWatch {
    /// Listens in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel has no nftables, or the right to listen is missing.
    pub fn new() -> io::Result<TableWatch> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.set_non_blocking(true)?;
        socket.add_membership(GROUP)?;
        Ok(TableWatch { socket, buffer: Vec::with_capacity(64 << 10) })
    }

    /// Takes what waits, and says whether something of ours may have been taken away.
    ///
    /// # Errors
    /// The kernel gave one.
    pub fn take_events(&mut self) -> io::Result<bool> {
        let mut gone = false;
        for _ in 0..MOST {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => gone |= tells_of_a_loss(&self.buffer),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // So many that the kernel dropped some.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => gone = true,
                Err(e) => return Err(e),
            }
        }
        Ok(gone)
    }
}

impl AsFd for TableWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::fmt::Debug for TableWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWatch").finish_non_exhaustive()
    }
}

/// A table of ours was deleted, or a rule in one. What others do with theirs is no reason to look.
fn tells_of_a_loss(datagram: &[u8]) -> bool {
    let kind = |message: &[u8]| message.get(4..6).map(|k| u16::from_ne_bytes([k[0], k[1]]));
    let is_ours = |body: &[u8]| text(body, TABLE).is_some_and(|table| table.starts_with(OURS));
    split(datagram).any(|message| {
        let is_deletion = matches!(kind(message), Some(DELETED_TABLE | DELETED_RULE));
        is_deletion && message.get(HEADER..).is_some_and(is_ours)
    })
}

/// Puts back tables of the journal that others took away, or rules of, each as it was. Returns how
/// many those were. To be asked when a [`TableWatch`] is readable, and now and then.
///
/// # Errors
/// The first that there was; what else can be done is done.
pub fn keep_tables(journal: &Journal) -> Result<usize, SetupError> {
    let ours: Vec<_> = journal.changes().iter().filter_map(|c| Some((c.table()?, c))).collect();
    if ours.is_empty() {
        return Ok(0);
    }
    let failed = |e: io::Error| SetupError::system("listing the firewall's tables", e);
    let mut netlink = Netlink::open_netfilter().map_err(failed)?;
    let there = names(&mut netlink).map_err(failed)?;
    let until = Instant::now() + LOOP_WAITS;
    let (mut back, mut outcome) = (0, Ok(()));
    for (name, change) in ours {
        let is_whole = if there.contains(&name) { is_whole(&mut netlink, &name, change) } else { Ok(false) };
        let put = match is_whole {
            Ok(true) => continue,
            Ok(false) => change.add_table(until),
            Err(error) => Err(failed(error)),
        };
        back += usize::from(put.is_ok());
        outcome = outcome.and(put);
    }
    outcome.map(|()| back)
}

/// Each chain of a table has at least as many rules as it was given. What others add to it stays.
fn is_whole(netlink: &mut Netlink<Message>, table: &str, change: &Change) -> io::Result<bool> {
    let Some(text) = change.table_rules() else { return Ok(true) };
    let there = rules(netlink, table)?;
    Ok(rules_by_chain(&text).iter().all(|(chain, count)| there.get(*chain).is_some_and(|c| c >= count)))
}

/// The tables of the family `inet`, by name.
fn names(netlink: &mut Netlink<Message>) -> io::Result<BTreeSet<String>> {
    dump(netlink, GET_TABLE, &[], |all: &mut BTreeSet<String>, table: &[u8]| {
        all.extend(text(table, TABLE).map(str::to_owned));
    })
}

/// How many rules the chains of a table have that have some.
fn rules(netlink: &mut Netlink<Message>, table: &str) -> io::Result<BTreeMap<String, usize>> {
    let of = nla(TABLE, &[table.as_bytes(), &[0]].concat());
    dump(netlink, GET_RULE, &of, |all: &mut BTreeMap<String, usize>, rule: &[u8]| {
        if let Some(chain) = text(rule, CHAIN).filter(|_| text(rule, TABLE) == Some(table)) {
            *all.entry(chain.to_owned()).or_default() += 1;
        }
    })
}

/// Takes all that the kernel answers, and asks again where that changed while it was told.
fn dump<T: Default>(
    netlink: &mut Netlink<Message>,
    kind: u16,
    filter: &[u8],
    mut take: impl FnMut(&mut T, &[u8]),
) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        let mut all = T::default();
        let question = Message { kind, body: [&INET[..], filter].concat() };
        let torn = netlink.each(question, NLM_F_DUMP, |answer| take(&mut all, &answer.body))?;
        if !torn {
            return Ok(all);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the firewall keeps changing"))
}

/// An attribute of a message's body that is text.
fn text(body: &[u8], kind: u16) -> Option<&str> {
    let text = find(body.get(INET.len()..)?, kind)?;
    std::str::from_utf8(text.split(|byte| *byte == 0).next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = (16 + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes
    }

    fn body(table: &str) -> Vec<u8> {
        [&INET[..], &nla(TABLE, table.as_bytes()), &nla(CHAIN, b"output\0")].concat()
    }

    #[test]
    fn what_goes_of_ours_is_heard_among_other_events() {
        let all = |kinds: &[u16], table: &str| {
            kinds.iter().flat_map(|kind| message(*kind, &body(table))).collect::<Vec<_>>()
        };
        for gone in [DELETED_TABLE, DELETED_RULE] {
            assert!(tells_of_a_loss(&all(&[0x0a00, 0x0a06, gone], "ropewalk-rw0\0")));
            assert!(!tells_of_a_loss(&all(&[0x0a00, 0x0a06, gone], "filter\0")), "another's");
        }
        assert!(!tells_of_a_loss(&all(&[0x0a00, 0x0a06, 0x0a0f], "ropewalk-rw0\0")));
        for torn in [&[][..], &[0; 5], &all(&[DELETED_TABLE], "ropewalk-rw0\0")[..17]] {
            assert!(!tells_of_a_loss(torn), "{torn:?}");
        }
    }

    #[test]
    fn a_name_ends_with_its_zero() {
        let body = body("ropewalk-rw0\0");
        assert_eq!((text(&body, TABLE), text(&body, CHAIN)), (Some("ropewalk-rw0"), Some("output")));
        (0..INET.len() + 17).for_each(|n| assert_eq!(text(&body[..n], TABLE), None, "{n} bytes"));
    }
}
