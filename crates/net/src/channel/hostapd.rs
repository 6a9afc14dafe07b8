//! hostapd's control interface.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ChannelError, ChannelSwitch};
use crate::feedback::Nl80211;
use crate::patience::is_late;
use crate::wpa_ctrl::{PATIENCE, WpaCtrl};

/// Where it usually listens.
pub(super) const USUALLY: &str = "/run/hostapd";
/// hostapd refuses a switch until it knows that the last one is over, which the radio knows a little sooner: so often it is asked again, and when.
const ATTEMPTS: u32 = 4;
const AGAIN: Duration = Duration::from_millis(40);

/// The control interface of one of hostapd's interfaces.
pub struct Hostapd {
    socket: WpaCtrl,
    at: PathBuf,
    /// The kernel's own word on the radio, where it has one.
    radio: Option<Nl80211>,
}

impl Hostapd {
    /// Connects to `directory/interface`.
    ///
    /// # Errors
    /// [`ChannelError::Nobody`].
    pub fn open(directory: &Path, interface: &str) -> Result<Hostapd, ChannelError> {
        let at = directory.join(interface);
        let nobody = |why| ChannelError::Nobody { at: at.display().to_string(), why };
        let socket = WpaCtrl::open(&at, PATIENCE).map_err(nobody)?;
        let radio = Nl80211::open(interface, Duration::ZERO).ok();
        Ok(Hostapd { socket, at, radio })
    }

    fn ask(&self, question: &str) -> Result<String, ChannelError> {
        let at = || self.at.display().to_string();
        self.socket.ask(question).map_err(|why| match is_late(&why) {
            true => ChannelError::Silent { at: at() },
            false => ChannelError::Nobody { at: at(), why },
        })
    }

    fn status(&self) -> Result<Status, ChannelError> {
        let text = self.ask("STATUS")?;
        Status::parse(&text).ok_or_else(|| ChannelError::Refused {
            at: self.at.display().to_string(),
            asked: "STATUS".into(),
            answer: text.trim().into(),
        })
    }
}

impl ChannelSwitch for Hostapd {
    fn channel_mhz(&mut self) -> Result<u32, ChannelError> {
        // From the announcement of a switch on hostapd says that it is where it is going to be: a test would be made of the channel that is to be left.
        let said = self.status()?.mhz;
        Ok(self.radio.as_mut().and_then(Nl80211::centre_mhz).unwrap_or(said))
    }

    fn announce(&mut self, to_mhz: u32, beacons: u8) -> Result<(), ChannelError> {
        let asked = self.status()?.switch(to_mhz, beacons)?;
        let mut answer = self.ask(&asked)?;
        for _ in 1..ATTEMPTS {
            if answer.trim() == "OK" {
                break;
            }
            std::thread::sleep(AGAIN);
            answer = self.ask(&asked)?;
        }
        match answer.trim() {
            "OK" => Ok(()),
            answer => {
                Err(ChannelError::Refused { at: self.at.display().to_string(), asked, answer: answer.into() })
            }
        }
    }
}

impl fmt::Debug for Hostapd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hostapd").field("at", &self.at).finish_non_exhaustive()
    }
}

/// What of hostapd's `STATUS` a switch has to repeat, or the radio would come out narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    mhz: u32,
    is_ht: bool,
    is_vht: bool,
    /// Where the second 20 MHz are: +1 above, -1 below, 0 nowhere.
    secondary: i32,
    /// `vht_oper_chwidth`: 1 is 80 MHz.
    vht_width: u32,
}

impl Status {
    fn parse(text: &str) -> Option<Status> {
        let of = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
        let number = |key: &str| of(key).and_then(|v| v.trim().parse::<i32>().ok());
        Some(Status {
            mhz: number("freq").and_then(|f| u32::try_from(f).ok()).filter(|f| *f > 0)?,
            is_ht: number("ieee80211n") == Some(1),
            is_vht: number("ieee80211ac") == Some(1),
            secondary: number("secondary_channel").unwrap_or(0),
            vht_width: number("vht_oper_chwidth").and_then(|w| u32::try_from(w).ok()).unwrap_or(0),
        })
    }

    fn width_mhz(self) -> u32 {
        match (self.is_vht && self.vht_width == 1, self.secondary) {
            (true, _) => 80,
            (false, 0) => 20,
            (false, _) => 40,
        }
    }

    /// The command that goes to another primary channel with this width.
    fn switch(self, to_mhz: u32, beacons: u8) -> Result<String, ChannelError> {
        let width = self.width_mhz();
        let mut command = format!("CHAN_SWITCH {beacons} {to_mhz}");
        if width > 20 {
            let centre =
                centre(to_mhz, width).ok_or(ChannelError::NoSuchChannel { mhz: to_mhz, width_mhz: width })?;
            let secondary = secondary(to_mhz);
            command += &format!(" sec_channel_offset={secondary} center_freq1={centre} bandwidth={width}");
        }
        if self.is_ht {
            command += " ht";
        }
        if self.is_vht {
            command += " vht";
        }
        Ok(command)
    }
}

/// First channels of the 5 GHz band's stretches of 80 MHz (IEEE 802.11-2020 annex E), MHz.
const STRETCHES: [u32; 7] = [5180, 5260, 5500, 5580, 5660, 5745, 5825];

/// Centre of the 40 or 80 MHz that hold a primary channel; in the 2.4 GHz band there is no one answer, so none.
fn centre(primary_mhz: u32, width_mhz: u32) -> Option<u32> {
    let start = STRETCHES.iter().rfind(|s| **s <= primary_mhz)?;
    let place = primary_mhz - start;
    // The last stretch ends after 40 MHz in most places; wider channels do not begin there.
    let within = place < 80 && place.is_multiple_of(20) && (*start < 5825);
    within.then(|| start - 10 + place / width_mhz * width_mhz + width_mhz / 2)
}

/// Where the second 20 MHz of a primary channel are.
fn secondary(primary_mhz: u32) -> i32 {
    let start = STRETCHES.iter().rfind(|s| **s <= primary_mhz).copied().unwrap_or(primary_mhz);
    if ((primary_mhz - start) / 20).is_multiple_of(2) { 1 } else { -1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::net::UnixDatagram;

    fn status(width: u32) -> Status {
        let text = format!(
            "state=ENABLED\nphy=phy0\nfreq=5180\nieee80211n=1\nieee80211ac={}\nsecondary_channel={}\nvht_oper_chwidth={}\n",
            u32::from(width == 80),
            i32::from(width > 20),
            u32::from(width == 80)
        );
        Status::parse(&text).expect("a status")
    }

    #[test]
    fn a_switch_keeps_the_width() {
        let command = |width, mhz| status(width).switch(mhz, 2).expect("a channel");
        assert_eq!(command(20, 5220), "CHAN_SWITCH 2 5220 ht");
        assert_eq!(
            command(40, 5220),
            "CHAN_SWITCH 2 5220 sec_channel_offset=1 center_freq1=5230 bandwidth=40 ht"
        );
        assert_eq!(
            command(40, 5765),
            "CHAN_SWITCH 2 5765 sec_channel_offset=-1 center_freq1=5755 bandwidth=40 ht"
        );
        assert_eq!(
            command(80, 5520),
            "CHAN_SWITCH 2 5520 sec_channel_offset=-1 center_freq1=5530 bandwidth=80 ht vht"
        );
        assert!(matches!(status(80).switch(5825, 2), Err(ChannelError::NoSuchChannel { .. })));
        assert!(matches!(status(40).switch(5190, 2), Err(ChannelError::NoSuchChannel { .. })));
    }

    proptest! {
        /// Whoever listens there may not be hostapd.
        #[test]
        fn any_status_is_a_command_or_an_error(
            lines in proptest::collection::vec("(freq|ieee80211n|ieee80211ac|secondary_channel|vht_oper_chwidth|x)=-?[0-9]{0,12}", 0..8),
            mhz in any::<u32>(),
            beacons in any::<u8>(),
        ) {
            if let Some(Ok(command)) = Status::parse(&lines.join("\n")).map(|s| s.switch(mhz, beacons)) {
                let begin = format!("CHAN_SWITCH {beacons} {mhz}");
                prop_assert!(command.starts_with(&begin) && !command.contains('\n'));
            }
        }
    }

    #[test]
    fn asks_and_hears_past_events() {
        let dir = std::env::temp_dir().join(format!("rw-hostapd-test-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        assert!(matches!(Hostapd::open(&dir, "no-radio0"), Err(ChannelError::Nobody { .. })));
        let far = UnixDatagram::bind(dir.join("no-radio0")).unwrap();
        let server = std::thread::spawn(move || {
            let (mut heard, mut bytes) = (Vec::new(), [0; 512]);
            for answers in [
                &["freq=5180\n"][..],
                &["freq=5180\n"],
                &["FAIL\n"],
                &["<3>AP-CSA", "OK\n"],
                &["freq=0\n"],
                &[],
            ] {
                let (len, from) = far.recv_from(&mut bytes).unwrap();
                heard.push(String::from_utf8_lossy(&bytes[..len]).into_owned());
                for answer in answers {
                    far.send_to_addr(answer.as_bytes(), &from).unwrap();
                }
            }
            // The socket goes along: one that is gone refuses, and does not keep silent.
            (heard, far)
        });
        let mut hostapd = Hostapd::open(&dir, "no-radio0").unwrap();
        assert_eq!(hostapd.channel_mhz().unwrap(), 5180);
        hostapd.announce(5220, 2).unwrap();
        assert!(matches!(hostapd.channel_mhz(), Err(ChannelError::Refused { .. })));
        let silent = hostapd.channel_mhz();
        assert!(matches!(silent, Err(ChannelError::Silent { .. })), "{silent:?}");
        assert_eq!(
            server.join().unwrap().0,
            ["STATUS", "STATUS", "CHAN_SWITCH 2 5220", "CHAN_SWITCH 2 5220", "STATUS", "STATUS"]
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
