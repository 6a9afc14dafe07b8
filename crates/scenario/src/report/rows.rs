//! The tables' columns, each with its meaning and unit.

use super::{Column, Row};
use serde::{Deserialize, Serialize};

/// Numbers as figures.
trait Number {
    const WHOLE: bool;
    const OPTIONAL: bool;
    fn number(&self) -> Option<f64>;
}

impl Number for f64 {
    const WHOLE: bool = false;
    const OPTIONAL: bool = false;
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Number for u64 {
    const WHOLE: bool = true;
    const OPTIONAL: bool = false;
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl<N: Number> Number for Option<N> {
    const WHOLE: bool = N::WHOLE;
    const OPTIONAL: bool = true;
    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(N::number)
    }
}

macro_rules! rows {
    ($(
        $(#[doc = $doc:literal])+
        pub struct $name:ident as $table:literal {
            texts { $( $(#[doc = $text_doc:literal])+ $text:ident, )* }
            numbers { $( $(#[doc = $number_doc:literal])+ $number:ident: $type:ty, )* }
        }
    )*) => { $(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            /// The row's name.
            pub name: String,
            $( $(#[doc = $text_doc])+ pub $text: String, )*
            $( $(#[doc = $number_doc])+ pub $number: $type, )*
        }

        impl Row for $name {
            const TABLE: &'static str = $table;
            const DOC: &'static str = concat!($($doc),+);
            const TEXTS: &'static [Column] = &[$( Column {
                name: stringify!($text),
                doc: concat!($($text_doc),+),
                whole: false,
                optional: false,
            } ),*];
            const NUMBERS: &'static [Column] = &[$( Column {
                name: stringify!($number),
                doc: concat!($($number_doc),+),
                whole: <$type as Number>::WHOLE,
                optional: <$type as Number>::OPTIONAL,
            } ),*];
            fn name(&self) -> &str {
                &self.name
            }
            fn texts(&self) -> Vec<&str> {
                vec![$( &self.$text ),*]
            }
            fn numbers(&self) -> Vec<Option<f64>> {
                vec![$( self.$number.number() ),*]
            }
        }
    )* };
}

rows! {
    /// Flows, by name.
    pub struct FlowRow as "flow" {
        texts {
            /// What kind of traffic.
            kind,
            /// The machine that sends.
            from,
            /// The machine that receives.
            to,
        }
        numbers {
            /// Bytes that the receiving application got, in order and once.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            goodput_mbps: f64,
            /// When the last byte was through, seconds from the flow's start; none if it was not.
            completion_s: Option<f64>,
            /// Packets with data that were sent, repeated ones included.
            sent_packets: u64,
            /// udp, video, ping: packets that did not arrive, per cent.
            loss_percent: Option<f64>,
            /// udp with a `deadline`: packets that did not arrive in time, lost ones and those on
            /// the way at the end included, per cent. Delays are told within 1 %.
            late_percent: Option<f64>,
            /// tcp, mptcp: segments sent again.
            retransmissions: Option<u64>,
            /// tcp, mptcp: retransmission timeouts.
            timeouts: Option<u64>,
            /// tcp: congestion window, mean of what the acknowledgements found, in the lab of looks
            /// each 10 ms, bytes.
            cwnd_bytes: Option<u64>,
            /// Round trip, mean, ms: of the kernel's samples with TCP, of echoes with ping.
            rtt_ms: Option<f64>,
            /// Round trip, least, ms.
            rtt_min_ms: Option<f64>,
            /// Round trip, 99 of 100 are shorter, ms.
            rtt_p99_ms: Option<f64>,
            /// One-way delay of packets, mean, ms.
            delay_ms: Option<f64>,
            /// One-way delay of packets, 99 of 100 are shorter, ms.
            delay_p99_ms: Option<f64>,
            /// Longest time between two arrivals at the receiving application, ms.
            gap_ms: Option<f64>,
            /// Packets that arrived after a later one.
            reordered: u64,
            /// request: responses that were complete.
            responses: Option<u64>,
            /// request: from request to the last byte of the response, half are shorter, ms.
            response_ms: Option<f64>,
            /// request: the same, 99 of 100 are shorter, ms.
            response_p99_ms: Option<f64>,
            /// video: the quality that was seen, dB (a proxy of PSNR; the model's page says how).
            psnr_db: Option<f64>,
            /// adaptive: mean quality of the segments, Mbit/s.
            quality_mbps: Option<f64>,
            /// adaptive: how often playing stood still.
            stalls: Option<u64>,
            /// adaptive: how long it stood still, seconds.
            stall_s: Option<f64>,
        }
    }

    /// Subflows of MPTCP flows, as `FLOW:node:interface`.
    pub struct SubflowRow as "subflow" {
        texts {
            /// The flow.
            flow,
            /// The interface, as `node:interface`.
            interface,
        }
        numbers {
            /// Bytes of data that arrived by it.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            goodput_mbps: f64,
            /// Segments sent again.
            retransmissions: u64,
            /// Retransmission timeouts.
            timeouts: u64,
            /// Round trip, mean, ms.
            rtt_ms: Option<f64>,
            /// Congestion window at the end, bytes.
            cwnd_bytes: u64,
        }
    }

    /// Who sent to whom by radio, as `node:interface>node:interface`.
    pub struct StationRow as "station" {
        texts {
            /// The interface that sent, as `node:interface`.
            from,
            /// The interface that it was for; `*` is everybody.
            to,
        }
        numbers {
            /// Packets that were acknowledged.
            delivered: u64,
            /// Their IP bytes.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            goodput_mbps: f64,
            /// Packets given up after the last attempt.
            failed: u64,
            /// Packets dropped by the queue, full or managed.
            dropped: u64,
            /// Packets that waited too long.
            expired: u64,
            /// Attempts per packet, mean.
            attempts: f64,
            /// Time on the air of its frames, per cent of the time that counts.
            airtime_percent: f64,
            /// Rate of its frames, mean by packets, Mbit/s.
            rate_mbps: Option<f64>,
            /// Received power of its frames, mean, dBm.
            signal_dbm: Option<f64>,
        }
    }

    /// Stations of clients of several access points (`node.NAME.roam`), as `node:interface`. Estimates are those of the last half second, taken each half second; what they are held against is what the access point's radio counted.
    pub struct RoamRow as "roam" {
        texts {}
        numbers {
            /// Times that it got an address.
            joins: u64,
            /// Time with an address, per cent.
            joined_percent: f64,
            /// Half seconds with an estimate: the window had frames enough.
            windows: u64,
            /// Chance that a try arrives, per cent, estimated: the mean.
            delivery_percent: Option<f64>,
            /// The same as the access point's radio counted it.
            delivered_percent: Option<f64>,
            /// Difference of both in a half second, without its sign, percentage points: the mean.
            error_points: Option<f64>,
            /// Air of a delivered packet, estimated, ms: the mean.
            packet_ms: Option<f64>,
            /// The same by the multi-AP paper's equation 1 as printed, a baseline.
            printed_ms: Option<f64>,
        }
    }

    /// Radios, as `node:radio`.
    pub struct RadioRow as "radio" {
        texts {
            /// The channel at the end.
            channel,
        }
        numbers {
            /// Time in which it sent, per cent.
            sending_percent: f64,
            /// Time in which the channel was busy for it, its own sending included, per cent.
            busy_percent: f64,
            /// Frames (PPDUs) sent.
            frames: u64,
            /// Exchanges that were not answered.
            unanswered: u64,
            /// Preambles that it understood.
            heard: u64,
            /// Preambles that it understood, but whose body it did not.
            garbled: u64,
        }
    }

    /// Processors (`node.NAME.cpu`), by the node's name.
    pub struct CpuRow as "cpu" {
        texts {}
        numbers {
            /// Packets that it worked on.
            packets: u64,
            /// Time in which it worked, per cent.
            busy_percent: f64,
            /// Interrupts that announced packets.
            interrupts: u64,
            /// Packets that found its queue full.
            dropped: u64,
            /// Wait for it, mean of the packets that it worked on, ms.
            wait_ms: Option<f64>,
        }
    }

    /// Interfaces, as `node:interface`.
    pub struct InterfaceRow as "interface" {
        texts {}
        numbers {
            /// IP packets sent.
            sent: u64,
            /// Their bytes.
            sent_bytes: u64,
            /// IP packets received.
            received: u64,
            /// Their bytes.
            received_bytes: u64,
            /// Packets dropped for want of a way, of room for their length, or of a neighbour.
            dropped: u64,
        }
    }

    /// Directions of links with their queues, as `LINK:forward` and `LINK:back`.
    pub struct LinkRow as "link" {
        texts {
            /// The end that sends, as `node:interface`.
            from,
        }
        numbers {
            /// Packets that arrived.
            delivered: u64,
            /// Their IP bytes.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            carried_mbps: f64,
            /// Packets that found the queue full.
            dropped_full: u64,
            /// Packets that CoDel dropped.
            dropped_aqm: u64,
            /// Packets that CoDel marked.
            marked: u64,
            /// Packets lost on the wire.
            lost: u64,
            /// Wait in the queue, mean of what left it, ms.
            wait_ms: Option<f64>,
            /// Wait in the queue, 99 of 100 are shorter, ms.
            wait_p99_ms: Option<f64>,
        }
    }

    /// Bonds, as `BOND:client` and `BOND:gateway` for what each end sent.
    pub struct BondRow as "bond" {
        texts {
            /// The end that sends.
            from,
        }
        numbers {
            /// Packets that the other end delivered.
            delivered: u64,
            /// Their bytes.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            carried_mbps: f64,
            /// Packets dropped by its queue.
            dropped: u64,
            /// Chunks (parts of packets that a datagram carries) sent again.
            resent_chunks: u64,
            /// Packets that were at the other end while others before them were missing there.
            waited: Option<u64>,
            /// Half of those waited no longer than this, ms; in the lab half of all since the start, as with the next one.
            wait_median_ms: Option<f64>,
            /// All but a hundredth of them waited no longer than this, ms.
            wait_p99_ms: Option<f64>,
            /// gateway with `migrate`: searches for a channel that ended.
            searches: Option<f64>,
            /// The same: switches that were announced.
            switches: Option<f64>,
            /// The same: channels that the last search tried.
            probes: Option<f64>,
            /// The same: how long the last search took, ms.
            search_ms: Option<f64>,
            /// The same: what the link carried before the last search, Mbit/s.
            before_mbps: Option<f64>,
            /// The same: what it carried in the test of the channel that was taken, Mbit/s; of the one it came from, as before.
            after_mbps: Option<f64>,
        }
    }

    /// Paths of bonds, as `BOND:client:interface` and `BOND:gateway:interface` for what each end sent.
    pub struct PathRow as "path" {
        texts {
            /// The bond.
            bond,
            /// The end that sends.
            from,
            /// Its state at the end.
            state,
        }
        numbers {
            /// Bytes sent, headers of the tunnel included.
            sent_bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            sent_mbps: f64,
            /// Datagrams lost.
            lost: u64,
            /// Round trip at the end, smoothed, ms.
            rtt_ms: Option<f64>,
            /// Share of all bytes that its end sent, per cent.
            share_percent: f64,
            /// Wireless backhaul, in the simulator: what the limiter of shared links allows it at
            /// the end: datagrams on the way (`mimd`), or datagrams a second (`balance`); 0:
            /// nothing. 200000, more than any link carries, where nothing limits it.
            limit: Option<f64>,
            /// The same: packets in the longest queue towards a client at the end, as the repeater
            /// reported last.
            client_queue: Option<f64>,
        }
    }

    /// Access points of bunches, as `BUNCH:node`; the gateway's row is `BUNCH`.
    pub struct BunchRow as "bunch" {
        texts {
            /// The bunch.
            bunch,
            /// The machine.
            node,
        }
        numbers {
            /// Packets that it brought first; the gateway's: all, those that came their ordinary way included.
            packets: u64,
            /// Their bytes.
            bytes: u64,
            /// The same as a rate over the time that counts, Mbit/s.
            carried_mbps: f64,
            /// Its reports and signs of life, Mbit/s in its tunnel, headers below not counted.
            report_mbps: f64,
            /// Packets that it was asked for and did not bring in time.
            failed: u64,
            /// Packets that it brought when they were no longer needed.
            late: u64,
            /// Packets whose content was not what the sender sent.
            damaged: u64,
            /// Packets that it captured.
            captured: u64,
            /// Repetitions on the air that it knew as such.
            repeated: u64,
            /// Packets for which it had no memory.
            refused: u64,
            /// Bytes of packets that it held at the end.
            held_bytes: u64,
            /// The gateway's: connections of which both ends were told that they are lost.
            resets: u64,
        }
    }
}
