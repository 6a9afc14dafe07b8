//! A gateway with several workers: each client belongs to one of them, and notices nothing of that.
//! Needs root; without it the tests pass and say so.

use crate::common::backhaul::{eventually, pings};
use crate::common::flow::Flow;
use crate::common::{BINARY, States, drop_at, root, ropewalk};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const INSIDE: &str = "10.77.0.1";
const CLIENTS: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// In the order in which they come first: even ones are of the first worker, odd ones of the second.
const ADDRESSES: [&str; 4] = ["10.77.0.2", "10.77.0.3", "10.77.0.4", "10.77.0.5"];
/// Of different workers, both ways, and of the same one.
const PAIRS: [(usize, usize); 4] = [(0, 1), (3, 2), (0, 2), (3, 1)];

struct Net {
    gateway: Namespace,
    clients: [Namespace; 4],
    /// The settings of all daemons.
    file: String,
    states: States,
    _topology: Topology,
}

/// A gateway with a cable to each of four clients.
fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let gateway = topology.namespace("gateway").unwrap();
    let clients = [1, 2, 3, 4].map(|n: usize| {
        let client = topology.namespace(CLIENTS[n - 1]).unwrap();
        let (device, at) = (format!("wan{n}"), |end: u8| format!("10.1.{n}.{end}/24"));
        topology.veth((&client, End::new("wan1", [at(1)])), (&gateway, End::new(&device, [at(2)]))).unwrap();
        client
    });
    let states = States::new(name);
    let net = Net { gateway, clients, file: states.of("all.toml"), states, _topology: topology };
    net.set("");
    net
}

impl Net {
    /// Writes the settings: keys are renewed as often as can be, and who lives says so often.
    fn set(&self, more: &str) {
        let text = format!("[engine]\nrekey-after-s = 10\nkeepalive-s = 2\n{more}\n");
        std::fs::write(&self.file, text).unwrap();
    }

    fn serve(&self, more: &[&str]) -> Process {
        let state = self.states.of("gateway");
        let common = ["serve", "--state", &state, "--tun", "rw0", "--address", "10.77.0.1/24"];
        let own = ["--workers", "2", "--config", &self.file];
        let mut gateway = self.gateway.start(BINARY, common.iter().chain(&own).chain(more)).unwrap();
        gateway.wait_for_line("gateway ready", PATIENCE).unwrap();
        gateway
    }

    /// A token for the client with this number.
    fn invite(&self, n: usize) -> String {
        let endpoint = format!("10.1.{}.2:4500", n + 1);
        let state = self.states.of("gateway");
        let (code, token, error) =
            ropewalk(&["invite", CLIENTS[n], "--state", &state, "--endpoint", &endpoint]);
        assert_eq!(code, 0, "{error}");
        token.trim().to_owned()
    }

    /// Starts the client with this number; without words it comes by the token that it knows.
    fn start(&self, n: usize, words: &[&str]) -> Process {
        let state = self.states.of(CLIENTS[n]);
        let args = ["up", "--state", &state, "--tun", "rw0", "--path", "wan1", "--config", &self.file];
        self.clients[n].start(BINARY, args.iter().chain(words)).unwrap()
    }

    fn up(&self, n: usize, words: &[&str]) -> Process {
        let mut client = self.start(n, words);
        client.wait_for_line("connected", PATIENCE).unwrap();
        client
    }

    /// The client with this number comes for the first time.
    fn come(&self, n: usize) -> Process {
        let token = self.invite(n);
        self.up(n, &[token.as_str()])
    }

    /// All come, one after the other.
    fn all_come(&self) -> [Process; 4] {
        let clients = [0, 1, 2, 3].map(|n| self.come(n));
        self.has_sessions([2, 2]);
        clients
    }

    fn status(&self) -> Value {
        let (code, out, err) = ropewalk(&["status", "--json", "--state", &self.states.of("gateway")]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    /// A figure of each worker.
    fn of_workers(&self, key: &str) -> Vec<u64> {
        let status = self.status();
        let workers = status["workers"].as_array().unwrap();
        workers.iter().map(|worker| worker[key].as_u64().unwrap()).collect()
    }

    fn has_sessions(&self, each: [u64; 2]) {
        eventually(&format!("sessions {each:?}"), || self.of_workers("sessions") == each);
    }

    /// All sessions of the client with this number.
    fn peers(&self, n: usize) -> Vec<Value> {
        let all = self.status()["peers"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|peer| peer["name"] == CLIENTS[n]).collect()
    }

    /// The one that works; null if none does.
    fn peer(&self, n: usize) -> Value {
        self.peers(n).into_iter().find(|peer| peer["up"] == true).unwrap_or_default()
    }

    /// Whether pings are answered in both directions.
    fn both_ping(&self, n: usize) -> bool {
        pings(&self.clients[n], INSIDE) && pings(&self.gateway, ADDRESSES[n])
    }

    /// A flow to each of these clients and one from each, all at once, and every byte is right.
    fn carries_flows(&self, clients: &[usize]) {
        let to = |n: &usize| Flow::start(&self.gateway, &self.clients[*n], ADDRESSES[*n]);
        let from = |n: &usize| Flow::start(&self.clients[*n], &self.gateway, INSIDE);
        let flows: Vec<Flow> = clients.iter().map(to).chain(clients.iter().map(from)).collect();
        flows.iter().for_each(|flow| flow.goes_on("a flow each way"));
        flows.into_iter().for_each(Flow::ends_whole);
    }

    /// First datagrams of many connections to a client: the kernel guesses the queue, and all arrive.
    fn reaches_by_any_queue(&self, n: usize) {
        let bind = |at: &Namespace| at.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
        let client = bind(&self.clients[n]);
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let port = client.local_addr().unwrap().port();
        for number in 0..32_u8 {
            bind(&self.gateway).send_to(&[number], (ADDRESSES[n], port)).unwrap();
            let mut came = [0];
            client.recv(&mut came).unwrap_or_else(|error| panic!("{number} to {}: {error}", ADDRESSES[n]));
            assert_eq!(came, [number]);
        }
    }

    /// What a gateway may change on its machine.
    fn fingerprint(&self) -> String {
        let line = "ip -o link | cut -d: -f2; ip rule; ip -4 route show table all; nft list ruleset; \
                    sysctl -n net.ipv4.ip_forward";
        self.gateway.shell(line).unwrap()
    }
}

/// Nobody has left, and nobody has come twice.
fn all_stayed(gateway: &Process, came: usize) {
    let said = gateway.stderr();
    assert_eq!(said.matches("client connected").count(), came, "{said}");
    assert!(!said.contains("client disconnected"), "{said}");
}

fn ends_as_revoked(client: &mut Process) {
    let status = client.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(5), "{}", client.stderr());
    assert!(client.stderr().contains("the gateway has revoked this device"), "{}", client.stderr());
}

#[test]
fn each_worker_serves_its_clients_whichever_queue_packets_come_by() {
    if !root() {
        return;
    }
    let net = net("workers");
    let gateway = net.serve(&[]);
    let _clients = net.all_come();
    assert_eq!(net.status()["peers"].as_array().map(Vec::len), Some(4));
    for (n, address) in ADDRESSES.iter().enumerate() {
        eventually("it is up", || net.peer(n)["inside"] == json!([address]));
        assert!(net.both_ping(n), "{address}");
        net.reaches_by_any_queue(n);
    }
    let handed_on = net.of_workers("handed_on");
    assert!(handed_on.iter().all(|packets| *packets > 0), "either queue was wrong at times: {handed_on:?}");
    net.carries_flows(&[0, 1, 2, 3]);
    assert_eq!(net.of_workers("handed_on_lost"), [0, 0]);
    // A flow has thousands of packets; all but its first come to the right worker.
    let after = net.of_workers("handed_on");
    let more = after.iter().sum::<u64>() - handed_on.iter().sum::<u64>();
    assert!(more < 500, "{handed_on:?} {after:?}");
    assert_eq!(net.of_workers("sessions"), [2, 2]);
    all_stayed(&gateway, 4);
}

#[test]
fn what_is_told_of_clients_is_told_of_each_workers() {
    if !root() {
        return;
    }
    let net = net("workers-told");
    let _gateway = net.serve(&[]);
    let _clients = net.all_come();
    let state = net.states.of("gateway");
    for name in CLIENTS {
        let (code, _, error) = ropewalk(&["quota", "set", name, "1GB", "--state", &state]);
        assert_eq!(code, 0, "{error}");
    }
    let carried = |n: usize| net.peer(n)["quota"]["used_bytes"].as_u64().unwrap_or(0);
    net.carries_flows(&[0, 1]);
    eventually("what both have carried is counted", || carried(0) > 0 && carried(1) > 0);
    eventually("all have a quota", || (0..4).all(|n| net.peer(n)["quota"].is_object()));
    let (code, flows, error) = ropewalk(&["flows", "--json", "--state", &state]);
    assert_eq!(code, 0, "{error}");
    let of = |name: &str| flows.contains(&format!("\"peer\": \"{name}\""));
    assert!(of("alice") && of("bob"), "{flows}");
    assert!(
        net.status()["workers"].as_array().unwrap().iter().all(|w| w["processor_s"].as_f64() > Some(0.0))
    );
}

#[test]
fn sessions_outlive_new_keys() {
    if !root() {
        return;
    }
    let net = net("workers-keys");
    let gateway = net.serve(&[]);
    let _clients = net.all_come();
    let to = Flow::start(&net.gateway, &net.clients[1], ADDRESSES[1]);
    let from = Flow::start(&net.clients[0], &net.gateway, INSIDE);
    // Of each client: the age of its keys when last seen, and whether it went back.
    let mut ages = [(0.0_f64, false); 4];
    eventually("all have new keys", || {
        for (n, (last, is_new)) in ages.iter_mut().enumerate() {
            let Some(age) = net.peer(n)["key_age_s"].as_f64() else { continue };
            *is_new |= age < *last;
            *last = age;
        }
        ages.iter().all(|(_, is_new)| *is_new)
    });
    for flow in [to, from] {
        flow.goes_on("under new keys");
        flow.ends_whole();
    }
    assert!((0..4).all(|n| net.both_ping(n)));
    net.has_sessions([2, 2]);
    all_stayed(&gateway, 4);
}

#[test]
fn clients_reach_each_other_only_where_they_may() {
    if !root() {
        return;
    }
    let net = net("workers-apart");
    // The kernel carries packets back into the device: it is the gateway that drops them.
    net.gateway.sysctl("net.ipv4.ip_forward", "1").unwrap();
    let mut gateway = net.serve(&[]);
    let _clients = net.all_come();
    let unroutable = || net.status()["drops"]["unroutable"].as_u64().unwrap();
    for (from, to) in PAIRS {
        let before = unroutable();
        let ping = Ping::new(ADDRESSES[to].parse().unwrap()).timeout(Duration::from_millis(300));
        let report = ping.run(&net.clients[from]).unwrap();
        assert_eq!((report.sent, report.received), (10, 0), "{from} to {to}");
        eventually("each is counted", || unroutable() >= before + 10);
    }
    gateway.stop();
    let _gateway = net.serve(&["--client-to-client"]);
    net.has_sessions([2, 2]);
    for (from, to) in PAIRS {
        eventually("they reach each other", || pings(&net.clients[from], ADDRESSES[to]));
    }
    for (from, to) in [PAIRS[0], PAIRS[2]] {
        let flow = Flow::start(&net.clients[from], &net.clients[to], ADDRESSES[to]);
        flow.goes_on("between clients");
        flow.ends_whole();
    }
}

#[test]
fn a_client_that_is_killed_comes_back_as_who_it_was() {
    if !root() {
        return;
    }
    let net = net("workers-killed");
    let _gateway = net.serve(&[]);
    let mut clients = net.all_come();
    for n in [1, 0] {
        eventually("it has a path", || net.peer(n)["paths"][0]["remote"].is_string());
        let before = net.peer(n)["paths"][0]["remote"].clone();
        clients[n].kill();
        clients[n] = net.up(n, &[]);
        eventually("one session, from another port", || {
            let all = net.peers(n);
            let [peer] = all.as_slice() else { return false };
            let remote = &peer["paths"][0]["remote"];
            peer["up"] == true && remote.is_string() && *remote != before
        });
        assert_eq!(net.peer(n)["inside"], json!([ADDRESSES[n]]));
        net.has_sessions([2, 2]);
        assert!(net.both_ping(n), "{}", clients[n].stderr());
        net.carries_flows(&[n]);
    }
}

#[test]
fn a_client_of_the_second_worker_that_is_revoked_is_out_at_once() {
    if !root() {
        return;
    }
    let net = net("workers-revoked");
    let gateway = net.serve(&[]);
    let mut clients = net.all_come();
    // One of the same worker.
    let flow = Flow::start(&net.clients[3], &net.gateway, INSIDE);
    flow.goes_on("before");
    let (code, _, error) = ropewalk(&["revoke", "bob", "--state", &net.states.of("gateway")]);
    assert_eq!(code, 0, "{error}");
    ends_as_revoked(&mut clients[1]);
    net.has_sessions([2, 1]);
    ends_as_revoked(&mut net.start(1, &[]));
    flow.goes_on("after");
    flow.ends_whole();
    assert!([0, 2, 3].into_iter().all(|n| net.both_ping(n)));
    net.has_sessions([2, 1]);
    assert_eq!(gateway.stderr().matches("client connected").count(), 4, "{}", gateway.stderr());
}

#[test]
fn a_reload_reaches_all_workers_and_the_end_leaves_nothing() {
    if !root() {
        return;
    }
    let net = net("workers-reload");
    let before = net.fingerprint();
    let mut gateway = net.serve(&[]);
    let mut clients = net.all_come();
    let flows = [2, 3].map(|n| Flow::start(&net.clients[n], &net.gateway, INSIDE));
    flows.iter().for_each(|flow| flow.goes_on("before"));
    net.set("idle-timeout-s = 10\n[serve]\nworkers = 4");
    gateway.signal(Signal::HUP).unwrap();
    gateway.wait_for_line("serve.workers is fixed while the daemon runs", PATIENCE).unwrap();
    gateway.wait_for_line("the configuration was read again", PATIENCE).unwrap();
    for flow in flows {
        flow.goes_on("after");
        flow.ends_whole();
    }
    net.has_sessions([2, 2]);
    all_stayed(&gateway, 4);
    // By the old settings silent clients would stay for five minutes.
    clients[..2].iter_mut().for_each(Process::kill);
    net.has_sessions([1, 1]);
    eventually("it is said of both", || gateway.stderr().matches("silent for too long").count() == 2);
    assert!(net.both_ping(2) && net.both_ping(3));
    gateway.signal(Signal::TERM).unwrap();
    let status = gateway.wait(Duration::from_secs(10)).unwrap();
    assert_eq!(status.code(), Some(0), "{}", gateway.stderr());
    assert_eq!(net.fingerprint(), before);
}

#[test]
fn a_stream_by_tls_leads_to_the_second_worker_too() {
    if !root() {
        return;
    }
    let net = net("workers-tls");
    drop_at(&net.gateway, &["iifname wan2 udp dport 4500"]);
    let gateway = net.serve(&["--tls-listen", "0.0.0.0:443"]);
    let _clients = [0, 1].map(|n| net.come(n));
    let stream = || {
        let paths = net.peer(1)["paths"].as_array().cloned().unwrap_or_default();
        let is_stream = |path: &&Value| path["carrier"] == "tls" && path["state"] == "active";
        paths.iter().find(is_stream).map(|path| path["remote"].clone())
    };
    eventually("by TLS", || stream().is_some());
    let (since, first) = (Instant::now(), stream());
    net.has_sessions([1, 1]);
    assert_eq!(net.peer(1)["inside"], json!([ADDRESSES[1]]));
    assert_eq!(net.peer(0)["paths"][0]["carrier"], "udp");
    assert!(net.both_ping(0) && net.both_ping(1));
    net.reaches_by_any_queue(1);
    net.carries_flows(&[0, 1]);
    // Longer than a stream is kept of which no worker says that a session uses it.
    std::thread::sleep(Duration::from_secs(17).saturating_sub(since.elapsed()));
    assert!(net.both_ping(1));
    assert_eq!(stream(), first, "the same connection");
    assert_eq!(net.status()["tls"]["streams"], 1);
    all_stayed(&gateway, 2);
}

#[test]
fn bad_numbers_of_workers_are_refused_with_a_sentence() {
    let states = States::new("workers-bad");
    let state = states.of("gateway");
    // If one were taken, nothing would be served: no machine has this address.
    let serve = |more: [&str; 2]| {
        let common = ["serve", "--state", &state, "--listen", "192.0.2.1:4500"];
        let (code, _, error) = ropewalk(&[common.as_slice(), &more].concat());
        (code, error)
    };
    for workers in ["0", "65"] {
        let (code, error) = serve(["--workers", workers]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("--workers <N>") && error.contains("1..=64"), "{error}");
    }
    let file = states.of("bad.toml");
    for (text, sentence) in [
        ("[serve]\nworkers = 0\n", "line 2: workers is 0, but has to be from 1 to 64"),
        ("[serve]\nworkers = 65\n", "line 2: workers is 65, but has to be from 1 to 64"),
        (
            "[engine]\nmemory = \"8MB\"\n[serve]\nworkers = 2\n",
            "line 2: workers = 2 needs a memory of at least 16MB",
        ),
        (
            "[engine]\nscheduler = \"backpressure\"\n[serve]\nworkers = 2\n",
            "workers = 2 does not go with scheduler = \"backpressure\"",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, error) = serve(["--config", &file]);
        assert_eq!(code, 2, "{text}: {error}");
        assert!(error.contains(sentence), "{text}: {error}");
    }
}
