//! What a fleet of many clients costs its store and a gateway: `cargo run --release -p
//! ropewalk-fleet --example scale -- etcd://127.0.0.1:2379/scale 10000`
//!
//! Invites clients into an empty prefix of a running etcd and lets them come, and says how long a
//! gateway takes to join, what its copy costs, and what a claim costs then. Times depend on the
//! machine and on etcd's disk; memory does not.

use ropewalk_fleet::pool::Pool;
use ropewalk_fleet::{Etcd, Join, Ledger, Member, StoreAddress};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, StaticKey};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb =
        status.lines().find_map(|l| l.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse::<u64>().ok());
    kb.unwrap_or(0) / 1024
}

fn bytes<const N: usize>(n: u32) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// Clients that are invited and come at the same time.
const LANES: u32 = 8;

/// Invites these clients, and lets their devices come.
fn come(
    address: &StoreAddress,
    pool: Pool,
    clients: impl Iterator<Item = u32>,
) -> Result<(), Box<dyn Error>> {
    let mut ledger = Ledger::new(&Etcd::new(address, None)?, &address.prefix);
    let first = u32::from(Ipv4Addr::new(10, 0, 0, 2));
    ropewalk_fleet::block_on(async {
        for n in clients {
            let (id, secret) = (InviteId(bytes(n)), InviteSecret(bytes(n)));
            ledger.invite(&format!("client{n}"), id, &secret).await?;
            // Each takes an address of its own at once, as a gateway whose copy is true does.
            let free = |_: &BTreeSet<IpAddr>| Some((Ipv4Addr::from(first + n), None));
            let claimed = ledger.claim(&pool, free, &PublicKey(bytes(n)), (id, &secret)).await;
            claimed.map_err(|e| std::io::Error::other(e.to_string()))?;
        }
        Ok::<_, ropewalk_fleet::LedgerError>(())
    })?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let address: StoreAddress = args.next().ok_or("give a store: etcd://HOST:PORT/PREFIX")?.parse()?;
    let count: u32 = args.next().unwrap_or_else(|| "10000".into()).parse()?;
    let pool = Pool::new(&["10.0.0.1/8".parse()?])?;
    let begun = Instant::now();
    std::thread::scope(|s| {
        let of = |lane: u32| (lane..count).step_by(LANES as usize);
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                s.spawn({
                    let address = address.clone();
                    move || come(&address, pool, of(lane)).map_err(|e| e.to_string())
                })
            })
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().map_err(|_| "a thread failed".to_owned())?)
    })?;
    println!("{count} clients invited and come in {:.1} s, {LANES} at a time", begun.elapsed().as_secs_f64());
    let (before, begun) = (resident_mb(), Instant::now());
    let join = Join {
        address,
        tls: None,
        name: "scale".into(),
        instance: "scale".into(),
        pool,
        new_key: StaticKey::generate(&mut rand::rng())?,
        evict: Box::new(|_| {}),
    };
    let (member, _) = Member::join(join)?;
    let (joined, held) = (begun.elapsed(), resident_mb());
    println!(
        "a gateway joined in {:.1} s; its copy holds {} MB more than the {before} MB before",
        joined.as_secs_f64(),
        held - before
    );
    member.start(ropewalk_fleet::Reach::default())?;
    let begun = Instant::now();
    for n in 0..10_000 {
        let key = PublicKey(bytes(n % count));
        let hello = (InviteId(bytes(n % count)), &InviteSecret(bytes(n % count)));
        if !member.is_ready(&key, hello) || member.admit(&key, hello).is_err() {
            return Err("a client that is there is not known".into());
        }
    }
    println!("a known client is admitted in {:.1} µs", begun.elapsed().as_secs_f64() * 100.0);
    let (id, secret) = (InviteId([255; 16]), InviteSecret([255; 16]));
    member.invite("newcomer", id, &secret)?;
    let begun = Instant::now();
    while !member.is_ready(&PublicKey([255; 32]), (id, &secret)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("a new one in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
