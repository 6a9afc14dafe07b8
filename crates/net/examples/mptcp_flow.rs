//! A flow of MPTCP for the virtual machine of tests/vm: `mptcp_flow serve ADDR:PORT` sends numbered words to whoever comes, half a megabyte a second;
//! `mptcp_flow get ADDR:PORT FILE` holds them against what they have to be, and writes into FILE how many bytes have come, until FILE.stop is there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};

/// Bytes written at once, and how often.
const PIECE: usize = 16 << 10;
const EVERY: Duration = Duration::from_millis(30);
/// How long a server is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Silence that ends a flow.
const SILENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?),
        ["get", address, file] => get(address.parse()?, Path::new(file)),
        _ => Err("serve ADDR:PORT, or get ADDR:PORT FILE".into()),
    }
}

fn socket() -> std::io::Result<std::os::fd::OwnedFd> {
    let protocol = Some(ipproto::MPTCP);
    Ok(rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?)
}

fn serve(address: SocketAddr) -> Result<(), Box<dyn std::error::Error>> {
    let fd = socket()?;
    rustix::net::sockopt::set_socket_reuseaddr(&fd, true)?;
    rustix::net::bind(&fd, &address)?;
    rustix::net::listen(&fd, 8)?;
    for stream in TcpListener::from(fd).incoming() {
        let mut stream = stream?;
        std::thread::spawn(move || {
            let mut next = 0;
            while stream.write_all(&words(&mut next, PIECE)).is_ok() {
                std::thread::sleep(EVERY);
            }
        });
    }
    Ok(())
}

/// The next words: numbers of eight bytes.
fn words(next: &mut u64, bytes: usize) -> Vec<u8> {
    let from = *next;
    *next += bytes as u64 / 8;
    (from..*next).flat_map(u64::to_be_bytes).collect()
}

/// Connects; a server that has been started a moment ago may not listen yet.
fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        let fd = socket()?;
        match rustix::net::connect(&fd, &address) {
            Ok(()) => return Ok(TcpStream::from(fd)),
            Err(_) if Instant::now() < until => std::thread::sleep(EVERY),
            Err(error) => return Err(error.into()),
        }
    }
}

fn get(address: SocketAddr, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let (mut buffer, mut held, mut next, mut came) = (vec![0; PIECE], Vec::new(), 0, 0_u64);
    let say = |text: String| std::fs::write(file, text);
    while !file.with_extension("stop").exists() {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            say(format!("ended after {came}\n"))?;
            return Ok(());
        }
        held.extend_from_slice(&buffer[..length]);
        let whole = held.len() / 8 * 8;
        let expected = words(&mut next, whole);
        if held[..whole] != expected {
            say(format!("broken before {came}\n"))?;
            return Ok(());
        }
        held.drain(..whole);
        came += length as u64;
        say(format!("{came}\n"))?;
    }
    say(format!("whole {came}\n"))?;
    Ok(())
}
