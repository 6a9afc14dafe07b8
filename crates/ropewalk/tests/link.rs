//! What a bond's paths say of the links under them, with the binary and a lab's radios. Needs root; says so and passes otherwise.

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec, End, Topology};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CELL: &str = r#"
duration = "60s"
[node.ap]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "cell"
address = "10.5.0.1/24"
[node.sta]
position = [2.0, 0.0]
[node.sta.radio.r0]
standard = "11n"
channel = 36
[node.sta.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
address = "10.5.0.2/24"
"#;

fn ropewalk(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A lab, and daemons in its nodes; ended with the test, however it ends.
struct Site {
    lab: String,
    directory: PathBuf,
    daemons: Vec<Child>,
}

impl Site {
    fn new() -> Site {
        let lab = format!("link-{}", std::process::id());
        let directory = std::env::temp_dir().join(&lab);
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("cell.toml");
        std::fs::write(&file, CELL).unwrap();
        let up = ropewalk(&["lab", "up", file.to_str().unwrap(), "--name", &lab]).output().unwrap();
        assert!(up.status.success(), "{}", said(&up));
        Site { lab, directory, daemons: Vec::new() }
    }

    fn state(&self, end: &str) -> String {
        self.directory.join(end).display().to_string()
    }

    /// Runs this binary in a node, for as long as the test lasts.
    fn start(&mut self, node: &str, args: &[&str]) {
        let own = env!("CARGO_BIN_EXE_ropewalk");
        let inside = ["lab", "exec", node, "--lab", &self.lab, "--", own];
        let mut command = ropewalk(&[&inside[..], args].concat());
        self.daemons.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = ropewalk(&["lab", "down", "--lab", &self.lab]).output();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Tries until it gives something, for at most ten seconds.
fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(10) {
        if let Some(got) = attempt() {
            return got;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("waited ten seconds in vain: {what}");
}

#[test]
fn a_paths_status_has_what_its_radio_says() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/net/tun").exists() {
        ropewalk_skip::skip("needs root and /dev/net/tun");
        return;
    }
    let mut site = Site::new();
    let (gateway, client) = (site.state("gateway"), site.state("client"));
    let listen = ["--listen", "10.5.0.1:4500", "--address", "10.77.5.1/24", "--tun", "rwl0"];
    site.start("ap", &[&["serve", "--state", &gateway][..], &listen].concat());
    let token = eventually("a token", || {
        let invite = ["invite", "it", "--state", &gateway, "--endpoint", "10.5.0.1:4500"];
        let done = ropewalk(&invite).output().unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    });
    site.start("sta", &["up", &token, "--state", &client, "--path", "wlan0", "--tun", "rwl1"]);
    let link = eventually("a path with a link", || {
        let status = ropewalk(&["status", "--json", "--state", &client]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).ok()?;
        let path = status["peers"][0]["paths"].get(0)?;
        // The handshake has passed, and was read about.
        (path["link"]["delivered"].as_u64()? > 2).then(|| path["link"].clone())
    });
    assert_eq!(link["source"], "lab", "{link}");
    assert_eq!((&link["failed"], &link["frequency_mhz"]), (&0.into(), &5180.into()), "{link}");
    let signal = link["stations"][0]["signal_dbm"].as_f64().unwrap();
    assert!((-80.0..-10.0).contains(&signal), "{link}");
    let text = said(&ropewalk(&["status", "--state", &client]).output().unwrap());
    assert!(text.contains("  link of wlan0 (lab): "), "{text}");
}

/// A connection of MPTCP to `to`; none where the kernel has no MPTCP.
fn mptcp_to(to: SocketAddr) -> Option<TcpStream> {
    let mptcp = std::num::NonZeroU32::new(262).map(rustix::net::Protocol::from_raw);
    let fd =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, mptcp).ok()?;
    rustix::net::connect(&fd, &to).ok()?;
    Some(TcpStream::from(fd))
}

/// What `ropewalk roam` asks the kernel for its rule of floors.
#[test]
fn least_round_trips_of_subflows_are_those_of_their_links() {
    if !crate::common::root() {
        return;
    }
    let topology = Topology::new().unwrap();
    let (client, server) = (topology.namespace("client").unwrap(), topology.namespace("server").unwrap());
    let cables: Vec<Cable> = [(1, 5), (2, 30)]
        .map(|(n, ms)| {
            let near = End::new(&format!("eth{n}"), [format!("10.{n}.0.2/24")]);
            let far = End::new(&format!("eth{n}"), [format!("10.{n}.0.1/24")]);
            let spec = CableSpec::symmetric(LinkSpec::new(20.0, Duration::from_millis(ms)));
            topology.cable((&client, near), (&server, far), spec).unwrap()
        })
        .into();
    for at in [&client, &server] {
        at.sysctl("net.ipv4.conf.all.rp_filter", "0").unwrap();
        at.shell("ip mptcp limits set subflow 2 add_addr_accepted 2").unwrap();
    }
    client.ip(&["rule add from 10.2.0.2 table 2", "route add default via 10.2.0.1 table 2"]).unwrap();
    client.shell("ip mptcp endpoint add 10.2.0.2 dev eth2 subflow").unwrap();
    let to: SocketAddr = "10.1.0.1:7000".parse().unwrap();
    let listener = server.run(|| mptcp_listener(to)).unwrap();
    let rtts = || client.run(|| ropewalk_net::subflows::all().unwrap().least_rtts).unwrap();
    // The null case: plain TCP has no subflows.
    let plain = client.run(|| TcpStream::connect(to)).unwrap().unwrap();
    let (mut there, _) = listener.accept().unwrap();
    there.write_all(b"x").unwrap();
    (&plain).read_exact(&mut [0]).unwrap();
    assert!(rtts().is_empty(), "{:?}", rtts());
    let Some(mut stream) = client.run(|| mptcp_to(to)).unwrap() else {
        ropewalk_skip::skip("needs a kernel with MPTCP");
        return;
    };
    let (mut there, _) = listener.accept().unwrap();
    crate::common::eventually("both subflows have a round trip", || {
        // The second is opened when data was acknowledged.
        stream.write_all(&[7; 10_000]).unwrap();
        there.read_exact(&mut [0; 10_000]).unwrap();
        rtts().len() == 2
    });
    let all = rtts();
    let of = |ip: [u8; 4]| all[&std::net::IpAddr::from(ip)];
    println!("{all:?}");
    let (fast, slow) = (of([10, 1, 0, 2]), of([10, 2, 0, 2]));
    assert!(
        fast.all >= Some(Duration::from_millis(10)) && slow.all >= Some(Duration::from_millis(60)),
        "{all:?}"
    );
    assert_eq!((fast.busy, slow.busy), (None, None), "hardly anything came by them");
    crate::common::eventually("a subflow by which data come is told from idle ones", || {
        there.write_all(&[7; 10_000]).unwrap();
        stream.read_exact(&mut [0; 10_000]).unwrap();
        rtts().values().any(|r| r.busy.is_some() && r.busy == r.all)
    });
    // What `roam` marks: who sends by which address.
    let busy = client.run(|| ropewalk_net::subflows::all().unwrap().busy).unwrap();
    let addresses = [[10, 1, 0, 2], [10, 2, 0, 2]].map(std::net::IpAddr::from);
    assert!(!busy.is_empty() && busy.iter().all(|b| addresses.contains(&b.local.ip())), "{busy:?}");
    assert!(busy.iter().all(|b| b.remote.port() == 7000 && !b.tcp.rtt_min.is_zero()), "{busy:?}");
    drop(cables);
}

fn mptcp_listener(at: SocketAddr) -> std::net::TcpListener {
    let mptcp = std::num::NonZeroU32::new(262).map(rustix::net::Protocol::from_raw);
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM);
    match rustix::net::socket(family, kind, mptcp) {
        Ok(fd) => {
            rustix::net::bind(&fd, &at).unwrap();
            rustix::net::listen(&fd, 8).unwrap();
            fd.into()
        }
        // The client's end says that there is no MPTCP.
        Err(_) => std::net::TcpListener::bind(at).unwrap(),
    }
}
