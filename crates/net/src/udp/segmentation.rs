//! Where the kernel cuts a batch into datagrams (UDP GSO), and where it does not.

use std::net::IpAddr;

/// So many addresses are remembered; a socket that meets more cuts all batches itself.
const MOST: usize = 16;

/// What is known of it for one socket.
#[derive(Debug)]
pub(super) struct Segmentation {
    available: bool,
    /// Addresses whose interface refused batches: it cannot do checksums, or encrypts (xfrm).
    refused: Vec<IpAddr>,
}

impl Segmentation {
    /// The kernel has it, or has not.
    pub(super) fn new(available: bool) -> Self {
        Segmentation { available, refused: Vec::new() }
    }

    /// Batches may leave in one piece.
    pub(super) fn is_available(&self) -> bool {
        self.available
    }

    /// A batch may leave for `to` in one piece.
    pub(super) fn is_for(&self, to: IpAddr) -> bool {
        self.available && !self.refused.contains(&to)
    }

    /// No batch leaves in one piece from now on.
    pub(super) fn end(&mut self) {
        (self.available, self.refused) = (false, Vec::new());
    }

    /// The way to `to` refuses batches, and takes the same datagrams one by one.
    pub(super) fn refuse(&mut self, to: IpAddr) {
        if self.refused.len() < MOST { self.refused.push(to) } else { self.end() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_that_refuses_does_not_end_it_for_the_others() {
        let mut gso = Segmentation::new(true);
        let ip = |n: u8| IpAddr::from([10, 0, 0, n]);
        gso.refuse(ip(1));
        assert!(!gso.is_for(ip(1)) && gso.is_for(ip(2)) && gso.is_available());
        (2..=MOST as u8).for_each(|n| gso.refuse(ip(n)));
        assert!(gso.is_for(ip(200)));
        gso.refuse(ip(100));
        assert!(!gso.is_for(ip(200)) && gso.refused.is_empty(), "the table has a bound");
    }
}
