//! What the process may do: checked before it starts, given up once it runs.

use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Why the process cannot start, or cannot give up its rights.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The TUN driver is not there.
    #[error(transparent)]
    NoDriver(crate::tun::TunError),
    /// The capability is missing.
    #[error("making a network device needs CAP_NET_ADMIN: run as root, or grant that capability")]
    NotPermitted,
    /// The kernel did not let rights be given up.
    #[error("giving up what is not needed any more failed")]
    System(#[from] std::io::Error),
}

/// What a running bond needs: addresses, routes, rules and marks (`NET_ADMIN`), and sockets bound to
/// interfaces that appear later (`NET_RAW`, before Linux 5.7).
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// Says, before anything is touched, what is missing: the TUN driver or the capability to use it.
pub fn check() -> Result<(), PrivilegeError> {
    if !Path::new("/dev/net/tun").exists() {
        return Err(PrivilegeError::NoDriver(crate::tun::TunError::NoDriver));
    }
    check_network()
}

/// The same for who makes no TUN device: the capability alone.
///
/// # Errors
/// It is missing.
pub fn check_network() -> Result<(), PrivilegeError> {
    let held = rustix::thread::capabilities(None).map_err(std::io::Error::from)?;
    if held.effective.contains(CapabilitySet::NET_ADMIN) { Ok(()) } else { Err(PrivilegeError::NotPermitted) }
}

/// For a process that holds keys: it leaves no core dump, may not be looked into by others of its user, and makes files for its user only.
///
/// # Errors
/// Those of prctl(2).
pub fn keep_secrets() -> Result<(), PrivilegeError> {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let undumpable = rustix::process::DumpableBehavior::NotDumpable;
    Ok(rustix::process::set_dumpable_behavior(undumpable).map_err(std::io::Error::from)?)
}

/// Lets the process have `wanted` descriptors, or as many as its hard limit allows; says how many it
/// may have now. Many systems allow 1024 to a process that does not ask for more.
pub fn raise_descriptors(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let more = raised(limit, wanted);
    let outcome = if more == limit { Ok(()) } else { setrlimit(Resource::Nofile, more) };
    if let Err(error) = outcome {
        tracing::debug!(%error, "the limit of descriptors stays as it is");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// No lower than before, and no higher than allowed.
fn raised(limit: Rlimit, wanted: u64) -> Rlimit {
    let allowed = limit.maximum.map_or(wanted, |most| wanted.min(most));
    Rlimit { current: limit.current.map(|now| now.max(allowed)), ..limit }
}

/// Gives up every capability but `CAP_NET_ADMIN` and `CAP_NET_RAW`, for good: neither this process nor a
/// program it runs gets one back, set-uid programs included.
///
/// Concerns the calling thread and those it starts later: call it before there are others. Keep the state
/// directory writable for the user that runs the process, since root without capabilities is bound by file
/// permissions like anybody.
pub fn drop_all_but_network() -> Result<(), PrivilegeError> {
    rustix::thread::set_no_new_privs(true).map_err(std::io::Error::from)?;
    let held = rustix::thread::capabilities(None).map_err(std::io::Error::from)?;
    for capability in CapabilitySet::all().iter() {
        if !KEPT.contains(capability) {
            // EINVAL: a capability that this kernel does not have. EPERM: without CAP_SETPCAP the set cannot
            // shrink, and without new privileges it is of no use to anybody.
            ignore(rustix::thread::remove_capability_from_bounding_set(capability))?;
            ignore(rustix::thread::configure_capability_in_ambient_set(capability, false))?;
        }
    }
    let sets = CapabilitySets {
        effective: held.effective & KEPT,
        permitted: held.permitted & KEPT,
        // Where the service manager gave us the capabilities as a plain user, programs we run (`nft`) inherit
        // them.
        inheritable: held.inheritable & KEPT,
    };
    Ok(rustix::thread::set_capabilities(None, sets).map_err(std::io::Error::from)?)
}

fn ignore(outcome: rustix::io::Result<()>) -> Result<(), std::io::Error> {
    match outcome {
        Err(Errno::INVAL | Errno::PERM) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_raised_as_far_as_is_allowed_and_never_lowered() {
        let limit = |current, maximum| Rlimit { current, maximum };
        for (before, after) in [
            (limit(Some(1024), Some(524_288)), Some(1152)),
            (limit(Some(1024), None), Some(1152)),
            (limit(Some(1024), Some(1100)), Some(1100)),
            (limit(Some(1024), Some(1024)), Some(1024)),
            (limit(Some(8192), Some(524_288)), Some(8192)),
            (limit(None, None), None),
        ] {
            assert_eq!(raised(before, 1152), Rlimit { current: after, ..before });
        }
        let now = getrlimit(Resource::Nofile).current;
        assert_eq!(raise_descriptors(1), now.unwrap_or(u64::MAX), "there are more");
    }

    #[test]
    fn only_network_capabilities_stay() {
        // On a thread of its own: the rights of the others are untouched.
        let sets = std::thread::spawn(|| {
            drop_all_but_network().unwrap();
            assert!(rustix::thread::no_new_privs().unwrap());
            rustix::thread::capabilities(None).unwrap()
        });
        let sets = sets.join().unwrap();
        assert!(KEPT.contains(sets.effective) && KEPT.contains(sets.permitted));
    }
}
