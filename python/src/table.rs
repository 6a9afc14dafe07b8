//! Tables that other libraries take without a copy, by Arrow's PyCapsule interface.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A table: columns with names, types and units.
#[pyclass(module = "ropewalk", frozen)]
#[derive(Debug)]
pub(crate) struct Table(ropewalk_table::Table);

impl Table {
    pub(crate) fn new(table: ropewalk_table::Table) -> Table {
        Table(table)
    }
}

#[pymethods]
impl Table {
    /// Arrow's interface for tables. A wish for another schema is not heard, as the interface
    /// allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let mut batches = self.0.batches.clone();
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(self.0.schema.clone()));
        }
        let batches = batches.into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.0.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// Arrow's interface for schemas.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema.as_ref());
        let schema = schema.map_err(|e| PyValueError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name
    }

    /// The names of its columns, in order.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.0.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The units of its columns with numbers; `1` for counts and ratios.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.of_metadata(py, "unit")
    }

    /// What each column is.
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.of_metadata(py, "doc")
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// A `polars.DataFrame` over the same memory.
    fn to_polars<'py>(slf: &Bound<'py, Table>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// A `pyarrow.Table` over the same memory.
    fn to_arrow<'py>(slf: &Bound<'py, Table>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A `pandas.DataFrame` over the same memory, whose columns have Arrow's types.
    fn to_pandas<'py>(slf: &Bound<'py, Table>) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("types_mapper", slf.py().import("pandas")?.getattr("ArrowDtype")?)?;
        Table::to_arrow(slf)?.call_method("to_pandas", (), Some(&options))
    }

    fn __repr__(&self) -> String {
        format!("<Table {}, {} rows, {} columns>", self.0.name, self.0.rows(), self.0.schema.fields().len())
    }
}

impl Table {
    fn of_metadata<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for field in self.0.schema.fields() {
            if let Some(value) = field.metadata().get(key) {
                dict.set_item(field.name(), value)?;
            }
        }
        Ok(dict)
    }
}
