//! How other threads ask the loop for something: a bounded channel and a descriptor that wakes it.

use crate::control::protocol::{Request, Response};
use crate::control::server::ControlHandler;
use crate::exit::{Code, failure};
use ropewalk_net::poll::Waker;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Requests that may wait; more than that wait outside.
const WAITING: usize = 16;
/// The loop answers within a turn, so this long means that something is very wrong.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request and where its answer goes.
#[derive(Debug)]
pub(crate) struct Post {
    /// What is asked.
    pub request: Request,
    /// Where the answer goes; it has room for one.
    pub reply: SyncSender<Response>,
}

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Mailbox {
    posts: Receiver<Post>,
    told: Receiver<Request>,
    waker: Arc<Waker>,
}

/// The other threads' end.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    posts: SyncSender<Post>,
    told: Sender<Request>,
    waker: Arc<Waker>,
}

/// Both ends of a new mailbox.
pub(crate) fn mailbox() -> io::Result<(Mailbox, Outbox)> {
    let (sender, posts) = sync_channel(WAITING);
    let (tell, told) = channel();
    let waker = Arc::new(Waker::new()?);
    let inbox = Mailbox { posts, told, waker: Arc::clone(&waker) };
    Ok((inbox, Outbox { posts: sender, told: tell, waker }))
}

impl Mailbox {
    /// What the poller watches.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The next request, if there is one. Clear the waker first.
    pub(crate) fn next(&self) -> Option<Post> {
        match self.told.try_recv() {
            Ok(request) => Some(Post { request, reply: sync_channel(1).0 }),
            Err(_) => self.posts.try_recv().ok(),
        }
    }
}

#[cfg(test)]
impl Mailbox {
    /// The next request, whenever it comes; `None` once nobody is left to ask.
    pub(crate) fn wait(&self) -> Option<Post> {
        self.posts.recv().ok()
    }
}

impl Outbox {
    /// Asks the loop and waits for its answer.
    pub(crate) fn ask(&self, request: Request) -> anyhow::Result<Response> {
        let (reply, answer) = sync_channel(1);
        let stopping = || failure(Code::NotRunning, "the daemon is stopping");
        self.posts.send(Post { request, reply }).map_err(|_| stopping())?;
        self.waker.wake();
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Disconnected => stopping(),
            RecvTimeoutError::Timeout => failure(
                Code::NotRunning,
                format!("the daemon did not answer within {} s", PATIENCE.as_secs()),
            ),
        })
    }

    /// Asks the loop and does not wait, however much it has to do: who tells may be who the loop
    /// waits for. What waits is bounded by what there is to tell of: clients and endpoints.
    pub(crate) fn tell(&self, request: Request) {
        if self.told.send(request).is_ok() {
            self.waker.wake();
        }
    }
}

/// The loop answers whatever is asked.
impl ControlHandler for Outbox {
    fn answer(&self, request: Request, _by: u32) -> Response {
        self.ask(request).unwrap_or_else(|error| Response::refused(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_tells_does_not_wait_for_the_loop() {
        let (inbox, outbox) = mailbox().unwrap();
        // On this thread, which is the loop's: were there a bound, it would wait for itself.
        (0..WAITING * 4).for_each(|_| outbox.tell(Request::Clients {}));
        assert_eq!(std::iter::from_fn(|| inbox.next()).count(), WAITING * 4);
    }
}
