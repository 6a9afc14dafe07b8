//! A frame's receiver and access category, from its header (802.11-2020, 9.2.4).

use std::sync::Arc;

use crate::wifi::api::{AccessCategory, Mac};
use crate::wifi::mac::frame::LLC_BYTES;

/// Frame Control, first octet: the type in bits 2 and 3, and of data the QoS bit of the subtype.
const TYPE: u8 = 0x0c;
const DATA: u8 = 0x08;
const QOS: u8 = 0x80;
/// Second octet.
const BOTH_DS: u8 = 0x03;
const RETRY: u8 = 0x08;

/// The header, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Address 1.
    pub(super) to: Mac,
    pub(super) category: AccessCategory,
    /// Bytes after the LLC header of a data frame; 0 of others.
    pub(super) body_bytes: u32,
}

impl Header {
    /// None if there is no whole address 1.
    pub(super) fn read(frame: &[u8]) -> Option<Header> {
        let to = Mac(*frame.get(4..)?.first_chunk()?);
        let (is_data, qos) = (frame[0] & TYPE == DATA, frame[0] & QOS != 0);
        if !is_data {
            // Management and control frames go with the most urgent (10.2.3.2).
            return Some(Header { to, category: AccessCategory::Voice, body_bytes: 0 });
        }
        let plain = if frame[1] & BOTH_DS == BOTH_DS { 30 } else { 24 };
        let category = match frame.get(plain).filter(|_| qos) {
            Some(control) => of_priority(control & 7),
            None => AccessCategory::BestEffort,
        };
        let before = plain + if qos { 2 } else { 0 } + LLC_BYTES as usize;
        Some(Header { to, category, body_bytes: frame.len().saturating_sub(before) as u32 })
    }
}

/// The category of a user priority (802.11-2020, table 10-1).
fn of_priority(priority: u8) -> AccessCategory {
    match priority {
        1 | 2 => AccessCategory::Background,
        4 | 5 => AccessCategory::Video,
        6 | 7 => AccessCategory::Voice,
        _ => AccessCategory::BestEffort,
    }
}

/// Marks a frame as repeated: a copy, unless it is marked already.
pub(super) fn set_retry(frame: &mut Arc<[u8]>) {
    if frame.get(1).is_some_and(|flags| flags & RETRY == 0) {
        Arc::make_mut(frame)[1] |= RETRY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_follow_the_qos_field_and_nothing_short_is_read() {
        let mut frame = vec![0x88, 1];
        frame.resize(26 + 8 + 100, 0);
        for (tid, category) in [(0, 1), (1, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3), (0x15, 2)] {
            frame[24] = tid;
            let header = Header::read(&frame).unwrap();
            assert_eq!((header.category as u8, header.body_bytes), (category, 100));
        }
        // With four addresses the field stands six bytes later.
        (frame[1], frame[24], frame[30]) = (3, 6, 1);
        assert_eq!(Header::read(&frame).unwrap().category, AccessCategory::Background);
        // No QoS field; a beacon; an acknowledgement.
        for (first, category) in
            [(0x08, AccessCategory::BestEffort), (0x80, AccessCategory::Voice), (0xd4, AccessCategory::Voice)]
        {
            frame[0] = first;
            assert_eq!(Header::read(&frame).unwrap().category, category);
        }
        assert_eq!((0..10).find_map(|n| Header::read(&frame[..n])), None);
        for n in 10..40 {
            frame[0] = 0x88;
            assert!(Header::read(&frame[..n]).is_some());
        }
    }

    #[test]
    fn a_repeated_frame_differs_in_one_bit() {
        let first: Arc<[u8]> = Arc::from([0x88, 1, 7]);
        let mut repeated = Arc::clone(&first);
        set_retry(&mut repeated);
        assert_eq!((&first[..], &repeated[..]), (&[0x88, 1, 7][..], &[0x88, 9, 7][..]));
        let mut short: Arc<[u8]> = Arc::from([0x88]);
        set_retry(&mut short);
        assert_eq!(short[..], [0x88]);
    }
}
