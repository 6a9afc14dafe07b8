//! Every byte once and in order, whatever the network does; also through real packets.

use super::*;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A hostile network: in a hundred segments so many are lost, late or doubled, each way.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lost: u32,
    late: u32,
    twice: u32,
    late_ms: u64,
    seed: u64,
}

/// Segments of either end among which a SYN may be lost.
const SYNS_AT_RISK: u64 = 4;

impl Weather {
    fn filter(self) -> impl FnMut(Time, bool, &Segment, u64) -> Fate {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        move |_, forward, segment, number| {
            check_bytes(segment);
            let draw = random.random_range(0..100);
            // A connection gives up after seven lost SYNs, rightly: here it is to come about.
            if segment.flags.has(Flags::SYN) && number > SYNS_AT_RISK {
                return Fate::Pass;
            }
            // Half as bad on the way back, so that a transfer ends in bounded time.
            let scale = if forward { 1 } else { 2 };
            let late = ms(random.random_range(0..=self.late_ms));
            match draw {
                _ if draw < self.lost / scale => Fate::Drop,
                _ if draw < (self.lost + self.late) / scale => Fate::Late(late),
                _ if draw < (self.lost + self.late + self.twice) / scale => Fate::Twice,
                _ => Fate::Pass,
            }
        }
    }
}

/// The segment survives being bytes.
fn check_bytes(segment: &Segment) {
    let mut bytes = Vec::new();
    wire::encode(segment, wire::Payload::Pattern, &mut bytes);
    assert_eq!(bytes.len() as u32, segment.ip_bytes());
    assert!(bytes.len() <= 1500, "{segment:?}");
    assert_eq!(wire::decode(&bytes), Ok((*segment, true)));
}

fn weather() -> impl Strategy<Value = Weather> {
    (0..25u32, 0..30u32, 0..20u32, 0..60u64, any::<u64>())
        .prop_map(|(lost, late, twice, late_ms, seed)| Weather { lost, late, twice, late_ms, seed })
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let algorithm = (0..Algorithm::ALL.len()).prop_map(|i| Algorithm::ALL[i]);
    let buffer =
        prop_oneof![Just(ReceiveBuffer::default()), (2_000..200_000u64).prop_map(ReceiveBuffer::Fixed),];
    (algorithm, buffer, any::<[bool; 8]>()).prop_map(|(congestion_control, receive_buffer, on)| TcpConfig {
        congestion_control,
        receive_buffer,
        timestamps: on[0],
        window_scaling: on[1],
        ecn: on[2],
        prr: on[3],
        frto: on[4],
        undo: on[5],
        loss_detection: if on[6] { LossDetection::RackTlp } else { LossDetection::DupThresh },
        no_delay: on[7],
        max_timeouts: 40,
        ..TcpConfig::default()
    })
}

/// What must hold of every transfer of `bytes`, whatever the weather.
fn transfer(weather: Weather, config: TcpConfig, bytes: u64) -> Result<(), TestCaseError> {
    let mut p = pair(config, link(20.0, 20, 1.0)).filter(weather.filter());
    p.client.write(bytes);
    p.client.close();
    p.run_while(Time::from_secs(3600), |p| p.server_events.last() != Some(&Event::PeerClosed));
    prop_assert_eq!(p.received(), bytes, "{:?} {:?}", p.client.state(), p.client.stats());
    prop_assert_eq!(p.server_events.last(), Some(&Event::PeerClosed));
    let stats = p.client.stats();
    prop_assert!(stats.acknowledged_bytes <= bytes);
    prop_assert_eq!(p.server.as_ref().unwrap().readable(), 0, "the application has read all");
    Ok(())
}

/// The same with data each way.
fn both_ways(weather: Weather, up: u64, down: u64) -> Result<(), TestCaseError> {
    let mut p = pair(TcpConfig { max_timeouts: 40, ..TcpConfig::default() }, link(20.0, 20, 1.0))
        .filter(weather.filter());
    p.client.write(up);
    p.client.close();
    p.run_while(Time::from_secs(600), |p| p.server.is_none());
    let server = p.server.as_mut().unwrap();
    server.write(down);
    server.close();
    p.flush();
    p.run_while(Time::from_secs(3600), |p| p.client_events.last() != Some(&Event::Closed));
    prop_assert_eq!(p.received(), up);
    prop_assert_eq!(p.client.stats().received_bytes, down, "{:?} {:?}", p.client.state(), p.client.stats());
    Ok(())
}

/// After a timeout F-RTO sent new data, the FIN, and both it and the repeated segment were lost: every later timeout
/// waited for new data, of which there was none, and repeated nothing.
#[test]
fn a_timeout_after_frto_sent_the_last_data_repeats_the_head() {
    let weather = Weather { lost: 18, late: 3, twice: 0, late_ms: 7, seed: 7508126419125557896 };
    let config = TcpConfig {
        congestion_control: Algorithm::Cubic,
        receive_buffer: ReceiveBuffer::Fixed(128_174),
        timestamps: true,
        window_scaling: false,
        ecn: false,
        prr: true,
        frto: true,
        undo: false,
        loss_detection: LossDetection::RackTlp,
        no_delay: false,
        max_timeouts: 40,
        ..TcpConfig::default()
    };
    transfer(weather, config, 59_369).unwrap();
}

/// With these losses the first four SYNs go missing.
#[test]
fn lost_syns_delay_a_connection() {
    both_ways(Weather { lost: 19, late: 0, twice: 0, late_ms: 0, seed: 18381905345998953276 }, 1, 1).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 3 / 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order(weather in weather(), config in config(), bytes in 1..300_000u64) {
        transfer(weather, config, bytes)?;
    }

    #[test]
    fn both_ways_at_once(weather in weather(), up in 1..60_000u64, down in 1..60_000u64) {
        both_ways(weather, up, down)?;
    }

    #[test]
    fn foreign_segments_do_not_break_it(fields in proptest::collection::vec(any::<(u32, u32, u16, u8, u16)>(), 1..60)) {
        let mut p = pair(TcpConfig::default(), link(20.0, 20, 1.0));
        p.client.write(50_000);
        p.run_until(Time::from_millis(100));
        for (seq, ack, window, flags, payload) in fields {
            let flags = Flags(flags & !(Flags::RST.0));
            let mut options = Options::default();
            options.sack.push((seq, ack));
            let (source, destination) = (p.client.remote(), p.client.local());
            let payload_bytes = u32::from(payload % 2000);
            let ecn = Ecn::NotEct;
            p.client.on_segment(p.now(), &Segment { source, destination, ecn, flags, seq, ack, window, urgent: 0, options, payload_bytes });
            while p.client.poll_transmit(p.now()).is_some() {}
        }
    }
}
