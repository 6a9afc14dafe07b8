//! Memory that the kernel may go on reading after it was handed over.
//!
//! A page that the kernel holds keeps its bytes in the kernel's hands even when this process unmaps it, so memory of this kind holds sealed
//! datagrams only, and is mapped for nothing else.

use std::collections::VecDeque;
use std::ptr::NonNull;

use ropewalk_bond::api::Ticket;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Bytes of a slot: a batch and what is left of its last page.
pub(super) const SLOT: usize = 64 << 10;
/// A large page: the kernel hands its bytes on in one piece, and a processor reads on past 4 KiB.
const LARGE: usize = 2 << 20;

/// Slots for batches on their way.
#[derive(Debug)]
pub(super) struct Pages {
    /// The mapping and its length.
    mapped: (NonNull<u8>, usize),
    /// The first slot: the first large page of the mapping.
    base: NonNull<u8>,
    slots: usize,
    /// Slots that nobody reads. Last freed first: memory is only backed when used.
    free: Vec<usize>,
    /// Slots whose datagrams are not settled, oldest first.
    busy: VecDeque<(usize, Ticket)>,
}

// SAFETY: the mapping belongs to this value alone; it is written through `&mut self` only.
unsafe impl Send for Pages {}
// SAFETY: through `&self` it is only read.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps `slots` slots.
    pub(super) fn new(slots: usize) -> Result<Pages, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let len = slots * SLOT + LARGE;
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses touches no memory of this program.
        let mapped = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, flags) }?;
        let mapped = NonNull::new(mapped.cast::<u8>()).ok_or(Errno::NOMEM)?;
        let before = mapped.as_ptr().align_offset(LARGE);
        // SAFETY: `before` is below LARGE, and the mapping is longer than that.
        let base = unsafe { mapped.add(before) };
        // SAFETY: advice about a part of the mapping above. Where it is not taken, pages are small.
        let _ = unsafe { rustix::mm::madvise(base.as_ptr().cast(), slots * SLOT, Advice::LinuxHugepage) };
        let free = (0..slots).rev().collect();
        Ok(Pages { mapped: (mapped, len), base, slots, free, busy: VecDeque::new() })
    }

    /// Takes back the slots whose datagrams are settled.
    pub(super) fn reclaim(&mut self, is_settled: impl Fn(&Ticket) -> bool) {
        while let Some((slot, _)) = self.busy.front().filter(|(_, ticket)| is_settled(ticket)) {
            self.free.push(*slot);
            self.busy.pop_front();
        }
    }

    /// Copies `data`, of one slot at most, to a free slot.
    pub(super) fn fill(&mut self, data: &[u8]) -> Option<Filled> {
        let slot = self.free.pop()?;
        debug_assert!(data.len() <= SLOT && slot < self.slots);
        // SAFETY: `slot` is below `slots`, so its bytes are in the mapping; it is free, so no other reference to them is alive; the mapping is
        // zeroed memory, so initialized.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(slot * SLOT), data.len()) };
        copy_past_the_cache(data, bytes);
        Some(Filled { slot, data: bytes.as_ptr(), len: data.len() })
    }

    /// The bytes of a filled slot.
    pub(super) fn bytes(&self, filled: &Filled) -> &[u8] {
        // SAFETY: `fill` made it: `len` bytes of this mapping, which are written again only through `&mut self`.
        unsafe { std::slice::from_raw_parts(filled.data, filled.len) }
    }

    /// The datagrams of a slot left under this ticket.
    pub(super) fn sent(&mut self, filled: &Filled, ticket: Ticket) {
        self.busy.push_back((filled.slot, ticket));
    }

    /// The datagrams of a slot did not leave.
    pub(super) fn unsent(&mut self, filled: &Filled) {
        self.free.push(filled.slot);
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this length and nobody else has it. Pages that the kernel still reads live on until it has done so.
        let unmapped = unsafe { rustix::mm::munmap(self.mapped.0.as_ptr().cast(), self.mapped.1) };
        debug_assert!(unmapped.is_ok());
    }
}

/// A slot with data in it, to be given to the kernel.
pub(super) struct Filled {
    slot: usize,
    data: *const u8,
    len: usize,
}

/// Copies to memory that another processor has read and will read again: stores that fetch its lines first, to write over them, take several times as
/// long.
#[cfg(target_arch = "x86_64")]
fn copy_past_the_cache(from: &[u8], to: &mut [u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    assert_eq!(from.len(), to.len());
    assert_eq!(to.as_ptr() as usize % LINE, 0, "slots begin at pages");
    let whole = from.len() / LINE * LINE;
    let (lines, rest) = from.split_at(whole);
    for (source, target) in lines.chunks_exact(LINE).zip(to.chunks_exact_mut(LINE)) {
        let (source, target) = (source.as_ptr().cast::<__m128i>(), target.as_mut_ptr().cast::<__m128i>());
        for k in 0..LINE / size_of::<__m128i>() {
            // SAFETY: SSE2 is part of x86-64. Both chunks have 64 bytes, so four vectors; the target is aligned to 64.
            unsafe { _mm_stream_si128(target.add(k), _mm_loadu_si128(source.add(k))) };
        }
    }
    to[whole..].copy_from_slice(rest);
    // SAFETY: an SSE instruction without operands; it orders the stores above before whatever tells others of them.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn copy_past_the_cache(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_in_the_order_in_which_they_are_settled() {
        let mut pages = Pages::new(2).expect("128 KiB of memory");
        let first = pages.fill(&[1; 70]).expect("two slots are free");
        pages.sent(&first, Ticket { peer: 1, path: 0, last: 9 });
        let second = pages.fill(&[2; SLOT]).expect("one slot is free");
        pages.sent(&second, Ticket { peer: 1, path: 0, last: 19 });
        assert!(pages.fill(&[3]).is_none(), "both are on their way");
        pages.reclaim(|t| t.last <= 9);
        let third = pages.fill(&[3; 5]).expect("the first is settled");
        assert_eq!(third.data, first.data);
        assert!(pages.fill(&[4]).is_none());
        pages.unsent(&third);
        assert!(pages.fill(&[4]).is_some(), "what did not leave is free at once");
    }

    #[test]
    fn every_length_is_copied_whole() {
        let mut pages = Pages::new(1).expect("64 KiB of memory");
        let data: Vec<u8> = (0..SLOT).map(|i| (i % 251) as u8).collect();
        for len in [0, 1, 15, 63, 64, 65, 127, 4096, 65_487, SLOT] {
            let filled = pages.fill(&data[..len]).expect("a free slot");
            assert_eq!(pages.bytes(&filled), &data[..len]);
            pages.unsent(&filled);
        }
    }
}
