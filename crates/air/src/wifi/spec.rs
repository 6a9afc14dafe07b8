//! What a medium is made of: radios, interfaces, queues.

use core::time::Duration;

use super::api::{Mac, RadioId};
use super::interferer::InterfererSpec;
use super::phy::{Band, Channel, Rate, SlotLength, Standard, Timing, decibel};
use super::propagation::{Fading, LogDistance, SectorAntenna, Shadowing};
use super::rate::Draw;

pub use super::check::SpecError;
pub use super::mac::backlog::Discipline;

/// A medium: all radios and interfaces of a run, on all channels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AirSpec {
    /// Radios; [`RadioId`] counts them.
    pub radios: Vec<RadioSpec>,
    /// Interfaces; [`IfaceId`](super::IfaceId) counts them.
    pub ifaces: Vec<IfaceSpec>,
    /// How power falls with distance.
    pub path_loss: PathLoss,
    /// Path losses between two radios that replace the model's and the shadowing, in both directions: (a, b, dB).
    pub path_loss_overrides: Vec<(RadioId, RadioId, f64)>,
    /// Lasting differences between links.
    pub shadowing: Shadowing,
    /// How links change with time; none by default.
    pub fading: Fading,
    /// Energy that is no frame of the medium.
    pub interferers: Vec<PlacedInterferer>,
    /// When a stronger frame takes a receiver from a weaker one.
    pub capture: Capture,
    /// Whether transmitters leak into neighbouring channels as much as the standard's masks allow. By default they do
    /// not, and only channels that overlap disturb each other, in proportion.
    pub strict_mask: bool,
    /// Received power below which a radio is out of another's reach, dBm: it is not even noise, and costs nothing.
    /// The default lies 16 dB below the noise in 20 MHz.
    pub floor_dbm: Option<f64>,
}

/// The floor of received power unless told otherwise, dBm.
pub const DEFAULT_FLOOR_DBM: f64 = -110.0;

/// How power falls from radio to radio where nothing else was told: `reference_db` at one metre, then 10·`exponent` dB per
/// decade ([`LogDistance`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathLoss {
    /// 2 in free space, 3 to 4 indoors.
    pub exponent: f64,
    /// Loss at 1 m, dB; nearer than that it does not fall. 46.68 is free space at 5.15 GHz, 40.05 at 2.4 GHz, 68 at 60 GHz.
    pub reference_db: f64,
    /// Only pairs with an override hear each other.
    pub told_only: bool,
}

impl Default for PathLoss {
    fn default() -> PathLoss {
        let LogDistance { exponent, at_1_m_db } = LogDistance::of_band(Band::Ghz5);
        PathLoss { exponent, reference_db: at_1_m_db, told_only: false }
    }
}

impl PathLoss {
    /// Loss over a distance in metres, dB.
    pub fn db(&self, metres: f64) -> f64 {
        if self.told_only {
            return f64::INFINITY;
        }
        LogDistance { exponent: self.exponent, at_1_m_db: self.reference_db }.loss_db(metres)
    }
}

/// An interferer, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedInterferer {
    /// Metres.
    pub position: [f64; 3],
    /// What it sends.
    pub spec: InterfererSpec,
}

/// When a stronger frame takes a receiver from a weaker one that came before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capture {
    /// How long after the first frame's start the second may come. ns-3: 16 µs, the training fields of OFDM.
    pub window: Duration,
    /// By how much the second must be stronger, dB; none: never. ns-3: 5 dB.
    pub margin_db: Option<f64>,
    /// The same for a second frame that comes after the window; none: never. Lee et al. (WiNTECH 2007) saw it on
    /// Atheros cards from about 10 dB on.
    pub late_margin_db: Option<f64>,
}

impl Default for Capture {
    fn default() -> Capture {
        Capture { window: Duration::from_micros(16), margin_db: Some(5.0), late_margin_db: None }
    }
}

/// Parameters of an access category (802.11-2020, table 9-155).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdcaParams {
    /// Slots after SIFS, at least 1.
    pub aifsn: u8,
    /// Least contention window; one less than a power of two.
    pub cw_min: u16,
    /// Largest contention window; one less than a power of two.
    pub cw_max: u16,
    /// How long a transmit opportunity may last; zero: one exchange.
    pub txop: Duration,
}

impl EdcaParams {
    /// The defaults of an OFDM PHY by category, least urgent first. Best effort has no TXOP limit, as in ns-3 and Linux
    /// (the standard's table says 2.528 ms).
    pub fn defaults(timing: &Timing) -> [EdcaParams; 4] {
        let (min, max) = (timing.cw_min, timing.cw_max);
        let us = Duration::from_micros;
        // 11b-only cells have longer opportunities (dot11PHYType DSSS), their slots being longer.
        let (video, voice) = if min > 15 { (6016, 3264) } else { (4096, 2080) };
        [
            EdcaParams { aifsn: 7, cw_min: min, cw_max: max, txop: Duration::ZERO },
            EdcaParams { aifsn: 3, cw_min: min, cw_max: max, txop: Duration::ZERO },
            EdcaParams { aifsn: 2, cw_min: min.div_ceil(2) - 1, cw_max: min, txop: us(video) },
            EdcaParams {
                aifsn: 2,
                cw_min: min.div_ceil(4) - 1,
                cw_max: min.div_ceil(2) - 1,
                txop: us(voice),
            },
        ]
    }

    /// Legacy access (DCF, 10.3): every category waits DIFS and has the PHY's window.
    pub fn dcf(timing: &Timing) -> [EdcaParams; 4] {
        [EdcaParams { aifsn: 2, cw_min: timing.cw_min, cw_max: timing.cw_max, txop: Duration::ZERO }; 4]
    }
}

/// Bounds of aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// Most bytes of an A-MPDU; 0: no A-MPDU, and plain ACKs. What the format allows bounds it too (65 535 for HT, 1 048
    /// 575 for VHT, 262 143 for DMG).
    pub ampdu_bytes: u32,
    /// Most MPDUs of an A-MPDU, 1 to 64: the Block Ack window.
    pub ampdu_mpdus: u8,
    /// Longest PPDU of an A-MPDU. The standard's limit of 5.484 ms holds in any case; ath9k takes 4 ms.
    pub ppdu: Duration,
    /// Most bytes of an A-MSDU's frame body; 0: no A-MSDU. The standard has 3839 and 7935 for HT, 11 398 for VHT; under
    /// HT Block Ack an MPDU has at most 4095 bytes in any case.
    pub amsdu_bytes: u32,
}

impl Aggregation {
    /// None at all.
    pub const OFF: Aggregation =
        Aggregation { ampdu_bytes: 0, ampdu_mpdus: 64, ppdu: Duration::from_micros(5484), amsdu_bytes: 0 };

    /// A-MPDUs as large as the standard allows; no A-MSDU.
    pub const AMPDU: Aggregation = Aggregation { ampdu_bytes: 1_048_575, ..Aggregation::OFF };
}

/// How packets wait for the air: per station and access category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WifiQueue {
    /// Most packets per station and category, or per category with [`Discipline::Fifo`]. A usual access point holds 500.
    pub station_packets: usize,
    /// Most packets of an interface, all its stations together.
    pub iface_packets: usize,
    /// How long a packet may wait before it expires; 500 ms in ns-3 and many drivers.
    pub lifetime: Duration,
    /// What a station's queue does besides being limited.
    pub discipline: Discipline,
}

impl Default for WifiQueue {
    fn default() -> WifiQueue {
        WifiQueue {
            station_packets: 500,
            iface_packets: 4096,
            lifetime: Duration::from_millis(500),
            discipline: Discipline::TailDrop,
        }
    }
}

/// Who chooses rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateControlSpec {
    /// Always this rate.
    Fixed(Rate),
    /// One of two rates in each step of time.
    Drawn(Draw),
    /// The best rate for the SNR at the receiver, which it is told.
    Ideal,
    /// Linux's for 802.11a, b and g.
    Minstrel,
    /// Linux's for 802.11n and ac; towards legacy stations it is [`Minstrel`](Self::Minstrel), as in Linux.
    MinstrelHt,
    /// The fastest rate that hardly ever fails, whatever airtime that costs: the multi-AP paper's bad case.
    PacketFair,
}

/// A radio: one transceiver, with the MAC queues behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct RadioSpec {
    /// What it implements.
    pub standard: Standard,
    /// Where it works.
    pub channel: Channel,
    /// Metres.
    pub position: [f64; 3],
    /// Transmit power, dBm.
    pub tx_power_dbm: f64,
    /// Noise figure of its receiver, dB.
    pub noise_figure_db: f64,
    /// The weakest preamble that it notices, dBm (CCA sensitivity, 17.3.10.6: −82).
    pub preamble_min_dbm: f64,
    /// … and the least SINR that it needs for that, dB (ns-3's threshold: 4).
    pub preamble_min_snr_db: f64,
    /// Energy above which the primary channel is busy whatever it is, dBm (17.3.10.6: −62).
    pub energy_detection_dbm: f64,
    /// Energy above which a secondary channel is busy, dBm (21.3.18.5.4: −72 in VHT, −62 in HT; one value here).
    pub secondary_detection_dbm: f64,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Length of its slots in 2.4 GHz.
    pub slots: SlotLength,
    /// Whether it uses the short guard interval.
    pub short_guard_interval: bool,
    /// Who chooses its rates.
    pub rate_control: RateControlSpec,
    /// The rate of RTS and Block Ack requests; none: the highest basic rate not above the data's (10.6.6.5.2). Answers follow that rule in any case.
    pub control_rate: Option<Rate>,
    /// Frames with an MPDU (or A-MPDU) longer than this many bytes are protected by RTS and CTS; none: never.
    pub rts_threshold: Option<u32>,
    /// Transmissions of a frame before it is given up, at least 1. A Block Ack request is repeated until it is answered or
    /// what it asks about has expired.
    pub retry_limit: u8,
    /// How long after a frame its answer must have begun; none: SIFS, a slot, and the time in which a reception is noticed
    /// (10.3.2.11). Drivers lengthen it for links of kilometres (coverage class).
    pub answer_timeout: Option<Duration>,
    /// How often it looks, at most, what has come of an aggregate (receive interrupt coalescing, `rx-usecs` of ethtool): MPDUs are handed on then,
    /// and at the aggregate's end.
    pub rx_coalescing: Duration,
    /// Contention parameters by category, least urgent first; none: the standard's.
    pub edca: Option<[EdcaParams; 4]>,
    /// Aggregates; only 802.11n and later have them.
    pub aggregation: Aggregation,
    /// Queues.
    pub queue: WifiQueue,
    /// Packets that its driver keeps in the hardware towards one interface: what [`Air::room`](super::Air::room) counts
    /// down from.
    pub hardware_queue: u16,
    /// Whether it reports every frame that it decodes.
    pub monitor: bool,
    /// How long it is deaf when it changes channels.
    pub switch_time: Duration,
    /// Its sectors; none: it sends and hears alike in all directions. Losses that are told pair by pair have antennas in them.
    pub antenna: Option<SectorAntenna>,
}

impl RadioSpec {
    /// A radio with the standard's constants and one stream, at the lowest MCS or legacy rate but one that every channel carries.
    pub fn new(standard: Standard, channel: Channel) -> RadioSpec {
        let has_aggregation = standard.has_aggregation();
        RadioSpec {
            standard,
            channel,
            position: [0.0; 3],
            tx_power_dbm: 16.0,
            noise_figure_db: decibel::NOISE_FIGURE_DB,
            preamble_min_dbm: if standard == Standard::Ad { -78.0 } else { -82.0 },
            preamble_min_snr_db: super::phy::PREAMBLE_MIN_SNR_DB,
            energy_detection_dbm: if standard == Standard::Ad { -48.0 } else { -62.0 },
            secondary_detection_dbm: if standard == Standard::Ac { -72.0 } else { -62.0 },
            streams: 1,
            slots: SlotLength::Short,
            short_guard_interval: false,
            rate_control: RateControlSpec::Ideal,
            control_rate: None,
            rts_threshold: None,
            retry_limit: 7,
            answer_timeout: None,
            rx_coalescing: Duration::from_micros(100),
            edca: None,
            aggregation: if has_aggregation { Aggregation::AMPDU } else { Aggregation::OFF },
            queue: WifiQueue::default(),
            hardware_queue: 128,
            monitor: false,
            switch_time: Duration::from_millis(5),
            antenna: None,
        }
    }

    /// Every rate that it can send at in its channel: legacy ones first.
    pub fn rates(&self) -> Vec<Rate> {
        let mut rates = super::phy::legacy_rates(self.standard, self.channel.band());
        let mcs = |standard| super::phy::mcs_rates(standard, self.channel.width(), self.streams, true);
        rates.extend(mcs(self.standard));
        if self.standard == Standard::Ac {
            rates.extend(mcs(Standard::N));
        }
        rates
    }

    /// Its slots and interframe spaces.
    pub fn timing(&self) -> Timing {
        Timing::new(self.standard, self.channel.band(), self.slots)
    }

    /// Its contention parameters, least urgent category first.
    pub fn edca_params(&self) -> [EdcaParams; 4] {
        let timing = self.timing();
        let qos = self.standard.has_aggregation();
        let standard = if qos { EdcaParams::defaults(&timing) } else { EdcaParams::dcf(&timing) };
        self.edca.unwrap_or(standard)
    }
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfaceSpec {
    /// Its radio.
    pub radio: RadioId,
    /// Its address: unique, and not a group.
    pub mac: Mac,
    /// What it is.
    pub mode: Mode,
}

/// What an interface is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// An access point.
    AccessPoint(ApSpec),
    /// A station.
    Station(StationSpec),
    /// It speaks with every other mesh interface of the same name, without association: what a mesh link gives, or an ad-hoc
    /// network. It sends no beacons.
    Mesh {
        /// Name of the mesh.
        id: String,
    },
}

/// An access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApSpec {
    /// Name of its network.
    pub ssid: String,
    /// From beacon to beacon, in time units of 1024 µs; 100 is usual. 0: it sends none.
    pub beacon_interval_tu: u16,
    /// Every so many beacons group frames follow that were held back for dozing stations.
    pub dtim_period: u8,
}

impl Default for ApSpec {
    fn default() -> ApSpec {
        ApSpec { ssid: String::from("air"), beacon_interval_tu: 100, dtim_period: 1 }
    }
}

/// A station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationSpec {
    /// Name of the network it belongs to.
    pub ssid: String,
    /// What it does at the start.
    pub start: StationStart,
    /// So many beacons missed in a row, and it gives its access point up.
    pub beacon_loss: u8,
    /// Whether each beacon that it hears is reported, whosever: many outputs.
    pub report_beacons: bool,
}

impl Default for StationSpec {
    fn default() -> StationSpec {
        StationSpec {
            ssid: String::from("air"),
            start: StationStart::Scan,
            beacon_loss: 7,
            report_beacons: false,
        }
    }
}

/// What a station does at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationStart {
    /// It is associated with this access point already, without a frame.
    Associated(Mac),
    /// It looks for an access point and joins, as [`Command::Associate`](super::Command::Associate) says.
    Scan,
    /// Nothing, until told.
    Idle,
}
