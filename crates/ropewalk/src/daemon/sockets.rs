//! The UDP sockets, each under the number by which the engine knows it.

use ropewalk_bond::api::Transmit;
use ropewalk_net::udp::{PathError, RecvBatch, SendError, UdpSocket};

/// Datagrams say that they understand congestion marks (RFC 3168 §5, ECT(0)): the paths' acknowledgements report them.
const ECT0: u8 = 0b10;

/// A socket and what it belongs to.
#[derive(Debug)]
pub(crate) struct Link {
    /// The engine's number for it.
    pub id: u32,
    /// The socket.
    pub socket: UdpSocket,
    /// What people call it: the interface at a client, the address at a gateway.
    pub name: String,
    /// MTU of its interface, bytes; `None` if it has several.
    pub mtu: Option<u16>,
    /// Datagrams that the kernel dropped because we were late.
    pub overruns: u32,
    /// Why the kernel sent nothing by it when it was asked last; `None` if it did.
    pub refused: Option<PathError>,
}

/// All of them. There are few, so they are looked for one by one.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    links: Vec<Link>,
    next: u32,
}

impl Sockets {
    /// Adds a socket; its number is never given out again.
    pub(crate) fn add(&mut self, socket: UdpSocket, name: String, mtu: Option<u16>) -> u32 {
        let id = self.next;
        self.next += 1;
        self.links.push(Link { id, socket, name, mtu, overruns: 0, refused: None });
        id
    }

    /// Closes one.
    pub(crate) fn remove(&mut self, id: u32) {
        self.links.retain(|l| l.id != id);
    }

    /// The one with this number.
    pub(crate) fn get(&self, id: u32) -> Option<&Link> {
        self.links.iter().find(|l| l.id == id)
    }

    /// The same, to change.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Link> {
        self.links.iter_mut().find(|l| l.id == id)
    }

    /// All of them, in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// Sends a batch by the socket of its route. The kernel has a copy of it then; after an error, of
    /// a part of it or of nothing.
    pub(crate) fn send(&mut self, t: &Transmit<'_>) -> Result<(), SendError> {
        let Some(link) = self.get_mut(t.route.link) else { return Ok(()) };
        let mut batch = ropewalk_net::udp::Transmit {
            to: t.route.remote,
            from: t.route.local,
            tos: ECT0,
            segment_size: t.segment,
            data: t.bytes,
        };
        // What is left after a part says why when it is asked for.
        while !batch.data.is_empty() {
            let sent = link.socket.send(&batch);
            link.refused = match &sent {
                Ok(_) => None,
                Err(SendError::Path(why)) => Some(*why),
                Err(_) => link.refused,
            };
            let sent = sent?;
            if sent == 0 {
                break;
            }
            batch.data = &batch.data[sent.min(batch.data.len())..];
        }
        Ok(())
    }

    /// Receives from the socket with this number, if it is there still.
    pub(crate) fn receive(&mut self, id: u32, batch: &mut RecvBatch) -> Option<std::io::Result<usize>> {
        self.get(id).map(|l| {
            l.socket.take_completions();
            l.socket.recv(batch)
        })
    }
}
