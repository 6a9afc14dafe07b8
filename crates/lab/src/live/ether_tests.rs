use super::*;

/// A TCP super-packet over IPv4 of `payload` bytes, cut every `segment`; its checksum is open as the kernel leaves it.
fn tcp(payload: usize, segment: u16, flags: u8) -> Frame {
    let mut ether = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let len = (20 + 20 + payload) as u16;
    let mut ip = vec![0x45, 0x02, 0, 0, 0, 100, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&len.to_be_bytes());
    let check = !fold(sum(&ip));
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let mut tcp = vec![0, 80, 1, 0, 0, 0, 3, 232, 0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0];
    let pseudo = sum(&ip[12..20]) + 6 + u64::from(len - 20);
    tcp[16..18].copy_from_slice(&fold(pseudo).to_be_bytes());
    ether.extend(ip.iter().chain(&tcp));
    ether.extend((0..payload).map(|i| i as u8));
    let mut bytes = vec![NEEDS_CSUM, GSO_TCPV4];
    for field in [54u16, segment, 34, 16] {
        bytes.extend(field.to_ne_bytes());
    }
    bytes.extend(ether);
    let (mut buffer, len) = (bytes.clone().into_boxed_slice(), bytes.len());
    Frame::new(&mut buffer, len, || vec![0; LONGEST].into()).unwrap()
}

fn ip_of(piece: &Piece) -> Vec<u8> {
    let mut out = Vec::new();
    piece.ip_bytes(&mut out);
    out
}

#[test]
fn a_super_packet_becomes_packets_whose_checksums_hold() {
    let pieces: Vec<Piece> = tcp(2500, 1000, 0x98).pieces().collect();
    assert_eq!(pieces.iter().map(Piece::len).collect::<Vec<_>>(), [1040, 1040, 540]);
    let mut payload = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let ip = ip_of(piece);
        assert_eq!(ip.len(), piece.len() as usize);
        assert_eq!(fold(sum(&ip[..20])), 0xffff, "the IPv4 header of piece {i}");
        let pseudo = sum(&ip[12..20]) + 6 + (ip.len() as u64 - 20);
        assert_eq!(fold(pseudo + sum(&ip[20..])), 0xffff, "TCP of piece {i}");
        assert_eq!(word(&ip, 4), 100 + i as u16);
        assert_eq!(u32::from_be_bytes([ip[24], ip[25], ip[26], ip[27]]), 1000 + 1000 * i as u32);
        // CWR first, PSH last.
        assert_eq!(ip[33], [0x90, 0x10, 0x18][i]);
        payload.extend_from_slice(&ip[40..]);
    }
    assert_eq!(payload, (0..2500).map(|i| i as u8).collect::<Vec<_>>());
}

#[test]
fn neighbours_are_joined_and_others_are_not() {
    let mut pieces = tcp(4000, 1000, 0x10).pieces();
    let mut run = Run::new(pieces.next().unwrap(), false);
    assert!(run.join(pieces.next().unwrap(), false).is_ok());
    // One was lost on the way.
    let lost = pieces.next().unwrap();
    let fourth = pieces.next().unwrap();
    assert!(run.join(fourth, false).is_err());
    assert!(run.join(lost.clone(), true).is_err(), "a marked piece stays alone");
    assert!(run.join(lost, false).is_ok());
    let mut other = tcp(1000, 1000, 0x10).pieces();
    assert!(run.join(other.next().unwrap(), false).is_err());
    let (mut head, frame) = ([0; HEAD], &run.frame);
    let (len, vnet) = run.head(&mut head);
    assert_eq!((len, run.rest().len()), (frame.body, 3000));
    assert_eq!((vnet[1], word(&head, VNET_BYTES + ETHER_BYTES + 2)), (GSO_TCPV4, 3040));
}

#[test]
fn a_mark_is_congestion_experienced_and_the_checksum_follows() {
    let piece = tcp(1000, 1000, 0x10).pieces().next().unwrap();
    let run = Run::new(piece, true);
    let mut head = [0; HEAD];
    run.head(&mut head);
    let ip = &head[VNET_BYTES + ETHER_BYTES..];
    assert_eq!((ip[1] & 3, fold(sum(&ip[..20]))), (3, 0xffff));
}

#[test]
fn what_is_no_frame_is_refused_and_what_lies_about_itself_stays_whole() {
    let mut short = vec![0; 20].into_boxed_slice();
    assert!(Frame::new(&mut short, 20, Box::default).is_none());
    for lie in [[NEEDS_CSUM, GSO_TCPV4], [0, GSO_UDP], [0, GSO_TCPV6]] {
        let mut bytes = vec![0u8; 60];
        bytes[..2].copy_from_slice(&lie);
        bytes[4..8].fill(0xff);
        let mut buffer = bytes.into_boxed_slice();
        let frame = Frame::new(&mut buffer, 60, Box::default).unwrap();
        assert_eq!(frame.pieces().map(|p| p.len()).collect::<Vec<_>>(), [36]);
    }
}
