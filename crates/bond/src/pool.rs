//! Packet memory: three sizes of buffers, all of it reserved once.
//!
//! The arenas are zeroed allocations, so the operating system backs a page only when it is first used: an idle
//! gateway reserves a lot and holds little.

/// A buffer of a [`Pool`]. Freed by [`Pool::free`], exactly once.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Buf(u32);

const CLASS_SHIFT: u32 = 28;
const INDEX_MASK: u32 = (1 << CLASS_SHIFT) - 1;

/// Bytes of a buffer of each class: an MTU packet, a super-packet at tens of Mb/s, the largest IP packet.
pub const CLASS_BYTES: [usize; 3] = [2048, 8192, 65_536];

#[derive(Debug)]
struct Class {
    size: usize,
    arena: Vec<u8>,
    free: Vec<u32>,
    /// Buffers never handed out yet start here; keeps the free list, too, from touching memory it does not need.
    fresh: u32,
    count: u32,
}

impl Class {
    fn new(size: usize, bytes: usize) -> Self {
        let count = (bytes / size) as u32;
        Class { size, arena: vec![0; count as usize * size], free: Vec::new(), fresh: 0, count }
    }

    fn take(&mut self) -> Option<u32> {
        // Last freed first: the warm buffer is the one in cache.
        self.free.pop().or_else(|| {
            (self.fresh < self.count).then(|| {
                self.fresh += 1;
                self.fresh - 1
            })
        })
    }

    fn used(&self) -> usize {
        self.fresh as usize - self.free.len()
    }
}

/// Buffers for packets in the queue, in flight and held for order.
#[derive(Debug)]
pub struct Pool {
    classes: [Class; 3],
}

impl Pool {
    /// A pool of at most `bytes`, split a quarter, a quarter and a half between the classes.
    pub fn new(bytes: usize) -> Self {
        let [s, m, l] = CLASS_BYTES;
        Pool { classes: [Class::new(s, bytes / 4), Class::new(m, bytes / 4), Class::new(l, bytes / 2)] }
    }

    /// A buffer of at least `len` bytes, or `None` when none is left or `len` is over 64 KiB.
    pub fn alloc(&mut self, len: usize) -> Option<Buf> {
        (0..3).filter(|&c| CLASS_BYTES[c] >= len).find_map(|c| {
            let i = self.classes[c].take()?;
            Some(Buf((c as u32) << CLASS_SHIFT | i))
        })
    }

    /// The kind of buffer that packet memory would give for `len` bytes now, and how many of them are left.
    pub fn left_for(&self, len: usize) -> Option<(usize, u32)> {
        let left = |c: usize| self.classes[c].count - self.classes[c].used() as u32;
        (0..3).filter(|&c| CLASS_BYTES[c] >= len).map(|c| (c, left(c))).find(|(_, left)| *left > 0)
    }

    /// Which kind of buffer this is: an index into [`CLASS_BYTES`].
    pub fn class_of(&self, buf: Buf) -> usize {
        Self::split(buf).0
    }

    /// Gives `buf` back.
    pub fn free(&mut self, buf: Buf) {
        let (class, index) = Self::split(buf);
        self.classes[class].free.push(index);
    }

    /// The whole buffer, for writing.
    pub fn bytes_mut(&mut self, buf: Buf) -> &mut [u8] {
        let (class, index) = Self::split(buf);
        let c = &mut self.classes[class];
        let at = index as usize * c.size;
        &mut c.arena[at..at + c.size]
    }

    /// The whole buffer, for reading.
    pub fn bytes(&self, buf: Buf) -> &[u8] {
        let (class, index) = Self::split(buf);
        let c = &self.classes[class];
        let at = index as usize * c.size;
        &c.arena[at..at + c.size]
    }

    /// Copies the first `len` bytes of a buffer to another.
    pub fn copy(&mut self, from: Buf, to: Buf, len: usize) {
        let ((a, i), (b, j)) = (Self::split(from), Self::split(to));
        let (i, j) = (i as usize * self.classes[a].size, j as usize * self.classes[b].size);
        match self.classes.get_disjoint_mut([a, b]) {
            Ok([source, target]) => target.arena[j..j + len].copy_from_slice(&source.arena[i..i + len]),
            Err(_) => self.classes[a].arena.copy_within(i..i + len, j),
        }
    }

    /// Whether two buffers are of different sizes.
    pub fn are_unlike(&self, one: Buf, other: Buf) -> bool {
        Self::split(one).0 != Self::split(other).0
    }

    /// Bytes of all buffers now handed out.
    pub fn used_bytes(&self) -> usize {
        self.classes.iter().map(|c| c.used() * c.size).sum()
    }

    /// Bytes of all buffers.
    pub fn capacity_bytes(&self) -> usize {
        self.classes.iter().map(|c| c.count as usize * c.size).sum()
    }

    /// Bytes of all buffers that can still be handed out.
    pub fn free_bytes(&self) -> usize {
        self.capacity_bytes() - self.used_bytes()
    }

    /// Under an eighth of some class is left: time to drop rather than to fail.
    pub fn is_tight(&self) -> bool {
        self.classes.iter().any(|c| c.used() * 8 > c.count as usize * 7)
    }

    fn split(buf: Buf) -> (usize, u32) {
        ((buf.0 >> CLASS_SHIFT) as usize, buf.0 & INDEX_MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_out_each_buffer_once_and_spills_to_the_next_class() {
        let mut pool = Pool::new(64 * 1024 * 4);
        let mut all = Vec::new();
        while let Some(b) = pool.alloc(100) {
            assert!(!all.contains(&b));
            all.push(b);
        }
        assert_eq!(all.len(), 32 + 8 + 2);
        assert_eq!(pool.used_bytes(), pool.capacity_bytes());
        all.into_iter().for_each(|b| pool.free(b));
        assert_eq!(pool.used_bytes(), 0);
        assert!(pool.alloc(65_537).is_none());
    }
}
