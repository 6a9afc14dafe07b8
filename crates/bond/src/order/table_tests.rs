use super::*;
use proptest::prelude::*;

const HOLD: Hold =
    Hold { repair: Duration::from_millis(50), deadline: Duration::from_millis(200), of_records: false };

struct End {
    t: Table,
    pool: Pool,
    out: VecDeque<Delivery>,
}

impl End {
    fn new() -> Self {
        End { t: Table::default(), pool: Pool::new(1 << 22), out: VecDeque::new() }
    }

    fn whole(&mut self, flow: u16, seq: u32, ms: u64) {
        let data = seq.to_be_bytes();
        let c = Chunk { flow, seq, offset: 0, total: Some(4), vnet: None, at_head: true, data: &data };
        let t = Time::from_millis(ms);
        self.t.on_chunk(&mut self.pool, &c, Stamp::of(t), t, &mut self.out);
    }

    /// The first of two chunks of a record.
    fn part(&mut self, flow: u16, seq: u32, ms: u64) {
        let data = seq.to_be_bytes();
        let c = Chunk { flow, seq, offset: 0, total: Some(8), vnet: None, at_head: true, data: &data };
        let t = Time::from_millis(ms);
        self.t.on_chunk(&mut self.pool, &c, Stamp::of(t), t, &mut self.out);
    }

    /// The second.
    fn rest(&mut self, flow: u16, seq: u32, ms: u64) {
        let c = Chunk { flow, seq, offset: 4, total: None, vnet: None, at_head: true, data: &[0; 4] };
        let t = Time::from_millis(ms);
        self.t.on_chunk(&mut self.pool, &c, Stamp::of(t), t, &mut self.out);
    }

    fn check(&mut self, ms: u64, newest_ms: u64) -> Option<Time> {
        let newest = Some(Stamp::of(Time::from_millis(newest_ms)));
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
    for (of_records, last) in [(true, 200), (false, 600)] {
        let hold = Hold { of_records, ..HOLD };
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
    let mut e = End { t: Table::unordered(), ..End::new() };
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
fn void_ends_the_wait_at_once() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.whole(1, 3, 0);
    e.t.on_void(&mut e.pool, 1, 1, Time::ZERO, &mut e.out);
    e.t.on_void(&mut e.pool, 1, 2, Time::ZERO, &mut e.out);
    assert_eq!(e.got(), [0, 3]);
}

#[test]
fn urgent_ones_pass_at_once_and_only_once() {
    let mut e = End::new();
    for s in [5, 3, 5, 4, 3, 5000, 4999, 5000] {
        e.whole(URGENT | 7, s, 0);
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
fn numbers_far_ahead_cost_a_bounded_number_of_places() {
    let mut e = End::new();
    for flow in 0..1024 {
        e.whole(flow, 0, 0);
        e.t.on_void(&mut e.pool, flow, 8000, Time::ZERO, &mut e.out);
        e.whole(flow, 8100, 0);
    }
    let places: usize = e.t.channels.iter().flatten().map(|c| c.places()).sum();
    assert!(places <= MAX_PLACES, "{places}");
    assert!(e.t.counters().refused > 1000);
}

#[test]
fn a_record_that_is_partly_there_is_not_given_up_with_the_missing_one_before_it() {
    let mut e = End::new();
    e.whole(1, 0, 0);
    e.part(1, 2, 100);
    e.whole(1, 3, 100);
    assert_eq!(e.check(100, 50), Some(Time::from_millis(300)));
    e.check(160, 150);
    assert_eq!(e.check(210, 150), Some(Time::from_millis(300)), "the second gap dates from its first chunk");
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
    let mut other = Table::default();
    let c = Chunk { flow: 1, seq: 0, offset: 0, total: Some(8), vnet: None, at_head: true, data: &[0; 4] };
    other.on_chunk(&mut e.pool, &c, Stamp::of(Time::ZERO), Time::ZERO, &mut e.out);
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
