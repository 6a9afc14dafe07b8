//! Rates and round trips in calm conditions.

use super::*;

#[test]
fn a_link_of_one_bandwidth_delay_product_is_full() {
    for algorithm in Algorithm::ALL {
        for (mbps, rtt) in [(10.0, 40), (50.0, 20), (100.0, 40)] {
            let mut p = pair(TcpConfig::default().congestion_control(algorithm), link(mbps, rtt, 1.0));
            p.client.write(u64::MAX);
            let rate = goodput(&mut p, 2, 10);
            // 1448 bytes of 1500 are data.
            let full = mbps * 1448.0 / 1500.0;
            assert!(rate <= 1.001 * full && rate > 0.9 * full, "{algorithm} {mbps} Mb/s {rtt} ms: {rate:.2}");
        }
    }
}
