//! Tables and charts of a sweep's directory that are no longer true: the file has changed, and its runs have no such rows.

use crate::exit::{Code, failure};
use anyhow::Result;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where a sweep says which files it has written.
pub(super) const SUMMARY: &str = "sweep.json";

/// Removes the files that the sweep before wrote here and this one has not written. Others in the
/// directory are the user's.
pub(super) fn remove(directory: &Path, written: &[String]) -> Result<()> {
    for name in before(directory).into_iter().filter(|name| is_result(name) && !written.contains(name)) {
        let path = directory.join(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                let sentence =
                    format!("{} is of an earlier sweep and cannot be removed: {e}", path.display());
                return Err(failure(Code::Unwritable, sentence));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The files that the sweep before wrote, as it says itself.
fn before(directory: &Path) -> Vec<String> {
    /// The rest of a summary is skipped.
    #[derive(Default, Deserialize)]
    struct Before {
        #[serde(default)]
        files: Vec<String>,
    }
    let summary = fs::read(directory.join(SUMMARY)).unwrap_or_default();
    serde_json::from_slice::<Before>(&summary).unwrap_or_default().files
}

/// Whether a name may be one of a table or chart, in the directory itself.
fn is_result(name: &str) -> bool {
    let path = Path::new(name);
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    path.file_name() == Some(path.as_os_str()) && ["csv", "parquet", "svg"].contains(&end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_sweep_before_wrote_goes() {
        let directory = std::env::temp_dir().join(format!("ropewalk-stale-{}", std::process::id()));
        fs::create_dir_all(directory.join("below")).unwrap();
        let all = ["flow.csv", "series.csv", "rates.svg", "station.csv", "notes.txt", "below/a.csv"];
        all.iter().for_each(|name| fs::write(directory.join(name), "1").unwrap());
        let there = || all.into_iter().filter(|name| directory.join(name).exists()).collect::<Vec<_>>();
        let written = ["flow.csv".to_owned()];
        remove(&directory, &written).unwrap();
        assert_eq!(there().len(), 6, "no sweep was here");
        let said = r#"{"runs": 2, "files": ["flow.csv", "series.csv", "rates.svg", "gone.csv", "notes.txt", "below/a.csv"]}"#;
        fs::write(directory.join(SUMMARY), said).unwrap();
        remove(&directory, &written).unwrap();
        assert_eq!(there(), ["flow.csv", "station.csv", "notes.txt", "below/a.csv"]);
        fs::remove_dir_all(&directory).unwrap();
    }
}
