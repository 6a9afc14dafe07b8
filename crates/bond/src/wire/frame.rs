//! Frames: what the sealed part of a datagram holds after its timestamp.

use super::reader::Reader;
use super::{MAX_PATHS, TIMESTAMP, Timestamp, sign_extend24};
use crate::vnet::Vnet;
use arrayvec::ArrayVec;

pub(super) const PADDING: u8 = 0x00;
pub(super) const PING: u8 = 0x01;
pub(super) const ACK: u8 = 0x02;
pub(super) const CHALLENGE: u8 = 0x03;
pub(super) const RESPONSE: u8 = 0x04;
pub(super) const STATUS: u8 = 0x05;
pub(super) const CLOSE: u8 = 0x06;
pub(super) const SKIP: u8 = 0x07;
pub(super) const QUEUE: u8 = 0x08;
pub(super) const AIR: u8 = 0x09;
/// Types from here on are data; the low bits are the `D_*` flags.
pub(super) const DATA: u8 = 0x80;
/// The frame reaches to the end of the datagram, so it has no length field.
pub(super) const D_REST: u8 = 0x01;
/// The frame holds the whole packet, so it has neither offset nor total.
pub(super) const D_WHOLE: u8 = 0x02;
/// An offload header follows (only where the packet begins).
pub(super) const D_VNET: u8 = 0x04;
/// Everything before it in its flow was sent at least once.
pub(super) const D_HEAD: u8 = 0x08;

/// Most ranges that an acknowledgement carries.
pub const MAX_RANGES: usize = 32;

/// Bytes of a sealed part before its data, where it goes on with a packet and holds nothing else.
pub const GOES_ON: usize = TIMESTAMP + 8;

/// The beginning of a sealed part that holds nothing but the continuation of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// When it left.
    pub timestamp: Timestamp,
    /// The packet's channel.
    pub flow: u16,
    /// The packet's place in the flow, 24 bits.
    pub seq: u32,
    /// First byte within the packet; never 0.
    pub offset: u16,
    /// Everything before it in its flow was sent at least once.
    pub no_gap_before: bool,
}

impl Continuation {
    /// Reads it; `None` if the sealed part holds something else.
    pub fn read(begin: &[u8; GOES_ON]) -> Option<Continuation> {
        let [s0, s1, s2, kind, f0, f1, n0, n1, n2, o0, o1] = *begin;
        let offset = u16::from_be_bytes([o0, o1]);
        (kind & !D_HEAD == DATA | D_REST && offset != 0).then_some(Continuation {
            timestamp: Timestamp::from_bytes([s0, s1, s2]),
            flow: u16::from_be_bytes([f0, f1]),
            seq: u32::from_be_bytes([0, n0, n1, n2]),
            offset,
            no_gap_before: kind & D_HEAD != 0,
        })
    }
}

/// Why the rest of a datagram was not read. It was authentic, so the peer is broken or newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame claims more bytes than there are.
    #[error("a frame is longer than its datagram")]
    Truncated,
    /// A frame type of a later version.
    #[error("frame type {0:#04x} is not known; the peer may run a newer ropewalk")]
    Unknown(u8),
    /// A field contradicts another.
    #[error("a frame contradicts itself")]
    Invalid,
}

/// A part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Its flow's number.
    pub flow: u16,
    /// The packet's place in the flow, 24 bits.
    pub seq: u32,
    /// First byte within the packet.
    pub offset: u16,
    /// Length of the packet, known where it begins.
    pub total: Option<u16>,
    /// Offload header of the packet, where it begins and has one.
    pub vnet: Option<Vnet>,
    /// Everything before it in its flow was sent at least once.
    pub no_gap_before: bool,
    /// Its bytes.
    pub data: &'a [u8],
}

/// What of a path's packets arrived (as RFC 9000 §19.3, one path per frame).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AckFrame {
    /// The path whose packets are meant.
    pub path: u8,
    /// Largest packet number received, low 32 bits.
    pub largest: u32,
    /// Receiver's clock when that packet arrived, microseconds, low 32 bits.
    pub received_us: u32,
    /// From that arrival to this frame, microseconds.
    pub delay_us: u32,
    /// Packets of the path that arrived with a CE mark, in total, low 16 bits.
    pub ce_total: u16,
    /// Ranges from the largest down: (packets missing before it, packets in it); the first has no gap.
    pub ranges: ArrayVec<(u16, u16), MAX_RANGES>,
}

/// What an end wants a path to be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// The path.
    pub path: u8,
    /// Grows with each change; an older one is ignored.
    pub seq: u16,
    /// 0 active, 1 backup, 2 metered, 3 metered and used up, 4 gone.
    pub state: u8,
    /// The sender's TUN MTU, bytes.
    pub mtu: u16,
}

/// What a repeater says of its queues towards its clients. Only to an end that announced that it reads it ([`ropewalk_session::READS_QUEUE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFrame {
    /// Grows with each; an older one is ignored.
    pub seq: u16,
    /// A bit for each path on a channel that the clients need too.
    pub shared: u16,
    /// Milliseconds until the next, at least 1.
    pub every_ms: u16,
    /// Packets in the longest queue towards a client.
    pub packets: u16,
    /// 0 decrease, 1 stay, 2 increase.
    pub verdict: u8,
}

/// The air that packets take on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirEntry {
    /// The path.
    pub path: u8,
    /// The client's number of the radio channel.
    pub channel: u8,
    /// Air of a delivered packet of 1500 bytes, units of 4 µs; 0: not known.
    pub packet_time: u16,
}

/// What a client knows of the air under its paths. Only to an end that announced that it reads it
/// ([`ropewalk_session::READS_AIR`]).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AirFrame {
    /// Grows with each; an older one is ignored.
    pub seq: u16,
    /// The paths of which it is known; of all others it is not.
    pub paths: ArrayVec<AirEntry, MAX_PATHS>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Asks for an acknowledgement.
    Ping,
    /// Acknowledges packets of one path.
    Ack(AckFrame),
    /// Proves, when it comes back, that the address is the peer's (RFC 9000 §8.2).
    Challenge(u64),
    /// Answers a challenge on the same path.
    Response(u64),
    /// Path class or state.
    Status(PathStatus),
    /// The session ends; the code is that of `session::Refusal`, 0 for an ordinary end.
    Close(u8),
    /// Packet `seq` of `flow` will not come (again).
    Skip {
        /// The flow's number.
        flow: u16,
        /// The packet's number.
        seq: u32,
        /// Everything before it in its flow was sent at least once.
        no_gap_before: bool,
    },
    /// A repeater's queues towards its clients.
    Queue(QueueFrame),
    /// The air under a client's paths.
    Air(AirFrame),
    /// A part of a packet.
    Data(Fragment<'a>),
}

/// The frames of a datagram, in order. Ends at the first fault.
#[derive(Debug)]
pub struct Frames<'a> {
    r: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// Reads the sealed part after its timestamp.
    pub fn new(bytes: &'a [u8]) -> Self {
        Frames { r: Reader::new(bytes) }
    }

    fn read(&mut self, kind: u8) -> Result<Frame<'a>, FrameError> {
        let r = &mut self.r;
        Ok(match kind {
            PING => Frame::Ping,
            ACK => Frame::Ack(read_ack(r)?),
            CHALLENGE => Frame::Challenge(r.u64()?),
            RESPONSE => Frame::Response(r.u64()?),
            STATUS => {
                Frame::Status(PathStatus { path: r.u8()? & 15, seq: r.u16()?, state: r.u8()?, mtu: r.u16()? })
            }
            CLOSE => Frame::Close(r.u8()?),
            SKIP => {
                let flow = r.u16()?;
                let v = r.u32()?;
                Frame::Skip { flow, seq: v & 0xff_ffff, no_gap_before: v >> 31 == 1 }
            }
            QUEUE => Frame::Queue(QueueFrame {
                seq: r.u16()?,
                shared: r.u16()?,
                every_ms: r.u16()?,
                packets: r.u16()?,
                verdict: r.u8()?,
            }),
            AIR => Frame::Air(read_air(r)?),
            k if k & 0xf0 == DATA => Frame::Data(read_chunk(r, k)?),
            k => return Err(FrameError::Unknown(k)),
        })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.r.is_empty() {
                return None;
            }
            match self.r.u8() {
                Ok(PADDING) => continue,
                Ok(kind) => {
                    let frame = self.read(kind);
                    if frame.is_err() {
                        self.r.take_rest();
                    }
                    return Some(frame);
                }
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

fn read_ack(r: &mut Reader<'_>) -> Result<AckFrame, FrameError> {
    let mut ack = AckFrame {
        path: r.u8()? & 15,
        largest: r.u32()?,
        received_us: r.u32()?,
        delay_us: r.u24()?,
        ce_total: r.u16()?,
        ranges: ArrayVec::new(),
    };
    let count = r.u8()? as usize;
    if count == 0 || count > MAX_RANGES {
        return Err(FrameError::Invalid);
    }
    for _ in 0..count {
        let (gap, len) = (r.u16()?, r.u16()?);
        if len == 0 {
            return Err(FrameError::Invalid);
        }
        ack.ranges.push((gap, len));
    }
    Ok(ack)
}

fn read_air(r: &mut Reader<'_>) -> Result<AirFrame, FrameError> {
    let mut air = AirFrame { seq: r.u16()?, paths: ArrayVec::new() };
    let count = r.u8()? as usize;
    if count > MAX_PATHS {
        return Err(FrameError::Invalid);
    }
    for _ in 0..count {
        air.paths.push(AirEntry { path: r.u8()? & 15, channel: r.u8()?, packet_time: r.u16()? });
    }
    Ok(air)
}

fn read_chunk<'a>(r: &mut Reader<'a>, kind: u8) -> Result<Fragment<'a>, FrameError> {
    let (flow, seq) = (r.u16()?, r.u24()?);
    let whole = kind & D_WHOLE != 0;
    let offset = if whole { 0 } else { r.u16()? };
    let mut total = None;
    if offset == 0 && !whole {
        total = Some(r.u16()?);
    }
    let vnet = match kind & D_VNET != 0 && offset == 0 {
        true => Some(Vnet::from_wire(&r.array()?)),
        false => None,
    };
    let data = match kind & D_REST != 0 {
        true => r.take_rest(),
        false => {
            let len = r.u16()?;
            r.take(len as usize)?
        }
    };
    if whole {
        total = Some(u16::try_from(data.len()).map_err(|_| FrameError::Invalid)?);
    }
    let end = offset as usize + data.len();
    if data.is_empty() || end > total.unwrap_or(u16::MAX) as usize {
        return Err(FrameError::Invalid);
    }
    Ok(Fragment { flow, seq, offset, total, vnet, no_gap_before: kind & D_HEAD != 0, data })
}

/// Compares 24-bit sequence numbers: how far `a` is after `b`.
pub fn seq_after(a: u32, b: u32) -> i32 {
    sign_extend24(a.wrapping_sub(b))
}
