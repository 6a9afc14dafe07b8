//! What goes into the air and what comes out of it: identifiers, packets, commands, outputs.

use core::fmt;
use core::time::Duration;

use super::phy::{Channel, Rate};
use super::spec::SpecError;
use crate::Time;

/// A radio, by the order in [`AirSpec::radios`](super::AirSpec::radios).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RadioId(pub u16);

/// An interface, by the order in [`AirSpec::ifaces`](super::AirSpec::ifaces).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IfaceId(pub u16);

/// A 48-bit MAC address, first octet on the air first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everybody.
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// A locally administered unicast address that ends in `n` (802-2014, 8.4).
    pub const fn local(n: u32) -> Mac {
        let b = n.to_be_bytes();
        Mac([0x02, 0, b[0], b[1], b[2], b[3]])
    }

    /// Whether it is a group address: broadcast or multicast.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An EDCA access category (802.11-2020, 10.2.3.2), least urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AccessCategory {
    /// AC_BK.
    Background = 0,
    /// AC_BE.
    #[default]
    BestEffort = 1,
    /// AC_VI.
    Video = 2,
    /// AC_VO.
    Voice = 3,
}

impl AccessCategory {
    /// All four, least urgent first.
    pub const ALL: [AccessCategory; 4] = [
        AccessCategory::Background,
        AccessCategory::BestEffort,
        AccessCategory::Video,
        AccessCategory::Voice,
    ];

    /// The category of a differentiated-services code point (RFC 8325, section 4.3; what it does not list is best effort).
    pub const fn from_dscp(dscp: u8) -> AccessCategory {
        match dscp {
            8 => AccessCategory::Background,
            24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => AccessCategory::Video,
            44 | 46 | 48 | 56 => AccessCategory::Voice,
            _ => AccessCategory::BestEffort,
        }
    }
}

/// A packet to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<T> {
    /// Length of the IP packet in bytes, 1 to 2304 − 8 (an MSDU's limit, 9.2.4.1, with LLC and SNAP).
    pub len_bytes: u32,
    /// Its access category.
    pub ac: AccessCategory,
    /// What its [`Completion`] will say.
    pub token: u64,
    /// Whether its sender understands congestion marks (ECT in RFC 3168).
    pub ecn_capable: bool,
    /// The flow, for queues that keep flows apart.
    pub flow: u64,
    /// What is carried.
    pub payload: T,
}

/// A change from outside. Each takes effect at the time given to [`Air::command`](super::Air::command).
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A station looks for an access point of its network on the radio's channel, by beacons, and joins the strongest.
    /// `bssid` names one instead. It keeps trying until it is told otherwise.
    Associate {
        /// The station.
        iface: IfaceId,
        /// The access point to join; none for any of the same SSID.
        bssid: Option<Mac>,
    },
    /// A station says good-bye (a deauthentication frame) and stays alone.
    Disassociate {
        /// The station.
        iface: IfaceId,
    },
    /// An access point announces a switch in `count` beacons and then moves, its stations with it if they heard
    /// (11.8.8). A radio with several access points moves as a whole: all announce.
    SwitchChannel {
        /// The access point.
        iface: IfaceId,
        /// Where to.
        channel: Channel,
        /// Beacons that announce it, at least 1.
        count: u8,
    },
    /// Retunes a radio at once, deaf for [`RadioSpec::switch_time`](super::RadioSpec::switch_time). Associations stay; a
    /// station counts no beacons as lost while it is away from its access point's channel.
    Tune {
        /// The radio.
        radio: RadioId,
        /// Where to.
        channel: Channel,
    },
    /// A station tells its access point that it dozes (a Null frame with the power management bit), or that it is
    /// back. While it dozes the access point buffers for it; see [`PowerSave`].
    PowerSave {
        /// The station.
        iface: IfaceId,
        /// What it does from now on.
        mode: PowerSave,
    },
    /// Moves a radio.
    Move {
        /// The radio.
        radio: RadioId,
        /// Metres.
        position: [f64; 3],
    },
    /// Sets a radio's transmit power.
    SetTxPower {
        /// The radio.
        radio: RadioId,
        /// dBm.
        dbm: f64,
    },
    /// Sets the path loss between two radios, in both directions, whatever their positions say; none gives the model
    /// its word back.
    SetPathLoss {
        /// One end.
        a: RadioId,
        /// The other.
        b: RadioId,
        /// dB.
        loss_db: Option<f64>,
    },
    /// Something stands between two radios, or goes away again: a loss on top of all others, in both directions.
    SetBlockage {
        /// One end.
        a: RadioId,
        /// The other.
        b: RadioId,
        /// dB; 0: nothing.
        loss_db: f64,
    },
    /// Switches a radio on or off. Off, it neither sends nor hears, what waits is dropped, and its associations are gone; on
    /// again, its stations that had been told to seek an access point do so.
    SetRadioUp {
        /// The radio.
        radio: RadioId,
        /// On.
        up: bool,
    },
    /// Switches an interferer on or off. Off, nobody hears it; on, one that was to start later starts now.
    SetInterferer {
        /// By the order in [`AirSpec::interferers`](super::AirSpec::interferers).
        interferer: u16,
        /// On.
        on: bool,
    },
    /// A radio reports every frame that it decodes from now on ([`Output::Captured`]), or no more.
    SetMonitor {
        /// The radio.
        radio: RadioId,
        /// Whether it does.
        on: bool,
    },
}

/// How a station saves power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerSave {
    /// Awake.
    Off,
    /// Asleep, but for beacons: if the traffic map names it, the station fetches what waits with PS-Polls (11.2.3.6).
    Doze,
    /// It is away, on another channel for instance, and fetches nothing until [`PowerSave::Off`].
    Away,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// There is no such radio.
    #[error("there is no radio {0}; radios are numbered from 0 in the order of the specification")]
    NoRadio(u16),
    /// There is no such interface.
    #[error("there is no interface {0}; interfaces are numbered from 0 in the order of the specification")]
    NoIface(u16),
    /// There is no such interferer.
    #[error("there is no interferer {0}; interferers are numbered from 0 in the order of the specification")]
    NoInterferer(u16),
    /// The command is for stations.
    #[error("interface {0} is not a station; only stations associate, leave and save power")]
    NotAStation(u16),
    /// The command is for access points.
    #[error("interface {0} is not an access point; only access points announce a channel switch")]
    NotAnAccessPoint(u16),
    /// The station is not associated.
    #[error("interface {0} is not associated; associate it first")]
    NotAssociated(u16),
    /// A value is out of range.
    #[error(transparent)]
    Value(#[from] SpecError),
}

/// Why a packet was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such interface.
    #[error("there is no interface {0}")]
    NoIface(u16),
    /// Too long, or empty.
    #[error("a packet of {0} bytes does not fit a frame; 1 to 2296 do")]
    Length(u32),
    /// Nobody has this address, or a station was asked to send to another than its access point, or the access point to
    /// somebody who is not associated.
    #[error(
        "{0} cannot be reached from here: a station sends to its access point, an access point to its stations"
    )]
    NoPeer(Mac),
    /// The interface only listens.
    #[error("interface {0} only monitors")]
    Monitor(u16),
}

/// What comes out of the air.
#[derive(Debug, Clone, PartialEq)]
pub enum Output<T> {
    /// A packet has arrived.
    Received(Received<T>),
    /// A packet that was to be sent is done with.
    Completion(Completion),
    /// A radio with a monitor decoded a frame.
    Captured(Box<CapturedFrame<T>>),
    /// Something happened to an interface.
    Event(Event),
}

/// A packet has arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Received<T> {
    /// When: at the end of the PPDU that completed it, or of the one that let it go in order.
    pub at: Time,
    /// Where.
    pub iface: IfaceId,
    /// The transmitter.
    pub from: Mac,
    /// The receiver's own address, or a group.
    pub to: Mac,
    /// Length of the IP packet in bytes.
    pub len_bytes: u32,
    /// The driver is to set Congestion Experienced (RFC 3168): a queue of the sender marked it.
    pub ecn_marked: bool,
    /// Received power of the last PPDU that carried it.
    pub signal_dbm: f64,
    /// Its rate.
    pub rate: Rate,
    /// What was carried.
    pub payload: T,
}

/// How the sending of a packet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Acknowledged; sent, if to a group.
    Delivered,
    /// Tried as often as allowed, without an acknowledgement.
    Failed,
    /// Waited too long in a queue.
    Expired,
    /// Dropped by a full or managed queue, or because its receiver left, or the radio was switched off.
    Dropped,
}

/// What a driver tells about a packet that it was given: one for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion {
    /// When.
    pub at: Time,
    /// The interface.
    pub iface: IfaceId,
    /// The receiver.
    pub to: Mac,
    /// From [`Packet::token`].
    pub token: u64,
    /// How it ended.
    pub status: Status,
    /// How often it was sent; 0 if it never left.
    pub attempts: u8,
    /// The rate of the last attempt; none if it never left.
    pub rate: Option<Rate>,
    /// Time on the air, all attempts: its part of the PPDUs by bytes, answers and interframe spaces not counted.
    pub airtime: Duration,
}

/// Something happened to an interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// A station has joined an access point; each side reports it.
    Associated {
        /// When.
        at: Time,
        /// The interface that reports.
        iface: IfaceId,
        /// The other side.
        peer: Mac,
    },
    /// They have parted, by a frame or by silence.
    Disassociated {
        /// When.
        at: Time,
        /// The interface that reports.
        iface: IfaceId,
        /// The other side.
        peer: Mac,
    },
    /// A station has missed so many beacons that it gives its access point up;
    /// [`Event::Disassociated`] follows.
    BeaconLost {
        /// When.
        at: Time,
        /// The station.
        iface: IfaceId,
        /// The access point.
        peer: Mac,
    },
    /// The radio of an interface has begun to work on another channel.
    ChannelSwitched {
        /// When it works again.
        at: Time,
        /// The interface.
        iface: IfaceId,
        /// The channel.
        channel: Channel,
    },
    /// A station's access point knows that it dozes or is awake.
    PowerSaveChanged {
        /// When.
        at: Time,
        /// The station.
        iface: IfaceId,
        /// Whether it dozes or is away.
        saving: bool,
    },
    /// A station heard a beacon of an access point, whichever.
    Beacon {
        /// When.
        at: Time,
        /// The station.
        iface: IfaceId,
        /// The access point.
        bssid: Mac,
        /// Received power, dBm.
        signal_dbm: f64,
    },
}

/// The type and subtype of a captured frame (802.11-2020, table 9-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameType {
    /// Data of a cell without QoS.
    Data,
    /// QoS Data.
    QosData,
    /// Null (no data).
    Null,
    /// Acknowledgement.
    Ack,
    /// Compressed Block Ack.
    BlockAck {
        /// Starting sequence number.
        start: u16,
        /// Received MPDUs, that of `start` in bit 0.
        bitmap: u64,
    },
    /// Block Ack request.
    BlockAckRequest {
        /// Starting sequence number.
        start: u16,
    },
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// The end of a transmit opportunity that was not used up.
    CfEnd,
    /// PS-Poll.
    PsPoll,
    /// Beacon.
    Beacon {
        /// Time between beacons, in time units of 1024 µs.
        interval_tu: u16,
    },
    /// Authentication.
    Authentication,
    /// Association request.
    AssociationRequest,
    /// Association response.
    AssociationResponse,
    /// Deauthentication.
    Deauthentication,
}

/// A frame (an MPDU) that a monitoring radio decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedFrame<T> {
    /// The end of its PPDU.
    pub at: Time,
    /// Who heard it.
    pub radio: RadioId,
    /// The channel of who heard it.
    pub channel: Channel,
    /// Rate of the PPDU.
    pub rate: Rate,
    /// Received power, dBm.
    pub signal_dbm: f64,
    /// Thermal noise of the receiver, dBm.
    pub noise_dbm: f64,
    /// Type and subtype.
    pub frame_type: FrameType,
    /// Receiver address.
    pub receiver: Mac,
    /// Transmitter address; ACK and CTS have none on the air, so none here.
    pub transmitter: Option<Mac>,
    /// BSSID, for data and management frames.
    pub bssid: Option<Mac>,
    /// Towards the access point (To DS).
    pub to_ds: bool,
    /// From the access point (From DS).
    pub from_ds: bool,
    /// The Retry bit.
    pub retry: bool,
    /// The power management bit.
    pub power_management: bool,
    /// The More Data bit.
    pub more_data: bool,
    /// Sequence number, 0 to 4095, of frames that have one.
    pub sequence: Option<u16>,
    /// Traffic identifier of QoS data.
    pub tid: Option<u8>,
    /// Duration field, µs.
    pub duration_us: u16,
    /// Length of the MPDU in bytes, header and FCS included.
    pub len_bytes: u32,
    /// The A-MPDU that it was in: a number that the subframes of one share, and whether it was the last in it.
    pub ampdu: Option<(u32, bool)>,
    /// The packets it carried: one, several in an A-MSDU, none in frames without data.
    pub payloads: Vec<T>,
}
