//! The window that is offered, and how the buffer behind it grows (Linux's dynamic right-sizing,
//! `tcp_rcv_space_adjust`).

use super::super::ReceiveBuffer;
use core::time::Duration;
use ropewalk_air::Time;

/// Windows grow by segments of this much at the start of a measurement (Linux's TCP_INIT_CWND).
const INITIAL_SEGMENTS: u64 = 10;

#[derive(Clone, Debug)]
pub(crate) struct Window {
    config: ReceiveBuffer,
    /// Bytes that the buffer holds now.
    buffer: u64,
    /// Data bytes that the application has taken.
    read: u64,
    /// One past the last offset that was offered.
    right: u64,
    /// What was read in a round trip, at most so far.
    space: u64,
    /// Data read, and time, when the present measurement began.
    since: (u64, Time),
    rtt: Option<Duration>,
}

impl Window {
    pub(crate) fn new(config: ReceiveBuffer, mss: u64) -> Self {
        let buffer = config.initial();
        let space = buffer.min(INITIAL_SEGMENTS * mss);
        Window { config, buffer, read: 0, right: 0, space, since: (0, Time::ZERO), rtt: None }
    }

    /// One past the last offset that was offered.
    pub(crate) fn right(&self) -> u64 {
        self.right
    }

    /// The shift that the largest window needs (RFC 7323 §2).
    pub(crate) fn scale(&self) -> u8 {
        (0..14).find(|shift| self.config.max() >> shift <= 65_535).unwrap_or(14)
    }

    /// How long a round trip is as the receiver sees it.
    pub(crate) fn sample_rtt(&mut self, rtt: Duration) {
        // Linux smooths, but never lets bursts of late data make it long.
        self.rtt = Some(self.rtt.map_or(rtt, |old| if rtt < old { rtt } else { (old * 7 + rtt) / 8 }));
    }

    /// The window to offer when all below `next` has arrived, in units of `1 << scale` bytes; moves the right edge,
    /// never back, and not by silly steps (RFC 9293 §3.8.6.2.2).
    pub(crate) fn offer(&mut self, next: u64, mss: u64, scale: u8) -> u16 {
        let edge = 1 + self.read + self.buffer;
        if edge >= self.right + mss.min(self.buffer / 2).max(1) || self.right == 0 {
            self.right = edge;
        }
        let most = 65_535u64 << scale;
        let window = self.right.saturating_sub(next).min(most) >> scale;
        self.right = self.right.min(next + most);
        window as u16
    }

    /// The application took `bytes`.
    pub(crate) fn on_read(&mut self, now: Time, bytes: u64, mss: u64) {
        self.read += bytes;
        let ReceiveBuffer::Auto { max, .. } = self.config else { return };
        let Some(rtt) = self.rtt else { return };
        if now - self.since.1 < rtt {
            return;
        }
        let copied = self.read - self.since.0;
        self.since = (self.read, now);
        if copied <= self.space {
            return;
        }
        // Twice what came, for the sender's window doubles in slow start; and what it grew by, again.
        let plain = 2 * copied + 16 * mss;
        let growth = u128::from(plain) * u128::from(copied - self.space) / u128::from(self.space);
        let target = u128::from(plain) + 2 * growth;
        self.space = copied;
        self.buffer = self.buffer.max(target.min(u128::from(max)) as u64);
    }

    /// It is time to tell of a window that was nearly shut: it has at least doubled.
    pub(crate) fn is_worth_telling(&self, next: u64) -> bool {
        let offered = self.right.saturating_sub(next);
        let open = (1 + self.read + self.buffer).saturating_sub(next);
        2 * offered <= self.buffer && open >= 2 * offered.max(1) && open > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_window_follows_the_reader() {
        let mut w = Window::new(ReceiveBuffer::Fixed(16_384), 1448);
        assert_eq!((w.scale(), w.offer(1, 1448, 0)), (0, 16_384));
        assert_eq!(w.offer(5001, 1448, 0), 11_384, "5000 bytes wait for the application");
        w.on_read(Time::ZERO, 100, 1448);
        assert_eq!(w.offer(5001, 1448, 0), 11_384, "no silly steps");
        w.on_read(Time::ZERO, 4900, 1448);
        assert_eq!(w.offer(5001, 1448, 0), 16_384);
        assert_eq!(w.offer(21_385, 1448, 0), 0);
        assert!(!w.is_worth_telling(21_385));
        w.on_read(Time::ZERO, 9000, 1448);
        assert!(w.is_worth_telling(21_385));
    }

    #[test]
    fn an_automatic_one_grows_with_what_is_read_per_round_trip() {
        let mut w = Window::new(ReceiveBuffer::Auto { initial: 65_535, max: 1 << 20 }, 1448);
        w.sample_rtt(Duration::from_millis(10));
        let mut buffers = vec![];
        for i in 1..=8u64 {
            w.on_read(Time::from_millis(10 * i), 10_000 << i, 1448);
            buffers.push(w.buffer);
        }
        assert!(buffers.is_sorted() && buffers[2] > 160_000 && buffers[7] == 1 << 20, "{buffers:?}");
    }
}
