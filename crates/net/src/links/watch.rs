//! News of interfaces, addresses, routes and rules of routing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

use super::{Advertised, Link, LinkError, list::list_through, read_advertised};
use crate::netlink::{Netlink, messages, split};

/// Multicast groups (`linux/rtnetlink.h`): links; IPv4 addresses, routes and rules; IPv6 addresses,
/// routes and rules, and options of router advertisements.
const GROUPS: [u32; 8] = [1, 5, 7, 8, 9, 11, 19, 20];

/// One interface's news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It appeared; it may not be usable yet.
    Added(Link),
    /// Something about it changed: its state, its name, its addresses. This is how it is now.
    Changed(Link),
    /// It is gone. This is how it was.
    Removed(Link),
}

/// What happened since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Interfaces, by index.
    pub links: Vec<Change>,
    /// Some route or rule of routing came or went, so an interface may lead somewhere else: ask
    /// [`super::route_via`] again.
    pub routes: bool,
    /// What routers said of NAT64, the latest last.
    pub advertised: Vec<Advertised>,
}

impl Changes {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && !self.routes && self.advertised.is_empty()
    }
}

/// Knows all interfaces and hears of changes. Readable, for a poller, when there is news.
pub struct Follower {
    news: Socket,
    netlink: Netlink,
    buffer: Vec<u8>,
    links: Vec<Link>,
    /// The list is older than the news.
    stale: bool,
}

impl Follower {
    /// Lists the interfaces of the calling thread's network namespace and starts to follow them.
    pub fn new() -> Result<Self, LinkError> {
        let mut news = Socket::new(NETLINK_ROUTE)?;
        news.bind_auto()?;
        news.set_non_blocking(true)?;
        for group in GROUPS {
            news.add_membership(group)?;
        }
        // Subscribed first: what changes during the listing is news.
        let mut netlink = Netlink::open()?;
        let links = list_through(&mut netlink)?;
        Ok(Follower { news, netlink, buffer: Vec::with_capacity(64 << 10), links, stale: false })
    }

    /// The interfaces as of the last look, by index.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Takes all waiting news and says what changed. However many messages there are, the interfaces are
    /// listed once.
    pub fn poll(&mut self) -> Result<Changes, LinkError> {
        let (stale, mut changes) = self.drain()?;
        self.stale |= stale;
        if self.stale {
            let listed = list_through(&mut self.netlink);
            changes.links = self.take(listed)?;
        }
        Ok(changes)
    }

    /// What a new list changes. Where interfaces came and went under each try, the next look makes another:
    /// they are news that waits by now.
    fn take(&mut self, listed: Result<Vec<Link>, LinkError>) -> Result<Vec<Change>, LinkError> {
        match listed {
            Err(LinkError::System(e)) if e.kind() == io::ErrorKind::ResourceBusy => {
                tracing::debug!("interfaces change faster than they can be listed");
                Ok(Vec::new())
            }
            listed => {
                let old = std::mem::replace(&mut self.links, listed?);
                self.stale = false;
                Ok(difference(&old, &self.links))
            }
        }
    }

    /// Reads all messages: whether the list is stale, and what else changed.
    fn drain(&mut self) -> Result<(bool, Changes), LinkError> {
        let (mut stale, mut changes) = (false, Changes::default());
        loop {
            self.buffer.clear();
            match self.news.recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok((stale, changes)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                // So much news that the kernel dropped some: everything may have changed.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {
                    (stale, changes.routes) = (true, true);
                    continue;
                }
                Err(e) => return Err(e.into()),
            }
            for message in split(&self.buffer) {
                if let Some(advertised) = read_advertised(message) {
                    changes.advertised.extend(advertised);
                    continue;
                }
                for message in messages::<RouteNetlinkMessage>(message) {
                    match message.payload {
                        NetlinkPayload::InnerMessage(
                            RouteNetlinkMessage::NewRoute(_)
                            | RouteNetlinkMessage::DelRoute(_)
                            | RouteNetlinkMessage::NewRule(_)
                            | RouteNetlinkMessage::DelRule(_),
                        ) => changes.routes = true,
                        _ => stale = true,
                    }
                }
            }
        }
    }
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("links", &self.links).finish_non_exhaustive()
    }
}

/// What is different between two lists. Both are sorted by index, which names an interface for as long as it
/// exists.
fn difference(old: &[Link], new: &[Link]) -> Vec<Change> {
    let in_old = |link: &Link| old.iter().find(|l| l.index == link.index);
    let removed = old.iter().filter(|o| !new.iter().any(|n| n.index == o.index));
    let removed = removed.cloned().map(Change::Removed);
    let present = new.iter().filter_map(|link| match in_old(link) {
        None => Some(Change::Added(link.clone())),
        Some(before) if before != link => Some(Change::Changed(link.clone())),
        Some(_) => None,
    });
    removed.chain(present).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str) -> Link {
        Link { index, name: name.into(), ..Link::default() }
    }

    #[test]
    fn a_list_that_cannot_be_had_is_for_the_next_look() {
        let mut follower = Follower::new().unwrap();
        (follower.links, follower.stale) = (vec![link(1, "lo")], true);
        let busy = LinkError::System(io::ErrorKind::ResourceBusy.into());
        assert!(follower.take(Err(busy)).unwrap().is_empty());
        assert_eq!((&follower.links, follower.stale), (&vec![link(1, "lo")], true));
        let new = vec![link(1, "lo"), link(2, "a")];
        assert_eq!(follower.take(Ok(new)).unwrap(), [Change::Added(link(2, "a"))]);
        assert!(!follower.stale);
        assert!(follower.take(Err(LinkError::NoSuchInterface("a".into()))).is_err());
    }

    #[test]
    fn differences() {
        let old = [link(1, "lo"), link(2, "a"), link(3, "b")];
        let new = [link(1, "lo"), link(3, "renamed"), link(4, "a")];
        let expected =
            [Change::Removed(link(2, "a")), Change::Changed(link(3, "renamed")), Change::Added(link(4, "a"))];
        assert_eq!(difference(&old, &new), expected);
        assert!(difference(&new, &new).is_empty());
    }
}
