use super::*;
use crate::api::PathSpec;
use crate::config::Config;
use crate::path::Route;
use ropewalk_session::PublicKey;

/// A client that leaves a datagram unanswered, answered later and later before, and makes the
/// gateway acknowledge.
#[test]
fn what_leaves_while_a_peer_owes_an_answer_is_recorded_within_bounds() {
    const LIMIT: usize = 16;
    let mut now = Time::from_secs(10);
    let mut shared = Shared::for_tests(Config { in_flight: LIMIT, ..Config::default() });
    let owner = shared.store.add_owner();
    let mut peer = Peer::new(PublicKey([1; 32]), false, 0, owner, &shared.config, now);
    let route = Route { link: 0, remote: "192.0.2.7:40000".parse().unwrap(), local: None };
    let spec = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
    let id = peer.add_path(spec, &shared.config).expect("the first path");
    let path = &mut peer.paths[id];
    path.live.on_validated(now);
    path.rtt.on_sample(now, Duration::from_secs(1000));
    path.on_sent(now, 100, true, &[], None);
    let mut most = 0;
    for _ in 0..100 * LIMIT {
        now += Duration::from_millis(1);
        peer.paths[id].on_sent(now, 60, false, &[], None);
        peer.on_timers(now, &mut shared);
        most = most.max(peer.paths[id].sent.recorded());
    }
    assert!(most <= 2 * LIMIT, "{most}");
    assert_eq!(peer.paths[id].live.state, State::Active);
}
