use super::*;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpSlice, TransportSlice, UdpSlice};
use proptest::prelude::*;
use ropewalk_bond::vnet::Vnet;

#[derive(Clone, Copy, Debug)]
struct Shape {
    v6: bool,
    tcp: bool,
    size: u16,
    flags: u8,
}

/// A super-packet as the kernel hands it out, lengths of the whole in its headers.
fn build(shape: Shape, payload: &[u8]) -> (Vnet, Vec<u8>) {
    let mut packet = Vec::new();
    let ip = if shape.v6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
    } else {
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
    };
    if shape.tcp {
        let options = [etherparse::TcpOptionElement::Timestamp(7, 8)];
        let builder = ip.tcp(80, 443, u32::MAX - 100, 1000).options(&options).unwrap();
        builder.write(&mut packet, payload).unwrap();
    } else {
        ip.udp(80, 443).write(&mut packet, payload).unwrap();
    }
    let start = if shape.v6 { 40 } else { 20 };
    if shape.tcp {
        packet[start + 13] = shape.flags;
    }
    let (kind, offset) = match (shape.tcp, shape.v6) {
        (true, false) => (Vnet::GSO_TCPV4 | Vnet::GSO_ECN, 16),
        (true, true) => (Vnet::GSO_TCPV6, 16),
        (false, _) => (Vnet::GSO_UDP_L4, 6),
    };
    let header = Vnet {
        flags: Vnet::NEEDS_CSUM,
        gso_type: kind,
        hdr_len: 0,
        gso_size: shape.size,
        csum_start: start as u16,
        csum_offset: offset,
    };
    (header, packet)
}

fn cut(segments: Result<Segments<'_>, SegmentError>) -> Vec<Vec<u8>> {
    let mut segments = segments.expect("a well-formed super-packet");
    let mut buffer = vec![0; segments.largest()];
    let mut all = Vec::new();
    while let Some(segment) = segments.next_into(&mut buffer) {
        all.push(segment.to_vec());
    }
    all
}

fn check_tcp(net: &NetSlice<'_>, tcp: &TcpSlice<'_>) {
    let header = tcp.to_header();
    let expected = match net {
        NetSlice::Ipv4(ip) => {
            header.calc_checksum_ipv4_raw(ip.header().source(), ip.header().destination(), tcp.payload())
        }
        NetSlice::Ipv6(ip) => {
            header.calc_checksum_ipv6_raw(ip.header().source(), ip.header().destination(), tcp.payload())
        }
        NetSlice::Arp(_) => unreachable!(),
    };
    assert_eq!(one_zero(header.checksum), one_zero(expected.unwrap()));
}

fn check_udp(net: &NetSlice<'_>, udp: &UdpSlice<'_>) {
    let header = udp.to_header();
    let expected = match net {
        NetSlice::Ipv4(ip) => {
            header.calc_checksum_ipv4_raw(ip.header().source(), ip.header().destination(), udp.payload())
        }
        NetSlice::Ipv6(ip) => {
            header.calc_checksum_ipv6_raw(ip.header().source(), ip.header().destination(), udp.payload())
        }
        NetSlice::Arp(_) => unreachable!(),
    };
    assert_eq!(one_zero(header.checksum), one_zero(expected.unwrap()));
    assert_eq!(usize::from(header.length), 8 + udp.payload().len());
}

/// Parses one segment strictly, checks every length and checksum, and returns (payload, sequence, flags).
fn parse(packet: &[u8], index: usize) -> (Vec<u8>, u32, u8) {
    let sliced = SlicedPacket::from_ip(packet).expect("a valid packet");
    let net = sliced.net.expect("an IP header");
    match &net {
        NetSlice::Ipv4(ip) => {
            assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
            assert_eq!(usize::from(ip.header().total_len()), packet.len());
            assert_eq!(usize::from(ip.header().identification()), index);
        }
        NetSlice::Ipv6(ip) => assert_eq!(usize::from(ip.header().payload_length()) + 40, packet.len()),
        NetSlice::Arp(_) => panic!("not IP"),
    }
    match sliced.transport.expect("a transport header") {
        TransportSlice::Tcp(tcp) => {
            check_tcp(&net, &tcp);
            (tcp.payload().to_vec(), tcp.sequence_number(), tcp.slice()[13])
        }
        TransportSlice::Udp(udp) => {
            check_udp(&net, &udp);
            (udp.payload().to_vec(), 0, 0)
        }
        other => panic!("unexpected transport {other:?}"),
    }
}

/// Ones' complement has two zeros, and both verify (RFC 1624 §3).
fn one_zero(checksum: u16) -> u16 {
    if checksum == 0xffff { 0 } else { checksum }
}

proptest! {
    #[test]
    fn segments_are_valid_packets_that_carry_the_payload(
        v6: bool,
        tcp: bool,
        size in 1u16..3000,
        flags: u8,
        payload in proptest::collection::vec(any::<u8>(), 1..9000),
    ) {
        let (header, packet) = build(Shape { v6, tcp, size, flags }, &payload);
        let segments = cut(Segments::new(&header, &packet));
        prop_assert_eq!(segments.len(), payload.len().div_ceil(usize::from(size)));
        let mut whole = Vec::new();
        for (index, segment) in segments.iter().enumerate() {
            let (part, sequence, seen) = parse(segment, index);
            if tcp {
                prop_assert_eq!(sequence, (u32::MAX - 100).wrapping_add(whole.len() as u32));
                let last = index + 1 == segments.len();
                let mut expected = flags;
                if index > 0 { expected &= !CWR; }
                if !last { expected &= !(FIN | PSH); }
                prop_assert_eq!(seen, expected);
            }
            whole.extend(part);
        }
        prop_assert_eq!(whole, payload);
    }

    #[test]
    fn each_segment_of_a_frame_has_its_whole_ethernet_header(
        v6: bool,
        tcp: bool,
        tags in 0usize..3,
        size in 1u16..3000,
        payload in proptest::collection::vec(any::<u8>(), 1..9000),
    ) {
        let (header, packet) = build(Shape { v6, tcp, size, flags: 0x18 }, &payload);
        let kind = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let ethernet = [&[2; 12][..], &[0x88, 0xa8, 0, 7, 0x81, 0x00, 0, 8][8 - 4 * tags..], &kind].concat();
        let at = ethernet.len() as u16;
        let in_frame = Vnet { csum_start: header.csum_start + at, ..header };
        let frame = [&ethernet[..], &packet].concat();
        let frames = cut(Segments::of_frame(&in_frame, &frame));
        let packets = cut(Segments::new(&header, &packet));
        prop_assert_eq!(frames.len(), packets.len());
        for (frame, packet) in frames.iter().zip(&packets) {
            prop_assert_eq!(frame, &[&ethernet[..], packet].concat());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        flags: u8,
        gso_type in 0u8..6,
        gso_size: u16,
        csum_start in 0u16..80,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let header = Vnet { flags, gso_type, gso_size, csum_start, ..Vnet::default() };
        let mut buffer = vec![0; 65_535];
        for segments in [Segments::new(&header, &bytes), Segments::of_frame(&header, &bytes)] {
            let Ok(mut segments) = segments else { continue };
            while segments.next_into(&mut buffer).is_some() {}
        }
        let mut bytes = bytes;
        super::super::checksum::finish(&header, &mut bytes);
    }
}

#[test]
fn kinds_that_are_not_understood_are_refused() {
    let header = Vnet { gso_type: 3, ..Vnet::default() };
    assert_eq!(Segments::new(&header, &[0x45; 40]).unwrap_err(), SegmentError::Kind(3));
}
