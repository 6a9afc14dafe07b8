//! Fleets for rows: an etcd whose nodes may be killed, and gateways with their clients around it.

mod certificates;
pub(crate) mod etcd;
pub(crate) mod numbers;
pub(crate) mod world;
