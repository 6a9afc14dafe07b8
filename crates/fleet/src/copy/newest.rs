//! The key that was written last, by which a store is known again.

use crate::etcd::KeyValue;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A key as it was written at one revision.
#[derive(Clone, Debug)]
pub(crate) struct Newest {
    pub key: String,
    pub revision: i64,
    /// Of what was written.
    pub digest: u64,
}

impl Newest {
    /// Whether the key is the very one. Gateways write the same few keys in turn, so another history
    /// often has the same key at the same revision, and then with another value.
    pub(crate) fn is(&self, kv: &KeyValue) -> bool {
        kv.revision == self.revision && digest(kv) == self.digest
    }
}

/// Tells values that were written from each other, in this process.
pub(super) fn digest(kv: &KeyValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&kv.value, kv.lease).hash(&mut hasher);
    hasher.finish()
}
