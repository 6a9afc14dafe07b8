//! Makes an [`Air`] out of its specification.

use std::collections::VecDeque;

use rand::Rng;

use super::air::{Air, stream};
use super::api::Mac;
use super::interferer::Bursts;
use super::mac::access::{Access, BEACON, CATEGORIES};
use super::mac::frame::GROUP;
use super::mac::peer::Peer;
use super::mac::{Iface, PeerStats, Radio, Role, Station};
use super::medium::{CaptureLimits, Medium, Paths, Receiver, Thresholds, TuningId, Tunings, parts};
use super::phy::decibel::{mw_from_dbm, noise_mw, ratio_from_db};
use super::phy::{Channel, ErrorModel, Format, Rate, Standard, Timing, Width, legacy_rates, mcs_rates};
use super::rate::{AccessCost, Drawn, Fixed, Ideal, Minstrel, MinstrelHt, PacketFair, RateControl};
use super::spec::{
    AirSpec, Capture, DEFAULT_FLOOR_DBM, Mode, PlacedInterferer, RadioSpec, RateControlSpec, SpecError,
};
use super::timers::Timers;
use crate::Time;

/// Numbers of the independent random streams of one seed.
const RECEPTION: u64 = 1;
const GENERAL: u64 = 2;
const BACKOFF: u64 = 1 << 16;
const INTERFERERS: u64 = 2 << 16;
const RATES: u64 = 1 << 32;

impl<T: Clone> Air<T> {
    /// A medium, with all radios on. The same `seed` and the same calls give the same outputs.
    pub fn new(spec: AirSpec, seed: u64) -> Result<Air<T>, SpecError> {
        spec.check()?;
        let mut tunings = Tunings::new(spec.strict_mask);
        let mut radios = Vec::new();
        let mut access = Vec::new();
        let mut receivers = Vec::new();
        let floor = mw_from_dbm(spec.floor_dbm.unwrap_or(DEFAULT_FLOOR_DBM));
        let emitters = spec.radios.len() + spec.interferers.len();
        let mut paths = Paths::new(emitters, spec.radios.len(), floor);
        for (index, radio) in spec.radios.iter().enumerate() {
            let timing = radio.timing();
            let ids = tunings_of(&mut tunings, radio.channel);
            let own = Radio::new(radio.clone(), &timing, ids);
            let tuning = own.tuning(radio.channel.width());
            receivers.push(Receiver::new(tuning, parts(radio.channel.width()), thresholds(radio)));
            paths.set_power_mw(index, mw_from_dbm(radio.tx_power_dbm));
            paths.set_tuning(index, tuning);
            access.push(access_of(radio, &timing, stream(seed, BACKOFF + index as u64)));
            radios.push(own);
        }
        for (index, interferer) in spec.interferers.iter().enumerate() {
            let emitter = spec.radios.len() + index;
            paths.set_power_mw(emitter, mw_from_dbm(interferer.spec.power_dbm));
            paths.set_tuning(emitter, tunings.energy(interferer.spec.span, interferer.spec.wifi_like));
        }
        let bursts = bursts_of(&spec, seed)?;
        let idle = Rate::lowest(Standard::A, super::phy::Band::Ghz5);
        let medium =
            Medium::new(receivers, paths, tunings, limits(&spec.capture), stream(seed, RECEPTION), idle);
        let mut air = Air {
            now: Time::ZERO,
            medium,
            timers: Timers::new(emitters),
            seed,
            blockage: Vec::new(),
            training: Vec::new(),
            bursts,
            radios,
            access,
            ifaces: Vec::new(),
            peers: Vec::new(),
            addresses: Vec::new(),
            out: VecDeque::new(),
            ppdus: 0,
            arrived: Vec::new(),
            rng: stream(seed, GENERAL),
            spec,
        };
        air.place();
        air.start_interferers();
        air.add_ifaces();
        Ok(air)
    }

    fn add_ifaces(&mut self) {
        for (index, iface) in self.spec.ifaces.clone().into_iter().enumerate() {
            let role = match iface.mode {
                Mode::AccessPoint(ap) => Role::AccessPoint(ap, 0),
                Mode::Station(station) => Role::Station(station, Station::default()),
                Mode::Mesh { id } => Role::Mesh(id),
            };
            self.radios[usize::from(iface.radio.0)].ifaces.push(index as u16);
            self.addresses.push((iface.mac, index as u16));
            let own = Iface {
                radio: iface.radio.0,
                mac: iface.mac,
                role,
                peers: Vec::new(),
                next_seq: 0,
                queued: 0,
                outstanding: 0,
            };
            self.ifaces.push(own);
        }
        self.addresses.sort_unstable();
        for index in 0..self.ifaces.len() {
            self.start_iface(index);
        }
    }

    /// What an interface does at the start.
    fn start_iface(&mut self, index: usize) {
        match &self.ifaces[index].role {
            Role::Station(..) => self.start_station(index),
            Role::AccessPoint(..) => {
                self.ensure_peer(index, GROUP);
                self.start_beacons(index);
            }
            Role::Mesh(id) => {
                let same = |other: &Iface| matches!(&other.role, Role::Mesh(theirs) if theirs == id);
                let others: Vec<usize> =
                    (0..self.ifaces.len()).filter(|&o| o != index && same(&self.ifaces[o])).collect();
                self.ensure_peer(index, GROUP);
                for other in others {
                    let peer = self.ensure_peer(index, other as u16);
                    self.peers[peer].joined = true;
                }
            }
        }
    }

    /// The peer of an interface that is another interface, made if there is none yet.
    pub(super) fn ensure_peer(&mut self, iface: usize, other: u16) -> usize {
        if let Some(peer) = self.ifaces[iface].peer(other) {
            return peer;
        }
        let index = self.peers.len();
        let peer = self.new_peer(iface, other);
        self.peers.push(peer);
        let peers = &mut self.ifaces[iface].peers;
        let place = peers.partition_point(|&(id, _)| id < other);
        peers.insert(place, (other, index as u32));
        index
    }

    fn new_peer(&self, iface: usize, other: u16) -> Peer<T> {
        let seed = stream(self.seed, RATES + self.peers.len() as u64).random();
        let radio = &self.radios[usize::from(self.ifaces[iface].radio)];
        let there =
            (other != GROUP).then(|| &self.radios[usize::from(self.ifaces[usize::from(other)].radio)]);
        let qos = |r: &Radio| r.spec.standard.has_aggregation();
        let both_qos = qos(radio) && there.is_some_and(qos);
        let spec = there.map_or(&radio.spec, |t| &t.spec);
        let (control, wants_snr) = rate_control(&radio.spec, spec, &radio.basic, seed);
        Peer {
            iface: iface as u16,
            other,
            radio: self.ifaces[iface].radio,
            other_radio: if other == GROUP { GROUP } else { self.ifaces[usize::from(other)].radio },
            tx: Default::default(),
            rx: Default::default(),
            control,
            wants_snr,
            bounds: radio.bounds(both_qos),
            aggregates: both_qos && radio.spec.aggregation.ampdu_bytes > 0,
            basic_rate: radio.lowest,
            dozing: false,
            polled: false,
            held_after: false,
            joined: false,
            stats: PeerStats::default(),
        }
    }

    /// The interface with this address.
    pub(super) fn iface_of(&self, mac: Mac) -> Option<u16> {
        let place = self.addresses.binary_search_by_key(&mac, |&(m, _)| m).ok()?;
        Some(self.addresses[place].1)
    }
}

/// Each interferer's bursts, from its own stream.
fn bursts_of(spec: &AirSpec, seed: u64) -> Result<Vec<Bursts>, SpecError> {
    let make = |(index, interferer): (usize, &PlacedInterferer)| {
        Bursts::new(&interferer.spec, stream(seed, INTERFERERS + index as u64).random())
            .map_err(|source| SpecError::Interferer { place: format!("interferer {index}"), source })
    };
    spec.interferers.iter().enumerate().map(make).collect()
}

/// Who chooses among the rates that both radios have; whether it needs the SNR.
fn rate_control(
    here: &RadioSpec,
    there: &RadioSpec,
    basic: &[Rate],
    seed: u64,
) -> (Box<dyn RateControl>, bool) {
    let rates = common_rates(here, there);
    let cost = AccessCost { timing: here.timing(), band: here.channel.band(), basic: basic.to_vec() };
    let has_mcs = rates.iter().any(|rate| !matches!(rate.format(), Format::Dsss | Format::Ofdm));
    match here.rate_control {
        RateControlSpec::Fixed(rate) => (Box::new(Fixed::new(rate)), false),
        RateControlSpec::Drawn(draw) => (Box::new(Drawn::new(draw, seed)), false),
        RateControlSpec::Ideal => (Box::new(Ideal::new(&rates, &ErrorModel::new())), true),
        RateControlSpec::MinstrelHt if has_mcs => (Box::new(MinstrelHt::new(&rates, &cost, seed)), false),
        RateControlSpec::Minstrel | RateControlSpec::MinstrelHt => {
            (Box::new(Minstrel::new(&rates, &cost, seed)), false)
        }
        RateControlSpec::PacketFair => (Box::new(PacketFair::new(&rates)), false),
    }
}

/// MCS rates that both have in their channels, or legacy ones if there are none.
pub(super) fn common_rates(here: &RadioSpec, there: &RadioSpec) -> Vec<Rate> {
    let band = here.channel.band();
    let width = here.channel.width().min(there.channel.width());
    let streams = here.streams.min(there.streams);
    let short = here.short_guard_interval && there.short_guard_interval;
    let standard = match (here.standard, there.standard) {
        (Standard::Ac, Standard::N) | (Standard::N, Standard::Ac) => Standard::N,
        (a, b) if a == b => a,
        _ => Standard::A,
    };
    let mcs = mcs_rates(standard, width, streams, short);
    if !mcs.is_empty() {
        return mcs;
    }
    let theirs = legacy_rates(there.standard, band);
    legacy_rates(here.standard, band).into_iter().filter(|rate| theirs.contains(rate)).collect()
}

pub(super) fn tunings_of(tunings: &mut Tunings, channel: Channel) -> [TuningId; 3] {
    [Width::Mhz20, Width::Mhz40, channel.width()].map(|width| tunings.id(channel, width))
}

/// The width for which noise and energy are counted: 20 MHz, or a whole DMG channel.
pub(super) fn part_mhz(channel: Channel) -> f64 {
    if channel.width() == Width::Mhz2160 { 2160.0 } else { 20.0 }
}

pub(super) fn thresholds(radio: &RadioSpec) -> Thresholds {
    Thresholds {
        energy_detection_mw: mw_from_dbm(radio.energy_detection_dbm),
        secondary_detection_mw: mw_from_dbm(radio.secondary_detection_dbm),
        preamble_min_mw: mw_from_dbm(radio.preamble_min_dbm),
        preamble_min_snr: ratio_from_db(radio.preamble_min_snr_db),
        noise_mw: noise_mw(part_mhz(radio.channel), radio.noise_figure_db),
    }
}

fn limits(capture: &Capture) -> CaptureLimits {
    let ratio = |db: Option<f64>| db.map_or(f64::INFINITY, ratio_from_db);
    CaptureLimits {
        window_ns: capture.window.as_nanos() as u64,
        ratio: ratio(capture.margin_db),
        late_ratio: ratio(capture.late_margin_db),
    }
}

fn access_of(radio: &RadioSpec, timing: &Timing, rng: rand_chacha::ChaCha8Rng) -> Access {
    let ns = |aifsn| timing.aifs(aifsn).as_nanos() as u64;
    // Beacons go after PIFS without backoff, as from ath9k's beacon queue and in ns-3.
    let mut categories = [(ns(1), 0, 0); CATEGORIES];
    debug_assert_eq!(BEACON + 1, CATEGORIES);
    for (category, p) in categories.iter_mut().zip(radio.edca_params()) {
        *category = (ns(p.aifsn), u32::from(p.cw_min), u32::from(p.cw_max));
    }
    let (slot_ns, eifs_extra_ns) = (timing.slot.as_nanos() as u64, timing.eifs_extra().as_nanos() as u64);
    Access::new(
        slot_ns,
        eifs_extra_ns,
        (radio.retry_limit, radio.standard.has_aggregation()),
        categories,
        rng,
    )
}
