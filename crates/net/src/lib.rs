//! The Linux driver: it does what the engine decided, and decides nothing.
//!
//! # The life of a daemon, in calls
//!
//! 1. [`privileges::check`] says in one sentence what is missing.
//! 2. [`setup::Journal::open_in`] takes back what a killed predecessor left, and will note what we change.
//! 3. [`tun::Tun::open`] makes the device; [`setup::configure`] gives it addresses, an MTU and brings it up.
//! 4. [`links::Follower`] lists the interfaces and follows them;
//!    [`nat64::reached_as`] tells by which address each reaches an endpoint; a [`udp::UdpSocket`]
//!    bound to the interface and marked with [`setup::MARK`] makes a path, and
//!    [`setup::reverse_path`] lets its answers in.
//! 5. [`setup::Routes`] sends networks, or everything, into the bond. [`dns::set`] and, on a gateway, [`nat::masquerade`] do the
//!    rest. [`setup::LanRoutes`] and [`advertise`] are for a network behind a client.
//!    [`feedback::open`] finds who tells how the link under a path does.
//! 6. [`priority::raise`] puts the daemon before the programs it works for. [`privileges::drop_all_but_network`] gives up what is not needed any more; [`service::ready`] tells systemd.
//! 7. [`poll::Poller`] waits for all of them; [`clock::now`] is the time that the engine is told. Packets go through
//!    [`tun::Tun::recv`] → engine → [`udp::UdpSocket::send`], and [`udp::UdpSocket::recv`] → engine → [`tun::Tun::send`]. None of
//!    these four allocates.
//! 8. At the end [`setup::Journal::restore`]; after `kill -9`, point 2 of the next start.
//!
//! Sockets, devices and changes belong to the network namespace of the thread that opens or makes them.
//!
//! Errors are one enum per module, each a sentence for people. `unsafe` is used for the system calls that
//! `rustix` has no words for, each block with its reason.

pub mod advertise;
pub mod channel;
pub mod clock;
mod command;
pub mod dhcp;
pub mod dns;
pub mod feedback;
#[doc(hidden)]
pub mod fuzzing;
mod genl;
pub mod hwsim;
pub mod links;
pub mod monitor;
pub mod mptcp;
pub mod nat;
pub mod nat64;
mod netlink;
mod nft;
pub mod offloads;
pub mod patience;
pub mod peer;
pub mod pep;
pub mod poll;
pub mod priority;
pub mod privileges;
pub mod service;
pub mod setup;
pub mod stream;
pub mod subflows;
pub mod tcp_info;
pub mod tls;
pub mod tun;
pub mod udp;
pub mod wifi;
mod wpa_ctrl;

pub use command::{CommandError, locate};
