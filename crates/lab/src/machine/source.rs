//! Where a machine's kernel comes from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::{LabError, Result};

/// Where a kernel and its modules are.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) kernel: PathBuf,
    pub(super) modules: PathBuf,
}

impl Source {
    /// The newest kernel below `root` that this user may read: `boot/vmlinuz-VERSION` and `lib/modules/VERSION`, as `dpkg -x
    /// linux-image-….deb ROOT` leaves them. With no `root` the environment's `VM_ROOT`, or else the system's own.
    ///
    /// # Errors
    /// There is none; this is no x86-64.
    pub fn find(root: Option<&Path>) -> Result<Source> {
        if !cfg!(target_arch = "x86_64") {
            return Err(LabError::NoMachineHere);
        }
        let given = root.map(Path::to_path_buf).or_else(|| std::env::var_os("VM_ROOT").map(PathBuf::from));
        let root = given.unwrap_or_else(|| PathBuf::from("/"));
        let kernel = |version: &str| root.join("boot").join(format!("vmlinuz-{version}"));
        let modules = |version: &str| root.join("lib/modules").join(version);
        let entries = fs::read_dir(root.join("boot")).into_iter().flatten().flatten();
        let newest = entries
            .filter_map(|e| e.file_name().to_str()?.strip_prefix("vmlinuz-").map(str::to_owned))
            .filter(|version| modules(version).is_dir() && File::open(kernel(version)).is_ok())
            .max_by_key(|version| numbers(version));
        let version = newest.ok_or_else(|| LabError::NoImage(root.clone()))?;
        Ok(Source { kernel: kernel(&version), modules: modules(&version) })
    }
}

/// The numbers of a version, in order: 6.10 is newer than 6.9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_with_modules_is_taken_or_none() {
        let root = std::env::temp_dir().join(format!("ropewalk-source-{}", std::process::id()));
        let missing = Source::find(Some(&root)).unwrap_err().to_string();
        assert!(missing.contains("dpkg -x") && missing.contains("--kernel"), "{missing}");
        fs::create_dir_all(root.join("boot")).unwrap();
        for (version, has_modules) in [("6.9.0-1", true), ("6.10.0-2", true), ("6.11.0-1", false)] {
            fs::write(root.join(format!("boot/vmlinuz-{version}")), "").unwrap();
            if has_modules {
                fs::create_dir_all(root.join("lib/modules").join(version)).unwrap();
            }
        }
        let found = Source::find(Some(&root)).unwrap();
        assert_eq!(found.kernel, root.join("boot/vmlinuz-6.10.0-2"));
        assert_eq!(found.modules, root.join("lib/modules/6.10.0-2"));
        fs::remove_dir_all(&root).unwrap();
    }
}
