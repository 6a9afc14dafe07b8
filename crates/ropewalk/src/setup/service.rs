//! Units of systemd.

use super::machine::{output, run};
use super::record::Record;
use super::{Places, shell};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Where packages and people put units.
const UNIT_DIRS: [&str; 3] = ["usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/system"];
/// Where a program is put that services cannot see where it is (`ProtectHome=yes`,
/// `PrivateTmp=yes`), or units cannot name.
const PROGRAM: &str = "usr/local/bin/ropewalk";

/// systemd, where it runs.
pub(super) struct Systemd;

/// An end of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Gateway,
    Client,
}

impl End {
    /// The unit of a setup.
    pub(super) fn unit(self, name: &str) -> String {
        format!("ropewalk-{}@{name}.service", self.word())
    }

    fn word(self) -> &'static str {
        match self {
            End::Gateway => "gateway",
            End::Client => "client",
        }
    }

    fn template(self) -> &'static str {
        match self {
            End::Gateway => include_str!("../../../../packaging/systemd/ropewalk-gateway@.service"),
            End::Client => include_str!("../../../../packaging/systemd/ropewalk-client@.service"),
        }
    }
}

impl Systemd {
    /// systemd runs this machine (sd_booted(3)).
    pub(super) fn runs(places: &Places) -> bool {
        places.at("run/systemd/system").is_dir()
    }

    /// The user exists that the units name.
    pub(super) fn has_user() -> bool {
        output("id", &["-u", "ropewalk"]).is_some()
    }

    /// Makes the user, and the unit where no package brought it.
    pub(super) fn install(places: &Places, record: &mut Record, end: End) -> anyhow::Result<()> {
        if !Systemd::has_user() {
            record.will_make_user()?;
            let home = ["--home-dir", "/var/lib/ropewalk", "--no-create-home"];
            let rest = ["--shell", "/usr/sbin/nologin", "--user-group", "ropewalk"];
            run("useradd", &[&["--system"][..], &home, &rest].concat())?;
        }
        let file = format!("ropewalk-{}@.service", end.word());
        if UNIT_DIRS.iter().any(|d| places.at(d).join(&file).exists()) {
            return Ok(());
        }
        let program = visible_program(places, record)?;
        let unit = end.template().replace("/usr/bin/ropewalk", &exec_word(&program)?);
        record.write(&places.at("etc/systemd/system").join(file), &unit, 0o644)
    }

    /// Lets a unit listen on ports below 1024: the gateway gives that right up once it listens.
    pub(super) fn allow_low_ports(places: &Places, record: &mut Record, unit: &str) -> anyhow::Result<()> {
        const MORE: &str = "# Written by `ropewalk setup`: TLS listens on port 443.\n[Service]\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n";
        record.write(&places.at(&format!("etc/systemd/system/{unit}.d/tls.conf")), MORE, 0o644)
    }

    /// Lets the daemons' user tell systemd-resolved of name servers, where no package did.
    pub(super) fn allow_dns(places: &Places, record: &mut Record) -> anyhow::Result<()> {
        const RULES: [&str; 2] = ["etc/polkit-1/rules.d", "usr/share/polkit-1/rules.d"];
        if RULES.iter().any(|d| places.at(d).join("ropewalk.rules").exists()) {
            return Ok(());
        }
        let rules = include_str!("../../../../packaging/polkit/ropewalk.rules");
        record.write(&places.at(RULES[0]).join("ropewalk.rules"), rules, 0o644)
    }

    /// Gives a file to the daemons' group.
    pub(super) fn hand_over(path: &Path) -> anyhow::Result<()> {
        run("chgrp", &["ropewalk", &path.display().to_string()])
    }

    /// Starts the unit, now and with the machine. Does not wait: a client is ready when it is
    /// connected.
    pub(super) fn enable(record: &mut Record, unit: &str) -> anyhow::Result<()> {
        record.will_enable(unit)?;
        run("systemctl", &["daemon-reload"])?;
        run("systemctl", &["enable", unit])?;
        run("systemctl", &["start", "--no-block", unit])
    }

    pub(super) fn disable(unit: &str) -> anyhow::Result<()> {
        run("systemctl", &["disable", "--now", unit])
    }

    pub(super) fn remove_user() -> anyhow::Result<()> {
        run("userdel", &["ropewalk"])
    }
}

/// This program, at a place that services see and units can name.
fn visible_program(places: &Places, record: &mut Record) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    if (own.starts_with("/usr") || own.starts_with("/opt")) && exec_word(&own).is_ok() {
        return Ok(own);
    }
    let copy = places.at(PROGRAM);
    if !copy.exists() {
        record.copy(&own, &copy)?;
    } else if std::fs::read(&copy).ok() != Some(std::fs::read(&own)?) {
        eprintln!(
            "ropewalk: services run {}, which is there already, and is another ropewalk than this one: replace it (`install {} {}`), or remove it before the setup",
            copy.display(),
            shell(&own),
            shell(&copy)
        );
    }
    Ok(copy)
}

/// A path as the first word of `ExecStart=` (systemd.service(5), "Command lines"; `%` by
/// systemd.unit(5), "Specifiers"). systemd starts no unit whose program has a quote or a backslash in
/// its path, however they are escaped.
fn exec_word(path: &Path) -> anyhow::Result<String> {
    let is_refused = |c: char| c.is_control() || "'\"\\".contains(c);
    let named = path.to_str().filter(|text| !text.contains(is_refused));
    let words = "cannot be named in a unit of systemd: choose a path without quotes and backslashes";
    let text = named.with_context(|| format!("{path:?} {words}"))?;
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Ok(format!("\"{}\"", text.replace('%', "%%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_path_is_one_word_for_systemd() {
        for (path, word) in [
            ("/usr/local/bin/ropewalk", "/usr/local/bin/ropewalk"),
            ("/opt/my tools/ropewalk", "\"/opt/my tools/ropewalk\""),
            ("/opt/100%/ropewalk", "\"/opt/100%%/ropewalk\""),
            ("/opt/a;$b/ropewalk", "\"/opt/a;$b/ropewalk\""),
        ] {
            assert_eq!(exec_word(Path::new(path)).unwrap(), word);
        }
        // "Executable name contains special characters", systemd says of the last three.
        for path in ["/opt/a\nExecStart=/bin/sh", "/opt/a\"b/x", "/opt/a'b/x", "/opt/a\\b/x"] {
            assert!(exec_word(Path::new(path)).is_err(), "{path:?}");
        }
    }
}
