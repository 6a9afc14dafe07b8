//! Talking to systemd (`sd_notify(3)`); silent where it is not listening.

use std::time::Duration;

use sd_notify::NotifyState;

/// The service is up.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// The service reads its configuration again; [`ready`] says when it is done.
pub fn reloading() {
    // systemd wants to know when the reload began, to tell it from an earlier one.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(_) => send(&[NotifyState::Reloading]),
    }
}

/// The service is about to end.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// One line about the state of things, for `systemctl status`.
pub fn status(line: &str) {
    send(&[NotifyState::Status(line)]);
}

/// The service is alive.
pub fn alive() {
    send(&[NotifyState::Watchdog]);
}

/// How often [`alive`] should be called: a quarter of the time after which systemd loses patience, for a loop
/// may be late. `None` if systemd does not watch.
pub fn alive_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(alive_each)
}

/// The same where systemd loses patience after `limit`.
pub(crate) fn alive_each(limit: Duration) -> Duration {
    limit / 4
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "systemd was not told");
    }
}
