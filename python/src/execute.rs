//! The runs of a sweep: made in chunks, kept as Parquet, put together again.

use crate::error::of_table;
use crate::run::report;
use crate::scenario::{Inner, Scenario};
use crate::stop::{Stop, Watch};
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use ropewalk_scenario::report::Report;
use ropewalk_table::parquet::{self, Bytes};
use std::collections::HashMap;
use std::sync::Arc;

/// Makes a chunk of runs, one after the other: a Parquet file for each table that has rows, by the
/// table's name.
#[pyfunction]
#[pyo3(signature = (runs, axes, stop=None))]
pub(crate) fn execute<'py>(
    py: Python<'py>,
    runs: Vec<(Scenario, u64)>,
    axes: Vec<String>,
    stop: Option<&Stop>,
) -> PyResult<Bound<'py, PyDict>> {
    let runs: Vec<(Arc<Inner>, u64)> = runs.into_iter().map(|(scenario, seed)| (scenario.0, seed)).collect();
    let stop = stop.map(|stop| stop.0.clone());
    let files = py.detach(|| -> PyResult<Vec<(&'static str, Vec<u8>)>> {
        let mut watch = Watch::new(stop);
        let made: Vec<(String, Report)> = runs
            .iter()
            .map(|(inner, seed)| Ok((inner.run_name(*seed, &axes), report(inner, *seed, &mut watch)?)))
            .collect::<PyResult<_>>()?;
        let named = made.iter().map(|(name, report)| ropewalk_table::Run { name: name.clone(), report });
        let tables = ropewalk_table::tables(&named.collect::<Vec<_>>(), &axes).map_err(|e| of_table(&e))?;
        let full = tables.iter().filter(|table| table.rows() > 0);
        full.map(|t| Ok((t.name, parquet::encode(t).map_err(|e| of_table(&e))?))).collect()
    })?;
    let dict = PyDict::new(py);
    for (name, bytes) in files {
        dict.set_item(name, PyBytes::new(py, &bytes))?;
    }
    Ok(dict)
}

/// One table out of the files of many chunks, in the order of the runs' names; those of other runs
/// are left out.
#[pyfunction]
pub(crate) fn gather(
    py: Python<'_>,
    name: &str,
    axes: Vec<String>,
    parts: Vec<PyBackedBytes>,
    order: Vec<String>,
) -> PyResult<Table> {
    let order: HashMap<String, usize> = order.into_iter().enumerate().map(|(i, run)| (run, i)).collect();
    let gathered = py.detach(|| {
        let parts = parts.into_iter().map(|bytes| parquet::decode(name, &axes, Bytes::from_owner(bytes)));
        ropewalk_table::gather(name, &axes, &parts.collect::<Result<Vec<_>, _>>()?, &order)
    });
    gathered.map(Table::new).map_err(|e| of_table(&e))
}

/// The names of the runs of a chunk, by its file of the table `runs`.
#[pyfunction]
pub(crate) fn run_names(file: PyBackedBytes) -> PyResult<Vec<String>> {
    parquet::run_names(Bytes::from_owner(file)).map_err(|e| of_table(&e))
}
