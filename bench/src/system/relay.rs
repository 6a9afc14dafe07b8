//! The bare relay over path 1: see [`crate::relay`].

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ropewalk_lab::{Namespace, Paths, Process};

use super::{NICE, Open, endpoint, wait_for_ping};
use crate::relay::DEVICE;
use crate::site::Site;

const PORT: u16 = 51_821;
/// Inner addresses of client and gateway.
const INSIDE: [&str; 2] = ["10.79.0.2", "10.79.0.1"];
/// Of the device: what Ropewalk and wireguard-go give theirs, so that each packet is one datagram.
const MTU: u32 = 1420;
/// How long its device may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn open(program: &Path, site: &Site) -> Result<Open> {
    let here = format!("{}:{PORT}", Paths::client_address(1));
    let there = endpoint(1, PORT).to_string();
    let (client, gateway) = (&site.lab.client, &site.lab.gateway);
    let gateway = start(program, gateway, (&there, &here), INSIDE[1])?;
    let client = start(program, client, (&here, &there), INSIDE[0])?;
    let mut open = Open::bare(INSIDE[1].parse()?);
    open.processes = vec![("relay, client", client), ("relay, gateway", gateway)];
    wait_for_ping(site, &mut open)?;
    Ok(open)
}

/// Starts one end, as far before other programs as Ropewalk's daemons put themselves.
fn start(
    program: &Path,
    namespace: &Namespace,
    (local, remote): (&str, &str),
    inside: &str,
) -> Result<Process> {
    let program = program.to_str().context("the path of this program is not UTF-8")?;
    let nice = NICE.to_string();
    let words = ["-n", &nice, program, "relay", "--local", local, "--remote", remote];
    let mut process = namespace.start("nice", words)?;
    let up = [format!("address add {inside}/24 dev {DEVICE}"), format!("link set {DEVICE} mtu {MTU} up")];
    let until = Instant::now() + PATIENCE;
    while namespace.ip(&up).is_err() {
        if process.exit_status()?.is_some() || Instant::now() >= until {
            bail!("the relay does not start: {}", process.stderr().trim());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(process)
}
