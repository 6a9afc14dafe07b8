//! What the checks of scenario files allow of radios is what the model of the air takes: the two keep lists of their own, because the
//! crates know nothing of each other.

use ropewalk_air::wifi::phy::{
    Band, Channel, GuardInterval, Secondary, Standard, Width, legacy_rates, mcs_rates,
};
use ropewalk_scenario::field::Field;
use ropewalk_scenario::field::Reader;
use ropewalk_scenario::file::{self, Radio, RateControl};
use ropewalk_scenario::tree::{Node, Origin, Value, parse};
use ropewalk_scenario::wifi;

const STANDARDS: [(file::Standard, Standard); 6] = [
    (file::Standard::A, Standard::A),
    (file::Standard::B, Standard::B),
    (file::Standard::G, Standard::G),
    (file::Standard::N, Standard::N),
    (file::Standard::Ac, Standard::Ac),
    (file::Standard::Ad, Standard::Ad),
];
const WIDTHS: [(u16, Width); 4] =
    [(20, Width::Mhz20), (40, Width::Mhz40), (80, Width::Mhz80), (2160, Width::Mhz2160)];

fn radio(standard: file::Standard, channel: u16, width: u16) -> Radio {
    let text = format!("standard = \"{}\"\nchannel = {channel}\nwidth = {width}", standard.name());
    let node = Node { value: Value::Table(parse(&text).unwrap()), origin: Origin::Line(1) };
    Radio::read(&node, &mut Reader::default()).unwrap()
}

#[test]
fn channels_and_widths() {
    for (ours, theirs) in STANDARDS {
        for (mhz, width) in WIDTHS {
            for number in 1..=200 {
                let allowed = wifi::check_radio(&radio(ours, number, mhz)).is_empty();
                let band = wifi::band(ours, number).map(|band| match band {
                    wifi::Band::Ghz2 => Band::Ghz2_4,
                    wifi::Band::Ghz5 => Band::Ghz5,
                    wifi::Band::Ghz60 => Band::Ghz60,
                });
                let secondary = if number > 7 { Secondary::Below } else { Secondary::Above };
                let made = |band| {
                    Channel::new(band, number as u8, width, Some(secondary)).and_then(|c| c.check_for(theirs))
                };
                let taken = band.is_some_and(|band| made(band).is_ok());
                assert_eq!(allowed, taken, "{} channel {number}, {mhz} MHz", ours.name());
            }
        }
    }
}

#[test]
fn rates() {
    for (ours, theirs) in STANDARDS {
        let (channel, band) = match ours {
            file::Standard::B | file::Standard::G => (1, Band::Ghz2_4),
            file::Standard::Ad => (1, Band::Ghz60),
            _ => (36, Band::Ghz5),
        };
        for (mhz, width) in WIDTHS.into_iter().filter(|w| wifi::widths(ours).contains(&w.0)) {
            for streams in 1..=wifi::most_streams(ours) {
                let radio = Radio { streams, ..radio(ours, channel, mhz) };
                let allowed: Vec<u8> =
                    (0..32).filter(|n| wifi::check_rate(&radio, &format!("MCS{n}")).is_ok()).collect();
                let mut taken: Vec<u8> = mcs_rates(theirs, width, streams, false)
                    .into_iter()
                    .filter(|r| {
                        r.streams() == streams
                            && r.width() == width
                            && r.guard_interval() == GuardInterval::Long
                    })
                    .map(|r| r.mcs() % if ours == file::Standard::N { 8 } else { 64 })
                    .collect();
                taken.sort_unstable();
                assert_eq!(allowed, taken, "{} with {streams} streams in {mhz} MHz", ours.name());
            }
        }
        if !matches!(ours, file::Standard::A | file::Standard::B | file::Standard::G) {
            continue;
        }
        for rate in legacy_rates(theirs, band) {
            let text = format!("{}Mbit/s", rate.mbps());
            // 11g also has the rates of 11b, for what is sent to everybody; as a fixed rate they make no sense there.
            let cck = wifi::CCK_RATES.contains(&text.as_str()) && ours == file::Standard::G;
            let with = Radio { rate_control: RateControl::Fixed(text.clone()), ..radio(ours, channel, 20) };
            assert_eq!(wifi::check_radio(&with).is_empty(), !cck, "{} {text}", ours.name());
        }
    }
}
