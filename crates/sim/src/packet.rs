//! What travels: one small structure per packet, passed from hand to hand by a counted handle.
//!
//! A packet has real bytes only inside a tunnel ([`crate::wire`]); everywhere else its headers are fields and its
//! payload is a length. Handles give their memory back to a pool when the last one goes, wherever that is: a queue that
//! drops a packet, a wire that loses it, an endpoint that has read it. So a running world allocates nothing per packet.

pub use crate::tcp::Ecn;
use crate::tcp::Segment;
use ropewalk_air::Time;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::ops::Deref;
use std::rc::Rc;

/// Bytes of an IPv4 header without options.
pub const IP_HEADER: u32 = 20;
/// Bytes of the IPv4 and UDP headers.
pub const UDP_HEADERS: u32 = 28;
/// Bytes of the IPv4 and ICMP echo headers.
pub const ECHO_HEADERS: u32 = 28;
/// Payload bytes that [`UdpMark`] takes when a datagram has real bytes.
pub const UDP_MARK: u32 = 16;

/// Packets that a pool keeps for use again; more than that many at once are given back to the allocator.
const POOL: usize = 1 << 16;

/// An interface of the world, in order of creation. It is also the address below IP: frames name interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IfIndex(pub u32);

impl IfIndex {
    /// No interface in particular: not yet resolved, or everybody.
    pub const NONE: IfIndex = IfIndex(u32::MAX);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow of the scenario, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Traffic that belongs to no flow of the scenario: tunnels.
    pub const NONE: FlowId = FlowId(u32::MAX);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the sender of a datagram wrote into it, as traffic generators do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpMark {
    /// Number in its flow.
    pub seq: u32,
    /// For an application's own use: the video frame.
    pub tag: u32,
    /// When it was sent.
    pub sent: Time,
}

/// What is above the IP header.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// UDP of a traffic generator.
    Udp(UdpMark),
    /// UDP with real bytes, which are in [`Packet::bytes`]: a tunnel's datagram.
    Datagram,
    /// ICMP echo; the request if `request`, else the reply.
    Echo {
        /// Which of the two.
        request: bool,
        /// Number in its flow.
        seq: u32,
        /// When the request was sent.
        sent: Time,
    },
    /// TCP.
    Tcp(Segment),
}

/// IP protocol numbers, as far as they occur.
pub mod protocol {
    /// ICMP (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
}

/// An IPv4 packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Source port; of an echo, its identifier.
    pub sport: u16,
    /// Destination port; of an echo, its identifier.
    pub dport: u16,
    /// Length in bytes, IP header included.
    pub len: u32,
    /// Hops left.
    pub ttl: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Traffic class (DSCP, RFC 2474): it chooses the access category on air and the class of a strict queue.
    pub dscp: u8,
    /// A bit was damaged under way: whoever it is for throws it away by its checksum.
    pub damaged: bool,
    /// The next segment of the same super-packet follows at this instant: who it is for takes them as one ([`crate::tunnel`]).
    pub continued: bool,
    /// Its sender's kernel would end a super-packet here, because more would be a burst ([`crate::tunnel`]).
    pub is_last: bool,
    /// The flow of the scenario that it belongs to.
    pub flow: FlowId,
    /// Interface that put it on the present segment.
    pub from: IfIndex,
    /// Interface on the present segment that it is for; [`IfIndex::NONE`] is everybody.
    pub to: IfIndex,
    /// The rest.
    pub body: Body,
    /// UDP payload of a [`Body::Datagram`]; its memory outlives the packet.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// A packet between two addresses, 64 hops to live, best effort.
    pub fn new(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), len: u32, flow: FlowId, body: Body) -> Packet {
        Packet {
            src: src.0,
            dst: dst.0,
            sport: src.1,
            dport: dst.1,
            len,
            ttl: 64,
            ecn: Ecn::NotEct,
            dscp: 0,
            damaged: false,
            continued: false,
            is_last: false,
            flow,
            from: IfIndex::NONE,
            to: IfIndex::NONE,
            body,
            bytes: Vec::new(),
        }
    }

    /// Number of the transport protocol.
    pub fn protocol(&self) -> u8 {
        match self.body {
            Body::Udp(_) | Body::Datagram => protocol::UDP,
            Body::Echo { .. } => protocol::ICMP,
            Body::Tcp(_) => protocol::TCP,
        }
    }

    /// A number that packets of one transport flow and direction share, for queues that keep flows apart (FNV-1a).
    pub fn flow_hash(&self) -> u64 {
        let ports = u64::from(self.sport) << 16 | u64::from(self.dport);
        let addresses = u64::from(u32::from(self.src)) << 32 | u64::from(u32::from(self.dst));
        [addresses, ports, u64::from(self.protocol())]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |h, w| (h ^ w).wrapping_mul(0x100_0000_01b3))
    }
}

thread_local! {
    static FREE: RefCell<Vec<Rc<Packet>>> = const { RefCell::new(Vec::new()) };
}

/// A counted handle of a packet.
///
/// Clones share the packet; [`PacketRef::edit`] gives a clone its own before it changes.
#[derive(Clone, Debug)]
pub struct PacketRef(Option<Rc<Packet>>);

impl PacketRef {
    /// Takes a packet from the pool and writes `packet` into it. `packet.bytes` is expected to be empty, so that the
    /// memory of the last datagram here is used again; fill it by [`PacketRef::edit`].
    pub fn new(packet: Packet) -> PacketRef {
        let kept = FREE.with_borrow_mut(Vec::pop);
        let Some(mut kept) = kept else { return PacketRef(Some(Rc::new(packet))) };
        if let Some(slot) = Rc::get_mut(&mut kept) {
            let mut bytes = std::mem::take(&mut slot.bytes);
            *slot = packet;
            if slot.bytes.is_empty() {
                bytes.clear();
                slot.bytes = bytes;
            }
        }
        PacketRef(Some(kept))
    }

    /// The packet, to be changed.
    pub fn edit(&mut self) -> &mut Packet {
        // Only `drop` leaves nothing behind.
        let rc = self.0.as_mut().expect("a handle holds a packet until it is dropped");
        Rc::make_mut(rc)
    }
}

impl Deref for PacketRef {
    type Target = Packet;

    fn deref(&self) -> &Packet {
        self.0.as_ref().expect("a handle holds a packet until it is dropped")
    }
}

impl Drop for PacketRef {
    fn drop(&mut self) {
        let Some(rc) = self.0.take() else { return };
        if Rc::strong_count(&rc) > 1 {
            return;
        }
        // While a thread ends its pool may be gone already.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < POOL {
                free.push(rc);
            }
        });
    }
}

/// How many packets the pool of this thread keeps, for tests of bounded memory.
pub fn pooled() -> usize {
    FREE.with_borrow(Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: Vec<u8>) -> Packet {
        let end = (Ipv4Addr::new(10, 0, 0, 1), 7);
        Packet { bytes, ..Packet::new(end, end, 100, FlowId(0), Body::Datagram) }
    }

    #[test]
    fn memory_goes_round() {
        let before = pooled();
        let a = PacketRef::new(packet(vec![1; 500]));
        let at: *const Packet = &*a;
        drop(a.clone());
        assert_eq!(pooled(), before, "a clone is still there");
        drop(a);
        assert_eq!(pooled(), before + 1);
        let b = PacketRef::new(packet(Vec::new()));
        assert_eq!(&*b as *const Packet, at);
        assert!(b.bytes.is_empty() && b.bytes.capacity() >= 500, "the bytes' memory was kept");
    }

    #[test]
    fn a_shared_packet_is_copied_before_it_changes() {
        let a = PacketRef::new(packet(vec![9; 3]));
        let mut b = a.clone();
        b.edit().ttl = 1;
        b.edit().bytes[0] = 0;
        assert_eq!((a.ttl, a.bytes[0]), (64, 9));
    }
}
