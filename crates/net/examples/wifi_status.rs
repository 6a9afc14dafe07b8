//! `wifi_status ADDR:PORT N`: sends N datagrams and prints the completions that the Wi-Fi driver reported of them (`SO_WIFI_STATUS`). tests/vm runs it over mac80211.

use std::net::SocketAddr;
use std::time::Duration;

use ropewalk_net::udp::{Options, Transmit, UdpSocket};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let to: SocketAddr = words.next().ok_or("where to?")?.parse()?;
    let count: usize = words.next().ok_or("how many?")?.parse()?;
    let mut socket = UdpSocket::open(&Options::at("0.0.0.0:0".parse()?))?;
    let counter = socket.count_completions()?;
    let data = vec![0; 1000 * count];
    let sent = socket.send(&Transmit { to, from: None, tos: 0, segment_size: 1000, data: &data })? / 1000;
    // Two seconds are long for a driver.
    for _ in 0..200 {
        socket.take_completions();
        let (acknowledged, failed) = counter.totals();
        if acknowledged + failed >= sent as u64 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (acknowledged, failed) = counter.totals();
    println!("sent {sent}, acknowledged {acknowledged}, failed {failed}");
    Ok(())
}
