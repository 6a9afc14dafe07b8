//! Values that are written as text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Something with a name, such as a scheduler or an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name<T>(pub T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map(Name).map_err(serde::de::Error::custom)
    }
}

/// A rate in bits a second: `20Mbit`, `500 kbit`, `1Gbit`, or a plain number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BitRate(pub u64);

/// Below this a super-packet takes seconds; above it nothing of ours carries.
const RATES: std::ops::RangeInclusive<u64> = 64_000..=100_000_000_000;

impl FromStr for BitRate {
    type Err = String;

    fn from_str(text: &str) -> Result<BitRate, String> {
        let wrong = || {
            format!(
                "`{text}` is no rate: write a number with kbit, Mbit or Gbit, from 64kbit to 100Gbit, such as 20Mbit"
            )
        };
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..at], text[at..].trim());
        let scale: f64 = match unit {
            "" | "bit" => 1.0,
            "k" | "kbit" => 1e3,
            "M" | "Mbit" => 1e6,
            "G" | "Gbit" => 1e9,
            _ => return Err(wrong()),
        };
        let bits = number.parse::<f64>().map_err(|_| wrong())? * scale;
        if bits.is_finite() && RATES.contains(&(bits as u64)) {
            Ok(BitRate(bits as u64))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bits if bits.is_multiple_of(1_000_000) => write!(f, "{}Mbit", bits / 1_000_000),
            bits if bits.is_multiple_of(1_000) => write!(f, "{}kbit", bits / 1_000),
            bits => write!(f, "{bits}bit"),
        }
    }
}

impl Serialize for BitRate {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<BitRate, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A domain of names, such as `corp.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domain(pub String);

impl FromStr for Domain {
    type Err = String;

    fn from_str(text: &str) -> Result<Domain, String> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        let is_label = |l: &str| (1..=63).contains(&l.len()) && l.bytes().all(letter) && !l.starts_with('-');
        if name.len() <= 253 && name.split('.').all(is_label) {
            return Ok(Domain(name.to_ascii_lowercase()));
        }
        Err(format!("`{text}` is no domain: write one such as corp.example, in its ASCII form"))
    }
}

/// An amount of data in bytes: `10GB`, `500 MB`, `1GiB`, or a plain number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount(pub u64);

/// A text is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no amount of data: write a number with kB, MB, GB, TB, MiB or GiB, such as 10GB")]
pub(crate) struct NoAmount(String);

impl FromStr for Amount {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Amount, NoAmount> {
        let wrong = || NoAmount(text.into());
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..at], text[at..].trim());
        let scale: f64 = match unit {
            "" | "B" => 1.0,
            "k" | "kB" | "K" | "KB" => 1e3,
            "M" | "MB" => 1e6,
            "G" | "GB" => 1e9,
            "T" | "TB" => 1e12,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            "GiB" => 1_073_741_824.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = number * scale;
        if bytes.is_finite() && bytes < 1e18 { Ok(Amount(bytes as u64)) } else { Err(wrong()) }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Amount, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(d)? {
            Either::Number(n) => Ok(Amount(n)),
            Either::Text(t) => t.parse().map_err(serde::de::Error::custom),
        }
    }
}
