//! Two gateways of a fleet and a client, with a real etcd behind TLS. The one that serves is
//! killed; connections go on by the other.
//!
//! ```text
//!   client ─ wan1, wan2 ─ hub ─ g1 ─┐
//!                          │  ─ g2 ─┴ (both by the hub, which has the route to the client's inner address follow the store)
//!                          ├─ etcd, 10.5.0.1:2379
//!                          └─ server 10.3.0.2
//! ```

mod bunch;
mod granted;
mod guide;

use crate::common::flow::Flow;
use crate::common::{BINARY, States, eventually, root, ropewalk};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ropewalk_fleet::{Etcd, Ledger, StoreAddress, TlsFiles};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};
use rustix::process::Signal;
use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Fleets measure what is missing for a moment, so there is one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static FLEET: Mutex<()> = Mutex::new(());
    FLEET.lock().unwrap_or_else(PoisonError::into_inner)
}

const STORE: &str = "etcd://10.5.0.1:2379/fleet";
const LONG: Duration = Duration::from_secs(60);
/// How long answers may be missing at most: two seconds are promised, on a machine that is not
/// loaded.
const GAP: Duration = Duration::from_secs(4);

/// Certificates of etcd and of a gateway, and who signed them.
struct Certificates {
    ca: String,
    etcd: [String; 2],
    gateway: [String; 2],
}

impl Certificates {
    fn make(dir: &Path) -> Certificates {
        std::fs::create_dir_all(dir).unwrap();
        let write = |name: &str, label: &str, der: &[u8]| {
            let path = dir.join(name).display().to_string();
            let text = format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der));
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let ca = write("ca.pem", "CERTIFICATE", params.self_signed(&key).unwrap().der());
        let issuer = Issuer::new(params, key);
        let issue = |name: &str| {
            let mut params = CertificateParams::new(vec!["10.5.0.1".to_owned()]).unwrap();
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            [
                write(&format!("{name}.pem"), "CERTIFICATE", certificate.der()),
                write(&format!("{name}.key"), "PRIVATE KEY", &key.serialize_der()),
            ]
        };
        let (etcd, gateway) = (issue("etcd"), issue("gateway"));
        Certificates { ca, etcd, gateway }
    }

    fn files(&self) -> TlsFiles {
        let [certificate, key] = self.gateway.clone().map(PathBuf::from);
        TlsFiles { ca: self.ca.clone().into(), own: Some((certificate, key)) }
    }
}

/// The hub's route to the client's inner address leads to the gateway that the store says.
struct Router {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    fn start(hub: &Namespace, tls: TlsFiles) -> Router {
        let (hub, stop) = (hub.clone(), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let inside = hub.clone();
            let follow = move || {
                let address: StoreAddress = STORE.parse().unwrap();
                let mut now = None;
                let mut ledger = Ledger::new(&Etcd::new(&address, Some(&tls)).unwrap(), &address.prefix);
                let look = async {
                    while !ended.load(Ordering::Relaxed) {
                        if let Ok(copy) = ledger.read().await
                            && let Some(serving) =
                                copy.serving("alice").filter(|s| Some(&s.gateway) != now.as_ref())
                        {
                            let via = if serving.gateway == "g1" { "10.2.1.2" } else { "10.2.2.2" };
                            let route = format!("route replace {}/32 via {via}", serving.inside[0]);
                            inside.ip(&[route]).unwrap();
                            now = Some(serving.gateway.clone());
                        }
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    Ok::<(), std::io::Error>(())
                };
                ropewalk_fleet::block_on(look).unwrap();
            };
            hub.run(follow).unwrap();
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

struct World {
    topology: Topology,
    client: Namespace,
    hub: Namespace,
    gateways: [Namespace; 2],
    server: Namespace,
    states: States,
    tls: Certificates,
}

impl World {
    fn new(name: &str) -> World {
        let (topology, states) = (Topology::new().unwrap(), States::new(name));
        let [client, hub, g1, g2, server] =
            ["client", "hub", "g1", "g2", "server"].map(|name| topology.namespace(name).unwrap());
        let link = |to: &Namespace, there: &str, ours: &str, theirs: &str, hubs: &str| {
            topology.veth((to, End::new(there, [theirs])), (&hub, End::new(ours, [hubs]))).unwrap();
        };
        link(&client, "wan1", "c1", "10.1.1.1/24", "10.1.1.254/24");
        link(&client, "wan2", "c2", "10.1.2.1/24", "10.1.2.254/24");
        link(&g1, "eth0", "g1", "10.2.1.2/24", "10.2.1.1/24");
        link(&g2, "eth0", "g2", "10.2.2.2/24", "10.2.2.1/24");
        link(&server, "eth0", "s", "10.3.0.2/24", "10.3.0.1/24");
        hub.ip(&["address add 10.5.0.1/32 dev lo"]).unwrap();
        client
            .ip(&[
                "route add 10.2.0.0/16 via 10.1.1.254 dev wan1 metric 1",
                "route add 10.2.0.0/16 via 10.1.2.254 dev wan2 metric 2",
            ])
            .unwrap();
        g1.ip(&["route add default via 10.2.1.1"]).unwrap();
        g2.ip(&["route add default via 10.2.2.1"]).unwrap();
        server.ip(&["route add default via 10.3.0.1"]).unwrap();
        [&hub, &g1, &g2].into_iter().for_each(|ns| ns.sysctl("net.ipv4.ip_forward", "1").unwrap());
        let tls = Certificates::make(Path::new(&states.of("tls")));
        World { topology, client, hub, gateways: [g1, g2], server, states, tls }
    }

    fn etcd(&self) -> Process {
        let data = self.states.of("etcd");
        let [certificate, key] = &self.tls.etcd;
        let url = "https://10.5.0.1:2379";
        let args = [
            "--data-dir",
            &data,
            "--listen-client-urls",
            url,
            "--advertise-client-urls",
            url,
            "--listen-peer-urls",
            "http://127.0.0.1:2380",
            "--client-cert-auth",
            "--trusted-ca-file",
            &self.tls.ca,
            "--cert-file",
            certificate,
            "--key-file",
            key,
        ];
        self.hub.start("etcd", args).unwrap()
    }

    fn store(&self) -> [&str; 8] {
        let [certificate, key] = &self.tls.gateway;
        ["--store", STORE, "--store-ca", &self.tls.ca, "--store-cert", certificate, "--store-key", key]
    }

    /// Both gateways, when they know of each other.
    fn both_gateways(&self) -> [Option<Process>; 2] {
        let mut gateways = [1, 2].map(|n| self.serve(n, &[]));
        for gateway in &mut gateways {
            gateway.wait_for_line("gateway ready", LONG).unwrap();
        }
        eventually("both are alive", || {
            self.status("g1")["fleet"]["gateways"].as_array().is_some_and(|all| all.len() == 2)
        });
        gateways.map(Some)
    }

    fn serve(&self, n: usize, more: &[&str]) -> Process {
        let (name, state) = (format!("g{n}"), self.states.of(&format!("g{n}")));
        let listen = format!("10.2.{n}.2:4500");
        let args =
            ["serve", "--state", &state, "--listen", &listen, "--address", "10.77.0.1/24", "--name", &name];
        let store = self.store();
        self.gateways[n - 1].start(BINARY, args.iter().chain(&store).chain(more)).unwrap()
    }

    fn up(&self, token: &str) -> Process {
        let state = self.states.of("client");
        let args =
            ["up", token, "--state", &state, "--path", "wan1", "--path", "wan2", "--route", "10.3.0.0/24"];
        let mut client = self.client.start(BINARY, args).unwrap();
        client.wait_for_line("connected", LONG).unwrap();
        client
    }

    /// The client says that it came from one gateway to the other, and what the first did.
    fn client_moved(&self, (from, to): (usize, usize), why: &str) {
        let [from, to] = [from, to].map(|n| format!("10.2.{n}.2:4500"));
        let mut said = serde_json::Value::Null;
        eventually(&format!("the client says that {from} {why}"), || {
            said = self.status("client")["gateways"].clone();
            said["here"] == serde_json::json!([to]) && said["moved"]["why"] == why
        });
        assert_eq!(said["moved"]["from"], serde_json::json!([from]));
        assert_eq!(said["others"], said["moved"]["from"]);
        let (_, shown, _) = ropewalk(&["status", "--state", &self.states.of("client")]);
        assert!(shown.contains(&format!("\n  at {to}; ")), "{shown}");
        assert!(shown.contains(&format!(" ago {from} {why}; other endpoints: {from}\n")), "{shown}");
    }

    fn status(&self, end: &str) -> serde_json::Value {
        let (code, out, err) = ropewalk(&["status", "--json", "--state", &self.states.of(end)]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    /// Which gateway serves, by itself.
    fn serves(&self, n: usize) -> bool {
        self.status(&format!("g{n}"))["peers"].as_array().unwrap().iter().any(|p| p["up"] == true)
    }

    /// Answers that are missing while `act` happens, as time.
    fn gap(&self, act: impl FnOnce()) -> Duration {
        let every = Duration::from_millis(20);
        let ping = Ping::new("10.3.0.2".parse().unwrap()).count(300).interval(every).start(&self.client);
        std::thread::sleep(Duration::from_millis(500));
        act();
        let report = ping.join().unwrap().unwrap();
        every * (report.sent - report.received) as u32
    }

    /// The command, where it reaches the store.
    fn with_store(&self, args: &[&str]) -> String {
        let out = self.hub.exec(BINARY, args.iter().chain(&self.store())).unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Whether a gateway holds somebody to a quota.
    fn holds(&self, n: usize) -> bool {
        self.gateways[n - 1].shell("nft list ruleset").unwrap().contains("-quotas")
    }

    /// Waits longer than [`eventually`]: usage goes by the store.
    fn in_the_end(what: &str, mut so: impl FnMut() -> bool) {
        let until = Instant::now() + LONG;
        while !so() {
            assert!(Instant::now() < until, "{what}: not within {LONG:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Who has used a quota up is stopped by the gateway that serves it, and by the next one.
    fn holds_a_client_to_its_quota(&self) {
        let (first, second) = if self.serves(1) { (1, 2) } else { (2, 1) };
        assert!(!self.holds(first) && !self.holds(second));
        self.with_store(&["quota", "set", "alice", "2MB"]);
        let source = self.client.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
        World::in_the_end("it is used up", || {
            (0..100).for_each(|_| drop(source.send_to(&[7; 1000], "10.3.0.2:9002")));
            self.holds(first)
        });
        World::in_the_end("the store knows", || {
            self.with_store(&["quota", "list"]).contains("2.0 MB this month, stopped until")
        });
        let drained = self.states.of(&format!("g{first}"));
        assert_eq!(ropewalk(&["drain", "--state", &drained]).0, 0);
        World::in_the_end("it is over at the other, too", || self.serves(second) && self.holds(second));
        World::in_the_end("and the first has nobody to hold", || !self.holds(first));
        assert_eq!(ropewalk(&["drain", "--off", "--state", &drained]).0, 0);
        self.with_store(&["quota", "set", "alice", "1TB"]);
        World::in_the_end("raised, it is lifted", || !self.holds(second));
    }

    /// Gateways that the store has for alive.
    fn alive(&self) -> Vec<String> {
        let tls = self.tls.files();
        let look = move || {
            let address: StoreAddress = STORE.parse().unwrap();
            let mut ledger = Ledger::new(&Etcd::new(&address, Some(&tls)).unwrap(), &address.prefix);
            ropewalk_fleet::block_on(ledger.overview()).unwrap()
        };
        self.hub.run(look).unwrap().into_iter().map(|g| g.name).collect()
    }

    /// Tokens name the TLS of the gateway that offers it, and no other host with its port.
    fn tokens_name_tls_where_it_is(&self, (with, without): (usize, usize)) {
        let of = |token: &str| -> Vec<String> {
            let token: ropewalk_session::Token = token.trim().parse().unwrap();
            token.tls_endpoints().iter().map(ToString::to_string).collect()
        };
        let own = [format!("10.2.{with}.2:8443")];
        // Its record may be on its way.
        let mut n = 0;
        eventually("the store knows of the TLS", || {
            n += 1;
            of(&self.with_store(&["invite", &format!("tls{n}")])) == own
        });
        let named = ["--endpoint", "gw.example.org:4500"];
        for (gateway, more) in [(with, &named[..0]), (without, &named[..0]), (with, &named[..])] {
            // A gateway follows the store, and may be behind it for a moment.
            eventually(&format!("g{gateway} {more:?} knows of the TLS"), || {
                n += 1;
                let (name, state) = (format!("tls{n}"), self.states.of(&format!("g{gateway}")));
                let args = ["invite", name.as_str(), "--state", state.as_str()];
                let (code, token, err) = ropewalk(&[args.as_slice(), more].concat());
                assert_eq!(code, 0, "{err}");
                of(&token) == own
            });
        }
        for n in 1..=n {
            self.with_store(&["revoke", &format!("tls{n}")]);
        }
    }
}

/// Root, and etcd; a test without them is skipped.
fn can() -> bool {
    let has_etcd = Command::new("etcd").arg("--version").output().is_ok();
    if !has_etcd {
        ropewalk_skip::skip("needs etcd (Debian: etcd-server)");
    }
    root() && has_etcd
}

#[test]
fn a_client_goes_on_when_its_gateway_dies_drains_or_loses_the_store() {
    let _alone = alone();
    if !can() {
        return;
    }
    let world = World::new("fleet");
    let mut etcd = world.etcd();
    let mut gateways = world.both_gateways();
    let (code, token, err) = ropewalk(&["invite", "alice", "--state", &world.states.of("g1")]);
    assert_eq!(code, 0, "{err}");
    let _router = Router::start(&world.hub, world.tls.files());
    let mut client = world.up(token.trim());
    let inside = world.status("client")["peers"][0]["inside"].clone();
    eventually("somebody serves", || world.serves(1) || world.serves(2));
    let (first, second) = if world.serves(1) { (1, 2) } else { (2, 1) };
    let flow = Flow::start(&world.client, &world.server, "10.3.0.2");
    flow.goes_on("a flow");

    // Nothing: pings come back, or the gaps below would say nothing.
    let gap = world.gap(|| {});
    assert!(gap < Duration::from_millis(500), "answers were missing for {gap:?}, and nothing had happened");
    let view: serde_json::Value = serde_json::from_str(&world.with_store(&["top", "--json"])).unwrap();
    let row = &view[first - 1];
    assert!(view[1]["name"] == "g2" && row["clients"] == 1 && row["lease_s"].as_i64() > Some(0), "{view}");
    assert!(row["from_clients_bps"].as_f64() > Some(0.0) && view[second - 1]["clients"] == 0, "{view}");

    // Death.
    let gap = world.gap(|| {
        let mut dead = gateways[first - 1].take().unwrap();
        dead.signal(Signal::KILL).unwrap();
        dead.wait(LONG).unwrap();
    });
    println!("killed: answers were missing for {gap:?}");
    assert!(gap < GAP, "{gap:?}");
    eventually("the other serves", || world.serves(second));
    flow.goes_on("by the other gateway");
    assert_eq!(world.status("client")["peers"][0]["inside"], inside, "its address is its own");
    world.client_moved((first, second), "did not answer");

    // The first returns, and the second drains.
    let tls = format!("10.2.{first}.2:8443");
    let mut again = world.serve(first, &["--tls-listen", &tls]);
    again.wait_for_line("gateway ready", LONG).unwrap();
    gateways[first - 1] = Some(again);
    world.tokens_name_tls_where_it_is((first, second));
    let drained = world.states.of(&format!("g{second}"));
    let gap = world.gap(|| {
        let (code, _, err) = ropewalk(&["drain", "--state", &drained]);
        assert_eq!(code, 0, "{err}");
    });
    println!("drained: answers were missing for {gap:?}");
    assert!(gap < GAP, "{gap:?}");
    eventually("the first serves", || world.serves(first));
    flow.goes_on("after a drain");
    world.client_moved((second, first), "said goodbye");
    let status = world.status(&format!("g{second}"));
    assert!(status["draining"] == true && !world.serves(second), "{status}");
    assert_eq!(ropewalk(&["drain", "--off", "--state", &drained]).0, 0);

    // Without the store sessions live, and who is known comes back.
    etcd.signal(Signal::STOP).unwrap();
    eventually("it is said", || world.status("g1")["fleet"]["reachable"] == false);
    flow.goes_on("without the store");
    client.signal(Signal::KILL).unwrap();
    client.wait(LONG).unwrap();
    drop(flow);
    let mut client = world.up(token.trim());
    let (_, shown, _) = ropewalk(&["status", "--state", &world.states.of("g1")]);
    assert!(shown.contains("new invites wait"), "{shown}");
    etcd.signal(Signal::CONT).unwrap();
    eventually("the store is back", || world.status("g1")["fleet"]["reachable"] == true);
    let flow = Flow::start(&world.client, &world.server, "10.3.0.2");
    flow.goes_on("with the store again");
    drop(flow);

    // What was used is known; out on one, out on both.
    let list = || {
        let store = world.store();
        let out = world.hub.exec(BINARY, ["clients", "--json"].iter().chain(&store)).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap_or_default()
    };
    eventually("what was used is written", || list()[0]["used_bytes"].as_u64().is_some_and(|n| n > 32_768));
    world.holds_a_client_to_its_quota();
    let elsewhere = if world.serves(1) { 2 } else { 1 };
    let (code, _, err) =
        ropewalk(&["revoke", "alice", "--state", &world.states.of(&format!("g{elsewhere}"))]);
    assert_eq!(code, 0, "{err}");
    let ended = client.wait(LONG).unwrap();
    assert_eq!(ended.code(), Some(5), "{}", client.stderr());
    assert_eq!(list(), serde_json::json!([]));

    // The store that stood still may have taken either for dead: both tell it otherwise. Who stops,
    // leaves: nobody waits for its lease.
    eventually("both are alive", || world.alive() == ["g1", "g2"]);
    let mut second = gateways[1].take().unwrap();
    second.signal(Signal::TERM).unwrap();
    second.wait(LONG).unwrap();
    assert_eq!(world.alive(), ["g1"]);

    // Where no fleet ever was, an endpoint would not help.
    let mut elsewhere = world.store();
    elsewhere[1] = "etcd://10.5.0.1:2379/elsewhere";
    let said = world.hub.exec(BINARY, ["invite", "eve"].iter().chain(&elsewhere)).unwrap_err().to_string();
    assert!(said.contains("status: 2") && said.contains("no fleet of this prefix"), "{said}");

    // Of a gateway that does not run the state directory is not what counts.
    gateways[0].take().unwrap().stop();
    let g1 = world.states.of("g1");
    for args in [["invite", "bob"].as_slice(), &["revoke", "alice"], &["clients"]] {
        let (code, _, err) = ropewalk(&[args, &["--state", &g1]].concat());
        assert!(code == 2 && err.contains(STORE), "{args:?}: {code} {err}");
    }
    drop(world.topology);
}

/// The program, to be started as somebody who is not root, and who that is.
struct Unprivileged {
    uid: u32,
    program: String,
    open: Option<OwnedFd>,
}

impl Unprivileged {
    fn new() -> Unprivileged {
        match rustix::process::getuid().as_raw() {
            0 => {
                // Where it lies nobody else may get to; what is open anybody may run.
                let open = rustix::io::dup(File::open(BINARY).unwrap()).unwrap();
                let program = format!("/proc/self/fd/{}", open.as_raw_fd());
                Unprivileged { uid: 65_534, program, open: Some(open) }
            }
            uid => Unprivileged { uid, program: BINARY.into(), open: None },
        }
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = Command::new(&self.program);
        if self.open.is_some() {
            command.uid(self.uid).gid(self.uid);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// Whose a process's files are: root's if nobody may look into it, and it leaves no core (proc(5)).
fn owner(process: &Child) -> u32 {
    std::fs::metadata(format!("/proc/{}/status", process.id())).unwrap().uid()
}

fn end(mut process: Child) {
    let _ = process.kill();
    process.wait().unwrap();
}

#[test]
fn commands_that_ask_the_store_keep_what_it_says_to_themselves() {
    let user = Unprivileged::new();
    // Nobody reads what it prints, so it stays.
    let open = user.start(&["completions", "bash"]);
    eventually("a command without secrets may be looked into", || owner(&open) == user.uid);
    end(open);
    // A store that says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let store = format!("etcd://{}/fleet", listener.local_addr().unwrap());
    for words in [
        ["clients"].as_slice(),
        &["revoke", "x"],
        &["quota", "list"],
        &["exit", "list"],
        &["invite", "x"],
        &["top"],
    ] {
        let process = user.start(&[words, &["--store", &store]].concat());
        let mut asked = None;
        eventually(&format!("{words:?} asks the store"), || {
            asked = listener.accept().ok();
            asked.is_some()
        });
        assert_eq!(owner(&process), 0, "{words:?}");
        end(process);
    }
}
