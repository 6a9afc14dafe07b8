//! Expectations over the seeds of a point of a sweep: the figure that is judged, and how sure it is.

use crate::file::{Expect, Over};
use crate::report::{Metric, Report};
use crate::verdict::{Verdict, round};
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// Judges the runs of a point of a sweep, one for each seed; an expectation with several bounds has as many verdicts. Those about single runs are left
/// to [`judge`](crate::verdict::judge).
pub fn judge_seeds(expects: &[Expect], reports: &[&Report]) -> Vec<Verdict> {
    let Some(first) = reports.first() else { return Vec::new() };
    let concerned = expects.iter().filter(|e| e.over != Over::Each && e.concerns(&first.provenance.point));
    concerned.flat_map(|expect| of_one(expect, reports)).collect()
}

fn of_one(expect: &Expect, reports: &[&Report]) -> Vec<Verdict> {
    let own = values(&expect.metric, reports);
    let mut verdicts: Vec<Verdict> = expect
        .fixed_bands()
        .into_iter()
        .map(|(wanted, band)| verdict(expect, &expect.metric, own.as_deref(), (wanted, band)))
        .collect();
    if let Some(ratio) = &expect.ratio {
        let both = own.zip(values(&ratio.to, reports));
        // A ratio to nothing is none.
        let ratios = both.map(|(own, other)| own.iter().zip(&other).map(|(a, b)| a / b).collect::<Vec<_>>());
        let ratios = ratios.filter(|all| all.iter().all(|r| r.is_finite()));
        let name = format!("{} / {}", expect.metric, ratio.to);
        let least = ratio.min.map(|min| (format!("at least {}", round(min)), (min, f64::INFINITY)));
        let most = ratio.max.map(|max| (format!("at most {}", round(max)), (f64::NEG_INFINITY, max)));
        let bands = least.into_iter().chain(most);
        verdicts.extend(bands.map(|band| verdict(expect, &name, ratios.as_deref(), band)));
    }
    verdicts
}

/// The figure of every run; none if one of them has no such figure.
fn values(metric: &str, reports: &[&Report]) -> Option<Vec<f64>> {
    let metric: Metric = metric.parse().ok()?;
    reports.iter().map(|report| metric.value(report)).collect()
}

fn verdict(
    expect: &Expect,
    name: &str,
    values: Option<&[f64]>,
    (wanted, band): (String, (f64, f64)),
) -> Verdict {
    let within = |v: f64| band.0 <= v && v <= band.1;
    let seeds = values.map_or(0, <[f64]>::len);
    let metric = match expect.over {
        Over::Share => format!("the share of {seeds} seeds whose {name} is {wanted}"),
        over => format!("the {} of {name} over {seeds} seeds", over.name()),
    };
    let confidence = expect.confidence.map(|c| c.0);
    let Some(values) = values.filter(|v| !v.is_empty()) else {
        return Verdict { metric: name.to_owned(), value: None, interval: None, wanted, holds: false };
    };
    if expect.over == Over::Share {
        let least = expect.share.map_or(1.0, |share| share.0);
        let inside = values.iter().filter(|v| within(**v)).count();
        let value = inside as f64 / seeds as f64;
        let interval = confidence.map(|c| (least_share(inside, seeds, c), 1.0));
        let holds = interval.map_or(value, |(low, _)| low) >= least;
        let wanted = format!("at least {}", round(least));
        return Verdict { metric, value: Some(value), interval, wanted, holds };
    }
    let (value, interval) = match expect.over {
        Over::Median => (median(values), confidence.and_then(|c| median_interval(values, c))),
        _ => (mean(values), confidence.and_then(|c| mean_interval(values, c))),
    };
    let holds = match (confidence, interval) {
        (None, _) => within(value),
        (Some(_), Some((low, high))) => within(low) && within(high),
        (Some(_), None) => false,
    };
    Verdict { metric, value: Some(value), interval, wanted, holds }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut all = values.to_vec();
    all.sort_by(f64::total_cmp);
    all
}

fn median(values: &[f64]) -> f64 {
    let all = sorted(values);
    let half = all.len() / 2;
    if all.len() % 2 == 1 { all[half] } else { f64::midpoint(all[half - 1], all[half]) }
}

/// Student's interval: the mean, and as many standard errors as t of n − 1 degrees of freedom says.
fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let (n, mean) = (values.len() as f64, mean(values));
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(f64::midpoint(1.0, confidence));
    let half = t * (variance / n).sqrt();
    half.is_finite().then_some((mean - half, mean + half))
}

/// Between the k-th least and the k-th largest value lies the median with a probability of 1 − 2·P(fewer than k heads of n coins), whatever the
/// distribution: the largest k for which that is enough.
fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let all = sorted(values);
    let coins = Binomial::new(0.5, all.len() as u64).ok()?;
    let enough = |k: &usize| 1.0 - 2.0 * coins.cdf(*k as u64 - 1) >= confidence;
    let k = (1..=all.len() / 2).rev().find(enough)?;
    Some((all[k - 1], all[all.len() - k]))
}

/// The lower bound of a share of which `inside` of `n` were seen, by Clopper and Pearson.
fn least_share(inside: usize, n: usize, confidence: f64) -> f64 {
    if inside == 0 {
        return 0.0;
    }
    let beta = Beta::new(inside as f64, (n - inside) as f64 + 1.0);
    beta.map_or(0.0, |beta| beta.inverse_cdf(1.0 - confidence))
}

/// How many seeds an expectation needs before it can hold at all.
pub(crate) fn seeds_needed(expect: &Expect) -> usize {
    let Some(confidence) = expect.confidence.map(|c| c.0) else { return 2 };
    let needed = match expect.over {
        // All of n between the least and the largest: 1 − 2·2⁻ⁿ.
        Over::Median => (2.0 / (1.0 - confidence)).log2().ceil(),
        // All of n inside: the bound is (1 − confidence)^(1/n).
        Over::Share => ((1.0 - confidence).ln() / expect.share.map_or(1.0, |s| s.0).ln()).ceil(),
        _ => 2.0,
    };
    // A share of all cannot be shown by any number; as many as that are refused with the rest.
    if needed.is_finite() { (needed as usize).max(2) } else { usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::FlowRow;
    use crate::units::Share;
    use indexmap::IndexMap;

    fn runs(goodput: &[f64]) -> Vec<Report> {
        let run = |v: &f64| {
            let flow =
                |name: &str, goodput_mbps| FlowRow { name: name.into(), goodput_mbps, ..FlowRow::default() };
            Report { flow: vec![flow("a", *v), flow("b", 2.0)], ..Report::default() }
        };
        goodput.iter().map(run).collect()
    }

    fn expect(over: Over) -> Expect {
        Expect {
            metric: "flow.a.goodput_mbps".into(),
            min: None,
            max: None,
            within: None,
            ratio: None,
            over,
            share: None,
            confidence: None,
            when: IndexMap::new(),
        }
    }

    fn judged(expect: Expect, goodput: &[f64]) -> Vec<String> {
        let runs = runs(goodput);
        judge_seeds(&[expect], &runs.iter().collect::<Vec<_>>()).iter().map(Verdict::to_string).collect()
    }

    #[test]
    fn the_mean_is_judged_where_single_runs_are_outside() {
        let least = |min| Expect { min: Some(min), ..expect(Over::Mean) };
        let told = judged(least(9.9), &[8.0, 10.0, 12.0]);
        assert_eq!(
            told,
            ["holds: the mean of flow.a.goodput_mbps over 3 seeds is 10, expected at least 9.900"]
        );
        assert!(judged(least(10.1), &[8.0, 10.0, 12.0])[0].starts_with("FAILS"));
        let single = crate::verdict::judge(&[least(11.0)], &runs(&[8.0])[0]);
        assert_eq!(single, [], "one run says nothing of it");
    }

    #[test]
    fn with_confidence_all_of_the_interval_has_to_be_inside() {
        // t of 2 degrees of freedom is 4.303 at 95 %: 10 ± 4.303 · 2/√3.
        let sure = |min| Expect { min: Some(min), confidence: Some(Share(0.95)), ..expect(Over::Mean) };
        let told = judged(sure(9.0), &[8.0, 10.0, 12.0]);
        let want =
            "FAILS: the mean of flow.a.goodput_mbps over 3 seeds is 10 (5.032 to 14.97), expected at least 9";
        assert_eq!(told, [want]);
        assert!(judged(sure(5.03), &[8.0, 10.0, 12.0])[0].starts_with("holds"));
        assert!(judged(sure(5.04), &[8.0, 10.0, 12.0])[0].starts_with("FAILS"));
    }

    #[test]
    fn the_median_does_not_mind_one_run_and_has_an_interval_from_six_on() {
        let median = |confidence: Option<f64>| Expect {
            max: Some(4.0),
            confidence: confidence.map(Share),
            ..expect(Over::Median)
        };
        assert!(judged(median(None), &[1.0, 2.0, 3.0, 4.0, 5000.0])[0].contains("is 3, expected at most 4"));
        // Of six, the least and the largest: 1 − 2/64 = 96.9 %.
        let told = judged(median(Some(0.95)), &[2.0, 1.0, 3.0, 4.0, 3.5, 3.0]);
        assert!(told[0].starts_with("holds") && told[0].contains("(1 to 4)"), "{told:?}");
        assert!(judged(median(Some(0.98)), &[2.0, 1.0, 3.0, 4.0, 3.5, 3.0])[0].starts_with("FAILS"));
        assert_eq!(seeds_needed(&median(Some(0.95))), 6);
    }

    #[test]
    fn a_share_of_the_seeds_may_be_outside() {
        let share = |share, confidence: Option<f64>| Expect {
            min: Some(1.0),
            share: Some(Share(share)),
            confidence: confidence.map(Share),
            ..expect(Over::Share)
        };
        let told = judged(share(0.75, None), &[0.0, 2.0, 2.0, 2.0]);
        let want = "holds: the share of 4 seeds whose flow.a.goodput_mbps is at least 1 is 0.7500, expected at least 0.7500";
        assert_eq!(told, [want]);
        assert!(judged(share(0.8, None), &[0.0, 2.0, 2.0, 2.0])[0].starts_with("FAILS"));
        // 0.05^(1/29) = 0.902: 29 good ones show nine of ten, 28 do not.
        assert_eq!(seeds_needed(&share(0.9, Some(0.95))), 29);
        assert!(judged(share(0.9, Some(0.95)), &[2.0; 29])[0].starts_with("holds"));
        assert!(judged(share(0.9, Some(0.95)), &[2.0; 28])[0].starts_with("FAILS"));
        assert_eq!(seeds_needed(&share(1.0, Some(0.95))), usize::MAX);
    }

    #[test]
    fn ratios_are_of_single_runs_and_a_missing_figure_fails() {
        let ratio = |to: &str| {
            let to = format!("flow.{to}.goodput_mbps");
            Expect { ratio: Some(crate::file::Ratio { to, min: Some(1.5), max: None }), ..expect(Over::Mean) }
        };
        let told = judged(ratio("b"), &[2.0, 5.0]);
        let want = "holds: the mean of flow.a.goodput_mbps / flow.b.goodput_mbps over 2 seeds is 1.750, expected at least 1.500";
        assert_eq!(told, [want]);
        assert!(judged(ratio("c"), &[2.0, 5.0])[0].starts_with("FAILS: there is no flow.a"), "{told:?}");
    }
}
