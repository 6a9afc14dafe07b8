//! What is generated: manual pages, completions, reference pages. `packaging/` and `docs/guide/` hold copies, and a test says when they are stale.

use crate::cli;
use crate::config::File;
use crate::metrics::{
    ACCESS_POINT, BUNCH_AP, BUNCH_BYPASSED, BUNCH_GATEWAY, CONTRIBUTOR, GATEWAY, Kind, Metric, PATH, PEER,
    PEP, PEP_BYPASSED, PEP_RESET, PROCESS, ROAM, WORKER,
};
use crate::report::{self, Snapshot};
use anyhow::Context;
use clap::Args;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `ropewalk check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The file
    pub file: PathBuf,
}

/// `ropewalk completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Where pages go.
#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// The directory
    pub directory: PathBuf,
}

/// `ropewalk check`: says that a file is well, or what is wrong with it.
pub(super) fn check(args: &Check) -> anyhow::Result<()> {
    File::read(&args.file)?;
    println!("{} is well", args.file.display());
    Ok(())
}

/// `ropewalk completions`.
pub(super) fn completions(args: &Completions) {
    let mut made = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "ropewalk", &mut made);
    // It panics where it cannot write; this ends as every output does of which no more is read.
    print!("{}", String::from_utf8_lossy(&made));
}

/// `ropewalk man`.
pub(super) fn man(args: &Pages) -> anyhow::Result<()> {
    write_all(&args.directory, manual()?)
}

/// `ropewalk reference`.
pub(super) fn reference(args: &Pages) -> anyhow::Result<()> {
    write_all(&args.directory, references()?)
}

fn write_all(directory: &Path, pages: Vec<(String, String)>) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    for (name, text) in pages {
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// Manual pages by file name, one for the program and one for each command.
fn manual() -> anyhow::Result<Vec<(String, String)>> {
    let mut command = cli::command();
    command.build();
    let mut pages = vec![("ropewalk.1".to_owned(), page(command.clone())?)];
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        let name = format!("ropewalk-{}", sub.get_name());
        let named = sub.clone().name(&*name.clone().leak());
        pages.push((format!("{name}.1"), page(named)?));
    }
    Ok(pages)
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    // Without the version in the page's foot: the pages would be stale after every release.
    clap_mangen::Man::new(command).source("ropewalk").render(&mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}

/// Reference pages by file name.
fn references() -> anyhow::Result<Vec<(String, String)>> {
    let own = [
        ("commands.md".to_owned(), commands()),
        ("config.md".to_owned(), config()?),
        ("metrics.md".to_owned(), metrics()),
        ("status.md".to_owned(), status()?),
    ];
    #[cfg(feature = "lab")]
    let more = crate::experiments::pages();
    #[cfg(not(feature = "lab"))]
    let more: [(&str, String); 0] = [];
    let more = more.into_iter().map(|(name, text)| (name.to_owned(), format!("{MADE}{text}")));
    Ok(own.into_iter().chain(more).collect())
}

const MADE: &str = "<!-- Made by `cargo run -p ropewalk -- reference docs/guide`; do not edit. -->\n\n";

fn commands() -> String {
    let mut out = format!("{MADE}# Commands\n");
    let mut command = cli::command().term_width(100);
    command.build();
    section(&mut out, &mut command, 2);
    out.push_str(include_str!("exit_codes.md"));
    out
}

fn section(out: &mut String, command: &mut clap::Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or("ropewalk").to_owned();
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(out, "\n{} `{name}`\n\n```text\n{}\n```\n", "#".repeat(depth), help.join("\n").trim_end());
    for sub in command.get_subcommands_mut().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        section(out, sub, (depth + 1).min(3));
    }
}

fn metrics() -> String {
    let mut out = format!(
        "{MADE}# Metrics\n\n`--metrics ADDR:PORT` of `serve`, `up`, `ap`, `repeater`, `roam`, `pep`, `bunch gateway` and `bunch ap` serves them at `/metrics` (OpenMetrics). They are off by default.\n"
    );
    table(&mut out, "Of the daemon", "none", PROCESS);
    table(&mut out, "Of a gateway's worker, where it has several", "`worker`, its number", WORKER);
    table(&mut out, "Of a gateway of the fleet", "`gateway`, its name", GATEWAY);
    table(&mut out, "Of a session", "`peer`, the client's name, or `gateway`", PEER);
    table(
        &mut out,
        "Of a path",
        "`peer`; `id`, the path's number; `path`, the interface, or the client's address",
        PATH,
    );
    table(&mut out, "Of a bunch's gateway", "none", BUNCH_GATEWAY);
    let reasons = "`reason`: `tcp-ao`, `md5`, `mptcp`, `fast-open` or `no-handshake`";
    table(&mut out, "Of connections that a bunch leaves alone", reasons, BUNCH_BYPASSED);
    table(&mut out, "Of an access point at a bunch's gateway", "`contributor`, its name", CONTRIBUTOR);
    table(&mut out, "Of a bunch's access point", "none", BUNCH_AP);
    table(&mut out, "Of a TCP proxy", "none", PEP);
    table(&mut out, "Of connections that a proxy leaves alone", reasons, PEP_BYPASSED);
    let reasons = "`reason`: `orphaned`, `undelivered`, `receiver-silent` or `by-an-end`";
    table(&mut out, "Of connections that a proxy resets", reasons, PEP_RESET);
    table(&mut out, "Of a client of several access points", "none", ROAM);
    let labels = "`interface`, our station; `bssid`, the access point's address";
    table(&mut out, "Of an access point that such a client is with", labels, ACCESS_POINT);
    out
}

fn table<T>(out: &mut String, title: &str, labels: &str, metrics: &[Metric<T>]) {
    let _ = write!(out, "\n## {title}\n\nLabels: {labels}.\n\n| name | kind | meaning |\n|---|---|---|\n");
    for m in metrics {
        let (end, kind) = match m.kind {
            Kind::Counter => ("_total", "counter"),
            Kind::Gauge => ("", "gauge"),
        };
        let _ = writeln!(out, "| `ropewalk_{}{end}` | {kind} | {} |", m.name, m.help);
    }
}

fn config() -> anyhow::Result<String> {
    let schema = serde_json::to_value(schemars::schema_for!(File))?;
    let mut out = format!("{MADE}# The configuration file\n\n{}\n", text(&schema));
    out.push_str(
        "\n`ropewalk check FILE` says whether a file is well; the daemons read it with `--config FILE`.\n",
    );
    for (name, section) in properties(&schema) {
        let target = follow(&schema, section);
        let _ = write!(out, "\n## `[{name}]`\n\n{}\n", text(section));
        keys(&mut out, target);
        let lists =
            properties(target).into_iter().filter_map(|(key, p)| Some((key, p.get("items")?.get("$ref")?)));
        for (key, item) in lists {
            let item = follow_ref(&schema, item);
            let _ = write!(out, "\n## `[[{name}.{key}]]`\n\n{}\n", text(item));
            keys(&mut out, item);
        }
        // A table of its own, which need not be there.
        let of = |p: &Value| p.get("anyOf")?.get(0)?.get("$ref").cloned();
        for (key, item) in properties(target).into_iter().filter_map(|(key, p)| Some((key, of(p)?))) {
            let item = follow_ref(&schema, &item);
            if item.get("properties").is_some() {
                let _ = write!(out, "\n## `[{name}.{key}]`\n\n{}\n", text(item));
                keys(&mut out, item);
            }
        }
    }
    Ok(out)
}

fn status() -> anyhow::Result<String> {
    let mut out = format!(
        "{MADE}# `ropewalk status --json`\n\nFields are added in later versions, never changed or taken away.\n"
    );
    let page = |out: &mut String, title: &str, schema: schemars::Schema| -> anyhow::Result<()> {
        let schema = serde_json::to_value(schema)?;
        let _ = write!(out, "\n## {title}\n\n{}\n", text(&schema));
        keys(out, &schema);
        Ok(())
    };
    page(&mut out, "The whole", schemars::schema_for!(Snapshot))?;
    page(&mut out, "`peers`", schemars::schema_for!(report::Peer))?;
    page(&mut out, "`peers`, `backhaul`", schemars::schema_for!(report::backhaul::Backhaul))?;
    page(&mut out, "`peers`, `paths`", schemars::schema_for!(report::Path))?;
    page(&mut out, "`peers`, `paths`, `link`", schemars::schema_for!(report::link::Link))?;
    page(&mut out, "`peers`, `paths`, `link`, `stations`", schemars::schema_for!(report::link::LinkStation))?;
    page(&mut out, "`fleet`", schemars::schema_for!(report::fleet::FleetStatus))?;
    page(&mut out, "`fleet`, `gateways`", schemars::schema_for!(report::fleet::FleetGateway))?;
    page(&mut out, "`gateways`", schemars::schema_for!(report::gateways::Gateways))?;
    page(&mut out, "`gateways`, `moved`", schemars::schema_for!(report::gateways::Moved))?;
    page(&mut out, "`uplinks`", schemars::schema_for!(report::Uplink))?;
    page(&mut out, "`lan`", schemars::schema_for!(report::LanStatus))?;
    page(&mut out, "`channel_switcher`", schemars::schema_for!(report::backhaul::ChannelSwitcher))?;
    page(&mut out, "`drops`", schemars::schema_for!(report::Drops))?;
    page(&mut out, "`io`", schemars::schema_for!(report::Io))?;
    Ok(out)
}

fn keys(out: &mut String, section: &Value) {
    out.push_str("\n| name | meaning |\n|---|---|\n");
    for (key, value) in properties(section) {
        let _ = writeln!(out, "| `{key}` | {} |", text(value).replace('\n', " "));
    }
}

/// By name, whatever order the library keeps.
fn properties(schema: &Value) -> BTreeMap<&String, &Value> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect()
}

fn text(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or("")
}

fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    schema.get("$ref").map_or(schema, |r| follow_ref(root, r))
}

fn follow_ref<'a>(root: &'a Value, reference: &Value) -> &'a Value {
    let pointer = reference.as_str().unwrap_or("").trim_start_matches('#');
    root.pointer(pointer).unwrap_or(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copies in the repository are what would be made now, by a program that has everything.
    #[cfg(all(feature = "lab", feature = "parquet", feature = "web"))]
    #[test]
    fn pages_are_not_stale() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let man = manual()
            .unwrap()
            .into_iter()
            .map(|(name, text)| (root.join("packaging/man").join(name), text, "man packaging/man"));
        let guide = references().unwrap().into_iter();
        let guide =
            guide.map(|(name, text)| (root.join("docs/guide").join(name), text, "reference docs/guide"));
        for (path, text, how) in man.chain(guide) {
            let have = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(have == text, "{} is stale: cargo run -p ropewalk -- {how}", path.display());
        }
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let path = root.join(format!("packaging/completions/ropewalk.{shell}"));
            let mut made = Vec::new();
            clap_complete::generate(shell, &mut cli::command(), "ropewalk", &mut made);
            let have = std::fs::read(&path).unwrap_or_default();
            assert!(
                have == made,
                "{} is stale: cargo run -p ropewalk -- completions {shell}",
                path.display()
            );
        }
    }

    #[test]
    fn every_key_of_the_configuration_is_documented() {
        let schema = serde_json::to_value(schemars::schema_for!(File)).unwrap();
        for (name, section) in properties(&schema) {
            for (key, value) in properties(follow(&schema, section)) {
                assert!(
                    text(value).replace('\n', " ").contains("Default: ")
                        || ["path", "link", "repeater"].contains(&key.as_str()),
                    "{name}.{key} has no default with a reason"
                );
            }
        }
    }
}
