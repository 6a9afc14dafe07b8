//! What the loop touches for every packet.

use super::devices::Devices;
use super::links::Links;
use super::sockets::Sockets;
use super::streams::Streams;
use super::workers::{Message, Owner, Workers};
use anyhow::Context;
use ropewalk_bond::api::{Event, Input, Output};
use ropewalk_bond::engine::Engine;
use ropewalk_bond::path::Route;
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::clock;
use ropewalk_net::tun::{Received, TunError};
use ropewalk_net::udp::{RecvBatch, SendError};
use ropewalk_time::{Duration, Time};
use std::collections::VecDeque;

/// Bytes taken in before the engine is asked what to send: one super-packet. More would delay what is ready.
const TURN_BYTES: usize = 64 << 10;
/// A first packet that is shorter does not wait for company, if the device was quiet before: two datagrams where one would do cost both ends. After
/// several packets were delivered their acknowledgements are company: on a radio each datagram more contends with the aggregate that comes next.
const ALONE: usize = 2048;
/// So long is quiet.
const QUIET: Duration = Duration::from_micros(500);
/// Packets read from a device before the others and the sockets get their turn.
const DEVICE_READS: usize = 32;
/// Receive calls on one socket before the others get their turn.
const SOCKET_READS: usize = 4;
/// Messages of one receive call; each may hold 64 KiB of joined datagrams. Few, so that the buffers stay in the cache.
const SLOTS: usize = 4;
/// The largest packet of a device.
const PACKET: usize = 65_535;

/// What happened to packets outside the engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Packets read from the devices.
    pub device_in: u64,
    /// Packets written to them.
    pub device_out: u64,
    /// Packets that the kernel would not take from us.
    pub device_refused: u64,
    /// Batches sent.
    pub batches: u64,
    /// Datagrams not sent because a buffer or queue of the kernel was full.
    pub send_full: u64,
    /// Datagrams not sent because they were longer than the interface takes.
    pub send_too_big: u64,
    /// Datagrams not sent because the interface or the route was gone.
    pub send_unreachable: u64,
    /// Wake-ups of the loop.
    pub wakeups: u64,
    /// Packets and datagrams that were for another loop.
    pub handed_on: u64,
    /// Those of them that were dropped, since too many waited there.
    pub handed_on_lost: u64,
    /// Packets between clients' addresses, where clients do not reach each other.
    pub between_clients: u64,
}

/// The engine, the devices and the sockets.
pub(crate) struct Core {
    /// Decides.
    pub engine: Engine,
    /// The bond's devices.
    pub devices: Devices,
    /// The paths' sockets.
    pub sockets: Sockets,
    /// The paths' streams.
    pub streams: Streams,
    /// What the links under the paths say.
    pub links: Links,
    /// What happened outside the engine.
    pub counters: Counters,
    /// News that the role has not seen yet.
    pub events: VecDeque<Event>,
    /// Whether replies have to leave from the address that was reached: a gateway's sockets have several.
    pub keep_local: bool,
    /// This loop's end, if the gateway has several.
    pub workers: Option<Workers>,
    /// What came in since [`Core::give_way`].
    turn: Turn,
}

/// What one turn of the loop moved.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    bytes: usize,
    /// The device that a packet was written to.
    delivered: Option<u32>,
}

/// Room for what is being read.
pub(crate) struct Buffers {
    packet: Box<[u8]>,
    segment: Box<[u8]>,
    batch: RecvBatch,
}

impl Buffers {
    /// Room for one packet of the device, where the engine has none free or it has to be cut, and
    /// one receive call.
    pub(crate) fn new() -> Buffers {
        let packet = || vec![0; PACKET].into();
        Buffers { packet: packet(), segment: packet(), batch: RecvBatch::new(SLOTS) }
    }
}

impl Core {
    /// A core without sockets. `links` knows whether the engine decides by what links say.
    pub(crate) fn new(engine: Engine, devices: Devices, keep_local: bool, links: Links) -> Core {
        Core {
            engine,
            devices,
            sockets: Sockets::default(),
            streams: Streams::default(),
            links,
            counters: Counters::default(),
            events: VecDeque::new(),
            keep_local,
            workers: None,
            turn: Turn::default(),
        }
    }

    /// The same, one of several loops.
    pub(crate) fn among(self, workers: Option<Workers>) -> Core {
        Core { workers, ..self }
    }

    /// Takes in what waits at a device, within bounds.
    pub(crate) fn read_device(&mut self, id: u32, buffers: &mut Buffers) -> anyhow::Result<()> {
        let mut taken = 0;
        let answers = self.devices.get_mut(id).map_or(0, |d| std::mem::take(&mut d.unanswered));
        for n in 0..DEVICE_READS {
            let Some(device) = self.devices.get_mut(id) else { break };
            let buffer = self.engine.device_buffer();
            let in_engine = buffer.is_some();
            let received = match device.tun.recv(buffer.unwrap_or(&mut buffers.packet)) {
                Ok(Some(received)) => received,
                Ok(None) => break,
                Err(TunError::Down) => break,
                Err(e) => return Err(e.into()),
            };
            self.counters.device_in += 1;
            self.turn.bytes += received.len;
            taken += received.len;
            let (vnet, len) = (received.header, received.len);
            let now = clock::now();
            let quiet = now.since(std::mem::replace(&mut device.last_read, now));
            if self.workers.is_some() && self.hand_on(id, &received, in_engine, buffers) {
                continue;
            }
            match in_engine {
                _ if vnet.is_too_fine(len) => self.take_in_segments(id, &received, in_engine, buffers, now),
                true => self.engine.handle(Input::DeviceInBuffer { device: id, vnet, len }, now),
                false => {
                    let packet = &buffers.packet[..len];
                    self.engine.handle(Input::Device { device: id, vnet, packet }, now);
                }
            }
            // On an idle device the one packet leaves, and the device is not asked in vain for another.
            let alone = n == 0 && goes_alone(taken, quiet, answers);
            if taken >= TURN_BYTES || alone {
                self.pump()?;
                taken = 0;
            }
            if alone {
                break;
            }
        }
        Ok(())
    }

    /// Hands a packet to the loop that has its client; `false` if that is this one.
    fn hand_on(&mut self, id: u32, received: &Received, in_engine: bool, buffers: &mut Buffers) -> bool {
        let Core { engine, devices, workers: Some(workers), counters, .. } = self else { return false };
        let are_joined = engine.config().joins_clients();
        let Buffers { packet, segment, .. } = buffers;
        let buffer = if in_engine { engine.device_buffer() } else { None };
        let packet = buffer.map_or(&packet[..], |b| b).get(..received.len).unwrap_or_default();
        let to = match workers.owner_of(packet, are_joined) {
            Owner::ThisLoop => return false,
            Owner::Loop(to) => to,
            Owner::Nobody => {
                counters.between_clients += 1;
                return true;
            }
        };
        let mut hand = |vnet, packet: &[u8]| {
            counters.handed_on += 1;
            counters.handed_on_lost +=
                u64::from(!workers.send(to, Message::Packet { vnet, bytes: packet.to_vec() }));
        };
        let device = devices.get(id).filter(|_| received.header.is_too_fine(received.len));
        match device.map(|device| device.tun.segments(&received.header, packet)) {
            None => hand(received.header, packet),
            Some(Ok(mut segments)) => {
                while let Some(packet) = segments.next_into(segment) {
                    hand(Vnet::default(), packet);
                }
            }
            Some(Err(error)) => tracing::debug!(%error, "a packet of the device is dropped"),
        }
        true
    }

    /// A super-packet of small segments goes as the packets that it stands for: the far end refuses to cut so finely for others.
    #[cold]
    fn take_in_segments(
        &mut self,
        id: u32,
        received: &Received,
        in_engine: bool,
        buffers: &mut Buffers,
        now: Time,
    ) {
        let Some(device) = self.devices.get(id) else { return };
        let whole = &mut buffers.packet[..received.len];
        if in_engine && let Some(buffer) = self.engine.device_buffer() {
            whole.copy_from_slice(&buffer[..received.len]);
        }
        let mut segments = match device.tun.segments(&received.header, whole) {
            Ok(segments) => segments,
            Err(error) => return tracing::debug!(%error, "a packet of the device is dropped"),
        };
        while let Some(packet) = segments.next_into(&mut buffers.segment) {
            self.engine.handle(Input::Device { device: id, vnet: Vnet::default(), packet }, now);
        }
    }

    /// Takes in what waits at a socket, within bounds.
    pub(crate) fn read_socket(&mut self, id: u32, buffers: &mut Buffers) -> anyhow::Result<()> {
        for _ in 0..SOCKET_READS {
            let Some(received) = self.sockets.receive(id, &mut buffers.batch) else { return Ok(()) };
            let received = match received {
                Ok(n) => n,
                Err(error) => {
                    // The interface went down, or an ICMP error came: sending finds out which.
                    tracing::debug!(link = id, %error, "receiving failed");
                    return Ok(());
                }
            };
            self.take_batch(id, &mut buffers.batch)?;
            if received < SLOTS {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_batch(&mut self, id: u32, batch: &mut RecvBatch) -> anyhow::Result<()> {
        let mut taken = 0;
        for d in batch.iter_mut() {
            if let (Some(dropped), Some(link)) = (d.dropped, self.sockets.get_mut(id)) {
                link.overruns = dropped;
            }
            taken += d.data.len();
            self.turn.bytes += d.data.len();
            let local = if self.keep_local { d.to } else { None };
            let is_mixed = self.workers.as_ref().is_some_and(|workers| {
                let shard = workers.shard();
                d.data.chunks(d.segment_size.max(1)).any(|one| shard.number_for(one) != shard.number())
            });
            let input = Input::Datagrams {
                link: id,
                remote: d.from,
                local,
                segment: d.segment_size,
                bytes: d.data,
                ecn: d.tos & 3,
            };
            match is_mixed {
                true => self.sort(input),
                false => self.engine.handle(input, clock::now()),
            }
            if taken >= TURN_BYTES {
                taken = 0;
                self.pump()?;
            }
        }
        Ok(())
    }

    /// The kernel has joined datagrams of one sender that are for several loops: a handshake among data. Runs for one
    /// loop stay together.
    #[cold]
    fn sort(&mut self, batch: Input<'_>) {
        let Core { engine, workers: Some(workers), counters, .. } = self else { return };
        let Input::Datagrams { link, remote, local, segment, bytes: mut rest, ecn } = batch else { return };
        let (segment, shard) = (segment.max(1), workers.shard());
        while !rest.is_empty() {
            let to = shard.number_for(&rest[..segment.min(rest.len())]);
            let count = rest.chunks(segment).take_while(|one| shard.number_for(one) == to).count();
            let len = rest.len().min(count * segment);
            let (bytes, behind) = std::mem::take(&mut rest).split_at_mut(len);
            rest = behind;
            if to == shard.number() {
                engine.handle(Input::Datagrams { link, remote, local, segment, bytes, ecn }, clock::now());
                continue;
            }
            let bytes = bytes.to_vec();
            let is_sent = workers.send(to, Message::Datagrams { link, remote, local, ecn, segment, bytes });
            counters.handed_on += count as u64;
            counters.handed_on_lost += if is_sent { 0 } else { count as u64 };
        }
    }

    /// Takes in what came by streams.
    pub(crate) fn read_streams(&mut self) -> anyhow::Result<()> {
        let mut inbox = self.streams.take();
        let mut taken = 0;
        for (run, bytes) in inbox.runs() {
            taken += bytes.len();
            self.turn.bytes += bytes.len();
            let (link, remote, segment) = (run.id, run.remote, run.segment);
            let input = Input::Datagrams { link, remote, local: None, segment, bytes, ecn: 0 };
            self.engine.handle(input, clock::now());
            if taken >= TURN_BYTES {
                taken = 0;
                self.pump()?;
            }
        }
        self.streams.news.extend(inbox.take_news());
        self.streams.inbox = inbox;
        Ok(())
    }

    /// Does everything that the engine wants done now; returns when it wants to be asked again.
    pub(crate) fn pump(&mut self) -> anyhow::Result<Time> {
        let mut now = clock::now();
        loop {
            match self.engine.poll_output(now) {
                Output::Transmit(t) => {
                    self.counters.batches += 1;
                    let (route, count, segment) =
                        (t.route, t.bytes.len().div_ceil(t.segment.max(1)), t.segment);
                    let sent = match Streams::has(route.link) {
                        true => self.streams.send(&t),
                        false => self.sockets.send(&t),
                    };
                    if let Err(error) = sent {
                        self.on_send_error(error, route, count, segment);
                    }
                    now = clock::now();
                }
                Output::Deliver { device: id, vnet, packet } => {
                    let Some(device) = self.devices.get_mut(id) else {
                        // A repeater's, which the role makes after this turn.
                        self.counters.device_refused += 1;
                        continue;
                    };
                    self.counters.device_out += 1;
                    self.turn.delivered = Some(id);
                    device.unanswered = device.unanswered.saturating_add(1);
                    match device.tun.send(&vnet, &[packet]) {
                        Ok(()) => device.down_said = false,
                        Err(error) => self.on_device_error(id, error)?,
                    }
                }
                Output::Event(event) => self.events.push_back(event),
                Output::Timeout(at, _) => return Ok(at),
            }
        }
    }

    /// After a turn that moved one small packet: somebody waits for just that. An answer of this machine lies at the device already; whoever else was
    /// woken runs before timers are set and sleep is prepared, where processors are few. A turn that moved much goes on at once.
    pub(crate) fn give_way(&mut self, buffers: &mut Buffers) -> anyhow::Result<()> {
        let turn = std::mem::take(&mut self.turn);
        if turn.bytes == 0 || turn.bytes >= ALONE {
            return Ok(());
        }
        if let Some(device) = turn.delivered {
            self.read_device(device, buffers)?;
            self.turn = Turn::default();
        }
        std::thread::yield_now();
        Ok(())
    }

    /// The engine's timer has run out.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.engine.handle(Input::Timeout, now);
    }

    /// Lost datagrams are the engine's business; here it is told what it cannot know.
    #[cold]
    fn on_send_error(&mut self, error: SendError, route: Route, count: usize, segment: usize) {
        let now = clock::now();
        match error {
            SendError::Full | SendError::NoBuffers => self.counters.send_full += count as u64,
            SendError::TooBig => {
                self.counters.send_too_big += count as u64;
                let headers = if route.remote.is_ipv6() { 48 } else { 28 };
                let size = segment.saturating_add(headers).min(usize::from(u16::MAX)) as u16;
                // The engine wants the least size that does not pass.
                let mtu = self
                    .sockets
                    .get(route.link)
                    .and_then(|l| l.mtu)
                    .map_or(size, |m| size.min(m.saturating_add(1)));
                self.engine.on_too_big(route, mtu, now);
            }
            SendError::Path(why) => {
                self.counters.send_unreachable += count as u64;
                // A gateway's socket serves everybody: only that client's path is concerned, and it will find out.
                if !self.keep_local {
                    tracing::debug!(link = route.link, %why, "path failed");
                    self.engine.fail_path(route.link, now);
                }
            }
            SendError::System(error) => {
                self.counters.send_unreachable += count as u64;
                tracing::debug!(%error, to = %route.remote, "sending failed");
            }
        }
    }

    #[cold]
    fn on_device_error(&mut self, id: u32, error: TunError) -> anyhow::Result<()> {
        let Some(device) = self.devices.get_mut(id) else { return Ok(()) };
        match error {
            TunError::Gone => return Err(error).context("the bond cannot go on"),
            TunError::Down if !device.down_said => {
                device.down_said = true;
                tracing::warn!(device = device.tun.name(), "{error}");
            }
            _ => {}
        }
        self.counters.device_refused += 1;
        Ok(())
    }
}

/// Whether the first packet of a read leaves by itself: `quiet` since the one before it, `answers` that were to be expected.
fn goes_alone(bytes: usize, quiet: Duration, answers: u32) -> bool {
    bytes < ALONE && quiet > QUIET && answers < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_packet_leaves_at_once_and_one_of_several_answers_waits_for_the_others() {
        let ms = Duration::from_millis(1);
        assert!(goes_alone(52, ms, 0) && goes_alone(52, ms, 1));
        assert!(
            !goes_alone(52, ms, 2),
            "an aggregate of datagrams was delivered: its acknowledgements travel together"
        );
        assert!(!goes_alone(52, QUIET, 0) && !goes_alone(ALONE, ms, 0));
    }
}
