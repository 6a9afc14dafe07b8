//! `ropewalk bunch harvest`: how much of an uplink nobody uses, and for how long (BP-30 of paper
//! 002).
//!
//! | file | what |
//! |---|---|
//! | `record` | writes down what an uplink carries |
//! | `stats` | what of it could have been shared |
//! | `trace` | a made-up record |

mod record;
mod stats;
mod trace;

use crate::cli::{LogFormat, interface};
use crate::exit::{Code, failure};
use anyhow::Context;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ropewalk_table::harvest::{self, Interval};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// `ropewalk bunch harvest`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Harvest {
    /// Write down what an uplink carries, until Ctrl-C
    Record(Record),
    /// Show how much could have been shared, and for how long
    Report(Report),
    /// Make a record up, to try the report on: no home was measured for it
    Trace(Trace),
}

/// `ropewalk bunch harvest record`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Record {
    /// The interface of the uplink
    #[arg(long, value_name = "IFACE", value_parser = interface)]
    pub uplink: String,
    /// What the uplink carries, Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = rate_mbps)]
    pub uplink_rate: f64,
    /// Directory for the record: a Parquet file for each hour recorded; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Seconds between two looks
    #[arg(long, value_name = "S", default_value_t = trace::EVERY, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub every: u32,
    /// What to log: error, warn, info, debug, trace, or a filter as in RUST_LOG
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// `ropewalk bunch harvest report`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Report {
    /// The record's directory
    #[arg(value_name = "DIR")]
    pub record: PathBuf,
    /// Hours of the day that are looked at more closely, local time, both included
    #[arg(long, value_name = "FROM-TO", default_value = "18-22", value_parser = hours)]
    pub hours: RangeInclusive<u8>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ropewalk bunch harvest trace`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Trace {
    /// Directory for the record; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// How many days
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub days: u32,
    /// What the uplink carries, Mbit/s
    #[arg(long, value_name = "MBPS", default_value = "4", value_parser = rate_mbps)]
    pub uplink_rate: f64,
    /// Another seed is another home
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Does what the command line says.
pub(super) fn run(args: &Harvest) -> anyhow::Result<()> {
    match args {
        Harvest::Record(args) => record::run(args),
        Harvest::Report(args) => report(args),
        Harvest::Trace(args) => make_up(args),
    }
}

fn rate_mbps(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|r| (0.01..=100_000.0).contains(r));
    rate.ok_or_else(|| format!("`{text}` is no rate from 0.01 to 100000 Mbit/s"))
}

fn hours(text: &str) -> Result<RangeInclusive<u8>, String> {
    let parsed = text.split_once('-').and_then(|(a, b)| Some::<(u8, u8)>((a.parse().ok()?, b.parse().ok()?)));
    let hours = parsed.filter(|(a, b)| a <= b && *b < 24).map(|(a, b)| a..=b);
    hours.ok_or_else(|| format!("`{text}` is not of the form 18-22, from 0-23 at most"))
}

fn report(args: &Report) -> anyhow::Result<()> {
    let all = read(&args.record)?;
    if all.is_empty() {
        let words = format!(
            "there is no record in {}: make one with `ropewalk bunch harvest record`",
            args.record.display()
        );
        return Err(failure(Code::Usage, words));
    }
    let zone = TimeZone::system();
    let hour = |at: i64| Timestamp::from_second(at).map_or(0, |t| t.to_zoned(zone.clone()).hour() as u8);
    let harvests = stats::harvests(all, &args.hours, hour);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&harvests)?),
        false => print!("{}", harvests.iter().map(stats::render).collect::<Vec<_>>().join("\n")),
    }
    Ok(())
}

fn make_up(args: &Trace) -> anyhow::Result<()> {
    // A Monday, midnight in UTC.
    let all = trace::days(args.days, args.uplink_rate, 1_767_571_200, args.seed);
    all.chunks(86_400 / trace::EVERY as usize).try_for_each(|day| write(&args.out, day))?;
    println!("a made-up record of {} days in {}", args.days, args.out.display());
    Ok(())
}

/// What a file of these intervals is called: by the uplink and its first second.
fn name(of: &Interval) -> String {
    let time = Timestamp::from_second(of.at_s).unwrap_or_default();
    format!("{}-{}.parquet", of.uplink, time.strftime("%Y%m%dT%H%M%SZ"))
}

/// Writes a file, whole or not at all; another record's with its name is taken its place.
fn write(dir: &Path, all: &[Interval]) -> anyhow::Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    let place = dir.join(name(first));
    let words = || format!("{} cannot be written", place.display());
    std::fs::create_dir_all(dir).with_context(words)?;
    let new = place.with_extension("new");
    let mut file = std::fs::File::create(&new).with_context(words)?;
    file.write_all(&harvest::encode(all)?).with_context(words)?;
    file.sync_all().with_context(words)?;
    std::fs::rename(&new, &place).with_context(words)
}

/// All intervals of a record.
fn read(dir: &Path) -> anyhow::Result<Vec<Interval>> {
    let entries = std::fs::read_dir(dir)
        .map_err(|e| failure(Code::Usage, format!("{} cannot be read: {e}", dir.display())))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "parquet"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let words = || format!("{} cannot be read", file.display());
        let bytes = std::fs::read(&file).with_context(words)?;
        all.extend(harvest::decode(bytes.into()).with_context(words)?);
    }
    Ok(all)
}
