//! The resolver of a client, through systemd-resolved (`resolvectl(1)`).

use std::net::IpAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::command::Tool;
use crate::setup::{Change, Journal, SetupError};

const RESOLVECTL: Tool = Tool { program: "resolvectl", purpose: "--dns", package: "systemd-resolved" };
/// resolved keeps its state here while it runs.
const STATE: &str = "/run/systemd/resolve";

/// What is set for a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolver {
    /// The bond's device.
    pub device: String,
    /// The name servers.
    pub servers: Vec<IpAddr>,
    /// What they are asked about: without any, all names.
    #[serde(default)]
    pub domains: Vec<String>,
}

/// Asks `servers` about names in `domains`, or without any about every name, through the bond's
/// `device`. Fails with a sentence where systemd-resolved does not run.
pub fn set(
    journal: &mut Journal,
    device: &str,
    servers: &[IpAddr],
    domains: &[String],
) -> Result<(), SetupError> {
    if !Path::new(STATE).exists() {
        return Err(SetupError::NoResolver);
    }
    let resolver = Resolver { device: device.into(), servers: servers.into(), domains: domains.into() };
    journal.make(Change::Resolver(resolver))
}

/// What the name servers of `interface` say of `name`, whoever is asked about it otherwise; nothing
/// if they do not know it or cannot be asked.
pub fn ask(interface: &str, name: &str) -> Vec<IpAddr> {
    let by = format!("--interface={interface}");
    match RESOLVECTL.run(&[&by, "--legend=no", "--", "query", name], "") {
        Ok(printed) => addresses(&printed),
        Err(error) => {
            tracing::debug!(interface, name, %error, "not resolved by this interface's name servers");
            Vec::new()
        }
    }
}

/// `NAME: ADDRESS -- link: IFACE`, further addresses below the first.
fn addresses(printed: &str) -> Vec<IpAddr> {
    printed.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

impl Resolver {
    pub(crate) fn set(&self) -> Result<(), SetupError> {
        for arguments in self.commands() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if let Err(error) = RESOLVECTL.run(&arguments, "") {
                self.revert()?;
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// resolved forgets a device that is gone by itself, so failing is no failure.
    pub(crate) fn revert(&self) -> Result<(), SetupError> {
        let _ = RESOLVECTL.run(&["revert", &self.device], "");
        Ok(())
    }

    /// Servers; the names that belong to them (`~.` are all); and whether they are asked about
    /// names that belong to nobody.
    fn commands(&self) -> [Vec<String>; 3] {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut servers = words(&["dns", &self.device]);
        servers.extend(self.servers.iter().map(IpAddr::to_string));
        let mut domains = words(&["domain", &self.device]);
        domains.extend(self.domains.iter().map(|d| format!("~{d}")));
        if self.domains.is_empty() {
            domains.push("~.".into());
        }
        let default = if self.domains.is_empty() { "yes" } else { "no" };
        [servers, domains, words(&["default-route", &self.device, default])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_what_resolvectl_prints() {
        let printed = "gw.example.org: 192.0.2.1               -- link: wan1
                                       2001:db8::1             -- link: wan1
                                       fe80::1%3               -- link: wan1
                                       (other.example.org)
";
        assert_eq!(
            addresses(printed),
            ["192.0.2.1".parse::<IpAddr>().unwrap(), "2001:db8::1".parse().unwrap()]
        );
        assert_eq!(addresses(""), Vec::<IpAddr>::new());
    }

    #[test]
    fn commands_name_device_and_servers() {
        let servers = vec![[10, 77, 0, 1].into(), "fd77::1".parse().unwrap()];
        let resolver = Resolver { device: "rw0".into(), servers, domains: Vec::new() };
        let [dns, domain, route] = resolver.commands();
        assert_eq!(dns, ["dns", "rw0", "10.77.0.1", "fd77::1"]);
        assert_eq!(domain, ["domain", "rw0", "~."]);
        assert_eq!(route, ["default-route", "rw0", "yes"]);
        let split = Resolver { domains: vec!["corp.example".into(), "lan".into()], ..resolver };
        let [_, domain, route] = split.commands();
        assert_eq!(domain, ["domain", "rw0", "~corp.example", "~lan"]);
        assert_eq!(route, ["default-route", "rw0", "no"]);
    }
}
