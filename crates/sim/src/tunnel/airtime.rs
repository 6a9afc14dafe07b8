//! What a client's engine is told of the air under its paths: here by the model of the medium or
//! the simulated client of several access points, in a daemon by `ropewalk roam`.

use super::host::{Shared, engine_time};
use crate::roam;
use ropewalk_air::Time;
use ropewalk_bond::airtime::Air;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

/// A value is told this often; the engine forgets it after ten seconds.
const EVERY: Duration = Duration::from_millis(200);

/// Who knows the packet time of a path.
#[derive(Clone, Debug)]
pub enum AirSource {
    /// The model of the medium.
    Given(Duration),
    /// The client measures it, as the station with this address.
    Measured(roam::Shared, Ipv4Addr),
}

#[derive(Debug)]
struct Told {
    /// Position among the bond's paths, and the engine's number of it.
    position: usize,
    path: Option<u8>,
    channel: u8,
    source: AirSource,
    /// A path that rests carries too little to be measured.
    last: Option<Duration>,
}

impl Told {
    fn packet_time(&mut self, now: Time) -> Option<Duration> {
        match &self.source {
            AirSource::Given(time) => self.last = Some(*time),
            AirSource::Measured(client, address) => {
                let client = client.borrow();
                let is_joined = client.links().any(|link| link.1 == *address);
                self.last = client.packet_time(*address, now).or(self.last).filter(|_| is_joined);
            }
        }
        self.last
    }
}

/// A feed that a client and whoever builds it share.
pub type SharedFeed = Rc<RefCell<AirFeed>>;

/// What the engine of one client is told, path by path.
#[derive(Debug, Default)]
pub struct AirFeed {
    told: Vec<Told>,
    next: Option<Time>,
}

impl AirFeed {
    /// The path at `position` among the bond's paths lies on `channel`.
    pub fn add(&mut self, position: usize, channel: u8, source: AirSource) {
        self.told.push(Told { position, path: None, channel, source, last: None });
    }

    /// The engine calls a path by this number.
    pub(super) fn start(&mut self, position: usize, path: u8, now: Time) {
        for told in self.told.iter_mut().filter(|t| t.position == position) {
            told.path = Some(path);
            self.next = Some(now);
        }
    }

    /// When there is something to tell; never where nothing was added.
    pub(super) fn due(&self) -> Option<Time> {
        self.next
    }

    pub(super) fn tell(&mut self, engine: &Shared, now: Time) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + EVERY);
        for told in &mut self.told {
            let Some(path) = told.path else { continue };
            let air = told.packet_time(now).map(|packet_time| Air { packet_time, channel: told.channel });
            engine.borrow_mut().set_airtime(path, air, engine_time(now));
        }
    }
}
