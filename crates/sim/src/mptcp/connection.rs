//! One end of an MPTCP connection.

mod addresses;

use super::scheduler::{self, Choice, Ready, SchedulerKind};
use super::subflow::{Subflow, SubflowState};
use crate::tcp::receive::reassembly::{Arrival, Reassembly};
use crate::tcp::{
    Event, Failure, Flags, Mapping, MptcpOption, ReceiveBuffer, Segment, TcpConfig, TcpEndpoint, TcpStats,
};
use ropewalk_air::Time;
use ropewalk_cc::Sibling;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;
use std::time::Duration;

/// A subflow of a connection, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub usize);

/// What a connection is to be like.
#[derive(Clone, Debug, PartialEq)]
pub struct MptcpConfig {
    /// Of each subflow. Its receive buffer's largest size is the one that all share.
    pub tcp: TcpConfig,
    /// Who takes the next segment.
    pub scheduler: SchedulerKind,
    /// When the peer's window is full, the oldest missing data goes again on a subflow with room.
    pub opportunistic_retransmission: bool,
    /// And the subflow that holds it up has its window reduced, once per its round trip.
    pub penalise: bool,
    /// How long a subflow may be silent after a timeout before what it has on the way goes to another.
    pub patience: Duration,
}

/// When Linux calls a subflow stale: it counts periods of the connection's own timer, which are 200 ms (`TCP_RTO_MIN`) whatever the subflow's
/// timer has become, and wants more than `net.mptcp.stale_loss_cnt`, four. The first ends with the tail's probe, the second with the subflow's
/// first timeout, and three are left.
const STALE_AFTER: Duration = Duration::from_millis(3 * 200);

impl MptcpConfig {
    /// As Linux has it: no data is sent again for a full window, and a subflow keeps what it was given until it is stale.
    pub fn linux(tcp: TcpConfig) -> MptcpConfig {
        MptcpConfig {
            tcp,
            scheduler: SchedulerKind::LeastLinger,
            opportunistic_retransmission: false,
            penalise: false,
            patience: STALE_AFTER,
        }
    }
}

impl Default for MptcpConfig {
    fn default() -> MptcpConfig {
        MptcpConfig {
            tcp: TcpConfig::default(),
            scheduler: SchedulerKind::default(),
            opportunistic_retransmission: true,
            penalise: true,
            patience: Duration::ZERO,
        }
    }
}

/// Figures of a connection; those of its subflows are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MptcpStats {
    /// Data bytes that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    /// Data bytes that have arrived in order.
    pub received_bytes: u64,
    /// Data bytes given to a second subflow after a timeout or the end of the first.
    pub reinjected_bytes: u64,
    /// Data bytes sent again because the peer's window was full.
    pub opportunistic_bytes: u64,
    /// Reductions of a subflow that held up the window.
    pub penalties: u64,
    /// Data bytes that came twice.
    pub duplicate_bytes: u64,
    /// Times at which a subflow was ready, data waited, and the peer's window was full.
    pub window_blocked: u64,
}

/// One end of an MPTCP connection; see the [module](super).
#[derive(Debug)]
pub struct MptcpConnection {
    config: MptcpConfig,
    key: u64,
    peer_key: Option<u64>,
    subflows: Vec<Subflow>,
    isn: u32,
    written: u64,
    /// Next byte that no subflow has had.
    next: u64,
    una: u64,
    /// One past the last byte that the peer takes.
    right: u64,
    /// To be given to another subflow: start to end, and the subflow that had it.
    again: BTreeMap<u64, (u64, usize)>,
    /// The last byte up to which the window was unblocked by sending again.
    unblocked: u64,
    fin: bool,
    order: Reassembly,
    read: u64,
    offered: u64,
    last: usize,
    /// ECF waits for a faster subflow.
    waiting: bool,
    connected: bool,
    peer_closed: bool,
    /// Numbers of own addresses that are gone, of which the peer was not told yet.
    removed: VecDeque<u8>,
    events: VecDeque<Event>,
    stats: MptcpStats,
}

/// The number by which a joining subflow names the connection: in the RFC, a hash of the key (§3.2).
fn token(key: u64) -> u32 {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

impl MptcpConnection {
    /// Opens a connection with a first subflow. `seed` gives the key and the sequence numbers.
    pub fn connect(
        config: MptcpConfig,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        seed: u64,
    ) -> MptcpConnection {
        let mut connection = MptcpConnection::new(config, seed);
        let option = MptcpOption::Capable { sender: None, receiver: None };
        connection.open(local, remote, option, 0, false);
        connection
    }

    /// Answers a first SYN; none if it does not ask for MPTCP.
    pub fn accept(config: MptcpConfig, seed: u64, now: Time, syn: &Segment) -> Option<MptcpConnection> {
        let asks = matches!(syn.options.mptcp, Some(MptcpOption::Capable { .. }));
        if !asks || !syn.flags.has(Flags::SYN) || syn.flags.has(Flags::ACK) {
            return None;
        }
        let mut connection = MptcpConnection::new(config, seed);
        let option = MptcpOption::Capable { sender: Some(connection.key), receiver: None };
        connection.answer(now, syn, option, 0, false);
        Some(connection)
    }

    fn new(config: MptcpConfig, seed: u64) -> MptcpConnection {
        let key = seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        MptcpConnection {
            key,
            peer_key: None,
            subflows: Vec::new(),
            isn: (key >> 16) as u32,
            written: 0,
            next: 0,
            una: 0,
            right: 0,
            again: BTreeMap::new(),
            unblocked: 0,
            fin: false,
            order: Reassembly::default(),
            read: 0,
            offered: 0,
            last: 0,
            waiting: false,
            connected: false,
            peer_closed: false,
            removed: VecDeque::new(),
            events: VecDeque::new(),
            stats: MptcpStats::default(),
            config,
        }
    }

    /// Subflows scale windows for the shared buffer, whatever their own would be.
    fn subflow_config(&self) -> TcpConfig {
        let receive_buffer = ReceiveBuffer::Fixed(self.config.tcp.receive_buffer.max());
        TcpConfig { receive_buffer, send_buffer_bytes: u64::MAX, no_delay: true, ..self.config.tcp.clone() }
    }

    fn next_isn(&mut self) -> u32 {
        self.isn = self.isn.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
        self.isn
    }

    fn open(&mut self, local: SocketAddrV4, remote: SocketAddrV4, option: MptcpOption, id: u8, backup: bool) {
        let (config, isn) = (self.subflow_config(), self.next_isn());
        let endpoint = TcpEndpoint::connect_subflow(config, local, remote, isn, option);
        self.subflows.push(Subflow::new(endpoint, id, backup));
    }

    fn answer(&mut self, now: Time, syn: &Segment, option: MptcpOption, id: u8, backup: bool) {
        let (config, isn) = (self.subflow_config(), self.next_isn());
        let endpoint = TcpEndpoint::accept_subflow(config, isn, now, syn, option);
        self.subflows.push(Subflow::new(endpoint, id, backup));
    }

    /// Adds a subflow; none before the first one's handshake is over. `address_id` names the address to the peer.
    pub fn add_subflow(
        &mut self,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        address_id: u8,
        backup: bool,
    ) -> Option<SubflowId> {
        let (token, nonce) = (token(self.peer_key?), self.isn);
        // A join says itself that what was there before is gone.
        self.removed.retain(|id| *id != address_id);
        self.open(local, remote, MptcpOption::Join { address_id, backup, token, nonce }, address_id, backup);
        Some(SubflowId(self.subflows.len() - 1))
    }

    /// Makes a subflow a backup, or no backup, and asks the peer to do the same (MP_PRIO, RFC 8684 §3.3.8).
    pub fn set_backup(&mut self, id: SubflowId, backup: bool) {
        let Some(subflow) = self.subflows.get_mut(id.0) else { return };
        subflow.backup = backup;
        if let Some(part) = subflow.endpoint.subflow.as_mut() {
            part.once.push_back(MptcpOption::Priority { backup });
        }
    }

    /// Takes in a segment; false if it belongs to no subflow and opens none.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> bool {
        let is_of =
            |s: &Subflow| s.endpoint.local() == segment.destination && s.endpoint.remote() == segment.source;
        let Some(index) = self.subflows.iter().position(|s| is_of(s) && !s.gone) else {
            return self.on_join(now, segment);
        };
        if self.begins_anew(index, segment) {
            self.lose_subflow(index);
            return self.on_join(now, segment);
        }
        self.tell_siblings(index);
        (self.subflows[index].stale_at, self.subflows[index].stale) = (None, false);
        self.subflows[index].endpoint.on_segment(now, segment);
        self.take_options(now, index);
        self.take_data(now, index);
        self.take_events(index);
        true
    }

    /// Shows a coupled controller the other subflows.
    fn tell_siblings(&mut self, of: usize) {
        let view = |(index, subflow): (usize, &Subflow)| Sibling {
            window: subflow.endpoint.tx.control.window(),
            srtt: subflow.endpoint.tx.rtt.srtt().unwrap_or_default(),
            bytes_since_loss: subflow.endpoint.controller().bytes_since_loss(),
            is_self: index == of,
        };
        let usable = self.subflows.iter().enumerate().filter(|(index, s)| s.is_usable() || *index == of);
        let siblings = usable.map(view).collect();
        self.subflows[of].endpoint.tx.control.siblings = siblings;
    }

    fn take_options(&mut self, now: Time, index: usize) {
        let subflow = &mut self.subflows[index];
        let Some(part) = subflow.endpoint.subflow.as_mut() else { return };
        if let Some(MptcpOption::Capable { sender: Some(key), .. }) = part.peer_handshake {
            self.peer_key = Some(key);
        }
        let received: Vec<_> = part.received.drain(..).collect();
        for (option, window, at) in received {
            match option {
                MptcpOption::Dss { data_ack, mapping, .. } => {
                    self.take_signal(index, data_ack, mapping, window, at)
                }
                MptcpOption::Priority { backup } => self.subflows[index].backup = backup,
                MptcpOption::RemoveAddress { address_id } => self.drop_address(address_id),
                MptcpOption::Capable { .. } | MptcpOption::Join { .. } => {}
            }
        }
        self.note_timeouts(now, index);
    }

    fn take_signal(
        &mut self,
        index: usize,
        ack: Option<u64>,
        mapping: Option<Mapping>,
        window: u64,
        at: u64,
    ) {
        if let Some(ack) = ack.filter(|ack| *ack <= self.next) {
            self.una = self.una.max(ack);
            self.right = self.right.max(ack + window);
            while self.again.first_key_value().is_some_and(|(_, (end, _))| *end <= self.una) {
                self.again.pop_first();
            }
        }
        if let Some(mapping) = mapping {
            let place = (mapping.data_sequence, u64::from(mapping.length));
            self.subflows[index].arrived.insert(at, place);
        }
    }

    /// What is in order in the subflow goes to the data stream.
    fn take_data(&mut self, now: Time, index: usize) {
        let subflow = &mut self.subflows[index];
        subflow.endpoint.read(now, u64::MAX);
        let upto = subflow.endpoint.rx.next();
        while let Some(entry) = subflow.arrived.first_entry() {
            let (&at, &(start, len)) = (entry.key(), entry.get());
            if at + len > upto {
                break;
            }
            entry.remove();
            if self.order.insert(start, start + len) == Arrival::Duplicate {
                self.stats.duplicate_bytes += len;
            }
        }
    }

    fn take_events(&mut self, index: usize) {
        while let Some(event) = self.subflows[index].endpoint.poll_event() {
            match event {
                Event::Connected if !self.connected => {
                    self.connected = true;
                    self.right = self.right.max(self.subflows[index].endpoint.tx.right.saturating_sub(1));
                    self.events.push_back(Event::Connected);
                }
                Event::Failed(failure) => self.on_failure(index, failure),
                Event::Connected => self.tell_removed(),
                Event::PeerClosed | Event::Closed => {}
            }
        }
        let closed = |s: &Subflow| s.gone || s.endpoint.rx.is_finished();
        if !self.peer_closed && self.connected && self.subflows.iter().all(closed) && !self.all_gone() {
            self.peer_closed = true;
            self.events.push_back(Event::PeerClosed);
        }
    }

    fn all_gone(&self) -> bool {
        self.subflows.iter().all(|s| s.gone)
    }

    fn on_failure(&mut self, index: usize, failure: Failure) {
        self.lose_subflow(index);
        if self.all_gone() {
            self.events.push_back(Event::Failed(failure));
        }
    }

    fn lose_subflow(&mut self, index: usize) {
        self.subflows[index].gone = true;
        self.reinject(index);
    }

    /// A timer ran out: what the subflow has on the way may be long in coming.
    fn note_timeouts(&mut self, now: Time, index: usize) {
        let subflow = &mut self.subflows[index];
        let timeouts = subflow.endpoint.tx.stats.timeouts;
        let new = timeouts > core::mem::replace(&mut subflow.timeouts_seen, timeouts);
        if new {
            subflow.stale_at.get_or_insert(now + self.config.patience);
        }
        let due = subflow.stale_at.is_some_and(|at| at <= now);
        if due && (new || !subflow.stale) {
            subflow.stale = true;
            self.reinject(index);
        }
    }

    fn reinject(&mut self, index: usize) {
        let held: Vec<_> = self.subflows[index].endpoint.tx.mappings.iter().copied().collect();
        for mapped in held {
            let (start, end) = (mapped.data_sequence.max(self.una), mapped.data_sequence + mapped.len);
            if start < end {
                self.again.entry(start).or_insert((end, index));
            }
        }
    }

    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Time) {
        for index in 0..self.subflows.len() {
            self.tell_siblings(index);
            self.subflows[index].endpoint.on_timer(now);
            self.note_timeouts(now, index);
            self.take_events(index);
        }
    }

    /// When [`on_timer`](Self::on_timer) or [`poll_transmit`](Self::poll_transmit) has something to do by itself.
    pub fn next_timeout(&self) -> Option<Time> {
        let stale = |s: &Subflow| s.stale_at.filter(|_| !s.stale && !s.gone);
        self.subflows.iter().flat_map(|s| [s.endpoint.next_timeout(), stale(s)]).flatten().min()
    }

    /// The next segment to leave at `now`, of whichever subflow. To be called until it says none, after every other call.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.close_when_done();
        for index in 0..self.subflows.len() {
            if let Some(segment) = self.poll_subflow(now, index) {
                return Some(segment);
            }
        }
        let index = self.assign(now)?;
        self.poll_subflow(now, index)
    }

    fn poll_subflow(&mut self, now: Time, index: usize) -> Option<Segment> {
        let window = self.window();
        let subflow = &mut self.subflows[index];
        if let Some(part) = subflow.endpoint.subflow.as_mut() {
            part.data_ack = Some(self.order.next());
            part.window = window;
        }
        let segment = subflow.endpoint.poll_transmit(now)?;
        self.offered = self.offered.max(self.order.next() + window);
        Some(segment)
    }

    /// What the shared buffer has room for, from the first missing byte on.
    fn window(&self) -> u64 {
        (self.read + self.config.tcp.receive_buffer.max()).saturating_sub(self.order.next())
    }

    /// Gives the next piece of data to a subflow.
    fn assign(&mut self, now: Time) -> Option<usize> {
        if self.una >= self.written {
            self.note_idle_room(now);
            return None;
        }
        let usable = || self.subflows.iter().enumerate().filter(|(_, s)| s.is_usable());
        let works = |s: &Subflow| !s.endpoint.tx.has_timed_out();
        let primaries = usable().filter(|(_, s)| !s.backup && works(s)).count();
        let of = |(index, s): (usize, &Subflow)| s.as_ready(index);
        let (ready, busy): (Vec<_>, Vec<_>) =
            usable().filter(|(_, s)| works(s)).partition(|(_, s)| s.endpoint.tx.is_ready(now));
        let ready: Vec<Ready> = ready.into_iter().map(of).collect();
        let busy: Vec<Ready> = busy.into_iter().map(of).collect();
        if let Some(index) = self.assign_again(&ready, primaries) {
            return Some(index);
        }
        let choice = Choice {
            ready: &ready,
            busy: &busy,
            primaries,
            last: self.last,
            unsent: self.written.min(self.right).saturating_sub(self.next),
            send_window: self.right.saturating_sub(self.una),
        };
        let index = scheduler::choose(self.config.scheduler, &choice, &mut self.waiting)?;
        let mss = self.subflows[index].endpoint.tx.mss;
        let len = mss.min(self.written - self.next);
        if len == 0 {
            self.note_idle_room(now);
            return None;
        }
        if self.next + len > self.right {
            self.stats.window_blocked += 1;
            self.note_idle_room(now);
            return self.unblock(now, index);
        }
        self.subflows[index].endpoint.tx.write_mapped(self.next, len);
        self.next += len;
        self.last = index;
        Some(index)
    }

    /// Nothing may be sent for want of data or of the peer's window.
    fn note_idle_room(&mut self, now: Time) {
        let ready = self.subflows.iter_mut().filter(|s| s.is_usable() && s.endpoint.tx.is_ready(now));
        ready.for_each(|s| s.endpoint.tx.note_idle_room());
    }

    /// What a subflow failed to deliver, to one that did not have it.
    fn assign_again(&mut self, ready: &[Ready], primaries: usize) -> Option<usize> {
        let (&start, &(end, had)) = self.again.first_key_value()?;
        let others: Vec<_> = ready.iter().copied().filter(|r| r.index != had).collect();
        // What is late anyway waits for nobody.
        let choice =
            Choice { ready: &others, busy: &[], primaries, last: self.last, unsent: 0, send_window: 0 };
        let index = scheduler::choose(self.config.scheduler, &choice, &mut false)?;
        self.again.pop_first();
        let start = start.max(self.una);
        if start >= end {
            return self.assign_again(ready, primaries);
        }
        let len = self.subflows[index].endpoint.tx.mss.min(end - start);
        if start + len < end {
            self.again.insert(start + len, (end, had));
        }
        self.subflows[index].endpoint.tx.write_mapped(start, len);
        self.stats.reinjected_bytes += len;
        Some(index)
    }

    /// The peer's window is full although `index` could send: the oldest missing data goes there too, once, and the
    /// subflow that holds it up is slowed down.
    fn unblock(&mut self, now: Time, index: usize) -> Option<usize> {
        if !self.config.opportunistic_retransmission || self.unblocked > self.una {
            return None;
        }
        let holder = self.subflows.iter().position(|s| s.has_on_the_way(self.una)).filter(|h| *h != index)?;
        let len = self.subflows[index].endpoint.tx.mss.min(self.next - self.una);
        self.unblocked = self.una + len;
        self.subflows[index].endpoint.tx.write_mapped(self.una, len);
        self.stats.opportunistic_bytes += len;
        self.penalise(now, holder);
        Some(index)
    }

    fn penalise(&mut self, now: Time, index: usize) {
        let subflow = &mut self.subflows[index];
        let srtt = subflow.endpoint.tx.rtt.srtt().unwrap_or_default();
        if self.config.penalise && now >= subflow.penalised + srtt {
            subflow.penalised = now;
            let flight = subflow.endpoint.tx.flight();
            subflow.endpoint.tx.control.penalise(now, flight);
            self.stats.penalties += 1;
        }
    }

    fn close_when_done(&mut self) {
        if self.fin && self.una >= self.written {
            self.subflows.iter_mut().filter(|s| !s.gone).for_each(|s| s.endpoint.close());
        }
    }

    /// Offers `bytes` to be sent; returns how many were taken, all unless the send buffer is limited.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let room = self.config.tcp.send_buffer_bytes.saturating_sub(self.written - self.una);
        let taken = bytes.min(room).min(u64::MAX / 4 - self.written);
        self.written += taken;
        taken
    }

    /// Takes up to `max` bytes of the data stream; returns how many.
    pub fn read(&mut self, max: u64) -> u64 {
        let bytes = max.min(self.readable());
        self.read += bytes;
        let left = self.offered.saturating_sub(self.order.next());
        // A window that was nearly shut has opened: the sender must hear of it (as for a plain connection).
        if bytes > 0 && 2 * left <= self.config.tcp.receive_buffer.max() && self.window() >= 2 * left.max(1) {
            self.subflows
                .iter_mut()
                .filter(|s| s.is_usable())
                .for_each(|s| s.endpoint.rx.acknowledge_at_once());
        }
        bytes
    }

    /// Bytes that can be read now.
    pub fn readable(&self) -> u64 {
        self.order.next() - self.read
    }

    /// Nothing more will be written: the subflows close when all data is acknowledged.
    pub fn close(&mut self) {
        self.fin = true;
    }

    /// What has happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Figures so far.
    pub fn stats(&self) -> MptcpStats {
        MptcpStats { acknowledged_bytes: self.una, received_bytes: self.order.next(), ..self.stats }
    }

    /// Addresses of a subflow, here and there.
    pub fn addresses(&self, id: SubflowId) -> Option<(SocketAddrV4, SocketAddrV4)> {
        self.subflows.get(id.0).map(|s| (s.endpoint.local(), s.endpoint.remote()))
    }

    /// The subflows, in order of creation, with their state and figures.
    pub fn subflows(&self) -> impl Iterator<Item = (SubflowId, SubflowState, TcpStats)> + '_ {
        self.subflows.iter().enumerate().map(|(index, s)| (SubflowId(index), s.state(), s.endpoint.stats()))
    }
}
