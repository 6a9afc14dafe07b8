//! Where a gateway keeps who may come in: in its state directory, or in the etcd of a fleet.

mod directory;
mod fleet;

pub(crate) use directory::Directory;
pub(crate) use fleet::{Fleet, StoreSettings};
pub(crate) use ropewalk_fleet::Standing;

use crate::gateway::grants::{Change, Circumstances};
use crate::report::fleet::FleetStatus;
use crate::state::clients::KnownClient;
use jiff::civil::Date;
use ropewalk_bond::api::Admission;
use ropewalk_fleet::{Account, GrantsHere, GrantsVersion, Quota, SignedRecord, Usage};
use ropewalk_session::{ClientHello, Endpoint, InviteId, InviteSecret, PublicKey, Refusal};
use std::fmt;

/// Where gateways are reached, for tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// By UDP.
    pub endpoints: Vec<Endpoint>,
    /// By TLS over TCP.
    pub tls: Vec<Endpoint>,
}

/// A gateway's memory. What the data loop calls answers at once, whatever lies behind it.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// Whether it is known if this client may come in; if not, it will be soon. For the data loop.
    fn is_ready(&self, _key: &PublicKey, _hello: &ClientHello) -> bool {
        true
    }
    /// May this client come in? For the data loop.
    fn admit(&self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal>;
    /// What the client with this key is called. For the data loop.
    fn name_of(&self, key: &PublicKey) -> Option<String>;
    /// A client has a session here. For the data loop.
    fn came(&self, _key: &PublicKey) {}
    /// A client has none any more. For the data loop.
    fn went(&self, _key: &PublicKey) {}
    /// Somebody wants to know what clients use. For the data loop.
    fn meters(&self) -> bool;
    /// What clients have used since the last call. For the data loop.
    fn used(&self, _of: &[(PublicKey, Usage)]) {}
    /// This gateway takes no sessions, or takes them again. For the data loop.
    fn drain(&self, _draining: bool) {}
    /// How the gateway stands in its fleet, if it has one. For the data loop.
    fn status(&self) -> Option<FleetStatus> {
        None
    }
    /// Who may come in.
    fn known(&self) -> Vec<KnownClient>;
    /// Those who may come in, by name after this one, so many at most; and how many there are in all.
    fn page(&self, after: Option<&str>, most: usize) -> (Vec<KnownClient>, usize);
    /// Whether a client of this name may.
    fn is_known(&self, name: &str) -> bool {
        self.known().iter().any(|client| client.name == name)
    }
    /// How the clients with a quota stand on the day `today`; in a fleet, those who are served
    /// here.
    fn accounts(&self, today: Date) -> Vec<Account>;
    /// Gives a client a quota, or takes it; returns when it will outlast this process.
    fn set_quota(&self, client: &str, quota: Option<Quota>) -> anyhow::Result<()>;
    /// What a fleet grants, and to whom of those who are served here; `None` where that is as at
    /// the version `known`, and where there is no fleet.
    fn grants(&self, _known: Option<GrantsVersion>) -> Option<GrantsHere> {
        None
    }
    /// Changes what a fleet grants; returns what there is to say when the store has it.
    fn change_grants(&self, _change: Change, _here: Circumstances) -> anyhow::Result<String> {
        anyhow::bail!("this gateway is of no fleet")
    }
    /// By these exits nothing leaves here, for the others of a fleet to know.
    fn lacks(&self, _exits: Vec<String>) {}
    /// Who may come in, with the addresses inside alone.
    fn inside_of_all(&self) -> Vec<KnownClient> {
        self.known()
    }
    /// The same of those alone whom this gateway may carry packets to: in a fleet, those that it serves.
    fn inside_here(&self) -> Vec<KnownClient> {
        self.inside_of_all()
    }
    /// Where the gateways of the fleet are, if it is one: this one first.
    fn reach(&self) -> Option<Reach> {
        None
    }
    /// An access point of a bunch and this gateway have signed a record: for all gateways to show.
    /// For the data loop.
    fn keep_record(&self, _key: &PublicKey, _record: String) {}
    /// The last of these at each gateway of the fleet, if it is one.
    fn signed_records(&self) -> anyhow::Result<Vec<SignedRecord>> {
        Ok(Vec::new())
    }
    /// The gateway stops: what was used last is written, and the others of a fleet know at once.
    fn leave(&self) {}
    /// Adds an invite; returns when it will outlast this process.
    fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> anyhow::Result<()>;
    /// Takes a client's right to come in; its key if it ever came.
    fn revoke(&self, name: &str) -> anyhow::Result<Option<PublicKey>>;
    /// Returns when what was changed will outlast this process.
    fn save(&self) -> anyhow::Result<()>;
}
