//! Writes what the gateway has to tell: who is served here, what they have used, and what was signed.

use super::served::Written;
use super::{Evict, Shared, State, accounts};
use crate::etcd::StoreError;
use crate::ledger::Ledger;
use crate::quota::{Metered, today};
use crate::record::Serving;
use ropewalk_session::PublicKey;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How often what clients have used is written: so much is lost at most with a gateway.
const USAGE: Duration = Duration::from_secs(5);
/// Steps of one transaction; etcd takes 128.
pub(super) const BATCH: usize = 100;
/// Clients one by one between two looks at what is more urgent.
const SINGLES: usize = 50;

/// Works for ever.
pub(super) async fn work(shared: Arc<Shared>) {
    let mut ledger = shared.ledger();
    let mut usage_due = Instant::now();
    loop {
        let _ = timeout(Duration::from_millis(250), shared.work.notified()).await;
        let lease = shared.lease();
        if lease != 0 {
            let _ = serving(&shared, &mut ledger, lease).await;
        }
        let _ = leaving(&shared, &mut ledger).await;
        if Instant::now() >= usage_due && shared.lease() != 0 {
            write_usage(&shared, &mut ledger).await;
            accounts::write(&shared, &mut ledger).await;
            usage_due = Instant::now() + USAGE;
        }
    }
}

/// Tells who is served here.
async fn serving(shared: &Arc<Shared>, ledger: &mut Ledger, lease: i64) -> Result<(), StoreError> {
    let records = |some: Vec<(String, Vec<IpAddr>)>| -> Vec<(String, Serving)> {
        let one = |(name, inside)| (name, Serving { gateway: shared.name.clone(), inside });
        some.into_iter().map(one).collect()
    };
    let answered = |some: &[(String, Serving)], was, answer| {
        let moved = note(&mut shared.state(), &shared.name, some, was, answer);
        shared.evict(moved);
    };
    loop {
        let (fresh, until) = {
            let state = shared.state();
            (records(state.served.fresh(BATCH)), state.served.arrivals())
        };
        if fresh.is_empty() {
            break;
        }
        let revision = ledger.serve(&fresh, lease).await?;
        answered(&fresh, Written::Fresh, (revision, until));
    }
    let (gone, until) = {
        let state = shared.state();
        (records(state.served.gone(BATCH)), state.served.arrivals())
    };
    // After a lease has ended, nobody serves most of them.
    if gone.len() > 1
        && let Some(revision) = ledger.serve_unserved(&gone, lease).await?
    {
        answered(&gone, Written::Again, (revision, until));
    } else {
        for one in gone.iter().take(SINGLES) {
            let (name, serving) = one;
            match ledger.serve_on(name, serving, lease).await? {
                Some(revision) => answered(std::slice::from_ref(one), Written::Again, (revision, until)),
                None => {
                    let key = served_again(shared, name);
                    key.into_iter().for_each(|key| (shared.evict)(Evict::Elsewhere(key)));
                }
            }
        }
    }
    if gone.len() == BATCH {
        // The rest after what else there is to do.
        shared.work.notify_one();
    }
    Ok(())
}

/// The key of a client that is here and was to be written again.
fn served_again(shared: &Arc<Shared>, name: &str) -> Option<PublicKey> {
    let state = shared.state();
    state.served.get(name).filter(|mine| mine.written() == Written::Again).map(|mine| mine.key)
}

/// The store knows since `revision` who serves these; who came anew after `until` is to be written
/// yet. Returns who went on to another gateway, where the watch said so before the answer came.
fn note(
    state: &mut State,
    own: &str,
    all: &[(String, Serving)],
    was: Written,
    (revision, until): (i64, u64),
) -> Vec<Evict> {
    let mut moved = Vec::new();
    for (name, _) in all {
        if state.served.came_after(name, until) {
            // If it leaves before that, this record would stay.
            state.served.leave_behind(name.clone(), revision);
        } else {
            state.served.note(name, was, revision);
            moved.extend(elsewhere(state, own, name));
        }
    }
    moved
}

/// Whether another gateway wrote a client later than this one did.
fn elsewhere(state: &State, own: &str, name: &str) -> Option<Evict> {
    let mine = state.served.get(name)?;
    let (by, revision) = state.copy.server_of(name)?;
    let is_later = matches!(mine.written(), Written::At(written) if revision > written);
    (is_later && by != own).then_some(Evict::Elsewhere(mine.key))
}

/// Takes away what was written of some who left. Without the store, the lease ends it.
async fn leaving(shared: &Arc<Shared>, ledger: &mut Ledger) -> Result<(), StoreError> {
    let mut left = {
        let mut state = shared.state();
        let newest = |name: &str| state.copy.server_of(name).map_or(0, |(_, revision)| revision);
        let is_over = |(name, revision): &(String, i64)| newest(name) > *revision;
        let (over, left): (Vec<_>, Vec<_>) = state.served.left(BATCH).into_iter().partition(is_over);
        state.served.let_go(&over);
        left
    };
    if !left.is_empty() && !ledger.serve_no_more(&left).await? {
        // Another gateway serves one of them, and it is not known here yet.
        left.truncate(SINGLES);
        for one in &left {
            ledger.serve_no_more(std::slice::from_ref(one)).await?;
        }
    }
    if shared.state().served.let_go(&left) {
        // After what else there is to do.
        shared.work.notify_one();
    }
    Ok(())
}

/// Writes what was used. Totals are written, so that writing twice counts once.
pub(super) async fn write_usage(shared: &Arc<Shared>, ledger: &mut Ledger) {
    loop {
        let today = today();
        let batch: Vec<(String, Metered)> = {
            let mut state = shared.state();
            let state = &mut *state;
            let names: Vec<String> = state.used.keys().take(BATCH).cloned().collect();
            let total = |name: String| {
                let more = state.used.remove(&name).unwrap_or_default();
                let known = || state.copy.metered_at(&name, &shared.name);
                let total = state.totals.entry(name.clone()).or_insert_with(known);
                total.add(more, today);
                state.sum.iter_mut().for_each(|sum| sum.add(more));
                (name, *total)
            };
            names.into_iter().map(total).collect()
        };
        if batch.is_empty() {
            break;
        }
        if let Err(error) = ledger.write_usage(&shared.name, &batch).await {
            tracing::debug!(%error, "what clients have used is written later");
            let mut state = shared.state();
            for (name, _) in batch {
                state.used.entry(name).or_default();
            }
            return;
        }
    }
    let sum = shared.state().sum_to_write(&shared.name);
    if let Some(sum) = sum {
        match ledger.write_sum(&shared.name, sum).await {
            Ok(()) => shared.state().sum_written = Some(sum),
            Err(error) => tracing::debug!(%error, "what clients have used in all is written later"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::KeyValue;
    use crate::record::Keys;

    const ALICE: PublicKey = PublicKey([1; 32]);

    /// Alice, who has just come, and what is being written of it.
    fn arrived() -> (State, [(String, Serving); 1], u64) {
        let mut state = State::new();
        state.served.came("alice".into(), ALICE, Vec::new());
        let until = state.served.arrivals();
        (state, [("alice".into(), Serving { gateway: "a".into(), inside: Vec::new() })], until)
    }

    /// The watch says who serves her.
    fn say(state: &mut State, by: &str, revision: i64) {
        let value = format!(r#"{{"gateway":"{by}","inside":[]}}"#).into_bytes();
        let kv = KeyValue { key: "/x/serving/alice".into(), value, revision, lease: 0 };
        state.copy.take(&Keys("/x/".into()), &kv);
    }

    #[test]
    fn who_went_on_to_another_gateway_before_the_answer_came_goes() {
        let (mut state, alice, until) = arrived();
        say(&mut state, "b", 11);
        assert_eq!(note(&mut state, "a", &alice, Written::Fresh, (10, until)), [Evict::Elsewhere(ALICE)]);
        // What the other wrote before, and what this one wrote, is no news.
        for (by, revision) in [("b", 9), ("a", 10)] {
            let (mut state, alice, until) = arrived();
            say(&mut state, by, revision);
            assert_eq!(note(&mut state, "a", &alice, Written::Fresh, (10, until)), []);
            assert!(state.served.fresh(9).is_empty(), "it is written");
        }
    }

    #[test]
    fn who_came_back_before_the_answer_came_is_written_again() {
        let (mut state, alice, until) = arrived();
        say(&mut state, "b", 11);
        state.served.went(&ALICE, Some("alice"));
        state.served.came("alice".into(), ALICE, Vec::new());
        assert_eq!(note(&mut state, "a", &alice, Written::Fresh, (10, until)), [], "she is here");
        assert_eq!(state.served.fresh(9).len(), 1, "and the store is to know");
        let until = state.served.arrivals();
        assert_eq!(note(&mut state, "a", &alice, Written::Fresh, (12, until)), []);
        assert!(state.served.fresh(9).is_empty() && state.served.left(9).is_empty());
    }

    #[test]
    fn who_came_back_and_left_before_that_was_written_leaves_no_record_behind() {
        let (mut state, alice, until) = arrived();
        state.served.went(&ALICE, Some("alice"));
        state.served.came("alice".into(), ALICE, Vec::new());
        assert_eq!(note(&mut state, "a", &alice, Written::Fresh, (10, until)), []);
        state.served.went(&ALICE, Some("alice"));
        assert_eq!(state.served.left(9), [("alice".into(), 10)]);
    }
}
