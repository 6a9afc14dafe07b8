//! Traffic.

use super::AccessCategory;
use crate::units::{BitRate, Bytes};
use crate::{choice, section};
use std::time::Duration;

choice! {
    /// What kind of traffic.
    pub enum FlowKind {
        /// One TCP connection, or several at once.
        Tcp = "tcp",
        /// One MPTCP connection.
        Mptcp = "mptcp",
        /// Datagrams at a rate, or as fast as the interface takes them.
        Udp = "udp",
        /// Echo requests.
        Ping = "ping",
        /// Requests and responses over TCP, one after the other.
        Request = "request",
        /// Real-time video over UDP, with its quality.
        Video = "video",
        /// Adaptive streaming over TCP or MPTCP: segments, each at the quality that the last one allowed.
        Adaptive = "adaptive",
    }
}

choice! {
    /// Congestion control of TCP and MPTCP.
    pub enum TcpControl {
        /// RFC 9438, the default of Linux.
        Cubic = "cubic",
        /// RFC 5681 and 6582.
        NewReno = "newreno",
        /// HighSpeed TCP, RFC 3649.
        HighSpeed = "highspeed",
        /// MPTCP, coupled: RFC 6356.
        Lia = "lia",
        /// MPTCP, coupled.
        Olia = "olia",
        /// MPTCP, coupled.
        Balia = "balia",
        /// The bond's own, which keeps the queue of a path short; uncoupled. The simulator alone has it.
        Tidal = "tidal",
    }
}

choice! {
    /// How a sender finds the end of slow start.
    pub enum TcpSlowStart {
        /// By longer round trips, or acknowledgements that come for half a round trip: Linux's CUBIC.
        HyStart = "hystart",
        /// At the first loss alone.
        Standard = "standard",
    }
}

section! {
    /// A receiver that at times acknowledges seldom, although nothing is missing. In a held spell an acknowledgement leaves when a number of segments has
    /// come that is drawn anew each time, or when the timer for delayed ones runs out (40 ms and more). All times are drawn evenly from 0 to twice their mean.
    pub struct AckHold {
        /// Mean time until a held spell begins.
        clear: Duration,
        /// Mean time that it lasts.
        held: Duration,
        /// Most segments that an acknowledgement waits for, from 2 on.
        segments: u32,
    }
}

choice! {
    /// By which equation a receiver works out how many packets it marks.
    pub enum MarkLaw {
        /// The one that solves the multi-AP paper's equations 3 and 4, with the least round trip in
        /// place of a guess at the queue.
        Corrected = "corrected",
        /// The paper's equation 5 as printed, a baseline: some 900 times too small.
        Printed = "printed",
    }
}

section! {
    /// How a receiver that is a station of several access points of one channel steers the sender
    /// away from slow ones. It needs `marks`, `priority` or `fade`.
    pub struct Steering {
        /// Mark packets from slow access points as if they had met congestion (ECN), at a rate by
        /// this equation and 5 % at most. If not said, none are marked.
        marks: Option<MarkLaw>,
        /// Make subflows backups (MP_PRIO) whose least window costs too much of the air, and try
        /// them when the others leave air.
        priority: bool = false,
        /// On 802.11: make subflows backups whose access points' beacons are missed (three), or
        /// weak (less than -70 dBm) while another's are 2 dB stronger.
        fade: bool = false,
    }
}

choice! {
    /// Which subflow takes the next bytes.
    pub enum MptcpScheduler {
        /// The one with the shortest round trip that has room.
        MinRtt = "min-rtt",
        /// In turn.
        RoundRobin = "round-robin",
        /// As Linux has it: the one whose data on the way lasts shortest. What a silent one holds goes to another only after 0.8 s of silence, and a full window is
        /// waited out; with the others, which are those of the MPTCP papers, at its first timeout, and data that holds a window up is sent again at once.
        Linux = "linux",
        /// min-rtt, but a slower subflow only if the peer's window has room for what the faster ones will send meanwhile (BLEST, 2016).
        Blest = "blest",
        /// min-rtt, but the last bytes wait for the faster subflow if they are through sooner that way (ECF, 2017).
        Ecf = "ecf",
    }
}

choice! {
    /// How long a sender's spells of sending and of silence are.
    pub enum SpellLengths {
        /// All alike.
        Fixed = "fixed",
        /// Drawn from an exponential distribution, with those means.
        Exponential = "exponential",
    }
}

section! {
    /// A sender that is silent at times: `{ on = "20ms", off = "80ms" }`.
    pub struct FlowSpells {
        /// How long it sends at a time, from its start on.
        on: Duration,
        /// How long it is silent between.
        off: Duration,
        /// Whether spells are all alike.
        lengths: SpellLengths = SpellLengths::Fixed,
    }
}

section! {
    /// What an adaptive player asks for: `{ length = "4s", qualities = ["5Mbit/s", "10Mbit/s"] }`.
    pub struct VideoSegments {
        /// The length of a segment. If not said, 30 s.
        length: Option<Duration>,
        /// The qualities on offer. If not said, 5, 10, 15 and 20 Mbit/s.
        qualities: Vec<BitRate>,
    }
}

section! {
    /// Traffic from one machine to another. Data goes from `from` to `to`.
    pub struct Flow {
        /// What to call it; figures are called after it.
        name: String,
        /// What kind of traffic.
        kind: FlowKind,
        /// The machine that sends, or machines as `sta*`: then there is a flow for each, called NAME.MACHINE.
        from: String,
        /// The machine that receives, or machines as `sta*`. With an interface, as `node:eth0`, that interface's address is used.
        to: String,
        /// When it starts.
        start: Duration = Duration::ZERO,
        /// When it stops; if not said, at the end of the run or when its bytes are through.
        stop: Option<Duration>,
        /// tcp, mptcp, udp: how much is sent. If not said, without end. request: the length of a response.
        bytes: Option<Bytes>,
        /// udp, video: how fast. tcp: how fast the application writes. If not said, udp sends as fast
        /// as the interface takes packets, and tcp as fast as the connection does.
        rate: Option<BitRate>,
        /// udp with a `rate`, in the simulator: spells of sending and of silence. If not said, it
        /// always sends.
        spells: Option<FlowSpells>,
        /// udp, video: the length of IP packets. 1500, a full Ethernet frame. ping: of echo requests, 84 if not said.
        packet: Option<Bytes>,
        /// udp: a packet that takes longer one way comes too late. Nothing is dropped by it:
        /// `late_percent` counts.
        deadline: Option<Duration>,
        /// ping: the time between echo requests, 1 s if not said. request: the pause between a response and the next request, none if not said.
        interval: Option<Duration>,
        /// tcp: how many connections at once.
        streams: Option<u16>,
        /// tcp, mptcp, request, adaptive: congestion control. If not said, that of the machine that sends.
        congestion: Option<TcpControl>,
        /// tcp, mptcp, request, adaptive: the receiver's buffer, which bounds the window. If not said, that of the machine that receives.
        receive_buffer: Option<Bytes>,
        /// tcp, mptcp, request, adaptive: most bytes written and not yet acknowledged. If not said, that of the machine that sends.
        send_buffer: Option<Bytes>,
        /// tcp, mptcp, request, adaptive: the largest segment, bytes of payload. If not said, 1448 (1500 with IPv4, TCP and timestamps).
        mss: Option<u16>,
        /// tcp, mptcp, request, adaptive: ask for ECN, or do not. If not said, as the machine does that opens the connection: it does not, unless told.
        ecn: Option<bool>,
        /// tcp, mptcp, request, adaptive, in the simulator: how slow start ends. If not said, hystart with cubic and standard with all others, as Linux has it.
        slow_start: Option<TcpSlowStart>,
        /// tcp, mptcp, request, adaptive, in the simulator: spells in which the receiver acknowledges seldom. If not said, there are none.
        ack_hold: Option<AckHold>,
        /// mptcp, adaptive: the interfaces that get a subflow, as `node:interface`. If not said, mptcp takes every endpoint (`node.NAME.mptcp`) of
        /// the machine that has more of them, and adaptive one TCP connection.
        paths: Vec<String>,
        /// mptcp, adaptive with `paths`: which subflow takes the next bytes. If not said, min-rtt.
        scheduler: Option<MptcpScheduler>,
        /// mptcp: how the receiver steers, in the lab on the weighted-fair medium only. On 802.11
        /// it measures packet times (`node.NAME.roam`). If not said, it does not steer.
        steering: Option<Steering>,
        /// adaptive: the length of segments and the qualities on offer.
        segments: Option<VideoSegments>,
        /// The priority that 802.11 gives it.
        category: AccessCategory = AccessCategory::BestEffort,
    }
}
