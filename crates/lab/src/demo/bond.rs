//! The real client and the real gateway.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use super::stage::Stage;
use crate::{LabError, Paths, Ping, Process, Result};

/// The gateway inside the bond.
const INSIDE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const DEVICE: &str = "rw0";
/// How long the gateway may take to start, and the bond to carry a ping.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the second path may take after the first.
const SECOND_PATH: Duration = Duration::from_secs(1);

/// A tunnel between both ends of a lab. Dropping it ends both programs.
pub(super) struct Bond {
    _client: Process,
    _gateway: Process,
}

impl Bond {
    /// Starts both ends with as little said as a person has to say: no rates, no paths.
    pub(super) fn start(program: &Path, lab: &Paths, stage: &Stage) -> Result<Bond> {
        let program = program.display().to_string();
        let state = |end| lab.topology.logs().join(end).display().to_string();
        let endpoint = format!("{}:4500", Paths::SHARED);
        let (gateway_state, client_state) = (state("gateway"), state("client"));
        stage.begin("starting the gateway and the client");
        let serve = ["serve", "--listen", "0.0.0.0:4500", "--tun", DEVICE, "--address", "10.77.0.1/24"];
        let mut gateway =
            lab.gateway.start(&program, serve.into_iter().chain(["--state", &gateway_state]))?;
        stage.say(&format!("gateway$ ropewalk {} --state DIR", serve.join(" ")));
        gateway.wait_for_line("gateway ready", PATIENCE)?;
        let invite = ["invite", "alice", "--endpoint", &endpoint, "--state", &gateway_state];
        let token = String::from_utf8_lossy(&lab.gateway.exec(&program, invite)?.stdout).trim().to_owned();
        stage.say(&format!("gateway$ ropewalk invite alice --endpoint {endpoint} --state DIR"));
        let up = ["up", &token, "--tun", DEVICE, "--state", &client_state];
        let mut client = lab.client.start(&program, up)?;
        stage.say("client$  ropewalk up TOKEN --state DIR\n");
        wait_for_ping(lab, &mut client)?;
        std::thread::sleep(SECOND_PATH);
        Ok(Bond { _client: client, _gateway: gateway })
    }

    /// The gateway's address inside.
    pub(super) fn inside(&self) -> IpAddr {
        INSIDE.into()
    }

    /// The device at both ends.
    pub(super) fn device(&self) -> &'static str {
        DEVICE
    }
}

fn wait_for_ping(lab: &Paths, client: &mut Process) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let ping = Ping::new(INSIDE.into()).count(1).timeout(Duration::from_millis(200));
    loop {
        // Before its device is there, there is no way to send.
        if ping.run(&lab.client).is_ok_and(|report| report.received > 0) {
            return Ok(());
        }
        if client.exit_status()?.is_some() || Instant::now() > until {
            return Err(LabError::Failed {
                command: "ropewalk up TOKEN".to_owned(),
                status: format!("no ping through the bond within {PATIENCE:?}"),
                said: client.stdout() + &client.stderr(),
            });
        }
    }
}
