//! A contributor whose senders have one address at the gateway is nobody else's home access point.

use ropewalk_bunch::gateway::{Config, Gateway, Input, Output, Tunnel};
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

/// Whether the gateway answers a home's REGISTER with this outer address.
fn registers(outer: Option<&str>) -> bool {
    let everywhere = vec![(Ipv4Addr::UNSPECIFIED, None)];
    let mut gateway = Gateway::new(Config::new(everywhere, [7; 16]));
    let outer: Option<SocketAddrV4> = outer.map(|o| o.parse().unwrap());
    let register = Register { session: 0, home: true, flow: flow(), outer, boot: 1 };
    let mut bytes = Vec::new();
    Message::Register(register).write(&mut bytes);
    gateway.handle(Input::TunnelUpBehind(Tunnel(1), 1, Ipv4Addr::new(10, 78, 0, 2)), Time::ZERO);
    gateway.handle(Input::FromTunnel(Tunnel(1), &bytes), Time::ZERO);
    matches!(gateway.poll_output(), Output::ToTunnel(..))
}

#[test]
fn only_its_own_address_counts() {
    assert!(registers(Some("10.78.0.2:40000")));
    assert!(!registers(Some("10.78.0.3:40000")), "another's sender");
    assert!(!registers(None), "an address that is not translated may be another's, too");
}
