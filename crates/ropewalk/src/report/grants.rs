//! What a client is granted, as `status` and `top` say it.

use crate::config::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ports and groups that a line names; of more it says how many.
const NAMED: usize = 4;

/// What a client is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Granted {
    /// Ports of the gateway that lead to it.
    pub ports: Vec<Port>,
    /// Groups that it is of.
    pub groups: Vec<String>,
    /// What it may receive at most, bits per second.
    pub down_bps: Option<u64>,
    /// What it may send at most, bits per second.
    pub up_bps: Option<u64>,
    /// How much of a full line it gets, where a client that was given none gets 1.
    pub share: Option<u8>,
    /// The interface by which it leaves, its own or its group's.
    pub exit: Option<String>,
}

/// A port that leads to a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Port {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The gateway's port.
    pub port: u16,
    /// The client's.
    pub to: u16,
}

impl Granted {
    /// As a user reads it.
    pub(crate) fn line(&self) -> String {
        let port = |p: &Port| match p.port == p.to {
            true => format!("{} {}", p.protocol, p.port),
            false => format!("{} {} to {}", p.protocol, p.port, p.to),
        };
        let ports: Vec<String> = self.ports.iter().map(port).collect();
        let rate = |bps: Option<u64>, way: &str| bps.map(|bps| format!("{} {way}", BitRate(bps)));
        let caps: Vec<String> =
            [rate(self.down_bps, "down"), rate(self.up_bps, "up")].into_iter().flatten().collect();
        let share: Vec<String> = self.share.iter().map(ToString::to_string).collect();
        let exit: Vec<String> = self.exit.iter().cloned().collect();
        let parts =
            [("port", &ports), ("group", &self.groups), ("cap", &caps), ("share", &share), ("exit", &exit)];
        let parts = parts.into_iter().filter(|(_, all)| !all.is_empty());
        parts.map(|(what, all)| format!("{what} {}", short(all))).collect::<Vec<_>>().join("; ")
    }
}

fn short(all: &[String]) -> String {
    let named = all[..all.len().min(NAMED)].join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Something of each kind.
    pub(crate) fn granted() -> Granted {
        let port = |port, to| Port { protocol: "tcp".into(), port, to };
        Granted {
            ports: vec![port(8080, 80), port(22, 22)],
            groups: vec!["home".into()],
            down_bps: Some(20_000_000),
            up_bps: None,
            share: None,
            exit: Some("wan2".into()),
        }
    }

    #[test]
    fn what_is_granted_reads_like_this() {
        assert_eq!(granted().line(), "port tcp 8080 to 80, tcp 22; group home; cap 20Mbit down; exit wan2");
        let ports = (1..=6).map(|n| Port { protocol: "udp".into(), port: n, to: n }).collect();
        let many = Granted { ports, ..Granted::default() };
        assert_eq!(many.line(), "port udp 1, udp 2, udp 3, udp 4 and 2 more");
        let shares = Granted { down_bps: Some(20_000_000), share: Some(4), ..Granted::default() };
        assert_eq!(shares.line(), "cap 20Mbit down; share 4");
    }
}
