//! Reading many keys: by pages, each out of a range that is not much longer than the page.
//!
//! etcd walks its index along the whole range that it is asked for, whatever the limit is, to say
//! how many keys it has. Pages out of one range of a million keys would cost it a million steps
//! each. So the range of the next page is narrowed to the keys that begin as the last one did.

use super::Ledger;
use crate::copy::Copy;
use crate::etcd::{KeyValue, PATIENCE, Page, StoreError, after_all};
use std::time::Duration;

/// Keys of a page.
const PAGE: u32 = 1000;
/// A range with so many pages is narrowed.
const WIDE: usize = 4;
/// How often a copy is begun at most.
const TRIES: u32 = 3;
/// How long a member may take for a page at the second attempt.
const LONG: Duration = Duration::from_secs(10);

/// Where the reading of a range stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Walk {
    from: Vec<u8>,
    end: Vec<u8>,
    /// All keys that are left begin with so many bytes of `from`, if any are asked for by these.
    base: usize,
    /// The next range has the keys that begin with so many.
    depth: usize,
}

impl Walk {
    /// Along all keys that begin with `prefix`.
    fn along(prefix: &[u8]) -> Walk {
        let end = after_all(prefix).unwrap_or_default();
        Walk { from: prefix.to_vec(), end, base: prefix.len(), depth: prefix.len() }
    }

    /// Where the next range ends.
    fn until(&self) -> Vec<u8> {
        let narrow = after_all(&self.from[..self.depth.min(self.from.len())]);
        narrow.filter(|end| self.depth > self.base && *end < self.end).unwrap_or_else(|| self.end.clone())
    }

    /// What the range up to `until` had: this page of `count` keys. Says whether there is more.
    fn go_on(&mut self, until: Vec<u8>, page: &Page) -> bool {
        if page.more && !page.last.is_empty() {
            if page.count > WIDE * page.keys.len() {
                self.depth = self.depth.max(common(&page.first, &page.last));
            }
            self.from.clone_from(&page.last);
            self.from.push(0);
            return true;
        }
        let is_over = until >= self.end;
        self.from = until;
        self.depth = self.depth.saturating_sub(1).min(self.from.len()).max(self.base);
        !is_over
    }
}

/// How many bytes two keys begin with alike.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Ledger {
    /// All keys with this prefix, at the revision `at`, or now if that is 0. Returns the revision.
    pub(crate) async fn each(
        &mut self,
        prefix: &str,
        mut at: i64,
        mut take: impl FnMut(KeyValue),
    ) -> Result<i64, StoreError> {
        let mut walk = Walk::along(prefix.as_bytes());
        loop {
            let until = walk.until();
            let page = self.caller.page((&walk.from, &until), PAGE, at).await?;
            if at == 0 {
                at = page.revision;
            }
            let is_more = walk.go_on(until, &page);
            page.keys.into_iter().for_each(&mut take);
            if !is_more {
                return Ok(at);
            }
        }
    }

    /// All keys with this prefix, which ends in a slash, for what is few.
    pub(crate) async fn all_of(&mut self, prefix: String) -> Result<(Vec<KeyValue>, i64), StoreError> {
        let mut all = Vec::new();
        let revision = self.each(&prefix, 0, |kv| all.push(kv)).await?;
        Ok((all, revision))
    }

    /// What a copy keeps of the store, all of it at one revision. Others have their turn on this
    /// thread between two pages.
    pub(crate) async fn copy(&mut self) -> Result<Copy, StoreError> {
        for _ in 1..TRIES {
            match self.copy_once().await {
                // etcd was told to forget what was as old as the reading is long.
                Err(StoreError::Refused(why)) if why.contains("compacted") => {}
                // Nobody is there, or the first of many millions of keys takes that long.
                Err(StoreError::Gone(_)) if self.caller.patience == PATIENCE => {
                    self.caller.patience = LONG;
                }
                outcome => {
                    self.caller.patience = PATIENCE;
                    return outcome;
                }
            }
        }
        let last = self.copy_once().await;
        self.caller.patience = PATIENCE;
        last
    }

    /// The same at one attempt, for who waits for it.
    pub(super) async fn copy_once(&mut self) -> Result<Copy, StoreError> {
        let (mut copy, mut at, keys) = (Copy::default(), 0, self.keys.clone());
        for prefix in keys.kept() {
            at = self.each(&prefix, at, |kv| copy.take(&keys, &kv)).await?;
        }
        copy.revision = at;
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LIMIT: usize = 10;

    /// Reads a store as etcd has it: what came, and how many keys it walked along for that.
    fn read(store: &BTreeSet<Vec<u8>>, prefix: &[u8]) -> (Vec<Vec<u8>>, usize, usize) {
        let (mut walk, mut all, mut steps, mut asked) = (Walk::along(prefix), Vec::new(), 0, 0);
        loop {
            let until = walk.until();
            assert!(walk.from < until, "{walk:?}");
            let range: Vec<Vec<u8>> = store.range(walk.from.clone()..until.clone()).cloned().collect();
            let some = range.iter().take(LIMIT);
            let kv = |_| KeyValue { key: String::new(), value: Vec::new(), revision: 1, lease: 0 };
            let page = Page {
                keys: some.clone().map(kv).collect(),
                first: some.clone().next().cloned().unwrap_or_default(),
                last: some.clone().next_back().cloned().unwrap_or_default(),
                count: range.len(),
                revision: 1,
                more: range.len() > LIMIT,
            };
            all.extend(some.cloned());
            (steps, asked) = (steps + range.len(), asked + 1);
            if !walk.go_on(until, &page) {
                return (all, steps, asked);
            }
        }
    }

    fn store(keys: impl Iterator<Item = String>) -> BTreeSet<Vec<u8>> {
        keys.map(String::into_bytes).chain([b"/x/clienu".to_vec(), b"/x/client".to_vec()]).collect()
    }

    #[test]
    fn each_key_comes_once_and_costs_the_store_a_few_steps() {
        let numbers = store((0..20_000).map(|n| format!("/x/client/client{n:06}")));
        let hashes =
            store((0..20_000u64).map(|n| {
                format!("/x/client/{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
            }));
        let places = ["berlin", "bern", "b", "zug", "a", "ber"];
        let words = store((0..20_000).map(|n| format!("/x/client/{}-{}", places[n % 6], n)));
        for keys in [&numbers, &hashes, &words] {
            let (all, steps, asked) = read(keys, b"/x/client/");
            assert_eq!(all.len(), 20_000);
            assert!(all.iter().is_sorted() && all.iter().all(|key| keys.contains(key)));
            // In one range: 2000 pages of 10,000 steps on average.
            assert!(steps < 64 * 20_000, "{steps} steps");
            assert!(asked < 20_000, "{asked} pages");
        }
    }

    #[test]
    fn few_keys_and_odd_ones_come_too() {
        let mut keys = store(["/x/client/a", "/x/client/", "/x/client/b"].into_iter().map(str::to_owned));
        keys.extend([b"/x/client/\xff\xff".to_vec(), b"/x/client/\xff\xff\xff".to_vec()]);
        keys.extend((0..255).map(|n| [b"/x/client/\xff".as_slice(), &[n]].concat()));
        let (all, ..) = read(&keys, b"/x/client/");
        assert_eq!(all.len(), 260);
        assert_eq!(read(&keys, b"/x/nobody/"), (Vec::new(), 0, 1));
        assert_eq!(read(&keys, b"/x/client/b").0, [b"/x/client/b"]);
    }
}
