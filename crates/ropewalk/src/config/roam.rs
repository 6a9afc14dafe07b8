//! The section of a client on many access points.

use crate::cli::check_interface;
use ropewalk_net::channel::centre_mhz;
use ropewalk_net::mptcp;
use ropewalk_roam::choose::Limits;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// A station of several access points at once: `ropewalk roam`. The command line goes before all of it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Roam {
    /// Directory for what is noted to be taken back. Default: `/run/ropewalk/roam`, since nothing of it outlives the machine's uptime.
    pub state: Option<PathBuf>,
    /// The radio, as `iw list` names it. Default: the only one, or that of `interface`.
    pub radio: Option<String>,
    /// A station interface of the radio, which listens while there is none of ours. Default: the radio's first.
    pub interface: Option<String>,
    /// A file of wpa_supplicant with the networks to join. Default: `/etc/wpa_supplicant/wpa_supplicant-INTERFACE.conf`, and else
    /// `/etc/wpa_supplicant/wpa_supplicant.conf`.
    pub networks: Option<PathBuf>,
    /// A monitor interface that measures packet times; `"auto"` makes one on the radio until the end.
    /// Default: none; packet times are by the driver's rates and counters.
    pub monitor: Option<String>,
    /// A directory of programs that are run when access points are joined, used and left. Default: none. Not changed by a reload.
    pub hooks: Option<PathBuf>,
    /// Most access points at once, 1 to 8. Default: 3, because each more takes more of the air than it brings.
    pub most: u32,
    /// The weakest signal that is joined, dBm. Default: -82, where 802.11 begins to hear frames.
    pub least_dbm: f64,
    /// The channel, by number (2.4 and 5 GHz). Default: that of the access point with the highest expected rate.
    pub channel: Option<u32>,
    /// Listen for newcomers on the channel this often, seconds, 1 to 3600. Default: 10.
    pub scan_every_s: u64,
    /// An address such as `http://192.0.2.1/generate_204` that answers 204 or 200: an access point is used once it was reached by it, and not while somebody
    /// else answers for it. Default: none, and nothing is asked.
    pub portal: Option<String>,
    /// Let MPTCP open a subflow by each access point, and rest those that cost too much of the air. Default: `true`.
    pub mptcp: bool,
    /// Mark segments that come by worse access points (ECN), so that senders use the better ones;
    /// MPTCP only. All connections that this machine begins then ask for ECN (`net.ipv4.tcp_ecn`), until
    /// `roam` ends. Linux 6.6 or later. Default: `false`.
    pub marks: bool,
    /// Ask the access points' name servers, by systemd-resolved. Default: `true`; nothing is done where it does not run.
    pub dns: bool,
}

impl Default for Roam {
    fn default() -> Roam {
        let limits = Limits::default();
        Roam {
            state: None,
            radio: None,
            interface: None,
            networks: None,
            monitor: None,
            hooks: None,
            most: limits.most as u32,
            least_dbm: limits.least_dbm,
            channel: None,
            scan_every_s: 10,
            portal: None,
            mptcp: true,
            marks: false,
            dns: true,
        }
    }
}

impl Roam {
    /// What decides.
    pub(crate) fn limits(&self) -> Limits {
        Limits { most: self.most as usize, least_dbm: self.least_dbm, ..Limits::default() }
    }

    /// Centre of the channel asked for, MHz.
    pub(crate) fn channel_mhz(&self) -> Option<u32> {
        self.channel.and_then(centre_mhz)
    }

    /// What types cannot say: the key that is wrong, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if !(1..=mptcp::MOST).contains(&self.most) {
            return Err(("most", format!("most is {}, but has to be from 1 to {}", self.most, mptcp::MOST)));
        }
        if !(-120.0..=0.0).contains(&self.least_dbm) {
            let words = format!("least-dbm is {}, but has to be from -120 to 0", self.least_dbm);
            return Err(("least-dbm", words));
        }
        if !(1..=3600).contains(&self.scan_every_s) {
            let words = format!("scan-every-s is {}, but has to be from 1 to 3600", self.scan_every_s);
            return Err(("scan-every-s", words));
        }
        if let Some(number) = self.channel.filter(|n| centre_mhz(*n).is_none()) {
            return Err(("channel", format!("there is no channel {number} in the 2.4 and 5 GHz bands")));
        }
        if let Some(Err(why)) = self.interface.as_deref().map(check_interface) {
            return Err(("interface", why));
        }
        if let Some(Err(why)) = self.monitor.as_deref().map(check_interface) {
            return Err(("monitor", why));
        }
        if let Some(Err(why)) = self.portal.as_deref().map(crate::roam::portal::check) {
            return Err(("portal", why));
        }
        Ok(())
    }
}
