//! Tables of the firewall that others take away, as `nft flush ruleset` does and the restart of a
//! service that begins with it.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::{Socket, protocols::NETLINK_NETFILTER};

use super::conntrack::Message;
use super::{Journal, SetupError};
use crate::genl::find;
use crate::netlink::{Netlink, split};

/// `NFNLGRP_NFTABLES` (linux/netfilter/nfnetlink.h).
const GROUP: u32 = 7;
/// The subsystem's number (`NFNL_SUBSYS_NFTABLES`) and, below it, the message's.
const GET_TABLE: u16 = 0x0a01;
const DELETED_TABLE: u16 = 0x0a02;
/// `NFTA_TABLE_NAME`.
const NAME: u16 = 1;
/// `struct nfgenmsg`, whose first byte is the family: `NFPROTO_INET`.
const INET: [u8; 4] = [1, 0, 0, 0];
/// Datagrams that are read in a row.
const MOST: usize = 1024;
/// How often a list is asked for that changed while it was told.
const ATTEMPTS: usize = 5;

/// Hears when tables are taken away. Readable, for a poller, when the firewall has changed.
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

    /// Takes what waits, and says whether a table may have been taken away.
    ///
    /// # Errors
    /// The kernel gave one.
    pub fn take_events(&mut self) -> io::Result<bool> {
        let mut gone = false;
        for _ in 0..MOST {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => gone |= tells_of_a_deletion(&self.buffer),
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

fn tells_of_a_deletion(datagram: &[u8]) -> bool {
    let kind = |message: &[u8]| message.get(4..6).map(|k| u16::from_ne_bytes([k[0], k[1]]));
    split(datagram).any(|message| kind(message) == Some(DELETED_TABLE))
}

/// Puts back tables of the journal that others took away, each as it was. Returns how many those
/// were. To be asked when a [`TableWatch`] is readable, and now and then.
///
/// # Errors
/// The first that there was; what else can be done is done.
pub fn keep_tables(journal: &Journal) -> Result<usize, SetupError> {
    let ours: Vec<_> = journal.changes().iter().filter_map(|c| Some((c.table()?, c))).collect();
    if ours.is_empty() {
        return Ok(0);
    }
    let there = names().map_err(|e| SetupError::system("listing the firewall's tables", e))?;
    let (mut back, mut outcome) = (0, Ok(()));
    for (_, change) in ours.iter().filter(|(name, _)| !there.contains(name)) {
        match change.add_table() {
            Ok(()) => back += 1,
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome.map(|()| back)
}

/// The tables of the family `inet`, by name.
fn names() -> io::Result<BTreeSet<String>> {
    let mut netlink = Netlink::open_netfilter()?;
    for _ in 0..ATTEMPTS {
        let mut all = BTreeSet::new();
        let question = Message { kind: GET_TABLE, body: INET.to_vec() };
        let torn = netlink.each(question, NLM_F_DUMP, |table| all.extend(name(&table.body)))?;
        if !torn {
            return Ok(all);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the firewall keeps changing"))
}

/// The name in a message about a table.
fn name(body: &[u8]) -> Option<String> {
    let text = find(body.get(INET.len()..)?, NAME)?;
    let text = text.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genl::nla;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = (16 + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_table_that_goes_is_heard_among_other_events() {
        let body = [&INET[..], &nla(NAME, b"ropewalk-rw0\0")].concat();
        let all = |kinds: &[u16]| kinds.iter().flat_map(|kind| message(*kind, &body)).collect::<Vec<_>>();
        assert!(tells_of_a_deletion(&all(&[0x0a00, 0x0a06, DELETED_TABLE])));
        assert!(!tells_of_a_deletion(&all(&[0x0a00, 0x0a06, 0x0a0f])));
        for torn in [&[][..], &[0; 5], &all(&[DELETED_TABLE])[..17]] {
            assert!(!tells_of_a_deletion(torn), "{torn:?}");
        }
    }

    #[test]
    fn a_name_ends_with_its_zero() {
        let body = [&INET[..], &nla(NAME, b"ropewalk-rw0\0")].concat();
        assert_eq!(name(&body).as_deref(), Some("ropewalk-rw0"));
        (0..body.len() - 4).for_each(|length| assert_eq!(name(&body[..length]), None, "{length} bytes"));
    }
}
