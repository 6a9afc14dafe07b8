//! Rates and round trips in calm conditions.

use super::*;

#[test]
fn debug_matrix() {
    for algorithm in [Algorithm::Cubic, Algorithm::NewReno, Algorithm::Tidal, Algorithm::HighSpeed] {
        for (mbps, rtt, bdp, loss) in [(10.0, 40, 1.0, 0.0), (50.0, 40, 1.0, 0.0), (50.0, 40, 1.0, 1.0), (100.0, 100, 1.0, 0.1)] {
            let config = TcpConfig::default().congestion_control(algorithm);
            let mut p = pair(config, link(mbps, rtt, bdp).loss_percent(loss));
            p.client.write(u64::MAX);
            let rate = goodput(&mut p, 2, 22);
            println!("{algorithm} {mbps} {rtt} {bdp} {loss}: {rate:.2} q {:.0} {:?} {:?}", p.mean_queue_bytes(), p.drops(), p.client.stats());
        }
    }
}
