//! Memory that the kernel may go on reading after it was handed over.
//!
//! A page that the kernel holds keeps its bytes in the kernel's hands even when this process unmaps it, so memory of this kind holds sealed
//! datagrams only, and is mapped for nothing else.
//!
//! Nobody says when the kernel has read a page. A page is used again when all its datagrams are acknowledged, or were held lost two round trips
//! ago. One that is on its way for longer than that then carries other bytes: another sealed datagram, or parts of two. The receiver drops both,
//! the first because it has it already, the second because it does not open.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

use ropewalk_bond::api::{ROOM_BYTES, Room, Ticket};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::error::OpenError;

/// Bytes of a slot: a batch, up to the end of its last page.
pub(super) const SLOT: usize = 64 << 10;
const _: () = assert!(ROOM_BYTES <= SLOT);
/// A large page: the kernel hands its bytes on in one piece, and a processor reads on past 4 KiB.
const LARGE: usize = 2 << 20;

/// Rooms for batches on their way, to be handed to an engine one by one.
#[derive(Debug)]
pub struct Pages {
    mapping: Arc<Mapping>,
    /// Rooms that nobody reads. Last freed first: memory is only backed when used.
    free: Vec<Box<dyn Room>>,
    /// Rooms whose datagrams are not settled, oldest first.
    busy: VecDeque<(Box<dyn Room>, Ticket)>,
}

/// A batch in memory of [`Pages`].
#[derive(Clone, Copy, Debug)]
pub struct Lendable<'a>(&'a [u8]);

impl Pages {
    /// Maps `slots` rooms of 64 KiB.
    ///
    /// # Errors
    /// [`OpenError`], where there is no memory.
    pub fn new(slots: usize) -> Result<Pages, OpenError> {
        let mapping = Mapping::new(slots * SLOT).map_err(|e| OpenError::system("mapping memory", e))?;
        let mapping = Arc::new(mapping);
        let room = |index| Box::new(Slot { mapping: mapping.clone(), index }) as Box<dyn Room>;
        let free = (0..slots).rev().map(room).collect();
        Ok(Pages { mapping, free, busy: VecDeque::with_capacity(slots) })
    }

    /// Takes back the rooms whose datagrams are settled.
    pub fn reclaim(&mut self, is_settled: impl Fn(&Ticket) -> bool) {
        while self.busy.front().is_some_and(|(_, ticket)| is_settled(ticket)) {
            self.free.extend(self.busy.pop_front().map(|(room, _)| room));
        }
        // A peer that is slow to answer, or gone, does not keep the others' rooms.
        if self.free.is_empty() {
            for _ in 0..self.busy.len() {
                match self.busy.pop_front() {
                    Some((room, ticket)) if is_settled(&ticket) => self.free.push(room),
                    Some(other) => self.busy.push_back(other),
                    None => break,
                }
            }
        }
    }

    /// A room that nobody reads.
    pub fn take(&mut self) -> Option<Box<dyn Room>> {
        self.free.pop()
    }

    /// The kernel reads the datagrams of `ticket` from this room, one of [`Pages::take`].
    pub fn lent(&mut self, room: Box<dyn Room>, ticket: Ticket) {
        self.busy.push_back((room, ticket));
    }

    /// `batch`, if it lies in a room of these.
    pub fn lendable<'a>(&self, batch: &'a [u8]) -> Option<Lendable<'a>> {
        let all = self.mapping.addresses();
        let theirs = batch.as_ptr_range();
        (all.start <= theirs.start && theirs.end <= all.end).then_some(Lendable(batch))
    }
}

impl Lendable<'_> {
    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0
    }
}

/// Anonymous memory.
#[derive(Debug)]
struct Mapping {
    mapped: (NonNull<u8>, usize),
    /// The first large page of it, where slots begin.
    base: NonNull<u8>,
}

// SAFETY: the mapping is memory like any other; its slots are given out once each.
unsafe impl Send for Mapping {}
// SAFETY: as above; a `Mapping` itself has no method that reads or writes it.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(len: usize) -> Result<Mapping, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let total = len + LARGE;
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses touches no memory of this program.
        let mapped = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), total, protection, flags) }?;
        let mapped = NonNull::new(mapped.cast::<u8>()).ok_or(Errno::NOMEM)?;
        let before = mapped.as_ptr().align_offset(LARGE);
        // SAFETY: `before` is below LARGE, and the mapping is longer than that.
        let base = unsafe { mapped.add(before) };
        // SAFETY: advice about a part of the mapping above. Where it is not taken, pages are small.
        let _ = unsafe { rustix::mm::madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Ok(Mapping { mapped: (mapped, total), base })
    }

    fn addresses(&self) -> std::ops::Range<*const u8> {
        let start = self.mapped.0.as_ptr().cast_const();
        start..start.wrapping_add(self.mapped.1)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this length and all slots, which hold it, are gone. Pages that the kernel still reads live on until it has
        // done so.
        let unmapped = unsafe { rustix::mm::munmap(self.mapped.0.as_ptr().cast(), self.mapped.1) };
        debug_assert!(unmapped.is_ok());
    }
}

/// One room of a mapping.
#[derive(Debug)]
struct Slot {
    mapping: Arc<Mapping>,
    index: usize,
}

impl Room for Slot {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `index` is below the number of slots, so the bytes are in the mapping, which `self` keeps; it is zeroed memory, so initialized;
        // no other `Slot` has this index.
        unsafe { std::slice::from_raw_parts(self.mapping.base.as_ptr().add(self.index * SLOT), SLOT) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed for as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.base.as_ptr().add(self.index * SLOT), SLOT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(peer: u32, last: u64) -> Ticket {
        Ticket { peer, path: 0, last }
    }

    fn start(room: &dyn Room) -> *const u8 {
        room.bytes().as_ptr()
    }

    #[test]
    fn rooms_come_back_when_they_are_settled() {
        let mut pages = Pages::new(3).expect("192 KiB of memory");
        let rooms: Vec<_> = (0..3).map(|_| pages.take().expect("three are free")).collect();
        assert!(pages.take().is_none(), "all are out");
        let at: Vec<_> = rooms.iter().map(|r| start(&**r)).collect();
        for (room, ticket) in rooms.into_iter().zip([ticket(1, 9), ticket(2, 5), ticket(1, 19)]) {
            pages.lent(room, ticket);
        }
        pages.reclaim(|t| *t == ticket(1, 9));
        assert_eq!(start(&*pages.take().expect("the first is settled")), at[0]);
        pages.reclaim(|t| t.peer == 1);
        assert_eq!(start(&*pages.take().expect("the third is, past one that is not")), at[2]);
        assert!(pages.take().is_none());
    }

    #[test]
    fn only_what_lies_in_a_room_is_lendable() {
        let (mut pages, mut others) = (Pages::new(2).expect("memory"), Pages::new(1).expect("memory"));
        let mut room = pages.take().expect("two are free");
        room.bytes_mut().fill(7);
        assert_eq!(pages.lendable(&room.bytes()[..ROOM_BYTES]).expect("it does").bytes().len(), ROOM_BYTES);
        assert!(others.lendable(room.bytes()).is_none() && pages.lendable(&[7; 100]).is_none());
        assert!(others.take().expect("one").bytes().iter().all(|b| *b == 0));
        drop(pages);
        assert!(room.bytes().iter().all(|b| *b == 7), "a room outlives its pages");
    }
}
