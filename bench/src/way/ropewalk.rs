//! Ropewalk: a gateway, one client, and a path for each cable.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use ropewalk_lab::{Paths, Process};

use super::{Open, endpoint, wait_for_ping};
use crate::site::Site;

const PORT: u16 = 4500;
const DEVICE: &str = "rw0";
/// The gateway's inner address.
const INSIDE: &str = "10.77.0.1";
/// What a gateway says when it can be reached.
const READY: &str = "gateway ready";
/// How long it may take until then.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a bond may do before it is used: validate all paths and search for their MTU.
const SETTLE: Duration = Duration::from_millis(1500);

/// A gateway that runs.
pub struct Gateway {
    program: String,
    state: PathBuf,
    /// Its process.
    pub process: Process,
}

impl Gateway {
    /// Starts `ropewalk serve` in the site's gateway, with room for the clients of a network of `prefix` bits.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start(program: &Path, site: &Site, prefix: u8) -> Result<Gateway> {
        let program = program.to_str().context("the path of ropewalk is not UTF-8")?.to_owned();
        let state = fresh_directory(site, "gateway")?;
        let (listen, address) = (format!("0.0.0.0:{PORT}"), format!("{INSIDE}/{prefix}"));
        let words =
            ["serve", "--state", text(&state)?, "--listen", &listen, "--tun", DEVICE, "--address", &address];
        let mut process = site.lab.gateway.start(&program, words)?;
        process.wait_for_line(READY, PATIENCE)?;
        Ok(Gateway { program, state, process })
    }

    /// Where clients reach it, by path `n`.
    pub fn endpoint(n: u64) -> SocketAddr {
        endpoint(n, PORT)
    }

    /// Makes an invite; gives its token.
    ///
    /// # Errors
    /// What the program said.
    pub fn invite(&self, site: &Site, name: &str) -> Result<String> {
        let to = Gateway::endpoint(1).to_string();
        let words = ["invite", name, "--state", text(&self.state)?, "--endpoint", &to];
        let said = site.lab.gateway.exec(&self.program, words)?;
        Ok(String::from_utf8(said.stdout)?.trim().to_owned())
    }
}

pub(super) fn open(program: &Path, site: &Site) -> Result<Open> {
    let gateway = Gateway::start(program, site, 24)?;
    let token = gateway.invite(site, "bench")?;
    let state = fresh_directory(site, "client")?;
    let mut words = vec!["up".to_owned(), token, "--state".to_owned(), text(&state)?.to_owned()];
    for n in 1..=site.paths {
        words.extend(["--path".to_owned(), format!("{}@{}", Paths::interface(n), endpoint(n, PORT))]);
    }
    let client = site.lab.client.start(&gateway.program, words)?;
    let mut open = Open::bare(INSIDE.parse()?);
    open.processes = vec![("ropewalk up", client), ("ropewalk serve", gateway.process)];
    wait_for_ping(site, &mut open)?;
    std::thread::sleep(SETTLE);
    Ok(open)
}

/// A new directory that goes with the site.
fn fresh_directory(site: &Site, what: &str) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("state-{what}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let path = site.lab.topology.logs().join(name);
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is not UTF-8")
}
