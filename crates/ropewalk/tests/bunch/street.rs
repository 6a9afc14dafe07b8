//! A home, its two neighbours and a gateway in namespaces, with slow cables for uplinks.

use crate::common::{BINARY, SOON, States, eventually, listen, ropewalk};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec, End, Namespace, Process, Topology};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const SERVER: &str = "10.9.0.2:7000";
/// Access points, the home's first.
pub(crate) const APS: [&str; 3] = ["home", "anna", "bert"];
/// What an uplink carries.
pub(crate) const MBPS: f64 = 4.0;
pub(crate) const METRICS: &str = "127.0.0.1:9103";
/// How long a socket may stand still. An upload that lost an access point may wait for its grace.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct Net {
    pub(crate) sender: Namespace,
    pub(crate) aps: Vec<Namespace>,
    pub(crate) gateway: Namespace,
    pub(crate) server: Namespace,
    pub(crate) router: Option<Namespace>,
    pub(crate) states: States,
    pub(crate) tokens: Vec<String>,
    _cables: Vec<Cable>,
    _topology: Topology,
}

fn end(interface: &str, address: &str) -> End {
    let addresses: Vec<&str> = if address.is_empty() { Vec::new() } else { vec![address] };
    End::new(interface, addresses)
}

pub(crate) fn net(name: &str) -> Net {
    build(name, false, MBPS)
}

/// With `routed` there is a router between the gateway and the server.
pub(crate) fn build(name: &str, routed: bool, mbps: f64) -> Net {
    let topology = Topology::new().unwrap();
    let of = |label: &str| topology.namespace(label).unwrap();
    let (sender, gateway, server) = (of("sender"), of("gateway"), of("server"));
    let aps: Vec<Namespace> = APS.iter().map(|ap| of(ap)).collect();
    topology
        .veth((&sender, end("eth0", "192.168.1.2/24")), (&aps[0], end("lan0", "192.168.1.1/24")))
        .unwrap();
    let router = routed.then(|| of("router"));
    let (near, far) =
        (end("eth0", if routed { "10.8.0.1/24" } else { "10.9.0.1/24" }), end("eth0", "10.9.0.2/24"));
    match &router {
        None => topology.veth((&gateway, near), (&server, far)).unwrap(),
        Some(router) => {
            topology.veth((&gateway, near), (router, end("near", "10.8.0.2/24"))).unwrap();
            topology.veth((router, end("far", "10.9.0.1/24")), (&server, far)).unwrap();
            router.sysctl("net.ipv4.ip_forward", "1").unwrap();
            gateway.ip(&["route add 10.9.0.0/24 via 10.8.0.2"]).unwrap();
        }
    }
    // The server knows no way to any home: what reaches it comes from the gateway.
    server.ip(&["route add 10.8.0.0/24 via 10.9.0.1", "route add 10.78.0.0/24 via 10.9.0.1"]).unwrap();
    aps[0]
        .ip(&["link add mesh0 type bridge", "addr add 10.20.0.1/24 dev mesh0", "link set mesh0 up"])
        .unwrap();
    for n in [1, 2] {
        let port = format!("port{n}");
        topology
            .veth((&aps[0], end(&port, "")), (&aps[n], end("mesh0", &format!("10.20.0.{}/24", n + 1))))
            .unwrap();
        aps[0].ip(&[format!("link set {port} master mesh0")]).unwrap();
    }
    let uplink = |n: usize| {
        let spec = CableSpec::symmetric(LinkSpec::new(mbps, Duration::from_millis(5))).seed(n as u64);
        let near = end("wan0", &format!("10.1{n}.0.2/24"));
        let far = end(&format!("wan{n}"), &format!("10.1{n}.0.1/24"));
        topology.cable((&aps[n], near), (&gateway, far), spec).unwrap()
    };
    let cables = (0..APS.len()).map(uplink).collect();
    sender.ip(&["route add 0.0.0.0/0 via 192.168.1.1"]).unwrap();
    for (n, ap) in aps.iter().enumerate() {
        ap.ip(&[format!("route add 0.0.0.0/0 via 10.1{n}.0.1")]).unwrap();
    }
    let states = States::new(name);
    let invited = |ap: usize| {
        let (state, endpoint) = (states.of("gateway"), format!("10.1{ap}.0.1:4520"));
        let (code, out, err) =
            ropewalk(&["bunch", "invite", APS[ap], "--state", &state, "--endpoint", &endpoint]);
        assert_eq!(code, 0, "{err}");
        out.trim().to_owned()
    };
    let tokens = (0..APS.len()).map(invited).collect();
    Net { sender, aps, gateway, server, router, states, tokens, _cables: cables, _topology: topology }
}

impl Net {
    pub(crate) fn start_gateway(&self) -> Process {
        self.start_gateway_with(&[])
    }

    pub(crate) fn start_gateway_with(&self, more: &[&str]) -> Process {
        let state = self.states.of("gateway");
        let args = ["bunch", "gateway", "--state", &state, "--listen", "0.0.0.0:4520"];
        let args = args.into_iter().chain(["--serve", "10.9.0.2/32", "--deliver", "eth0"]);
        let args = args.chain(["--metrics", METRICS]).chain(more.iter().copied());
        let mut gateway = self.gateway.start(BINARY, args).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        gateway
    }

    pub(crate) fn start_ap(&self, ap: usize) -> Process {
        let state = self.states.of(APS[ap]);
        let args =
            ["bunch", "ap", &self.tokens[ap], "--state", &state, "--uplink", "wan0", "--share", "mesh0"];
        let own: &[&str] = if ap == 0 { &["--home", "lan0", "--metrics", METRICS] } else { &[] };
        let mut process = self.aps[ap].start(BINARY, args.iter().chain(own)).unwrap();
        process.wait_for_line("access point ready", SOON).unwrap();
        process
    }

    pub(crate) fn start_aps(&self, count: usize) -> Vec<Process> {
        let all = (0..count).map(|ap| self.start_ap(ap)).collect();
        eventually("neighbours know each other", || {
            (0..count).all(|ap| self.status(APS[ap])["neighbours"] == count - 1)
        });
        all
    }

    pub(crate) fn status(&self, who: &str) -> serde_json::Value {
        let (code, out, err) = ropewalk(&["bunch", "status", "--json", "--state", &self.states.of(who)]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    pub(crate) fn listener(&self) -> TcpListener {
        self.server.run(|| listen(SERVER)).unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let to: SocketAddr = SERVER.parse().unwrap();
        let stream = self.sender.run(|| TcpStream::connect_timeout(&to, PATIENCE)).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A neighbour carries for the home.
    pub(crate) fn is_helped(&self) -> bool {
        self.status("home")["forwarded"].as_u64() > Some(50)
            && self.status("anna")["forwarded"].as_u64() > Some(20)
    }
}

pub(crate) fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect()
}

/// Waits for something that the machine's load may delay.
pub(crate) fn in_time(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
