//! One run.

use crate::error::{of_scenario, of_table};
use crate::scenario::{Inner, Scenario};
use crate::stop::{Stop, Watch};
use crate::table::Table;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use ropewalk_scenario::report::{Metric, Report};
use ropewalk_scenario::verdict;
use ropewalk_sim::Simulation;
use std::sync::Arc;

/// What a run left behind.
#[pyclass(module = "ropewalk", frozen)]
#[derive(Debug)]
pub(crate) struct Run {
    report: Report,
    scenario: Arc<Inner>,
    tables: Vec<ropewalk_table::Table>,
}

/// Makes a run.
#[pyfunction]
#[pyo3(signature = (scenario, seed=None, stop=None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Option<u64>,
    stop: Option<&Stop>,
) -> PyResult<Run> {
    let inner = scenario.0.clone();
    let seed = seed.unwrap_or(inner.checked.seed);
    let stop = stop.map(|stop| stop.0.clone());
    py.detach(|| {
        let report = report(&inner, seed, &mut Watch::new(stop))?;
        let axes: Vec<String> = inner.labels().iter().map(|(axis, _)| axis.clone()).collect();
        let name = inner.run_name(seed, &axes);
        let tables = ropewalk_table::tables(&[ropewalk_table::Run { name, report: &report }], &axes);
        let tables = tables.map_err(|e| of_table(&e))?;
        Ok(Run { report, scenario: inner, tables })
    })
}

/// Makes a run; Python's other threads go on.
pub(crate) fn report(inner: &Inner, seed: u64, watch: &mut Watch) -> PyResult<Report> {
    let refused = |problems| Python::attach(|py| of_scenario(py, &problems));
    let (document, scenario) = inner.with_seed(seed).map_err(refused)?;
    let built = Simulation::new(&scenario, inner.directory());
    let mut simulation = built.map_err(|e| refused(document.problem(&e.key, e.sentence)))?;
    while !simulation.advance() {
        watch.look()?;
    }
    let mut report = simulation.report();
    report.provenance.file = document.file().to_owned();
    report.provenance.version = crate::BUILD.to_owned();
    report.provenance.point = inner.labels().clone();
    Ok(report)
}

#[pymethods]
impl Run {
    /// One of its tables.
    fn table(&self, name: &str) -> PyResult<Table> {
        let found = self.tables.iter().find(|table| table.name == name).cloned();
        let unknown = || {
            PyValueError::new_err(ropewalk_table::TableError::Unknown { wanted: name.to_owned() }.to_string())
        };
        found.map(Table::new).ok_or_else(unknown)
    }

    /// The same as attributes.
    fn __getattr__(&self, name: &str) -> PyResult<Table> {
        self.table(name).map_err(|_| PyAttributeError::new_err(format!("a run has no `{name}`")))
    }

    fn __dir__<'py>(slf: &Bound<'py, Run>) -> PyResult<Vec<String>> {
        let own: Vec<String> = slf.get_type().dir()?.extract()?;
        Ok(own.into_iter().chain(ropewalk_table::names().into_iter().map(str::to_owned)).collect())
    }

    /// A figure by its name: `flow.down.goodput_mbps`, `sum(flow.*.goodput_mbps)`; none if the run
    /// has none.
    fn metric(&self, name: &str) -> PyResult<Option<f64>> {
        let metric: Metric = name.parse().map_err(|e| PyValueError::new_err(format!("{e}")))?;
        Ok(metric.value(&self.report))
    }

    /// What the scenario expects of a run: each as (holds, sentence).
    #[getter]
    fn expectations(&self) -> Vec<(bool, String)> {
        let verdicts = verdict::judge(&self.scenario.checked.expect, &self.report);
        verdicts.into_iter().map(|v| (v.holds, v.to_string())).collect()
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.report.provenance.seed
    }

    /// Hash of all that arrived anywhere, and when: equal runs have equal ones.
    #[getter]
    fn trace(&self) -> &str {
        &self.report.provenance.trace
    }

    /// Events that the simulator worked through.
    #[getter]
    fn events(&self) -> u64 {
        self.report.provenance.events
    }

    /// The whole report, as `ropewalk sim run --json` prints it.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string_pretty(&self.report).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    fn __repr__(&self) -> String {
        let p = &self.report.provenance;
        format!("<Run of {}, seed {}, {} s, {} events>", p.file, p.seed, p.duration_s, p.events)
    }
}
