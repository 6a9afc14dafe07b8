//! One page for each state directory, and links to it by `ropewalk web --link`.
//!
//! A page holds a lock in the directory, and hands links out at a socket there, to its own user and
//! to root: so no link has to stand in a log. In a directory of another user's nothing is left, and
//! there is neither.

use super::server::Site;
use crate::exit::{Code, failure};
use crate::state::{Lock, StateDir};
use anyhow::Context;
use ropewalk_net::patience::is_late;
use rustix::fs::Mode;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

const LOCK: &str = "web.lock";
const SOCKET: &str = "web.sock";
/// How long either end waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest link, bytes.
const LINK_MAX: u64 = 1024;

/// This process is the page of a directory.
#[derive(Debug)]
pub(super) struct LinkServer {
    dir: StateDir,
    listener: UnixListener,
    _lock: Lock,
}

impl LinkServer {
    /// Takes the directory; fails where another page has it. `None` where it is another user's.
    pub(super) fn open(dir: &StateDir) -> anyhow::Result<Option<LinkServer>> {
        if !super::kept::is_own(dir) {
            return Ok(None);
        }
        let Some(lock) = dir.try_lock_at(LOCK)? else {
            let path = dir.path().display();
            let words = format!(
                "another `ropewalk web` serves the page of {path}: `ropewalk web --link --state {path}` prints a link to it"
            );
            return Err(failure(Code::Taken, words));
        };
        // What a killed page left. Nobody else is there: the lock is ours.
        dir.remove(SOCKET)?;
        let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(dir.at(SOCKET));
        rustix::process::umask(umask);
        let listener =
            listener.with_context(|| format!("no socket can be made in {}", dir.path().display()))?;
        Ok(Some(LinkServer { dir: dir.clone(), listener, _lock: lock }))
    }

    /// Hands out links that begin with `base` from now on, on a thread of its own.
    pub(super) fn serve(&self, base: String, site: Arc<Site>) -> anyhow::Result<()> {
        let listener = self.listener.try_clone()?;
        std::thread::Builder::new().name("links".into()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => answer(stream, &base, &site),
                    // Out of descriptors: they come back.
                    Err(_) => std::thread::sleep(PATIENCE / 50),
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for LinkServer {
    fn drop(&mut self) {
        let _ = self.dir.remove(SOCKET);
    }
}

/// Whoever is neither this user nor root gets nothing.
fn answer(mut stream: UnixStream, base: &str, site: &Site) {
    let own = rustix::process::geteuid().as_raw();
    let may = ropewalk_net::peer::user(&stream).is_ok_and(|by| by == own || by == 0);
    if may && stream.set_write_timeout(Some(PATIENCE)).is_ok() {
        // Who has gone needs no link.
        let _ = writeln!(stream, "{}", site.link(base));
    }
}

/// A link to the page of `dir`, which has to be served.
pub(super) fn ask(dir: &StateDir) -> anyhow::Result<String> {
    let connected = ropewalk_net::peer::connect(&dir.at(SOCKET), PATIENCE);
    let stream = connected.map_err(|error| unasked(error, dir))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut link = String::new();
    BufReader::new(stream.take(LINK_MAX)).read_line(&mut link).map_err(|error| unasked(error, dir))?;
    // Root asks other users' pages: what would move a terminal's cursor is no link.
    if let Some(link) = link.strip_suffix('\n').filter(|l| l.bytes().all(|b| b.is_ascii_graphic())) {
        return Ok(link.to_owned());
    }
    Err(failure(Code::Rights, "the page gives its link to its own user and to root only"))
}

/// Why a page cannot be asked.
fn unasked(error: Error, dir: &StateDir) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            let path = dir.path().display();
            let words = format!("no page of {path} is served: start `ropewalk web --state {path}`");
            failure(Code::NotRunning, words)
        }
        ErrorKind::PermissionDenied => {
            failure(Code::Rights, "the page belongs to another user: run this as that user, or as root")
        }
        _ if is_late(&error) => {
            failure(Code::Failure, "the page takes no more questions: it hangs. Start it again")
        }
        _ => anyhow::Error::from(error).context("the page cannot be asked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    #[test]
    fn a_page_that_hangs_is_said_to() {
        let scratch = Scratch::new();
        for late in [ErrorKind::WouldBlock, ErrorKind::TimedOut] {
            let said = format!("{:#}", unasked(late.into(), &scratch.0));
            assert_eq!(said, "the page takes no more questions: it hangs. Start it again");
        }
    }

    #[test]
    fn only_a_whole_line_of_plain_letters_is_a_link() {
        let ask_one_that_says = |line: &'static str| {
            let scratch = Scratch::new();
            let listener = UnixListener::bind(scratch.0.at(SOCKET)).unwrap();
            let page = std::thread::spawn(move || {
                listener.accept().unwrap().0.write_all(line.as_bytes()).unwrap();
            });
            let said = ask(&scratch.0);
            page.join().unwrap();
            said.ok()
        };
        assert_eq!(ask_one_that_says("http://a/#b\n").as_deref(), Some("http://a/#b"));
        for wrong in ["", "http://a/#b", "http://a/\u{1b}[2J\n", "http://a /#b\n"] {
            assert_eq!(ask_one_that_says(wrong), None, "{wrong:?}");
        }
    }
}
