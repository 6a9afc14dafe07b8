//! Which frames the kernel hands on: classic BPF, which every kernel takes without further rights.

/// Bytes of a frame at most: radiotap has some sixty, an unencrypted frame of 802.11 some 2350.
pub(super) const LONGEST: usize = 4096;
/// So much is handed on of a frame that is only counted: its headers.
const HEADERS: u32 = 512;
/// Links that a filter has at most.
pub const MOST_LINKS: usize = 16;

/// An access point and a station of it: transmitter and receiver.
pub type Link = ([u8; 6], [u8; 6]);

const fn op(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn jump(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | code | libc::BPF_K) as u16, jt, jf, k }
}

const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const LOAD_BEHIND: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_IND;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Data of stations to access points: whole if it can be read, else as much as its header. A load
/// beyond a frame's end drops it.
pub(super) const TO_ACCESS_POINTS: [libc::sock_filter; 17] = [
    // The length of radiotap, little-endian, to X.
    op(LOAD_BYTE, 3),
    op(libc::BPF_ALU | libc::BPF_LSH | libc::BPF_K, 8),
    op(libc::BPF_MISC | libc::BPF_TAX, 0),
    op(LOAD_BYTE, 2),
    op(libc::BPF_ALU | libc::BPF_OR | libc::BPF_X, 0),
    op(libc::BPF_MISC | libc::BPF_TAX, 0),
    // Version 0, data, with a payload.
    op(LOAD_BEHIND, 0),
    op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0x4f),
    jump(libc::BPF_JEQ, 0x08, 0, 7),
    // To the distribution system, not from it.
    op(LOAD_BEHIND, 1),
    op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 3),
    jump(libc::BPF_JEQ, 1, 0, 4),
    // Encrypted?
    op(LOAD_BEHIND, 1),
    jump(libc::BPF_JSET, 0x40, 1, 0),
    op(RETURN, LONGEST as u32),
    op(RETURN, HEADERS),
    op(RETURN, 0),
];

/// Headers of data by these links, of the first [`MOST_LINKS`] if there are more.
pub(super) fn by_links(links: &[Link]) -> Vec<libc::sock_filter> {
    let links = &links[..links.len().min(MOST_LINKS)];
    // From an instruction to the last one, which drops the frame.
    let last = 12 + links.len() * OF_LINK;
    let to_last = |from: usize| (last - from - 1) as u8;
    // The first six find the frame, as above.
    let mut program = TO_ACCESS_POINTS[..6].to_vec();
    program.extend([
        // Version 0, data, with a payload.
        op(LOAD_BEHIND, 0),
        op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0x4f),
        jump(libc::BPF_JEQ, 0x08, 0, to_last(8)),
        // From the distribution system, not to it.
        op(LOAD_BEHIND, 1),
        op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 3),
        jump(libc::BPF_JEQ, 2, 0, to_last(11)),
    ]);
    for (transmitter, receiver) in links {
        program.extend(link(transmitter, receiver));
    }
    program.push(op(RETURN, 0));
    program
}

/// Instructions of a link.
const OF_LINK: usize = 9;

/// Hands the frame on if it is of this link; else goes on after these instructions.
fn link(transmitter: &[u8; 6], receiver: &[u8; 6]) -> [libc::sock_filter; OF_LINK] {
    let load = |size: u32, at: u32| op(libc::BPF_LD | size | libc::BPF_IND, at);
    let halves = |mac: &[u8; 6]| {
        let [a, b, c, d, e, f] = *mac;
        (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([0, 0, e, f]))
    };
    let (to, from) = (halves(receiver), halves(transmitter));
    [
        load(libc::BPF_W, 4),
        jump(libc::BPF_JEQ, to.0, 0, 7),
        load(libc::BPF_H, 8),
        jump(libc::BPF_JEQ, to.1, 0, 5),
        load(libc::BPF_W, 10),
        jump(libc::BPF_JEQ, from.0, 0, 3),
        load(libc::BPF_H, 14),
        jump(libc::BPF_JEQ, from.1, 0, 1),
        op(RETURN, HEADERS),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::socket::attach;
    use super::*;
    use std::io::ErrorKind;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    const AP: [u8; 6] = [2, 0, 0, 0, 7, 1];
    const STATION: [u8; 6] = [2, 0, 0, 0, 8, 1];

    /// What this kernel hands on of a frame of `length` bytes behind a radiotap header of 8: any
    /// socket takes such a filter.
    fn passes(program: &[libc::sock_filter], frame: &[u8]) -> Option<usize> {
        let (from, to) = UnixDatagram::pair().unwrap();
        attach(to.as_fd(), program).unwrap();
        to.set_nonblocking(true).unwrap();
        from.send(frame).unwrap();
        match to.recv(&mut [0; LONGEST]) {
            Ok(n) => Some(n),
            Err(e) if e.kind() == ErrorKind::WouldBlock => None,
            Err(e) => panic!("{e}"),
        }
    }

    fn frame(control: u8, receiver: [u8; 6], transmitter: [u8; 6], length: usize) -> Vec<u8> {
        let mut f = vec![0, 0, 8, 0, 0, 0, 0, 0, 0x88, control, 0, 0];
        f.extend([receiver, transmitter, AP].concat());
        f.resize(8 + length, 0);
        f
    }

    #[test]
    fn headers_of_the_named_links_pass_and_nothing_else() {
        let other = |n: u8| ([2, 0, 0, 0, 7, n], [2, 0, 0, 0, 8, n]);
        let many: Vec<Link> = (1..=MOST_LINKS as u8).map(other).collect();
        for links in [&[(AP, STATION)][..], &[other(9), (AP, STATION)], &many] {
            let program = by_links(links);
            let of = |frame: Vec<u8>| passes(&program, &frame);
            let whole = frame(2, STATION, AP, 1500);
            assert_eq!(of(whole.clone()), Some(HEADERS as usize));
            assert_eq!(of(frame(0x42, STATION, AP, 40)), Some(48), "encrypted, and short");
            assert_eq!(of(frame(1, AP, STATION, 1500)), None, "to the access point");
            assert_eq!(of(frame(3, STATION, AP, 1500)), None, "between access points");
            assert_eq!(of(frame(2, AP, STATION, 1500)), None, "the other way round");
            assert_eq!(of(frame(2, [0xff; 6], AP, 1500)), None, "to all");
            assert_eq!(of(frame(2, STATION, [2, 0, 0, 0, 7, 99], 1500)), None, "another's");
            assert_eq!(of(frame(2, [2, 0, 0, 0, 8, 99], AP, 1500)), None, "to another");
            for kind in [0x80, 0x48, 0xc8, 0xb4, 0x89] {
                let mut f = whole.clone();
                f[8] = kind;
                assert_eq!(of(f), None, "{kind:x}");
            }
            assert_eq!(of(whole[..20].to_vec()), None, "it ends early");
        }
        // One of sixteen, and the seventeenth.
        let mut more = many.clone();
        more.push(other(77));
        let program = by_links(&more);
        assert!(passes(&program, &frame(2, many[15].1, many[15].0, 60)).is_some());
        assert_eq!(passes(&program, &frame(2, other(77).1, other(77).0, 60)), None);
        // Nobody is listened for.
        assert_eq!(passes(&by_links(&[]), &frame(2, STATION, AP, 60)), None);
    }

    #[test]
    fn frames_of_stations_pass_to_who_overhears() {
        let of = |frame: Vec<u8>| passes(&TO_ACCESS_POINTS, &frame);
        assert_eq!(of(frame(1, AP, STATION, 1500)), Some(1508));
        assert_eq!(of(frame(0x41, AP, STATION, 1500)), Some(HEADERS as usize));
        assert_eq!(of(frame(2, STATION, AP, 1500)), None);
    }

    #[test]
    fn jumps_end_at_the_returns() {
        let lands = |from: usize, by: u8| TO_ACCESS_POINTS[from + 1 + usize::from(by)].k;
        assert_eq!((lands(8, 7), lands(11, 4)), (0, 0), "what is no such frame");
        assert_eq!((lands(13, 0), lands(13, 1)), (LONGEST as u32, HEADERS));
    }
}
