//! Formulas: how a claim's figure is made of the figures of runs.
//!
//! Numbers, `+ - * /`, parentheses; a series by its name, one of its values as `tcp[5]`, several in a row as `tcp[2..5]`; and [`FUNCTIONS`].
//! With a series arithmetic is done value by value.

use crate::problem::remedy;

/// What a formula comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One number.
    One(f64),
    /// One for each label of an axis, in its order.
    Many(Vec<(String, f64)>),
}

/// Functions with their meanings. Of these the first four also take several values, with commas between.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("sum", "the sum of a series"),
    ("mean", "its mean"),
    ("min", "its least value"),
    ("max", "its largest value"),
    (
        "slope",
        "the slope of the straight line that fits it best (least squares), by the numbers that its labels begin with",
    ),
    ("step", "each value but the first, divided by the one before"),
    ("abs", "absolute values"),
    ("lower", "of two, value by value, the smaller: `lower(tcp, 10)`"),
    ("higher", "of two, value by value, the larger"),
    ("at_least", "the share of a series' values that are at least a number, 0 to 1: `at_least(tcp, 10)`"),
    (
        "quantile",
        "what a share of a series' values is at most, with straight lines between the values: `quantile(tcp, 0.5)` is the median",
    ),
    (
        "falls",
        "how long, after the beginning of each period, until a value is at most a share of the last one before it; the whole period if none is: \
         `falls(load, 1, 2, 0.8)` for periods of 1 from 2 on, in the unit that the labels begin with",
    ),
    ("sorted", "its values in ascending order; each label is how many per cent are at most as large"),
];

/// Why a formula has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// It is wrong in itself.
    #[error("{0}")]
    Wrong(String),
    /// A run that it needs was not made.
    #[error("`{0}` was not run")]
    NotRun(String),
}

type Result<T> = std::result::Result<T, FormulaError>;

fn wrong<T>(sentence: impl Into<String>) -> Result<T> {
    Err(FormulaError::Wrong(sentence.into()))
}

/// Works a formula out; `series` gives the values of a name.
///
/// # Errors
/// The formula is wrong, or `series` says so.
pub fn evaluate(text: &str, series: &dyn Fn(&str) -> Result<Value>) -> Result<Value> {
    let mut parser = Parser { text, at: 0, depth: 0, series };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => wrong(format!("there is a `{c}` too many in `{text}`")),
    }
}

/// The same where one number is wanted.
///
/// # Errors
/// As [`evaluate`], or it is several numbers.
pub fn number(text: &str, series: &dyn Fn(&str) -> Result<Value>) -> Result<f64> {
    match evaluate(text, series)? {
        Value::One(number) => Ok(number),
        Value::Many(_) => wrong(format!(
            "`{text}` is several numbers; take one, as in `tcp[5]`, or make one of them, as in `max(…)`"
        )),
    }
}

/// The number that a label begins with: 20 of `20ms`.
pub fn label_number(label: &str) -> Option<f64> {
    let end = label.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-')).unwrap_or(label.len());
    label[..end].parse().ok()
}

/// Deepest nesting of parentheses, so that no file exhausts the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    series: &'a dyn Fn(&str) -> Result<Value>,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Takes one of these characters if it is next.
    fn take(&mut self, any: &str) -> Option<char> {
        let next = self.peek().filter(|c| any.contains(*c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn expect(&mut self, c: char) -> Result<()> {
        match self.take(c.encode_utf8(&mut [0; 4])) {
            Some(_) => Ok(()),
            None => {
                wrong(format!("`{}` lacks a `{c}` after `{}`", self.text, self.text[..self.at].trim_end()))
            }
        }
    }

    fn sum(&mut self) -> Result<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return wrong("the parentheses are nested too deeply");
        }
        let mut left = self.product()?;
        while let Some(sign) = self.take("+-") {
            let right = self.product()?;
            left = both(left, right, |a, b| if sign == '+' { a + b } else { a - b })?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Value> {
        let mut left = self.factor()?;
        while let Some(sign) = self.take("*/") {
            let right = self.factor()?;
            left = both(left, right, |a, b| if sign == '*' { a * b } else { a / b })?;
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Value> {
        match self.peek() {
            Some('(') => {
                self.expect('(')?;
                let value = self.sum()?;
                self.expect(')')?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let text = self.word(|c| c.is_ascii_digit() || c == '.');
                text.parse().map(Value::One).or_else(|_| wrong(format!("`{text}` is no number")))
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.peek() == Some('(') { self.call(&name) } else { self.figure(&name) }
            }
            _ => wrong(format!(
                "`{}` ends too early, or has something odd after `{}`",
                self.text,
                &self.text[..self.at]
            )),
        }
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> String {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !of(c)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn call(&mut self, name: &str) -> Result<Value> {
        self.expect('(')?;
        let mut given = vec![self.sum()?];
        while self.take(",").is_some() {
            given.push(self.sum()?);
        }
        self.expect(')')?;
        match name {
            "sum" | "mean" | "min" | "max" => reduce(name, &given),
            "slope" | "step" | "abs" | "sorted" => {
                let [one] = &given[..] else { return wrong(format!("`{name}` takes one series")) };
                of_one(name, one)
            }
            "lower" | "higher" => {
                let Ok([a, b]) = <[Value; 2]>::try_from(given) else {
                    return wrong(format!("`{name}` takes two, with a comma between"));
                };
                both(a, b, if name == "lower" { f64::min } else { f64::max })
            }
            "at_least" | "quantile" => match &given[..] {
                [Value::Many(many), Value::One(x)] => Ok(Value::One(of_shares(name, many, *x))),
                _ => wrong(format!("`{name}` takes a series and a number, with a comma between")),
            },
            "falls" => match &given[..] {
                [Value::Many(many), Value::One(period), Value::One(from), Value::One(share)] => {
                    falls(many, *period, *from, *share)
                }
                _ => wrong("`falls` takes a series, a period, where the first begins, and a share"),
            },
            _ => wrong(format!(
                "there is no function `{name}`; {}",
                remedy(name, FUNCTIONS.iter().map(|f| f.0))
            )),
        }
    }

    /// A series, one of its values, or several.
    fn figure(&mut self, name: &str) -> Result<Value> {
        let value = (self.series)(name)?;
        if self.take("[").is_none() {
            return Ok(value);
        }
        let labels = self.word(|c| c != ']');
        self.expect(']')?;
        let Value::Many(many) = value else {
            return wrong(format!("`{name}` is one number and has no `[{labels}]`"));
        };
        let place = |label: &str| match many.iter().position(|(l, _)| l == label.trim()) {
            Some(place) => Ok(place),
            None => wrong(format!(
                "`{name}` has no `[{label}]`; {}",
                remedy(label, many.iter().map(|m| m.0.as_str()))
            )),
        };
        match labels.split_once("..") {
            None => Ok(Value::One(many[place(&labels)?].1)),
            Some((first, last)) => {
                let (first, last) = (place(first)?, place(last)?);
                if first > last {
                    return wrong(format!("`{name}[{labels}]` goes backwards"));
                }
                Ok(Value::Many(many[first..=last].to_vec()))
            }
        }
    }
}

/// One number of a series, or of several values.
fn reduce(name: &str, given: &[Value]) -> Result<Value> {
    if matches!(given, [Value::One(_)]) {
        return wrong(format!("`{name}` takes a series, and this is one number"));
    }
    let mut numbers = Vec::new();
    for value in given {
        match value {
            Value::One(x) => numbers.push(*x),
            Value::Many(many) => numbers.extend(many.iter().map(|m| m.1)),
        }
    }
    let sum = numbers.iter().sum::<f64>();
    let least = |of: fn(f64, f64) -> f64| numbers.iter().copied().reduce(of).unwrap_or(f64::NAN);
    Ok(Value::One(match name {
        "sum" => sum,
        "mean" => sum / numbers.len() as f64,
        "min" => least(f64::min),
        _ => least(f64::max),
    }))
}

/// What is made of one series.
fn of_one(name: &str, value: &Value) -> Result<Value> {
    let many = match value {
        Value::One(x) if name == "abs" => return Ok(Value::One(x.abs())),
        Value::One(_) => return wrong(format!("`{name}` takes a series, and this is one number")),
        Value::Many(many) => many,
    };
    Ok(match name {
        "slope" => Value::One(slope(many)?),
        "step" => Value::Many(many.windows(2).map(|w| (w[1].0.clone(), w[1].1 / w[0].1)).collect()),
        "sorted" => {
            let share = |i: usize| format!("{:.0}", 100.0 * (i + 1) as f64 / many.len() as f64);
            Value::Many(ascending(many).into_iter().enumerate().map(|(i, x)| (share(i), x)).collect())
        }
        _ => Value::Many(many.iter().map(|(label, x)| (label.clone(), x.abs())).collect()),
    })
}

fn ascending(many: &[(String, f64)]) -> Vec<f64> {
    let mut numbers: Vec<f64> = many.iter().map(|m| m.1).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// The share of values that are at least `x`, or the value that a share `x` of them does not exceed.
fn of_shares(name: &str, many: &[(String, f64)], x: f64) -> f64 {
    if name == "at_least" {
        return many.iter().filter(|m| m.1 >= x).count() as f64 / many.len() as f64;
    }
    let numbers = ascending(many);
    let place = x.clamp(0.0, 1.0) * numbers.len().saturating_sub(1) as f64;
    let at = |place: f64| numbers.get(place as usize).copied().unwrap_or(f64::NAN);
    at(place.floor()) + (at(place.ceil()) - at(place.floor())) * place.fract()
}

fn both(a: Value, b: Value, of: impl Fn(f64, f64) -> f64) -> Result<Value> {
    Ok(match (a, b) {
        (Value::One(a), Value::One(b)) => Value::One(of(a, b)),
        (Value::Many(a), Value::One(b)) => Value::Many(a.into_iter().map(|(l, a)| (l, of(a, b))).collect()),
        (Value::One(a), Value::Many(b)) => Value::Many(b.into_iter().map(|(l, b)| (l, of(a, b))).collect()),
        (Value::Many(a), Value::Many(b)) => {
            if !a.iter().map(|(l, _)| l).eq(b.iter().map(|(l, _)| l)) {
                return wrong(
                    "two series with different labels cannot be put together; take the same part of both",
                );
            }
            Value::Many(a.into_iter().zip(b).map(|((l, a), (_, b))| (l, of(a, b))).collect())
        }
    })
}

/// How long each period lasts until a value is at most `share` of the last one before the period.
fn falls(many: &[(String, f64)], period: f64, from: f64, share: f64) -> Result<Value> {
    let numbered = |(label, y): &(String, f64)| label_number(label).map(|x| (x, *y));
    let Some(dots) = many.iter().map(numbered).collect::<Option<Vec<_>>>() else {
        return wrong("a label begins with no number, so there are no periods");
    };
    let periods = dots.last().map_or(0.0, |last| ((last.0 - from) / period).floor());
    if !(period > 0.0 && periods >= 1.0) {
        return wrong(format!("there is no whole period of {period} from {from} on"));
    }
    // A label is the end of its interval, and rounding must not move one across a border.
    let tiny = period * 1e-9;
    let delay = |k: u32| {
        let begin = from + period * f64::from(k);
        type Dots<'a> = Vec<&'a (f64, f64)>;
        let (before, after): (Dots<'_>, Dots<'_>) = dots.iter().partition(|d| d.0 <= begin + tiny);
        let limit = before.last().map_or(f64::NAN, |d| d.1 * share);
        let hit = after.iter().find(|d| d.1 <= limit).map_or(period, |d| d.0 - begin);
        (begin.to_string(), hit.min(period))
    };
    Ok(Value::Many((0..periods as u32).map(delay).collect()))
}

fn slope(many: &[(String, f64)]) -> Result<f64> {
    let mut dots = Vec::with_capacity(many.len());
    for (label, y) in many {
        let Some(x) = label_number(label) else {
            return wrong(format!("`{label}` begins with no number, so there is no slope"));
        };
        dots.push((x, *y));
    }
    let n = dots.len() as f64;
    let (mean_x, mean_y) =
        (dots.iter().map(|d| d.0).sum::<f64>() / n, dots.iter().map(|d| d.1).sum::<f64>() / n);
    let across = dots.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    Ok(across / dots.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str) -> Result<Value> {
        let many =
            |list: &[(&str, f64)]| Ok(Value::Many(list.iter().map(|(l, x)| ((*l).to_owned(), *x)).collect()));
        match name {
            "wave" => many(&[
                ("0.5s", 9.0),
                ("1s", 8.0),
                ("1.5s", 7.0),
                ("2s", 4.0),
                ("2.5s", 4.0),
                ("3s", 4.0),
                ("3.5s", 1.0),
            ]),
            "tcp" => many(&[("1", 80.0), ("2", 40.0), ("3", 10.0)]),
            "rtt" => many(&[("1", 1.0), ("2", 3.0), ("3", 5.0)]),
            "one" => Ok(Value::One(7.0)),
            "late" => Err(FormulaError::NotRun("late".into())),
            _ => wrong(format!("there is no series `{name}`")),
        }
    }

    #[test]
    fn formulas_have_values() {
        for (text, value) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3 - 10 / 4", 6.5),
            ("2 - 3 - 4", -5.0),
            ("16 / 4 / 2", 2.0),
            ("tcp[2]", 40.0),
            ("100 * (1 - tcp[3] / tcp[1])", 87.5),
            ("one", 7.0),
            ("sum(tcp)", 130.0),
            ("mean(rtt)", 3.0),
            ("min(tcp) + max(tcp[2..3])", 50.0),
            ("slope(rtt)", 2.0),
            ("max(step(tcp))", 0.5),
            ("min(tcp * rtt)", 50.0),
            ("max(abs(tcp - 60))", 50.0),
            ("abs(1 - 3)", 2.0),
            ("max(tcp[3], rtt)", 10.0),
            ("min(3, 2)", 2.0),
            ("sum(lower(tcp, 40))", 90.0),
            ("max(higher(tcp / 10, rtt))", 8.0),
            ("higher(1 - 2, 0)", 0.0),
            ("3 * at_least(tcp, 40)", 2.0),
            ("quantile(tcp, 0.5)", 40.0),
            ("quantile(tcp, 0.25)", 25.0),
            ("quantile(rtt, 1)", 5.0),
            ("min(falls(wave, 1, 1, 0.5))", 1.0),
            ("max(falls(wave, 1, 0.5, 0.9))", 1.0),
            ("min(falls(wave, 1, 0.5, 0.9))", 0.5),
            ("sum(falls(wave, 1, 0.5, 0.8))", 2.5),
        ] {
            assert_eq!(number(text, &series), Ok(value), "{text}");
        }
    }

    #[test]
    fn sorted_values_are_a_distribution() {
        let sorted = evaluate("sorted(tcp)", &series).unwrap();
        let labels = [("33", 10.0), ("67", 40.0), ("100", 80.0)];
        assert_eq!(sorted, Value::Many(labels.map(|(l, x)| (l.to_owned(), x)).to_vec()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("tcp", "several numbers"),
            ("tcp[4]", "has no `[4]`"),
            ("tcp[3..1]", "backwards"),
            ("one[1]", "is one number"),
            ("sum(one)", "takes a series"),
            ("sun(tcp)", "did you mean `sum`?"),
            ("none + 1", "no series `none`"),
            ("(1", "lacks a `)`"),
            ("1 2", "a `2` too many"),
            ("1 +", "ends too early"),
            ("", "ends too early"),
            ("max(tcp[1..2] * rtt)", "different labels"),
            ("late + 1", "not run"),
            ("1.2.3", "no number"),
            ("tcp[", "lacks a `]`"),
            ("lower(1)", "takes two"),
            ("quantile(tcp)", "a series and a number"),
            ("at_least(1, 2)", "a series and a number"),
            ("step(tcp, rtt)", "takes one series"),
            ("falls(tcp, 1)", "a series, a period"),
            ("falls(tcp, 0, 1, 1)", "no whole period"),
        ] {
            let said = number(text, &series).unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
        let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(number(&deep, &series).unwrap_err().to_string().contains("too deeply"));
    }
}
