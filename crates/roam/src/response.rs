//! Whether a sender answers marks: BBR hears of them and goes on, others take less (paper 001
//! §5.2).
//!
//! A sender that answers has a window W, in packets, that marks bound: with a share p of its
//! packets marked p·W² is about 2 (Reno, LIA, OLIA; equation 3 of the paper), and less than 6 with
//! CUBIC (RFC 9438 §5.1). Of one that does not, nothing bounds it.

use core::time::Duration;

/// Marks that a judgement takes.
const MARKS: u64 = 8;
/// And the round trips: an answer shows one round trip after its mark.
const TRIPS: u32 = 16;
/// p·W² from which on a sender does not answer.
const UNBOUNDED: f64 = 16.0;
/// A first judgement is of a window that still falls, so this many in a row count.
const IN_A_ROW: u32 = 2;
/// After this many round trips with fewer marks there is nothing to wait for.
const PATIENCE: u32 = 100;

/// What the marks have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// Too few marks so far.
    #[default]
    Pending,
    /// So few marks in so long that nobody can tell.
    Unclear,
    /// Its window is one that marks bound.
    Responsive,
    /// It is not.
    Unresponsive,
}

/// Judges one sender by counters of what arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTest {
    /// When the judgement began, with the packets and marks so far.
    base: Option<(Duration, u64, u64)>,
    /// Judgements in a row that it does not answer.
    unbounded: u32,
    response: Response,
}

impl ResponseTest {
    /// Takes the packets that may be marked and those that were, both since the subflow began, and
    /// its round trip with the queue. To be called while marks are asked for. Counters that go back
    /// begin anew.
    pub fn on_counts(&mut self, packets: u64, marks: u64, rtt: Duration, now: Duration) -> Response {
        let Some((began, packets_then, marks_then)) = self.base else {
            self.base = Some((now, packets, marks));
            return self.response;
        };
        let (Some(came), Some(marked)) = (packets.checked_sub(packets_then), marks.checked_sub(marks_then))
        else {
            *self = ResponseTest::default();
            return self.response;
        };
        let over = now.saturating_sub(began);
        if marked < MARKS || over < rtt * TRIPS || rtt.is_zero() || came == 0 {
            if self.response == Response::Pending && over >= rtt * PATIENCE && !rtt.is_zero() {
                self.response = Response::Unclear;
            }
            return self.response;
        }
        self.base = Some((now, packets, marks));
        let share = marked as f64 / came as f64;
        let window = came as f64 * rtt.as_secs_f64() / over.as_secs_f64();
        if share * window * window < UNBOUNDED {
            (self.unbounded, self.response) = (0, Response::Responsive);
        } else {
            self.unbounded = (self.unbounded + 1).min(IN_A_ROW);
            if self.unbounded == IN_A_ROW {
                self.response = Response::Unresponsive;
            }
        }
        self.response
    }

    /// No marks are asked for: what comes until they are says nothing.
    pub fn pause(&mut self) {
        (self.base, self.unbounded) = (None, 0);
    }

    /// The judgement so far.
    pub fn response(&self) -> Response {
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// A sender over so many round trips: `answers` are the windows after a mark and after a round
    /// trip without one. One mark in a round trip at most, of `share`.
    fn run(
        judge: &mut ResponseTest,
        mut window: f64,
        share: f64,
        trips: u32,
        on_mark: impl Fn(f64) -> f64,
        grow: impl Fn(f64) -> f64,
    ) -> Vec<Response> {
        let (mut packets, mut marks, mut due) = (0_u64, 0_u64, 0.0);
        let step = |n: u32| {
            packets += window as u64;
            due += window * share;
            if due >= 1.0 {
                due = 0.0;
                marks += 1;
                window = on_mark(window).max(2.0);
            } else {
                window = grow(window);
            }
            judge.on_counts(packets, marks, RTT, RTT * n)
        };
        (1..=trips).map(step).collect()
    }

    fn reno(judge: &mut ResponseTest, from: f64, share: f64) -> Vec<Response> {
        run(judge, from, share, 3_000, |w| w / 2.0, |w| w + 1.0)
    }

    #[test]
    fn reno_answers_whatever_its_window_was() {
        for from in [4.0, 40.0, 1_000.0, 20_000.0] {
            for share in [0.002, 0.01, 0.05] {
                let all = reno(&mut ResponseTest::default(), from, share);
                assert!(!all.contains(&Response::Unresponsive), "{from} packets, {share}");
                assert_eq!(*all.last().unwrap(), Response::Responsive, "{from} packets, {share}");
            }
        }
    }

    #[test]
    fn a_window_that_stays_is_none_that_answers() {
        for window in [30.0, 100.0, 1_000.0] {
            let mut judge = ResponseTest::default();
            let all = run(&mut judge, window, 0.05, 200, |w| w, |w| w);
            let first = all.iter().position(|a| *a == Response::Unresponsive).unwrap();
            // Two judgements of 16 round trips and what begins them.
            assert!((32..=40).contains(&first), "{window} packets: {first}");
            // It changes its controller; the judgement stands until there is another.
            judge.pause();
            assert_eq!(judge.response(), Response::Unresponsive);
            assert_eq!(*reno(&mut judge, window, 0.05).last().unwrap(), Response::Responsive);
        }
        // One that has little to send is not told from one that answers, and does no harm.
        let few = run(&mut ResponseTest::default(), 5.0, 0.05, 400, |w| w, |w| w);
        assert_eq!(*few.last().unwrap(), Response::Responsive);
    }

    #[test]
    fn without_marks_nobody_is_judged() {
        let all = run(&mut ResponseTest::default(), 100.0, 0.0, 1_000, |w| w, |w| w);
        // Nobody waits for ever.
        assert_eq!((all[90], all[999]), (Response::Pending, Response::Unclear));
        let mut judge = ResponseTest::default();
        let few = |n: u64| judge.on_counts(100 * n, n.min(3), RTT, RTT * n as u32);
        let all: Vec<Response> = (1..=200).map(few).collect();
        assert_eq!((all[90], all[199]), (Response::Pending, Response::Unclear));
    }

    #[test]
    fn counters_that_go_back_and_round_trips_of_zero_say_nothing() {
        let mut judge = ResponseTest::default();
        run(&mut judge, 100.0, 0.05, 100, |w| w, |w| w);
        assert_eq!(judge.response(), Response::Unresponsive);
        assert_eq!(judge.on_counts(1, 0, RTT, RTT * 101), Response::Pending);
        let all: Vec<Response> =
            (1..200).map(|n| judge.on_counts(100 * n, n, Duration::ZERO, RTT * n as u32)).collect();
        assert!(all.iter().all(|a| *a == Response::Pending));
    }
}
