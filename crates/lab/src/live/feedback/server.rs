//! Who may read: a thread that takes connections, hears what they want and hands them to the lab's thread.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen,
    recv, send, socket_with, sockopt,
};

use super::message::{LONGEST, Request, refusal, request};
use super::{Call, READERS, Reader, Switch};
use crate::live::node::Node;
use crate::live::plan::{Joint, Plan};
use crate::{LabError, Result};

/// Connections that have not said what they want; of more, the oldest are closed.
const PENDING: usize = 16;
/// How long they may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// States come at most so often: a round of the lab's thread.
const FASTEST: Duration = Duration::from_micros(100);
/// And at least.
const SLOWEST: Duration = Duration::from_secs(1);

/// The socket of an interface on air.
pub(in crate::live) struct Door {
    iface: usize,
    socket: OwnedFd,
}

/// A place among the readers; free again when it is dropped.
pub(in crate::live) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens the sockets of all interfaces on air, each in its node's namespace.
pub(in crate::live) fn sockets(plan: &Plan, nodes: &[Node]) -> Result<Vec<Door>> {
    let mut doors = Vec::new();
    for port in &plan.ports {
        let Joint::Radio(iface) = port.joint else { continue };
        let name = format!("ropewalk-radio/{}", port.short);
        let socket = nodes[port.node].enter(|| door(&name))?;
        let socket = socket
            .map_err(LabError::kernel(format!("listen at @{name} in node {}", nodes[port.node].name())))?;
        doors.push(Door { iface: usize::from(iface.0), socket });
    }
    Ok(doors)
}

fn door(name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    listen(&socket, 16)?;
    Ok(socket)
}

/// The thread. It ends with the value, or when it is told to.
pub(in crate::live) struct Server {
    stop: Arc<OwnedFd>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Serves `doors`; readers go to `readers`, and `bell` is rung for each.
    pub(in crate::live) fn start(
        name: &str,
        doors: Vec<Door>,
        readers: Sender<Call>,
        bell: Arc<OwnedFd>,
    ) -> Result<Server> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = Arc::new(stop.map_err(LabError::kernel("make an eventfd"))?);
        let seats = Arc::new(AtomicUsize::new(0));
        let server =
            FeedbackServer { doors, readers, bell, seats, stop: Arc::clone(&stop), pending: Vec::new() };
        let thread = std::thread::Builder::new()
            .name(format!("{name}-readers"))
            .spawn(move || server.serve())
            .map_err(LabError::kernel("start the thread of radios' sockets"))?;
        Ok(Server { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Closes the sockets.
    pub(in crate::live) fn stop(&self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A connection that has not said what it wants.
struct Pending {
    socket: OwnedFd,
    iface: usize,
    since: Instant,
}

struct FeedbackServer {
    doors: Vec<Door>,
    readers: Sender<Call>,
    bell: Arc<OwnedFd>,
    seats: Arc<AtomicUsize>,
    stop: Arc<OwnedFd>,
    pending: Vec<Pending>,
}

impl FeedbackServer {
    fn serve(mut self) {
        while let Some(ready) = self.wait() {
            for index in (0..self.pending.len()).rev().filter(|i| ready[self.doors.len() + i]) {
                let pending = self.pending.remove(index);
                self.hear(pending);
            }
            for index in (0..self.doors.len()).filter(|i| ready[*i]) {
                self.open(index);
            }
            self.pending.retain(|p| p.since.elapsed() < PATIENCE);
        }
    }

    /// Which doors, and which of the pending, have something to be read; none: it is to end.
    fn wait(&self) -> Option<Vec<bool>> {
        let sockets = self.doors.iter().map(|d| &d.socket).chain(self.pending.iter().map(|p| &p.socket));
        let mut all: Vec<PollFd<'_>> =
            sockets.map(AsFd::as_fd).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        all.push(PollFd::new(&self.stop, PollFlags::IN));
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as _, tv_nsec: 0 };
        let limit = (!self.pending.is_empty()).then_some(&limit);
        match poll(&mut all, limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let stop = all.pop().is_none_or(|last| !last.revents().is_empty());
        (!stop).then(|| all.iter().map(|fd| !fd.revents().is_empty()).collect())
    }

    fn open(&mut self, index: usize) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = accept_with(&self.doors[index].socket, flags) {
            if self.pending.len() >= PENDING {
                self.pending.remove(0);
            }
            let iface = self.doors[index].iface;
            self.pending.push(Pending { socket, iface, since: Instant::now() });
        }
    }

    /// Lets a connection in that says properly what it wants; tells another why not.
    fn hear(&self, pending: Pending) {
        let mut asked = [0; 64];
        let len = match recv(&pending.socket, &mut asked[..], RecvFlags::DONTWAIT) {
            Ok((len, _)) if len > 0 => len,
            _ => return,
        };
        let refuse = |sentence: &str| {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let _ = send(&pending.socket, &refusal(sentence), flags);
        };
        match request(&asked[..len]) {
            Ok(Request::States { interval_us }) => match self.seat() {
                Ok(seat) => self.admit(pending, interval_us, seat),
                Err(sentence) => refuse(&sentence),
            },
            Ok(Request::Switch { primary_mhz, beacons }) => {
                let Pending { socket, iface, .. } = pending;
                self.call(Call::Switch(Switch { socket, iface, primary_mhz, beacons }));
            }
            Err(sentence) => refuse(&sentence),
        }
    }

    fn seat(&self) -> Result<Seat, String> {
        let seat = Seat(Arc::clone(&self.seats));
        match self.seats.fetch_add(1, Ordering::Relaxed) {
            taken if taken < READERS => Ok(seat),
            taken => {
                Err(format!("the radios of this lab have {taken} readers already, and no more are served"))
            }
        }
    }

    fn admit(&self, pending: Pending, interval_us: u32, seat: Seat) {
        let interval = Duration::from_micros(interval_us.into()).clamp(FASTEST, SLOWEST);
        // A few states: what a slow reader has not taken is old when it comes to it.
        let _ = sockopt::set_socket_send_buffer_size(&pending.socket, 4 * LONGEST);
        let reader = Reader {
            socket: pending.socket,
            iface: pending.iface,
            interval,
            last: None,
            sequence: 0,
            stale: true,
            _seat: seat,
        };
        self.call(Call::Read(reader));
    }

    fn call(&self, call: Call) {
        if self.readers.send(call).is_ok() {
            let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        }
    }
}
