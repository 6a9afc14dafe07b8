//! What comes through over time, from the time series of a run.

use std::time::Duration;

use ropewalk_scenario::report::Series;

use super::acts::Span;

/// What a figure of the picture is the mean of, in seconds.
const WINDOW_S: f64 = 0.3;
/// How often the picture has a figure, in seconds.
const STEP_S: f64 = 0.1;
/// What "as fast as before" is the mean of, in seconds.
const STEADY_S: f64 = 0.5;

/// What came through in a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The moment, in seconds since the flow began.
    pub at_s: f64,
    /// Mb/s that the receiving application got.
    pub delivered_mbps: f64,
    /// Mb/s that each link carried, headers of the tunnel included.
    pub links_mbps: [f64; 2],
}

/// Megabits so far.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at_s: f64,
    delivered: f64,
    links: [f64; 2],
}

/// What was read, oldest first.
#[derive(Debug, Default)]
pub(super) struct Record(Vec<Reading>);

impl Record {
    /// What a flow got, and both links carried towards its receiver, from its start until `to_s` of the run.
    pub(super) fn of(series: &Series, flow: &Span, to_s: f64) -> Record {
        let column = |name: String| series.columns.iter().position(|c| *c == name);
        let columns = [
            column(format!("flow.{}.goodput_mbps", flow.name)),
            column("link.a:forward.carried_mbps".to_owned()),
            column("link.b:forward.carried_mbps".to_owned()),
        ];
        let mut last = Reading { at_s: 0.0, delivered: 0.0, links: [0.0; 2] };
        let mut readings = vec![last];
        for (n, row) in series.rows.iter().enumerate() {
            let at_s = (n + 1) as f64 * series.interval_s - flow.start_s;
            let value = |i: usize| columns[i].and_then(|c| *row.get(c)?);
            // The first row ends an interval that the flow began in; one without a figure is told with the one after it.
            let (true, Some(delivered)) = (at_s > 0.0 && at_s <= to_s - flow.start_s, value(0)) else {
                continue;
            };
            let gap_s = at_s - last.at_s;
            let link = |i: usize| last.links[i] + value(i + 1).unwrap_or(0.0) * gap_s;
            last = Reading { at_s, delivered: last.delivered + delivered * gap_s, links: [link(0), link(1)] };
            readings.push(last);
        }
        Record(readings)
    }

    /// Mb/s delivered of late.
    pub(super) fn mean_of_late(&self) -> f64 {
        let end = self.0.last().map_or(0.0, |r| r.at_s);
        self.mean_between(end - STEADY_S, end)
    }

    /// Mb/s delivered between these seconds.
    pub(super) fn mean_between(&self, from_s: f64, to_s: f64) -> f64 {
        self.rate(from_s, to_s, |r| r.delivered)
    }

    fn rate(&self, from_s: f64, to_s: f64, of: impl Fn(&Reading) -> f64) -> f64 {
        let mut inside = self.0.iter().filter(|r| (from_s..=to_s).contains(&r.at_s));
        let Some(first) = inside.next() else { return 0.0 };
        let last = inside.next_back().unwrap_or(first);
        let seconds = last.at_s - first.at_s;
        if seconds > 0.0 { (of(last) - of(first)) / seconds } else { 0.0 }
    }

    /// The longest time between these seconds in which nothing was delivered.
    pub(super) fn longest_pause(&self, from_s: f64, to_s: f64) -> Duration {
        let inside: Vec<_> = self.0.iter().filter(|r| (from_s..=to_s).contains(&r.at_s)).collect();
        let still = inside.chunk_by(|a, b| a.delivered == b.delivered);
        let longest = still.map(|s| s[s.len() - 1].at_s - s[0].at_s).fold(0.0, f64::max);
        Duration::from_secs_f64(longest)
    }

    /// When, after `from_s`, delivery was first this fast and stayed so for half a second.
    pub(super) fn first_as_fast(&self, from_s: f64, mbps: f64) -> Option<f64> {
        let starts = self.0.iter().map(|r| r.at_s).filter(|at| *at >= from_s);
        let end = self.0.last()?.at_s;
        starts.take_while(|at| at + STEADY_S <= end).find(|at| self.mean_between(*at, at + STEADY_S) >= mbps)
    }

    /// Figures for a picture, up to this second.
    pub(super) fn samples(&self, to_s: f64) -> Vec<Sample> {
        let moments = (1..).map(|n| f64::from(n) * STEP_S).take_while(|at| *at <= to_s);
        let sample = |at_s: f64| {
            let (from, to) = ((at_s - WINDOW_S / 2.0).max(0.0), at_s + WINDOW_S / 2.0);
            let link = |i: usize| self.rate(from, to, move |r| r.links[i]);
            Sample { at_s, delivered_mbps: self.mean_between(from, to), links_mbps: [link(0), link(1)] }
        };
        moments.map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mb/s for a second, nothing for a second, 16 Mb/s for a second, from second 5 of a run on; a row was missed.
    fn record() -> Record {
        let columns = ["link.b:forward.carried_mbps", "flow.f.goodput_mbps"].map(str::to_owned).into();
        let row = |n: u32| {
            let mbps = match n {
                0..250 => 50.0,
                250..300 => 8.0,
                300..350 => 0.0,
                _ => 16.0,
            };
            if n == 270 { vec![None, None] } else { vec![Some(2.0 * mbps), Some(mbps)] }
        };
        let series = Series { interval_s: 0.02, columns, rows: (0..400).map(row).collect() };
        Record::of(&series, &Span { name: "f".to_owned(), start_s: 5.0, end_s: 8.0 }, 8.0)
    }

    #[test]
    fn rates_pauses_and_recovery() {
        let record = record();
        assert!((record.mean_between(0.0, 0.9) - 8.0).abs() < 0.01);
        assert!((record.mean_between(2.1, 3.0) - 16.0).abs() < 0.01);
        assert_eq!(record.mean_between(7.0, 8.0), 0.0);
        assert_eq!(record.longest_pause(0.0, 3.0), Duration::from_secs(1));
        assert!((record.first_as_fast(1.5, 15.0).unwrap() - 2.0).abs() < 0.1);
        assert_eq!(record.first_as_fast(1.5, 20.0), None);
        let samples = record.samples(3.0);
        assert!((samples[4].links_mbps[1] - 16.0).abs() < 0.5 && samples[4].links_mbps[0] == 0.0);
    }
}
