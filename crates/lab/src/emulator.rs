//! The thread that is the cables of a topology.
//!
//! One thread ([`crate::realtime`]) owns every device and every link.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ropewalk_air::Time;
use ropewalk_air::wired::Link;

use crate::Result;
use crate::frame::{self, Damage, Frame};
use crate::lateness::Lateness;
use crate::realtime::{Driven, Keeper, Reactor};

/// Packets read from one device before the next has its turn: a batch of these takes less than 100 µs.
const READ_BATCH: usize = 64;
/// Buffers kept for the next packets; more are given back to the allocator.
const SPARE_BUFFERS: usize = 4096;
/// How the emulator keeps time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Run above all ordinary threads (`SCHED_FIFO`), so that the load under test cannot delay the wire it is sent over.
    /// True by default; without the right to it the emulator goes on as it is.
    pub real_time: bool,
    /// Wake at most so long before a packet is due and spin for the rest; how long it takes in fact is learned from how late the thread is woken, and
    /// no more than a quarter of the time is spun away. Zero by default: the load under test needs the processor more.
    pub spin: Duration,
    /// At most one round of work in so long: packets that come closer together than this are handled together. It saves most of the wake-ups of a fast
    /// link. 100 µs by default.
    pub rest: Duration,
    /// Whether a rest ends when a packet is due. False by default: it is then moved by at most the rest. Packets further apart are never moved.
    pub punctual: bool,
    /// The lateness that 99 % of the packets may not exceed for a run to count; 1 ms by default.
    pub bound: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            real_time: true,
            spin: Duration::ZERO,
            rest: Duration::from_micros(100),
            punctual: false,
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
    reactor: Arc<Reactor>,
    spare: Vec<Box<[u8]>>,
    chance: ChaCha8Rng,
}

/// A link of the lab.
pub(crate) type FrameLink = Link<Frame>;

/// A handle of the thread of a topology's cables.
pub(crate) type Emulator = Keeper<State>;

impl Keeper<State> {
    /// Starts the thread, with no cable yet.
    pub(crate) fn of_cables(name: &str, timing: Timing, seed: u64) -> Result<Emulator> {
        Keeper::start(name, timing, |reactor| {
            Ok(State {
                wires: Vec::new(),
                lateness: Lateness::default(),
                reactor: Arc::clone(reactor),
                spare: Vec::new(),
                chance: ChaCha8Rng::seed_from_u64(seed),
            })
        })
    }
}

impl Driven for State {
    fn next_due(&self) -> Option<Time> {
        self.wires.iter().flat_map(|w| &w.links).filter_map(Link::next_timeout).min()
    }

    fn read(&mut self, mark: u64) {
        self.read_end((mark / 2) as usize, (mark % 2) as usize);
    }

    fn run(&mut self, written: &mut Vec<u64>) {
        self.deliver(written);
    }
}

impl State {
    /// The time of the models.
    pub(crate) fn now(&self) -> Time {
        self.reactor.now()
    }

    /// Adds a cable; gives its number.
    pub(crate) fn add(&mut self, wire: Wire) -> std::io::Result<usize> {
        let number = self.wires.len();
        for (end, file) in wire.ends.iter().enumerate() {
            self.reactor.watch(file, (number * 2 + end) as u64)?;
        }
        self.wires.push(wire);
        Ok(number)
    }

    /// Reads what waits at one end of a cable into the link that leads away from it.
    fn read_end(&mut self, wire: usize, end: usize) {
        for _ in 0..READ_BATCH {
            let wire = &mut self.wires[wire];
            let mut buffer = match self.spare.pop() {
                Some(buffer) if buffer.len() >= wire.mtu => buffer,
                _ => vec![0; wire.mtu.max(1500)].into_boxed_slice(),
            };
            let got = (&wire.ends[end]).read(&mut buffer);
            match got {
                Ok(len) if len > 0 => {
                    let now = self.reactor.now();
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
    fn deliver(&mut self, written: &mut Vec<u64>) {
        for (number, wire) in self.wires.iter_mut().enumerate() {
            for direction in 0..2 {
                let (delivered, end) = (self.lateness.count(), 1 - direction);
                while let Some(mut delivery) = wire.links[direction].poll(self.reactor.now()) {
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
                    self.lateness.record(self.reactor.now() - delivery.at);
                    if self.spare.len() < SPARE_BUFFERS {
                        self.spare.push(delivery.payload.buffer);
                    }
                }
                if self.lateness.count() > delivered {
                    written.push((number * 2 + end) as u64);
                }
            }
        }
    }
}
