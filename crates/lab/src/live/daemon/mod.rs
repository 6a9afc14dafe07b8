//! A lab that stays up: other commands find it by its name and talk to it over a Unix socket.
//!
//! [`serve`] answers until somebody says [`Request::Stop`]; [`Client`] asks. Sockets are in one directory of the user, named after the labs, so that
//! two labs do not meet; one whose process is gone is removed when the next lab goes up.

mod client;
mod enter;
mod map;
mod protocol;
mod server;

pub use client::{Client, running};
pub use enter::{command, own_namespaces};
pub use map::{Heard, Map, Place};
pub use protocol::{About, DaemonAbout, NodeAbout, Report, Request, Response};
pub use server::{Claim, serve};

use std::path::PathBuf;

/// The directory of the sockets of this user's labs.
pub fn directory() -> PathBuf {
    // Not the effective user: in a user namespace of its own that is 0 for everybody.
    std::env::var_os("ROPEWALK_LAB_DIR").map_or_else(
        || match rustix::process::getuid().as_raw() {
            0 => PathBuf::from("/run/ropewalk-lab"),
            uid => std::env::temp_dir().join(format!("ropewalk-lab-{uid}")),
        },
        PathBuf::from,
    )
}
