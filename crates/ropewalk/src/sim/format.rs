//! In which form a run's tables are written.

use super::output;
use anyhow::Result;
use clap::ValueEnum;
use ropewalk_scenario::report::Report;
use std::path::Path;

/// Forms of tables on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A CSV file for each table
    #[default]
    Csv,
    /// A Parquet file for each table, with types and units, and one of what the runs were
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// Writes a file for each table that has rows, the time series among them. `numbers` are those
    /// of the runs in their sweep. Returns the files' names.
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))]
    pub(crate) fn write(
        self,
        directory: &Path,
        reports: &[Report],
        numbers: &[usize],
    ) -> Result<Vec<String>> {
        match self {
            Format::Csv => output::write_tables(directory, reports),
            #[cfg(feature = "parquet")]
            Format::Parquet => parquet(directory, reports, numbers),
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(directory: &Path, reports: &[Report], numbers: &[usize]) -> Result<Vec<String>> {
    let point = reports.first().map_or(&[][..], |report| &report.provenance.point);
    let axes: Vec<String> = point.iter().map(|(axis, _)| axis.clone()).collect();
    let run = |(number, report)| ropewalk_table::Run { name: format!("{number:06}"), report };
    let runs: Vec<_> = numbers.iter().zip(reports).map(run).collect();
    let mut written = Vec::new();
    for table in ropewalk_table::tables(&runs, &axes)?.iter().filter(|table| table.rows() > 0) {
        let bytes = ropewalk_table::parquet::encode(table)?;
        let name = format!("{}.parquet", table.name);
        output::write(&directory.join(&name), &bytes)?;
        written.push(name);
    }
    Ok(written)
}
