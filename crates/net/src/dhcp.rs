//! A client of DHCP (RFC 2131) for an interface of ours.
//!
//! The protocol is smoltcp's: a kept crate with a whole client in it, states, renewals and all, that needs no other program; each program for it (dhclient,
//! udhcpc, dhcpcd) would put its routes into the main table, where networks that overlap are in each other's way. The socket here takes and sends frames of
//! the interface, since the kernel accepts no datagram for an address that is not there yet.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::{io, mem};

use ropewalk_time::Time;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::dhcpv4;
use smoltcp::time::Instant;
use smoltcp::wire::{
    DhcpPacket, DhcpRepr, EthernetAddress, EthernetFrame, HardwareAddress, Ipv4Packet, UdpPacket,
};

/// A frame of Ethernet.
const FRAME: usize = 1514;
/// Frames handled in one poll.
const MOST: usize = 32;
/// Seconds of a lease of which the server does not say how long it lasts, as smoltcp has it.
const LEASE: u32 = 120;

/// What a server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// How many of its bits are the network's.
    pub prefix_len: u8,
    /// The way to everywhere else.
    pub router: Option<Ipv4Addr>,
    /// Name servers.
    pub dns: Vec<IpAddr>,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a lease, or another one.
    Bound(Lease),
    /// There is none any more: the address must not be used.
    Lost,
}

/// The client of one interface.
pub struct Client<D: Device = Frames> {
    device: D,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    bound: bool,
}

impl Client {
    /// A client of this interface, that begins with the first poll. `seed` makes its numbers unlike others'.
    ///
    /// # Errors
    /// The kernel gives no socket for frames (CAP_NET_RAW).
    pub fn open(index: u32, mac: [u8; 6], seed: u64) -> io::Result<Client> {
        Ok(Client::over(Frames::open(index)?, mac, seed))
    }
}

impl<D: Device> Client<D> {
    fn over(mut device: D, mac: [u8; 6], seed: u64) -> Client<D> {
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(mac)));
        config.random_seed = seed;
        let interface = Interface::new(config, &mut device, Instant::ZERO);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(dhcpv4::Socket::new());
        Client { device, interface, sockets, handle, bound: false }
    }

    /// Takes what has arrived, sends what is due, and says what changed. To be called when a frame is there and every 200 ms or so; `now` is
    /// [`crate::clock::now`]: a lease runs on while the machine sleeps.
    pub fn poll(&mut self, now: Time) -> Option<Event> {
        let now = Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX));
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        match self.sockets.get_mut::<dhcpv4::Socket<'_>>(self.handle).poll()? {
            dhcpv4::Event::Configured(config) => {
                let lease = lease(&config);
                // A server that hands out what no host may have is as good as none.
                let event = is_sane(&lease).then_some(Event::Bound(lease));
                event
                    .is_none()
                    .then(|| tracing::warn!("a DHCP server offers an address that no host may have"));
                self.bound |= event.is_some();
                event
            }
            dhcpv4::Event::Deconfigured => mem::take(&mut self.bound).then_some(Event::Lost),
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.0.as_fd()
    }
}

impl<D: Device> std::fmt::Debug for Client<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("bound", &self.bound).finish_non_exhaustive()
    }
}

fn lease(config: &dhcpv4::Config<'_>) -> Lease {
    Lease {
        address: config.address.address(),
        prefix_len: config.address.prefix_len(),
        router: config.router,
        dns: config.dns_servers.iter().map(|a| IpAddr::V4(*a)).collect(),
    }
}

fn is_sane(lease: &Lease) -> bool {
    let host = |a: Ipv4Addr| {
        !(a.is_unspecified() || a.is_loopback() || a.is_multicast() || a.is_broadcast() || a.octets()[0] == 0)
    };
    (8..=32).contains(&lease.prefix_len) && host(lease.address) && lease.router.is_none_or(host)
}

/// Frames of an interface that hold DHCP for a client.
#[derive(Debug)]
pub struct Frames(OwnedFd);

impl Frames {
    fn open(index: u32) -> io::Result<Frames> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers; the result is checked before it is owned. Protocol 0: nothing arrives before the filter is there.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else has.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        filter(&fd)?;
        // SAFETY: all zeros is a value of this structure.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = i32::try_from(index).unwrap_or(0);
        let length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: address and length are of one structure, which outlives the call.
        let outcome = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(Frames(fd)) }
    }
}

/// Lets only unfragmented UDP to port 68 over IPv4 through: other packets are not to be copied here.
fn filter(fd: &OwnedFd) -> io::Result<()> {
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(0x28, 0, 0, 12),
        step(0x15, 0, 8, 0x0800),
        step(0x30, 0, 0, 23),
        step(0x15, 0, 6, 17),
        step(0x28, 0, 0, 20),
        step(0x45, 4, 0, 0x1fff),
        step(0xb1, 0, 0, 14),
        step(0x48, 0, 0, 16),
        step(0x15, 0, 1, 68),
        step(0x06, 0, 0, 0x4_0000),
        step(0x06, 0, 0, 0),
    ];
    let all = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let length = mem::size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the kernel copies the program, which outlives the call.
    let outcome = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const all).cast(),
            length,
        )
    };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Device for Frames {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        let mut frame = vec![0; FRAME];
        let length = rustix::io::read(&self.0, &mut frame).ok()?;
        frame.truncate(length);
        Some((Received(frame), Sending(&self.0)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities()
    }
}

fn capabilities() -> DeviceCapabilities {
    let mut capabilities = DeviceCapabilities::default();
    capabilities.medium = Medium::Ethernet;
    capabilities.max_transmission_unit = FRAME;
    capabilities.max_burst_size = Some(MOST);
    // A server on this machine may leave the checksum to hardware that there is not.
    capabilities.checksum.udp = Checksum::Tx;
    capabilities
}

/// A frame that came.
#[derive(Debug)]
pub struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(if is_harmless(&self.0) { &self.0 } else { &[] })
    }
}

/// Whether smoltcp may see a frame. It panics where a server wants to be asked again (T1) behind the
/// end of its own lease, and does not say by when at the latest (T2).
fn is_harmless(frame: &[u8]) -> bool {
    let times = || {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
        let udp = UdpPacket::new_checked(ip.payload()).ok()?;
        let packet = DhcpPacket::new_checked(udp.payload()).ok()?;
        let answer = DhcpRepr::parse(&packet).ok()?;
        Some((answer.lease_duration.unwrap_or(LEASE), answer.renew_duration?, answer.rebind_duration))
    };
    times().is_none_or(|(lease, renew, rebind)| rebind.is_some() || renew <= lease)
}

/// A frame that goes.
#[derive(Debug)]
pub struct Sending<'a>(&'a OwnedFd);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut frame = vec![0; length];
        let result = f(&mut frame);
        // What is not sent now is sent again later.
        if let Err(error) = rustix::io::write(self.0, &frame) {
            tracing::debug!(%error, "a DHCP frame was not sent");
        }
        result
    }
}

#[cfg(test)]
#[path = "dhcp_tests.rs"]
mod tests;
