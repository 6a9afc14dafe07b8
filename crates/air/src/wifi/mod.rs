//! 802.11: who may speak when, who hears it, and what it costs.
//!
//! One [`Air`] holds all radios of a run, on all channels. It is driven like a [`Link`](crate::wired::Link): packets and commands
//! go in with their time, outputs come out of [`Air::poll`], and [`Air::next_timeout`] says when to poll again.
//!
//! | module | what it answers |
//! |---|---|
//! | `api` | what goes in, what comes out |
//! | `spec` | what a medium is made of, and what is impossible |
//! | [`phy`] | rates, times, channels, error rates |
//! | [`rate`] | which rate next |
//! | [`propagation`] | how strongly: path loss, shadowing, fading, 60 GHz |
//! | [`interferer`] | energy that is no frame |
//! | [`monitor`] | captured frames as bytes |
//! | [`abstract_medium`], [`slot_overlap`] | models without 802.11, as papers made them |
//! | [`weighted`] | radios on abstract media, one for each channel |
//! | `medium` | who hears what, and whether it is understood: power, carrier sense, capture |
//! | `mac` | who sends what when: backoff, exchanges, aggregates, queues |
//! | `timers` | what happens next |
//! | `dilated` | an air whose time goes slower than its driver's |
//! | `frames` | the medium for frames of another MAC: bytes, with their rates |

pub mod abstract_medium;
mod air;
mod api;
mod beams;
mod build;
mod check;
mod control;
mod dilated;
mod frames;
pub mod interferer;
mod mac;
mod medium;
pub mod monitor;
pub mod phy;
mod place;
pub mod propagation;
pub mod rate;
pub mod slot_overlap;
mod spec;
mod timers;
pub mod weighted;

pub use air::{Air, MAX_PACKET_BYTES};
pub use api::{
    AccessCategory, CapturedFrame, Command, CommandError, Completion, Event, FrameType, IfaceId, Mac, Output,
    Packet, PowerSave, RadioId, Received, SendError, Status,
};
pub use dilated::Dilated;
pub use frames::{
    FrameError, FrameMedium, FrameOutput, FrameToSend, MAX_FRAME_BYTES, MAX_FRAME_RADIOS, WAITING_FRAMES,
};
pub use mac::{PeerStats, RadioStats};
pub use spec::{
    Aggregation, AirSpec, ApSpec, Capture, DEFAULT_FLOOR_DBM, Discipline, EdcaParams, IfaceSpec, Mode,
    PathLoss, PlacedInterferer, RadioSpec, RateControlSpec, SpecError, StationSpec, StationStart, WifiQueue,
};

#[cfg(test)]
mod tests;
