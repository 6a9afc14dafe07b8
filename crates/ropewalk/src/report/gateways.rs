//! Where a client has found its gateway, and where else it may be.

use super::table::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::net::SocketAddr;

/// Where a client's gateway is. The gateways of a fleet have one key, so a client tells them apart by their addresses alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Gateways {
    /// Addresses at which the gateway of this session has answered.
    #[schemars(with = "Vec<String>")]
    pub here: Vec<SocketAddr>,
    /// Other addresses that the token or a path names, of this gateway or of another; a name that has none yet.
    pub others: Vec<String>,
    /// How it came to this gateway from another one, if it did.
    pub moved: Option<Moved>,
}

/// A client went from one gateway to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Moved {
    /// Addresses of the one before.
    #[schemars(with = "Vec<String>")]
    pub from: Vec<SocketAddr>,
    /// What that one did: `said goodbye`, `did not answer` or `was slower`.
    pub why: String,
    /// How long ago, seconds.
    pub ago_s: f64,
}

impl Gateways {
    /// In one line; none where the gateway is at its only address.
    pub(crate) fn line(&self, is_up: bool) -> Option<String> {
        if self.here.is_empty() || self.others.is_empty() && self.moved.is_none() {
            return None;
        }
        let mut line = format!("{} {}", if is_up { "at" } else { "was at" }, words(&self.here));
        if let Some(Moved { from, why, ago_s }) = &self.moved {
            let _ = write!(line, "; {} ago {} {why}", time(*ago_s), words(from));
        }
        if !self.others.is_empty() {
            let _ = write!(line, "; other endpoints: {}", self.others.join(", "));
        }
        Some(line)
    }
}

/// Addresses of one gateway.
pub(crate) fn words(addresses: &[SocketAddr]) -> String {
    let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    all.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_where_it_is_and_why() {
        let at = |n: u8| SocketAddr::from(([10, 2, n, 2], 4500));
        let mut gateways = Gateways { here: vec![at(1)], ..Gateways::default() };
        assert_eq!(gateways.line(true), None, "it is nowhere else");
        gateways.others = vec![at(2).to_string(), "gw.example.org:4500".into()];
        let words = "other endpoints: 10.2.2.2:4500, gw.example.org:4500";
        assert_eq!(gateways.line(true).unwrap(), format!("at 10.2.1.2:4500; {words}"));
        gateways.moved = Some(Moved { from: vec![at(3), at(4)], why: "said goodbye".into(), ago_s: 65.0 });
        let moved = "; 1 min 5 s ago 10.2.3.2:4500 and 10.2.4.2:4500 said goodbye; ";
        assert_eq!(gateways.line(false).unwrap(), format!("was at 10.2.1.2:4500{moved}{words}"));
        assert_eq!(Gateways { here: Vec::new(), ..gateways }.line(false), None, "it was nowhere");
    }
}
