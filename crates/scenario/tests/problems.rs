//! What is wrong is said with file, line, key and remedy, all of it together.

use ropewalk_scenario::Document;

const GOOD: &str = include_str!("good.toml");

fn said(text: &str) -> String {
    let scenario = Document::parse("s.toml", text).and_then(|d| d.scenario());
    scenario.map(|_| String::new()).unwrap_or_else(|problems| problems.to_string())
}

#[test]
fn a_good_file_is_read() {
    let scenario =
        Document::parse("s.toml", GOOD).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.flow.len(), 2);
    let again = Document::parse("s.toml", &scenario.canonical())
        .and_then(|d| d.scenario())
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, scenario);
}

#[test]
fn all_is_found_at_once() {
    let text = GOOD.replace("channel = 36", "channel = 37").replace("delay = \"5ms\"", "delya = 5\nup = 7");
    assert!(said(&text).lines().count() >= 3, "{}", said(&text));
    let text = GOOD
        .replace("channel = 36", "channel = 37")
        .replace("delay = \"5ms\"", "delya = \"5ms\"")
        .replace("to = \"sta*\"", "to = \"stan\"");
    assert!(said(&text).lines().count() >= 3, "{}", said(&text));
}
