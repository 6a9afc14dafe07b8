//! What the standards allow, as far as a file can get it wrong: channels, widths, rates. How long a frame takes or how often it is
//! lost is the business of the model; a test of `ropewalk` (`tests/wifi_rules.rs`) holds both to the same lists.

use crate::file::{GuardInterval, Radio, RateControl, Secondary, Slot, Standard};
use std::time::Duration;

/// 20 MHz channels of 2.4 GHz; 11b also has 14.
pub const CHANNELS_2_4: std::ops::RangeInclusive<u16> = 1..=13;
/// 20 MHz channels of 5 GHz. They come in fours, so each has its partners for 40 and 80 MHz.
pub const CHANNELS_5: [u16; 28] = [
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 144, 149, 153,
    157, 161, 165, 169, 173, 177,
];
/// Channels of 60 GHz.
pub const CHANNELS_60: std::ops::RangeInclusive<u16> = 1..=6;
/// Rates of 11a and 11g.
pub const OFDM_RATES: [&str; 8] =
    ["6Mbit/s", "9Mbit/s", "12Mbit/s", "18Mbit/s", "24Mbit/s", "36Mbit/s", "48Mbit/s", "54Mbit/s"];
/// Rates of 11b.
pub const CCK_RATES: [&str; 4] = ["1Mbit/s", "2Mbit/s", "5.5Mbit/s", "11Mbit/s"];

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 GHz.
    Ghz5,
    /// 60 GHz.
    Ghz60,
}

/// The band that a channel of a standard lies in; none if the standard has no such channel.
pub fn band(standard: Standard, channel: u16) -> Option<Band> {
    let two = CHANNELS_2_4.contains(&channel).then_some(Band::Ghz2);
    let five = CHANNELS_5.contains(&channel).then_some(Band::Ghz5);
    match standard {
        Standard::B => two.or((channel == 14).then_some(Band::Ghz2)),
        Standard::G => two,
        Standard::A | Standard::Ac => five,
        Standard::N => two.or(five),
        Standard::Ad => CHANNELS_60.contains(&channel).then_some(Band::Ghz60),
    }
}

/// Widths that a standard has, MHz.
pub fn widths(standard: Standard) -> &'static [u16] {
    match standard {
        Standard::A | Standard::B | Standard::G => &[20],
        Standard::N => &[20, 40],
        Standard::Ac => &[20, 40, 80],
        Standard::Ad => &[2160],
    }
}

/// The width of a radio, MHz.
pub fn width(radio: &Radio) -> u16 {
    radio.width.unwrap_or(widths(radio.standard)[0])
}

/// Spatial streams that a standard can have.
pub fn most_streams(standard: Standard) -> u8 {
    if matches!(standard, Standard::N | Standard::Ac) { 4 } else { 1 }
}

/// Whether a fixed rate is one that the radio has; otherwise what it has.
pub fn check_rate(radio: &Radio, rate: &str) -> Result<(), String> {
    let legacy: &[&str] = match radio.standard {
        Standard::B => &CCK_RATES,
        Standard::A | Standard::G => &OFDM_RATES,
        _ => &[],
    };
    if !legacy.is_empty() {
        let name = radio.standard.name();
        let known = || format!("{name} has no rate \"{rate}\"; it has {}", legacy.join(", "));
        return if legacy.contains(&rate) { Ok(()) } else { Err(known()) };
    }
    let (least, most) = match radio.standard {
        Standard::N => (0, 7),
        Standard::Ad => (1, 12),
        // 20 MHz carries MCS9 with three streams only (802.11-2020, 21.5).
        _ if width(radio) == 20 && radio.streams != 3 => (0, 8),
        _ => (0, 9),
    };
    let index = rate.strip_prefix("MCS").and_then(|n| n.parse::<u8>().ok());
    match index {
        // 21.5: 80 MHz with three streams has no MCS6.
        Some(6) if radio.standard == Standard::Ac && width(radio) == 80 && radio.streams == 3 => {
            Err("11ac has no MCS6 with three streams of 80 MHz; take MCS5 or MCS7".into())
        }
        Some(n) if (least..=most).contains(&n) => Ok(()),
        _ => Err(format!(
            "{} with {} MHz and {} stream(s) has no rate \"{rate}\"; it has MCS{least} to MCS{most}",
            radio.standard.name(),
            width(radio),
            radio.streams
        )),
    }
}

/// What is impossible about a radio: the key below it, and why.
pub fn check_radio(radio: &Radio) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let standard = radio.standard.name();
    if band(radio.standard, radio.channel).is_none() {
        wrong.push(("channel", no_channel(radio)));
    }
    let width = width(radio);
    if !widths(radio.standard).contains(&width) {
        let known: Vec<String> = widths(radio.standard).iter().map(u16::to_string).collect();
        wrong.push(("width", format!("{standard} has no width of {width} MHz; it has {}", known.join(", "))));
    } else if let Some(sentence) = does_not_fit(radio, width) {
        wrong.push(("width", sentence));
    }
    if !(1..=most_streams(radio.standard)).contains(&radio.streams) {
        let most = most_streams(radio.standard);
        wrong.push(("streams", format!("{standard} has no {} streams; write 1 to {most}", radio.streams)));
    }
    let has_short = matches!(radio.standard, Standard::N | Standard::Ac);
    if radio.guard_interval == GuardInterval::Short && !has_short {
        wrong.push(("guard-interval", format!("{standard} has no short guard interval; write \"long\"")));
    }
    let two = band(radio.standard, radio.channel) == Some(Band::Ghz2);
    if radio.slot == Slot::Long && !two {
        wrong.push((
            "slot",
            "only 2.4 GHz has long slots; take it out, or choose a channel from 1 to 13".into(),
        ));
    }
    let forty_in_two = width == 40 && two;
    if radio.secondary.is_some() && !forty_in_two {
        let why = "this only counts for 40 MHz in 2.4 GHz; take it out";
        wrong.push(("secondary", why.into()));
    }
    let rates = match radio.rate_control.data() {
        RateControl::Fixed(rate) => vec![("rate-control.fixed", rate)],
        RateControl::Drawn { usual, other, .. } => {
            vec![("rate-control.usual", usual), ("rate-control.other", other)]
        }
        RateControl::Named(_) | RateControl::WithControl { .. } => Vec::new(),
    };
    if let Some(control) = radio.rate_control.control()
        && let Err(sentence) = check_control(radio, control)
    {
        wrong.push(("rate-control.control", sentence));
    }
    if wrong.is_empty() {
        let refused = |(key, rate): (&'static str, &String)| Some((key, check_rate(radio, rate).err()?));
        wrong.extend(rates.into_iter().filter_map(refused));
    }
    if let RateControl::Drawn { step, .. } = radio.rate_control.data()
        && *step < Duration::from_millis(1)
    {
        wrong.push(("rate-control.step", "a step of rates has at least 1ms".into()));
    }
    wrong
}

/// Control frames go at rates of 11a and 11g, in 11b at its own (802.11-2020, 10.6.6).
fn check_control(radio: &Radio, rate: &str) -> Result<(), String> {
    let known: &[&str] = match radio.standard {
        Standard::Ad => {
            return Err(
                "11ad sends control frames at MCS 1 to 4 as its standard says; take `control` out".into()
            );
        }
        Standard::B => &CCK_RATES,
        _ => &OFDM_RATES,
    };
    if known.contains(&rate) {
        return Ok(());
    }
    Err(format!(
        "{} has no control frames at `{rate}`; write one of {}",
        radio.standard.name(),
        known.join(", ")
    ))
}

fn no_channel(radio: &Radio) -> String {
    let (standard, channel) = (radio.standard.name(), radio.channel);
    let known = match radio.standard {
        Standard::B => "1 to 14".to_owned(),
        Standard::G => "1 to 13".to_owned(),
        Standard::Ad => "1 to 6".to_owned(),
        Standard::A | Standard::Ac => five(channel),
        Standard::N => format!("1 to 13 and {}", five(channel)),
    };
    format!("{standard} has no channel {channel}; it has {known}")
}

/// The channels of 5 GHz, the nearest first said.
fn five(channel: u16) -> String {
    let near = CHANNELS_5.iter().min_by_key(|c| c.abs_diff(channel)).copied().unwrap_or(36);
    format!("36 to 64, 100 to 144 and 149 to 177 in steps of 4; {near} is the nearest")
}

/// In 2.4 GHz a 40 MHz channel may reach beyond the band.
fn does_not_fit(radio: &Radio, width: u16) -> Option<String> {
    let channel = radio.channel;
    if band(radio.standard, channel)? != Band::Ghz2 || width != 40 {
        return None;
    }
    let below = radio.secondary.map_or(channel > 7, |secondary| secondary == Secondary::Below);
    let fits = if below { channel > 4 } else { CHANNELS_2_4.contains(&(channel + 4)) };
    let sentence =
        || format!("channel {channel} has no room for 40 MHz on that side; choose the other `secondary`");
    (!fits).then(sentence)
}
