//! Sockets of MPTCP, and the kernel's path manager (`linux/mptcp.h`, `ip mptcp`): from which addresses a connection may have more subflows, and how many.
//!
//! An endpoint with the flag `subflow` is an address from which the kernel opens a subflow of every connection to the address that the connection has
//! already. One with `backup` carries data only while no other can; the change of the flag is told to the other end by MP_PRIO (RFC 8684 §3.3.8).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP};
use serde::{Deserialize, Serialize};

use crate::genl::{Genl, Raw, find, nested, nla, u32_of};
use crate::setup::{Change, Journal, SetupError};

mod socket;

pub use socket::{Support, connect, counter, is_mptcp, listen, listens, scheduler, support};

const ADD_ADDR: u8 = 1;
const DEL_ADDR: u8 = 2;
const GET_ADDR: u8 = 3;
const SET_LIMITS: u8 = 5;
const GET_LIMITS: u8 = 6;
const SET_FLAGS: u8 = 7;

const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;

const ADDR_FAMILY: u16 = 1;
const ADDR_ID: u16 = 2;
const ADDR_ADDR4: u16 = 3;
const ADDR_ADDR6: u16 = 4;
const ADDR_FLAGS: u16 = 6;
const ADDR_IF_IDX: u16 = 7;

const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_BACKUP: u32 = 1 << 2;

/// The most that the kernel takes (`MPTCP_PM_ADDR_MAX`).
pub const MOST: u32 = 8;

/// An address from which subflows are opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// Index of the interface by which they leave.
    pub index: u32,
}

/// An endpoint as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// What it is.
    pub endpoint: Endpoint,
    /// The kernel's number.
    pub id: u8,
    /// It is a backup.
    pub backup: bool,
}

/// How many subflows a connection may have beside its first, and how many addresses of the other end it listens to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What it was.
    pub before: (u32, u32),
    /// What it becomes.
    pub after: (u32, u32),
}

/// Whether this kernel has MPTCP, and it is switched on.
pub fn is_on() -> bool {
    matches!(support(), Ok(Support::On))
}

/// All endpoints of this namespace.
///
/// # Errors
/// The kernel has no path manager, or does not answer.
pub fn endpoints() -> io::Result<Vec<Present>> {
    let answers = open()?.ask(Raw::new(GET_ADDR, &[]), NLM_F_DUMP)?;
    Ok(answers.iter().filter_map(|a| read(a.get(ATTR_ADDR)?)).collect())
}

/// Lets connections have subflows from an address. Journaled.
///
/// # Errors
/// Another endpoint has the address, there are eight already, or the kernel refuses.
pub fn add(journal: &mut Journal, endpoint: Endpoint) -> Result<(), SetupError> {
    journal.make(Change::MptcpEndpoint(endpoint))
}

/// Takes it away, and the subflows with it.
///
/// # Errors
/// The kernel refuses, or the journal cannot be written.
pub fn remove(journal: &mut Journal, endpoint: &Endpoint) -> Result<(), SetupError> {
    journal.undo(&Change::MptcpEndpoint(endpoint.clone()))
}

/// Makes an endpoint a backup, or an ordinary one. The subflows that it has tell the other end.
///
/// # Errors
/// It is not there, or the kernel refuses.
pub fn set_backup(endpoint: &Endpoint, backup: bool) -> io::Result<()> {
    let flags = FLAG_SUBFLOW | if backup { FLAG_BACKUP } else { 0 };
    let present = endpoints()?.into_iter().find(|p| p.endpoint == *endpoint);
    let id = present.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?.id;
    open()?.order(message(SET_FLAGS, endpoint, Some(flags), Some(id)))
}

/// Lets a connection have at least `subflows` subflows beside its first. Journaled.
///
/// # Errors
/// The kernel refuses.
pub fn raise_limits(journal: &mut Journal, subflows: u32) -> Result<(), SetupError> {
    let before = limits().map_err(|e| SetupError::system("reading the limits of MPTCP", e))?;
    let after = (before.0.max(subflows.min(MOST)), before.1);
    if after == before { Ok(()) } else { journal.make(Change::MptcpLimits(Limits { before, after })) }
}

/// Subflows beside the first, and addresses of the other end.
fn limits() -> io::Result<(u32, u32)> {
    let answers = open()?.ask(Raw::new(GET_LIMITS, &[]), NLM_F_ACK)?;
    let answer = answers.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let of = |kind| answer.get(kind).map_or(0, u32_of);
    Ok((of(ATTR_SUBFLOWS), of(ATTR_RCV_ADD_ADDRS)))
}

impl Endpoint {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        let order = message(ADD_ADDR, self, Some(FLAG_SUBFLOW), None);
        let what = || format!("letting MPTCP use {}", self.address);
        open().and_then(|mut g| g.order(order)).map_err(|e| SetupError::system(what(), e))
    }

    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        let what = || format!("taking {} away from MPTCP", self.address);
        let all = endpoints().map_err(|e| SetupError::system(what(), e))?;
        let Some(present) = all.into_iter().find(|p| p.endpoint == *self) else { return Ok(()) };
        let order = message(DEL_ADDR, self, None, Some(present.id));
        open().and_then(|mut g| g.order(order)).map_err(|e| SetupError::system(what(), e))
    }
}

impl Limits {
    pub(crate) fn set(&self) -> Result<(), SetupError> {
        write(self.after)
    }

    /// Gives the old values back, unless somebody else has changed them since.
    pub(crate) fn restore(&self) -> Result<(), SetupError> {
        match limits() {
            Ok(now) if now == self.after => write(self.before),
            _ => Ok(()),
        }
    }
}

fn write((subflows, addresses): (u32, u32)) -> Result<(), SetupError> {
    let attributes =
        [nla(ATTR_RCV_ADD_ADDRS, &addresses.to_ne_bytes()), nla(ATTR_SUBFLOWS, &subflows.to_ne_bytes())];
    let outcome = open().and_then(|mut g| g.order(Raw::new(SET_LIMITS, &attributes)));
    outcome.map_err(|e| SetupError::system("setting the limits of MPTCP", e))
}

fn open() -> io::Result<Genl> {
    Genl::open("mptcp_pm")?.ok_or_else(|| io::Error::other("this kernel has no MPTCP (CONFIG_MPTCP)"))
}

fn message(command: u8, endpoint: &Endpoint, flags: Option<u32>, id: Option<u8>) -> Raw {
    let (family, address) = match endpoint.address {
        IpAddr::V4(ip) => (libc::AF_INET, nla(ADDR_ADDR4, &ip.octets())),
        IpAddr::V6(ip) => (libc::AF_INET6, nla(ADDR_ADDR6, &ip.octets())),
    };
    let mut all = vec![nla(ADDR_FAMILY, &(family as u16).to_ne_bytes()), address];
    all.extend(id.map(|id| nla(ADDR_ID, &[id])));
    if let Some(flags) = flags {
        all.push(nla(ADDR_FLAGS, &flags.to_ne_bytes()));
        all.push(nla(ADDR_IF_IDX, &endpoint.index.to_ne_bytes()));
    }
    Raw::new(command, &[nested(ATTR_ADDR, &all)])
}

fn read(bytes: &[u8]) -> Option<Present> {
    let v4 = || find(bytes, ADDR_ADDR4)?.first_chunk::<4>().map(|b| IpAddr::V4(Ipv4Addr::from(*b)));
    let v6 = || find(bytes, ADDR_ADDR6)?.first_chunk::<16>().map(|b| IpAddr::V6(Ipv6Addr::from(*b)));
    Some(Present {
        endpoint: Endpoint { address: v4().or_else(v6)?, index: find(bytes, ADDR_IF_IDX).map_or(0, u32_of) },
        id: *find(bytes, ADDR_ID)?.first()?,
        backup: find(bytes, ADDR_FLAGS).is_some_and(|f| u32_of(f) & FLAG_BACKUP != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_as_it_was_written() {
        for address in ["192.0.2.7", "2001:db8::7"] {
            let endpoint = Endpoint { address: address.parse().unwrap(), index: 9 };
            for backup in [false, true] {
                let flags = FLAG_SUBFLOW | if backup { FLAG_BACKUP } else { 0 };
                let order = message(SET_FLAGS, &endpoint, Some(flags), Some(3));
                let present = read(order.get(ATTR_ADDR).unwrap()).unwrap();
                assert_eq!(present, Present { endpoint: endpoint.clone(), id: 3, backup });
            }
        }
        for bytes in [&[][..], &[1], &[255; 40], &nla(ADDR_ADDR4, &[1, 2])] {
            assert_eq!(read(bytes), None);
        }
    }
}
