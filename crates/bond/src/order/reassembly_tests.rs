use super::*;
use proptest::prelude::*;

const HOLD: Hold =
    Hold { repair: Duration::from_millis(50), deadline: Duration::from_millis(200), of_packets: false };

struct End {
    t: Reassembly,
    pool: Pool,
    out: VecDeque<Delivery>,
}

impl End {
    fn new() -> Self {
        End { t: Reassembly::default(), pool: Pool::new(1 << 22), out: VecDeque::new() }
    }

    fn whole(&mut self, flow: u16, seq: u32, ms: u64) {
        let data = seq.to_be_bytes();
        let c =
            Fragment { flow, seq, offset: 0, total: Some(4), vnet: None, no_gap_before: true, data: &data };
        let t = Time::from_millis(ms);
        self.t.on_fragment(&mut self.pool, &c, Timestamp::of(t), t, &mut self.out);
    }

    /// The first of two fragments of a packet.
    fn part(&mut self, flow: u16, seq: u32, ms: u64) {
        let data = seq.to_be_bytes();
        let c =
            Fragment { flow, seq, offset: 0, total: Some(8), vnet: None, no_gap_before: true, data: &data };
        let t = Time::from_millis(ms);
        self.t.on_fragment(&mut self.pool, &c, Timestamp::of(t), t, &mut self.out);
    }

    /// The second.
    fn rest(&mut self, flow: u16, seq: u32, ms: u64) {
        let c =
            Fragment { flow, seq, offset: 4, total: None, vnet: None, no_gap_before: true, data: &[0; 4] };
        let t = Time::from_millis(ms);
        self.t.on_fragment(&mut self.pool, &c, Timestamp::of(t), t, &mut self.out);
    }

    fn check(&mut self, ms: u64, newest_ms: u64) -> Option<Time> {
        let newest = Some(Timestamp::of(Time::from_millis(newest_ms)));
        self.t.check(&mut self.pool, Time::from_millis(ms), newest, HOLD, &mut self.out)
    }

    fn got(&mut self) -> Vec<u32> {
        let mut v = Vec::new();
        while let Some(d) = self.out.pop_front() {
            v.push(u32::from_be_bytes(self.pool.bytes(d.buf)[..4].try_into().unwrap()));
            self.pool.free(d.buf);
        }
        v
    }
}

#[test]
fn no_record_waits_longer_than_a_deadline_that_was_set_however_many_are_missing() {
    for (of_packets, last) in [(true, 200), (false, 600)] {
        let hold = Hold { of_packets, ..HOLD };
        let mut e = End::new();
        e.whole(1, 0, 0);
        [2, 4, 6].into_iter().for_each(|seq| e.whole(1, seq, 0));
        let mut came = Vec::new();
        for ms in 0..=600 {
            let now = Time::from_millis(ms);
            e.t.check(&mut e.pool, now, None, hold, &mut e.out);
            came.extend(e.got().into_iter().map(|seq| (seq, ms)));
        }
        assert_eq!(came.first(), Some(&(0, 0)));
        assert_eq!(came.last(), Some(&(6, last)), "{came:?}");
        assert_eq!(e.t.counters().given_up, 3);
    }
    // Nor if what is behind the next gap came later than what is behind the one after it.
    let hold = Hold { of_packets: true, ..HOLD };
    let mut e = End::new();
    for (seq, ms) in [(0, 0), (6, 0), (2, 150), (4, 190)] {
        e.whole(1, seq, ms);
    }
    let mut check = |ms| {
        e.t.check(&mut e.pool, Time::from_millis(ms), None, hold, &mut e.out);
        e.got()
    };
    assert_eq!((check(199), check(200)), (vec![0], vec![2, 4, 6]));
}

#[test]
fn what_waits_for_others_is_counted_and_for_how_long() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    assert_eq!((e.t.waits().count(), e.t.waits().quantile(0.5)), (0, None), "nothing has waited yet");
    e.whole(1, 2, 10);
    e.part(1, 3, 10);
    e.rest(1, 3, 40);
    let before = e.t.waits().clone();
    e.whole(1, 1, 60);
    assert_eq!(e.got(), [0, 1, 2, 3]);
    let waits = e.t.waits().since(&before);
    assert_eq!(waits.count(), 2, "the missing one did not wait itself");
    let ms = |share| waits.quantile(share).unwrap().as_secs_f64() * 1e3;
    assert!((18.6..21.4).contains(&ms(0.5)), "since it was whole: {} ms", ms(0.5));
    assert!((46.5..53.5).contains(&ms(1.0)), "{} ms", ms(1.0));
    e.whole(2, 0, 70);
    e.whole(2, 2, 70);
    e.whole(2, 1, 70);
    assert_eq!(e.t.waits().since(&before).count(), 2, "what came at one instant has not waited");
}

#[test]
fn a_table_without_order_passes_records_as_they_become_whole_and_once() {
    let mut e = End { t: Reassembly::unordered(), ..End::new() };
    for s in [0, 3, 2, 5, 3, 0] {
        e.whole(1, s, 0);
    }
    assert_eq!(e.got(), [0, 3, 2, 5]);
    // One in parts waits for its own, and for nobody else's.
    e.part(1, 7, 1);
    assert_eq!(e.got(), [0; 0]);
    e.rest(1, 7, 2);
    e.rest(1, 7, 2);
    assert_eq!(e.got(), [7]);
    e.whole(1, 1, 3);
    e.whole(1, 1, 3);
    assert_eq!(e.got(), [1]);
    // The deadline moves the window on, from gap to gap; what comes after it passes once all the same.
    assert_eq!(e.check(300, 0), Some(Time::from_millis(500)));
    e.whole(1, 4, 301);
    e.whole(1, 4, 302);
    assert_eq!(e.got(), [4]);
    assert_eq!(e.check(500, 0), None);
    assert_eq!((e.t.gaps(), e.t.held_bytes(), e.pool.used_bytes(), e.t.counters().delivered), (0, 0, 0, 7));
}

#[test]
fn order_is_restored_per_flow_and_flows_do_not_wait_for_one_another() {
    let mut e = End::new();
    for s in [0, 2, 3] {
        e.whole(1, s, 0);
    }
    e.whole(2, 0, 0);
    e.whole(2, 1, 0);
    assert_eq!(e.got(), [0, 0, 1]);
    assert_eq!(e.t.gaps(), 1);
    e.whole(1, 1, 5);
    assert_eq!(e.got(), [1, 2, 3]);
    assert_eq!((e.t.gaps(), e.t.held_bytes(), e.pool.used_bytes()), (0, 0, 0));
}

#[test]
fn known_lost_waits_for_the_repair_only_and_silence_for_the_deadline() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.whole(1, 2, 10);
    // The slowest path has shown nothing sent after the gap yet.
    assert_eq!(e.check(20, 5), Some(Time::from_millis(210)));
    assert_eq!(e.check(30, 12), Some(Time::from_millis(80)));
    assert_eq!(e.got(), [0]);
    assert_eq!(e.check(80, 12), None);
    assert_eq!(e.got(), [2]);
    assert_eq!(e.t.counters().given_up, 1);
}

#[test]
fn late_ones_pass_once() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.whole(1, 2, 0);
    e.check(1000, 0);
    e.whole(1, 1, 1001);
    e.whole(1, 1, 1002);
    e.whole(1, 2, 1003);
    assert_eq!(e.got(), [0, 2, 1]);
    assert_eq!((e.t.counters().late, e.t.counters().duplicates), (1, 2));
}

#[test]
fn an_abandoned_packet_ends_the_wait_at_once() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.whole(1, 3, 0);
    e.t.on_skip(&mut e.pool, (1, 1), None, Time::ZERO, &mut e.out);
    e.t.on_skip(&mut e.pool, (1, 2), None, Time::ZERO, &mut e.out);
    assert_eq!(e.got(), [0, 3]);
}

#[test]
fn an_abandoned_packet_tells_when_the_gap_before_it_was_sent() {
    for (before, due) in [(Some(Timestamp::of(Time::from_millis(10))), 80), (None, 210)] {
        let mut e = End::new();
        e.whole(1, 0, 0);
        e.t.on_skip(&mut e.pool, (1, 2), before, Time::from_millis(10), &mut e.out);
        assert_eq!(e.check(30, 12), Some(Time::from_millis(due)), "{before:?}");
    }
}

#[test]
fn low_latency_ones_pass_at_once_and_only_once() {
    let mut e = End::new();
    for s in [5, 3, 5, 4, 3, 5000, 4999, 5000] {
        e.whole(LOW_LATENCY | 7, s, 0);
    }
    assert_eq!(e.got(), [5, 3, 4, 5000, 4999]);
}

#[test]
fn one_that_runs_away_moves_the_front() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.whole(1, 2, 0);
    e.whole(1, 9000, 0);
    assert_eq!(e.got(), [0, 2]);
    assert!(e.t.held_bytes() < 1 << 20);
}

#[test]
fn numbers_far_ahead_cost_next_to_nothing_and_it_is_given_back() {
    let mut e = End { pool: Pool::new(1 << 24), ..End::new() };
    for flow in 0..1024 {
        e.whole(flow, 0, 0);
        e.t.on_skip(&mut e.pool, (flow, 8000), None, Time::ZERO, &mut e.out);
        e.whole(flow, 8100, 0);
        assert_eq!(e.got(), [0]);
    }
    assert_eq!((e.t.gaps(), e.t.counters().refused), (1024, 0));
    let held = e.t.heap_bytes();
    assert!(held < 2 << 20, "{held} bytes");
    [1000, 1300].into_iter().for_each(|ms| assert!(e.check(ms, 0).is_none() == (ms == 1300)));
    e.got();
    for ms in [61_000, 62_000] {
        e.t.expire(&mut e.pool, Time::from_millis(ms), &mut e.out);
    }
    let idle = e.t.heap_bytes();
    assert!(idle < 200 << 10, "{idle} of {held} bytes");
    // What was delivered is not delivered again, and the flow goes on where it was.
    [0, 8100, 8101].into_iter().for_each(|seq| e.whole(7, seq, 63_000));
    assert_eq!(e.got(), [8101]);
}

#[test]
fn skipping_numbers_costs_the_same_however_many_they_are() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.got();
    let mut next = 1;
    for round in 0..1000 {
        let before = e.t.counters().steps;
        e.t.on_skip(&mut e.pool, (1, (next + 8191) & 0xff_ffff), None, Time::ZERO, &mut e.out);
        e.whole(1, (next + 8192) & 0xff_ffff, 0);
        next += 8192;
        assert!(e.t.counters().steps - before < 20, "round {round}");
        assert!(e.got().len() < 2 && e.t.heap_bytes() < 200 << 10);
    }
}

/// What costs most: a block for each 64 numbers of a window, and a search through all of them.
#[test]
fn no_frame_takes_more_steps_than_a_window_has_blocks() {
    let mut e = End { pool: Pool::new(1 << 24), ..End::new() };
    e.whole(1, 0, 0);
    let step = |e: &mut End, seq, skip| {
        let before = e.t.counters().steps;
        match skip {
            true => e.t.on_skip(&mut e.pool, (1, seq), None, Time::ZERO, &mut e.out),
            false => e.whole(1, seq, 0),
        }
        e.got();
        e.t.counters().steps - before
    };
    let mut most = 0;
    for k in (1..128).rev() {
        most = most.max(step(&mut e, k * 64 + 10, k % 2 == 0));
    }
    for k in 0..2000 {
        most = most.max(step(&mut e, 8000 - k % 8000, k % 3 == 0));
    }
    assert!(most <= 4 * 129 + 8, "{most} steps");
}

#[test]
fn a_flow_that_lost_more_than_a_window_goes_on() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    // All of thousands were lost, and each notice of it.
    (9000..9010).for_each(|seq| e.whole(1, seq, 10));
    e.check(1000, 0);
    assert_eq!(e.got(), [0, 9000, 9001, 9002, 9003, 9004, 9005, 9006, 9007, 9008, 9009]);
    assert_eq!(e.t.counters().refused, 0);
    // What falls out of the window is delivered if it is whole, and never again.
    e.whole(1, 9012, 1100);
    e.part(1, 9014, 1100);
    e.whole(1, 17_300, 1100);
    e.whole(1, 9012, 1100);
    assert_eq!((e.got(), e.t.counters().duplicates), (vec![9012], 1));
    e.check(2000, 1000);
    assert_eq!((e.got(), e.t.held_bytes(), e.pool.used_bytes()), (vec![17_300], 0, 0));
}

#[test]
fn a_packet_that_outgrows_its_buffer_is_held_to_the_share_of_its_session() {
    let mut e = End::new();
    for round in 0..2 {
        for seq in (1..1000).step_by(2) {
            let offset = [1, 60_000][round];
            let c =
                Fragment { flow: 1, seq, offset, total: None, vnet: None, no_gap_before: false, data: &[0] };
            e.t.on_fragment(&mut e.pool, &c, Timestamp::of(Time::ZERO), Time::ZERO, &mut e.out);
        }
    }
    let (held, free) = (e.t.held_bytes() as usize, e.pool.free_bytes());
    assert!(e.t.counters().refused > 0 && held <= free + 2 * 65_536, "{held} held, {free} free");
}

#[test]
fn a_record_that_is_partly_there_is_not_given_up_with_the_missing_one_before_it() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.part(1, 2, 100);
    e.whole(1, 3, 100);
    assert_eq!(e.check(100, 50), Some(Time::from_millis(300)));
    e.check(160, 150);
    assert_eq!(
        e.check(210, 150),
        Some(Time::from_millis(300)),
        "the second gap dates from its first fragment"
    );
    assert_eq!(e.t.counters().given_up, 1);
    e.rest(1, 2, 220);
    assert_eq!(e.got(), [0, 2, 3]);
    assert_eq!((e.t.held_bytes(), e.pool.used_bytes()), (0, 0));
    // One that nobody completes is, in its turn.
    e.part(1, 5, 300);
    e.part(1, 6, 310);
    e.whole(1, 7, 320);
    assert_eq!(e.check(510, 0), None);
    assert_eq!((e.got(), e.t.counters().given_up), (vec![7], 4));
    assert_eq!((e.t.held_bytes(), e.pool.used_bytes()), (0, 0));
}

#[test]
fn a_part_with_nothing_after_it_is_held_for_seconds_and_not_for_ever() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.part(1, 1, 1000);
    let expire = |e: &mut End, ms| e.t.expire(&mut e.pool, Time::from_millis(ms), &mut e.out);
    expire(&mut e, 5900);
    assert!(e.t.held_bytes() > 0 && e.t.gaps() == 0);
    expire(&mut e, 6000);
    assert_eq!((e.t.held_bytes(), e.t.counters().given_up), (0, 1));
    e.whole(1, 2, 6001);
    assert_eq!(e.got(), [0, 2]);
    assert_eq!(e.pool.used_bytes(), 0);
}

#[test]
fn one_session_leaves_memory_to_the_others() {
    let mut e = End::new();
    for flow in 0..1024 {
        for seq in 0..40 {
            e.part(flow, seq, 0);
        }
    }
    let (held, free) = (e.t.held_bytes() as usize, e.pool.free_bytes());
    assert!(held > 1 << 20 && held <= free + 2 * 65_536, "{held} held, {free} free");
    assert_eq!(held, e.pool.used_bytes());
    // What need not be held still passes, and another session has room.
    e.whole(1023, 0, 1);
    let mut other = Reassembly::default();
    let c = Fragment {
        flow: 1,
        seq: 0,
        offset: 0,
        total: Some(8),
        vnet: None,
        no_gap_before: true,
        data: &[0; 4],
    };
    other.on_fragment(&mut e.pool, &c, Timestamp::of(Time::ZERO), Time::ZERO, &mut e.out);
    assert_eq!((other.counters().refused, e.t.counters().refused > 0), (0, true));
}

/// Small packets find room in large buffers, large ones nowhere else.
#[test]
fn one_session_leaves_large_buffers_to_the_others() {
    let mut e = End::new();
    let part = |flow| Fragment {
        flow,
        seq: 0,
        offset: 0,
        total: Some(60_000),
        vnet: None,
        no_gap_before: true,
        data: &[0; 1],
    };
    let (now, timestamp) = (Time::ZERO, Timestamp::of(Time::ZERO));
    for flow in 0..40 {
        e.t.on_fragment(&mut e.pool, &part(flow), timestamp, now, &mut e.out);
    }
    assert!(e.t.held_bytes() > 1 << 19, "{}", e.t.held_bytes());
    assert!(e.pool.left_for(60_000).is_some_and(|(_, left)| left >= 15), "{:?}", e.pool.left_for(60_000));
    let mut other = Reassembly::default();
    other.on_fragment(&mut e.pool, &part(1), timestamp, now, &mut e.out);
    assert_eq!((other.counters().refused, e.t.counters().refused > 0), (0, true));
}

proptest! {
    #[test]
    fn everything_that_comes_is_delivered_once_and_in_order_if_nothing_is_lost(
        keys in prop::collection::vec(any::<u32>(), 1..300), dup in any::<bool>())
    {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|i| i + keys[*i as usize] % 60);
        let mut e = End::new();
        for s in &order {
            e.whole(3, *s, 0);
            if dup { e.whole(3, *s, 0); }
        }
        let want: Vec<u32> = (0..keys.len() as u32).collect();
        prop_assert_eq!(e.got(), want);
        prop_assert_eq!(e.pool.used_bytes(), 0);
    }
}
