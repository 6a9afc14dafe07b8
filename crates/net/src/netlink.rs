//! Questions to the kernel, and orders: one blocking socket of rtnetlink (`rtnetlink(7)`) or generic netlink.
//!
//! The kernel answers a request before the call that sends it returns, so there is nothing to wait for and no
//! need of an asynchronous runtime.

use std::io;
use std::marker::PhantomData;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_generic::GenlMessage;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{
    Socket, SocketAddr,
    protocols::{NETLINK_GENERIC, NETLINK_NETFILTER, NETLINK_ROUTE, NETLINK_SOCK_DIAG},
};

/// More than the kernel puts into one datagram (32 KiB).
const BUFFER: usize = 64 << 10;

/// A socket for messages of one kind.
pub(crate) struct Netlink<M = RouteNetlinkMessage> {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
    kind: PhantomData<fn(M) -> M>,
}

impl<F> Netlink<GenlMessage<F>> {
    /// A socket of generic netlink in the calling thread's network namespace.
    pub(crate) fn open_generic() -> io::Result<Self> {
        Netlink::connect(NETLINK_GENERIC)
    }
}

impl Netlink<crate::subflows::Diag> {
    /// A socket of sock_diag in the calling thread's network namespace.
    pub(crate) fn open_diag() -> io::Result<Self> {
        Netlink::connect(NETLINK_SOCK_DIAG)
    }
}

impl Netlink<crate::setup::conntrack::Message> {
    /// A socket of nfnetlink in the calling thread's network namespace.
    pub(crate) fn open_netfilter() -> io::Result<Self> {
        Netlink::connect(NETLINK_NETFILTER)
    }
}

impl Netlink {
    /// A socket of rtnetlink in the calling thread's network namespace.
    pub(crate) fn open() -> io::Result<Self> {
        Netlink::connect(NETLINK_ROUTE)
    }

    /// Everything of a kind.
    pub(crate) fn dump(&mut self, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        // The kernel says when the table changed under a dump; then the dump may lack entries.
        for _ in 0..5 {
            let (answers, torn) = self.exchange(request.clone(), NLM_F_DUMP)?;
            if !torn {
                return Ok(answers);
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the kernel's table keeps changing"))
    }

    /// One thing.
    pub(crate) fn get(&mut self, request: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        Ok(self.exchange(request, NLM_F_ACK)?.0.into_iter().next())
    }

    /// A change; `flags` are the `NLM_F_*` for new things.
    pub(crate) fn change(&mut self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.exchange(request, flags | NLM_F_ACK).map(drop)
    }
}

impl<M> Netlink<M> {
    fn connect(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0, buffer: Vec::with_capacity(BUFFER), kind: PhantomData })
    }
}

impl<M: NetlinkSerializable + NetlinkDeserializable> Netlink<M> {
    /// All answers to a question, those to a dump also when it was torn: for figures that change all the time.
    pub(crate) fn ask(&mut self, request: M, flags: u16) -> io::Result<Vec<M>> {
        Ok(self.exchange(request, flags)?.0)
    }

    fn exchange(&mut self, request: M, flags: u16) -> io::Result<(Vec<M>, bool)> {
        let mut answers = Vec::new();
        let torn = self.each(request, flags, |answer| answers.push(answer))?;
        Ok((answers, torn))
    }

    /// Hands each answer on as it comes, where there may be many. Gives whether the dump was torn.
    pub(crate) fn each(&mut self, request: M, flags: u16, mut each: impl FnMut(M)) -> io::Result<bool> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut torn = false;
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            for answer in messages::<M>(&self.buffer) {
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                torn |= answer.header.flags & NLM_F_DUMP_INTR != 0;
                match answer.payload {
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    // A dump that fails, of an interface that is gone for one, ends so.
                    NetlinkPayload::Done(done) if done.code < 0 => {
                        return Err(io::Error::from_raw_os_error(done.code.saturating_neg()));
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(torn),
                    _ => {}
                }
            }
        }
    }
}

/// The messages of a datagram. One that the parser does not understand is skipped: a new kernel may say more
/// than we know.
pub(crate) fn messages<M: NetlinkDeserializable>(
    datagram: &[u8],
) -> impl Iterator<Item = NetlinkMessage<M>> + '_ {
    split(datagram).filter_map(|message| {
        let parsed = NetlinkMessage::deserialize(message);
        parsed.inspect_err(|error| tracing::debug!(%error, "a netlink message was not understood")).ok()
    })
}

/// Length of the header before each message (`struct nlmsghdr`).
pub(crate) const HEADER: usize = 16;

/// The messages of a datagram as bytes, each with its header; ends at one that is not whole.
pub(crate) fn split(datagram: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let message = rest.get(..length).filter(|m| m.len() >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_datagrams_end_quietly() {
        for bytes in [&[][..], &[0; 3], &[0; 64], &[16, 0, 0, 0], &[255; 64], &[17, 0, 0, 0, 9, 9]] {
            assert_eq!(messages::<RouteNetlinkMessage>(bytes).count(), 0, "{bytes:?}");
        }
    }
}
