//! Where a lab is: its name, its namespaces, and the directory for the output of its processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::{LabError, Namespace, Result, registry};

/// Dropping it removes the namespaces, with the processes in them, and the directory.
#[derive(Debug)]
pub(crate) struct Site {
    name: String,
    logs: PathBuf,
    namespaces: Mutex<Vec<String>>,
}

impl Site {
    /// A new one, with a name that no other has.
    pub(crate) fn new() -> Result<Site> {
        if !rustix::process::geteuid().is_root() {
            return Err(LabError::NotRoot);
        }
        let name = registry::unique_name();
        let logs = std::env::temp_dir().join(&name);
        registry::add_directory(logs.clone());
        fs::create_dir_all(&logs).map_err(LabError::kernel(format!("make {}", logs.display())))?;
        Ok(Site { name, logs, namespaces: Mutex::default() })
    }

    /// `rw-<process>-<number>`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The directory for output.
    pub(crate) fn logs(&self) -> &Path {
        &self.logs
    }

    /// A new namespace, called `rw-<process>-<number>-<label>`.
    pub(crate) fn namespace(&self, label: &str) -> Result<Namespace> {
        let namespace = Namespace::create(label, format!("{}-{label}", self.name), &self.logs)?;
        let mut names = self.namespaces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        names.push(namespace.name().to_owned());
        Ok(namespace)
    }
}

impl Site {
    /// Removes everything; dropping does the same.
    pub(crate) fn clean(&self) {
        let names = self.namespaces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        names.iter().for_each(|name| registry::remove_namespace(name));
        registry::remove_directory(&self.logs);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.clean();
    }
}
