//! The three links of a backhaul in a small packet model, for the tests: an access point that
//! always has something to send, a dedicated link, and a channel that the shared link and the
//! client's link take in turns of one frame, as stations do that both have something to send.

use super::{ClientQueues, Config, Kind, SharedLinkLimiter};
use crate::feedback::LinkState;
use crate::path::{PathId, path_id};
use crate::wire::QueueFrame;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use ropewalk_time::{Duration, Time};

const STEP: Duration = Duration::from_micros(20);
/// What the repeater's radio holds for a client.
pub(super) const RADIO_QUEUE: u32 = 1000;
const SHARED: PathId = path_id(1);

/// Rates are packets per second, each link alone.
pub(super) struct Model {
    pub dedicated: f64,
    pub shared: f64,
    pub client: f64,
    /// Part of the air that somebody else takes.
    pub interference: f64,
    /// Chance that a control frame is lost.
    pub control_loss: f64,
    pub now: Time,
    pub queue: u32,
    pub longest: u32,
    /// Packets by the dedicated link, by the shared link, to the client, and dropped by the radio.
    pub done: [u64; 4],
    pub limiter: SharedLinkLimiter,
    config: Config,
    queues: ClientQueues,
    outstanding: u32,
    /// The frame on the air: whether it goes to the client, and its end.
    air: Option<(bool, Time)>,
    credit: f64,
    report_at: Time,
    seq: u16,
    rng: ChaCha12Rng,
}

impl Model {
    pub(super) fn new(kind: Kind, [dedicated, shared, client]: [f64; 3], seed: u64) -> Model {
        let config = Config { kind, ..Config::default() };
        Model {
            dedicated,
            shared,
            client,
            interference: 0.0,
            control_loss: 0.0,
            now: Time::ZERO,
            queue: 0,
            longest: 0,
            done: [0; 4],
            limiter: SharedLinkLimiter::new(&config, 512, Time::ZERO).expect("it limits"),
            config,
            queues: ClientQueues::default(),
            outstanding: 0,
            air: None,
            credit: 0.0,
            report_at: Time::ZERO,
            seq: 0,
            rng: ChaCha12Rng::seed_from_u64(seed),
        }
    }

    /// The paper's equation 2: packets per second to the client.
    pub(super) fn optimum(&self) -> f64 {
        let (free, d) = (1.0 - self.interference, self.client * (1.0 - self.interference));
        let k = (1.0 - self.dedicated / d) / (1.0 / (self.shared * free) + 1.0 / d);
        if k > 0.0 { self.dedicated + k } else { d }
    }

    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.credit += self.dedicated * STEP.as_secs_f64();
            while self.credit >= 1.0 {
                self.credit -= 1.0;
                self.arrive(0);
            }
            self.tell();
            self.limiter.on_timer(self.now);
            let slots = self.limiter.slots(self.now, SHARED, self.outstanding, 64).1;
            if self.limiter.is_shared(SHARED) && slots > 0 {
                self.outstanding += slots;
                self.limiter.on_sent(self.now, SHARED, slots);
            }
            self.serve();
            self.longest = self.longest.max(self.queue);
        }
    }

    /// Rates of the four counters over `time`, packets per second.
    pub(super) fn measure(&mut self, time: Duration) -> [f64; 4] {
        let before = self.done;
        self.longest = 0;
        self.run(time);
        std::array::from_fn(|i| (self.done[i] - before[i]) as f64 / time.as_secs_f64())
    }

    fn arrive(&mut self, by: usize) {
        self.done[by] += 1;
        if self.queue < RADIO_QUEUE { self.queue += 1 } else { self.done[3] += 1 }
    }

    fn serve(&mut self) {
        if self.air.is_some_and(|(_, end)| end > self.now) {
            return;
        }
        match self.air.take() {
            Some((true, _)) => self.done[2] += 1,
            Some((false, _)) => {
                self.outstanding -= 1;
                self.arrive(1);
            }
            None => {}
        }
        let to_client = match (self.queue > 0, self.outstanding > 0) {
            (false, false) => return,
            (true, true) => self.rng.random(),
            (to_client, _) => to_client,
        };
        self.queue -= u32::from(to_client);
        let rate = if to_client { self.client } else { self.shared } * (1.0 - self.interference);
        self.air = Some((to_client, self.now + Duration::from_secs_f64(1.0 / rate)));
    }

    fn tell(&mut self) {
        if self.now < self.report_at {
            return;
        }
        self.report_at = self.now + self.config.every();
        let state =
            LinkState { delivered: self.done[2], backlog_packets: self.queue, ..LinkState::default() };
        self.queues.on_queue(self.now, 7, state);
        let (level, packets) = self.queues.congestion(&self.config);
        self.seq = self.seq.wrapping_add(1);
        let frame = QueueFrame {
            seq: self.seq,
            shared: SHARED.bit(),
            every_ms: self.config.every().as_millis() as u16,
            packets: packets as u16,
            verdict: level.code(),
        };
        if self.rng.random::<f64>() >= self.control_loss {
            self.limiter.on_report(self.now, &frame);
        }
    }
}
