//! The radio, its interfaces, and how many stations it may be.

use crate::config;
use crate::exit::{Code, failure};
use anyhow::Context;
use ropewalk_net::wifi::{self, Interface, KnownNetwork, Radio, known_networks};
use std::path::{Path, PathBuf};

/// Where wpa_supplicant's files are.
const FILES: &str = "/etc/wpa_supplicant";
/// Files of networks are shorter, bytes.
const LONGEST: u64 = 1 << 20;

/// The radio that is worked with.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) radio: Radio,
    /// A station interface of it that is not ours, to listen with.
    pub(super) interface: Interface,
}

/// Interfaces of other programs on the radio.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// Those that count against the radio's room.
    pub(super) count: u32,
    /// Access points that they are with.
    pub(super) bssids: Vec<[u8; 6]>,
    /// The channel that they hold, MHz.
    pub(super) channel_mhz: Option<u32>,
}

impl Chosen {
    /// By the file and the command line, or the only one there is.
    pub(super) fn find(roam: &config::Roam) -> anyhow::Result<Chosen> {
        Chosen::of(roam, &Radio::all()?, &wifi::interfaces()?)
    }

    /// One that is not there may come yet: the service's manager has to try again.
    fn of(roam: &config::Roam, radios: &[Radio], interfaces: &[Interface]) -> anyhow::Result<Chosen> {
        let usage = |words: String| failure(Code::Usage, words);
        let missing = |words: String| failure(Code::Failure, words);
        let named = |name: &String| {
            let found = interfaces.iter().find(|i| i.name == *name && i.is_station).cloned();
            found.ok_or_else(|| {
                missing(format!("there is no station interface named `{name}`: `iw dev` lists them"))
            })
        };
        let interface = roam.interface.as_ref().map(named).transpose()?;
        let radio = match (&roam.radio, &interface, radios) {
            (Some(name), ..) => radios.iter().find(|r| r.name == *name).ok_or_else(|| {
                missing(format!("there is no radio named `{name}`: `iw list` names them, such as phy0"))
            })?,
            (None, Some(i), all) => all.iter().find(|r| r.number == i.radio).context("the radio is gone")?,
            (None, None, [one]) => one,
            (None, None, []) => return Err(missing("this machine has no Wi-Fi radio".into())),
            (None, None, all) => {
                let names: Vec<&str> = all.iter().map(|r| r.name.as_str()).collect();
                let words = format!("which radio? Say --radio with one of {}", names.join(", "));
                return Err(usage(words));
            }
        };
        let first = || interfaces.iter().find(|i| i.radio == radio.number && i.is_station).cloned();
        let name = &radio.name;
        let interface = interface.or_else(first).ok_or_else(|| {
            missing(format!(
                "{name} has no station interface to listen with: iw phy {name} interface add wlan0 type managed"
            ))
        })?;
        if interface.radio != radio.number {
            return Err(usage(format!("{} is not an interface of {name}", interface.name)));
        }
        Ok(Chosen { radio: radio.clone(), interface })
    }

    /// What others have on it; `ours` are the names of our interfaces.
    pub(super) fn others(&self, ours: &[&str]) -> anyhow::Result<Others> {
        let mut others = Others::default();
        let all = wifi::interfaces()?;
        // Monitors take no place, and follow the others' channel.
        let counts = |i: &&Interface| i.radio == self.radio.number && !i.is_monitor;
        for i in all.iter().filter(counts).filter(|i| !ours.contains(&i.name.as_str())) {
            others.count += u32::from(is_on(&i.name));
            others
                .bssids
                .extend(wifi::listen(i.index).ok().flatten().filter(|_| i.is_station).map(|h| h.bssid));
            if i.frequency_mhz != 0 && is_on(&i.name) && self.radio.capacity.channels == 1 {
                others.channel_mhz = Some(i.frequency_mhz);
            }
        }
        Ok(others)
    }
}

/// Whether an interface is switched on, by its flags (`IFF_UP`).
pub(super) fn is_on(name: &str) -> bool {
    let flags = std::fs::read_to_string(Path::new("/sys/class/net").join(name).join("flags"));
    let flags = flags.ok().and_then(|f| u32::from_str_radix(f.trim().trim_start_matches("0x"), 16).ok());
    flags.is_some_and(|f| f & 1 != 0)
}

/// The networks that wpa_supplicant's file has, and which file that is.
pub(super) fn networks(roam: &config::Roam, interface: &str) -> anyhow::Result<(Vec<KnownNetwork>, PathBuf)> {
    let usual = [format!("wpa_supplicant-{interface}.conf"), "wpa_supplicant.conf".into()];
    let usual = usual.map(|name| Path::new(FILES).join(name));
    let path = match &roam.networks {
        Some(path) => path.clone(),
        None => usual.iter().find(|p| p.exists()).cloned().ok_or_else(|| {
            let words = format!(
                "there is neither {} nor {}: name the file with your networks with --networks FILE; `wpa_passphrase SSID` writes one",
                usual[0].display(),
                usual[1].display()
            );
            failure(Code::Usage, words)
        })?,
    };
    let unreadable = || format!("{} cannot be read", path.display());
    let length = std::fs::metadata(&path).with_context(unreadable)?.len();
    anyhow::ensure!(length <= LONGEST, "{} is too long for a file of networks", path.display());
    let known = known_networks(&std::fs::read_to_string(&path).with_context(unreadable)?);
    if known.is_empty() {
        let words =
            format!("{} has no network that could be joined: see wpa_supplicant.conf(5)", path.display());
        return Err(failure(Code::Usage, words));
    }
    Ok((known, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::kind_of;
    use ropewalk_net::wifi::Capacity;

    fn radio(number: u32) -> Radio {
        Radio { number, name: format!("phy{number}"), capacity: Capacity { stations: 3, channels: 1 } }
    }

    fn station(radio: u32) -> Interface {
        Interface {
            index: 3,
            name: "wlan0".into(),
            radio,
            mac: [2, 0, 0, 0, 0, 1],
            is_station: true,
            is_monitor: false,
            frequency_mhz: 0,
        }
    }

    #[test]
    fn a_radio_that_may_come_yet_does_not_end_the_service_for_good() {
        let named = config::Roam { interface: Some("wlan0".into()), ..config::Roam::default() };
        let other = config::Roam { radio: Some("phy1".into()), ..config::Roam::default() };
        let any = config::Roam::default();
        let chosen = Chosen::of(&named, &[radio(0)], &[station(0)]).unwrap();
        assert_eq!((chosen.radio.name.as_str(), chosen.interface.name.as_str()), ("phy0", "wlan0"));
        for (roam, radios) in [(&any, &[radio(0)][..]), (&any, &[]), (&named, &[]), (&other, &[radio(0)])] {
            let error = Chosen::of(roam, radios, &[]).unwrap_err();
            assert_eq!(kind_of(&error), Code::Failure, "{error}");
        }
        let which = Chosen::of(&any, &[radio(0), radio(1)], &[station(0)]).unwrap_err();
        assert_eq!(kind_of(&which), Code::Usage, "{which}");
    }
}
