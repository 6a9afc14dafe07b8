//! The real client and gateway between real kernels: what goes in comes out, whatever happens to the paths, the gateway or the bytes on
//! the way. Every byte is compared; time is no more than a deadline.
//!
//! Needs root and the built program: `$ROPEWALK`, or else `ropewalk` in the target directory of this test (`./run test` builds it first).
//! Without one of them the tests say so and pass.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Damage, Direction, LabError, Namespace, Paths, Process, Topology};

/// For what takes a moment.
const SOON: Duration = Duration::from_secs(10);
/// For a whole transfer, and the longest that a socket waits.
const PATIENCE: Duration = Duration::from_secs(60);
const MB: u64 = 1_000_000;
/// What is handed to a socket at once.
const CHUNK: usize = 64 * 1024;
/// The gateway inside the bond.
const INSIDE: &str = "10.77.0.1";
const INSIDE6: &str = "fd77::1";
const ALL_IPV4: [&str; 4] = ["--listen", "0.0.0.0:4500", "--address", "10.77.0.1/24"];

// --- a bond in a lab ---

/// The program, or None with the reason on standard error.
fn program() -> Option<String> {
    static CLEAN: Once = Once::new();
    let built = std::env::current_exe().ok().and_then(|me| Some(me.parent()?.parent()?.join("ropewalk")));
    let program = std::env::var_os("ROPEWALK").map(PathBuf::from).or(built)?;
    if !program.exists() {
        ropewalk_skip::skip(format_args!(
            "{} is not there: `cargo build -p ropewalk`, or set ROPEWALK",
            program.display()
        ));
        return None;
    }
    match Topology::new() {
        Ok(_) => {
            CLEAN.call_once(|| ropewalk_lab::clean_on_interrupt().unwrap());
            Some(program.display().to_string())
        }
        Err(LabError::NotRoot) => {
            ropewalk_skip::skip(LabError::NotRoot);
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// A client and a gateway that are connected. Processes go first; with the lab go namespaces and files.
struct Bond {
    client: Process,
    gateway: Process,
    lab: Paths,
    program: String,
    serve: Vec<String>,
}

impl Bond {
    /// Two unlike paths with IPv4; None where the tests cannot run.
    fn new(loss_percent: f64) -> Option<Bond> {
        Bond::with(&ALL_IPV4, loss_percent, Paths::gateway_address, |_| ())
    }

    /// A bond whose gateway is started with `serve` and reached at `outside`, after `prepare`.
    fn with(
        serve: &[&str],
        loss_percent: f64,
        outside: fn(u64) -> IpAddr,
        prepare: fn(&Paths),
    ) -> Option<Bond> {
        let program = program()?;
        let link = |mbps, ms| LinkSpec::new(mbps, Duration::from_millis(ms)).loss_percent(loss_percent);
        let lab = Paths::symmetric([link(40.0, 10), link(20.0, 30)]).unwrap();
        prepare(&lab);
        let mut args: Vec<String> = ["serve", "--tun", "rw0", "--state", &state_of(&lab, "gateway")]
            .iter()
            .map(|s| (*s).into())
            .collect();
        args.extend(serve.iter().map(|s| (*s).into()));
        let gateway = start_gateway(&lab, &program, &args);

        let endpoint = |n| SocketAddr::new(outside(n), 4500).to_string();
        let invite = ["invite", "alice", "--state", &state_of(&lab, "gateway"), "--endpoint", &endpoint(1)];
        let token = lab.gateway.exec(&program, invite).unwrap().stdout;
        let token = String::from_utf8(token).unwrap();
        let path = |n| format!("{}@{}", Paths::interface(n), endpoint(n));
        let state = state_of(&lab, "client");
        let [one, two] = [path(1), path(2)];
        let up = ["up", token.trim(), "--tun", "rw0", "--state", &state, "--path", &one, "--path", &two];
        let mut client = lab.client.start(&program, up).unwrap();
        client.wait_for_line("connected", SOON).unwrap();
        let bond = Bond { client, gateway, lab, program, serve: args };
        eventually("both paths are in use", || bond.client.stderr().matches("state=\"active\"").count() >= 2);
        Some(bond)
    }

    /// Kills the gateway as a crash would, and starts it with what it left on disk.
    fn crash_gateway(&mut self, away: Duration) {
        self.gateway.kill();
        std::thread::sleep(away);
        self.gateway = start_gateway(&self.lab, &self.program, &self.serve);
    }

    fn cut(&self, paths: &[usize], cut: bool) {
        paths.iter().for_each(|&n| self.lab.cables[n].set_up(!cut).unwrap());
    }

    /// A TCP connection to the gateway inside the bond.
    fn connect(&self, inside: &str) -> Connection {
        let address: IpAddr = inside.parse().unwrap();
        let listener = self.lab.gateway.run(|| TcpListener::bind((address, 0))).unwrap().unwrap();
        let to = listener.local_addr().unwrap();
        let client = self.lab.client.run(|| TcpStream::connect_timeout(&to, SOON)).unwrap().unwrap();
        let (gateway, _) = listener.accept().unwrap();
        for socket in [&client, &gateway] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        Connection { client, gateway }
    }
}

/// Where an end keeps its state.
fn state_of(lab: &Paths, end: &str) -> String {
    lab.topology.logs().join(end).display().to_string()
}

fn start_gateway(lab: &Paths, program: &str, args: &[String]) -> Process {
    let mut gateway = lab.gateway.start(program, args).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    gateway
}

/// Waits until it is so.
fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

// --- bytes that know their place ---

/// What belongs at `at` of stream `seed`: no stretch of it is like another (SplitMix64's mixing of the place).
fn pattern(seed: u64, at: u64, buffer: &mut [u8]) {
    for (place, byte) in (at..).zip(buffer) {
        let mut word = (place / 8).wrapping_add(seed << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        *byte = (word >> (8 * (place % 8))) as u8;
    }
}

fn send_all(mut socket: TcpStream, seed: u64, bytes: u64) -> Result<(), String> {
    let (mut at, mut chunk) = (0, vec![0; CHUNK]);
    while at < bytes {
        let len = CHUNK.min((bytes - at) as usize);
        pattern(seed, at, &mut chunk[..len]);
        socket.write_all(&chunk[..len]).map_err(|e| format!("sending after {at} bytes: {e}"))?;
        at += len as u64;
    }
    socket.shutdown(Shutdown::Write).map_err(|e| e.to_string())
}

/// Reads to the end, which must come after exactly `bytes`, and compares.
fn receive_all(mut socket: TcpStream, seed: u64, bytes: u64, arrived: &AtomicU64) -> Result<(), String> {
    let (mut at, mut chunk, mut wanted) = (0_u64, vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let len = match socket.read(&mut chunk) {
            // The end of a child, where a read has a timeout.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(|e| format!("receiving after {at} bytes: {e}"))?,
        };
        if len == 0 {
            return if at == bytes { Ok(()) } else { Err(format!("it ended after {at} of {bytes} bytes")) };
        }
        pattern(seed, at, &mut wanted[..len]);
        if let Some(wrong) = (0..len).find(|&i| chunk[i] != wanted[i]) {
            return Err(format!("byte {} is not the one that was sent", at + wrong as u64));
        }
        at += len as u64;
        arrived.store(at, Ordering::Relaxed);
    }
}

/// The two ends of a TCP connection.
struct Connection {
    client: TcpStream,
    gateway: TcpStream,
}

impl Connection {
    fn upload(&self, bytes: u64) -> Transfer {
        Transfer::start(&self.client, &self.gateway, 1, bytes)
    }

    fn download(&self, bytes: u64) -> Transfer {
        Transfer::start(&self.gateway, &self.client, 2, bytes)
    }

    /// Ends it on both sides, so that nobody waits for it.
    fn abandon(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.gateway.shutdown(Shutdown::Both);
    }
}

/// A stream on its way, one direction of a connection.
struct Transfer {
    bytes: u64,
    arrived: Arc<AtomicU64>,
    sender: JoinHandle<Result<(), String>>,
    receiver: JoinHandle<Result<(), String>>,
}

impl Transfer {
    fn start(from: &TcpStream, to: &TcpStream, seed: u64, bytes: u64) -> Transfer {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let arrived = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&arrived);
        let sender = std::thread::spawn(move || send_all(from, seed, bytes));
        let receiver = std::thread::spawn(move || receive_all(to, seed, bytes, &count));
        Transfer { bytes, arrived, sender, receiver }
    }

    /// How many bytes have arrived and were right.
    fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }

    /// Waits until so many have arrived; there must be more to come.
    fn reaches(&self, bytes: u64) {
        let ended = || self.sender.is_finished() || self.receiver.is_finished();
        eventually("bytes arrive", || self.arrived() >= bytes || ended());
        assert!(self.arrived() >= bytes, "the transfer broke off");
        self.is_under_way();
    }

    fn is_under_way(&self) {
        assert!(self.arrived() < self.bytes, "the transfer was too short for this test");
    }

    /// Waits for its end: everything has arrived, right and in order.
    fn finishes(self) {
        let until = Instant::now() + PATIENCE;
        while !self.receiver.is_finished() {
            assert!(Instant::now() < until, "{} of {} bytes after {PATIENCE:?}", self.arrived(), self.bytes);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.receiver.join().unwrap(), Ok(()), "of {} bytes", self.bytes);
        // It has nothing more to wait for.
        assert_eq!(self.sender.join().unwrap(), Ok(()), "of {} bytes", self.bytes);
    }
}

// --- TCP ---

#[test]
fn bytes_arrive_intact_both_ways_at_once_over_two_unlike_paths() {
    let Some(bond) = Bond::new(0.0) else { return };
    let connection = bond.connect(INSIDE);
    let (up, down) = (connection.upload(12 * MB), connection.download(12 * MB));
    up.finishes();
    down.finishes();
    for cable in &bond.lab.cables {
        let counters = cable.counters().unwrap();
        let least = counters.forward.bytes_out.min(counters.backward.bytes_out);
        assert!(least > MB / 5, "a path has carried next to nothing: {counters:?}");
    }
}

#[test]
fn a_silent_cut_of_a_path_and_its_return_change_no_byte() {
    let Some(bond) = Bond::new(0.0) else { return };
    let connection = bond.connect(INSIDE);
    let up = connection.upload(28 * MB);
    up.reaches(3 * MB);
    bond.cut(&[0], true);
    let before = up.arrived();
    eventually("the other path carries on", || up.arrived() > before + 2 * MB);
    bond.cut(&[0], false);
    up.is_under_way();
    up.finishes();
}

#[test]
fn a_connection_outlives_five_seconds_without_any_path() {
    let Some(bond) = Bond::new(0.0) else { return };
    let connection = bond.connect(INSIDE);
    let (up, down) = (connection.upload(12 * MB), connection.download(12 * MB));
    up.reaches(2 * MB);
    down.reaches(2 * MB);
    bond.cut(&[0, 1], true);
    std::thread::sleep(Duration::from_secs(1));
    let before = (up.arrived(), down.arrived());
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!((up.arrived(), down.arrived()), before, "something came through cables that are cut");
    bond.cut(&[0, 1], false);
    up.is_under_way();
    up.finishes();
    down.finishes();
}

/// The gateway's TUN device and 10.77.0.1 go and come back with it; both sockets stay open all along.
#[test]
fn a_connection_outlives_a_crash_of_the_gateway() {
    let Some(mut bond) = Bond::new(0.0) else { return };
    let connection = bond.connect(INSIDE);
    let (up, down) = (connection.upload(12 * MB), connection.download(12 * MB));
    up.reaches(2 * MB);
    down.reaches(2 * MB);
    bond.crash_gateway(Duration::from_millis(500));
    up.is_under_way();
    down.is_under_way();
    up.finishes();
    down.finishes();
    assert!(bond.client.exit_status().unwrap().is_none(), "{}", bond.client.stderr());
    assert!(bond.client.stderr().contains("connected again"), "{}", bond.client.stderr());
}

/// Checksums outside are made to fit, so that the bond alone can tell.
#[test]
fn a_tenth_of_the_packets_damaged_and_not_one_byte_wrong() {
    let Some(bond) = Bond::new(0.0) else { return };
    for cable in &bond.lab.cables {
        cable.set_damage(Damage::Hidden).unwrap();
        cable.set_corruption(Direction::Both, 0.1).unwrap();
    }
    let connection = bond.connect(INSIDE);
    let (up, down) = (connection.upload(4 * MB), connection.download(4 * MB));
    up.finishes();
    down.finishes();
    let counters = bond.lab.cables.iter().map(|c| c.counters().unwrap());
    let damaged: u64 = counters.map(|c| c.forward.corrupted + c.backward.corrupted).sum();
    assert!(damaged > 300, "only {damaged} packets were damaged");
}

/// Outside there is not one IPv4 address on the paths.
#[test]
fn ipv6_inside_and_outside() {
    let serve = ["--listen", "[::]:4500", "--address", "10.77.0.1/24", "--address", "fd77::1/64"];
    let no_ipv4 = |lab: &Paths| {
        for end in [&lab.client, &lab.gateway] {
            end.shell("ip -4 address flush dev wan1 && ip -4 address flush dev wan2").unwrap();
        }
    };
    let Some(bond) = Bond::with(&serve, 0.0, Paths::gateway_address6, no_ipv4) else { return };
    let (six, four) = (bond.connect(INSIDE6), bond.connect(INSIDE));
    let transfers = [six.upload(6 * MB), six.download(6 * MB), four.upload(2 * MB), four.download(2 * MB)];
    transfers.into_iter().for_each(Transfer::finishes);
}

// --- UDP ---

const DATAGRAM: usize = 1000;
const DATAGRAMS: u64 = 2000;
/// 4 Mb/s each way.
const EVERY: Duration = Duration::from_millis(2);

fn datagram(number: u64) -> Vec<u8> {
    let mut whole = number.to_be_bytes().to_vec();
    whole.resize(DATAGRAM, 0);
    pattern(3, number * DATAGRAM as u64, &mut whole[8..]);
    whole
}

/// The numbers of the datagrams that come until none has for a while; content is compared.
fn collect(socket: UdpSocket) -> Vec<u64> {
    let (mut numbers, mut buffer) = (Vec::new(), vec![0; 2 * DATAGRAM]);
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    loop {
        match socket.recv(&mut buffer) {
            Ok(len) => {
                let number = u64::from_be_bytes(buffer[..8].try_into().unwrap());
                assert!(buffer[..len] == datagram(number), "datagram {number} is not what was sent");
                numbers.push(number);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return numbers,
            Err(e) => panic!("{e}"),
        }
    }
}

fn udp(namespace: &Namespace, address: &str) -> UdpSocket {
    namespace.run(|| UdpSocket::bind((address, 0))).unwrap().unwrap()
}

#[test]
fn datagrams_arrive_in_order_and_almost_all_over_lossy_paths() {
    let Some(bond) = Bond::new(2.0) else { return };
    let client = udp(&bond.lab.client, &bond.connect(INSIDE).client.local_addr().unwrap().ip().to_string());
    let gateway = udp(&bond.lab.gateway, INSIDE);
    client.connect(gateway.local_addr().unwrap()).unwrap();
    gateway.connect(client.local_addr().unwrap()).unwrap();
    let ends = [("up", &client, &gateway), ("down", &gateway, &client)];
    let flows = ends.map(|(way, from, to)| {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let receiver = std::thread::spawn(move || collect(to));
        let sender = std::thread::spawn(move || {
            let begin = Instant::now();
            for number in 0..DATAGRAMS {
                let due = begin + EVERY * number as u32;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                from.send(&datagram(number)).unwrap();
            }
        });
        (way, sender, receiver)
    });
    for (way, sender, receiver) in flows {
        sender.join().unwrap();
        let numbers = receiver.join().unwrap();
        eprintln!("{way}: {} of {DATAGRAMS} datagrams", numbers.len());
        let swapped = numbers.windows(2).find(|pair| pair[0] >= pair[1]);
        assert_eq!(swapped, None, "{way}: out of order, or twice");
        assert!(numbers.len() as u64 >= DATAGRAMS * 995 / 1000, "{way}: only {}", numbers.len());
    }
}

// --- who is let in ---

/// Runs the program to its end.
fn run(program: &str, namespace: &Namespace, args: &[&str]) -> (Option<i32>, String) {
    let mut command: Command = namespace.command(program);
    let said = command.args(args).stdin(Stdio::null()).output().unwrap();
    (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
}

fn is_the_refusal(code: Option<i32>, said: &str) {
    let last: Vec<&str> = said.lines().filter(|line| line.starts_with("ropewalk: ")).collect();
    let sentence = "ropewalk: the gateway has revoked this device; ask its operator for a new token";
    assert_eq!((code, last.as_slice()), (Some(5), [sentence].as_slice()), "{said}");
    assert_eq!(said.lines().last(), Some(sentence));
}

#[test]
fn a_revoked_client_is_out_at_once_and_stays_out() {
    let Some(mut bond) = Bond::new(0.0) else { return };
    let connection = bond.connect(INSIDE);
    let up = connection.upload(200 * MB);
    up.reaches(2 * MB);
    let revoked = run(
        &bond.program,
        &bond.lab.gateway,
        &["revoke", "alice", "--state", &state_of(&bond.lab, "gateway")],
    );
    assert_eq!(revoked, (Some(0), "alice is revoked\n".into()));
    let code = bond.client.wait(Duration::from_secs(3)).unwrap().code();
    is_the_refusal(code, &bond.client.stderr());
    let before = up.arrived();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(up.arrived(), before, "something still came through");
    connection.abandon();
    let (code, said) =
        run(&bond.program, &bond.lab.client, &["up", "--state", &state_of(&bond.lab, "client")]);
    is_the_refusal(code, &said);
}
