//! `ropewalk doctor`: what is wrong with this machine or its bond, in one line each.
//!
//! | file | what |
//! |---|---|
//! | `host` | the kernel, rights, nftables, the clock |
//! | `files` | the state directory and the configuration file |
//! | `network` | ports, other tunnels, routes, reverse path filters |
//! | `reach` | whether the gateway answers on each path |
//! | `by_tls` | the same by TLS, where UDP is not answered |
//! | `nat` | whether a path goes through a NAT, and how that maps |

mod by_tls;
mod files;
mod host;
mod nat;
mod network;
mod reach;

use crate::cli::Which;
use crate::commands::snapshot;
use crate::config::File;
use crate::control::ask::Line;
use crate::exit::{Code, failure, kind_of};
use crate::report::Snapshot;
use crate::state::StateDir;
use anyhow::Context;
use clap::Args;
use ropewalk_session::{Endpoint, Token};
use serde::Serialize;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes; a token has 4096 at most.
const TOKEN_MAX: u64 = 8192;
/// What to do about a token that is damaged.
const WHOLE: &str = "give one that is whole: `ropewalk invite NAME` at the gateway prints another";

/// `ropewalk doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    state: Which,
    /// Configuration file [default: /etc/ropewalk/NAME.toml for the state directory /var/lib/ropewalk/NAME]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Ask the gateway of this token, which is not used up; `-` reads standard input [default: the one that the state directory remembers]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Ok,
    Warning,
    Failed,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Finding {
    check: String,
    level: Level,
    /// What was found.
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn ok(check: impl Into<String>, found: impl Into<String>) -> Finding {
        Finding { check: check.into(), level: Level::Ok, found: found.into(), advice: None }
    }

    fn warning(check: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        let advice = Some(advice.into());
        Finding { check: check.into(), level: Level::Warning, found: found.into(), advice }
    }

    fn failed(check: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { level: Level::Failed, ..Finding::warning(check, found, advice) }
    }
}

/// What is known of the bond that is looked at.
#[derive(Default)]
struct Patient {
    /// The state directory, if there is one.
    state: Option<PathBuf>,
    /// The configuration file, and what it says.
    config: Option<PathBuf>,
    file: Option<File>,
    /// The token that leads to the gateway.
    token: Option<Token>,
    /// What the daemon says, if it runs.
    status: Option<Snapshot>,
    /// It could not be asked: it may run.
    is_unasked: bool,
}

impl Patient {
    /// It is a gateway, or is to be one.
    fn is_gateway(&self) -> bool {
        let state = self.state.as_deref();
        let served = |dir: &Path| dir.join("gateway.json").exists() || dir.join("clients.json").exists();
        match &self.status {
            Some(status) => matches!(status.role.as_str(), "gateway" | "ap"),
            None => {
                state.is_some_and(served) || self.file.as_ref().is_some_and(|f| !f.serve.address.is_empty())
            }
        }
    }

    fn device(&self) -> &str {
        self.status.as_ref().map_or("", |s| s.device.as_str())
    }

    /// Its configuration is a repeater's.
    fn is_repeater(&self) -> bool {
        self.file.as_ref().is_some_and(|file| !file.repeater.link.is_empty())
    }

    /// The interfaces that the configuration names for paths, each with an endpoint of its own if it has
    /// one. Without any, all that are usable are.
    fn paths(&self) -> Vec<(&str, Option<&Endpoint>)> {
        let Some(file) = &self.file else { return Vec::new() };
        if self.is_repeater() {
            return file.repeater.link.iter().map(|link| (link.interface.as_str(), None)).collect();
        }
        let paths = file.up.path.iter().map(|path| (path.interface.as_str(), path.endpoint.as_ref()));
        paths.map(|(interface, own)| (interface, own.map(|name| &name.0))).collect()
    }
}

/// Checks, and prints a line for each.
pub(crate) fn run(args: &Doctor) -> anyhow::Result<()> {
    ropewalk_net::privileges::keep_secrets()?;
    let (patient, mut findings) = meet(args);
    findings.extend(host::check(&patient));
    findings.extend(network::check(&patient)?);
    findings.extend(reach::check(&patient)?);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        print!("{}", render(&findings));
    }
    let failed = findings.iter().filter(|f| f.level == Level::Failed).count();
    match failed {
        0 => Ok(()),
        1 => Err(failure(Code::Failure, "one check failed")),
        n => Err(failure(Code::Failure, format!("{n} checks failed"))),
    }
}

/// Finds out whom this is about.
fn meet(args: &Doctor) -> (Patient, Vec<Finding>) {
    let mut patient = Patient::default();
    let mut findings = Vec::new();
    match args.state.find() {
        Ok(dir) => patient.state = Some(dir),
        // Before anything was set up there is none.
        Err(error) if kind_of(&error) == Code::NotRunning => {}
        Err(error) => {
            let rights = kind_of(&error) == Code::Rights;
            patient.is_unasked = rights;
            let advice = if rights { "run this as root (sudo)" } else { "look at one at a time" };
            findings.push(Finding::warning("state", error.to_string(), advice));
        }
    }
    let by_name = patient.state.as_deref().and_then(config_of);
    patient.config = args.config.clone().or_else(|| by_name.filter(|p| p.exists()));
    findings.extend(files::check_config(&mut patient));
    findings.extend(files::check_state(&patient));
    if let Some(dir) = patient.state.as_deref() {
        match ask(dir) {
            Ok(status) => patient.status = status,
            Err(error) => {
                let finding = judge_silence(&error);
                patient.is_unasked = finding.is_some();
                findings.extend(finding);
            }
        }
    }
    let kept = kept(&patient);
    let named = match args.token_file {
        Some(_) => Ok(None),
        None => named(&patient, !matches!(kept, Ok(None))),
    };
    findings.extend(named.as_ref().err().map(|error| judge_named(error, patient.is_repeater())));
    match token(args, kept.ok().flatten().or(named.ok().flatten())) {
        Ok(token) => patient.token = token,
        Err(error) => findings.push(judge_token(&error)),
    }
    (patient, findings)
}

/// What the daemon says; `None` if none runs.
fn ask(dir: &Path) -> anyhow::Result<Option<Snapshot>> {
    let daemon = Line::try_open(&StateDir::existing(dir)?)?;
    daemon.map(|mut daemon| snapshot(&mut daemon)).transpose()
}

/// Why it may run, and says nothing.
fn judge_silence(error: &anyhow::Error) -> Option<Finding> {
    match kind_of(error) {
        // None, or one that is no end of a bond.
        Code::NotRunning | Code::Usage => None,
        Code::Rights => Some(Finding::warning(
            "daemon",
            "it is not known whether one runs: this user may not ask it",
            "run this as root (sudo), or as the daemon's user",
        )),
        _ => Some(Finding::failed("daemon", format!("{error:#}"), "look at its log, and restart it")),
    }
}

/// The configuration file of the instance with this state directory; a dot is part of its name.
fn config_of(state: &Path) -> Option<PathBuf> {
    let mut name = state.file_name()?.to_owned();
    name.push(".toml");
    Some(Path::new("/etc/ropewalk").join(name))
}

/// The token of `--token-file`, or else the one that is known.
fn token(args: &Doctor, known: Option<String>) -> anyhow::Result<Option<Token>> {
    let text = match args.token_file.as_deref() {
        Some(path) if path == Path::new("-") => Some(read(std::io::stdin()).with_context(unreadable(path))?),
        Some(path) => Some(read_file(path)?),
        None => known,
    };
    Ok(text.map(|text| text.parse::<Token>()).transpose()?)
}

/// The token that the state directory remembers. An error: it may remember one.
fn kept(patient: &Patient) -> anyhow::Result<Option<String>> {
    let Some(dir) = patient.state.as_deref() else { return Ok(None) };
    match StateDir::existing(dir) {
        Err(error) if kind_of(&error) == Code::NotRunning => Ok(None),
        dir => dir?.read("token"),
    }
}

/// The token that the configuration names. Its file may go once the token is remembered.
fn named(patient: &Patient, may_be_kept: bool) -> anyhow::Result<Option<String>> {
    let Some(file) = &patient.file else { return Ok(None) };
    let (token, path) = match patient.is_repeater() {
        true => (&file.repeater.token, &file.repeater.token_file),
        false => (&file.up.token, &file.up.token_file),
    };
    match (token, path.as_deref()) {
        (None, Some(path)) => match read_file(path) {
            Err(error) if may_be_kept && kind_of_io(&error) == Some(ErrorKind::NotFound) => Ok(None),
            text => text.map(Some),
        },
        (token, _) => Ok(token.clone()),
    }
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    std::fs::File::open(path).and_then(read).with_context(unreadable(path))
}

fn read<R: Read>(from: R) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(TOKEN_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn unreadable(path: &Path) -> impl FnOnce() -> String {
    move || format!("the token file {} cannot be read", path.display())
}

fn kind_of_io(error: &anyhow::Error) -> Option<ErrorKind> {
    error.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
}

/// What to do about a token file that cannot be read, or a token that is damaged.
fn judge_token(error: &anyhow::Error) -> Finding {
    let advice = match kind_of_io(error) {
        Some(ErrorKind::PermissionDenied) => "run this as root (sudo), or as a user that may read the file",
        // What is no text is no token.
        None | Some(ErrorKind::InvalidData) => WHOLE,
        Some(_) => "name the file with the token after --token-file, or `-` for standard input",
    };
    Finding::failed("token", format!("{error:#}"), advice)
}

/// The same of the token file that the configuration names. The daemon's user may read what this one
/// may not.
fn judge_named(error: &anyhow::Error, is_repeater: bool) -> Finding {
    let found = format!("{error:#}");
    match kind_of_io(error) {
        Some(ErrorKind::PermissionDenied) => {
            Finding::warning("token", found, "run this as root (sudo), or as the daemon's user")
        }
        Some(ErrorKind::InvalidData) => Finding::failed("token", found, WHOLE),
        _ => {
            let section = if is_repeater { "[repeater]" } else { "[up]" };
            let advice = format!("name the file with the token as token-file under {section}");
            Finding::failed("token", found, advice)
        }
    }
}

/// One line each: how it went, what was looked at, what was found and what to do.
fn render(findings: &[Finding]) -> String {
    let width = findings.iter().map(|f| f.check.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for f in findings {
        let level = match f.level {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Failed => "FAILED",
        };
        let advice = f.advice.as_ref().map_or_else(String::new, |a| format!(" → {a}"));
        out.push_str(&format!("{level:<7}  {:<width$}  {}{advice}\n", f.check, f.found));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{Scratch, without_rights};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_instance_with_a_dot_in_its_name_has_its_own_file() {
        let of = |state: &str| config_of(Path::new(state));
        assert_eq!(of("/var/lib/ropewalk/client"), Some("/etc/ropewalk/client.toml".into()));
        assert_eq!(of("/var/lib/ropewalk/site.a"), Some("/etc/ropewalk/site.a.toml".into()));
        assert_eq!(of("/"), None);
    }

    #[test]
    fn a_state_directory_in_a_hidden_place_may_be_a_daemon_s() {
        let scratch = Scratch::new();
        let place = scratch.0.path();
        let look = || {
            let state = Which { dir: Some(place.join("hidden")) };
            let (patient, findings) = meet(&Doctor { state, config: None, token_file: None, json: false });
            let state = findings.into_iter().find(|f| f.check == "state").unwrap();
            (patient.is_unasked, state.found)
        };
        let (is_unasked, found) = look();
        assert!(!is_unasked && found.contains("is not there"), "{found}");
        std::fs::create_dir(place.join("hidden")).unwrap();
        std::fs::set_permissions(place, PermissionsExt::from_mode(0o0)).unwrap();
        let (is_unasked, found) = without_rights(look);
        std::fs::set_permissions(place, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(is_unasked && !found.contains("is not there"), "{found}");
    }

    #[test]
    fn a_token_that_is_damaged_is_a_finding() {
        let scratch = Scratch::new();
        scratch.0.write("token", b"rw1_damaged").unwrap();
        let state = Which { dir: Some(scratch.0.path().into()) };
        let (patient, findings) = meet(&Doctor { state, config: None, token_file: None, json: false });
        let token = findings.iter().find(|f| f.check == "token").unwrap();
        assert!(token.level == Level::Failed && patient.token.is_none(), "{findings:?}");
    }

    #[test]
    fn a_token_file_that_cannot_be_read_is_not_called_damaged() {
        let scratch = Scratch::new();
        let file = scratch.0.path().join("home.token");
        let look = || {
            let state = Which { dir: Some(scratch.0.path().into()) };
            let (_, findings) =
                meet(&Doctor { state, config: None, token_file: Some(file.clone()), json: false });
            let token = findings.into_iter().find(|f| f.check == "token").unwrap();
            (token.found, token.advice.unwrap())
        };
        let (found, advice) = look();
        assert!(found.contains("home.token cannot be read") && advice.contains("name the file"), "{advice}");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(look().1.contains("whole"), "no text");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o0)).unwrap();
        let (found, advice) = without_rights(look);
        assert!(found.contains("home.token cannot be read") && advice.contains("sudo"), "{advice}");
    }

    #[test]
    fn a_token_file_that_the_configuration_names_and_that_cannot_be_read_is_a_finding() {
        let (scratch, etc) = (Scratch::new(), Scratch::new());
        let (file, config) = (etc.0.path().join("home.token"), etc.0.path().join("home.toml"));
        std::fs::write(&config, format!("[up]\ntoken-file = \"{}\"\n", file.display())).unwrap();
        let look = || {
            let state = Which { dir: Some(scratch.0.path().into()) };
            let config = Some(config.clone());
            let (_, findings) = meet(&Doctor { state, config, token_file: None, json: false });
            findings.into_iter().find(|f| f.found.contains("home.token cannot be read"))
        };
        let missing = look().unwrap();
        assert!(missing.level == Level::Failed && missing.advice.unwrap().contains("token-file"));
        scratch.0.write("token", b"rw1_damaged").unwrap();
        assert_eq!(look(), None, "it may go once it was read");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(look().unwrap().advice.unwrap().contains("whole"), "no text; the daemon reads it first");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o0)).unwrap();
        let hidden = without_rights(look).unwrap();
        assert!(hidden.level == Level::Warning && hidden.advice.unwrap().contains("sudo"));
    }

    #[test]
    fn a_repeater_s_token_and_interfaces_are_those_of_its_section() {
        let (scratch, etc) = (Scratch::new(), Scratch::new());
        let (file, config) = (etc.0.path().join("ap.token"), etc.0.path().join("repeater.toml"));
        let key = format!("token-file = \"{}\"", file.display());
        let links = "[[repeater.link]]\ninterface = \"wlan0\"\n[[repeater.link]]\ninterface = \"wlan1\"\nshared = true\n";
        std::fs::write(&config, format!("[repeater]\n{key}\nclients = \"wlan2\"\n{links}")).unwrap();
        let look = || {
            let state = Which { dir: Some(scratch.0.path().into()) };
            meet(&Doctor { state, config: Some(config.clone()), token_file: None, json: false })
        };
        let (patient, findings) = look();
        assert_eq!(patient.paths(), [("wlan0", None), ("wlan1", None)], "{findings:?}");
        let missing = findings.into_iter().find(|f| f.found.contains("ap.token cannot be read")).unwrap();
        assert!(missing.level == Level::Failed && missing.advice.unwrap().contains("under [repeater]"));
        std::fs::write(&file, "rw1_damaged").unwrap();
        let (_, findings) = look();
        let read = findings.iter().find(|f| f.check == "token").unwrap();
        assert!(read.advice.as_ref().unwrap().contains("whole"), "{findings:?}");
    }

    #[test]
    fn a_daemon_that_is_not_asked_is_not_taken_for_stopped() {
        let scratch = Scratch::new();
        let dir = scratch.0.path();
        assert!(ask(dir).unwrap().is_none());
        let daemon = UnixListener::bind(scratch.0.socket()).unwrap();
        for hidden in [dir.to_owned(), dir.join("control.sock")] {
            let usual = std::fs::metadata(&hidden).unwrap().permissions();
            std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o0)).unwrap();
            let finding = judge_silence(&without_rights(|| ask(dir).unwrap_err())).unwrap();
            assert!(finding.level == Level::Warning && finding.found.contains("not known"), "{finding:?}");
            std::fs::set_permissions(&hidden, usual).unwrap();
        }
        drop(daemon);
        let wrong_end = failure(Code::Usage, "this is for a gateway or a client");
        assert_eq!(judge_silence(&wrong_end), None);
        let silent = failure(Code::Failure, "the daemon does not answer");
        assert_eq!(judge_silence(&silent).unwrap().level, Level::Failed);
    }

    #[test]
    fn a_line_says_how_it_went_what_was_found_and_what_to_do() {
        let all = [Finding::ok("kernel", "Linux 6.1"), Finding::failed("tun", "not there", "modprobe tun")];
        assert_eq!(render(&all), "ok       kernel  Linux 6.1\nFAILED   tun     not there → modprobe tun\n");
        assert!(Level::Failed > Level::Warning && Level::Warning > Level::Ok);
    }
}
