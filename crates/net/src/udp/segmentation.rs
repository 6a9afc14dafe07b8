//! Where the kernel cuts a batch into datagrams (UDP GSO), and where it does not.

use ropewalk_time::{Duration, Time};
use std::net::IpAddr;

/// So many addresses are remembered; a socket that meets more cuts all batches itself for a time.
const MOST: usize = 16;
/// After so long one batch tries again: the way may be another by then.
const AGAIN: Duration = Duration::from_secs(300);

/// What is known of it for one socket.
#[derive(Debug)]
pub(super) struct Segmentation {
    available: bool,
    /// Addresses whose interface refused batches (it cannot do checksums, or encrypts: xfrm), and
    /// when that is tried again.
    refused: Vec<(IpAddr, Time)>,
    /// There were too many: no way takes batches, as far as is known until then.
    none_until: Option<Time>,
}

impl Segmentation {
    /// The kernel has it, or has not.
    pub(super) fn new(available: bool) -> Self {
        Segmentation { available, refused: Vec::new(), none_until: None }
    }

    /// Batches may leave in one piece.
    pub(super) fn is_available(&self) -> bool {
        self.available && self.none_until.is_none()
    }

    /// A batch may leave for `to` in one piece. The time is asked for where a way has refused.
    pub(super) fn is_for(&mut self, to: IpAddr, now: impl Fn() -> Time) -> bool {
        if !self.available || self.none_until.is_some_and(|until| now() < until) {
            return false;
        }
        self.none_until = None;
        let Some((_, again)) = self.refused.iter_mut().find(|(address, _)| *address == to) else {
            return true;
        };
        let now = now();
        let is_due = now >= *again;
        if is_due {
            *again = now + AGAIN;
        }
        is_due
    }

    /// No batch leaves in one piece from now on.
    pub(super) fn end(&mut self) {
        (self.available, self.refused) = (false, Vec::new());
    }

    /// The way to `to` has taken a batch.
    pub(super) fn accept(&mut self, to: IpAddr) {
        self.refused.retain(|(address, _)| *address != to);
    }

    /// The way to `to` refuses batches, and takes the same datagrams one by one.
    pub(super) fn refuse(&mut self, to: IpAddr, now: Time) {
        self.accept(to);
        if self.refused.len() < MOST {
            self.refused.push((to, now + AGAIN));
        } else {
            (self.refused, self.none_until) = (Vec::new(), Some(now + AGAIN));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn at(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn one_way_that_refuses_does_not_end_it_for_the_others() {
        let mut gso = Segmentation::new(true);
        let early = || at(2);
        gso.refuse(ip(1), at(1));
        assert!(!gso.is_for(ip(1), early) && gso.is_for(ip(2), early) && gso.is_available());
        (2..=MOST as u8).for_each(|n| gso.refuse(ip(n), at(1)));
        assert!(gso.is_for(ip(200), early));
        gso.refuse(ip(100), at(1));
        assert!(!gso.is_for(ip(200), early) && !gso.is_available(), "the table has a bound");
        assert!(gso.is_for(ip(200), || at(302)) && gso.is_for(ip(1), || at(302)) && gso.is_available());
        gso.end();
        assert!(!gso.is_for(ip(200), || at(9999)), "the kernel has it not");
    }

    #[test]
    fn a_way_that_refused_is_tried_once_in_five_minutes_until_it_takes_a_batch() {
        let mut gso = Segmentation::new(true);
        gso.refuse(ip(1), at(0));
        let mut tries = |until: u64| (1..until).filter(|s| gso.is_for(ip(1), || at(*s))).collect::<Vec<_>>();
        assert_eq!(tries(1000), [300, 600, 900]);
        gso.refuse(ip(1), at(900));
        gso.refuse(ip(1), at(950));
        assert!(gso.refused.len() == 1 && !gso.is_for(ip(1), || at(1249)) && gso.is_for(ip(1), || at(1250)));
        gso.accept(ip(1));
        assert!(gso.is_for(ip(1), || at(1251)) && gso.is_for(ip(1), || at(1252)));
    }
}
