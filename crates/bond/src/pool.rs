//! Packet memory: three sizes of buffers, all of it reserved once.
//!
//! The arenas are zeroed allocations, so the operating system backs a page only when it is first used: an idle
//! gateway reserves a lot and holds little.
//!
//! A build with debug assertions overwrites each buffer that is given back. Who reads it later reads [`POISON`], which is
//! no IP packet; who writes it later is found out when it is handed out again.

/// A buffer of a [`Pool`]. Freed by [`Pool::free`], exactly once.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Buf(u32);

impl Buf {
    /// Which kind of buffer this is: an index into [`CLASS_BYTES`].
    pub(crate) fn class(self) -> usize {
        (self.0 >> CLASS_SHIFT) as usize
    }
}

const CLASS_SHIFT: u32 = 28;
const INDEX_MASK: u32 = (1 << CLASS_SHIFT) - 1;

/// Bytes of a buffer of each class: an MTU packet, a super-packet at tens of Mb/s, the largest IP packet.
pub const CLASS_BYTES: [usize; 3] = [2048, 8192, 65_536];

/// What a free buffer is full of in a build with debug assertions: as an IP packet it would be of version 13.
pub const POISON: u8 = 0xdb;
static POISONED: [u8; 65_536] = [POISON; 65_536];

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
        if let Some(index) = self.free.pop() {
            debug_assert!(
                self.buffer(index) == &POISONED[..self.size],
                "packet memory was written after its release"
            );
            return Some(index);
        }
        (self.fresh < self.count).then(|| {
            self.fresh += 1;
            self.fresh - 1
        })
    }

    fn give_back(&mut self, index: u32) {
        if cfg!(debug_assertions) {
            self.buffer_mut(index).fill(POISON);
        }
        self.free.push(index);
    }

    fn buffer(&self, index: u32) -> &[u8] {
        &self.arena[index as usize * self.size..][..self.size]
    }

    fn buffer_mut(&mut self, index: u32) -> &mut [u8] {
        &mut self.arena[index as usize * self.size..][..self.size]
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

    /// Gives `buf` back.
    pub fn free(&mut self, buf: Buf) {
        let (class, index) = Self::split(buf);
        self.classes[class].give_back(index);
    }

    /// The whole buffer, for writing.
    pub fn bytes_mut(&mut self, buf: Buf) -> &mut [u8] {
        let (class, index) = Self::split(buf);
        self.classes[class].buffer_mut(index)
    }

    /// The whole buffer, for reading.
    pub fn bytes(&self, buf: Buf) -> &[u8] {
        let (class, index) = Self::split(buf);
        self.classes[class].buffer(index)
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

    /// Bytes of all buffers that were ever handed out: the operating system may have to back so many.
    pub fn peak_bytes(&self) -> usize {
        self.classes.iter().map(|c| c.fresh as usize * c.size).sum()
    }

    /// Bytes of all buffers.
    pub fn capacity_bytes(&self) -> usize {
        self.classes.iter().map(|c| c.count as usize * c.size).sum()
    }

    /// Bytes of all buffers that can still be handed out.
    pub fn free_bytes(&self) -> usize {
        self.capacity_bytes() - self.used_bytes()
    }

    /// Bytes of the buffers of this class, and of those with larger ones, that can be handed out.
    pub fn free_bytes_from(&self, class: usize) -> usize {
        self.classes[class..].iter().map(|c| (c.count as usize - c.used()) * c.size).sum()
    }

    /// Under an eighth of some class is left: time to drop rather than to fail.
    pub fn is_tight(&self) -> bool {
        self.classes.iter().any(|c| c.used() * 8 > c.count as usize * 7)
    }

    fn split(buf: Buf) -> (usize, u32) {
        (buf.class(), buf.0 & INDEX_MASK)
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
        assert_eq!((pool.used_bytes(), pool.peak_bytes()), (0, pool.capacity_bytes()));
        assert!(pool.alloc(65_537).is_none());
    }

    #[test]
    fn what_was_used_is_used_again_before_fresh_memory() {
        let mut pool = Pool::new(64 * 1024 * 4);
        for _ in 0..100 {
            let two = [pool.alloc(2000).unwrap(), pool.alloc(2000).unwrap()];
            two.into_iter().for_each(|b| pool.free(b));
        }
        assert_eq!(pool.peak_bytes(), 2 * 2048);
    }

    #[cfg(debug_assertions)]
    #[test]
    fn a_late_reader_finds_poison() {
        let mut pool = Pool::new(64 * 1024 * 4);
        for len in CLASS_BYTES {
            let (late, other) = (pool.alloc(len).unwrap(), pool.alloc(len).unwrap());
            pool.bytes_mut(late).fill(0x45);
            pool.bytes_mut(other).fill(0x45);
            pool.free(late);
            assert!(pool.bytes(late).iter().all(|b| *b == POISON));
            assert!(pool.bytes(other).iter().all(|b| *b == 0x45), "another's memory was overwritten");
        }
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "written after its release")]
    fn a_late_writer_is_found_out() {
        let mut pool = Pool::new(64 * 1024 * 4);
        let late = pool.alloc(100).unwrap();
        pool.free(late);
        pool.bytes_mut(late)[99] = 0x45;
        pool.alloc(100);
    }
}
