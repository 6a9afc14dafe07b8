//! Congestion control: one controller per path, chosen by name.
//!
//! A controller is a value behind [`Controller`]. It owns no timer and reads no clock; the path calls it
//! with what was sent, acknowledged and lost, and asks it for a window and a pacing rate.
//! Coupled controllers see the other paths of the same session through [`Sibling`].
//!
//! | name | what it is |
//! |---|---|
//! | `tidal` | the default: keeps the path full and its queue short, unmoved by random loss ([`tidal`]) |
//! | `cubic` | RFC 9438 with HyStart++ ([`cubic`]) |
//! | `newreno` | RFC 5681 in the form of RFC 9002 ([`newreno`]) |
//! | `highspeed` | RFC 3649: steeper than NewReno where windows are large ([`highspeed`]) |
//! | `none` | no control, for links that limit what is on the way themselves ([`none`]) |
//! | `lia`, `olia`, `balia` | coupled: all paths together take what one flow would ([`coupled`]) |
//!
//! Helpers for the path that feeds a controller: [`rate`] (delivery-rate samples) and [`filter`] (extremes over
//! a sliding window).
#![forbid(unsafe_code)]

mod algorithm;
#[cfg(test)]
mod bands;
pub mod coupled;
pub mod cubic;
pub mod filter;
#[cfg(test)]
mod harness;
pub mod highspeed;
mod hystart;
#[cfg(test)]
mod laws;
pub mod newreno;
pub mod none;
pub mod rate;
pub mod tidal;
pub mod window;

pub use algorithm::{Algorithm, UnknownAlgorithm, by_name};
pub use hystart::SlowStart;

use ropewalk_time::{Duration, Time};

/// What one acknowledgement told about a path.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When the acknowledgement was handled.
    pub now: Time,
    /// Bytes that this acknowledgement newly confirmed, counted as on the wire (IP and UDP headers included).
    pub bytes: u64,
    /// Bytes newly declared lost while handling the same acknowledgement.
    pub lost_bytes: u64,
    /// Send time of the newest packet that was newly acknowledged.
    pub newest_sent: Time,
    /// Round-trip time of that packet, the receiver's acknowledgement delay already taken off.
    pub rtt: Duration,
    /// Smallest round-trip time seen on this path in the last ten seconds.
    pub min_rtt: Duration,
    /// One-way queueing delay of that packet: its one-way delay less the smallest seen lately. Free of
    /// jitter on the way back. `None` until enough samples exist.
    pub queue_delay: Option<Duration>,
    /// Delivery rate over the flight of that packet, bits per second (as draft-cheng-iccrg-delivery-rate-estimation).
    pub delivery_rate_bps: u64,
    /// The rate sample was limited by what there was to send, not by the path.
    pub app_limited: bool,
    /// A round trip ended with this acknowledgement (the first packet sent after the last round's end is acknowledged).
    pub round_start: bool,
    /// Packets of this acknowledgement that arrived with a CE mark.
    pub ce_packets: u64,
    /// Bytes in flight after this acknowledgement.
    pub inflight: u64,
}

impl Ack {
    /// When this acknowledgement would have come had it waited nowhere on its way back: how packets arrived, on the
    /// sender's clock. `now` where one-way delays are not known.
    pub fn arrived(&self) -> Time {
        let undisturbed = |queue| (self.newest_sent + self.min_rtt + queue).min(self.now);
        self.queue_delay.map_or(self.now, undisturbed)
    }
}

/// A loss that an acknowledgement or a timer revealed.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found out.
    pub now: Time,
    /// Bytes lost.
    pub bytes: u64,
    /// Send time of the newest of them.
    pub newest_sent: Time,
    /// Bytes in flight after they were taken off.
    pub inflight: u64,
}

/// What a coupled controller sees of the other paths of its session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sibling {
    /// Congestion window, bytes.
    pub window: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// [`Controller::bytes_since_loss`] of that path (OLIA's l).
    pub bytes_since_loss: u64,
    /// This entry is the path being called.
    pub is_self: bool,
}

/// A congestion controller of one path.
pub trait Controller: Send + core::fmt::Debug {
    /// The name it is chosen by in config and scenario.
    fn name(&self) -> &'static str;
    /// `bytes` were sent; `inflight` counts them already.
    fn on_sent(&mut self, now: Time, bytes: u64, inflight: u64);
    /// An acknowledgement arrived. `siblings` lists every path of the session, this one included.
    fn on_ack(&mut self, ack: &Ack, siblings: &[Sibling]);
    /// Packets were lost. Called before the `on_ack` of the acknowledgement that revealed it.
    fn on_loss(&mut self, loss: &Loss, siblings: &[Sibling]);
    /// `bytes` that had been reported lost arrived after all (late, not lost).
    fn on_spurious_loss(&mut self, _now: Time, _bytes: u64) {}
    /// The path carried nothing for long, changed its address, or came back from the dead: old estimates are void.
    fn reset(&mut self, now: Time);
    /// The path's largest datagram changed (RFC 8899), bytes on the wire.
    fn set_mtu(&mut self, bytes: u64);
    /// How many bytes may be in flight.
    fn window(&self) -> u64;
    /// How fast to send, bits per second; `None` sends as the window allows.
    fn pacing_rate_bps(&self) -> Option<u64>;
    /// What the controller believes the path can carry, bits per second (for the scheduler and for status).
    fn bandwidth_bps(&self) -> u64;
    /// Still looking for the path's rate for the first time.
    fn is_starting(&self) -> bool {
        false
    }
    /// It was seen to carry more than the first window in a round trip, so that a rate can be told.
    /// Before, the session sends the first window on its fastest path at once, as a flow on the
    /// bare path would.
    fn has_rate(&self) -> bool {
        true
    }
    /// Allow or forbid probing above the estimate; the session lets one path probe at a time.
    fn allow_probe(&mut self, _allowed: bool) {}
    /// Probing above the estimate right now.
    fn is_probing(&self) -> bool {
        false
    }
    /// Acknowledgements tell it something: where they would come seldom, the peer is asked for more.
    fn listens(&self) -> bool {
        true
    }
    /// Bytes acknowledged since the last loss, or between the last two losses if that was more
    /// (OLIA's l, draft-khalili-mptcp-congestion-control-05 §3); what goes into [`Sibling::bytes_since_loss`].
    fn bytes_since_loss(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_is_free_of_what_its_acknowledgement_waited_for() {
        let ms = Time::from_millis;
        let ack = Ack {
            now: ms(100),
            bytes: 1500,
            lost_bytes: 0,
            newest_sent: ms(50),
            rtt: Duration::from_millis(50),
            min_rtt: Duration::from_millis(20),
            queue_delay: Some(Duration::from_millis(10)),
            delivery_rate_bps: 0,
            app_limited: false,
            round_start: false,
            ce_packets: 0,
            inflight: 0,
        };
        assert_eq!(ack.arrived(), ms(80), "20 of the 50 ms were spent on the way back");
        assert_eq!(Ack { queue_delay: None, ..ack }.arrived(), ms(100));
        // Never later than now, whatever the clocks say.
        assert_eq!(Ack { queue_delay: Some(Duration::from_millis(99)), ..ack }.arrived(), ms(100));
    }
}
