//! Clients that are served here, and what of it the store does not know yet.

use ropewalk_session::PublicKey;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

/// A client that is served here.
#[derive(Clone, Debug)]
pub(super) struct Mine {
    pub key: PublicKey,
    pub inside: Vec<IpAddr>,
    written: Written,
    /// Tells this arrival from earlier ones.
    arrival: u64,
}

impl Mine {
    pub(super) fn written(&self) -> Written {
        self.written
    }
}

/// Whether the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It came just now, so it is here whatever the store says.
    Fresh,
    /// It was here when the record went: it is, unless another gateway says otherwise.
    Again,
    /// Since that revision.
    At(i64),
}

/// All of them by name. What is to be written is found without a look at the others.
#[derive(Debug, Default)]
pub(super) struct Served {
    all: BTreeMap<String, Mine>,
    fresh: BTreeSet<String>,
    again: BTreeSet<String>,
    /// No longer served here, with the last revision that said they were.
    left: BTreeMap<String, i64>,
    arrivals: u64,
}

impl Served {
    pub(super) fn came(&mut self, name: String, key: PublicKey, inside: Vec<IpAddr>) {
        self.arrivals += 1;
        let (written, arrival) = (Written::Fresh, self.arrivals);
        self.all.insert(name.clone(), Mine { key, inside, written, arrival });
        self.mark(&name, Written::Fresh);
    }

    /// How often somebody came so far.
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// A client is here that came after so many arrivals.
    pub(super) fn came_after(&self, name: &str, arrivals: u64) -> bool {
        self.all.get(name).is_some_and(|mine| mine.arrival > arrivals)
    }

    /// A device is here no more, known by this name or by one that it had before. Returns by which
    /// it was here.
    pub(super) fn went(&mut self, key: &PublicKey, name: Option<&str>) -> Option<String> {
        let is_it = |name: &&str| self.all.get(*name).is_some_and(|mine| mine.key == *key);
        let searched = || self.all.iter().find(|(_, mine)| mine.key == *key).map(|(name, _)| name.as_str());
        let name = name.filter(is_it).or_else(searched).map(str::to_owned)?;
        self.fresh.remove(&name);
        self.again.remove(&name);
        if let Some(Mine { written: Written::At(revision), .. }) = self.all.remove(&name) {
            self.left.insert(name.clone(), revision);
        }
        Some(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Mine> {
        self.all.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Mine)> {
        self.all.iter().map(|(name, mine)| (name.as_str(), mine))
    }

    /// Names after this one.
    pub(super) fn after(&self, name: Option<&str>) -> impl Iterator<Item = &str> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        self.all.range::<str, _>((from, Bound::Unbounded)).map(|(name, _)| name.as_str())
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// What the store knows of a client has changed.
    pub(super) fn mark(&mut self, name: &str, written: Written) {
        let Some(mine) = self.all.get_mut(name) else { return };
        mine.written = written;
        self.fresh.remove(name);
        self.again.remove(name);
        match written {
            Written::Fresh => drop(self.fresh.insert(name.to_owned())),
            Written::Again => drop(self.again.insert(name.to_owned())),
            // What was written before is written over.
            Written::At(_) => drop(self.left.remove(name)),
        }
    }

    /// The store knows since `revision` who serves a client that was to be written. If it has gone
    /// meanwhile, the record goes, too.
    pub(super) fn note(&mut self, name: &str, was: Written, revision: i64) {
        match self.all.get(name).map(Mine::written) {
            Some(written) if written == was => self.mark(name, Written::At(revision)),
            Some(_) => {}
            None => self.leave_behind(name.to_owned(), revision),
        }
    }

    /// Records that are in the store went, or will: they are to be written again.
    pub(super) fn again(&mut self) {
        for (name, mine) in self.all.iter_mut().filter(|(_, m)| matches!(m.written, Written::At(_))) {
            mine.written = Written::Again;
            self.again.insert(name.clone());
        }
    }

    /// The store is another, and nobody has written into it who is here, nor who left.
    pub(super) fn anew(&mut self) {
        self.all.values_mut().for_each(|mine| mine.written = Written::Fresh);
        self.fresh = self.all.keys().cloned().collect();
        self.again.clear();
        self.left.clear();
    }

    /// The store says since `revision` that a client is here. If it is not, that is to go.
    pub(super) fn said_to_be_here(&mut self, name: String, revision: i64) {
        if !self.all.contains_key(&name) {
            self.leave_behind(name, revision);
        }
    }

    /// What was written of a client at `revision` is to go, unless more is written of it here first.
    pub(super) fn leave_behind(&mut self, name: String, revision: i64) {
        let last = self.left.entry(name).or_insert(revision);
        *last = revision.max(*last);
    }

    /// Some who came just now, and are to be written.
    pub(super) fn fresh(&self, most: usize) -> Vec<(String, Vec<IpAddr>)> {
        self.some(&self.fresh, most)
    }

    /// Some whose record went, and who are to be written.
    pub(super) fn gone(&self, most: usize) -> Vec<(String, Vec<IpAddr>)> {
        self.some(&self.again, most)
    }

    fn some(&self, of: &BTreeSet<String>, most: usize) -> Vec<(String, Vec<IpAddr>)> {
        let one = |name: &String| Some((name.clone(), self.all.get(name)?.inside.clone()));
        of.iter().take(most).filter_map(one).collect()
    }

    /// Some who left, and whose records are to go.
    pub(super) fn left(&self, most: usize) -> Vec<(String, i64)> {
        self.left.iter().take(most).map(|(name, revision)| (name.clone(), *revision)).collect()
    }

    /// Their records are gone, or another gateway's. Says whether there are more who left.
    pub(super) fn let_go(&mut self, some: &[(String, i64)]) -> bool {
        for (name, revision) in some {
            if self.left.get(name) == Some(revision) {
                self.left.remove(name);
            }
        }
        !self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> PublicKey {
        PublicKey([n; 32])
    }

    fn served() -> Served {
        let mut served = Served::default();
        for (n, name) in [(1, "a"), (2, "b"), (3, "c")] {
            served.came(name.into(), key(n), Vec::new());
        }
        served
    }

    fn names(some: Vec<(String, Vec<IpAddr>)>) -> String {
        some.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_is_to_be_written_is_known_through_all_changes() {
        let mut served = served();
        assert_eq!(names(served.fresh(2)), "ab", "some at a time");
        ["a", "b", "c"].iter().for_each(|name| served.note(name, Written::Fresh, 5));
        assert!(served.fresh(9).is_empty() && served.gone(9).is_empty());
        served.mark("b", Written::Again);
        assert_eq!(names(served.gone(9)), "b");
        served.came("b".into(), key(2), Vec::new());
        served.note("b", Written::Again, 6);
        assert_eq!((names(served.fresh(9)), names(served.gone(9))), ("b".into(), String::new()), "newer");
        served.again();
        assert_eq!((names(served.fresh(9)), names(served.gone(9))), ("b".into(), "ac".into()));
        served.anew();
        assert_eq!((names(served.fresh(9)), served.gone(9).len()), ("abc".into(), 0));
    }

    #[test]
    fn who_left_takes_the_record_along_even_if_it_is_written_late() {
        let mut served = served();
        served.note("a", Written::Fresh, 5);
        assert_eq!(served.went(&key(1), Some("a")).as_deref(), Some("a"));
        assert_eq!(served.went(&key(2), Some("another")).as_deref(), Some("b"));
        assert_eq!(served.went(&key(1), Some("a")), None);
        served.note("b", Written::Fresh, 6);
        assert_eq!(served.left(9), [("a".into(), 5), ("b".into(), 6)]);
        assert!(served.let_go(&[("b".into(), 5), ("a".into(), 5)]), "b's record is a newer one");
        assert!(served.left(9) == [("b".into(), 6)] && names(served.fresh(9)) == "c" && served.len() == 1);
    }

    #[test]
    fn a_record_of_who_left_before_its_answer_came_goes() {
        let mut served = served();
        served.went(&key(1), Some("a"));
        assert!(served.left(9).is_empty(), "as far as is known nothing was written");
        ["a", "b"].into_iter().for_each(|name| served.said_to_be_here(name.into(), 7));
        assert_eq!(served.left(9), [("a".into(), 7)], "b is here");
        served.said_to_be_here("a".into(), 6);
        assert_eq!(served.left(9), [("a".into(), 7)], "the watch may be behind");
    }

    #[test]
    fn who_comes_and_goes_while_the_store_is_gone_leaves_one_record_behind() {
        let mut served = served();
        for revision in 5..100 {
            served.note("a", Written::Fresh, revision);
            served.went(&key(1), Some("a"));
            served.came("a".into(), key(1), Vec::new());
        }
        assert_eq!(served.left(9), [("a".into(), 99)]);
        served.note("a", Written::Fresh, 100);
        assert!(served.left(9).is_empty(), "it is served here: nothing is to go");
    }
}
