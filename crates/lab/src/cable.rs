//! Cables: what they are like, and how to change them while packets are on them.

use std::sync::Arc;
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_air::wired::{Counters, Jitter, LinkSpec, Loss, Rate};

use crate::emulator::{Emulator, FrameLink, State, Wire};
use crate::frame::Damage;
use crate::{LabError, Result};

/// An end of a cable: an interface in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The interface's name, at most 15 bytes.
    pub interface: String,
    /// Its addresses with their prefix length, IPv4 and IPv6 alike: `10.1.1.1/24`.
    pub addresses: Vec<String>,
}

impl End {
    /// An interface with these addresses.
    pub fn new<I: IntoIterator<Item: Into<String>>>(interface: &str, addresses: I) -> End {
        End { interface: interface.to_owned(), addresses: addresses.into_iter().map(Into::into).collect() }
    }
}

/// What a cable is like.
#[derive(Debug, Clone, PartialEq)]
pub struct CableSpec {
    /// From the first end to the second.
    pub forward: LinkSpec,
    /// From the second end to the first.
    pub backward: LinkSpec,
    /// Longest IP packet that the interfaces take, in bytes; 1500 by default.
    pub mtu: u32,
    /// Packets that an interface holds for the emulator to read; only so many may come while it is busy. The queue that
    /// shapes is the link's.
    pub txqueuelen: u32,
    /// What damage looks like where a link damages packets.
    pub damage: Damage,
    /// Seeds both directions, differently.
    pub seed: u64,
}

impl CableSpec {
    /// A cable that is the same in both directions.
    pub fn symmetric(link: LinkSpec) -> CableSpec {
        CableSpec {
            forward: link.clone(),
            backward: link,
            mtu: 1500,
            txqueuelen: 4000,
            damage: Damage::default(),
            seed: 1,
        }
    }

    /// The same with another seed.
    pub fn seed(self, seed: u64) -> CableSpec {
        CableSpec { seed, ..self }
    }

    /// The same with another MTU.
    pub fn mtu(self, mtu: u32) -> CableSpec {
        CableSpec { mtu, ..self }
    }
}

/// Which directions of a cable an order is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
    /// Both.
    Both,
}

impl Direction {
    fn has(self, index: usize) -> bool {
        matches!((self, index), (Direction::Both, _) | (Direction::Forward, 0) | (Direction::Backward, 1))
    }
}

/// What a cable has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CableCounters {
    /// From the first end to the second.
    pub forward: Counters,
    /// From the second end to the first.
    pub backward: Counters,
    /// Packets that arrived at an interface that was down.
    pub refused: u64,
}

/// A cable in use. Clones are handles of the same cable; it lasts as long as its topology.
#[derive(Clone)]
pub struct Cable {
    pub(crate) emulator: Arc<Emulator>,
    pub(crate) number: usize,
}

impl Cable {
    fn wire<R: Send + 'static>(&self, order: impl FnOnce(&mut Wire) -> R + Send + 'static) -> Result<R> {
        let number = self.number;
        self.emulator.ask(move |state: &mut State| order(&mut state.wires[number]))
    }

    /// Runs `order` on each link of `direction`, at the emulator's time.
    fn links<E: Send + 'static>(
        &self,
        direction: Direction,
        mut order: impl FnMut(&mut FrameLink, Time) -> Result<(), E> + Send + 'static,
    ) -> Result<()>
    where
        LabError: From<E>,
    {
        let number = self.number;
        let done = self.emulator.ask(move |state: &mut State| {
            let now = state.now();
            let links = state.wires[number].links.iter_mut().enumerate();
            links.filter(|(index, _)| direction.has(*index)).try_for_each(|(_, link)| order(link, now))
        })?;
        Ok(done?)
    }

    /// Switches the cable, as when somebody pulls it out beyond the modem: nobody is told, packets vanish, those on the
    /// way included.
    pub fn set_up(&self, up: bool) -> Result<()> {
        self.set_direction_up(Direction::Both, up)
    }

    /// Switches one direction.
    pub fn set_direction_up(&self, direction: Direction, up: bool) -> Result<()> {
        self.links(direction, move |link, now| {
            link.set_up(now, up);
            Ok::<_, LabError>(())
        })
    }

    /// Changes the rate.
    pub fn set_rate(&self, direction: Direction, rate: Rate) -> Result<()> {
        self.links(direction, move |link, now| link.set_rate(now, rate.clone()))
    }

    /// Changes the delay and the deviation of its jitter.
    pub fn set_delay(&self, direction: Direction, delay: Duration, std_dev: Duration) -> Result<()> {
        self.links(direction, move |link, now| {
            link.set_delay(now, delay, Jitter { std_dev, ..link.spec().jitter });
            Ok::<_, LabError>(())
        })
    }

    /// Changes the loss.
    pub fn set_loss(&self, direction: Direction, loss: Loss) -> Result<()> {
        self.links(direction, move |link, now| link.set_loss(now, loss))
    }

    /// Changes the share of packets that arrive damaged, 0 to 1.
    pub fn set_corruption(&self, direction: Direction, share: f64) -> Result<()> {
        self.links(direction, move |link, now| {
            let duplication = link.spec().duplication;
            link.set_damage(now, share, duplication)
        })
    }

    /// Changes the share of packets that arrive twice, 0 to 1.
    pub fn set_duplication(&self, direction: Direction, share: f64) -> Result<()> {
        self.links(direction, move |link, now| {
            let corruption = link.spec().corruption;
            link.set_damage(now, corruption, share)
        })
    }

    /// Changes the length in bytes beyond which packets vanish.
    pub fn set_mtu_blackhole(&self, direction: Direction, mtu: Option<u32>) -> Result<()> {
        self.links(direction, move |link, now| {
            link.set_mtu_blackhole(now, mtu);
            Ok::<_, LabError>(())
        })
    }

    /// Changes what damage looks like.
    pub fn set_damage(&self, damage: Damage) -> Result<()> {
        self.wire(move |wire| wire.damage = damage)
    }

    /// What both directions have carried so far.
    pub fn counters(&self) -> Result<CableCounters> {
        self.wire(|wire| CableCounters {
            forward: wire.links[0].counters(),
            backward: wire.links[1].counters(),
            refused: wire.refused,
        })
    }
}
