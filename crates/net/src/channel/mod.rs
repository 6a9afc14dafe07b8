//! The channel of an access point's radio: where it is, and how to have it announce another and go there with its stations (IEEE 802.11-2020 §11.8.8).
//!
//! | source | where |
//! |---|---|
//! | [`Hostapd`] | real radios: hostapd's control interface, `CHAN_SWITCH` |
//! | [`LabRadio`] | a radio of Ropewalk's lab: its socket (docs/guide/link.md) |

mod hostapd;
mod lab;

pub use hostapd::Hostapd;
pub use lab::LabRadio;

use std::io;
use std::path::Path;

/// A radio that can announce a switch.
pub trait ChannelSwitch: Send {
    /// Centre of the primary 20 MHz channel, MHz.
    ///
    /// # Errors
    /// [`ChannelError`].
    fn channel_mhz(&mut self) -> Result<u32, ChannelError>;

    /// Announces in `beacons` beacons that the radio goes to another primary channel, with the width that it has.
    ///
    /// # Errors
    /// [`ChannelError`]; the radio stays where it is.
    fn announce(&mut self, to_mhz: u32, beacons: u8) -> Result<(), ChannelError>;
}

/// Why a radio does not switch, or does not say where it is.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Nobody is there to be asked.
    #[error("nobody listens at {at}: {why}")]
    Nobody {
        /// The socket.
        at: String,
        /// What the kernel said.
        why: io::Error,
    },
    /// It does not answer.
    #[error("{at} does not answer")]
    Silent {
        /// The socket.
        at: String,
    },
    /// It says no.
    #[error("{at} refuses {asked:?}: {answer}")]
    Refused {
        /// The socket.
        at: String,
        /// What it was asked.
        asked: String,
        /// Its answer.
        answer: String,
    },
    /// There is no such channel in the radio's band, or not with its width.
    #[error("{mhz} MHz is no channel for a radio that is {width_mhz} MHz wide")]
    NoSuchChannel {
        /// Centre of the primary channel.
        mhz: u32,
        /// Width.
        width_mhz: u32,
    },
}

/// Whoever switches this interface: hostapd, at `control` or where it usually listens; else the lab.
///
/// # Errors
/// [`ChannelError`], of hostapd if `control` was named.
pub fn open(interface: &str, control: Option<&Path>) -> Result<Box<dyn ChannelSwitch>, ChannelError> {
    if let Some(directory) = control {
        return Ok(Box::new(Hostapd::open(directory, interface)?));
    }
    match Hostapd::open(Path::new(hostapd::USUALLY), interface) {
        Ok(hostapd) => Ok(Box::new(hostapd)),
        Err(error) => LabRadio::open(interface).map(|lab| Box::new(lab) as _).map_err(|_| error),
    }
}

/// Centre of a 20 MHz channel by its number (IEEE 802.11-2020 §17.3.8.4.3, §15.4.4.3 and annex E), MHz. Numbers of the 6 GHz band mean others here.
pub fn centre_mhz(number: u32) -> Option<u32> {
    match number {
        1..=13 => Some(2407 + 5 * number),
        14 => Some(2484),
        32..=177 => Some(5000 + 5 * number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_on_the_box() {
        let known = [(1, 2412), (13, 2472), (14, 2484), (36, 5180), (149, 5745), (165, 5825)];
        assert!(known.iter().all(|(n, mhz)| centre_mhz(*n) == Some(*mhz)));
        assert!([0, 15, 31, 178, 1000].iter().all(|n| centre_mhz(*n).is_none()));
    }
}
