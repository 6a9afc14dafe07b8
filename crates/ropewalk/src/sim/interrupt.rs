//! Ctrl-C: the first asks runs to end, the second ends the program.

use crate::exit::Code;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// True from the first SIGINT or SIGTERM on.
pub(crate) fn watch() -> anyhow::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order counts: at the second signal the flag is set already, and the program ends.
        let code = Code::Interrupted as i32;
        signal_hook::flag::register_conditional_shutdown(signal, code, asked.clone())
            .context("signals cannot be watched")?;
        signal_hook::flag::register(signal, asked.clone()).context("signals cannot be watched")?;
    }
    Ok(asked)
}
