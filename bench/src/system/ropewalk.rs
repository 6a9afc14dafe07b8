//! Ropewalk: a gateway, one client, and a path for each cable.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ropewalk_lab::{Namespace, Paths, Process};

use super::{Open, endpoint, wait_for_ping, wait_for_ping_from};
use crate::site::Site;

const PORT: u16 = 4500;
const TLS_PORT: u16 = 443;
/// What a client may take to find that UDP does not pass.
const TLS_PATIENCE: Duration = Duration::from_secs(15);
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
    words: Vec<String>,
    /// Its process.
    pub process: Process,
}

impl Gateway {
    /// Starts `ropewalk serve` in the site's gateway, with room for the clients of a network of `prefix` bits.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start(program: &Path, site: &Site, prefix: u8) -> Result<Gateway> {
        Gateway::start_with(program, site, prefix, &[])
    }

    /// The same with a setting: it lets in so many clients.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start_for(program: &Path, site: &Site, prefix: u8, clients: usize) -> Result<Gateway> {
        let settings = fresh_directory(site, "settings")?.join("gateway.toml");
        std::fs::write(&settings, format!("[engine]\nmax-clients = {}\n", clients.max(4096)))?;
        Gateway::start_with(program, site, prefix, &["--config", text(&settings)?])
    }

    /// The same with a network of 24 bits and so many loops.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start_workers(program: &Path, site: &Site, workers: u32) -> Result<Gateway> {
        Gateway::start_with(program, site, 24, &["--workers", &workers.to_string()])
    }

    /// The same with more options.
    fn start_with(program: &Path, site: &Site, prefix: u8, more: &[&str]) -> Result<Gateway> {
        let program = program.to_str().context("the path of ropewalk is not UTF-8")?.to_owned();
        let state = fresh_directory(site, "gateway")?;
        let (listen, address) = (format!("0.0.0.0:{PORT}"), format!("{INSIDE}/{prefix}"));
        let words =
            ["serve", "--state", text(&state)?, "--listen", &listen, "--tun", DEVICE, "--address", &address];
        let words: Vec<String> = words.iter().chain(more).map(|&word| word.to_owned()).collect();
        let process = Gateway::serve(&program, site, &words)?;
        Ok(Gateway { program, state, words, process })
    }

    /// It has ended, and starts again as it was started.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn again(self, site: &Site) -> Result<Gateway> {
        let process = Gateway::serve(&self.program, site, &self.words)?;
        Ok(Gateway { process, ..self })
    }

    fn serve(program: &str, site: &Site, words: &[String]) -> Result<Process> {
        let mut process = site.lab.gateway.start(program, words)?;
        process.wait_for_line(READY, PATIENCE)?;
        Ok(process)
    }

    /// Packets that it has put into its device.
    ///
    /// # Errors
    /// If the device is not there.
    pub fn delivered_packets(&self, site: &Site) -> Result<u64> {
        let said = site.lab.gateway.exec("cat", ["/proc/net/dev"])?;
        let said = String::from_utf8(said.stdout)?;
        let counts = said.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
        // Bytes received, packets received, …
        let packets = counts.and_then(|counts| counts.split_whitespace().nth(1));
        Ok(packets.context("the gateway has no device")?.parse()?)
    }

    /// Where clients reach it, by path `n`.
    pub fn endpoint(n: u64) -> SocketAddr {
        endpoint(n, PORT)
    }

    /// A client `client-<n>` in each of these namespaces, from 1, by path `n` alone; all are ready for use when this
    /// returns.
    ///
    /// # Errors
    /// If a program does not start, or no ping comes back.
    pub fn clients(&self, site: &Site, namespaces: &[Namespace]) -> Result<Vec<Open>> {
        let one = |(n, namespace): (u64, &Namespace)| -> Result<Open> {
            let token = self.invite_by(site, &format!("client-{n}"), n)?;
            let (state, path) = (fresh_directory(site, "client")?, path_of(n));
            let words = ["up", &token, "--state", text(&state)?, "--path", &path];
            let mut open = Open::bare(INSIDE.parse()?);
            open.processes = vec![("ropewalk up", namespace.start(&self.program, words)?)];
            wait_for_ping_from(namespace, &mut open)?;
            Ok(open)
        };
        let all = (1..).zip(namespaces).map(one).collect::<Result<Vec<_>>>()?;
        std::thread::sleep(SETTLE);
        Ok(all)
    }

    /// `ropewalk status --json` of the gateway.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn status(&self, site: &Site) -> Result<serde_json::Value> {
        status(&site.lab.gateway, &self.program, &self.state)
    }

    /// Makes an invite; gives its token.
    ///
    /// # Errors
    /// What the program said.
    pub fn invite(&self, site: &Site, name: &str) -> Result<String> {
        self.invite_by(site, name, 1)
    }

    /// The same with a token that names path `n`.
    fn invite_by(&self, site: &Site, name: &str, n: u64) -> Result<String> {
        let to = Gateway::endpoint(n).to_string();
        let words = ["invite", name, "--state", text(&self.state)?, "--endpoint", &to];
        let said = site.lab.gateway.exec(&self.program, words)?;
        Ok(String::from_utf8(said.stdout)?.trim().to_owned())
    }
}

pub(super) fn open(program: &Path, site: &Site) -> Result<Open> {
    Ok(Bond::start(program, site, "")?.open)
}

/// No UDP passes on path 2, and TLS is found there; with `udp`, path 1 goes by UDP besides.
pub(super) fn open_by_tls(program: &Path, site: &Site, udp: bool) -> Result<Open> {
    let blocked = Paths::interface(2);
    let rules = format!(
        "nft 'add table inet hinder; add chain inet hinder i {{ type filter hook input priority 0; }}; flush table inet hinder; \
         add rule inet hinder i iifname {blocked} udp dport {PORT} drop'"
    );
    site.lab.gateway.shell(&rules)?;
    let listen = format!("0.0.0.0:{TLS_PORT}");
    let gateway = Gateway::start_with(program, site, 24, &["--tls-listen", &listen])?;
    let token = gateway.invite_by(site, "bench", 2)?;
    let state = fresh_directory(site, "client")?;
    let mut words = vec!["up".to_owned(), token, "--state".to_owned(), text(&state)?.to_owned()];
    words.extend(["--path".to_owned(), blocked]);
    if udp {
        words.extend(["--path".to_owned(), path_of(1)]);
    }
    let client = site.lab.client.start(&gateway.program, words)?;
    let mut open = Open::bare(INSIDE.parse()?);
    open.processes = vec![("ropewalk up", client), ("ropewalk serve", gateway.process)];
    wait_for_ping(site, &mut open)?;
    let bond = Bond { open, program: gateway.program, state };
    let until = Instant::now() + TLS_PATIENCE;
    while !bond.goes_by_tls(site)? {
        anyhow::ensure!(Instant::now() < until, "TLS was not found: {}", bond.open.said());
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(SETTLE);
    Ok(bond.open)
}

/// A client and its gateway.
pub struct Bond {
    /// The system through it; the client's process is the first.
    pub open: Open,
    program: String,
    /// The client's.
    state: PathBuf,
}

impl Bond {
    /// Starts both; the client reads `config`, unless that is empty.
    ///
    /// # Errors
    /// If a program does not start, or no ping comes back.
    pub fn start(program: &Path, site: &Site, config: &str) -> Result<Bond> {
        let gateway = Gateway::start(program, site, 24)?;
        let token = gateway.invite(site, "bench")?;
        let state = fresh_directory(site, "client")?;
        let mut words = vec!["up".to_owned(), token, "--state".to_owned(), text(&state)?.to_owned()];
        if !config.is_empty() {
            let file = state.with_extension("toml");
            std::fs::write(&file, config).context("the client's configuration cannot be written")?;
            words.extend(["--config".to_owned(), text(&file)?.to_owned()]);
        }
        (1..=site.paths).for_each(|n| words.extend(["--path".to_owned(), path_of(n)]));
        let client = site.lab.client.start(&gateway.program, words)?;
        let mut open = Open::bare(INSIDE.parse()?);
        open.processes = vec![("ropewalk up", client), ("ropewalk serve", gateway.process)];
        wait_for_ping(site, &mut open)?;
        std::thread::sleep(SETTLE);
        Ok(Bond { open, program: gateway.program, state })
    }

    /// `ropewalk status --json` of the client.
    ///
    /// # Errors
    /// If the client does not answer.
    pub fn status(&self, site: &Site) -> Result<serde_json::Value> {
        status(&site.lab.client, &self.program, &self.state)
    }

    fn goes_by_tls(&self, site: &Site) -> Result<bool> {
        let status = self.status(site)?;
        let paths = status["peers"][0]["paths"].as_array().cloned().unwrap_or_default();
        Ok(paths.iter().any(|p| p["carrier"] == "tls" && p["state"] == "active"))
    }

    /// Takes path `n` away.
    ///
    /// # Errors
    /// What the program said.
    pub fn remove_path(&self, site: &Site, n: u64) -> Result<()> {
        let words = ["path", "remove", "--state", text(&self.state)?, &path_of(n)];
        site.lab.client.exec(&self.program, words)?;
        Ok(())
    }

    /// Adds it again.
    ///
    /// # Errors
    /// What the program said.
    pub fn add_path(&self, site: &Site, n: u64) -> Result<()> {
        let words = ["path", "add", "--state", text(&self.state)?, &path_of(n)];
        site.lab.client.exec(&self.program, words)?;
        Ok(())
    }
}

/// Path `n` as the client's options name it.
fn path_of(n: u64) -> String {
    format!("{}@{}", Paths::interface(n), endpoint(n, PORT))
}

fn status(namespace: &Namespace, program: &str, state: &Path) -> Result<serde_json::Value> {
    let said = namespace.exec(program, ["status", "--json", "--state", text(state)?])?;
    Ok(serde_json::from_slice(&said.stdout)?)
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
