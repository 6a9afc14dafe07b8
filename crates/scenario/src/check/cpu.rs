//! Processors: times and queues that one can have.

use super::Judge;
use crate::file::NodeCpu;
use std::time::Duration;

/// More than any packet takes anywhere: a slip of the unit.
const LONGEST: Duration = Duration::from_secs(1);
/// The same for a byte. A packet of 64 KiB then takes a minute.
const LONGEST_BYTE: Duration = Duration::from_millis(1);
/// Packets of 1500 bytes in 150 MB.
const LONGEST_QUEUE: u32 = 100_000;

pub(super) fn check(judge: &mut Judge) {
    for (name, node) in &judge.scenario.node {
        if let Some(cpu) = &node.cpu {
            check_cpu(judge, &format!("node.{name}.cpu"), cpu);
        }
    }
}

fn check_cpu(judge: &mut Judge, key: &str, cpu: &NodeCpu) {
    judge.fail_if(cpu.per_packet.is_zero() && cpu.per_byte.is_zero(), format!("{key}.per-packet"), || {
        "packets would take no time; write more than \"0s\", or take `cpu` out".into()
    });
    for (time, most, below) in [
        (cpu.per_packet, LONGEST, "per-packet"),
        (cpu.per_byte, LONGEST_BYTE, "per-byte"),
        (cpu.per_interrupt, LONGEST, "per-interrupt"),
        (cpu.coalescing, LONGEST, "coalescing"),
    ] {
        judge.fail_if(time > most, format!("{key}.{below}"), || {
            format!("no machine is so slow; write at most \"{}ms\"", most.as_millis())
        });
    }
    judge.fail_if(!(1..=LONGEST_QUEUE).contains(&cpu.queue), format!("{key}.queue"), || {
        format!("from 1 to {LONGEST_QUEUE} packets can wait")
    });
}
