//! A backhaul whose control loop dies: the repeater's words on its clients' queue stop coming. Two
//! engines over simulated links; the second link is on the clients' channel.

use ropewalk_air::wired::{LinkSpec, Loss};
use ropewalk_bond::api::Input;
use ropewalk_bond::backhaul::BackhaulStatus;
use ropewalk_bond::backhaul::limiter;
use ropewalk_bond::config::Config;
use ropewalk_bond::feedback::LinkState;
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::vnet::Vnet;
use ropewalk_cc::Algorithm;
use ropewalk_tests::pair::{End, Pair, number, udp};
use ropewalk_time::Duration;

const PRIVATE: usize = 0;
const SHARED: usize = 1;
const GAP: Duration = Duration::from_millis(1);

/// An access point (the gateway) that always has something for a repeater (the client).
struct BackhaulEnd {
    pair: Pair,
    sent: u32,
    drained: u64,
}

impl BackhaulEnd {
    fn new(kind: limiter::Kind) -> BackhaulEnd {
        BackhaulEnd::over([(); 2].map(|()| LinkSpec::new(30.0, Duration::from_millis(1))), kind)
    }

    fn over(links: [LinkSpec; 2], kind: limiter::Kind) -> BackhaulEnd {
        let config = Config {
            scheduler: Kind::Backpressure,
            congestion: Algorithm::None,
            limiter: limiter::Config { kind, ..limiter::Config::default() },
            ..Config::default()
        };
        let mut pair = Pair::new(&links, config, 7);
        pair.run_for(Duration::from_millis(500));
        pair.client.set_shared(SHARED as u8, true);
        BackhaulEnd { pair, sent: 0, drained: 0 }
    }

    /// A packet of 1200 bytes each millisecond. `reads`: the repeater can read the queue towards its client, which is empty.
    fn run(&mut self, ms: u32, reads: bool) {
        for _ in 0..ms {
            let packet = udp(End::Gateway, 4000, self.sent, 1200);
            self.pair.device(End::Gateway, &packet, Vnet::default());
            self.sent += 1;
            if reads {
                self.drained += 1;
                let state = LinkState { epoch: 1, delivered: self.drained, ..LinkState::default() };
                self.pair.client.handle(Input::ClientQueue { client: 1, state }, self.pair.now);
                self.pair.poll(End::Client);
            }
            self.pair.run_for(GAP);
        }
    }

    fn numbers(&self) -> Vec<u32> {
        self.pair.at_client.iter().map(|(_, p, _)| number(p)).collect()
    }

    fn word(&self) -> BackhaulStatus {
        self.pair.gateway.status(self.pair.now).peers[0].backhaul.expect("the repeater has spoken")
    }

    /// Bytes that the access point has sent over a path.
    fn carried(&self, path: usize) -> u64 {
        let status = self.pair.gateway.status(self.pair.now);
        let path = status.peers[0].paths.iter().find(|p| usize::from(p.id) == path);
        path.expect("the gateway knows it").traffic.sent_bytes
    }
}

#[test]
fn when_the_repeater_falls_silent_what_is_left_carries() {
    for kind in [limiter::Kind::Mimd, limiter::Kind::Balance] {
        let mut backhaul = BackhaulEnd::new(kind);
        backhaul.run(3000, true);
        assert!(backhaul.carried(SHARED) > 100_000, "{kind:?}: both links carry");
        backhaul.run(8000, false);
        let word = backhaul.word();
        assert_eq!(word.limiter.map(|t| t.1), Some(limiter::Allowance::Blocked), "{kind:?}");
        assert!(word.received.silences > 0, "{kind:?}: and counted");
        let before = backhaul.carried(SHARED);
        backhaul.run(1000, false);
        assert!(
            backhaul.carried(SHARED) - before < 20_000,
            "{kind:?}: nothing but control on the shared link"
        );
        let sent = backhaul.sent;
        backhaul.pair.run_for(Duration::from_millis(200));
        assert_eq!(backhaul.numbers(), (0..sent).collect::<Vec<_>>(), "{kind:?}: all of it, in order");
        // The dedicated radio goes, too: nobody knows how the clients fare, but nothing else is
        // left to carry for them.
        backhaul.pair.set_up(PRIVATE, false);
        backhaul.run(2000, false);
        let got = backhaul.numbers();
        backhaul.run(1000, false);
        let fresh = backhaul.numbers().len() - got.len();
        assert!(fresh > 900, "{kind:?}: {fresh} of 1000");
        // All is well again, and the repeater's word counts as before.
        backhaul.pair.set_up(PRIVATE, true);
        backhaul.run(3000, true);
        let (increases, silences) = (backhaul.word().received.levels[2], backhaul.word().received.silences);
        backhaul.run(2000, true);
        assert!(
            backhaul.word().received.levels[2] > increases && backhaul.word().received.silences == silences,
            "{kind:?}"
        );
        assert!(backhaul.numbers().windows(2).all(|w| w[0] < w[1]), "{kind:?}: in order, and nothing twice");
    }
}

/// The blocked link is idle, and so the faster one by far; the dedicated link loses one datagram of
/// fifty.
#[test]
fn what_was_lost_does_not_wait_for_a_choked_link() {
    let private = LinkSpec {
        loss: Loss::Random { probability: 0.02 },
        ..LinkSpec::new(30.0, Duration::from_millis(20))
    };
    let mut backhaul =
        BackhaulEnd::over([private, LinkSpec::new(30.0, Duration::from_millis(1))], limiter::Kind::Mimd);
    backhaul.run(1000, true);
    backhaul.run(8000, false);
    assert_eq!(backhaul.word().limiter.map(|t| t.1), Some(limiter::Allowance::Blocked));
    let (before, from) = (backhaul.carried(SHARED), backhaul.sent);
    backhaul.run(4000, false);
    backhaul.pair.run_for(Duration::from_millis(500));
    assert!(backhaul.carried(SHARED) - before < 20_000);
    let got = backhaul.numbers();
    let late: Vec<u32> = (from..backhaul.sent).filter(|n| got.binary_search(n).is_err()).collect();
    assert_eq!(late, [0u32; 0], "sent again by the dedicated link");
}
