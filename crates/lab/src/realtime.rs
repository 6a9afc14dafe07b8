//! A thread that keeps time: it waits until a device can be read or something is due, then
//! ```text
//! lets happen what is due ──▶ reads a ready device ──▶ lets happen what is due ──▶ … ──▶ reads what answers at once ──▶ carries out orders
//! ```
//! What is due never waits for more than one device's batch. A model takes in what was read at the time of its reading, after all that was due
//! before, so it makes no difference to the models which of both goes first, only to how late packets are written.
//!
//! What it drives keeps logical time, so a late wake-up delays what is due now and nothing after it. Orders from outside are
//! closures, run by the thread between two rounds; nothing is shared, nothing is locked.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ropewalk_air::Time;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::emulator::Timing;
use crate::rounds::Rounds;
use crate::{LabError, Lateness, Result};

/// The priority under `SCHED_FIFO`: any is above all ordinary threads.
const PRIORITY: libc::c_int = 1;
/// The mark of the eventfd among the events.
const ORDERS: u64 = u64::MAX;

/// What such a thread drives.
pub(crate) trait Driven: Send + 'static {
    /// When something is due next.
    fn next_due(&self) -> Option<Time>;
    /// The file with this mark can be read: takes what waits there.
    fn read(&mut self, mark: u64);
    /// Everything that is due happens. The marks of files that were written to are noted: the kernel may have answered there.
    fn run(&mut self, written: &mut Vec<u64>);
    /// Where spans of rounds are counted, if anywhere.
    fn rounds(&mut self) -> Option<&mut Rounds> {
        None
    }
}

/// The thread's clock, and the files it watches.
pub(crate) struct Reactor {
    epoll: OwnedFd,
    start: Instant,
    stop: AtomicBool,
}

impl Reactor {
    /// The time of the models.
    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// The instant of [`Time::ZERO`].
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// Watches a file; its mark is told when it can be read.
    pub(crate) fn watch(&self, file: impl AsFd, mark: u64) -> std::io::Result<()> {
        Ok(epoll::add(&self.epoll, file, epoll::EventData::new_u64(mark), epoll::EventFlags::IN)?)
    }
}

type Order<S> = Box<dyn FnOnce(&mut S) + Send>;

/// A handle of the thread; the thread ends with it.
pub(crate) struct Keeper<S> {
    orders: Mutex<Sender<Order<S>>>,
    bell: Arc<OwnedFd>,
    reactor: Arc<Reactor>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Driven> Keeper<S> {
    /// Starts a thread called `name` that drives what `make` makes.
    pub(crate) fn start(
        name: &str,
        timing: Timing,
        make: impl FnOnce(&Arc<Reactor>) -> Result<S>,
    ) -> Result<Keeper<S>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(LabError::kernel("make an eventfd"))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LabError::kernel("make an epoll"))?;
        let reactor = Arc::new(Reactor { epoll, start: Instant::now(), stop: AtomicBool::new(false) });
        reactor.watch(&bell, ORDERS).map_err(LabError::kernel("watch an eventfd"))?;
        let (sender, receiver) = channel();
        let bell = Arc::new(bell);
        let (heard, round) = (Arc::clone(&bell), Arc::clone(&reactor));
        let mut state = make(&reactor)?;
        let thread = std::thread::Builder::new()
            .name(format!("{name}-air"))
            .spawn(move || {
                keep_time(timing);
                work(&mut state, &round, &receiver, &heard, timing);
            })
            .map_err(LabError::kernel("start the emulator's thread"))?;
        Ok(Keeper { orders: Mutex::new(sender), bell, reactor, thread: Mutex::new(Some(thread)) })
    }

    /// Has the thread run `order`, and waits for what it gives.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        order: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<R> {
        let (sender, receiver) = channel();
        let order: Order<S> = Box::new(move |state| drop(sender.send(order(state))));
        let orders = self.orders.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        orders.send(order).map_err(|_| LabError::EmulatorGone)?;
        drop(orders);
        rustix::io::write(&*self.bell, &1u64.to_ne_bytes()).map_err(LabError::kernel("ring the emulator"))?;
        receiver.recv().map_err(|_| LabError::EmulatorGone)
    }
}

impl<S> Keeper<S> {
    /// Ends the thread, and with it the devices. Later orders fail.
    pub(crate) fn stop(&self) {
        self.reactor.stop.store(true, Ordering::Relaxed);
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        let thread = self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl<S> Drop for Keeper<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How late a thread wakes that is as the emulator's and does nothing but set an alarm every half millisecond, for so long: what the
/// kernel and the machine below it add to whatever the lab does.
///
/// # Errors
/// The thread cannot be started.
pub fn bare_alarms(span: Duration) -> Result<Lateness> {
    let nap = Duration::from_micros(500);
    let naps = move || {
        keep_time(Timing::default());
        let mut late = Lateness::default();
        let end = Instant::now() + span;
        while Instant::now() < end {
            let due = Instant::now() + nap;
            std::thread::sleep(nap);
            late.record(due.elapsed());
        }
        late
    };
    let thread = std::thread::Builder::new().name("alarms".to_owned()).spawn(naps);
    let thread = thread.map_err(LabError::kernel("start a thread"))?;
    thread.join().map_err(|_| LabError::EmulatorGone)
}

/// Makes the calling thread wake on time: timers without slack, and a class above the load.
fn keep_time(timing: Timing) {
    if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
        tracing::warn!("cannot set the timer slack, packets will be up to 50 µs later: {error}");
    }
    if timing.real_time {
        // SAFETY: sched_param is plain old data for which all zeroes is a valid value; musl's has
        // more fields than one.
        let mut priority: libc::sched_param = unsafe { std::mem::zeroed() };
        priority.sched_priority = PRIORITY;
        // SAFETY: the call reads `priority`, which lives through it; thread 0 is the calling one.
        if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } != 0 {
            let error = std::io::Error::last_os_error();
            tracing::warn!("cannot run the emulator in real time, packets may be late under load: {error}");
        }
    }
}

fn work<S: Driven>(
    state: &mut S,
    reactor: &Reactor,
    orders: &Receiver<Order<S>>,
    bell: &OwnedFd,
    timing: Timing,
) {
    let mut events = Vec::with_capacity(64);
    let mut written = Vec::with_capacity(64);
    let mut alarm = Alarm::new(timing);
    while !reactor.stop.load(Ordering::Relaxed) {
        let waited = alarm.wait(reactor, state.next_due(), &mut events);
        count(state, &waited);
        run_due(state, reactor, &mut written);
        let mut rung = false;
        for event in &events {
            match event.data.u64() {
                ORDERS => rung = true,
                mark => {
                    read(state, reactor, mark);
                    run_due(state, reactor, &mut written);
                }
            }
        }
        if !events.is_empty() {
            // What reading has changed may be told to others.
            state.run(&mut written);
        }
        // The kernel answers acknowledgements and echoes while it takes a packet: read them before the rest.
        for mark in written.drain(..) {
            state.read(mark);
        }
        if rung {
            // Cleared before the orders are taken, so that one that comes meanwhile rings again.
            let _ = rustix::io::read(bell, &mut [0u8; 8]);
            orders.try_iter().for_each(|order| order(state));
        }
    }
}

fn read<S: Driven>(state: &mut S, reactor: &Reactor, mark: u64) {
    let begin = reactor.now();
    state.read(mark);
    let took = reactor.now() - begin;
    state.rounds().into_iter().for_each(|r| r.reading.record(took));
}

/// Lets happen what is due, if anything is.
fn run_due<S: Driven>(state: &mut S, reactor: &Reactor, written: &mut Vec<u64>) {
    let begin = reactor.now();
    if state.next_due().is_none_or(|due| due > begin) {
        return;
    }
    state.run(written);
    let took = reactor.now() - begin;
    state.rounds().into_iter().for_each(|r| r.working.record(took));
}

fn count<S: Driven>(state: &mut S, waited: &Waited) {
    let Some(rounds) = state.rounds() else { return };
    waited.woke_late.into_iter().for_each(|late| rounds.waking.record(late));
    waited.spun.into_iter().for_each(|spun| rounds.spinning.record(spun));
}

/// How a wait went.
#[derive(Debug, Default)]
struct Waited {
    /// How long after the time for which the alarm was set the thread woke, if the alarm woke it.
    woke_late: Option<Duration>,
    /// How long it spun.
    spun: Option<Duration>,
}

/// Of the time that passes, this share may be spun away: the rest of the processor belongs to the nodes.
const SPIN_SHARE: u32 = 4;
/// What of that may be saved up for later.
const SPIN_SAVINGS: Duration = Duration::from_millis(2);

/// Waits, and learns how long before its time the thread has to be woken.
#[derive(Debug)]
struct Alarm {
    timing: Timing,
    /// Alarms are set so long before their time.
    lead: Duration,
    /// How long it may still spin.
    savings: Duration,
    /// When the last wait ended.
    round: Time,
}

impl Alarm {
    fn new(timing: Timing) -> Alarm {
        Alarm { timing, lead: timing.spin, savings: SPIN_SAVINGS, round: Time::ZERO }
    }

    /// Waits for something to read, until the next thing is due.
    fn wait(&mut self, reactor: &Reactor, due: Option<Time>, events: &mut Vec<epoll::Event>) -> Waited {
        let lead = self.lead.min(self.savings);
        let alarm = due.map(|due| before(due, lead));
        let rested = self.round + self.timing.rest;
        let rested = alarm.filter(|_| self.timing.punctual).map_or(rested, |alarm| rested.min(alarm));
        let rest = rested - reactor.now();
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
        let mut waited = Waited::default();
        let sleep = alarm.map(|alarm| alarm - reactor.now());
        look(reactor, events, sleep);
        let woke = reactor.now();
        if let Some(alarm) = alarm.filter(|_| events.is_empty() && sleep.is_some_and(|s| !s.is_zero())) {
            waited.woke_late = Some(woke - alarm);
            self.learn(woke - alarm);
        }
        if let Some(due) = due.filter(|due| *due > woke && !lead.is_zero()) {
            // Looking instead of pausing: who comes meanwhile is not kept waiting.
            while events.is_empty() && reactor.now() < due {
                look(reactor, events, Some(Duration::ZERO));
            }
            waited.spun = Some(reactor.now() - woke);
        }
        let now = reactor.now();
        self.settle(now - self.round, waited.spun.unwrap_or_default());
        self.round = now;
        waited
    }

    /// Earns a share of the time that has passed, and pays for what was spun.
    fn settle(&mut self, passed: Duration, spun: Duration) {
        self.savings = (self.savings + passed / SPIN_SHARE).min(SPIN_SAVINGS).saturating_sub(spun);
    }

    /// The lead follows wake-ups that were later fast, and those that were earlier slowly: about one in nine is later than it.
    fn learn(&mut self, late: Duration) {
        self.lead = match late > self.lead {
            true => self.lead + (late - self.lead) / 8,
            false => self.lead - (self.lead - late) / 64,
        };
        self.lead = self.lead.min(self.timing.spin);
    }
}

fn before(at: Time, span: Duration) -> Time {
    Time::from_nanos(at.as_nanos().saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
}

/// Waits so long for files that can be read; without end if no time is given.
fn look(reactor: &Reactor, events: &mut Vec<epoll::Event>, timeout: Option<Duration>) {
    let timeout = timeout.map(|sleep| Timespec {
        tv_sec: i64::try_from(sleep.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(sleep.subsec_nanos()),
    });
    events.clear();
    // Interrupted or not, the next round looks at everything anew.
    let _ = epoll::wait(&reactor.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    fn alarm() -> Alarm {
        Alarm::new(Timing { spin: 50 * MICRO, ..Timing::default() })
    }

    #[test]
    fn the_lead_follows_how_late_alarms_wake_and_stays_within_the_spin() {
        let mut alarm = alarm();
        (0..1000).for_each(|_| alarm.learn(5 * MICRO));
        assert!(alarm.lead >= 5 * MICRO && alarm.lead < 6 * MICRO, "{:?}", alarm.lead);
        (0..40).for_each(|_| alarm.learn(30 * MICRO));
        assert!(alarm.lead > 29 * MICRO, "{:?}", alarm.lead);
        (0..100).for_each(|_| alarm.learn(900 * MICRO));
        assert_eq!(alarm.lead, 50 * MICRO);
    }

    #[test]
    fn no_more_than_a_quarter_of_the_time_is_spun_away() {
        let mut alarm = alarm();
        let (mut passed, mut spun) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..10_000 {
            let spin = alarm.lead.min(alarm.savings);
            alarm.settle(60 * MICRO, spin);
            (passed, spun) = (passed + 60 * MICRO, spun + spin);
        }
        assert!(spun <= passed / SPIN_SHARE + SPIN_SAVINGS && spun >= passed / 5, "{spun:?} of {passed:?}");
    }
}
