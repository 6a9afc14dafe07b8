//! wpa_supplicant: one process of our own for all stations of a radio, told what to do by its control interface.
//!
//! A process of our own, because the system's may be NetworkManager's, which gives it nothing that it could pass on. What it knows of networks is read from
//! a file of the system's, and given to each station with one access point pinned.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Bss, WifiError, mac_text};
use crate::wpa_ctrl::{PATIENCE, WpaCtrl};

/// How long it may take to start, and to set an interface up.
const START: Duration = Duration::from_secs(5);
/// Longest name of a socket (unix(7)), less what stands behind the directory's.
const LONGEST_DIRECTORY: usize = 80;
/// Settings of a whole file that concern how networks are joined.
const GLOBALS: [&str; 6] = ["country", "pmf", "sae_pwe", "sae_groups", "openssl_ciphers", "okc"];
/// Settings of a network that would pin another access point, or that are ours to say.
const OURS: [&str; 9] = [
    "bssid",
    "bssid_ignore",
    "bssid_blacklist",
    "bssid_accept",
    "bssid_whitelist",
    "scan_freq",
    "freq_list",
    "bgscan",
    "disabled",
];

/// A network of wpa_supplicant's file.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownNetwork {
    /// Its name.
    pub ssid: Vec<u8>,
    /// It is to be encrypted, and one without encryption is another.
    pub is_protected: bool,
    /// The more, the sooner it is joined.
    pub priority: i32,
    /// Its settings as they stand in the file, secrets among them.
    settings: Vec<String>,
    globals: Vec<String>,
}

impl std::fmt::Debug for KnownNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownNetwork")
            .field("ssid", &self.ssid.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

impl KnownNetwork {
    /// Whether an access point says that it is of this network.
    pub fn is_of(&self, bss: &Bss) -> bool {
        !bss.ssid.is_empty() && bss.ssid == self.ssid && bss.is_protected == self.is_protected
    }

    /// A file for one station that joins this access point and no other.
    fn file_for(&self, bss: &Bss) -> String {
        let mut text = String::from("ap_scan=1\np2p_disabled=1\n");
        for line in &self.globals {
            text += line;
            text.push('\n');
        }
        text += "network={\n";
        for line in &self.settings {
            text += line;
            text.push('\n');
        }
        let (bssid, mhz) = (mac_text(bss.bssid), bss.frequency_mhz);
        text += &format!("bssid={bssid}\nscan_freq={mhz}\nfreq_list={mhz}\n}}\n");
        text
    }
}

/// The networks of a file of wpa_supplicant's (`wpa_supplicant.conf(5)`); those that are disabled, or no networks of access points, left out.
pub fn known_networks(text: &str) -> Vec<KnownNetwork> {
    let (mut globals, mut networks) = (Vec::new(), Vec::new());
    let mut block: Option<Vec<String>> = None;
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        match (&mut block, line) {
            (Some(lines), "}") => {
                networks.extend(network(std::mem::take(lines)));
                block = None;
            }
            (Some(lines), line) => lines.push(line.to_owned()),
            (None, line) if line.strip_prefix("network=").is_some_and(|rest| rest.trim() == "{") => {
                block = Some(Vec::new());
            }
            (None, line) => {
                let is_wanted = |(key, _): (&str, &str)| GLOBALS.contains(&key);
                globals.extend(line.split_once('=').is_some_and(is_wanted).then(|| line.to_owned()));
            }
        }
    }
    networks.iter_mut().for_each(|n: &mut KnownNetwork| n.globals.clone_from(&globals));
    networks
}

fn network(lines: Vec<String>) -> Option<KnownNetwork> {
    let of = |key: &str| lines.iter().find_map(|l| l.strip_prefix(key)?.strip_prefix('=')).map(str::trim);
    if of("disabled").is_some_and(|d| d != "0") || of("mode").is_some_and(|m| m != "0") {
        return None;
    }
    let is_open = of("key_mgmt") == Some("NONE") && of("wep_key0").is_none();
    let (ssid, priority) = (ssid(of("ssid")?)?, of("priority").and_then(|p| p.parse().ok()).unwrap_or(0));
    let is_ours = |line: &String| line.split_once('=').is_some_and(|(key, _)| OURS.contains(&key.trim()));
    let settings = lines.into_iter().filter(|l| !is_ours(l)).collect();
    Some(KnownNetwork { ssid, is_protected: !is_open, priority, settings, globals: Vec::new() })
}

/// A name in quotes, with escapes behind a `P`, or in hexadecimal.
fn ssid(text: &str) -> Option<Vec<u8>> {
    let bytes = if let Some(quoted) = text.strip_prefix("P\"") {
        unescape(quoted.rsplit_once('"')?.0)?
    } else if let Some(quoted) = text.strip_prefix('"') {
        quoted.rsplit_once('"')?.0.as_bytes().to_vec()
    } else {
        let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        (0..text.len()).step_by(2).map(pair).collect::<Option<Vec<u8>>>()?
    };
    (1..=32).contains(&bytes.len()).then_some(bytes)
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'e' => 0x1b,
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                other @ (b'\\' | b'"') => other,
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(bytes)
}

/// How far a station is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Association {
    /// Not there yet; in wpa_supplicant's word.
    Joining(String),
    /// With its access point, keys and all.
    Joined([u8; 6]),
}

/// A wpa_supplicant without stations at first. It ends with this value, and with this process.
#[derive(Debug)]
pub struct Supplicant {
    child: Child,
    directory: PathBuf,
}

impl Supplicant {
    /// Starts one that keeps its files in `directory`, which is made for its owner only.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(directory: &Path) -> Result<Supplicant, WifiError> {
        let wrong = |why: String| WifiError::Supplicant(why);
        if directory.as_os_str().len() > LONGEST_DIRECTORY {
            let place = directory.display();
            return Err(wrong(format!(
                "{place} is too long a name for sockets: choose another with --state"
            )));
        }
        let failed = |e: io::Error| wrong(format!("{} cannot be used: {e}", directory.display()));
        let _ = std::fs::remove_dir_all(directory);
        DirBuilder::new().mode(0o700).recursive(true).create(directory).map_err(failed)?;
        let at = directory.join("global");
        let mut child = spawn(&at)?;
        let until = Instant::now() + START;
        loop {
            let asked = WpaCtrl::open(&at, PATIENCE).and_then(|c| c.ask("PING"));
            if asked.is_ok_and(|answer| answer.trim() == "PONG") {
                return Ok(Supplicant { child, directory: directory.to_owned() });
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(wrong(format!("wpa_supplicant ended at once ({status})")));
            }
            if Instant::now() > until {
                let _ = child.kill();
                return Err(wrong("wpa_supplicant does not answer".into()));
            }
            std::thread::sleep(START / 100);
        }
    }

    /// Whether it runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Has the interface join the access point, of this network.
    ///
    /// # Errors
    /// It refuses.
    pub fn join(&self, interface: &str, network: &KnownNetwork, bss: &Bss) -> Result<(), WifiError> {
        let path = self.file(interface);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = file.and_then(|mut f| f.write_all(network.file_for(bss).as_bytes()));
        written.map_err(|e| WifiError::Supplicant(format!("{} cannot be written: {e}", path.display())))?;
        let (file, control) = (path.display(), self.control());
        let command = format!("INTERFACE_ADD {interface}\t{file}\tnl80211\t{}", control.display());
        self.order(&command)
    }

    /// Has it leave, and forgets the interface.
    pub fn leave(&self, interface: &str) {
        if let Err(error) = self.order(&format!("INTERFACE_REMOVE {interface}")) {
            tracing::debug!(interface, %error, "wpa_supplicant had no such interface any more");
        }
        let _ = std::fs::remove_file(self.file(interface));
    }

    /// How far the interface is.
    ///
    /// # Errors
    /// It does not answer.
    pub fn association(&self, interface: &str) -> Result<Association, WifiError> {
        let asked = WpaCtrl::open(&self.control().join(interface), PATIENCE).and_then(|c| c.ask("STATUS"));
        let text = asked.map_err(|e| WifiError::Supplicant(format!("wpa_supplicant is silent: {e}")))?;
        Ok(association(&text))
    }

    fn order(&self, command: &str) -> Result<(), WifiError> {
        // A conversation for each: one that was answered too late would have the next ones' answers mixed up.
        match WpaCtrl::open(&self.directory.join("global"), START).and_then(|c| c.ask(command)) {
            Ok(answer) if answer.trim() == "OK" => Ok(()),
            Ok(answer) => {
                let (what, said) = (command.split('\t').next().unwrap_or_default(), answer.trim());
                Err(WifiError::Supplicant(format!("wpa_supplicant refuses `{what}`: {said}")))
            }
            Err(e) => Err(WifiError::Supplicant(format!("wpa_supplicant does not answer: {e}"))),
        }
    }

    fn file(&self, interface: &str) -> PathBuf {
        self.directory.join(format!("{interface}.conf"))
    }

    fn control(&self) -> PathBuf {
        self.directory.join("ctrl")
    }
}

impl Drop for Supplicant {
    fn drop(&mut self) {
        if self.order("TERMINATE").is_err() {
            let _ = self.child.kill();
        }
        let until = Instant::now() + START;
        while self.is_alive() && Instant::now() < until {
            std::thread::sleep(START / 100);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn association(status: &str) -> Association {
    let of = |key: &str| status.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
    let state = of("wpa_state").unwrap_or("UNKNOWN");
    match of("bssid").and_then(parse_mac).filter(|_| state == "COMPLETED") {
        Some(bssid) => Association::Joined(bssid),
        None => Association::Joining(state.to_lowercase().replace('_', " ")),
    }
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut parts = text.trim().split(':').map(|part| u8::from_str_radix(part, 16).ok());
    let mut mac = [0; 6];
    for byte in &mut mac {
        *byte = parts.next()??;
    }
    parts.next().is_none().then_some(mac)
}

fn spawn(socket: &Path) -> Result<Child, WifiError> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    // Services and plain users often lack the system's own directories in PATH.
    for program in ["wpa_supplicant", "/usr/sbin/wpa_supplicant", "/sbin/wpa_supplicant"] {
        let mut command = Command::new(program);
        command.arg("-g").arg(socket).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: `prctl` is async-signal-safe, and touches nothing but the child's own setting.
        unsafe { command.pre_exec(end_with_parent) };
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(e) => last = e,
        }
    }
    Err(WifiError::Supplicant(match last.kind() {
        io::ErrorKind::NotFound => {
            "`wpa_supplicant` is not installed: stations need it for their keys (package wpasupplicant)"
                .into()
        }
        _ => format!("wpa_supplicant cannot be run: {last}"),
    }))
}

/// A daemon that is killed leaves no wpa_supplicant behind.
fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
ctrl_interface=/run/wpa_supplicant
update_config=1
country=DE
# network={
network={
  ssid="home"
  psk="secret }"
  priority=3
  bssid=02:00:00:00:00:01
  freq_list=5180
}
network = {
network={
	ssid=636166c3a9
	key_mgmt=NONE
}
network={
 ssid=P"a\"b\x1b"
 key_mgmt=NONE
 wep_key0=1234567890
}
network={
  ssid="off"
  disabled=1
}
network={
  ssid="adhoc"
  mode=1
}
network={
  ssid=""
}
network={
  ssid="torn"
"#;

    fn bss(ssid: &[u8], is_protected: bool) -> Bss {
        Bss {
            bssid: [2, 0, 0, 0, 0, 7],
            ssid: ssid.to_vec(),
            frequency_mhz: 2437,
            signal_dbm: None,
            beacon_interval: Duration::from_millis(100),
            age: Duration::ZERO,
            is_protected,
            width_mhz: 20,
            has_ht: true,
            has_vht: false,
        }
    }

    #[test]
    fn networks_are_read_from_wpa_supplicants_file() {
        let all = known_networks(FILE);
        let names: Vec<_> = all.iter().map(|n| (n.ssid.as_slice(), n.is_protected, n.priority)).collect();
        assert_eq!(
            names,
            [(&b"home"[..], true, 3), ("caf\u{e9}".as_bytes(), false, 0), (b"a\"b\x1b", true, 0)]
        );
        assert!(all[0].is_of(&bss(b"home", true)));
        assert!(!all[0].is_of(&bss(b"home", false)), "an open twin is not it");
        assert!(!all[0].is_of(&bss(b"", true)));
        assert!(!format!("{all:?}").contains("secret"), "secrets are not printed");
    }

    #[test]
    fn a_station_gets_one_access_point() {
        let text = known_networks(FILE)[0].file_for(&bss(b"home", true));
        let expected = "ap_scan=1\np2p_disabled=1\ncountry=DE\nnetwork={\nssid=\"home\"\npsk=\"secret }\"\npriority=3\n\
                        bssid=02:00:00:00:00:07\nscan_freq=2437\nfreq_list=2437\n}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_it_says_of_a_station_is_read() {
        let joined = "bssid=02:00:00:00:01:00\nfreq=2437\nssid=x\\nwpa_state=SCANNING\nwpa_state=COMPLETED\n";
        assert_eq!(association(joined), Association::Joined([2, 0, 0, 0, 1, 0]));
        let joining = |text: &str| matches!(association(text), Association::Joining(_));
        assert!(joining("wpa_state=4WAY_HANDSHAKE\nbssid=02:00:00:00:01:00\n"));
        assert!(joining("wpa_state=COMPLETED\nbssid=zz\n") && joining("FAIL\n") && joining(""));
    }
}
