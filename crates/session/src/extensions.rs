//! Room for what later versions want to say in a hello: `type u8 | length u8 | value`, one after the other.
//!
//! Type 0 has no length and ends the list; what follows it is padding. A receiver skips types it does not know.

use super::reader::Reader;

/// Extension without a value: this end reads QUEUE frames.
pub const READS_QUEUE: u8 = 1;
/// Extension whose value begins with the highest version of AIR frames that this end reads; types 2
/// and 3 are those of a backhaul, 5 is [`super::OBSERVED`].
pub const READS_AIR: u8 = 4;
/// The version of AIR frames that there is.
const AIR_VERSION: u8 = 1;

/// Extensions of a hello, in order. Types 1 to 255; every one is optional and may be ignored by a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions(Vec<u8>);

impl Extensions {
    /// What this version announces.
    pub fn of_this_version() -> Extensions {
        Extensions(vec![READS_QUEUE, 0, READS_AIR, 1, AIR_VERSION])
    }

    /// The same, and which end of a backhaul this is, if it is one.
    pub fn with_backhaul(backhaul: Option<&super::BackhaulEnd>) -> Extensions {
        let mut all = Extensions::of_this_version();
        if let Some(backhaul) = backhaul {
            backhaul.put(&mut all);
        }
        all
    }

    /// Adds one. `false`, and nothing added, if `kind` is 0 or `value` has more than 255 bytes. Whether all of them
    /// fit is known when the hello is sent.
    #[must_use]
    pub fn push(&mut self, kind: u8, value: &[u8]) -> bool {
        let Ok(len) = u8::try_from(value.len()) else { return false };
        if kind == 0 {
            return false;
        }
        self.0.extend_from_slice(&[kind, len]);
        self.0.extend_from_slice(value);
        true
    }

    /// The value of the first one of type `kind`.
    pub fn get(&self, kind: u8) -> Option<&[u8]> {
        self.iter().find(|(other, _)| *other == kind).map(|(_, value)| value)
    }

    /// Whether this end reads AIR frames as this version writes them.
    pub fn reads_air(&self) -> bool {
        self.get(READS_AIR).and_then(|value| value.first()).is_some_and(|version| *version >= AIR_VERSION)
    }

    /// All of them, as type and value.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let mut reader = Reader(&self.0);
        core::iter::from_fn(move || next(&mut reader)?)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Takes the list at the end of a hello; `None` if one of its lengths reaches beyond that end.
    pub(super) fn parse(bytes: &[u8]) -> Option<Extensions> {
        let mut reader = Reader(bytes);
        let mut taken = 0;
        while next(&mut reader)?.is_some() {
            taken = bytes.len() - reader.0.len();
        }
        Some(Extensions(bytes[..taken].to_vec()))
    }
}

/// The next extension; `Some(None)` at the end of the list, `None` if it is cut short.
fn next<'a>(reader: &mut Reader<'a>) -> Option<Option<(u8, &'a [u8])>> {
    let kind = match reader.u8() {
        None | Some(0) => return Some(None),
        Some(kind) => kind,
    };
    let len = usize::from(reader.u8()?);
    Some(Some((kind, reader.bytes(len)?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unknown_ones_are_skipped_and_padding_ends_the_list() {
        let list = Extensions::parse(&[200, 1, 7, 3, 0, 9, 2, 1, 2, 0, 5, 99, 1]).unwrap();
        assert_eq!(list.get(9), Some(&[1, 2][..]));
        assert_eq!(list.get(3), Some(&[][..]));
        assert_eq!(list.get(5), None);
        assert_eq!(list.iter().count(), 3);
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        for bytes in [&[1][..], &[1, 1], &[1, 0, 2, 3, 0, 0]] {
            assert_eq!(Extensions::parse(bytes), None);
        }
    }

    #[test]
    fn what_cannot_be_written_is_not_added() {
        let mut list = Extensions::default();
        assert!(!list.push(0, &[]) && !list.push(1, &[0; 256]) && list.push(1, &[0; 255]));
        assert_eq!(list.iter().count(), 1);
    }

    #[test]
    fn only_who_names_a_version_reads_air() {
        let list = |bytes: &[u8]| Extensions::parse(bytes).unwrap();
        assert!(Extensions::of_this_version().reads_air() && list(&[READS_AIR, 2, 9, 9]).reads_air());
        assert!(!list(&[READS_QUEUE, 0]).reads_air() && !list(&[READS_AIR, 0]).reads_air());
        assert!(!list(&[READS_AIR, 1, 0]).reads_air());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(0u8..8, 0..60)) {
            if let Some(list) = Extensions::parse(&bytes) {
                prop_assert!(bytes.starts_with(list.as_bytes()));
                prop_assert_eq!(Extensions::parse(list.as_bytes()), Some(list));
            }
        }
    }
}
