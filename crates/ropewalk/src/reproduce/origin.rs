//! Where a page comes from: what its head says, and whether that is still so.

use crate::sim::identity::Identity;
use anyhow::Result;
use ropewalk_scenario::paper::Paper;
use std::fmt;
use std::path::Path;
use std::process::Command;

/// The build that made a run: the version, and a hash of the sources of everything that decides
/// figures.
pub(crate) const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ROPEWALK_BUILD"));

/// What two pages have to agree in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The commit that was checked out; a + where something had been changed since.
    pub commit: String,
    /// [`BUILD`].
    pub build: String,
    /// A hash of the paper's file and of all its runs.
    pub rows: String,
}

impl Origin {
    /// Of a page that this binary would write now.
    pub(super) fn of(paper: &Paper, directory: &Path) -> Result<Origin> {
        Ok(Origin { commit: commit(directory), build: BUILD.to_owned(), rows: rows(paper, directory)? })
    }

    /// What the head of a page says; none if it says nothing.
    pub(super) fn read(page: &str) -> Option<Origin> {
        let line = page.lines().find(|line| line.starts_with("<!-- Origin: "))?;
        let of = |key: &str| {
            let rest = line.split_once(&format!(" {key} "))?.1;
            Some(rest.split([',', ' ']).next()?.to_owned())
        };
        Some(Origin { commit: of("commit")?, build: of("build")?, rows: of("rows")? })
    }

    /// In what a page of this origin is older than `now`. The commit alone makes no page stale:
    /// what does not touch the models or the paper changes no figure, and no page can carry the
    /// commit that it is part of.
    pub(super) fn stale(&self, now: &Origin) -> Vec<String> {
        let pairs = [("build", &self.build, &now.build), ("rows", &self.rows, &now.rows)];
        let differs = pairs.into_iter().filter(|(_, page, here)| page != here);
        let mut all: Vec<String> = differs
            .map(|(what, page, here)| format!("{what}: the page has {page}, this is {here}"))
            .collect();
        if self.commit.ends_with('+') {
            all.push(format!(
                "commit: the page was made from {}, with changes that are in no commit",
                self.commit
            ));
        }
        all
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commit {}, build {}, rows {}", self.commit, self.build, self.rows)
    }
}

/// The commit of the repository around a directory, with a + if the models or the papers were
/// changed since.
fn commit(directory: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(directory).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed =
        git(&["status", "--porcelain", "--", ":/crates", ":/scenarios"]).is_some_and(|s| !s.is_empty());
    if changed { head + "+" } else { head }
}

/// The claims' file and all that its runs are made of; FNV-1a, as in build.rs.
fn rows(paper: &Paper, directory: &Path) -> Result<String> {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    take(&std::fs::read(directory.join(ropewalk_scenario::paper::FILE_NAME))?);
    for run in &paper.runs {
        let mut identity = Identity::new(&run.document);
        for point in &run.plan.points {
            take(identity.of(&run.plan.scenario(point)?).as_bytes());
            take(&point.seed.to_be_bytes());
        }
    }
    Ok(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn a_page_is_stale_by_its_build_its_rows_or_what_no_commit_has() {
        let now = Origin { commit: "abc".into(), build: "1+2".into(), rows: "f0".into() };
        let page = format!("<!-- other -->\n<!-- Origin: {now}, on a day, of a machine -->\n# x\n")
            .replace("Origin: ", "Origin ");
        assert_eq!(Origin::read(&page), None, "the line begins otherwise");
        let page = format!("<!-- other -->\n<!-- Origin: {now}, on a day, of a machine -->\n# x\n");
        let read = Origin::read(&page).unwrap();
        assert_eq!(read, now);
        assert!(read.stale(&now).is_empty());
        assert!(
            read.stale(&Origin { commit: "def".into(), ..now.clone() }).is_empty(),
            "another commit alone"
        );
        assert_eq!(
            read.stale(&Origin { build: "1+3".into(), ..now.clone() }),
            ["build: the page has 1+2, this is 1+3"]
        );
        assert_eq!(
            read.stale(&Origin { rows: "f1".into(), ..now.clone() }),
            ["rows: the page has f0, this is f1"]
        );
        assert_eq!(Origin { commit: "abc+".into(), ..now.clone() }.stale(&now).len(), 1);
    }
}
