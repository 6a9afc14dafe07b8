//! A thread that keeps time: it waits until a device can be read or something is due, then
//! ```text
//! reads every ready device ──▶ lets happen what is due ──▶ reads what answers at once ──▶ carries out orders ──▶ waits
//! ```
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
use crate::{LabError, Result};

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

/// Makes the calling thread wake on time: timers without slack, and a class above the load.
fn keep_time(timing: Timing) {
    if let Err(error) = rustix::thread::set_current_timer_slack(NonZeroU64::new(1)) {
        tracing::warn!("cannot set the timer slack, packets will be up to 50 µs later: {error}");
    }
    if timing.real_time {
        let priority = libc::sched_param { sched_priority: PRIORITY };
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
    let mut round = Instant::now();
    while !reactor.stop.load(Ordering::Relaxed) {
        let rested = round.elapsed();
        if rested < timing.rest {
            std::thread::sleep(timing.rest - rested);
        }
        wait(reactor, state.next_due(), &mut events, timing.spin);
        round = Instant::now();
        let mut rung = false;
        for event in &events {
            match event.data.u64() {
                ORDERS => rung = true,
                mark => state.read(mark),
            }
        }
        state.run(&mut written);
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

/// Waits for something to read, until the next thing is due.
fn wait(reactor: &Reactor, due: Option<Time>, events: &mut Vec<epoll::Event>, spin: Duration) {
    let left = due.map(|due| due - reactor.now());
    let sleep = left.map(|left| left.saturating_sub(spin));
    let timeout = sleep.map(|sleep| Timespec {
        tv_sec: i64::try_from(sleep.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(sleep.subsec_nanos()),
    });
    events.clear();
    // Interrupted or not, the next round looks at everything anew.
    let _ = epoll::wait(&reactor.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref());
    if let Some(due) = due.filter(|_| events.is_empty() && !spin.is_zero()) {
        while reactor.now() < due {
            std::hint::spin_loop();
        }
    }
}
