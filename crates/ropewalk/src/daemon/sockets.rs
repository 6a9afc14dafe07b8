//! The UDP sockets, each under the number by which the engine knows it.

use ropewalk_bond::api::{ROOM_BYTES, Room, Ticket, Transmit};
use ropewalk_bond::path::Route;
use ropewalk_bond::time::{Duration, Time};
use ropewalk_net::udp::{OpenError, Pages, SendError, Twin, UdpSocket, twins_work};

/// Twins of all sockets at most.
const TWINS: usize = 8;
/// Batches that may be lent at once: 6 MiB, 6 ms at 8 Gb/s.
const ROOMS: usize = 96;
/// So many bytes in large batches to one peer, with none to another between, are worth a twin if they leave within a second: 134 Mb/s. Below that a
/// copy costs next to nothing.
const WORTH_A_TWIN: u64 = 16 << 20;
const WITHIN: Duration = Duration::from_secs(1);
/// Twins of one socket that may fail before it gets no more.
const TRIES: u32 = 3;

/// A socket and what it belongs to.
#[derive(Debug)]
pub struct Link {
    /// The engine's number for it.
    pub id: u32,
    /// The socket.
    pub socket: UdpSocket,
    /// What people call it: the interface at a client, the address at a gateway.
    pub name: String,
    /// MTU of its interface, bytes; `None` if it has several.
    pub mtu: Option<u16>,
    /// Datagrams that the kernel dropped because we were late.
    pub overruns: u32,
    twins: Vec<Numbered>,
    run: Option<Run>,
    /// Twins that failed.
    failures: u32,
}

/// Who got the last large batches, since when, and their bytes.
#[derive(Clone, Copy, Debug)]
struct Run {
    to: Route,
    since: Time,
    bytes: u64,
}

impl Run {
    /// One more batch after those of `run`; the second is `true` if that makes enough for a twin.
    fn go_on(run: Option<Run>, to: Route, bytes: usize, now: Time) -> (Run, bool) {
        let run = run.filter(|r| r.to == to && now.since(r.since) <= WITHIN);
        let mut run = run.unwrap_or(Run { to, since: now, bytes: 0 });
        run.bytes += bytes as u64;
        (run, run.bytes >= WORTH_A_TWIN)
    }
}

/// A twin and the number by which the loop knows it.
#[derive(Debug)]
struct Numbered {
    id: u32,
    twin: Twin,
    /// The count of large batches at its last one.
    last_used: u64,
    failed: bool,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has a copy of it.
    Copied,
    /// The kernel reads it from pages of ours.
    Lent,
}

/// A socket that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The socket of this number.
    Link(u32),
    /// The twin of this number.
    Twin(u32),
}

/// All of them. There are few, so they are looked for one by one.
#[derive(Debug, Default)]
pub struct Sockets {
    links: Vec<Link>,
    next: u32,
    next_twin: u32,
    /// Large batches so far.
    large: u64,
    /// Who is worth a twin and has none.
    wanted: Option<Route>,
    /// Memory that can be lent, once there was a twin.
    pages: Option<Pages>,
    /// What the engine had before that.
    spare: Option<Box<dyn Room>>,
}

impl Sockets {
    /// Adds a socket; its number is never given out again.
    pub fn add(&mut self, socket: UdpSocket, name: String, mtu: Option<u16>) -> u32 {
        let id = self.next;
        self.next += 1;
        self.links.push(Link {
            id,
            socket,
            name,
            mtu,
            overruns: 0,
            twins: Vec::new(),
            run: None,
            failures: 0,
        });
        id
    }

    /// Closes one.
    pub fn remove(&mut self, id: u32) {
        self.links.retain(|l| l.id != id);
    }

    /// The one with this number.
    pub fn get(&self, id: u32) -> Option<&Link> {
        self.links.iter().find(|l| l.id == id)
    }

    /// The same, to change.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Link> {
        self.links.iter_mut().find(|l| l.id == id)
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// Sends a batch by the socket of its route, or by a twin of it.
    pub fn send(&mut self, t: &Transmit<'_>, now: Time) -> Result<Sent, SendError> {
        let Some(link) = self.links.iter_mut().find(|l| l.id == t.route.link) else {
            return Ok(Sent::Copied);
        };
        let batch = ropewalk_net::udp::Transmit {
            to: t.route.remote,
            from: t.route.local,
            tos: ECT0,
            segment_size: t.segment,
            data: t.bytes,
        };
        if Twin::suits(&batch) && t.ticket.is_some() {
            self.large += 1;
            match link.twins.iter_mut().find(|n| n.twin.is_for(t.route.local, t.route.remote) && !n.failed) {
                Some(n) => {
                    n.last_used = self.large;
                    let lendable = self.pages.as_ref().and_then(|p| p.lendable(t.bytes));
                    match lendable.map(|data| n.twin.send(&batch, data)) {
                        Some(Ok(())) => return Ok(Sent::Lent),
                        None => {}
                        Some(Err(SendError::Full)) => return Err(SendError::Full),
                        // The other socket says what is wrong, if anything is.
                        Some(Err(_)) => n.failed = true,
                    }
                }
                None => {
                    let socket = &link.socket;
                    let able = link.failures < TRIES
                        && socket.has_gso()
                        && !socket.counts_completions()
                        && twins_work();
                    let (run, enough) = Run::go_on(link.run, t.route, t.bytes.len(), now);
                    link.run = Some(run);
                    if able && enough {
                        self.wanted = Some(t.route);
                    }
                }
            }
        }
        link.socket.send(&batch).map(|_| Sent::Copied)
    }

    /// The socket to read from and the number of its link.
    pub fn receive(
        &mut self,
        from: Source,
        batch: &mut ropewalk_net::udp::RecvBatch,
    ) -> Option<(u32, std::io::Result<usize>)> {
        match from {
            Source::Link(id) => self.get(id).map(|l| {
                l.socket.take_completions();
                (id, l.socket.recv(batch))
            }),
            Source::Twin(id) => {
                let mut twins = self.links.iter_mut().flat_map(|l| l.twins.iter_mut().map(|n| (l.id, n)));
                let (link, n) = twins.find(|(_, n)| n.id == id)?;
                let received = n.twin.recv(batch);
                // A connected socket hears of ICMP errors that the engine wants to find out about by itself.
                n.failed |= received.is_err();
                Some((link, received))
            }
        }
    }

    /// Whom to make a twin for, if anybody.
    pub fn take_wanted(&mut self) -> Option<Route> {
        self.wanted.take()
    }

    /// Makes a twin for what goes by this route; returns its number and the twin, to be read.
    pub fn add_twin(&mut self, route: Route) -> Result<Option<(u32, &Twin)>, OpenError> {
        if self.links.iter().map(|l| l.twins.len()).sum::<usize>() >= TWINS {
            self.remove_stalest_twin();
        }
        let id = self.next_twin;
        self.next_twin += 1;
        let last_used = self.large;
        if self.pages.is_none() {
            self.pages = Some(Pages::new(ROOMS)?);
        }
        let Some(link) = self.get_mut(route.link) else { return Ok(None) };
        let siblings = link.twins.iter().map(|n| &n.twin);
        let twin = Twin::of(&link.socket, siblings, route.local, route.remote)
            .inspect_err(|_| link.failures += 1)?;
        link.twins.push(Numbered { id, twin, last_used, failed: false });
        Ok(link.twins.last().map(|n| (id, &n.twin)))
    }

    fn remove_stalest_twin(&mut self) {
        let all = self.links.iter().flat_map(|l| &l.twins);
        let Some(stalest) = all.min_by_key(|n| n.last_used).map(|n| n.id) else { return };
        self.links.iter_mut().for_each(|l| l.twins.retain(|n| n.id != stalest));
    }

    /// Memory for the next batch, if it is to be exchanged: after one that was lent, or for one that can be.
    pub fn next_room(&mut self, sent: Sent) -> Option<Box<dyn Room>> {
        let pages = self.pages.as_mut()?;
        match sent {
            Sent::Lent => Some(pages.take().or_else(|| self.spare.take()).unwrap_or_else(heap)),
            Sent::Copied => self.spare.is_none().then(|| pages.take()).flatten(),
        }
    }

    /// What the engine had before that: lent under a ticket, or its own.
    pub fn put_room(&mut self, room: Box<dyn Room>, lent: Option<Ticket>) {
        match (lent, &mut self.pages) {
            (Some(ticket), Some(pages)) => pages.lent(room, ticket),
            _ => self.spare = Some(room),
        }
    }

    /// Takes back memory that was lent and closes twins that failed.
    pub fn reclaim(&mut self, is_settled: impl Fn(&Ticket) -> bool) {
        if let Some(pages) = &mut self.pages {
            pages.reclaim(is_settled);
        }
        for link in &mut self.links {
            let before = link.twins.len();
            link.twins.retain(|n| !n.failed);
            link.failures += (before - link.twins.len()) as u32;
        }
    }
}

fn heap() -> Box<dyn Room> {
    Box::new(vec![0; ROOM_BYTES].into_boxed_slice())
}

/// Datagrams say that they understand congestion marks (RFC 3168 §5, ECT(0)): the paths' acknowledgements report them.
const ECT0: u8 = 0b10;

#[cfg(test)]
mod tests {
    use super::*;

    fn route(port: u16) -> Route {
        Route { link: 0, remote: ([10, 0, 0, 1], port).into(), local: None }
    }

    /// How often a batch of 64 KiB was enough, of `n` to one peer with `gap` between.
    fn enough(n: u32, gap: Duration) -> u32 {
        let (mut run, mut times) = (None, 0);
        for k in 0..n {
            let (next, enough) = Run::go_on(run, route(1), 64 << 10, Time::ZERO + gap * k);
            (run, times) = (Some(next), times + u32::from(enough));
        }
        times
    }

    #[test]
    fn much_at_once_to_one_peer_is_worth_a_twin_and_nothing_else_is() {
        assert_eq!(enough(255, Duration::from_millis(1)), 0);
        assert_eq!(enough(256, Duration::from_millis(1)), 1);
        assert_eq!(enough(10_000, Duration::from_millis(5)), 0, "105 Mb/s");
        let mut run = None;
        for k in 0..1000 {
            let (next, enough) = Run::go_on(run, route(k % 2), 64 << 10, Time::ZERO);
            assert!(!enough, "two peers in turn");
            run = Some(next);
        }
    }
}
