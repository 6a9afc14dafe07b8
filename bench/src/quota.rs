//! A limit on the processor time of one thread: it stands for a slower processor of the thread's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Where the kernel's controller of processor time is (cgroups(7), version 1).
const CONTROLLER: &str = "/sys/fs/cgroup/cpu";
/// Groups of this program; its process id follows.
const PREFIX: &str = "ropewalk-bench-";

/// A group of one thread that gets no more than its share of a processor. Dropping it sets the thread free.
#[derive(Debug)]
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// The thread gets `quota` of each `period`.
    ///
    /// # Errors
    /// If this machine has no cgroups of version 1, or refuses.
    pub(crate) fn new(thread: u32, quota: Duration, period: Duration) -> Result<Quota> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let all = Path::new(CONTROLLER);
        ensure!(
            all.join("tasks").is_file(),
            "a thread cannot be limited: there is no {CONTROLLER}/tasks; boot with \
             systemd.unified_cgroup_hierarchy=0, or leave the row `cores` out"
        );
        remove_stale();
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let group = Quota(all.join(name));
        fs::create_dir(&group.0).with_context(|| format!("cannot make {}", group.0.display()))?;
        group.set("cpu.cfs_period_us", &period.as_micros().to_string())?;
        group.set("cpu.cfs_quota_us", &quota.as_micros().to_string())?;
        group.set("tasks", &thread.to_string())?;
        Ok(group)
    }

    fn set(&self, file: &str, value: &str) -> Result<()> {
        let path = self.0.join(file);
        fs::write(&path, value).with_context(|| format!("cannot write {value} into {}", path.display()))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Sets free what is in a group, and removes it.
fn remove(group: &Path) {
    let threads = fs::read_to_string(group.join("tasks")).unwrap_or_default();
    for thread in threads.lines() {
        // One that has ended meanwhile is free already.
        let _ = fs::write(Path::new(CONTROLLER).join("tasks"), thread);
    }
    let _ = fs::remove_dir(group);
}

/// Removes the groups of runs that were killed.
fn remove_stale() {
    for entry in fs::read_dir(CONTROLLER).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            remove(&entry.path());
        }
    }
}
