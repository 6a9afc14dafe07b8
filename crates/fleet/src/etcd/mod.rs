//! A client of etcd 3.4 and later, by the JSON of its own HTTP gateway: transactions, leases, a
//! watch.

mod api;
mod connect;
mod watch;

pub(crate) use api::{Compare, KeyValue, Op, Page, after_all};
pub(crate) use connect::{Caller, PATIENCE};
pub use connect::{Etcd, TlsFiles};
pub(crate) use watch::{Ended, Watch};

use std::path::PathBuf;

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nobody answers, or nobody who may speak for the cluster.
    #[error("the store cannot be reached: {0}")]
    Gone(String),
    /// It answered with a refusal.
    #[error("etcd says: {0}")]
    Refused(String),
    /// It answered with something else.
    #[error("etcd's answer cannot be read ({0}): is this an etcd of version 3.4 or later?")]
    Answer(String),
    /// Certificates or keys.
    #[error("{}: {why}", file.display())]
    File {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Over a network without TLS.
    #[error(
        "the fleet's key would cross the network in the clear: give --store-ca, --store-cert and --store-key"
    )]
    Clear,
    /// No thread or no descriptor.
    #[error(transparent)]
    System(#[from] std::io::Error),
}
