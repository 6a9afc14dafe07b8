//! TCP and MPTCP: the simulator's applications over the kernel's connections.
//!
//! ```text
//!   namespace of the end that opens         one thread          namespace of the end that waits
//!  ┌────────────────────────────┐   ┌──────────────────┐   ┌─────────────────────────────┐
//!  │ kernel's TCP ◀─ socket ────┼───┤ app        app   ├───┼──── socket ─▶ kernel's TCP  │
//!  └────────────────────────────┘   └──────────────────┘   └─────────────────────────────┘
//! ```
//! Both ends of a flow are values on one thread, so that they share a clock, a record and what a request asks for. Only their
//! sockets are elsewhere. Every byte is looked at when it arrives.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_sim::app::{Io, StreamApp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags, sockopt};

use super::clock::Clock;
use super::record::Shared;
use super::{content, socket, steering::Steering, window::WindowKeeper};
use crate::{Namespace, Result};
use ropewalk_net::tcp_info::{self, TcpInfo, tcp_info};

/// How often the kernel's figures are looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Most bytes that are read at once.
const READ: usize = 256 << 10;
/// Pieces that one end reads or writes before the other end's turn.
const TURN: usize = 8;

/// A connection before it is opened.
pub(crate) struct ConnectionPlan {
    /// Where it is opened from.
    pub namespace: Namespace,
    /// The socket that opens it.
    pub opener: OwnedFd,
    /// The socket that waits for it.
    pub listener: OwnedFd,
    /// Where that waits.
    pub to: SocketAddrV4,
    /// The end that sends the data opens.
    pub data_opens: bool,
    /// What both sockets were set to.
    pub options: socket::StreamOptions,
    /// The end that receives steers the other.
    pub steering: Option<Steering>,
}

/// One end.
struct Side {
    socket: Option<OwnedFd>,
    app: Box<dyn StreamApp>,
    established: bool,
    /// Its application knows of that.
    greeted: bool,
    /// Bytes that are still to be written, have been written, and have been read.
    pending: u64,
    written: u64,
    read: u64,
    close: bool,
    /// It has got all it was to get.
    done: bool,
    /// Segments with data, repetitions and timeouts, as the kernel told them last.
    kernel: [u64; 3],
}

impl Side {
    fn new(socket: Option<OwnedFd>, app: Box<dyn StreamApp>) -> Side {
        let (pending, written, read) = (0, 0, 0);
        let (established, greeted, close, done) = (false, false, false, false);
        Side { socket, app, established, greeted, pending, written, read, close, done, kernel: [0; 3] }
    }

    /// Reads what there is; gives how much, and whether it is what was sent.
    fn receive(&mut self, buffer: &mut [u8]) -> rustix::io::Result<(u64, bool)> {
        let (before, mut sound) = (self.read, true);
        let Some(socket) = &self.socket else { return Ok((0, true)) };
        for _ in 0..TURN {
            match rustix::net::recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) | Err(Errno::AGAIN) => break,
                Ok((len, _)) => {
                    sound &= content::is_stream(self.read, &buffer[..len]);
                    self.read += len as u64;
                }
                Err(error) => return Err(error),
            }
        }
        Ok((self.read - before, sound))
    }

    /// Writes what the socket takes.
    fn send(&mut self) -> rustix::io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.established) else { return Ok(()) };
        for _ in 0..TURN {
            if self.pending == 0 {
                if std::mem::replace(&mut self.close, false) {
                    rustix::net::shutdown(socket, Shutdown::Write)?;
                }
                break;
            }
            match rustix::net::send(
                socket,
                content::stream_piece(self.written, self.pending),
                SendFlags::NOSIGNAL,
            ) {
                Ok(len) => {
                    (self.written, self.pending) = (self.written + len as u64, self.pending - len as u64)
                }
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is worth waking up for.
    fn interest(&self) -> PollFlags {
        match self.established && self.pending == 0 {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        }
    }
}

/// A connection with both its ends: the one that opens, and the one that waits.
pub(crate) struct Connection {
    plan: ConnectionParts,
    sides: [Side; 2],
    window: Option<WindowKeeper>,
    steering: Option<Steering>,
    opened: bool,
    stopped: bool,
    over: bool,
}

/// What is left of a plan.
struct ConnectionParts {
    namespace: Namespace,
    listener: OwnedFd,
    to: SocketAddrV4,
    data: usize,
    options: socket::StreamOptions,
}

impl Connection {
    /// With the applications of the end that opens and of the end that waits.
    pub(super) fn new(plan: ConnectionPlan, [opening, waiting]: [Box<dyn StreamApp>; 2]) -> Connection {
        let ConnectionPlan { namespace, opener, listener, to, data_opens, options, steering } = plan;
        Connection {
            sides: [Side::new(Some(opener), opening), Side::new(None, waiting)],
            window: options.window.map(WindowKeeper::new),
            steering,
            plan: ConnectionParts { namespace, listener, to, data: usize::from(!data_opens), options },
            opened: false,
            stopped: false,
            over: false,
        }
    }

    fn open(&mut self) -> Result<()> {
        self.opened = true;
        let Some(opener) = &self.sides[0].socket else { return Ok(()) };
        socket::connect(&self.plan.namespace, opener, self.plan.to, self.plan.options.ecn)
    }

    /// Opens, works, and stops, as the time has it.
    fn step(&mut self, now: Time, stop: Option<Time>, shared: &Shared, buffer: &mut [u8]) {
        if !self.opened {
            shared.lock().record.started.get_or_insert(now);
            if let Err(error) = self.open() {
                shared.lock().fault(error.to_string());
            }
        }
        if !self.stopped && stop.is_some_and(|at| at <= now) {
            self.stopped = true;
            // A bulk flow ends at once; one that asks only asks no more.
            self.sides[0].app.stop();
            if pump(&mut self.sides[0], now, 0, shared) {
                return self.end(shared);
            }
        }
        if let Err(error) = self.work(now, shared, buffer) {
            shared.lock().fault(format!("a connection broke: {error}"));
            self.end(shared);
        }
    }

    /// Does what can be done now.
    fn work(&mut self, now: Time, shared: &Shared, buffer: &mut [u8]) -> rustix::io::Result<()> {
        self.establish()?;
        for i in 0..2 {
            let (got, sound) = self.sides[i].receive(buffer)?;
            if !sound {
                shared.lock().fault("bytes arrived that are not those that were sent".to_owned());
            }
            let side = &mut self.sides[i];
            let due = side.app.next_timeout().is_some_and(|at| at <= now);
            // The application hears of bytes, of the handshake, and of its time.
            let told = side.established && (got > 0 || due || !std::mem::replace(&mut side.greeted, true));
            if told && pump(side, now, got, shared) {
                self.end(shared);
                return Ok(());
            }
            self.sides[i].send()?;
        }
        Ok(())
    }

    fn establish(&mut self) -> rustix::io::Result<()> {
        let [opens, waits] = &mut self.sides;
        if let Some(socket) = opens.socket.as_ref().filter(|_| !opens.established) {
            sockopt::socket_error(socket)??;
            opens.established = rustix::net::getpeername(socket).is_ok();
            if opens.established {
                socket::set_congestion(socket, &self.plan.options)?;
            }
        }
        if waits.socket.is_none() {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::accept_with(&self.plan.listener, flags) {
                Ok(socket) => {
                    socket::set_congestion(&socket, &self.plan.options)?;
                    if let Some(keeper) = self.window.as_mut().filter(|_| self.plan.data == 0) {
                        keeper.begin(&socket)?;
                    }
                    (waits.socket, waits.established) = (Some(socket), true);
                }
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Looks at the kernel's figures.
    fn look(&mut self, shared: &Shared) {
        if self.plan.options.mptcp {
            self.look_at_subflows(shared);
            return;
        }
        for i in [0, 1] {
            let side = &mut self.sides[i];
            let socket = side.socket.as_ref().filter(|_| side.established);
            let Some(info) = socket.and_then(|s| tcp_info(s).ok()) else { continue };
            side.kernel = [info.sent_segments.into(), info.retransmitted.into(), u64::from(info.timeouts)];
            if i == self.plan.data {
                shared.lock().on_tcp(&info);
                self.keep_window(info.window_bytes, shared);
            }
        }
    }

    fn look_at_subflows(&mut self, shared: &Shared) {
        let data = self.plan.data;
        let Some(socket) = self.sides[data].socket.as_ref().filter(|_| self.sides[data].established) else {
            return;
        };
        if tcp_info::fell_back(socket) {
            let sentence = "the kernel fell back from MPTCP to TCP, so it is one path that was measured";
            return shared.lock().fault(sentence.to_owned());
        }
        let Ok(subflows) = tcp_info::subflows(socket) else { return };
        let known = shared.lock().subflows.len();
        if subflows.len() != known
            && let Err(error) = socket::set_congestion(socket, &self.plan.options)
        {
            return shared.lock().fault(format!("a subflow keeps its route's congestion control: {error}"));
        }
        let window = subflows.iter().map(|s| s.tcp.window_bytes).max().unwrap_or(0);
        let mut figures = shared.lock();
        figures.on_subflows(subflows);
        let sum = |of: fn(&TcpInfo) -> u64| figures.subflows.iter().map(|s| of(&s.info.tcp)).sum();
        self.sides[data].kernel =
            [sum(|t| t.sent_segments.into()), sum(|t| t.retransmitted.into()), sum(|t| t.timeouts.into())];
        drop(figures);
        self.keep_window(window, shared);
    }

    /// Lets the receiver steer, if it does.
    fn steer(&mut self, now: Time, shared: &Shared) {
        let receiver = self.sides[1 - self.plan.data].socket.as_ref();
        let Some((steering, receiver)) = self.steering.as_mut().zip(receiver) else { return };
        let subflows = || tcp_info::subflows(receiver).unwrap_or_default();
        if let Err(sentence) = steering.step(now, subflows) {
            shared.lock().fault(sentence);
        }
    }

    /// Tells the keeper of the receiver's window what the sender saw of it.
    fn keep_window(&mut self, seen: u32, shared: &Shared) {
        let receiver = self.sides[1 - self.plan.data].socket.as_ref();
        let Some((keeper, receiver)) = self.window.as_mut().zip(receiver) else { return };
        if let Some(largest) = keeper.look(receiver, seen) {
            shared.lock().window = Some(largest);
        }
    }

    /// The scenario stops it, or an application ends it at once.
    fn end(&mut self, shared: &Shared) {
        self.look(shared);
        self.over = true;
        for side in &mut self.sides {
            side.socket.take().into_iter().for_each(socket::abort);
        }
    }
}

/// Lets an application see what there is; says whether it ends the connection at once.
fn pump(side: &mut Side, now: Time, got: u64, shared: &Shared) -> bool {
    let mut figures = shared.lock();
    // A flow is through when all its connections are, so what this one says stays with it.
    let whole = figures.record.finished.take();
    let mut io = Io {
        now,
        established: side.established,
        got,
        write: 0,
        close: false,
        abort: false,
        record: &mut figures.record,
    };
    side.app.on_progress(&mut io);
    side.pending += io.write;
    side.close |= io.close;
    let abort = io.abort;
    side.done |= std::mem::replace(&mut figures.record.finished, whole).is_some();
    abort
}

/// When a flow begins, and when its scenario stops it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// It begins.
    pub start: Time,
    /// It is stopped.
    pub stop: Option<Time>,
}

/// All connections of a flow until `quit`.
pub(crate) fn run(
    connections: &mut [Connection],
    clock: Clock,
    span: Span,
    quit: &AtomicBool,
    shared: &Shared,
) {
    let mut buffer = vec![0; READ];
    let mut next_look = span.start;
    while !quit.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= span.start {
            connections
                .iter_mut()
                .filter(|c| !c.over)
                .for_each(|c| c.step(now, span.stop, shared, &mut buffer));
            if connections.iter().all(|c| c.sides.iter().any(|s| s.done)) {
                shared.lock().record.finished.get_or_insert(now);
            }
        }
        if now >= next_look {
            next_look = now + LOOK;
            look(connections, shared);
            connections.iter_mut().filter(|c| c.opened && !c.over).for_each(|c| c.steer(now, shared));
        }
        wait(connections, clock.until(next_due(connections, next_look)));
    }
    look(connections, shared);
}

fn look(connections: &mut [Connection], shared: &Shared) {
    connections.iter_mut().filter(|c| !c.over).for_each(|c| c.look(shared));
    let all = connections.iter().flat_map(|c| &c.sides).map(|s| s.kernel);
    let [sent, retransmissions, timeouts] = all.fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    let kernel = &mut shared.lock().kernel;
    (kernel.sent, kernel.retransmissions, kernel.timeouts) = (sent, retransmissions, timeouts);
}

/// When an application wants to be called, or the kernel's figures are to be looked at.
fn next_due(connections: &[Connection], next_look: Time) -> Time {
    let sides = connections.iter().filter(|c| !c.over).flat_map(|c| &c.sides);
    let due = sides.filter(|s| s.established).filter_map(|s| s.app.next_timeout());
    due.min().map_or(next_look, |at| at.min(next_look))
}

/// Sleeps until a socket has something to read or room to write, at most so long.
fn wait(connections: &[Connection], at_most: Duration) {
    let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(3 * connections.len());
    for connection in connections.iter().filter(|c| c.opened && !c.over) {
        for side in &connection.sides {
            match &side.socket {
                Some(socket) => watched.push(PollFd::new(socket, side.interest())),
                None => watched.push(PollFd::new(&connection.plan.listener, PollFlags::IN)),
            }
        }
    }
    // Interrupted or not, the loop looks again.
    let _ = poll(&mut watched, Some(&timespec(at_most)));
}

/// A span as the kernel wants it.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) }
}
