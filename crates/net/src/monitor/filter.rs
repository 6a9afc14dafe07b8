//! Which frames the kernel hands on: classic BPF, which every kernel takes without further rights.

/// Bytes of a frame at most: radiotap has some sixty, an unencrypted frame of 802.11 some 2350.
pub(super) const LONGEST: usize = 4096;
/// So much is handed on of an encrypted frame, which is only counted.
const OF_ENCRYPTED: u32 = 512;

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
    op(RETURN, OF_ENCRYPTED),
    op(RETURN, 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_end_at_the_returns() {
        let lands = |from: usize, by: u8| TO_ACCESS_POINTS[from + 1 + usize::from(by)].k;
        assert_eq!((lands(8, 7), lands(11, 4)), (0, 0), "what is no such frame");
        assert_eq!((lands(13, 0), lands(13, 1)), (LONGEST as u32, OF_ENCRYPTED));
    }
}
