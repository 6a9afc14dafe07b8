use super::frame::{AckFrame, AirEntry, AirFrame, Frame, FrameError, Frames, PathStatus, QueueFrame};
use super::*;
use crate::vnet::Vnet;
use arrayvec::ArrayVec;

const H: Header = Header { path: 1, index: 2, number: 3 };

fn frames(bytes: &[u8], len: usize) -> Vec<Frame<'_>> {
    Frames::new(&bytes[HEADER + TIMESTAMP..len]).map(|f| f.unwrap()).collect()
}

#[test]
fn every_frame_survives() {
    let mut out = [0; 1400];
    let mut w = Writer::new(&mut out, H, Timestamp::default());
    let ack = AckFrame {
        path: 3,
        largest: 77,
        received_us: 123_456,
        delay_us: 1500,
        ce_total: 4,
        ranges: ArrayVec::from_iter([(0, 5), (1, 9)]),
    };
    let status = PathStatus { path: 3, seq: 9, state: 1, mtu: 1420 };
    assert!(w.ping() && w.ack(&ack) && w.challenge(11) && w.response(12) && w.status(&status));
    let queue = QueueFrame { seq: 65_535, shared: 2, every_ms: 200, packets: 300, verdict: 2 };
    let entry = |path| AirEntry { path, channel: 200, packet_time: 65_535 };
    let air = AirFrame { seq: 1, paths: (0..16).map(entry).collect() };
    assert!(w.close(5) && w.skip(6, 7, true) && w.queue(&queue) && w.air(&air));
    let len = w.len();
    assert_eq!(
        frames(&out, len),
        [
            Frame::Ping,
            Frame::Ack(ack),
            Frame::Challenge(11),
            Frame::Response(12),
            Frame::Status(status),
            Frame::Close(5),
            Frame::Skip { flow: 6, seq: 7, no_gap_before: true },
            Frame::Queue(queue),
            Frame::Air(air),
        ]
    );
}

#[test]
fn records_of_any_length_fill_datagrams_and_come_back() {
    let packet: Vec<u8> = (0..5000u32).map(|i| i as u8).collect();
    let vnet = Vnet { gso_type: 1, flags: 1, gso_size: 1000, hdr_len: 52, csum_start: 20, csum_offset: 16 };
    for total in (1..200).chain(1300..1500).chain([4999, 5000]) {
        for v in [Vnet::default(), vnet] {
            let (mut back, mut offset) = (Vec::new(), 0);
            while offset < total {
                let mut out = [0; 1452];
                let mut w = Writer::new(&mut out, H, Timestamp::default());
                let n = w.fragment_fit(offset, total - offset, total, !v.is_plain());
                assert!(n > 0);
                w.fragment(5, 6, offset, total, &v, true, &packet[offset as usize..][..n as usize]);
                assert!(offset + n == total || w.room() == 0, "a datagram before the last is full");
                let len = w.len();
                let [Frame::Data(c)] = frames(&out, len)[..] else { panic!() };
                assert_eq!((c.flow, c.seq, u32::from(c.offset), c.no_gap_before), (5, 6, offset, true));
                assert_eq!(c.total.map(u32::from), (offset == 0).then_some(total));
                assert_eq!(c.vnet, (offset == 0 && !v.is_plain()).then_some(v));
                back.extend_from_slice(c.data);
                offset += n;
            }
            assert_eq!(back, packet[..total as usize]);
        }
    }
}

#[test]
fn what_is_said_to_fit_fits_also_where_a_part_is_sent_again() {
    for (room, offset, more) in (40..160).flat_map(|r| [(r, 0, 0), (r, 0, 9), (r, 50, 0), (r, 50, 9)]) {
        for left in 1..140u32 {
            let mut out = [0; 400];
            let mut w = Writer::new(&mut out[..room + HEADER + TIMESTAMP + TAG], H, Timestamp::default());
            let total = offset + left + more;
            let n = w.fragment_fit(offset, left, total, false);
            if n > 0 {
                w.fragment(1, 2, offset, total, &Vnet::default(), false, &[7; 140][..n as usize]);
                assert!(w.len() <= room + HEADER + TIMESTAMP, "{n} of {left} from {offset} into {room}");
            }
        }
    }
}

#[test]
fn small_records_share_a_datagram() {
    let mut out = [0; 400];
    let mut w = Writer::new(&mut out, H, Timestamp::default());
    let mut put = 0;
    while w.fragment_fit(0, 60, 60, false) == 60 {
        w.fragment(1, put, 0, 60, &Vnet::default(), false, &[put as u8; 60]);
        put += 1;
    }
    let len = w.len();
    assert!(put >= 5);
    assert_eq!(frames(&out, len).len(), put as usize);
}

#[test]
fn faults_are_named_and_end_the_datagram() {
    let errors = |b: &[u8]| Frames::new(b).filter_map(Result::err).collect::<Vec<_>>();
    assert_eq!(errors(&[0x40]), [FrameError::Unknown(0x40)]);
    assert_eq!(errors(&[3, 1, 2]), [FrameError::Truncated]);
    assert_eq!(errors(&[8, 0, 1, 0, 2, 0, 200, 0, 40]), [FrameError::Truncated]);
    assert_eq!(errors(&[9, 0, 1, 2, 0, 6, 0, 125, 1, 6, 0]), [FrameError::Truncated]);
    let many: Vec<u8> = [9, 0, 1, 17].into_iter().chain([1; 68]).collect();
    assert_eq!(errors(&many), [FrameError::Invalid], "no session has seventeen paths");
    assert_eq!(errors(&[2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]), [FrameError::Invalid]);
    // A whole packet without a byte.
    assert_eq!(errors(&[0x83, 0, 1, 0, 0, 1]), [FrameError::Invalid]);
    // An offset past the 64 KiB of an IP packet.
    assert_eq!(errors(&[0x81, 0, 1, 0, 0, 1, 0xff, 0xff, 1, 2]), [FrameError::Invalid]);
}
