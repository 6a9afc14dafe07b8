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

/// The other threads' end: of one loop, or of all loops of a gateway, the first one first.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(Vec<End>);

#[derive(Clone, Debug)]
struct End {
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
    Ok((inbox, Outbox(vec![End { posts: sender, told: tell, waker }])))
}

/// The same for so many loops: a mailbox for each, and one end that asks them all.
pub(crate) fn mailboxes(count: u32) -> io::Result<(Vec<Mailbox>, Outbox)> {
    let both: Vec<(Mailbox, Outbox)> = (0..count).map(|_| mailbox()).collect::<io::Result<_>>()?;
    let (inboxes, outboxes): (Vec<_>, Vec<_>) = both.into_iter().unzip();
    Ok((inboxes, Outbox(outboxes.into_iter().flat_map(|outbox| outbox.0).collect())))
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
    /// Asks the loop, or all loops, and waits for the answer.
    pub(crate) fn ask(&self, request: Request) -> anyhow::Result<Response> {
        let asked: Vec<_> = self.asked(&request).iter().map(|end| end.ask(request.clone())).collect();
        let mut answers = asked.into_iter().map(|answer| answer.and_then(|answer| wait(&answer)));
        let first = answers.next().unwrap_or_else(|| Err(stopping()));
        let mut all = answers.try_fold(first?, |all, answer| answer.map(|answer| all.with(answer)))?;
        if let (Request::Flows { most }, Response::Flows { flows }) = (&request, &mut all) {
            flows.flows.truncate((*most).into());
        }
        Ok(all)
    }

    /// Asks the loop and does not wait, however much it has to do: who tells may be who the loop
    /// waits for. What waits is bounded by what there is to tell of: clients and endpoints.
    pub(crate) fn tell(&self, request: Request) {
        self.asked(&request).iter().for_each(|end| end.tell(request.clone()));
    }

    fn asked(&self, request: &Request) -> &[End] {
        if request.is_for_all_loops() { &self.0 } else { &self.0[..1] }
    }
}

impl End {
    /// Where the answer will come.
    fn ask(&self, request: Request) -> anyhow::Result<Receiver<Response>> {
        let (reply, answer) = sync_channel(1);
        self.posts.send(Post { request, reply }).map_err(|_| stopping())?;
        self.waker.wake();
        Ok(answer)
    }

    fn tell(&self, request: Request) {
        if self.told.send(request).is_ok() {
            self.waker.wake();
        }
    }
}

fn wait(answer: &Receiver<Response>) -> anyhow::Result<Response> {
    answer.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Disconnected => stopping(),
        RecvTimeoutError::Timeout => {
            failure(Code::NotRunning, format!("the daemon did not answer within {} s", PATIENCE.as_secs()))
        }
    })
}

fn stopping() -> anyhow::Error {
    failure(Code::NotRunning, "the daemon is stopping")
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
    use crate::report::flows::{Flow, Flows};

    #[test]
    fn who_tells_does_not_wait_for_the_loop() {
        let (inbox, outbox) = mailbox().unwrap();
        // On this thread, which is the loop's: were there a bound, it would wait for itself.
        (0..WAITING * 4).for_each(|_| outbox.tell(Request::Grants {}));
        assert_eq!(std::iter::from_fn(|| inbox.next()).count(), WAITING * 4);
    }

    #[test]
    fn all_loops_are_asked_what_is_for_all_and_the_first_one_the_rest() {
        let (inboxes, outbox) = mailboxes(3).unwrap();
        let answering: Vec<_> = inboxes
            .into_iter()
            .zip([1, 10, 100])
            .map(|(inbox, total)| {
                std::thread::spawn(move || {
                    let mut asked = 0;
                    while let Some(post) = inbox.wait() {
                        asked += 1;
                        let flow = |n| Flow { sent_bps: total * n, ..Flow::default() };
                        let flows = Flows { counted: true, total, flows: [3, 2].map(flow).into() };
                        post.reply.send(Response::Flows { flows: Box::new(flows) }).unwrap();
                    }
                    asked
                })
            })
            .collect();
        let total = |request| match outbox.ask(request).unwrap() {
            Response::Flows { flows } => flows.total,
            other => panic!("{other:?}"),
        };
        assert_eq!(total(Request::Flows { most: 5 }), 111);
        let rates = |most| match outbox.ask(Request::Flows { most }).unwrap() {
            Response::Flows { flows } => flows.flows.iter().map(|f| f.sent_bps).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(rates(9), [300, 200, 30, 20, 3, 2]);
        assert_eq!(rates(3), [300, 200, 30]);
        assert_eq!(total(Request::History { since: 0 }), 1);
        drop(outbox);
        let asked: Vec<i32> = answering.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(asked, [4, 3, 3]);
    }
}
