//! Where log lines go and how they look.

use crate::cli::LogFormat;
use anyhow::Context;
use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

/// The filter in force, to be changed by a reload.
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging to standard error: what `filter` says, else `RUST_LOG`, else `info`.
///
/// Under systemd the journal has its own clock, so lines carry no time of their own there.
pub fn start(filter: Option<&str>, format: LogFormat) -> anyhow::Result<()> {
    let (filter, handle) = reload::Layer::new(parse(filter)?);
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let lines = layer().with_writer(std::io::stderr).with_target(false);
    let lines = match (format, journal) {
        (LogFormat::Json, _) => layer().json().with_writer(std::io::stderr).boxed(),
        (LogFormat::Text, true) => lines.without_time().with_ansi(false).boxed(),
        (LogFormat::Text, false) => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init()
        .context("logging cannot be started")?;
    let _ = FILTER.set(handle);
    Ok(())
}

/// Changes what is logged.
pub fn set_filter(filter: Option<&str>) -> anyhow::Result<()> {
    let Some(handle) = FILTER.get() else { return Ok(()) };
    handle.reload(parse(filter)?).context("the log filter cannot be changed")
}

fn parse(filter: Option<&str>) -> anyhow::Result<EnvFilter> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let words = filter.or(from_environment.as_deref()).unwrap_or("info");
    EnvFilter::try_new(words)
        .with_context(|| format!("`{words}` is no log filter; use error, warn, info, debug or trace"))
}
