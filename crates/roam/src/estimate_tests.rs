use super::*;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const AP: Mac = [2, 0, 0, 0, 0, 1];
const CLIENT: Mac = [2, 0, 0, 0, 0, 2];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn frame(sequence: u16, retry: bool) -> Frame {
    Frame { transmitter: AP, receiver: CLIENT, tid: Some(0), sequence, retry }
}

/// Formula 6.2's vector: a = 0.5, C = 0.07, six retries, every second try fails.
fn vector() -> Tries {
    Tries { frame_s: 0.5, backoff_s: 0.07, doublings: 6, retries: 6 }
}

#[test]
fn the_vector_of_formula_6_2() {
    assert!((vector().packet_time_s(0.5).unwrap() - 1.494).abs() < 5e-4);
    assert!((vector().printed_packet_time_s(0.5) - 1.385).abs() < 5e-4);
    // Divided by the share that is delivered, the printed one is a mean over delivered packets.
    assert!((vector().printed_packet_time_s(0.5) / (1.0 - 0.5f64.powi(7)) - 1.396).abs() < 5e-4);
}

#[test]
fn packets_sent_one_by_one_cost_what_the_formula_says() {
    let tries = Tries { doublings: 2, ..vector() };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for loss in [0.1, 0.5, 0.9] {
        let (mut air_s, mut delivered) = (0.0, 0u32);
        for _ in 0..200_000 {
            for i in 0..=tries.retries {
                air_s += tries.frame_s + tries.backoff_s * f64::from(1u32 << i.min(2));
                if !rng.random_bool(loss) {
                    delivered += 1;
                    break;
                }
            }
        }
        let (drawn, formula) = (air_s / f64::from(delivered), tries.packet_time_s(loss).unwrap());
        assert!((drawn / formula - 1.0).abs() < 0.01, "{loss}: {drawn} for {formula}");
    }
}

#[test]
fn without_loss_both_equations_give_one_try() {
    assert!((vector().packet_time_s(0.0).unwrap() - 0.57).abs() < 1e-12);
    assert!((vector().printed_packet_time_s(0.0) - 0.57).abs() < 1e-12);
}

#[test]
fn where_nothing_arrives_only_the_printed_equation_gives_a_time() {
    assert_eq!(vector().packet_time_s(1.0), None);
    assert_eq!(vector().printed_packet_time_s(1.0), 0.0);
}

#[test]
fn an_aggregate_shares_what_is_not_payload() {
    let tries = Tries::of_aggregate(0.2, 0.1, 0.08, 20.0, 7);
    assert!((tries.packet_time_s(0.0).unwrap() - (0.2 + 0.1 / 20.0 + 0.08 / 20.0)).abs() < 1e-12);
    // A try again costs the same as the first: 1/(1 - p) tries for each delivered MPDU.
    assert!((tries.packet_time_s(0.5).unwrap() - 2.0 * 0.209).abs() < 1e-12);
    assert_eq!(Tries::of_aggregate(0.2, 0.1, 0.08, 0.0, 7).frame_s, 0.2 + 0.1);
}

#[test]
fn a_lossy_link_is_estimated_within_three_per_cent() {
    // C-MA-025: tries that fail independently, as truth has them.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for truth in [0.3, 0.5, 0.8, 0.95] {
        let (mut errors, mut windows) = (0.0, 0u32);
        let mut estimator = Estimator::new();
        let mut sequence = 0;
        for n in 0..40_000u32 {
            let now = Duration::from_micros(u64::from(n) * 500);
            let tries = (0..7).find(|_| rng.random_bool(truth));
            if let Some(tries) = tries {
                estimator.on_frame(&frame(sequence, tries > 0), now);
            }
            sequence = (sequence + 1) % SEQUENCES;
            if n % 1_000 == 999 {
                errors += (estimator.counts(AP, CLIENT, now).delivery().unwrap() - truth).abs();
                windows += 1;
            }
        }
        assert!(errors / f64::from(windows) < 0.03, "{truth}: {}", errors / f64::from(windows));
    }
}

#[test]
fn what_an_acknowledgement_lost_repeats_counts_once() {
    let mut estimator = Estimator::new();
    for sequence in 0..60 {
        estimator.on_frame(&frame(sequence, false), ms(1));
        estimator.on_frame(&frame(sequence, true), ms(1));
    }
    assert_eq!(estimator.counts(AP, CLIENT, ms(1)), Counts { first: 60, retried: 0, lost: 0 });
}

#[test]
fn what_comes_late_within_a_block_ack_window_fills_its_gap() {
    let mut estimator = Estimator::new();
    for sequence in (0..40).chain(50..90) {
        estimator.on_frame(&frame(sequence, false), ms(1));
    }
    for sequence in 40..49 {
        estimator.on_frame(&frame(sequence, true), ms(2));
    }
    assert_eq!(estimator.counts(AP, CLIENT, ms(2)), Counts { first: 80, retried: 9, lost: 0 });
    // The tenth never comes: it is lost when it leaves the window, or after 100 ms.
    assert_eq!(estimator.counts(AP, CLIENT, ms(101)).lost, 1);
    estimator.on_frame(&frame(49, true), ms(102));
    assert_eq!(estimator.counts(AP, CLIENT, ms(102)), Counts { first: 80, retried: 9, lost: 1 });
}

#[test]
fn a_gap_that_leaves_the_block_ack_window_is_a_loss() {
    let mut estimator = Estimator::new();
    estimator.on_frame(&frame(0, false), ms(0));
    for sequence in 2..66 {
        estimator.on_frame(&frame(sequence, false), ms(1));
        let lost = u32::from(sequence == 65);
        assert_eq!(estimator.counts(AP, CLIENT, ms(1)).lost, lost, "{sequence}");
    }
}

#[test]
fn numbers_wrap_and_long_jumps_begin_anew() {
    let mut estimator = Estimator::new();
    for sequence in (4_090..4_096).chain(0..10) {
        estimator.on_frame(&frame(sequence, false), ms(1));
    }
    assert_eq!(estimator.counts(AP, CLIENT, ms(150)), Counts { first: 16, retried: 0, lost: 0 });
    estimator.on_frame(&frame(2_000, false), ms(150));
    assert_eq!(estimator.counts(AP, CLIENT, ms(300)), Counts { first: 17, retried: 0, lost: 0 });
    // A jump within bounds is a burst of losses.
    estimator.on_frame(&frame(2_301, false), ms(300));
    assert_eq!(estimator.counts(AP, CLIENT, ms(400)).lost, 300);
}

#[test]
fn frames_without_qos_have_no_gaps_and_tids_their_own_numbers() {
    let mut estimator = Estimator::new();
    for n in 0..30 {
        estimator.on_frame(&Frame { tid: None, ..frame(7 * n, false) }, ms(1));
        estimator.on_frame(&Frame { tid: Some(5), ..frame(100 + n, false) }, ms(1));
        estimator.on_frame(&frame(n, true), ms(1));
    }
    assert_eq!(estimator.counts(AP, CLIENT, ms(200)), Counts { first: 60, retried: 30, lost: 0 });
}

#[test]
fn the_window_slides_and_few_frames_say_nothing() {
    let mut estimator = Estimator::new();
    for sequence in 0..50 {
        estimator.on_frame(&frame(sequence, sequence % 2 == 1), ms(u64::from(sequence)));
    }
    assert_eq!(estimator.counts(AP, CLIENT, ms(50)).delivery(), Some(0.5));
    assert_eq!(estimator.counts(AP, CLIENT, ms(501)).delivery(), None);
    assert_eq!(estimator.counts(AP, CLIENT, ms(550)), Counts::default());
    assert_eq!(estimator.counts(CLIENT, AP, ms(550)), Counts::default());
}

#[test]
fn memory_is_what_the_paper_says_and_bounded() {
    // C-MA-019: a thousand packets of 802.11a in the window take around 10 KB.
    let mut estimator = Estimator::new();
    for n in 0..1_000u16 {
        estimator.on_frame(&frame(n, false), Duration::from_micros(u64::from(n) * 500));
    }
    assert_eq!(estimator.record_bytes(), 8_000);
    // C-MA-020: 802.11n with four streams, 600 Mbit/s.
    let mut estimator = Estimator::new();
    for n in 0..25_000u32 {
        estimator.on_frame(&frame((n % 4096) as u16, false), Duration::from_micros(u64::from(n) * 20));
    }
    assert_eq!(estimator.record_bytes(), 200_000);
    for n in 0..100_000u32 {
        estimator.on_frame(&frame((n % 4096) as u16, false), ms(500));
    }
    assert_eq!(estimator.record_bytes(), 8 * MOST_RECORDS);
    for n in 0..1_000u16 {
        let [high, low] = n.to_be_bytes();
        estimator.on_frame(&Frame { transmitter: [2, 0, 0, 1, high, low], ..frame(0, false) }, ms(600));
    }
    assert_eq!(estimator.links.len(), MOST_LINKS);
}

#[test]
fn group_frames_and_impossible_tids_say_nothing() {
    let mut estimator = Estimator::new();
    estimator.on_frame(&Frame { receiver: [0xff; 6], ..frame(0, false) }, ms(0));
    estimator.on_frame(&Frame { tid: Some(16), ..frame(0, false) }, ms(0));
    assert!(estimator.links.is_empty());
}

proptest! {
    /// Whatever comes, each counter is what the records say, gaps are bounded, and no frame counts
    /// twice within a Block Ack window.
    #[test]
    fn counts_agree_with_records(frames in proptest::collection::vec((0u16..5_000, any::<bool>(), 0u64..20), 1..400)) {
        let mut estimator = Estimator::new();
        let mut now = Duration::ZERO;
        for (sequence, retry, wait) in frames {
            now += ms(wait);
            estimator.on_frame(&frame(sequence, retry), now);
            let link = &estimator.links[&(AP, CLIENT)];
            let of = |fate| link.records.iter().filter(|r| r.fate == fate).count() as u32;
            let counts = Counts { first: of(Fate::First), retried: of(Fate::Retried), lost: of(Fate::Lost) };
            prop_assert_eq!(counts, link.counts);
            prop_assert!(link.sequences[&Some(0)].gaps.len() <= usize::from(BLOCK_ACK_WINDOW));
        }
    }
}
