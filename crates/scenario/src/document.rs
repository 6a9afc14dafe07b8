//! A file on its way to a [`Scenario`]: options applied, copies made, read, checked, addresses given out, places drawn.

use crate::check;
use crate::field::{Field, Form, Reader, item_name};
use crate::file::{Scenario, Seeds, Sweep};
use crate::problem::{Problem, Problems, remedy};
use crate::tree::{self, Node, Origin, Table, Value};
use crate::{address, expand, place};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Largest file that is read. A thousand nodes written one by one take a tenth of it.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A scenario file as a tree that options can still change.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    root: Node,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no TOML.
    pub fn read(path: &Path) -> Result<Document, Problems> {
        let file = path.display().to_string();
        let unreadable = |why: String| Problems {
            file: file.clone(),
            list: vec![Problem { origin: Origin::Line(0), key: String::new(), sentence: why }],
        };
        let mut bytes = Vec::new();
        // What has no length, such as a device, is not read to its end.
        let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        let length = read.map_err(|e| unreadable(format!("the file cannot be read: {e}")))?;
        if length as u64 > MAX_FILE_BYTES {
            let sentence = format!("the file is too long; a scenario has at most {MAX_FILE_BYTES} bytes");
            return Err(unreadable(sentence));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| unreadable("the file is no text; a scenario is TOML in UTF-8".into()))?;
        Document::parse(&file, &text)
    }

    /// Takes the text of a file that is called `file`.
    ///
    /// # Errors
    /// It is no TOML.
    pub fn parse(file: &str, text: &str) -> Result<Document, Problems> {
        let table = tree::parse(text).map_err(|errors| Problems {
            file: file.into(),
            list: errors
                .into_iter()
                .map(|e| Problem { origin: Origin::Line(e.line), key: String::new(), sentence: e.sentence })
                .collect(),
        })?;
        Ok(Document { file: file.into(), root: Node { value: Value::Table(table), origin: Origin::Line(1) } })
    }

    /// The file as it was named.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The directory that file names in it are relative to.
    pub fn directory(&self) -> PathBuf {
        Path::new(&self.file).parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// The files that it names, by the names that stand in it: texts that are the name of a file below its directory.
    pub fn files(&self) -> BTreeMap<String, PathBuf> {
        self.files_below(&self.directory())
    }

    /// The same where its names are relative to another directory.
    pub fn files_below(&self, directory: &Path) -> BTreeMap<String, PathBuf> {
        fn visit(node: &Node, directory: &Path, found: &mut BTreeMap<String, PathBuf>) {
            match &node.value {
                Value::Text(text) => {
                    let is_below = Path::new(text).components().all(|c| matches!(c, Component::Normal(_)));
                    let path = directory.join(text);
                    if is_below && !text.is_empty() && path.is_file() {
                        found.insert(text.clone(), path);
                    }
                }
                Value::List(list) => list.iter().for_each(|n| visit(n, directory, found)),
                Value::Table(table) => table.values().for_each(|n| visit(n, directory, found)),
                _ => {}
            }
        }
        let mut found = BTreeMap::new();
        visit(&self.root, directory, &mut found);
        found
    }

    /// Sets a key from a text as of the command line: `medium.path-loss.exponent=2.5`.
    ///
    /// # Errors
    /// There is no such key, or no equals sign.
    pub fn set_text(&mut self, option: &str) -> Result<(), Problems> {
        let origin = Origin::Given(Arc::from(format!("--set {option}")));
        let Some((key, text)) = option.split_once('=') else {
            let sentence = "this sets nothing; write KEY=VALUE, such as seed=7".to_owned();
            return Err(self.problems(vec![Problem { origin, key: String::new(), sentence }]));
        };
        let value = tree::parse_value(text.trim(), &origin);
        self.set(key.trim(), &value)
    }

    /// Sets a key, dotted; `*` stands for any characters of a name.
    ///
    /// # Errors
    /// There is no such key, or nothing has such a name.
    pub fn set(&mut self, key: &str, value: &Node) -> Result<(), Problems> {
        let segments: Vec<&str> = key.split('.').collect();
        match set_below(&mut self.root, form(), &segments, value) {
            Ok(()) => Ok(()),
            Err(sentence) => {
                let problem = Problem { origin: value.origin.clone(), key: key.into(), sentence };
                Err(self.problems(vec![problem]))
            }
        }
    }

    /// Reads and checks everything.
    ///
    /// # Errors
    /// All that is wrong, in the order of the file.
    pub fn scenario(&self) -> Result<Scenario, Problems> {
        self.scenario_at(&[])
    }

    /// The same at a point of a sweep, whose expectations may be about things that are only there.
    ///
    /// # Errors
    /// As [`Document::scenario`].
    pub fn scenario_at(&self, point: &[(String, String)]) -> Result<Scenario, Problems> {
        let mut reader = Reader::default();
        let root = expand::expand(&self.root, &mut reader);
        let scenario = Scenario::read(&root, &mut reader);
        let (mut problems, incomplete) = reader.finish();
        let Some(mut scenario) = scenario else { return Err(self.problems(problems)) };
        if !incomplete {
            address::fill(&mut scenario);
            place::settle(&mut scenario);
            let found = check::check(&scenario, point);
            problems.extend(found.into_iter().map(|(key, sentence)| {
                let origin = locate(&root, &key);
                Problem { origin, key, sentence }
            }));
        }
        if problems.is_empty() { Ok(scenario) } else { Err(self.problems(problems)) }
    }

    /// A problem that a driver found with a key of the scenario, with its place.
    pub fn problem(&self, key: &str, sentence: impl Into<String>) -> Problems {
        let root = expand::expand(&self.root, &mut Reader::default());
        let origin = locate(&root, key);
        self.problems(vec![Problem { origin, key: key.into(), sentence: sentence.into() }])
    }

    fn problems(&self, mut list: Vec<Problem>) -> Problems {
        list.sort_by_key(|p| match p.origin {
            Origin::Line(line) => line,
            Origin::Given(_) => 0,
        });
        // Copies of a machine say the same of the same line.
        list.dedup_by(|b, a| a.origin == b.origin && a.sentence == b.sentence);
        Problems { file: self.file.clone(), list }
    }
}

impl Scenario {
    /// What it says, complete and in one way only: files that differ in comments or order of keys alike give the same.
    pub fn canonical(&self) -> String {
        let value = self.write().unwrap_or_else(|| toml::Value::Table(toml::Table::new()));
        toml::to_string(&value).unwrap_or_default()
    }

    /// The first 16 hexadecimal digits of the SHA-256 of [`Scenario::canonical`], by which results name their scenario. What does not change
    /// a run (title, sweep, expectations, bands, figures) does not count.
    pub fn hash(&self) -> String {
        let (title, sweep) = (String::new(), Sweep { seeds: Seeds::Count(1), axis: Vec::new() });
        let (expect, compare, figure) = (Vec::new(), Vec::new(), Vec::new());
        let run = Scenario { title, sweep, expect, compare, figure, ..self.clone() };
        let digest = Sha256::digest(run.canonical().as_bytes());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a scenario file can say.
pub fn form() -> &'static Form {
    static FORM: OnceLock<Form> = OnceLock::new();
    FORM.get_or_init(Scenario::form)
}

/// Where the value of a key, or the nearest table around it, was written.
pub(crate) fn locate(root: &Node, key: &str) -> Origin {
    let mut here = root;
    for segment in key.split('.') {
        let below = match &here.value {
            Value::Table(table) => table.get(segment),
            Value::List(list) => {
                list.iter().enumerate().find(|(i, n)| item_name(n, *i) == segment).map(|(_, n)| n)
            }
            _ => None,
        };
        match below {
            Some(node) => here = node,
            None => break,
        }
    }
    here.origin.clone()
}

/// Whether a name fits a pattern in which `*` stands for any characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // Each part where it comes first leaves the most for the others: no other place needs a try.
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(tail)
}

fn set_below(node: &mut Node, form: &Form, segments: &[&str], value: &Node) -> Result<(), String> {
    let Some((segment, rest)) = segments.split_first() else {
        *node = value.clone();
        return Ok(());
    };
    match form {
        Form::Section { keys, .. } => {
            let Some(key) = keys.iter().find(|k| k.name == *segment) else {
                let remedy = remedy(segment, keys.iter().map(|k| k.name.as_str()));
                return Err(format!("there is no key `{segment}`; {remedy}"));
            };
            set_below(entry(table_of(node), segment, value), &key.form, rest, value)
        }
        Form::Named(form) => {
            let table = table_of(node);
            let names: Vec<String> = table.keys().cloned().collect();
            let fit: Vec<&String> = names.iter().filter(|name| fits(segment, name)).collect();
            if fit.is_empty() {
                return Err(nothing(segment, &names));
            }
            let set = fit.into_iter().map(|name| set_below(entry(table, name, value), form, rest, value));
            some(set.collect(), segment)
        }
        Form::Many(form) => {
            let Value::List(list) = &mut node.value else { return Err(nothing(segment, &[])) };
            let names: Vec<String> = list.iter().enumerate().map(|(i, n)| item_name(n, i)).collect();
            let fit: Vec<usize> = (0..names.len()).filter(|i| fits(segment, &names[*i])).collect();
            if fit.is_empty() {
                return Err(nothing(segment, &names));
            }
            let set = fit.into_iter().map(|i| set_below(&mut list[i], form, rest, value));
            some(set.collect(), segment)
        }
        Form::Either(a, b) => {
            let before = node.clone();
            set_below(node, b, segments, value).or_else(|_| {
                *node = before;
                set_below(node, a, segments, value)
            })
        }
        Form::One(_) => Err(format!("there is no key `{segment}` below a single value")),
    }
}

/// Of all that a `*` stands for, one at least has to have the key: `node.*.radio.*.channel` passes over machines without a radio.
fn some(set: Vec<Result<(), String>>, segment: &str) -> Result<(), String> {
    if segment.contains('*') && set.iter().any(Result::is_ok) { Ok(()) } else { set.into_iter().collect() }
}

fn nothing(name: &str, known: &[String]) -> String {
    format!("nothing here is called `{name}`; {}", remedy(name, known.iter().map(String::as_str)))
}

/// The table in a node; what is there but no table is replaced by one.
fn table_of(node: &mut Node) -> &mut Table {
    if !matches!(node.value, Value::Table(_)) {
        node.value = Value::Table(Table::new());
    }
    match &mut node.value {
        Value::Table(table) => table,
        _ => unreachable!("it was made a table"),
    }
}

fn entry<'a>(table: &'a mut Table, key: &str, value: &Node) -> &'a mut Node {
    let empty = || Node { value: Value::Table(Table::new()), origin: value.origin.clone() };
    table.entry(key.to_owned()).or_insert_with(empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml_below(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => toml_below(&path, found),
                false if path.extension().is_some_and(|e| e == "toml") => found.push(path),
                false => {}
            }
        }
    }

    /// A file that another machine runs: all of a scenario, with what an option or a sweep set.
    #[test]
    fn what_is_canonical_reads_as_the_same() {
        let mut files = Vec::new();
        toml_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut files);
        assert!(files.len() > 20, "{files:?}");
        for file in files {
            let mut document = Document::read(&file).unwrap();
            document.set_text("seed=77").unwrap_or_default();
            let Ok(scenario) = document.scenario() else { continue };
            let read = Document::parse("again", &scenario.canonical()).unwrap().scenario();
            let read = read.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert_eq!(read, scenario, "{}", file.display());
        }
    }

    #[test]
    fn patterns_fit_and_cost_no_more_than_the_name_is_long() {
        let fit = [("a", "a"), ("*", ""), ("**", "ä"), ("a*", "ab"), ("*b*", "abc"), ("a*b*c", "a-b-b-c")];
        assert!(fit.iter().all(|(pattern, name)| fits(pattern, name)));
        let other = [("a", "b"), ("a*a", "a"), ("*b", "abc"), ("a*c*c", "abc"), ("b*", "ab"), ("", "a")];
        assert!(!other.iter().any(|(pattern, name)| fits(pattern, name)));
        // Tried one by one, these places would take years.
        assert!(!fits(&format!("{}b", "*a".repeat(20)), &"a".repeat(60)));
    }

    #[test]
    fn a_file_without_an_end_is_too_long() {
        let error = Document::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: the file is too long; a scenario has at most 16777216 bytes");
    }

    #[test]
    fn its_files_are_those_below_its_directory_only() {
        let directory = std::env::temp_dir().join(format!("ropewalk-files-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("traces")).unwrap();
        std::fs::write(directory.join("traces/lte.csv"), "").unwrap();
        let text = "title = \"traces\"\na = { b = [\"traces/lte.csv\", \"/etc/passwd\", \"../x\", \"none.csv\", \"\"] }\n";
        let document = Document::parse(&directory.join("f.toml").display().to_string(), text).unwrap();
        let found = document.files();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["traces/lte.csv"]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
