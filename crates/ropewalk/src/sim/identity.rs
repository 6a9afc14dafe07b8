//! By what a run is known again: its scenario, and what is in the traces that this names.

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use ropewalk_scenario::{Document, Scenario};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Identities of the runs of a document. Each trace is read once.
#[derive(Debug)]
pub(crate) struct Identity {
    directory: PathBuf,
    traces: BTreeMap<String, Digest>,
}

impl Identity {
    /// Of a document's runs.
    pub(crate) fn new(document: &Document) -> Identity {
        Identity { directory: document.directory(), traces: BTreeMap::new() }
    }

    /// That of one: [`Scenario::hash`], unless it names traces.
    pub(crate) fn of(&mut self, scenario: &Scenario) -> String {
        let named =
            scenario.link.iter().flat_map(|link| [&link.trace, &link.forward.trace, &link.back.trace]);
        let mut named: Vec<&str> = named.filter_map(|trace| trace.as_deref()).collect();
        if named.is_empty() {
            return scenario.hash();
        }
        named.sort_unstable();
        named.dedup();
        let mut whole = Context::new(&SHA256);
        whole.update(scenario.hash().as_bytes());
        for name in named {
            let directory = &self.directory;
            let inside = self.traces.entry(name.to_owned()).or_insert_with(|| content(&directory.join(name)));
            whole.update(&(name.len() as u64).to_be_bytes());
            whole.update(name.as_bytes());
            whole.update(inside.as_ref());
        }
        whole.finish().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Of what is in a file. What is no file is refused, with its line, by whoever makes the run.
fn content(path: &Path) -> Digest {
    let bytes = if path.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() };
    digest(&SHA256, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_with_other_contents_makes_another_run() {
        let directory = std::env::temp_dir().join(format!("ropewalk-identity-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let of = |rate: &str| {
            let text = format!(
                "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\n{rate}\n"
            );
            let document = Document::parse(&directory.join("s.toml").display().to_string(), &text).unwrap();
            let scenario = document.scenario().unwrap();
            (Identity::new(&document).of(&scenario), scenario.hash())
        };
        let (plain, hash) = of("rate = \"1Mbit/s\"");
        assert_eq!(plain, hash);
        for rate in ["trace = \"wan.trace\"", "back = { trace = \"wan.trace\" }"] {
            fs::write(directory.join("wan.trace"), "1\n2\n").unwrap();
            let before = of(rate);
            assert_eq!(before, of(rate));
            fs::write(directory.join("wan.trace"), "1\n3\n").unwrap();
            let after = of(rate);
            assert_ne!(before.0, after.0);
            assert_eq!(before.1, after.1, "the scenario is the same");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
