//! The decoder of data datagrams: what it lets through is within bounds, and the writer writes it back the same.

use ropewalk_bond::wire::{Frame, Frames, HEADER, Header, TAG, TIMESTAMP, Timestamp, Writer};

/// Any datagram.
pub(super) fn target(data: &[u8]) {
    let Some(header) = Header::decode(data) else { return };
    assert_eq!(header.encode(), data[..HEADER], "a header survives");
    let frames = &data[HEADER + TIMESTAMP..data.len() - TAG];
    let mut count = 0;
    for frame in Frames::new(frames) {
        count += 1;
        assert!(count <= frames.len(), "every frame takes a byte at least");
        if let Ok(frame) = frame {
            check(&frame, header);
        }
    }
}

fn check(frame: &Frame<'_>, header: Header) {
    let mut room = vec![0; 70_000];
    let mut w = Writer::new(&mut room, header, Timestamp::default());
    let written = match frame {
        Frame::Ping => w.ping(),
        Frame::Ack(a) => w.ack(a),
        Frame::Challenge(t) => w.challenge(*t),
        Frame::Response(t) => w.response(*t),
        Frame::Status(s) => w.status(s),
        Frame::Close(c) => w.close(*c),
        Frame::Queue(q) => w.queue(q),
        Frame::Air(a) => w.air(a),
        Frame::Skip { flow, seq, no_gap_before } => w.skip(*flow, *seq, *no_gap_before),
        Frame::Data(c) => {
            assert!(!c.data.is_empty() && c.seq < 1 << 24);
            assert!(c.offset as usize + c.data.len() <= c.total.map_or(u16::MAX as usize, usize::from));
            let total = u32::from(c.total.unwrap_or(u16::MAX));
            let vnet = c.vnet.unwrap_or_default();
            w.fragment(c.flow, c.seq, c.offset.into(), total, &vnet, c.no_gap_before, c.data);
            // A plain offload header is not worth its bytes, so it does not come back.
            c.vnet.is_none_or(|v| !v.is_plain()) && (c.total.is_some() || c.data.len() < u16::MAX as usize)
        }
    };
    let end = w.len();
    let again = Frames::new(&room[HEADER + TIMESTAMP..end]).next();
    assert!(!written || again == Some(Ok(frame.clone())), "{frame:?} became {again:?}");
}
