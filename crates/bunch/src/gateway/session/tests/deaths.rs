//! Members that bring nothing any more: for how long what they were asked for waits.

use super::*;

/// From asking to having, by one that lives.
const TOOK: Duration = Duration::from_millis(40);
/// A packet is overdue after 200 ms, four round trips being less, and the next tick of 50 ms sees it.
const OVERDUE: Duration = Duration::from_millis(250);
/// Bytes of each packet.
const LEN: u32 = 100;
const FIRST: u64 = 64;

/// A home access point and its neighbours, by the numbers of their tunnels from 1 on. Their tunnels
/// live, whatever they bring.
struct Street {
    gateway: Gateway,
    now: Time,
    members: u32,
    /// They bring nothing, and what they are asked for is lost.
    dead: BTreeSet<u32>,
    /// What is on its way: when it comes, and by which tunnel.
    coming: VecDeque<(Time, u32, u64)>,
    next: u64,
}

/// The place of a packet in the stream, as on the wire.
fn place(number: u64) -> u32 {
    1000 + (number - FIRST) as u32 * LEN
}

impl Street {
    /// All have brought something.
    fn new(members: u32) -> Street {
        let mut gateway = opened();
        for n in 2..=members {
            gateway.handle(Input::TunnelUp(Tunnel(n), n.into()), Time::ZERO);
            neighbour(&mut gateway, Tunnel(n), 0);
        }
        // As marks would have told.
        let all = gateway.sessions.values_mut().flat_map(|s| &mut s.members);
        all.for_each(|m| m.shift = Some(0));
        let (dead, coming) = (BTreeSet::new(), VecDeque::new());
        let mut street = Street { gateway, now: Time::ZERO, members, dead, coming, next: FIRST };
        street.capture(20, false);
        street.wait();
        street.capture(180, true);
        street.wait();
        street
    }

    /// The home access point captures so many packets; its neighbours hear them, or do not.
    fn capture(&mut self, count: u64, heard: bool) {
        let first = self.next;
        self.next += count;
        for n in 2..=self.members {
            if heard && !self.dead.contains(&n) {
                let numbers = (first..first + count).collect();
                self.say(n, Message::Heard(Heard { session: 0, room: 0, numbers, marks: vec![] }));
            }
        }
        let runs = vec![run(first, count, place(first), LEN)];
        self.say(1, Message::List(List { session: 0, room: 0, runs, marks: vec![] }));
        self.read();
    }

    fn say(&mut self, tunnel: u32, message: Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.gateway.handle(Input::FromTunnel(Tunnel(tunnel), &bytes), self.now);
    }

    /// What the gateway asks for comes later.
    fn read(&mut self) {
        let at = self.now + TOOK;
        for output in core::mem::take(&mut self.gateway.out) {
            let Output::ToTunnel(Tunnel(n), bytes) = output else { continue };
            for message in all(&bytes).unwrap() {
                if let Message::Schedule { ranges, .. } = message
                    && !self.dead.contains(&n)
                {
                    let numbers = ranges.iter().flat_map(|(first, count)| *first..*first + *count);
                    self.coming.extend(numbers.map(|number| (at, n, number)));
                }
            }
        }
    }

    /// A millisecond.
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        while let Some((_, n, number)) = self.coming.front().copied().filter(|c| c.0 <= self.now) {
            self.coming.pop_front();
            if !self.dead.contains(&n) {
                let elided = [&[1], &segment(place(number), LEN, None)[..]].concat();
                self.say(n, Message::Data(Data { session: 0, number, elided }));
            }
        }
        if self.now.as_micros().is_multiple_of(200_000) {
            (1..=self.members).for_each(|n| self.say(n, Message::Alive { room: 0 }));
        }
        self.gateway.handle(Input::Timer, self.now);
        self.read();
        let is_asked_for_much = |m: &Member| m.delivery.is_in_doubt && m.delivery.asked_for().count() > 1;
        assert!(!session(&self.gateway).members.iter().any(is_asked_for_much), "{:?}", self.now);
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    /// How long it takes until all has come; 3 s at most.
    fn wait(&mut self) -> Duration {
        let from = self.now;
        while self.now < from + Duration::from_secs(3) && self.lacks() > 0 {
            self.step();
        }
        self.now.since(from)
    }

    fn lacks(&self) -> usize {
        session(&self.gateway).entries.values().filter(|e| e.state != State::Done).count()
    }

    fn in_doubt(&self) -> usize {
        session(&self.gateway).members.iter().filter(|m| m.delivery.is_in_doubt).count()
    }
}

/// Before there was doubt, the dead had nothing to do and were asked again and again.
#[test]
fn what_the_dead_were_asked_for_is_soon_brought_by_others() {
    let (one, two) = (OVERDUE + TOOK * 2, OVERDUE * 2 + TOOK * 2);
    // Of few packets one member is asked, and others may have died without having been asked.
    for (count, most) in [(160, one), (20, two), (1, one)] {
        for dead in [0, 4] {
            let mut street = Street::new(9);
            street.capture(count, true);
            street.dead = (1..=dead).collect();
            let took = street.wait();
            let most = if dead == 0 { TOOK * 2 } else { most };
            assert!(took <= most, "{count} packets, {dead} of 9 dead: {took:?}");
        }
    }
}

#[test]
fn when_all_were_dead_it_goes_on_as_soon_as_one_is_back() {
    for members in [1, 2, 9] {
        for back in [1, members] {
            let mut street = Street::new(members);
            street.capture(50, true);
            street.dead = (1..=members).collect();
            street.pass(Duration::from_secs(1));
            assert_eq!((street.lacks(), street.in_doubt()), (50, members as usize));
            // The first in order was asked of all: whoever is back is out of doubt when it comes.
            street.dead = (back + 1..=members).collect();
            let took = street.wait();
            assert!(took <= OVERDUE + TOOK * 4, "{back} of {members} back: {took:?}");
            assert_eq!(street.in_doubt(), (members - back) as usize);
        }
    }
}

#[test]
fn members_that_come_and_go_are_used_while_they_are_there() {
    let mut street = Street::new(9);
    for round in 0..5 {
        street.capture(40, true);
        street.dead = (2..=5).collect();
        let took = street.wait();
        assert!(took <= OVERDUE * 2 + TOOK * 2, "{round}: {took:?}");
        street.dead.clear();
        // Their last request is overdue, and the next packet is asked of them beside another.
        street.pass(OVERDUE);
        street.capture(9, true);
        street.pass(TOOK * 2);
        assert_eq!((street.lacks(), street.in_doubt()), (0, 0), "{round}");
    }
}
