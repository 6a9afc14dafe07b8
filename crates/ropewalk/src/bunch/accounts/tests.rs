use super::files::{self, AccountFile};
use super::*;
use crate::bunch::report::FleetRecord;
use crate::state::tests::Scratch;
use ropewalk_bunch::Time;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(900);
const DAY: u64 = 1_700_000_000;

fn key(byte: u8) -> StaticKey {
    StaticKey::from_bytes(&[byte; 32]).unwrap()
}

fn signer(byte: u8) -> Signer {
    Signer::of(&key(byte)).unwrap()
}

/// A gateway and a contributor; the tunnel between them loses nothing unless told.
struct Pair {
    ledgers: Ledgers,
    near: Contributor,
    /// As both have counted it since their starts.
    carried: (u64, u64),
    delivered: (u64, u64),
    /// At the tunnel's beginning.
    tunnel: (u64, u64),
    now: Time,
    /// What each end keeps.
    near_kept: Vec<Record>,
    far_kept: Vec<Record>,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            ledgers: Ledgers::new(signer(1)),
            near: Contributor::new(signer(2), key(2).public(), None, EVERY, Time::ZERO),
            carried: (0, 0),
            delivered: (0, 0),
            tunnel: (0, 0),
            now: Time::ZERO,
            near_kept: Vec::new(),
            far_kept: Vec::new(),
        }
    }

    /// Packets of 1000 bytes are carried, and some of them delivered.
    fn carry(&mut self, packets: u64, delivered: u64) {
        self.carried = (self.carried.0 + packets, self.carried.1 + packets * 1000);
        self.delivered = (self.delivered.0 + delivered, self.delivered.1 + delivered * 1000);
    }

    fn connect(&mut self) {
        self.tunnel = self.carried;
        self.near.on_tunnel(self.carried);
    }

    fn claim(&mut self) -> Option<Words> {
        self.now += EVERY;
        self.near.claim(self.carried, self.now)
    }

    /// The gateway hears something.
    fn far(&mut self, words: Words) -> Option<Words> {
        let totals = Totals {
            carried_packets: self.carried.0,
            carried_bytes: self.carried.1,
            delivered_packets: self.delivered.0,
            delivered_bytes: self.delivered.1,
        };
        let tunnel = (self.carried.0 - self.tunnel.0, self.carried.1 - self.tunnel.1);
        let kept = self.far_kept.last().cloned();
        let at = DAY + self.now.since(Time::ZERO).as_secs();
        let from = (key(2).public(), Measured { totals, tunnel });
        let (answer, record) = self.ledgers.hear(from, words, || kept, (self.now, at));
        self.far_kept.extend(record);
        answer
    }

    /// The contributor hears something.
    fn hear(&mut self, words: Words) -> Option<Words> {
        let (answer, record) = self.near.hear(words);
        self.near_kept.extend(record);
        answer
    }

    /// A claim, its offer and the answer; false where one of them is not there.
    fn agree(&mut self) -> bool {
        let offer = self.claim().and_then(|claim| self.far(claim));
        let agreed = offer.and_then(|offer| self.hear(offer));
        agreed.is_some_and(|agreed| {
            self.far(agreed);
            true
        })
    }

    fn totals(&self) -> (u64, u64) {
        let last = self.far_kept.last().unwrap().statement.totals;
        (last.carried_packets, last.delivered_packets)
    }
}

fn chain(records: &[Record]) -> AccountFile {
    AccountFile { records: records.to_vec() }
}

fn proved(records: &[Record]) -> anyhow::Result<Option<show::Account>> {
    show::account(&chain(records), "file")
}

#[test]
fn both_sign_the_same_numbers_and_each_record_follows_the_one_before() {
    let mut p = Pair::new();
    p.connect();
    assert!(!p.agree(), "nothing was carried");
    for round in 1..=3 {
        p.carry(10, 9);
        assert!(p.agree());
        assert_eq!(p.totals(), (10 * round, 9 * round));
    }
    assert_eq!((&p.near_kept, p.near_kept.len()), (&p.far_kept, 3));
    let account = proved(&p.far_kept).unwrap().unwrap();
    assert_eq!((account.first, account.last, account.from), (1, 3, DAY));
    assert_eq!(p.near.counts().agreed, p.ledgers.counts().agreed);
    // Each bit is signed.
    let bytes = p.far_kept[1].to_bytes();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(Record::read(&changed).is_none_or(|r| !r.is_proved()), "byte {at}");
    }
}

#[test]
fn neither_overclaims() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    let Some(Words::Claim { signer: by, packets, bytes, last }) = p.claim() else { panic!() };
    let more = Words::Claim { signer: by, packets: packets + 1, bytes: bytes + 1000, last };
    assert_eq!(p.far(more), Some(Words::Refused { why: Refused::Numbers, last: None }));
    // A gateway that denies a part of it, or all: the contributor signs nothing.
    for part in [9, 0] {
        let Some(claim) = p.claim() else { panic!() };
        let Some(Words::Offer { offer }) = p.far(claim) else { panic!() };
        let less = Totals { carried_packets: part, carried_bytes: part * 1000, ..Totals::default() };
        let statement = Statement { totals: less, ..offer.statement.clone() };
        let by_gateway = signer(1).sign(&statement).unwrap();
        assert_eq!(p.hear(Words::Offer { offer: Offer { statement, by_gateway } }), None);
    }
    assert_eq!((p.near.counts().refused, p.near_kept.len()), (2, 0));
    // Nor does an offer count that nobody asked for, or that another gateway signed.
    let Some(claim) = p.claim() else { panic!() };
    let Some(Words::Offer { offer }) = p.far(claim) else { panic!() };
    let by_gateway = signer(3).sign(&offer.statement).unwrap();
    assert_eq!(p.hear(Words::Offer { offer: Offer { by_gateway, ..offer.clone() } }), None);
    assert_eq!(p.hear(Words::Offer { offer }), None, "its claim is over");
    // The null case: what was refused is in the next one that both sign.
    assert!(p.agree());
    assert_eq!(p.totals(), (10, 10));
}

#[test]
fn a_gateway_that_says_nothing_is_counted_and_what_it_owes_is_not_lost() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    assert!(p.claim().is_some() && p.claim().is_some());
    assert_eq!(p.near.counts().unanswered, 1);
    assert!(p.agree());
    assert_eq!((p.totals(), p.near.counts().unanswered), ((10, 10), 2));
}

#[test]
fn a_record_that_comes_again_counts_once() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    assert!(p.agree());
    let record = p.far_kept[0].clone();
    p.far(Words::Agreed { record: record.clone() });
    assert_eq!((p.far_kept.len(), p.ledgers.counts().refused), (1, 1));
    p.carry(10, 10);
    assert!(p.agree());
    // An old one as the last: the gateway says what it has.
    let claim = |last| Words::Claim { signer: signer(2).verifier(), packets: 20, bytes: 20_000, last };
    p.now += EVERY;
    let outdated = Words::Refused { why: Refused::Outdated, last: p.far_kept.last().cloned() };
    assert_eq!(p.far(claim(Some(record))), Some(outdated.clone()));
    p.now += EVERY;
    assert_eq!(p.far(claim(None)), Some(outdated));
    // Within a second of another one it costs nothing.
    assert_eq!(p.far(claim(None)), None);
    assert_eq!(p.totals(), (20, 20));
}

#[test]
fn an_answer_that_was_lost_and_a_start_anew_lose_no_record() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    let offer = p.claim().and_then(|claim| p.far(claim)).unwrap();
    assert!(p.hear(offer).is_some() && p.far_kept.is_empty(), "the answer is lost");
    p.connect();
    p.carry(5, 5);
    assert!(p.agree());
    assert_eq!((p.totals(), p.far_kept.len()), ((15, 15), 2));
    // The gateway starts anew, with a record less: counts begin anew.
    p.ledgers = Ledgers::new(signer(1));
    p.far_kept.pop();
    (p.carried, p.delivered) = ((0, 0), (0, 0));
    p.connect();
    p.carry(7, 7);
    assert!(p.agree());
    assert_eq!(p.totals(), (22, 22));
    // The access point does, from an older backup: it takes the newest back.
    p.near = Contributor::new(signer(2), key(2).public(), p.near_kept.first().cloned(), EVERY, p.now);
    (p.carried, p.tunnel) = ((7, 7000), (7, 7000));
    p.near.on_tunnel((7, 7000));
    p.carry(1, 1);
    assert!(!p.agree(), "it is behind");
    assert_eq!(p.near.head(), p.far_kept.last());
    assert!(p.agree());
    assert_eq!(p.totals(), (23, 23));
}

#[test]
fn an_account_goes_on_at_another_gateway_with_the_same_key_and_back() {
    let mut near = Contributor::new(signer(2), key(2).public(), None, EVERY, Time::ZERO);
    let mut gateways = [0, 1].map(|_| Ledgers::new(signer(1)));
    let (mut now, mut all, mut counted) = (Time::ZERO, 0, [0, 0]);
    let mut records = Vec::new();
    // Each is a tunnel to a gateway, with packets that are claimed, and some after that.
    for (at, claimed, more) in [(0, 10, 5), (1, 20, 0), (0, 3, 0), (1, 7, 2), (1, 4, 0)] {
        near.on_tunnel((all, all));
        (all, counted[at]) = (all + claimed, counted[at] + claimed);
        now += EVERY;
        let n = counted[at];
        let totals =
            Totals { carried_packets: n, carried_bytes: n, delivered_packets: n, delivered_bytes: n };
        let measured = Measured { totals, tunnel: (claimed, claimed) };
        let mut hear = |words| gateways[at].hear((key(2).public(), measured), words, || None, (now, DAY));
        let offer = near.claim((all, all), now).and_then(|claim| hear(claim).0);
        let agreed = offer.and_then(|offer| near.hear(offer).0);
        records.extend(agreed.and_then(|agreed| hear(agreed).1));
        (all, counted[at]) = (all + more, counted[at] + more);
    }
    let totals: Vec<u64> = records.iter().map(|r: &Record| r.statement.totals.carried_packets).collect();
    assert_eq!(totals, [10, 30, 38, 45, 51]);
    assert_eq!(proved(&records).unwrap().unwrap().totals.carried_packets, all);
}

#[test]
fn another_signing_key_or_another_contributor_s_record_is_refused() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    assert!(p.agree());
    let no = Some(Words::Refused { why: Refused::Key, last: None });
    let last = p.near_kept.last().cloned();
    let claim =
        |by: u8, last| Words::Claim { signer: signer(by).verifier(), packets: 10, bytes: 10_000, last };
    p.now += EVERY;
    assert_eq!(p.far(claim(4, last)), no);
    // One that this gateway never signed.
    let statement = Statement { number: 9, previous: [1; 32], ..p.near_kept[0].statement.clone() };
    let forged = Offer { by_gateway: signer(4).sign(&statement).unwrap(), statement };
    let forged = forged.agreed(&signer(2)).unwrap();
    p.now += EVERY;
    assert_eq!(p.far(claim(2, Some(forged))), no);
    p.carry(1, 1);
    assert!(p.agree(), "the right one goes on");
}

#[test]
fn an_offer_has_one_answer_and_a_wrong_signature_is_not_checked_again() {
    let mut p = Pair::new();
    p.connect();
    p.carry(10, 10);
    let claim = p.claim().unwrap();
    let Some(Words::Offer { offer }) = p.far(claim) else { panic!() };
    p.far(Words::Agreed { record: offer.clone().agreed(&signer(4)).unwrap() });
    p.far(Words::Agreed { record: offer.agreed(&signer(2)).unwrap() });
    assert_eq!((p.far_kept.len(), p.ledgers.counts().refused), (0, 2));
}

#[test]
fn a_file_proves_what_is_in_it_and_lacks_nothing_between() {
    let mut p = Pair::new();
    p.connect();
    for _ in 0..4 {
        p.carry(10, 10);
        assert!(p.agree());
    }
    let all = p.far_kept.clone();
    assert_eq!(proved(&all[1..]).unwrap().unwrap().totals.carried_packets, 40, "the last says all");
    let hole = [all[0].clone(), all[2].clone()];
    assert!(proved(&hole).is_err() && proved(&[all[1].clone(), all[0].clone()]).is_err());
    // What was cut off at the end the other end's file has.
    let file = |records: &[Record]| (proved(records).unwrap().unwrap(), chain(records));
    let said = show::judge(&[file(&all[..2]), file(&all)], None, None).unwrap();
    assert!(said.contains("its end is missing: another file goes on to record 4"), "{said}");
    let said = show::judge(&[file(&all)], Some(signer(1).verifier()), Some(signer(2).verifier())).unwrap();
    assert!(!said.contains("missing"), "{said}");
    assert!(show::judge(&[file(&all)], Some(signer(2).verifier()), None).is_err(), "another gateway");
    // Two statements of one number, both signed by both.
    let statement = Statement { until: DAY * 2, ..all[3].statement.clone() };
    let other = Offer { by_gateway: signer(1).sign(&statement).unwrap(), statement };
    let forked = [&all[..3], &[other.agreed(&signer(2)).unwrap()]].concat();
    let error = show::judge(&[file(&all), file(&forked)], None, None).unwrap_err().to_string();
    assert!(error.contains("record 4 is another"), "{error}");
}

#[test]
fn files_are_bounded_and_a_truncated_one_is_put_aside() {
    let scratch = Scratch::new();
    let with = key(2).public();
    let files = AccountFiles::new(&scratch.0);
    let (gateway, contributor) = (signer(1), signer(2));
    let mut last: Option<Record> = None;
    let mut next = || {
        let before = last.as_ref().map(|r| &r.statement);
        let statement = Statement {
            gateway: gateway.verifier(),
            contributor: contributor.verifier(),
            key: with,
            number: before.map_or(1, |b| b.number + 1),
            previous: before.map(Statement::hash).unwrap_or_default(),
            from: DAY,
            until: DAY,
            totals: Totals::default(),
        };
        let offer = Offer { by_gateway: gateway.sign(&statement).unwrap(), statement };
        last = offer.agreed(&contributor);
        last.clone().unwrap()
    };
    for _ in 0..300 {
        files::add(&scratch.0, &with, next()).unwrap();
    }
    assert_eq!(files.last(&with).unwrap().statement.number, 300);
    let all = files.all().unwrap();
    let (name, kept) = (all[0].0.clone(), all[0].1.as_ref().unwrap());
    assert_eq!((all.len(), kept.records.len(), kept.records[0].statement.number), (1, 256, 45));
    let text = scratch.0.read(&name).unwrap().unwrap();
    assert!(text.len() as u64 <= files::LONGEST);
    scratch.0.write(&name, &text.as_bytes()[..text.len() / 2]).unwrap();
    assert_eq!(files.last(&with), None, "a truncated file proves nothing");
    files::add(&scratch.0, &with, next()).unwrap();
    assert_eq!(files.last(&with).unwrap().statement.number, 301);
    assert!(scratch.0.read(&format!("{name}.bad")).unwrap().is_some());
}

#[test]
fn the_words_come_back_and_others_are_none() {
    let mut p = Pair::new();
    p.connect();
    p.carry(1, 1);
    let claim = p.claim().unwrap();
    let offer = p.far(claim.clone()).unwrap();
    let agreed = p.hear(offer.clone()).unwrap();
    let last = p.near_kept.last().cloned();
    for words in [claim, offer, agreed, Words::Refused { why: Refused::Outdated, last }] {
        let text = serde_json::to_string(&words).unwrap();
        assert_eq!(serde_json::from_str::<Words>(&text).unwrap(), words, "{text}");
    }
    for text in [r#"{"what":"agreed","record":""}"#, r#"{"what":"offer","offer":"AAAA"}"#, "{}"] {
        assert!(serde_json::from_str::<Words>(text).is_err(), "{text}");
    }
}

#[test]
fn of_a_fleet_the_newest_record_that_is_proved_counts() {
    let mut p = Pair::new();
    p.connect();
    for _ in 0..3 {
        p.carry(10, 10);
        assert!(p.agree());
    }
    let told = |n: usize, gateway: &str| FleetRecord {
        name: Some("anna".into()),
        gateway: gateway.into(),
        record: p.far_kept[n].clone().into(),
    };
    let own = || proved(&p.far_kept[..2]).unwrap().unwrap();
    let mut all = vec![own()];
    fleet::take_in(&mut all, vec![told(0, "g1"), told(2, "g2")]);
    let newest = &all[0];
    assert_eq!((all.len(), newest.last, newest.totals.carried_packets), (1, 3, 30));
    assert_eq!((newest.name.as_deref(), newest.file.as_str()), (Some("anna"), "in the store, by g2"));
    // What is older says who it is at most, and what proves nothing says nothing.
    let mut all = vec![own()];
    let damaged = FleetRecord { record: "AAAA".into(), ..told(2, "g2") };
    fleet::take_in(&mut all, vec![damaged, told(0, "g1")]);
    assert_eq!(all, [show::Account { name: Some("anna".into()), ..own() }]);
    let mut none = Vec::new();
    fleet::take_in(&mut none, vec![told(0, "g1")]);
    assert_eq!(none.len(), 1, "others' alone is shown, too");
}
