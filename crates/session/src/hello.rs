//! What client and gateway tell each other inside the handshake, encrypted. All numbers are big endian.
//!
//! ```text
//! ClientHello, 320 bytes or more             ServerHello, 64 to 320 bytes
//!  0 version u8 = 1                           0 version u8 = 1
//!  1 zeros u16                                1 kind u8: 1 accept, 2 refuse
//!                                            accept:                         refuse:
//!  3 cipher bits u8                           2 cipher u8                     2 code u8
//!  4 tunnel MTU u16                           3 zero u8                       3 zeros
//!  6 zero u16                                 4 tunnel MTU u16
//!  8 session to resume u64, 0 = none          6 zero u16
//! 16 invite id[16]                            8 session id u64, not 0
//! 32 invite secret[16]                       16 client IPv4[4] gateway IPv4[4] prefix u8
//! 48 extensions, zeros                       25 prefix u8, 255 = no IPv6; client IPv6[16] gateway IPv6[16]
//!                                            58 extensions, zeros            58 extensions, zeros
//! ```
//!
//! The version byte, and kind and code of a refusal, stay where they are in every later version, so
//! that an old end can tell its user that it is old. The zeros are for size: see
//! [`super::INIT_MIN`]; and a refusal is as long as an acceptance without a backhaul's extension,
//! so that who listens cannot tell them apart.

use core::num::NonZeroU64;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::reader::Reader;
use super::wire::{CLIENT_HELLO_LEN, SERVER_HELLO_MAX};
use super::{Cipher, CipherSet, Extensions, InviteId, InviteSecret, OBSERVED, Refusal};

/// The version of the protocol these pages describe.
pub const PROTOCOL_VERSION: u8 = 1;

const SERVER_HELLO_MIN: usize = 64;
/// Least bytes where it says an address: all that an acceptance says besides fits, with either IP version.
const OBSERVED_MIN: usize = 96;
/// Where the extensions begin, in both kinds.
const SERVER_EXTENSIONS: usize = 58;
const ACCEPT: u8 = 1;
const REFUSE: u8 = 2;
const NO_IPV6: u8 = 255;

/// Names a session across renewals of its keys; chosen by the gateway.
pub type SessionId = NonZeroU64;

/// Why a hello could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The other end speaks another version; the number is its.
    #[error(
        "the other end speaks protocol version {0}, this ropewalk version {PROTOCOL_VERSION}; update the older one"
    )]
    Version(u8),
    /// A field is missing or has a value it cannot have.
    #[error("the other end sent a greeting that breaks the protocol; update ropewalk on both ends")]
    Malformed,
    /// The extensions to be sent do not fit.
    #[error("the greeting is too long to send; this is a defect of ropewalk, please report it")]
    TooLong,
}

/// What a client says in its INIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// What the client's CPU is fast at.
    pub ciphers: CipherSet,
    /// The MTU of the client's tunnel device in bytes.
    pub tun_mtu: u16,
    /// The live session whose keys this renews.
    pub resume: Option<SessionId>,
    /// The invite the client came by. Counts at first contact; later the client's static key does.
    pub invite: InviteId,
    /// The secret of that invite.
    pub secret: InviteSecret,
    /// For later versions.
    pub extensions: Extensions,
}

/// A gateway's yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The session, new or resumed.
    pub session: SessionId,
    /// What seals its data.
    pub cipher: Cipher,
    /// The MTU of the gateway's tunnel device in bytes.
    pub tun_mtu: u16,
    /// Addresses inside the tunnel.
    pub ipv4: Inner<Ipv4Addr>,
    /// The same for IPv6, where the gateway has it.
    pub ipv6: Option<Inner<Ipv6Addr>>,
    /// For later versions.
    pub extensions: Extensions,
}

/// Addresses inside the tunnel, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner<A> {
    /// The client's.
    pub client: A,
    /// The gateway's.
    pub gateway: A,
    /// Bits of their network, at most 32 or 128.
    pub prefix: u8,
}

/// What a gateway says in its RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerHello {
    /// Come in.
    Accept(Accept),
    /// Stay out. The extensions are for later versions.
    Refuse(Refusal, Extensions),
}

impl ClientHello {
    pub(super) fn encode(&self) -> Result<Vec<u8>, HelloError> {
        let mut out = Vec::with_capacity(CLIENT_HELLO_LEN);
        out.extend_from_slice(&[PROTOCOL_VERSION, 0, 0, self.ciphers.bits()]);
        out.extend_from_slice(&self.tun_mtu.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.resume.map_or(0, SessionId::get).to_be_bytes());
        out.extend_from_slice(&self.invite.0);
        out.extend_from_slice(&self.secret.0);
        finish(out, &self.extensions, CLIENT_HELLO_LEN, CLIENT_HELLO_LEN)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<ClientHello, HelloError> {
        let mut reader = Reader(bytes);
        check_version(&mut reader)?;
        ClientHello::decode_body(&mut reader).ok_or(HelloError::Malformed)
    }

    fn decode_body(reader: &mut Reader<'_>) -> Option<ClientHello> {
        let [_, _, ciphers] = reader.array()?;
        let tun_mtu = reader.u16()?;
        let _zero = reader.u16()?;
        Some(ClientHello {
            ciphers: CipherSet::from_bits(ciphers),
            tun_mtu,
            resume: SessionId::new(reader.u64()?),
            invite: InviteId(reader.array()?),
            secret: InviteSecret(reader.array()?),
            extensions: Extensions::parse(reader.0)?,
        })
    }
}

impl ServerHello {
    pub(super) fn encode(&self) -> Result<Vec<u8>, HelloError> {
        let mut out = Vec::with_capacity(SERVER_HELLO_MAX);
        out.push(PROTOCOL_VERSION);
        match self {
            ServerHello::Refuse(refusal, _) => {
                out.extend_from_slice(&[REFUSE, refusal.code()]);
                out.resize(SERVER_EXTENSIONS, 0);
            }
            ServerHello::Accept(accept) => {
                out.push(ACCEPT);
                accept.put(&mut out);
            }
        }
        let extensions = self.extensions();
        let min = if extensions.get(OBSERVED).is_some() { OBSERVED_MIN } else { SERVER_HELLO_MIN };
        finish(out, extensions, min, SERVER_HELLO_MAX)
    }

    /// What is at its end.
    pub(super) fn extensions(&self) -> &Extensions {
        match self {
            ServerHello::Accept(accept) => &accept.extensions,
            ServerHello::Refuse(_, extensions) => extensions,
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<ServerHello, HelloError> {
        let mut reader = Reader(bytes);
        // A refusal is understood whatever the version.
        if let [_, REFUSE, code, ..] = *bytes {
            let extensions = bytes.get(SERVER_EXTENSIONS..).and_then(Extensions::parse).unwrap_or_default();
            return Ok(ServerHello::Refuse(Refusal::from_code(code), extensions));
        }
        check_version(&mut reader)?;
        if reader.u8() != Some(ACCEPT) {
            return Err(HelloError::Malformed);
        }
        Accept::take(&mut reader).map(ServerHello::Accept).ok_or(HelloError::Malformed)
    }
}

impl Accept {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.cipher.id(), 0]);
        out.extend_from_slice(&self.tun_mtu.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.session.get().to_be_bytes());
        out.extend_from_slice(&self.ipv4.client.octets());
        out.extend_from_slice(&self.ipv4.gateway.octets());
        out.push(self.ipv4.prefix);
        out.push(self.ipv6.map_or(NO_IPV6, |inner| inner.prefix));
        out.extend_from_slice(&self.ipv6.map_or([0; 16], |inner| inner.client.octets()));
        out.extend_from_slice(&self.ipv6.map_or([0; 16], |inner| inner.gateway.octets()));
    }

    fn take(reader: &mut Reader<'_>) -> Option<Accept> {
        let cipher = Cipher::from_id(reader.u8()?)?;
        let _zero = reader.u8()?;
        let tun_mtu = reader.u16()?;
        let _zero = reader.u16()?;
        let session = SessionId::new(reader.u64()?)?;
        let (client, gateway) = (reader.array::<4>()?.into(), reader.array::<4>()?.into());
        let ipv4 = Inner { client, gateway, prefix: reader.u8()? };
        let prefix = reader.u8()?;
        let (client, gateway) = (reader.array::<16>()?.into(), reader.array::<16>()?.into());
        let ipv6 = (prefix != NO_IPV6).then_some(Inner { client, gateway, prefix });
        if ipv4.prefix > 32 || ipv6.is_some_and(|inner| inner.prefix > 128) {
            return None;
        }
        let extensions = Extensions::parse(reader.0)?;
        Some(Accept { session, cipher, tun_mtu, ipv4, ipv6, extensions })
    }
}

fn check_version(reader: &mut Reader<'_>) -> Result<(), HelloError> {
    match reader.u8() {
        Some(PROTOCOL_VERSION) => Ok(()),
        Some(version) => Err(HelloError::Version(version)),
        None => Err(HelloError::Malformed),
    }
}

/// Adds the extensions and pads with zeros.
fn finish(mut out: Vec<u8>, extensions: &Extensions, min: usize, max: usize) -> Result<Vec<u8>, HelloError> {
    out.extend_from_slice(extensions.as_bytes());
    if out.len() > max {
        return Err(HelloError::TooLong);
    }
    out.resize(out.len().max(min), 0);
    Ok(out)
}
