//! One interface with one access point: from joining, by an address, to traffic, and to leaving.

use super::beacons::Beacons;
use super::marks::{MarkStatus, Uplink};
use super::meter::Meter;
use super::monitor::{Measured, StationCounts};
use super::paths::Seen;
use super::phase::Phase;
use super::portal::{Answer, Probe};
use super::report::{AccessPoint, PacketBy};
use super::signal::MeanSignal;
use super::tunnels::{is_station, tunnel_around, tunnel_with};
use super::{plan, text};
use crate::config;
use crate::hooks::Joined;
use ipnet::Ipv4Net;
use ropewalk_net::links::{Link, Route};
use ropewalk_net::mptcp::{self, Endpoint};
use ropewalk_net::setup::{Change, Journal, StationAddress, StationNetwork};
use ropewalk_net::subflows::LeastRtts;
use ropewalk_net::wifi::{self, Association, Bss, Heard, Loss, StationInterface, Supplicant, mac_text};
use ropewalk_net::{clock, dhcp, dns};
use ropewalk_roam::rate::{expected_bps, packet_time};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Joining may take this long: a scan of one channel, authentication, keys.
const JOIN: Duration = Duration::from_secs(15);
/// And an address this long.
const ADDRESS: Duration = Duration::from_secs(30);
/// IPv6 alone is taken after this long.
const V6_ALONE: Duration = Duration::from_secs(10);
/// Between two probes of a portal that is shut.
const PROBE_AGAIN: Duration = Duration::from_secs(20);
/// First metric of routes in the main table: behind those of NetworkManager (600 for Wi-Fi) and of dhclient.
const METRIC: u32 = 2100;
/// A router's networks have so many bits at least: a site has 48 (RFC 6177 §2).
const WIDEST_V6: u8 = 48;

/// What a station works with.
pub(super) struct World<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) supplicant: &'a Supplicant,
    pub(super) roam: &'a config::Roam,
    pub(super) links: &'a [Link],
    /// Of the main table.
    pub(super) routes: &'a [Route],
    pub(super) mptcp: bool,
}

/// A station of ours.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) bss: Bss,
    pub(super) network: StationNetwork,
    interface: StationInterface,
    phase: Phase,
    since: Duration,
    dhcp: Option<dhcp::Client>,
    ipv4: Option<StationAddress>,
    /// The tunnel with a route around the network of that address.
    inside: Option<String>,
    resolver: Option<Change>,
    endpoints: Vec<Endpoint>,
    heard: Option<Heard>,
    signal: MeanSignal,
    beacons: Beacons,
    meter: Meter,
    /// The same by a monitor interface, if there is one.
    pub(super) by_monitor: Measured,
    pub(super) is_backup: bool,
    /// Of MPTCP's subflows by it, whosever they are.
    rtts: LeastRtts,
    marks: MarkStatus,
    /// So many beacons are missed, or packets lost, that nothing new is sent by it.
    is_silent: bool,
}

impl Station {
    /// Makes the interface and has it join.
    pub(super) fn join(
        world: &mut World<'_>,
        interface: StationInterface,
        number: u32,
        bss: Bss,
        network: &wifi::KnownNetwork,
        now: Duration,
    ) -> anyhow::Result<Station> {
        let name = interface.name.clone();
        world.journal.make(Change::StationInterface(interface.clone()))?;
        let started = (|| {
            let all = wifi::interfaces()?;
            let index = all.iter().find(|i| i.name == name).map(|i| i.index);
            let index = index.ok_or_else(|| anyhow::anyhow!("{name} is gone"))?;
            let station = StationNetwork { index, name: name.clone(), number };
            station.prepare();
            world.supplicant.join(&name, network, &bss)?;
            anyhow::Ok(station)
        })();
        let station = match started {
            Ok(station) => station,
            Err(error) => {
                world.supplicant.leave(&name);
                world.journal.undo(&Change::StationInterface(interface))?;
                return Err(error);
            }
        };
        tracing::info!(interface = name, access_point = mac_text(bss.bssid), "joining");
        Ok(Station {
            signal: MeanSignal::new(&bss),
            bss,
            network: station,
            interface,
            phase: Phase::Joining,
            since: now,
            dhcp: None,
            ipv4: None,
            inside: None,
            resolver: None,
            endpoints: Vec::new(),
            heard: None,
            beacons: Beacons::default(),
            meter: Meter::default(),
            by_monitor: Measured::default(),
            is_backup: false,
            rtts: LeastRtts::default(),
            marks: MarkStatus::default(),
            is_silent: false,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.network.name
    }

    /// The access point, and the address of the station.
    pub(super) fn link(&self) -> ([u8; 6], [u8; 6]) {
        (self.bss.bssid, self.interface.mac)
    }

    /// What the driver counted.
    pub(super) fn counts(&self) -> Option<StationCounts> {
        self.heard.map(|h| StationCounts { packets: h.rx_packets, beacons: h.beacons })
    }

    /// It is not with its access point yet.
    pub(super) fn is_joining(&self) -> bool {
        matches!(self.phase, Phase::Joining)
    }

    pub(super) fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Active)
    }

    /// Whether its portal has been shut, or the page not been reached, for so long.
    pub(super) fn is_shut_for(&self, span: Duration, now: Duration) -> bool {
        self.phase.is_shut() && now.saturating_sub(self.since) >= span
    }

    /// Why one that is shut gives its place up to another network.
    pub(super) fn why_it_gives_way(&self) -> &'static str {
        match &self.phase {
            Phase::Probing { last: Some(answer), .. } => answer.why_it_gives_way(),
            _ => "",
        }
    }

    /// Whether it can look for other access points.
    pub(super) fn may_scan(&self) -> bool {
        self.phase.may_scan()
    }

    /// Does what is due. An error is why it has to be left.
    pub(super) fn step(&mut self, world: &mut World<'_>, now: Duration) -> Result<(), String> {
        if !self.is_joining() {
            self.listen(now)?;
            self.address(world)?;
            refuse_wide(self.network.index, world.routes)?;
        }
        match &mut self.phase {
            Phase::Joining => self.associate(world, now)?,
            Phase::Addressing => {
                let waited = now.saturating_sub(self.since);
                let v6_alone = waited >= V6_ALONE && !self.v6(world.links).is_empty();
                if self.ipv4.is_some() || v6_alone {
                    self.turn(Phase::probing(now), now);
                } else if waited > ADDRESS {
                    return Err("it gives no address (DHCP)".into());
                }
            }
            Phase::Probing { .. } => self.probe(world, now)?,
            Phase::Active => {
                let missed = self.missed(now) >= world.roam.limits().beacon_loss;
                self.is_silent = missed || self.beacons.are_reported_lost(now);
                if self.tunnel(world) != self.inside.as_deref() {
                    self.open(world).map_err(|e| format!("{e:#}"))?;
                }
                self.use_mptcp(world);
            }
        }
        Ok(())
    }

    fn turn(&mut self, phase: Phase, now: Duration) {
        (self.phase, self.since) = (phase, now);
    }

    fn associate(&mut self, world: &World<'_>, now: Duration) -> Result<(), String> {
        let state = world.supplicant.association(self.name()).map_err(|e| e.to_string())?;
        match state {
            Association::Joined(bssid) if bssid != self.bss.bssid => {
                return Err(format!("the station went to {} instead", mac_text(bssid)));
            }
            Association::Joined(_) => {
                let (index, mac) = (self.network.index, self.interface.mac);
                let client = dhcp::Client::open(index, mac, rand::random());
                self.dhcp = Some(client.map_err(|e| format!("no socket for DHCP: {e}"))?);
                self.beacons.begin(now);
                self.turn(Phase::Addressing, now);
            }
            Association::Joining(state) if now.saturating_sub(self.since) > JOIN => {
                return Err(format!("it does not let us in (wpa_supplicant: {state})"));
            }
            Association::Joining(_) => {}
        }
        Ok(())
    }

    /// Counters, and whether the access point is still heard.
    fn listen(&mut self, now: Duration) -> Result<(), String> {
        let heard = wifi::listen(self.network.index).map_err(|e| e.to_string())?;
        let heard = heard.ok_or("the association is lost")?;
        self.beacons.count(heard.beacons, now);
        self.signal.take(heard.signal_dbm);
        self.meter.take(heard, &self.bss, now);
        self.heard = Some(heard);
        Ok(())
    }

    /// Beacons missed in a row, as far as the driver counts them.
    pub(super) fn missed(&self, now: Duration) -> u32 {
        let interval = self.bss.beacon_interval.max(Duration::from_millis(10));
        let silent = self.heard.and_then(|h| h.inactive).unwrap_or_default();
        let silent = silent.min(self.beacons.silence(now));
        (silent.as_millis() / interval.as_millis()).try_into().unwrap_or(u32::MAX)
    }

    /// The kernel says by itself that beacons or packets are lost: no counter tells it sooner.
    pub(super) fn on_loss(&mut self, loss: Loss, now: Duration) {
        tracing::debug!(interface = self.name(), ?loss, "lost");
        self.beacons.on_loss(now);
    }

    /// What DHCP says. A lease runs on while the machine sleeps, unlike the loop's time.
    fn address(&mut self, world: &mut World<'_>) -> Result<(), String> {
        let event = self.dhcp.as_mut().and_then(|client| client.poll(clock::now()));
        match event {
            Some(dhcp::Event::Bound(lease)) => self.bind(world, &lease).map_err(|e| format!("{e:#}")),
            Some(dhcp::Event::Lost) => Err("its lease of an address has ended".into()),
            None => Ok(()),
        }
    }

    fn bind(&mut self, world: &mut World<'_>, lease: &dhcp::Lease) -> anyhow::Result<()> {
        if let Some(holder) = holder(lease.address, self.network.index, world.links) {
            anyhow::bail!("it gives {}, which is the address of {holder} here (DHCP)", lease.address);
        }
        let address = Ipv4Net::new(lease.address, lease.prefix_len)?;
        if let Some(tunnel) = tunnel_around(address.into(), world.links) {
            anyhow::bail!("it gives {address}, which would take traffic out of the tunnel {tunnel} (DHCP)");
        }
        let new = StationAddress { address, router: lease.router, metric: METRIC + self.network.number };
        if let Some(old) = self.ipv4.as_ref().filter(|old| **old != new) {
            self.network.remove(world.journal, old)?;
        }
        // Also if it fails: what there is of it goes when the station is left.
        let given = self.ipv4.insert(new);
        self.network.add(world.journal, given)?;
        tracing::info!(interface = self.name(), %address, "has an address");
        if world.roam.dns && !lease.dns.is_empty() && self.resolver.is_none() {
            let name = self.name().to_owned();
            match dns::set(world.journal, &name, &lease.dns, &[]) {
                Ok(()) => self.resolver = world.journal.changes().last().cloned(),
                Err(error) => tracing::debug!(%error, "name servers are not set"),
            }
        }
        if self.is_active() {
            self.open(world)?;
        }
        Ok(())
    }

    /// Asks whether the internet is behind it, where somebody wants to know.
    fn probe(&mut self, world: &mut World<'_>, now: Duration) -> Result<(), String> {
        let answer = match (&world.roam.portal, &mut self.phase) {
            (None, _) => Some(Answer::Open),
            (Some(url), Phase::Probing { probe, again, .. }) => {
                if probe.is_none() && now >= *again {
                    *probe = Some(Probe::start(url, &self.network.name));
                }
                probe.as_ref().and_then(Probe::poll)
            }
            _ => None,
        };
        match answer {
            Some(Answer::Open) => {
                self.open(world).map_err(|e| format!("{e:#}"))?;
                tracing::info!(interface = self.name(), "in use");
                self.turn(Phase::Active, now);
            }
            Some(answer) => {
                tracing::info!(interface = self.name(), why = answer.why(), "not used");
                self.phase = Phase::Probing { probe: None, again: now + PROBE_AGAIN, last: Some(answer) };
            }
            None => {}
        }
        Ok(())
    }

    /// It is there for whoever is bound to nothing, but takes nothing out of a tunnel.
    fn open(&mut self, world: &World<'_>) -> anyhow::Result<()> {
        let tunnel = self.tunnel(world);
        if let Some(ipv4) = &self.ipv4 {
            self.network.open_to_all(ipv4, tunnel.is_none())?;
            if let Some(tunnel) = tunnel {
                let network = ipv4.address.trunc();
                tracing::info!(interface = self.name(), %network, tunnel, "its network goes into the tunnel");
            }
        }
        self.inside = tunnel.map(str::to_owned);
        Ok(())
    }

    /// The tunnel into which goes what is for the network of its IPv4 address.
    fn tunnel<'a>(&self, world: &World<'a>) -> Option<&'a str> {
        let ipv4 = self.ipv4.as_ref()?;
        tunnel_with(ipv4.address.into(), world.links, world.routes)
    }

    fn v6(&self, links: &[Link]) -> Vec<IpAddr> {
        let own = links.iter().filter(|l| l.index == self.network.index).flat_map(|l| &l.addresses);
        own.filter(|a| a.usable && a.ip.is_ipv6()).map(|a| a.ip).take(1).collect()
    }

    /// MPTCP may use the addresses that there are, and no other.
    fn use_mptcp(&mut self, world: &mut World<'_>) {
        let v4 = self.ipv4.iter().map(|g| IpAddr::V4(g.address.addr()));
        let addresses = v4.chain(self.v6(world.links));
        let addresses: Vec<IpAddr> = addresses.filter(|_| world.mptcp && !self.is_silent).collect();
        let index = self.network.index;
        let wanted: Vec<Endpoint> =
            addresses.into_iter().map(|address| Endpoint { address, index }).collect();
        for gone in self.endpoints.clone().iter().filter(|e| !wanted.contains(e)) {
            self.forget(world.journal, gone);
        }
        for new in wanted.into_iter().filter(|e| !self.endpoints.contains(e)).collect::<Vec<_>>() {
            // Also if it fails: it is not tried again five times a second.
            self.endpoints.push(new.clone());
            let added = mptcp::add(world.journal, new.clone());
            if let Err(error) = added {
                tracing::warn!(
                    interface = self.name(),
                    "{error}: another access point may have given the same address"
                );
            } else if self.is_backup
                && let Err(error) = mptcp::set_backup(&new, true)
            {
                tracing::warn!(interface = self.name(), %error, "MP_PRIO");
            }
        }
    }

    fn forget(&mut self, journal: &mut Journal, endpoint: &Endpoint) {
        if journal.changes().contains(&Change::MptcpEndpoint(endpoint.clone()))
            && let Err(error) = mptcp::remove(journal, endpoint)
        {
            tracing::warn!(interface = self.name(), "{error}");
        }
        self.endpoints.retain(|e| e != endpoint);
    }

    /// Takes the least round trips of subflows, by their addresses here.
    pub(super) fn set_least_rtts(&mut self, all: &BTreeMap<IpAddr, LeastRtts>) {
        let own = self.endpoints.iter().filter_map(|e| all.get(&e.address)).copied();
        self.rtts = own.fold(LeastRtts::default(), LeastRtts::and);
    }

    /// What the marks need to know of it.
    pub(super) fn uplink(&self, packet_time: Duration) -> Uplink {
        let addresses = self.endpoints.iter().map(|e| e.address).collect();
        Uplink { index: self.network.index, name: self.name().to_owned(), addresses, packet_time }
    }

    /// What marks do.
    pub(super) fn set_marks(&mut self, status: MarkStatus) {
        self.marks = status.after(std::mem::take(&mut self.marks), self.is_backup);
    }

    /// MPTCP uses it only while no other carries, or as any other.
    pub(super) fn set_backup(&mut self, is_backup: bool) {
        if is_backup == self.is_backup {
            return;
        }
        self.is_backup = is_backup;
        for endpoint in &self.endpoints {
            if let Err(error) = mptcp::set_backup(endpoint, is_backup) {
                tracing::warn!(interface = self.name(), %error, "MP_PRIO");
            }
        }
        tracing::info!(interface = self.name(), is_backup, "priority");
    }

    /// Takes all of it back.
    pub(super) fn leave(mut self, journal: &mut Journal, supplicant: Option<&Supplicant>, why: &str) {
        tracing::info!(interface = self.name(), access_point = mac_text(self.bss.bssid), why, "left");
        // First: what is under way goes on by the others.
        for endpoint in self.endpoints.clone() {
            self.forget(journal, &endpoint);
        }
        let mut failed: Vec<String> = Vec::new();
        if let Some(ipv4) = &self.ipv4 {
            failed.extend(self.network.remove(journal, ipv4).err().map(|e| e.to_string()));
        }
        if let Some(supplicant) = supplicant {
            supplicant.leave(self.name());
        }
        let interface = Change::StationInterface(self.interface.clone());
        for change in self.resolver.iter().chain([&interface]) {
            failed.extend(journal.undo(change).err().map(|e| e.to_string()));
        }
        failed.iter().for_each(|error| tracing::warn!(interface = self.name(), "{error}"));
    }

    /// The mean of its frames.
    pub(super) fn signal_dbm(&self) -> f64 {
        self.signal.dbm()
    }

    /// Air of a packet, where that was measured by the driver.
    pub(super) fn packet_time(&self, now: Duration) -> Option<Duration> {
        self.meter.recent(now)
    }

    /// The same by the signal.
    fn expected_time(&self) -> Option<Duration> {
        let generation = plan::generation(&self.bss);
        packet_time(expected_bps(self.signal_dbm(), self.bss.width_mhz, generation), 0.0, generation)
    }

    /// For the rules of priorities.
    pub(super) fn seen(&self, now: Duration) -> Seen {
        // Nothing is measured of one that rests: what it was then still stands.
        let resting = self.meter.last().filter(|_| self.is_backup);
        let monitored = self.by_monitor.time.or(self.by_monitor.last.filter(|_| self.is_backup));
        Seen {
            monitored,
            measured: self.packet_time(now).or(resting),
            expected: self.expected_time(),
            busy_rtt: self.rtts.busy,
            packets: self.counts().map_or(0, StationCounts::data),
            marks: self.marks.rule,
        }
    }

    /// What programs are told of it, once it has an address.
    pub(super) fn joined(&self) -> Option<Joined> {
        let standing = self.phase.standing(self.is_silent || self.is_backup)?;
        Some(Joined {
            interface: self.name().to_owned(),
            bssid: mac_text(self.bss.bssid),
            ssid: text::ssid(&self.bss.ssid),
            address: self.ipv4.as_ref().map(|g| g.address.to_string()),
            standing,
        })
    }

    pub(super) fn report(&self, now: Duration) -> AccessPoint {
        let (state, why) = match &self.phase {
            Phase::Joining => ("joining", "associating".to_owned()),
            Phase::Addressing => ("joining", "waits for an address".into()),
            Phase::Probing { last: None, .. } => ("joining", "is the internet behind it?".into()),
            Phase::Probing { last: Some(answer), .. } => ("joining", answer.why().to_owned()),
            Phase::Active if self.is_silent => ("backup", "its beacons, or packets to it, are lost".into()),
            Phase::Active if self.is_backup => {
                ("backup", self.marks.with("its packets take too much of the air"))
            }
            Phase::Active => ("active", self.marks.note.clone()),
        };
        let (packet_by, time) = match (self.by_monitor.time, self.packet_time(now)) {
            (Some(time), _) => (PacketBy::Monitor, Some(time)),
            (None, Some(time)) => (PacketBy::Driver, Some(time)),
            (None, None) => (PacketBy::Signal, self.expected_time()),
        };
        let heard = self.heard.unwrap_or_default();
        AccessPoint {
            interface: self.name().to_owned(),
            bssid: mac_text(self.bss.bssid),
            ssid: text::ssid(&self.bss.ssid),
            frequency_mhz: self.bss.frequency_mhz,
            state: state.into(),
            why,
            for_s: now.saturating_sub(self.since).as_secs_f64(),
            signal_dbm: Some(heard.signal_dbm.unwrap_or_else(|| self.signal_dbm())),
            rate_bps: Some(heard.rx_bps).filter(|bps| *bps > 0),
            packet_time_us: time.map(|t| t.as_micros().try_into().unwrap_or(u64::MAX)),
            measured: packet_by != PacketBy::Signal,
            packet_by,
            monitor_frames: self.by_monitor.frames,
            least_rtt_ms: self.rtts.all.map(|rtt| rtt.as_secs_f64() * 1e3),
            address: self.ipv4.as_ref().map(|g| g.address.to_string()),
            ect_segments: self.marks.segments.0,
            marked_segments: self.marks.segments.1,
            received_bytes: heard.bytes.0,
            sent_bytes: heard.bytes.1,
            mptcp: !self.endpoints.is_empty(),
        }
    }
}

/// A router's word for half of the world would go before a tunnel's route to everywhere.
fn refuse_wide(index: u32, routes: &[Route]) -> Result<(), String> {
    let is_wide = |r: &&Route| r.network.addr().is_ipv6() && (1..WIDEST_V6).contains(&r.network.prefix_len());
    match routes.iter().filter(|route| route.index == index).find(is_wide) {
        Some(route) => Err(format!("a router says that {} is at its link", route.network)),
        None => Ok(()),
    }
}

/// The interface that has an address already. What this machine says from it would leave by the
/// station (`from ADDRESS lookup TABLE`): what goes into a bond, too. Stations may have the same one.
fn holder(address: Ipv4Addr, index: u32, links: &[Link]) -> Option<&str> {
    let has_it = |link: &&Link| link.addresses.iter().any(|a| a.ip == IpAddr::V4(address));
    let mut others = links.iter().filter(|l| l.index != index && !is_station(l));
    others.find(has_it).map(|link| link.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::links::Address;

    fn link(index: u32, name: &str, ip: &str) -> Link {
        let address = Address::new(ip.parse().unwrap(), 24);
        Link { index, name: name.into(), addresses: vec![address], ..Link::default() }
    }

    #[test]
    fn a_router_does_not_get_half_of_the_world() {
        let route = |network: &str, index| Route { network: network.parse().unwrap(), index };
        let of_others = route("2000::/3", 3);
        let usual = ["::/0", "0.0.0.0/1", "fe80::/64", "2001:db8:1::/48"].map(|n| route(n, 4));
        assert_eq!(refuse_wide(4, &[&usual[..], &[of_others]].concat()), Ok(()));
        for network in ["2000::/3", "8000::/1", "2001:db8::/47"] {
            assert!(refuse_wide(4, &[route(network, 4)]).is_err_and(|words| words.contains(network)));
        }
    }

    #[test]
    fn an_access_point_does_not_get_what_this_machine_says_from_another_interface() {
        let links = [
            link(2, "eth0", "192.168.1.5"),
            link(3, "rw0", "10.77.0.2"),
            link(4, "roam0", "192.168.1.7"),
            link(5, "roam1", "192.168.1.8"),
            link(6, "roaming", "192.168.1.9"),
        ];
        let holder = |ip: &str| holder(ip.parse().unwrap(), 4, &links);
        assert_eq!(holder("192.168.1.5"), Some("eth0"));
        assert_eq!(holder("10.77.0.2"), Some("rw0"), "what goes into the bond");
        assert_eq!(holder("192.168.1.9"), Some("roaming"), "somebody else's");
        assert_eq!(holder("192.168.1.6"), None);
        assert_eq!(holder("192.168.1.7"), None, "its own, given again");
        assert_eq!(holder("192.168.1.8"), None, "networks of access points may overlap");
    }
}
