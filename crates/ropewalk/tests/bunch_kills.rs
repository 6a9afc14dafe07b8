//! Deaths of the real daemons of `ropewalk bunch` in the middle of an upload, by kinds: who, when and
//! how. Each time all bytes come in order, or both ends learn that they do not. Needs root; without it
//! the test passes and says so.
//!
//! `ROPEWALK_KILLS=20 cargo test -p ropewalk --test program bunch_kills:: -- --nocapture` tries all kinds twenty
//! times and prints a table; without it a few are tried once.

use crate::bunch::street::{APS, Net, build, in_time};
use crate::bunch::watched::{Ended, Ends, Sent, Watched};
use crate::common::root;
use ropewalk_lab::{Namespace, Process};
use std::fmt::{Display, Formatter};
use std::io::ErrorKind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Two seconds of three uplinks.
const BYTES: usize = 1_500_000;
const MBPS: f64 = 2.0;
/// The receiver's buffer: with a large one the sender would have sent all before much had come.
const RECEIVER: &str = "4096 500000 500000";
/// An upload is under way when so much has come.
const UNDER_WAY: usize = 300_000;
/// So much was acknowledged and has not come: it is in custody.
const HELD: usize = 10_000;
/// What a busy machine may add to what was promised.
const SLACK: Duration = Duration::from_secs(3);
/// An end that is promised nothing gives up by itself.
const OWN: Duration = Duration::from_secs(4);
/// Streets at once. They wait more than they work.
const STREETS: usize = 6;
/// A moment may pass before the fault comes: then another upload is tried.
const TRIES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Home,
    Neighbour,
    Gateway,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// After the handshake, before the first byte.
    Opening,
    /// While much is in custody, and the sender has more.
    Midway,
    /// The receiver does not read, and its window is full.
    Full,
    /// After the FIN, while the last bytes are in custody.
    Closing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// `kill -9`: the kernel closes its connections.
    Kill,
    /// The machine says nothing any more.
    Power,
    /// Its tunnel is reset by a firewall on the way; of the gateway, all tunnels.
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    who: Who,
    when: When,
    how: How,
    custody: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

/// What the guide says of a death ("When something dies"): this end is reset so soon. The other one's
/// own timers end it.
struct Promise {
    to: Side,
    within: Duration,
}

impl Who {
    /// Access points whose tunnels are its.
    fn tunnels(self) -> &'static [usize] {
        match self {
            Who::Home => &[0],
            Who::Neighbour => &[1],
            Who::Gateway => &[0, 1, 2],
        }
    }

    fn machine(self, net: &Net) -> &Namespace {
        match self {
            Who::Gateway => &net.gateway,
            Who::Home | Who::Neighbour => &net.aps[self.tunnels()[0]],
        }
    }

    fn interfaces(self) -> &'static [&'static str] {
        match self {
            Who::Home => &["lan0", "wan0", "port1", "port2"],
            Who::Neighbour => &["wan0", "mesh0"],
            Who::Gateway => &["wan0", "wan1", "wan2", "eth0"],
        }
    }
}

impl When {
    /// Waits for the moment. False: the upload was over before.
    fn comes(self, net: &Net, upload: &Watched) -> bool {
        if self == When::Opening {
            return true;
        }
        upload.go_on();
        if !upload.waits_until("it is helped", || upload.came() > UNDER_WAY && net.is_helped()) {
            return false;
        }
        match self {
            When::Opening => true,
            When::Midway => upload.waits_until("bytes are in custody", || {
                let sent = upload.sent(net);
                sent.unsent > 0 && sent.acked > upload.came() + HELD
            }),
            When::Full => {
                upload.pause();
                let (mut last, mut same) = (Sent::default(), 0);
                upload.waits_until("the window is full", || {
                    std::thread::sleep(Duration::from_millis(50));
                    let sent = upload.sent(net);
                    same = if sent == last { same + 1 } else { 0 };
                    last = sent;
                    sent.unsent > 0 && same >= 8
                })
            }
            When::Closing => upload.waits_until("the FIN is on its way", || {
                let is_closed = upload.is_closed();
                let sent = upload.sent(net);
                is_closed && sent.unsent == 0 && sent.acked > upload.came() + HELD
            }),
        }
    }
}

impl Kind {
    /// None: the upload goes on.
    fn promise(self) -> Option<Promise> {
        let (to, millis) = match (self.who, self.how) {
            (Who::Neighbour, _) | (_, How::Reset) => return None,
            // The gateway's grace, and before it the silence that tells it.
            (Who::Home, How::Kill) => (Side::Receiver, 3000),
            (Who::Home, How::Power) => (Side::Receiver, 1500 + 3000),
            // The access point's.
            (Who::Gateway, How::Kill) => (Side::Sender, 5000),
            // TCP counts its 4 s from the first segment that it repeats, up to 0.6 s later.
            (Who::Gateway, How::Power) => (Side::Sender, 4600 + 5000),
        };
        Some(Promise { to, within: Duration::from_millis(millis) })
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let who = match self.who {
            Who::Home => "home",
            Who::Neighbour => "a neighbour",
            Who::Gateway => "the gateway",
        };
        let when = match self.when {
            When::Opening => "before the first byte",
            When::Midway => "midway",
            When::Full => "window full",
            When::Closing => "after the FIN",
        };
        let how = match self.how {
            How::Kill => "kill -9",
            How::Power => "power",
            How::Reset => "tunnel reset",
        };
        write!(f, "{who}, {how}, {when}, custody by {}", self.custody)
    }
}

/// All of them.
fn kinds() -> Vec<Kind> {
    let mut all = Vec::new();
    for who in [Who::Home, Who::Neighbour, Who::Gateway] {
        for how in [How::Kill, How::Power, How::Reset] {
            for when in [When::Opening, When::Midway, When::Full, When::Closing] {
                all.extend([1, 2].map(|custody| Kind { who, when, how, custody }));
            }
        }
    }
    all
}

/// Each who, when and how, at least once.
fn few() -> Vec<Kind> {
    [
        (Who::Home, When::Midway, How::Kill, 2),
        (Who::Gateway, When::Full, How::Kill, 1),
        (Who::Home, When::Closing, How::Power, 1),
        (Who::Neighbour, When::Midway, How::Power, 1),
        (Who::Home, When::Closing, How::Reset, 2),
        (Who::Gateway, When::Opening, How::Reset, 2),
    ]
    .map(|(who, when, how, custody)| Kind { who, when, how, custody })
    .to_vec()
}

struct Daemons {
    gateway: Process,
    aps: Vec<Process>,
}

impl Daemons {
    fn of(&mut self, who: Who) -> &mut Process {
        match who {
            Who::Gateway => &mut self.gateway,
            Who::Home | Who::Neighbour => &mut self.aps[who.tunnels()[0]],
        }
    }

    /// Nobody needs what they would put back: their namespaces go.
    fn kill(&mut self) {
        self.aps.iter_mut().for_each(Process::kill);
        self.gateway.kill();
    }
}

fn inject(net: &Net, daemons: &mut Daemons, kind: Kind) {
    match kind.how {
        How::Kill => daemons.of(kind.who).kill(),
        How::Power => {
            // First: the kernel of a process that was killed still tells others.
            let down = kind.who.interfaces().iter().map(|name| format!("link set {name} down"));
            kind.who.machine(net).ip(&down.collect::<Vec<_>>()).unwrap();
            daemons.of(kind.who).kill();
        }
        How::Reset => tear(net, daemons, kind.who.tunnels()),
    }
}

/// Both ends of these tunnels get a reset when they send something. New ones pass soon after.
fn tear(net: &Net, daemons: &Daemons, tunnels: &[usize]) {
    let uplinks = tunnels.iter().map(|ap| format!("wan{ap}")).collect::<Vec<_>>().join(", ");
    let rule = "tcp flags & rst == 0 reject with tcp reset";
    let table = format!(
        "table ip torn {{ \
         chain i {{ type filter hook input priority 0; iifname {{ {uplinks} }} tcp dport 4520 {rule}; }}; \
         chain o {{ type filter hook output priority 0; oifname {{ {uplinks} }} tcp sport 4520 {rule}; }}; }}"
    );
    let losses = |ap: usize| daemons.aps[ap].stderr().matches("the tunnel is gone").count();
    let before: Vec<usize> = tunnels.iter().map(|ap| losses(*ap)).collect();
    net.gateway.shell(&format!("nft '{table}'")).unwrap();
    in_time("the tunnels are gone", || tunnels.iter().zip(&before).all(|(ap, then)| losses(*ap) > *then));
    net.gateway.shell("nft delete table ip torn").unwrap();
}

/// What came of an upload, if that was as promised.
enum Verdict {
    /// All bytes came, and both ends closed in order.
    Whole,
    /// When each end was told that not, if it was, and whether the promised reset was owed.
    Told { sender: Option<Duration>, receiver: Option<Duration>, is_owed: bool },
    /// It was over before the fault came.
    Missed,
}

/// Whether it ended as promised. The sender's kernel had seen `acked` bytes acknowledged.
fn judge(kind: Kind, ends: &Ends, injected: Instant, acked: usize) -> Result<Verdict, String> {
    let (sender, receiver) = (ends.sender.outcome, ends.receiver.outcome);
    let failure = |what: &str| {
        let came = ends.came;
        Err(format!("{what}: {came} bytes came, {acked} were acknowledged; {sender:?}, {receiver:?}"))
    };
    if !ends.is_right {
        return failure("a wrong byte");
    }
    if ends.is_acked && ends.came != BYTES {
        return failure("the FIN was acknowledged, and the receiver lacks bytes");
    }
    if receiver.is_ok() && ends.came != BYTES {
        return failure("the receiver saw a close in order and lacks bytes");
    }
    if (sender.is_ok() && receiver.is_err()) || sender == Err(ErrorKind::UnexpectedEof) {
        return failure("the sender saw a close in order, and the receiver did not say so");
    }
    if [sender, receiver].contains(&Err(ErrorKind::WouldBlock)) {
        return failure("silence");
    }
    let is_whole = sender.is_ok() && receiver.is_ok();
    let Some(promise) = kind.promise() else {
        return if is_whole { Ok(Verdict::Whole) } else { failure("the upload broke off") };
    };
    if is_whole {
        return Ok(Verdict::Missed);
    }
    // In these moments bytes are in custody.
    if acked == 0 && [When::Midway, When::Closing].contains(&kind.when) {
        return failure("nobody knows what was acknowledged");
    }
    // A receiver that has all that was acknowledged is owed nothing.
    let (ended, is_owed) = match promise.to {
        Side::Sender => (ends.sender, true),
        Side::Receiver => (ends.receiver, ends.came < acked),
    };
    let after = |ended: Ended| ended.at.saturating_duration_since(injected);
    let is_reset = matches!(ended.outcome, Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe));
    if is_owed && !(is_reset && after(ended) <= promise.within + SLACK) {
        return failure(&format!("no reset within {:?} but this after {:?}", promise.within, after(ended)));
    }
    let told = |ended: Ended| ended.outcome.is_err().then(|| after(ended));
    Ok(Verdict::Told { sender: told(ends.sender), receiver: told(ends.receiver), is_owed })
}

/// An upload, and a fault in it.
fn attempt(kind: Kind, name: &str) -> Result<Verdict, String> {
    let net = build(name, false, MBPS);
    net.server.sysctl("net.ipv4.tcp_rmem", RECEIVER).unwrap();
    let gateway = net.start_gateway_with(&["--custody", &kind.custody.to_string()]);
    let mut daemons = Daemons { gateway, aps: net.start_aps(APS.len()) };
    let upload = Watched::open(&net, BYTES);
    if !kind.when.comes(&net, &upload) {
        upload.go_on();
        upload.ends(&net);
        daemons.kill();
        return Ok(Verdict::Missed);
    }
    let before = upload.sent(&net).acked;
    let injected = Instant::now();
    inject(&net, &mut daemons, kind);
    // The sender's connection may be gone by now.
    let acked = before.max(upload.sent(&net).acked);
    if let Some(promise) = kind.promise() {
        let late = promise.within + 2 * SLACK;
        let (sender, receiver) = match promise.to {
            Side::Sender => (late, OWN),
            Side::Receiver => (OWN, late),
        };
        upload.give_up_after(sender, receiver);
    }
    upload.go_on();
    let ends = upload.ends(&net);
    daemons.kill();
    judge(kind, &ends, injected, acked)
}

fn round(kind: Kind, name: &str) -> Result<Verdict, String> {
    for n in 0..TRIES {
        match attempt(kind, &format!("{name}-{n}"))? {
            Verdict::Missed => {}
            verdict => return Ok(verdict),
        }
    }
    Err("its moment did not come".into())
}

/// What came of the uploads of a kind.
#[derive(Clone, Default)]
struct Tally {
    whole: usize,
    told: usize,
    /// Of these, how often the promised reset was owed.
    owed: usize,
    /// The longest until an end was told.
    sender: Option<Duration>,
    receiver: Option<Duration>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, outcome: Result<Verdict, String>) {
        match outcome {
            Ok(Verdict::Whole | Verdict::Missed) => self.whole += 1,
            Ok(Verdict::Told { sender, receiver, is_owed }) => {
                self.told += 1;
                self.owed += usize::from(is_owed);
                self.sender = self.sender.max(sender);
                self.receiver = self.receiver.max(receiver);
            }
            Err(failure) => self.failures.push(failure),
        }
    }
}

/// Each kind so many times, several streets at once.
fn tallies(kinds: &[Kind], rounds: usize) -> Vec<Tally> {
    let tallies = Mutex::new(vec![Tally::default(); kinds.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= kinds.len() * rounds {
                return;
            }
            let index = number % kinds.len();
            let name = format!("kills-{number}");
            let outcome = std::panic::catch_unwind(|| round(kinds[index], &name));
            let outcome = outcome.unwrap_or_else(|_| Err("the test broke off, as it says above".into()));
            tallies.lock().unwrap()[index].add(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..STREETS {
            scope.spawn(work);
        }
    });
    tallies.into_inner().unwrap()
}

/// `ROPEWALK_KILLS` asks for all kinds, and so many of each.
#[test]
fn no_death_of_a_daemon_loses_a_byte_in_silence() {
    if !root() {
        return;
    }
    let asked: Option<usize> = std::env::var("ROPEWALK_KILLS").ok().and_then(|n| n.parse().ok());
    let (kinds, rounds) = asked.map_or_else(|| (few(), 1), |rounds| (kinds(), rounds));
    let tallies = tallies(&kinds, rounds);
    let seconds = |time: Option<Duration>| time.map_or("–".into(), |t| format!("{:.1}", t.as_secs_f64()));
    println!("{} kinds x {rounds}; owed: an end had to be reset, and was;", kinds.len());
    println!("seconds are the longest until an end was told\n");
    println!("| kind | whole | told | owed | sender, s | receiver, s | failures |");
    println!("|---|---|---|---|---|---|---|");
    for (kind, tally) in kinds.iter().zip(&tallies) {
        let (sender, receiver) = (seconds(tally.sender), seconds(tally.receiver));
        let Tally { whole, told, owed, .. } = tally;
        let failures = tally.failures.len();
        println!("| {kind} | {whole} | {told} | {owed} | {sender} | {receiver} | {failures} |");
    }
    let of = |(kind, tally): (&Kind, &Tally)| {
        tally.failures.iter().map(|failure| format!("{kind}: {failure}")).collect::<Vec<_>>()
    };
    let failures: Vec<String> = kinds.iter().zip(&tallies).flat_map(of).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_lie_a_silence_and_a_late_reset_are_failures() {
    assert_eq!(kinds().len(), 72);
    let (injected, reset) = (Instant::now(), Err(ErrorKind::ConnectionReset));
    let is_failure = |who, sender, receiver, came, seconds| {
        let at = injected + Duration::from_secs(seconds);
        let [sender, receiver] = [sender, receiver].map(|outcome| Ended { outcome, at });
        let kind = Kind { who, when: When::Midway, how: How::Kill, custody: 2 };
        judge(kind, &Ends { sender, receiver, came, is_right: true, is_acked: false }, injected, 9).is_err()
    };
    assert!(!is_failure(Who::Gateway, reset, reset, 7, 5));
    assert!(!is_failure(Who::Gateway, reset, Ok(()), BYTES, 5), "only its answer was lost");
    assert!(is_failure(Who::Gateway, reset, Ok(()), 7, 5), "a close in order, and bytes are missing");
    assert!(is_failure(Who::Gateway, Ok(()), reset, 7, 5), "the sender believes that all has come");
    assert!(is_failure(Who::Gateway, reset, Err(ErrorKind::WouldBlock), 7, 5), "silence");
    assert!(is_failure(Who::Gateway, reset, reset, 7, 9), "late");
    let own = Err(ErrorKind::TimedOut);
    assert!(is_failure(Who::Gateway, own, reset, 7, 5), "the sender is promised a reset");
    assert!(is_failure(Who::Home, own, own, 7, 5), "the receiver lacks what was acknowledged");
    assert!(!is_failure(Who::Home, own, own, 9, 5), "it lacks nothing");
    assert!(is_failure(Who::Neighbour, reset, reset, 7, 5), "a neighbour's death ends no upload");
    let ended = Ended { outcome: reset, at: injected };
    let ends = Ends { sender: ended, receiver: ended, came: 7, is_right: true, is_acked: false };
    let kind = Kind { who: Who::Home, when: When::Closing, how: How::Kill, custody: 2 };
    let is_owed =
        |acked| matches!(judge(kind, &ends, injected, acked), Ok(Verdict::Told { is_owed: true, .. }));
    assert!(is_owed(9) && !is_owed(7), "it lacks two bytes, or none");
    assert!(judge(kind, &ends, injected, 0).is_err(), "nobody asked in time what was acknowledged");
}
