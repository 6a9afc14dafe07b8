//! The simulator for Python: the module `ropewalk._core`, over which the package `ropewalk` is
//! written.
//!
//! What runs long lets Python's other threads run, and looks ten times a second whether it is to
//! end.

mod error;
mod execute;
mod run;
mod scenario;
mod stop;
mod table;

use pyo3::prelude::*;

/// The build: the version, and a hash of the sources that decide figures. Equal builds give equal
/// runs.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ROPEWALK_BUILD"));

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("BUILD", BUILD)?;
    module.add("SCHEMA", ropewalk_table::VERSION)?;
    module.add("TABLES", ropewalk_table::names())?;
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<stop::Stop>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(execute::execute, module)?)?;
    module.add_function(wrap_pyfunction!(execute::gather, module)?)?;
    module.add_function(wrap_pyfunction!(execute::run_names, module)?)?;
    Ok(())
}
