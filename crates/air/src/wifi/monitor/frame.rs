//! The 802.11 frame: header and body, without the frame check sequence (802.11-2020, 9.2.3 and 9.3).

use crate::wifi::{CapturedFrame, FrameType, Mac};

/// LLC and SNAP before an IP packet: DSAP, SSAP, control, organisation; the EtherType follows (RFC 1042).
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// BAR and BA control: compressed bitmap (9.3.1.7.2).
const COMPRESSED: u16 = 0x0004;
/// QoS control: an A-MSDU follows (9.2.4.5.9).
const A_MSDU_PRESENT: u16 = 0x0080;
/// An SSID element without a name, and supported rates 6, 12 and 24 Mb/s, all basic (9.4.2.2 and 9.4.2.3).
const ELEMENTS: [u8; 7] = [0, 0, 1, 3, 0x8c, 0x98, 0xb0];
/// Capabilities of a cell: ESS, short slot time (9.4.1.4).
const CAPABILITIES: u16 = 0x0401;

/// Type and subtype as the first byte of frame control (table 9-1).
fn first_byte(frame_type: FrameType) -> u8 {
    let (kind, subtype) = match frame_type {
        FrameType::AssociationRequest => (0, 0),
        FrameType::AssociationResponse => (0, 1),
        FrameType::Beacon { .. } => (0, 8),
        FrameType::Authentication => (0, 11),
        FrameType::Deauthentication => (0, 12),
        FrameType::BlockAckRequest { .. } => (1, 8),
        FrameType::BlockAck { .. } => (1, 9),
        FrameType::PsPoll => (1, 10),
        FrameType::Rts => (1, 11),
        FrameType::Cts => (1, 12),
        FrameType::Ack => (1, 13),
        FrameType::CfEnd => (1, 14),
        FrameType::Data => (2, 0),
        FrameType::Null => (2, 4),
        FrameType::QosData => (2, 8),
    };
    subtype << 4 | kind << 2
}

fn second_byte<T>(frame: &CapturedFrame<T>) -> u8 {
    u8::from(frame.to_ds)
        | u8::from(frame.from_ds) << 1
        | u8::from(frame.retry) << 3
        | u8::from(frame.power_management) << 4
        | u8::from(frame.more_data) << 5
}

/// Appends header and body.
pub(super) fn write<T>(
    frame: &CapturedFrame<T>,
    write_packet: impl FnMut(&T, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.extend([first_byte(frame.frame_type), second_byte(frame)]);
    out.extend(frame.duration_us.to_le_bytes());
    out.extend(frame.receiver.0);
    let tid = u16::from(frame.tid.unwrap_or(0));
    match frame.frame_type {
        FrameType::Ack | FrameType::Cts => {}
        FrameType::Rts | FrameType::PsPoll | FrameType::CfEnd => transmitter(frame, out),
        FrameType::BlockAckRequest { start } => {
            transmitter(frame, out);
            out.extend((COMPRESSED | tid << 12).to_le_bytes());
            out.extend((start << 4).to_le_bytes());
        }
        FrameType::BlockAck { start, bitmap } => {
            transmitter(frame, out);
            out.extend((COMPRESSED | tid << 12).to_le_bytes());
            out.extend((start << 4).to_le_bytes());
            out.extend(bitmap.to_le_bytes());
        }
        FrameType::Data | FrameType::QosData | FrameType::Null => data(frame, write_packet, out),
        _ => management(frame, out),
    }
}

fn transmitter<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    out.extend(frame.transmitter.unwrap_or(Mac([0; 6])).0);
}

fn sequence<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    out.extend((frame.sequence.unwrap_or(0) << 4).to_le_bytes());
}

fn data<T>(frame: &CapturedFrame<T>, mut write_packet: impl FnMut(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    transmitter(frame, out);
    let source = frame.transmitter.unwrap_or(Mac([0; 6]));
    // Address 3 (table 9-30): the far end of the way, which in this model is the next hop, or the cell.
    let third = match (frame.to_ds, frame.from_ds) {
        (true, _) => frame.receiver,
        (false, true) => source,
        (false, false) => frame.bssid.unwrap_or(source),
    };
    out.extend(third.0);
    sequence(frame, out);
    if frame.to_ds && frame.from_ds {
        out.extend(source.0);
    }
    let many = frame.payloads.len() > 1;
    if frame.frame_type == FrameType::QosData {
        let tid = u16::from(frame.tid.unwrap_or(0));
        out.extend((tid | if many { A_MSDU_PRESENT } else { 0 }).to_le_bytes());
    }
    for (i, packet) in frame.payloads.iter().enumerate() {
        let start = out.len();
        if many {
            // Subframe header: destination, source, length (9.3.2.2.2).
            out.extend(third.0);
            out.extend(source.0);
            out.extend([0, 0]);
        }
        msdu(packet, &mut write_packet, out);
        if many {
            let length = ((out.len() - start - 14) as u16).to_be_bytes();
            out[start + 12..start + 14].copy_from_slice(&length);
            if i + 1 < frame.payloads.len() {
                out.resize(start + (out.len() - start).next_multiple_of(4), 0);
            }
        }
    }
}

fn msdu<T>(packet: &T, mut write_packet: impl FnMut(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.extend(LLC_SNAP);
    let ethertype = out.len();
    out.extend(ETHERTYPE_IPV4);
    write_packet(packet, out);
    if out.get(ethertype + 2).is_some_and(|first| first >> 4 == 6) {
        out[ethertype..ethertype + 2].copy_from_slice(&ETHERTYPE_IPV6);
    }
}

fn management<T>(frame: &CapturedFrame<T>, out: &mut Vec<u8>) {
    transmitter(frame, out);
    out.extend(frame.bssid.or(frame.transmitter).unwrap_or(Mac([0; 6])).0);
    sequence(frame, out);
    // Fixed fields (9.3.3): open system, success, association 1; then the least elements that decoders ask for.
    match frame.frame_type {
        FrameType::Beacon { interval_tu } => {
            out.extend((frame.at.as_nanos() / 1_000).to_le_bytes());
            out.extend(interval_tu.to_le_bytes());
            out.extend(CAPABILITIES.to_le_bytes());
            out.extend(ELEMENTS);
        }
        FrameType::AssociationRequest => {
            out.extend(CAPABILITIES.to_le_bytes());
            out.extend([10, 0]);
            out.extend(ELEMENTS);
        }
        FrameType::AssociationResponse => {
            out.extend(CAPABILITIES.to_le_bytes());
            out.extend([0, 0, 1, 0xc0]);
            // A response has the rates only.
            out.extend(&ELEMENTS[2..]);
        }
        FrameType::Authentication => out.extend([0, 0, 1, 0, 0, 0]),
        // Reason: the sender is leaving (table 9-49).
        _ => out.extend([3, 0]),
    }
}
