//! Test vectors for a second implementation: docs/bunch-protocol.md has them word for word.

use super::*;
use std::fmt::Write as _;

const PROTOCOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bunch-protocol.md");

#[test]
fn the_page_has_the_records_word_for_word() {
    let key = |byte| StaticKey::from_bytes(&[byte; 32]).unwrap();
    let (gateway, contributor) = (Signer::of(&key(1)).unwrap(), Signer::of(&key(2)).unwrap());
    let mut vectors = String::new();
    let mut put = |what: &str, bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(vectors, "{what}\n  {hex}").unwrap();
    };
    put("signing key of the gateway, whose static secret is 32 times 01", &gateway.verifier().0);
    put("signing key of the contributor, whose static secret is 32 times 02", &contributor.verifier().0);
    let first = Statement {
        gateway: gateway.verifier(),
        contributor: contributor.verifier(),
        key: key(2).public(),
        number: 1,
        previous: [0; 32],
        from: 1_700_000_000,
        until: 1_700_000_900,
        totals: Totals {
            carried_packets: 1000,
            carried_bytes: 1_400_000,
            delivered_packets: 990,
            delivered_bytes: 1_386_000,
        },
    };
    let more = |n| n * 2;
    let second = Statement {
        number: 2,
        previous: first.hash(),
        from: first.until,
        until: first.until + 900,
        totals: first.totals.zip(first.totals, |n, _| more(n)),
        ..first.clone()
    };
    for (what, statement) in [
        ("record 1: carried 1000 packets and 1,400,000 bytes, delivered 990 and 1,386,000", first),
        ("record 2: twice as much", second),
    ] {
        let offer = Offer { by_gateway: gateway.sign(&statement).unwrap(), statement };
        assert!(offer.is_signed());
        let record = offer.agreed(&contributor).unwrap();
        assert!(record.is_proved());
        let bytes = record.to_bytes();
        assert_eq!((Record::read(&bytes), bytes.len()), (Some(record), RECORD));
        put(what, &bytes);
    }
    let page = std::fs::read_to_string(PROTOCOL).unwrap();
    assert!(page.contains(&vectors), "docs/bunch-protocol.md has not these:\n{vectors}");
}
