use super::*;
use smoltcp::wire::{
    DHCP_CLIENT_PORT, DHCP_SERVER_PORT, DhcpMessageType, DhcpOption, EthernetProtocol, EthernetRepr,
    IpProtocol, Ipv4Repr, UdpRepr,
};
use std::collections::VecDeque;

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// A cable to a server in this test.
#[derive(Default)]
struct Cable {
    in_: VecDeque<Vec<u8>>,
    out: VecDeque<Vec<u8>>,
}

struct Out<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut frame = vec![0; length];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Cable {
    type RxToken<'a> = Received;
    type TxToken<'a> = Out<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Out<'_>)> {
        Some((Received(self.in_.pop_front()?), Out(&mut self.out)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.out))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities()
    }
}

/// The server's answer to a frame, if it is DHCP: the address that is given for a lease of 100 s, and
/// `more` options.
fn answer(frame: &[u8], given: Ipv4Addr, more: &[DhcpOption<'_>]) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let udp = UdpPacket::new_checked(ip.payload()).ok()?;
    let packet = DhcpPacket::new_checked(udp.payload()).ok()?;
    let asked = DhcpRepr::parse(&packet).ok()?;
    let kind = match asked.message_type {
        DhcpMessageType::Discover => DhcpMessageType::Offer,
        DhcpMessageType::Request => DhcpMessageType::Ack,
        _ => return None,
    };
    let dhcp = DhcpRepr {
        message_type: kind,
        your_ip: given,
        server_identifier: Some(SERVER),
        subnet_mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
        router: Some(SERVER),
        lease_duration: Some(100),
        client_identifier: None,
        parameter_request_list: None,
        max_size: None,
        requested_ip: None,
        additional_options: more,
        ..asked
    };
    let udp = UdpRepr { src_port: DHCP_SERVER_PORT, dst_port: DHCP_CLIENT_PORT };
    let ip = Ipv4Repr {
        src_addr: SERVER,
        dst_addr: Ipv4Addr::BROADCAST,
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + dhcp.buffer_len(),
        hop_limit: 64,
    };
    let ethernet = EthernetRepr {
        src_addr: EthernetAddress([2, 0, 0, 0, 0, 1]),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Ipv4,
    };
    let checks = capabilities().checksum;
    let mut bytes = vec![0; ethernet.buffer_len() + ip.buffer_len() + ip.payload_len];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    ethernet.emit(&mut frame);
    let mut packet = Ipv4Packet::new_unchecked(frame.payload_mut());
    ip.emit(&mut packet, &checks);
    udp.emit(
        &mut UdpPacket::new_unchecked(packet.payload_mut()),
        &SERVER.into(),
        &Ipv4Addr::BROADCAST.into(),
        dhcp.buffer_len(),
        |payload| dhcp.emit(&mut DhcpPacket::new_unchecked(payload)).expect("there is room"),
        &checks,
    );
    Some(bytes)
}

/// What happens from one second to another when the server gives this address, or is silent.
fn run(
    client: &mut Client<Cable>,
    seconds: std::ops::Range<u64>,
    given: Option<Ipv4Addr>,
) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    for second in seconds {
        for step in 0..10 {
            let now = Time::from_millis(second * 1000 + step * 100);
            events.extend(client.poll(now).map(|e| (second, e)));
            let asked: Vec<Vec<u8>> = client.device.out.drain(..).collect();
            client.device.in_.extend(asked.iter().filter_map(|frame| answer(frame, given?, &[])));
        }
    }
    events
}

#[test]
fn a_lease_is_had_kept_and_lost() {
    let mut client = Client::over(Cable::default(), MAC, 7);
    let given = Ipv4Addr::new(192, 168, 1, 77);
    let events = run(&mut client, 0..5, Some(given));
    let lease = Lease { address: given, prefix_len: 24, router: Some(SERVER), dns: Vec::new() };
    assert_eq!(events.iter().map(|(_, e)| e.clone()).collect::<Vec<_>>(), [Event::Bound(lease)]);
    // It is renewed while the server answers: three leases long nothing changes.
    assert_eq!(run(&mut client, 5..300, Some(given)), []);
    // A silent server: the lease ends a hundred seconds after it was renewed last.
    let events = run(&mut client, 300..420, None);
    assert!(matches!(events[..], [(at, Event::Lost)] if (300..402).contains(&at)), "{events:?}");
}

/// The machine slept for an hour, and whoever looks has the clock that went on.
#[test]
fn a_lease_that_ran_out_meanwhile_is_lost_at_the_first_look_and_had_again() {
    let mut client = Client::over(Cable::default(), MAC, 7);
    let given = Ipv4Addr::new(192, 168, 1, 77);
    let bound = run(&mut client, 0..5, Some(given)).remove(0).1;
    assert_eq!(client.poll(Time::from_secs(3600)), Some(Event::Lost));
    let events = run(&mut client, 3601..3606, Some(given));
    assert_eq!(events.into_iter().map(|(_, e)| e).collect::<Vec<_>>(), [bound]);
}

#[test]
fn an_address_that_no_host_may_have_is_none() {
    for given in [[127, 0, 0, 1], [0, 1, 2, 3]] {
        let mut client = Client::over(Cable::default(), MAC, 7);
        assert_eq!(run(&mut client, 0..20, Some(given.into())), [], "{given:?}");
    }
}

#[test]
fn a_server_that_wants_to_be_asked_behind_its_lease_s_end_is_none() {
    let given = Ipv4Addr::new(192, 168, 1, 77);
    for (renew, is_taken) in [(50_u32, true), (100, true), (101, false), (u32::MAX, false)] {
        let (mut client, mut is_bound) = (Client::over(Cable::default(), MAC, 7), false);
        // Renewal Time Value (RFC 2132 §9.11).
        let more = [DhcpOption { kind: 58, data: &renew.to_be_bytes() }];
        for step in 0..50 {
            is_bound |= client.poll(Time::from_millis(step * 100)).is_some();
            let asked: Vec<Vec<u8>> = client.device.out.drain(..).collect();
            client.device.in_.extend(asked.iter().filter_map(|frame| answer(frame, given, &more)));
        }
        assert_eq!(is_bound, is_taken, "{renew} s");
    }
}

#[test]
fn frames_that_are_no_dhcp_change_nothing() {
    let mut client = Client::over(Cable::default(), MAC, 7);
    run(&mut client, 0..1, None);
    for length in [0, 1, 14, 42, 300, FRAME] {
        client.device.in_.push_back(vec![0xff; length]);
    }
    assert_eq!(run(&mut client, 1..3, None), []);
}
