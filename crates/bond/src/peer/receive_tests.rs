use super::*;
use crate::vnet::Vnet;
use etherparse::PacketBuilder;
use ropewalk_session::PublicKey;

const OWN: [u8; 4] = [10, 77, 0, 2];
const FOREIGN: [u8; 4] = [10, 99, 0, 9];

/// A client of device 3 that may send from [`OWN`] alone.
fn client(shared: &mut Shared) -> Peer {
    let owner = shared.store.add_owner();
    let mut peer = Peer::new(PublicKey([1; 32]), false, 3, owner, &shared.config, Time::ZERO);
    peer.inside.set_client([OWN.into()]);
    peer
}

/// A packet from this address, in packet memory.
fn packet(shared: &mut Shared, from: [u8; 4]) -> Delivery {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4(from, [192, 0, 2, 1], 64).udp(1, 80).write(&mut bytes, &[0; 40]).unwrap();
    let buf = shared.store.pool.alloc(bytes.len()).unwrap();
    shared.store.pool.bytes_mut(buf)[..bytes.len()].copy_from_slice(&bytes);
    Delivery { buf, len: bytes.len() as u32, vnet: Vnet::default(), device: 0, low_latency: false }
}

#[test]
fn what_may_go_on_keeps_its_order() {
    let mut shared = Shared::for_tests(Config::default());
    let mut peer = client(&mut shared);
    for n in 0..9 {
        let d = packet(&mut shared, if n % 3 == 0 { FOREIGN } else { OWN });
        let vnet = Vnet { hdr_len: n, ..d.vnet };
        shared.deliveries.push_back(Delivery { vnet, ..d });
    }
    peer.inspect(1, Time::ZERO, &mut shared);
    let left: Vec<(u16, u32)> = shared.deliveries.iter().map(|d| (d.vnet.hdr_len, d.device)).collect();
    assert_eq!(left, [(0, 0), (1, 3), (2, 3), (4, 3), (5, 3), (7, 3), (8, 3)], "the first is another's");
    assert_eq!(shared.drops.inner, 2);
}

/// All that stays behind a packet was moved for each one that goes, which took a minute.
#[test]
fn packets_that_go_cost_one_pass_over_those_that_stay() {
    const STAY: usize = 600_000;
    const GO: usize = 12_000;
    let mut shared = Shared::for_tests(Config::default());
    let mut peer = client(&mut shared);
    // Nobody frees those that stay: they share a buffer.
    let own = packet(&mut shared, OWN);
    shared.deliveries.extend(core::iter::repeat_n(own, STAY));
    for _ in 0..GO {
        let foreign = packet(&mut shared, FOREIGN);
        shared.deliveries.push_back(foreign);
    }
    shared.deliveries.extend(core::iter::repeat_n(own, STAY));
    peer.inspect(0, Time::ZERO, &mut shared);
    assert_eq!((shared.deliveries.len(), shared.drops.inner), (2 * STAY, GO as u64));
}
