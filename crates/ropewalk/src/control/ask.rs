//! Asking a daemon.

use super::protocol::{LINE_MAX, Request, Response};
use crate::exit::{Code, failure};
use crate::state::StateDir;
use anyhow::Context;
use ropewalk_net::patience::is_late;
use ropewalk_net::peer;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// For a place in the queue of a daemon: only one that hangs lets as many wait.
const PLACE: Duration = Duration::from_secs(5);

/// A conversation with a daemon; one that broke off begins anew with the next question.
#[derive(Debug)]
pub(crate) struct Line {
    dir: StateDir,
    stream: Option<BufReader<UnixStream>>,
}

impl Line {
    /// Connects to the daemon of `dir`; `None` if none runs.
    pub(crate) fn try_open(dir: &StateDir) -> anyhow::Result<Option<Line>> {
        let stream = connect(dir, PLACE)?;
        Ok(stream.map(|stream| Line { dir: dir.clone(), stream: Some(stream) }))
    }

    /// Connects to the daemon of `dir`, which has to run.
    pub(crate) fn open(dir: &StateDir) -> anyhow::Result<Line> {
        Line::try_open(dir)?.ok_or_else(|| none_runs(dir))
    }

    /// Asks; a refusal is an error.
    pub(crate) fn ask(&mut self, request: &Request) -> anyhow::Result<Response> {
        let mut question = serde_json::to_vec(request)?;
        question.push(b'\n');
        // Without a whole answer the stream is given up: a late one would answer the next question.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.dir, PLACE)?.ok_or_else(|| none_runs(&self.dir))?,
        };
        let answer = exchange(&mut stream, &question)?;
        let answer: Response = serde_json::from_str(&answer)
            .context("the daemon is of another version of ropewalk: restart it")?;
        self.stream = Some(stream);
        match answer {
            Response::Refused { code, sentence } => Err(failure(Code::from_number(code), sentence)),
            answer => Ok(answer),
        }
    }
}

fn connect(dir: &StateDir, place: Duration) -> anyhow::Result<Option<BufReader<UnixStream>>> {
    match peer::connect(&dir.socket(), place) {
        Ok(stream) => {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(Some(BufReader::new(stream)))
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(failure(
            Code::Rights,
            "the daemon belongs to another user: run this as that user, or as root",
        )),
        Err(e) if is_late(&e) => Err(failure(
            Code::Failure,
            "the daemon takes no more questions: it hangs. Look at its log, and restart it",
        )),
        Err(e) => Err(e).context("the daemon cannot be reached"),
    }
}

fn none_runs(dir: &StateDir) -> anyhow::Error {
    let place = dir.path().display();
    let words = "no ropewalk runs with the state directory";
    failure(Code::NotRunning, format!("{words} {place}: start `ropewalk serve` or `ropewalk up` with it"))
}

fn silent() -> anyhow::Error {
    let words = format!(
        "the daemon did not answer within {} s: it hangs, or the machine has too much to do. Look at its log; if it stays so, restart it",
        PATIENCE.as_secs()
    );
    failure(Code::Failure, words)
}

/// One line there, one line back.
fn exchange(stream: &mut BufReader<UnixStream>, question: &[u8]) -> anyhow::Result<String> {
    let lost = "the daemon broke the conversation off";
    let gone = |e: std::io::Error| match is_late(&e) {
        true => silent(),
        false => anyhow::Error::from(e).context(lost),
    };
    stream.get_mut().write_all(question).map_err(gone)?;
    let mut answer = String::new();
    match stream.take(LINE_MAX).read_line(&mut answer) {
        Ok(_) if answer.ends_with('\n') => Ok(answer),
        Ok(_) => Err(anyhow::anyhow!(lost)),
        Err(e) => Err(gone(e)),
    }
}

/// Asks the daemon of `dir` one thing.
pub(crate) fn ask(dir: &StateDir, request: &Request) -> anyhow::Result<Response> {
    Line::open(dir)?.ask(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use std::os::unix::net::UnixListener;

    /// Takes a conversation, and reads a question.
    fn question(listener: &UnixListener) -> BufReader<UnixStream> {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        stream.read_line(&mut String::new()).unwrap();
        stream
    }

    fn done(said: &str) -> Vec<u8> {
        let mut line = serde_json::to_vec(&Response::Done { said: said.into() }).unwrap();
        line.push(b'\n');
        line
    }

    fn is_done(answer: &Response, word: &str) -> bool {
        matches!(answer, Response::Done { said } if said == word)
    }

    #[test]
    fn a_conversation_that_broke_off_begins_anew() {
        let scratch = Scratch::new();
        let listener = UnixListener::bind(scratch.0.socket()).unwrap();
        let daemon = std::thread::spawn(move || {
            drop(question(&listener));
            let torn = done("torn");
            question(&listener).get_mut().write_all(&torn[..torn.len() / 2]).unwrap();
            question(&listener).get_mut().write_all(&done("whole")).unwrap();
        });
        let mut line = Line::open(&scratch.0).unwrap();
        for _ in 0..2 {
            let error = line.ask(&Request::Status {}).unwrap_err();
            assert_eq!(format!("{error:#}"), "the daemon broke the conversation off");
        }
        assert!(is_done(&line.ask(&Request::Status {}).unwrap(), "whole"));
        daemon.join().unwrap();
        // The daemon ended: nobody is there to be asked.
        line.ask(&Request::Status {}).unwrap_err();
        let error = line.ask(&Request::Status {}).unwrap_err();
        assert!(error.to_string().starts_with("no ropewalk runs with the state directory"), "{error:#}");
    }

    #[test]
    fn a_daemon_that_takes_no_conversation_is_said() {
        let scratch = Scratch::new();
        let listener = UnixListener::bind(scratch.0.socket()).unwrap();
        // One conversation may wait, and no other.
        rustix::net::listen(&listener, 0).unwrap();
        let _waits = UnixStream::connect(scratch.0.socket()).unwrap();
        let error = connect(&scratch.0, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().starts_with("the daemon takes no more questions"), "{error:#}");
    }

    #[test]
    fn a_late_answer_is_not_taken_for_the_next() {
        let scratch = Scratch::new();
        let listener = UnixListener::bind(scratch.0.socket()).unwrap();
        let mut line = Line::open(&scratch.0).unwrap();
        let patience = Some(Duration::from_millis(50));
        line.stream.as_ref().unwrap().get_ref().set_read_timeout(patience).unwrap();
        let error = line.ask(&Request::Status {}).unwrap_err();
        let said = format!("{error:#}");
        assert!(said.starts_with("the daemon did not answer within 10 s: it hangs"), "{said}");
        assert!(said.ends_with("if it stays so, restart it"), "no word of the kernel's: {said}");
        let daemon = std::thread::spawn(move || {
            // Nobody may be there to hear it any more.
            let _ = question(&listener).get_mut().write_all(&done("late"));
            question(&listener).get_mut().write_all(&done("right")).unwrap();
        });
        assert!(is_done(&line.ask(&Request::Status {}).unwrap(), "right"));
        daemon.join().unwrap();
    }
}
