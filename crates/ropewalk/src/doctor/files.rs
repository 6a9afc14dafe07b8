//! The state directory and the configuration file.

use super::{Finding, Patient};
use crate::config::File;
use std::io::{Error, ErrorKind};
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
    let hidden = |e: &Error| {
        let advice = "run this as root, or as the daemon's user";
        Finding::warning("state", format!("{place}: {e}"), advice)
    };
    let meta = match std::fs::symlink_metadata(dir) {
        Ok(meta) => meta,
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return hidden(&e),
        Err(_) => {
            let advice = "the daemon makes it when it starts";
            return Finding::warning("state", format!("{place} is not there"), advice);
        }
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
        Err(e) => return hidden(&e),
    };
    let odd = entries
        .filter_map(|e| Some((e.file_name(), e.metadata().ok()?)))
        .find(|(_, m)| m.uid() != meta.uid() || (m.is_file() && m.mode() & 0o077 != 0));
    let Some((name, m)) = odd else {
        return Finding::ok("state", format!("{place}, for its user (number {}) only", meta.uid()));
    };
    // Whoever runs as the daemon chose the name, and root may do as is advised.
    let Some(name) = name.to_str().filter(|name| name.chars().all(is_plain)) else {
        return Finding::failed(
            "state",
            format!("{name:?} in {place} is no file of ropewalk's"),
            "look at it, and take it away",
        );
    };
    if m.uid() != meta.uid() {
        return Finding::failed(
            "state",
            format!("{name} in {place} is not the directory's user's"),
            format!("chown {} {place}/{name}", meta.uid()),
        );
    }
    Finding::failed(
        "state",
        format!("others may read {name} in {place}"),
        format!("chmod 600 {place}/{name}; if it is the key, make a new one"),
    )
}

/// It means nothing to a shell or a terminal.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-".contains(letter)
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
        let odd = dir.join("x;reboot\u{1b}[2J");
        std::fs::write(&odd, "").unwrap();
        mode(&odd, 0o644);
        let finding = judge(dir);
        assert!(!finding.found.contains('\u{1b}') && finding.found.contains("x;reboot"), "{finding:?}");
        assert!(!finding.advice.unwrap().contains("reboot"), "it may be run as it is");
        std::fs::remove_file(odd).unwrap();
        mode(dir, 0o770);
        assert!(judge(dir).found.contains("others may write"));
        mode(dir, 0o700);
        assert_eq!(judge(&dir.join("nothing")).level, Level::Warning);
        assert_eq!(judge(&dir.join("key")).level, Level::Failed);
    }
}
