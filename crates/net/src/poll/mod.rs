//! Waiting for descriptors, timers, other threads and signals in one place.

mod epoll;
mod signals;
mod sleep;
mod waker;

pub use epoll::{Events, Interest, Poller, Ready};
pub use signals::{Signal, Signals};
pub use sleep::{SleepWatch, Slept};
pub use waker::Waker;
