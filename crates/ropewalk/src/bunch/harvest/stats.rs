//! How long which rate of an uplink could be shared (paper 002, figures 1, 16 and 17).

use ropewalk_table::harvest::Interval;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// An uplink that carries less does nothing: a router's own questions are as much.
const IDLE_MBPS: f64 = 0.001;
/// The paper's bound of light use.
const LIGHT_MBPS: f64 = 0.1;
/// Rates that are asked for, Mbit/s.
const RATES: [f64; 7] = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0];
/// Lengths of stretches, minutes.
const MINUTES: [u32; 5] = [1, 5, 10, 30, 60];

/// An hour of the day, all days together (figure 1).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Hour {
    /// From this hour on.
    pub hour: u8,
    /// How long it was looked at, hours.
    pub seen_h: f64,
    /// Shares of the time: nothing was carried, and less than 100 kbit/s.
    pub idle: f64,
    pub light: f64,
    /// Means, Mbit/s.
    pub used_mbps: f64,
    pub idle_mbps: f64,
}

/// A rate that could be shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Rate {
    pub mbps: f64,
    /// Share of all time in which it was there (figure 16), and of that in the hours asked for.
    pub all_day: f64,
    pub in_hours: f64,
    /// Share of the time in those hours that lies in stretches of at least so many minutes in which
    /// it was there without a break (figure 17).
    pub stretches: BTreeMap<u32, f64>,
}

/// One uplink.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Harvest {
    pub uplink: String,
    /// How long it was looked at, hours.
    pub seen_h: f64,
    pub rate_mbps: f64,
    /// The hours asked for, both included.
    pub hours: (u8, u8),
    pub by_hour: Vec<Hour>,
    pub rates: Vec<Rate>,
}

/// What there is to say of each uplink. `hour_of` is the hour of the day of a time.
pub(super) fn harvests(
    mut all: Vec<Interval>,
    hours: &RangeInclusive<u8>,
    hour_of: impl Fn(i64) -> u8,
) -> Vec<Harvest> {
    all.sort_by(|a, b| (&a.uplink, a.at_s).cmp(&(&b.uplink, b.at_s)));
    all.chunk_by(|a, b| a.uplink == b.uplink).map(|one| harvest(one, hours, &hour_of)).collect()
}

fn harvest(all: &[Interval], hours: &RangeInclusive<u8>, hour_of: &impl Fn(i64) -> u8) -> Harvest {
    let mut by_hour: Vec<Hour> = (0..24).map(|hour| Hour { hour, ..Hour::default() }).collect();
    for i in all {
        let hour = &mut by_hour[usize::from(hour_of(i.at_s) % 24)];
        hour.seen_h += i.length_s / 3600.0;
        let share = |so: bool| if so { i.length_s / 3600.0 } else { 0.0 };
        hour.idle += share(i.used_mbps < IDLE_MBPS);
        hour.light += share(i.used_mbps < LIGHT_MBPS);
        hour.used_mbps += i.used_mbps * i.length_s / 3600.0;
        hour.idle_mbps += i.idle_mbps() * i.length_s / 3600.0;
    }
    by_hour.retain(|h| h.seen_h > 0.0);
    for h in &mut by_hour {
        let seen = h.seen_h;
        [&mut h.idle, &mut h.light, &mut h.used_mbps, &mut h.idle_mbps].into_iter().for_each(|v| *v /= seen);
    }
    let most = all.iter().map(|i| i.rate_mbps).fold(0.0, f64::max);
    let within = |i: &Interval| hours.contains(&hour_of(i.at_s));
    let rates = RATES.into_iter().filter(|mbps| *mbps <= most);
    Harvest {
        uplink: all.first().map(|i| i.uplink.clone()).unwrap_or_default(),
        seen_h: all.iter().map(|i| i.length_s).sum::<f64>() / 3600.0,
        rate_mbps: most,
        hours: (*hours.start(), *hours.end()),
        by_hour,
        rates: rates.map(|mbps| rate(all, mbps, &within)).collect(),
    }
}

fn time<'a>(of: impl Iterator<Item = &'a Interval>) -> f64 {
    of.map(|i| i.length_s).sum()
}

fn rate(all: &[Interval], mbps: f64, within: &impl Fn(&Interval) -> bool) -> Rate {
    let whole = time(all.iter());
    let asked = time(all.iter().filter(|i| within(i)));
    let there = |i: &&Interval| i.idle_mbps() >= mbps;
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let follows = |a: &Interval, b: &Interval| {
        // A pause in the record ends a stretch: nobody knows what was then.
        let gap = (b.at_s - a.at_s) as f64 - a.length_s;
        // Times are whole seconds.
        gap.abs() <= (a.length_s / 2.0).max(1.5) && there(&a) == there(&b)
    };
    let stretches: Vec<(f64, f64)> = all
        .chunk_by(follows)
        .filter(|stretch| stretch.first().is_some_and(|i| there(&i)))
        .map(|s| (time(s.iter()), time(s.iter().filter(|i| within(i)))))
        .collect();
    let of = |minutes: u32| {
        let long = stretches.iter().filter(|(whole, _)| *whole >= f64::from(minutes) * 60.0);
        (minutes, share(long.map(|(_, part)| part).sum(), asked))
    };
    Rate {
        mbps,
        all_day: share(time(all.iter().filter(there)), whole),
        in_hours: share(time(all.iter().filter(|i| within(i) && there(i))), asked),
        stretches: MINUTES.into_iter().map(of).collect(),
    }
}

/// For people.
pub(super) fn render(h: &Harvest) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut out = format!(
        "{}: {:.1} h of an uplink of {} Mbit/s\n\nhour   seen      idle  <100k    used       left\n",
        h.uplink, h.seen_h, h.rate_mbps
    );
    for hour in &h.by_hour {
        let _ = writeln!(
            out,
            "{:>4}   {:>6.1} h  {:>5}  {:>5}    {:>5.2} Mb/s  {:>5.2} Mb/s",
            hour.hour,
            hour.seen_h,
            percent(hour.idle),
            percent(hour.light),
            hour.used_mbps,
            hour.idle_mbps
        );
    }
    let _ = writeln!(
        out,
        "\nshare of the time in which a rate could be shared, all day and from {} to {} h;\n\
         of that in these hours, what lies in stretches of at least so many minutes:\n",
        h.hours.0,
        h.hours.1 + 1
    );
    let titles: Vec<String> = MINUTES.iter().map(|m| format!("{:>7}", format!("{m} min"))).collect();
    let _ = writeln!(out, "rate          all day  in hours  {}", titles.join(" "));
    for rate in &h.rates {
        let cells: Vec<String> = rate.stretches.values().map(|s| format!("{:>7}", percent(*s))).collect();
        let _ = writeln!(
            out,
            "{:>4} Mbit/s  {:>9}  {:>8}  {}",
            rate.mbps,
            percent(rate.all_day),
            percent(rate.in_hours),
            cells.join(" ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes of ten seconds each, by what was used.
    fn minutes(used: &[(u32, f64)], from: i64) -> Vec<Interval> {
        let each = used.iter().flat_map(|(minutes, mbps)| vec![*mbps; *minutes as usize * 6]);
        let one = |(n, used_mbps): (usize, f64)| Interval {
            at_s: from + 10 * n as i64,
            length_s: 10.0,
            uplink: "wan0".into(),
            rate_mbps: 4.0,
            used_mbps,
        };
        each.enumerate().map(one).collect()
    }

    fn hour(at: i64) -> u8 {
        (at / 3600 % 24) as u8
    }

    #[test]
    fn shares_and_stretches_are_those_of_the_clock() {
        // From 18 h: 40 minutes of nothing, 10 of 3.5 Mbit/s, 10 of 50 kbit/s; then an hour of
        // nothing.
        let all = minutes(&[(40, 0.0), (10, 3.5), (10, 0.05), (60, 0.0)], 18 * 3600);
        let harvest = &harvests(all, &(18..=18), hour)[0];
        assert_eq!((harvest.seen_h, harvest.by_hour.len()), (2.0, 2));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(harvest.by_hour[0].idle, 40.0 / 60.0);
        near(harvest.by_hour[0].light, 50.0 / 60.0);
        near(harvest.by_hour[1].light, 1.0);
        near(harvest.by_hour[0].used_mbps, (10.0 * 3.5 + 10.0 * 0.05) / 60.0);
        let two = harvest.rates.iter().find(|r| r.mbps == 2.0).unwrap();
        near(two.all_day, 110.0 / 120.0);
        near(two.in_hours, 50.0 / 60.0);
        // The last ten minutes of the hour belong to a stretch of 70, the first 40 to one of 40.
        near(two.stretches[&30], 50.0 / 60.0);
        near(two.stretches[&60], 10.0 / 60.0);
        near(harvest.rates[0].in_hours, 1.0);
        assert!(harvest.rates.iter().all(|r| r.mbps <= 4.0), "no more than it carries");
        let text = render(harvest);
        assert!(text.contains("wan0: 2.0 h") && text.contains("18 to 19 h"), "{text}");
    }

    #[test]
    fn a_pause_in_the_record_ends_a_stretch_and_uplinks_are_apart() {
        let mut all = minutes(&[(20, 0.0)], 0);
        all.extend(minutes(&[(20, 0.0)], 20 * 60 + 300));
        all.extend(minutes(&[(5, 0.0)], 0).into_iter().map(|i| Interval { uplink: "b".into(), ..i }));
        let harvests = harvests(all, &(0..=23), hour);
        assert_eq!(harvests.iter().map(|h| h.uplink.as_str()).collect::<Vec<_>>(), ["b", "wan0"]);
        let one = &harvests[1].rates[0];
        assert_eq!((one.stretches[&10], one.stretches[&30]), (1.0, 0.0));
        assert!(super::harvests(Vec::new(), &(0..=23), hour).is_empty());
    }
}
