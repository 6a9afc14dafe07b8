//! Values with a unit, written as text: `"20ms"`, `"54Mbit/s"`, `"16dBm"`, `"1500B"`, `"2%"`.
//!
//! A bare number is refused: whether 20 means milliseconds or seconds is what a reader should not have to look up.

use crate::field::{Field, Form, Reader};
use crate::problem::{COMMANDS, is_command};
use crate::tree::{Node, Value};
use std::time::Duration;

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate {
    /// Bits per second.
    pub bps: u64,
}

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(
    /// Bytes.
    pub u64,
);

/// A power, relative to a milliwatt.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(
    /// dBm.
    pub f64,
);

/// A ratio of powers.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Db(
    /// dB.
    pub f64,
);

/// A share of a whole, written in per cent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(
    /// 0 to 1.
    pub f64,
);

/// A place, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// Metres east.
    pub x_m: f64,
    /// Metres north.
    pub y_m: f64,
    /// Metres above the ground.
    pub z_m: f64,
}

/// A unit: its name and how many base units it is.
type Unit = (&'static str, f64);

const TIMES: &[Unit] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const RATES: &[Unit] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const SIZES: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// What a kind of quantity is called and how it is written.
struct Quantity {
    article: &'static str,
    example: &'static str,
    units: &'static [Unit],
    least: f64,
    most: f64,
    whole: bool,
}

const TIME: Quantity =
    Quantity { article: "a time", example: "20ms", units: TIMES, least: 0.0, most: 1e17, whole: true };
const RATE: Quantity =
    Quantity { article: "a rate", example: "54Mbit/s", units: RATES, least: 0.0, most: 1e14, whole: true };
const SIZE: Quantity = Quantity {
    article: "an amount of data",
    example: "1500B",
    units: SIZES,
    least: 0.0,
    most: 1e15,
    whole: true,
};
const POWER: Quantity = Quantity {
    article: "a power",
    example: "16dBm",
    units: &[("dBm", 1.0)],
    least: -300.0,
    most: 100.0,
    whole: false,
};
const RATIO: Quantity = Quantity {
    article: "a ratio",
    example: "3dB",
    units: &[("dB", 1.0)],
    least: -300.0,
    most: 300.0,
    whole: false,
};
const PART: Quantity = Quantity {
    article: "a share",
    example: "2%",
    units: &[("%", 0.01)],
    least: 0.0,
    most: 1.0,
    whole: false,
};

impl Quantity {
    fn form(&self) -> Form {
        Form::one(format!("{} such as `\"{}\"`", self.article, self.example))
    }

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<f64> {
        match &node.value {
            Value::Text(text) => match self.parse(text) {
                Ok(value) => Some(value),
                Err(sentence) => reader.fail(&node.origin, sentence),
            },
            Value::Whole(_) | Value::Real(_) => {
                let sentence = format!(
                    "{node} has no unit; write {} as a text, such as \"{}\"",
                    self.article, self.example
                );
                reader.fail(&node.origin, sentence)
            }
            other => {
                let sentence = format!(
                    "this is {}, but has to be {} such as \"{}\"",
                    other.kind(),
                    self.article,
                    self.example
                );
                reader.fail(&node.origin, sentence)
            }
        }
    }

    fn parse(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
        let at = text.find(|c| !digits(c)).unwrap_or(text.len());
        let (number, unit) = (text[..at].trim(), text[at..].trim());
        let names = || self.units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
        let scale = self.units.iter().find(|u| u.0 == unit).map(|u| u.1);
        let (Ok(number), Some(scale)) = (number.parse::<f64>(), scale) else {
            return Err(format!(
                "\"{text}\" is not {}; write a number with {}, such as \"{}\"",
                self.article,
                names(),
                self.example
            ));
        };
        let value = if self.whole { (number * scale).round() } else { number * scale };
        if value < self.least {
            let least = if self.least == 0.0 { "be negative" } else { "be so small" };
            return Err(format!("\"{text}\" is out of range; {} cannot {least}", self.article));
        }
        if value > self.most {
            return Err(format!("\"{text}\" is out of range; {} cannot be so large", self.article));
        }
        Ok(value)
    }

    /// The shortest text that means this many base units.
    fn write(&self, value: f64) -> String {
        // Zero and what is equally short: in the customary unit of the example.
        let customary =
            |text: &str| !text.ends_with(self.example.trim_start_matches(|c: char| c.is_ascii_digit()));
        let all =
            self.units.iter().filter(|u| u.0 != "µs").map(|(unit, scale)| format!("{}{unit}", value / scale));
        let exact = all.filter(|text| self.parse(text) == Ok(value));
        exact
            .min_by_key(|text| (text.len() + usize::from(text.contains('.')), customary(text)))
            .unwrap_or_else(|| format!("{value}{}", self.units[0].0))
    }
}

macro_rules! quantity {
    ($type:ty, $quantity:expr, $make:expr, $take:expr) => {
        impl Field for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                $quantity.read(node, reader).map($make)
            }
            fn write(&self) -> Option<toml::Value> {
                let take: fn(&$type) -> f64 = $take;
                Some($quantity.write(take(self)).into())
            }
            fn form() -> Form {
                $quantity.form()
            }
        }
    };
}

quantity!(Duration, TIME, |ns| Duration::from_nanos(ns as u64), |d| d.as_nanos() as f64);
quantity!(BitRate, RATE, |bps| BitRate { bps: bps as u64 }, |r| r.bps as f64);
quantity!(Bytes, SIZE, |b| Bytes(b as u64), |b| b.0 as f64);
quantity!(Dbm, POWER, Dbm, |p| p.0);
quantity!(Db, RATIO, Db, |r| r.0);
quantity!(Share, PART, Share, |s| s.0);

impl std::fmt::Display for BitRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&RATE.write(self.bps as f64))
    }
}

impl Field for Position {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let metres = match &node.value {
            Value::List(list) => list.iter().map(number).collect::<Option<Vec<f64>>>().unwrap_or_default(),
            _ => Vec::new(),
        };
        let fine = |m: &f64| m.is_finite() && m.abs() <= 1e6;
        match metres[..] {
            [x_m, y_m] if metres.iter().all(fine) => Some(Position { x_m, y_m, z_m: 0.0 }),
            [x_m, y_m, z_m] if metres.iter().all(fine) => Some(Position { x_m, y_m, z_m }),
            _ => reader.fail(
                &node.origin,
                format!("{node} is no place; write two or three numbers of metres, such as [10.0, 0.0]"),
            ),
        }
    }
    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::Array(vec![self.x_m.into(), self.y_m.into(), self.z_m.into()]))
    }
    fn form() -> Form {
        Form::one("metres east, north and, if not 0, up, such as `[10.0, 0.0]`")
    }
}

fn number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Whole(n) => Some(n as f64),
        Value::Real(x) => Some(x),
        _ => None,
    }
}

impl Field for f64 {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match number(node) {
            Some(x) if x.is_finite() => Some(x),
            Some(_) => reader.fail(&node.origin, "this is no finite number; write one such as 2.5"),
            None => reader.fail(
                &node.origin,
                format!("this is {}, but has to be a number such as 2.5", node.value.kind()),
            ),
        }
    }
    fn write(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
    fn form() -> Form {
        Form::one("a number")
    }
}

macro_rules! whole {
    ($($type:ty),*) => { $(
        impl Field for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                let Value::Whole(n) = node.value else {
                    return reader.fail(&node.origin, format!("this is {}, but has to be a whole number", node.value.kind()));
                };
                match <$type>::try_from(n) {
                    Ok(n) => Some(n),
                    Err(_) => {
                        let (least, most) = (<$type>::MIN, (<$type>::MAX as u64).min(i64::MAX as u64));
                        reader.fail(&node.origin, format!("{n} is out of range; write a whole number from {least} to {most}"))
                    }
                }
            }
            fn write(&self) -> Option<toml::Value> {
                // What is read from TOML fits an i64; a default larger than that would be a mistake of ours.
                Some(toml::Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
            fn form() -> Form {
                Form::one("a whole number")
            }
        }
    )* };
}
whole!(u8, u16, u32, u64);

impl Field for bool {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.value {
            Value::Truth(b) => Some(b),
            _ => reader
                .fail(&node.origin, format!("this is {}, but has to be true or false", node.value.kind())),
        }
    }
    fn write(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
    fn form() -> Form {
        Form::one("`true` or `false`")
    }
}

impl Field for String {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text.contains(is_command) => reader.fail(&node.origin, COMMANDS),
            Value::Text(text) => Some(text.clone()),
            other => reader.fail(&node.origin, format!("this is {}, but has to be a text", other.kind())),
        }
    }
    fn write(&self) -> Option<toml::Value> {
        Some(self.clone().into())
    }
    fn form() -> Form {
        Form::one("a text")
    }
}

/// A text that a type of the standard library, or of ipnet, can parse.
macro_rules! parsed {
    ($type:ty, $what:literal, $example:literal) => {
        impl Field for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                let text = String::read(node, reader)?;
                let wrong = || format!("\"{text}\" is not {}; write one such as \"{}\"", $what, $example);
                text.parse().ok().or_else(|| reader.fail(&node.origin, wrong()))
            }
            fn write(&self) -> Option<toml::Value> {
                Some(self.to_string().into())
            }
            fn form() -> Form {
                Form::one(concat!($what, " such as `\"", $example, "\"`"))
            }
        }
    };
}
parsed!(ipnet::Ipv4Net, "an IPv4 address with its network", "10.0.0.1/24");
parsed!(std::net::Ipv4Addr, "an IPv4 address", "10.0.0.1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood_and_written_shortest() {
        for (text, ns, short) in [
            ("20ms", 20_000_000_u64, "20ms"),
            ("0.02 s", 20_000_000, "20ms"),
            ("102.4ms", 102_400_000, "102.4ms"),
            ("9us", 9_000, "9us"),
            ("9µs", 9_000, "9us"),
            ("0s", 0, "0s"),
            ("2min", 120_000_000_000, "120s"),
            ("1.5h", 5_400_000_000_000, "5400s"),
        ] {
            assert_eq!(TIME.parse(text), Ok(ns as f64), "{text}");
            assert_eq!(TIME.write(ns as f64), short);
        }
        assert_eq!(RATE.parse("54Mbit/s"), Ok(54e6));
        assert_eq!(SIZE.parse("64KiB"), Ok(65536.0));
        assert_eq!(PART.parse("2%"), Ok(0.02));
        assert_eq!(POWER.parse("-82 dBm"), Ok(-82.0));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_remedy() {
        let wrong = "\"20\" is not a time; write a number with ns, us, µs, ms, s, min, h, such as \"20ms\"";
        assert_eq!(TIME.parse("20"), Err(wrong.into()));
        assert_eq!(TIME.parse("-1ms"), Err("\"-1ms\" is out of range; a time cannot be negative".into()));
        assert_eq!(PART.parse("120%"), Err("\"120%\" is out of range; a share cannot be so large".into()));
        for text in ["", "ms", "1e3ms", "1..2ms", "1 m s", "--1s", "٣ms"] {
            assert!(TIME.parse(text).is_err(), "{text}");
        }
    }
}
