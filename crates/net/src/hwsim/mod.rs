//! Simulated radios of the kernel (mac80211_hwsim) over a medium of ours, as `wmediumd` does it.
//!
//! ```text
//!   mac80211 ─ frame, rates, cookie ─▶ take_frame ─▶ a medium ─▶ deliver ─▶ receiving radios
//!      ▲                                                └─▶ report: acknowledged?, tries ─┐
//!      └───────────────── rate control, power save, TCP's small queues ◀──────────────────┘
//! ```
//! Numbers are those of `drivers/net/wireless/virtual/mac80211_hwsim.h`.
//! Radios end with their socket.

mod message;
mod socket;

pub use message::{Delivery, RateFlags, SentFrame, TxRate, TxStatus};
pub use socket::{Hwsim, NewRadio};

use std::io;

/// Reads a datagram in every way; for the fuzzer.
pub(crate) fn read_any(bytes: &[u8]) {
    let _ = message::frames(bytes, 28).map(|frame| frame.bytes.len()).sum::<usize>();
    let _ = message::answer(bytes, 1);
}

/// Why there are no simulated radios.
#[derive(Debug, thiserror::Error)]
pub enum HwsimError {
    /// The module is not there.
    #[error("this kernel has no simulated radios; load them as root with `modprobe mac80211_hwsim radios=0`")]
    NoModule,
    /// The right is missing.
    #[error("{0} needs CAP_NET_ADMIN: run as root, or grant that capability")]
    NotPermitted(String),
    /// Another medium is there already.
    #[error("another program is the medium of this namespace's simulated radios (wmediumd?); stop it first")]
    Taken,
    /// A medium of several channels at a time, which the module does not let programs be.
    #[error(
        "there are simulated radios with several channels on this machine; load the module anew with `channels=1`"
    )]
    Channels,
    /// Anything else.
    #[error("{what} failed: {source}")]
    System {
        /// The operation.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl HwsimError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> HwsimError {
        let what = what.into();
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => HwsimError::NotPermitted(what),
            _ => HwsimError::System { what, source },
        }
    }
}
