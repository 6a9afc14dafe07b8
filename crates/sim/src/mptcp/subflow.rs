//! One subflow of a connection.

use super::scheduler::Ready;
use crate::tcp::TcpEndpoint;
use core::time::Duration;
use ropewalk_air::Time;
use std::collections::BTreeMap;

/// How a subflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubflowState {
    /// In its handshake.
    Joining,
    /// Used.
    Active,
    /// Used when no other works.
    Backup,
    /// Over.
    Gone,
}

#[derive(Debug)]
pub(super) struct Subflow {
    pub endpoint: TcpEndpoint,
    pub address_id: u8,
    pub backup: bool,
    pub gone: bool,
    /// Places in the data stream of what has arrived, by offset in the subflow, until it is in order there.
    pub arrived: BTreeMap<u64, (u64, u64)>,
    pub timeouts_seen: u64,
    /// After a timeout, until something comes from the other side: when what it holds is given up.
    pub stale_at: Option<Time>,
    /// That has been.
    pub stale: bool,
    pub penalised: Time,
}

impl Subflow {
    pub(super) fn new(endpoint: TcpEndpoint, address_id: u8, backup: bool) -> Subflow {
        Subflow {
            endpoint,
            address_id,
            backup,
            gone: false,
            arrived: BTreeMap::new(),
            timeouts_seen: 0,
            stale_at: None,
            stale: false,
            penalised: Time::ZERO,
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.gone && self.endpoint.is_connected()
    }

    /// How long what is on the way lasts at a window per round trip.
    pub(super) fn linger(&self) -> Duration {
        let tx = &self.endpoint.tx;
        tx.rtt.srtt().unwrap_or_default().mul_f64(tx.flight() as f64 / tx.control.window().max(1) as f64)
    }

    /// What a scheduler sees of it.
    pub(super) fn as_ready(&self, index: usize) -> Ready {
        let tx = &self.endpoint.tx;
        Ready {
            index,
            srtt: tx.rtt.srtt().unwrap_or_default(),
            deviation: tx.rtt.deviation(),
            linger: self.linger(),
            window: tx.control.window(),
            flight: tx.flight(),
            mss: tx.mss,
            backup: self.backup,
        }
    }

    /// The byte at this place of the data stream is on the way here.
    pub(super) fn has_on_the_way(&self, place: u64) -> bool {
        let mut mappings = self.endpoint.tx.mappings.iter();
        !self.gone && mappings.any(|m| m.data_sequence <= place && place < m.data_sequence + m.len)
    }

    pub(super) fn state(&self) -> SubflowState {
        match (self.gone, self.endpoint.is_connected(), self.backup) {
            (true, ..) => SubflowState::Gone,
            (_, false, _) => SubflowState::Joining,
            (.., true) => SubflowState::Backup,
            _ => SubflowState::Active,
        }
    }
}
