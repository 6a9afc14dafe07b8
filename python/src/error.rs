//! What is wrong, as exceptions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ropewalk_scenario::Problems;
use ropewalk_scenario::tree::Origin;
use ropewalk_table::TableError;

pyo3::create_exception!(
    ropewalk,
    ScenarioError,
    PyValueError,
    "A scenario is wrong. The text has all that is wrong, a line each; `problems` the same as tuples (place, key, sentence)."
);

/// All that a check found, each with file, line, key and remedy.
pub(crate) fn of_scenario(py: Python<'_>, problems: &Problems) -> PyErr {
    let error = ScenarioError::new_err(problems.to_string());
    let list: Vec<(String, String, String)> = problems
        .list
        .iter()
        .map(|problem| {
            let place = match &problem.origin {
                Origin::Line(0) => problems.file.clone(),
                Origin::Line(line) => format!("{}:{line}", problems.file),
                Origin::Given(text) => text.to_string(),
            };
            (place, problem.key.clone(), problem.sentence.clone())
        })
        .collect();
    // The text has all of it, should the attribute be refused.
    let _ = error.value(py).setattr("problems", list);
    error
}

/// What is wrong with a table.
pub(crate) fn of_table(error: &TableError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
