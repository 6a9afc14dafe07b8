//! An air whose time goes slower than its driver's, as emulators dilate time.
//!
//! A machine that cannot carry the rates of a medium in real time carries an eighth of them:
//! everything on the air, intervals and pauses included, takes eight times as long. The air itself
//! knows nothing of it. Times are translated where they go in and where they come out.

use super::{
    Air, AirSpec, Command, CommandError, Event, IfaceId, Mac, Output, Packet, PeerStats, RadioId, RadioSpec,
    RadioStats, SendError, SpecError,
};
use crate::Time;

/// An [`Air`] whose time goes so many times slower. Calls are those of the air, times in and out
/// the driver's.
#[derive(Debug)]
pub struct Dilated<T> {
    air: Air<T>,
    factor: u32,
    /// The latest time of the driver's.
    latest: Time,
}

impl<T: Clone> Dilated<T> {
    /// An air that is `factor` times slower; 0 counts as 1, which is no slower.
    ///
    /// # Errors
    /// What no medium can be.
    pub fn new(spec: AirSpec, seed: u64, factor: u32) -> Result<Dilated<T>, SpecError> {
        Ok(Dilated { air: Air::new(spec, seed)?, factor: factor.max(1), latest: Time::ZERO })
    }

    /// The air's time.
    fn inner(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        Time::from_nanos(now.as_nanos() / u64::from(self.factor))
    }

    /// The driver's time.
    fn outer(&self, at: Time) -> Time {
        Time::from_nanos(at.as_nanos().saturating_mul(self.factor.into()))
    }

    /// As [`Air::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, now: Time, iface: IfaceId, to: Mac, packet: Packet<T>) -> Result<(), SendError> {
        let now = self.inner(now);
        self.air.send(now, iface, to, packet)
    }

    /// As [`Air::command`]. Times within a command are the air's.
    ///
    /// # Errors
    /// As there.
    pub fn command(&mut self, now: Time, command: Command) -> Result<(), CommandError> {
        let now = self.inner(now);
        self.air.command(now, command)
    }

    /// As [`Air::poll`].
    pub fn poll(&mut self, now: Time) -> Option<Output<T>> {
        let now = self.inner(now);
        let mut output = self.air.poll(now)?;
        match &mut output {
            Output::Received(received) => received.at = self.outer(received.at),
            Output::Completion(done) => {
                done.at = self.outer(done.at);
                done.airtime = done.airtime.saturating_mul(self.factor);
            }
            Output::Captured(frame) => frame.at = self.outer(frame.at),
            Output::Event(event) => {
                let at = at_of(event);
                *at = self.outer(*at);
            }
        }
        Some(output)
    }

    /// As [`Air::next_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        // What is cut off in the air's time is less than a factor of nanoseconds.
        self.air.next_timeout().map(|at| self.outer(at).max(self.latest))
    }

    /// As [`Air::radio_stats`].
    pub fn radio_stats(&self, radio: RadioId) -> Option<RadioStats> {
        let stats = self.air.radio_stats(radio)?;
        let (tx, busy) = (self.longer(stats.airtime_tx_ns), self.longer(stats.busy_ns));
        Some(RadioStats { airtime_tx_ns: tx, busy_ns: busy, ..stats })
    }

    /// As [`Air::peer_stats`].
    pub fn peer_stats(&self, iface: IfaceId) -> impl Iterator<Item = (Mac, PeerStats)> {
        self.air.peer_stats(iface).map(|(mac, stats)| {
            let (tx, rx) = (self.longer(stats.airtime_tx_ns), self.longer(stats.airtime_rx_ns));
            (mac, PeerStats { airtime_tx_ns: tx, airtime_rx_ns: rx, ..*stats })
        })
    }

    /// As [`Air::received_dbm`].
    pub fn received_dbm(&self, from: RadioId, to: RadioId) -> Option<f64> {
        self.air.received_dbm(from, to)
    }

    /// As [`Air::radio_spec`].
    pub fn radio_spec(&self, radio: RadioId) -> Option<&RadioSpec> {
        self.air.radio_spec(radio)
    }

    /// What a rate of the air is in the driver's time, bit/s.
    pub fn bps(&self, rate: super::phy::Rate) -> u64 {
        rate.bps() / u64::from(self.factor)
    }

    fn longer(&self, ns: u64) -> u64 {
        ns.saturating_mul(self.factor.into())
    }
}

fn at_of(event: &mut Event) -> &mut Time {
    match event {
        Event::Associated { at, .. }
        | Event::Disassociated { at, .. }
        | Event::BeaconLost { at, .. }
        | Event::ChannelSwitched { at, .. }
        | Event::PowerSaveChanged { at, .. }
        | Event::Beacon { at, .. } => at,
    }
}
