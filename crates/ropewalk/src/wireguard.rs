//! What of a wg-quick file means something to a client here.

use crate::config::Engine;
use crate::exit::{Code, failure};
use anyhow::Context;
use ipnet::IpNet;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

/// Bytes of a file at most; it seldom has as many.
const FILE_MAX: u64 = 64 << 10;

/// What was taken, and what is said about the rest.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Imported {
    /// From `AllowedIPs`.
    pub routes: Vec<IpNet>,
    /// From `DNS`.
    pub dns: Vec<IpAddr>,
    /// From `MTU`.
    pub mtu: Option<u16>,
    /// From `PersistentKeepalive`, seconds.
    pub keepalive: Option<u64>,
    /// One line for each key.
    pub said: Vec<String>,
}

/// Reads a file of wg-quick.
pub(crate) fn from_file(path: &Path) -> anyhow::Result<Imported> {
    let mut text = String::new();
    let unreadable = || format!("{} cannot be read", path.display());
    let file = File::open(path).with_context(unreadable)?;
    file.take(FILE_MAX + 1).read_to_string(&mut text).with_context(unreadable)?;
    read(&text).map_err(|why| failure(Code::Usage, format!("{}: {why}", path.display())))
}

/// No value of a key that may be a secret is repeated.
fn read(text: &str) -> Result<Imported, String> {
    // Networks that are left out would be reached outside the tunnel.
    if text.len() as u64 > FILE_MAX {
        return Err("a file of wg-quick has 64 KiB at most: name fewer AllowedIPs".into());
    }
    let (mut out, mut sections) = (Imported::default(), 0);
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if line.starts_with('[') {
            sections += 1;
            if !["[interface]", "[peer]"].contains(&line.to_ascii_lowercase().as_str()) {
                return Err(format!("line {}: this is no section of a wg-quick file", number + 1));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("line {}: this is no line of a wg-quick file", number + 1));
        };
        out.take(key.trim(), value.trim()).map_err(|why| format!("line {}: {why}", number + 1))?;
    }
    if sections == 0 {
        Err("this is no wg-quick file: it has neither [Interface] nor [Peer]".into())
    } else {
        Ok(out)
    }
}

impl Imported {
    /// Its MTU and keepalive go before those of a configuration.
    pub(crate) fn set_engine(&self, engine: &mut Engine) {
        engine.tun_mtu = self.mtu.unwrap_or(engine.tun_mtu);
        engine.keepalive_s = self.keepalive.unwrap_or(engine.keepalive_s);
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = || value.split(',').map(str::trim).filter(|w| !w.is_empty());
        match key.to_ascii_lowercase().as_str() {
            "allowedips" => {
                for word in words() {
                    let net = word.parse::<IpNet>().or_else(|_| word.parse::<IpAddr>().map(IpNet::from));
                    let net =
                        net.map_err(|_| "AllowedIPs has something that is no network".to_owned())?.trunc();
                    if !self.routes.contains(&net) {
                        self.routes.push(net);
                    }
                }
                self.said.push(format!(
                    "AllowedIPs: taken as routes ({})",
                    words().collect::<Vec<_>>().join(", ")
                ));
            }
            "dns" => {
                for word in words() {
                    match word.parse() {
                        Ok(ip) => {
                            self.dns.push(ip);
                            self.said.push(format!("DNS {ip}: taken"));
                        }
                        Err(_) => self.said.push(
                            "DNS: a search domain is left out: only addresses of name servers are taken"
                                .into(),
                        ),
                    }
                }
            }
            "mtu" => {
                let mtu = value.parse().ok().filter(|mtu| (1280..=9000).contains(mtu));
                self.said.push(match mtu {
                    Some(mtu) => format!("MTU {mtu}: taken as engine.tun-mtu"),
                    None => "MTU: left out: it has to be from 1280 to 9000".into(),
                });
                self.mtu = mtu;
            }
            "persistentkeepalive" => {
                let seconds = value.parse().ok().filter(|s| (1..=3600).contains(s));
                self.said.push(match seconds {
                    Some(s) => format!("PersistentKeepalive {s}: taken as engine.keepalive-s"),
                    None => "PersistentKeepalive: left out: idle paths are kept open anyway".into(),
                });
                self.keepalive = seconds;
            }
            key => self.said.push(left_out(key)?),
        }
        Ok(())
    }
}

/// Of keys with commands.
const COMMANDS: &str = "commands are not taken over; a hook can run them (--hooks)";

/// Why a key is not taken.
fn left_out(key: &str) -> Result<String, String> {
    let (name, why) = match key {
        "privatekey" => ("PrivateKey", "Ropewalk makes a key of its own"),
        "publickey" => ("PublicKey", "the token names the gateway's key"),
        "presharedkey" => ("PresharedKey", "the token has a secret of its own"),
        "address" => ("Address", "the gateway gives this machine its inner address"),
        "endpoint" => ("Endpoint", "the token names where the gateway is"),
        "listenport" => ("ListenPort", "each path has a port of its own"),
        "table" => ("Table", "routes go to the main table, and rules keep the bond's own packets outside"),
        "fwmark" => ("FwMark", "the bond marks its own packets"),
        "saveconfig" => ("SaveConfig", "files are never written by the daemon"),
        "preup" => ("PreUp", COMMANDS),
        "postup" => ("PostUp", COMMANDS),
        "predown" => ("PreDown", COMMANDS),
        "postdown" => ("PostDown", COMMANDS),
        _ => return Err("this key is unknown to wg-quick".into()),
    };
    Ok(format!("{name}: left out: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    const FILE: &str = "[Interface]\nPrivateKey = aGVsbG8gd29ybGQhIQ==\nAddress = 10.0.0.2/32\nDNS = 10.0.0.1, home.lan\nMTU = 1400\nPostUp = touch /tmp/x\n\n\
                        [Peer] # the office\nPublicKey = x\nAllowedIPs = 10.0.0.0/24, 192.168.7.9\nallowedips=::/0\nEndpoint = gw.example:51820\nPersistentKeepalive = 25\n";

    #[test]
    fn each_key_is_taken_or_said_to_be_left_out() {
        let out = read(FILE).unwrap();
        let routes: Vec<String> = out.routes.iter().map(IpNet::to_string).collect();
        assert_eq!(routes, ["10.0.0.0/24", "192.168.7.9/32", "::/0"]);
        assert_eq!((out.dns.len(), out.mtu, out.keepalive), (1, Some(1400), Some(25)));
        // Ten lines with keys, of which DNS has two words.
        assert_eq!(out.said.len(), 11, "{:?}", out.said);
        assert!(!out.said.concat().contains("aGVs") && !out.said.concat().contains("touch"));
        let mut engine = Engine::default();
        out.set_engine(&mut engine);
        assert_eq!((engine.tun_mtu, engine.keepalive_s), (1400, 25));
        Imported::default().set_engine(&mut engine);
        assert_eq!((engine.tun_mtu, engine.keepalive_s), (1400, 25), "a file that says nothing of them");
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        for bad in [
            "",
            "hello",
            "[up]\n",
            "[Peer]\nAllowedIPs = everything\n",
            "[Peer]\nColour = red\n",
            "[Peer]\nfoo\n",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_is_taken_whole_or_not_at_all() {
        let scratch = Scratch::new();
        let place = scratch.0.path().join("office.conf");
        let head = "[Peer]\nAllowedIPs = 10.0.0.0/24\n#";
        let rest = FILE_MAX as usize - head.len();
        std::fs::write(&place, format!("{head}{}", "x".repeat(rest))).unwrap();
        assert_eq!(from_file(&place).unwrap().routes.len(), 1);
        std::fs::write(&place, format!("{head}{}", "x".repeat(rest + 1))).unwrap();
        let error = from_file(&place).unwrap_err().to_string();
        assert!(error.contains("office.conf: a file of wg-quick has 64 KiB at most"), "{error}");
    }
}
