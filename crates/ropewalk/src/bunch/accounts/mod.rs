//! Who carried how much: statements that a contributor and its gateway both sign.
//!
//! ```text
//!  contributor                            gateway
//!     claim: what this tunnel carried ──▶   has it counted the same?
//!     is that no less than I carried? ◀──   offer: statement, signed
//!     agreed: signed by both          ──▶   kept, as here
//! ```
//!
//! Totals only grow, each statement has the hash of the one before, and begins when that one ended.
//! So nothing can be left out between two, and the last one says all. docs/bunch-protocol.md,
//! section 7, is this file in words.
//!
//! | file | what |
//! |---|---|
//! | `contributor` | the access point's end |
//! | `ledger` | the gateway's end |
//! | `files` | what is kept in the state directory |
//! | `fleet` | what gateways with one key have signed |
//! | `show` | the commands |

mod contributor;
mod files;
mod fleet;
mod ledger;
mod show;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub(super) use contributor::Contributor;
pub(super) use files::{AccountFiles, Keeper};
pub(super) use fleet::BunchControl;
pub(super) use ledger::{Ledgers, Measured};
pub(super) use show::run;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ropewalk_session::{PublicKey, StaticKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a signature is for, so that none counts for anything else; the last byte is the version.
const LABEL: &[u8; 23] = b"ropewalk-bunch-account\x01";
/// Bytes of a statement.
const STATEMENT: usize = LABEL.len() + 3 * 32 + 8 + 32 + 2 * 8 + 4 * 8;
/// Bytes of a signature.
const SIGNATURE: usize = 64;
/// Bytes of a record.
const RECORD: usize = STATEMENT + 2 * SIGNATURE;

/// An Ed25519 public key (RFC 8032): whose signature it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Verifier(pub [u8; 32]);

impl Verifier {
    fn holds(&self, statement: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(statement, signature).is_ok()
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({self})")
    }
}

impl FromStr for Verifier {
    type Err = String;

    fn from_str(text: &str) -> Result<Verifier, String> {
        let bytes = STANDARD.decode(text.trim()).ok().and_then(|b| b.try_into().ok());
        bytes.map(Verifier).ok_or_else(|| "a key is 44 characters of base64 that end in '='".to_owned())
    }
}

impl From<Verifier> for String {
    fn from(key: Verifier) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for Verifier {
    type Error = String;

    fn try_from(text: String) -> Result<Verifier, String> {
        text.parse()
    }
}

/// Signs for one end.
pub(crate) struct Signer(Ed25519KeyPair);

impl Signer {
    /// The signing key that follows from an end's static key: nothing more has to be kept.
    pub(crate) fn of(key: &StaticKey) -> anyhow::Result<Signer> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, key.to_base64().as_bytes());
        let seed = hmac::sign(&secret, LABEL);
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref());
        Ok(Signer(pair.map_err(|_| anyhow::anyhow!("the crypto library refused the signing key"))?))
    }

    /// By what its signatures are proved.
    pub(crate) fn verifier(&self) -> Verifier {
        Verifier(self.0.public_key().as_ref().try_into().unwrap_or_default())
    }

    fn sign(&self, statement: &Statement) -> Option<[u8; SIGNATURE]> {
        self.0.try_sign(&statement.to_bytes()).ok()?.as_ref().try_into().ok()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.verifier())
    }
}

/// What was carried, since the first statement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Packets of others' senders that came to the gateway by the contributor's tunnels, and their
    /// bytes without headers that were left out.
    pub carried_packets: u64,
    pub carried_bytes: u64,
    /// Of these, what was right and came first: so it went on to receivers.
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
}

impl Totals {
    fn zip(self, other: Totals, with: impl Fn(u64, u64) -> u64) -> Totals {
        Totals {
            carried_packets: with(self.carried_packets, other.carried_packets),
            carried_bytes: with(self.carried_bytes, other.carried_bytes),
            delivered_packets: with(self.delivered_packets, other.delivered_packets),
            delivered_bytes: with(self.delivered_bytes, other.delivered_bytes),
        }
    }

    fn is_within(&self, later: &Totals) -> bool {
        self.zip(*later, u64::max) == *later
    }

    /// Nothing is delivered that was not carried.
    fn is_sound(&self) -> bool {
        self.delivered_packets <= self.carried_packets && self.delivered_bytes <= self.carried_bytes
    }
}

/// What both sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Who signs for the gateway, and for the contributor.
    pub gateway: Verifier,
    pub contributor: Verifier,
    /// The contributor's key in the gateway's registry.
    pub key: PublicKey,
    /// From 1 on.
    pub number: u64,
    /// SHA-256 of the statement before; 0 for the first.
    pub previous: [u8; 32],
    /// By the gateway's clock, seconds since 1970.
    pub from: u64,
    pub until: u64,
    pub totals: Totals,
}

impl Statement {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(STATEMENT);
        out.extend_from_slice(LABEL);
        for key in [&self.gateway.0, &self.contributor.0, &self.key.0] {
            out.extend_from_slice(key);
        }
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.previous);
        let t = &self.totals;
        for n in [
            self.from,
            self.until,
            t.carried_packets,
            t.carried_bytes,
            t.delivered_packets,
            t.delivered_bytes,
        ] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out
    }

    fn read(bytes: &[u8]) -> Option<Statement> {
        let mut rest = bytes.strip_prefix(LABEL)?;
        let gateway = Verifier(take(&mut rest)?);
        let contributor = Verifier(take(&mut rest)?);
        let key = PublicKey(take(&mut rest)?);
        let number = u64::from_be_bytes(take(&mut rest)?);
        let previous = take(&mut rest)?;
        let mut six = [0; 6];
        for n in &mut six {
            *n = u64::from_be_bytes(take(&mut rest)?);
        }
        let [from, until, carried_packets, carried_bytes, delivered_packets, delivered_bytes] = six;
        let totals = Totals { carried_packets, carried_bytes, delivered_packets, delivered_bytes };
        let statement = Statement { gateway, contributor, key, number, previous, from, until, totals };
        (rest.is_empty() && statement.is_sound()).then_some(statement)
    }

    /// It makes sense by itself.
    fn is_sound(&self) -> bool {
        let first = self.previous == [0; 32];
        let begins = if self.number == 1 { first } else { self.number > 1 && !first };
        begins && self.from <= self.until && self.totals.is_sound()
    }

    fn hash(&self) -> [u8; 32] {
        digest(&SHA256, &self.to_bytes()).as_ref().try_into().unwrap_or_default()
    }

    /// Whether it is the next one after another; none before it: whether it is the first.
    pub(crate) fn follows(&self, before: Option<&Statement>) -> bool {
        let Some(before) = before else { return self.number == 1 };
        let same =
            (self.gateway, self.contributor, self.key) == (before.gateway, before.contributor, before.key);
        same && self.number.checked_sub(1) == Some(before.number)
            && self.previous == before.hash()
            && self.from == before.until
            && before.totals.is_within(&self.totals)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// A statement that its gateway has signed, and the contributor not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    statement: Statement,
    by_gateway: [u8; SIGNATURE],
}

/// A statement with both signatures, which are looked at by [`Record::is_proved`] alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Record {
    pub statement: Statement,
    by_gateway: [u8; SIGNATURE],
    by_contributor: [u8; SIGNATURE],
}

impl Record {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.statement.to_bytes()[..], &self.by_gateway, &self.by_contributor].concat()
    }

    fn read(bytes: &[u8]) -> Option<Record> {
        let (statement, mut rest) = bytes.split_at_checked(STATEMENT)?;
        let (by_gateway, by_contributor) = (take(&mut rest)?, take(&mut rest)?);
        let statement = Statement::read(statement)?;
        rest.is_empty().then_some(Record { statement, by_gateway, by_contributor })
    }

    /// Both signatures hold.
    pub(crate) fn is_proved(&self) -> bool {
        let (s, bytes) = (&self.statement, self.statement.to_bytes());
        s.gateway.holds(&bytes, &self.by_gateway) && s.contributor.holds(&bytes, &self.by_contributor)
    }
}

impl From<Record> for String {
    fn from(record: Record) -> String {
        STANDARD.encode(record.to_bytes())
    }
}

impl TryFrom<String> for Record {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Record, &'static str> {
        let bytes = Some(text).filter(|t| t.len() == RECORD.div_ceil(3) * 4);
        let record = bytes.and_then(|t| Record::read(&STANDARD.decode(t).ok()?));
        record.ok_or("this is no record, or a damaged one")
    }
}

impl Offer {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.statement.to_bytes()[..], &self.by_gateway].concat()
    }

    fn read(bytes: &[u8]) -> Option<Offer> {
        let (statement, mut rest) = bytes.split_at_checked(STATEMENT)?;
        let offer = Offer { statement: Statement::read(statement)?, by_gateway: take(&mut rest)? };
        rest.is_empty().then_some(offer)
    }

    fn is_signed(&self) -> bool {
        self.statement.gateway.holds(&self.statement.to_bytes(), &self.by_gateway)
    }

    /// With the contributor's signature.
    fn agreed(self, signer: &Signer) -> Option<Record> {
        let by_contributor = signer.sign(&self.statement)?;
        Some(Record { statement: self.statement, by_gateway: self.by_gateway, by_contributor })
    }
}

/// Why a gateway signs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Refused {
    /// It has counted something else in this tunnel.
    Numbers,
    /// The last record that the contributor knows is not the gateway's last one, which comes with
    /// the answer.
    Outdated,
    /// Another record of the same number was signed.
    Fork,
    /// The contributor has signed with another key, or for somebody else.
    Key,
    /// There are accounts of as many as are kept, or no clock or key to sign with.
    Full,
}

/// What the two say about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Words {
    /// Contributor: what this tunnel has carried, from its beginning on.
    Claim {
        /// Who will sign.
        signer: Verifier,
        packets: u64,
        bytes: u64,
        /// The last record that it has.
        last: Option<Record>,
    },
    /// Gateway: sign this.
    Offer {
        #[serde(with = "offered")]
        offer: Offer,
    },
    /// Gateway: no.
    Refused {
        why: Refused,
        /// With `outdated`: the gateway's last record.
        last: Option<Record>,
    },
    /// Contributor: signed.
    Agreed { record: Record },
}

/// An offer as base64.
mod offered {
    use super::{Offer, STANDARD};
    use base64::Engine as _;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(offer: &Offer, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(offer.to_bytes()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Offer, D::Error> {
        let bytes = STANDARD.decode(String::deserialize(d)?).map_err(Error::custom)?;
        Offer::read(&bytes).ok_or_else(|| Error::custom("this is no offer, or a damaged one"))
    }
}
