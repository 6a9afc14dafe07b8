//! Paths over TLS: the loop's end of the thread that does TLS (`net::tls`). A process that has none
//! pays nothing for it.

use ropewalk_bond::api::Transmit;
use ropewalk_net::tls::{FIRST, Inbox, Listeners, News, Target, Tls};
use ropewalk_net::udp::SendError;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// The streams, each under the number by which the engine knows it.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    tls: Option<Tls>,
    /// What was taken last; given back to be filled again.
    pub(super) inbox: Inbox,
    pub(super) news: VecDeque<News>,
    /// At a client: the interfaces.
    names: BTreeMap<u32, String>,
}

impl Streams {
    /// From now on there is a thread.
    pub(super) fn begin(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// The thread, started where there is none; `true` if it is new, and its waker has to be
    /// watched.
    pub(super) fn started(&mut self) -> io::Result<(&mut Tls, bool)> {
        let is_new = self.tls.is_none();
        if is_new {
            self.tls = Some(Tls::start(Listeners::default(), None)?);
        }
        self.tls.as_mut().map(|tls| (tls, is_new)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The thread, if there is one.
    pub(crate) fn tls(&mut self) -> Option<&mut Tls> {
        self.tls.as_mut()
    }

    /// Begins to connect by an interface.
    pub(super) fn connect(&mut self, target: Target) -> io::Result<u32> {
        let name = target.device.clone().unwrap_or_default();
        let (tls, _) = self.started()?;
        let id = tls.connect(target);
        self.names.insert(id, name);
        Ok(id)
    }

    /// Ends a stream.
    pub(crate) fn close(&mut self, id: u32) {
        self.names.remove(&id);
        if let Some(tls) = &mut self.tls {
            tls.close(id);
        }
    }

    /// The interface of a client's stream.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// Streams now, and connections refused so far; `None` where TLS is not used.
    pub(crate) fn counts(&self) -> Option<(u64, u64)> {
        self.tls.as_ref().map(Tls::counts)
    }

    /// The next news of a connection.
    pub(super) fn next_news(&mut self) -> Option<News> {
        let news = self.news.pop_front()?;
        if let News::Over { id, .. } = &news {
            self.names.remove(id);
        }
        Some(news)
    }

    /// Whether a path's handle is a stream's.
    pub(super) fn has(link: u32) -> bool {
        link >= FIRST
    }

    /// Sends a batch.
    pub(super) fn send(&mut self, t: &Transmit<'_>) -> Result<(), SendError> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.send(t.route.link, t.segment, t.bytes).map_err(|_| SendError::Full)
    }

    /// Takes what has come.
    pub(super) fn take(&mut self) -> Inbox {
        let mut inbox = std::mem::take(&mut self.inbox);
        if let Some(tls) = &mut self.tls {
            tls.take(&mut inbox);
        }
        inbox
    }
}
