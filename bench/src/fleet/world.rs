//! Two gateways of a fleet, three clients, and a server behind the gateways.
//!
//! ```text
//!   c0, c1, c2 ─ hub ─ g0, g1
//!                 ├─ etcd: three nodes, 10.5.0.1 to 3, by TLS, in the hub itself
//!                 └─ server, 10.3.0.2; the hub's routes to clients follow the store
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ropewalk_fleet::{Copy, Ledger, block_on};
use ropewalk_lab::{End, Namespace, Process, Topology};
use serde_json::Value;

use super::certificates::Certificates;
use super::etcd::{Cluster, place};
use super::numbers::Numbers;

/// How long anything may take until it is as it should be.
pub(crate) const LONG: Duration = Duration::from_secs(60);
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 3, 0, 2));
const CLIENTS: usize = 3;

/// A client that runs, and where its state is.
pub(crate) struct Client {
    pub process: Process,
    state: PathBuf,
    at: usize,
}

/// All of it.
pub(crate) struct World {
    _router: Router,
    running: [Option<Process>; 2],
    pub cluster: Cluster,
    program: String,
    clients: Vec<Namespace>,
    gateways: [Namespace; 2],
    hub: Namespace,
    server: Namespace,
    store: Vec<String>,
    place: PathBuf,
    _topology: Topology,
}

impl World {
    /// Both gateways run and know each other.
    pub(crate) fn new(program: &Path) -> Result<World> {
        let (topology, place) = (Topology::new()?, place("fleet")?);
        let namespace = |name: &str| topology.namespace(name);
        let (hub, server) = (namespace("hub")?, namespace("server")?);
        let gateways = [namespace("g0")?, namespace("g1")?];
        let clients = (0..CLIENTS).map(|n| namespace(&format!("c{n}"))).collect::<Result<Vec<_>, _>>()?;
        let link = |to: &Namespace, there: &str, ours: &str, net: &str| {
            let end = |interface: &str, host: u8| End::new(interface, [format!("{net}.{host}/24")]);
            topology.veth((to, end(there, 2)), (&hub, end(ours, 1)))
        };
        for (n, client) in clients.iter().enumerate() {
            link(client, "wan1", &format!("c{n}"), &format!("10.1.{n}"))?;
            client.ip(&[format!("route add 10.2.0.0/16 via 10.1.{n}.1")])?;
        }
        for (n, gateway) in gateways.iter().enumerate() {
            link(gateway, "eth0", &format!("g{n}"), &format!("10.2.{n}"))?;
            gateway.ip(&[format!("route add default via 10.2.{n}.1")])?;
        }
        link(&server, "eth0", "s", "10.3.0")?;
        server.ip(&["route add default via 10.3.0.1"])?;
        for forwards in [&hub, &gateways[0], &gateways[1]] {
            forwards.sysctl("net.ipv4.ip_forward", "1")?;
        }
        let addresses = [1, 2, 3].map(|n| format!("10.5.0.{n}"));
        let local = addresses.clone().map(|address| format!("address add {address}/32 dev lo"));
        hub.ip(&local)?;
        let files = Certificates::write(&place, &addresses)?;
        let cluster = Cluster::within(&hub, &addresses, &files, &place)?;
        let text = |path: &Path| path.display().to_string();
        let [certificate, key] = &files.gateway;
        let store = [
            ("--store", cluster.address()?.to_string()),
            ("--store-ca", text(&files.ca)),
            ("--store-cert", text(certificate)),
            ("--store-key", text(key)),
        ];
        let store = store.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect();
        let program = program.to_str().context("the path of ropewalk is not UTF-8")?.to_owned();
        let mut world = World {
            _router: Router::start(&hub, cluster.ledger()?),
            running: [None, None],
            cluster,
            program,
            clients,
            gateways,
            hub,
            server,
            store,
            place,
            _topology: topology,
        };
        world.heal()?;
        Ok(world)
    }

    fn state(&self, of: &str) -> PathBuf {
        self.place.join(of)
    }

    /// Runs the program where the store can be reached.
    fn with_store(&self, words: &[&str]) -> Result<String> {
        let words = words.iter().map(|word| (*word).to_owned()).chain(self.store.iter().cloned());
        let said = self.hub.exec(&self.program, words)?;
        Ok(String::from_utf8(said.stdout)?.trim().to_owned())
    }

    /// A token for a new client.
    pub(crate) fn invite(&self, name: &str) -> Result<String> {
        self.with_store(&["invite", name])
    }

    /// Revokes a client; twice is once.
    pub(crate) fn revoke(&self, name: &str) -> Result<()> {
        self.with_store(&["revoke", name]).map(drop)
    }

    /// The same, which goes on by itself.
    pub(crate) fn begin_to_revoke(&self, name: &str) -> Result<Process> {
        let words = ["revoke".to_owned(), name.to_owned()];
        Ok(self.hub.start(&self.program, words.iter().chain(&self.store))?)
    }

    /// A gateway takes no sessions, or takes them again.
    pub(crate) fn drain(&self, gateway: usize, drains: bool) -> Result<()> {
        let state = self.state(&format!("g{gateway}"));
        let off: &[&str] = if drains { &[] } else { &["--off"] };
        let said = Command::new(&self.program).arg("drain").args(off).arg("--state").arg(state).output()?;
        ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        Ok(())
    }

    /// A client starts in a place of three; it has connected or not when this returns.
    pub(crate) fn up(&self, at: usize, name: &str, token: &str) -> Result<Client> {
        let state = self.state(name);
        let dir = state.display().to_string();
        let words = ["up", token, "--state", &dir, "--path", "wan1", "--route", "10.3.0.0/24"];
        Ok(Client { process: self.clients[at].start(&self.program, words)?, state, at })
    }

    /// It was killed, and starts again.
    pub(crate) fn up_again(&self, client: &mut Client, token: &str) -> Result<()> {
        let dir = client.state.display().to_string();
        let words = ["up", token, "--state", &dir, "--path", "wan1", "--route", "10.3.0.0/24"];
        client.process = self.clients[client.at].start(&self.program, words)?;
        Ok(())
    }

    /// A connection from a client to the server.
    pub(crate) fn connect(&self, client: &Client) -> Result<Numbers> {
        Numbers::start(&self.clients[client.at], &self.server, SERVER)
    }

    /// The address inside of a client that is connected.
    pub(crate) fn inside(&self, client: &mut Client) -> Option<String> {
        if client.process.exit_status().ok()?.is_some() {
            return None;
        }
        let mut command = Command::new(&self.program);
        let said = command.args(["status", "--json", "--state"]).arg(&client.state).output().ok()?;
        let status: Value = serde_json::from_slice(&said.stdout).ok()?;
        let peer = status["peers"].as_array()?.iter().find(|peer| peer["up"] == true)?;
        Some(peer["inside"].to_string())
    }

    /// What the store says.
    pub(crate) fn copy(&self) -> Result<Copy> {
        self.cluster.ask(async |ledger| ledger.read().await)
    }

    /// Which gateway serves a client.
    pub(crate) fn server_of(&self, name: &str) -> Result<Option<usize>> {
        let copy = self.copy()?;
        Ok(copy.serving(name).and_then(|serving| serving.gateway.strip_prefix('g')?.parse().ok()))
    }

    /// A gateway ends as a crash would end it.
    pub(crate) fn kill_gateway(&mut self, gateway: usize) {
        if let Some(mut process) = self.running[gateway].take() {
            process.kill();
        }
    }

    /// A gateway does not reach the store.
    pub(crate) fn cut_off(&self, gateway: usize) -> Result<()> {
        Ok(self.gateways[gateway].ip(&["route add blackhole 10.5.0.0/24"])?)
    }

    /// What was killed or cut off is there again, and the store has both gateways for alive.
    pub(crate) fn heal(&mut self) -> Result<()> {
        self.cluster.all_back()?;
        for (n, gateway) in self.gateways.iter().enumerate() {
            // Where nothing was cut off there is nothing to take back.
            let _ = gateway.ip(&["route del blackhole 10.5.0.0/24"]);
            if self.running[n].is_none() {
                let (name, dir) = (format!("g{n}"), self.state(&format!("g{n}")).display().to_string());
                let listen = format!("10.2.{n}.2:4500");
                let words = [
                    "serve",
                    "--state",
                    &dir,
                    "--listen",
                    &listen,
                    "--address",
                    "10.77.0.1/24",
                    "--name",
                    &name,
                ];
                let words = words.iter().map(|word| (*word).to_owned()).chain(self.store.iter().cloned());
                self.running[n] = Some(gateway.start(&self.program, words)?);
            }
        }
        for process in self.running.iter_mut().flatten() {
            process.wait_for_line("gateway ready", LONG)?;
        }
        let both = |world: &World| {
            let alive = world.cluster.ask(async |ledger| ledger.overview().await);
            alive.is_ok_and(|all| all.len() == 2 && all.iter().all(|gateway| !gateway.endpoints.is_empty()))
        };
        ensure!(eventually(|| both(self)), "the store does not have both gateways for alive");
        Ok(())
    }
}

/// Waits until it is so; says whether it is.
pub(crate) fn eventually(so: impl FnMut() -> bool) -> bool {
    lastingly(Duration::ZERO, so)
}

/// The same, until it was so at every look for so long.
pub(crate) fn lastingly(stays: Duration, mut so: impl FnMut() -> bool) -> bool {
    let (until, mut since) = (Instant::now() + LONG, None::<Instant>);
    loop {
        let is_so = so();
        let now = Instant::now();
        since = is_so.then(|| since.unwrap_or(now));
        if since.is_some_and(|since| now - since >= stays) {
            return true;
        }
        if now >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The hub's routes to the clients' inner addresses lead to the gateways that the store says.
struct Router {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    fn start(hub: &Namespace, mut ledger: Ledger) -> Router {
        let (hub, stop) = (hub.clone(), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let inside = hub.clone();
            let follow = async {
                let mut now = BTreeMap::<IpAddr, String>::new();
                while !ended.load(Ordering::Relaxed) {
                    if let Ok(copy) = ledger.read().await {
                        route(&inside, &copy, &mut now);
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok::<(), std::io::Error>(())
            };
            // The row says what does not arrive.
            let _ = hub.run(|| block_on(follow));
        });
        Router { stop, thread: Some(thread) }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn route(hub: &Namespace, copy: &Copy, now: &mut BTreeMap<IpAddr, String>) {
    for (name, _) in copy.clients() {
        let Some(serving) = copy.serving(name) else { continue };
        let Some(n) = serving.gateway.strip_prefix('g') else { continue };
        for inside in serving.inside.iter().filter(|address| address.is_ipv4()) {
            if now.get(inside) != Some(&serving.gateway)
                && hub.ip(&[format!("route replace {inside}/32 via 10.2.{n}.2")]).is_ok()
            {
                now.insert(*inside, serving.gateway.clone());
            }
        }
    }
}

/// Addresses that two clients of the store have.
pub(crate) fn collisions(copy: &Copy) -> usize {
    let all: Vec<IpAddr> = copy.clients().flat_map(|(_, client)| client.addresses()).collect();
    all.len() - all.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_so_for_a_moment_does_not_last() {
        let mut looks = 0;
        let stays = Duration::from_secs(1);
        let begun = Instant::now();
        assert!(lastingly(stays, || {
            looks += 1;
            looks != 3
        }));
        assert!(looks > 4 && begun.elapsed() > stays, "{looks} looks");
        assert!(eventually(|| true));
    }
}
