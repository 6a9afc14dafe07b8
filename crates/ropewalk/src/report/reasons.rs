//! Why a TCP proxy left a connection alone, or reset it: words that status and metrics have.

use ropewalk_pep::{Bypass, Why};
use std::collections::BTreeMap;

/// Why a connection is left alone.
pub(crate) fn bypass(why: Bypass) -> &'static str {
    match why {
        Bypass::NoHandshake => "no-handshake",
        Bypass::Authentication => "tcp-ao",
        Bypass::Md5 => "md5",
        Bypass::Mptcp => "mptcp",
        Bypass::FastOpen => "fast-open",
    }
}

/// Why both ends of a connection were reset.
pub(crate) fn reset(why: Why) -> &'static str {
    match why {
        Why::Orphaned => "orphaned",
        Why::Undelivered => "undelivered",
        Why::ReceiverSilent => "receiver-silent",
        Why::ByAnEnd => "by-an-end",
    }
}

/// Counters by the words of their reasons.
pub(crate) fn named<R: Copy>(
    counts: &BTreeMap<R, u64>,
    word: fn(R) -> &'static str,
) -> BTreeMap<String, u64> {
    counts.iter().map(|(why, n)| (word(*why).to_owned(), *n)).collect()
}

/// For people, after a word of what was done: ` 0`, or the reasons.
pub(crate) fn words(counts: &BTreeMap<String, u64>) -> String {
    match counts.is_empty() {
        true => " 0".to_owned(),
        false => counts.iter().map(|(why, n)| format!(" {why} {n}")).collect::<Vec<_>>().join(","),
    }
}
