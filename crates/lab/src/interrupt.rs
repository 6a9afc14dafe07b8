//! Ctrl-C: a run that is interrupted leaves nothing behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{LabError, Result, registry};

/// From now on SIGINT, SIGTERM and SIGHUP remove every namespace of this process, with the processes in them, and its
/// output files, and then end the process as the signal would have (status 128 + signal for a shell). For programs that
/// have nothing else to save; others drop their [`Topology`](crate::Topology).
pub fn clean_on_interrupt() -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(LabError::kernel("watch for signals"))?;
    std::thread::Builder::new()
        .name("rw-interrupt".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                registry::remove_everything();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })
        .map(drop)
        .map_err(LabError::kernel("start the thread that watches for signals"))
}
