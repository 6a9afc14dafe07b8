//! What came through the air, for people: whoever has a transmitter chooses the names of networks.

/// A network's name without anything that a terminal would obey; invalid UTF-8 and control characters as escapes.
pub(super) fn ssid(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(hidden)".into();
    }
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                // Also what turns the direction of the text, joins characters, or is a line of its own.
                '\\' | '"' => out.extend(['\\', c]),
                c if c.is_control() || is_deceiving(c) => out.extend(c.escape_unicode()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// What turns the direction of the text, joins characters, or is not seen.
pub(crate) fn is_deceiving(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// A channel's number by its centre, MHz; the frequency where it has none.
pub(super) fn channel(mhz: u32) -> String {
    match mhz {
        2412..=2472 if mhz % 5 == 2 => ((mhz - 2407) / 5).to_string(),
        2484 => "14".into(),
        5160..=5885 if mhz.is_multiple_of(5) => ((mhz - 5000) / 5).to_string(),
        5955..=7115 if mhz.is_multiple_of(5) => format!("6E/{}", (mhz - 5950) / 5),
        _ => format!("{mhz} MHz"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_a_terminal() {
        for (name, shown) in [
            (&b"caf\xc3\xa9"[..], "caf\u{e9}"),
            (b"", "(hidden)"),
            (b"a\x1b[2Jb", "a\\u{1b}[2Jb"),
            (b"two\nlines", "two\\u{a}lines"),
            (b"\xff\xfe", "\\xff\\xfe"),
            ("evil\u{202e}gnp".as_bytes(), "evil\\u{202e}gnp"),
            (b"say \"\\\"", "say \\\"\\\\\\\""),
        ] {
            assert_eq!(ssid(name), shown);
            assert!(!ssid(name).chars().any(char::is_control));
        }
    }

    #[test]
    fn channels_have_numbers() {
        let known = [(2412, "1"), (2484, "14"), (5180, "36"), (5955, "6E/1"), (58_320, "58320 MHz")];
        assert!(known.iter().all(|(mhz, number)| channel(*mhz) == *number));
    }
}
