//! Many gateways let devices in at once, while nodes of etcd die: each invite lets one device in,
//! each address is one client's. What they did and when is recorded, and a checker looks for an
//! order in which one store could have done it.

use crate::common::{Cluster, has_etcd};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use ropewalk_fleet::pool::Pool;
use ropewalk_fleet::{ClaimError, Copy};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const GATEWAYS: u8 = 6;
const INVITES: u8 = 30;

/// A claim as its gateway saw it.
#[derive(Clone, Debug)]
struct Record {
    invite: u8,
    device: PublicKey,
    begun: Duration,
    ended: Duration,
    outcome: Result<Ipv4Addr, Refusal>,
}

fn secret(n: u8) -> InviteSecret {
    InviteSecret([n; 16])
}

fn pool() -> Pool {
    Pool::new(&["10.77.0.1/24".parse().unwrap()]).unwrap()
}

/// What is wrong with a history, if anything.
///
/// An invite is a register that is written once. So all who got in by it are one device; who was
/// refused because another had it had another begin before; who begins after somebody got in is
/// refused, or is that device; and all answers to one device name one address, which no other
/// device is given.
fn check(history: &[Record]) -> Result<(), String> {
    let mut of_invite = BTreeMap::<u8, Vec<&Record>>::new();
    history.iter().for_each(|r| of_invite.entry(r.invite).or_default().push(r));
    let mut holders = BTreeMap::<Ipv4Addr, PublicKey>::new();
    for (invite, records) in of_invite {
        let in_by_it: Vec<&&Record> = records.iter().filter(|r| r.outcome.is_ok()).collect();
        let Some(first) = in_by_it.first() else { return Err(format!("invite {invite}: nobody got in")) };
        for r in &in_by_it {
            if (r.device, r.outcome) != (first.device, first.outcome) {
                return Err(format!("invite {invite}: {first:?} and {r:?} both got in"));
            }
        }
        for r in records.iter().filter(|r| r.outcome.is_err()) {
            if r.outcome != Err(Refusal::TokenInUse) {
                return Err(format!("invite {invite}: {r:?}"));
            }
            let earliest = in_by_it.iter().map(|r| r.begun).min().unwrap_or_default();
            if r.device == first.device || r.ended < earliest {
                return Err(format!("invite {invite}: {r:?} was refused before anybody got in"));
            }
        }
        let address = first.outcome.map_err(|e| e.to_string())?;
        if let Some(other) = holders.insert(address, first.device) {
            return Err(format!("{address} is of {other} and of {}", first.device));
        }
    }
    Ok(())
}

/// Gateway `g` shows each invite with a device of its own, and some of them again.
fn gateway(cluster: &Cluster, g: u8, clock: Instant, ready: &Barrier) -> Vec<Record> {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(g));
    let mut order: Vec<u8> = (0..INVITES).chain(0..INVITES / 3).collect();
    order.shuffle(&mut rng);
    ready.wait();
    let mut ledger = cluster.ledger(usize::from(g) % 3, None);
    let mut history = Vec::new();
    ropewalk_fleet::block_on::<(), std::io::Error>(async {
        for invite in order {
            let device = PublicKey([[g + 1; 16], [invite + 1; 16]].concat().try_into().unwrap());
            let begun = clock.elapsed();
            let until = Instant::now() + crate::common::LIMIT;
            let outcome = loop {
                let hello = secret(invite);
                // It believes that nothing is taken, so that it meets the others.
                let nothing = Copy::default();
                let free = |tried: &BTreeSet<IpAddr>| nothing.free(&pool(), 0, |a| tried.contains(&a));
                match ledger.claim(&pool(), free, &device, (InviteId([invite; 16]), &hello)).await {
                    Ok(claimed) => break Ok(claimed.record.ipv4.unwrap()),
                    Err(ClaimError::Refused(refusal)) => break Err(refusal),
                    Err(ClaimError::Store(error)) => assert!(Instant::now() < until, "{error}"),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            history.push(Record { invite, device, begun, ended: clock.elapsed(), outcome });
        }
        Ok(())
    })
    .unwrap();
    history
}

#[test]
fn each_invite_and_each_address_is_given_once_while_a_node_dies() {
    if !has_etcd() {
        return;
    }
    let mut cluster = Cluster::start(3);
    let mut ledger = cluster.ledger(0, None);
    ropewalk_fleet::block_on(async {
        for n in 0..INVITES {
            ledger.invite(&format!("client{n}"), InviteId([n; 16]), &secret(n)).await?;
        }
        Ok::<_, ropewalk_fleet::LedgerError>(())
    })
    .unwrap();
    let (clock, ready) = (Instant::now(), Barrier::new(usize::from(GATEWAYS) + 1));
    let mut killed = None;
    let history: Vec<Record> = std::thread::scope(|s| {
        let (all, ready) = (&cluster, &ready);
        let gateways: Vec<_> =
            (0..GATEWAYS).map(|g| s.spawn(move || gateway(all, g, clock, ready))).collect();
        ready.wait();
        std::thread::sleep(Duration::from_millis(200));
        cluster.hold(1);
        killed = Some(clock.elapsed());
        gateways.into_iter().flat_map(|g| g.join().unwrap()).collect()
    });
    let after = history.iter().filter(|r| Some(r.ended) > killed).count();
    println!(
        "{} claims in {:?}, {after} of them ended after a node was lost",
        history.len(),
        clock.elapsed()
    );
    assert!(after > 0, "the node was lost too late to matter");
    cluster.kill(1);
    if let Err(wrong) = check(&history) {
        panic!("{wrong}");
    }
    // What the store says in the end is what the gateways were told.
    let copy = ropewalk_fleet::block_on(cluster.ledger(2, None).read()).unwrap();
    let in_store: BTreeMap<Ipv4Addr, PublicKey> =
        copy.clients().map(|(_, c)| (c.ipv4.unwrap(), c.key.unwrap())).collect();
    let told: BTreeMap<Ipv4Addr, PublicKey> =
        history.iter().filter_map(|r| Some((r.outcome.ok()?, r.device))).collect();
    assert_eq!(in_store, told);
    assert_eq!(told.len(), usize::from(INVITES));
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let ms = Duration::from_millis;
    let record = |invite, device: u8, begun, ended, outcome| Record {
        invite,
        device: PublicKey([device; 32]),
        begun: ms(begun),
        ended: ms(ended),
        outcome,
    };
    let (a, b) = (Ipv4Addr::new(10, 77, 0, 2), Ipv4Addr::new(10, 77, 0, 3));
    let taken = Err(Refusal::TokenInUse);
    let right = [
        record(0, 1, 0, 9, Ok(a)),
        record(0, 2, 1, 5, taken),
        record(1, 3, 0, 5, Ok(b)),
        record(0, 1, 20, 30, Ok(a)),
    ];
    assert_eq!(check(&right), Ok(()));
    for (wrong, why) in [
        (record(0, 2, 10, 20, Ok(b)), "two devices by one invite"),
        (record(2, 4, 10, 20, Ok(b)), "one address for two"),
        (record(0, 1, 10, 20, Ok(b)), "another address than before"),
        (record(0, 1, 10, 20, taken), "its own device is refused"),
        (record(3, 4, 0, 5, taken), "refused, and nobody got in"),
        (record(0, 2, 10, 20, Err(Refusal::UnknownInvite)), "an invite that is there is unknown"),
    ] {
        let history: Vec<Record> = right.iter().cloned().chain([wrong]).collect();
        assert!(check(&history).is_err(), "{why}");
    }
    let early = [record(0, 2, 0, 1, taken), record(0, 1, 5, 9, Ok(a))];
    assert!(check(&early).is_err(), "refused before anybody began");
}
