//! Why a gateway says no, in words for the user at the client.

/// A gateway's answer to a client it knows, or could know, but does not let in. It is authenticated: nobody else
/// can send one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Code 1.
    #[error("the gateway has revoked this device; ask its operator for a new token")]
    Revoked,
    /// Code 2.
    #[error(
        "the gateway does not know this token; check that it is for this gateway, or ask its operator for a new one"
    )]
    UnknownInvite,
    /// Code 3.
    #[error(
        "another device already uses this token; each device needs its own, so ask the gateway's operator for one"
    )]
    TokenInUse,
    /// Code 4.
    #[error(
        "the gateway has no free address left; its operator can revoke unused devices or enlarge the pool (--address)"
    )]
    PoolFull,
    /// Code 5.
    #[error("this ropewalk and the gateway's speak different protocol versions; update the older of the two")]
    Version,
    /// Code 6.
    #[error("the gateway has no room for another client now; ropewalk tries again by itself")]
    Busy,
    /// Code 7.
    #[error(
        "the other end is an access point (`ropewalk ap`): run `ropewalk repeater` here, and `ropewalk up` only towards a `ropewalk serve`"
    )]
    NoRepeater,
    /// Code 8.
    #[error(
        "the other end is an ordinary gateway (`ropewalk serve`), not an access point: run `ropewalk ap` there, or `ropewalk up` here"
    )]
    NoAccessPoint,
    /// Code 9.
    #[error(
        "one end carries frames and the other packets: set the same `layer`, 2 or 3, in ap.toml and in repeater.toml"
    )]
    OtherLayer,
    /// Code 10.
    #[error(
        "the access point does not expect the networks of this repeater's clients: name them there, under [[ap.repeater]] in ap.toml"
    )]
    Network,
    /// Any other code: of a later version.
    #[error(
        "the gateway refuses this device for a reason this ropewalk does not know (code {0}); update ropewalk"
    )]
    Other(u8),
}

impl Refusal {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Refusal::Revoked => 1,
            Refusal::UnknownInvite => 2,
            Refusal::TokenInUse => 3,
            Refusal::PoolFull => 4,
            Refusal::Version => 5,
            Refusal::Busy => 6,
            Refusal::NoRepeater => 7,
            Refusal::NoAccessPoint => 8,
            Refusal::OtherLayer => 9,
            Refusal::Network => 10,
            Refusal::Other(code) => code,
        }
    }

    /// The refusal with this number on the wire.
    pub const fn from_code(code: u8) -> Refusal {
        match code {
            1 => Refusal::Revoked,
            2 => Refusal::UnknownInvite,
            3 => Refusal::TokenInUse,
            4 => Refusal::PoolFull,
            5 => Refusal::Version,
            6 => Refusal::Busy,
            7 => Refusal::NoRepeater,
            8 => Refusal::NoAccessPoint,
            9 => Refusal::OtherLayer,
            10 => Refusal::Network,
            code => Refusal::Other(code),
        }
    }

    /// Whether trying again later, with nothing changed at the client, can help.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Refusal::Busy | Refusal::PoolFull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        for code in 0..=255 {
            assert_eq!(Refusal::from_code(code).code(), code);
        }
    }
}
