//! A bare relay: the most that a tunnel of this kind can carry on this machine.
//!
//! ```text
//!  device read ──▶ one seal for each datagram ──▶ one UDP batch        one receive call ──▶ opened to its place ──▶ device write
//!  (a super-packet)                               (GSO)                (GRO)                (a whole super-packet)
//! ```
//! One path, one flow, a key that is no secret, nothing repaired, nothing put in order: what a tunnel does besides costs it
//! the difference. The device and the socket are those of Ropewalk's own data loop.

use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow};
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::poll::{Events, Interest, Poller};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{MAX_SEGMENTS, Options, RecvBatch, Transmit, UdpSocket};

/// The device that both ends make.
pub const DEVICE: &str = "relay0";
/// Bytes of a datagram: what an MTU of 1500 leaves over IPv4.
const DATAGRAM: usize = 1472;
/// Number of the datagram, number of the packet, offset, length of the packet, its offload header.
const HEADER: usize = 8 + 4 + 4 + 4 + Vnet::LEN;
const TAG: usize = 16;
const PAYLOAD: usize = DATAGRAM - HEADER - TAG;
const LARGEST: usize = 65_535;
/// Packets from the device, or batches from the socket, before the other is looked at.
const TURN: usize = 16;

struct Header {
    number: u64,
    packet: u32,
    offset: u32,
    len: u32,
    vnet: [u8; Vnet::LEN],
}

impl Header {
    fn write(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.number.to_be_bytes());
        out[8..12].copy_from_slice(&self.packet.to_be_bytes());
        out[12..16].copy_from_slice(&self.offset.to_be_bytes());
        out[16..20].copy_from_slice(&self.len.to_be_bytes());
        out[20..HEADER].copy_from_slice(&self.vnet);
    }

    fn read(bytes: &[u8]) -> Option<Header> {
        let word = |from: usize| Some(u32::from_be_bytes(bytes.get(from..from + 4)?.try_into().ok()?));
        let number = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
        let vnet = bytes.get(20..HEADER)?.try_into().ok()?;
        Some(Header { number, packet: word(8)?, offset: word(12)?, len: word(16)?, vnet })
    }
}

/// What goes out: cuts a packet and seals its parts.
struct Out {
    key: LessSafeKey,
    number: u64,
    packet: u32,
    batch: Vec<u8>,
}

/// What comes in: the packet that is being put together.
struct In {
    key: LessSafeKey,
    packet: Option<u32>,
    filled: usize,
    bytes: Vec<u8>,
}

/// Relays until it is killed.
///
/// # Errors
/// If the device or the socket cannot be had, or fails.
pub fn run(local: SocketAddr, remote: SocketAddr) -> Result<()> {
    let mut tun = Tun::open(Some(DEVICE)).context("the relay's device")?;
    let mut socket = UdpSocket::open(&Options::at(local)).context("the relay's socket")?;
    let poller = Poller::new()?;
    poller.add(&tun, 0, Interest::Read)?;
    poller.add(&socket, 1, Interest::Read)?;
    let mut out = Out { key: key(local)?, number: 0, packet: 0, batch: Vec::with_capacity(LARGEST) };
    let mut back = In { key: key(remote)?, packet: None, filled: 0, bytes: vec![0; LARGEST] };
    let (mut packet, mut batch, mut events) = (vec![0; LARGEST], RecvBatch::new(TURN), Events::new(2));
    loop {
        poller.wait(&mut events, None)?;
        for _ in 0..TURN {
            let Some(received) = tun.recv(&mut packet)? else { break };
            out.send(&mut socket, remote, received.header, &packet[..received.len])?;
        }
        if socket.recv(&mut batch)? > 0 {
            for datagrams in batch.iter_mut() {
                for datagram in datagrams.data.chunks(datagrams.segment_size) {
                    back.take(&mut tun, datagram)?;
                }
            }
        }
    }
}

/// A key for what leaves `from`; both ends work it out.
fn key(from: SocketAddr) -> Result<LessSafeKey> {
    let mut bytes = [7; 16];
    if let SocketAddr::V4(v4) = from {
        bytes[..4].copy_from_slice(&v4.ip().octets());
    }
    let key = UnboundKey::new(&AES_128_GCM, &bytes).map_err(|_| anyhow!("the library refused a key"))?;
    Ok(LessSafeKey::new(key))
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Out {
    fn send(&mut self, socket: &mut UdpSocket, to: SocketAddr, vnet: Vnet, packet: &[u8]) -> Result<()> {
        self.packet = self.packet.wrapping_add(1);
        let vnet = vnet.to_wire();
        for (i, text) in packet.chunks(PAYLOAD).enumerate() {
            if i > 0 && i % MAX_SEGMENTS == 0 {
                self.flush(socket, to)?;
            }
            let begin = self.batch.len();
            self.batch.resize(begin + HEADER + text.len() + TAG, 0);
            let (header, sealed) = self.batch[begin..].split_at_mut(HEADER);
            let offset = (i * PAYLOAD) as u32;
            Header { number: self.number, packet: self.packet, offset, len: packet.len() as u32, vnet }
                .write(header);
            let (sealed, tag) = sealed.split_at_mut(text.len());
            let (nonce, aad) = (nonce(self.number), Aad::from(&*header));
            let done = self.key.seal_out_of_place_scatter(nonce, aad, text, sealed, &[], tag);
            done.map_err(|_| anyhow!("the library refused to seal"))?;
            self.number += 1;
        }
        self.flush(socket, to)
    }

    /// A full buffer of the kernel's loses the batch, as a link would.
    fn flush(&mut self, socket: &mut UdpSocket, to: SocketAddr) -> Result<()> {
        let _ = socket.send(&Transmit { to, from: None, tos: 0, segment_size: DATAGRAM, data: &self.batch });
        self.batch.clear();
        Ok(())
    }
}

impl In {
    fn take(&mut self, tun: &mut Tun, datagram: &[u8]) -> Result<()> {
        let Some(header) = Header::read(datagram) else { return Ok(()) };
        let (offset, len) = (header.offset as usize, header.len as usize);
        let Some(text) = datagram.len().checked_sub(HEADER + TAG) else { return Ok(()) };
        if self.packet != Some(header.packet) {
            (self.packet, self.filled) = (Some(header.packet), 0);
        }
        // Of a packet that lost a part the rest is dropped.
        if offset != self.filled || len > LARGEST || offset + text > len {
            return Ok(());
        }
        let (aad, sealed) = datagram.split_at(HEADER);
        let (sealed, tag) = sealed.split_at(text);
        let to = &mut self.bytes[offset..offset + text];
        if self.key.open_separate_gather(nonce(header.number), Aad::from(aad), sealed, tag, to).is_err() {
            return Ok(());
        }
        self.filled += text;
        if self.filled == len {
            self.packet = None;
            let _ = tun.send(&Vnet::from_wire(&header.vnet), &[&self.bytes[..len]]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header { number: 1 << 40, packet: 7, offset: 1_400, len: 65_535, vnet: [3; Vnet::LEN] };
        let mut bytes = [0; HEADER];
        header.write(&mut bytes);
        let read = Header::read(&bytes).unwrap();
        let all = |h: &Header| (h.number, h.packet, h.offset, h.len, h.vnet);
        assert_eq!(all(&read), all(&header));
        assert!(Header::read(&bytes[..HEADER - 1]).is_none());
    }
}
