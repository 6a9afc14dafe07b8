//! Generic netlink as raw attributes: nl80211, mac80211_hwsim and MPTCP's path manager.

use std::io;

use netlink_packet_core::{DecodeError, Emitable, NLM_F_ACK, NlasIterator, ParseableParametrized};
use netlink_packet_generic::ctrl::nlas::{GenlCtrlAttrs, McastGrpAttrs};
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};

use crate::netlink::Netlink;

/// A message: a command, and attributes as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) command: u8,
    pub(crate) attributes: Vec<u8>,
}

impl Raw {
    /// A message with these attributes, each made by [`nla`].
    pub(crate) fn new(command: u8, attributes: &[Vec<u8>]) -> Raw {
        Raw { command, attributes: attributes.concat() }
    }

    /// The value of its first attribute of this kind.
    pub(crate) fn get(&self, kind: u16) -> Option<&[u8]> {
        find(&self.attributes, kind)
    }
}

impl GenlFamily for Raw {
    fn family_name() -> &'static str {
        "resolved by number"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Raw {
    fn buffer_len(&self) -> usize {
        self.attributes.len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        buffer[..self.attributes.len()].copy_from_slice(&self.attributes);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Raw {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        Ok(Raw { command: header.cmd, attributes: bytes.to_vec() })
    }
}

/// Kind and value of each attribute, as far as the bytes are attributes.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(Result::ok).filter_map(|a| {
        let (kind, length) = (a.kind(), usize::from(a.length()));
        a.into_inner().get(4..length).map(|value| (kind, value))
    })
}

/// The value of the first attribute of this kind.
pub(crate) fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// A number of four bytes; 0 if there are fewer.
pub(crate) fn u32_of(value: &[u8]) -> u32 {
    value.first_chunk().map_or(0, |b| u32::from_ne_bytes(*b))
}

/// An attribute: length with its header of four bytes, kind, value, padding to four bytes (`linux/netlink.h`).
pub(crate) fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(&value[..usize::from(length) - 4]);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An attribute that holds others (`NLA_F_NESTED`).
pub(crate) fn nested(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    nla(kind | 1 << 15, &attributes.concat())
}

/// A family as this kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Family {
    /// Its number.
    pub(crate) id: u16,
    groups: Vec<(String, u32)>,
}

impl Family {
    /// `None`: this kernel has none of this name.
    pub(crate) fn find(name: &str) -> io::Result<Option<Family>> {
        let request =
            GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![GenlCtrlAttrs::FamilyName(name.to_owned())] };
        let mut controller: Netlink<GenlMessage<GenlCtrl>> = Netlink::open_generic()?;
        let answers = controller.ask(GenlMessage::from_payload(request), NLM_F_ACK).unwrap_or_default();
        let mut family = Family::default();
        for attribute in answers.into_iter().flat_map(|answer| answer.payload.nlas) {
            match attribute {
                GenlCtrlAttrs::FamilyId(id) => family.id = id,
                GenlCtrlAttrs::McastGroups(groups) => family.groups.extend(groups.iter().filter_map(group)),
                _ => {}
            }
        }
        Ok((family.id != 0).then_some(family))
    }

    /// The number of a group that hears of its events.
    pub(crate) fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(n, _)| n == name).map(|(_, id)| *id)
    }
}

fn group(attributes: &Vec<McastGrpAttrs>) -> Option<(String, u32)> {
    let (mut name, mut id) = (None, None);
    for attribute in attributes {
        match attribute {
            McastGrpAttrs::Name(n) => name = Some(n.clone()),
            McastGrpAttrs::Id(i) => id = Some(*i),
        }
    }
    name.zip(id)
}

/// A socket for one family.
pub(crate) struct Genl {
    netlink: Netlink<GenlMessage<Raw>>,
    /// The family.
    pub(crate) family: Family,
}

impl Genl {
    /// `None`: this kernel has no such family.
    pub(crate) fn open(name: &str) -> io::Result<Option<Genl>> {
        let Some(family) = Family::find(name)? else { return Ok(None) };
        Ok(Some(Genl { netlink: Netlink::open_generic()?, family }))
    }

    /// All answers.
    pub(crate) fn ask(&mut self, request: Raw, flags: u16) -> io::Result<Vec<Raw>> {
        let mut request = GenlMessage::from_payload(request);
        request.set_resolved_family_id(self.family.id);
        Ok(self.netlink.ask(request, flags)?.into_iter().map(|answer| answer.payload).collect())
    }

    /// Does what the message says.
    pub(crate) fn order(&mut self, order: Raw) -> io::Result<()> {
        self.ask(order, NLM_F_ACK).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let bytes = [nla(3, &7u32.to_ne_bytes()), nla(4, b"abc"), nested(5, &[nla(1, &[9])])].concat();
        let all: Vec<(u16, Vec<u8>)> = attributes(&bytes).map(|(k, v)| (k, v.to_vec())).collect();
        assert_eq!(all, [(3, vec![7, 0, 0, 0]), (4, b"abc".to_vec()), (5, nla(1, &[9]))]);
        assert_eq!(find(&bytes, 9), None);
        assert_eq!(u32_of(&[1, 2]), 0);
    }

    #[test]
    fn the_kernels_own_family_is_found_and_others_are_not() {
        let controller = Family::find("nlctrl").unwrap().expect("every kernel has it");
        assert!(controller.group("notify").is_some() && controller.group("none-such").is_none());
        assert_eq!(Family::find("none-such").unwrap(), None);
    }
}
