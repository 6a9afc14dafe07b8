//! Real-time video over UDP, as RTP sends it (MF-32: 20 Mb/s in the mean, 40 at most), and a proxy of its quality.
//!
//! # The stream
//! 30 frames per second in groups of 15: the first of a group stands alone (I), each other one refers to the frame before it (P). An I
//! frame has twice the mean length, so that the rate while it is sent is the highest there is; the P frames share the rest, each
//! with a uniform draw of ±20 % about its mean. Frames are cut into packets that are sent at twice the mean rate, the next frame
//! after the one before.
//!
//! # The proxy
//! PSNR needs pictures, which a simulator has not. A frame is *good* if all its packets came within [`PLAYOUT`] of its first one's
//! sending and, for a P frame, the frame before was good. The share of frames that are not good gives a PSNR by straight
//! lines between (0, 40 dB), (1 %, 37 dB), (5 %, 31 dB), (15 %, 25 dB), (40 %, 20 dB) and (100 %, 10 dB): the borders of the bands that
//! MF-32 names (excellent above 37, good above 31, fair above 25, poor above 20, bad) at losses that viewers put there. It orders
//! runs; it is no measurement of a codec.

use super::call::{Caller, UNCALLED};
use super::{Context, Endpoint};
use crate::measure::FlowCounts;
use crate::packet::{Body, FlowId, Packet, PacketRef, UDP_HEADERS, UDP_MARK, UdpMark};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

/// Frames per second.
const FPS: u64 = 30;
/// Frames of a group.
const GROUP: u32 = 15;
/// A packet that comes later than this after its frame began to be sent is of no use any more.
pub(super) const PLAYOUT: Duration = Duration::from_millis(250);
/// Frames whose packets are still counted at the receiver: those of half a second.
const OPEN: usize = 16;
/// RTP header (RFC 3550 §5.1), bytes.
const RTP_HEADER: u32 = 12;

/// How many packets of a frame there are, and their number in it, fit a tag: 8 bits of frame, 12 of each.
fn tag(frame: u32, index: u32, count: u32) -> u32 {
    (frame & 0xff) << 24 | (index & 0xfff) << 12 | count & 0xfff
}

fn untag(tag: u32) -> (u32, u32, u32) {
    (tag >> 24, tag >> 12 & 0xfff, tag & 0xfff)
}

/// Frames that a source has begun to send: its sink must know at the end, or a stream that broke off would look whole.
pub(super) type FrameCount = Rc<Cell<u32>>;

/// A packet of a frame that is to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoPacket {
    /// Says which packet of which frame it is.
    pub tag: u32,
    /// When the next one goes.
    pub next: Time,
}

/// Makes frames, whatever carries their packets.
#[derive(Debug)]
pub struct VideoFrames {
    /// IP length of packets, bytes.
    len: u32,
    /// Mean, bits per second.
    rate: u64,
    rng: ChaCha8Rng,
    frame: u32,
    begun: u32,
    /// Packets of the present frame: next and all.
    packets: (u32, u32),
    /// When the next frame begins.
    next_frame: Time,
}

impl VideoFrames {
    /// A stream of `rate` bits per second in packets of `len` bytes, IP header included, that begins now.
    pub fn new(rate: u64, len: u32, seed: u64, now: Time) -> VideoFrames {
        VideoFrames {
            len: len.max(UDP_HEADERS + RTP_HEADER + UDP_MARK),
            rate: rate.max(1),
            rng: ChaCha8Rng::seed_from_u64(seed),
            frame: 0,
            begun: 0,
            packets: (0, 0),
            next_frame: now,
        }
    }

    /// IP length of packets, bytes.
    pub fn packet_len(&self) -> u32 {
        self.len
    }

    /// Frames that it has begun to send.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// The next packet, sent now.
    pub fn next(&mut self, now: Time) -> VideoPacket {
        if self.packets.0 == self.packets.1 {
            self.packets = (0, self.packets_of_frame());
            self.begun = self.frame + 1;
            self.next_frame += Duration::from_nanos(1_000_000_000 / FPS);
        }
        let (index, count) = self.packets;
        let tag = tag(self.frame, index, count);
        self.packets.0 += 1;
        let spaced = now + Duration::from_nanos(u64::from(self.len) * 8 * 1_000_000_000 / (2 * self.rate));
        if self.packets.0 < count {
            return VideoPacket { tag, next: spaced };
        }
        self.frame += 1;
        VideoPacket { tag, next: self.next_frame.max(spaced) }
    }

    /// Packets of a frame. At most 4095: 6 MB in full packets.
    fn packets_of_frame(&mut self) -> u32 {
        let mean = self.rate as f64 / 8.0 / FPS as f64;
        let p_share = f64::from(GROUP - 2) / f64::from(GROUP - 1);
        let bytes = match self.frame % GROUP {
            0 => 2.0 * mean,
            _ => mean * p_share * self.rng.random_range(0.8..1.2),
        };
        let payload = f64::from(self.len - UDP_HEADERS - RTP_HEADER);
        ((bytes / payload).round() as u32).clamp(1, 4095)
    }
}

/// Sends frames.
#[derive(Debug)]
pub struct VideoSource {
    flow: FlowId,
    to: (Ipv4Addr, u16),
    dscp: u8,
    /// Made when it is started.
    frames: VideoFrames,
    begun: FrameCount,
    seq: u32,
    next: Option<Time>,
}

impl VideoSource {
    /// A stream of `rate` bits per second in packets of `len` bytes, IP header included; to [`UNCALLED`]: to whoever calls first, and it begins then.
    pub fn new(flow: FlowId, to: (Ipv4Addr, u16), rate: u64, len: u32, dscp: u8, seed: u64) -> VideoSource {
        let frames = VideoFrames::new(rate, len, seed, Time::ZERO);
        VideoSource { flow, to, dscp, frames, begun: FrameCount::default(), seq: 0, next: None }
    }

    /// The frames that it has begun to send.
    pub fn frame_count(&self) -> FrameCount {
        self.begun.clone()
    }
}

impl Endpoint for VideoSource {
    fn start(&mut self, cx: &mut Context<'_>) {
        if self.to != UNCALLED {
            (self.frames.next_frame, self.next) = (cx.now(), Some(cx.now()));
        }
    }

    fn stop(&mut self, _: &mut Context<'_>) {
        self.next = None;
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        if self.to == UNCALLED {
            self.to = (packet.src, packet.sport);
            self.start(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let VideoPacket { tag, next } = self.frames.next(now);
        self.begun.set(self.frames.begun);
        let (body, len) = (Body::Udp(UdpMark { seq: self.seq, tag, sent: now }), self.frames.len);
        let packet = Packet {
            dscp: self.dscp,
            ..Packet::new((Ipv4Addr::UNSPECIFIED, cx.port), self.to, len, self.flow, body)
        };
        cx.flow(self.flow).on_sent(len - UDP_HEADERS);
        // What finds no way is lost.
        let _ = cx.send(packet);
        self.seq = self.seq.wrapping_add(1);
        self.next = Some(next);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
}

/// Share of frames that are not good, and the PSNR in dB that stands for it.
const BANDS: [(f64, f64); 6] =
    [(0.0, 40.0), (0.01, 37.0), (0.05, 31.0), (0.15, 25.0), (0.40, 20.0), (1.0, 10.0)];

/// The proxy of the PSNR, dB, when this share of frames could not be shown.
pub fn psnr_db(frame_loss: f64) -> f64 {
    let above = BANDS.iter().position(|b| frame_loss <= b.0).unwrap_or(BANDS.len() - 1).max(1);
    let ((x0, y0), (x1, y1)) = (BANDS[above - 1], BANDS[above]);
    y0 + (frame_loss - x0) / (x1 - x0) * (y1 - y0)
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    number: u32,
    /// Packets still missing.
    missing: u32,
    /// When it is too late.
    deadline: Time,
    complete: bool,
}

/// Judges frames as their packets come.
#[derive(Debug, Default)]
pub struct VideoJudge {
    frames: [Frame; OPEN],
    /// The last frame that was judged good, if the next one may refer to it.
    good: Option<u32>,
    newest: u32,
    /// The first frame that is not judged yet.
    judged: u32,
}

impl VideoJudge {
    /// The frame that eight bits of its number stand for, near the newest.
    fn full_number(&self, low: u32) -> u32 {
        let ahead = (low.wrapping_sub(self.newest) & 0xff) as i32;
        let signed = if ahead >= 128 { ahead - 256 } else { ahead };
        self.newest.saturating_add_signed(signed)
    }

    /// Judges all frames before `number`; those between were not seen at all.
    fn judge(&mut self, counts: &mut FlowCounts, number: u32) {
        while self.judged < number {
            let f = self.frames[self.judged as usize % OPEN];
            let whole = f.number == self.judged && f.complete;
            let refers = self.judged.is_multiple_of(GROUP) || self.good == self.judged.checked_sub(1);
            counts.frames += 1;
            if whole && refers {
                self.good = Some(self.judged);
                counts.frames_good += 1;
            }
            self.judged += 1;
        }
    }

    /// A packet with this tag came for the first time, sent at `sent`.
    pub fn on_packet(&mut self, now: Time, tag: u32, sent: Time, counts: &mut FlowCounts) {
        let (low, _, count) = untag(tag);
        let number = self.full_number(low);
        if number + OPEN as u32 <= self.newest || number < self.judged {
            return;
        }
        self.newest = self.newest.max(number);
        // A frame half a second old is judged as it stands.
        self.judge(counts, (self.newest + 1).saturating_sub(OPEN as u32 - 1));
        let f = &mut self.frames[number as usize % OPEN];
        if f.number != number || f.deadline == Time::ZERO {
            *f = Frame { number, missing: count, deadline: sent + PLAYOUT, complete: false };
        }
        f.deadline = f.deadline.min(sent + PLAYOUT);
        f.missing = f.missing.saturating_sub(1);
        f.complete |= f.missing == 0 && now <= f.deadline;
    }

    /// The run is over, and the source has begun so many frames.
    pub fn finish(&mut self, begun: u32, counts: &mut FlowCounts) {
        // What was sent within the playout time may still come.
        let open = (PLAYOUT.as_millis() as u64 * FPS).div_ceil(1000) as u32;
        self.judge(counts, begun.saturating_sub(open));
    }
}

/// Takes frames in.
#[derive(Debug)]
pub struct VideoSink {
    flow: FlowId,
    begun: FrameCount,
    judge: VideoJudge,
    caller: Caller,
}

impl VideoSink {
    /// The end of a flow whose source has begun so many frames.
    pub fn new(flow: FlowId, begun: FrameCount) -> VideoSink {
        VideoSink { flow, begun, judge: VideoJudge::default(), caller: Caller::default() }
    }

    /// The same behind address translation.
    pub fn calls(self, caller: Caller) -> VideoSink {
        VideoSink { caller, ..self }
    }
}

impl Endpoint for VideoSink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.caller.call(cx, self.flow);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.caller.call(cx, self.flow);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.caller.next()
    }

    fn on_packet(&mut self, cx: &mut Context<'_>, packet: PacketRef) {
        let now = cx.now();
        self.caller.answered();
        let Body::Udp(mark) = packet.body else { return };
        if cx.flow(self.flow).on_datagram(now, mark.seq, mark.sent, packet.len - UDP_HEADERS) {
            self.judge.on_packet(now, mark.tag, mark.sent, &mut cx.flow(self.flow).counts);
        }
    }

    fn finish(&mut self, cx: &mut Context<'_>) {
        self.judge.finish(self.begun.get(), &mut cx.flow(self.flow).counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_meets_the_borders_of_the_bands() {
        for (loss, psnr) in BANDS {
            assert!((psnr_db(loss) - psnr).abs() < 1e-9, "{loss}");
        }
        assert!((psnr_db(0.03) - 34.0).abs() < 1e-9);
    }

    #[test]
    fn frames_are_numbered_through() {
        let mut sink = VideoJudge::default();
        for n in [0u32, 1, 200, 300, 520, 519] {
            let number = sink.full_number(n & 0xff);
            if n == 200 {
                // More than half the range ahead: taken for one that came before the beginning.
                assert_eq!(number, 0);
                sink.newest = 190;
                continue;
            }
            sink.newest = sink.newest.max(number);
        }
        sink.newest = 510;
        assert_eq!((sink.full_number(520 & 0xff), sink.full_number(500 & 0xff)), (520, 500));
    }
}
