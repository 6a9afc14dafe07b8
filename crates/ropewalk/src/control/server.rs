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
        busy.fetch_add(1, Ordering::AcqRel);
        let (handler, done) = (Arc::clone(handler), Arc::clone(&busy));
        let thread = std::thread::Builder::new().name("conversation".into());
        let started = thread.spawn(move || {
            if let Err(error) = converse(stream, &*handler) {
                tracing::debug!(%error, "a conversation over the control socket ended");
            }
            done.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            busy.fetch_sub(1, Ordering::AcqRel);
        }
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
                    "the daemon does not understand the request ({error}): restart it if it is older"
                );
                Response::refused(&failure(Code::Usage, sentence))
            }
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        stream.get_mut().write_all(&bytes)?;
    }
}
