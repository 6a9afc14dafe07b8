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

/// Functions with their meanings. All but `abs` and `step` make one number of a series; the first four also of several, with commas between.
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
        let first = self.sum()?;
        let mut several = false;
        let mut many = match first {
            Value::One(x) if name == "abs" => {
                self.expect(')')?;
                return Ok(Value::One(x.abs()));
            }
            Value::One(x) => vec![(String::new(), x)],
            Value::Many(many) => {
                several = true;
                many
            }
        };
        while ["sum", "mean", "min", "max"].contains(&name) && self.take(",").is_some() {
            several = true;
            match self.sum()? {
                Value::One(x) => many.push((String::new(), x)),
                Value::Many(more) => many.extend(more),
            }
        }
        self.expect(')')?;
        if !several {
            return wrong(format!("`{name}` takes a series, and this is one number"));
        }
        let numbers = many.iter().map(|(_, x)| *x);
        let least = |of: fn(f64, f64) -> f64| Value::One(numbers.clone().reduce(of).unwrap_or(f64::NAN));
        Ok(match name {
            "sum" => Value::One(numbers.sum()),
            "mean" => Value::One(numbers.sum::<f64>() / many.len() as f64),
            "min" => least(f64::min),
            "max" => least(f64::max),
            "slope" => Value::One(slope(&many)?),
            "step" => Value::Many(many.windows(2).map(|w| (w[1].0.clone(), w[1].1 / w[0].1)).collect()),
            "abs" => Value::Many(many.into_iter().map(|(label, x)| (label, x.abs())).collect()),
            _ => {
                return wrong(format!(
                    "there is no function `{name}`; {}",
                    remedy(name, FUNCTIONS.iter().map(|f| f.0))
                ));
            }
        })
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
        ] {
            assert_eq!(number(text, &series), Ok(value), "{text}");
        }
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
        ] {
            let said = number(text, &series).unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
        let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(number(&deep, &series).unwrap_err().to_string().contains("too deeply"));
    }
}
