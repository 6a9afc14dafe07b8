//! What changes during a run.

use crate::units::{BitRate, Db, Dbm, Position, Share};
use crate::{choice, section};
use std::time::Duration;

choice! {
    /// What happens.
    pub enum What {
        /// A link is cut.
        LinkDown = "link-down",
        /// A link works again.
        LinkUp = "link-up",
        /// A link's rate, delay or loss changes, in both directions.
        LinkSet = "link-set",
        /// A machine is somewhere else at once.
        Move = "move",
        /// A radio's power changes.
        TxPower = "tx-power",
        /// The path loss of a pair of radios changes.
        PathLoss = "path-loss",
        /// An access point announces another channel and goes there with its stations.
        SwitchChannel = "switch-channel",
        /// A radio is on another channel at once, and nobody is told.
        Tune = "tune",
        /// A radio is switched off.
        RadioDown = "radio-down",
        /// A radio is switched on.
        RadioUp = "radio-up",
        /// A station joins the access point of its `ssid`.
        Associate = "associate",
        /// A station leaves its access point.
        Disassociate = "disassociate",
        /// A station begins to sleep between beacons.
        PowerSaveOn = "power-save-on",
        /// A station stays awake.
        PowerSaveOff = "power-save-off",
        /// Something stands between two radios, 60 GHz most of all.
        Blockage = "blockage",
        /// An access point of a bunch is switched off, with all that it holds.
        ApDown = "ap-down",
        /// It is switched on again.
        ApUp = "ap-up",
    }
}

section! {
    /// Something that happens at a time.
    pub struct Event {
        /// When it happens.
        at: Duration,
        /// What happens.
        what: What,
        /// link-…: the link's name.
        link: Option<String>,
        /// move, ap-down, ap-up: the machine.
        node: Option<String>,
        /// tx-power, tune, radio-…: the radio, as `node:radio`.
        radio: Option<String>,
        /// associate, disassociate, power-save-…, switch-channel: the interface, as `node:interface`.
        interface: Option<String>,
        /// path-loss, blockage: two radios, as `node:radio`.
        between: Vec<String>,
        /// move: where to.
        position: Option<Position>,
        /// tx-power: the new power.
        power: Option<Dbm>,
        /// path-loss, blockage: the new loss; what the obstacle adds.
        loss: Option<Db>,
        /// blockage: how long it lasts; if not said, until the next one of the pair, such as one of 0 dB.
        duration: Option<Duration>,
        /// switch-channel, tune: the new channel.
        channel: Option<u16>,
        /// switch-channel: how many beacons announce it. 2 if not said.
        countdown: Option<u8>,
        /// link-set: the new rate.
        rate: Option<BitRate>,
        /// link-set: the new delay.
        delay: Option<Duration>,
        /// link-set: the new share of lost packets.
        packet_loss: Option<Share>,
    }
}
