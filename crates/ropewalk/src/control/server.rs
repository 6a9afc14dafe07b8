//! The daemon's control socket: threads of its own, so that no conversation can hold up a packet.

use super::protocol::{REQUEST_MAX, Request, Response};
use crate::exit::{Code, failure};
use crate::state::StateDir;
use anyhow::Context;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Conversations at a time; more than that wait.
const CONVERSATIONS: usize = 16;
/// A conversation that is silent for this long is over.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers requests, on any thread.
pub(crate) trait ControlHandler: Send + Sync + 'static {
    /// The answer to one request of the user `by`.
    fn answer(&self, request: Request, by: u32) -> Response;
}

/// The socket, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    dir: StateDir,
}

impl Server {
    /// Starts to listen in `dir`, which must be locked: whatever is in the way is a dead daemon's.
    pub(crate) fn start(dir: &StateDir, handler: impl ControlHandler) -> anyhow::Result<Server> {
        let path = dir.socket();
        dir.remove_socket();
        let listening = UnixListener::bind(&path);
        let listener = listening
            .with_context(|| format!("the control socket in {} cannot be made", dir.path().display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let handler: Arc<dyn ControlHandler> = Arc::new(handler);
        let thread = std::thread::Builder::new().name("control".into());
        thread.spawn(move || listen(&listener, &handler)).context("a thread cannot be started")?;
        Ok(Server { dir: dir.clone() })
    }

    /// The group of the socket may ask, too, where it may enter the directory.
    pub(crate) fn let_group_ask(&self) -> anyhow::Result<()> {
        Ok(std::fs::set_permissions(self.dir.socket(), std::fs::Permissions::from_mode(0o660))?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.dir.remove_socket();
    }
}

fn listen(listener: &UnixListener, handler: &Arc<dyn ControlHandler>) {
    let busy = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, most likely: it passes.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        while busy.load(Ordering::Acquire) >= CONVERSATIONS {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (handler, place) = (Arc::clone(handler), Place::take(&busy));
        let thread = std::thread::Builder::new().name("conversation".into());
        // Without a thread the conversation is over at once.
        let _ = thread.spawn(move || {
            let _place = place;
            if let Err(error) = converse(stream, &*handler) {
                tracing::debug!(%error, "a conversation over the control socket ended");
            }
        });
    }
}

/// One of the conversations at a time, given back also where the handler panics.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(busy: &Arc<AtomicUsize>) -> Place {
        busy.fetch_add(1, Ordering::AcqRel);
        Place(Arc::clone(busy))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn converse(stream: UnixStream, handler: &dyn ControlHandler) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let by = ropewalk_net::peer::user(&stream)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if (&mut stream).take(REQUEST_MAX).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_str::<Request>(&line) {
            Ok(request) => handler.answer(request, by),
            Err(error) => {
                let sentence = format!(
                    "the daemon does not understand the request ({error}): restart it if it is older, or use the program that it was started from"
                );
                Response::refused(&failure(Code::Usage, sentence))
            }
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        stream.get_mut().write_all(&bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    struct Panics;

    impl ControlHandler for Panics {
        fn answer(&self, _: Request, _: u32) -> Response {
            panic!("as the test has it");
        }
    }

    #[test]
    fn a_handler_that_panics_gives_its_place_back() {
        let scratch = Scratch::new();
        let _server = Server::start(&scratch.0, Panics).unwrap();
        let ask = |line: &str| {
            let mut stream = UnixStream::connect(scratch.0.socket()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            BufReader::new(stream).read_line(&mut answer).map(|_| answer)
        };
        let request = serde_json::to_string(&Request::Status {}).unwrap() + "\n";
        for _ in 0..CONVERSATIONS {
            assert_eq!(ask(&request).unwrap(), "");
        }
        let answer = ask("nonsense\n").unwrap();
        assert!(answer.contains("does not understand"), "{answer}");
    }
}
