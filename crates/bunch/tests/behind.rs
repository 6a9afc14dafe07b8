//! A contributor whose senders have one address at the gateway is nobody else's home access point.

use ropewalk_bunch::gateway::{Config, Gateway, Home, Input, Output, Tunnel};
use ropewalk_bunch::wire::{Message, Register};
use ropewalk_bunch::{Flow, Time};
use std::net::{Ipv4Addr, SocketAddrV4};

fn flow() -> Flow {
    Flow {
        bssid: [1; 6],
        station: [2; 6],
        tid: 0,
        protocol: 6,
        source: "192.168.1.2:40000".parse().unwrap(),
        destination: "203.0.113.9:443".parse().unwrap(),
    }
}

/// A contributor whose senders have this address; the flow is of its cell.
fn home(last: u8) -> Home {
    Home { address: Ipv4Addr::new(10, 78, 0, last), cell: [1; 6] }
}

fn gateway() -> Gateway {
    let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
    Gateway::new(Config::new(everywhere, [7; 16]))
}

/// Whether the gateway answers a home's REGISTER with this outer address.
fn answers(gateway: &mut Gateway, tunnel: Tunnel, outer: Option<&str>) -> bool {
    let outer: Option<SocketAddrV4> = outer.map(|o| o.parse().unwrap());
    answers_to(gateway, tunnel, Register { session: 0, home: true, flow: flow(), outer, boot: 1 })
}

fn answers_to(gateway: &mut Gateway, tunnel: Tunnel, register: Register) -> bool {
    let mut bytes = Vec::new();
    Message::Register(register).write(&mut bytes);
    gateway.handle(Input::FromTunnel(tunnel, &bytes), Time::ZERO);
    let mut answered = false;
    loop {
        match gateway.poll_output() {
            Output::ToTunnel(to, _) => answered |= to == tunnel,
            Output::Timeout(..) => return answered,
            _ => {}
        }
    }
}

fn registers(outer: Option<&str>) -> bool {
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    answers(&mut gateway, Tunnel(1), outer)
}

#[test]
fn only_its_own_address_counts() {
    assert!(registers(Some("10.78.0.2:40000")));
    assert!(!registers(Some("10.78.0.3:40000")), "another's sender");
    assert!(!registers(None), "an address that is not translated may be another's, too");
}

fn sender(gateway: &Gateway) -> SocketAddrV4 {
    let mut views = gateway.views();
    let sender = views.next().unwrap().sender;
    assert!(views.next().is_none(), "one session");
    sender
}

/// A neighbour knows a flow by what is shared with it.
#[test]
fn a_session_stays_with_the_address_that_it_was_made_for() {
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 2, home(3)), Time::ZERO);
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    assert!(!answers(&mut gateway, Tunnel(2), Some("10.78.0.3:40000")));
    assert_eq!(sender(&gateway), "10.78.0.2:40000".parse().unwrap());
    // Nor while the home's tunnel is gone.
    gateway.handle(Input::TunnelDown(Tunnel(1)), Time::ZERO);
    assert!(!answers(&mut gateway, Tunnel(2), Some("10.78.0.3:40000")));
    assert_eq!(sender(&gateway), "10.78.0.2:40000".parse().unwrap());
    gateway.handle(Input::TunnelUpBehind(Tunnel(3), 1, home(2)), Time::ZERO);
    assert!(answers(&mut gateway, Tunnel(3), Some("10.78.0.2:40001")), "another port of its own");
    assert_eq!(sender(&gateway), "10.78.0.2:40001".parse().unwrap());
}

/// A neighbour is there before the home, by the name of the home's flow and an address of its own.
#[test]
fn a_flow_is_of_the_home_whose_cell_it_names() {
    let mut gateway = gateway();
    let elsewhere = Home { cell: [2; 6], ..home(3) };
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 2, elsewhere), Time::ZERO);
    assert!(!answers(&mut gateway, Tunnel(2), Some("10.78.0.3:40000")));
    assert_eq!(gateway.sessions(), 0);
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    assert_eq!(sender(&gateway), "10.78.0.2:40000".parse().unwrap());
}

/// Where contributors overhear, cells are those of the air, and nothing proves whose they are.
#[test]
fn a_cell_of_the_air_is_of_the_home_that_names_it_first() {
    let mut gateway = gateway();
    for (n, who) in [(1, 2), (2, 3)] {
        let of_key = Home { cell: [100 + who; 6], ..home(who) };
        gateway.handle(Input::TunnelUpBehind(Tunnel(n), who.into(), of_key), Time::ZERO);
    }
    assert!(!answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")), "it does not overhear");
    [1, 2].into_iter().for_each(|n| gateway.handle(Input::OnAir(Tunnel(n)), Time::ZERO));
    assert!(!answers(&mut gateway, Tunnel(1), Some("10.78.0.3:40000")), "another's address claims nothing");
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    assert!(!answers(&mut gateway, Tunnel(2), Some("10.78.0.3:40000")));
    assert_eq!(sender(&gateway), "10.78.0.2:40000".parse().unwrap());
    assert_eq!(gateway.counts().cells_of_others, 1);
}

/// What a neighbour brings is counted as carried for others: with one token that is never its own.
#[test]
fn nobody_is_a_neighbour_of_its_own_home() {
    let as_neighbour = || Register { session: 1, home: false, flow: flow(), outer: None, boot: 1 };
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    gateway.handle(Input::TunnelUpBehind(Tunnel(2), 2, home(3)), Time::ZERO);
    assert!(!answers_to(&mut gateway, Tunnel(1), as_neighbour()), "there is no home yet");
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    assert!(!answers_to(&mut gateway, Tunnel(1), as_neighbour()), "it is the home");
    assert!(answers_to(&mut gateway, Tunnel(2), as_neighbour()), "the null case: another is none");
}

/// Nor does a number by which its home is known stand for another's, whatever is said of it.
#[test]
fn a_number_of_the_own_home_does_not_become_a_neighbours() {
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    let access_points = |gateway: &Gateway| gateway.views().next().unwrap().access_points;
    assert_eq!(access_points(&gateway), 1);
    let as_neighbour = Register { session: 0, home: false, flow: flow(), outer: None, boot: 1 };
    assert!(!answers_to(&mut gateway, Tunnel(1), as_neighbour));
    assert_eq!(access_points(&gateway), 0, "what comes under this number is nobody's from now on");
}

/// The same where nothing is known of addresses: who comes second changes nothing.
#[test]
fn a_home_that_is_refused_changes_nothing() {
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUp(Tunnel(1), 1), Time::ZERO);
    gateway.handle(Input::TunnelUp(Tunnel(2), 2), Time::ZERO);
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    assert!(!answers(&mut gateway, Tunnel(2), Some("10.78.0.3:40000")));
    assert_eq!(sender(&gateway), "10.78.0.2:40000".parse().unwrap());
}

#[test]
fn what_others_may_listen_for_is_what_a_home_has_registered() {
    let mut gateway = gateway();
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, home(2)), Time::ZERO);
    let before = gateway.flow_changes();
    assert!(!answers(&mut gateway, Tunnel(1), Some("10.78.0.3:40000")), "another's");
    assert_eq!((gateway.flows().count(), gateway.flow_changes()), (0, before));
    assert!(answers(&mut gateway, Tunnel(1), Some("10.78.0.2:40000")));
    let all: Vec<_> = gateway.flows().collect();
    assert_eq!(all, [(flow(), Ipv4Addr::new(10, 78, 0, 2))]);
    assert!(gateway.flow_changes() > before);
    let known = gateway.flow_changes();
    // Nobody speaks in it for long: it is forgotten, which is a change as well.
    gateway.handle(Input::Timer, Time::from_secs(400));
    assert_eq!(gateway.flows().count(), 0);
    assert!(gateway.flow_changes() > known);
}
