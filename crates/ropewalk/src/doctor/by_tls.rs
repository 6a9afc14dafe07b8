//! Whether the gateway answers by TLS, where it does not by UDP.

use super::reach::handshake;
use crate::daemon::entropy;
use ropewalk_net::links::Link;
use ropewalk_net::nat64::{self, Prefix};
use ropewalk_net::poll::{Events, Interest, Poller};
use ropewalk_net::setup::MARK;
use ropewalk_net::tls::{Inbox, Listeners, News, Target, Tls};
use ropewalk_net::{clock, privileges};
use ropewalk_session::{Endpoint, MessageType, Token};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The longest that TLS, HTTP and the handshake within may take together.
const PATIENCE: Duration = Duration::from_secs(8);

/// What TLS gave on an interface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// There is no endpoint with TLS, or none that this interface leads to.
    NoWay,
    /// The gateway answered at this address, after so long.
    Gateway(SocketAddr, Duration),
    /// It did not, and why.
    Nobody(String),
}

/// Asks by an interface; the first endpoint that answers counts.
pub(super) fn ask(
    token: &Token,
    endpoints: &[Endpoint],
    (link, prefixes): (&Link, &[Prefix]),
    resolve: impl Fn(&Endpoint) -> Vec<SocketAddr>,
) -> Found {
    let mut found = Found::NoWay;
    for endpoint in endpoints {
        let remotes = resolve(endpoint).into_iter().filter_map(|a| nat64::reached_as(link, prefixes, a));
        for remote in remotes {
            match converse(token, &link.name, endpoint, remote) {
                Ok(after) => return Found::Gateway(remote, after),
                Err(why) => found = Found::Nobody(format!("{why:#}")),
            }
        }
    }
    found
}

fn converse(
    token: &Token,
    interface: &str,
    endpoint: &Endpoint,
    remote: SocketAddr,
) -> anyhow::Result<Duration> {
    let mut tls = Tls::start(Listeners::default(), None)?;
    // A mark needs rights that whoever asks may not have.
    let mark = privileges::check_network().is_ok().then_some(MARK);
    let target =
        Target { remote, host: endpoint.to_string(), device: Some(interface.into()), mark, is_narrow: false };
    let (poller, mut events) = (Poller::new()?, Events::new(1));
    poller.add(tls.waker(), 0, Interest::Read)?;
    let id = tls.connect(target);
    let mut rng = entropy();
    let mut handshake = handshake(token, &mut rng)?;
    let (began, mut inbox) = (Instant::now(), Inbox::default());
    while let Some(left) = PATIENCE.checked_sub(began.elapsed()) {
        poller.wait(&mut events, Some(left))?;
        tls.take(&mut inbox);
        let answers: Vec<Vec<u8>> = inbox
            .runs()
            .flat_map(|(run, bytes)| bytes.chunks(run.segment).map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect();
        for news in inbox.take_news() {
            match news {
                News::Open { .. } => drop(tls.send(id, usize::MAX, handshake.datagram())),
                News::Over { why, .. } => return Err(why.into()),
            }
        }
        for datagram in answers {
            match MessageType::of(&datagram) {
                Some(MessageType::Cookie) => {
                    if let Ok(again) = handshake.handle_cookie(&datagram, clock::now()) {
                        let _ = tls.send(id, usize::MAX, again);
                    }
                }
                // Whatever it says, it is said with the gateway's key.
                _ if handshake.finish(&datagram).is_ok() => return Ok(began.elapsed()),
                _ => {}
            }
        }
    }
    anyhow::bail!("the gateway does not answer through it")
}
