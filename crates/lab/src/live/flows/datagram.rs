//! UDP: datagrams at a rate, as fast as they leave, or as the packets of a video.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_sim::app::{VideoFrames, VideoJudge, VideoPacket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags};

use super::clock::Clock;
use super::content::{MARK, Mark};
use super::record::Shared;
use super::stream::{Span, timespec};

/// IPv4 and UDP headers, bytes.
pub(crate) const HEADERS: u32 = 28;
/// Longest sleep: how soon the end of a run is noticed.
const NAP: Duration = Duration::from_millis(10);
/// Datagrams that may be sent in one go after the thread was late; what is more than that late is not sent any more, as a camera drops
/// what it cannot send in time.
const CATCH_UP: u32 = 1024;
/// Datagrams that a flow without a rate keeps on the way, beyond what fits on the wire: three times what an A-MPDU takes, as in the
/// simulator.
const SATURATED: u32 = 192;
/// How often a hidden sink calls until it is heard.
const CALL: Duration = Duration::from_millis(50);
/// A flow without a rate of which nothing has come for so long takes all that is on its way for lost.
const SILENCE: Duration = Duration::from_millis(50);

/// When the next datagram goes.
pub(crate) enum Pace {
    /// At equal distances.
    Constant(Duration),
    /// Always some on the way.
    Saturating(Window),
    /// As a video's frames have it.
    Video(Box<VideoFrames>),
}

/// Datagrams on the way of a flow without a rate.
///
/// The kernel does not say when a TUN device is full, it drops. So what has arrived tells what may be sent: the number on the way
/// is held at [`SATURATED`] and what the wire itself keeps, which is the rate times the least delay.
#[derive(Debug)]
pub(crate) struct Window {
    /// Numbers below this have arrived, or something behind them has.
    arrived: u32,
    last: Time,
    least_delay: Duration,
    /// Arrivals since `since`, and the rate before that, per second.
    counted: (Time, u32),
    rate: f64,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            arrived: 0,
            last: Time::ZERO,
            least_delay: Duration::MAX,
            counted: (Time::ZERO, 0),
            rate: 0.0,
        }
    }
}

impl Window {
    fn on_arrival(&mut self, now: Time, seq: u32, delay: Duration) {
        self.arrived = self.arrived.max(seq + 1);
        (self.last, self.least_delay) = (now, self.least_delay.min(delay));
        self.counted.1 += 1;
        let span = now - self.counted.0;
        if span >= SILENCE {
            self.rate = f64::from(self.counted.1) / span.as_secs_f64();
            self.counted = (now, 0);
        }
    }

    /// How many more may be on the way, when `sent` have been sent.
    fn room(&mut self, now: Time, sent: u32) -> u32 {
        if now - self.last > SILENCE {
            (self.arrived, self.last) = (sent, now);
        }
        let wire =
            if self.least_delay == Duration::MAX { 0.0 } else { self.rate * self.least_delay.as_secs_f64() };
        (SATURATED + wire as u32).saturating_sub(sent - self.arrived)
    }
}

/// A flow before it begins.
pub(crate) struct DatagramPlan {
    /// Where it is sent from.
    pub source: OwnedFd,
    /// Where it arrives.
    pub sink: OwnedFd,
    /// That socket's address; none if routes do not lead there, for translation hides it. Then it is learnt.
    pub to: Option<SocketAddrV4>,
    /// The source's address, to which a hidden sink speaks first.
    pub calls: SocketAddrV4,
    /// IP length of each, bytes.
    pub len: u32,
    /// When the next one goes.
    pub pace: Pace,
    /// Datagrams in all.
    pub limit: Option<u64>,
}

/// A flow on its way.
struct Run<'a> {
    plan: DatagramPlan,
    shared: &'a Shared,
    judge: VideoJudge,
    seq: u32,
    next: Time,
    /// When a hidden sink calls again.
    call: Time,
    datagram: Vec<u8>,
    running: bool,
}

/// Sends and receives until `quit`.
pub(crate) fn run(plan: DatagramPlan, clock: Clock, span: Span, quit: &AtomicBool, shared: &Shared) {
    let datagram = vec![0; (plan.len.saturating_sub(HEADERS) as usize).max(MARK)];
    let judge = VideoJudge::default();
    let (next, call) = (span.start, Time::ZERO);
    let mut run = Run { plan, shared, judge, seq: 0, next, call, datagram, running: true };
    let mut buffer = vec![0; 65_536];
    while !quit.load(Ordering::Relaxed) {
        let now = clock.now();
        run.receive(clock, &mut buffer);
        run.running &= span.stop.is_none_or(|at| now < at);
        if run.is_open(now) && run.running && now >= span.start {
            shared.started(span.start);
            run.send_due(clock);
        }
        let sends = run.running && run.plan.to.is_some();
        let nap = if sends { clock.until(run.next).min(NAP) } else { NAP };
        let mut watched = [PollFd::new(&run.plan.sink, PollFlags::IN)];
        // Interrupted or not, the loop looks again.
        let _ = poll(&mut watched, Some(&timespec(nap)));
    }
    run.receive(clock, &mut buffer);
    if let Pace::Video(frames) = &run.plan.pace {
        run.judge.finish(frames.begun(), &mut shared.lock().record.counts);
    }
}

impl Run<'_> {
    /// Whether the source knows where to send. A sink behind translation calls until it is heard; nothing is sent before, and nothing is made up for.
    fn is_open(&mut self, now: Time) -> bool {
        if self.plan.to.is_some() {
            return true;
        }
        let mut call = [0];
        if let Ok((_, _, Some(from))) =
            rustix::net::recvfrom(&self.plan.source, &mut call, RecvFlags::DONTWAIT)
        {
            self.plan.to = SocketAddrV4::try_from(from).ok();
        } else if now >= self.call {
            // One that is lost is followed by another.
            let _ = rustix::net::sendto(&self.plan.sink, &call, SendFlags::DONTWAIT, &self.plan.calls);
            self.call = now + CALL;
        }
        self.next = self.next.max(now);
        self.plan.to.is_some()
    }

    /// Takes what has come.
    fn receive(&mut self, clock: Clock, buffer: &mut [u8]) {
        while let Ok((len, _)) = rustix::net::recv(&self.plan.sink, &mut *buffer, RecvFlags::DONTWAIT) {
            let now = clock.now();
            let mut figures = self.shared.lock();
            let Some(mark) =
                Mark::read(&buffer[..len], now).filter(|m| m.seq < self.seq && len == self.datagram.len())
            else {
                figures.fault("a datagram arrived that is not as it was sent".to_owned());
                continue;
            };
            if !figures.record.on_datagram(now, mark.seq, mark.sent, len as u32) {
                continue;
            }
            match &mut self.plan.pace {
                Pace::Video(_) => self.judge.on_packet(now, mark.tag, mark.sent, &mut figures.record.counts),
                Pace::Saturating(window) => window.on_arrival(now, mark.seq, now - mark.sent),
                Pace::Constant(_) => {}
            }
        }
    }

    /// Sends what is due.
    fn send_due(&mut self, clock: Clock) {
        for _ in 0..CATCH_UP {
            let now = clock.now();
            if !self.running || self.next > now {
                return;
            }
            let (mut tag, due) = (0, self.next);
            match &mut self.plan.pace {
                Pace::Constant(gap) => self.next = due + *gap,
                Pace::Saturating(window) => {
                    if window.room(now, self.seq) == 0 {
                        self.next = now + Duration::from_micros(500);
                        return;
                    }
                }
                Pace::Video(frames) => {
                    let packet: VideoPacket = frames.next(due);
                    (tag, self.next) = (packet.tag, packet.next);
                }
            }
            self.send(tag, now);
        }
        if let Pace::Constant(_) = self.plan.pace {
            self.next = self.next.max(clock.now());
        }
    }

    fn send(&mut self, tag: u32, now: Time) {
        let Some(to) = self.plan.to else { return };
        Mark { seq: self.seq, tag, sent: now }.write(&mut self.datagram);
        self.seq += 1;
        self.shared.lock().record.on_sent(self.datagram.len() as u32);
        // What the network cannot take now is lost, and missing at the sink.
        let _ = rustix::net::sendto(&self.plan.source, &self.datagram, SendFlags::DONTWAIT, &to);
        self.plan.limit = self.plan.limit.map(|left| left.saturating_sub(1));
        self.running &= self.plan.limit != Some(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturating_flow_keeps_some_on_the_way() {
        let mut window = Window::default();
        assert_eq!(window.room(Time::ZERO, 0), SATURATED);
        assert_eq!(window.room(Time::ZERO, SATURATED), 0);
        // A thousand a second, each 100 ms on its way: a hundred more fit on the wire.
        for n in 0..100 {
            window.on_arrival(Time::from_millis(100 + u64::from(n)), n, Duration::from_millis(100));
        }
        assert!(window.rate > 0.0);
        let room = window.room(Time::from_millis(200), 100);
        assert!((SATURATED + 60..SATURATED + 110).contains(&room), "{room}, {window:?}");
        // Nothing comes any more: it is lost, and others go.
        assert_eq!(window.room(Time::from_millis(190), 5000), 0);
        assert!(window.room(Time::from_millis(300), 5000) >= SATURATED);
    }
}
