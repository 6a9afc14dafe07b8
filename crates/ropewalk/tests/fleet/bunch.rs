//! Two gateways of a bunch in one store, and a home that uploads through one of them.
//!
//! ```text
//!   sender ─ lan0, home's router ─ hub ─ g1, g2 ─ (hub) ─ server
//! ```

use super::*;
use ropewalk_session::Token;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};

struct Street {
    world: World,
    sender: Namespace,
}

impl Street {
    fn new(name: &str) -> Street {
        let world = World::new(name);
        let sender = world.topology.namespace("sender").unwrap();
        let (near, far) = (End::new("eth0", ["192.168.1.2/24"]), End::new("lan0", ["192.168.1.1/24"]));
        world.topology.veth((&sender, near), (&world.client, far)).unwrap();
        sender.ip(&["route add default via 192.168.1.1"]).unwrap();
        Street { world, sender }
    }

    fn gateway(&self, n: usize) -> Process {
        let (name, state) = (format!("g{n}"), self.world.states.of(&format!("g{n}")));
        let listen = format!("10.2.{n}.2:4520");
        let args = ["bunch", "gateway", "--state", &state, "--listen", &listen, "--name", &name];
        let args = args.into_iter().chain(["--serve", "10.3.0.2/32"]).chain(self.world.store());
        let mut gateway = self.world.gateways[n - 1].start(BINARY, args).unwrap();
        gateway.wait_for_line("gateway ready", LONG).unwrap();
        gateway
    }

    /// What a command says with somebody's state directory.
    fn done(&self, words: &[&str], end: &str) -> String {
        let (code, out, err) = ropewalk(&[words, &["--state", &self.world.states.of(end)]].concat());
        assert_eq!(code, 0, "{words:?}: {err}");
        out
    }

    fn status(&self, end: &str) -> serde_json::Value {
        serde_json::from_str(&self.done(&["bunch", "status", "--json"], end)).unwrap()
    }

    /// The number of the gateway at which the home is; 0: it is at none.
    fn place(&self) -> usize {
        let status = self.status("home");
        let at = |n: &usize| status["gateway"] == format!("10.2.{n}.2:4520");
        [1, 2].into_iter().find(at).unwrap_or(0)
    }

    /// What a gateway says of where the home is.
    fn listed(&self, n: usize) -> Option<String> {
        let said = self.done(&["clients", "--json"], &format!("g{n}"));
        let all: serde_json::Value = serde_json::from_str(&said).unwrap();
        all[0]["gateway"].as_str().map(str::to_owned)
    }

    /// Bytes of the home come to the server; the address that it sees.
    fn upload(&self) -> IpAddr {
        let listener = self.world.server.run(|| TcpListener::bind("10.3.0.2:0")).unwrap().unwrap();
        let to = listener.local_addr().unwrap();
        let mut near = self.sender.run(|| TcpStream::connect_timeout(&to, LONG)).unwrap().unwrap();
        let (mut far, from) = listener.accept().unwrap();
        near.set_write_timeout(Some(LONG)).unwrap();
        far.set_read_timeout(Some(LONG)).unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n / 7) as u8).collect();
        let sent = bytes.clone();
        let sending = std::thread::spawn(move || near.write_all(&sent));
        let mut came = Vec::new();
        far.read_to_end(&mut came).unwrap();
        sending.join().unwrap().unwrap();
        assert!(came == bytes, "{} bytes came", came.len());
        from.ip()
    }
}

/// How often an access point was let in by a gateway and told what to help.
fn ready(ap: &Process) -> usize {
    (ap.stdout() + &ap.stderr()).matches("access point ready").count()
}

/// The address of a gateway, as the server sees it.
fn seen(n: usize) -> IpAddr {
    format!("10.2.{n}.2").parse().unwrap()
}

#[test]
fn a_home_goes_on_at_another_gateway_and_a_revocation_finds_it_there() {
    let _alone = alone();
    if !can() {
        return;
    }
    let street = Street::new("fleet-bunch");
    let world = &street.world;
    let _etcd = world.etcd();
    let mut gateways = [1, 2].map(|n| street.gateway(n));
    let is_whole = |n: usize| {
        let status = street.status(&format!("g{n}"));
        let all = status["fleet"]["gateways"].as_array().cloned().unwrap_or_default();
        all.len() == 2 && all.iter().all(|g| !g["endpoints"].as_array().unwrap().is_empty())
    };
    World::in_the_end("each knows both", || is_whole(1) && is_whole(2));

    // One token is for both.
    let text = street.done(&["bunch", "invite", "home"], "g1");
    let token: Token = text.trim().parse().unwrap();
    let endpoints: Vec<String> = token.endpoints().iter().map(ToString::to_string).collect();
    assert_eq!(endpoints, ["10.2.1.2:4520", "10.2.2.2:4520"]);
    let state = world.states.of("home");
    let args = ["bunch", "ap", text.trim(), "--state", &state, "--home", "lan0"];
    let mut home = world.client.start(BINARY, args).unwrap();
    home.wait_for_line("access point ready", LONG).unwrap();
    let first = street.place();
    assert_eq!(street.upload(), seen(first));
    let name = Some(format!("g{first}"));
    World::in_the_end("both list it", || street.listed(1) == name && street.listed(2) == name);
    let g1 = world.states.of("g1");
    let (code, said, complaint) = ropewalk(&["bunch", "accounts", "--json", "--state", &g1]);
    assert_eq!((code, said.as_str(), complaint.as_str()), (0, "[]\n", ""), "nothing was carried for others");
    let (inside, before) = (street.status("home")["address"].clone(), ready(&home));

    // Death.
    let second = 3 - first;
    gateways[first - 1].kill();
    eventually("it is at the other", || ready(&home) > before && street.place() == second);
    assert_eq!(street.upload(), seen(second));
    assert_eq!(street.status("home")["address"], inside, "its address is its own");

    // The same access point comes to another gateway: the one where it was lets it go.
    gateways[first - 1] = street.gateway(first);
    let twin = world.states.of("twin");
    world.hub.shell(&format!("install -d -m 700 {twin} && cp -p {state}/key {twin}")).unwrap();
    let there = vec![token.endpoints()[first - 1].clone()];
    let of_one = Token::new(token.gateway, token.invite, token.secret.clone(), there).unwrap().to_text();
    let args = ["bunch", "ap", of_one.as_str(), "--state", &twin, "--share", "s"];
    let mut other = world.hub.start(BINARY, args).unwrap();
    gateways[second - 1].wait_for_line("another gateway serves it", LONG).unwrap();
    other.kill();
    let mut here = 0;
    World::in_the_end("it is at one of them again", || {
        here = street.place();
        let name = Some(format!("g{here}"));
        here > 0 && street.listed(1) == name && street.listed(2) == name
    });

    // A drain sends it to the other, and a revocation at the first of these ends it there.
    let (before, there) = (ready(&home), 3 - here);
    street.done(&["drain"], &format!("g{here}"));
    eventually("it went", || ready(&home) > before && street.place() == there);
    assert_eq!(street.upload(), seen(there));
    street.done(&["bunch", "revoke", "home"], &format!("g{here}"));
    gateways[there - 1].wait_for_line("it is revoked", LONG).unwrap();
    assert_eq!(home.wait(LONG).unwrap().code(), Some(5), "{}", home.stderr());
    for gateway in &mut gateways {
        gateway.signal(Signal::TERM).unwrap();
        gateway.wait(LONG).unwrap();
    }
    assert!(world.alive().is_empty(), "who stops leaves the fleet at once");
}
