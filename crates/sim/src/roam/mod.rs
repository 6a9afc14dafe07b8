//! A client that is a station of several access points of one channel: what its radio hears, what
//! [`ropewalk_roam`] makes of it, and which of its stations join and leave.
//!
//! The radio monitors its channel. Frames go to the client as they are captured, beacons as they
//! are reported; a [`Driver`] decides every 100 ms and tells the air. Connections that follow the
//! client ([`crate::app`]) read its [`Client::links`].

mod client;
mod driver;
mod frame;
mod station;

pub use client::{Client, Policy, Settings};
pub use driver::Driver;
pub use station::{Figures, Station};

use std::cell::RefCell;
use std::rc::Rc;

/// A client that the air, its driver, its connections and whoever measures share.
pub type Shared = Rc<RefCell<Client>>;
