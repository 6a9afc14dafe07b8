//! Scenarios: from files, texts and dictionaries, with overrides, checked as soon as they are
//! there.

use crate::error::of_scenario;
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use ropewalk_scenario::sweep::Plan;
use ropewalk_scenario::tree::{self, Origin};
use ropewalk_scenario::{Document, Problems, Scenario as Checked};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Deepest that lists and dictionaries may hold each other; a scenario needs six.
const DEPTH: usize = 32;

/// An axis with the label of a scenario on it.
pub(crate) type Labels = Vec<(String, String)>;

/// A [`Source`] as Python hands it to another process.
type Parts = (String, String, PathBuf, Vec<(String, String)>, Labels);

/// What another process makes the same scenario of.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    directory: PathBuf,
    /// Keys with their values as TOML.
    overrides: Vec<(String, String)>,
    labels: Labels,
}

/// A scenario that is well.
#[derive(Debug)]
pub(crate) struct Inner {
    source: Source,
    pub(crate) document: Document,
    pub(crate) checked: Checked,
    /// Of all that decides a run; a sweep asks for it once for each seed.
    hash: String,
}

/// A scenario: who is there, what connects them, what happens, what is measured. It never changes;
/// `override` makes another.
#[pyclass(module = "ropewalk", frozen, from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct Scenario(pub(crate) Arc<Inner>);

impl Inner {
    /// Reads and checks everything.
    fn new(source: Source) -> Result<Inner, Problems> {
        let mut document = Document::parse(&source.name, &source.text)?;
        for (key, value) in &source.overrides {
            let origin = Origin::Given(Arc::from(format!("override {key} = {value}")));
            document.set(key, &tree::parse_value(value, &origin))?;
        }
        let checked = document.scenario_at(&source.labels)?;
        let mut files = document.files_below(&source.directory);
        // A trace may be elsewhere, too.
        let named = checked.link.iter().flat_map(|link| [&link.trace, &link.forward.trace, &link.back.trace]);
        for name in named.flatten() {
            files.entry(name.clone()).or_insert_with(|| source.directory.join(name));
        }
        let hash = digest_of(&checked, &files);
        Ok(Inner { source, document, checked, hash })
    }

    /// The scenario with another seed; places that chance decides are drawn anew.
    ///
    /// # Errors
    /// What only this seed makes wrong.
    pub(crate) fn with_seed(&self, seed: u64) -> Result<(Document, Checked), Problems> {
        if seed == self.checked.seed {
            return Ok((self.document.clone(), self.checked.clone()));
        }
        let mut document = self.document.clone();
        document.set_text(&format!("seed={seed}"))?;
        let checked = document.scenario_at(&self.source.labels)?;
        Ok((document, checked))
    }

    /// What sets it apart in a sweep.
    pub(crate) fn labels(&self) -> &Labels {
        &self.source.labels
    }

    /// Where files are that it names.
    pub(crate) fn directory(&self) -> &std::path::Path {
        &self.source.directory
    }

    /// Names a run of it in a sweep with these axes: what the run is, and by which build.
    pub(crate) fn run_name(&self, seed: u64, axes: &[String]) -> String {
        let mut digest = Sha256::new();
        let mut take = |text: &str| {
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text);
        };
        take(crate::BUILD);
        take(ropewalk_table::VERSION);
        take(&self.hash);
        take(&seed.to_string());
        for axis in axes {
            take(axis);
            take(self.source.labels.iter().find(|(a, _)| a == axis).map_or("", |(_, label)| label));
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Of the canonical text, and of the files that it names: a trace that has changed makes other
/// runs.
fn digest_of(checked: &Checked, files: &BTreeMap<String, PathBuf>) -> String {
    let mut digest = Sha256::new();
    digest.update(checked.hash());
    for (name, path) in files {
        // What is no file is refused by the run.
        let bytes = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
        for part in [name.as_bytes(), &bytes] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn made(py: Python<'_>, source: Source) -> PyResult<Scenario> {
    let inner = py.detach(|| Inner::new(source)).map_err(|problems| of_scenario(py, &problems))?;
    Ok(Scenario(Arc::new(inner)))
}

fn absolute(directory: PathBuf) -> PathBuf {
    std::path::absolute(&directory).unwrap_or(directory)
}

fn overrides_of(overrides: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(overrides) = overrides else { return Ok(Vec::new()) };
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let value = value_of(&value, DEPTH, &key)?.to_string();
        Ok((key, value))
    };
    overrides.iter().map(one).collect()
}

/// A value as TOML has it.
fn value_of(value: &Bound<'_, PyAny>, depth: usize, key: &str) -> PyResult<toml::Value> {
    let refuse = |what: &str| Err(PyTypeError::new_err(format!("{key}: {what}")));
    if depth == 0 {
        return refuse("lists and dictionaries hold each other too deeply");
    }
    if value.is_instance_of::<PyBool>() {
        Ok(toml::Value::Boolean(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(toml::Value::Integer(value.extract()?))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(toml::Value::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(toml::Value::String(value.extract()?))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (name, below) in dict.iter() {
            let name: String = name.str()?.extract()?;
            let below = value_of(&below, depth - 1, &format!("{key}.{name}"))?;
            table.insert(name, below);
        }
        Ok(toml::Value::Table(table))
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        let item = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
            value_of(&item?, depth - 1, &format!("{key}.{i}"))
        };
        Ok(toml::Value::Array(items.map(item).collect::<PyResult<_>>()?))
    } else {
        let kind = value.get_type().name()?;
        refuse(&format!("a scenario has texts, numbers, booleans, lists and dictionaries, no {kind}"))
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file.
    #[staticmethod]
    #[pyo3(signature = (path, overrides=None))]
    fn load(py: Python<'_>, path: PathBuf, overrides: Option<&Bound<'_, PyDict>>) -> PyResult<Scenario> {
        // Its errors say what is wrong with a file; its length is bounded there.
        let document = Document::read(&path).map_err(|problems| of_scenario(py, &problems))?;
        let text = std::fs::read_to_string(&path).map_err(|e| PyOSError::new_err(e.to_string()))?;
        let directory = absolute(document.directory());
        let overrides = overrides_of(overrides)?;
        let name = document.file().to_owned();
        made(py, Source { name, text, directory, overrides, labels: Vec::new() })
    }

    /// Takes the text of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (text, name="scenario", directory=None, overrides=None))]
    fn from_text(
        py: Python<'_>,
        text: String,
        name: &str,
        directory: Option<PathBuf>,
        overrides: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let directory = absolute(directory.unwrap_or_else(|| PathBuf::from(".")));
        let overrides = overrides_of(overrides)?;
        made(py, Source { name: name.to_owned(), text, directory, overrides, labels: Vec::new() })
    }

    /// Takes a scenario as a dictionary, whose keys and values are those of the file.
    #[staticmethod]
    #[pyo3(signature = (data, name="dict", directory=None, overrides=None))]
    fn from_dict(
        py: Python<'_>,
        data: &Bound<'_, PyDict>,
        name: &str,
        directory: Option<PathBuf>,
        overrides: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let value = value_of(data.as_any(), DEPTH, name)?;
        let text = toml::to_string(&value).map_err(|e| PyTypeError::new_err(format!("{name}: {e}")))?;
        Scenario::from_text(py, text, name, directory, overrides)
    }

    /// Another scenario with these keys set, dotted, `*` for any characters of a name; and with
    /// labels, for a sweep.
    #[pyo3(signature = (overrides=None, labels=None))]
    fn r#override(
        &self,
        py: Python<'_>,
        overrides: Option<&Bound<'_, PyDict>>,
        labels: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let mut source = self.0.source.clone();
        source.overrides.extend(overrides_of(overrides)?);
        for (axis, label) in labels.iter().flat_map(|labels| labels.iter()) {
            let (axis, label): (String, String) = (axis.extract()?, label.str()?.extract()?);
            source.labels.retain(|(known, _)| *known != axis);
            source.labels.push((axis, label));
        }
        made(py, source)
    }

    /// A scenario for each combination of the axes of its `[sweep]`, with their labels; itself if
    /// it has none.
    fn expand(&self, py: Python<'_>) -> PyResult<Vec<Scenario>> {
        let plan = py.detach(|| Plan::of(&self.0.document)).map_err(|p| of_scenario(py, &p))?;
        let groups = plan.points.chunk_by(|a, b| a.labels == b.labels);
        let of_point = |group: &[ropewalk_scenario::sweep::Point]| {
            let mut source = self.0.source.clone();
            let set = group[0].options().filter_map(|option| {
                option.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
            });
            source.overrides.extend(set);
            source.labels.extend(group[0].labels.iter().cloned());
            made(py, source)
        };
        groups.map(of_point).collect()
    }

    /// The seeds that its `[sweep]` names; its own if it names none.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        use ropewalk_scenario::file::Seeds;
        match &self.0.checked.sweep.seeds {
            Seeds::Count(n) => (0..u64::from(*n)).map(|i| self.0.checked.seed.wrapping_add(i)).collect(),
            Seeds::List(list) => list.clone(),
        }
    }

    /// The name of a run of it in the tables of a sweep with these axes.
    fn run_name(&self, seed: u64, axes: Vec<String>) -> String {
        self.0.run_name(seed, &axes)
    }

    /// Its title.
    #[getter]
    fn title(&self) -> &str {
        &self.0.checked.title
    }

    /// The file, as it was named.
    #[getter]
    fn file(&self) -> &str {
        self.0.document.file()
    }

    /// Its seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.checked.seed
    }

    /// How long a run lasts in its own time, seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.checked.duration.as_secs_f64()
    }

    /// Hash of all that decides a run.
    #[getter]
    fn hash(&self) -> &str {
        &self.0.hash
    }

    /// What sets it apart in a sweep: axes with their labels.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (axis, label) in self.0.labels() {
            dict.set_item(axis, label)?;
        }
        Ok(dict)
    }

    /// All of it as TOML, with what was overridden and every copy made.
    fn to_toml(&self) -> String {
        self.0.checked.canonical()
    }

    fn __repr__(&self) -> String {
        let labels: Vec<String> = self.0.labels().iter().map(|(a, l)| format!(", {a} = {l}")).collect();
        format!("<Scenario {}, seed {}{}>", self.file(), self.seed(), labels.concat())
    }

    /// For other processes: they make the same of the same source.
    fn __reduce__<'py>(slf: &Bound<'py, Scenario>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let Source { name, text, directory, overrides, labels } = slf.get().0.source.clone();
        let make = slf.get_type().getattr("_restore")?;
        Ok((make, (name, text, directory, overrides, labels)))
    }

    #[staticmethod]
    fn _restore(
        py: Python<'_>,
        name: String,
        text: String,
        directory: PathBuf,
        overrides: Vec<(String, String)>,
        labels: Labels,
    ) -> PyResult<Scenario> {
        made(py, Source { name, text, directory, overrides, labels })
    }
}
