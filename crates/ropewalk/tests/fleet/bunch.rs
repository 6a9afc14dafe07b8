//! Two gateways of a bunch in one store, a home that uploads through one of them, and its neighbour.
//!
//! ```text
//!   sender ─ lan0, home's router ─ hub ─ g1, g2 ─ (hub) ─ server
//!                   ║ mesh0         │
//!                 anna ─────────────┘
//! ```

use super::*;
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec};
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

    /// A neighbour, and slow uplinks for both, so that it helps.
    fn anna(&self) -> (Namespace, [Cable; 2]) {
        let (topology, home) = (&self.world.topology, &self.world.client);
        let anna = topology.namespace("anna").unwrap();
        let (near, far) = (End::new("mesh0", ["10.20.0.1/24"]), End::new("mesh1", ["10.20.0.2/24"]));
        topology.veth((home, near), (&anna, far)).unwrap();
        let cables = [(0_u64, home), (1, &anna)].map(|(n, at)| {
            let near = End::new("up0", [format!("10.6.{n}.2/24")]);
            let far = End::new(&format!("u{n}"), [format!("10.6.{n}.1/24")]);
            let spec = CableSpec::symmetric(LinkSpec::new(4.0, Duration::from_millis(5))).seed(n);
            let cable = topology.cable((at, near), (&self.world.hub, far), spec).unwrap();
            at.ip(&[format!("route add 10.2.0.0/16 via 10.6.{n}.1")]).unwrap();
            cable
        });
        (anna, cables)
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

    /// Both, when they know of each other.
    fn gateways(&self) -> [Process; 2] {
        let gateways = [1, 2].map(|n| self.gateway(n));
        let is_whole = |n: usize| {
            let status = self.status(&format!("g{n}"));
            let all = status["fleet"]["gateways"].as_array().cloned().unwrap_or_default();
            all.len() == 2 && all.iter().all(|g| !g["endpoints"].as_array().unwrap().is_empty())
        };
        World::in_the_end("each knows both", || is_whole(1) && is_whole(2));
        gateways
    }

    /// A token, made at the first gateway.
    fn invite(&self, name: &str) -> Token {
        self.done(&["bunch", "invite", name], "g1").trim().parse().unwrap()
    }

    /// An access point that a gateway has let in.
    fn ap(&self, (name, at): (&str, &Namespace), token: &Token, more: &[&str]) -> Process {
        let (text, state) = (token.to_text(), self.world.states.of(name));
        let args = ["bunch", "ap", text.as_str(), "--state", &state];
        let mut ap = at.start(BINARY, args.iter().chain(more)).unwrap();
        ap.wait_for_line("access point ready", LONG).unwrap();
        ap
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

    /// The one account that somebody's state directory shows, once it is there.
    fn account(&self, end: &str) -> serde_json::Value {
        let said = self.done(&["bunch", "accounts", "--json"], end);
        let all: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert!(all.as_array().unwrap().len() < 2, "{all}");
        all[0].clone()
    }

    /// Bytes of the home come to the server; the address that it sees.
    fn upload(&self, bytes: u32) -> IpAddr {
        let listener = self.world.server.run(|| TcpListener::bind("10.3.0.2:0")).unwrap().unwrap();
        let to = listener.local_addr().unwrap();
        let mut near = self.sender.run(|| TcpStream::connect_timeout(&to, LONG)).unwrap().unwrap();
        let (mut far, from) = listener.accept().unwrap();
        near.set_write_timeout(Some(LONG)).unwrap();
        far.set_read_timeout(Some(LONG)).unwrap();
        let bytes: Vec<u8> = (0..bytes).map(|n| (n / 7) as u8).collect();
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
    let mut gateways = street.gateways();

    // One token is for both.
    let token = street.invite("home");
    let endpoints: Vec<String> = token.endpoints().iter().map(ToString::to_string).collect();
    assert_eq!(endpoints, ["10.2.1.2:4520", "10.2.2.2:4520"]);
    let mut home = street.ap(("home", &world.client), &token, &["--home", "lan0"]);
    let first = street.place();
    assert_eq!(street.upload(300_000), seen(first));
    let name = Some(format!("g{first}"));
    World::in_the_end("both list it", || street.listed(1) == name && street.listed(2) == name);
    let (inside, before) = (street.status("home")["address"].clone(), ready(&home));

    // Death.
    let second = 3 - first;
    gateways[first - 1].kill();
    eventually("it is at the other", || ready(&home) > before && street.place() == second);
    assert_eq!(street.upload(300_000), seen(second));
    assert_eq!(street.status("home")["address"], inside, "its address is its own");

    // The same access point comes to another gateway: the one where it was lets it go.
    gateways[first - 1] = street.gateway(first);
    let [state, copy] = ["home", "copy"].map(|end| world.states.of(end));
    world.hub.shell(&format!("install -d -m 700 {copy} && cp -p {state}/key {copy}")).unwrap();
    let there = vec![token.endpoints()[first - 1].clone()];
    let of_one = Token::new(token.gateway, token.invite, token.secret.clone(), there).unwrap();
    let mut other = street.ap(("copy", &world.hub), &of_one, &["--share", "s"]);
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
    assert_eq!(street.upload(300_000), seen(there));
    street.done(&["bunch", "revoke", "home"], &format!("g{here}"));
    gateways[there - 1].wait_for_line("it is revoked", LONG).unwrap();
    assert_eq!(home.wait(LONG).unwrap().code(), Some(5), "{}", home.stderr());
    for gateway in &mut gateways {
        gateway.signal(Signal::TERM).unwrap();
        gateway.wait(LONG).unwrap();
    }
    assert!(world.alive().is_empty(), "who stops leaves the fleet at once");
}

#[test]
fn what_a_neighbour_carried_is_one_account_at_all_gateways() {
    let _alone = alone();
    if !can() {
        return;
    }
    let street = Street::new("fleet-accounts");
    let (anna, _cables) = street.anna();
    let _etcd = street.world.etcd();
    let mut gateways = street.gateways();
    assert_eq!(street.account("g1"), serde_json::Value::Null, "nothing was carried");
    let tokens = ["home", "anna"].map(|name| street.invite(name));
    // So that both are at the first.
    street.done(&["drain"], "g2");
    let often = ["--account-every", "1"];
    let more = ["--home", "lan0", "--share", "mesh0"];
    let home = street.ap(("home", &street.world.client), &tokens[0], &[&more[..], &often].concat());
    let _anna = street.ap(("anna", &anna), &tokens[1], &[&["--share", "mesh1"][..], &often].concat());
    let are_together = |gateway: &str| {
        let all = street.status(gateway)["contributors"].as_array().unwrap().clone();
        all.len() == 2 && all.iter().all(|c| !c["remote"].is_null() && c["neighbours"] == 1)
    };
    World::in_the_end("they know each other", || are_together("g1"));
    assert_eq!(street.upload(3_000_000), seen(1));
    let carried = |end: &str| street.account(end)["totals"]["carried_packets"].as_u64().unwrap_or(0);
    let is_in_store = |end: &str, by: &str| street.account(end)["file"] == format!("in the store, by {by}");
    World::in_the_end("the other shows what the first has", || {
        carried("g1") > 0 && carried("g2") == carried("g1") && is_in_store("g2", "g1")
    });
    World::in_the_end("by her name", || ["g1", "g2"].iter().all(|g| street.account(g)["name"] == "anna"));

    // Death: they are together at the other one, and the account goes on there.
    let (before, times) = (street.account("g2"), ready(&home));
    street.done(&["drain", "--off"], "g2");
    gateways[0].kill();
    World::in_the_end("they know each other there", || ready(&home) > times && are_together("g2"));
    assert_eq!(street.upload(3_000_000), seen(2));
    World::in_the_end("there is more", || {
        let now = street.account("g2");
        now["last"].as_u64() > before["last"].as_u64() && !is_in_store("g2", "g1")
    });
    World::in_the_end("she has the same", || carried("anna") == carried("g2"));
    let (hers, now) = (street.account("anna"), street.account("g2"));
    assert!(hers["totals"]["carried_packets"].as_u64() > before["totals"]["carried_packets"].as_u64());
    assert!(hers["gateway"] == before["gateway"] && hers["first"] == 1, "{hers} {now}");
}
