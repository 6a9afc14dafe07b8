//! A cable, and whatever else behaves like one.

use crate::field::{Absent, Field, Form, KeyForm, Reader};
use crate::tree::{Node, Value};
use crate::units::{BitRate, Bytes, Share};
use crate::{choice, section};
use std::time::Duration;

section! {
    /// A cable between two machines, or a whole path through the internet. Both directions are alike but for `forward` and `back`.
    pub struct Link {
        /// What to call it. If not said, its ends: `a:eth0-b:eth0`.
        name: Option<String>,
        /// Its two ends as `node:interface`. Interfaces that no `interface` table declares are made.
        ends: Vec<String>,
        /// How fast packets leave. If not said, at once.
        rate: Option<BitRate>,
        /// Instead of `rate`: a file of recorded rates in Mahimahi's format, relative to this file.
        trace: Option<String>,
        /// From the last bit sent to arrival, one way.
        delay: Duration = Duration::ZERO,
        /// Standard deviation of the delay; order is kept.
        jitter: Duration = Duration::ZERO,
        /// The delay wanders, with a new draw each so often. 0: a draw for each packet.
        jitter_coherence: Duration = Duration::ZERO,
        /// Packets that get lost on the way.
        loss: Option<Loss>,
        /// Share of packets that arrive with a wrong bit. Whoever they are for throws them away by their checksum.
        corruption: Share = Share(0.0),
        /// Share of packets that arrive twice.
        duplication: Share = Share(0.0),
        /// Bytes that `rate` counts for each packet on top of its IP length; 38 is Ethernet. 0, so that a rate is a rate of IP packets.
        overhead: Bytes = Bytes(0),
        /// Longer packets vanish without a word.
        mtu_blackhole: Option<Bytes>,
        /// What waits for the rate.
        queue: LinkQueue,
        /// It works at the start.
        up: bool = true,
        /// What is different from the first end to the second.
        forward: OneWay,
        /// What is different from the second end to the first.
        back: OneWay,
    }
}

section! {
    /// One direction, where it differs from the link's own keys.
    pub struct OneWay {
        /// As of the link.
        rate: Option<BitRate>,
        /// As of the link.
        trace: Option<String>,
        /// As of the link.
        delay: Option<Duration>,
        /// As of the link.
        jitter: Option<Duration>,
        /// As of the link.
        loss: Option<Loss>,
        /// As of the link.
        queue: Option<LinkQueue>,
    }
}

/// Packets that get lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each by itself.
    Random(Share),
    /// In whole bursts.
    Bursts {
        /// Of all packets.
        share: Share,
        /// Mean number of packets lost in a row, at least 1.
        length: f64,
    },
}

impl Field for Loss {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Value::Table(table) = &node.value else { return Share::read(node, reader).map(Loss::Random) };
        reader.refuse_unknown(table, &["share".to_owned(), "length".to_owned()]);
        let here = (table, &node.origin);
        let share = reader.key(here, "share", || None);
        let length = reader.key(here, "length", || None);
        let (share, length): (Share, f64) = (share?, length?);
        if length < 1.0 || share.0 >= 1.0 {
            return reader.fail(&node.origin, "bursts need a length of at least 1 and a share below 100%");
        }
        Some(Loss::Bursts { share, length })
    }
    fn write(&self) -> Option<toml::Value> {
        match self {
            Loss::Random(share) => share.write(),
            Loss::Bursts { share, length } => Some(toml::Value::Table(
                [("share".to_owned(), share.write()?), ("length".to_owned(), (*length).into())]
                    .into_iter()
                    .collect(),
            )),
        }
    }
    fn form() -> Form {
        let key = |name: &str, doc: &str, form| KeyForm {
            name: name.into(),
            doc: doc.into(),
            form,
            absent: Absent::Refused,
        };
        let keys = vec![
            key("share", "Of all packets.", Share::form()),
            key("length", "Mean number of packets lost in a row, at least 1.", f64::form()),
        ];
        let doc = "Whole bursts of lost packets: `{ share = \"1%\", length = 8.0 }`.".into();
        Form::Either(Box::new(Share::form()), Box::new(Form::Section { doc, keys }))
    }
}

choice! {
    /// How packets wait.
    pub enum Discipline {
        /// First in, first out; what does not fit is dropped.
        TailDrop = "tail-drop",
        /// One line under CoDel (RFC 8289).
        Codel = "codel",
        /// Flows take turns, each under CoDel (RFC 8290).
        FqCodel = "fq-codel",
        /// Four classes: bare acknowledgements and voice first, then video, then the rest, then the
        /// background (CS1; tunnels of a bunch's neighbours are it), which has 500 kbit/s at least.
        /// The simulator alone.
        Classes = "classes",
    }
}

section! {
    /// What waits for the rate of a link.
    pub struct LinkQueue {
        /// How. Tail drop, as most home routers and modems have it.
        kind: Discipline = Discipline::TailDrop,
        /// The most that waits: a time, bytes, or packets. If not said, `"100ms"` of the rate yet at least 64 KiB with tail drop, 1000
        /// packets with CoDel, 10240 with FQ-CoDel.
        limit: Option<QueueLimit>,
        /// CoDel: the wait that is acceptable.
        target: Duration = Duration::from_millis(5),
        /// CoDel: the longest round trip expected.
        interval: Duration = Duration::from_millis(100),
        /// CoDel: mark packets that can be marked instead of dropping them.
        ecn: bool = false,
    }
}

/// The most that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// What the rate carries in this time.
    Time(Duration),
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets.
    Packets(u32),
}

impl Field for QueueLimit {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Whole(_) = node.value {
            return u32::read(node, reader).map(QueueLimit::Packets);
        }
        let is_size = matches!(&node.value, Value::Text(text) if text.ends_with('B'));
        if is_size {
            return Bytes::read(node, reader).map(QueueLimit::Bytes);
        }
        Duration::read(node, reader).map(QueueLimit::Time)
    }
    fn write(&self) -> Option<toml::Value> {
        match self {
            QueueLimit::Time(time) => time.write(),
            QueueLimit::Bytes(bytes) => bytes.write(),
            QueueLimit::Packets(n) => n.write(),
        }
    }
    fn form() -> Form {
        Form::one("a time such as `\"100ms\"`, an amount of data such as `\"64KiB\"`, or a number of packets")
    }
}
