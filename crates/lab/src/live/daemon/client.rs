//! Asking a lab.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{About, Request, Response, directory};
use crate::{LabError, Result};

/// How long an answer may take; taking a large lab down is the slowest.
const PATIENCE: Duration = Duration::from_secs(60);

/// The names of the labs that run, sorted.
pub fn running() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let names = names.filter_map(|n| n.strip_suffix(".sock").map(str::to_owned));
    let mut alive: Vec<String> = names.filter(|n| connect(n).is_some()).collect();
    alive.sort();
    alive
}

pub(super) fn connect(name: &str) -> Option<UnixStream> {
    UnixStream::connect(directory().join(format!("{name}.sock"))).ok()
}

/// A conversation with a lab.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Talks to the lab of this name, or to the only one that runs.
    ///
    /// # Errors
    /// It does not run, or several do and none is named.
    pub fn open(name: Option<&str>) -> Result<Client> {
        let all = running();
        let name = match (name, &all[..]) {
            (Some(name), _) => name.to_owned(),
            (None, [one]) => one.clone(),
            (None, []) => return Err(LabError::NoLab),
            (None, several) => return Err(LabError::WhichLab(several.join(", "))),
        };
        let stream = connect(&name).ok_or_else(|| match all.is_empty() {
            true => LabError::NoLab,
            false => LabError::NoSuchLab { name, known: all.join(", ") },
        })?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(LabError::kernel("set a timeout"))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The lab refuses, with its sentence, or is gone.
    pub fn ask(&mut self, request: &Request) -> Result<Response> {
        let gone = LabError::kernel("talk to the lab (has it just ended?)");
        let mut talk = || -> std::io::Result<Response> {
            let mut line = serde_json::to_vec(request)?;
            line.push(b'\n');
            self.stream.get_mut().write_all(&line)?;
            let mut answer = String::new();
            self.stream.read_line(&mut answer)?;
            Ok(serde_json::from_str(&answer)?)
        };
        match talk().map_err(gone)? {
            Response::Refused(sentence) => Err(LabError::Refused(sentence)),
            answer => Ok(answer),
        }
    }

    /// Who is there.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn about(&mut self) -> Result<About> {
        match self.ask(&Request::About)? {
            Response::About(about) => Ok(about),
            other => Err(LabError::Refused(format!("the lab answered something else: {other:?}"))),
        }
    }

    /// What the socket carries from now on, after [`Request::Capture`].
    pub fn into_reader(self) -> impl Read {
        let _ = self.stream.get_ref().set_read_timeout(None);
        self.stream
    }
}
