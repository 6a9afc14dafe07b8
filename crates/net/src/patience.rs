//! An end to waiting that neither signals nor a slow other end move.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Whether a blocking socket failed because its time was over. The kernel says `EAGAIN` (socket(7),
/// `SO_RCVTIMEO`), and a connection that nobody acknowledges ends with `ETIMEDOUT`.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Reads a blocking stream, and no longer than until a time: late ([`is_late`]) from then on.
#[derive(Debug)]
pub struct ReadUntil<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> ReadUntil<'a> {
    /// All that is read comes within `patience` of now.
    pub fn new(stream: &'a TcpStream, patience: Duration) -> ReadUntil<'a> {
        ReadUntil { stream, end: Instant::now() + patience }
    }
}

impl Read for ReadUntil<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        until(self.end, |left| {
            self.stream.set_read_timeout(Some(left))?;
            self.stream.read(into)
        })
    }
}

/// Does what waits for as long as it is told, again after each signal, until `end`.
pub(crate) fn until<T>(end: Instant, mut wait: impl FnMut(Duration) -> io::Result<T>) -> io::Result<T> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match wait(left) {
            // With a timeout a signal ends a wait even if nobody handles it: SIGCHLD, when a child
            // of this process ends (signal(7)).
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_whose_time_is_over_is_late() {
        let (mut stream, _silent) = UnixStream::pair().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let error = stream.read(&mut [0]).unwrap_err();
        assert!(is_late(&error), "{error}");
        assert!(!is_late(&io::Error::from(ErrorKind::ConnectionReset)));
    }

    #[test]
    fn signals_without_end_do_not_move_it() {
        let end = Instant::now() + Duration::from_millis(20);
        let outcome = until(end, |_| Err::<(), _>(ErrorKind::Interrupted.into()));
        assert_eq!((outcome.unwrap_err().kind(), Instant::now() >= end), (ErrorKind::TimedOut, true));
    }

    #[test]
    fn nor_does_who_says_a_byte_now_and_then() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        let slow = std::thread::spawn(move || {
            while far.write_all(&[7]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let mut all = Vec::new();
        let end = ReadUntil::new(&stream, Duration::from_millis(200)).read_to_end(&mut all).unwrap_err();
        assert!(is_late(&end), "{end}");
        drop(stream);
        slow.join().unwrap();
    }
}
