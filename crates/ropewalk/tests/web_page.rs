//! `ropewalk web` in a real Chromium over a real bond. Needs root and Chromium, and axe-core by
//! `npm ci` in `crates/ropewalk/web`.
//!
//! `SCREENSHOTS=docs/guide cargo test -p ropewalk --test program web_page::` makes the guide's pictures, of a
//! bond that has run for a while.

mod views;

use crate::common::browser::{Browser, PATIENCE, chromium};
use crate::common::flow::Flow;
use crate::common::{BINARY, SOON, States, eventually, invite, lab, root, ropewalk, serve, up};
use ropewalk_lab::{Namespace, Paths, Process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a bond runs before its picture is taken.
const COURSE: Duration = Duration::from_secs(100);
/// The page shows within this time that a link was cut, ms.
const AIM_MS: f64 = 1000.0;
/// Cuts, of which the median is in time.
const CUTS: usize = 3;
/// A picture in the guide is no larger, bytes.
const PICTURE_MOST: usize = 200_000;

fn web_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web")
}

/// Something is not there. Where `./run` has said that no network has it, that was told already.
fn missing(what: &str) {
    if std::env::var_os("ROPEWALK_NO_BROWSER").is_none() {
        ropewalk_skip::skip(what);
    }
}

/// The programs that there are, or `None` where the test is skipped.
fn tools() -> Option<(String, String)> {
    if !root() {
        return None;
    }
    let Some(chromium) = chromium() else {
        missing("needs Chromium");
        return None;
    };
    let Ok(axe) = std::fs::read_to_string(web_dir().join("node_modules/axe-core/axe.min.js")) else {
        missing("needs axe-core: `npm ci --ignore-scripts` in crates/ropewalk/web");
        return None;
    };
    Some((chromium, axe))
}

/// The page's server, and its link.
fn web(ns: &Namespace, state: &str) -> (Process, String) {
    let mut web = ns.start(BINARY, ["web", "--state", state, "--listen", "127.0.0.1:0"]).unwrap();
    let link = web.wait_for_line("http://127.0.0.1:", SOON).unwrap();
    (web, link.trim().to_owned())
}

/// The text of a path's cell.
fn cell(path: &str, title: &str) -> String {
    format!(r#"document.querySelector('tr[data-key^="{path}"] [data-title="{title}"]')?.textContent"#)
}

/// The page's clock when a cell has one of these texts.
fn when(path: &str, title: &str, texts: &[&str]) -> String {
    format!(
        "new Promise((done) => {{
           const look = () => {texts:?}.includes({}) && done(Date.now());
           new MutationObserver(look).observe(document.body, {{ subtree: true, childList: true, characterData: true }});
           look();
         }})",
        cell(path, title)
    )
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

/// What axe-core has against the page as it is, and whether it scrolls sideways.
fn is_accessible(browser: &mut Browser, what: &str) {
    let found = browser.eval(
        "axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html + ' ' + n.failureSummary).join(' | ')}`))",
    );
    assert_eq!(found, serde_json::json!([]), "{what}: {found:#}");
    let sideways = browser.eval("document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120)) : []");
    assert_eq!(sideways, serde_json::json!([]), "{what} scrolls sideways");
}

/// In light, dark and on a phone.
fn is_accessible_everywhere(browser: &mut Browser, what: &str) {
    for (width, height, scheme) in
        [(1200, 900, "light"), (1160, 900, "dark"), (375, 800, "light"), (320, 700, "dark")]
    {
        browser.look(width, height, scheme);
        browser.wait_for(&format!("innerWidth === {width}"));
        is_accessible(browser, &format!("{what}, {width} wide, {scheme}"));
    }
    browser.look(1200, 900, "light");
}

/// Where pictures go, if they are asked for.
fn screenshots() -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os("SCREENSHOTS")?);
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dir))
}

fn picture(browser: &mut Browser, name: &str, (width, height, scheme): (u32, u32, &str)) {
    let Some(dir) = screenshots() else { return };
    browser.look(width, height, scheme);
    std::thread::sleep(Duration::from_millis(1500));
    let png = browser.picture();
    assert!(png.len() <= PICTURE_MOST, "{name} has {} bytes", png.len());
    std::fs::write(dir.join(name), png).unwrap();
}

fn status(states: &States, end: &str) -> Value {
    let (code, out, err) = ropewalk(&["status", "--json", "--state", &states.of(end)]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn class_of(states: &States, path: &str) -> String {
    let status = status(states, "client");
    let uplinks = status["uplinks"].as_array().unwrap();
    uplinks.iter().find(|u| u["name"] == path).unwrap()["class"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_as_it_is_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-client"));
    let _gateway = serve(&lab, &states, &["--masquerade"]);
    let _client = up(&lab, &states, &invite(&states, "alice"), &[]);
    let flow = Flow::start(&lab.client, &lab.gateway, "10.77.0.1");
    let (_web, link) = web(&lab.client, &states.of("client"));
    let mut browser = Browser::start(&lab.client, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    for path in ["wan1", "wan2"] {
        browser.wait_for(&format!("{} === 'active'", cell(path, "state")));
        browser.wait_for(&format!("/ [kM]b\\/s$/.test({})", cell(path, "up")));
    }
    assert_eq!(browser.eval("location.hash"), "", "the token does not stay in the address");
    assert_eq!(browser.eval("document.cookie"), "", "no script reads the cookie");
    for span in [900, 86_400, 300] {
        browser.eval(&format!("document.querySelector('[data-span=\"{span}\"]').click()"));
        browser.wait_for(&format!("document.querySelector('[aria-pressed=true]').dataset.span === '{span}'"));
        browser.wait_for("document.querySelectorAll('figure canvas').length === 4");
    }
    if screenshots().is_some() {
        std::thread::sleep(COURSE);
    }

    // Which connections there are is asked for once they are to be seen.
    browser.eval("document.getElementById('flows-toggle').click()");
    let of_flow = "[...document.querySelectorAll('#flows-table tbody tr')].find((r) => r.textContent.includes('10.77.0.1:'))";
    browser.wait_for(&format!(
        "/ [kM]b\\/s$/.test({of_flow}?.querySelector('[data-title=up] .value').textContent)"
    ));
    assert_eq!(browser.eval("document.getElementById('flows-toggle').getAttribute('aria-expanded')"), "true");

    let mut all: Vec<f64> = (0..CUTS).map(|_| shows_a_cut(&mut browser, &lab)).collect();
    all.sort_by(f64::total_cmp);
    println!("cuts were shown after {all:.0?} ms");
    assert!(
        all[0] > 0.0 && all[CUTS / 2] <= AIM_MS,
        "the page is to show a cut within {AIM_MS} ms: {all:.0?}"
    );
    // How many noticed depends on how busy this machine is.
    browser.wait_for("/wan2 was dead for [0-9.]+ s; [0-9]+ of [1-9][0-9]* connections? noticed/.test(document.querySelector('.timeline').textContent)");

    if screenshots().is_some() {
        std::thread::sleep(COURSE / 2);
    }
    picture(&mut browser, "web-light.png", (1200, 1240, "light"));
    picture(&mut browser, "web-dark.png", (1200, 1240, "dark"));
    picture(&mut browser, "web-phone.png", (375, 800, "light"));
    browser.look(1200, 900, "light");
    changes_of_a_path(&mut browser, &states);
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "the page of a client");
    browser.eval("document.querySelector('[aria-label=\"Change path wan1\"]').click()");
    is_accessible_everywhere(&mut browser, "a dialog");
    flow.ends_whole();
}

/// A link is cut, and says nothing, until it is whole again; after how many milliseconds the page showed it.
fn shows_a_cut(browser: &mut Browser, lab: &Paths) -> f64 {
    let (suspect, down) = (when("wan2", "state", &["suspect", "down"]), when("wan2", "state", &["down"]));
    let (suspect, down) = (browser.begin(&suspect), browser.begin(&down));
    let cut = now_ms();
    lab.cables[1].set_up(false).unwrap();
    let suspect = browser.value(suspect).as_f64().unwrap() - cut;
    let down = browser.value(down).as_f64().unwrap() - cut;
    println!(
        "the page showed the cut after {suspect:.0} ms, and that the path is down after {down:.0} ms; the aim is {AIM_MS}"
    );
    browser.wait_for("document.querySelector('.timeline li').textContent.includes('wan2 is dead')");
    std::thread::sleep(Duration::from_millis(1200));
    lab.cables[1].set_up(true).unwrap();
    browser.wait_for(&format!("{} === 'active'", cell("wan2", "state")));
    browser.wait_for("/wan2 was dead for [0-9.]+ s/.test(document.querySelector('.timeline').textContent)");
    suspect
}

/// By keyboard and by pointer.
fn changes_of_a_path(browser: &mut Browser, states: &States) {
    assert_eq!(class_of(states, "wan2"), "active");
    browser.eval("document.querySelector('[aria-label=\"Change path wan2\"]').focus()");
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog[open]')");
    browser.press("Escape", 27);
    browser.wait_for("!document.querySelector('dialog')");
    assert_eq!(browser.eval("document.activeElement.getAttribute('aria-label')"), "Change path wan2");
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog[open] [value=backup]')");
    browser.eval("document.querySelector('dialog [value=backup]').click()");
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    eventually("the daemon's status has the class", || class_of(states, "wan2") == "backup");
    browser.wait_for(&format!("{} === 'backup'", cell("wan2", "class")));
    browser.wait_for("document.querySelector('.timeline').textContent.includes('wan2 is now backup')");
    // Live data may be faster than the answer that closes a dialog.
    browser.wait_for("!document.querySelector('dialog')");
    // What the daemon refuses is said, and the dialog stays.
    browser.eval("document.querySelector('[aria-label=\"Change path wan2\"]').click()");
    browser.eval("document.querySelector('dialog [value=metered]').click()");
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    browser.wait_for("document.querySelector('dialog .wrong').textContent.includes('needs a cap')");
    browser.eval("document.querySelector('dialog input[type=text]').value = '10GB'");
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    browser.wait_for(&format!("/^metered, .* of 10.0 GB left$/.test({})", cell("wan2", "class")));
    browser.wait_for("!document.querySelector('dialog')");
    // Taken away and added again.
    browser.eval("document.querySelector('[aria-label=\"Change path wan2\"]').click()");
    browser.eval("document.querySelector('dialog .danger').click()");
    browser.wait_for(
        "[...document.querySelectorAll('dialog h2')].some((h) => h.textContent === 'Remove path wan2?')",
    );
    browser.eval("[...document.querySelectorAll('dialog')].at(-1).querySelector('[type=submit]').click()");
    browser.wait_for("!document.querySelector('tr[data-key=\"wan2\"]') && !document.querySelector('dialog')");
    assert_eq!(views::focused(browser), "Paths", "the row of both dialogs is gone, and its table is not");
    browser.eval("document.getElementById('add-path').click()");
    browser.eval("document.querySelector('dialog input[type=text]').value = 'wan2'");
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    browser.wait_for(&format!("{} === 'active'", cell("wan2", "state")));
    assert_eq!(class_of(states, "wan2"), "metered", "what was set for the interface stays");
}

#[test]
fn a_gateway_as_it_is_seen() {
    let Some((chromium, axe)) = tools() else { return };
    let (lab, states) = (lab(), States::new("web-gateway"));
    let mut gateway = serve(&lab, &states, &["--masquerade"]);
    let mut client = up(&lab, &states, &invite(&states, "alice"), &[]);
    let flow = Flow::start(&lab.client, &lab.gateway, "10.77.0.1");
    let (mut server, link) = web(&lab.gateway, &states.of("gateway"));
    let mut browser = Browser::start(&lab.gateway, &chromium, Path::new(&states.of("browser")));
    browser.look(1200, 900, "light");
    browser.open(&link);
    browser.wait_for(&format!("{} === 'connected'", cell("alice", "state")));
    browser.wait_for("document.querySelectorAll('#paths-table tbody tr').length === 2");
    browser.wait_for(&format!("/ [kM]b\\/s$/.test({})", cell("alice", "down")));

    // An invite, whose token is shown once.
    browser.eval("document.getElementById('invite').click()");
    browser.eval("document.querySelector('dialog input').value = 'bob'");
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    browser.wait_for("/^rw1_/.test(document.querySelector('dialog textarea')?.value)");
    let d = browser.eval("document.querySelector('dialog svg path').getAttribute('d')");
    assert!(d.as_str().unwrap().starts_with("M0 0h7v1h-7z"), "{d}");
    browser.eval(&axe);
    is_accessible_everywhere(&mut browser, "the dialog with a token");
    picture(&mut browser, "web-invite.png", (900, 760, "light"));
    browser.press("Escape", 27);
    browser.wait_for(
        "!document.querySelector('dialog') && !document.documentElement.outerHTML.includes('rw1_')",
    );
    browser.wait_for(&format!("{} === 'invited'", cell("bob", "state")));
    if screenshots().is_some() {
        std::thread::sleep(COURSE / 2);
    }
    picture(&mut browser, "web-gateway.png", (1200, 1000, "light"));
    browser.eval("document.getElementById('flows-toggle').click()");
    browser.wait_for("document.querySelector('#flows-table tbody tr th .value')?.textContent === 'alice'");
    is_accessible_everywhere(&mut browser, "the page of a gateway");
    views::the_focus_comes_back(&mut browser, &states);
    views::what_is_granted(&mut browser, &states);
    views::groups_and_exits(&mut browser, &states);

    // Whoever is revoked is asked about first, and is out.
    flow.ends_whole();
    browser.eval("document.querySelector('[aria-label=\"Revoke alice\"]').focus()");
    browser.press("Enter", 13);
    browser.wait_for("document.querySelector('dialog h2')?.textContent === 'Revoke alice?'");
    assert!(client.exit_status().unwrap().is_none());
    browser.eval("document.querySelector('dialog [type=submit]').click()");
    client.wait_for_line("the gateway has revoked this device", PATIENCE).unwrap();
    browser
        .wait_for("!document.querySelector('tr[data-key=\"alice\"]') && !document.querySelector('dialog')");
    assert_eq!(views::focused(&mut browser), "Clients", "the row is gone, and its table is not");
    browser.wait_for("document.querySelector('.timeline').textContent.includes('alice was revoked')");

    // The daemon ends and comes again; then the page's own server ends.
    gateway.stop();
    browser.wait_for("document.getElementById('link-state').textContent === 'no daemon'");
    let _gateway = serve(&lab, &states, &[]);
    browser.wait_for("document.getElementById('link-state').textContent === 'live'");
    server.stop();
    browser.wait_for("document.getElementById('link-state').textContent === 'not reached'");
}

/// What is built into the program is what the lock file names.
#[test]
fn the_chart_library_is_the_locked_one() {
    let dir = web_dir();
    let read = |name: &str| std::fs::read(dir.join(name));
    let (Ok(lock), Ok(installed)) = (read("package-lock.json"), read("node_modules/.package-lock.json"))
    else {
        missing("needs `npm ci --ignore-scripts` in crates/ropewalk/web");
        return;
    };
    let integrity = |lock: &[u8]| {
        let lock: Value = serde_json::from_slice(lock).unwrap();
        lock["packages"]["node_modules/uplot"]["integrity"].as_str().unwrap().to_owned()
    };
    assert_eq!(integrity(&lock), integrity(&installed), "node_modules is stale: npm ci --ignore-scripts");
    for file in ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"] {
        let built = read(&format!("vendor/{}", file.rsplit('/').next().unwrap())).unwrap();
        let locked = read(&format!("node_modules/uplot/{file}")).unwrap();
        assert!(built == locked, "{file} is stale: node build.mjs in crates/ropewalk/web");
    }
}
