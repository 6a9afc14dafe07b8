//! Which path.

use crate::wire::MAX_PATHS;

/// A path's identifier within its session. Both ends, the wire, the keys' nonces and the driver call the path by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(u8);

impl PathId {
    /// The path of this number; `None` from [`MAX_PATHS`] on.
    pub const fn new(number: u8) -> Option<PathId> {
        if (number as usize) < MAX_PATHS { Some(PathId(number)) } else { None }
    }

    /// All identifiers there are.
    pub fn all() -> impl Iterator<Item = PathId> {
        (0..MAX_PATHS as u8).map(PathId)
    }

    /// The number, below [`MAX_PATHS`].
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The number, as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Place in a round in which the path after `last` comes first: smaller is sooner.
    pub const fn turn_after(self, last: PathId) -> u8 {
        self.0.wrapping_sub(last.0 + 1)
    }

    /// A mask with this path's bit.
    pub const fn bit(self) -> u16 {
        1 << self.0
    }
}

/// One that a test names.
#[cfg(test)]
pub(crate) const fn path_id(number: u8) -> PathId {
    PathId(number)
}
