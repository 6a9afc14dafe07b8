//! A client that acknowledges more than it received, so that a gateway sends faster than its line carries (RFC 9000 §21.4).

use super::rogue::{Rogue, gateway_key, small};
use crate::pair::{End, GATEWAY, OpenDoor, udp};
use ropewalk_bond::api::{Event, Input, Output};
use ropewalk_bond::engine::Engine;
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::vnet::Vnet;
use ropewalk_bond::wire::{AckFrame, Frame, Frames, HEADER, Header, TIMESTAMP, Timestamp, Writer};
use ropewalk_time::{Duration, Time};
use std::collections::BTreeSet;
use std::net::SocketAddr;

const FROM: ([u8; 4], u16) = ([192, 0, 2, 7], 40_000);
/// Datagrams of the gateway; a number is left out among the first 512, and others later.
const DATAGRAMS: u32 = 5000;

struct Receiver {
    rogue: Rogue,
    heard: BTreeSet<u64>,
    said: Vec<Vec<u8>>,
}

impl Receiver {
    fn on_datagram(&mut self, mut datagram: Vec<u8>, now: Time) {
        let number = Header::decode(&datagram).expect("data").number;
        let Some((_, frames)) = self.rogue.open(&mut datagram) else { return };
        self.heard.insert(number.into());
        let challenge = Frames::new(frames).find_map(|f| match f {
            Ok(Frame::Challenge(token)) => Some(token),
            _ => None,
        });
        if let Some(token) = challenge {
            self.say(now, |w| w.response(token));
        }
    }

    fn say(&mut self, now: Time, what: impl FnOnce(&mut Writer<'_>) -> bool) {
        let mut room = [0; 256];
        let mut w = Writer::new(&mut room, Header { path: 0, index: 0, number: 0 }, Timestamp::default());
        assert!(what(&mut w));
        let end = w.len();
        let number = self.rogue.next[0];
        self.rogue.next[0] += 1;
        self.said.push(self.rogue.seal(0, number, Timestamp::of(now), &room[HEADER + TIMESTAMP..end]));
    }

    /// The newest twenty numbers: those that were heard, or all of them.
    fn acknowledge(&mut self, honest: bool, now: Time) {
        let Some(largest) = self.heard.last().copied() else { return };
        let mut ack =
            AckFrame { largest: largest as u32, received_us: now.as_micros() as u32, ..AckFrame::default() };
        let gap = (largest.saturating_sub(19)..largest).rev().find(|n| honest && !self.heard.contains(n));
        ack.ranges.push((0, gap.map_or(20, |n| largest - n) as u16));
        self.say(now, |w| w.ack(&ack));
    }
}

/// How many datagrams such a client gets, and why it lost its session, if it did.
fn sent_to(honest: bool) -> (u32, Option<&'static str>) {
    let mut now = Time::from_millis(1000);
    let entropy = Entropy::repeatable([1; 32]);
    let (key, from) = (gateway_key(), SocketAddr::from(FROM));
    let mut gateway =
        Engine::gateway(small(), key.clone(), vec![GATEWAY.into()], Box::new(OpenDoor), entropy, now);
    let (rogue, _) = Rogue::join(&mut gateway, &key, from, None, now).expect("the door is open");
    let mut client = Receiver { rogue, heard: BTreeSet::new(), said: Vec::new() };
    client.say(now, |w| w.ping());
    for n in 0..DATAGRAMS {
        for mut bytes in std::mem::take(&mut client.said) {
            let segment = bytes.len();
            let input =
                Input::Datagrams { link: 0, remote: from, local: None, segment, bytes: &mut bytes, ecn: 0 };
            gateway.handle(input, now);
        }
        let packet = udp(End::Gateway, 7, n, 1200);
        gateway.handle(Input::Device { device: 0, vnet: Vnet::default(), packet: &packet }, now);
        gateway.handle(Input::Timeout, now);
        loop {
            match gateway.poll_output(now) {
                Output::Transmit(t) => {
                    let batch: Vec<_> = t.bytes.chunks(t.segment).map(<[u8]>::to_vec).collect();
                    batch.into_iter().for_each(|d| client.on_datagram(d, now));
                }
                Output::Event(Event::ClientDown { why, .. }) => return (n, Some(why)),
                Output::Timeout(..) => break,
                _ => {}
            }
        }
        client.acknowledge(honest, now);
        now += Duration::from_millis(1);
    }
    (client.heard.len() as u32, None)
}

#[test]
fn a_client_that_acknowledges_what_was_never_sent_loses_its_session() {
    let (sent, why) = sent_to(false);
    assert!(sent < 600 && why == Some("it acknowledged what was never sent"), "{sent} {why:?}");
    let (sent, why) = sent_to(true);
    assert!(sent > DATAGRAMS - 500 && why.is_none(), "{sent} {why:?}");
}
