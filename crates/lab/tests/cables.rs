//! Cables between real network stacks. Needs root; says so and passes otherwise.

use std::time::{Duration, Instant};

use ropewalk_air::wired::{Aqm, Limit, LinkSpec, Loss, QueueSpec, Rate};
use ropewalk_lab::{CableSpec, Damage, Direction, End, Iperf, LabError, Paths, Ping, Topology};

/// False, with the reason on standard error, where the lab cannot work.
fn possible() -> bool {
    match Topology::new() {
        Ok(_) => true,
        Err(LabError::NotRoot) => {
            ropewalk_skip::skip(LabError::NotRoot);
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn one(link: LinkSpec) -> Paths {
    Paths::symmetric([link]).unwrap()
}

/// Real time: a machine that gives this program no processor makes things late, never early. So the best of three tries counts.
fn on_time(mut try_it: impl FnMut() -> Result<(), String>) {
    let late: Vec<String> = (0..3).map_while(|_| try_it().err()).collect();
    assert!(late.len() < 3, "late in each of three tries: {}", late.join("\n"));
}

fn quick(lab: &Paths) -> ropewalk_lab::PingReport {
    Ping::new(Paths::gateway_address(1)).count(5).interval(ms(5)).timeout(ms(300)).run(&lab.client).unwrap()
}

#[test]
fn a_packet_takes_the_delay_both_ways() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(50.0, ms(20)));
    for target in [Paths::gateway_address(1), Paths::gateway_address6(1)] {
        on_time(|| {
            let report = Ping::new(target).run(&lab.client).unwrap();
            assert_eq!((report.sent, report.received, report.duplicates), (10, 10, 0));
            assert!(report.round_trips[0] >= ms(40), "{report:?}");
            if report.median() < ms(45) { Ok(()) } else { Err(format!("{report:?}")) }
        });
    }
    let counters = lab.cables[0].counters().unwrap();
    assert!(counters.forward.packets_out >= 20 && counters.backward.packets_out >= 20);
}

#[test]
fn every_path_leads_to_the_shared_address() {
    if !possible() {
        return;
    }
    let lab = Paths::symmetric([LinkSpec::new(50.0, ms(1)), LinkSpec::new(50.0, ms(15))]).unwrap();
    for target in [Paths::SHARED, Paths::SHARED6] {
        assert!(Ping::new(target).run(&lab.client).unwrap().median() < ms(15));
    }
    let flow = Iperf::tcp(Paths::SHARED).seconds(1).device(&Paths::interface(2));
    flow.run(&lab.client, &lab.gateway).unwrap();
    assert!(lab.cables[1].counters().unwrap().forward.packets_out > 100);
}

#[test]
fn a_cut_cable_is_silent_and_comes_back() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(50.0, ms(1)));
    let cable = &lab.cables[0];
    assert_eq!(quick(&lab).received, 5);
    cable.set_up(false).unwrap();
    assert_eq!(quick(&lab).received, 0);
    cable.set_up(true).unwrap();
    assert_eq!(quick(&lab).received, 5);
    cable.set_direction_up(Direction::Backward, false).unwrap();
    assert_eq!(quick(&lab).received, 0);
    let counters = cable.counters().unwrap();
    assert!(counters.forward.dropped_down >= 5 && counters.backward.dropped_down >= 5, "{counters:?}");
}

#[test]
fn settings_change_under_way() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(50.0, ms(1)));
    let cable = &lab.cables[0];
    cable.set_delay(Direction::Forward, ms(30), Duration::ZERO).unwrap();
    let slower = quick(&lab);
    assert!(slower.received == 5 && slower.round_trips[0] >= ms(31), "{slower:?}");
    cable.set_loss(Direction::Both, Loss::percent(100.0)).unwrap();
    assert_eq!(quick(&lab).received, 0);
    cable.set_loss(Direction::Both, Loss::None).unwrap();
    cable.set_duplication(Direction::Forward, 1.0).unwrap();
    assert_eq!(quick(&lab).duplicates, 5);
    cable.set_duplication(Direction::Forward, 0.0).unwrap();
    cable.set_corruption(Direction::Forward, 1.0).unwrap();
    assert_eq!(quick(&lab).received, 0, "checksums find the damage");
    cable.set_corruption(Direction::Forward, 0.0).unwrap();
    let refused = cable.set_rate(Direction::Both, Rate::mbps(0.0)).unwrap_err();
    assert!(refused.to_string().contains("0 bit/s"), "{refused}");
}

#[test]
fn hidden_damage_reaches_the_application() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(50.0, ms(1)));
    let bind = |ns: &ropewalk_lab::Namespace, address: &str| {
        let socket = ns.run(|| std::net::UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(ms(300))).unwrap();
        socket
    };
    let receiver = bind(&lab.gateway, "10.1.1.2:7000");
    let sender = bind(&lab.client, "10.1.1.1:7000");
    let message = [7u8; 200];
    let arrives = || {
        sender.send_to(&message, "10.1.1.2:7000").unwrap();
        let mut buffer = [0; 300];
        receiver.recv(&mut buffer).ok().map(|len| buffer[..len].to_vec())
    };
    assert_eq!(arrives().as_deref(), Some(&message[..]));
    lab.cables[0].set_corruption(Direction::Forward, 1.0).unwrap();
    assert_eq!(arrives(), None);
    lab.cables[0].set_damage(Damage::Hidden).unwrap();
    let harmed = arrives().expect("the checksum fits");
    let flipped: u32 = harmed.iter().zip(&message).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!((harmed.len(), flipped), (200, 1));
}

#[test]
fn long_packets_vanish_in_a_black_hole() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec { mtu_blackhole: Some(1400), ..LinkSpec::default() });
    let ping = Ping::new(Paths::gateway_address(1)).count(3).interval(ms(5)).timeout(ms(200));
    // 20 bytes of IP header and 8 of ICMP.
    assert_eq!(ping.payload(1372).run(&lab.client).unwrap().received, 3);
    assert_eq!(ping.payload(1373).run(&lab.client).unwrap().received, 0);
    assert_eq!(lab.cables[0].counters().unwrap().forward.dropped_mtu, 3);
}

#[test]
fn a_tcp_flow_gets_the_rate_and_stalls_with_the_cable() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(20.0, ms(5)));
    on_time(|| {
        let flow = Iperf::tcp(Paths::gateway_address(1)).seconds(3).interval(0.1);
        let flow = flow.start(&lab.client, &lab.gateway).unwrap();
        std::thread::sleep(ms(1200));
        lab.cables[0].set_up(false).unwrap();
        std::thread::sleep(ms(600));
        lab.cables[0].set_up(true).unwrap();
        let report = flow.finish().unwrap();
        assert!(report.mean_between(0.3, 0.9) < 20.0 && report.longest_stall_s() >= 0.4, "{report:?}");
        assert!(report.retransmits > 0, "{report:?}");
        let kept = report.mean_between(0.3, 0.9) >= 16.0 && report.longest_stall_s() < 1.6;
        if kept && report.received_mbps > 5.0 { Ok(()) } else { Err(format!("{report:?}")) }
    });
    let reverse = Iperf::tcp(Paths::gateway_address6(1)).seconds(1).reverse();
    let reverse = reverse.run(&lab.client, &lab.gateway).unwrap();
    assert!((12.0..20.5).contains(&reverse.received_mbps), "{reverse:?}");
    let udp = Iperf::udp(Paths::gateway_address(1), 10.0, 1200).seconds(1);
    let seen = udp.run(&lab.client, &lab.gateway).unwrap().udp.unwrap();
    assert!(seen.packets > 900 && seen.lost == 0 && seen.out_of_order == 0, "{seen:?}");
}

#[test]
fn codel_marks_flows_that_ask_for_it() {
    if !possible() {
        return;
    }
    let aqm = Aqm { ecn: true, ..Aqm::default() };
    let queue = QueueSpec::Codel { limit: Limit::Packets(1000), aqm };
    let lab = one(LinkSpec::new(20.0, ms(10)).queue(queue));
    lab.client.sysctl("net.ipv4.tcp_ecn", "1").unwrap();
    let ping = Ping::new(Paths::gateway_address(1)).count(150).start(&lab.client);
    let flow = Iperf::tcp(Paths::gateway_address(1)).seconds(3).run(&lab.client, &lab.gateway).unwrap();
    let counters = lab.cables[0].counters().unwrap().forward;
    assert!(counters.marked > 0 && flow.received_mbps > 14.0, "{counters:?} {flow:?}");
    let ping = ping.join().unwrap().unwrap();
    assert!(ping.received >= 145 && ping.median() < ms(45), "{:?}", ping.median());
}

#[test]
fn a_middle_namespace_translates_addresses() {
    if !possible() {
        return;
    }
    let lab = Topology::new().unwrap();
    let [client, nat, server] = ["client", "nat", "server"].map(|label| lab.namespace(label).unwrap());
    let spec = || CableSpec::symmetric(LinkSpec::new(100.0, ms(1)));
    lab.cable(
        (&client, End::new("wan1", ["192.168.1.2/24"])),
        (&nat, End::new("lan", ["192.168.1.1/24"])),
        spec(),
    )
    .unwrap();
    lab.cable((&nat, End::new("wan", ["10.2.1.1/24"])), (&server, End::new("wan1", ["10.2.1.2/24"])), spec())
        .unwrap();
    client.ip(&["route add default via 192.168.1.1"]).unwrap();
    nat.sysctl("net.ipv4.ip_forward", "1").unwrap();
    nat.shell(
        "nft add table ip nat && nft 'add chain ip nat post { type nat hook postrouting priority 100; }' \
         && nft add rule ip nat post oifname wan masquerade",
    )
    .unwrap();
    let ping = Ping::new("10.2.1.2".parse().unwrap()).count(3);
    assert_eq!(ping.run(&client).unwrap().received, 3);
    assert!(server.shell("ip route get 192.168.1.2").is_err(), "the server knows no way inside");
}

#[test]
fn a_veth_pair_is_a_plain_cable() {
    if !possible() {
        return;
    }
    let lab = Topology::new().unwrap();
    let (a, b) = (lab.namespace("a").unwrap(), lab.namespace("b").unwrap());
    let ends = (End::new("eth0", ["10.3.0.1/24"]), End::new("eth0", ["10.3.0.2/24"]));
    lab.veth((&a, ends.0), (&b, ends.1)).unwrap();
    assert!(Ping::new("10.3.0.2".parse().unwrap()).run(&a).unwrap().received >= 9);
}

#[test]
fn time_is_kept_on_an_idle_machine() {
    if !possible() {
        return;
    }
    let lab = one(LinkSpec::new(50.0, ms(5)));
    lab.topology.reset_lateness().unwrap();
    let begin = Instant::now();
    Ping::new(Paths::gateway_address(1)).count(100).interval(ms(2)).run(&lab.client).unwrap();
    assert!(begin.elapsed() >= ms(200));
    let lateness = lab.topology.lateness().unwrap();
    assert!(lateness.count() >= 200, "{lateness}");
    // Other tests run beside this one, so this is no measurement.
    assert!(lateness.quantile(0.5) < ms(5), "{lateness}");
}
