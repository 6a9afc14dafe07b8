//! A TCP segment with the fields of its IPv4 header that TCP cares for, as a value of fixed size.

use core::fmt;
use core::ops::BitOr;
use std::net::SocketAddrV4;

/// The ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0): may be marked.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits in the header.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }

    /// From the header's two low bits.
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// The control bits of a TCP header (RFC 9293 §3.1, RFC 3168 §6.1), in the header's own order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer counts.
    pub const URG: Flags = Flags(0x20);
    /// ECN echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);

    /// All bits of `other` are set here.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::PSH, 'P')];
        let more = [(Flags::ACK, '.'), (Flags::URG, 'U'), (Flags::ECE, 'E'), (Flags::CWR, 'W')];
        letters
            .into_iter()
            .chain(more)
            .filter(|(flag, _)| self.has(*flag))
            .try_for_each(|(_, c)| write!(f, "{c}"))
    }
}

/// Up to four ranges of sequence numbers, each from its first to one past its last (RFC 2018 §3).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; false if there are four already.
    pub fn push(&mut self, block: (u32, u32)) -> bool {
        let Some(free) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *free = block;
        self.count += 1;
        true
    }

    /// The blocks in the order of the option.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// The timestamps option (RFC 7323 §3), in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The newest of the receiver's values that it echoes; 0 when it has none.
    pub echo: u32,
}

/// Where a segment's bytes belong in the data stream of an MPTCP connection (RFC 8684 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Data sequence number of the segment's first byte.
    pub data_sequence: u64,
    /// How many bytes are mapped from there.
    pub length: u16,
    /// The mapping's sequence number in its subflow, counted from the SYN (which is 0).
    pub subflow_sequence: u32,
}

/// What this model has of MPTCP's option (RFC 8684 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MptcpOption {
    /// Opens a connection: the sender's key, once known both (§3.1).
    Capable {
        /// The sender's key; absent in the first SYN.
        sender: Option<u64>,
        /// The receiver's key, in the third packet.
        receiver: Option<u64>,
    },
    /// Joins a subflow to a connection (§3.2). Nonces are carried, but no HMAC is computed.
    Join {
        /// Which address of the sender.
        address_id: u8,
        /// To be used only when the others are down.
        backup: bool,
        /// The connection's token.
        token: u32,
        /// A number of the sender's choice.
        nonce: u32,
    },
    /// Data sequence signal (§3.3).
    Dss {
        /// All bytes of the data stream below this have arrived.
        data_ack: Option<u64>,
        /// Where the payload belongs.
        mapping: Option<Mapping>,
        /// The data stream ends behind the mapping.
        data_fin: bool,
    },
    /// The sender's wish how the subflow that carries this is used (§3.3.8).
    Priority {
        /// Only when the others are down.
        backup: bool,
    },
    /// The sender has lost an address (§3.4.2).
    RemoveAddress {
        /// Which.
        address_id: u8,
    },
}

impl MptcpOption {
    /// Length in the header, bytes.
    pub const fn len(&self) -> usize {
        match self {
            MptcpOption::Capable { sender, receiver } => match (sender, receiver) {
                (None, _) => 4,
                (Some(_), None) => 12,
                (Some(_), Some(_)) => 20,
            },
            MptcpOption::Join { .. } => 12,
            MptcpOption::Dss { data_ack, mapping, .. } => {
                4 + if data_ack.is_some() { 8 } else { 0 } + if mapping.is_some() { 14 } else { 0 }
            }
            MptcpOption::Priority { .. } => 3,
            MptcpOption::RemoveAddress { .. } => 4,
        }
    }

    /// Never: an option has at least its kind and its length. Here because [`len`](Self::len) is.
    pub const fn is_empty(&self) -> bool {
        false
    }
}

/// Options that a header carries and [`Options`] has no value for. They are seen, not kept: who
/// finds one forwards the packet as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ForeignOptions {
    /// TCP MD5 signature (RFC 2385).
    pub md5: bool,
    /// TCP authentication option (RFC 5925).
    pub authentication: bool,
    /// TCP Fast Open (RFC 7413), also under its experimental kind.
    pub fast_open: bool,
    /// A subtype of MPTCP's option that [`MptcpOption`] has no value for.
    pub mptcp: bool,
}

/// TCP options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Largest segment that the sender takes, bytes of payload and options (RFC 9293 §3.7.1); on SYNs.
    pub mss: Option<u16>,
    /// The sender's windows are to be shifted by this (RFC 7323 §2); on SYNs.
    pub window_scale: Option<u8>,
    /// The sender understands SACK (RFC 2018 §2); on SYNs.
    pub sack_permitted: bool,
    /// RFC 7323 §3.
    pub timestamps: Option<Timestamps>,
    /// RFC 2018 §3; the first block may be a DSACK (RFC 2883).
    pub sack: SackBlocks,
    /// RFC 8684.
    pub mptcp: Option<MptcpOption>,
    /// What else was read. Never written.
    pub foreign: ForeignOptions,
}

/// The most that options may take.
pub const MAX_OPTIONS_BYTES: usize = 40;

impl Options {
    /// Length in the header, padding included, as Linux lays them out: aligned to four bytes each. Always at most 40 for
    /// what the endpoint makes.
    pub fn len(&self) -> usize {
        let blocks = self.sack.as_slice().len();
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        let mptcp = self.mptcp.as_ref().map_or(0, |m| m.len().next_multiple_of(4));
        let fixed = [
            if self.mss.is_some() { 4 } else { 0 },
            if self.window_scale.is_some() { 4 } else { 0 },
            if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 },
            if self.timestamps.is_some() { 12 } else { 0 },
        ];
        fixed.into_iter().sum::<usize>() + sack + mptcp
    }

    /// No option is set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A TCP segment and what its IPv4 header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// From.
    pub source: SocketAddrV4,
    /// To.
    pub destination: SocketAddrV4,
    /// The IP header's ECN field.
    pub ecn: Ecn,
    /// Control bits.
    pub flags: Flags,
    /// Sequence number of the first byte, or of the SYN.
    pub seq: u32,
    /// Next sequence number expected from the other side; counts if `flags` has ACK.
    pub ack: u32,
    /// Window as on the wire: to be shifted by the sender's scale, except on SYNs.
    pub window: u16,
    /// The urgent pointer (RFC 9293 §3.1): counts if `flags` has URG.
    pub urgent: u16,
    /// Options.
    pub options: Options,
    /// Payload, bytes. What the bytes are follows from their place in the stream ([`crate::wire`]).
    pub payload_bytes: u32,
}

impl Segment {
    /// Length of the whole IP packet, bytes.
    pub fn ip_bytes(&self) -> u32 {
        40 + self.options.len() as u32 + self.payload_bytes
    }

    /// How much of the sequence space it takes: payload, and one each for SYN and FIN.
    pub const fn sequence_bytes(&self) -> u32 {
        self.payload_bytes + self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32
    }

    /// It may be marked instead of dropped.
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotEct
    }
}
