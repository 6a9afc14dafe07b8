//! Where and when figures were measured: without it they mean nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

/// A machine at a time.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Date and time of the beginning.
    pub date: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many of them.
    pub cores: usize,
    /// Processes that wanted a processor before the beginning, mean of a minute: others at work disturb.
    pub load: String,
    /// The version of Ropewalk, or that there is none.
    pub ropewalk: String,
    /// The version of wireguard-go, or that there is none.
    pub wireguard: String,
    /// What the bench was called with.
    pub command: String,
}

impl Machine {
    /// This one, now.
    pub fn now(ropewalk: Option<&Path>, wireguard: Option<&str>) -> Machine {
        let uname = rustix::system::uname();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let words = std::env::args_os().skip(1);
        Machine {
            date: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string(),
            kernel: uname.release().to_string_lossy().into_owned(),
            processor: processor(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.split_whitespace().next().unwrap_or("unknown").to_owned(),
            ropewalk: ropewalk.map_or("none".to_owned(), version),
            wireguard: wireguard.unwrap_or("none").to_owned(),
            command: words.fold("bench".to_owned(), |line, word| line + " " + &word.to_string_lossy()),
        }
    }

    /// In one line.
    pub fn line(&self) -> String {
        format!(
            "{} · {} cores of {} · Linux {} · load {} · {} · wireguard-go {} · `{}`",
            self.date,
            self.cores,
            self.processor,
            self.kernel,
            self.load,
            self.ropewalk,
            self.wireguard,
            self.command
        )
    }
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name"));
    name.and_then(|rest| rest.split_once(':'))
        .map_or("an unknown processor", |(_, name)| name.trim())
        .to_owned()
}

fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output().ok().filter(|said| said.status.success());
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    let said = said.filter(|text| !text.is_empty()).unwrap_or("ropewalk of unknown version".to_owned());
    let built = fs::metadata(program).and_then(|meta| meta.modified()).ok();
    let built = built.and_then(|time| jiff::Timestamp::try_from(time).ok());
    let built =
        built.map(|time| time.to_zoned(jiff::tz::TimeZone::system()).strftime("built %H:%M").to_string());
    let checkout = commit().map(|commit| format!("checkout {commit}"));
    let origin = [built, checkout].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("{said} ({origin})")
}

/// The commit that the sources here are at, where they are a checkout.
fn commit() -> Option<String> {
    let said = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"])
        .output()
        .ok()?;
    said.status.success().then(|| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_ends_in_the_command() {
        let machine = Machine { command: "bench run --repeat 3 udp".into(), ..Machine::now(None, None) };
        assert!(machine.line().ends_with("· `bench run --repeat 3 udp`"), "{}", machine.line());
    }
}
