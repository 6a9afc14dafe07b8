//! What is impossible in a specification, said with its place and remedy.

use super::api::{Mac, RadioId};
use super::interferer::InterfererError;
use super::phy::{Band, ChannelError, Rate, Standard, Width};
use super::propagation::{LogDistance, PropagationError};
use super::spec::{
    AirSpec, Capture, EdcaParams, IfaceSpec, Mode, RadioSpec, RateControlSpec, StationSpec, StationStart,
};

/// What is impossible in a specification. `place` names the part, such as "radio 3".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// A number is out of its range.
    #[error("{place}: {what} is {value}, and must be {range}")]
    Range {
        /// Where.
        place: String,
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// The channel does not suit the standard.
    #[error("{place}: {source}")]
    Channel {
        /// Where.
        place: String,
        /// Why.
        source: ChannelError,
    },
    /// A radio cannot leave its band.
    #[error("{place}: it works in {from:?} and cannot go to {to:?}")]
    Band {
        /// Where.
        place: String,
        /// Its band.
        from: Band,
        /// What was asked for.
        to: Band,
    },
    /// The rate does not suit the radio.
    #[error("{place}: {rate} is not a rate of 802.11{standard:?} with {streams} streams in {} MHz", width.mhz())]
    Rate {
        /// Where.
        place: String,
        /// The rate.
        rate: Rate,
        /// The radio's standard.
        standard: Standard,
        /// Its streams.
        streams: u8,
        /// Its channel's width.
        width: Width,
    },
    /// Aggregation on a standard that has none.
    #[error("{place}: 802.11{standard:?} has no aggregates; leave them off or take n, ac or ad")]
    NoAggregation {
        /// Where.
        place: String,
        /// The standard.
        standard: Standard,
    },
    /// A propagation model cannot be.
    #[error("medium: {0}")]
    Propagation(#[from] PropagationError),
    /// An interferer cannot be.
    #[error("{place}: {source}")]
    Interferer {
        /// Where.
        place: String,
        /// Why.
        source: InterfererError,
    },
    /// Something names a radio that does not exist.
    #[error("{place}: there is no radio {radio}")]
    NoRadio {
        /// Where.
        place: String,
        /// What was named.
        radio: u16,
    },
    /// An address is a group's, or belongs to two.
    #[error("{place}: the address {mac} {why}")]
    Address {
        /// Where.
        place: String,
        /// The address.
        mac: Mac,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A station is to be associated with something that is not an access point of its channel and network.
    #[error("{place}: {bssid} is no access point of network \"{ssid}\" on its channel")]
    NoAccessPoint {
        /// Where.
        place: String,
        /// What was named.
        bssid: Mac,
        /// The station's network.
        ssid: String,
    },
}

impl AirSpec {
    /// Refuses what is impossible.
    pub fn check(&self) -> Result<(), SpecError> {
        let air = String::from("medium");
        range(&air, "number of radios", self.radios.len() as f64, (0.0, 4096.0), "at most 4096")?;
        range(&air, "number of interfaces", self.ifaces.len() as f64, (0.0, 8192.0), "at most 8192")?;
        LogDistance { exponent: self.path_loss.exponent, at_1_m_db: self.path_loss.reference_db }.check()?;
        self.shadowing.check()?;
        self.fading.check()?;
        for (index, interferer) in self.interferers.iter().enumerate() {
            let place = format!("interferer {index}");
            interferer
                .spec
                .check()
                .map_err(|source| SpecError::Interferer { place: place.clone(), source })?;
            check_power(&place, interferer.spec.power_dbm)?;
        }
        for &(a, b, db) in &self.path_loss_overrides {
            for RadioId(radio) in [a, b] {
                if usize::from(radio) >= self.radios.len() {
                    return Err(SpecError::NoRadio { place: String::from("path loss override"), radio });
                }
            }
            range(&air, "path loss", db, (0.0, 1000.0), "0 to 1000 dB")?;
        }
        self.capture.check()?;
        if let Some(floor) = self.floor_dbm {
            range(&air, "floor", floor, (-200.0, -82.0), "-200 to -82 dBm")?;
        }
        for (index, radio) in self.radios.iter().enumerate() {
            radio.check(&format!("radio {index}"))?;
        }
        self.ifaces.iter().enumerate().try_for_each(|(index, iface)| self.check_iface(index, iface))
    }

    fn check_iface(&self, index: usize, iface: &IfaceSpec) -> Result<(), SpecError> {
        let place = || format!("interface {index}");
        let Some(radio) = self.radios.get(usize::from(iface.radio.0)) else {
            return Err(SpecError::NoRadio { place: place(), radio: iface.radio.0 });
        };
        let address = |why| Err(SpecError::Address { place: place(), mac: iface.mac, why });
        if iface.mac.is_group() {
            return address("is a group's; take one whose first octet is even");
        }
        if self.ifaces[..index].iter().any(|other| other.mac == iface.mac) {
            return address("belongs to another interface already (every station needs its own)");
        }
        match &iface.mode {
            Mode::AccessPoint(ap) => {
                range(&place(), "DTIM period", f64::from(ap.dtim_period), (1.0, 255.0), "1 to 255")
            }
            Mode::Station(StationSpec { ssid, start: StationStart::Associated(bssid), .. }) => {
                let is_it = |other: &&IfaceSpec| {
                    let there = self.radios.get(usize::from(other.radio.0)).map(|r| r.channel);
                    let same = there.is_some_and(|c| c.shares_primary(&radio.channel));
                    let ap = matches!(&other.mode, Mode::AccessPoint(ap) if ap.ssid == *ssid);
                    other.mac == *bssid && same && ap
                };
                if self.ifaces.iter().any(|other| is_it(&other)) {
                    return Ok(());
                }
                Err(SpecError::NoAccessPoint { place: place(), bssid: *bssid, ssid: ssid.clone() })
            }
            Mode::Station(station) => {
                let beacons = f64::from(station.beacon_loss);
                range(&place(), "beacon loss", beacons, (1.0, 255.0), "1 to 255")
            }
            Mode::Mesh { .. } => Ok(()),
        }
    }
}

impl Capture {
    fn check(&self) -> Result<(), SpecError> {
        for margin in [self.margin_db, self.late_margin_db].into_iter().flatten() {
            range("capture", "margin", margin, (0.0, 100.0), "0 to 100 dB")?;
        }
        Ok(())
    }
}

impl RadioSpec {
    fn check(&self, place: &str) -> Result<(), SpecError> {
        let channel_error = |source| SpecError::Channel { place: place.to_owned(), source };
        self.channel.check_for(self.standard).map_err(channel_error)?;
        if self.position.iter().any(|x| !x.is_finite()) {
            return Err(out_of_range(place, "position", f64::NAN, "finite, in metres"));
        }
        check_power(place, self.tx_power_dbm)?;
        range(place, "noise figure", self.noise_figure_db, (0.0, 40.0), "0 to 40 dB")?;
        range(place, "preamble detection", self.preamble_min_dbm, (-120.0, 0.0), "-120 to 0 dBm")?;
        range(place, "preamble SNR", self.preamble_min_snr_db, (-100.0, 40.0), "-100 to 40 dB")?;
        range(place, "energy detection", self.energy_detection_dbm, (-120.0, 20.0), "-120 to 20 dBm")?;
        range(place, "secondary detection", self.secondary_detection_dbm, (-120.0, 20.0), "-120 to 20 dBm")?;
        range(place, "number of streams", f64::from(self.streams), (1.0, 4.0), "1 to 4")?;
        range(place, "retry limit", f64::from(self.retry_limit), (1.0, 255.0), "1 to 255")?;
        if self.answer_timeout.is_some_and(|told| told <= self.timing().sifs) {
            return Err(out_of_range(place, "answer timeout", 0.0, "longer than SIFS"));
        }
        range(place, "hardware queue", f64::from(self.hardware_queue), (1.0, 65535.0), "at least 1")?;
        let packets = self.queue.station_packets.min(self.queue.iface_packets);
        range(place, "queue limit", packets as f64, (1.0, 1e6), "1 to 1000000 packets")?;
        if let Some(antenna) = self.antenna {
            antenna.check()?;
        }
        if let RateControlSpec::Fixed(rate) = self.rate_control {
            self.check_rate(place, rate)?;
        }
        if let RateControlSpec::Drawn(draw) = self.rate_control {
            self.check_rate(place, draw.usual)?;
            self.check_rate(place, draw.other)?;
            range(place, "share of the other rate", draw.share, (0.0, 1.0), "0 to 1")?;
            range(place, "step of rates", draw.step.as_secs_f64(), (1e-6, 1e6), "at least a microsecond")?;
        }
        self.check_aggregation(place)?;
        self.edca.iter().flatten().try_for_each(|params| params.check(place))
    }

    fn check_rate(&self, place: &str, rate: Rate) -> Result<(), SpecError> {
        if self.rates().contains(&rate) {
            return Ok(());
        }
        let width = self.channel.width();
        let (standard, streams) = (self.standard, self.streams);
        Err(SpecError::Rate { place: place.to_owned(), rate, standard, streams, width })
    }

    fn check_aggregation(&self, place: &str) -> Result<(), SpecError> {
        let a = &self.aggregation;
        if !self.standard.has_aggregation() && (a.ampdu_bytes > 0 || a.amsdu_bytes > 0) {
            return Err(SpecError::NoAggregation { place: place.to_owned(), standard: self.standard });
        }
        range(place, "MPDUs of an A-MPDU", f64::from(a.ampdu_mpdus), (1.0, 64.0), "1 to 64")?;
        let us = a.ppdu.as_micros() as f64;
        range(place, "longest PPDU", us, (100.0, 5484.0), "100 to 5484 µs")?;
        range(place, "A-MSDU", f64::from(a.amsdu_bytes), (0.0, 11398.0), "0 to 11398 bytes")
    }
}

impl EdcaParams {
    fn check(&self, place: &str) -> Result<(), SpecError> {
        range(place, "AIFSN", f64::from(self.aifsn), (1.0, 15.0), "1 to 15")?;
        for cw in [self.cw_min, self.cw_max] {
            if !(u32::from(cw) + 1).is_power_of_two() || cw > 32767 {
                return Err(out_of_range(
                    place,
                    "contention window",
                    f64::from(cw),
                    "one less than a power of two, at most 32767",
                ));
            }
        }
        let (min, max) = (f64::from(self.cw_min), f64::from(self.cw_max));
        if min > max {
            return Err(out_of_range(place, "least contention window", min, "at most the largest"));
        }
        let ms = self.txop.as_micros() as f64 / 1000.0;
        range(place, "TXOP limit", ms, (0.0, 2097.12), "0 to 2097 ms")
    }
}

/// Refuses a transmit power that no radio has.
pub(super) fn check_power(place: &str, dbm: f64) -> Result<(), SpecError> {
    range(place, "transmit power", dbm, (-50.0, 50.0), "-50 to 50 dBm")
}

pub(super) fn range(
    place: &str,
    what: &'static str,
    value: f64,
    (low, high): (f64, f64),
    text: &'static str,
) -> Result<(), SpecError> {
    if value >= low && value <= high { Ok(()) } else { Err(out_of_range(place, what, value, text)) }
}

pub(super) fn out_of_range(place: &str, what: &'static str, value: f64, range: &'static str) -> SpecError {
    SpecError::Range { place: place.to_owned(), what, value, range }
}
