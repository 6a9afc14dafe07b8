//! A scenario's bunches: the real gateway and the real access points in their nodes.
//!
//! Overhearing has a stand-in: access points share a network of their own, over which the home's
//! hands packets to the others, and as many are left out as `monitor-loss` says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Bunch, BunchRelease, Event, What};
use ropewalk_scenario::report::BunchRow;
use ropewalk_sim::BuildError;
use serde::Deserialize;

use super::{Lab, Node};
use crate::{LabError, Namespace, Process, Result};

/// How long a daemon may take to start, and neighbours to meet.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a daemon may take to answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Where gateways listen.
const PORT: u16 = 4520;
/// The device of the network of access points.
const SHARE: &str = "share0";

/// Bunches that run. Dropping them ends their daemons.
#[derive(Default)]
pub(super) struct Bunches {
    all: Vec<Running>,
}

struct Running {
    name: String,
    /// Node and state directory: the gateway, then the access points, the home's first.
    daemons: Vec<(String, PathBuf)>,
    gateway: Process,
    aps: Vec<Ap>,
    /// When access points are switched off and on, from the scenario's beginning, and how many of
    /// these times are over.
    agenda: Vec<Switch>,
    done: usize,
}

/// An access point.
struct Ap {
    namespace: Namespace,
    program: String,
    args: Vec<String>,
    /// None: it is switched off.
    process: Option<Process>,
    /// What it had counted before it was switched off.
    before: Status,
}

/// An access point is switched, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Switch {
    at: Duration,
    ap: usize,
    on: bool,
}

impl Bunches {
    /// Starts all bunches of a scenario and waits until all access points are connected.
    pub(super) fn start(lab: &Lab, program: &Path) -> Result<Bunches> {
        let of = |(number, (name, bunch)): (usize, (&String, &Bunch))| {
            Start { lab, program: program.display().to_string(), number, name, bunch }.run()
        };
        let all = lab.scenario().bunch.iter().enumerate().map(of).collect::<Result<_>>()?;
        Ok(Bunches { all })
    }

    /// The daemons: bunch, node, and state directory of each.
    pub(super) fn states(&self) -> Vec<(&str, &str, &Path)> {
        let all = self.all.iter().flat_map(|r| r.daemons.iter().map(move |(node, state)| (r, node, state)));
        all.map(|(r, node, state)| (r.name.as_str(), node.as_str(), state.as_path())).collect()
    }

    /// Switches access points whose time has come, counted from the scenario's beginning, and looks
    /// whether all daemons run that are switched on.
    pub(super) fn step(&mut self, elapsed: Duration) -> Result<()> {
        self.all.iter_mut().try_for_each(|running| running.step(elapsed))
    }

    /// When the next is switched.
    pub(super) fn next(&self) -> Option<Duration> {
        self.all.iter().filter_map(|r| r.agenda.get(r.done)).map(|switch| switch.at).min()
    }

    /// All counters now. A daemon that does not answer counts as nothing but what it was before.
    pub(super) fn counts(&self) -> BunchCounts {
        let one = |r: &Running, i: usize| {
            let now = status(&r.daemons[i].1).unwrap_or_default();
            if i == 0 { now } else { now.after(&r.aps[i - 1].before) }
        };
        let ask = |r: &Running| (0..r.daemons.len()).map(|i| one(r, i)).collect();
        BunchCounts(self.all.iter().map(ask).collect())
    }

    /// The table `bunch` of what happened between two times, so many seconds apart.
    pub(super) fn table(&self, from: &BunchCounts, to: &BunchCounts, seconds: f64) -> Vec<BunchRow> {
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 };
        let mut rows = Vec::new();
        for ((running, from), to) in self.all.iter().zip(&from.0).zip(&to.0) {
            for (i, (node, _)) in running.daemons.iter().enumerate() {
                let (then, now) = (&from[i], &to[i]);
                let since = |f: fn(&Status) -> u64| f(now).saturating_sub(f(then));
                // What an access point brought stands in the gateway's account of it.
                let account = |all: &[Status]| all[0].contributors.iter().find(|c| c.name == *node).cloned();
                let (old, new) = (account(from).unwrap_or_default(), account(to).unwrap_or_default());
                let brought = |f: fn(&Contributor) -> u64| f(&new).saturating_sub(f(&old));
                let name = if i == 0 { running.name.clone() } else { format!("{}:{node}", running.name) };
                let (packets, bytes) = match i {
                    0 => (since(|s| s.delivered_packets), since(|s| s.delivered_bytes)),
                    _ => (brought(|c| c.packets), brought(|c| c.bytes)),
                };
                rows.push(BunchRow {
                    name,
                    bunch: running.name.clone(),
                    node: node.clone(),
                    packets,
                    bytes,
                    carried_mbps: mbps(bytes),
                    report_mbps: mbps(since(|s| s.report_bytes)),
                    failed: brought(|c| c.failed),
                    late: brought(|c| c.late),
                    damaged: brought(|c| c.damaged),
                    captured: since(|s| s.captured),
                    repeated: 0,
                    refused: since(|s| s.refused),
                    held_bytes: now.held_bytes,
                    resets: since(|s| s.resets),
                });
            }
        }
        rows
    }
}

impl Running {
    fn step(&mut self, elapsed: Duration) -> Result<()> {
        while let Some(switch) = self.agenda.get(self.done).filter(|s| s.at <= elapsed) {
            self.done += 1;
            let (ap, state) = (&mut self.aps[switch.ap], &self.daemons[switch.ap + 1].1);
            match (switch.on, &mut ap.process) {
                (false, Some(process)) => {
                    ap.before = status(state).unwrap_or_default().after(&ap.before);
                    // As power that fails: nothing is said to anybody.
                    process.kill();
                    ap.process = None;
                }
                (true, None) => ap.process = Some(ap.namespace.start(&ap.program, &ap.args)?),
                _ => {}
            }
        }
        must_run(&mut self.gateway, "gateway")?;
        let mut processes = self.aps.iter_mut().filter_map(|ap| ap.process.as_mut());
        processes.try_for_each(|process| must_run(process, "ap"))
    }
}

/// Daemons end when they are switched off, and never by themselves: a run without one would tell of
/// another scenario.
fn must_run(process: &mut Process, role: &str) -> Result<()> {
    let Some(status) = process.exit_status()? else { return Ok(()) };
    let (command, said) = (format!("ropewalk bunch {role}"), process.stderr());
    Err(LabError::Failed { command, status: format!("it ended by itself ({status})"), said })
}

/// When access points of a bunch are switched: the scenario's events, and neighbours that come and
/// go, those with an odd number first, as in the simulator.
fn agenda(scenario: &Scenario, bunch: &Bunch) -> Vec<Switch> {
    let names: Vec<&String> = [&bunch.home].into_iter().chain(&bunch.neighbours).collect();
    let of = |event: &Event| {
        let on = match event.what {
            What::ApUp => true,
            What::ApDown => false,
            _ => return None,
        };
        let ap = names.iter().position(|name| Some(name.as_str()) == event.node.as_deref())?;
        Some(Switch { at: event.at, ap, on })
    };
    let mut all: Vec<Switch> = scenario.event.iter().filter_map(of).collect();
    for (ap, every) in (1..names.len()).filter_map(|ap| Some((ap, bunch.churn?))) {
        let first = if ap % 2 == 1 { every } else { every * 2 };
        let times = (0..).map(|n| (first + every * n, n % 2 == 1));
        all.extend(times.take_while(|(at, _)| *at < scenario.duration).map(|(at, on)| Switch { at, ap, on }));
    }
    all.sort();
    all
}

/// What a daemon answers at the socket in its state directory.
#[derive(Deserialize)]
struct Answer {
    status: Status,
}

/// What `ropewalk bunch status --json` says, as much as a report has of it: a gateway's part and an
/// access point's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    delivered_packets: u64,
    delivered_bytes: u64,
    resets: u64,
    contributors: Vec<Contributor>,
    neighbours: usize,
    captures: bool,
    captured: u64,
    refused: u64,
    held_bytes: u64,
    report_bytes: u64,
}

impl Status {
    /// With what was counted before it began anew.
    fn after(mut self, before: &Status) -> Status {
        self.captured += before.captured;
        self.refused += before.refused;
        self.report_bytes += before.report_bytes;
        self
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Contributor {
    name: String,
    packets: u64,
    bytes: u64,
    failed: u64,
    late: u64,
    damaged: u64,
}

/// Counters of all daemons of all bunches.
#[derive(Clone, Debug, Default)]
pub(in crate::live) struct BunchCounts(Vec<Vec<Status>>);

fn status(state: &Path) -> Option<Status> {
    let mut stream = UnixStream::connect(state.join("control.sock")).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    stream.write_all(b"{\"ask\":\"bunch\"}\n").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(serde_json::from_str::<Answer>(&line).ok()?.status)
}

/// What a bunch is started with.
struct Start<'a> {
    lab: &'a Lab,
    program: String,
    number: usize,
    name: &'a str,
    bunch: &'a Bunch,
}

impl Start<'_> {
    fn run(&self) -> Result<Running> {
        let lab = self.lab;
        let gateway = lab.node(&self.bunch.gateway)?;
        let mut daemons = vec![(self.bunch.gateway.clone(), self.state("gateway"))];
        let process = self.start_gateway(gateway)?;
        let names: Vec<&String> = [&self.bunch.home].into_iter().chain(&self.bunch.neighbours).collect();
        let aps: Vec<&Node> = names.iter().map(|n| lab.node(n)).collect::<Result<_>>()?;
        self.wire(&aps)?;
        let others = aps.len() - 1;
        let mut started = Vec::new();
        for (i, ap) in aps.iter().enumerate() {
            daemons.push((ap.name().to_owned(), self.state(&format!("ap{i}"))));
            started.push(self.start_ap(ap, i, aps.len())?);
        }
        let aps = started;
        let ready = |(i, (_, state)): (usize, &(String, PathBuf))| {
            status(state).is_some_and(|s| s.neighbours == others && (i > 0 || s.captures))
        };
        let until = Instant::now() + PATIENCE;
        while !daemons[1..].iter().enumerate().all(ready) {
            if Instant::now() > until {
                return Err(LabError::Failed {
                    command: "ropewalk bunch ap".to_owned(),
                    status: format!("the access points have not met within {PATIENCE:?}"),
                    said: aps.iter().filter_map(|ap| ap.process.as_ref()).map(Process::stderr).collect(),
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let agenda = agenda(lab.scenario(), self.bunch);
        Ok(Running { name: self.name.to_owned(), daemons, gateway: process, aps, agenda, done: 0 })
    }

    fn state(&self, end: &str) -> PathBuf {
        self.lab.logs().join(format!("bunch-{}-{end}", self.number))
    }

    fn start_gateway(&self, node: &Node) -> Result<Process> {
        let bunch = self.bunch;
        let mut args: Vec<String> = ["bunch", "gateway", "--udp", "--state"].map(str::to_owned).into();
        args.extend([
            self.state("gateway").display().to_string(),
            "--listen".into(),
            format!("0.0.0.0:{PORT}"),
        ]);
        for (_, address) in self.lab.interfaces_of(&bunch.receiver) {
            args.extend(["--serve".into(), format!("{address}/32")]);
        }
        for (key, value) in [
            ("--variant", bunch.variant.name().to_owned()),
            ("--scheduling", bunch.scheduling.name().to_owned()),
            ("--custody", bunch.custody.to_string()),
            ("--grace", bunch.grace.as_millis().clamp(100, 60_000).to_string()),
        ] {
            args.extend([key.to_owned(), value]);
        }
        let mut process = node.namespace().start(&self.program, &args)?;
        process.wait_for_line("gateway ready", PATIENCE)?;
        Ok(process)
    }

    /// The network of the access points: a bridge at the home's, and a cable to each of the others.
    fn wire(&self, aps: &[&Node]) -> Result<()> {
        let [home, others @ ..] = aps else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        let net = format!("10.253.{}", self.number);
        let mut commands = vec![
            format!("link add {SHARE} type bridge"),
            format!("addr add {net}.1/24 dev {SHARE}"),
            format!("link set {SHARE} up"),
        ];
        for (i, other) in others.iter().enumerate() {
            let other = other.namespace().name();
            commands.push(format!("link add {SHARE}p{i} type veth peer name {SHARE} netns {other}"));
            commands.push(format!("link set {SHARE}p{i} up master {SHARE}"));
        }
        home.namespace().ip(&commands)?;
        for (i, other) in others.iter().enumerate() {
            let commands =
                [format!("addr add {net}.{}/24 dev {SHARE}", i + 2), format!("link set {SHARE} up")];
            other.namespace().ip(&commands)?;
        }
        Ok(())
    }

    fn start_ap(&self, node: &Node, number: usize, count: usize) -> Result<Ap> {
        let (bunch, lab) = (self.bunch, self.lab);
        let [own, gateway] = lab.addresses(node.name(), &bunch.gateway)?;
        let endpoint = format!("{gateway}:{PORT}");
        let state = self.state("gateway").display().to_string();
        let invite = ["bunch", "invite", node.name(), "--endpoint", &endpoint, "--state", &state];
        let token = lab.node(&bunch.gateway)?.namespace().exec(&self.program, invite)?;
        let token = String::from_utf8_lossy(&token.stdout).trim().to_owned();
        let mut args: Vec<String> = ["bunch", "ap", &token, "--state"].map(str::to_owned).into();
        args.push(self.state(&format!("ap{number}")).display().to_string());
        args.extend(["--memory".into(), format!("{}B", bunch.memory.0)]);
        args.extend(["--send-buffer".into(), format!("{}B", bunch.send_buffer.0)]);
        args.extend(["--report-interval".into(), bunch.report_interval.as_millis().to_string()]);
        if count > 1 {
            let percent = (bunch.monitor_loss.0 * 100.0).round();
            args.extend(["--share".into(), SHARE.into(), "--miss".into(), percent.to_string()]);
        }
        if number == 0 {
            let all = lab.interfaces_of(node.name());
            let inner = all.iter().find(|(_, address)| *address != own).map(|(name, _)| *name);
            let inner = inner.ok_or_else(|| {
                let why = format!("`{}` has one interface only; wire the sender to another", node.name());
                BuildError::new(format!("bunch.{}.home", self.name), why)
            })?;
            let device = lab.device_of(&format!("{}:{inner}", node.name())).unwrap_or(inner);
            args.extend(["--home".into(), device.to_owned()]);
        }
        if bunch.release == BunchRelease::Scheduled {
            args.extend(["--release".into(), "scheduled".into()]);
        }
        let (namespace, program) = (node.namespace().clone(), self.program.clone());
        let process = Some(namespace.start(&program, &args)?);
        Ok(Ap { namespace, program, args, process, before: Status::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "duration = \"1s\"\n[node.a]\n[node.b]\nforward = true\n[node.c]\nforward = true\n[node.d]\n[node.e]\nforward = true\n[node.f]\nforward = true\n\
         [bunch.s]\ngateway = \"c\"\nhome = \"b\"\nreceiver = \"d\"\nneighbours = [\"e\", \"f\"]\n";

    #[test]
    fn a_daemon_that_ends_by_itself_is_noticed() {
        let logs = std::env::temp_dir().join(format!("ropewalk-bunches-{}", std::process::id()));
        std::fs::create_dir_all(&logs).unwrap();
        let start = |script: &str| {
            let mut command = std::process::Command::new("sh");
            Process::spawn(command.args(["-c", script]), &logs).unwrap()
        };
        let (mut runs, mut ends) = (start("exec sleep 60"), start("echo no room >&2; exit 3"));
        ends.wait(PATIENCE).unwrap();
        assert!(must_run(&mut runs, "ap").is_ok(), "null case");
        let error = must_run(&mut ends, "ap").unwrap_err().to_string();
        assert!(error.contains("ropewalk bunch ap") && error.contains("no room"), "{error}");
        runs.kill();
        std::fs::remove_dir_all(&logs).unwrap();
    }

    #[test]
    fn access_points_are_switched_as_in_the_simulator() {
        let switches = |text: &str| -> Vec<(u64, usize, bool)> {
            let scenario = ropewalk_scenario::Document::parse("test", text).unwrap().scenario().unwrap();
            let all = agenda(&scenario, &scenario.bunch["s"]);
            all.into_iter().map(|s| (s.at.as_millis() as u64, s.ap, s.on)).collect()
        };
        assert_eq!(switches(SCENARIO), []);
        let churn = switches(&format!("{SCENARIO}churn = \"300ms\"\n"));
        assert_eq!(
            churn,
            [(300, 1, false), (600, 1, true), (600, 2, false), (900, 1, false), (900, 2, true)]
        );
        let event = "[[event]]\nat = \"100ms\"\nwhat = \"ap-down\"\nnode = \"b\"\n\
                     [[event]]\nat = \"200ms\"\nwhat = \"ap-up\"\nnode = \"b\"\n";
        assert_eq!(switches(&format!("{SCENARIO}{event}")), [(100, 0, false), (200, 0, true)]);
    }
}
