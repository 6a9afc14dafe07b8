//! Which class of its uplink the tunnel is of: the neighbours' packets are the background, and the
//! home's own go with the rest of its home.
//!
//! A tunnel is one stream, so it is of one class at a time: while it carries something of the home
//! it is the home's. Of what waits then the home's goes first, and neighbours keep a share
//! (`ropewalk_bunch::ap`).

use super::Daemon;
use ropewalk_bunch::Time;
use ropewalk_net::stream;
use std::net::TcpStream;
use std::time::Duration;

/// The tunnel is the home's for so long after something of the home.
const LINGER: Duration = Duration::from_millis(500);

/// What was carried of the home, and when that grew.
#[derive(Debug, Default)]
pub(super) struct Background {
    own: u64,
    own_at: Option<Time>,
    /// The class of the tunnel's socket; none while there are no classes.
    is_background: Option<bool>,
}

impl Background {
    /// A new tunnel, whose uplink has classes.
    pub(super) fn begin(&mut self, stream: &TcpStream) -> std::io::Result<()> {
        stream::set_background(stream, true)?;
        (self.is_background, self.own_at) = (Some(true), None);
        Ok(())
    }

    /// Whether the tunnel is the background from now on, if that is something else than before;
    /// `own` has grown if something of the home was carried.
    fn changed(&mut self, own: u64, now: Time) -> Option<bool> {
        let before = self.is_background?;
        if std::mem::replace(&mut self.own, own) != own {
            self.own_at = Some(now);
        }
        let is_background = self.own_at.is_none_or(|at| now >= at + LINGER);
        self.is_background = Some(is_background);
        (is_background != before).then_some(is_background)
    }
}

impl Daemon<'_> {
    /// Puts the tunnel into the class of what it carries now.
    pub(super) fn choose_class(&mut self, now: Time) {
        let own = self.ap.counts().own_bytes + self.native_packets;
        let Some(is_background) = self.background.changed(own, now) else { return };
        if let Some(tunnel) = &self.tunnel
            && let Err(error) = stream::set_background(tunnel, is_background)
        {
            tracing::warn!("the tunnel stays in its class of the uplink: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tunnel_is_the_home_s_while_it_carries_for_the_home() {
        let (mut b, t) = (Background::default(), Time::from_millis);
        assert_eq!(b.changed(100, t(0)), None, "an uplink without classes");
        (b.is_background, b.own_at) = (Some(true), None);
        assert_eq!(b.changed(5, t(1)), Some(false));
        assert_eq!((b.changed(5, t(400)), b.changed(5, t(501))), (None, Some(true)));
        assert_eq!(b.changed(5, t(9000)), None, "it carries for others alone");
        assert_eq!((b.changed(7, t(9001)), b.changed(9, t(9400))), (Some(false), None));
        assert_eq!((b.changed(9, t(9700)), b.changed(9, t(9900))), (None, Some(true)));
    }
}
