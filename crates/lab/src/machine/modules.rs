//! Modules of a kernel, with those that they need.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{LabError, Result};

/// The modules of one kernel, by the names that the kernel gives them.
pub(super) struct Modules(BTreeMap<String, PathBuf>);

impl Modules {
    pub(super) fn below(directory: &Path) -> Modules {
        let mut found = BTreeMap::new();
        visit(directory, &mut found);
        Modules(found)
    }

    /// Name and content of those that are modules of this kernel, each behind those that it needs. What is not there is
    /// built in, or the lab says later that it is missing.
    pub(super) fn load(&self, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut loaded = Vec::new();
        for name in names {
            self.add(name, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn add(&self, name: &str, loaded: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
        let Some(path) = self.0.get(name).filter(|_| loaded.iter().all(|(known, _)| known != name)) else {
            return Ok(());
        };
        let bytes = content(path)?;
        for needed in needs(&bytes) {
            self.add(&needed, loaded)?;
        }
        loaded.push((name.to_owned(), bytes));
        Ok(())
    }
}

fn visit(directory: &Path, found: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => visit(&entry.path(), found),
            Ok(kind) if kind.is_file() => {
                if let Some((name, _)) = entry.file_name().to_str().and_then(|n| n.split_once(".ko")) {
                    found.insert(name.replace('-', "_"), entry.path());
                }
            }
            // A link, such as `build`, leads to sources.
            _ => {}
        }
    }
}

fn content(path: &Path) -> Result<Vec<u8>> {
    let program = match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(path).map_err(LabError::kernel(format!("read {}", path.display()))),
    };
    let run = Command::new(program).arg("-dcq").arg(path).stdin(Stdio::null()).output();
    let said = run.map_err(|source| LabError::Run { program: program.to_owned(), source })?;
    match said.status.success() {
        true => Ok(said.stdout),
        false => Err(LabError::Failed {
            command: format!("{program} -dcq {}", path.display()),
            status: said.status.to_string(),
            said: String::from_utf8_lossy(&said.stderr).trim().to_owned(),
        }),
    }
}

/// The modules that one needs: its `.modinfo` has a string for each of its properties.
fn needs(module: &[u8]) -> Vec<String> {
    let property = |line: &&[u8]| line.starts_with(b"depends=");
    let line = module.split(|byte| *byte == 0).find(property).unwrap_or(b"depends=");
    let names = String::from_utf8_lossy(&line[b"depends=".len()..]).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_behind_those_that_it_needs_and_once() {
        let directory = std::env::temp_dir().join(format!("ropewalk-modules-{}", std::process::id()));
        let module = |name: &str, needs: &str| {
            let path = directory.join("kernel/net").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("\x7fELF\0license=GPL\0depends={needs}\0name=x\0")).unwrap();
        };
        module("a.ko", "b-c,d");
        module("b-c.ko", "d");
        module("d.ko", "");
        module("e.ko", "builtin");
        let loaded = Modules::below(&directory).load(&["a", "missing", "e", "d"]).unwrap();
        let names: Vec<&str> = loaded.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, ["d", "b_c", "a", "e"]);
        fs::remove_dir_all(&directory).unwrap();
    }
}
