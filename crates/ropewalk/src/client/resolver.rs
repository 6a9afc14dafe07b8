//! Names to addresses, on a thread of its own: the system's resolver blocks.

use crate::control::protocol::Request;
use crate::daemon::Outbox;
use anyhow::Context;
use ropewalk_net::{dns, nat64};
use ropewalk_session::{Endpoint, Host};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Questions that may wait; one that is asked again later is no loss.
const WAITING: usize = 32;
/// Addresses of a name that are used.
const ADDRESSES: usize = 16;

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    /// An endpoint's addresses, first of the name servers of this interface.
    Name(Endpoint, Option<String>),
    /// How an interface's network translates to IPv4.
    Nat64(String),
}

/// Questions in the order in which they were asked first. Where nobody answers, one takes up to a
/// minute and is asked again every few seconds: without this, an interface that works would wait
/// behind all of these.
#[derive(Debug, Default)]
struct Waiting(VecDeque<Question>);

impl Waiting {
    /// The next, whenever it comes; `None` once nobody is left to ask.
    fn next(&mut self, questions: &Receiver<Question>) -> Option<Question> {
        if self.0.is_empty() {
            self.0.push_back(questions.recv().ok()?);
        }
        for question in questions.try_iter() {
            if !self.0.contains(&question) {
                self.0.push_back(question);
            }
        }
        self.0.pop_front()
    }
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Resolver {
    questions: SyncSender<Question>,
    by_interface: bool,
}

impl Resolver {
    /// Starts it. Answers arrive in the loop as [`Request::Resolved`]. With `by_interface` the name
    /// servers of a path's interface are asked first: those of the machine are behind the bond,
    /// which may not be there. With `past_bond` those of the machine are asked past it where the
    /// system's resolver has no answer.
    pub(crate) fn start(outbox: Outbox, by_interface: bool, past_bond: bool) -> anyhow::Result<Resolver> {
        let (questions, inbox) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("resolver".into());
        let works = move || work(&inbox, &outbox, past_bond);
        thread.spawn(works).context("a thread cannot be started")?;
        Ok(Resolver { questions, by_interface })
    }

    /// Asks for an endpoint's addresses, for a path by `interface`. An address is answered on the
    /// spot.
    pub(crate) fn ask(&self, endpoint: &Endpoint, interface: &str) -> Option<SocketAddr> {
        match &endpoint.host {
            Host::Address(ip) => Some(SocketAddr::new(*ip, endpoint.port)),
            Host::Name(_) => {
                let by = self.by_interface.then(|| interface.to_owned());
                let _ = self.questions.try_send(Question::Name(endpoint.clone(), by));
                None
            }
        }
    }

    /// Asks how an interface's network translates to IPv4; [`Request::Translated`] is the answer.
    pub(crate) fn ask_nat64(&self, interface: &str) {
        let _ = self.questions.try_send(Question::Nat64(interface.to_owned()));
    }
}

fn work(questions: &Receiver<Question>, outbox: &Outbox, past_bond: bool) {
    let mut waiting = Waiting::default();
    // What is not resolved and was said to be so: it is asked again every few seconds.
    let mut said: BTreeSet<(String, Option<String>)> = BTreeSet::new();
    while let Some(question) = waiting.next(questions) {
        let (endpoint, by) = match question {
            Question::Name(endpoint, by) => (endpoint, by),
            Question::Nat64(interface) => {
                let prefixes = nat64::discover(&interface);
                outbox.tell(Request::Translated { interface, prefixes });
                continue;
            }
        };
        let Host::Name(name) = &endpoint.host else { continue };
        let found = look_up((name.as_str(), endpoint.port), by.as_deref(), past_bond);
        let this = (name.as_str().to_owned(), by);
        let addresses = match found {
            Ok(found) => {
                said.remove(&this);
                interleave(found)
            }
            Err(error) => {
                if said.insert(this) {
                    tracing::warn!(name = name.as_str(), %error, "the gateway's name could not be resolved; trying again");
                }
                Vec::new()
            }
        };
        outbox.tell(Request::Resolved { endpoint, addresses });
    }
}

fn look_up((name, port): (&str, u16), by: Option<&str>, past_bond: bool) -> io::Result<Vec<SocketAddr>> {
    let mut found = by.map_or(Vec::new(), |interface| dns::ask(interface, name));
    if found.is_empty() {
        let error = match (name, port).to_socket_addrs() {
            Ok(addresses) => return Ok(addresses.collect()),
            Err(error) => error,
        };
        if past_bond {
            found = dns::ask_past_bond(name);
        }
        if found.is_empty() {
            return Err(error);
        }
    }
    Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

/// IPv6 and IPv4 in turns, IPv6 first (RFC 8305 §4); the resolver's order within each. No more than
/// are ever tried: the loop asks the kernel for a route to each, and whoever answers says how many.
fn interleave(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (mut six, mut four): (Vec<_>, Vec<_>) = found.into_iter().partition(SocketAddr::is_ipv6);
    six.dedup();
    four.dedup();
    let longest = six.len().max(four.len());
    let turns = (0..longest).flat_map(|i| [six.get(i).copied(), four.get(i).copied()]);
    turns.flatten().take(ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_again_waits_once() {
        let (questions, inbox) = sync_channel(WAITING);
        let mut resolver = Resolver { questions, by_interface: true };
        let [here, there] =
            ["gw.example.org:4500", "gw.example.org:443"].map(|e| e.parse::<Endpoint>().unwrap());
        let mut waiting = Waiting::default();
        for by in ["wan1", "wan1", "wan2", "wan1"] {
            assert_eq!(resolver.ask(&here, by), None);
        }
        let question = |by: Option<&str>| Some(Question::Name(here.clone(), by.map(str::to_owned)));
        assert_eq!(waiting.next(&inbox), question(Some("wan1")));
        // Its answer may take so long that it is asked again meanwhile.
        resolver.ask(&here, "wan1");
        resolver.ask_nat64("wan1");
        assert_eq!(waiting.next(&inbox), question(Some("wan2")));
        assert_eq!(waiting.next(&inbox), question(Some("wan1")));
        assert_eq!(waiting.next(&inbox), Some(Question::Nat64("wan1".into())));
        // For the system's resolver all interfaces are one.
        resolver.by_interface = false;
        for by in ["wan1", "wan2", "wan3"] {
            resolver.ask(&here, by);
            resolver.ask(&there, by);
        }
        assert_eq!(waiting.next(&inbox), question(None));
        assert_eq!(waiting.next(&inbox), Some(Question::Name(there.clone(), None)));
        drop(resolver);
        assert_eq!(waiting.next(&inbox), None);
    }

    #[test]
    fn families_take_turns() {
        let parse = |list: &[&str]| list.iter().map(|a| a.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let found = parse(&["1.1.1.1:1", "2.2.2.2:1", "[::1]:1"]);
        assert_eq!(interleave(found), parse(&["[::1]:1", "1.1.1.1:1", "2.2.2.2:1"]));
    }

    #[test]
    fn a_name_has_no_more_addresses_than_are_tried() {
        let many = (0..3000u16).map(|n| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, n], 1)));
        let four: SocketAddr = "192.0.2.1:1".parse().unwrap();
        let found = interleave(many.chain([four]).collect());
        assert!(found.len() == ADDRESSES && found[1] == four, "{}", found.len());
    }
}
