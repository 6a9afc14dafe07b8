//! wireguard-go over path 1, set up by the userspace interface that every WireGuard offers.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rand::RngCore;
use ropewalk_lab::{Namespace, Process};
use ropewalk_session::StaticKey;

use super::{Open, endpoint, wait_for_ping};
use crate::site::Site;

const MODULE: &str = "golang.zx2c4.com/wireguard@latest";
const PORT: u16 = 51_820;
const INTERFACE: &str = "wg0";
/// Inner addresses of client and gateway.
const INSIDE: [&str; 2] = ["10.78.0.2", "10.78.0.1"];
/// How long a device may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);
/// wireguard-go keeps its socket below /run. It gets one of its own, which ends with it even if it is killed.
const START: &str = r#"mount -t tmpfs none /run && exec nice -n "$2" "$0" -f "$1""#;

/// Builds the newest wireguard-go from the Go proxy below `cache`, unless it is there; gives the program and its version.
///
/// # Errors
/// If there is no Go, or no way to its proxy.
pub fn install(cache: &Path) -> Result<(PathBuf, String)> {
    std::fs::create_dir_all(cache)?;
    let cache = cache.canonicalize()?;
    let program = cache.join("bin/wireguard");
    if !program.exists() {
        let folders = [("GOBIN", "bin"), ("GOMODCACHE", "mod"), ("GOCACHE", "build")];
        let said = Command::new("go")
            .args(["install", MODULE])
            .env("GOFLAGS", "-modcacherw")
            .envs(folders.map(|(key, folder)| (key, cache.join(folder))))
            .output()
            .context("cannot run go")?;
        ensure!(said.status.success(), "go install {MODULE}: {}", String::from_utf8_lossy(&said.stderr));
    }
    let said = Command::new("go").args(["version", "-m"]).arg(&program).output().context("cannot run go")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let module = said.lines().find_map(|line| line.trim().strip_prefix("mod\tgolang.zx2c4.com/wireguard\t"));
    let version = module.and_then(|rest| rest.split('\t').next()).unwrap_or("of unknown version");
    Ok((program, version.to_owned()))
}

pub(super) fn open(program: &Path, site: &Site, nice: i32) -> Result<Open> {
    let keys = [key()?, key()?];
    let (client, gateway) = (&site.lab.client, &site.lab.gateway);
    let program = (program, nice);
    let there = start(program, gateway, &keys[1], &keys[0], None)?;
    let here = start(program, client, &keys[0], &keys[1], Some(endpoint(1, PORT)))?;
    for (namespace, address) in [client, gateway].into_iter().zip(INSIDE) {
        let up = [format!("address add {address}/24 dev {INTERFACE}"), format!("link set {INTERFACE} up")];
        namespace.ip(&up)?;
    }
    let mut open = Open::bare(INSIDE[1].parse()?);
    open.processes = vec![("wireguard-go, client", here), ("wireguard-go, gateway", there)];
    wait_for_ping(site, &mut open)?;
    Ok(open)
}

fn key() -> Result<[u8; 32]> {
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    Ok(secret)
}

/// Starts one end, whose peer has the other secret.
fn start(
    (program, nice): (&Path, i32),
    namespace: &Namespace,
    own: &[u8; 32],
    peer: &[u8; 32],
    to: Option<SocketAddr>,
) -> Result<Process> {
    let program = program.to_str().context("the path of wireguard-go is not UTF-8")?;
    // Through `ip netns` nothing would be left of /run: the shell mounts over it after the namespace was entered.
    let mut process =
        namespace.start("unshare", ["--mount", "sh", "-c", START, program, INTERFACE, &nice.to_string()])?;
    let mut stream = connect(&mut process)?;
    let hex = |key: &[u8]| key.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let mut orders = format!("set=1\nprivate_key={}\n", hex(own));
    if to.is_none() {
        writeln!(orders, "listen_port={PORT}")?;
    }
    write!(
        orders,
        "public_key={}\nallowed_ip=10.78.0.0/24\n",
        hex(StaticKey::from_bytes(peer)?.public().as_bytes())
    )?;
    if let Some(to) = to {
        writeln!(orders, "endpoint={to}")?;
    }
    stream.write_all((orders + "\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    ensure!(answer.trim() == "errno=0", "wireguard-go refused its configuration: {}", answer.trim());
    Ok(process)
}

/// Waits for the control socket, and connects to it through the process's own view of the file system.
fn connect(process: &mut Process) -> Result<UnixStream> {
    let path = format!("/proc/{}/root/run/wireguard/{INTERFACE}.sock", process.id());
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(stream) = UnixStream::connect(&path) {
            return Ok(stream);
        }
        if process.exit_status()?.is_some() || Instant::now() >= until {
            bail!("wireguard-go does not start: {}", process.stderr().trim());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
