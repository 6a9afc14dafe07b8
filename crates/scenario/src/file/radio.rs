//! A radio: its standard, channel and settings, as a driver would be told them.

use crate::field::{Field, Form, Reader};
use crate::tree::{Node, Value};
use crate::units::{Bytes, Db, Dbm};
use crate::{choice, section};
use indexmap::IndexMap;
use std::time::Duration;

choice! {
    /// An amendment of IEEE 802.11.
    pub enum Standard {
        /// OFDM in 5 GHz.
        A = "11a",
        /// OFDM in 2.4 GHz.
        G = "11g",
        /// HT in 2.4 or 5 GHz.
        N = "11n",
        /// VHT in 5 GHz.
        Ac = "11ac",
        /// DMG in 60 GHz, single carrier.
        Ad = "11ad",
    }
}

choice! {
    /// Where the second half of a 40 MHz channel lies.
    pub enum Secondary {
        /// Above the primary.
        Above = "above",
        /// Below the primary.
        Below = "below",
    }
}

choice! {
    /// The pause between symbols.
    pub enum GuardInterval {
        /// 800 ns.
        Long = "long",
        /// 400 ns: 11n and 11ac only, a ninth faster.
        Short = "short",
    }
}

choice! {
    /// A rate control that needs no parameter.
    pub enum NamedRateControl {
        /// As Linux has it for 11n and 11ac; for 11a and 11g it is what Linux calls minstrel.
        MinstrelHt = "minstrel-ht",
        /// As Linux had it for 11a and 11g.
        Minstrel = "minstrel",
        /// Knows the signal, and takes the fastest rate that it carries.
        Ideal = "ideal",
        /// Tries so that every packet has its chance, whatever airtime that costs: the bad case of the multi-AP paper.
        PerPacketFair = "per-packet-fair",
    }
}

/// Which rate a frame is sent at.
#[derive(Clone, Debug, PartialEq)]
pub enum RateControl {
    /// One of the algorithms.
    Named(NamedRateControl),
    /// Always this one: `"54Mbit/s"` (11a, 11g) or `"MCS7"` (11n, 11ac, 11ad).
    Fixed(String),
}

impl Field for RateControl {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            return NamedRateControl::read(node, reader).map(RateControl::Named);
        };
        reader.refuse_unknown(table, &["fixed".to_owned()]);
        reader.key((table, &node.origin), "fixed", || None).map(RateControl::Fixed)
    }
    fn write(&self) -> Option<toml::Value> {
        match self {
            RateControl::Named(named) => named.write(),
            RateControl::Fixed(rate) => {
                Some(toml::Value::Table([("fixed".to_owned(), rate.clone().into())].into_iter().collect()))
            }
        }
    }
    fn form() -> Form {
        let fixed = Form::one("`{ fixed = \"MCS7\" }` or `{ fixed = \"54Mbit/s\" }` (always this rate)");
        Form::Either(Box::new(NamedRateControl::form()), Box::new(fixed))
    }
}

choice! {
    /// A priority of 802.11.
    pub enum AccessCategory {
        /// Background.
        Background = "background",
        /// Best effort: what is not told otherwise.
        BestEffort = "best-effort",
        /// Video.
        Video = "video",
        /// Voice.
        Voice = "voice",
    }
}

section! {
    /// How one priority contends. What is not said is as the standard has it (IEEE 802.11-2020, table 9-155).
    pub struct Edca {
        /// Slots to wait after SIFS before counting down.
        aifsn: Option<u8>,
        /// Least contention window: 2ⁿ−1 slots.
        cw_min: Option<u16>,
        /// Largest contention window: 2ⁿ−1 slots.
        cw_max: Option<u16>,
        /// How long one win lasts. 0: one exchange.
        txop: Option<Duration>,
    }
}

section! {
    /// What waits for a radio.
    pub struct RadioQueue {
        /// Most packets that wait, for each station and priority. 500 is what access points commonly hold.
        packets: u32 = 500,
        /// Most time that a packet waits; it is thrown away then. Without it packets wait for ever, as on most access points.
        lifetime: Option<Duration>,
        /// FQ-CoDel instead of one line with tail drop, as Linux's mac80211 does since 4.11.
        fq_codel: bool = false,
        /// Most packets that are handed to the hardware ahead of their turn. 64 covers an aggregate; a striper that wants to know
        /// quickly where a packet went keeps it small.
        hardware: u32 = 64,
    }
}

section! {
    /// A radio.
    pub struct Radio {
        /// Its standard.
        standard: Standard,
        /// The primary channel's number: 1 to 13 in 2.4 GHz, 36 to 165 in 5 GHz, 1 to 6 in 60 GHz.
        channel: u16,
        /// MHz: 20; 40 from 11n on; 80 with 11ac; always 2160 with 11ad. If not said, 20, or 2160 with 11ad.
        width: Option<u16>,
        /// 2.4 GHz only: where the second half of a 40 MHz channel lies. In 5 GHz the channel's number says it. If not said, above for
        /// channels up to 7.
        secondary: Option<Secondary>,
        /// Spatial streams, 1 to 4; 11n and 11ac only.
        streams: u8 = 1,
        /// The pause between symbols. Long, which every station understands.
        guard_interval: GuardInterval = GuardInterval::Long,
        /// What it sends with. 16 dBm is a usual laptop and ns-3's default.
        tx_power: Dbm = Dbm(16.0),
        /// Gain of its antenna towards everyone, for sending and for receiving. 0, as ns-3 has it.
        antenna_gain: Db = Db(0.0),
        /// How much noise its receiver adds.
        noise_figure: Db = Db(7.0),
        /// A preamble weaker than this is not noticed.
        preamble_detection: Dbm = Dbm(-82.0),
        /// Energy above this makes the channel busy, whatever it is.
        energy_detection: Dbm = Dbm(-62.0),
        /// Which rate a frame is sent at. What Linux does, because it is what most radios do.
        rate_control: RateControl = RateControl::Named(NamedRateControl::MinstrelHt),
        /// Frames longer than this ask first (RTS/CTS). If not said, none does. `"0B"`: all do.
        rts_threshold: Option<Bytes>,
        /// How often a frame is tried. 7, the usual limit of the MAC.
        retry_limit: u8 = 7,
        /// Most bytes in an A-MPDU; `"0B"` switches aggregation off. If not said, all that the standard allows: 65535 with 11n, 1048575
        /// with 11ac, 262143 with 11ad.
        ampdu: Option<Bytes>,
        /// Most bytes in an A-MSDU. 0, because Linux drivers seldom use it to send.
        amsdu: Bytes = Bytes(0),
        /// What waits for it.
        queue: RadioQueue,
        /// How its priorities contend, by `background`, `best-effort`, `video`, `voice`.
        edca: IndexMap<String, Edca>,
        /// It reports every frame that it can decode, whoever it is for.
        monitor: bool = false,
    }
}
