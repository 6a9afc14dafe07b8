//! Radios and the interfaces on them.

use super::{Action, BuildError, Built};
use crate::net::mac_of;
use crate::packet::IfIndex;
use crate::seed;
use ropewalk_air::Time;
use ropewalk_air::wifi::abstract_medium::WeightedSource;
use ropewalk_air::wifi::interferer::{InterfererSpec, Pattern};
use ropewalk_air::wifi::phy::{
    Band, Channel, GuardInterval, Rate, Secondary, SlotLength, Span, Standard, Width,
};
use ropewalk_air::wifi::propagation::{Fading, FadingKind, SectorAntenna, Shadowing};
use ropewalk_air::wifi::rate::Draw;
use ropewalk_air::wifi::{
    Aggregation, AirSpec, ApSpec, Capture, Command, Discipline, EdcaParams, IfaceId, IfaceSpec, Mac, Mode,
    PlacedInterferer, PowerSave, RadioId, RadioSpec, RateControlSpec, StationSpec, StationStart, WifiQueue,
};
use ropewalk_bond::backhaul::limiter::{RTS_THRESHOLD, RTS_TRIES};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{self, Event, Interface, Interferer, NodeSpec, Radio};
use ropewalk_scenario::wifi as rules;
use std::collections::BTreeSet;
use std::time::Duration;

/// Nanoseconds of a time unit (802.11-2020, 3.1).
const TU_NS: u128 = 1_024_000;

/// An interface on air, on its way into the specification.
struct OnAir<'a> {
    index: IfIndex,
    radio: RadioId,
    spec: &'a Interface,
    /// It reports beacons of all access points.
    reports: bool,
}

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    let mut radios = Vec::new();
    let protected = protected(scenario);
    let mut on_air: Vec<OnAir> = Vec::new();
    for (node, spec) in &scenario.node {
        for (name, radio) in &spec.radio {
            built.radios.push(format!("{node}:{name}"));
            let mut made = radio_spec(&format!("node.{node}.radio.{name}"), spec, radio)?;
            let aggregates = matches!(radio.standard, file::Standard::N | file::Standard::Ac);
            let is_protected = aggregates && protected.contains(&(node.as_str(), name.as_str()));
            if is_protected && made.rts_threshold.is_none() {
                made.rts_threshold = Some(RTS_THRESHOLD);
                made.retry_limit = radio.retry_limit.unwrap_or(RTS_TRIES);
            }
            // A client of several access points counts what its channel carries.
            made.monitor |= spec.roam.is_some();
            radios.push(made);
        }
        let mut reports = spec.roam.is_some();
        for (name, interface) in &spec.interface {
            let Some(radio) = &interface.radio else { continue };
            let key = format!("node.{node}.interface.{name}.radio");
            let radio = self::radio(built, &key, Some(&format!("{node}:{radio}")))?;
            let index = built.interface(&key, &format!("{node}:{name}"))?;
            // One station of a radio hears for all.
            let reports = interface.mode == Some(file::Mode::Station) && std::mem::take(&mut reports);
            on_air.push(OnAir { index, radio, spec: interface, reports });
        }
    }
    if radios.is_empty() {
        return Ok(());
    }
    join_cells(built, &on_air);
    let mut spec = AirSpec { radios, ..AirSpec::default() };
    medium(built, scenario, &mut spec)?;
    spec.ifaces = on_air.iter().map(|i| iface_spec(i, &on_air, &spec)).collect();
    let interfaces = on_air.iter().map(|i| i.index).collect();
    for (i, station) in on_air.iter().enumerate().filter(|(_, i)| i.spec.power_save) {
        if station.spec.mode == Some(file::Mode::Station) {
            let command = Command::PowerSave { iface: IfaceId(i as u16), mode: PowerSave::Doze };
            built.agenda.add(Time::ZERO, Action::Air(Box::new(command)));
        }
    }
    let seed = seed::of(seed::of(scenario.seed, "air", 0), "air", 0);
    built.air = Some((spec.clone(), seed));
    let dilation = scenario.medium.time_dilation.into();
    built.world.net.add_air(spec, interfaces, seed, dilation).map_err(|e| BuildError::new("medium", e))?;
    match weighted_sources(scenario) {
        None => Ok(()),
        Some(sources) => {
            built.world.net.set_weighted_fair(&sources).map_err(|e| BuildError::new("medium.model", e))
        }
    }
}

/// What each radio is on the abstract medium, in the order of the air's; none on 802.11.
pub fn weighted_sources(scenario: &Scenario) -> Option<Vec<Option<WeightedSource>>> {
    if scenario.medium.model != file::MediumModel::WeightedFair {
        return None;
    }
    let of = |node: &NodeSpec, name: &str, radio: &Radio| {
        let is_ap = |i: &Interface| i.radio.as_deref() == Some(name) && i.mode == Some(file::Mode::Ap);
        let usual = node.interface.values().any(is_ap).then(|| WeightedSource::default().packet_time);
        let source = |packet_time| WeightedSource {
            packet_time,
            weight: radio.weight,
            buffer_packets: radio.queue.packets as usize,
            discipline: discipline(radio),
        };
        radio.packet_time.or(usual).map(source)
    };
    let nodes = scenario.node.values();
    let each = nodes.flat_map(|node| node.radio.iter().map(move |(name, radio)| of(node, name, radio)));
    Some(each.collect())
}

fn discipline(radio: &Radio) -> Discipline {
    match radio.queue.kind {
        file::RadioDiscipline::TailDrop => Discipline::TailDrop,
        file::RadioDiscipline::FqCodel => Discipline::FqCodel,
        file::RadioDiscipline::AirtimeFair => Discipline::AirtimeFair,
        file::RadioDiscipline::Fifo => Discipline::Fifo,
    }
}

/// Interfaces with one network name are on one segment, whoever is joined to whom at the moment.
fn join_cells(built: &mut Built, on_air: &[OnAir<'_>]) {
    for (i, a) in on_air.iter().enumerate() {
        let other = on_air[..i].iter().find(|b| b.spec.ssid == a.spec.ssid);
        if let Some(b) = other {
            built.world.net.join_segments(b.index, a.index);
        }
    }
}

fn medium(built: &Built, scenario: &Scenario, spec: &mut AirSpec) -> Result<(), BuildError> {
    let m = &scenario.medium;
    spec.path_loss.exponent = m.path_loss.exponent;
    spec.path_loss.reference_db = m.path_loss.reference_loss.0;
    spec.capture = Capture {
        window: m.capture.window,
        margin_db: m.capture.enabled.then_some(m.capture.margin.0),
        late_margin_db: m.capture.late_margin.map(|l| l.0),
    };
    spec.path_loss.told_only = m.path_loss.model == file::PathLossModel::Matrix;
    spec.shadowing = Shadowing { deviation_db: m.shadowing.0 };
    let kind = match m.fading.model {
        file::FadingModel::None => FadingKind::None,
        file::FadingModel::Rayleigh => FadingKind::Rayleigh,
        file::FadingModel::Rician => FadingKind::Rician { k_db: m.fading.k_factor.0 },
    };
    spec.fading = Fading { kind, coherence: m.fading.coherence };
    spec.interferers = scenario.interferer.iter().map(interferer).collect::<Result<_, _>>()?;
    for (i, pair) in m.loss.iter().enumerate() {
        let [a, b] = self::pair(built, &format!("medium.loss.{i}.between"), &pair.between)?;
        spec.path_loss_overrides.push((a, b, pair.loss.0));
    }
    Ok(())
}

fn interferer(i: &Interferer) -> Result<PlacedInterferer, BuildError> {
    let key = format!("interferer.{}.channel", i.name);
    let (band, width) = match (i.channel, i.width) {
        // 60 GHz has channels 1 to 6 too, but none that is narrower.
        (_, 2160) => (Band::Ghz60, Width::Mhz2160),
        (1..=14, _) => (Band::Ghz2_4, Width::Mhz20),
        _ => (Band::Ghz5, Width::Mhz20),
    };
    let channel = Channel::new(band, i.channel as u8, width, None).map_err(|e| BuildError::new(&key, e))?;
    let span = Span { centre_mhz: f64::from(channel.centre_mhz()), width_mhz: f64::from(i.width) };
    let pattern = match (i.off.is_zero(), i.random) {
        (true, _) => Pattern::Always,
        (false, false) => Pattern::Periodic { on: i.on, off: i.off },
        (false, true) => Pattern::Random { mean_on: i.on, mean_off: i.off },
    };
    let spec = InterfererSpec {
        power_dbm: i.power.0,
        span,
        pattern,
        wifi_like: i.wifi,
        start: Time::ZERO + i.start,
        stop: i.stop.map_or(Time::NEVER, |s| Time::ZERO + s),
    };
    Ok(PlacedInterferer { position: [i.position.x_m, i.position.y_m, i.position.z_m], spec })
}

fn standard(standard: file::Standard) -> Standard {
    match standard {
        file::Standard::A => Standard::A,
        file::Standard::B => Standard::B,
        file::Standard::G => Standard::G,
        file::Standard::N => Standard::N,
        file::Standard::Ac => Standard::Ac,
        file::Standard::Ad => Standard::Ad,
    }
}

/// The channel of this number for a radio.
fn channel(key: &str, radio: &Radio, number: u16) -> Result<Channel, BuildError> {
    let key = format!("{key}.channel");
    let band = match rules::band(radio.standard, number) {
        Some(rules::Band::Ghz2) => Band::Ghz2_4,
        Some(rules::Band::Ghz5) => Band::Ghz5,
        Some(rules::Band::Ghz60) => Band::Ghz60,
        None => {
            let sentence = format!("{} has no channel {number}", radio.standard.name());
            return Err(BuildError::new(key, sentence));
        }
    };
    let secondary =
        radio.secondary.map_or(if number > 7 { Secondary::Below } else { Secondary::Above }, |s| match s {
            file::Secondary::Above => Secondary::Above,
            file::Secondary::Below => Secondary::Below,
        });
    let channel = Channel::new(band, number as u8, width(radio), Some(secondary));
    channel.map_err(|e| BuildError::new(key, e))
}

fn width(radio: &Radio) -> Width {
    match rules::width(radio) {
        40 => Width::Mhz40,
        80 => Width::Mhz80,
        2160 => Width::Mhz2160,
        _ => Width::Mhz20,
    }
}

/// Radios under shared paths, on which the daemons set a threshold for RTS and how often a frame is tried: node and name.
fn protected(scenario: &Scenario) -> BTreeSet<(&str, &str)> {
    let mut all = BTreeSet::new();
    for bond in scenario.bond.values().filter(|b| b.rts) {
        let interfaces = |node: &str| scenario.node.get(node).map(|n| &n.interface);
        let (Some(own), Some(far)) = (interfaces(&bond.client), interfaces(&bond.gateway)) else { continue };
        for path in bond.paths.iter().filter(|p| p.shared) {
            let Some(station) = own.get(&path.interface) else { continue };
            let ap = match &path.to {
                Some(to) => far.get(to),
                None => far.values().find(|i| i.mode == Some(file::Mode::Ap) && i.ssid == station.ssid),
            };
            all.extend(station.radio.as_deref().map(|r| (bond.client.as_str(), r)));
            all.extend(ap.and_then(|i| i.radio.as_deref()).map(|r| (bond.gateway.as_str(), r)));
        }
    }
    all
}

fn radio_spec(key: &str, node: &NodeSpec, radio: &Radio) -> Result<RadioSpec, BuildError> {
    let at = node.position;
    let new = RadioSpec::new(standard(radio.standard), channel(key, radio, radio.channel)?);
    Ok(RadioSpec {
        position: [at.x_m, at.y_m, at.z_m],
        tx_power_dbm: radio.tx_power.0,
        noise_figure_db: radio.noise_figure.0,
        preamble_min_dbm: radio.preamble_detection.map_or(new.preamble_min_dbm, |p| p.0),
        preamble_min_snr_db: radio.preamble_sinr.0,
        answer_timeout: radio.answer_timeout,
        rx_coalescing: radio.rx_coalescing,
        energy_detection_dbm: radio.energy_detection.map_or(new.energy_detection_dbm, |p| p.0),
        streams: radio.streams,
        slots: match radio.slot {
            file::Slot::Short => SlotLength::Short,
            file::Slot::Long => SlotLength::Long,
        },
        short_guard_interval: radio.guard_interval == file::GuardInterval::Short,
        rate_control: rate_control(key, radio)?,
        control_rate: match radio.rate_control.control() {
            Some(rate) => Some(fixed(&format!("{key}.rate-control.control"), radio, rate)?),
            None => None,
        },
        rts_threshold: radio.rts_threshold.map(|b| b.0 as u32),
        retry_limit: radio.retry_limit.unwrap_or(new.retry_limit),
        edca: edca(radio, &new),
        aggregation: aggregation(radio, &new),
        queue: WifiQueue {
            station_packets: radio.queue.packets as usize,
            iface_packets: radio.queue.total as usize,
            lifetime: radio.queue.lifetime.unwrap_or(Duration::MAX),
            discipline: discipline(radio),
        },
        monitor: radio.monitor,
        switch_time: radio.switch_time,
        antenna: (radio.antenna.sectors > 1).then_some(SectorAntenna {
            sectors: radio.antenna.sectors,
            boresight_deg: radio.antenna.direction,
        }),
        ..new
    })
}

fn aggregation(radio: &Radio, new: &RadioSpec) -> Aggregation {
    let a = &radio.aggregation;
    Aggregation {
        ampdu_bytes: a.ampdu.map_or(new.aggregation.ampdu_bytes, |b| b.0 as u32),
        ampdu_mpdus: a.frames,
        ppdu: a.time,
        amsdu_bytes: a.amsdu.0 as u32,
    }
}

fn rate_control(key: &str, radio: &Radio) -> Result<RateControlSpec, BuildError> {
    let key = format!("{key}.rate-control");
    match radio.rate_control.data() {
        file::RateControl::WithControl { .. } => {
            Err(BuildError::new(&key, "`control` stands beside one algorithm only"))
        }
        file::RateControl::Fixed(rate) => Ok(RateControlSpec::Fixed(fixed(&key, radio, rate)?)),
        file::RateControl::Drawn { usual, other, share, step } => Ok(RateControlSpec::Drawn(Draw {
            usual: fixed(&key, radio, usual)?,
            other: fixed(&key, radio, other)?,
            share: share.0,
            step: *step,
        })),
        file::RateControl::Named(file::NamedRateControl::Ideal) => Ok(RateControlSpec::Ideal),
        file::RateControl::Named(file::NamedRateControl::Minstrel) => Ok(RateControlSpec::Minstrel),
        file::RateControl::Named(file::NamedRateControl::MinstrelHt) => Ok(RateControlSpec::MinstrelHt),
        file::RateControl::Named(file::NamedRateControl::PerPacketFair) => Ok(RateControlSpec::PacketFair),
    }
}

/// The rate that a scenario calls `MCS7` or `54Mbit/s`.
fn fixed(key: &str, radio: &Radio, text: &str) -> Result<Rate, BuildError> {
    let unknown = || BuildError::new(key, format!("`{text}` is no rate; write MCS7, or 54Mbit/s"));
    let gi = match radio.guard_interval {
        file::GuardInterval::Short => GuardInterval::Short,
        file::GuardInterval::Long => GuardInterval::Long,
    };
    let rate = match (text.strip_prefix("MCS"), text.strip_suffix("Mbit/s")) {
        (Some(mcs), _) => {
            let mcs: u8 = mcs.parse().map_err(|_| unknown())?;
            match radio.standard {
                file::Standard::Ac => Rate::vht(mcs, radio.streams, width(radio), gi),
                file::Standard::Ad => Rate::dmg(mcs),
                _ => Rate::ht(mcs, radio.streams, width(radio), gi),
            }
        }
        (None, Some(mbps)) => Rate::legacy(bits_per_second(mbps).ok_or_else(unknown)?),
        (None, None) => return Err(unknown()),
    };
    rate.map_err(|e| BuildError::new(key, e))
}

/// Mb/s with at most one decimal.
fn bits_per_second(mbps: &str) -> Option<u64> {
    let mbps: f64 = mbps.trim().parse().ok()?;
    Some((mbps * 10.0).round() as u64 * 100_000)
}

/// The scenario's names of categories, in the air's order.
const CATEGORIES: [&str; 4] = ["background", "best-effort", "video", "voice"];

fn edca(radio: &Radio, new: &RadioSpec) -> Option<[EdcaParams; 4]> {
    if radio.edca.is_empty() {
        return None;
    }
    let mut all = new.edca_params();
    for (params, name) in all.iter_mut().zip(CATEGORIES) {
        let Some(given) = radio.edca.get(name) else { continue };
        params.aifsn = given.aifsn.unwrap_or(params.aifsn);
        params.cw_min = given.cw_min.unwrap_or(params.cw_min);
        params.cw_max = given.cw_max.unwrap_or(params.cw_max);
        params.txop = given.txop.unwrap_or(params.txop);
    }
    Some(all)
}

fn iface_spec(of: &OnAir<'_>, all: &[OnAir<'_>], air: &AirSpec) -> IfaceSpec {
    let ssid = of.spec.ssid.clone().unwrap_or_default();
    let mode = match of.spec.mode {
        Some(file::Mode::Ap) => {
            let beacon_interval_tu = (of.spec.beacon_interval.as_nanos() / TU_NS).min(65_535) as u16;
            Mode::AccessPoint(ApSpec { ssid, beacon_interval_tu, ..ApSpec::default() })
        }
        Some(file::Mode::Mesh) => Mode::Mesh { id: ssid },
        _ => {
            let start = match of.spec.join {
                file::Join::Associated => {
                    strongest(of, all, air).map_or(StationStart::Scan, StationStart::Associated)
                }
                file::Join::Scan => StationStart::Scan,
                file::Join::Idle => StationStart::Idle,
            };
            Mode::Station(StationSpec {
                ssid,
                start,
                beacon_loss: of.spec.beacon_loss,
                report_beacons: of.reports,
            })
        }
    };
    IfaceSpec { radio: of.radio, mac: mac_of(of.index), mode }
}

/// The access point that a station is with when the run begins: of those of its network on its channel, the one that it hears best.
fn strongest(of: &OnAir<'_>, all: &[OnAir<'_>], air: &AirSpec) -> Option<Mac> {
    let radio = |id: RadioId| &air.radios[usize::from(id.0)];
    let loss = |ap: RadioId| {
        let given = air
            .path_loss_overrides
            .iter()
            .find(|(a, b, _)| (*a, *b) == (ap, of.radio) || (*b, *a) == (ap, of.radio));
        given.map_or_else(
            || {
                let (p, q) = (radio(ap).position, radio(of.radio).position);
                let square: f64 = p.iter().zip(q).map(|(x, y)| (x - y) * (x - y)).sum();
                air.path_loss.db(square.sqrt())
            },
            |(_, _, db)| *db,
        )
    };
    let fits = |ap: &&OnAir<'_>| {
        ap.spec.mode == Some(file::Mode::Ap)
            && ap.spec.ssid == of.spec.ssid
            && radio(ap.radio).channel.shares_primary(&radio(of.radio).channel)
    };
    let heard = |ap: &OnAir<'_>| radio(ap.radio).tx_power_dbm - loss(ap.radio);
    let mut best: Option<&OnAir<'_>> = None;
    for ap in all.iter().filter(fits) {
        if best.is_none_or(|b| heard(ap) > heard(b)) {
            best = Some(ap);
        }
    }
    best.map(|ap| mac_of(ap.index))
}

// --- names that events use ---

/// A radio by name: `node:radio`, or a node with one radio.
pub(super) fn radio(built: &Built, key: &str, name: Option<&str>) -> Result<RadioId, BuildError> {
    let name = name.unwrap_or_default();
    let fits = |r: &&String| r.as_str() == name || r.split_once(':').is_some_and(|(node, _)| node == name);
    let found = built.radios.iter().position(|r| fits(&r));
    found
        .map(|i| RadioId(i as u16))
        .ok_or_else(|| BuildError::new(key, format!("there is no radio `{name}`; write node:radio")))
}

/// Two radios.
pub(super) fn pair(built: &Built, key: &str, names: &[String]) -> Result<[RadioId; 2], BuildError> {
    let [a, b] = names else { return Err(BuildError::new(key, "name two radios")) };
    Ok([radio(built, key, Some(a))?, radio(built, key, Some(b))?])
}

/// The radios of a node.
pub(super) fn radios_of<'a>(built: &'a Built, node: &'a str) -> impl Iterator<Item = RadioId> + 'a {
    let mine = move |r: &&String| r.split_once(':').is_some_and(|(n, _)| n == node);
    built.radios.iter().enumerate().filter(move |(_, r)| mine(r)).map(|(i, _)| RadioId(i as u16))
}

/// An interface on air by name.
pub(super) fn iface(built: &Built, key: &str, name: Option<&str>) -> Result<(IfaceId, IfIndex), BuildError> {
    let (key, name) = (format!("{key}.interface"), name.unwrap_or_default());
    let index = built.interface(&key, name)?;
    let iface = built.world.net.iface_of(index);
    let iface = iface.ok_or_else(|| BuildError::new(key, format!("`{name}` is on no radio")))?;
    Ok((iface, index))
}

/// The channel that an event names, as wide as the radio is.
pub(super) fn new_channel(scenario: &Scenario, key: &str, event: &Event) -> Result<Channel, BuildError> {
    let radio = match (&event.radio, &event.interface) {
        (Some(name), _) => find_radio(scenario, name),
        (None, Some(name)) => radio_under(scenario, name),
        (None, None) => None,
    };
    let radio = radio.ok_or_else(|| BuildError::new(key, "no radio is named"))?;
    channel(key, radio, event.channel.unwrap_or_default())
}

/// A channel for the radio under an interface, `node:interface`.
pub(super) fn channel_under(
    scenario: &Scenario,
    key: &str,
    interface: &str,
    number: u16,
) -> Result<Channel, BuildError> {
    let radio = radio_under(scenario, interface);
    channel(key, radio.ok_or_else(|| BuildError::new(key, "no radio is named"))?, number)
}

/// What an interface, `node:interface`, is on the air.
pub(super) fn mode(scenario: &Scenario, interface: &str) -> Option<file::Mode> {
    let (node, interface) = interface.split_once(':')?;
    scenario.node.get(node)?.interface.get(interface)?.mode
}

fn find_radio<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a Radio> {
    match name.split_once(':') {
        Some((node, radio)) => scenario.node.get(node)?.radio.get(radio),
        None => scenario.node.get(name)?.radio.values().next(),
    }
}

fn radio_under<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a Radio> {
    let (node, interface) = name.split_once(':')?;
    let node = scenario.node.get(node)?;
    node.radio.get(node.interface.get(interface)?.radio.as_deref()?)
}
