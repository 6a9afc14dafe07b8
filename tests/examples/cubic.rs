//! One CUBIC flow with HyStart as Linux has it, over each path alone and over the bond, in simulated time. For people who tune.
//!
//! `cargo run --release -p ropewalk-tests --example cubic -- SECONDS RUNS env NAME | RATE,DELAY_MS,LOSS%,JITTER_MS ...`
use ropewalk_air::wired::{Link, LinkSpec, Packet};
use ropewalk_bond::config::Config;
use ropewalk_bond::time::{Duration, Time};
use ropewalk_bond::vnet::Vnet;
use ropewalk_lab::env::Environment;
use ropewalk_tests::pair::{End, Pair, number, udp};
use std::collections::{BTreeSet, VecDeque};

/// Everything is looked at this often.
const STEP: Duration = Duration::from_micros(250);
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// HyStart: least window, samples of a round, longest gap in a train of acknowledgements.
const LOW_WINDOW: f64 = 16.0;
const MIN_SAMPLES: u32 = 8;
const TRAIN_GAP_MS: f64 = 2.0;

/// What a receiver says.
#[derive(Clone, Debug)]
struct Ack {
    next: u32,
    newest: u32,
    above: Vec<u32>,
}

#[derive(Default)]
struct Receiver {
    next: u32,
    above: BTreeSet<u32>,
    unacked: u32,
    due: Option<f64>,
}

impl Receiver {
    fn on_data(&mut self, seq: u32, ms: f64) -> Option<Ack> {
        let in_order = seq == self.next && self.above.is_empty();
        if seq >= self.next {
            self.above.insert(seq);
        }
        while self.above.remove(&self.next) {
            self.next += 1;
        }
        self.unacked += 1;
        if in_order && self.unacked < 2 && seq > 40 {
            self.due = Some(ms + 40.0);
            return None;
        }
        Some(self.ack(seq))
    }

    fn ack(&mut self, newest: u32) -> Ack {
        (self.unacked, self.due) = (0, None);
        Ack { next: self.next, newest, above: self.above.iter().copied().collect() }
    }

    fn on_timer(&mut self, ms: f64) -> Option<Ack> {
        self.due.filter(|d| *d <= ms)?;
        let newest = self.next.saturating_sub(1);
        Some(self.ack(newest))
    }
}

struct Sender {
    cwnd: f64,
    ssthresh: f64,
    una: u32,
    next: u32,
    sent: Vec<f64>,
    resent: BTreeSet<u32>,
    lost: VecDeque<u32>,
    sacked: BTreeSet<u32>,
    recover: Option<u32>,
    delay_min: f64,
    srtt: f64,
    round_end: u32,
    round_start: f64,
    last_ack: f64,
    round_rtt: f64,
    samples: u32,
    epoch: Option<f64>,
    last_max: f64,
    k: f64,
    origin: f64,
    reno: f64,
    last_progress: f64,
    exit: String,
    cuts: u32,
}

impl Sender {
    fn new() -> Sender {
        Sender {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
            una: 0,
            next: 0,
            sent: vec![],
            resent: BTreeSet::new(),
            lost: VecDeque::new(),
            sacked: BTreeSet::new(),
            recover: None,
            delay_min: 0.0,
            srtt: 0.0,
            round_end: 0,
            round_start: 0.0,
            last_ack: 0.0,
            round_rtt: f64::INFINITY,
            samples: 0,
            epoch: None,
            last_max: 0.0,
            k: 0.0,
            origin: 0.0,
            reno: 0.0,
            last_progress: 0.0,
            exit: String::new(),
            cuts: 0,
        }
    }

    fn flight(&self) -> f64 {
        f64::from(self.next - self.una) - self.sacked.len() as f64 - self.lost.len() as f64
    }

    fn poll(&mut self, ms: f64) -> Option<u32> {
        if self.flight() + 1.0 > self.cwnd {
            return None;
        }
        self.last_progress = if self.una == self.next { ms } else { self.last_progress };
        if let Some(s) = self.lost.pop_front() {
            self.sent[s as usize] = ms;
            self.resent.insert(s);
            return Some(s);
        }
        self.sent.push(ms);
        self.next += 1;
        Some(self.next - 1)
    }

    fn on_ack(&mut self, ack: &Ack, ms: f64) {
        let limited = self.flight() + 3.0 >= self.cwnd;
        let newly = ack.next.saturating_sub(self.una);
        let fresh = newly > 0 || ack.above.iter().any(|s| !self.sacked.contains(s));
        if fresh {
            self.last_progress = ms;
        }
        let mut sample = None;
        if fresh && !self.resent.contains(&ack.newest) {
            sample = Some(ms - self.sent[ack.newest as usize]);
        }
        self.una = self.una.max(ack.next);
        self.sacked.extend(ack.above.iter().filter(|s| **s >= ack.next));
        let una = self.una;
        self.sacked.retain(|s| *s >= una);
        self.lost.retain(|s| *s >= una && !ack.above.contains(s));
        self.resent = self.resent.split_off(&una);
        if self.recover.is_some_and(|r| self.una >= r) {
            self.recover = None;
        }
        if let Some(rtt) = sample {
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt * 0.875 + rtt * 0.125 };
            if !self.epoch.is_some_and(|e| ms - e < 1000.0 && self.last_max > 0.0) {
                self.delay_min = if self.delay_min == 0.0 { rtt } else { self.delay_min.min(rtt) };
                if self.cwnd < self.ssthresh {
                    self.hystart(rtt, ms);
                }
            }
        }
        self.find_lost(ms);
        if self.recover.is_none() && limited && newly > 0 {
            self.grow(f64::from(newly), ms);
        }
    }

    fn hystart(&mut self, rtt: f64, ms: f64) {
        if self.una > self.round_end {
            (self.round_end, self.round_start, self.last_ack) = (self.next, ms, ms);
            (self.round_rtt, self.samples) = (f64::INFINITY, 0);
        }
        if self.cwnd < LOW_WINDOW {
            return;
        }
        if ms - self.last_ack <= TRAIN_GAP_MS {
            self.last_ack = ms;
            if ms - self.round_start > (self.delay_min + 1.0) / 2.0 {
                self.exit = format!("train at {:.0} in {:.0} ms", self.cwnd, ms);
                self.ssthresh = self.cwnd;
            }
        }
        self.round_rtt = self.round_rtt.min(rtt);
        self.samples += 1;
        if self.samples > MIN_SAMPLES
            && self.round_rtt > self.delay_min + (self.delay_min / 8.0).clamp(4.0, 16.0)
        {
            self.exit = format!(
                "delay at {:.0} in {:.0} ms, least {:.1} here {:.1}",
                self.cwnd, ms, self.delay_min, self.round_rtt
            );
            self.ssthresh = self.cwnd;
        }
    }

    fn find_lost(&mut self, ms: f64) {
        let Some(top) = self.sacked.last().copied() else { return };
        for s in self.una..top.saturating_sub(2) {
            let old = ms - self.sent[s as usize] > self.srtt * 1.25;
            let known = self.sacked.contains(&s) || self.lost.contains(&s);
            if !known && (!self.resent.contains(&s) || old) {
                self.lost.push_back(s);
                if self.recover.is_none() {
                    self.cut(BETA);
                }
            }
        }
    }

    fn cut(&mut self, to: f64) {
        self.cuts += 1;
        self.last_max = if self.cwnd < self.last_max { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        self.cwnd = (self.cwnd * to).max(2.0);
        self.ssthresh = self.cwnd;
        self.epoch = None;
        self.recover = Some(self.next);
        if self.exit.is_empty() {
            self.exit = format!("loss at {:.0}", self.last_max);
        }
    }

    fn on_timer(&mut self, ms: f64) {
        let rto = (self.srtt * 2.0).max(200.0) + 100.0;
        if self.una < self.next && ms - self.last_progress > rto {
            self.last_progress = ms;
            self.cut(0.7);
            self.cwnd = 1.0;
            self.lost = (self.una..self.next).filter(|s| !self.sacked.contains(s)).collect();
        }
    }

    fn grow(&mut self, acked: f64, ms: f64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += acked;
            return;
        }
        if self.epoch.is_none() {
            self.epoch = Some(ms);
            self.reno = self.cwnd;
            (self.k, self.origin) = match self.last_max <= self.cwnd {
                true => (0.0, self.cwnd),
                false => (((self.last_max - self.cwnd) / C).cbrt(), self.last_max),
            };
        }
        let t = (ms - self.epoch.unwrap_or(ms) + self.delay_min) / 1e3 - self.k;
        let target = self.origin + C * t * t * t;
        let mut count = if target > self.cwnd { self.cwnd / (target - self.cwnd) } else { 100.0 * self.cwnd };
        if self.last_max == 0.0 {
            count = count.min(20.0);
        }
        self.reno += acked * 3.0 * (1.0 - BETA) / (1.0 + BETA) / self.cwnd;
        if self.reno > self.cwnd {
            count = count.min(self.cwnd / (self.reno - self.cwnd));
        }
        self.cwnd += acked / count.max(2.0);
    }
}

/// A way for numbered packets there and acknowledgements back.
trait Way {
    fn send(&mut self, seq: u32);
    fn answer(&mut self, id: u32);
    /// Packets there, acknowledgements back, by now.
    fn run(&mut self, now: Time) -> (Vec<u32>, Vec<u32>);
    fn state(&self) -> String {
        String::new()
    }
}

struct Bare(Link<u32>, Link<u32>, Time);

fn air(t: Time) -> ropewalk_air::Time {
    ropewalk_air::Time::from_nanos(t.as_nanos())
}

impl Way for Bare {
    fn send(&mut self, seq: u32) {
        self.0.enqueue(air(self.2), Packet::new(1500, seq));
    }
    fn answer(&mut self, id: u32) {
        self.1.enqueue(air(self.2), Packet::new(52, id));
    }
    fn run(&mut self, now: Time) -> (Vec<u32>, Vec<u32>) {
        self.2 = now;
        let all = |l: &mut Link<u32>| std::iter::from_fn(|| l.poll(air(now)).map(|d| d.payload)).collect();
        (all(&mut self.0), all(&mut self.1))
    }
}

struct Bond(Pair);

impl Way for Bond {
    fn send(&mut self, seq: u32) {
        self.0.device(End::Client, &udp(End::Client, 7, seq, 1420), Vnet::default());
    }
    fn answer(&mut self, id: u32) {
        self.0.device(End::Gateway, &udp(End::Gateway, 7, id, 52), Vnet::default());
    }
    fn run(&mut self, now: Time) -> (Vec<u32>, Vec<u32>) {
        self.0.run_until(now);
        let there = self.0.at_gateway.drain(..).map(|g| number(&g.1)).collect();
        (there, self.0.at_client.drain(..).map(|g| number(&g.1)).collect())
    }
    fn state(&self) -> String {
        let s = self.0.client.status(self.0.now);
        let q = &s.peers[0];
        let mut out =
            format!("q {:7} wait {:6.1?} drops {:3}", q.queue_bytes, q.queue_wait, q.queue.codel_drops);
        for x in &q.paths {
            out += &format!(
                " | {} bw {:6.2} win {:7} fl {:6} rtt {:5.1?} lost {:3} spur {:3} sent {}",
                x.state.name(),
                x.bandwidth_bps as f64 / 1e6,
                x.window,
                x.inflight,
                x.rtt.unwrap_or_default(),
                x.traffic.lost,
                x.traffic.spurious,
                x.traffic.sent
            );
        }
        out
    }
}

struct Done {
    mbps: f64,
    exit: String,
}

fn flow(way: &mut dyn Way, begin: Time, secs: f64, payload: f64, verbose: bool) -> Done {
    let (mut tx, mut rx, mut acks) = (Sender::new(), Receiver::default(), Vec::<Ack>::new());
    let (mut now, mut next_line, mut before) = (begin, 0.0, 0);
    loop {
        let ms = now.since(begin).as_secs_f64() * 1e3;
        if ms >= secs * 1e3 {
            break;
        }
        while let Some(seq) = tx.poll(ms) {
            way.send(seq);
        }
        now += STEP;
        let ms = now.since(begin).as_secs_f64() * 1e3;
        let (there, back) = way.run(now);
        let told: Vec<Ack> = there.iter().filter_map(|s| rx.on_data(*s, ms)).collect();
        for a in told.into_iter().chain(rx.on_timer(ms)) {
            acks.push(a);
            way.answer(acks.len() as u32 - 1);
        }
        for id in back {
            let a = acks[id as usize].clone();
            tx.on_ack(&a, ms);
            while let Some(seq) = tx.poll(ms) {
                way.send(seq);
            }
        }
        tx.on_timer(ms);
        if verbose && ms >= next_line {
            next_line += 250.0;
            let rate = f64::from(rx.next - before) * payload * 8.0 / 0.25e6;
            println!(
                "{ms:6.0} {rate:5.1} Mb/s cwnd {:5.0} srtt {:4.0} cuts {} {}",
                tx.cwnd,
                tx.srtt,
                tx.cuts,
                way.state()
            );
            before = rx.next;
        }
    }
    let exit = format!("{} ({} cuts, srtt {:.0})", tx.exit, tx.cuts, tx.srtt);
    Done { mbps: f64::from(rx.next) * payload * 8.0 / secs / 1e6, exit }
}

fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    (v[(v.len() - 1) / 2] + v[v.len() / 2]) / 2.0
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (secs, runs): (f64, u64) = (args[0].parse().unwrap(), args[1].parse().unwrap());
    let verbose = std::env::var("VERBOSE").is_ok();
    let links: Vec<LinkSpec> = match args[2].as_str() {
        "env" => Environment::named(&args[3]).expect("no such environment").links().into(),
        _ => args[2..].iter().map(|a| spec(a)).collect(),
    };
    let mut ways = vec![Vec::new(); links.len() + 1];
    for seed in 0..runs {
        let mut line = format!("{seed:3}:");
        for (i, l) in links.iter().enumerate() {
            let start = Time::from_millis(1000);
            let link = |k| Link::new(l.clone(), seed * 1000 + k + i as u64).unwrap();
            let done = flow(&mut Bare(link(0), link(100), start), start, secs, 1448.0, false);
            line += &format!(" {:5.1} {}, ", done.mbps, done.exit);
            ways[i].push(done.mbps);
        }
        let mut p = Pair::new(&links, Config::default(), seed * 1000);
        p.run_for(Duration::from_millis(2500));
        let start = p.now;
        let done = flow(&mut Bond(p), start, secs, 1368.0, verbose);
        println!("{line} bond {:5.1} {}", done.mbps, done.exit);
        ways[links.len()].push(done.mbps);
    }
    let medians: Vec<f64> = ways.iter_mut().map(|v| median(v)).collect();
    let (bond, alone) = medians.split_last().unwrap();
    let best = alone.iter().copied().fold(0.0, f64::max);
    println!(
        "median {medians:.1?}: over the best {:.3}, over the sum {:.3}",
        bond / best,
        bond / alone.iter().sum::<f64>()
    );
}

fn spec(a: &str) -> LinkSpec {
    let v: Vec<f64> = a.split(',').map(|x| x.parse().unwrap()).collect();
    let of = |k: usize| v.get(k).copied().unwrap_or(0.0);
    LinkSpec::new(v[0], Duration::from_secs_f64(of(1) / 1e3))
        .loss_percent(of(2))
        .jitter(Duration::from_secs_f64(of(3) / 1e3))
}
