//! The thread that is the cables of a topology.
//!
//! One thread owns every device and every link. It waits until a device can be read or the next packet is due, then
//! ```text
//! reads every ready device ──▶ stamps and enqueues ──▶ delivers all that is due ──▶ carries out orders ──▶ waits
//! ```
//! Links keep logical time, so a late wake-up delays what is due now and nothing after it. Orders from outside are
//! closures, run by the thread between two rounds; nothing is shared, nothing is locked.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_air::wired::Link;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::frame::{self, Damage, Frame};
use crate::lateness::Lateness;
use crate::{LabError, Result};

/// Packets read from one device before the next has its turn: a batch of these takes less than 100 µs.
const READ_BATCH: usize = 64;
/// Buffers kept for the next packets; more are given back to the allocator.
const SPARE_BUFFERS: usize = 4096;
/// The priority under `SCHED_FIFO`: any is above all ordinary threads.
const PRIORITY: libc::c_int = 1;
/// The mark of the eventfd among the events.
const ORDERS: u64 = u64::MAX;

/// How the emulator keeps time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Run above all ordinary threads (`SCHED_FIFO`), so that the load under test cannot delay the wire it is sent over.
    /// True by default; without the right to it the emulator goes on as it is.
    pub real_time: bool,
    /// Wake so long before a packet is due and spin for the rest. Zero by default: on two cores that are shared with
    /// the load, spinning takes more than it gives; 80 µs where a core is free.
    pub spin: Duration,
    /// At most one round of work in so long: packets that are due, or come, closer together than this are handled together.
    /// It saves most of the wake-ups of a fast link, and moves a packet by at most this; packets further apart are not
    /// moved. 100 µs by default.
    pub rest: Duration,
    /// The lateness that 99 % of the packets may not exceed for a run to count; 1 ms by default.
    pub bound: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            real_time: true,
            spin: Duration::ZERO,
            rest: Duration::from_micros(100),
            bound: Duration::from_millis(1),
        }
    }
}

/// Both directions of a cable as the thread owns them. Direction 0 leads from end 0 to end 1.
pub(crate) struct Wire {
    pub(crate) ends: [File; 2],
    pub(crate) links: [Link<Frame>; 2],
    pub(crate) damage: Damage,
    /// Longest packet that its devices carry.
    pub(crate) mtu: usize,
    /// Packets that the kernel did not take: an interface that is down.
    pub(crate) refused: u64,
}

/// Everything the thread owns.
pub(crate) struct State {
    pub(crate) wires: Vec<Wire>,
    pub(crate) lateness: Lateness,
    epoll: OwnedFd,
    start: Instant,
    spare: Vec<Box<[u8]>>,
    chance: ChaCha8Rng,
    stop: bool,
}

/// A link of the lab.
pub(crate) type FrameLink = Link<Frame>;

type Order = Box<dyn FnOnce(&mut State) + Send>;

/// A handle of the thread; the thread ends with it.
pub(crate) struct Emulator {
    orders: Mutex<Sender<Order>>,
    bell: Arc<OwnedFd>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Emulator {
    pub(crate) fn start(name: &str, timing: Timing, seed: u64) -> Result<Emulator> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(LabError::kernel("make an eventfd"))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LabError::kernel("make an epoll"))?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(ORDERS), epoll::EventFlags::IN)
            .map_err(LabError::kernel("watch an eventfd"))?;
        let (sender, receiver) = channel();
        let bell = Arc::new(bell);
        let heard = Arc::clone(&bell);
        let state = State {
            wires: Vec::new(),
            lateness: Lateness::default(),
            epoll,
            start: Instant::now(),
            spare: Vec::new(),
            chance: ChaCha8Rng::seed_from_u64(seed),
            stop: false,
        };
        let thread = std::thread::Builder::new()
            .name(format!("{name}-air"))
            .spawn(move || {
                keep_time(timing);
                state.work(&receiver, &heard, timing);
            })
            .map_err(LabError::kernel("start the emulator's thread"))?;
        Ok(Emulator { orders: Mutex::new(sender), bell, thread: Mutex::new(Some(thread)) })
    }

    /// Has the thread run `order`, and waits for what it gives.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        order: impl FnOnce(&mut State) -> R + Send + 'static,
    ) -> Result<R> {
        let (sender, receiver) = channel();
        let order: Order = Box::new(move |state| drop(sender.send(order(state))));
        let orders = self.orders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        orders.send(order).map_err(|_| LabError::EmulatorGone)?;
        drop(orders);
        rustix::io::write(&*self.bell, &1u64.to_ne_bytes()).map_err(LabError::kernel("ring the emulator"))?;
        receiver.recv().map_err(|_| LabError::EmulatorGone)
    }
}

impl Emulator {
    /// Ends the thread, and with it the devices. Later orders fail.
    pub(crate) fn stop(&self) {
        let _ = self.ask(|state| state.stop = true);
        let thread = self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes the calling thread wake on time: timers without slack, and a class above the load.
fn keep_time(timing: Timing) {
    if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
        tracing::warn!("cannot set the timer slack, packets will be up to 50 µs later: {error}");
    }
    if timing.real_time {
        let priority = libc::sched_param { sched_priority: PRIORITY };
        // SAFETY: the call reads `priority`, which lives through it; thread 0 is the calling one.
        if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } != 0 {
            let error = std::io::Error::last_os_error();
            tracing::warn!("cannot run the emulator in real time, packets may be late under load: {error}");
        }
    }
}

impl State {
    /// The time of the models.
    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// Adds a cable; gives its number.
    pub(crate) fn add(&mut self, wire: Wire) -> std::io::Result<usize> {
        let number = self.wires.len();
        for (end, file) in wire.ends.iter().enumerate() {
            let mark = epoll::EventData::new_u64((number * 2 + end) as u64);
            epoll::add(&self.epoll, file, mark, epoll::EventFlags::IN)?;
        }
        self.wires.push(wire);
        Ok(number)
    }

    fn work(mut self, orders: &Receiver<Order>, bell: &OwnedFd, timing: Timing) {
        let mut events = Vec::with_capacity(64);
        let mut written = Vec::with_capacity(64);
        let mut round = Instant::now();
        while !self.stop {
            let rested = round.elapsed();
            if rested < timing.rest {
                std::thread::sleep(timing.rest - rested);
            }
            self.wait(&mut events, timing.spin);
            round = Instant::now();
            let mut rung = false;
            for event in &events {
                match event.data.u64() {
                    ORDERS => rung = true,
                    mark => self.read((mark / 2) as usize, (mark % 2) as usize),
                }
            }
            self.deliver(&mut written);
            // The kernel answers acknowledgements and echoes while it takes a packet: read them before the rest.
            for mark in written.drain(..) {
                self.read(mark / 2, mark % 2);
            }
            if rung {
                // Cleared before the orders are taken, so that one that comes meanwhile rings again.
                let _ = rustix::io::read(bell, &mut [0u8; 8]);
                orders.try_iter().for_each(|order| order(&mut self));
            }
        }
    }

    /// Waits for something to read, until the next packet is due.
    fn wait(&self, events: &mut Vec<epoll::Event>, spin: Duration) {
        let due = self.wires.iter().flat_map(|w| &w.links).filter_map(Link::next_timeout).min();
        let left = due.map(|due| due - self.now());
        let sleep = left.map(|left| left.saturating_sub(spin));
        let timeout = sleep.map(|sleep| Timespec {
            tv_sec: i64::try_from(sleep.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(sleep.subsec_nanos()),
        });
        events.clear();
        // Interrupted or not, the next round looks at everything anew.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref());
        if let Some(due) = due.filter(|_| events.is_empty() && !spin.is_zero()) {
            while self.now() < due {
                std::hint::spin_loop();
            }
        }
    }

    /// Reads what waits at one end of a cable into the link that leads away from it.
    fn read(&mut self, wire: usize, end: usize) {
        for _ in 0..READ_BATCH {
            let wire = &mut self.wires[wire];
            let mut buffer = match self.spare.pop() {
                Some(buffer) if buffer.len() >= wire.mtu => buffer,
                _ => vec![0; wire.mtu.max(1500)].into_boxed_slice(),
            };
            let got = (&wire.ends[end]).read(&mut buffer);
            match got {
                Ok(len) if len > 0 => {
                    let now = Time::ZERO + self.start.elapsed();
                    wire.links[end].enqueue(now, frame::packet(Frame { buffer, len }));
                }
                // Nothing left, or the interface is down; either way there is no packet.
                _ => {
                    self.spare.push(buffer);
                    return;
                }
            }
        }
    }

    /// Writes every packet that is due at the other end of its cable. Ends that something was written to are noted as
    /// twice the cable's number plus the end's.
    fn deliver(&mut self, written: &mut Vec<usize>) {
        for (number, wire) in self.wires.iter_mut().enumerate() {
            for direction in 0..2 {
                let (delivered, end) = (self.lateness.count(), 1 - direction);
                while let Some(mut delivery) = wire.links[direction].poll(Time::ZERO + self.start.elapsed()) {
                    if delivery.marked {
                        frame::mark(delivery.payload.bytes_mut());
                    }
                    if delivery.corrupted {
                        frame::harm(delivery.payload.bytes_mut(), wire.damage, &mut self.chance);
                    }
                    for _ in 0..delivery.copies {
                        if (&wire.ends[end]).write(delivery.payload.bytes()).is_err() {
                            wire.refused += 1;
                        }
                    }
                    // Counted after the write, because that is when the packet is there.
                    self.lateness.record((Time::ZERO + self.start.elapsed()) - delivery.at);
                    if self.spare.len() < SPARE_BUFFERS {
                        self.spare.push(delivery.payload.buffer);
                    }
                }
                if self.lateness.count() > delivered {
                    written.push(number * 2 + end);
                }
            }
        }
    }
}
