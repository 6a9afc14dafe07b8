//! CE marks on segments that arrive by an interface (`bpf/mark.bpf.c`): which ones is decided
//! elsewhere, subflow by subflow (paper 001 §5.2).
//!
//! The program hangs on an interface by a link of tcx (Linux 6.6), which ends with its descriptor:
//! nothing is left where a process is killed. It marks at most 5 % of a subflow's segments, and
//! only those whose sender understands marks (ECT, RFC 3168).

use crate::loader::{self, Maps};
use crate::shared::long;
use crate::{KernError, sys};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Subflows that can be marked at once (`RW_SUBFLOWS`).
pub const SUBFLOWS: usize = 256;
/// Interfaces at once (`RW_INTERFACES`).
pub const INTERFACES: usize = 16;

const OBJECT: &[u8] = include_bytes!("../objects/mark.bpf.o");
const NAME: &str = "rw_mark";
/// Lengths of the structs in `bpf/mark.h`.
const KEY: usize = 36;
const POLICY: usize = 16;
const SUBFLOW: usize = 32;
const INTERFACE: usize = 40;
/// The loopback interface's number in each network namespace (`LOOPBACK_IFINDEX`).
const LOOPBACK: u32 = 1;

/// A TCP connection, or an MPTCP subflow, that data come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subflow {
    /// Who sends.
    pub from: SocketAddr,
    /// This end.
    pub to: SocketAddr,
}

impl Subflow {
    fn key(self) -> [u8; KEY] {
        let mut key = [0; KEY];
        for (at, end) in [(0, self.from), (16, self.to)] {
            let address = match end.ip() {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            key[at..at + 16].copy_from_slice(&address.octets());
        }
        key[32..34].copy_from_slice(&self.from.port().to_be_bytes());
        key[34..].copy_from_slice(&self.to.port().to_be_bytes());
        key
    }
}

/// Segments of a subflow since it was first named; a super-packet counts as its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowCounts {
    /// They came with ECT.
    pub ect: u64,
    /// Of these, marked here.
    pub marked: u64,
    /// They may not be marked: acknowledgements, what is sent again, senders without ECN.
    pub not_ect: u64,
}

/// Packets of an interface since it was attached; super-packets as above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// TCP with ECT, whoever's.
    pub ect: u64,
    /// Of these, marked here.
    pub marked: u64,
    /// TCP that came with a mark.
    pub ce: u64,
    /// TCP that may not be marked.
    pub not_ect: u64,
    /// No TCP, or its head is not whole: fragments, IPv6 with extension headers.
    pub other: u64,
}

/// The program, its maps, and the interfaces that it is attached to.
#[derive(Debug)]
pub struct Marks {
    // First: they are detached before the maps go.
    links: BTreeMap<u32, OwnedFd>,
    program: OwnedFd,
    maps: Maps,
    named: BTreeSet<Subflow>,
}

impl Marks {
    /// Loads the program and attaches it to nothing. Needs root; what follows needs only
    /// CAP_NET_ADMIN.
    ///
    /// # Errors
    /// No rights, a kernel before 6.6, or one that refuses the program.
    pub fn load() -> Result<Marks, KernError> {
        Marks::of_object(OBJECT)
    }

    /// The same of an object that has just been compiled.
    ///
    /// # Errors
    /// As those of [`Marks::load`].
    pub fn of_object(object: &[u8]) -> Result<Marks, KernError> {
        let maps = Maps::new(NAME, object, None)?;
        let program = maps.ingress()?;
        // An interface that no map names lets all through: so an old kernel is known at once.
        drop(link(&program, LOOPBACK)?);
        Ok(Marks { links: BTreeMap::new(), program, maps, named: BTreeSet::new() })
    }

    /// Looks at what arrives by an interface, by number, of this network namespace. Twice is once.
    ///
    /// # Errors
    /// There is no such interface, or [`INTERFACES`] are attached.
    pub fn attach(&mut self, interface: u32) -> Result<(), KernError> {
        if self.links.contains_key(&interface) {
            return Ok(());
        }
        self.put("interfaces", &interface.to_ne_bytes(), &[0; INTERFACE])?;
        match link(&self.program, interface) {
            Ok(link) => {
                self.links.insert(interface, link);
                Ok(())
            }
            Err(error) => {
                self.take("interfaces", &interface.to_ne_bytes())?;
                Err(error)
            }
        }
    }

    /// Looks at it no more.
    ///
    /// # Errors
    /// Those of its map.
    pub fn detach(&mut self, interface: u32) -> Result<(), KernError> {
        match self.links.remove(&interface) {
            Some(link) => {
                drop(link);
                self.take("interfaces", &interface.to_ne_bytes())
            }
            None => Ok(()),
        }
    }

    /// Has a share of a subflow's segments marked, from 0 to 1, at least `spacing` apart. The
    /// program itself marks 5 % at most. Says whether there was room.
    ///
    /// # Errors
    /// Those of the maps.
    pub fn set_policy(&mut self, subflow: Subflow, share: f64, spacing: Duration) -> Result<bool, KernError> {
        let key = subflow.key();
        if !self.named.contains(&subflow) {
            if self.named.len() >= SUBFLOWS {
                return Ok(false);
            }
            self.put("subflows", &key, &[0; SUBFLOW])?;
            self.named.insert(subflow);
        }
        let mut policy = [0; POLICY];
        let chance = (share.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32;
        policy[..8].copy_from_slice(&u64::try_from(spacing.as_nanos()).unwrap_or(u64::MAX / 2).to_ne_bytes());
        policy[8..12].copy_from_slice(&chance.to_ne_bytes());
        self.put("policies", &key, &policy)?;
        Ok(true)
    }

    /// Marks it no more, and forgets what was seen of it.
    ///
    /// # Errors
    /// Those of the maps.
    pub fn forget(&mut self, subflow: Subflow) -> Result<(), KernError> {
        if !self.named.remove(&subflow) {
            return Ok(());
        }
        self.take("policies", &subflow.key())?;
        self.take("subflows", &subflow.key())
    }

    /// What was seen of a subflow; none if it was not named.
    ///
    /// # Errors
    /// Those of the map.
    pub fn subflow_counts(&self, subflow: Subflow) -> Result<Option<SubflowCounts>, KernError> {
        let mut value = [0; SUBFLOW];
        let is_there = self.look("subflows", &subflow.key(), &mut value)?;
        let word = |n: usize| long(&value, 8 * n);
        Ok(is_there.then(|| SubflowCounts { ect: word(1), marked: word(2), not_ect: word(3) }))
    }

    /// What was counted of an interface; none if it is not attached.
    ///
    /// # Errors
    /// Those of the map.
    pub fn interface_counts(&self, interface: u32) -> Result<Option<InterfaceCounts>, KernError> {
        let mut value = [0; INTERFACE];
        let is_there = self.look("interfaces", &interface.to_ne_bytes(), &mut value)?;
        let word = |n: usize| long(&value, 8 * n);
        Ok(is_there.then(|| InterfaceCounts {
            ect: word(0),
            marked: word(1),
            ce: word(2),
            not_ect: word(3),
            other: word(4),
        }))
    }

    /// An Ethernet frame as it would go on, had it arrived by the loopback interface: for tests.
    /// Attach that first.
    ///
    /// # Errors
    /// The kernel takes no frames below 14 bytes.
    pub fn pass(&self, frame: &[u8]) -> Result<Vec<u8>, KernError> {
        sys::run_on(self.program.as_fd(), frame).map_err(KernError::system("running the program"))
    }

    fn put(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), KernError> {
        sys::update(self.maps.map(map)?.as_fd(), key, value).map_err(KernError::system("writing a map"))
    }

    fn take(&self, map: &str, key: &[u8]) -> Result<(), KernError> {
        sys::delete(self.maps.map(map)?.as_fd(), key).map_err(KernError::system("writing a map"))
    }

    fn look(&self, map: &str, key: &[u8], value: &mut [u8]) -> Result<bool, KernError> {
        sys::lookup(self.maps.map(map)?.as_fd(), key, value).map_err(KernError::system("reading a map"))
    }
}

fn link(program: &OwnedFd, interface: u32) -> Result<OwnedFd, KernError> {
    sys::link_ingress(program.as_fd(), interface).map_err(|e| match e.raw_os_error() {
        // Kernels before 6.6 do not know this kind of link.
        Some(libc::EINVAL) => KernError::NoTcx(loader::release()),
        _ => KernError::system("attaching the program that marks")(e),
    })
}

/// Programs that look at what arrives by an interface, whoever's: by their links of tcx.
///
/// # Errors
/// No rights, no such interface, or a kernel before 6.6.
pub fn attached(interface: u32) -> Result<u32, KernError> {
    sys::count_ingress(interface).map_err(KernError::system("listing programs of an interface"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subflow_is_named_as_its_packets_are() {
        let of =
            |from: &str, to: &str| Subflow { from: from.parse().unwrap(), to: to.parse().unwrap() }.key();
        let four = of("192.0.2.1:258", "192.0.2.2:3");
        assert_eq!(four[..10], [0; 10]);
        assert_eq!(four[10..18], [0xff, 0xff, 192, 0, 2, 1, 0, 0]);
        assert_eq!(four[26..], [0xff, 0xff, 192, 0, 2, 2, 1, 2, 0, 3]);
        let six = of("[2001:db8::1]:1", "[2001:db8::2]:2");
        assert_eq!((six[0], six[15], six[31], six[33], six[35]), (0x20, 1, 2, 1, 2));
        assert_eq!(four, of("[::ffff:192.0.2.1]:258", "[::ffff:192.0.2.2]:3"));
    }
}
