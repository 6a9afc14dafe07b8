//! One end of a connection.

mod emit;

use super::TcpConfig;
use super::receive::{Incoming, ReceiveStats, Receiver};
use super::send::{Acknowledgement, Outgoing, SendStats, Sender};
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_cc::Controller;
use ropewalk_packet::seq;
use ropewalk_packet::{Ecn, Flags, MptcpOption, Segment, Timestamps};
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// Where a connection stands (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent; none has come.
    SynSent,
    /// A SYN has come and was answered; the answer is not acknowledged.
    SynReceived,
    /// Both ends may send.
    Established,
    /// This end has closed; its FIN is not acknowledged.
    FinWait1,
    /// This end's FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer has closed; this end may still send.
    CloseWait,
    /// Both have closed at once; this end's FIN is not acknowledged.
    Closing,
    /// The peer closed first, then this end, whose FIN is not acknowledged.
    LastAck,
    /// Over; late segments are still answered.
    TimeWait,
    /// Over.
    Closed,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The other side answered with a reset.
    #[error("the other side reset the connection; see whether something listens there")]
    Reset,
    /// Timeout after timeout, and no answer.
    #[error("the other side does not answer any more; see whether the path is up")]
    TimedOut,
}

/// What an application may want to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is over.
    Connected,
    /// The other side sends no more; what it sent can still be read.
    PeerClosed,
    /// Both directions are closed and all data is acknowledged.
    Closed,
    /// Over before its time.
    Failed(Failure),
}

/// Figures of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Of the sending half.
    pub send: SendStats,
    /// Of the receiving half.
    pub receive: ReceiveStats,
    /// Bytes of data that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes of data that have arrived in order.
    pub received_bytes: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Smallest round-trip time of the last five minutes; zero before the first sample.
    pub min_rtt: Duration,
    /// Retransmission timeout, with its backoff.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub window_bytes: u64,
    /// Believed to be in the network, bytes.
    pub flight_bytes: u64,
}

/// What the SYNs agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    timestamps: bool,
    ecn: bool,
    sack: bool,
    /// Shift of the windows that we offer, and of those that we are offered.
    our_scale: u8,
    peer_scale: u8,
}

/// What a subflow has besides a plain connection: filled in and read by [`crate::mptcp`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowPart {
    /// On our SYN and SYN-ACK.
    pub handshake: Option<MptcpOption>,
    /// What the peer's had.
    pub peer_handshake: Option<MptcpOption>,
    /// Next data sequence number that we expect; on every segment once there is one.
    pub data_ack: Option<u64>,
    /// The connection's window, bytes, from `data_ack` on.
    pub window: u64,
    /// To be sent once, in place of the data sequence signal.
    pub once: VecDeque<MptcpOption>,
    /// Options received, with the window of their segment (bytes) and the offset of its payload.
    pub received: VecDeque<(MptcpOption, u64, u64)>,
}

/// One end of a TCP connection: a state machine in virtual time; see the [module](super).
#[derive(Debug)]
pub struct TcpEndpoint {
    config: TcpConfig,
    local: SocketAddrV4,
    remote: SocketAddrV4,
    isn: u32,
    peer_isn: Option<u32>,
    agreed: Agreed,
    connected: bool,
    /// Our FIN left before the peer's came.
    closed_first: bool,
    peer_closed: bool,
    time_wait: Option<Time>,
    over: bool,
    reset_due: bool,
    pub(crate) tx: Sender,
    pub(crate) rx: Receiver,
    pub(crate) subflow: Option<SubflowPart>,
    events: VecDeque<Event>,
}

/// A range of offsets, from its first to one past its last.
type Block = (u64, u64);

/// Our timestamp clock: milliseconds, never zero at the start (RFC 7323 §5.4).
fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// The time at which our clock showed `value`, not after `now`.
fn clock_time(now: Time, value: u32) -> Time {
    let age = clock(now).wrapping_sub(value);
    Time::from_millis((now.as_nanos() / 1_000_000).saturating_sub(u64::from(age)))
}

impl TcpEndpoint {
    /// Opens a connection; `isn` is the first sequence number. The SYN comes out of the next
    /// [`poll_transmit`](Self::poll_transmit).
    pub fn connect(config: TcpConfig, local: SocketAddrV4, remote: SocketAddrV4, isn: u32) -> TcpEndpoint {
        let (tx, rx) = (Sender::new(&config), Receiver::new(&config));
        let mut endpoint = TcpEndpoint {
            config,
            local,
            remote,
            isn,
            peer_isn: None,
            agreed: Agreed::default(),
            connected: false,
            closed_first: false,
            peer_closed: false,
            time_wait: None,
            over: false,
            reset_due: false,
            tx,
            rx,
            subflow: None,
            events: VecDeque::new(),
        };
        endpoint.agreed.our_scale = endpoint.rx.window.scale();
        endpoint
    }

    /// The same for a subflow of an MPTCP connection: `option` goes on its SYN.
    pub(crate) fn connect_subflow(
        config: TcpConfig,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        isn: u32,
        option: MptcpOption,
    ) -> TcpEndpoint {
        let mut endpoint = TcpEndpoint::connect(config, local, remote, isn);
        endpoint.make_subflow(option);
        endpoint
    }

    fn make_subflow(&mut self, option: MptcpOption) {
        self.subflow = Some(SubflowPart { handshake: Some(option), ..SubflowPart::default() });
        self.tx.ignore_peer_window = true;
    }

    /// Answers the SYN of a subflow.
    pub(crate) fn accept_subflow(
        config: TcpConfig,
        isn: u32,
        now: Time,
        syn: &Segment,
        option: MptcpOption,
    ) -> TcpEndpoint {
        let mut endpoint = TcpEndpoint::connect(config, syn.destination, syn.source, isn);
        endpoint.make_subflow(option);
        endpoint.agree(now, syn);
        endpoint
    }

    /// Answers `syn`, which came at `now`; none if it is not the beginning of a connection.
    pub fn accept(config: TcpConfig, isn: u32, now: Time, syn: &Segment) -> Option<TcpEndpoint> {
        if !syn.flags.has(Flags::SYN) || syn.flags.has(Flags::ACK) || syn.flags.has(Flags::RST) {
            return None;
        }
        let mut endpoint = TcpEndpoint::connect(config, syn.destination, syn.source, isn);
        endpoint.agree(now, syn);
        Some(endpoint)
    }

    /// What the SYN, or SYN-ACK, of the other side and our own have in common.
    fn agree(&mut self, now: Time, syn: &Segment) {
        let (options, ours) = (&syn.options, &self.config);
        let asks = Flags::ECE | Flags::CWR;
        let ecn = match syn.flags.has(Flags::ACK) {
            true => syn.flags.has(Flags::ECE) && !syn.flags.has(Flags::CWR),
            false => syn.flags.has(asks),
        };
        let scaling = ours.window_scaling && options.window_scale.is_some();
        self.agreed = Agreed {
            timestamps: ours.timestamps && options.timestamps.is_some(),
            ecn: ours.ecn && ecn,
            sack: options.sack_permitted,
            our_scale: if scaling { self.agreed.our_scale } else { 0 },
            peer_scale: if scaling { options.window_scale.unwrap_or(0).min(14) } else { 0 },
        };
        self.peer_isn = Some(syn.seq);
        if let Some(timestamps) = options.timestamps {
            self.rx.echo = timestamps.value;
        }
        if let Some(part) = &mut self.subflow {
            part.peer_handshake = options.mptcp;
        }
        self.tx.set_mss(self.payload_limit(options.mss.unwrap_or(536)));
        self.tx.set_window(1 + u64::from(syn.window), u64::from(syn.window));
        let incoming =
            Incoming { seq: 0, payload_bytes: 0, syn: true, fin: false, ecn: Ecn::NotEct, reduced: false };
        self.rx.on_segment(now, &incoming, None, self.tx.rtt.rto());
    }

    /// Payload of a full segment, when the peer takes segments of `peer_mss`.
    fn payload_limit(&self, peer_mss: u16) -> u64 {
        let timestamps = if self.agreed.timestamps { 12 } else { 0 };
        let mapping = if self.subflow.is_some() { 28 } else { 0 };
        u64::from(self.config.mss.min(peer_mss)).saturating_sub(timestamps + mapping).max(64)
    }

    /// Takes in a segment of this connection. Times never go back.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if self.over {
            return;
        }
        let Some(peer_isn) = self.peer_isn else { return self.on_first_answer(now, segment) };
        let Some(at) = seq::offset(peer_isn, self.rx.next(), segment.seq) else { return };
        if segment.flags.has(Flags::RST) {
            return if at <= self.rx.window.right() {
                self.fail(Failure::Reset)
            };
        }
        if segment.flags.has(Flags::SYN) {
            return if self.connected {
                self.rx.acknowledge_at_once()
            };
        }
        if let Some(Timestamps { value, .. }) = segment.options.timestamps
            && at <= self.rx.acknowledged()
        {
            self.rx.echo = value;
        }
        if !self.take_acknowledgement(now, segment) {
            return self.rx.acknowledge_at_once();
        }
        self.note_option(segment, at);
        self.take_data(now, segment, at);
        self.move_on(now);
    }

    fn on_first_answer(&mut self, now: Time, segment: &Segment) {
        let answers = segment.flags.has(Flags::ACK) && segment.ack == seq::wire(self.isn, 1);
        if answers && segment.flags.has(Flags::RST) {
            return self.fail(Failure::Reset);
        }
        if !answers || !segment.flags.has(Flags::SYN) {
            return;
        }
        self.agree(now, segment);
        self.take_acknowledgement(now, segment);
        self.rx.acknowledge_at_once();
    }

    /// False if it acknowledges what was never sent.
    fn take_acknowledgement(&mut self, now: Time, segment: &Segment) -> bool {
        if !segment.flags.has(Flags::ACK) {
            return true;
        }
        let Some(ack) = seq::offset(self.isn, self.tx.una, segment.ack) else { return true };
        if ack > self.tx.next {
            return false;
        }
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.agreed.peer_scale };
        let window = u64::from(segment.window) << shift;
        let before = self.tx.right;
        self.tx.set_window(ack + window, window);
        let (sack, duplicate) = self.blocks(segment, ack);
        let echo = segment.options.timestamps.filter(|t| self.agreed.timestamps && t.echo != 0);
        self.tx.on_ack(
            now,
            &Acknowledgement {
                ack,
                sack,
                duplicate,
                echo: echo.map(|t| clock_time(now, t.echo)),
                marked: self.agreed.ecn && self.connected && segment.flags.has(Flags::ECE),
                has_data: segment.payload_bytes > 0,
                window_changed: self.tx.right != before,
            },
        );
        if ack > 0 && !self.connected {
            self.connected = true;
            self.events.push_back(Event::Connected);
            if let Some(rtt) = self.tx.rtt.srtt() {
                self.rx.window.sample_rtt(rtt);
            }
        }
        true
    }

    /// SACK blocks as offsets, and the DSACK apart from them (RFC 2883 §4: below the acknowledgement, or within the
    /// second block).
    fn blocks(&self, segment: &Segment, ack: u64) -> (Vec<Block>, Option<Block>) {
        let offset = |number| seq::offset(self.isn, self.tx.una, number);
        let sent = |block: &(u64, u64)| block.0 < block.1 && block.1 <= self.tx.next;
        let all = segment.options.sack.as_slice().iter();
        let mut blocks: Vec<_> =
            all.filter_map(|b| Some((offset(b.0)?, offset(b.1)?))).filter(sent).collect();
        let is_duplicate = match blocks.as_slice() {
            [first, ..] if first.1 <= ack => true,
            [first, second, ..] => first.0 >= second.0 && first.1 <= second.1,
            _ => false,
        };
        let duplicate = is_duplicate.then(|| blocks.remove(0));
        blocks.retain(|block| block.1 > ack);
        (blocks, duplicate)
    }

    fn note_option(&mut self, segment: &Segment, at: u64) {
        if let (Some(part), Some(option)) = (&mut self.subflow, segment.options.mptcp) {
            part.received.push_back((option, u64::from(segment.window) << self.agreed.peer_scale, at));
        }
    }

    fn take_data(&mut self, now: Time, segment: &Segment, at: u64) {
        let fin = segment.flags.has(Flags::FIN);
        if segment.payload_bytes == 0 && !fin {
            // A probe with an old number wants an answer (RFC 9293 §3.10.7.4).
            return if at < self.rx.acknowledged() {
                self.rx.acknowledge_at_once()
            };
        }
        if let Some(echo) = segment.options.timestamps.map(|t| t.echo).filter(|echo| *echo != 0) {
            let rtt = now - clock_time(now, echo);
            self.rx.sample_rtt(rtt.max(Duration::from_millis(1)));
        }
        let incoming = Incoming {
            seq: at,
            payload_bytes: segment.payload_bytes,
            syn: false,
            fin,
            ecn: if self.agreed.ecn { segment.ecn } else { Ecn::NotEct },
            reduced: segment.flags.has(Flags::CWR),
        };
        self.rx.on_segment(now, &incoming, self.tx.rtt.srtt(), self.tx.rtt.rto());
    }

    /// Moves on in closing.
    fn move_on(&mut self, now: Time) {
        if self.rx.is_finished() && !self.peer_closed {
            self.peer_closed = true;
            self.events.push_back(Event::PeerClosed);
        }
        if !self.peer_closed || !self.tx.is_finished() || self.time_wait.is_some() {
            return;
        }
        self.events.push_back(Event::Closed);
        match self.closed_first {
            true => self.time_wait = Some(now + self.config.time_wait),
            false => self.over = true,
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.over = true;
        self.events.push_back(Event::Failed(failure));
    }

    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Time) {
        if self.time_wait.is_some_and(|at| at <= now) {
            self.over = true;
        }
        if self.over {
            return;
        }
        self.tx.on_timer(now);
        self.rx.on_timer(now, self.tx.rtt.rto());
        if self.tx.has_given_up() {
            self.fail(Failure::TimedOut);
        }
    }

    /// When [`on_timer`](Self::on_timer) or [`poll_transmit`](Self::poll_transmit) has something to do by itself.
    pub fn next_timeout(&self) -> Option<Time> {
        if self.over {
            return None;
        }
        [self.tx.next_timeout(), self.rx.next_timeout(), self.time_wait].into_iter().flatten().min()
    }

    /// The next segment to leave at `now`. To be called until it says none, after every other call.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if core::mem::take(&mut self.reset_due) {
            return Some(self.build(
                now,
                Flags::RST | Flags::ACK,
                &Outgoing { seq: self.tx.next, ..Outgoing::default() },
            ));
        }
        if self.over && !self.rx.is_ack_due() {
            return None;
        }
        if !self.over
            && let Some(out) = self.tx.poll(now)
        {
            return Some(self.build_outgoing(now, &out));
        }
        if self.peer_isn.is_none() || !(self.rx.is_ack_due() || self.has_option_due()) {
            return None;
        }
        Some(self.build(now, Flags::ACK, &Outgoing { seq: self.tx.next, ..Outgoing::default() }))
    }

    /// What has happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Offers `bytes` to be sent; returns how many were taken, all unless the send buffer is limited.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.tx.write(bytes)
    }

    /// Takes up to `max` bytes that have arrived in order; returns how many.
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        self.rx.read(now, max)
    }

    /// Bytes that can be read now.
    pub fn readable(&self) -> u64 {
        self.rx.readable()
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.tx.unacknowledged()
    }

    /// Nothing more will be written: a FIN follows what was.
    pub fn close(&mut self) {
        self.tx.finish();
    }

    /// Ends at once, with a reset to the other side.
    pub fn abort(&mut self) {
        self.reset_due = !self.over && self.peer_isn.is_some();
        self.over = true;
    }

    /// The handshake is over.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        let (fin_sent, fin_acked) = (self.tx.is_fin_sent(), self.tx.is_finished());
        match (self.connected, fin_sent, fin_acked, self.peer_closed) {
            _ if self.over => State::Closed,
            (false, ..) if self.peer_isn.is_some() => State::SynReceived,
            (false, ..) => State::SynSent,
            (true, false, _, false) => State::Established,
            (true, false, _, true) => State::CloseWait,
            (true, true, false, false) => State::FinWait1,
            (true, true, true, false) => State::FinWait2,
            (true, true, false, true) if self.closed_first => State::Closing,
            (true, true, false, true) => State::LastAck,
            (true, true, true, true) => State::TimeWait,
        }
    }

    /// From.
    pub fn local(&self) -> SocketAddrV4 {
        self.local
    }

    /// To.
    pub fn remote(&self) -> SocketAddrV4 {
        self.remote
    }

    /// The controller in charge.
    pub fn controller(&self) -> &dyn Controller {
        self.tx.control.controller()
    }

    /// Figures so far.
    pub fn stats(&self) -> TcpStats {
        TcpStats {
            send: self.tx.stats,
            receive: self.rx.stats,
            acknowledged_bytes: self.tx.acknowledged(),
            received_bytes: self.rx.received(),
            srtt: self.tx.rtt.srtt().unwrap_or_default(),
            min_rtt: self.tx.rtt.min().unwrap_or_default(),
            rto: self.tx.rtt.rto(),
            window_bytes: self.tx.control.window(),
            flight_bytes: self.tx.flight(),
        }
    }
}
