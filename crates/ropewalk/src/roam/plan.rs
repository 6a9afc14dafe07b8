//! Which access points are joined, and why the others are not.

use super::text;
use crate::report::count;
use ropewalk_net::wifi::{Bss, KnownNetwork};
use ropewalk_roam::choose::{Heard, Limits, choose};
use ropewalk_roam::rate::{Generation, expected_bps};

/// Signal of one whose driver has no such figure: it can be joined, after all others.
pub(super) const UNKNOWN_DBM: f64 = -82.0;

/// What a client may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) limits: Limits,
    /// The channel that has to be; none: any.
    pub(super) channel_mhz: Option<u32>,
    /// Stations that the radio may have beside those that others have.
    pub(super) room: usize,
}

/// What becomes of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is joined.
    Join,
    /// wpa_supplicant's file has no such network.
    Unknown,
    /// Its signal is too weak.
    Weak,
    /// It is on another channel than the one that is taken.
    OtherChannel,
    /// There are enough better ones.
    Enough,
    /// The radio can be no more stations.
    NoRoom,
    /// Another program's interface is with it.
    Elsewhere,
}

impl Verdict {
    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Verdict::Join => "join",
            Verdict::Unknown => "not known to wpa_supplicant",
            Verdict::Weak => "too weak",
            Verdict::OtherChannel => "on another channel",
            Verdict::Enough => "enough better ones",
            Verdict::NoRoom => "the radio can be no more stations",
            Verdict::Elsewhere => "another interface is with it",
        }
    }
}

/// An access point and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) bss: Bss,
    /// Its network's place in the list of known ones.
    pub(super) network: Option<usize>,
    pub(super) signal_dbm: f64,
    pub(super) rate_bps: f64,
    pub(super) verdict: Verdict,
}

/// Of what generation it is.
pub(super) fn generation(bss: &Bss) -> Generation {
    match (bss.has_vht, bss.has_ht) {
        (true, _) => Generation::Vht,
        (_, true) => Generation::Ht,
        _ => Generation::Legacy,
    }
}

/// What becomes of each, those that are joined first; `elsewhere` are with other programs' interfaces.
pub(super) fn plan(
    heard: &[Bss],
    known: &[KnownNetwork],
    elsewhere: &[[u8; 6]],
    bounds: &Bounds,
) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = heard.iter().map(|bss| candidate(bss, known)).collect();
    for c in &mut all {
        c.verdict = match c {
            _ if elsewhere.contains(&c.bss.bssid) => Verdict::Elsewhere,
            Candidate { network: None, .. } => Verdict::Unknown,
            _ if c.signal_dbm < bounds.limits.least_dbm => Verdict::Weak,
            _ => Verdict::OtherChannel,
        };
    }
    let is_open = |c: &&Candidate| c.verdict == Verdict::OtherChannel;
    let best = all
        .iter()
        .filter(is_open)
        .max_by(|a, b| a.rate_bps.total_cmp(&b.rate_bps).then(a.signal_dbm.total_cmp(&b.signal_dbm)));
    let Some(channel) = bounds.channel_mhz.or(best.map(|c| c.bss.frequency_mhz)) else { return sorted(all) };
    let of_channel = all.iter().enumerate().filter(|(_, c)| is_open(c) && c.bss.frequency_mhz == channel);
    let heard: Vec<Heard> = of_channel
        .map(|(id, c)| Heard {
            id: id as u32,
            signal_dbm: c.signal_dbm,
            missed: 0,
            packet_time: None,
            joined: false,
        })
        .collect();
    let limits = Limits { most: bounds.limits.most.min(bounds.room), ..bounds.limits };
    let chosen = choose(&heard, &limits);
    let short = if bounds.room < bounds.limits.most { Verdict::NoRoom } else { Verdict::Enough };
    for h in &heard {
        all[h.id as usize].verdict = if chosen.contains(&h.id) { Verdict::Join } else { short };
    }
    sorted(all)
}

fn candidate(bss: &Bss, known: &[KnownNetwork]) -> Candidate {
    let fitting = known.iter().enumerate().filter(|(_, n)| n.is_of(bss));
    let network = fitting.max_by_key(|(at, n)| (n.priority, std::cmp::Reverse(*at))).map(|(at, _)| at);
    let signal_dbm = bss.signal_dbm.unwrap_or(UNKNOWN_DBM);
    Candidate {
        bss: bss.clone(),
        network,
        signal_dbm,
        rate_bps: expected_bps(signal_dbm, bss.width_mhz, generation(bss)),
        verdict: Verdict::OtherChannel,
    }
}

fn sorted(mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.sort_by(|a, b| {
        let joined = |c: &Candidate| c.verdict == Verdict::Join;
        joined(b)
            .cmp(&joined(a))
            .then(b.network.is_some().cmp(&a.network.is_some()))
            .then(b.signal_dbm.total_cmp(&a.signal_dbm))
            .then(a.bss.bssid.cmp(&b.bss.bssid))
    });
    all
}

/// Which stations go because their portals stay shut, by their places; each has its channel, and
/// whether it is such a one. As many go as newcomers of other networks have no place; and all, if all
/// are shut, where the newcomers are on another channel.
pub(super) fn give_way(stations: &[(u32, bool)], newcomers_mhz: &[u32], most: usize) -> Vec<usize> {
    let is_here = |mhz: &&u32| stations.iter().any(|(own, _)| own == *mhz);
    let here = newcomers_mhz.iter().filter(is_here).count();
    let shut = stations.iter().enumerate().filter(|(_, (_, is_shut))| *is_shut).map(|(place, _)| place);
    if here > 0 {
        return shut.take(here.saturating_sub(most.saturating_sub(stations.len()))).collect();
    }
    let shut: Vec<usize> = shut.collect();
    if shut.len() == stations.len() && !newcomers_mhz.is_empty() { shut } else { Vec::new() }
}

/// Why fewer are joined than there could be, in a sentence.
pub(super) fn shortage(radio: &str, stations: u32, others: u32, most: usize) -> Option<String> {
    let room = stations.saturating_sub(others) as usize;
    if room >= most {
        return None;
    }
    let held = match others {
        0 => String::new(),
        1 => ", and another program has one of them".into(),
        n => format!(", and other programs have {n} of them"),
    };
    Some(format!(
        "{radio} can be {} at once by its interface combinations (`iw list`){held}: {room} of the {most} access points that could be joined",
        count(stations as usize, "station"),
    ))
}

/// What is done, in a sentence.
pub(super) fn summary(all: &[Candidate]) -> String {
    let joined: Vec<&Candidate> = all.iter().filter(|c| c.verdict == Verdict::Join).collect();
    match joined.first() {
        Some(first) => format!(
            "would join {} of {} access points, on channel {}",
            joined.len(),
            all.len(),
            text::channel(first.bss.frequency_mhz)
        ),
        None => format!("would join none of {} access points", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::wifi::known_networks;
    use std::time::Duration;

    fn bss(last: u8, ssid: &str, mhz: u32, dbm: f64) -> Bss {
        Bss {
            bssid: [2, 0, 0, 0, 0, last],
            ssid: ssid.into(),
            frequency_mhz: mhz,
            signal_dbm: Some(dbm),
            beacon_interval: Duration::from_millis(100),
            age: Duration::ZERO,
            is_protected: false,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        }
    }

    fn verdicts(
        heard: &[Bss],
        elsewhere: &[[u8; 6]],
        room: usize,
        channel_mhz: Option<u32>,
    ) -> Vec<(u8, Verdict)> {
        let known = known_networks("network={\nssid=\"home\"\nkey_mgmt=NONE\n}\n");
        let bounds = Bounds { limits: Limits::default(), channel_mhz, room };
        plan(heard, &known, elsewhere, &bounds).iter().map(|c| (c.bss.bssid[5], c.verdict)).collect()
    }

    #[test]
    fn the_three_best_of_the_best_channel_are_joined_and_others_have_a_reason() {
        use Verdict::{Elsewhere, Enough, Join, OtherChannel, Unknown, Weak};
        let all = [
            bss(1, "home", 2412, -50.0),
            bss(2, "home", 2437, -40.0),
            bss(3, "home", 2437, -70.0),
            bss(4, "home", 2437, -75.0),
            bss(5, "home", 2437, -60.0),
            bss(6, "other", 2437, -30.0),
            bss(7, "home", 2437, -90.0),
            bss(8, "home", 2437, -35.0),
        ];
        let expected = [
            (2, Join),
            (5, Join),
            (3, Join),
            (8, Elsewhere),
            (1, OtherChannel),
            (4, Enough),
            (7, Weak),
            (6, Unknown),
        ];
        assert_eq!(verdicts(&all, &[[2, 0, 0, 0, 0, 8]], 8, None), expected);
        let joined = |room, channel| {
            let all = verdicts(&all, &[], room, channel).into_iter();
            all.filter(|v| v.1 == Join).map(|v| v.0).collect::<Vec<_>>()
        };
        assert_eq!(joined(8, Some(2412)), [1]);
        assert!(joined(8, Some(5180)).is_empty());
        assert_eq!(joined(1, None), [8]);
        assert!(joined(0, None).is_empty());
        assert_eq!(verdicts(&[], &[], 8, None), []);
        // A radio of one station says so of the others.
        assert!(verdicts(&all, &[], 1, None).contains(&(2, Verdict::NoRoom)));
    }

    #[test]
    fn who_has_a_portal_that_stays_shut_gives_way_to_who_has_no_other_place() {
        let (shut, open) = ((2437, true), (2437, false));
        assert_eq!(give_way(&[open, shut, shut], &[2437], 3), [1]);
        assert_eq!(give_way(&[open, shut, shut], &[2437, 2437, 2437], 3), [1, 2]);
        assert!(give_way(&[open, shut], &[2437], 3).is_empty(), "there is room for both");
        assert!(give_way(&[open, open, open], &[2437], 3).is_empty());
        assert!(give_way(&[shut, shut], &[], 2).is_empty(), "nobody else is there");
        assert_eq!(give_way(&[shut, shut], &[5180], 3), [0, 1], "a radio has one channel");
        assert!(give_way(&[shut, open], &[5180], 3).is_empty());
    }

    #[test]
    fn a_radio_with_too_little_room_says_so() {
        assert_eq!(shortage("phy0", 4, 1, 3), None);
        let words = shortage("phy0", 1, 1, 3).unwrap();
        assert!(words.starts_with("phy0 can be 1 station at once by its interface combinations"), "{words}");
        assert!(words.contains("another program has one of them: 0 of the 3"), "{words}");
    }
}
