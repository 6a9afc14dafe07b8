//! What a setup did: written down before each step, and taken back in the opposite order.

use super::Places;
use super::machine::Firewall;
use super::service::Systemd;
use crate::exit::{Code, failure};
use crate::state::StateDir;
use crate::state::clients::{Clients, FILE as CLIENTS};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// A step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    /// Made a directory.
    Directory { path: PathBuf },
    /// Wrote a file.
    File { path: PathBuf, sha256: String },
    /// Wrote a file with a token, which may be gone.
    Secret { path: PathBuf },
    /// Let the daemons' group read somebody's file, which had this group and mode.
    Readable { path: PathBuf, group: u32, mode: u32 },
    /// Made the daemons' user.
    User,
    /// Enabled and started a unit.
    Unit { name: String },
    /// Let the state directory be made.
    State { path: PathBuf, device: Option<String> },
    /// Opened a UDP port.
    Port { firewall: Firewall, port: u16 },
}

/// The record of a setup.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    steps: Vec<Step>,
    #[serde(skip)]
    path: PathBuf,
}

impl Record {
    /// A record of nothing yet.
    pub(super) fn new(places: &Places) -> anyhow::Result<Record> {
        let mut record = Record { steps: Vec::new(), path: places.record() };
        let parent = places.at("var/lib/ropewalk");
        let made = missing(&parent);
        make_directory(&parent)?;
        check_owner(&parent)?;
        record.steps.extend(made.into_iter().map(|path| Step::Directory { path }));
        record.save()?;
        Ok(record)
    }

    /// The record of a setup that was made; `None` if there is none.
    pub(super) fn open(places: &Places) -> anyhow::Result<Option<Record>> {
        let path = places.record();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e).with_context(|| format!("{} cannot be read", path.display())),
        };
        check_owner(&places.at("var/lib/ropewalk"))?;
        check_owner(&path)?;
        let damaged = || format!("{} is damaged: undo by hand what it lists", path.display());
        let record: Record = serde_json::from_str(&text).with_context(damaged)?;
        Ok(Some(Record { path, ..record }))
    }

    fn note(&mut self, step: Step) -> anyhow::Result<()> {
        self.steps.push(step);
        self.save()
    }

    fn save(&self) -> anyhow::Result<()> {
        let beside = self.path.with_extension("new");
        let unwritable = || format!("{} cannot be written", self.path.display());
        let mut file = OpenOptions::new();
        let file = file.write(true).create(true).truncate(true).mode(0o600).open(&beside);
        let mut file = file.with_context(unwritable)?;
        file.write_all(&serde_json::to_vec_pretty(self)?).with_context(unwritable)?;
        file.sync_all().with_context(unwritable)?;
        fs::rename(&beside, &self.path).with_context(unwritable)
    }

    /// Writes a file that is not there.
    pub(super) fn write(&mut self, path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
        let step = Step::File { path: path.into(), sha256: digest(text.as_bytes()) };
        self.make_file(step, path, text.as_bytes(), mode)
    }

    /// The same for a token, of which nothing is kept here.
    pub(super) fn write_secret(&mut self, path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
        self.make_file(Step::Secret { path: path.into() }, path, text.as_bytes(), mode)
    }

    /// Copies a program to where a service may see it.
    pub(super) fn copy(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        let bytes = fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
        let step = Step::File { path: to.into(), sha256: digest(&bytes) };
        self.make_file(step, to, &bytes, 0o755)
    }

    /// What is there already must not be noted: it would be taken back with the setup.
    fn make_file(&mut self, step: Step, path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
        check_absent(path)?;
        self.make_parent(path)?;
        self.note(step)?;
        put(path, bytes, mode)
    }

    /// Lets the daemons' group read somebody's file until the setup is taken back.
    pub(super) fn make_readable(&mut self, path: &Path) -> anyhow::Result<()> {
        let unreadable = || format!("{} cannot be read", path.display());
        let meta = fs::metadata(path).with_context(unreadable)?;
        let mode = meta.mode() & 0o777;
        self.note(Step::Readable { path: path.into(), group: meta.gid(), mode })?;
        // The group first: the one before may not be meant to read it.
        Systemd::hand_over(path)?;
        let done = fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o040));
        done.with_context(|| format!("{} cannot be made readable for the daemon", path.display()))
    }

    fn make_parent(&mut self, path: &Path) -> anyhow::Result<()> {
        let parent = path.parent().context("a file is in a directory")?;
        for path in missing(parent) {
            self.note(Step::Directory { path })?;
        }
        make_directory(parent)
    }

    /// The user is about to be made.
    pub(super) fn will_make_user(&mut self) -> anyhow::Result<()> {
        self.note(Step::User)
    }

    /// The unit is about to be enabled.
    pub(super) fn will_enable(&mut self, unit: &str) -> anyhow::Result<()> {
        self.note(Step::Unit { name: unit.into() })
    }

    /// The state directory is about to be made; `device` is who is invited first.
    pub(super) fn will_have_state(&mut self, places: &Places, device: Option<&str>) -> anyhow::Result<()> {
        self.note(Step::State { path: places.state(), device: device.map(str::to_owned) })
    }

    /// Opens a port of the firewall. A rule from before is the administrator's, and stays.
    pub(super) fn open_port(&mut self, firewall: Firewall, port: u16) -> anyhow::Result<()> {
        if firewall.is_open(port) {
            return Ok(());
        }
        self.note(Step::Port { firewall, port })?;
        firewall.set(port, true)
    }

    /// Takes all of it back, the last step first; or nothing, where something stands against it.
    pub(super) fn undo(mut self, places: &Places, all: bool) -> anyhow::Result<()> {
        let has_unit = self.steps.iter().any(|s| matches!(s, Step::Unit { .. }));
        let against = self.steps.iter().filter_map(|s| check(s, places, all, has_unit).err());
        let against: Vec<String> = against.map(|e| format!("{e:#}")).collect();
        if !against.is_empty() {
            return Err(failure(Code::Failure, format!("nothing was taken back: {}", against.join("; "))));
        }
        self.hand_on(places)?;
        let mut left = Vec::new();
        while let Some(step) = self.steps.pop() {
            match take_back(&step) {
                Ok(Some(said)) => eprintln!("{said}"),
                Ok(None) => {}
                // It may hold somebody else's files, or this record: see below.
                Err(_) if matches!(step, Step::Directory { .. }) => left.insert(0, step),
                Err(error) => {
                    eprintln!("left: {error:#}");
                    left.insert(0, step);
                }
            }
        }
        if left.iter().any(|s| !matches!(s, Step::Directory { .. })) {
            self.steps = left;
            self.save()?;
            let words = "not everything could be taken back; the lines above say what is left and why";
            return Err(failure(Code::Failure, words));
        }
        remove(&self.path)?;
        left.iter()
            .rev()
            .filter_map(|step| take_back(step).ok().flatten())
            .for_each(|said| eprintln!("{said}"));
        Ok(())
    }
}

impl Record {
    /// What another setup of this machine uses too stays, and goes with that one.
    fn hand_on(&mut self, places: &Places) -> anyhow::Result<()> {
        let Some(mut heir) = other(places)? else { return Ok(()) };
        let all = std::mem::take(&mut self.steps).into_iter();
        let (shared, own): (Vec<Step>, Vec<Step>) = all.partition(|s| is_shared(s, places));
        self.steps = own;
        if shared.iter().any(|s| !matches!(s, Step::Directory { .. })) {
            eprintln!("what services share stays for the setup in {}", heir.path.display());
        }
        heir.steps.splice(0..0, shared);
        heir.save()?;
        self.save()
    }
}

/// The user, template units, rules and the program serve all setups of a machine. What is in the
/// directory of one unit does not.
fn is_shared(step: &Step, places: &Places) -> bool {
    match step {
        Step::User => true,
        Step::Directory { path } => !path.to_string_lossy().ends_with(".service.d"),
        Step::File { path, .. } => {
            let below = |place: &str| path.starts_with(places.at(place));
            below("usr/local") || below("etc/polkit-1") || is_template(path, places)
        }
        _ => false,
    }
}

fn is_template(path: &Path, places: &Places) -> bool {
    let unit = |end: &str| places.at(&format!("etc/systemd/system/ropewalk-{end}@.service"));
    ["gateway", "client"].into_iter().any(|end| *path == unit(end))
}

/// The record of another setup.
fn other(places: &Places) -> anyhow::Result<Option<Record>> {
    for entry in fs::read_dir(places.at("var/lib/ropewalk")).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".setup.json").filter(|name| *name != places.name) {
            return Record::open(&Places { root: places.root.clone(), name: name.into() });
        }
    }
    Ok(None)
}

/// What stands against taking a step back.
fn check(step: &Step, places: &Places, all: bool, has_unit: bool) -> anyhow::Result<()> {
    let (Step::Directory { path }
    | Step::File { path, .. }
    | Step::Secret { path }
    | Step::Readable { path, .. }
    | Step::State { path, .. }) = step
    else {
        return Ok(());
    };
    anyhow::ensure!(within(path, places), "{} is no file of a setup", path.display());
    match step {
        Step::File { sha256, .. } => {
            let changed = fs::read(path).is_ok_and(|bytes| digest(&bytes) != *sha256);
            anyhow::ensure!(all || !changed, "{} was changed since: --all removes it", path.display());
        }
        Step::State { device, .. } if path.exists() => {
            let dir = StateDir::existing(path)?;
            let is_running = crate::control::ask::Line::try_open(&dir)?.is_some();
            anyhow::ensure!(
                !is_running || has_unit,
                "a ropewalk runs with {}: stop it first",
                path.display()
            );
            // One that runs takes them back when it is stopped.
            if !is_running {
                check_restored(path)?;
            }
            if let (false, Some(device)) = (all, device) {
                check_clients(&dir, device)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Without its list nobody could take back a kill switch that a killed client left.
fn check_restored(state: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        !state.join("changes.json").exists(),
        "a daemon left changes on this machine: `ropewalk restore --state {}` first",
        state.display()
    );
    Ok(())
}

/// Nobody relies on the gateway's key if nobody was let in but who was invited by the setup and
/// never came.
fn check_clients(dir: &StateDir, device: &str) -> anyhow::Result<()> {
    let clients = dir.read_json::<Clients>(CLIENTS)?.unwrap_or_default();
    if let Some(client) = clients.iter().find(|c| c.has_come() || c.name != device) {
        anyhow::bail!(
            "{} holds the gateway's key and its clients ({} among them), who would have to be invited again: --all removes it",
            dir.path().display(),
            client.name
        );
    }
    Ok(())
}

/// Takes a step back, and says so if there was something to do.
fn take_back(step: &Step) -> anyhow::Result<Option<String>> {
    Ok(Some(match step {
        Step::Directory { path } => {
            fs::remove_dir(path)?;
            format!("removed {}", path.display())
        }
        Step::File { path, .. } | Step::Secret { path } => return remove(path),
        Step::Readable { path, group, mode } => {
            if !path.exists() {
                return Ok(None);
            }
            let kept = || format!("{} cannot be given back", path.display());
            chown(path, None, Some(*group)).with_context(kept)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).with_context(kept)?;
            format!("gave {} back as it was", path.display())
        }
        Step::State { path, .. } => {
            if !path.exists() {
                return Ok(None);
            }
            // Its daemon ran when this was looked at first, and may have been killed as it stopped.
            check_restored(path)?;
            fs::remove_dir_all(path).with_context(|| format!("{} cannot be removed", path.display()))?;
            format!("removed {}", path.display())
        }
        Step::User => {
            Systemd::remove_user()?;
            "removed the user ropewalk".into()
        }
        Step::Unit { name } => {
            Systemd::disable(name)?;
            format!("stopped and disabled {name}")
        }
        Step::Port { firewall, port } => {
            firewall.set(*port, false)?;
            format!("closed UDP port {port} of the firewall")
        }
    }))
}

fn remove(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::remove_file(path) {
        Ok(()) => Ok(Some(format!("removed {}", path.display()))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(|| format!("{} cannot be removed", path.display())),
    }
}

/// Below the root, where setups write, and without a step up.
fn within(path: &Path, places: &Places) -> bool {
    let Ok(inside) = path.strip_prefix(&places.root) else { return false };
    let plain = inside.components().all(|c| matches!(c, std::path::Component::Normal(_)));
    let ours = ["etc", "var", "usr/local"];
    plain && ours.iter().any(|o| inside.starts_with(o) || Path::new(o).starts_with(inside))
}

/// Directories on the way to `path` that are not there, the outermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = path.ancestors().take_while(|p| !p.exists()).map(Path::to_owned).collect();
    all.reverse();
    all
}

/// Makes a directory that others may look into; the process's own mask would keep them out.
fn make_directory(path: &Path) -> anyhow::Result<()> {
    let before = rustix::process::umask(rustix::fs::Mode::WGRP | rustix::fs::Mode::WOTH);
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    rustix::process::umask(before);
    made.with_context(|| format!("{} cannot be made", path.display()))
}

/// Nothing has the name, not even a link that leads nowhere.
pub(super) fn check_absent(path: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            let words = format!("{} exists, and this setup did not make it: move it away", path.display());
            Err(failure(Code::Taken, words))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).with_context(|| format!("{} cannot be looked up", path.display())),
    }
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let unwritable = || format!("{} cannot be written", path.display());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.with_context(unwritable)?;
    file.write_all(bytes).with_context(unwritable)?;
    let mode = rustix::fs::Mode::from_raw_mode(mode);
    rustix::fs::fchmod(&file, mode).map_err(std::io::Error::from).with_context(unwritable)?;
    file.sync_all().with_context(unwritable)
}

/// Whoever may write there decides what is removed.
fn check_owner(path: &Path) -> anyhow::Result<()> {
    let meta = fs::symlink_metadata(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let we = rustix::process::geteuid().as_raw();
    if meta.is_symlink() || meta.uid() != we || meta.mode() & 0o022 != 0 {
        let words = format!(
            "{} is another user's, or others may write it: a setup does not rely on it",
            path.display()
        );
        return Err(failure(Code::Rights, words));
    }
    Ok(())
}

fn digest(bytes: &[u8]) -> String {
    let sum = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    sum.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Root(PathBuf);

    impl Root {
        fn new(name: &str) -> (Root, Places) {
            let root = std::env::temp_dir().join(format!("ropewalk-record-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).unwrap();
            let places = Places::new(&root, "home").unwrap();
            (Root(root), places)
        }

        fn files(&self) -> Vec<String> {
            let all = std::process::Command::new("find").arg(&self.0).arg("-mindepth").arg("1").output();
            String::from_utf8(all.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn undo_takes_back_what_was_done_and_nothing_else() {
        let (root, places) = Root::new("undo");
        fs::create_dir_all(places.at("etc")).unwrap();
        fs::write(places.at("etc/other"), "x").unwrap();
        let mut record = Record::new(&places).unwrap();
        record.write(&places.config(), "[up]\n", 0o640).unwrap();
        record.write_secret(&places.token(), "rw1_x", 0o600).unwrap();
        record.will_have_state(&places, None).unwrap();
        assert!(!fs::read_to_string(places.record()).unwrap().contains("rw1_x"));
        Record::open(&places).unwrap().unwrap().undo(&places, false).unwrap();
        let left = root.files();
        assert!(left.len() == 2 && left.iter().all(|f| f.contains("/etc")), "{left:?}");
        assert!(Record::open(&places).unwrap().is_none());
    }

    #[test]
    fn a_list_of_changes_that_a_daemon_left_as_it_stopped_is_not_removed() {
        let (_root, places) = Root::new("unrestored");
        let (state, list) = (places.state(), places.state().join("changes.json"));
        let step = Step::State { path: state.clone(), device: None };
        fs::create_dir_all(&state).unwrap();
        fs::write(&list, "{}\n").unwrap();
        let left = take_back(&step).unwrap_err().to_string();
        assert!(left.contains("ropewalk restore --state") && list.exists(), "{left}");
        fs::remove_file(&list).unwrap();
        take_back(&step).unwrap();
        assert!(!state.exists());
    }

    #[test]
    fn what_was_changed_since_stays_and_is_said() {
        let (_root, places) = Root::new("changed");
        let mut record = Record::new(&places).unwrap();
        record.write(&places.config(), "[up]\n", 0o640).unwrap();
        fs::write(places.config(), "[up]\ntimeout-s = 3\n").unwrap();
        assert!(record.undo(&places, false).is_err());
        assert!(places.config().exists());
        Record::open(&places).unwrap().unwrap().undo(&places, true).unwrap();
        assert!(!places.config().exists());
    }

    #[test]
    fn what_was_there_before_is_neither_written_nor_removed() {
        let (_root, places) = Root::new("before");
        fs::create_dir_all(places.at("etc/ropewalk")).unwrap();
        fs::write(places.token(), "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", places.config()).unwrap();
        let mut record = Record::new(&places).unwrap();
        for refused in [
            record.write(&places.config(), "", 0o640),
            record.write_secret(&places.token(), "rw1_x", 0o640),
            record.copy(Path::new("/proc/version"), &places.token()),
        ] {
            assert!(refused.unwrap_err().to_string().contains("exists"));
        }
        record.undo(&places, true).unwrap();
        assert_eq!(fs::read_to_string(places.token()).unwrap(), "mine");
        assert!(places.config().is_symlink());
    }

    #[test]
    fn what_two_setups_share_goes_with_the_second() {
        let (root, first) = Root::new("shared");
        let second = Places::new(&root.0, "office").unwrap();
        let unit = first.at("etc/systemd/system/ropewalk-gateway@.service");
        let mut record = Record::new(&first).unwrap();
        let own = first.at("etc/systemd/system/ropewalk-gateway@home.service.d");
        record.write(&unit, "[Unit]\n", 0o644).unwrap();
        record.write(&own.join("tls.conf"), "[Service]\n", 0o644).unwrap();
        record.write(&first.config(), "", 0o640).unwrap();
        let mut other = Record::new(&second).unwrap();
        other.write(&second.config(), "", 0o640).unwrap();
        Record::open(&first).unwrap().unwrap().undo(&first, false).unwrap();
        assert!(unit.exists() && second.config().exists() && !first.config().exists() && !own.exists());
        Record::open(&second).unwrap().unwrap().undo(&second, false).unwrap();
        assert_eq!(root.files(), Vec::<String>::new());
    }

    #[test]
    fn a_record_that_leads_elsewhere_or_is_another_s_is_not_followed() {
        let (root, places) = Root::new("hostile");
        let victim = root.0.join("victim");
        fs::write(&victim, "x").unwrap();
        Record::new(&places).unwrap();
        for path in [victim.display().to_string(), format!("{}/etc/../victim", root.0.display())] {
            let text = format!(r#"{{"steps":[{{"did":"secret","path":"{path}"}}]}}"#);
            fs::write(places.record(), text).unwrap();
            assert!(Record::open(&places).unwrap().unwrap().undo(&places, true).is_err());
            assert!(victim.exists());
        }
        fs::set_permissions(places.record(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(Record::open(&places).is_err());
    }
}
