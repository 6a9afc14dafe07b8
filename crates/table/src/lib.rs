//! Reports of runs, with their time series, as Arrow tables.
//!
//! [`tables`] is the one place where a report becomes columns: the Parquet files of the command
//! line ([`mod@parquet`]) and the tables of the Python package are both made of what it gives. The
//! schema is the same for every scenario ([`schema`]): a table for each kind of row of a report,
//! `runs` with what the runs were, and `series` with the time series, a value a row. Each row
//! begins with its run.
#![forbid(unsafe_code)]

mod gather;
pub mod harvest;
pub mod parquet;
mod reference;
mod rows;
mod schema;

pub use gather::gather;
pub use reference::page;
pub use schema::{VERSION, names, schema, unit};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use ropewalk_scenario::report::Report;

/// A table: batches of one schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns; each says its unit in its metadata.
    pub schema: SchemaRef,
    /// Its rows, in the order of the runs.
    pub batches: Vec<RecordBatch>,
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// A run among those that tables are made of.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// What joins its rows in all tables. Equal names are equal runs.
    pub name: String,
    /// What it left behind.
    pub report: &'a Report,
}

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is no such table.
    #[error("there is no table `{wanted}`; there are {}", names().join(", "))]
    Unknown {
        /// What was asked for.
        wanted: String,
    },
    /// Arrow refused what was made.
    #[error("the tables cannot be made: {0}")]
    Arrow(#[from] ArrowError),
    /// A file is not whole, or not one of these tables.
    #[error("this is no whole Parquet file of such a table: {0}")]
    File(String),
    /// A file cannot be made.
    #[error("the Parquet file cannot be made: {0}")]
    Encode(String),
}

/// All tables of some runs, those without rows as well, in the order of [`names`]. `axes` are the
/// names of a sweep's axes; each becomes a column in every table, with the label that a run has on
/// it.
///
/// # Errors
/// Arrow refuses the columns.
pub fn tables(runs: &[Run<'_>], axes: &[String]) -> Result<Vec<Table>, TableError> {
    rows::Builders::of(runs, axes)
}
