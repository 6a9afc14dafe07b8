//! The four calls that move packets allocate nothing. One test alone in this file, for it counts the whole
//! process.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Netns, root};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::poll::{Events, Interest, Poller};
use ropewalk_net::tun::{Offloads, Tun};
use ropewalk_net::udp::{Options, RecvBatch, Transmit, UdpSocket};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn packets_move_without_allocation() {
    if !root() {
        return;
    }
    let ns = Netns::new("alloc");
    // A device without UDP segmentation, so that the software path runs too.
    let offloads = Offloads { header: true, csum: true, tso: true, uso: false };
    let mut tun = ns.inside(|| Tun::open_with(Some("rw0"), offloads).unwrap());
    ns.ip("address add 10.8.0.1/24 dev rw0");
    ns.ip("link set rw0 up");
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let open = || ns.inside(|| UdpSocket::open(&Options::at(any)).unwrap());
    let (mut a, b) = (open(), open());
    let (poller, mut events, mut batch) = (Poller::new().unwrap(), Events::new(8), RecvBatch::new(4));
    poller.add(&b, 1, Interest::Read).unwrap();
    let data = vec![1; 12_000];
    let mut packet = vec![0; 65_535];
    let super_packet = udp_super_packet();
    let header = Vnet {
        flags: Vnet::NEEDS_CSUM,
        gso_type: 5,
        gso_size: 1000,
        csum_start: 20,
        csum_offset: 6,
        hdr_len: 28,
    };

    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut received = 0;
    for round in 0..200 {
        if round == 100 {
            a.forbid_gso();
        }
        let out = Transmit { to: b.local_addr(), from: None, tos: 2, segment_size: 1200, data: &data };
        a.send(&out).unwrap();
        poller.wait(&mut events, Some(Duration::from_millis(100))).unwrap();
        while b.recv(&mut batch).unwrap() > 0 {
            received += batch.iter_mut().map(|d| d.data.len()).sum::<usize>();
        }
        tun.send(&header, &[&super_packet[..28], &super_packet[28..]]).unwrap();
        while tun.recv(&mut packet).unwrap().is_some() {}
        let _ = ropewalk_net::clock::now();
    }
    let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert_eq!(received, 200 * data.len());
    assert_eq!(allocated, 0);
}

fn udp_super_packet() -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4([10, 8, 0, 2], [10, 8, 0, 1], 64).udp(9, 9);
    builder.write(&mut packet, &[7; 10_500]).unwrap();
    packet
}
