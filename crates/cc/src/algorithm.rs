//! Choosing a controller by name.

use super::Controller;
use super::coupled::{Balia, BaliaLaw, Lia, LiaLaw, Olia, OliaLaw};
use super::cubic::{Cubic, CubicLaw};
use super::highspeed::{HighSpeed, HighSpeedLaw};
use super::hystart::SlowStart;
use super::newreno::{NewReno, NewRenoLaw};
use super::none::NoControl;
use super::tidal::Tidal;
use core::fmt;
use core::str::FromStr;

/// A congestion-control algorithm that config and scenarios can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Delay-aware, rate-based. The default, because a path queue delays interactive packets too, and because
    /// the tunnel repairs random loss, which must therefore not slow it down.
    #[default]
    Tidal,
    /// RFC 9438.
    Cubic,
    /// RFC 5681.
    NewReno,
    /// RFC 6356, coupled.
    Lia,
    /// draft-khalili-mptcp-congestion-control, coupled.
    Olia,
    /// draft-walid-mptcp-congestion-control, coupled.
    Balia,
    /// RFC 3649.
    HighSpeed,
    /// No control: for a wireless backhaul whose completions limit what is on the way (scheduler
    /// `backpressure`).
    None,
}

impl Algorithm {
    /// Every algorithm that controls, the default first.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Tidal,
        Algorithm::Cubic,
        Algorithm::NewReno,
        Algorithm::Lia,
        Algorithm::Olia,
        Algorithm::Balia,
        Algorithm::HighSpeed,
    ];

    /// The name in config.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Tidal => "tidal",
            Algorithm::Cubic => "cubic",
            Algorithm::NewReno => "newreno",
            Algorithm::Lia => "lia",
            Algorithm::Olia => "olia",
            Algorithm::Balia => "balia",
            Algorithm::HighSpeed => "highspeed",
            Algorithm::None => "none",
        }
    }

    /// A fresh controller for a path whose largest datagram has `mtu` bytes on the wire.
    pub fn controller(self, mtu: u64) -> Box<dyn Controller> {
        self.controller_with(mtu, SlowStart::default())
    }

    /// The controller as Linux has it, where the two differ: CUBIC. For models of Linux senders.
    pub fn controller_of_linux(self, mtu: u64, rule: SlowStart) -> Box<dyn Controller> {
        match self {
            Algorithm::Cubic => Box::new(Cubic::new(CubicLaw::of_linux(), mtu).with_slow_start(rule)),
            _ => self.controller_with(mtu, rule),
        }
    }

    /// The same with another end of slow start, which tidal does not heed: it has its own start.
    pub fn controller_with(self, mtu: u64, rule: SlowStart) -> Box<dyn Controller> {
        match self {
            Algorithm::Tidal => Box::new(Tidal::new(mtu)),
            Algorithm::Cubic => Box::new(Cubic::new(CubicLaw::default(), mtu).with_slow_start(rule)),
            Algorithm::NewReno => Box::new(NewReno::new(NewRenoLaw, mtu).with_slow_start(rule)),
            Algorithm::Lia => Box::new(Lia::new(LiaLaw, mtu).with_slow_start(rule)),
            Algorithm::Olia => Box::new(Olia::new(OliaLaw, mtu).with_slow_start(rule)),
            Algorithm::Balia => Box::new(Balia::new(BaliaLaw, mtu).with_slow_start(rule)),
            Algorithm::HighSpeed => Box::new(HighSpeed::new(HighSpeedLaw, mtu).with_slow_start(rule)),
            Algorithm::None => Box::new(NoControl::new(mtu)),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no algorithm has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no congestion controller is called \"{}\"; choose one of ", self.0)?;
        Algorithm::ALL.iter().try_for_each(|a| write!(f, "{a}, "))?;
        write!(f, "{}", Algorithm::None)
    }
}

impl core::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        let found = Algorithm::ALL.into_iter().chain([Algorithm::None]).find(|a| a.name() == name);
        found.ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

/// A fresh controller of the algorithm called `name`, for datagrams of `mtu` bytes on the wire; `None` if
/// there is none of that name.
pub fn by_name(name: &str, mtu: u64) -> Option<Box<dyn Controller>> {
    Some(name.parse::<Algorithm>().ok()?.controller(mtu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_controller() {
        for a in Algorithm::ALL.into_iter().chain([Algorithm::None]) {
            assert_eq!(by_name(a.name(), 1500).unwrap().name(), a.name());
        }
        assert_eq!(Algorithm::default().name(), "tidal");
    }

    #[test]
    fn an_unknown_name_is_told_the_known_ones() {
        let e = "vegas".parse::<Algorithm>().unwrap_err().to_string();
        assert!(
            e.contains("\"vegas\"") && e.contains("tidal, cubic, newreno, lia, olia, balia, highspeed, none"),
            "{e}"
        );
    }
}
