//! Asking a daemon.

use super::protocol::{LINE_MAX, Request, Response};
use crate::exit::{Code, failure};
use crate::state::StateDir;
use anyhow::Context;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// A conversation with a daemon.
#[derive(Debug)]
pub(crate) struct Line {
    stream: BufReader<UnixStream>,
}

impl Line {
    /// Connects to the daemon of `dir`; `None` if none runs.
    pub(crate) fn try_open(dir: &StateDir) -> anyhow::Result<Option<Line>> {
        match UnixStream::connect(dir.socket()) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                Ok(Some(Line { stream: BufReader::new(stream) }))
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(failure(
                Code::Rights,
                "the daemon belongs to another user: run this as that user, or as root",
            )),
            Err(e) => Err(e).context("the daemon cannot be reached"),
        }
    }

    /// Connects to the daemon of `dir`, which has to run.
    pub(crate) fn open(dir: &StateDir) -> anyhow::Result<Line> {
        Line::try_open(dir)?.ok_or_else(|| {
            let place = dir.path().display();
            let words = "no ropewalk runs with the state directory";
            failure(
                Code::NotRunning,
                format!("{words} {place}: start `ropewalk serve` or `ropewalk up` with it"),
            )
        })
    }

    /// Asks; a refusal is an error.
    pub(crate) fn ask(&mut self, request: &Request) -> anyhow::Result<Response> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let lost = "the daemon broke the conversation off";
        self.stream.get_mut().write_all(&line).context(lost)?;
        let mut answer = String::new();
        (&mut self.stream).take(LINE_MAX).read_line(&mut answer).context(lost)?;
        match serde_json::from_str(&answer)
            .context("the daemon is of another version of ropewalk: restart it")?
        {
            Response::Refused { code, sentence } => Err(failure(Code::from_number(code), sentence)),
            answer => Ok(answer),
        }
    }
}

/// Asks the daemon of `dir` one thing.
pub(crate) fn ask(dir: &StateDir, request: &Request) -> anyhow::Result<Response> {
    Line::open(dir)?.ask(request)
}
