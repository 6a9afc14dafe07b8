//! Where the store is: `etcd://HOST:PORT[,HOST:PORT…]/PREFIX`.

use std::fmt;
use std::str::FromStr;

/// Members of an etcd cluster that are named at most.
const HOSTS_MAX: usize = 16;
/// Bytes of a prefix.
const PREFIX_MAX: usize = 128;

/// Why a text names no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is something else.
    #[error(
        "a store is etcd://HOST:PORT[,HOST:PORT…]/PREFIX, such as etcd://10.0.0.1:2379,10.0.0.2:2379/ropewalk"
    )]
    Form,
    /// One of the hosts.
    #[error("`{0}` in the store's address is not HOST:PORT")]
    Host(String),
    /// The prefix.
    #[error(
        "a store's prefix has 1 to {PREFIX_MAX} letters, digits, '-', '_', '.' or '/', such as /ropewalk"
    )]
    Prefix,
}

/// An etcd cluster, and where in it the fleet keeps its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreAddress {
    /// Members by host and port.
    pub hosts: Vec<(String, u16)>,
    /// All keys begin with this; it ends in a slash.
    pub prefix: String,
}

impl StoreAddress {
    /// Whether every member may be this machine. What `localhost` is, its addresses say, when they
    /// are connected to.
    pub(crate) fn may_be_local(&self) -> bool {
        let local = |host: &str| {
            host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        };
        self.hosts.iter().all(|(host, _)| local(host))
    }
}

impl FromStr for StoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<StoreAddress, AddressError> {
        let rest = text.strip_prefix("etcd://").ok_or(AddressError::Form)?;
        let (hosts, prefix) = rest.split_once('/').ok_or(AddressError::Form)?;
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
        let prefix = prefix.trim_matches('/');
        if prefix.is_empty() || prefix.len() > PREFIX_MAX || !prefix.bytes().all(letter) {
            return Err(AddressError::Prefix);
        }
        if hosts.len() > HOSTS_MAX {
            return Err(AddressError::Form);
        }
        Ok(StoreAddress { hosts, prefix: format!("/{prefix}/") })
    }
}

fn host(text: &str) -> Result<(String, u16), AddressError> {
    let bad = || AddressError::Host(text.into());
    let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
    let port = port.parse().ok().filter(|p| *p > 0).ok_or_else(bad)?;
    let host = match host.strip_prefix('[') {
        Some(inner) => {
            let inner = inner.strip_suffix(']').ok_or_else(bad)?;
            inner.parse::<std::net::Ipv6Addr>().map_err(|_| bad())?.to_string()
        }
        None => host.to_owned(),
    };
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
    if host.is_empty() || host.len() > 253 || !host.bytes().all(letter) {
        return Err(bad());
    }
    Ok((host, port))
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(host, port): &(String, u16)| {
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
        };
        let hosts: Vec<String> = self.hosts.iter().map(one).collect();
        write!(f, "etcd://{}{}", hosts.join(","), self.prefix.trim_end_matches('/'))
    }
}

impl serde::Serialize for StoreAddress {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in ["etcd://10.0.0.1:2379/ropewalk", "etcd://a.example:1,[fd00::1]:2379,b:3/x/y-z"] {
            assert_eq!(text.parse::<StoreAddress>().unwrap().to_string(), text);
        }
        let local: StoreAddress = "etcd://127.0.0.1:1,localhost:2,[::1]:3/x/".parse().unwrap();
        assert!(local.may_be_local() && local.prefix == "/x/");
        assert!(!"etcd://127.0.0.1:1,10.0.0.1:2/x".parse::<StoreAddress>().unwrap().may_be_local());
    }

    #[test]
    fn bad_texts_say_why() {
        use AddressError::{Form, Host, Prefix};
        for (text, error) in [
            ("", Form),
            ("http://a:1/x", Form),
            ("etcd://a:1", Form),
            ("etcd:///x", Host(String::new())),
            ("etcd://a/x", Host("a".into())),
            ("etcd://a:0/x", Host("a:0".into())),
            ("etcd://a:1,b/x", Host("b".into())),
            ("etcd://[::1:1/x", Host("[::1:1".into())),
            ("etcd://a\r\nb:1/x", Host("a\r\nb:1".into())),
            ("etcd://a:1/", Prefix),
            ("etcd://a:1/a b", Prefix),
        ] {
            assert_eq!(text.parse::<StoreAddress>(), Err(error), "{text}");
        }
    }
}
