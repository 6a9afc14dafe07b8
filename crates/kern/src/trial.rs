//! The laws as the kernel computes them, without a socket: for tests, which hold them against
//! `ropewalk_cc`.

use crate::loader::Maps;
use crate::shared::{self, Counters, Key, Slot, TRIAL};
use crate::{KernError, Law, pins, sys};
use std::os::fd::{AsFd, OwnedFd};

/// A law and its maps, in the kernel as long as this value is.
#[derive(Debug)]
pub struct Trial {
    maps: Maps,
    program: OwnedFd,
}

/// The subflow that is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Its slot's owner; 0 where it has none.
    pub owner: u32,
    /// Bytes since the last loss (see [`Slot`]).
    pub since_loss: u64,
    /// Congestion window, packets.
    pub packets: u32,
    /// Bytes in a packet.
    pub mss: u32,
    /// Smoothed round trip, microseconds.
    pub rtt_us: u32,
    /// Growth that is not a packet yet, packets · 2⁴⁸.
    pub fraction: i64,
}

/// What the law answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The window after the growth, packets, and its fraction.
    pub window: u32,
    /// As in [`Own`].
    pub fraction: i64,
    /// What a congestion event would leave of the window, packets.
    pub reduced: u32,
    /// The connection was there.
    pub is_coupled: bool,
}

impl Trial {
    /// Loads a law.
    pub fn new(law: Law) -> Result<Trial, KernError> {
        Trial::of_object(law, law.object())
    }

    /// Loads a law from an object that has just been compiled.
    pub fn of_object(law: Law, object: &[u8]) -> Result<Trial, KernError> {
        let maps = Maps::new(law.kernel_name(), object, None)?;
        let program = maps.trial()?;
        Ok(Trial { maps, program })
    }

    /// Puts a connection with these subflows into the map.
    pub fn set(&self, key: Key, slots: &[Slot]) -> Result<(), KernError> {
        let map = self.maps.map("connections")?;
        sys::update(map.as_fd(), &key.bytes(), &shared::entry(key, slots)).map_err(KernError::system("a map"))
    }

    /// Runs the law for so many acknowledged packets.
    pub fn ask(&self, key: Key, own: Own, acked: u32) -> Result<Answer, KernError> {
        let mut context = [0_u8; TRIAL];
        let mut put = |at: usize, bytes: &[u8]| context[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &key.bytes());
        put(16, &own.since_loss.to_ne_bytes());
        for (i, word) in [own.owner, own.packets, own.mss, own.rtt_us].into_iter().enumerate() {
            put(24 + 4 * i, &word.to_ne_bytes());
        }
        put(40, &own.fraction.to_ne_bytes());
        put(48, &acked.to_ne_bytes());
        sys::run(self.program.as_fd(), &mut context).map_err(KernError::system("running a law"))?;
        let word = |at| crate::btf::word(&context, at);
        Ok(Answer {
            fraction: shared::long(&context, 40) as i64,
            window: word(52),
            reduced: word(56),
            is_coupled: word(60) != 0,
        })
    }
}

/// A controller that is registered as long as this value is, and not pinned; its map has room for
/// so many connections.
#[derive(Debug)]
pub struct Registered {
    maps: Maps,
    _link: OwnedFd,
}

impl Registered {
    /// Registers it.
    pub fn new(law: Law, connections: u32) -> Result<Registered, KernError> {
        let maps = Maps::new(law.kernel_name(), law.object(), Some(connections))?;
        let link = maps.register(law)?;
        Ok(Registered { maps, _link: link })
    }

    /// The coupled connections and their subflows.
    pub fn connections(&self) -> Result<Vec<(Key, Vec<Slot>)>, KernError> {
        let map = self.maps.map("connections")?.as_fd();
        let keys = pins::keys(map).map_err(KernError::system("reading a map"))?;
        let mut all = Vec::new();
        for key in keys {
            let mut entry = [0; shared::CONNECTION];
            if sys::lookup(map, &key, &mut entry).map_err(KernError::system("reading a map"))? {
                all.push((Key::from(&key), shared::slots(&entry)));
            }
        }
        Ok(all)
    }

    /// What was counted.
    pub fn counters(&self) -> Result<Counters, KernError> {
        let mut bytes = [0; shared::COUNTERS];
        let map = self.maps.map("counters")?.as_fd();
        sys::lookup(map, &[0; 4], &mut bytes).map_err(KernError::system("reading a map"))?;
        Ok(Counters::from(&bytes))
    }
}
