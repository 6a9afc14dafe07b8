//! What goes to a gateway's clients, shaped at the bond's device (HTB, tc-htb(8)): a class for each
//! client with a cap; and where the line's rate is known, a class for each client, all under one of
//! that rate.
//!
//! Such a class has the client's part of the line as its rate, so that little traffic never waits
//! for much. It borrows what others leave, in proportion to shares (its quantum).

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use super::SetupError;
use super::grants::{Grants, Limit};
use super::uploads::BURST;
use crate::command::Tool;

/// The handle of the queueing discipline, as tc writes it.
pub(super) const HANDLE: &str = "628";
const OURS: &str = "qdisc htb 628:";
/// The class of the whole line.
const LINE: u16 = u16::MAX;
/// The class of all clients together that have none of their own.
const OTHERS: u16 = LINE - 1;
/// Bytes of a super-packet. A class sends one at least, however small its quantum is.
const SUPER_PACKET: u64 = 64_000;
/// The largest quantum, bytes: all others wait for it.
const QUANTUM_MAX: u64 = 640_000;
/// Bytes that all queues together may hold, but for what each has at least.
const ALL_QUEUES: u64 = 64_000_000;
/// The least that one queue may hold, bytes.
const QUEUE_MIN: u64 = 256_000;
/// The most.
const QUEUE_MAX: u64 = 4_000_000;
/// The least rate of a class: the kernel has 32 bits for the time that a burst takes.
const RATE_MIN_BPS: u64 = 1_000;
const TC: Tool = Tool {
    program: "tc",
    purpose: "bounding clients' rates (`ropewalk limit`, `serve --down-rate`)",
    package: "iproute2",
};

/// Parameters of a class, as HTB names them: bits a second, and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    rate_bps: u64,
    ceil_bps: u64,
    quantum: u64,
}

impl Class {
    fn exactly(bps: u64) -> Class {
        Class { rate_bps: bps, ceil_bps: bps, quantum: SUPER_PACKET }
    }

    /// As tc has it.
    fn words(self) -> String {
        // A timer that comes late by less than 2 ms costs no rate.
        let burst = |bps: u64| (bps / 8 / 500).max(3_000);
        let Class { rate_bps, ceil_bps, quantum } = self;
        format!(
            "htb rate {rate_bps}bit ceil {ceil_bps}bit quantum {quantum} burst {} cburst {}",
            burst(rate_bps),
            burst(ceil_bps)
        )
    }
}

impl Grants {
    /// Gives each limit the class that its client had in `stood`, or one that nobody had: so the
    /// packets of all others wait on.
    pub fn number(&mut self, stood: Option<&Grants>) {
        let old: BTreeMap<Option<IpNet>, u16> =
            stood.into_iter().flat_map(|s| &s.limits).map(|l| (client(l), l.class)).collect();
        let taken: BTreeSet<u16> = old.values().copied().collect();
        let mut fresh = (1..OTHERS).filter(|class| !taken.contains(class));
        for limit in &mut self.limits {
            let had = old.get(&client(limit)).copied();
            // There are fewer clients than numbers.
            limit.class = had.or_else(|| fresh.next()).unwrap_or(OTHERS);
        }
    }
}

/// By what a client is known again: the first of its addresses.
fn client(limit: &Limit) -> Option<IpNet> {
    limit.networks.first().copied()
}

/// The classes of clients, by number.
pub(super) fn classes(grants: &Grants) -> BTreeMap<u16, Class> {
    let limits = &grants.limits;
    let Some(line) = grants.line_bps else {
        return limits.iter().filter_map(|l| Some((l.class, Class::exactly(l.down_bps?)))).collect();
    };
    let shares = || limits.iter().map(|l| u64::from(l.share)).chain([1]);
    let (all, largest) = (shares().sum::<u64>(), shares().max().unwrap_or(1));
    let class = |share: u64, cap: Option<u64>| {
        let ceil_bps = cap.map_or(line, |cap| cap.min(line));
        let rate_bps = (line * share / all).min(ceil_bps).max(RATE_MIN_BPS);
        Class { rate_bps, ceil_bps, quantum: share * SUPER_PACKET.min(QUANTUM_MAX / largest) }
    };
    let of = |l: &Limit| (l.class, class(l.share.into(), l.down_bps));
    limits.iter().map(of).chain([(OTHERS, class(1, None))]).collect()
}

/// Shapes what leaves by the device as `wanted` has it, in place of what `stood`, if that is known.
/// All of it vanishes with the device. Packets wait on in classes that stay.
pub(super) fn shape(stood: Option<&Grants>, wanted: &Grants) -> Result<(), SetupError> {
    let device = wanted.device.as_str();
    let (mut before, after) = (stood.map(classes).unwrap_or_default(), classes(wanted));
    if !before.is_empty() && before == after {
        return Ok(());
    }
    if before.is_empty() || after.is_empty() {
        before.clear();
        if TC.run(&["qdisc", "show", "dev", device, "root"], "").unwrap_or_default().contains(OURS) {
            TC.run(&["qdisc", "del", "dev", device, "root"], "")?;
        }
    }
    if after.is_empty() {
        return Ok(());
    }
    TC.run(&["-batch", "-"], &changes(wanted, &before, &after))?;
    if let Err(error) = TC.run(&["-batch", "-"], &queues(device, &before, &after, fair)) {
        if before.is_empty() {
            tracing::warn!(
                "{error}: clients have one short queue each, not FQ-CoDel (`modprobe sch_fq_codel`)"
            );
        }
        TC.run(&["-batch", "-"], &queues(device, &before, &after, |class, _, _| short(class)))?;
    }
    Ok(())
}

/// CoDel is slow to shorten a flood, so there are limits: there may be a thousand queues. A client
/// has few flows at once, and their number cannot be changed later.
fn fair(class: &Class, queue_max: u64, is_new: bool) -> String {
    let bytes = (class.ceil_bps / 8 / 4).clamp(QUEUE_MIN, queue_max);
    let flows = if is_new { " flows 256" } else { "" };
    format!("fq_codel limit 1000 memory_limit {bytes}{flows}")
}

/// Where the kernel has no FQ-CoDel.
fn short(class: &Class) -> String {
    format!("bfifo limit {}", (class.rate_bps / 8 / 4).max(BURST))
}

/// What makes the classes `after` of those `before`; of none, the whole tree.
fn changes(wanted: &Grants, before: &BTreeMap<u16, Class>, after: &BTreeMap<u16, Class>) -> String {
    let (device, mut all) = (&wanted.device, String::new());
    let (parent, default) = match wanted.line_bps {
        Some(_) => (format!("{HANDLE}:{LINE:x}"), OTHERS),
        None => (format!("{HANDLE}:"), 0),
    };
    if before.is_empty() {
        all.push_str(&format!("qdisc add dev {device} root handle {HANDLE}: htb default {default:x}\n"));
        if let Some(line) = wanted.line_bps {
            let line = Class::exactly(line).words();
            all.push_str(&format!("class add dev {device} parent {HANDLE}: classid {parent} {line}\n"));
        }
    }
    for class in before.keys().filter(|class| !after.contains_key(*class)) {
        all.push_str(&format!("class del dev {device} classid {HANDLE}:{class:x}\n"));
    }
    for (class, new) in after.iter().filter(|(class, new)| before.get(*class) != Some(*new)) {
        let words = new.words();
        all.push_str(&format!(
            "class replace dev {device} parent {parent} classid {HANDLE}:{class:x} {words}\n"
        ));
    }
    all
}

/// What a queue may hold where there are these, bytes. It seldom changes as clients come and go.
fn queue_max(classes: &BTreeMap<u16, Class>) -> u64 {
    let count = (classes.len() as u64).next_power_of_two();
    (ALL_QUEUES / count).clamp(QUEUE_MIN, QUEUE_MAX)
}

/// The queue in each class that is new, or whose queue may be longer or shorter than before.
fn queues(
    device: &str,
    before: &BTreeMap<u16, Class>,
    after: &BTreeMap<u16, Class>,
    kind: impl Fn(&Class, u64, bool) -> String,
) -> String {
    let (queue_max, old_max) = (queue_max(after), queue_max(before));
    let queue = |(number, class): (&u16, &Class)| {
        let old = before.get(number);
        if old.is_some_and(|old| (old.ceil_bps, old_max) == (class.ceil_bps, queue_max)) {
            return None;
        }
        let verb = if old.is_some() { "change" } else { "add" };
        let kind = kind(class, queue_max, old.is_none());
        Some(format!("qdisc {verb} dev {device} parent {HANDLE}:{number:x} {kind}\n"))
    };
    after.iter().filter_map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1_000_000;

    fn limit(last: u8, down_bps: Option<u64>, share: u8) -> Limit {
        let networks = vec![IpNet::new_assert([10, 77, 0, last].into(), 32)];
        Limit { networks, down_bps, up_bps: None, share, class: 0 }
    }

    fn grants(line_bps: Option<u64>, limits: Vec<Limit>) -> Grants {
        let mut grants = Grants { device: "rw0".into(), limits, line_bps, ..Grants::default() };
        grants.number(None);
        grants
    }

    #[test]
    fn caps_are_classes() {
        let none = BTreeMap::new();
        let capped = grants(None, vec![limit(2, Some(10 * M), 1), limit(3, None, 4)]);
        let all = classes(&capped);
        let tree = changes(&capped, &none, &all);
        assert!(tree.starts_with("qdisc add dev rw0 root handle 628: htb default 0\n"), "{tree}");
        let class = "parent 628: classid 628:1 htb rate 10000000bit ceil 10000000bit quantum 64000 ";
        assert!(tree.contains(class) && tree.lines().count() == 2, "{tree}");
        assert_eq!(
            queues("rw0", &none, &all, |class, _, _| short(class)),
            "qdisc add dev rw0 parent 628:1 bfifo limit 312500\n"
        );
        let queue = "fq_codel limit 1000 memory_limit 312500 flows 256";
        assert_eq!(queues("rw0", &none, &all, fair), format!("qdisc add dev rw0 parent 628:1 {queue}\n"));
        assert!(classes(&grants(None, Vec::new())).is_empty());
    }

    #[test]
    fn a_line_is_divided_by_shares_and_borrowed_as_far_as_caps_let() {
        let capped = limit(4, Some(2 * M), 2);
        let line = grants(Some(50 * M), vec![limit(2, None, 1), limit(3, None, 6), capped]);
        let all = classes(&line);
        let class = |rate_bps, ceil_bps, quantum| Class { rate_bps, ceil_bps, quantum };
        // Others count as one.
        let expected = BTreeMap::from([
            (1, class(5 * M, 50 * M, 64_000)),
            (2, class(30 * M, 50 * M, 384_000)),
            (3, class(2 * M, 2 * M, 128_000)),
            (OTHERS, class(5 * M, 50 * M, 64_000)),
        ]);
        assert_eq!(all, expected);
        let tree = changes(&line, &BTreeMap::new(), &all);
        let lines: Vec<&str> = tree.lines().collect();
        assert_eq!(lines[0], "qdisc add dev rw0 root handle 628: htb default fffe");
        let whole = "class add dev rw0 parent 628: classid 628:ffff htb rate 50000000bit ceil 50000000bit ";
        assert!(lines[1].starts_with(whole), "{tree}");
        let first = "parent 628:ffff classid 628:1 htb rate 5000000bit ceil 50000000bit quantum 64000 ";
        assert!(lines[2].contains(first) && lines.len() == 6, "{tree}");
        let alone = classes(&grants(Some(M), Vec::new()));
        assert_eq!(alone, BTreeMap::from([(OTHERS, Class::exactly(M))]), "the first client finds a line");
    }

    #[test]
    fn no_quantum_is_larger_than_others_can_wait() {
        let line = grants(Some(50 * M), vec![limit(2, None, 1), limit(3, None, 100)]);
        let quanta: Vec<u64> = classes(&line).values().map(|class| class.quantum).collect();
        assert_eq!(quanta, [6_400, QUANTUM_MAX, 6_400]);
    }

    #[test]
    fn many_clients_on_a_narrow_line_have_rates_that_the_kernel_can_count() {
        let line = grants(Some(64_000), (2..250).map(|last| limit(last, None, 1)).collect());
        assert!(classes(&line).values().all(|class| class.rate_bps == RATE_MIN_BPS));
    }

    #[test]
    fn a_client_keeps_its_class_and_its_queue_when_others_come_and_go() {
        let before = grants(Some(40 * M), vec![limit(2, None, 1), limit(3, None, 1), limit(4, None, 1)]);
        let mut after = grants(Some(40 * M), vec![limit(1, None, 1), limit(3, None, 1), limit(4, None, 1)]);
        after.number(Some(&before));
        let numbers: Vec<u16> = after.limits.iter().map(|l| l.class).collect();
        assert_eq!(numbers, [4, 2, 3], "and nobody has another's at once");
        let (old, new) = (classes(&before), classes(&after));
        let commands = changes(&after, &old, &new);
        let lines: Vec<&str> = commands.lines().collect();
        assert_eq!(lines[0], "class del dev rw0 classid 628:1");
        assert!(lines.len() == 2 && lines[1].contains("classid 628:4 "), "{commands}");
        assert_eq!(queues("rw0", &old, &new, |_, _, _| "q".into()), "qdisc add dev rw0 parent 628:4 q\n");
    }

    #[test]
    fn a_queue_has_the_limits_of_the_cap_that_holds_now() {
        let of = |cap| classes(&grants(Some(40 * M), vec![limit(2, cap, 1), limit(3, None, 1)]));
        let (free, capped) = (of(None), of(Some(M)));
        let change = |bytes: u64| {
            format!("qdisc change dev rw0 parent 628:1 fq_codel limit 1000 memory_limit {bytes}\n")
        };
        assert_eq!(queues("rw0", &free, &capped, fair), change(256_000));
        assert_eq!(queues("rw0", &capped, &free, fair), change(1_250_000));
        let wide = |clients: u16| {
            let all: BTreeMap<u16, Class> = (1..=clients).map(|n| (n, Class::exactly(1_000 * M))).collect();
            fair(&all[&1], queue_max(&all), true)
        };
        assert_eq!(wide(1), "fq_codel limit 1000 memory_limit 4000000 flows 256");
        assert_eq!(wide(60), "fq_codel limit 1000 memory_limit 1000000 flows 256");
        assert_eq!(wide(1025), "fq_codel limit 1000 memory_limit 256000 flows 256");
    }
}
