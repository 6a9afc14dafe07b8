//! What a repeater adds to a client: which of its paths share the channel with its own clients, and how long the queue towards these is.

use crate::config::BackhaulLink;
use ropewalk_bond::api::Input;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::feedback::LinkState;
use ropewalk_net::feedback::{LinkFeedback, LinkReport, Station, open};
use ropewalk_time::{Duration, Time};

/// An interface without a source may get one: hostapd makes it, or somebody gives it a queueing discipline.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// However seldom the access point is told: what the clients' radio has room for is only known for as long.
const SELDOM: Duration = Duration::from_millis(10);
/// The address that stands for packets to groups.
const GROUPS: [u8; 6] = [0xff; 6];

/// The repeater's part.
pub(crate) struct RepeaterPart {
    /// Interfaces whose channel the clients need too.
    pub shared: Vec<String>,
    /// Links whose radios send an RTS before longer frames.
    pub protected: Vec<BackhaulLink>,
    /// The queue towards the clients; none where they are on a cable.
    pub queue: Option<ClientsQueue>,
}

/// The queue in front of the clients' interface.
pub(crate) struct ClientsQueue {
    interface: String,
    every: Duration,
    source: Option<Box<dyn LinkFeedback>>,
    /// Another with each source, and with each epoch of a source.
    epoch: u32,
    last: Option<u32>,
    due: Time,
    complained: bool,
}

impl ClientsQueue {
    /// Of this interface, to be looked at this often at least.
    pub(crate) fn new(interface: &str, every: Duration) -> ClientsQueue {
        ClientsQueue {
            interface: interface.to_owned(),
            every: every.clamp(Duration::from_millis(1), SELDOM),
            source: None,
            epoch: 0,
            last: None,
            due: Time::ZERO,
            complained: false,
        }
    }

    /// When [`ClientsQueue::read`] is due.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Tells the engine how long the queue towards each client is.
    pub(crate) fn read(&mut self, engine: &mut Engine, now: Time) {
        if now < self.due {
            return;
        }
        self.due = now + self.every;
        let Some(report) = self.report(now) else { return };
        if self.last != Some(report.epoch) {
            (self.last, self.epoch) = (Some(report.epoch), self.epoch.wrapping_add(1));
        }
        if report.stations.is_empty() {
            let state = LinkState { epoch: self.epoch, ..report.state() };
            engine.handle(Input::ClientQueue { client: 0, state }, now);
        }
        for station in report.stations.iter().filter(|s| s.mac != GROUPS) {
            let input = Input::ClientQueue { client: number(station), state: station.state(self.epoch) };
            engine.handle(input, now);
        }
    }

    fn report(&mut self, now: Time) -> Option<LinkReport> {
        if self.source.is_none() {
            match open(&self.interface, self.every) {
                Ok(opened) => {
                    tracing::info!(interface = self.interface, source = %opened.feedback.source(), "the clients' queue is read");
                    (self.source, self.last, self.complained) = (Some(opened.feedback), None, false);
                }
                Err(error) => {
                    self.due = now + TRY_AGAIN;
                    if !std::mem::replace(&mut self.complained, true) {
                        tracing::warn!(
                            "{error}; until its queue can be read, the access point is told nothing of it"
                        );
                    }
                    return None;
                }
            }
        }
        match self.source.as_mut()?.read() {
            // A radio of which stations are known and none is there has no queue to speak of.
            Ok(report) => Some(report).filter(|r| !r.stations.is_empty() || r.channel.is_none()),
            Err(error) => {
                tracing::debug!(interface = self.interface, "{error}");
                (self.source, self.due) = (None, now + TRY_AGAIN);
                None
            }
        }
    }
}

/// The engine's number of a client. The first two octets are the maker's: those of one repeater's clients that differ only there do not happen.
fn number(station: &Station) -> u32 {
    let [_, _, rest @ ..] = station.mac;
    u32::from_be_bytes(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_is_a_client_with_all_its_queues() {
        let s = Station {
            mac: [2, 0, 0, 0, 1, 7],
            backlog_packets: [1, 20, 3, 0],
            delivered: 9,
            ..Station::default()
        };
        assert_eq!(number(&s), 0x107);
        let state = s.state(4);
        assert_eq!((state.backlog_packets, state.delivered, state.epoch), (24, 9, 4));
    }
}
