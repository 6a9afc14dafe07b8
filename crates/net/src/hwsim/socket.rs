//! The socket by which radios are made and the medium is worked.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

use super::HwsimError;
use super::message::{self, Delivery, SentFrame, TxStatus};
use crate::genl::{Family, nla};

/// More than the kernel puts into one message (a page and the longest frame).
const BUFFER: usize = 32 << 10;
/// Receive buffer: some hundred frames, which the kernel counts with their overhead.
const QUEUE_BYTES: i32 = 4 << 20;
/// `NLM_F_ACK`.
const ACK: u16 = 4;
/// Our ports begin here: above process numbers (2^22), below those that the kernel gives out.
const FIRST_PORT: u32 = 1 << 30;
const PORTS: u32 = 64;
/// Regulatory domain of the module: channels 1 to 11, 36 to 48 and 149 to 165, 40 MHz at most.
const DOMAIN: u32 = 0;

/// A radio that is to be made: one channel at a time, no interface yet, gone with the socket.
#[derive(Clone, Copy, Debug)]
pub struct NewRadio<'a> {
    /// The name of its `phy`.
    pub name: &'a str,
    /// Its permanent address; the medium knows it by this.
    pub address: [u8; 6],
}

/// The medium of the radios that were made by this socket's namespace, and by nobody else's.
#[derive(Debug)]
pub struct Hwsim {
    socket: Socket,
    family: u16,
    sequence: u32,
    buffer: Vec<u8>,
    /// Datagrams that the kernel dropped because the buffer was full.
    overruns: u64,
}

impl Hwsim {
    /// Opens a socket in the calling thread's network namespace, and becomes the medium of all
    /// radios that are made there.
    ///
    /// # Errors
    /// The module is not loaded; another is the medium; the right is missing.
    pub fn open() -> Result<Hwsim, HwsimError> {
        let opening = || HwsimError::system("opening a socket for simulated radios");
        let family = Family::find(message::FAMILY).map_err(opening())?.ok_or(HwsimError::NoModule)?.id;
        let mut socket = Socket::new(NETLINK_GENERIC).map_err(opening())?;
        bind(&mut socket).map_err(opening())?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(opening())?;
        // It works without: answers are longer, and bursts are dropped sooner.
        let _ = socket.set_cap_ack(true);
        let _ = enlarge(&socket);
        let mut hwsim =
            Hwsim { socket, family, sequence: 0, buffer: Vec::with_capacity(BUFFER), overruns: 0 };
        hwsim.ask(message::REGISTER, &[]).map_err(|e| match e.raw_os_error() {
            Some(libc::EBUSY) => HwsimError::Taken,
            Some(libc::EOPNOTSUPP) => HwsimError::Channels,
            _ => HwsimError::system("becoming the medium of simulated radios")(e),
        })?;
        Ok(hwsim)
    }

    /// Makes a radio in the namespace of the socket.
    ///
    /// # Errors
    /// The name or the address is taken; the right is missing.
    pub fn new_radio(&mut self, radio: &NewRadio<'_>) -> Result<(), HwsimError> {
        let mut name = radio.name.as_bytes().to_vec();
        name.push(0);
        let attributes = [
            nla(message::CHANNELS, &1u32.to_ne_bytes()),
            nla(message::NO_VIF, &[]),
            nla(message::DESTROY_RADIO_ON_CLOSE, &[]),
            nla(message::RADIO_NAME, &name),
            nla(message::PERM_ADDR, &radio.address),
            nla(message::REG_CUSTOM_REG, &DOMAIN.to_ne_bytes()),
        ];
        let made = self.ask(message::NEW_RADIO, &attributes);
        made.map_err(HwsimError::system(format!("making the simulated radio {}", radio.name)))
    }

    /// The next frame that a radio sends, if one waits. Never blocks; other messages are skipped.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn take_frame(&mut self) -> io::Result<Option<SentFrame>> {
        loop {
            self.buffer.clear();
            match self.socket.recv_from(&mut self.buffer, libc::MSG_DONTWAIT) {
                // The kernel puts one frame into one datagram.
                Ok((_, from)) if from.port_number() == 0 => {
                    let frame = message::frames(&self.buffer, self.family).next();
                    if frame.is_some() {
                        return Ok(frame);
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => self.overruns += 1,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// A frame arrives at a radio. The kernel drops it if the radio is off or on another channel.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn deliver(&mut self, delivery: &Delivery<'_>) -> io::Result<()> {
        self.socket.send(&message::delivery(self.family, delivery), 0).map(drop)
    }

    /// Reports to a radio what became of its frame.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn report(&mut self, status: &TxStatus) -> io::Result<()> {
        self.socket.send(&message::status(self.family, status), 0).map(drop)
    }

    /// How often the kernel dropped frames because the buffer was full.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Asks, and waits for the answer. Frames that come meanwhile are lost.
    fn ask(&mut self, command: u8, attributes: &[Vec<u8>]) -> io::Result<()> {
        self.sequence += 1;
        let question = message::message((self.family, self.sequence, ACK), command, attributes);
        self.socket.send(&question, 0)?;
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            if let Some(code) = message::answer(&self.buffer, self.sequence) {
                return match code {
                    // A new radio's number is not negative.
                    0.. => Ok(()),
                    _ => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                };
            }
        }
    }
}

impl AsFd for Hwsim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The module takes the close of any netlink socket with our port, in any namespace, for ours.
/// So the port is one that the kernel gives to nobody.
fn bind(socket: &mut Socket) -> io::Result<()> {
    let taken = |e: &io::Error| e.kind() == io::ErrorKind::AddrInUse;
    for n in 0..PORTS {
        match socket.bind(&SocketAddr::new(FIRST_PORT + (n << 22) + std::process::id(), 0)) {
            Err(e) if taken(&e) => {}
            other => return other,
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Enlarges the buffer beyond the machine's limit, or without that right up to it.
fn enlarge(socket: &Socket) -> io::Result<()> {
    let forced = rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, QUEUE_BYTES as usize);
    forced.or_else(|_| socket.set_rx_buf_sz(QUEUE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_module_says_how_to_load_it() {
        match Hwsim::open() {
            Err(HwsimError::NoModule) => {}
            // Where it is loaded the test in a virtual machine looks at the rest.
            Ok(_) | Err(HwsimError::NotPermitted(_) | HwsimError::Taken | HwsimError::Channels) => {}
            Err(other) => panic!("{other}"),
        }
        assert!(HwsimError::NoModule.to_string().contains("modprobe mac80211_hwsim"));
    }

    #[test]
    fn ports_are_none_that_the_kernel_gives_out() {
        let mut first = Socket::new(NETLINK_GENERIC).unwrap();
        let mut second = Socket::new(NETLINK_GENERIC).unwrap();
        bind(&mut first).unwrap();
        bind(&mut second).unwrap();
        let port = |socket: &Socket| {
            let mut address = SocketAddr::new(0, 0);
            socket.get_address(&mut address).unwrap();
            address.port_number()
        };
        let ports = [port(&first), port(&second)];
        assert!(ports[0] != ports[1] && ports.iter().all(|p| (FIRST_PORT..1 << 31).contains(p)), "{ports:?}");
    }
}
