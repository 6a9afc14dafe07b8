//! Which access points a client joins: the few best of those that it hears (paper 001, §6.2, §6.3).
//!
//! More than three or four cost more air than they bring, so the paper's client takes three. The
//! paper does not say which are best: here it is those whose packets take the least air, and before
//! that was measured, those with the strongest signal.

use core::time::Duration;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most access points joined at once: fewer if the radio allows fewer.
    pub most: usize,
    /// The weakest signal that is worth joining.
    pub least_dbm: f64,
    /// So many beacons missed in a row, and the access point is left.
    pub beacon_loss: u32,
    /// A newcomer takes a place only if the one that it drives out needs this many times its packet
    /// time: joining costs a second.
    pub lead: f64,
    /// The same between signals, where a packet time is not known yet.
    pub lead_db: f64,
}

impl Default for Limits {
    /// Three, as the paper's client; −82 dBm, where 802.11 begins to hear preambles; seven beacons,
    /// as Linux; a fifth, as for marks; 6 dB, about two steps of rate.
    fn default() -> Limits {
        Limits { most: 3, least_dbm: -82.0, beacon_loss: 7, lead: 1.2, lead_db: 6.0 }
    }
}

/// An access point that is heard, or was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    /// The driver's number of it.
    pub id: u32,
    /// Mean signal of its beacons.
    pub signal_dbm: f64,
    /// Beacons missed in a row.
    pub missed: u32,
    /// Air of a packet by it, where that was measured.
    pub packet_time: Option<Duration>,
    /// The client is with it.
    pub joined: bool,
}

/// The access points to be with, best first; those that are joined and not named are to be left.
pub fn choose(heard: &[Heard], limits: &Limits) -> Vec<u32> {
    let usable = |h: &&Heard| h.missed < limits.beacon_loss && (h.joined || h.signal_dbm >= limits.least_dbm);
    let (mut with, mut others): (Vec<&Heard>, Vec<&Heard>) =
        heard.iter().filter(usable).partition(|h| h.joined);
    sort(&mut with);
    sort(&mut others);
    with.truncate(limits.most);
    for newcomer in others {
        if with.len() < limits.most {
            with.push(newcomer);
        } else if let Some(worst) = with.iter().rposition(|h| h.joined && leads(newcomer, h, limits)) {
            with.remove(worst);
            with.push(newcomer);
        }
    }
    sort(&mut with);
    with.into_iter().map(|h| h.id).collect()
}

/// Best first: by the air that a packet takes where that is known of all, else by signal. One rule
/// for all of a list, since two would contradict each other; equal ones by number.
fn sort(list: &mut [&Heard]) {
    let measured = list.iter().all(|h| h.packet_time.is_some());
    let time = |h: &Heard| h.packet_time.filter(|_| measured);
    let strength = |a: &Heard, b: &Heard| b.signal_dbm.total_cmp(&a.signal_dbm);
    list.sort_by(|a, b| time(a).cmp(&time(b)).then_with(|| strength(a, b)).then(a.id.cmp(&b.id)));
}

fn leads(newcomer: &Heard, holder: &Heard, limits: &Limits) -> bool {
    match (newcomer.packet_time, holder.packet_time) {
        (Some(new), Some(old)) => old.as_secs_f64() >= limits.lead * new.as_secs_f64(),
        _ => newcomer.signal_dbm >= holder.signal_dbm + limits.lead_db,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orders that contradict themselves make a sort of more than twenty panic.
    #[test]
    fn measured_and_unmeasured_ones_have_one_order() {
        let heard: Vec<Heard> = (0..200_u32)
            .map(|id| Heard {
                id,
                signal_dbm: -40.0 - f64::from(id * 37 % 41),
                missed: 0,
                packet_time: (id % 3 != 0).then(|| Duration::from_micros(u64::from(id * 53 % 97) + 1)),
                joined: false,
            })
            .collect();
        let chosen = choose(&heard, &Limits { most: 200, ..Limits::default() });
        assert_eq!(chosen.len(), 200);
        let signal = |id: u32| heard[id as usize].signal_dbm;
        assert!(chosen.windows(2).all(|w| signal(w[0]) >= signal(w[1])), "{chosen:?}");
    }

    fn heard(id: u32, signal_dbm: f64) -> Heard {
        Heard { id, signal_dbm, missed: 0, packet_time: None, joined: false }
    }

    fn with(id: u32, signal_dbm: f64, packet_us: u64) -> Heard {
        Heard { packet_time: Some(Duration::from_micros(packet_us)), joined: true, ..heard(id, signal_dbm) }
    }

    #[test]
    fn the_three_strongest_of_five() {
        let all = [-70.0, -50.0, -80.0, -60.0, -90.0];
        let all: Vec<_> = all.into_iter().enumerate().map(|(n, dbm)| heard(n as u32, dbm)).collect();
        assert_eq!(choose(&all, &Limits::default()), [1, 3, 0]);
        assert_eq!(choose(&all, &Limits { most: 8, ..Limits::default() }), [1, 3, 0, 2]);
        assert_eq!(choose(&all[..0], &Limits::default()), []);
    }

    #[test]
    fn what_was_measured_goes_before_signal() {
        // A strong signal whose packets take long, as of an access point that is disturbed.
        let all = [with(1, -40.0, 6_000), with(2, -70.0, 500)];
        assert_eq!(choose(&all, &Limits::default()), [2, 1]);
    }

    #[test]
    fn a_newcomer_needs_a_lead() {
        let three = [with(1, -60.0, 500), with(2, -60.0, 600), with(3, -70.0, 3_000)];
        let near = [three.as_slice(), &[heard(4, -65.0)]].concat();
        assert_eq!(choose(&near, &Limits::default()), [1, 2, 3]);
        let strong = [three.as_slice(), &[heard(4, -62.0)]].concat();
        assert_eq!(choose(&strong, &Limits::default()), [1, 2, 4]);
        let measured = Heard { packet_time: Some(Duration::from_micros(2_400)), ..heard(4, -80.0) };
        let measured = [three.as_slice(), &[measured]].concat();
        assert_eq!(choose(&measured, &Limits::default()), [1, 2, 4]);
    }

    #[test]
    fn one_newcomer_drives_out_one() {
        let three = [with(1, -80.0, 3_000), with(2, -80.0, 3_000), with(3, -80.0, 3_000)];
        let all = [three.as_slice(), &[heard(4, -50.0), heard(5, -50.0)]].concat();
        assert_eq!(choose(&all, &Limits::default()).len(), 3);
        assert_eq!(choose(&all, &Limits::default()), [4, 5, 1]);
    }

    #[test]
    fn an_access_point_is_left_when_its_beacons_stop() {
        let lost = Heard { missed: 7, ..with(1, -50.0, 500) };
        assert_eq!(choose(&[lost, heard(2, -80.0)], &Limits::default()), [2]);
        // One that is weak but heard is kept: it may be the last.
        assert_eq!(choose(&[with(1, -90.0, 6_000)], &Limits::default()), [1]);
    }
}
