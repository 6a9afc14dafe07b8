//! What processes use: memory and processor time, from /proc (proc(5)).

use std::collections::HashSet;
use std::fs;

/// Ticks per second of the times in /proc: always 100 on Linux for user space.
const TICKS: f64 = 100.0;

/// Resident memory of a process in MiB.
pub fn resident_mib(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Resident memory of a process in MiB, without its program, and without mappings of 16 MiB and more: what it has from its
/// allocator. A daemon's packet memory is in such mappings, reserved at its start.
pub fn heap_mib(pid: u32) -> Option<f64> {
    let (mut counts, mut kib) = (false, 0.0);
    for line in fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Size:", size, _] => counts &= size.parse::<u64>().ok()? < 16 << 10,
            ["Rss:", resident, _] if counts => kib += resident.parse::<f64>().ok()?,
            // Of a mapping: its place, rights, offset, device, inode, and a name if it has one.
            [place, _, _, _, inode, ..] if place.contains('-') => counts = *inode == "0",
            _ => {}
        }
    }
    Some(kib / 1024.0)
}

/// Processor time of a process so far, in s: its own code and the kernel for it, in steps of 10 ms.
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    Stat::of(pid).map(|stat| stat.own)
}

/// Processor time of one thread of a process so far, in s.
pub fn thread_seconds(pid: u32, thread: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    // Nanoseconds that it ran, nanoseconds that it waited, times that it ran.
    let ran: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(ran / 1e9)
}

/// The thread of a process that has this name.
pub fn thread_named(pid: u32, name: &str) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find(|thread| {
        fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).is_ok_and(|comm| comm.trim() == name)
    })
}

/// Processor time so far, in s, of all processes but this one and those that come from it. What disturbs a
/// measurement is the difference of two of these.
pub fn cpu_seconds_of_others() -> f64 {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: Vec<(u32, Stat)> = pids.filter_map(|pid| Some((pid, Stat::of(pid)?))).collect();
    let mut ours = HashSet::from([std::process::id()]);
    // Children have larger numbers than their parents, unless the numbers have wrapped around: then twice may not do,
    // and a child more is counted as another's.
    for _ in 0..2 {
        for (pid, stat) in &all {
            if ours.contains(&stat.parent) {
                ours.insert(*pid);
            }
        }
    }
    all.iter().filter(|(pid, _)| !ours.contains(pid)).map(|(_, stat)| stat.own + stat.children).sum()
}

struct Stat {
    parent: u32,
    /// Of its own threads.
    own: f64,
    /// Of children that have ended and been waited for.
    children: f64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, so what follows its last parenthesis is taken: field 3 is the first.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Stat {
            parent: field(4)? as u32,
            own: (field(14)? + field(15)?) / TICKS,
            children: (field(16)? + field(17)?) / TICKS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ALONE: &str = "ROPEWALK_TEST_ALONE";

    #[test]
    fn this_process_uses_something() {
        // Other tests of the same process take memory and give it back meanwhile: it runs once more, alone.
        if std::env::var_os(ALONE).is_none() {
            let mut alone = Command::new(std::env::current_exe().unwrap());
            alone.args(["--exact", "usage::tests::this_process_uses_something"]).env(ALONE, "1");
            let out = alone.output().unwrap();
            let said = String::from_utf8_lossy(&out.stdout);
            assert!(out.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let pid = std::process::id();
        assert!(resident_mib(pid).is_some_and(|mib| mib > 0.1));
        let (heap, large) = (heap_mib(pid).unwrap(), vec![1_u8; 40 << 20]);
        let small: Vec<Vec<u8>> = (0..100).map(|_| vec![1_u8; 100 << 10]).collect();
        let grown = heap_mib(pid).unwrap() - heap;
        assert!((8.0..30.0).contains(&grown), "{grown} MiB for {} and {}", small.len(), large.len());
        assert!(cpu_seconds(pid).is_some());
        assert!(thread_seconds(pid, pid).is_some());
        let named = std::thread::Builder::new().name("a-thread".into());
        let found = named.spawn(move || thread_named(pid, "a-thread")).unwrap().join().unwrap();
        assert!(found.is_some_and(|thread| thread != pid) && thread_named(pid, "nobody").is_none());
        assert!(cpu_seconds_of_others() >= 0.0);
    }
}
