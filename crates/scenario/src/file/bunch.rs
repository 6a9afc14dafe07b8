//! Uplinks of neighbours bunched for one sender.

use crate::units::{Bytes, Share};
use crate::{choice, section};
use std::time::Duration;

choice! {
    /// What the gateway does for TCP.
    pub enum BunchVariant {
        /// Nothing: packets go on as they come.
        Plain = "plain",
        /// They go on in order.
        SimpleBuffer = "simple-buffer",
        /// They are acknowledged in the receiver's name when they are safe.
        ProactiveAck = "proactive-ack",
    }
}

choice! {
    /// Who forwards a packet.
    pub enum BunchScheduling {
        /// The first that reports it and whose send buffer has room.
        FirstCome = "first-come",
        /// The one by which it is expected first.
        ExpectedDelivery = "expected-delivery",
    }
}

choice! {
    /// When an access point forgets a packet.
    pub enum BunchRelease {
        /// When the receiver has acknowledged it.
        Acknowledged = "acknowledged",
        /// When somebody was told to forward it. It loses data; here to show that.
        Scheduled = "scheduled",
    }
}

section! {
    /// Neighbours' uplinks for one sender (BaPu): packets that the home access point passes on to the receiver are overheard by neighbours, reported to
    /// the gateway, and forwarded by whoever it chooses. Sender and receiver know nothing of it. What the neighbours hear is drawn (`monitor-loss`): the air is not modelled for them.
    /// The lab runs `ropewalk bunch`: all access points share a network, over which the home's hands packets on instead of being overheard, all packets of the receiver go by the gateway's tunnels, and
    /// the receiver sees the gateway's address.
    pub struct Bunch {
        /// The router in front of the receiver that puts the connection together.
        gateway: String,
        /// The sender's own access point: a router on the way from the sender.
        home: String,
        /// Access points that overhear the sender. Each needs a way to the gateway.
        neighbours: Vec<String>,
        /// Whose uploads are helped.
        receiver: String,
        /// What is done for TCP.
        variant: BunchVariant = BunchVariant::ProactiveAck,
        /// proactive-ack: how many holders are enough where the home access point is not one.
        custody: u8 = 2,
        /// Who forwards a packet.
        scheduling: BunchScheduling = BunchScheduling::ExpectedDelivery,
        /// Share of packets that a neighbour does not hear.
        monitor_loss: Share = Share(0.0),
        /// Neighbours hear nothing; the home access point hands them what it captured, over a network between them of 1 ms, without loss and without a limit in rate. In the lab it is always so.
        share: bool = false,
        /// When an access point forgets a packet.
        release: BunchRelease = BunchRelease::Acknowledged,
        /// The send buffer of each tunnel.
        send_buffer: Bytes = Bytes(65_536),
        /// Most bytes of packets that an access point holds.
        memory: Bytes = Bytes(32_000_000),
        /// Time between reports.
        report_interval: Duration = Duration::from_millis(20),
        /// Acknowledged bytes that nobody has, or that do not come, reset both ends after this.
        grace: Duration = Duration::from_secs(3),
        /// Neighbours come and go: each is there for so long and switched off for so long. Every second begins switched on.
        churn: Option<Duration>,
    }
}
