//! An air whose time goes slower does the same things, each as many times later.

use super::*;

/// When each of a hundred packets came, and what the air counted.
fn arrivals(factor: u32) -> (Vec<u64>, RadioStats, Duration) {
    let radio = as_oracle(vht(7, Width::Mhz80));
    let mut air = Dilated::new(Cell { radio, stations: 2 }.spec(), 7, factor).unwrap();
    let scale = u64::from(factor);
    for n in 0..100 {
        // Odd nanoseconds do not divide.
        let now = Time::from_nanos(scale * 10_000 * n + scale / 2);
        air.send(now, IfaceId(1 + n as u16 % 2), AP, packet(n)).unwrap();
    }
    let (mut came, mut airtime, mut last) = (Vec::new(), Duration::ZERO, Time::ZERO);
    while let Some(at) = air.next_timeout().filter(|at| *at < Time::from_nanos(scale * 1_000_000_000)) {
        assert!(at >= last, "time went back");
        last = at;
        while let Some(output) = air.poll(at) {
            match output {
                Output::Received(received) => came.push(received.at.as_nanos()),
                Output::Completion(done) => airtime += done.airtime,
                _ => {}
            }
        }
    }
    (came, air.radio_stats(RadioId(1)).unwrap(), airtime)
}

#[test]
fn everything_takes_so_many_times_longer() {
    let (usual, stats, airtime) = arrivals(1);
    let (slow, slow_stats, slow_airtime) = arrivals(8);
    assert_eq!(usual.len(), 100);
    assert_eq!(slow, usual.iter().map(|ns| 8 * ns).collect::<Vec<_>>());
    assert_eq!(slow_stats.airtime_tx_ns, 8 * stats.airtime_tx_ns);
    assert_eq!(slow_stats.ppdus_sent, stats.ppdus_sent);
    assert_eq!(slow_airtime, 8 * airtime);
}
