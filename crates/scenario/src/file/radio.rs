//! A radio: its standard, channel and settings, as a driver would be told them.

use crate::field::{Absent, Field, Form, KeyForm, Reader};
use crate::tree::{Node, Origin, Table, Value};
use crate::units::{Bytes, Db, Dbm, Share};
use crate::{choice, section};
use indexmap::IndexMap;
use std::time::Duration;

choice! {
    /// An amendment of IEEE 802.11.
    pub enum Standard {
        /// DSSS and CCK in 2.4 GHz.
        B = "11b",
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
    /// How long the slots of 2.4 GHz are.
    pub enum Slot {
        /// 9 µs.
        Short = "short",
        /// 20 µs, which a cell has as long as one of its stations knows only 11b.
        Long = "long",
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
    /// One of two rates in each step of time, as a log of rates has it.
    Drawn {
        /// The rate of most steps, as of [`Fixed`](Self::Fixed).
        usual: String,
        /// The rate of the others.
        other: String,
        /// Their share.
        share: Share,
        /// How long a step lasts.
        step: Duration,
    },
    /// Data as another one says, and control frames at a rate that is told.
    WithControl {
        /// Who chooses for data.
        data: Box<RateControl>,
        /// The rate of RTS and Block Ack requests: `"24Mbit/s"`.
        control: String,
    },
}

impl RateControl {
    /// Who chooses the rate of data frames.
    pub fn data(&self) -> &RateControl {
        match self {
            RateControl::WithControl { data, .. } => data,
            other => other,
        }
    }

    /// The rate of control frames, if it is told.
    pub fn control(&self) -> Option<&String> {
        match self {
            RateControl::WithControl { control, .. } => Some(control),
            _ => None,
        }
    }

    /// The keys of a table, without `control`.
    fn read_data((table, origin): (&Table, &Origin), reader: &mut Reader) -> Option<RateControl> {
        let here = (table, origin);
        let known =
            |more: &[&str]| more.iter().chain(&[CONTROL]).map(|k| (*k).to_owned()).collect::<Vec<_>>();
        if table.contains_key(ALGORITHM) {
            reader.refuse_unknown(table, &known(&[ALGORITHM]));
            return reader.key(here, ALGORITHM, || None).map(RateControl::Named);
        }
        if !DRAWN.iter().any(|key| table.contains_key(*key)) {
            reader.refuse_unknown(table, &known(&["fixed"]));
            return reader.key(here, "fixed", || None).map(RateControl::Fixed);
        }
        reader.refuse_unknown(table, &known(&DRAWN));
        let (usual, other) = (reader.key(here, "usual", || None), reader.key(here, "other", || None));
        let (share, step) = (reader.key(here, "share", || None), reader.key(here, "step", || Some(STEP)));
        Some(RateControl::Drawn { usual: usual?, other: other?, share: share?, step: step? })
    }
}

const CONTROL: &str = "control";
const ALGORITHM: &str = "algorithm";
/// Keys of [`RateControl::Drawn`].
const DRAWN: [&str; 4] = ["usual", "other", "share", "step"];
/// The step of a wil6210 log (the dual-band poster, section 2.1).
const STEP: Duration = Duration::from_millis(150);

impl Field for RateControl {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Value::Table(table) = &node.value else {
            return NamedRateControl::read(node, reader).map(RateControl::Named);
        };
        let here = (table, &node.origin);
        let control: Option<String> = reader.key(here, CONTROL, || Some(None))?;
        let data = RateControl::read_data(here, reader)?;
        Some(match control {
            Some(control) => RateControl::WithControl { data: Box::new(data), control },
            None => data,
        })
    }
    fn write(&self) -> Option<toml::Value> {
        match self {
            RateControl::Named(named) => named.write(),
            RateControl::Fixed(rate) => {
                Some(toml::Value::Table([("fixed".to_owned(), rate.clone().into())].into_iter().collect()))
            }
            RateControl::Drawn { usual, other, share, step } => {
                let values = [usual.write()?, other.write()?, share.write()?, step.write()?];
                let keys = DRAWN.iter().map(|key| (*key).to_owned());
                Some(toml::Value::Table(keys.zip(values).collect()))
            }
            RateControl::WithControl { data, control } => {
                let mut table = match data.write()? {
                    toml::Value::Table(table) => table,
                    named => [(ALGORITHM.to_owned(), named)].into_iter().collect(),
                };
                table.insert(CONTROL.to_owned(), control.clone().into());
                Some(toml::Value::Table(table))
            }
        }
    }
    fn form() -> Form {
        let key = |name: &str, doc: &str, form, absent| KeyForm {
            name: name.into(),
            doc: doc.into(),
            form,
            absent,
        };
        let doc = "The rate of the control frames that it begins with, RTS and Block Ack requests: one of 11a, such as `\"6Mbit/s\"`, or of 11b \
                   with 11b; not with 11ad. If not said, 802.11's rule (10.6.6.5.2): the highest of 6, 12 and 24 Mbit/s (1, 2, 5.5 and 11 in \
                   11b) that is not above the data's. Answers (CTS, ACK, Block Ack) go by that rule in any case.";
        let control = || key(CONTROL, doc, Form::one("a rate"), Absent::Nothing);
        let fixed = "`\"54Mbit/s\"` with 11a, 11b and 11g, `\"MCS7\"` with 11n, 11ac and 11ad.";
        let keys = vec![key("fixed", fixed, Form::one("a rate"), Absent::Refused), control()];
        let table = Form::Section { doc: "Always this rate: `{ fixed = \"MCS7\" }`.".into(), keys };
        let keys = vec![
            key(ALGORITHM, "One of those by name.", NamedRateControl::form(), Absent::Refused),
            control(),
        ];
        let doc = "An algorithm, and the rate of control frames: `{ algorithm = \"minstrel-ht\", control = \"6Mbit/s\" }`.";
        let algorithm = Form::Section { doc: doc.into(), keys };
        let keys = vec![
            key("usual", "The rate of most steps.", Form::one("a rate"), Absent::Refused),
            key("other", "The rate of the others.", Form::one("a rate"), Absent::Refused),
            key("share", "The share of steps with the other rate.", Share::form(), Absent::Refused),
            key("step", "How long a step lasts.", Duration::form(), Absent::Default("150ms".into())),
            control(),
        ];
        let doc = "What a log of rates has: in each step of time one of two, drawn by itself. \
                   `{ usual = \"MCS6\", other = \"MCS7\", share = \"11%\" }`.";
        let drawn = Form::Section { doc: doc.into(), keys };
        let tables = Form::Either(Box::new(table), Box::new(drawn));
        let tables = Form::Either(Box::new(tables), Box::new(algorithm));
        Form::Either(Box::new(NamedRateControl::form()), Box::new(tables))
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

choice! {
    /// How packets wait for a station.
    pub enum RadioDiscipline {
        /// First in, first out; what does not fit is dropped.
        TailDrop = "tail-drop",
        /// Flows take turns, each under CoDel, which marks what can be marked, as Linux's mac80211 has it since 4.11.
        FqCodel = "fq-codel",
        /// As `fq-codel`, and stations take turns by the airtime that was spent on them: a station that has used up its 256 µs waits until the others
        /// have had theirs. Linux's mac80211 with drivers that report airtime, since 5.1.
        AirtimeFair = "airtime-fair",
        /// One line for all stations of a priority, `packets` long, those on the air included, as in ns-3: whose oldest packet came first has its turn.
        Fifo = "fifo",
    }
}

section! {
    /// What waits for a radio.
    pub struct RadioQueue {
        /// Most packets that wait for one station in one priority; with `fifo`, for all stations in one priority. 500 is what access points commonly hold.
        packets: u32 = 500,
        /// Most packets that wait for one interface, for all its stations together. Linux's mac80211 holds as many.
        total: u32 = 4096,
        /// A packet that has waited longer is thrown away; 500 ms in ns-3 and many drivers. If not said, none is, as in Linux's mac80211.
        lifetime: Option<Duration>,
        /// How packets wait, and which station has its turn. Linux: `airtime-fair`; ns-3: `fifo`.
        kind: RadioDiscipline = RadioDiscipline::TailDrop,
    }
}

section! {
    /// Aggregates; 11n, 11ac and 11ad only.
    pub struct Aggregation {
        /// Most bytes of an A-MPDU; `"0B"` switches A-MPDUs off. If not said, all that the standard allows: 65535 with 11n, 1048575 with 11ac,
        /// 262143 with 11ad.
        ampdu: Option<Bytes>,
        /// Most frames in an A-MPDU, 1 to 64: the Block Ack window.
        frames: u8 = 64,
        /// Longest time of an A-MPDU on the air. The standard's limit; ath9k takes 4 ms.
        time: Duration = Duration::from_micros(5484),
        /// Most bytes of an A-MSDU. 0, because Linux drivers seldom send any.
        amsdu: Bytes = Bytes(0),
    }
}

section! {
    /// An antenna of equal sectors around the full circle, one used at a time: radios look at each other with the sectors that point
    /// there best. Its beam is 360°/sectors wide between half-power points, and its gain follows from that (the Gaussian pattern of IEEE
    /// 15-06-0474-00-003c: 12 sectors have 30° and 15.9 dBi). Two radios with sectors that lose each other, because one moved or
    /// something came between, carry nothing for the time of a sector sweep, which follows from both numbers of sectors (802.11-2020,
    /// 10.42.2). Losses given by `medium.loss` have the antennas in them.
    pub struct Antenna {
        /// Number of sectors, 1 to 64. 1: alike in all directions.
        sectors: u8 = 1,
        /// Where the first sector points: degrees in the plane, anticlockwise from the first coordinate's axis, -360 to 360.
        direction: f64 = 0.0,
    }
}

section! {
    /// A radio.
    pub struct Radio {
        /// Its standard.
        standard: Standard,
        /// The primary channel's number: 1 to 13 in 2.4 GHz, 36 to 177 in 5 GHz, 1 to 6 in 60 GHz.
        channel: u16,
        /// MHz: 20; 40 from 11n on; 80 with 11ac; always 2160 with 11ad. If not said, 20, or 2160 with 11ad.
        width: Option<u16>,
        /// 40 MHz in 2.4 GHz only: where the second half of the channel lies. In 5 GHz the channel's number says it. If not said, above for
        /// channels up to 7.
        secondary: Option<Secondary>,
        /// Spatial streams, 1 to 4; 11n and 11ac only.
        streams: u8 = 1,
        /// Its slots in 2.4 GHz; all of a cell should have the same. 11b has long ones whatever this says.
        slot: Slot = Slot::Short,
        /// The pause between symbols. Long, which every station understands.
        guard_interval: GuardInterval = GuardInterval::Long,
        /// What it sends with. 16 dBm is a usual laptop and ns-3's default.
        tx_power: Dbm = Dbm(16.0),
        /// How much noise its receiver adds. ns-3's default.
        noise_figure: Db = Db(7.0),
        /// A preamble weaker than this is not noticed. If not said, -82 dBm, or -78 dBm with 11ad: the standard's sensitivity.
        preamble_detection: Option<Dbm>,
        /// A preamble that is not so far above noise and interference together is not noticed; ns-3's default. `"-100dB"`: every one is.
        preamble_sinr: Db = Db(4.0),
        /// Energy above this makes the channel busy, whatever it is. If not said, -62 dBm, or -48 dBm with 11ad.
        energy_detection: Option<Dbm>,
        /// Which rate a frame is sent at. What Linux does, because it is what most radios do.
        rate_control: RateControl = RateControl::Named(NamedRateControl::MinstrelHt),
        /// Frames and aggregates of more bytes than this ask first (RTS/CTS). If not said, none does. `"0B"`: all do.
        rts_threshold: Option<Bytes>,
        /// How often a frame is sent before it is given up. If not said, 7, the usual limit of the MAC, or 14 where a bond has it send RTS (`rts`).
        retry_limit: Option<u8>,
        /// How long it waits after a frame until the answer counts as missing. If not said, as in 10.3.2.11: SIFS, a slot, and the time of
        /// the answer's preamble.
        answer_timeout: Option<Duration>,
        /// How often it hands on, at most, what has come of an aggregate (receive interrupt coalescing, ethtool's `rx-usecs`). Longer than an
        /// aggregate: at its end. 100us, a usual setting.
        rx_coalescing: Duration = Duration::from_micros(100),
        /// Its antenna; 11ad only if it has sectors.
        antenna: Antenna,
        /// Its aggregates.
        aggregation: Aggregation,
        /// What waits for it.
        queue: RadioQueue,
        /// How its priorities contend, by `background`, `best-effort`, `video`, `voice`.
        edca: IndexMap<String, Edca>,
        /// How long it is deaf when it changes channels. 5 ms is a usual card.
        switch_time: Duration = Duration::from_millis(5),
        /// With `medium.model = "weighted-fair"` only: how long each packet that it sends takes of the medium, whatever its length. If not
        /// said, 500 µs for an access point (the paper's perfect 22 Mb/s), and no time for a station: in the paper only access points send.
        packet_time: Option<Duration>,
        /// With `medium.model = "weighted-fair"` only: how often it wins when others of its channel wait too, 1 to 1024, counted in
        /// packets. The paper takes 1, 2, 4, 8 and 16.
        weight: u32 = 1,
        /// It reports every frame that it can decode, whoever it is for.
        monitor: bool = false,
    }
}
