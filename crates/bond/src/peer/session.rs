//! What a session is to its two ends: keys, a name, and whether it is in use.

use super::keyring::Keyring;
use ropewalk_session::{Index, SessionId};
use ropewalk_time::Time;

/// The state of a session, apart from what it carries.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(super) keys: Keyring,
    /// Its name across renewals of the keys; `None` at a client before the first handshake.
    id: Option<SessionId>,
    /// A datagram of the peer was opened: the handshake was no replay.
    is_confirmed: bool,
    /// The driver was told that the client is here.
    is_announced: bool,
    /// The session ends: the code to tell the peer.
    closing: Option<u8>,
    /// The peer reads AIR frames.
    reads_air: bool,
    /// The last authentic datagram.
    last_heard: Time,
}

impl SessionState {
    pub(super) fn new(is_client: bool, now: Time) -> SessionState {
        SessionState {
            keys: Keyring::default(),
            id: None,
            is_confirmed: is_client,
            is_announced: false,
            closing: None,
            reads_air: false,
            last_heard: now,
        }
    }

    pub(crate) fn keys(&self) -> &Keyring {
        &self.keys
    }

    pub(crate) fn keys_mut(&mut self) -> &mut Keyring {
        &mut self.keys
    }

    /// Keys are in force.
    pub(crate) fn is_up(&self) -> bool {
        self.keys.current().is_some()
    }

    pub(crate) fn id(&self) -> Option<SessionId> {
        self.id
    }

    pub(crate) fn set_id(&mut self, id: SessionId) {
        self.id = Some(id);
    }

    /// The peer has ended the session; gives the indices that are no longer its.
    pub(crate) fn forget(&mut self) -> Vec<Index> {
        self.id = None;
        std::mem::take(&mut self.keys).indices().collect()
    }

    /// The peer uses the keys that it was offered under `index`, so its handshake was no replay.
    ///
    /// That says nothing of the address it comes from: the RESPONSE may have been received at another one.
    pub(super) fn confirm(&mut self, index: Index, now: Time) {
        self.is_confirmed = true;
        self.keys.confirm(index, now);
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Whether the driver is to be told of the client now: the first time.
    pub(crate) fn announce(&mut self) -> bool {
        !std::mem::replace(&mut self.is_announced, true)
    }

    /// The peer said in the handshake whether it reads AIR frames.
    pub(crate) fn set_reads_air(&mut self, reads: bool) {
        self.reads_air = reads;
    }

    pub(super) fn reads_air(&self) -> bool {
        self.reads_air
    }

    pub(crate) fn close(&mut self, code: u8) {
        self.closing = Some(code);
    }

    pub(crate) fn closing(&self) -> Option<u8> {
        self.closing
    }

    pub(super) fn on_heard(&mut self, now: Time) {
        self.last_heard = now;
    }

    pub(crate) fn last_heard(&self) -> Time {
        self.last_heard
    }
}
