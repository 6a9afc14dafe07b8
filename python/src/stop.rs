//! What asks runs to end.

use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a run looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Asks runs to end, from another thread.
#[pyclass(module = "ropewalk", frozen)]
#[derive(Debug, Default)]
pub(crate) struct Stop(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Asks all runs that look at this to end.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks for Ctrl-C and for a stop, but not at every step.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Option<Arc<AtomicBool>>,
    last: Instant,
}

impl Watch {
    pub(crate) fn new(stop: Option<Arc<AtomicBool>>) -> Watch {
        Watch { stop, last: Instant::now() }
    }

    /// Whether to end: an error with what Python raises for it.
    pub(crate) fn look(&mut self) -> PyResult<()> {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(pyo3::exceptions::PyInterruptedError::new_err("the run was stopped"));
        }
        if self.last.elapsed() < LOOK {
            return Ok(());
        }
        self.last = Instant::now();
        Python::attach(|py| py.check_signals())
    }
}
