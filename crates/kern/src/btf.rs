//! BTF, the kernel's description of its types (`Documentation/bpf/btf.rst`): as much as a loader
//! needs.

use crate::KernError;

/// Kinds of types.
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
/// Of the header: magic, version, flags, length, then offset and length of types and of strings.
const HEADER: usize = 24;

/// Types of the kernel, or of an object.
#[derive(Debug)]
pub(crate) struct Btf {
    data: Vec<u8>,
    /// Where each type begins; numbers of types begin at 1.
    starts: Vec<usize>,
    strings: usize,
}

/// A member of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its place, bytes.
    pub(crate) offset: usize,
    /// Number of its type.
    pub(crate) kind: u32,
}

impl Btf {
    /// Reads it.
    pub(crate) fn parse(data: Vec<u8>) -> Result<Btf, KernError> {
        let damaged = || KernError::Damaged("its BTF");
        if data.len() < HEADER || data[..2] != 0xeb9f_u16.to_ne_bytes() {
            return Err(damaged());
        }
        let header = word(&data, 4) as usize;
        let (types, length) = (header + word(&data, 8) as usize, word(&data, 12) as usize);
        let strings = header + word(&data, 16) as usize;
        if types + length > data.len() || strings + word(&data, 20) as usize > data.len() {
            return Err(damaged());
        }
        let (mut starts, mut at) = (Vec::new(), types);
        while at + 12 <= types + length {
            starts.push(at);
            at += 12 + tail(word(&data, at + 4)).ok_or_else(damaged)?;
        }
        if at != types + length {
            return Err(damaged());
        }
        Ok(Btf { data, starts, strings })
    }

    /// As the kernel takes it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The string at a place.
    pub(crate) fn string(&self, offset: u32) -> &str {
        let rest = self.data.get(self.strings + offset as usize..).unwrap_or_default();
        let end = rest.iter().position(|b| *b == 0).unwrap_or(0);
        std::str::from_utf8(&rest[..end]).unwrap_or_default()
    }

    fn start(&self, id: u32) -> Option<usize> {
        self.starts.get((id as usize).checked_sub(1)?).copied()
    }

    fn kind(&self, at: usize) -> u32 {
        word(&self.data, at + 4) >> 24 & 31
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let is_it = |at: &usize| self.kind(*at) == kind && self.string(word(&self.data, *at)) == name;
        self.starts.iter().position(is_it).map(|i| i as u32 + 1)
    }

    /// The number of a struct.
    pub(crate) fn structure(&self, name: &str) -> Option<u32> {
        self.find(STRUCT, name)
    }

    /// Length of a type with one (a struct), bytes.
    pub(crate) fn size(&self, id: u32) -> Option<usize> {
        Some(word(&self.data, self.start(id)? + 8) as usize)
    }

    /// The type that a pointer, a variable or the like points to.
    fn target(&self, id: u32) -> Option<u32> {
        Some(word(&self.data, self.start(id)? + 8))
    }

    /// The members of a struct, in order.
    pub(crate) fn members(&self, id: u32) -> Vec<Member> {
        let Some(at) = self.start(id).filter(|at| self.kind(*at) == STRUCT) else { return Vec::new() };
        let info = word(&self.data, at + 4);
        let of = |i: u32| {
            let at = at + 12 + 12 * i as usize;
            // With bit fields in the struct the upper byte is a width.
            let bits = word(&self.data, at + 8) & if info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
            Member {
                name: self.string(word(&self.data, at)).to_owned(),
                offset: bits as usize / 8,
                kind: word(&self.data, at + 4),
            }
        };
        (0..info & 0xffff).map(of).collect()
    }

    /// The struct that a map's variable is.
    pub(crate) fn map_struct(&self, name: &str) -> Option<u32> {
        self.target(self.find(VAR, name)?)
    }

    /// Of a member of a map's struct: the number that its type's length says (`int
    /// (*max_entries)[N]`).
    pub(crate) fn number(&self, member: &Member) -> Option<u32> {
        let array = self.start(self.target(member.kind)?).filter(|at| self.kind(*at) == ARRAY)?;
        Some(word(&self.data, array + 20))
    }

    /// Of a member of a map's struct: the type that it points to.
    pub(crate) fn pointee(&self, member: &Member) -> Option<u32> {
        self.target(member.kind)
    }

    /// Writes lengths of sections and places of variables, which the compiler leaves to a linker.
    pub(crate) fn place(
        &mut self,
        size_of: impl Fn(&str) -> Option<u32>,
        place_of: impl Fn(&str) -> Option<u32>,
    ) {
        for at in self.starts.clone() {
            if self.kind(at) != DATASEC {
                continue;
            }
            let size = size_of(self.string(word(&self.data, at)));
            self.put(at + 8, size.unwrap_or(0));
            for i in 0..(word(&self.data, at + 4) & 0xffff) as usize {
                let entry = at + 12 + 12 * i;
                let variable = self.start(word(&self.data, entry));
                let place = variable.and_then(|v| place_of(self.string(word(&self.data, v))));
                self.put(entry + 4, place.unwrap_or(0));
            }
        }
    }

    fn put(&mut self, at: usize, value: u32) {
        self.data[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
}

/// Bytes that follow the three words of a type; none of a kind that came after Linux 6.18.
fn tail(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    match info >> 24 & 31 {
        2 | 7..=12 | 16 | 18 => Some(0),
        1 | 14 | 17 => Some(4),
        3 => Some(12),
        4 | 5 | 15 | 19 => Some(12 * count),
        6 | 13 => Some(8 * count),
        _ => None,
    }
}

/// A word in the machine's order; 0 outside.
pub(crate) fn word(data: &[u8], at: usize) -> u32 {
    data.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF of types without names.
    fn of(types: &[u32]) -> Vec<u8> {
        let length = 4 * types.len() as u32;
        let mut all = [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0]].concat();
        let header = [HEADER as u32, 0, length, length, 1];
        all.extend(header.iter().chain(types).flat_map(|word| word.to_ne_bytes()));
        all.push(0);
        all
    }

    #[test]
    fn a_kind_that_is_not_known_is_not_taken_for_one_without_a_tail() {
        let int = [0, 1 << 24, 4, 0];
        assert_eq!(Btf::parse(of(&[int, int].concat())).unwrap().starts, [24, 40]);
        for later in [0, 20, 31] {
            let types = [&int[..], &[0, later << 24, 4]].concat();
            assert!(matches!(Btf::parse(of(&types)), Err(KernError::Damaged(_))), "{later}");
        }
    }
}
