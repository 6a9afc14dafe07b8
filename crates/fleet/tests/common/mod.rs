//! Real etcd nodes on loopback ports, which may be killed and held.
#![allow(dead_code, reason = "each test file uses its own part")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ropewalk_fleet::{Etcd, Ledger, StoreAddress, TlsFiles};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The machine may be loaded.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Whether etcd is there; a test without it is skipped.
pub(crate) fn has_etcd() -> bool {
    let there = Command::new("etcd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = there.is_ok_and(|s| s.success());
    if !there {
        ropewalk_skip::skip("needs etcd (Debian: etcd-server)");
    }
    there
}

/// Waits until it is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A directory that goes with its value.
pub(crate) struct Place(pub PathBuf);

impl Place {
    pub(crate) fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // In memory, if possible: etcd flushes each write.
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        let name = format!("ropewalk-fleet-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = base.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A cluster.
pub(crate) struct Cluster {
    nodes: Vec<Option<Child>>,
    ports: Vec<u16>,
    pub(crate) place: Place,
    scheme: &'static str,
}

impl Cluster {
    /// A cluster of so many nodes, which answers.
    pub(crate) fn start(nodes: usize) -> Cluster {
        let cluster = Cluster::launch(nodes, "http", &[]);
        cluster.wait(None);
        cluster
    }

    /// One node that lets in who has a certificate.
    pub(crate) fn with_tls(place: Place, files: &Certificates) -> Cluster {
        let text = |path: &Path| path.display().to_string();
        let flags = [
            "--client-cert-auth".to_owned(),
            format!("--trusted-ca-file={}", text(&files.ca)),
            format!("--cert-file={}", text(&files.server.0)),
            format!("--key-file={}", text(&files.server.1)),
        ];
        let cluster = Cluster::launch_in(place, 1, "https", &flags);
        cluster.wait(Some(&files.for_client()));
        cluster
    }

    fn launch(nodes: usize, scheme: &'static str, flags: &[String]) -> Cluster {
        Cluster::launch_in(Place::new(), nodes, scheme, flags)
    }

    fn launch_in(place: Place, nodes: usize, scheme: &'static str, flags: &[String]) -> Cluster {
        // Held together until all are known, so that they differ.
        let held: Vec<TcpListener> =
            (0..2 * nodes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let all: Vec<u16> = held.iter().map(|l| l.local_addr().unwrap().port()).collect();
        drop(held);
        let (ports, peers) = all.split_at(nodes);
        let members: Vec<String> =
            (0..nodes).map(|n| format!("n{n}=http://127.0.0.1:{}", peers[n])).collect();
        let start = |n: usize| {
            let (client, peer) =
                (format!("{scheme}://127.0.0.1:{}", ports[n]), format!("http://127.0.0.1:{}", peers[n]));
            let log = std::fs::File::create(place.0.join(format!("n{n}.log"))).unwrap();
            let child = Command::new("etcd")
                .args([
                    "--name",
                    &format!("n{n}"),
                    "--data-dir",
                    &place.0.join(format!("n{n}")).display().to_string(),
                ])
                .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
                .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
                .args(["--initial-cluster", &members.join(","), "--initial-cluster-state", "new"])
                .args(["--heartbeat-interval", "100", "--election-timeout", "1000"])
                .args(flags)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap();
            Some(child)
        };
        let nodes = (0..nodes).map(start).collect();
        Cluster { nodes, ports: ports.to_vec(), scheme, place }
    }

    fn wait(&self, tls: Option<&TlsFiles>) {
        let mut last = String::new();
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            let answered = ropewalk_fleet::block_on(async { self.ledger(0, tls).read().await });
            match answered {
                Ok(_) => return,
                Err(error) => last = error.to_string(),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.place.0.join("n0.log")).unwrap_or_default();
        panic!("etcd does not answer by {}: {last}\n{log}", self.scheme);
    }

    /// Its address, the node `first` first.
    pub(crate) fn address(&self, first: usize) -> StoreAddress {
        let hosts: Vec<String> = (0..self.ports.len())
            .map(|n| format!("127.0.0.1:{}", self.ports[(first + n) % self.ports.len()]))
            .collect();
        format!("etcd://{}/test/fleet", hosts.join(",")).parse().unwrap()
    }

    /// A line to it.
    pub(crate) fn ledger(&self, first: usize, tls: Option<&TlsFiles>) -> Ledger {
        let address = self.address(first);
        Ledger::new(&Etcd::new(&address, tls).unwrap(), &address.prefix)
    }

    /// Ends a node as a power cut does.
    pub(crate) fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn signal(&self, node: usize, signal: Signal) {
        if let Some(child) = &self.nodes[node] {
            kill_process(Pid::from_child(child), signal).unwrap();
        }
    }

    /// Takes a node off the network: connections to it stay, and nothing comes back.
    pub(crate) fn hold(&self, node: usize) {
        self.signal(node, Signal::STOP);
    }

    /// Brings it back.
    pub(crate) fn release(&self, node: usize) {
        self.signal(node, Signal::CONT);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Certificates of a little world.
pub(crate) struct Certificates {
    pub(crate) ca: PathBuf,
    pub(crate) server: (PathBuf, PathBuf),
    pub(crate) client: (PathBuf, PathBuf),
}

impl Certificates {
    pub(crate) fn make(dir: &Path, name: &str, host: &str) -> Certificates {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let ca = dir.join(format!("{name}-ca.pem"));
        pem(&ca, "CERTIFICATE", certificate.der());
        let issuer = Issuer::new(params, key);
        let issue = |what: &str| {
            let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
            // etcd's HTTP gateway asks etcd itself with the server's certificate.
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            let files = (dir.join(format!("{name}-{what}.pem")), dir.join(format!("{name}-{what}.key")));
            pem(&files.0, "CERTIFICATE", certificate.der());
            pem(&files.1, "PRIVATE KEY", &key.serialize_der());
            files
        };
        let (server, client) = (issue("server"), issue("client"));
        Certificates { ca, server, client }
    }

    pub(crate) fn for_client(&self) -> TlsFiles {
        TlsFiles { ca: self.ca.clone(), own: Some(self.client.clone()) }
    }
}

fn pem(path: &Path, label: &str, der: &[u8]) {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|c| std::str::from_utf8(c).unwrap()).collect();
    std::fs::write(path, format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")))
        .unwrap();
}
