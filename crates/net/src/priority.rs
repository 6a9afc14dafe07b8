//! How soon the kernel lets a daemon run where other programs want the processor too.
//!
//! A kernel's own tunnels work in softirqs, before any program. A daemon that has to wait for its turn behind the very programs that it
//! carries packets for is late twice: at both ends, for each packet. With two processors and one TCP flow a client and a gateway at niceness −10
//! carried 16 % more than at 0 (`tests/examples/veth`).

use rustix::io::Errno;
use rustix::process::{getpriority_process, setpriority_process};

/// The niceness of the calling thread after [`raise`], and who chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// We did.
    Set(i32),
    /// Whoever started the program: `nice`, or `Nice=` of a systemd unit.
    Given(i32),
    /// Nobody: it is 0, since another needs `CAP_SYS_NICE`.
    NotPermitted,
}

/// Gives the calling thread, and those that it starts later, the niceness `nice`, −20 (first) to 19, unless it has one other than 0 already.
///
/// # Errors
/// Those of getpriority(2) and setpriority(2), but for a missing right.
pub fn raise(nice: i32) -> std::io::Result<Priority> {
    let given = getpriority_process(None)?;
    if given != 0 || nice == 0 {
        return Ok(Priority::Given(given));
    }
    match setpriority_process(None, nice) {
        Ok(()) => Ok(Priority::Set(nice)),
        Err(Errno::ACCESS | Errno::PERM) => Ok(Priority::NotPermitted),
        Err(e) => Err(e.into()),
    }
}

/// Makes the calling thread nicer by `steps`. That needs no right.
///
/// # Errors
/// Those of getpriority(2) and setpriority(2).
pub fn lower(steps: i32) -> std::io::Result<()> {
    Ok(setpriority_process(None, (getpriority_process(None)? + steps).min(19))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_chose_stays() {
        // On a thread of its own: niceness is a thread's. Less of it needs no right.
        let (first, second) = std::thread::spawn(|| {
            setpriority_process(None, 5).unwrap();
            (raise(7).unwrap(), getpriority_process(None).unwrap())
        })
        .join()
        .unwrap();
        assert_eq!((first, second), (Priority::Given(5), 5));
    }

    #[test]
    fn nobody_s_choice_is_ours() {
        let (before, outcome, after) = std::thread::spawn(|| {
            (getpriority_process(None).unwrap(), raise(3).unwrap(), getpriority_process(None).unwrap())
        })
        .join()
        .unwrap();
        let expected = if before == 0 { (Priority::Set(3), 3) } else { (Priority::Given(before), before) };
        assert_eq!((outcome, after), expected);
    }
}
