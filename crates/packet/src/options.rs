//! TCP options as bytes, laid out and padded as Linux does.

use crate::segment::{Mapping, MptcpOption, Options, Timestamps};

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;
const AUTHENTICATION: u8 = 29;
const MPTCP: u8 = 30;
const FAST_OPEN: u8 = 34;
/// The experimental kind, and the identifier that TCP Fast Open has there (RFC 7413 §4.1.1).
const EXPERIMENT: u8 = 254;
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xF9, 0x89];

/// Subtypes of MPTCP's option (RFC 8684 §8.2), in the high half of its third byte.
mod subtype {
    pub(super) const CAPABLE: u8 = 0x00;
    pub(super) const JOIN: u8 = 0x10;
    pub(super) const DSS: u8 = 0x20;
    pub(super) const REMOVE: u8 = 0x40;
    pub(super) const PRIORITY: u8 = 0x50;
}

/// MP_CAPABLE's version, and its only cryptographic algorithm (RFC 8684 §3.1).
const VERSION: u8 = 1;
const SHA256: u8 = 1;

/// Flags of the data sequence signal (RFC 8684 §3.3).
mod dss {
    pub(super) const ACK: u8 = 0x01;
    pub(super) const ACK_IS_LONG: u8 = 0x02;
    pub(super) const MAPPING: u8 = 0x04;
    pub(super) const SEQUENCE_IS_LONG: u8 = 0x08;
    pub(super) const FIN: u8 = 0x10;
}

/// Options whose lengths do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a TCP option has a length that does not fit")]
pub struct BadOptions;

impl Options {
    /// As they stand in a header; as many bytes as [`len`](Self::len) says. What
    /// [`foreign`](Self::foreign) tells of is left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads the options of a header; what is not known is skipped.
    ///
    /// # Errors
    /// A length does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Options, BadOptions> {
        decode(bytes)
    }
}

/// The bytes of `options`; as many as [`Options::len`] says.
pub(super) fn encode(options: &Options) -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    if let Some(mss) = options.mss {
        out.extend([MSS, 4]);
        out.extend(mss.to_be_bytes());
    }
    match options.timestamps {
        Some(timestamps) => {
            out.extend(if options.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] });
            out.extend([TIMESTAMPS, 10]);
            out.extend(timestamps.value.to_be_bytes());
            out.extend(timestamps.echo.to_be_bytes());
        }
        None if options.sack_permitted => out.extend([NOP, NOP, SACK_PERMITTED, 2]),
        None => {}
    }
    if let Some(shift) = options.window_scale {
        out.extend([NOP, WINDOW_SCALE, 3, shift]);
    }
    let blocks = options.sack.as_slice();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            out.extend(start.to_be_bytes());
            out.extend(end.to_be_bytes());
        }
    }
    if let Some(option) = &options.mptcp {
        encode_mptcp(option, &mut out);
    }
    out
}

fn encode_mptcp(option: &MptcpOption, out: &mut Vec<u8>) {
    out.extend([MPTCP, option.len() as u8]);
    match *option {
        MptcpOption::Capable { sender, receiver } => {
            out.extend([subtype::CAPABLE | VERSION, SHA256]);
            sender.iter().chain(receiver.iter()).for_each(|key| out.extend(key.to_be_bytes()));
        }
        MptcpOption::Join { address_id, backup, token, nonce } => {
            out.extend([subtype::JOIN | u8::from(backup), address_id]);
            out.extend(token.to_be_bytes());
            out.extend(nonce.to_be_bytes());
        }
        MptcpOption::Dss { data_ack, mapping, data_fin } => encode_dss(data_ack, mapping, data_fin, out),
        MptcpOption::Priority { backup } => out.push(subtype::PRIORITY | u8::from(backup)),
        MptcpOption::RemoveAddress { address_id } => out.extend([subtype::REMOVE, address_id]),
    }
    let padding = option.len().next_multiple_of(4) - option.len();
    out.extend([NOP, NOP, NOP].iter().take(padding));
}

fn encode_dss(data_ack: Option<u64>, mapping: Option<Mapping>, data_fin: bool, out: &mut Vec<u8>) {
    let flag = |set, bits| if set { bits } else { 0 };
    let flags = flag(data_ack.is_some(), dss::ACK | dss::ACK_IS_LONG)
        | flag(mapping.is_some(), dss::MAPPING | dss::SEQUENCE_IS_LONG)
        | flag(data_fin, dss::FIN);
    out.extend([subtype::DSS, flags]);
    if let Some(ack) = data_ack {
        out.extend(ack.to_be_bytes());
    }
    if let Some(mapping) = mapping {
        out.extend(mapping.data_sequence.to_be_bytes());
        out.extend(mapping.subflow_sequence.to_be_bytes());
        out.extend(mapping.length.to_be_bytes());
    }
}

/// Reads options; what is not known is skipped.
pub(super) fn decode(mut rest: &[u8]) -> Result<Options, BadOptions> {
    let mut options = Options::default();
    while let [kind, more @ ..] = rest {
        match *kind {
            END => break,
            NOP => {
                rest = more;
                continue;
            }
            _ => {}
        }
        let len = usize::from(*more.first().ok_or(BadOptions)?);
        let body = rest.get(2..len).ok_or(BadOptions)?;
        rest = &rest[len..];
        decode_one(*kind, body, &mut options)?;
    }
    Ok(options)
}

fn decode_one(kind: u8, mut body: &[u8], options: &mut Options) -> Result<(), BadOptions> {
    match kind {
        MSS => options.mss = Some(u16::from_be_bytes(take(&mut body)?)),
        WINDOW_SCALE => options.window_scale = Some(*body.first().ok_or(BadOptions)?),
        SACK_PERMITTED => options.sack_permitted = true,
        TIMESTAMPS => {
            let (value, echo) = (long(&mut body)?, long(&mut body)?);
            options.timestamps = Some(Timestamps { value, echo });
        }
        SACK => {
            while !body.is_empty() {
                let block = (long(&mut body)?, long(&mut body)?);
                options.sack.push(block);
            }
        }
        MPTCP => {
            options.mptcp = decode_mptcp(body)?;
            options.foreign.mptcp |= options.mptcp.is_none();
        }
        MD5 => options.foreign.md5 = true,
        AUTHENTICATION => options.foreign.authentication = true,
        FAST_OPEN => options.foreign.fast_open = true,
        EXPERIMENT if body.starts_with(&FAST_OPEN_EXPERIMENT) => options.foreign.fast_open = true,
        _ => {}
    }
    Ok(())
}

fn decode_mptcp(body: &[u8]) -> Result<Option<MptcpOption>, BadOptions> {
    let (&first, mut rest) = body.split_first().ok_or(BadOptions)?;
    let backup = first & 1 == 1;
    Ok(Some(match first & 0xF0 {
        subtype::CAPABLE => {
            let _flags: [u8; 1] = take(&mut rest)?;
            let mut key = || if rest.is_empty() { Ok(None) } else { huge(&mut rest).map(Some) };
            MptcpOption::Capable { sender: key()?, receiver: key()? }
        }
        subtype::JOIN => {
            let [address_id] = take(&mut rest)?;
            MptcpOption::Join { address_id, backup, token: long(&mut rest)?, nonce: long(&mut rest)? }
        }
        subtype::DSS => decode_dss(rest)?,
        subtype::PRIORITY => MptcpOption::Priority { backup },
        subtype::REMOVE => MptcpOption::RemoveAddress { address_id: *rest.first().ok_or(BadOptions)? },
        _ => return Ok(None),
    }))
}

fn decode_dss(mut rest: &[u8]) -> Result<MptcpOption, BadOptions> {
    let [flags]: [u8; 1] = take(&mut rest)?;
    let number = |has, is_long, rest: &mut &[u8]| match (flags & has != 0, flags & is_long != 0) {
        (false, _) => Ok(None),
        (true, true) => huge(rest).map(Some),
        (true, false) => long(rest).map(|n| Some(u64::from(n))),
    };
    let data_ack = number(dss::ACK, dss::ACK_IS_LONG, &mut rest)?;
    let mapping = match number(dss::MAPPING, dss::SEQUENCE_IS_LONG, &mut rest)? {
        Some(data_sequence) => {
            let subflow_sequence = long(&mut rest)?;
            Some(Mapping { data_sequence, subflow_sequence, length: u16::from_be_bytes(take(&mut rest)?) })
        }
        None => None,
    };
    Ok(MptcpOption::Dss { data_ack, mapping, data_fin: flags & dss::FIN != 0 })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], BadOptions> {
    let (first, more) = rest.split_first_chunk::<N>().ok_or(BadOptions)?;
    *rest = more;
    Ok(*first)
}

fn long(rest: &mut &[u8]) -> Result<u32, BadOptions> {
    take(rest).map(u32::from_be_bytes)
}

fn huge(rest: &mut &[u8]) -> Result<u64, BadOptions> {
    take(rest).map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_value_are_seen() {
        let read = |bytes: &[u8]| decode(bytes).unwrap().foreign;
        let none = crate::ForeignOptions::default();
        assert_eq!(read(&[MSS, 4, 5, 0xB4, NOP, WINDOW_SCALE, 3, 7]), none, "a plain SYN has none");
        assert!(read(&[&[MD5, 18][..], &[0; 16]].concat()).md5);
        assert!(read(&[&[AUTHENTICATION, 16][..], &[0; 14]].concat()).authentication);
        assert!(read(&[FAST_OPEN, 2]).fast_open);
        assert!(read(&[EXPERIMENT, 4, 0xF9, 0x89]).fast_open);
        assert_eq!(read(&[EXPERIMENT, 4, 0xE2, 0xD4]), none, "another experiment");
        assert!(read(&[MPTCP, 4, 0x60, 0]).mptcp, "MP_FAIL has no value here");
        assert!(!read(&[MPTCP, 4, subtype::REMOVE, 1]).mptcp, "this one has");
    }
}
