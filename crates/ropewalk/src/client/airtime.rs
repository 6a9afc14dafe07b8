//! Asks a `ropewalk roam` beside this client once a second what it knows of the air.
//!
//! Only measured packet times are told: a path without one carries data, and so is measured. One
//! that rests is not; its last figure stands for a minute, and then it is tried again.

use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::daemon::Outbox;
use crate::roam::report::{AccessPoint, PacketBy, RoamStatus};
use crate::state::StateDir;
use anyhow::Context;
use ropewalk_bond::airtime::Air;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two questions, and where nobody answers.
const EVERY: Duration = Duration::from_secs(1);
const NOBODY: Duration = Duration::from_secs(5);
/// A measurement stands for so long.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Starts asking the daemon with the state directory `state`, on a thread, as an answer may take a
/// while; answers arrive in the loop as [`Request::Air`]. That none runs is no error.
pub(crate) fn follow(state: PathBuf, outbox: Outbox) -> anyhow::Result<()> {
    let thread = std::thread::Builder::new().name("airtime".into());
    thread.spawn(move || work(&state, &outbox)).context("a thread cannot be started")?;
    Ok(())
}

fn work(state: &Path, outbox: &Outbox) {
    let mut known = Known::default();
    let mut told = false;
    loop {
        let status = ask(state);
        let interfaces = status.as_ref().map_or(Vec::new(), |s| known.update(s, Instant::now()));
        // That nothing is known any more is told once.
        if told || !interfaces.is_empty() {
            told = !interfaces.is_empty();
            outbox.tell(Request::Air { interfaces });
        }
        std::thread::sleep(if status.is_some() { EVERY } else { NOBODY });
    }
}

fn ask(state: &Path) -> Option<RoamStatus> {
    let dir = StateDir::existing(state).ok()?;
    let owner = dir.owner().ok()?;
    // Whoever else has made it may say anything.
    if owner != 0 && owner != rustix::process::getuid().as_raw() {
        return None;
    }
    let mut line = Line::try_open(&dir).ok()??;
    match line.ask(&Request::Roam {}).ok()? {
        Response::Roam { status } => Some(*status),
        _ => None,
    }
}

/// Measured packet times and who measured them, by the access point's address.
#[derive(Debug, Default)]
struct Known(BTreeMap<String, (PacketBy, Duration, Instant)>);

impl Known {
    /// What is known of each interface that is with an access point now.
    fn update(&mut self, status: &RoamStatus, now: Instant) -> Vec<(String, Air)> {
        let joined = |a: &&AccessPoint| a.state == "active" || a.state == "backup";
        let access_points: Vec<&AccessPoint> = status.access_points.iter().filter(joined).collect();
        for a in access_points.iter().filter(|a| a.measured) {
            let Some(us) = a.packet_time_us.filter(|us| *us > 0) else { continue };
            self.0.insert(a.bssid.clone(), (a.packet_by, Duration::from_micros(us), now));
        }
        self.0.retain(|_, (_, _, at)| now.saturating_duration_since(*at) < REMEMBERED);
        // A monitor and a driver measure with unlike rulers: only one's figures are compared.
        let mut known = access_points.iter().filter_map(|a| self.0.get(&a.bssid));
        let by = if known.all(|k| k.0 == PacketBy::Monitor) { PacketBy::Monitor } else { PacketBy::Driver };
        let air = |a: &&AccessPoint| {
            let &(_, packet_time, _) = self.0.get(&a.bssid).filter(|k| k.0 == by)?;
            Some((a.interface.clone(), Air { packet_time, channel: channel(a.frequency_mhz) }))
        };
        access_points.iter().filter_map(air).collect()
    }
}

/// Another number for each channel of a radio's bands.
fn channel(mhz: u32) -> u8 {
    (mhz / 5 % 256) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::server::{ControlHandler, Server};
    use crate::state::tests::Scratch;
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
    use std::os::unix::fs::{PermissionsExt, chown};

    fn access_point(n: u32, state: &str, us: u64, measured: bool) -> AccessPoint {
        AccessPoint {
            interface: format!("roam{n}"),
            bssid: format!("02:00:00:00:{n:02}:00"),
            frequency_mhz: 2437,
            state: state.into(),
            packet_time_us: Some(us),
            measured,
            packet_by: if measured { PacketBy::Driver } else { PacketBy::Signal },
            ..AccessPoint::default()
        }
    }

    fn status(access_points: &[AccessPoint]) -> RoamStatus {
        RoamStatus { access_points: access_points.to_vec(), ..RoamStatus::default() }
    }

    #[test]
    fn what_is_measured_is_told_and_stands_for_a_minute() {
        let (mut known, start) = (Known::default(), Instant::now());
        let mut at = |s: u64, list: &[AccessPoint]| {
            let told = known.update(&status(list), start + Duration::from_secs(s));
            told.into_iter().map(|(name, air)| (name, air.packet_time.as_micros())).collect::<Vec<_>>()
        };
        let of = |n: u32, us: u128| (format!("roam{n}"), us);
        let list = [
            access_point(0, "active", 206, true),
            access_point(1, "backup", 640, true),
            access_point(2, "active", 900, false),
            access_point(3, "joining", 100, true),
            access_point(4, "left", 100, true),
        ];
        assert_eq!(at(0, &list), [of(0, 206), of(1, 640)]);
        let rests = [access_point(0, "active", 210, true), access_point(1, "active", 300, false)];
        assert_eq!(at(59, &rests), [of(0, 210), of(1, 640)]);
        assert_eq!(at(60, &rests), [of(0, 210)]);
        assert_eq!(at(200, &[]), []);
    }

    #[test]
    fn a_monitors_figures_are_told_where_all_are_a_monitors() {
        let heard =
            |n, us| AccessPoint { packet_by: PacketBy::Monitor, ..access_point(n, "active", us, true) };
        let told = |list: &[AccessPoint]| Known::default().update(&status(list), Instant::now()).len();
        assert_eq!(told(&[heard(0, 380), heard(1, 640)]), 2);
        assert_eq!(told(&[heard(0, 380), access_point(1, "active", 206, true)]), 1);
    }

    #[test]
    fn channels_of_a_band_have_numbers_of_their_own() {
        for band in [2412..=2472, 5160..=5885, 5955..=7115] {
            let numbers: Vec<u8> = band.step_by(5).map(channel).collect();
            let all: std::collections::BTreeSet<u8> = numbers.iter().copied().collect();
            assert_eq!(all.len(), numbers.len());
        }
    }

    struct Daemon(fn() -> Response);

    impl ControlHandler for Daemon {
        fn answer(&self, _request: Request, _by: u32) -> Response {
            (self.0)()
        }
    }

    /// Does it as a user who is of a group, and nobody else.
    fn as_member<T: Send>(group: u32, work: impl FnOnce() -> T + Send) -> T {
        let change_and_work = || {
            // Of this thread only; the user last, who may change nothing any more.
            set_thread_groups(&[]).unwrap();
            set_thread_gid(Gid::from_raw(group)).unwrap();
            set_thread_uid(Uid::from_raw(54_321)).unwrap();
            work()
        };
        std::thread::scope(|s| s.spawn(change_and_work).join().unwrap())
    }

    #[test]
    fn a_client_of_the_group_may_ask() {
        let dir = Scratch::new();
        let path = dir.0.path();
        // As the service has it. Without root it cannot be given to a group.
        if chown(path, None, Some(54_322)).is_err() {
            ropewalk_skip::skip("needs root to give a directory to a group");
            return;
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o750)).unwrap();
        let one = || Response::Roam { status: Box::new(status(&[])) };
        let server = Server::start(&dir.0, Daemon(one)).unwrap();
        chown(path.join("control.sock"), None, Some(54_322)).unwrap();
        assert!(as_member(54_322, || ask(path)).is_none(), "as other daemons have it");
        server.let_group_ask().unwrap();
        assert!(as_member(54_322, || ask(path)).is_some());
        assert!(as_member(54_323, || ask(path)).is_none(), "another group");
    }

    #[test]
    fn a_running_daemon_is_asked_and_that_none_runs_is_no_error() {
        assert!(ask(Path::new("/nowhere/at/all")).is_none());
        let dir = Scratch::new();
        assert!(ask(dir.0.path()).is_none(), "it has a directory and runs no more");
        let asked = |answer| {
            let _server = Server::start(&dir.0, Daemon(answer)).unwrap();
            ask(dir.0.path())
        };
        let one = || Response::Roam { status: Box::new(status(&[access_point(0, "active", 206, true)])) };
        assert_eq!(asked(one).unwrap().access_points[0].packet_time_us, Some(206));
        assert!(asked(|| Response::wrong_end("roam")).is_none(), "the directory is another daemon's");
    }
}
