//! Which socket of a group gets a datagram: a program of classic BPF that the kernel runs on its payload.

use std::os::fd::{AsRawFd, OwnedFd};

use ropewalk_bond::wire::TYPE_DATA;
use rustix::io::Errno;

use super::socket::check;

/// What [`ropewalk_bond::engine::Shard::number_for`] says, in the kernel. A load beyond the end answers 0.
fn program(of: u32) -> [libc::sock_filter; 8] {
    let op = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let alu = |code, k| op(libc::BPF_ALU | code | libc::BPF_K, k);
    let is_data = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    [
        op(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0),
        alu(libc::BPF_RSH, 4),
        libc::sock_filter { code: is_data, jt: 0, jf: 4, k: TYPE_DATA.into() },
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        alu(libc::BPF_AND, 0x00ff_ffff),
        alu(libc::BPF_MOD, of),
        op(libc::BPF_RET | libc::BPF_A, 0),
        op(libc::BPF_RET | libc::BPF_K, 0),
    ]
}

/// Attaches it to the group of this socket, whose first is number 0.
pub(super) fn attach(fd: &OwnedFd, of: u32) -> Result<(), Errno> {
    let mut filter = program(of);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the pointers and lengths describe the program, which lives across the call; the kernel copies it.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Options, RecvBatch, UdpSocket};
    use crate::poll::{Events, Interest, Poller};
    use ropewalk_bond::engine::Shard;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as Plain};
    use std::time::Duration;

    /// Sends each datagram, and returns which socket of the group got it.
    fn who_gets(group: &[UdpSocket], datagrams: &[Vec<u8>]) -> Vec<u32> {
        let at = group[0].local_addr();
        let sender = Plain::bind((at.ip(), 0)).unwrap();
        let poller = Poller::new().unwrap();
        for (socket, number) in group.iter().zip(0..) {
            poller.add(socket, number, Interest::Read).unwrap();
        }
        let (mut events, mut batch) = (Events::new(16), RecvBatch::new(1));
        let mut got = Vec::new();
        for datagram in datagrams {
            sender.send_to(datagram, at).unwrap();
            poller.wait(&mut events, Some(Duration::from_secs(5))).unwrap();
            let ready: Vec<u64> = events.iter().map(|ready| ready.token).collect();
            let [number] = ready[..] else { panic!("{ready:?}") };
            assert_eq!(group[number as usize].recv(&mut batch).unwrap(), 1);
            got.push(number as u32);
        }
        got
    }

    #[test]
    fn the_kernel_and_the_engine_agree_whose_a_datagram_is() {
        let header = |path: u8, index: u32| {
            let mut d = (0x4000_0000 | u32::from(path) << 24 | index).to_be_bytes().to_vec();
            d.extend([7; 30]);
            d
        };
        let data =
            [0, 1, 2, 3, 4, 5, 0xff_fffe, 0xff_ffff, 4711].map(|index| header((index % 16) as u8, index));
        let others = [vec![0x10; 200], vec![0x40], vec![0x41, 0, 0], vec![0x50, 0, 0, 1]];
        let all: Vec<Vec<u8>> = data.into_iter().chain(others).collect();
        let loopback = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), (Ipv6Addr::LOCALHOST, 0).into()];
        for (at, of) in loopback.into_iter().zip([3, 2]) {
            let shard = Shard::new(0, of).unwrap();
            let Ok(group) = UdpSocket::open_group(&Options::at(at), shard) else {
                assert!(at.is_ipv6(), "a machine may have no IPv6");
                continue;
            };
            let expected: Vec<u32> = all.iter().map(|d| shard.number_for(d)).collect();
            assert_eq!(who_gets(&group, &all), expected, "{at}");
            assert!((0..of).all(|number| expected.contains(&number)), "{expected:?}");
        }
    }

    #[test]
    fn a_group_is_not_opened_where_another_listens() {
        let shard = Shard::new(0, 2).unwrap();
        let group = UdpSocket::open_group(&Options::at((Ipv4Addr::LOCALHOST, 0).into()), shard).unwrap();
        let taken = Options::at(group[0].local_addr());
        assert!(UdpSocket::open_group(&taken, shard).is_err());
        assert!(UdpSocket::open(&taken).is_err());
    }
}
