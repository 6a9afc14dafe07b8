//! A receiver that steers the sender of its MPTCP connection: the decisions of
//! [`ropewalk_roam::steer`], as the simulator goes by them, on the kernel's subflows.
//!
//! CE marks are those of the BPF program at the stations' ingress (`ropewalk_kern::marks`), MP_PRIO
//! is sent by the kernel's path manager. Packet times are the medium's, as in the simulator: no
//! station of the lab measures them.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_kern::KernError;
use ropewalk_kern::marks::{Marks, Subflow};
use ropewalk_net::mptcp::{self, Endpoint};
use ropewalk_net::tcp_info::SubflowInfo;
use ropewalk_roam::steer::{EVERY, Steer};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Flow;
use ropewalk_sim::BuildError;
use ropewalk_sim::build::{mark_law, steered_stations};

use super::hosts::Hosts;
use super::paths::Home;
use crate::{LabError, Namespace, Result};

/// A station of an access point, and its subflow.
#[derive(Debug)]
struct Station {
    address: Ipv4Addr,
    /// The number of its interface.
    index: u32,
    /// Payload that has come by its subflow, bytes.
    bytes: u64,
}

/// Steers one connection.
pub(crate) struct Steering {
    namespace: Namespace,
    stations: Vec<Station>,
    /// Subflows in the order of stations.
    steer: Steer,
    /// The program, if there are marks; it is detached with this.
    marks: Option<Marks>,
    next: Time,
}

impl Steering {
    /// How a flow's receiver steers, if it does: loads and attaches the program that marks. `homes`
    /// are the interfaces that get subflows.
    ///
    /// # Errors
    /// The receiver has no access points to choose from, or no subflows by two of them; the kernel
    /// refuses the program.
    pub(crate) fn of(
        scenario: &Scenario,
        flow: &Flow,
        homes: &[Home],
        hosts: &impl Hosts,
    ) -> Result<Option<Steering>> {
        let Some(spec) = &flow.steering else { return Ok(None) };
        let node = flow.to.split(':').next().unwrap_or(&flow.to);
        let namespace = hosts.namespace(node)?;
        let (mut stations, mut times) = (Vec::new(), Vec::new());
        for (name, packet_time) in steered_stations(scenario, flow)? {
            let Some((_, address)) = homes.iter().find(|home| home.0 == name) else { continue };
            let index = index_of(&namespace, &hosts.device(&name))?;
            stations.push(Station { address: *address, index, bytes: 0 });
            times.push(Some(packet_time));
        }
        if stations.len() < 2 {
            let sentence = "two of the receiver's stations have to have subflows; name them in `paths`";
            return Err(BuildError::new(format!("flow.{}.steering", flow.name), sentence).into());
        }
        let law = mark_law(spec);
        let marks = law.map(|_| attach(&namespace, &stations)).transpose()?;
        let steer = Steer::new(&times, law, spec.priority);
        Ok(Some(Steering { namespace, stations, steer, marks, next: Time::ZERO }))
    }

    /// Looks at the receiver's subflows and decides anew, when that is due. Gives what makes the
    /// flow's figures worth nothing.
    pub(crate) fn step(
        &mut self,
        now: Time,
        subflows: impl FnOnce() -> Vec<SubflowInfo>,
    ) -> Result<(), String> {
        if now < self.next {
            return Ok(());
        }
        self.next = now + EVERY;
        let (subflows, since_start) = (subflows(), Duration::from_nanos(now.as_nanos()));
        for index in 0..self.stations.len() {
            self.take(index, &subflows, since_start)?;
        }
        for (index, backup) in self.steer.decide(since_start) {
            let Station { address, index: interface, .. } = self.stations[index];
            let endpoint = Endpoint { address: address.into(), index: interface };
            let set = self.namespace.run(|| mptcp::set_backup(&endpoint, backup));
            let failed = |error: String| format!("MP_PRIO of the subflow by {address}: {error}");
            set.map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
            self.steer.on_backup(index, backup);
        }
        for index in 0..self.stations.len() {
            self.set_policy(index, &subflows).map_err(|error| format!("marks: {error}"))?;
        }
        Ok(())
    }

    /// Takes what the kernel says of the subflow by a station.
    fn take(&mut self, index: usize, all: &[SubflowInfo], now: Duration) -> Result<(), String> {
        let station = &mut self.stations[index];
        let Some(info) = all.iter().find(|s| *s.local.ip() == station.address) else { return Ok(()) };
        let tcp = &info.tcp;
        // One that is still being opened says nothing, nor one by which nothing has come since.
        if tcp.bytes_received == station.bytes {
            return Ok(());
        }
        if self.marks.is_some() && !tcp.has_ecn {
            return Err(format!("the subflow by {} has no ECN, so nothing of it is marked", station.address));
        }
        station.bytes = tcp.bytes_received;
        let subflow = self.steer.subflow(index);
        // The kernel does not count them for who receives.
        subflow.packets = tcp.bytes_received / u64::from(tcp.mss.max(1));
        subflow.trips.on_sample(tcp.rtt_at_receiver, now);
        // It says that it has none by the largest number.
        if tcp.rtt_min.as_micros() < u32::MAX.into() {
            subflow.trips.on_least(tcp.rtt_min);
        }
        Ok(())
    }

    /// Tells the program which share of a subflow is to be marked.
    fn set_policy(&mut self, index: usize, all: &[SubflowInfo]) -> Result<(), KernError> {
        let (Some(marks), station) = (&mut self.marks, &self.stations[index]) else { return Ok(()) };
        let Some(info) = all.iter().find(|s| *s.local.ip() == station.address) else { return Ok(()) };
        let subflow = self.steer.subflow(index);
        let spacing = subflow.trips.smoothed().unwrap_or_default();
        let name = Subflow { from: SocketAddr::V4(info.remote), to: SocketAddr::V4(info.local) };
        marks.set_policy(name, subflow.marker.rate(), spacing).map(drop)
    }
}

/// The number of an interface of a namespace.
fn index_of(namespace: &Namespace, device: &str) -> Result<u32> {
    let ask = || {
        use rustix::net::{AddressFamily, SocketType, netdevice, socket};
        netdevice::name_to_index(socket(AddressFamily::INET, SocketType::DGRAM, None)?, device)
    };
    namespace.run(ask)?.map_err(LabError::kernel(format!("find {device} in {}", namespace.label())))
}

/// Loads the program that marks and attaches it to the stations.
fn attach(namespace: &Namespace, stations: &[Station]) -> Result<Marks> {
    let load = || {
        let mut marks = Marks::load()?;
        stations.iter().try_for_each(|station| marks.attach(station.index))?;
        Ok::<_, KernError>(marks)
    };
    namespace.run(load)?.map_err(LabError::Marks)
}
