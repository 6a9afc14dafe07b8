//! Answering for a lab.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ropewalk_scenario::{Document, Problems, Scenario};

use super::{About, DaemonAbout, Map, NodeAbout, Report, Request, Response, directory};
use crate::live::{Counters, Lab};
use crate::{LabError, Result};

/// The longest request, bytes.
const REQUEST_MAX: u64 = 64 * 1024;

/// A name that is this process's, and the socket that goes with it. Dropping it removes the socket.
#[derive(Debug)]
pub struct Claim {
    name: String,
    path: PathBuf,
    listener: UnixListener,
}

impl Claim {
    /// Claims a name before anything is built.
    ///
    /// # Errors
    /// A lab of this name runs, or the name is none.
    pub fn new(name: &str) -> Result<Claim> {
        let fits = (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !fits {
            return Err(LabError::LabName(name.to_owned()));
        }
        let directory = directory();
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(LabError::kernel(format!("make {}", directory.display())))?;
        sweep(&directory);
        let path = directory.join(format!("{name}.sock"));
        if is_held(&path) {
            return Err(LabError::LabRuns(name.to_owned()));
        }
        // A dead lab's.
        let _ = std::fs::remove_file(&path);
        let cannot = LabError::kernel(format!("listen at {}", path.display()));
        let listener = UnixListener::bind(&path).map_err(cannot)?;
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, private).map_err(LabError::kernel("guard the socket"))?;
        Ok(Claim { name: name.to_owned(), path, listener })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A process that was killed listens until the last of its threads has ended: the name is held by one that keeps a connection open so long.
const HOLDS: Duration = Duration::from_millis(300);

/// Somebody who answers and hangs up for so long is alive after all.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a lab that runs, or is being built, listens at this socket.
fn is_held(path: &Path) -> bool {
    let since = Instant::now();
    while let Ok(mut stream) = UnixStream::connect(path) {
        if since.elapsed() > PATIENCE || stream.set_read_timeout(Some(HOLDS)).is_err() {
            return true;
        }
        // Nobody speaks unasked; an end, or an error other than silence, is a process that dies.
        match stream.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return true,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return true,
            Err(_) => {}
        }
    }
    false
}

/// Younger sockets are left alone, s: one that was made this moment may not be listened to yet.
const YOUNG_S: u64 = 10;

/// Removes the sockets that nobody listens to any more: of labs that were killed.
fn sweep(directory: &Path) {
    for file in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, made) = (file.path(), file.metadata().and_then(|m| m.modified()));
        let is_old = made.is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() >= YOUNG_S));
        let refused =
            || UnixStream::connect(&path).is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused);
        if path.extension().is_some_and(|e| e == "sock") && is_old && refused() {
            // Another that goes up at this moment may have removed it.
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// What conversations share.
struct ControlHandler {
    lab: Lab,
    document: Document,
    name: String,
    since: Instant,
    first: Counters,
    stop: AtomicBool,
    /// Who asked for the end, to be told when it has come.
    asked: Mutex<Option<UnixStream>>,
}

/// Begins the scenario's time and answers until the lab is to end; then takes it down. `ended` is asked ten times a second whether
/// something else ends it.
///
/// # Errors
/// The lab's thread is gone.
pub fn serve(claim: Claim, lab: Lab, document: Document, ended: impl Fn() -> bool) -> Result<()> {
    let since = lab.begin()?;
    let first = lab.start_measuring()?;
    claim.listener.set_nonblocking(true).map_err(LabError::kernel("listen"))?;
    let name = claim.name.clone();
    let (stop, asked) = (AtomicBool::new(false), Mutex::default());
    let handler = Arc::new(ControlHandler { lab, document, name, since, first, stop, asked });
    while !ended() && !handler.stop.load(Ordering::Relaxed) {
        match claim.listener.accept() {
            Ok((stream, _)) => {
                let handler = Arc::clone(&handler);
                let conversation = std::thread::Builder::new().name("conversation".to_owned());
                // One that cannot be started is closed, which its other end sees.
                let _ = conversation.spawn(move || converse(stream, &handler));
            }
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
    handler.lab.clean();
    let asked = handler.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    drop(claim);
    if let Some(mut stream) = asked {
        let _ = answer(&mut stream, &Response::Done);
    }
    Ok(())
}

fn answer(stream: &mut UnixStream, response: &Response) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec(response)?;
    bytes.push(b'\n');
    stream.write_all(&bytes)
}

fn converse(stream: UnixStream, handler: &ControlHandler) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut stream = BufReader::new(stream);
    let mut last = handler.first.clone();
    loop {
        let mut line = String::new();
        if (&mut stream).take(REQUEST_MAX).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let response = match serde_json::from_str::<Request>(&line) {
            Err(error) => Response::Refused(format!("the lab does not understand the request: {error}")),
            Ok(Request::Stop) => {
                let waiting = stream.get_ref().try_clone()?;
                *handler.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(waiting);
                handler.stop.store(true, Ordering::Relaxed);
                return Ok(());
            }
            Ok(Request::Capture(name)) => return capture(stream.into_inner(), handler, &name),
            Ok(Request::Monitor { node, iface, device }) => {
                return monitor(stream.into_inner(), handler, &node, &iface, &device);
            }
            Ok(request) => {
                handler.answer(&request, &mut last).unwrap_or_else(|e| Response::Refused(e.to_string()))
            }
        };
        answer(stream.get_mut(), &response)?;
    }
}

/// Sends what a radio hears until the other end closes.
fn capture(mut stream: UnixStream, handler: &ControlHandler, name: &str) -> std::io::Result<()> {
    match handler.lab.capture(name) {
        Err(error) => answer(&mut stream, &Response::Refused(error.to_string())),
        Ok(capture) => {
            answer(&mut stream, &Response::Done)?;
            let out = std::io::BufWriter::new(stream);
            // That the other end has closed is how a capture ends.
            let _ = capture.write(out, |_| !handler.stop.load(Ordering::Relaxed));
            Ok(())
        }
    }
}

/// Feeds a monitor interface until the other end closes.
fn monitor(
    mut stream: UnixStream,
    handler: &ControlHandler,
    node: &str,
    iface: &str,
    device: &str,
) -> std::io::Result<()> {
    let made = handler
        .lab
        .capture(&format!("{node}:{iface}"))
        .and_then(|c| Ok((c, handler.lab.monitor(node, device)?)));
    let (capture, monitor) = match made {
        Err(error) => return answer(&mut stream, &Response::Refused(error.to_string())),
        Ok(made) => made,
    };
    answer(&mut stream, &Response::Done)?;
    // Looked at between frames: an end is how the other one says that it has seen enough.
    stream.set_nonblocking(true)?;
    let open = |mut stream: &UnixStream| matches!(stream.read(&mut [0]), Err(e) if matches!(e.kind(), ErrorKind::WouldBlock));
    capture.feed(&monitor, |_| !handler.stop.load(Ordering::Relaxed) && open(&stream));
    Ok(())
}

impl ControlHandler {
    fn answer(&self, request: &Request, last: &mut Counters) -> Result<Response> {
        Ok(match request {
            Request::About => Response::About(self.about()),
            Request::Report => {
                let now = self.lab.counters()?;
                let summary = self.lab.summary()?;
                let report = Report {
                    seconds: now.at.saturating_sub(last.at).as_secs_f64(),
                    tables: self.lab.report(last, &now),
                    lateness: summary.lateness.to_string(),
                    invalid: summary.invalid(),
                };
                *last = now;
                Response::Report(Box::new(report))
            }
            Request::Map => Response::Map(Map::of(&self.lab)?),
            Request::Change(keys) => {
                self.change(keys)?;
                Response::Done
            }
            Request::Interferer { name, on } => {
                self.lab.set_interferer(name, *on)?;
                Response::Done
            }
            // Taken care of where the socket is.
            Request::Capture(_) | Request::Monitor { .. } | Request::Stop => Response::Done,
        })
    }

    /// An event is read and checked as one of the file's.
    fn change(&self, keys: &str) -> Result<()> {
        let rest = Scenario { event: Vec::new(), ..self.lab.scenario().clone() }.canonical();
        let rest: Vec<&str> = rest.lines().filter(|line| *line != "event = []").collect();
        let text = format!("{}\n[[event]]\nat = \"0s\"\n{keys}\n", rest.join("\n"));
        let refused = |problems: Problems| LabError::Refused(sentences(&problems));
        let scenario = Document::parse("the change", &text).and_then(|d| d.scenario()).map_err(refused)?;
        match scenario.event.last() {
            Some(event) => self.lab.change(event),
            None => Ok(()),
        }
    }

    fn about(&self) -> About {
        let node = |node: &crate::live::Node| NodeAbout {
            name: node.name().to_owned(),
            namespace: node.namespace().name().to_owned(),
            interfaces: (self.lab.interfaces_of(node.name()).into_iter())
                .map(|(name, address)| (name.to_owned(), address.to_string()))
                .collect(),
        };
        let daemon = |(bond, node, state): (&str, &str, &Path)| DaemonAbout {
            bond: bond.to_owned(),
            node: node.to_owned(),
            state: state.display().to_string(),
        };
        About {
            name: self.name.clone(),
            pid: std::process::id(),
            file: self.document.file().to_owned(),
            title: self.lab.scenario().title.clone(),
            up_s: self.since.elapsed().as_secs_f64(),
            nodes: self.lab.nodes().iter().map(node).collect(),
            links: self.lab.scenario().link.iter().map(|l| l.label()).collect(),
            daemons: self.lab.daemons().into_iter().map(daemon).collect(),
        }
    }
}

/// Problems without the place in a file that nobody has written.
fn sentences(problems: &Problems) -> String {
    let all = problems.list.iter().map(|p| {
        let key = p.key.strip_prefix("event.0.").unwrap_or(&p.key);
        if key.is_empty() { p.sentence.clone() } else { format!("{key}: {}", p.sentence) }
    });
    all.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use rustix::fs::{AtFlags, CWD, Timestamps, UTIME_NOW, utimensat};
    use rustix::time::Timespec;

    use super::*;

    #[test]
    fn a_name_is_held_by_who_listens_and_not_by_who_dies() {
        let directory = std::env::temp_dir().join(format!("ropewalk-held-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let [alive, dying, nobody] =
            ["alive", "dying", "nobody"].map(|n| directory.join(format!("{n}.sock")));
        // Being built: it listens, and does not answer yet.
        let listener = UnixListener::bind(&alive).unwrap();
        // Killed: it takes a connection, and hangs up when its last thread has ended.
        let last = UnixListener::bind(&dying).unwrap();
        let thread = std::thread::spawn(move || {
            let taken = last.accept().unwrap();
            drop(last);
            drop(taken);
        });
        assert_eq!([&alive, &dying, &nobody].map(|path| is_held(path)), [true, false, false]);
        thread.join().unwrap();
        drop(listener);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn sockets_of_killed_labs_are_removed_and_no_others() {
        let directory = std::env::temp_dir().join(format!("ropewalk-sweep-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let [alive, killed, young] =
            ["alive", "killed", "young"].map(|n| directory.join(format!("{n}.sock")));
        let listener = UnixListener::bind(&alive).unwrap();
        for path in [&killed, &young] {
            drop(UnixListener::bind(path).unwrap());
        }
        let long_ago = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        for path in [&alive, &killed] {
            let times = Timestamps { last_access: now, last_modification: long_ago };
            utimensat(CWD, path, &times, AtFlags::empty()).unwrap();
        }
        sweep(&directory);
        assert_eq!([&alive, &killed, &young].map(|path| path.exists()), [true, false, true]);
        drop(listener);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
