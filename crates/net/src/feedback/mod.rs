//! What a link says of itself: how long the queue in front of it is, what has become of the packets that were given to it, and how it hears its
//! neighbours.
//!
//! [`open`] tries the sources of an interface, the best first:
//!
//! | source | backlog | completions | stations | where |
//! |---|---|---|---|---|
//! | [`Source::Lab`] | per station and access category | each packet | yes | a radio of Ropewalk's lab; pushed |
//! | [`Source::Nl80211`] | per station, if the driver uses mac80211's queues | per station | yes | any Wi-Fi interface; asked for |
//! | [`Source::Qdisc`] | of the interface | what left the queue | no | any interface with a queueing discipline; asked for |
//!
//! A driver that reports completions to sockets (`SO_WIFI_STATUS`) can be counted besides, by socket: [`crate::udp::UdpSocket::count_completions`] and
//! [`Completions::over`]. Every source degrades with a sentence; where none is left [`open`] fails with all of them.
//!
//! Counters only grow within an epoch, so that an update that is lost costs nothing.

mod counter;
mod lab;
mod nl80211;
mod qdisc;
mod wifi_status;

pub use lab::socket_name;
pub(crate) use lab::{announce, open as open_lab};
pub use nl80211::Radio;
pub(crate) use nl80211::message::StationInfo;
pub(crate) use nl80211::{
    Nl80211, is_without_ht, read_any as read_any_nl80211, rts_threshold, set_rts_threshold, set_tries, tries,
};
pub(crate) use qdisc::read_any;
pub use wifi_status::{CompletionCounter, Completions};

use std::fmt;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use ropewalk_bond::feedback::LinkState;

/// Where feedback comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The socket of a radio in Ropewalk's lab.
    Lab,
    /// Completions that a Wi-Fi driver reports to a UDP socket, over another source.
    WifiStatus,
    /// Station statistics of mac80211 and of full-MAC drivers.
    Nl80211,
    /// Statistics of the interface's root queueing discipline.
    Qdisc,
}

impl Source {
    /// Its name in status, metrics and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Lab => "lab",
            Source::WifiStatus => "wifi-status",
            Source::Nl80211 => "nl80211",
            Source::Qdisc => "qdisc",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A source of feedback about one interface.
pub trait LinkFeedback: Send {
    /// Which it is.
    fn source(&self) -> Source;

    /// The newest figures. Never waits for more than the kernel's answer.
    ///
    /// # Errors
    /// The source is gone: open another.
    fn read(&mut self) -> Result<LinkReport, FeedbackError>;

    /// When it is worth to read again.
    fn events(&self) -> Events<'_>;
}

/// When it is worth to read again.
#[derive(Clone, Copy, Debug)]
pub enum Events<'s> {
    /// When this can be read.
    Readable(BorrowedFd<'s>),
    /// After so long.
    Every(Duration),
}

/// What a link says of itself. Everything that it sends is counted, whoever sends it, unless the source is [`Source::WifiStatus`]: then `delivered` and `failed`
/// are those of one socket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkReport {
    /// Another number than before: the counters have begun anew at zero.
    pub epoch: u32,
    /// Packets that the receiver acknowledged; of a queueing discipline, packets that left it.
    pub delivered: u64,
    /// Packets that will not be: given up, too old, or dropped by a queue.
    pub failed: u64,
    /// Repetitions on the air.
    pub retries: u64,
    /// Packets given to the link and not yet one of the above, as far as the source sees them.
    pub backlog_packets: u32,
    /// Their bytes; 0 if unknown.
    pub backlog_bytes: u64,
    /// Physical rate of the last transmission, or of the best known station, bit/s; 0 if unknown.
    pub tx_rate_bps: u64,
    /// The channel, where the link has one.
    pub channel: Option<Channel>,
    /// Neighbours, in the source's order.
    pub stations: Vec<Station>,
}

impl LinkReport {
    /// What the engine wants to know of it.
    pub fn state(&self) -> LinkState {
        LinkState {
            epoch: self.epoch,
            delivered: self.delivered,
            failed: self.failed,
            retries: self.retries,
            backlog_packets: self.backlog_packets,
            backlog_bytes: self.backlog_bytes,
            tx_rate_bps: self.tx_rate_bps,
        }
    }
}

/// A radio's channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Centre of the primary 20 MHz, MHz; 0 if unknown.
    pub frequency_mhz: u32,
    /// Width, MHz; 0 if unknown.
    pub width_mhz: u32,
    /// How long the radio was on it, and how long of that it was busy, since some time in the past.
    pub load: Option<Load>,
}

/// Time on a channel. The load over any span is the difference of `busy` over that of `observed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Time on the channel.
    pub observed: Duration,
    /// Of this, time in which it was busy, own transmissions included.
    pub busy: Duration,
}

impl Load {
    /// Share of time, 0 to 1, in which the channel was busy since `earlier`; none if no time has passed.
    pub fn since(&self, earlier: &Load) -> Option<f64> {
        let observed = self.observed.checked_sub(earlier.observed).filter(|d| !d.is_zero())?;
        let busy = self.busy.checked_sub(earlier.busy)?;
        Some((busy.as_secs_f64() / observed.as_secs_f64()).min(1.0))
    }
}

/// A neighbour: the access point of a station, or a station of an access point. What a source does not know is 0, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Station {
    /// Its address; the broadcast address stands for packets to groups.
    pub mac: [u8; 6],
    /// Received power of its last frame, dBm.
    pub signal_dbm: Option<f64>,
    /// Rate of what was last sent to it, bit/s.
    pub tx_rate_bps: u64,
    /// Rate of what was last received from it, bit/s.
    pub rx_rate_bps: u64,
    /// What the driver believes that it could carry, bit/s.
    pub expected_bps: u64,
    /// Since it was last heard.
    pub inactive: Option<Duration>,
    /// Packets to it that were acknowledged, and their bytes.
    pub delivered: u64,
    /// Bytes of the same.
    pub delivered_bytes: u64,
    /// Packets to it that were given up, grew too old or were dropped.
    pub failed: u64,
    /// Repetitions to it.
    pub retries: u64,
    /// Packets from it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that wait for it, by access category: background, best effort, video, voice.
    pub backlog_packets: [u32; 4],
    /// Bytes that wait for it.
    pub backlog_bytes: u64,
    /// Time on the air of what was sent to it.
    pub airtime_tx: Option<Duration>,
    /// Time on the air of what was received from it.
    pub airtime_rx: Option<Duration>,
}

impl Station {
    /// What the engine wants to know of it, as if it were alone on the link. `epoch` is the caller's number for its counters.
    pub fn state(&self, epoch: u32) -> LinkState {
        LinkState {
            epoch,
            delivered: self.delivered,
            failed: self.failed,
            retries: self.retries,
            backlog_packets: self.backlog_packets.iter().sum(),
            backlog_bytes: self.backlog_bytes,
            tx_rate_bps: self.tx_rate_bps,
        }
    }
}

/// Why there is no feedback.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// No source has anything on this interface.
    #[error("{interface} has no link feedback: {}", .tried.join("; "))]
    NoSource {
        /// The interface.
        interface: String,
        /// Why not, by source.
        tried: Vec<String>,
    },
    /// The interface is not there.
    #[error("there is no network interface named `{0}`")]
    NoSuchInterface(String),
    /// This source has nothing on this interface.
    #[error("{source_name}: {sentence}")]
    Unsupported {
        /// The source.
        source_name: Source,
        /// Why.
        sentence: String,
    },
    /// The source has ended.
    #[error("{0} gives no more feedback: the interface or the lab is gone")]
    Gone(Source),
    /// The source said what this program does not understand.
    #[error(
        "{source_name} said what this version does not understand ({sentence}); are both of the same version?"
    )]
    NotUnderstood {
        /// The source.
        source_name: Source,
        /// What.
        sentence: String,
    },
    /// The kernel did not answer.
    #[error("asking the kernel for link feedback failed")]
    System(#[from] std::io::Error),
}

impl FeedbackError {
    fn unsupported(source_name: Source, sentence: impl Into<String>) -> FeedbackError {
        FeedbackError::Unsupported { source_name, sentence: sentence.into() }
    }

    fn not_understood(source_name: Source, sentence: impl Into<String>) -> FeedbackError {
        FeedbackError::NotUnderstood { source_name, sentence: sentence.into() }
    }
}

/// An open source.
pub struct Opened {
    /// The source.
    pub feedback: Box<dyn LinkFeedback>,
    /// A sentence for each better source that this interface does not have.
    pub passed_over: Vec<String>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.feedback.source();
        f.debug_struct("Opened").field("source", &source).field("passed_over", &self.passed_over).finish()
    }
}

/// The best source of an interface of the calling thread's network namespace. News is wanted no more often than `every`.
///
/// # Errors
/// There is no such interface, or it has no source; each says why.
pub fn open(interface: &str, every: Duration) -> Result<Opened, FeedbackError> {
    type Opener = fn(&str, Duration) -> Result<Box<dyn LinkFeedback>, FeedbackError>;
    let openers: [Opener; 3] = [
        lab::open,
        |name, every| Ok(Box::new(nl80211::Nl80211::open(name, every)?)),
        |name, every| Ok(Box::new(qdisc::Qdisc::open(name, every)?)),
    ];
    let mut passed_over = Vec::new();
    for opener in openers {
        match opener(interface, every) {
            Ok(feedback) => return Ok(Opened { feedback, passed_over }),
            Err(error @ FeedbackError::NoSuchInterface(_)) => return Err(error),
            Err(error) => passed_over.push(error.to_string()),
        }
    }
    Err(FeedbackError::NoSource { interface: interface.to_owned(), tried: passed_over })
}

/// The index of an interface.
fn index_of(interface: &str) -> Result<u32, FeedbackError> {
    crate::links::index_of(interface).map_err(|e| match e.raw_os_error() {
        Some(libc::ENODEV) => FeedbackError::NoSuchInterface(interface.to_owned()),
        _ => e.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_a_share_of_the_time_between() {
        let load = |observed, busy| Load {
            observed: Duration::from_millis(observed),
            busy: Duration::from_millis(busy),
        };
        assert_eq!(load(300, 100).since(&load(100, 50)), Some(0.25));
        assert_eq!(load(300, 100).since(&load(300, 50)), None, "no time has passed");
        assert_eq!(load(100, 10).since(&load(300, 50)), None, "it has begun anew");
        assert_eq!(load(200, 300).since(&load(100, 50)), Some(1.0));
    }

    #[test]
    fn an_interface_that_is_not_there_is_said_at_once() {
        let error = open("rw-nowhere", Duration::from_secs(1)).unwrap_err();
        assert!(matches!(error, FeedbackError::NoSuchInterface(_)), "{error}");
        assert_eq!(error.to_string(), "there is no network interface named `rw-nowhere`");
    }
}
