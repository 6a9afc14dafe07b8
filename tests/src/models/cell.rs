//! A network of the medium alone: radios, and UDP-like flows that keep their queues full or come at a rate. No IP, no TCP: the
//! figures are those of the MAC.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::{Band, Channel, GuardInterval, Rate, Standard, Width};
use ropewalk_air::wifi::{
    AccessCategory, Air, AirSpec, ApSpec, IfaceId, IfaceSpec, Mac, Mode, Output, Packet, PathLoss, RadioId,
    RadioSpec, RateControlSpec, StationSpec, StationStart, Status,
};

/// A packet's length.
pub const PACKET_BYTES: u32 = 1500;
/// Packets that a saturating flow keeps in its queue: enough for the largest aggregate three times over.
const BACKLOG: u32 = 200;
/// The loss between any two radios unless told otherwise, dB: no rate has an error.
pub const NEAR_DB: f64 = 50.0;
/// The loss between radios that do not hear one another, dB.
pub const DEAF_DB: f64 = 200.0;

/// A flow.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The sending interface.
    pub from: IfaceId,
    /// The receiving one.
    pub to: IfaceId,
    /// Access category.
    pub ac: AccessCategory,
    /// Mb/s of IP packets; none: always something to send.
    pub mbps: Option<f64>,
}

/// What a flow got.
#[derive(Debug, Clone, Copy, Default)]
pub struct Got {
    /// Mb/s of IP packets.
    pub mbps: f64,
    /// Packets per second given up at the retry limit.
    pub failed_per_s: f64,
    /// Completions divided by the attempts they took, delivered packets only.
    pub attempts: f64,
}

/// A network to be.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its specification, to be changed at will.
    pub spec: AirSpec,
    /// Its flows.
    pub flows: Vec<Flow>,
}

/// A channel of 5 GHz, or of 2.4 GHz for 11g.
pub fn channel(standard: Standard, width: Width) -> Channel {
    let (band, primary) = if standard == Standard::G { (Band::Ghz2_4, 1) } else { (Band::Ghz5, 36) };
    Channel::new(band, primary, width, None).expect("channel 1 or 36 has every width asked for here")
}

/// A rate of 11a or 11g.
pub fn legacy(mbps: u64) -> Rate {
    Rate::legacy(mbps * 1_000_000).expect("a rate of 802.11a")
}

/// A rate of 11n.
pub fn ht(mcs: u8, streams: u8, width: Width, gi: GuardInterval) -> Rate {
    Rate::ht(mcs, streams, width, gi).expect("a rate of 802.11n")
}

/// A rate of 11ac.
pub fn vht(mcs: u8, streams: u8, width: Width, gi: GuardInterval) -> Rate {
    Rate::vht(mcs, streams, width, gi).expect("a rate of 802.11ac")
}

impl Cell {
    /// An access point, interface 0, and `stations`, all near one another, none sending anything yet.
    pub fn new(standard: Standard, rate: Rate, stations: u16) -> Cell {
        let mut cell = Cell { spec: AirSpec::default(), flows: Vec::new() };
        cell.spec.path_loss = PathLoss { exponent: 0.0, reference_db: NEAR_DB, ..PathLoss::default() };
        cell.add_cell("cell", standard, rate, stations);
        cell
    }

    /// Adds an access point and its stations; returns the access point.
    pub fn add_cell(&mut self, ssid: &str, standard: Standard, rate: Rate, stations: u16) -> IfaceId {
        let mut radio = RadioSpec::new(standard, channel(standard, rate.width()));
        radio.rate_control = RateControlSpec::Fixed(rate);
        radio.streams = rate.streams().max(1);
        radio.short_guard_interval = rate.guard_interval() == GuardInterval::Short;
        // Theory knows no packets that grow too old; a saturated queue of a slow station would lose many.
        radio.queue.lifetime = Duration::from_secs(3600);
        let first = self.spec.ifaces.len() as u16;
        let bssid = Mac::local(u32::from(first) + 1);
        for index in first..=first + stations {
            let mode = if index == first {
                Mode::AccessPoint(ApSpec {
                    ssid: String::from(ssid),
                    beacon_interval_tu: 0,
                    ..ApSpec::default()
                })
            } else {
                let start = StationStart::Associated(bssid);
                Mode::Station(StationSpec { ssid: String::from(ssid), start, ..StationSpec::default() })
            };
            self.spec.radios.push(radio.clone());
            self.spec.ifaces.push(IfaceSpec {
                radio: RadioId(index),
                mac: Mac::local(u32::from(index) + 1),
                mode,
            });
        }
        IfaceId(first)
    }

    /// Changes every radio.
    pub fn each_radio(mut self, change: impl Fn(&mut RadioSpec)) -> Cell {
        self.spec.radios.iter_mut().for_each(change);
        self
    }

    /// Sets the loss between two radios, dB.
    pub fn loss(mut self, a: u16, b: u16, db: f64) -> Cell {
        self.spec.path_loss_overrides.push((RadioId(a), RadioId(b), db));
        self
    }

    /// Adds a saturating flow of best effort.
    pub fn flow(mut self, from: u16, to: u16) -> Cell {
        self.flows.push(Flow {
            from: IfaceId(from),
            to: IfaceId(to),
            ac: AccessCategory::BestEffort,
            mbps: None,
        });
        self
    }

    /// Every station saturates its way to the first access point.
    pub fn uplink(self) -> Cell {
        (1..self.spec.ifaces.len() as u16).fold(self, |cell, station| cell.flow(station, 0))
    }

    /// Runs, and counts from `warm` on for `measured`; several seeds are one after the other, and their means are given.
    pub fn run(&self, seeds: u64, warm: Duration, measured: Duration) -> Vec<Got> {
        let mut sum = vec![Got::default(); self.flows.len()];
        for seed in 1..=seeds {
            for (sum, got) in sum.iter_mut().zip(Run::new(self, seed).measure(warm, measured)) {
                sum.mbps += got.mbps / seeds as f64;
                sum.failed_per_s += got.failed_per_s / seeds as f64;
                sum.attempts += got.attempts / seeds as f64;
            }
        }
        sum
    }

    /// The sum of what the flows got, Mb/s, after a second to warm up.
    pub fn total_mbps(&self, seeds: u64, seconds: u64) -> f64 {
        self.run(seeds, Duration::from_secs(1), Duration::from_secs(seconds)).iter().map(|got| got.mbps).sum()
    }
}

/// A run under way.
struct Run<'a> {
    cell: &'a Cell,
    air: Air<()>,
    /// Arrivals to come of flows with a rate.
    arrivals: BinaryHeap<Reverse<(Time, usize)>>,
    counts: Vec<Count>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    received: u64,
    failed: u64,
    attempts: u64,
    delivered: u64,
}

impl<'a> Run<'a> {
    fn new(cell: &'a Cell, seed: u64) -> Run<'a> {
        let air = Air::new(cell.spec.clone(), seed).expect("the specification of a check is possible");
        let mut run =
            Run { cell, air, arrivals: BinaryHeap::new(), counts: vec![Count::default(); cell.flows.len()] };
        for (index, flow) in cell.flows.iter().enumerate() {
            match flow.mbps {
                // Starts apart, lest all arrive at the same instant for ever.
                Some(_) => run.arrivals.push(Reverse((Time::from_micros(1_000 + 137 * index as u64), index))),
                None => (0..BACKLOG).for_each(|_| run.send(Time::ZERO, index)),
            }
        }
        run
    }

    fn send(&mut self, now: Time, index: usize) {
        let flow = self.cell.flows[index];
        let to = self.cell.spec.ifaces[usize::from(flow.to.0)].mac;
        let packet = Packet {
            len_bytes: PACKET_BYTES,
            ac: flow.ac,
            token: index as u64,
            ecn_capable: false,
            flow: index as u64,
            payload: (),
        };
        self.air.send(now, flow.from, to, packet).expect("a station can send to its access point, and back");
    }

    fn measure(mut self, warm: Duration, measured: Duration) -> Vec<Got> {
        let begin = Time::ZERO + warm;
        self.run_until(begin);
        let before = self.counts.clone();
        self.run_until(begin + measured);
        let seconds = measured.as_secs_f64();
        let got = |(after, before): (&Count, &Count)| Got {
            mbps: (after.received - before.received) as f64 * f64::from(PACKET_BYTES) * 8.0 / seconds / 1e6,
            failed_per_s: (after.failed - before.failed) as f64 / seconds,
            attempts: (after.attempts - before.attempts) as f64
                / (after.delivered - before.delivered).max(1) as f64,
        };
        self.counts.iter().zip(&before).map(got).collect()
    }

    fn run_until(&mut self, end: Time) {
        let mut now = Time::ZERO;
        loop {
            while let Some(output) = self.air.poll(now) {
                self.handle(now, output);
            }
            let arrival = self.arrivals.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
            now = self.air.next_timeout().map_or(arrival, |at| at.min(arrival));
            if now > end {
                return;
            }
            if now == arrival {
                self.arrive(now);
            }
        }
    }

    fn arrive(&mut self, now: Time) {
        let Some(Reverse((_, index))) = self.arrivals.pop() else { return };
        let mbps = self.cell.flows[index].mbps.expect("only flows with a rate arrive");
        let gap = Duration::from_nanos((f64::from(PACKET_BYTES) * 8e3 / mbps) as u64);
        self.arrivals.push(Reverse((now + gap, index)));
        self.send(now, index);
    }

    fn handle(&mut self, now: Time, output: Output<()>) {
        match output {
            Output::Completion(done) => {
                let index = done.token as usize;
                let count = &mut self.counts[index];
                if done.status == Status::Failed {
                    count.failed += 1;
                }
                if done.status == Status::Delivered {
                    count.delivered += 1;
                    count.received += 1;
                    count.attempts += u64::from(done.attempts);
                }
                if self.cell.flows[index].mbps.is_none() {
                    self.send(now, index);
                }
            }
            Output::Received(_) | Output::Captured(_) | Output::Event(_) => {}
        }
    }
}
