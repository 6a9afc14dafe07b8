//! Prints the tables of `ropewalk_tests::models` into the pages of a directory, between their markers.
//!
//! ```sh
//! cargo run --release -p ropewalk-tests --example models [-- [--check] [DIRECTORY]]
//! ```
//!
//! With `--check` nothing is written; it fails if a page is not as it would be written.

use std::path::PathBuf;
use std::process::ExitCode;

use ropewalk_tests::models::{CHECKS, Table, page};

fn main() -> ExitCode {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let check = options.iter().any(|option| option == "--check");
    let directory = PathBuf::from(names.first().map_or("docs/models", String::as_str));
    let tables: Vec<Table> = CHECKS.iter().map(|check| (check.run)()).collect();
    let mut wrong = false;
    for table in &tables {
        println!("## {}\n\n{}", table.name, table.markdown());
        wrong |= !table.failures().is_empty();
    }
    let pages = std::fs::read_dir(&directory).expect("the directory of the pages can be read");
    for path in pages
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
    {
        let old = std::fs::read_to_string(&path).expect("a page can be read");
        let new = tables.iter().fold(old.clone(), |text, table| page::put(&text, table).unwrap_or(text));
        if new != old && check {
            eprintln!("{} is not as `./run models` writes it", path.display());
            wrong = true;
        } else if new != old {
            std::fs::write(&path, new).expect("a page can be written");
        }
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
