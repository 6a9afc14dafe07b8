//! Ping: ICMP echo at regular times (RFC 792).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags};

use super::clock::Clock;
use super::content::{MARK, Mark};
use super::record::Shared;
use super::stream::{Span, timespec};
use crate::ping::checksum;

/// IPv4 and ICMP headers, bytes.
pub(crate) const HEADERS: u32 = 28;
/// Bytes of the ICMP header alone.
const ICMP: usize = 8;
/// Longest sleep: how soon the end of a run is noticed.
const NAP: Duration = Duration::from_millis(10);

/// A flow before it begins.
pub(crate) struct EchoPlan {
    /// A raw ICMP socket.
    pub socket: OwnedFd,
    /// Whom to ask.
    pub to: Ipv4Addr,
    /// IP length of each, bytes.
    pub len: u32,
    /// How often.
    pub every: Duration,
}

/// Asks and listens until `quit`.
pub(crate) fn run(plan: &EchoPlan, clock: Clock, span: Span, quit: &AtomicBool, shared: &Shared) {
    // Tells our answers from those of others in the same namespace.
    static NEXT: AtomicU16 = AtomicU16::new(0x4000);
    let identifier = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut request = vec![0; ICMP + (plan.len.saturating_sub(HEADERS) as usize).max(MARK)];
    let (mut seq, mut next) = (0, span.start);
    while !quit.load(Ordering::Relaxed) {
        receive(plan, clock, identifier, (seq, request.len() - ICMP), shared);
        let now = clock.now();
        let running = span.stop.is_none_or(|at| now < at);
        if now >= next && running {
            shared.started(span.start);
            write(&mut request, identifier, Mark { seq, tag: 0, sent: now });
            shared.lock().record.on_sent((request.len() - ICMP) as u32);
            // What finds no way is lost, and missing from the answers.
            let to = SocketAddrV4::new(plan.to, 0);
            let _ = rustix::net::sendto(&plan.socket, &request, SendFlags::DONTWAIT, &to);
            (seq, next) = (seq + 1, next + plan.every);
        }
        // One that was stopped only listens: nothing of it is due any more.
        let nap = if running { clock.until(next).min(NAP) } else { NAP };
        let mut watched = [PollFd::new(&plan.socket, PollFlags::IN)];
        // Interrupted or not, the loop looks again.
        let _ = poll(&mut watched, Some(&timespec(nap)));
    }
}

fn write(request: &mut [u8], identifier: [u8; 2], mark: Mark) {
    let seq = (mark.seq as u16).to_be_bytes();
    request[..ICMP].copy_from_slice(&[8, 0, 0, 0, identifier[0], identifier[1], seq[0], seq[1]]);
    mark.write(&mut request[ICMP..]);
    let sum = checksum(request).to_be_bytes();
    request[2..4].copy_from_slice(&sum);
}

fn receive(plan: &EchoPlan, clock: Clock, identifier: [u8; 2], (asked, len): (u32, usize), shared: &Shared) {
    let mut buffer = [0; 65_536];
    while let Ok((got, _)) = rustix::net::recv(&plan.socket, &mut buffer, RecvFlags::DONTWAIT) {
        let now = clock.now();
        // A raw socket gives the IP header, too (raw(7)).
        let header = usize::from(buffer[0] & 15) * 4;
        let Some(answer) = buffer[..got].get(header..).filter(|a| a.len() > ICMP) else { continue };
        if answer[0] != 0 || answer[4..6] != identifier {
            continue;
        }
        let mut figures = shared.lock();
        match Mark::read(&answer[ICMP..], now).filter(|m| m.seq < asked && answer.len() - ICMP == len) {
            Some(mark) => {
                if figures.record.on_datagram(now, mark.seq, mark.sent, len as u32) {
                    figures.record.on_rtt(now - mark.sent);
                }
            }
            None => figures.fault("an echo came back that is not as it was sent".to_owned()),
        }
    }
}
