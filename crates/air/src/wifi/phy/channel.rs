//! Channel numbers, and where they lie.

use super::{Band, Span, Standard, Width};

/// On which side of the primary channel the second 20 MHz of a 40 MHz channel in 2.4 GHz lie. In 5 GHz the number decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Secondary {
    /// At higher frequency (HT40+).
    Above,
    /// At lower frequency (HT40−).
    Below,
}

/// Why there is no such channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The band has no channel of this number.
    #[error("there is no channel {number} in {band:?}; take {}", numbers(*band))]
    NoNumber {
        /// Band.
        band: Band,
        /// What was asked for.
        number: u8,
    },
    /// The channel exists, yet not this wide.
    #[error("channel {number} cannot be {} MHz wide; {remedy}", width.mhz())]
    NoWidth {
        /// Primary channel.
        number: u8,
        /// What was asked for.
        width: Width,
        /// What could be done.
        remedy: &'static str,
    },
    /// The standard does not work in this band or at this width.
    #[error("802.11{} does not have {} MHz channels in {band:?}", format!("{standard:?}").to_lowercase(), width.mhz())]
    NotInStandard {
        /// Standard.
        standard: Standard,
        /// Band.
        band: Band,
        /// Width.
        width: Width,
    },
}

fn numbers(band: Band) -> &'static str {
    match band {
        Band::Ghz2_4 => "1 to 14",
        Band::Ghz5 => "36, 40, … 64, 100, 104, … 144, 149, 153, … 177",
        Band::Ghz60 => "1 to 6",
    }
}

/// A channel: a primary channel number, and the whole width around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    band: Band,
    primary: u8,
    width: Width,
    centre_mhz: u32,
    primary_mhz: u32,
}

impl Channel {
    /// The channel whose primary 20 MHz have this number (802.11-2020, 15.4.4.3, 17.3.8.4, 19.3.15, 21.3.14, 20.3.1, table
    /// E-4). In 2.4 GHz a 40 MHz channel needs to know its side; elsewhere `secondary` is not looked at.
    pub fn new(
        band: Band,
        primary: u8,
        width: Width,
        secondary: Option<Secondary>,
    ) -> Result<Channel, ChannelError> {
        let primary_mhz = centre_of(band, primary).ok_or(ChannelError::NoNumber { band, number: primary })?;
        let refuse = |remedy| ChannelError::NoWidth { number: primary, width, remedy };
        let centre_mhz = match (band, width) {
            (Band::Ghz60, Width::Mhz2160) | (Band::Ghz2_4 | Band::Ghz5, Width::Mhz20) => primary_mhz,
            (Band::Ghz60, _) => return Err(refuse("a 60 GHz channel is 2160 MHz wide")),
            (_, Width::Mhz2160) => return Err(refuse("2160 MHz is for the 60 GHz band")),
            (Band::Ghz2_4, Width::Mhz40) => centre_2_4(primary, secondary).ok_or_else(|| {
                refuse("in 2.4 GHz take 1 to 9 with the secondary channel above, or 5 to 13 with it below")
            })?,
            (Band::Ghz2_4, _) => return Err(refuse("2.4 GHz has 20 and 40 MHz channels only")),
            (Band::Ghz5, _) => centre_5(primary, width).ok_or_else(|| {
                refuse("it has no partner on the right side; take a lower channel or a smaller width")
            })?,
        };
        Ok(Channel { band, primary, width, centre_mhz, primary_mhz })
    }

    /// Refuses a channel that a standard does not have: width and band.
    pub fn check_for(&self, standard: Standard) -> Result<(), ChannelError> {
        let widest = match standard {
            Standard::A | Standard::B | Standard::G => Width::Mhz20,
            Standard::N => Width::Mhz40,
            Standard::Ac => Width::Mhz80,
            Standard::Ad => Width::Mhz2160,
        };
        // Channel 14 is for 802.11b alone (15.4.4.3 and annex E).
        let channel_14 = self.band == Band::Ghz2_4 && self.primary == 14 && standard != Standard::B;
        if standard.bands().contains(&self.band) && self.width <= widest && !channel_14 {
            return Ok(());
        }
        Err(ChannelError::NotInStandard { standard, band: self.band, width: self.width })
    }

    /// The band.
    pub fn band(&self) -> Band {
        self.band
    }

    /// Number of the primary channel.
    pub fn primary(&self) -> u8 {
        self.primary
    }

    /// The whole width.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Centre of the whole width, MHz.
    pub fn centre_mhz(&self) -> u32 {
        self.centre_mhz
    }

    /// Centre of the primary 20 MHz (of the whole in 60 GHz), MHz: what radiotap and `iw` call the channel's frequency.
    pub fn primary_mhz(&self) -> u32 {
        self.primary_mhz
    }

    /// What a PPDU of this width occupies here: `width` around the primary channel, at most the channel's own.
    pub fn span(&self, width: Width) -> Span {
        match width.min(self.width) {
            Width::Mhz20 => Span { centre_mhz: f64::from(self.primary_mhz), width_mhz: 20.0 },
            // The primary 40 MHz of an 80 MHz channel are the pair that the primary belongs to.
            Width::Mhz40 if self.width == Width::Mhz80 => {
                let above = self.primary_mhz > self.centre_mhz;
                let centre_mhz = f64::from(self.centre_mhz) + if above { 20.0 } else { -20.0 };
                Span { centre_mhz, width_mhz: 40.0 }
            }
            own => Span { centre_mhz: f64::from(self.centre_mhz), width_mhz: f64::from(own.mhz()) },
        }
    }

    /// Whether stations on the two channels understand each other's 20 MHz frames.
    pub fn shares_primary(&self, other: &Channel) -> bool {
        self.band == other.band && self.primary == other.primary
    }
}

fn centre_of(band: Band, number: u8) -> Option<u32> {
    let n = u32::from(number);
    match band {
        Band::Ghz2_4 => match n {
            1..=13 => Some(2407 + 5 * n),
            14 => Some(2484),
            _ => None,
        },
        Band::Ghz5 => match n {
            36..=64 | 100..=144 if n % 4 == 0 => Some(5000 + 5 * n),
            149..=177 if n % 4 == 1 => Some(5000 + 5 * n),
            _ => None,
        },
        Band::Ghz60 => (1..=6).contains(&n).then(|| 56_160 + 2160 * n),
    }
}

fn centre_2_4(primary: u8, secondary: Option<Secondary>) -> Option<u32> {
    let own = 2407 + 5 * u32::from(primary);
    match secondary? {
        Secondary::Above if (1..=9).contains(&primary) => Some(own + 10),
        Secondary::Below if (5..=13).contains(&primary) => Some(own - 10),
        _ => None,
    }
}

fn centre_5(primary: u8, width: Width) -> Option<u32> {
    let first_of_run = match primary {
        36..=64 => 36,
        100..=144 => 100,
        _ => 149,
    };
    let (own, last) = (
        u32::from(primary),
        if primary >= 149 {
            177
        } else if primary >= 100 {
            144
        } else {
            64
        },
    );
    let parts = width.mhz() / 20;
    // Channels of 20 MHz lie four numbers apart; wide channels are whole groups of them, counted from the run's start.
    let group = (own - first_of_run) / (4 * parts);
    let lowest = first_of_run + group * 4 * parts;
    let highest = lowest + 4 * (parts - 1);
    (highest <= last).then_some(5000 + 5 * (lowest + highest) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn five(primary: u8, width: Width) -> Result<Channel, ChannelError> {
        Channel::new(Band::Ghz5, primary, width, None)
    }

    /// Channel number of the centre, as regulators print it.
    fn centre_number(primary: u8, width: Width) -> u32 {
        (five(primary, width).unwrap().centre_mhz() - 5000) / 5
    }

    #[test]
    fn five_ghz_centres() {
        assert_eq!(five(36, Width::Mhz20).unwrap().centre_mhz(), 5180);
        for (primary, forty, eighty) in [
            (36, 38, 42),
            (40, 38, 42),
            (44, 46, 42),
            (64, 62, 58),
            (100, 102, 106),
            (128, 126, 122),
            (144, 142, 138),
            (149, 151, 155),
            (161, 159, 155),
            (165, 167, 171),
        ] {
            assert_eq!(centre_number(primary, Width::Mhz40), forty, "{primary}");
            assert_eq!(centre_number(primary, Width::Mhz80), eighty, "{primary}");
        }
    }

    #[test]
    fn other_bands() {
        let two = |n, width, side| Channel::new(Band::Ghz2_4, n, width, side).map(|c| c.centre_mhz());
        assert_eq!(two(1, Width::Mhz20, None), Ok(2412));
        assert_eq!(two(14, Width::Mhz20, None), Ok(2484));
        assert_eq!(two(1, Width::Mhz40, Some(Secondary::Above)), Ok(2422));
        assert_eq!(two(11, Width::Mhz40, Some(Secondary::Below)), Ok(2452));
        let sixty = |n| Channel::new(Band::Ghz60, n, Width::Mhz2160, None).map(|c| c.centre_mhz());
        assert_eq!((sixty(1), sixty(2)), (Ok(58_320), Ok(60_480)));
    }

    #[test]
    fn impossible_channels_are_refused() {
        let no_number =
            |band, n, w| matches!(Channel::new(band, n, w, None), Err(ChannelError::NoNumber { .. }));
        let no_width =
            |band, n, w| matches!(Channel::new(band, n, w, None), Err(ChannelError::NoWidth { .. }));
        assert!(no_number(Band::Ghz2_4, 0, Width::Mhz20) && no_number(Band::Ghz2_4, 15, Width::Mhz20));
        assert!(no_number(Band::Ghz5, 37, Width::Mhz20) && no_number(Band::Ghz5, 68, Width::Mhz20));
        assert!(no_number(Band::Ghz60, 7, Width::Mhz2160));
        assert!(no_width(Band::Ghz2_4, 6, Width::Mhz40), "without a side");
        assert!(no_width(Band::Ghz2_4, 6, Width::Mhz80) && no_width(Band::Ghz5, 36, Width::Mhz2160));
        let above = Channel::new(Band::Ghz2_4, 10, Width::Mhz40, Some(Secondary::Above));
        assert!(matches!(above, Err(ChannelError::NoWidth { .. })));
        assert!(no_width(Band::Ghz60, 1, Width::Mhz20));
    }

    #[test]
    fn standards_have_their_widths_and_bands() {
        assert!(five(36, Width::Mhz80).unwrap().check_for(Standard::Ac).is_ok());
        assert!(five(36, Width::Mhz80).unwrap().check_for(Standard::N).is_err());
        assert!(five(36, Width::Mhz20).unwrap().check_for(Standard::G).is_err());
        let fourteen = Channel::new(Band::Ghz2_4, 14, Width::Mhz20, None).unwrap();
        assert!(fourteen.check_for(Standard::B).is_ok() && fourteen.check_for(Standard::G).is_err());
        let told = fourteen.check_for(Standard::Ac).unwrap_err().to_string();
        assert_eq!(told, "802.11ac does not have 20 MHz channels in Ghz2_4");
    }

    #[test]
    fn spans_of_narrow_frames_lie_around_the_primary() {
        let wide = five(44, Width::Mhz80).unwrap();
        let centre = |w| wide.span(w).centre_mhz;
        assert_eq!(
            (centre(Width::Mhz20), centre(Width::Mhz40), centre(Width::Mhz80)),
            (5220.0, 5230.0, 5210.0)
        );
        assert_eq!(five(36, Width::Mhz80).unwrap().span(Width::Mhz40).centre_mhz, 5190.0);
    }
}
