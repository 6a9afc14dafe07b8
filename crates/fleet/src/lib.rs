//! A fleet: gateways that share one list of clients in etcd.
//!
//! ```text
//!   data loop ──admit──▶ Member ◀──watch── etcd        invites, claims, revocations: one transaction each
//!                        (a copy)  ──claims, who is served, usage──▶ etcd
//! ```
//!
//! [`Member`] is one gateway's part. The data loop only ever looks into its copy; a thread of its
//! own speaks to etcd. [`Ledger`] has the transactions, for that thread and for commands. What is
//! kept where, and why nothing is given out twice, stands in `docs/design/fleet.md`.

mod address;
mod copy;
mod etcd;
mod grant;
mod ledger;
mod member;
mod overview;
pub mod pool;
mod quota;
mod record;
mod runs;

pub use address::{AddressError, StoreAddress};
pub use copy::{Copy, Decision};
pub use etcd::{Etcd, StoreError, TlsFiles};
pub use grant::{ClientGrants, FleetGrants, ForwardedPort, GroupExit, Transport};
pub use ledger::{ClaimError, Claimed, Ledger, LedgerError, SignedRecord};
pub use member::{
    Evict, FleetReport, GrantsHere, GrantsVersion, Join, JoinError, Member, MemberReport, Reach,
};
pub use overview::Standing;
pub use quota::{Account, Metered, Period, Quota, today};
pub use record::{ClientRecord, GatewayRecord, Serving, Usage, is_name};
pub use runs::Runs;

/// Does one thing with the store, for commands: on this thread, until it is done.
///
/// # Errors
/// What the thing itself fails with, or that no runtime could be started.
pub fn block_on<T, E: From<std::io::Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
