//! The state directory and the configuration file.

use super::{Finding, Patient};
use crate::config::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads the file, if one is named.
pub(super) fn check_config(patient: &mut Patient) -> Option<Finding> {
    let path = patient.config.as_deref()?;
    Some(match File::read(path) {
        Ok(file) => {
            patient.file = Some(file);
            Finding::ok("configuration", format!("{} is well", path.display()))
        }
        Err(error) => Finding::failed(
            "configuration",
            error.to_string(),
            format!("mend it; `ropewalk check {}` looks again", path.display()),
        ),
    })
}

/// Looks at the directory and its files.
pub(super) fn check_state(patient: &Patient) -> Option<Finding> {
    let dir = patient.state.as_deref()?;
    Some(judge(dir))
}

fn judge(dir: &Path) -> Finding {
    let place = dir.display();
    let Ok(meta) = std::fs::symlink_metadata(dir) else {
        return Finding::warning(
            "state",
            format!("{place} is not there"),
            "the daemon makes it when it starts",
        );
    };
    if meta.is_symlink() || !meta.is_dir() {
        let advice = "name the directory itself with --state";
        return Finding::failed(
            "state",
            format!("{place} is no directory, or a symbolic link to one"),
            advice,
        );
    }
    if meta.mode() & 0o022 != 0 {
        let advice = format!("chmod go-w {place}, and look whether its files are yours");
        return Finding::failed("state", format!("others may write into {place}"), advice);
    }
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries.flatten(),
        Err(e) => {
            return Finding::warning(
                "state",
                format!("{place}: {e}"),
                "run this as root, or as the daemon's user",
            );
        }
    };
    let odd = entries
        .filter_map(|e| Some((e.file_name(), e.metadata().ok()?)))
        .find(|(_, m)| m.uid() != meta.uid() || (m.is_file() && m.mode() & 0o077 != 0));
    match odd {
        Some((name, m)) if m.uid() != meta.uid() => Finding::failed(
            "state",
            format!("{} in {place} is not the directory's user's", name.display()),
            format!("chown {} {place}/{}", meta.uid(), name.display()),
        ),
        Some((name, _)) => Finding::failed(
            "state",
            format!("others may read {} in {place}", name.display()),
            format!("chmod 600 {place}/{}; if it is the key, make a new one", name.display()),
        ),
        None => Finding::ok("state", format!("{place}, for its user (number {}) only", meta.uid())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::state::tests::Scratch;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_that_others_may_use_is_seen() {
        let scratch = Scratch::new();
        scratch.0.write("key", b"x").unwrap();
        let dir = scratch.0.path();
        assert_eq!(judge(dir).level, Level::Ok);
        let mode =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        mode(&dir.join("key"), 0o644);
        assert!(judge(dir).found.contains("others may read key"));
        mode(&dir.join("key"), 0o600);
        mode(dir, 0o770);
        assert!(judge(dir).found.contains("others may write"));
        mode(dir, 0o700);
        assert_eq!(judge(&dir.join("nothing")).level, Level::Warning);
        assert_eq!(judge(&dir.join("key")).level, Level::Failed);
    }
}
