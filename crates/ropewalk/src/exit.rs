//! What the exit code tells a script.

use crate::config::ConfigError;
use crate::state::clients::ClientsError;
use crate::state::pool::PoolError;
use ropewalk_kern::KernError;
use ropewalk_net::links::LinkError;
use ropewalk_net::privileges::PrivilegeError;
use ropewalk_net::setup::SetupError;
use ropewalk_net::tun::TunError;
use ropewalk_net::udp::OpenError;
use ropewalk_net::wifi::WifiError;
use ropewalk_session::{EndpointError, Refusal, TokenError};
use std::process::ExitCode;

/// Kinds of failure, by their exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// Anything that has no code of its own.
    Failure = 1,
    /// The command line or a configuration file is wrong (clap's own code).
    Usage = 2,
    /// Rights or a kernel feature are missing.
    Rights = 3,
    /// Something is taken: a port, a device name, a route, the state directory.
    Taken = 4,
    /// The token is wrong or damaged, or the gateway refused it.
    Refused = 5,
    /// The gateway could not be reached in time, or no interface leads to it.
    Unreachable = 6,
    /// No daemon runs with the state directory.
    NotRunning = 7,
    /// A figure is outside the band that the scenario expects.
    Unexpected = 8,
    /// Results cannot be written.
    Unwritable = 9,
    /// The lab did not keep time, or its figures are worth nothing for another reason.
    Invalid = 10,
    /// Ctrl-C; what was finished is kept.
    Interrupted = 130,
}

/// A failure that this crate names itself.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub(crate) struct Failure {
    code: Code,
    sentence: String,
}

/// An error with a code and a sentence.
pub(crate) fn failure(code: Code, sentence: impl Into<String>) -> anyhow::Error {
    Failure { code, sentence: sentence.into() }.into()
}

/// The exit code for an error.
pub(crate) fn code_of(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(kind_of(error) as u8)
}

/// What kind of failure an error is.
pub(crate) fn kind_of(error: &anyhow::Error) -> Code {
    error.chain().find_map(kind).unwrap_or(Code::Failure)
}

impl Code {
    /// The kind with this number.
    pub(crate) fn from_number(number: u8) -> Code {
        use Code::{
            Failure, Interrupted, Invalid, NotRunning, Refused, Rights, Taken, Unexpected, Unreachable,
            Unwritable, Usage,
        };
        let all = [
            Failure,
            Usage,
            Rights,
            Taken,
            Refused,
            Unreachable,
            NotRunning,
            Unexpected,
            Unwritable,
            Invalid,
            Interrupted,
        ];
        all.into_iter().find(|c| *c as u8 == number).unwrap_or(Failure)
    }
}

fn kind(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.code);
    }
    if error.is::<TokenError>() || error.is::<Refusal>() {
        return Some(Code::Refused);
    }
    if error.is::<EndpointError>() || error.is::<ConfigError>() || error.is::<PoolError>() {
        return Some(Code::Usage);
    }
    if let Some(book) = error.downcast_ref::<ClientsError>() {
        return Some(if matches!(book, ClientsError::NameTaken(_)) { Code::Taken } else { Code::Usage });
    }
    #[cfg(feature = "lab")]
    if let Some(code) = crate::experiments::code_of(error) {
        return Some(code);
    }
    if let Some(kern) = error.downcast_ref::<KernError>() {
        return Some(kern_code(kern));
    }
    if let Some(wifi) = error.downcast_ref::<WifiError>() {
        return Some(match wifi {
            WifiError::NotPermitted(_) | WifiError::Blocked(_) => Code::Rights,
            _ => Code::Failure,
        });
    }
    if error.is::<PrivilegeError>() {
        return Some(Code::Rights);
    }
    tun(error).or_else(|| socket(error)).or_else(|| setup(error)).or_else(|| link(error))
}

fn kern_code(error: &KernError) -> Code {
    match error {
        KernError::Taken(_) | KernError::PinnedElsewhere(_) | KernError::Locked(_) => Code::Taken,
        KernError::NotRoot
        | KernError::Refused(_)
        | KernError::NoBtf
        | KernError::StrangeBtf(_)
        | KernError::NoStructOps
        | KernError::TooOld(_)
        | KernError::NoTcx(_)
        | KernError::NoBpffs(_) => Code::Rights,
        _ => Code::Failure,
    }
}

fn tun(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    Some(match error.downcast_ref::<TunError>()? {
        TunError::NameTaken(_) => Code::Taken,
        TunError::BadName(_) => Code::Usage,
        TunError::NotPermitted | TunError::NoDriver => Code::Rights,
        _ => Code::Failure,
    })
}

fn socket(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    Some(match error.downcast_ref::<OpenError>()? {
        OpenError::PortInUse(_) => Code::Taken,
        OpenError::NotPermitted(_) | OpenError::NoFamily(_) => Code::Rights,
        // An address and an interface may come yet: the service's manager has to try again.
        OpenError::NoSuchAddress(_) | OpenError::NoSuchInterface(_) | OpenError::System { .. } => {
            Code::Failure
        }
    })
}

fn setup(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    Some(match error.downcast_ref::<SetupError>()? {
        SetupError::SameNetwork { .. } | SetupError::Elsewhere(_) => Code::Usage,
        SetupError::Running(_) | SetupError::RouteTaken(_) | SetupError::RuleTaken => Code::Taken,
        SetupError::NotPermitted(_) | SetupError::NoIpv6(_) | SetupError::NoResolver => Code::Rights,
        _ => Code::Failure,
    })
}

fn link(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    Some(match error.downcast_ref::<LinkError>()? {
        LinkError::NoRoute { .. } => Code::Unreachable,
        // An interface may come yet, as a bridge may.
        LinkError::NoSuchInterface(_) | LinkError::System(_) => Code::Failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_may_come_yet_is_no_wrong_file() {
        let interface = LinkError::NoSuchInterface("wlan0".into());
        let bridge = SetupError::NoBridge("br0".into());
        // Its driver is not loaded yet.
        let radio = WifiError::NoWifi;
        for error in [anyhow::Error::from(interface), bridge.into(), radio.into()] {
            assert_eq!(kind_of(&error), Code::Failure, "{error}");
        }
    }
}
