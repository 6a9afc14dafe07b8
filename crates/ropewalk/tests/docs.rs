//! The documents hold together: links lead somewhere, the book has every page, commands are
//! commands and are run or listed as not run, figures are those of the README. No root needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::common::listed::{NOT_RUN, is_listed, typed};

/// Pages outside of docs that people read.
const AT_THE_ROOT: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/// Commands that packagers use; the reference leaves them out.
const HIDDEN: [&str; 3] = ["man", "reference", "help"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"))
}

/// Files below a directory whose names end so, as paths from the root of the repository.
fn below(directory: &str, end: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(directory)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{directory}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true if !path.ends_with("/node_modules") => files.extend(below(&path, end)),
            false if path.ends_with(end) => files.push(path),
            _ => {}
        }
    }
    files.sort();
    files
}

fn pages() -> Vec<String> {
    let mut all = below("docs", ".md");
    all.extend(AT_THE_ROOT.map(str::to_owned));
    all
}

/// A page's lines with their number, and whether they are in a block of code.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        if line.trim_start().starts_with("```") {
            code = !code;
            return None;
        }
        Some((i + 1, line, code))
    })
}

/// A line of prose without its code, and the code.
fn apart(line: &str) -> (String, Vec<&str>) {
    let parts: Vec<&str> = line.split('`').collect();
    (parts.iter().copied().step_by(2).collect(), parts.into_iter().skip(1).step_by(2).collect())
}

/// Where a line's links lead, `](…)`.
fn links(line: &str) -> Vec<String> {
    let (prose, _) = apart(line);
    let targets = prose.split("](").skip(1);
    targets.filter_map(|rest| Some(rest.split_once(')')?.0.split(' ').next()?.to_owned())).collect()
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    without_targets(heading).trim().chars().filter_map(kept).collect()
}

/// A text whose links are words only.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let others = parts.map(|part| part.split_once(')').map_or("", |(_, after)| after));
    first + &others.collect::<Vec<_>>().join("]")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let text = read(page);
    let (mut seen, mut all) = (BTreeMap::new(), BTreeSet::new());
    for (_, line, code) in lines(&text) {
        let Some(heading) = line.strip_prefix('#').filter(|_| !code) else { continue };
        let name = anchor(heading.trim_start_matches('#'));
        let before: &mut usize = seen.entry(name.clone()).or_default();
        all.insert(if *before == 0 { name } else { format!("{name}-{before}") });
        *before += 1;
    }
    all
}

/// The path from the root that a link of a page leads to; `None` if it leaves the repository.
fn target(page: &str, link: &str) -> Option<String> {
    let mut at: Vec<&str> = page.split('/').collect();
    at.pop();
    for part in Path::new(link).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop()?;
            }
            part => at.push(part.as_os_str().to_str()?),
        }
    }
    Some(at.join("/"))
}

/// What is wrong with a link, if something is.
fn fault(page: &str, link: &str) -> Option<String> {
    let (file, place) = link.split_once('#').map_or((link, None), |(f, p)| (f, Some(p)));
    let to = if file.is_empty() { page.to_owned() } else { target(page, file)? };
    if !root().join(&to).exists() {
        return Some(format!("{link}: there is no {to}"));
    }
    let place = place?;
    let there = to.ends_with(".md") && anchors(&to).contains(place);
    (!there).then(|| format!("{link}: {to} has no such heading"))
}

#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        for (number, line, code) in lines(&read(&page)) {
            let of_ours = |l: &String| !code && !l.contains("://") && !l.starts_with("mailto:");
            for link in links(line).into_iter().filter(of_ours) {
                count += 1;
                let leaves = !link.starts_with('#') && target(&page, &link).is_none();
                let fault =
                    if leaves { Some(format!("{link} leaves the repository")) } else { fault(&page, &link) };
                wrong.extend(fault.map(|f| format!("{page}:{number}: {f}")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 200, "only {count} links were seen");
}

#[test]
fn a_wrong_link_is_seen() {
    assert_eq!(
        anchor("What `status --json` [says](x.md), in one line"),
        "what-status---json-says-in-one-line"
    );
    assert_eq!(links("a [`b](c)`](d.md) ![e](f.png \"g\")"), ["d.md", "f.png"]);
    assert_eq!(fault("docs/guide/start.md", "paths.md#reading-status"), None);
    assert!(fault("docs/guide/start.md", "paths.md#nowhere").is_some());
    assert!(fault("docs/guide/start.md", "../paths.md").is_some());
    assert_eq!(target("README.md", "../x"), None);
}

/// What README's first screen links (issue 22), and how many lines that has.
const FIRST: [&str; 13] = [
    "docs/guide/install.md",
    "docs/guide/start.md",
    "docs/guide/web.md",
    "docs/guide/hindered.md",
    "docs/guide/gateway.md",
    "docs/guide/fleet.md",
    "docs/guide/paths.md#hooks",
    "docs/guide/start.md#in-a-script",
    "docs/guide/install.md#upgrade",
    "docs/guide/trouble.md",
    "docs/guide/questions.md",
    "docs/compare.md#what-others-do-better",
    "docs/guide/README.md",
];
const FIRST_LINES: usize = 45;

/// Places of these that the first screen of a text does not link.
fn not_at_first(text: &str) -> Vec<&'static str> {
    let first = lines(text).take_while(|(number, ..)| *number <= FIRST_LINES);
    let linked: BTreeSet<String> =
        first.filter(|(_, _, code)| !code).flat_map(|(_, line, _)| links(line)).collect();
    FIRST.into_iter().filter(|page| !linked.contains(*page)).collect()
}

#[test]
fn the_first_screen_leads_to_what_there_is() {
    let readme = read("README.md");
    let missing = not_at_first(&readme);
    assert!(missing.is_empty(), "README.md's first {FIRST_LINES} lines do not link {missing:?}");
    let lower = "\n".repeat(FIRST_LINES) + &readme;
    assert_eq!(not_at_first(&lower), FIRST, "the null case");
}

/// The pages of the book, in their order.
fn summary() -> Vec<String> {
    read("docs/SUMMARY.md").lines().flat_map(links).map(|l| target("docs/SUMMARY.md", &l).unwrap()).collect()
}

#[test]
fn the_book_has_every_page_once() {
    let book = summary();
    let once: BTreeSet<&String> = book.iter().collect();
    assert_eq!(once.len(), book.len(), "docs/SUMMARY.md names a page twice");
    for page in pages().into_iter().filter(|p| p != "docs/SUMMARY.md") {
        let short = page.strip_prefix("docs/").map_or(format!("../{page}"), str::to_owned);
        assert!(
            once.contains(&page),
            "{page} is not in the book: put `- [Its title]({short})` into docs/SUMMARY.md, under the part where a reader looks for it"
        );
    }
}

#[test]
fn the_guide_lists_every_page() {
    let list = read("docs/guide/README.md");
    for page in below("docs/guide", ".md").iter().filter(|p| !p.ends_with("/README.md")) {
        let name = page.rsplit('/').next().unwrap();
        assert!(
            list.contains(&format!("]({name})")),
            "docs/guide/README.md does not list {name}: add a line that says what a reader does with it"
        );
    }
}

/// What the reference says of each command, by its words: `lab run` and so on.
fn reference() -> BTreeMap<String, String> {
    let text = read("docs/guide/commands.md");
    let sections = text.split("\n### `ropewalk ").skip(1);
    sections.filter_map(|s| s.split_once("`\n")).map(|(n, t)| (n.to_owned(), t.to_owned())).collect()
}

/// Commands of a page: in blocks after whatever prompt, in lines that are indented, and in prose.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (number, line, code) in lines(text) {
        if code || line.starts_with("    ") {
            let line = line.trim().trim_start_matches("gateway").trim_start_matches("client");
            let line = line.trim_start_matches(['#', '$', ' ']);
            all.extend(line.starts_with("ropewalk ").then(|| (number, line.to_owned())));
        } else {
            let spans = apart(line).1;
            let of_ours = spans.into_iter().filter(|s| s.starts_with("ropewalk "));
            all.extend(of_ours.map(|s| (number, s.to_owned())));
        }
    }
    all
}

/// What is wrong with a command, if something is: a word or option that the reference has not.
fn unknown(reference: &BTreeMap<String, String>, command: &str) -> Option<String> {
    let stops = ["#", "|", ";", "&&", "--", ">", "<", "&"];
    let words = command.split_whitespace().skip(1);
    let words: Vec<&str> = words.take_while(|w| !stops.contains(w) && !w.starts_with(['>', '<'])).collect();
    let word = |w: &str| w.starts_with(|c: char| c.is_ascii_lowercase());
    if words.first().is_none_or(|w| !word(w) || HIDDEN.contains(w)) {
        return None;
    }
    let known = (1..=words.len()).rev().find(|n| reference.contains_key(&words[..*n].join(" ")));
    let Some(known) = known else { return Some(format!("there is no command {}", words[0])) };
    let section = &reference[&words[..known].join(" ")];
    let next = words.get(known).filter(|_| section.contains("\nCommands:\n"));
    if let Some(next) = next.filter(|w| word(w) && **w != "help") {
        return Some(format!("{} has no command {next}", words[..known].join(" ")));
    }
    let option = |w: &&&str| w.starts_with("--");
    let name = |w: &&str| w.split(['=', '[', '`', ',']).next().unwrap_or(w).to_owned();
    let there = |name: &String| {
        section.match_indices(name.as_str()).any(|(i, _)| {
            let after = section[i + name.len()..].chars().next();
            after.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-')
        })
    };
    let missing = words.iter().filter(option).map(name).find(|n| n != "--help" && !there(n));
    missing.map(|m| format!("{} has no option {m}", words[..known].join(" ")))
}

#[test]
fn commands_are_commands() {
    let reference = reference();
    let (mut wrong, mut count) = (Vec::new(), 0);
    // The design pages tell of commands that were, and of what only the program itself runs.
    for page in pages().iter().filter(|p| !p.ends_with("/commands.md") && !p.starts_with("docs/design/")) {
        for (number, command) in commands(&read(page)) {
            count += 1;
            let fault = unknown(&reference, &command);
            wrong.extend(fault.map(|f| format!("{page}:{number}: `{command}`: {f}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 150, "only {count} commands were seen");
    for (command, said) in [
        ("ropewalk pathh set wan1", "there is no command pathh"),
        ("ropewalk path sett wan1", "path has no command sett"),
        ("ropewalk path set wan1 --clas backup", "path set has no option --clas"),
    ] {
        assert_eq!(unknown(&reference, command).as_deref(), Some(said));
    }
}

/// Pages, as seen from the guide, of which a test runs every command that `listed` does not name; and
/// that test.
const RUN: [(&str, &str); 17] = [
    ("../../README.md", "guide_sim.rs"),
    ("bunch.md", "bunch/guide.rs"),
    ("dual-band.md", "guide_bond.rs"),
    ("fleet.md", "fleet/guide.rs"),
    ("gateway.md", "guide_gateway.rs"),
    ("hindered.md", "guide_hindered.rs"),
    ("lab.md", "lab/guide.rs"),
    ("link.md", "lab/guide.rs"),
    ("paths.md", "guide_bond.rs"),
    ("pep.md", "pep.rs"),
    ("probe.md", "probe.rs"),
    ("questions.md", "guide_bond.rs"),
    ("repeater.md", "repeater.rs"),
    ("sim.md", "guide_sim.rs"),
    ("start.md", "guide_start.rs"),
    ("trouble.md", "guide_trouble.rs"),
    ("web.md", "guide_web.rs"),
];

/// Commands of a page, by its name as seen from the guide, that are neither run nor listed.
fn neither_run_nor_listed(name: &str, text: &str) -> Vec<String> {
    let is_ours = |c: &String| c.starts_with("ropewalk ") || c.starts_with("sudo ropewalk ");
    let left: Vec<String> = typed(text).into_iter().filter(|c| is_ours(c) && !is_listed(name, c)).collect();
    let Some((_, test)) = RUN.iter().find(|(page, _)| *page == name) else { return left };
    let test = format!("crates/ropewalk/tests/{test}");
    assert!(read(&test).contains(&format!("\"{name}\"")), "{test} does not take {name}");
    assert!(!left.is_empty(), "{test} has nothing to run of {name}: take the line out of RUN");
    Vec::new()
}

#[test]
fn each_command_is_run_or_listed() {
    let mut wrong = Vec::new();
    let guide = below("docs/guide", ".md").into_iter().filter(|p| !p.ends_with("/commands.md"));
    for page in guide.chain(["README.md".to_owned()]) {
        let name = page.strip_prefix("docs/guide/").unwrap_or("../../README.md");
        wrong.extend(neither_run_nor_listed(name, &read(&page)).into_iter().map(|c| format!("{page}: {c}")));
    }
    assert!(
        wrong.is_empty(),
        "no test runs these: let one do it, or say why not in tests/common/listed.rs\n{}",
        wrong.join("\n")
    );
    for (name, why, commands) in NOT_RUN {
        let there = typed(&read(&format!("docs/guide/{name}")));
        let gone: Vec<_> = commands.iter().filter(|c| !there.iter().any(|t| t == *c)).collect();
        assert!(gone.is_empty() && !why.is_empty(), "tests/common/listed.rs: {name} has no {gone:?}");
    }
    // The null case.
    let text = "```sh\nropewalk a # b\nip c\n```\n    ropewalk d\nropewalk e\n```text\n$ ropewalk f\nropewalk: g\n```\n";
    assert_eq!(neither_run_nor_listed("new.md", text), ["ropewalk a", "ropewalk d", "ropewalk f"]);
}

/// What `./run` can do, as its help lists it.
#[test]
fn what_is_run_can_be_run() {
    let run = read("run");
    let can: BTreeSet<&str> =
        run.lines().filter_map(|l| l.strip_prefix("./run ")?.split(' ').next()).collect();
    assert!(can.contains("check") && can.contains("docs"), "{can:?}");
    let rows = read("bench/src/rows/mod.rs");
    for page in pages() {
        for (number, line, _) in lines(&read(&page)) {
            for rest in line.split("./run ").skip(1) {
                let said = rest.split('`').next().unwrap_or(rest);
                let mut words =
                    said.split_whitespace().map(|w| w.trim_matches(['.', ',', ':', ')', ';', '"']));
                let Some(first) = words.next().filter(|w| w.starts_with(|c: char| c.is_ascii_lowercase()))
                else {
                    continue;
                };
                assert!(can.contains(first), "{page}:{number}: there is no `./run {first}`");
                let name = |w: &str| w.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                let is_whole = first == "bench" && line.contains(&format!("`./run {said}`"));
                // An option's value may be next; rows come in a row.
                let rows_said = words.skip_while(|w| w.is_empty() || w.starts_with('-') || !name(w));
                for row in
                    rows_said.take_while(|w| is_whole && !w.is_empty() && !w.starts_with('-') && name(w))
                {
                    assert!(
                        rows.contains(&format!("name: \"{row}\""))
                            || run.contains(&format!("\"${{1:-}}\" = {row} ]")),
                        "{page}:{number}: the bench has no row {row}"
                    );
                }
            }
        }
    }
}

/// The rows of the README's table of figures, by name.
fn measured() -> BTreeMap<String, String> {
    let (readme, mut rows, mut last) = (read("README.md"), BTreeMap::<String, String>::new(), None);
    for line in readme.lines().filter(|l| l.starts_with("| ")) {
        let name = line.strip_prefix("| `").and_then(|l| l.split_once('`')).map(|(name, _)| name.to_owned());
        last = name.or(last.filter(|_| line.starts_with("| |")));
        rows.entry(last.clone().unwrap_or_default()).or_default().push_str(line);
    }
    rows
}

/// Numbers of a text, without the commas of thousands.
fn numbers(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let plain = parts.map(|n| n.trim_matches(['.', ',']).replace(',', ""));
    plain.filter(|n| !n.is_empty()).collect()
}

/// What of a paragraph with a "(row `NAME`" in it does not stand in that row.
fn foreign(rows: &BTreeMap<String, String>, paragraph: &str) -> Vec<String> {
    let (prose, code) = apart(paragraph);
    let of: Vec<&String> = code.iter().filter_map(|name| rows.get(*name)).collect();
    assert!(!of.is_empty(), "the README's table has no such row: {paragraph}");
    let there: BTreeSet<String> = of.iter().flat_map(|row| numbers(row)).collect();
    numbers(&without_targets(&prose)).into_iter().filter(|n| !there.contains(n)).collect()
}

#[test]
fn quoted_figures_are_those_of_the_readme() {
    let rows = measured();
    let mut count = 0;
    for page in ["docs/guide/questions.md", "docs/compare.md"] {
        let text = read(page).replace("\n* ", "\n\n* ");
        for paragraph in text.split("\n\n").filter(|p| p.contains("(row `")) {
            count += 1;
            let foreign = foreign(&rows, paragraph);
            assert!(
                foreign.is_empty(),
                "{page}: {foreign:?} is not in that row of the README's table: put in what stands there\n{paragraph}"
            );
        }
    }
    assert!(count >= 12, "{count}");
    assert_eq!(foreign(&rows, "It had 3.21 for 0.93 (row `equal`)"), ["3.21"]);
}

#[test]
fn tests_that_the_comparison_names_are_there() {
    let page = read("docs/compare.md");
    let named = page.lines().flat_map(|l| apart(l).1).filter(|c| c.matches('_').count() >= 3);
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() >= 5, "{named:?}");
    let sources = ["crates", "tests"].map(|d| below(d, ".rs")).concat();
    let code: Vec<String> = sources.iter().map(|s| read(s)).collect();
    for name in named {
        let test = format!("fn {name}()");
        assert!(code.iter().any(|c| c.contains(&test)), "docs/compare.md: there is no test {name}");
    }
}
