//! `ropewalk audit`.

use crate::cli::Which;
use crate::gateway::audit::{self, Entry};
use crate::state::StateDir;
use clap::Args;

/// `ropewalk audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Show only what is about this device
    pub client: Option<String>,
    #[command(flatten)]
    pub state: Which,
    /// Print JSON, one line for each entry
    #[arg(long)]
    pub json: bool,
}

/// Prints what happened at a gateway, the oldest first.
pub(super) fn run(args: &AuditArgs) -> anyhow::Result<()> {
    let (all, torn) = audit::read(&StateDir::existing(&args.state.find()?)?)?;
    for entry in all.iter().filter(|e| args.client.is_none() || e.client == args.client) {
        println!("{}", if args.json { serde_json::to_string(entry)? } else { line(entry) });
    }
    if torn > 0 {
        eprintln!("lines that cannot be read, as a full disk or a power cut leaves them: {torn}");
    }
    Ok(())
}

fn line(entry: &Entry) -> String {
    let mut words = vec![entry.time.to_string(), entry.what.clone()];
    words.extend(entry.client.clone());
    words.extend(entry.from.as_ref().map(|from| format!("from {from}")));
    words.extend(entry.detail.as_ref().map(|detail| format!("({detail})")));
    words.extend(entry.uid.map(|uid| format!("by user {uid}")));
    words.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_and_by_whom() {
        let entry = Entry { time: "2026-11-24T12:00:00Z".parse().unwrap(), ..Entry::new("invited") };
        assert_eq!(line(&entry.client("alice").by(0)), "2026-11-24T12:00:00Z  invited  alice  by user 0");
    }
}
