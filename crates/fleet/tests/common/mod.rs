//! Real etcd nodes on loopback ports, which may be killed and held.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ropewalk_fleet::pool::Pool;
use ropewalk_fleet::{Etcd, Evict, Join, JoinError, Ledger, Member, Reach, StoreAddress, TlsFiles};
use ropewalk_session::StaticKey;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
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

/// A gateway that has joined: its part in the fleet, the fleet's key, and whom it is told to put
/// out.
pub(crate) fn join(
    address: StoreAddress,
    tls: Option<TlsFiles>,
    [name, instance]: [&str; 2],
    network: &str,
) -> Result<(Member, StaticKey, Receiver<Evict>), JoinError> {
    let (tell, told) = channel();
    let seed = instance.bytes().fold(0u64, |seed, b| seed.wrapping_mul(31).wrapping_add(b.into()));
    let join = Join {
        address,
        tls,
        name: name.into(),
        instance: instance.into(),
        pool: Pool::new(&[network.parse().unwrap()]).unwrap(),
        new_key: StaticKey::generate(&mut ChaCha8Rng::seed_from_u64(seed)).unwrap(),
        evict: Box::new(move |evict| {
            let _ = tell.send(evict);
        }),
    };
    let (member, key) = Member::join(join)?;
    member.start(Reach { endpoints: vec![format!("{name}.example:4500")], tls: Vec::new() }).unwrap();
    Ok((member, key, told))
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
    /// What each is started with.
    args: Vec<Vec<String>>,
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
        let args = |n: usize| {
            let (client, peer) =
                (format!("{scheme}://127.0.0.1:{}", ports[n]), format!("http://127.0.0.1:{}", peers[n]));
            let (name, data) = (format!("n{n}"), place.0.join(format!("n{n}")).display().to_string());
            let own = ["--name", &name, "--data-dir", &data]
                .into_iter()
                .chain(["--listen-client-urls", &client, "--advertise-client-urls", &client])
                .chain(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
                .chain(["--initial-cluster", &members.join(","), "--initial-cluster-state", "new"])
                .chain(["--heartbeat-interval", "100", "--election-timeout", "1000"])
                .map(str::to_owned)
                .collect::<Vec<_>>();
            own.into_iter().chain(flags.iter().cloned()).collect()
        };
        let args: Vec<Vec<String>> = (0..nodes).map(args).collect();
        let mut cluster = Cluster { nodes: Vec::new(), args, ports: ports.to_vec(), scheme, place };
        cluster.nodes = (0..nodes).map(|n| Some(cluster.spawn(n))).collect();
        cluster
    }

    fn spawn(&self, node: usize) -> Child {
        let log = std::fs::File::create(self.place.0.join(format!("n{node}.log"))).unwrap();
        let mut etcd = Command::new("etcd");
        etcd.args(&self.args[node]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        etcd.spawn().unwrap()
    }

    fn data(&self, node: usize) -> PathBuf {
        self.place.0.join(format!("n{node}"))
    }

    /// The only node stops, something is done with its data, and it comes back.
    fn meanwhile(&mut self, act: impl FnOnce(&Path, &Path)) {
        self.kill(0);
        act(&self.data(0), &self.place.0.join("backup"));
        self.nodes[0] = Some(self.spawn(0));
        self.wait(None);
    }

    /// Keeps a copy of what the only node has.
    pub(crate) fn back_up(&mut self) {
        self.meanwhile(copy);
    }

    /// The only node has what it had when it was backed up.
    pub(crate) fn restore(&mut self) {
        self.meanwhile(|data, backup| {
            std::fs::remove_dir_all(data).unwrap();
            copy(backup, data);
        });
    }

    /// The only node has nothing.
    pub(crate) fn empty(&mut self) {
        self.meanwhile(|data, _| std::fs::remove_dir_all(data).unwrap());
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

    /// Its first node, by a proxy.
    pub(crate) fn behind(&self, proxy: &Proxy) -> StoreAddress {
        format!("etcd://127.0.0.1:{}/test/fleet", proxy.port).parse().unwrap()
    }

    /// A proxy in front of its first node.
    pub(crate) fn proxy(&self) -> Proxy {
        Proxy::start(self.ports[0])
    }

    /// What its first node says to a request that nobody but a test makes.
    pub(crate) fn raw(&self, path: &str, body: &str) -> String {
        let mut tcp = TcpStream::connect(("127.0.0.1", self.ports[0])).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        tcp.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Writes a key that need be no text.
    pub(crate) fn put(&self, key: &[u8], value: &[u8]) {
        let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
        let answer = self.raw("/v3/kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#));
        assert!(answer.contains("200 OK"), "{answer}");
    }

    /// Takes a key away.
    pub(crate) fn delete(&self, key: &str) {
        let answer = self.raw("/v3/kv/deleterange", &format!(r#"{{"key":"{}"}}"#, STANDARD.encode(key)));
        assert!(answer.contains("200 OK"), "{answer}");
    }

    /// A field of a key, as its answer has it.
    fn field(&self, key: &str, field: &str) -> Option<String> {
        let answer = self.raw("/v3/kv/range", &format!(r#"{{"key":"{}"}}"#, STANDARD.encode(key)));
        let (_, rest) = answer.split_once(&format!(r#""{field}":""#))?;
        Some(rest[..rest.find('"')?].to_owned())
    }

    /// The revision at which a key was made.
    pub(crate) fn made(&self, key: &str) -> Option<String> {
        self.field(key, "create_revision")
    }

    /// What a key says.
    pub(crate) fn value(&self, key: &str) -> Option<Vec<u8>> {
        Some(STANDARD.decode(self.field(key, "value")?).unwrap())
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
        // It has many threads, and one that is not stopped yet may still answer.
        if let Some(child) = &self.nodes[node] {
            waitpid(Some(Pid::from_child(child)), WaitOptions::UNTRACED).unwrap();
        }
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

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success(), "{} to {}", from.display(), to.display());
}

/// Stands between a gateway and a node, and can be cut.
pub(crate) struct Proxy {
    port: u16,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    /// Nothing passes, and connections are closed.
    is_cut: AtomicBool,
    /// What watches say stays here.
    is_dumb: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    fn start(node: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, way) = (listener.local_addr().unwrap().port(), Arc::new(Way::default()));
        let own = Arc::clone(&way);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if own.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", node)) else { continue };
                let is_watch = Arc::new(AtomicBool::new(false));
                own.open.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (from, to, is_answer) in
                    [(near.try_clone().unwrap(), far.try_clone().unwrap(), false), (far, near, true)]
                {
                    let (way, is_watch) = (Arc::clone(&own), Arc::clone(&is_watch));
                    std::thread::spawn(move || way.carry(from, to, is_answer, &is_watch));
                }
            }
        });
        Proxy { port, way }
    }

    /// Cuts it, or mends it.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.way.is_cut.store(is_cut, Ordering::SeqCst);
        if is_cut {
            let all = std::mem::take(&mut *self.way.open.lock().unwrap());
            all.iter().for_each(|tcp| drop(tcp.shutdown(Shutdown::Both)));
        }
    }

    /// Keeps what watches say, or lets it pass.
    pub(crate) fn silence_watches(&self, is_dumb: bool) {
        self.way.is_dumb.store(is_dumb, Ordering::SeqCst);
    }
}

impl Way {
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, is_answer: bool, is_watch: &AtomicBool) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if !is_answer && buffer[..n].windows(9).any(|w| w == b"/v3/watch") {
                is_watch.store(true, Ordering::SeqCst);
            }
            while is_answer && is_watch.load(Ordering::SeqCst) && self.is_dumb.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
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
