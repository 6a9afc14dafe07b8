//! What a fleet grants: in force at the gateway that serves the client, gone from the one that did,
//! and the same after a death and without the store.

use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const PATIENCE: Duration = Duration::from_secs(1);

impl World {
    /// A command with a gateway's state directory, in its namespace: code, and what it says.
    fn at(&self, n: usize, line: &str) -> (i32, String) {
        let state = self.states.of(&format!("g{n}"));
        let words = line.split(' ').chain(["--state", &state]);
        let out = self.gateways[n - 1].command(BINARY).args(words).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        (out.status.code().unwrap_or(-1), text)
    }

    fn done_at(&self, n: usize, line: &str) -> String {
        let (code, said) = self.at(n, line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    /// Whom the client's server takes a visitor of a gateway's port for, if it comes through.
    fn visit(&self, web: &TcpListener, n: usize, port: u16) -> Option<String> {
        let to = SocketAddr::from(([10, 2, n as u8, 2], port));
        let visit = || {
            let mut stream = TcpStream::connect_timeout(&to, PATIENCE).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            Some(text).filter(|text| !text.is_empty())
        };
        std::thread::scope(|s| {
            let visitor = s.spawn(|| self.server.run(visit).unwrap());
            while !visitor.is_finished() {
                if let Ok((mut stream, from)) = web.accept() {
                    let _ = stream.write_all(from.ip().to_string().as_bytes());
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            visitor.join().unwrap()
        })
    }

    /// What the firewall of a gateway's machine has of forwards.
    fn forwards(&self, n: usize) -> bool {
        self.gateways[n - 1].shell("nft list ruleset").unwrap().contains("dnat ip to")
    }

    /// Somebody's rate is capped there.
    fn caps(&self, n: usize) -> bool {
        self.gateways[n - 1].shell("tc qdisc show").unwrap().contains("htb 628:")
    }

    fn leaves(&self) -> bool {
        let ping = Ping::new("10.3.0.2".parse().unwrap()).count(2).timeout(Duration::from_millis(500));
        ping.run(&self.client).is_ok_and(|report| report.received > 0)
    }

    /// Two ask at once for one port, at two gateways: one gets it, and the other is told who.
    fn one_of_two_has_a_port(&self) {
        let asks = ["alice", "bob"].map(|name| format!("forward add {name} udp 9090"));
        let outcomes = std::thread::scope(|s| {
            let both = [0, 1].map(|i| {
                let line = &asks[i];
                s.spawn(move || self.at(i + 1, line))
            });
            both.map(|ask| ask.join().unwrap())
        });
        let mut codes = outcomes.each_ref().map(|(code, _)| *code);
        let winner = if codes[0] == 0 { "alice" } else { "bob" };
        codes.sort_unstable();
        assert_eq!(codes, [0, 4], "{outcomes:?}");
        let told = outcomes.iter().find(|(code, _)| *code == 4).map(|(_, said)| said.as_str());
        let told = told.unwrap_or_default();
        assert!(told.contains(&format!("leads to {winner} already")), "{told}");
        self.done_at(1, "forward remove udp 9090");
    }

    /// An exit that no gateway has lets nothing leave, and each gateway names those without it.
    fn an_exit_that_is_missing_lets_nothing_leave(&self) {
        let warns = |n: usize| {
            let status = self.status(&format!("g{n}"));
            let warnings = status["fleet"]["warnings"].as_array().unwrap().clone();
            warnings.iter().any(|w| w.as_str().unwrap().contains("exit wan9 leads nowhere at g1, g2:"))
        };
        assert!(self.leaves() && !warns(1) && !warns(2));
        self.with_store(&["exit", "set", "alice", "wan9"]);
        World::in_the_end("nothing leaves", || !self.leaves());
        World::in_the_end("both say which lack it", || warns(1) && warns(2));
        self.with_store(&["exit", "remove", "alice"]);
        World::in_the_end("she leaves again", || self.leaves());
        World::in_the_end("none lacks it", || !warns(1) && !warns(2));
    }
}

#[test]
fn what_is_granted_is_where_the_client_is_and_nowhere_else() {
    let _alone = alone();
    if !can() {
        return;
    }
    let world = World::new("fleet-granted");
    let mut etcd = world.etcd();
    let mut gateways = world.both_gateways();
    let token = world.done_at(1, "invite alice");
    world.with_store(&["invite", "bob"]);
    let _router = Router::start(&world.hub, world.tls.files());
    let mut client = world.up(token.trim());
    eventually("somebody serves", || world.serves(1) || world.serves(2));
    let (first, second) = if world.serves(1) { (1, 2) } else { (2, 1) };
    let web = world.client.run(|| TcpListener::bind("0.0.0.0:80").unwrap()).unwrap();
    web.set_nonblocking(true).unwrap();
    World::in_the_end("the bond carries", || world.leaves());

    // Nothing is granted by itself.
    let visit = |n| world.visit(&web, n, 8080);
    assert!(visit(first).is_none() && visit(second).is_none() && !world.caps(first));
    // Asked of the gateway that does not serve her.
    let said = world.done_at(second, "forward add alice tcp 8080 --to 80");
    assert_eq!(said, "tcp port 8080 leads to port 80 of alice, at the gateway that serves it\n");
    World::in_the_end("it leads to her", || visit(first).as_deref() == Some("10.3.0.2"));
    assert!(world.forwards(first) && visit(second).is_none() && !world.forwards(second), "she is not there");
    world.with_store(&["limit", "set", "alice", "--down", "50Mbit"]);
    World::in_the_end("her rate is capped where she is", || world.caps(first));
    assert!(!world.caps(second));
    for (line, code, words) in [
        ("forward add bob tcp 8080", 4, "leads to alice already"),
        ("forward add bob udp 4500", 4, "is reached at 10.2."),
        ("forward add eve tcp 81", 2, "no client named"),
        ("exit set alice wan9 --global6", 2, "no --global6"),
    ] {
        let (is, said) = world.at(second, line);
        assert!(is == code && said.contains(words), "{line}: {is} {said}");
    }
    let said = world.done_at(first, "group add home alice bob");
    assert!(said.contains("where one gateway serves them"), "{said}");
    world.one_of_two_has_a_port();
    world.an_exit_that_is_missing_lets_nothing_leave();

    // Death: all of it is at the other gateway.
    let mut dead = gateways[first - 1].take().unwrap();
    dead.signal(Signal::KILL).unwrap();
    dead.wait(LONG).unwrap();
    eventually("the other serves", || world.serves(second));
    World::in_the_end("it leads to her there", || visit(second).as_deref() == Some("10.3.0.2"));
    World::in_the_end("so does the cap", || world.caps(second));
    assert!(visit(first).is_none());
    let mut again = world.serve(first, &[]);
    again.wait_for_line("gateway ready", LONG).unwrap();
    gateways[first - 1] = Some(again);
    assert!(!world.forwards(first) && visit(first).is_none(), "nothing lingers: the port is free");

    // A drain brings her back, and the second loses it.
    world.done_at(second, "drain");
    World::in_the_end("it leads to her at the first", || visit(first).as_deref() == Some("10.3.0.2"));
    World::in_the_end("and not at the second", || !world.forwards(second) && !world.caps(second));
    world.done_at(second, "drain --off");

    // Without the store what is in force stays, and nothing is changed.
    etcd.signal(Signal::STOP).unwrap();
    eventually("it is said", || world.status("g1")["fleet"]["reachable"] == false);
    assert_eq!(visit(first).as_deref(), Some("10.3.0.2"));
    let (code, said) = world.at(first, "forward remove tcp 8080");
    assert_eq!(code, 6, "{said}");
    assert_eq!(visit(first).as_deref(), Some("10.3.0.2"));
    etcd.signal(Signal::CONT).unwrap();
    eventually("the store is back", || world.status("g1")["fleet"]["reachable"] == true);
    World::in_the_end("all is as the store says", || visit(first).is_some() || visit(second).is_some());

    // Out on one: nothing is granted anywhere, and a new client of that name has nothing.
    assert!(world.with_store(&["forward", "list"]).contains("alice port 80"));
    world.with_store(&["revoke", "alice"]);
    assert_eq!(client.wait(LONG).unwrap().code(), Some(5), "{}", client.stderr());
    World::in_the_end("nothing is in force", || {
        [1, 2].iter().all(|n| !world.forwards(*n) && !world.caps(*n))
    });
    world.with_store(&["invite", "alice"]);
    for n in [1, 2] {
        World::in_the_end("nothing is listed", || {
            world.done_at(n, "forward list") == "no port is forwarded\n"
                && world.done_at(n, "limit list") == "no client has a cap or a share\n"
        });
        assert_eq!(world.done_at(n, "group list"), "home  bob\n");
    }
    drop(world.topology);
}
