//! What the kernel says by itself of a station's link (nl80211, connection quality monitor).
//!
//! mac80211 tells that beacons are missing before it asks the access point whether it is there, and
//! that fifty packets in a row were not acknowledged. Counters say the first later, and the second
//! not at all.

use std::io;

use netlink_packet_core::NetlinkPayload;
use netlink_packet_generic::GenlMessage;
use netlink_sys::{Socket, protocols::NETLINK_GENERIC};

use super::{WifiError, open};
use crate::genl::{Raw, find, u32_of};
use crate::netlink::messages;

const NOTIFY_CQM: u8 = 64;
const ATTR_IFINDEX: u16 = 3;
const ATTR_CQM: u16 = 94;
const CQM_PACKET_LOSS: u16 = 4;
const CQM_BEACON_LOSS: u16 = 8;
/// Messages in a row before anything else is looked at.
const BATCH: usize = 64;

/// What is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Beacons of the access point.
    Beacons,
    /// So many packets in a row to it.
    Packets(u32),
}

/// Hears of losses at all interfaces.
pub struct Losses {
    socket: Socket,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Losses")
    }
}

impl Losses {
    /// Hears from now on.
    ///
    /// # Errors
    /// There is no Wi-Fi.
    pub fn open() -> Result<Losses, WifiError> {
        let group = open()?.family.group("mlme").ok_or(WifiError::NoWifi)?;
        let bound = || {
            let mut socket = Socket::new(NETLINK_GENERIC)?;
            socket.bind_auto()?;
            socket.set_non_blocking(true)?;
            socket.add_membership(group)?;
            Ok(socket)
        };
        let socket = bound().map_err(|e| WifiError::system("listening to what radios lose", e))?;
        Ok(Losses { socket, buffer: Vec::with_capacity(64 << 10) })
    }

    /// What was lost since the last call, and at which interface: its index.
    pub fn poll(&mut self) -> Vec<(u32, Loss)> {
        let mut all = Vec::new();
        for _ in 0..BATCH {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => all.extend(read(&self.buffer)),
                // What was missed is counted, too.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EINTR)) => {}
                Err(e) => {
                    if e.kind() != io::ErrorKind::WouldBlock {
                        tracing::debug!(%e, "what radios lose is not heard");
                    }
                    break;
                }
            }
        }
        all
    }
}

fn read(bytes: &[u8]) -> Vec<(u32, Loss)> {
    let loss = |message: Raw| {
        let told = find(message.get(ATTR_CQM).filter(|_| message.command == NOTIFY_CQM)?, CQM_PACKET_LOSS);
        let beacons = || find(message.get(ATTR_CQM)?, CQM_BEACON_LOSS).map(|_| Loss::Beacons);
        let loss = told.map(|count| Loss::Packets(u32_of(count))).or_else(beacons)?;
        Some((u32_of(message.get(ATTR_IFINDEX)?), loss))
    };
    let payloads = messages::<GenlMessage<Raw>>(bytes).filter_map(|message| match message.payload {
        NetlinkPayload::InnerMessage(GenlMessage { payload, .. }) => Some(payload),
        _ => None,
    });
    payloads.filter_map(loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genl::{nested, nla};
    use netlink_packet_core::NetlinkMessage;

    fn message(command: u8, index: u32, quality: &[Vec<u8>]) -> Vec<u8> {
        let attributes = [nla(ATTR_IFINDEX, &index.to_ne_bytes()), nested(ATTR_CQM, quality)];
        let mut message = GenlMessage::from_payload(Raw::new(command, &attributes));
        message.set_resolved_family_id(29);
        let mut message = NetlinkMessage::from(message);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    #[test]
    fn losses_are_read_and_nothing_else() {
        let packets = nla(CQM_PACKET_LOSS, &50u32.to_ne_bytes());
        let beacons = nla(CQM_BEACON_LOSS, &[]);
        assert_eq!(read(&message(NOTIFY_CQM, 7, std::slice::from_ref(&packets))), [(7, Loss::Packets(50))]);
        assert_eq!(read(&message(NOTIFY_CQM, 8, &[beacons])), [(8, Loss::Beacons)]);
        // A signal that crossed a threshold, and another message of the group.
        assert_eq!(read(&message(NOTIFY_CQM, 7, &[nla(3, &0u32.to_ne_bytes())])), []);
        assert_eq!(read(&message(NOTIFY_CQM + 1, 7, std::slice::from_ref(&packets))), []);
        let whole = message(NOTIFY_CQM, 7, &[packets]);
        (0..whole.len()).for_each(|n| assert_eq!(read(&whole[..n]), [], "{n} bytes"));
    }
}
