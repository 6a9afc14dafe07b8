//! A path that carries nothing for now, since it is a backup or far too slow, makes no flow wait.

use crate::common::{flow, run};

/// The mean round trip of one TCP flow over 20 Mb/s and 10 ms, ms; `second` is the text of another
/// path, and its delay in ms.
fn round_trip(second: Option<(&str, u32)>) -> f64 {
    let link = |name: &str, ms: u32| {
        format!(
            "[[link]]\nname = \"{name}\"\nends = [\"client:{name}\", \"gateway:{name}\"]\n\
             rate = \"20Mbit/s\"\ndelay = \"{ms}ms\"\n"
        )
    };
    let other = second.map(|(_, ms)| link("other", ms)).unwrap_or_default();
    let path = second.map_or(String::new(), |(class, _)| {
        format!("[[bond.rw0.paths]]\ninterface = \"other\"\nclass = \"{class}\"\n")
    });
    let report = run(&format!(
        "seed = 1\nduration = \"12s\"\nwarmup = \"5s\"\n[node.client]\n[node.gateway]\n{}{other}\
         [bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\n\
         [[bond.rw0.paths]]\ninterface = \"one\"\n{path}\
         [[flow]]\nname = \"up\"\nkind = \"tcp\"\nfrom = \"client:rw0\"\nto = \"gateway:rw0\"\n",
        link("one", 10),
    ));
    flow(&report, "up").rtt_ms.expect("it has a round trip")
}

#[test]
fn what_carries_nothing_makes_no_flow_wait() {
    let alone = round_trip(None);
    assert!(alone < 50.0, "{alone} ms");
    for second in [("backup", 30), ("backup", 280), ("active", 280)] {
        let beside = round_trip(Some(second));
        assert!(beside < alone * 1.5, "{beside} ms beside {second:?}, {alone} ms alone");
    }
    // What carries is waited for, as long as it is slower.
    assert!(round_trip(Some(("active", 60))) > alone * 1.5);
}
