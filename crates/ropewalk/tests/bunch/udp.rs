//! Datagrams over a bunch.

use super::*;
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;

const DATAGRAMS: u64 = 4000;
const BYTES: usize = 1250;

#[test]
fn datagrams_take_more_than_one_uplink_and_come_as_they_were() {
    if !root() {
        return;
    }
    let net = net("bunch-udp");
    let state = net.states.of("gateway");
    let args = ["bunch", "gateway", "--state", &state, "--listen", "0.0.0.0:4520"];
    let more = ["--serve", "10.9.0.2/32", "--deliver", "eth0", "--udp"];
    let mut gateway = net.gateway.start(BINARY, args.into_iter().chain(more)).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    let _aps = net.start_aps(3);
    let server = net.server.run(|| UdpSocket::bind(SERVER)).unwrap().unwrap();
    server.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let is_sent = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&is_sent);
    let there = std::thread::spawn(move || {
        let (mut came, mut wrong, mut part) = (0, 0, [0; 2000]);
        // A silence ends it only when all has been sent: a busy machine may stand still before.
        loop {
            let silent_once_over = is_over.load(Ordering::SeqCst);
            match server.recv(&mut part) {
                Ok(n) => {
                    came += 1;
                    wrong += u64::from(n != BYTES || part[..n].iter().any(|b| *b != part[0]));
                }
                Err(_) if silent_once_over => return (came, wrong),
                Err(_) => {}
            }
        }
    });
    let sender = net.sender.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    sender.connect(SERVER).unwrap();
    // 8 Mbit/s at most, where one uplink carries half of that.
    for n in 0..DATAGRAMS {
        sender.send(&[n as u8; BYTES]).unwrap();
        std::thread::sleep(Duration::from_micros(1250));
    }
    is_sent.store(true, Ordering::SeqCst);
    let (came, wrong): (u64, u64) = there.join().unwrap();
    let (anna, at_gateway) = (net.status("anna"), net.status("gateway"));
    println!("{came} of {DATAGRAMS} came; {anna}; {at_gateway}");
    assert_eq!(wrong, 0);
    assert!(came > DATAGRAMS * 2 / 3, "{came}");
    assert!(anna["forwarded"].as_u64() > Some(DATAGRAMS / 10), "{anna}");
    let contributors = at_gateway["contributors"].as_array().unwrap();
    assert!(contributors.iter().all(|c| c["damaged"] == 0), "{at_gateway}");
}
