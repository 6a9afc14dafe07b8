//! How fast sessions are on this machine: handshakes per second of one gateway core, and sealing in Gb/s.
//!
//! `taskset -c 1 cargo run --release -p ropewalk-session --example session_speed`

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_chacha::{ChaCha12Rng, rand_core::SeedableRng};
use ropewalk_session::{
    Accept, Backlog, Cipher, CipherSet, ClientHello, Extensions, Index, Initiator, Inner, InviteId,
    InviteSecret, Opener, Outcome, Responder, ResponderConfig, Sealer, SessionId, StaticKey, TAG_LEN,
    Verdict,
};
use ropewalk_time::Time;

const ROUNDS: usize = 7;

struct Ends {
    rng: ChaCha12Rng,
    client: StaticKey,
    gateway: StaticKey,
    responder: Responder,
}

impl Ends {
    fn new(handshakes_per_second: u32) -> Ends {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let client = StaticKey::generate(&mut rng).expect("memory");
        let gateway = StaticKey::generate(&mut rng).expect("memory");
        let config = ResponderConfig {
            handshakes_per_second,
            burst: handshakes_per_second,
            ..ResponderConfig::default()
        };
        let responder = Responder::new(&mut rng, gateway.clone(), &config, Time::ZERO);
        Ends { rng, client, gateway, responder }
    }

    fn start(&mut self, index: u32) -> Initiator {
        let hello = ClientHello {
            ciphers: CipherSet::BOTH,
            tun_mtu: 1400,
            resume: None,
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            extensions: Extensions::default(),
        };
        let (gateway, index) = (self.gateway.public(), Index::new(index).expect("24 bits"));
        Initiator::start(&mut self.rng, &self.client, &gateway, index, &hello, None, Time::ZERO)
            .expect("good keys")
    }

    fn handle(&mut self, datagram: &[u8]) -> Verdict {
        let from = ([192, 0, 2, 1], 40_000).into();
        self.responder.handle(&mut self.rng, datagram, from, Backlog::default(), Time::ZERO)
    }

    fn answer(&mut self, datagram: &[u8], cipher: Cipher) -> (Vec<u8>, (Sealer, Opener)) {
        let accept = Accept {
            session: SessionId::MIN,
            cipher,
            tun_mtu: 1400,
            ipv4: Inner { client: [10, 77, 0, 2].into(), gateway: [10, 77, 0, 1].into(), prefix: 24 },
            ipv6: None,
            extensions: Extensions::default(),
        };
        let Verdict::Read(reading) = self.handle(datagram) else { panic!("the gateway is not under load") };
        // Each round handles the same INITs again.
        self.responder.forget(reading.tag());
        let incoming = reading.run().expect("a good INIT");
        let (response, keys) = incoming.accept(accept, Index::default()).expect("a good hello");
        (response, keys.into_ends())
    }
}

/// The shortest time of several rounds, for one of the `count` things a round does.
fn time(count: u32, mut round: impl FnMut()) -> Duration {
    let one = |_| {
        let start = Instant::now();
        round();
        start.elapsed() / count
    };
    (0..ROUNDS).map(one).min().expect("there are rounds")
}

fn handshakes() {
    const COUNT: u32 = 2000;
    let mut ends = Ends::new(1_000_000_000);
    let start = time(COUNT, || (0..COUNT).for_each(|i| drop(black_box(ends.start(i)))));
    let inits: Vec<_> = (0..COUNT).map(|i| ends.start(i).datagram().to_vec()).collect();
    let answer =
        time(COUNT, || inits.iter().for_each(|init| drop(black_box(ends.answer(init, Cipher::Aes128Gcm)))));
    let mut loaded = Ends::new(1);
    loaded.handle(&inits[0]);
    let init = loaded.start(1).datagram().to_vec();
    loaded.handle(&init);
    let cookie = time(COUNT, || (0..COUNT).for_each(|_| drop(black_box(loaded.handle(&init)))));
    let mut damaged = init.clone();
    damaged[50] ^= 1;
    let dropped = time(COUNT, || (0..COUNT).for_each(|_| drop(black_box(loaded.handle(&damaged)))));
    println!("client, INIT                {start:>10.1?}");
    println!("gateway, INIT to RESPONSE   {answer:>10.1?}   {:.0} per second", 1.0 / answer.as_secs_f64());
    println!("gateway, COOKIE under load  {cookie:>10.1?}");
    println!("gateway, drop at mac1       {dropped:>10.1?}");
}

fn sealing(cipher: Cipher, size: usize) {
    const COUNT: u64 = 50_000;
    let mut ends = Ends::new(1_000_000_000);
    let mut initiator = ends.start(1);
    let (response, (_, opener)) = ends.answer(initiator.datagram(), cipher);
    let Ok(Outcome::Accepted(_, keys)) = initiator.finish(&response) else { panic!("the gateway said yes") };
    let (sealer, _) = keys.into_ends();
    let (aad, text) = ([1; 8], vec![7; size]);
    let (mut sealed, mut opened) = (vec![0; size + TAG_LEN], vec![0; size]);
    let seal = time(COUNT as u32, || {
        (0..COUNT).for_each(|pn| sealer.seal(1, pn, &aad, &mut sealed).expect("room for the tag"));
    });
    sealer.seal_into(1, 0, &aad, &text, &mut sealed).expect("room for the tag");
    let open = time(COUNT as u32, || {
        (0..COUNT).for_each(|_| opener.open_into(1, 0, &aad, &sealed, &mut opened).expect("a good packet"));
    });
    let rate = |time: Duration| size as f64 * 8.0 / time.as_nanos() as f64;
    println!(
        "{:18} {size:6} B   seal {seal:>8.1?} {:5.1} Gb/s   open {open:>8.1?} {:5.1} Gb/s",
        cipher.name(),
        rate(seal),
        rate(open)
    );
}

fn main() {
    handshakes();
    let best = CipherSet::of_this_cpu().choose(CipherSet::BOTH);
    println!("this CPU is fastest at {}", best.name());
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        for size in [100, 576, 1440, 9000] {
            sealing(cipher, size);
        }
    }
}
