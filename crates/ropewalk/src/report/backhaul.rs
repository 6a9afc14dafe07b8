//! What the ends of a backhaul between an access point and a repeater say of the queue towards the
//! clients, in the form in which `status --json` has it.

use super::count;
use ropewalk_bond::backhaul::BackhaulStatus;
use ropewalk_bond::backhaul::limiter::Allowance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The radio that may leave its channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChannelSwitcher {
    /// Its interface.
    pub interface: String,
    /// Centre of its primary channel, MHz, where that can be said.
    pub channel_mhz: Option<u32>,
    /// A search is under way.
    pub searching: bool,
    /// Searches that ended.
    pub searches: u64,
    /// Channels that it was sent to.
    pub switches: u64,
    /// The last search: where it began, MHz.
    pub last_from_mhz: Option<u32>,
    /// Channels that were tried in it.
    pub last_probes: Option<u32>,
    /// What the link carried before, bit/s.
    pub last_before_bps: Option<f64>,
    /// What it carried in the test of the channel that it stayed on, bit/s.
    pub last_after_bps: Option<f64>,
}

impl ChannelSwitcher {
    /// For people, in one line.
    pub(crate) fn line(&self) -> String {
        let at = self.channel_mhz.map_or("an unknown channel".into(), |mhz| format!("{mhz} MHz"));
        let last = match (self.last_from_mhz, self.last_before_bps, self.last_after_bps) {
            (Some(from), Some(before), Some(after)) => {
                format!("; last from {from} MHz, {:.1} Mb/s before, {:.1} after", before / 1e6, after / 1e6)
            }
            _ => String::new(),
        };
        let now = if self.searching { ", searching" } else { "" };
        let searches = count(self.searches as usize, "search");
        let switches = count(self.switches as usize, "switch");
        format!("{} at {at}{now}; {searches}, {switches}{last}", self.interface)
    }
}

/// The queue towards a repeater's clients, and what follows from it. Each end fills in what it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Backhaul {
    /// Repeater: clients whose queues are read.
    pub clients: u64,
    /// Packets in the longest queue towards a client: as read here, or as the repeater said last.
    pub longest_packets: u32,
    /// Repeater: reports sent.
    pub reports_sent: u64,
    /// Repeater: packets in order that wait until there is room in front of the clients.
    pub kept_packets: u64,
    /// Repeater: how often packets had to wait for that.
    pub waits: u64,
    /// Access point: reports that said decrease.
    pub decreases: u64,
    /// Access point: reports that said same.
    pub unchanged: u64,
    /// Access point: reports that said increase.
    pub increases: u64,
    /// Access point: reports that came twice or too late.
    pub old_reports: u64,
    /// Access point: reports that made no sense, and were ignored.
    pub invalid_reports: u64,
    /// Access point: how often none came for two periods, which counts as a decrease.
    pub silences: u64,
    /// Access point: the limiter, `mimd` or `balance`.
    pub limiter: Option<String>,
    /// Access point: the shared links may carry nothing but control.
    pub blocked: bool,
    /// Access point, `mimd`: datagrams that the shared links may hold.
    pub held_datagrams: Option<f64>,
    /// Access point, `balance`: datagrams per second that may leave on the shared links.
    pub rate_pps: Option<f64>,
}

impl Backhaul {
    /// As the engine reports it.
    pub(crate) fn new(s: &BackhaulStatus) -> Backhaul {
        let [decreases, unchanged, increases] = s.received.levels;
        let allowance = s.limiter.map(|(_, a)| a);
        Backhaul {
            clients: s.clients as u64,
            longest_packets: s.longest,
            reports_sent: s.reports_sent,
            kept_packets: s.kept as u64,
            waits: s.waits,
            decreases,
            unchanged,
            increases,
            old_reports: s.received.old,
            invalid_reports: s.received.invalid,
            silences: s.received.silences,
            limiter: s.limiter.map(|(name, _)| name.to_owned()),
            blocked: allowance == Some(Allowance::Blocked),
            held_datagrams: match allowance {
                Some(Allowance::Held(held)) => Some(held),
                _ => None,
            },
            rate_pps: match allowance {
                Some(Allowance::Rate(pps)) => Some(pps),
                _ => None,
            },
        }
    }

    /// `clients: 12 packets wait for one at most; 40 decrease, 3 same, 9 increase; balance: 812 datagrams/s on shared links`.
    pub(crate) fn line(&self) -> String {
        let longest = self.longest_packets;
        let Some(limiter) = &self.limiter else {
            return format!(
                "{longest} packets wait for a client at most, of {}, {} for room there; {} reports sent",
                self.clients, self.kept_packets, self.reports_sent
            );
        };
        let allowed = match (self.blocked, self.held_datagrams, self.rate_pps) {
            (true, ..) => "shared links blocked".into(),
            (_, Some(held), _) => format!("{held:.1} datagrams held on shared links"),
            (_, _, Some(pps)) => format!("{pps:.0} datagrams/s on shared links"),
            _ => "shared links free".into(),
        };
        format!(
            "{longest} packets wait for a client at most; {} decrease, {} same, {} increase, {} silences; {limiter}: {allowed}",
            self.decreases, self.unchanged, self.increases, self.silences
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_bond::backhaul::limiter::Counters;

    #[test]
    fn one_search_is_one() {
        let of = |n| ChannelSwitcher { searches: n, switches: n, ..ChannelSwitcher::default() }.line();
        assert_eq!(of(1), " at an unknown channel; 1 search, 1 switch");
        assert_eq!(of(2), " at an unknown channel; 2 searches, 2 switches");
    }

    #[test]
    fn each_end_says_what_it_knows() {
        let heard = Counters { levels: [40, 3, 9], old: 1, silences: 2, invalid: 0 };
        let s = BackhaulStatus {
            clients: 0,
            longest: 12,
            reports_sent: 0,
            kept: 0,
            waits: 0,
            received: heard,
            limiter: Some(("balance", Allowance::Rate(812.4))),
        };
        assert_eq!(
            Backhaul::new(&s).line(),
            "12 packets wait for a client at most; 40 decrease, 3 same, 9 increase, 2 silences; balance: 812 datagrams/s on shared links"
        );
        let blocked = Backhaul::new(&BackhaulStatus { limiter: Some(("mimd", Allowance::Blocked)), ..s });
        assert!(blocked.blocked && blocked.line().ends_with("mimd: shared links blocked"));
        let repeater = BackhaulStatus { clients: 3, reports_sent: 7, kept: 40, waits: 2, limiter: None, ..s };
        let backhaul = Backhaul::new(&repeater);
        assert_eq!(
            backhaul.line(),
            "12 packets wait for a client at most, of 3, 40 for room there; 7 reports sent"
        );
        assert_eq!((backhaul.kept_packets, backhaul.waits), (40, 2));
    }
}
