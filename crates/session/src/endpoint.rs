//! Where a gateway can be reached: a host, as a name or an address, and a UDP port.

use core::{fmt, str::FromStr};
use std::net::{IpAddr, Ipv6Addr};

/// Longest host name in bytes (RFC 1035 §2.3.4, as text and without the last dot).
pub const HOST_MAX: usize = 253;

/// Why a text is not an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// No colon and port at the end.
    #[error(
        "an endpoint is HOST:PORT, for example gw.example.org:4500 or [2001:db8::1]:4500; the port is missing"
    )]
    Port,
    /// The port is not a number from 1 to 65535.
    #[error("the port of an endpoint is a number from 1 to 65535")]
    PortRange,
    /// The host is neither an address nor a name.
    #[error(
        "the host of an endpoint is an IPv4 address, an IPv6 address in brackets, or a name of letters, digits, '-' and '.'"
    )]
    Host,
    /// A part of the name begins or ends with '-'.
    #[error(
        "each part of a host name begins and ends with a letter or a digit: '-' stands between them, as in my-gw.example.org"
    )]
    Hyphen,
}

/// A host by address or by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name to resolve, to both kinds of addresses.
    Name(HostName),
}

/// A host name that was checked: labels of 1 to 63 letters, digits, '-' and '_' between dots, none
/// of which begins or ends with '-' (RFC 952, RFC 1123 §2.1; the underscore because people have
/// such names), 253 bytes at most.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostName(Box<str>);

impl HostName {
    /// Checks `name`.
    ///
    /// # Errors
    /// [`EndpointError::Hyphen`] if a label begins or ends with '-', [`EndpointError::Host`] if it
    /// is no host name for another reason.
    pub fn new(name: &str) -> Result<HostName, EndpointError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(letter);
        // A name whose last label is all digits is a mistyped IPv4 address (RFC 1123 §2.1).
        let number =
            name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if name.len() > HOST_MAX || !name.split('.').all(label) || number {
            return Err(EndpointError::Host);
        }
        // A program that is handed such a name may take it for an option.
        if name.split('.').any(|label| label.starts_with('-') || label.ends_with('-')) {
            return Err(EndpointError::Hyphen);
        }
        Ok(HostName(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A host and a UDP port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The UDP port, never 0.
    pub port: u16,
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Endpoint, EndpointError> {
        let (host, port) = text.trim().rsplit_once(':').ok_or(EndpointError::Port)?;
        let port = match port.parse() {
            Ok(port @ 1..) => port,
            _ => return Err(EndpointError::PortRange),
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) => Host::Address(inner.parse::<Ipv6Addr>().map_err(|_| EndpointError::Host)?.into()),
            // Without brackets nobody can tell the last group of an address from a port.
            None if host.contains(':') => return Err(EndpointError::Host),
            None => match host.parse() {
                Ok(address) => Host::Address(address),
                Err(_) => Host::Name(HostName::new(host)?),
            },
        };
        Ok(Endpoint { host, port })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:{}", self.port),
            Host::Name(name) => write!(f, "{}:{}", name.as_str(), self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in
            ["gw.example.org:4500", "192.0.2.1:1", "[2001:db8::1]:65535", "localhost:4500", "a_b-c.d1:9"]
        {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_texts_say_why() {
        use EndpointError::{Host, Hyphen, Port, PortRange};
        let long = format!("{}a:1", "a.".repeat(127));
        for (text, error) in [
            ("", Port),
            ("gw", Port),
            ("gw:", PortRange),
            ("gw:0", PortRange),
            ("gw:65536", PortRange),
            (":1", Host),
            ("a..b:1", Host),
            ("2001:db8::1:4500", Host),
            ("[gw]:1", Host),
            ("[192.0.2.1]:1", Host),
            ("192.0.2.256:1", Host),
            ("a b:1", Host),
            ("-oProxy.example:1", Hyphen),
            ("gw.-a.org:1", Hyphen),
            ("gw-.example.org:1", Hyphen),
            ("-:1", Hyphen),
            (&long, Host),
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(error), "{text}");
        }
    }
}
