//! Nodes of etcd, which may be killed and come back, with what they had or with a backup.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ropewalk_fleet::{Etcd, Ledger, LedgerError, StoreAddress, TlsFiles, block_on};
use ropewalk_lab::Namespace;

use super::certificates::Certificates;

/// How long nodes may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Room for what a node keeps. A million clients take more than the 2 GiB that it has otherwise.
const ROOM_BYTES: u64 = 8 << 30;
/// Where nodes of a namespace hear each other, and clients.
const PEER_PORT: u16 = 2380;
const CLIENT_PORT: u16 = 2379;

/// A cluster, which ends with its value.
pub(crate) struct Cluster {
    nodes: Vec<Option<Child>>,
    args: Vec<Vec<String>>,
    /// Where clients find them: HOST:PORT.
    hosts: Vec<String>,
    /// The namespace that they are in, and what a client shows.
    namespace: Option<(Namespace, TlsFiles)>,
    place: PathBuf,
}

impl Cluster {
    /// A node on this machine, which answers.
    pub(crate) fn alone() -> Result<Cluster> {
        let place = place("million")?;
        // Held together until both are known, so that they differ.
        let held = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [client, peer] = [held[0].local_addr()?, held[1].local_addr()?];
        drop(held);
        let peers = [peer.to_string()];
        let args = vec![args(0, &format!("http://{client}"), &peers, &place)];
        Cluster::launch(Cluster {
            nodes: vec![None],
            args,
            hosts: vec![client.to_string()],
            namespace: None,
            place,
        })
    }

    /// A node for each of these addresses of a namespace, by TLS; they answer.
    pub(super) fn within(
        namespace: &Namespace,
        addresses: &[String],
        files: &Certificates,
        place: &Path,
    ) -> Result<Cluster> {
        let peers: Vec<String> =
            (PEER_PORT..).zip(addresses).map(|(port, _)| format!("127.0.0.1:{port}")).collect();
        let hosts: Vec<String> = addresses.iter().map(|address| format!("{address}:{CLIENT_PORT}")).collect();
        let text = |path: &Path| path.display().to_string();
        let tls = [
            "--client-cert-auth".to_owned(),
            format!("--trusted-ca-file={}", text(&files.ca)),
            format!("--cert-file={}", text(&files.etcd[0])),
            format!("--key-file={}", text(&files.etcd[1])),
        ];
        let of = |node: usize| {
            [args(node, &format!("https://{}", hosts[node]), &peers, place), tls.to_vec()].concat()
        };
        let args = (0..hosts.len()).map(of).collect();
        let nodes = hosts.iter().map(|_| None).collect();
        let namespace = Some((namespace.clone(), files.files()));
        Cluster::launch(Cluster { nodes, args, hosts, namespace, place: place.to_owned() })
    }

    fn launch(mut cluster: Cluster) -> Result<Cluster> {
        cluster.all_back()?;
        Ok(cluster)
    }

    /// How many nodes it has.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Its address.
    pub(crate) fn address(&self) -> Result<StoreAddress> {
        Ok(format!("etcd://{}/bench", self.hosts.join(",")).parse()?)
    }

    /// A line to a node of this machine.
    pub(crate) fn ledger(&self) -> Result<Ledger> {
        let address = self.address()?;
        let tls = self.namespace.as_ref().map(|(_, tls)| tls);
        Ok(Ledger::new(&Etcd::new(&address, tls)?, &address.prefix))
    }

    /// Does something with a line to it, where it is.
    pub(crate) fn ask<T: Send>(
        &self,
        work: impl AsyncFnOnce(&mut Ledger) -> Result<T, LedgerError> + Send,
    ) -> Result<T> {
        let mut ledger = self.ledger()?;
        let inside = move || block_on(async { work(&mut ledger).await });
        Ok(match &self.namespace {
            Some((namespace, _)) => namespace.run(inside)??,
            None => inside()?,
        })
    }

    /// Until it answers.
    fn wait(&self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ask(async |ledger| ledger.gateways().await) {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() >= until => bail!("etcd does not answer: {error:#}"),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn data(&self, node: usize) -> PathBuf {
        self.place.join(format!("n{node}"))
    }

    /// How large the first node's database is, MiB.
    pub(crate) fn database_mib(&self) -> Result<f64> {
        let file = self.data(0).join("member/snap/db");
        Ok(std::fs::metadata(&file).with_context(|| file.display().to_string())?.len() as f64 / 1048576.0)
    }

    /// The process of the first node.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.nodes[0].as_ref().map(Child::id)
    }

    /// Ends a node as a power cut does.
    pub(crate) fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn kill_all(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill(node));
    }

    /// All nodes that are gone come back with what they have.
    pub(crate) fn all_back(&mut self) -> Result<()> {
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_none() {
                let log = File::create(self.place.join(format!("n{node}.log")))?;
                let mut etcd = match &self.namespace {
                    Some((namespace, _)) => namespace.command("etcd"),
                    None => Command::new("etcd"),
                };
                etcd.args(&self.args[node]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
                let child = etcd.spawn().context("etcd cannot be started (Debian: etcd-server)")?;
                self.nodes[node] = Some(child);
            }
        }
        self.wait()
    }

    /// Keeps a copy of what all nodes have.
    pub(crate) fn back_up(&mut self) -> Result<()> {
        self.kill_all();
        let backup = self.place.join("backup");
        let _ = std::fs::remove_dir_all(&backup);
        std::fs::create_dir(&backup)?;
        for node in 0..self.nodes.len() {
            copy(&self.data(node), &backup)?;
        }
        self.all_back()
    }

    /// All nodes have what they had when they were backed up.
    pub(crate) fn restore(&mut self) -> Result<()> {
        self.kill_all();
        for node in 0..self.nodes.len() {
            std::fs::remove_dir_all(self.data(node))?;
            copy(&self.place.join("backup").join(format!("n{node}")), &self.place)?;
        }
        self.all_back()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_all();
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

/// A directory of a row's own. In memory, if the machine can: etcd flushes each write, and the disk
/// is not what is measured.
pub(super) fn place(row: &str) -> Result<PathBuf> {
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let place = base.join(format!("ropewalk-bench-{row}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place)?;
    Ok(place)
}

fn args(node: usize, client: &str, peers: &[String], place: &Path) -> Vec<String> {
    let members: Vec<String> =
        peers.iter().enumerate().map(|(n, peer)| format!("n{n}=http://{peer}")).collect();
    let (name, peer) = (format!("n{node}"), format!("http://{}", peers[node]));
    let data = place.join(&name).display().to_string();
    ["--name", &name, "--data-dir", &data, "--quota-backend-bytes", &ROOM_BYTES.to_string()]
        .into_iter()
        .chain(["--listen-client-urls", client, "--advertise-client-urls", client])
        .chain(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .chain(["--initial-cluster", &members.join(","), "--initial-cluster-state", "new"])
        .chain(["--heartbeat-interval", "100", "--election-timeout", "1000"])
        .map(str::to_owned)
        .collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").arg("-a").args([from, to]).status()?;
    ensure!(copied.success(), "{} cannot be copied", from.display());
    Ok(())
}
