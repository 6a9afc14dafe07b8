//! What docs/guide/sim.md shows is what this build prints, and README.md's simulations run. No root needed.
//!
//! `UPDATE_GUIDE=1 cargo test -p ropewalk --test program guide_sim::` writes the outputs anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::listed::commands;

/// The page, and a directory in which its commands are run.
struct Guide {
    page: String,
    directory: PathBuf,
    ran: Vec<String>,
}

impl Drop for Guide {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/sim.md")
}

/// Commands of ropewalk on a page that are to be run.
fn ours(page: &str) -> Vec<String> {
    commands(page).into_iter().filter(|c| c.starts_with("ropewalk ")).collect()
}

impl Guide {
    fn new(name: &str) -> Guide {
        let directory = std::env::temp_dir().join(format!("ropewalk-guide-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        Guide { page: fs::read_to_string(page()).unwrap(), directory, ran: Vec::new() }
    }

    /// The first block of this language after this text.
    fn block(&self, after: &str, language: &str) -> &str {
        let rest = self.page.split_once(after).unwrap_or_else(|| panic!("the page lacks {after}")).1;
        let fence = format!("```{language}\n");
        rest.split_once(&fence)
            .and_then(|(_, block)| block.split_once("```"))
            .unwrap_or_else(|| panic!("{after}"))
            .0
    }

    fn write(&self, text: &str) {
        fs::write(self.directory.join("first.toml"), text).unwrap();
    }

    /// What a command prints, both streams, and whether it succeeded.
    fn run(&mut self, command: &str) -> (String, bool) {
        self.ran.push(command.to_owned());
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("ropewalk"), "{command}");
        let binary = env!("CARGO_BIN_EXE_ropewalk");
        let output = Command::new(binary).args(words).current_dir(&self.directory).output().unwrap();
        let said = [output.stdout, output.stderr].map(|s| String::from_utf8(s).unwrap());
        (said.concat(), output.status.success())
    }

    /// Runs the command of the block after this text, and holds what it says against the block that
    /// follows.
    fn shows(&mut self, after: &str, succeeds: bool) {
        let command = self.block(after, "sh").trim().to_owned();
        let shown = self.block(&command, "text").to_owned();
        let (said, ok) = self.run(&command);
        assert_eq!(ok, succeeds, "{command}\n{said}");
        if std::env::var_os("UPDATE_GUIDE").is_some() {
            let place = self.page.find(&command).unwrap();
            let (before, rest) = self.page.split_at(place);
            self.page = format!("{before}{}", rest.replacen(&shown, &said, 1));
            fs::write(page(), &self.page).unwrap();
            return;
        }
        assert_eq!(
            shown, said,
            "{command}: sim.md shows what this build does not print; this file's head says how to write it anew"
        );
    }
}

#[test]
fn what_the_page_shows_is_what_is_printed() {
    let mut guide = Guide::new("shown");
    let first = guide.block("## A first run", "toml").to_owned();
    guide.write(&first);
    guide.shows("found unless the file gives them", true);
    guide.shows("more than one draw", true);

    let mut wrong = first.clone();
    for (right, typo) in [
        ("rate = \"20Mbit/s\"", "rate = 20"),
        ("delay = \"30ms\"", "dealy = \"30ms\""),
        ("\"wan2\"]", "\"wan3\"]"),
    ] {
        assert!(wrong.contains(right), "{right}");
        wrong = wrong.replacen(right, typo, 1);
    }
    guide.write(&wrong);
    guide.shows("## When a file is wrong", false);

    guide.write(&format!("{first}\n{}", guide.block("## A sweep, and a chart", "toml")));
    guide.shows("makes eighteen runs of it", true);
    let resume = guide.block("This runs the rest", "sh").trim().to_owned();
    let (said, ok) = guide.run(&resume);
    assert!(ok, "{resume}\n{said}");
    assert_eq!(guide.ran, ours("sim.md"));
}

#[test]
fn what_the_page_expects_comes_out() {
    let mut guide = Guide::new("expected");
    let first = guide.block("## A first run", "toml").to_owned();
    let all = guide.block("## What should come out", "toml");
    let of_first: Vec<&str> = all.split("[[expect]]").filter(|e| e.contains("\"flow.down.")).collect();
    assert!(of_first.len() >= 2, "{all}");
    let expects: String = of_first.iter().map(|e| format!("\n[[expect]]{e}")).collect();
    guide.write(&format!("{first}{expects}"));
    let (said, ok) = guide.run("ropewalk sim run first.toml");
    assert!(ok, "{said}");
    // The null case: a band that the figure is not in.
    guide.write(&format!("{first}{}", expects.replace("min = 24", "min = 31")));
    assert!(!guide.run("ropewalk sim run first.toml").1);
}

#[test]
fn the_simulations_of_the_readme_run() {
    let mut guide = Guide::new("readme");
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").canonicalize().unwrap();
    std::os::unix::fs::symlink(scenarios, guide.directory.join("scenarios")).unwrap();
    for command in ours("../../README.md") {
        let (said, ok) = guide.run(&command);
        assert!(ok, "{command}\n{said}");
    }
    assert!(guide.directory.join("hidden").is_dir(), "{:?}", guide.ran);
}
