//! An access point as it was heard. Everything here came through the air from whoever sent it.

use std::time::Duration;

use crate::genl::{Raw, attributes, find, u32_of};

const ATTR_BSS: u16 = 47;
const BSS_BSSID: u16 = 1;
const BSS_FREQUENCY: u16 = 2;
const BSS_BEACON_INTERVAL: u16 = 4;
const BSS_CAPABILITY: u16 = 5;
const BSS_INFORMATION_ELEMENTS: u16 = 6;
const BSS_SIGNAL_MBM: u16 = 7;
const BSS_SEEN_MS_AGO: u16 = 10;
const BSS_BEACON_IES: u16 = 11;

/// Bit of the capability field that asks for encryption (IEEE 802.11-2020 §9.4.1.4).
const PRIVACY: u16 = 1 << 4;
/// Time unit (IEEE 802.11-2020 §3.1).
const TU: Duration = Duration::from_micros(1024);
/// Elements (IEEE 802.11-2020 table 9-92).
const SSID: u8 = 0;
const HT_OPERATION: u8 = 61;
const HT_CAPABILITIES: u8 = 45;
const RSN: u8 = 48;
const VHT_CAPABILITIES: u8 = 191;
const VHT_OPERATION: u8 = 192;

/// An access point.
#[derive(Clone, Debug, PartialEq)]
pub struct Bss {
    /// Its address.
    pub bssid: [u8; 6],
    /// Its network's name, any 32 bytes; none if it hides it.
    pub ssid: Vec<u8>,
    /// Centre of its primary channel, MHz.
    pub frequency_mhz: u32,
    /// Signal of the last frame heard, dBm; none if the driver has another unit.
    pub signal_dbm: Option<f64>,
    /// Between two beacons.
    pub beacon_interval: Duration,
    /// How long ago it was heard.
    pub age: Duration,
    /// It encrypts, in whatever way.
    pub is_protected: bool,
    /// Width of its channel, MHz.
    pub width_mhz: u32,
    /// It has 802.11n; without it frames are sent one by one, at 54 Mb/s at most.
    pub has_ht: bool,
    /// It has 802.11ac.
    pub has_vht: bool,
}

impl Bss {
    /// From an answer to `GET_SCAN`.
    pub(super) fn read(message: &Raw) -> Option<Bss> {
        let bss = message.get(ATTR_BSS)?;
        let of = |kind| find(bss, kind);
        let number = |kind| of(kind).and_then(|v| v.first_chunk()).map_or(0, |b| u16::from_ne_bytes(*b));
        let elements = of(BSS_INFORMATION_ELEMENTS).or_else(|| of(BSS_BEACON_IES)).unwrap_or_default();
        let element = |wanted| elements_of(elements).find(|(kind, _)| *kind == wanted).map(|(_, v)| v);
        let ssid = element(SSID).unwrap_or_default();
        let is_hidden = ssid.len() > 32 || ssid.iter().all(|b| *b == 0);
        Some(Bss {
            bssid: *of(BSS_BSSID)?.first_chunk()?,
            ssid: if is_hidden { Vec::new() } else { ssid.to_vec() },
            frequency_mhz: of(BSS_FREQUENCY).map_or(0, u32_of),
            // Hundredths of a dBm, signed.
            signal_dbm: of(BSS_SIGNAL_MBM).map(|v| f64::from(u32_of(v) as i32) / 100.0),
            beacon_interval: TU * u32::from(number(BSS_BEACON_INTERVAL).max(1)),
            age: Duration::from_millis(of(BSS_SEEN_MS_AGO).map_or(0, u32_of).into()),
            is_protected: number(BSS_CAPABILITY) & PRIVACY != 0 || element(RSN).is_some(),
            width_mhz: width_mhz(element(HT_OPERATION), element(VHT_OPERATION)),
            has_ht: element(HT_CAPABILITIES).is_some(),
            has_vht: element(VHT_CAPABILITIES).is_some(),
        })
    }
}

/// Width by the operation elements (IEEE 802.11-2020 §9.4.2.56, §9.4.2.158), MHz.
fn width_mhz(ht: Option<&[u8]>, vht: Option<&[u8]>) -> u32 {
    match (ht, vht) {
        // Channel width 1 is 80 MHz, and with centres 40 MHz apart 160.
        (_, Some([1, first, second, ..])) if *second != 0 && first.abs_diff(*second) == 8 => 160,
        (_, Some([1, ..])) => 80,
        (_, Some([2 | 3, ..])) => 160,
        // The second byte's lowest two bits say where the second 20 MHz are: 1 or 3.
        (Some([_, info, ..]), _) if matches!(info & 3, 1 | 3) && info & 4 != 0 => 40,
        _ => 20,
    }
}

/// Kind and value of each element, as far as the bytes are elements.
fn elements_of(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, length) = (*bytes.first()?, usize::from(*bytes.get(1)?));
        let value = bytes.get(2..2 + length)?;
        bytes = &bytes[2 + length..];
        Some((kind, value))
    })
}

/// Reads an answer as the functions of this module do; for the fuzzer.
pub(crate) fn read_any(message: &Raw) {
    if let Some(bss) = Bss::read(message) {
        assert!(bss.ssid.len() <= 32 && bss.width_mhz <= 160);
    }
    for (_, value) in attributes(&message.attributes) {
        let _ = elements_of(value).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genl::{nested, nla};

    fn element(kind: u8, value: &[u8]) -> Vec<u8> {
        [&[kind, value.len() as u8][..], value].concat()
    }

    fn message(elements: &[Vec<u8>], capability: u16) -> Raw {
        let bss = [
            nla(BSS_BSSID, &[2, 0, 0, 0, 1, 0]),
            nla(BSS_FREQUENCY, &5180u32.to_ne_bytes()),
            nla(BSS_BEACON_INTERVAL, &100u16.to_ne_bytes()),
            nla(BSS_CAPABILITY, &capability.to_ne_bytes()),
            nla(BSS_SIGNAL_MBM, &(-6_150i32).to_ne_bytes()),
            nla(BSS_SEEN_MS_AGO, &40u32.to_ne_bytes()),
            nla(BSS_INFORMATION_ELEMENTS, &elements.concat()),
        ];
        Raw::new(34, &[nla(3, &4u32.to_ne_bytes()), nested(ATTR_BSS, &bss)])
    }

    #[test]
    fn an_access_point_is_read_from_the_kernels_bytes() {
        let elements = [
            element(SSID, b"caf\xc3\xa9\x1b[2J"),
            element(HT_CAPABILITIES, &[0; 26]),
            element(HT_OPERATION, &[36, 5, 0, 0, 0, 0]),
            element(VHT_CAPABILITIES, &[0; 12]),
            element(VHT_OPERATION, &[1, 42, 0, 0, 0]),
            element(RSN, &[1, 0]),
        ];
        let bss = Bss::read(&message(&elements, 1)).unwrap();
        let expected = Bss {
            bssid: [2, 0, 0, 0, 1, 0],
            ssid: b"caf\xc3\xa9\x1b[2J".to_vec(),
            frequency_mhz: 5180,
            signal_dbm: Some(-61.5),
            beacon_interval: Duration::from_micros(102_400),
            age: Duration::from_millis(40),
            is_protected: true,
            width_mhz: 80,
            has_ht: true,
            has_vht: true,
        };
        assert_eq!(bss, expected);
    }

    #[test]
    fn old_hidden_and_damaged_ones() {
        let old = Bss::read(&message(&[element(SSID, b"old")], 0)).unwrap();
        assert_eq!((old.is_protected, old.width_mhz, old.has_ht), (false, 20, false));
        assert!(Bss::read(&message(&[element(SSID, b"old")], PRIVACY)).unwrap().is_protected);
        for hidden in [&[][..], &[0; 5], &[b'x'; 33]] {
            assert!(Bss::read(&message(&[element(SSID, hidden)], 0)).unwrap().ssid.is_empty());
        }
        let torn = Bss::read(&message(&[element(SSID, b"torn"), vec![HT_OPERATION, 20, 1]], 0)).unwrap();
        assert_eq!((torn.ssid.as_slice(), torn.width_mhz), (&b"torn"[..], 20));
        assert_eq!(Bss::read(&Raw::new(34, &[nla(ATTR_BSS, &[1, 2, 3])])), None);
        let width = |ht: &[u8], vht: &[u8]| width_mhz(Some(ht), Some(vht));
        assert_eq!(width(&[36, 5], &[]), 40);
        assert_eq!(width(&[36, 1], &[0, 0, 0]), 20, "any width is not allowed");
        assert_eq!(width(&[36, 5], &[1, 42, 50, 0, 0]), 160);
    }
}
