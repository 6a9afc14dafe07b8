//! The medium's real-time thread: takes frames of the kernel's radios, delivers them, and reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::{Band, Channel, Rate, Standard, Width, legacy_rates};
use ropewalk_air::wifi::rate::{RateChain, Stage};
use ropewalk_air::wifi::{AirSpec, Command, FrameMedium, FrameOutput, FrameToSend, Mac, RadioId, RadioStats};
use ropewalk_net::hwsim::{Delivery, Hwsim, SentFrame, TxRate, TxStatus};
use ropewalk_scenario::report::{RadioRow, StationRow};
use ropewalk_sim::BuildError;
use ropewalk_sim::build::{Action, Agenda};
use ropewalk_sim::measure::{StationCounts, rows};
use ropewalk_sim::net::Heard;
use ropewalk_sim::walk::Walks;

use super::RateRow;
use crate::lateness::Lateness;
use crate::live::Summary;
use crate::live::plan::Plan;
use crate::realtime::{Driven, Reactor};
use crate::rounds::Rounds;
use crate::{LabError, Result};

/// Frames read before what is due has its turn: less than a millisecond of work.
const READ_FRAMES: usize = 64;
/// Signal that is reported for a frame without acknowledgement, dBm.
const NO_SIGNAL: i8 = -100;

/// Names in reports.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// `node:radio`, by radio.
    radios: Vec<String>,
    /// `node:interface`, by radio, and its address.
    interfaces: Vec<(String, Mac)>,
}

impl Names {
    pub(super) fn of(plan: &Plan, air: &AirSpec) -> Names {
        let interface = |radio: usize| {
            let iface = air.ifaces.iter().position(|i| usize::from(i.radio.0) == radio);
            let port = iface.and_then(|i| Some((plan.ports.get(*plan.on_air.get(i)?)?, air.ifaces[i].mac)));
            port.map_or((String::new(), Mac::BROADCAST), |(port, mac)| (port.name.clone(), mac))
        };
        Names { radios: plan.radios.clone(), interfaces: (0..air.radios.len()).map(interface).collect() }
    }

    fn radio_of(&self, mac: Mac) -> Option<usize> {
        self.interfaces.iter().position(|(_, own)| *own == mac)
    }
}

/// A radio as its driver knows it.
#[derive(Debug)]
struct Radio {
    /// By what the kernel knows it.
    address: [u8; 6],
    /// Where the scenario has it.
    home: Channel,
}

/// A frame until its result is reported.
#[derive(Debug)]
struct Pending {
    radio: u16,
    cookie: u64,
    no_ack: bool,
    rates: [TxRate; 4],
    frequency_mhz: u32,
    /// Power at its receiver, which is the acknowledgement's here.
    signal_dbm: Option<i8>,
}

/// Counters at one time.
#[derive(Clone, Debug, Default)]
struct Counts {
    at: Time,
    radios: Vec<RadioStats>,
    stations: Vec<Vec<StationCounts>>,
    rates: BTreeMap<(u16, u16, Rate), [u64; 2]>,
}

/// The report's tables of the air.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) stations: Vec<StationRow>,
    pub(super) radios: Vec<RadioRow>,
    pub(super) rates: Vec<RateRow>,
}

/// Everything the thread owns.
pub(super) struct MediumThread {
    reactor: Arc<Reactor>,
    hwsim: Hwsim,
    medium: FrameMedium,
    radios: Vec<Radio>,
    names: Names,
    agenda: Agenda,
    walks: Walks,
    /// When the run began, and when it begins to count.
    zero: Option<(Time, Time)>,
    /// Counters of then.
    base: Option<Counts>,
    pending: BTreeMap<u64, Pending>,
    count: u64,
    heard: BTreeMap<(u16, u16), Heard>,
    /// Tries and acknowledgements by sender, receiver and rate.
    rates: BTreeMap<(u16, u16, Rate), [u64; 2]>,
    lateness: Lateness,
    rounds: Rounds,
    measured_since: Time,
    fault: Option<String>,
}

impl Driven for MediumThread {
    fn next_due(&self) -> Option<Time> {
        let planned = [self.agenda.next(), self.walks.next()].into_iter().flatten().min();
        let planned = planned.zip(self.zero).map(|(at, (zero, _))| zero + (at - Time::ZERO));
        let counts = self.zero.filter(|_| self.base.is_none()).map(|(_, warm)| warm);
        [self.medium.next_timeout(), planned, counts].into_iter().flatten().min()
    }

    fn read(&mut self, _: u64) {
        for _ in 0..READ_FRAMES {
            match self.hwsim.take_frame() {
                Ok(Some(frame)) => self.send(frame),
                Ok(None) => return,
                Err(e) => return self.fail(&format!("the kernel's radios cannot be read: {e}")),
            }
        }
    }

    fn run(&mut self, _: &mut Vec<u64>) {
        self.act();
        while let Some(output) = self.medium.poll(self.reactor.now()) {
            match output {
                FrameOutput::Arrived { at, radio, token, bytes, signal_dbm, rate, .. } => {
                    self.on_arrived((at, radio, token), &bytes, signal_dbm, rate);
                }
                FrameOutput::Done { radio, token, acknowledged, tries, series, to, .. } => {
                    self.on_done((radio, to), token, acknowledged, (&series, tries));
                }
            }
        }
    }

    fn rounds(&mut self) -> Option<&mut Rounds> {
        Some(&mut self.rounds)
    }
}

impl MediumThread {
    pub(super) fn new(
        reactor: &Arc<Reactor>,
        hwsim: Hwsim,
        (air, seed): (AirSpec, u64),
        (addresses, names): (Vec<[u8; 6]>, Names),
        (agenda, walks): (Agenda, Walks),
    ) -> Result<MediumThread> {
        let homes = air.radios.iter().map(|r| r.channel);
        let radios =
            addresses.into_iter().zip(homes).map(|(address, home)| Radio { address, home }).collect();
        let refused = |e| LabError::Build(BuildError::new("medium", e));
        let medium = FrameMedium::new(air, seed).map_err(refused)?;
        reactor.watch(&hwsim, 0).map_err(LabError::kernel("watch the socket of simulated radios"))?;
        Ok(MediumThread {
            reactor: Arc::clone(reactor),
            hwsim,
            medium,
            radios,
            names,
            agenda,
            walks,
            zero: None,
            base: None,
            pending: BTreeMap::new(),
            count: 0,
            heard: BTreeMap::new(),
            rates: BTreeMap::new(),
            lateness: Lateness::default(),
            rounds: Rounds::default(),
            measured_since: Time::ZERO,
            fault: None,
        })
    }

    /// The scenario's time zero is `begin`; figures count from `warmup` later.
    pub(super) fn begin(&mut self, begin: Instant, warmup: Duration) {
        let zero = Time::ZERO + begin.saturating_duration_since(self.reactor.start());
        self.zero = Some((zero, zero + warmup));
    }

    /// What the scenario lets happen on the air.
    fn act(&mut self) {
        let Some((zero, warm)) = self.zero else { return };
        let real = self.reactor.now();
        if self.base.is_none() && real >= warm {
            self.base = Some(self.counts(real));
            (self.lateness, self.rounds) = (Lateness::default(), Rounds::default());
            self.measured_since = real;
        }
        let now = Time::ZERO + (real - zero);
        if self.walks.next().is_some_and(|at| at <= now) {
            for step in self.walks.due(now) {
                let _ = self.medium.command(real, step);
            }
        }
        while let Some(action) = self.agenda.take(now) {
            // Cables are the lab's.
            if let Action::Air(command) = action {
                let _ = self.medium.command(real, *command);
            }
        }
    }

    /// Puts a frame of the kernel's on the air.
    fn send(&mut self, frame: SentFrame) {
        let Some(index) = self.radios.iter().position(|r| r.address == frame.radio) else { return };
        let (radio, now) = (RadioId(index as u16), self.reactor.now());
        self.tune(now, radio, frame.frequency_mhz);
        let Some(channel) = self.medium.channel(radio) else { return };
        let series = series(&frame.rates, channel.band());
        self.count += 1;
        let pending = Pending {
            radio: radio.0,
            cookie: frame.cookie,
            no_ack: frame.no_ack,
            rates: frame.rates,
            frequency_mhz: channel.primary_mhz(),
            signal_dbm: None,
        };
        let to_send =
            FrameToSend { token: self.count, bytes: frame.bytes.into(), series, no_ack: frame.no_ack };
        match self.medium.send_frame(now, radio, to_send) {
            Ok(()) => drop(self.pending.insert(self.count, pending)),
            // Its queue is full: reported as not sent.
            Err(_) => self.report(&pending, false, [0; 4]),
        }
    }

    /// A radio that speaks on a channel is on it: scans go elsewhere now and then.
    fn tune(&mut self, now: Time, radio: RadioId, mhz: u32) {
        if self.medium.channel(radio).is_none_or(|channel| channel.primary_mhz() == mhz) {
            return;
        }
        let home = self.radios[usize::from(radio.0)].home;
        let channel = Some(home).filter(|home| home.primary_mhz() == mhz).or_else(|| channel_at(mhz));
        if let Some(channel) = channel {
            // Of another band it is refused: the scenario's radios have one.
            let _ = self.medium.command(now, Command::Tune { radio, channel });
        }
    }

    fn on_arrived(
        &mut self,
        (at, radio, token): (Time, RadioId, u64),
        bytes: &[u8],
        signal_dbm: f64,
        rate: Rate,
    ) {
        let Some(pending) = self.pending.get_mut(&token) else { return };
        let Some(to) = bytes.get(4..).and_then(|b| b.first_chunk()).map(|b| Mac(*b)) else { return };
        let index = usize::from(radio.0);
        let mine = self.names.interfaces[index].1 == to;
        // What a radio overhears is for monitors only, which nobody has here.
        if !mine && !to.is_group() {
            return;
        }
        let signal = signal_dbm.round().clamp(-128.0, 0.0) as i8;
        if mine {
            pending.signal_dbm = Some(signal);
            let heard = self.heard.entry((pending.radio, radio.0)).or_default();
            heard.received += 1;
            heard.minus_mdbm += (signal_dbm * -1000.0).round().max(0.0) as u64;
        }
        let Some(rate_index) = rates_of(rate_band(pending.frequency_mhz)).iter().position(|r| *r == rate)
        else {
            return;
        };
        let delivery = Delivery {
            radio: self.radios[index].address,
            bytes,
            rate_index: rate_index as u32,
            signal_dbm: signal,
            frequency_mhz: pending.frequency_mhz,
        };
        self.lateness.record(self.reactor.now() - at);
        if let Err(e) = self.hwsim.deliver(&delivery) {
            self.fail(&format!("a frame could not be delivered: {e}"));
        }
    }

    fn on_done(
        &mut self,
        (radio, to): (RadioId, Mac),
        token: u64,
        acknowledged: bool,
        (series, tries): (&RateChain, [u8; 4]),
    ) {
        let Some(pending) = self.pending.remove(&token) else { return };
        if let Some(receiver) = self.names.radio_of(to) {
            let key = (radio.0, receiver as u16);
            let mut last = None;
            for (stage, tries) in series.stages().iter().zip(tries).filter(|(_, tries)| *tries > 0) {
                self.rates.entry((key.0, key.1, stage.rate)).or_default()[0] += u64::from(tries);
                last = Some(stage.rate);
            }
            if let Some(rate) = last.filter(|_| acknowledged) {
                self.rates.entry((key.0, key.1, rate)).or_default()[1] += 1;
                let heard = self.heard.entry(key).or_default();
                heard.acknowledged += 1;
                heard.rate_bps += rate.bps();
            }
        }
        self.report(&pending, acknowledged, tries);
    }

    /// Reports to a kernel what became of its frame.
    fn report(&mut self, pending: &Pending, acknowledged: bool, tries: [u8; 4]) {
        let mut rates = [TxRate::NONE; 4];
        let used = pending.rates.iter().zip(tries).filter(|(_, tries)| *tries > 0);
        for (reported, (rate, tries)) in rates.iter_mut().zip(used) {
            *reported = TxRate { tries, ..*rate };
        }
        let status = TxStatus {
            radio: self.radios[usize::from(pending.radio)].address,
            cookie: pending.cookie,
            acknowledged,
            no_ack: pending.no_ack,
            rates,
            signal_dbm: pending.signal_dbm.unwrap_or(NO_SIGNAL),
        };
        if let Err(e) = self.hwsim.report(&status) {
            self.fail(&format!("the result of a frame could not be reported: {e}"));
        }
    }

    fn fail(&mut self, why: &str) {
        self.fault.get_or_insert_with(|| why.to_owned());
    }

    fn counts(&self, at: Time) -> Counts {
        let of = |index: usize| {
            let radio = RadioId(index as u16);
            let counts = move |(to, peer): (Mac, _)| {
                let heard = self.names.radio_of(to).and_then(|r| self.heard.get(&(radio.0, r as u16)));
                StationCounts { to, peer, heard: heard.copied().unwrap_or_default() }
            };
            self.medium.peer_stats(radio).map(counts).collect()
        };
        let radio = |index: usize| self.medium.radio_stats(RadioId(index as u16)).unwrap_or_default();
        Counts {
            at,
            radios: (0..self.radios.len()).map(radio).collect(),
            stations: (0..self.radios.len()).map(of).collect(),
            rates: self.rates.clone(),
        }
    }

    /// The tables of what happened since figures count.
    pub(super) fn tables(&self) -> Tables {
        let (now, base) = (self.counts(self.reactor.now()), self.base.clone().unwrap_or_default());
        let seconds = (now.at - base.at).as_secs_f64();
        let name = |radio: u16| self.names.interfaces[usize::from(radio)].0.clone();
        let mut tables = Tables { stations: Vec::new(), radios: Vec::new(), rates: Vec::new() };
        for (index, counts) in now.stations.iter().enumerate() {
            for n in counts {
                let before = base.stations.get(index).and_then(|b| b.iter().find(|b| b.to == n.to)).copied();
                let to = match n.to.is_group() {
                    true => Some("*"),
                    false => self.names.radio_of(n.to).map(|r| self.names.interfaces[r].0.as_str()),
                };
                let from = self.names.interfaces[index].0.as_str();
                tables.stations.extend(to.and_then(|to| rows::station_row([from, to], n, before, seconds)));
            }
        }
        let nothing = RadioStats::default();
        for (index, stats) in now.radios.iter().enumerate() {
            let channel = self.medium.channel(RadioId(index as u16));
            let channel =
                channel.map_or(String::new(), |c| format!("{} ({} MHz)", c.primary(), c.width().mhz()));
            let before = base.radios.get(index).unwrap_or(&nothing);
            tables.radios.push(rows::radio_row(&self.names.radios[index], channel, [before, stats], seconds));
        }
        for (key, [tries, acknowledged]) in &now.rates {
            let [b, a] = base.rates.get(key).copied().unwrap_or_default();
            let (tries, acknowledged) = (tries - b, acknowledged - a);
            if tries > 0 {
                let (from, to) = (name(key.0), name(key.1));
                tables.rates.push(RateRow { from, to, mbps: key.2.mbps(), tries, acknowledged });
            }
        }
        tables
    }

    /// How it kept time while figures counted.
    pub(super) fn summary(&self, bound: Duration) -> Summary {
        let measured = (self.reactor.now() - self.measured_since).as_secs_f64().max(1e-9);
        let load = (self.rounds.reading.total() + self.rounds.working.total()).as_secs_f64() / measured;
        Summary { lateness: self.lateness.clone(), bound, rounds: self.rounds.clone(), load }
    }

    /// What makes the figures worth nothing.
    pub(super) fn faults(&self) -> Vec<String> {
        let overruns = self.hwsim.overruns();
        let lost = (overruns > 0)
            .then(|| format!("the kernel dropped frames to the medium {overruns} times: the machine is too slow or too busy"));
        self.fault.iter().cloned().chain(lost).collect()
    }
}

/// The band of a channel by its centre.
fn rate_band(mhz: u32) -> Band {
    if mhz < 3000 { Band::Ghz2_4 } else { Band::Ghz5 }
}

/// The rates of a band by the kernel's numbers: those of 802.11b come first in 2.4 GHz.
fn rates_of(band: Band) -> Vec<Rate> {
    legacy_rates(if band == Band::Ghz2_4 { Standard::G } else { Standard::A }, band)
}

/// A kernel's series of rates; without any that the band has, one try at the lowest.
fn series(rates: &[TxRate; 4], band: Band) -> RateChain {
    let known = rates_of(band);
    let stage = |rate: &TxRate| {
        let index = usize::try_from(rate.index).ok().filter(|_| !rate.flags.is_mcs())?;
        Some(Stage { rate: *known.get(index)?, tries: rate.tries.max(1), rts: rate.flags.rts() })
    };
    let stages: Vec<Stage> = rates.iter().map_while(stage).collect();
    RateChain::of(&stages).unwrap_or_else(|| RateChain::single(known[0], 1))
}

/// The channel of 20 MHz with this centre.
fn channel_at(mhz: u32) -> Option<Channel> {
    let band = rate_band(mhz);
    let mut all = (1..=u8::MAX).filter_map(|n| Channel::new(band, n, Width::Mhz20, None).ok());
    all.find(|channel| channel.primary_mhz() == mhz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::hwsim::RateFlags;

    #[test]
    fn rates_have_the_kernels_numbers() {
        let mbps = |band| rates_of(band).iter().map(|r| r.mbps()).collect::<Vec<_>>();
        let ofdm = [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0];
        assert_eq!(mbps(Band::Ghz5), ofdm);
        assert_eq!(mbps(Band::Ghz2_4), [&[1.0, 2.0, 5.5, 11.0][..], &ofdm].concat());
    }

    #[test]
    fn a_series_ends_where_the_kernel_says_and_one_of_nothing_is_the_lowest_rate() {
        let rate = |index, tries, flags| TxRate { index, tries, flags: RateFlags(flags) };
        let told = series(&[rate(7, 2, 0), rate(0, 3, 1), TxRate::NONE, rate(1, 1, 0)], Band::Ghz5);
        let stages: Vec<_> = told.stages().iter().map(|s| (s.rate.mbps(), s.tries, s.rts)).collect();
        assert_eq!(stages, [(54.0, 2, false), (6.0, 3, true)]);
        for nothing in [TxRate::NONE, rate(8, 1, 0), rate(3, 1, 1 << 3), rate(-128, 9, 0)] {
            let told = series(&[nothing; 4], Band::Ghz5);
            assert_eq!((told.stages().len(), told.tries(), told.stages()[0].rate.mbps()), (1, 1, 6.0));
        }
    }

    #[test]
    fn channels_are_found_by_their_centre() {
        let number = |mhz| channel_at(mhz).map(|c| c.primary());
        assert_eq!([2412, 2462, 5180, 5825].map(number), [Some(1), Some(11), Some(36), Some(165)]);
        assert_eq!([0, 2400, 2413, 5181, 60_480, u32::MAX].map(number), [None; 6]);
    }
}
