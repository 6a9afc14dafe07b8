//! The first process of a machine: it makes the usual directories, loads modules, runs its own program with the words that it was
//! given, and sends out what that left.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, WaitOptions, wait};
use rustix::system::{RebootCommand, init_module, reboot, uname};

use super::archive::Archive;
use super::{ENDED, End, FILES, OUT, SAID, TASK, Task};

/// File systems, and where they are.
const MOUNTS: [(&str, &str); 5] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")];

/// Does what the machine is for, and ends the machine.
pub fn run() -> ! {
    if let Err(error) = work() {
        // On the console, whose end the caller shows.
        eprintln!("the machine: {error}");
    }
    // A machine that may not start again ends here.
    let _ = reboot(RebootCommand::Restart);
    std::process::exit(1)
}

fn work() -> io::Result<()> {
    for (kind, place) in MOUNTS {
        fs::create_dir_all(place)?;
        mount(kind, place, kind, MountFlags::empty(), None)?;
    }
    for directory in [OUT, FILES, "/run/netns"] {
        fs::create_dir_all(directory)?;
    }
    let task: Task = serde_json::from_slice(&fs::read(TASK)?)?;
    for module in &task.modules {
        let loaded = init_module(&fs::read(module)?, c"");
        loaded.map_err(|e| io::Error::other(format!("{}: {e}", module.display())))?;
    }
    let status = run_program(&task.words)?;
    let kernel = uname().release().to_string_lossy().into_owned();
    fs::write(Path::new(OUT).join(ENDED), serde_json::to_vec(&End { status, kernel })?)?;
    send(Path::new(OUT))
}

/// The program of this process once more, with words of its own.
fn run_program(words: &[String]) -> io::Result<i32> {
    let [out, err] = SAID.map(|name| File::create(Path::new(OUT).join(name)));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).env_clear().envs([("PATH", "/bin"), ("HOME", "/tmp")]).current_dir("/");
    let child = command.stdin(Stdio::null()).stdout(out?).stderr(err?).spawn()?;
    let child = Pid::from_raw(child.id() as i32);
    // Whoever loses his parent is the first process's to bury.
    loop {
        if let Some((pid, status)) = wait(WaitOptions::empty())?
            && Some(pid) == child
        {
            let status = std::process::ExitStatus::from_raw(status.as_raw());
            return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        }
    }
}

/// Everything below a directory, as one archive, through the only port that there is.
fn send(directory: &Path) -> io::Result<()> {
    let ports = fs::read_dir("/dev")?.flatten().map(|e| e.path());
    let port = ports.filter(|p| p.to_string_lossy().starts_with("/dev/vport")).min();
    let port = File::options().write(true).open(port.ok_or(io::ErrorKind::NotFound)?)?;
    let mut archive = Archive::new(BufWriter::with_capacity(1 << 16, port));
    add(&mut archive, directory, directory)?;
    archive.finish()
}

fn add(archive: &mut Archive<impl io::Write>, root: &Path, directory: &Path) -> io::Result<()> {
    let mut paths: Vec<_> = fs::read_dir(directory)?.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => add(archive, root, &path)?,
            false => {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                archive.file(&name, 0o644, &fs::read(&path)?)?;
            }
        }
    }
    Ok(())
}
