//! What a session holds for order: packets of which parts are missing or whose turn has not come, and numbers that were abandoned.
//!
//! Only what is there takes memory. Numbers stand in blocks of 64; a block exists while something of it is there, and the blocks of a flow are a
//! list by number. A flow's window spans 129 blocks, so nothing here takes more steps than that, and a gap costs nothing.

use super::assembly::Assembly;
use crate::pool::{CLASS_BYTES, Pool};
use crate::wire::seq_after;
use slab::Slab;

/// Index of a block or a packet.
pub(super) type Id = u16;
/// Index of none.
pub(super) const NONE: Id = Id::MAX;

/// Packets that one session may hold. So many small buffers are a third of the packet memory, and a session gets no more than half of it.
const MOST_PACKETS: usize = 16_384;
/// Blocks that one session may need: a block in each of four places of every flow, or 31 full windows.
const MOST_BLOCKS: usize = 4096;
/// Numbers in a block: bits of its words.
const BLOCK_BITS: u32 = 6;

#[derive(Debug)]
struct Block {
    /// Its numbers without their low [`BLOCK_BITS`].
    number: u32,
    /// The flow's next block.
    after: Id,
    /// Which of its numbers are held.
    held: u64,
    /// Which of them were abandoned. They are not held.
    abandoned: u64,
    /// The packets that are held; the others' entries mean nothing.
    packets: [Id; 1 << BLOCK_BITS],
}

impl Block {
    fn present(&self) -> u64 {
        self.held | self.abandoned
    }
}

/// A packet that is held, and its neighbours among those of its flow that wait.
#[derive(Debug)]
pub(super) struct Slot {
    pub packet: Assembly,
    pub older: Id,
    pub newer: Id,
}

/// What is known of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is there.
    Missing,
    /// It is held, whole or in part.
    Held(Id),
    /// It will not come, as will so many in a row from it on. At least one.
    Abandoned(u32),
}

/// All of a session's blocks and packets.
#[derive(Debug, Default)]
pub(super) struct Held {
    blocks: Slab<Block>,
    slots: Slab<Slot>,
    /// Packet memory, bytes, by the class of its buffers.
    pub bytes: [u64; CLASS_BYTES.len()],
    /// Blocks and packets looked at so far.
    pub steps: u64,
    /// Something was put here since [`Held::give_back`] was last called.
    in_use: bool,
}

impl Held {
    /// Bytes of the heap at most. An entry of a slab is its value or the next free index.
    pub(super) const MOST_HEAP: usize =
        MOST_BLOCKS * size_of::<(usize, Block)>() + MOST_PACKETS * size_of::<(usize, Slot)>();

    /// What is known of number `seq` in the flow whose blocks begin with `first`.
    pub(super) fn state(&mut self, first: Id, seq: u32) -> State {
        let Some((_, id)) = self.find(first, seq) else { return State::Missing };
        let (block, bit) = (&self.blocks[id.into()], bit_of(seq));
        if block.held >> bit & 1 != 0 {
            State::Held(block.packets[bit as usize])
        } else {
            match (block.abandoned >> bit).trailing_ones() {
                0 => State::Missing,
                run => State::Abandoned(run),
            }
        }
    }

    /// Holds a packet under a missing number; frees it if the session holds too much.
    pub(super) fn insert(
        &mut self,
        first: &mut Id,
        pool: &mut Pool,
        seq: u32,
        packet: Assembly,
    ) -> Option<Id> {
        let has_room = self.slots.len() < MOST_PACKETS;
        let Some(block) = (if has_room { self.block(first, seq) } else { None }) else {
            packet.drop_into(pool);
            return None;
        };
        self.bytes[packet.class()] += packet.memory();
        let id = self.slots.insert(Slot { packet, older: NONE, newer: NONE }) as Id;
        let (block, bit) = (&mut self.blocks[block.into()], bit_of(seq));
        block.held |= 1 << bit;
        block.packets[bit as usize] = id;
        Some(id)
    }

    /// Marks a missing number as abandoned. `false`: the session holds too much.
    pub(super) fn abandon(&mut self, first: &mut Id, seq: u32) -> bool {
        let Some(block) = self.block(first, seq) else { return false };
        self.blocks[block.into()].abandoned |= 1 << bit_of(seq);
        true
    }

    /// Takes a packet out; its number is missing again.
    pub(super) fn take(&mut self, first: &mut Id, seq: u32) -> Option<Assembly> {
        let (before, id) = self.find(*first, seq)?;
        let (block, bit) = (&mut self.blocks[id.into()], bit_of(seq));
        if block.held >> bit & 1 == 0 {
            return None;
        }
        block.held &= !(1 << bit);
        let packet = self.slots.remove(block.packets[bit as usize].into()).packet;
        self.bytes[packet.class()] -= packet.memory();
        self.drop_if_empty(first, before, id);
        Some(packet)
    }

    /// Forgets `count` abandoned numbers of one block from `seq` on.
    pub(super) fn forget(&mut self, first: &mut Id, seq: u32, count: u32) {
        let Some((before, id)) = self.find(*first, seq) else { return };
        self.blocks[id.into()].abandoned &= !(u64::MAX >> (u64::BITS - count) << bit_of(seq));
        self.drop_if_empty(first, before, id);
    }

    /// The least number of a flow that is held or abandoned.
    pub(super) fn least(&self, first: Id) -> Option<u32> {
        let block = self.blocks.get(first.into())?;
        Some(block.number << BLOCK_BITS | block.present().trailing_zeros())
    }

    /// Whether a number other than `seq`, the least that can be there, is held or abandoned.
    pub(super) fn has_more_than(&self, first: Id, seq: u32) -> bool {
        let Some(block) = self.blocks.get(first.into()) else { return false };
        let own = if block.number == seq >> BLOCK_BITS { 1 << bit_of(seq) } else { 0 };
        block.after != NONE || block.present() & !own != 0
    }

    /// A packet that is held.
    pub(super) fn slot(&self, id: Id) -> &Slot {
        &self.slots[id.into()]
    }

    /// The same, for change; what it holds of the packet memory must not change.
    pub(super) fn slot_mut(&mut self, id: Id) -> &mut Slot {
        &mut self.slots[id.into()]
    }

    /// Bytes of the heap that this has.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<(usize, Block)>()
            + self.slots.capacity() * size_of::<(usize, Slot)>()
    }

    /// Drops everything.
    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.slots.drain().for_each(|slot| slot.packet.drop_into(pool));
        self.blocks.clear();
        self.bytes = Default::default();
    }

    /// Gives the heap back if nothing was here since the last call.
    pub(super) fn give_back(&mut self) {
        let was_in_use = std::mem::take(&mut self.in_use);
        if !was_in_use && self.slots.is_empty() && self.blocks.is_empty() {
            (self.blocks, self.slots) = (Slab::new(), Slab::new());
        }
    }

    /// The block of a number and the one before it.
    fn find(&mut self, first: Id, seq: u32) -> Option<(Id, Id)> {
        let (mut before, mut id) = (NONE, first);
        while let Some(block) = self.blocks.get(id.into()) {
            self.steps += 1;
            if block.number == seq >> BLOCK_BITS {
                return Some((before, id));
            }
            (before, id) = (id, block.after);
        }
        None
    }

    /// The block of a number; makes it if it is not there.
    fn block(&mut self, first: &mut Id, seq: u32) -> Option<Id> {
        self.in_use = true;
        let (mut before, mut id) = (NONE, *first);
        while let Some(block) = self.blocks.get(id.into()) {
            self.steps += 1;
            match seq_after(seq >> BLOCK_BITS << BLOCK_BITS, block.number << BLOCK_BITS) {
                0 => return Some(id),
                ..0 => break,
                1.. => (before, id) = (id, block.after),
            }
        }
        if self.blocks.len() >= MOST_BLOCKS {
            return None;
        }
        let packets = [NONE; 1 << BLOCK_BITS];
        let block = Block { number: seq >> BLOCK_BITS, after: id, held: 0, abandoned: 0, packets };
        let new = self.blocks.insert(block) as Id;
        *self.link_to(first, before) = new;
        Some(new)
    }

    fn drop_if_empty(&mut self, first: &mut Id, before: Id, id: Id) {
        let block = &self.blocks[id.into()];
        if block.present() == 0 {
            *self.link_to(first, before) = block.after;
            self.blocks.remove(id.into());
        }
    }

    /// The link behind a block, or to the first.
    fn link_to<'a>(&'a mut self, first: &'a mut Id, before: Id) -> &'a mut Id {
        self.blocks.get_mut(before.into()).map_or(first, |block| &mut block.after)
    }
}

fn bit_of(seq: u32) -> u32 {
    seq & ((1 << BLOCK_BITS) - 1)
}
