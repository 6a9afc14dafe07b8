//! One transfer: a TCP connection on which both ends send content of their own at the same time and check the other's.
//!
//! ```text
//! client ──▶ flow, bytes up, bytes down │ content up                            │ end
//! server ──▶                            │ content down │ what it got, what of that was wrong │ end
//! ```

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::content::{Content, Wrong};

/// Bytes written and checked at a time.
const BLOCK: usize = 64 << 10;
/// A transfer in which nothing moves for so long has failed: no path is ever away for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Its number.
    pub flow: u64,
    /// Bytes from the client to the server.
    pub up: u64,
    /// And back.
    pub down: u64,
}

/// What came of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Bytes that came.
    pub bytes: u64,
    /// Of these, bytes that are not what was sent.
    pub wrong: u64,
    /// The first of them.
    pub first: Option<Wrong>,
}

impl Transfer {
    fn header(self) -> [u8; 24] {
        let mut header = [0; 24];
        for (place, number) in header.chunks_mut(8).zip([self.flow, self.up, self.down]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        header
    }

    fn read(mut stream: &TcpStream) -> Result<Transfer> {
        let [flow, up, down] = numbers(&mut stream)?;
        Ok(Transfer { flow, up, down })
    }

    /// The client's part: gives what came down, and what the server says of what it got.
    pub(super) fn ask(self, stream: &TcpStream, key: u64) -> Result<[Seen; 2]> {
        prepare(stream)?;
        let content = |down| Content { key, flow: self.flow, down };
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                (&*stream).write_all(&self.header())?;
                send(stream, content(false), self.up)?;
                Ok::<_, anyhow::Error>(stream.shutdown(Shutdown::Write)?)
            });
            let came = receive(stream, content(true), self.down).context("the download broke");
            let said = numbers(&mut &*stream).context("the server has not said what it got");
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sent.context("the upload broke")?;
            let (down, [bytes, wrong]) = (came?, said?);
            ensure!((&*stream).read(&mut [0])? == 0, "more came down than was sent");
            Ok([down, Seen { bytes, wrong, first: None }])
        })
    }

    /// The server's part: gives what came up.
    pub(super) fn answer(stream: &TcpStream, key: u64) -> Result<(Transfer, Seen)> {
        prepare(stream)?;
        let transfer = Transfer::read(stream)?;
        let content = |down| Content { key, flow: transfer.flow, down };
        let came = std::thread::scope(|scope| {
            // One byte more than there should be, so that it would be seen.
            let receiver = scope.spawn(|| receive(stream, content(false), transfer.up + 1));
            send(stream, content(true), transfer.down)?;
            receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let said = [came.bytes, came.wrong].map(u64::to_le_bytes).concat();
        (&*stream).write_all(&said)?;
        Ok((transfer, came))
    }
}

fn prepare(stream: &TcpStream) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(())
}

fn numbers<const N: usize>(stream: &mut impl Read) -> Result<[u64; N]> {
    let mut all = [0; N];
    for number in &mut all {
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes)?;
        *number = u64::from_le_bytes(bytes);
    }
    Ok(all)
}

fn send(mut stream: &TcpStream, content: Content, bytes: u64) -> Result<()> {
    let mut block = vec![0; BLOCK];
    let mut at = 0;
    while at < bytes {
        let part = &mut block[..(bytes - at).min(BLOCK as u64) as usize];
        content.fill(at, part);
        stream.write_all(part)?;
        at += part.len() as u64;
    }
    Ok(())
}

/// Takes `bytes`, or what comes until the stream ends.
fn receive(mut stream: &TcpStream, content: Content, bytes: u64) -> Result<Seen> {
    let (mut block, mut scratch) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut seen = Seen::default();
    while seen.bytes < bytes {
        let room = (bytes - seen.bytes).min(BLOCK as u64) as usize;
        let len = match stream.read(&mut block[..room]) {
            Ok(0) => break,
            Ok(len) => len,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e).context(format!("{content}, {} of {bytes} bytes there", seen.bytes)),
        };
        if let Some(wrong) = content.check(seen.bytes, &block[..len], &mut scratch[..len]) {
            seen.wrong += wrong.bytes;
            seen.first.get_or_insert(wrong);
        }
        seen.bytes += len as u64;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const KEY: u64 = 42;

    /// Runs one transfer over loopback against a server that answers by `serve`.
    fn over_loopback<R: Send>(
        transfer: Transfer,
        serve: impl FnOnce(&TcpStream) -> R + Send,
    ) -> (Result<[Seen; 2]>, R) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            let server = scope.spawn(move || serve(&listener.accept().unwrap().0));
            let client = transfer.ask(&TcpStream::connect(to).unwrap(), KEY);
            (client, server.join().unwrap())
        })
    }

    #[test]
    fn both_ends_get_what_was_sent() {
        let transfer = Transfer { flow: 5, up: 300_001, down: 70_003 };
        let (client, server) = over_loopback(transfer, |stream| Transfer::answer(stream, KEY).unwrap());
        let [down, up] = client.unwrap();
        assert_eq!((down.bytes, down.wrong, up.bytes, up.wrong), (70_003, 0, 300_001, 0));
        assert_eq!(server, (transfer, Seen { bytes: 300_001, wrong: 0, first: None }));
    }

    #[test]
    fn another_flows_bytes_are_seen() {
        let transfer = Transfer { flow: 5, up: 0, down: 1000 };
        let (client, ()) = over_loopback(transfer, |mut stream| {
            numbers::<3>(&mut stream).unwrap();
            let of = |flow| Content { key: KEY, flow, down: true };
            let mut block = [0; 1000];
            of(5).fill(0, &mut block);
            of(4).fill(0, &mut block[500..600]);
            stream.write_all(&block).unwrap();
            stream.write_all(&[0; 16]).unwrap();
        });
        let [down, _] = client.unwrap();
        let first = down.first.unwrap();
        assert_eq!((first.at, first.origin.unwrap().0.flow), (500, 4));
        assert!(down.wrong > 90, "{}", down.wrong);
    }

    #[test]
    fn a_stream_that_ends_early_is_told() {
        let transfer = Transfer { flow: 5, up: 0, down: 1000 };
        let (client, ()) = over_loopback(transfer, |mut stream| {
            numbers::<3>(&mut stream).unwrap();
            stream.write_all(&[0; 10]).unwrap();
        });
        assert!(client.is_err());
    }
}
