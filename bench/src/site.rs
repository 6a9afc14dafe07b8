//! Where a measurement takes place: a client, a gateway, and what lies between.

use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{CableSpec, End, Namespace, Paths, Timing};

/// Settings besides the lab's own: no ECN, so that every contender and every queue answers alike; MPTCP allowed.
const SYSCTLS: [(&str, &str); 2] = [("net.ipv4.tcp_ecn", "0"), ("net.mptcp.enabled", "1")];

/// Two namespaces with emulated paths between them, or with one that is as fast as the machine.
pub struct Site {
    /// The lab's part of it.
    pub lab: Paths,
    /// How many paths there are.
    pub paths: u64,
}

impl Site {
    /// Emulated paths, the same in both directions. Another `seed` is another fate.
    pub fn emulated(links: &[LinkSpec], seed: u64) -> ropewalk_lab::Result<Site> {
        let cables = links.iter().map(|link| CableSpec::symmetric(link.clone()).seed(seed * 100));
        Site::ready(Paths::new(cables, Timing::default())?, links.len() as u64)
    }

    /// One path, `wan1`: a veth pair with nothing in between.
    pub fn veth() -> ropewalk_lab::Result<Site> {
        let lab = Paths::symmetric([])?;
        let end = |address| End::new(&Paths::interface(1), [address]);
        lab.topology.veth((&lab.client, end("10.1.1.1/24")), (&lab.gateway, end("10.1.1.2/24")))?;
        Site::ready(lab, 1)
    }

    /// The same with so many clients, each in a namespace of its own with a path of its own: client *n*, from 1, has
    /// path *n*. The site's own client is the first.
    pub fn veths(clients: u64) -> ropewalk_lab::Result<(Site, Vec<Namespace>)> {
        let site = Site::veth()?;
        let mut all = vec![site.lab.client.clone()];
        for n in 2..=clients {
            let client = site.lab.topology.namespace(&format!("client{n}"))?;
            let end = |host: u8| End::new(&Paths::interface(n), [format!("10.1.{n}.{host}/24")]);
            site.lab.topology.veth((&client, end(1)), (&site.lab.gateway, end(2)))?;
            prepare(&client)?;
            all.push(client);
        }
        Ok((site, all))
    }

    fn ready(lab: Paths, paths: u64) -> ropewalk_lab::Result<Site> {
        prepare(&lab.client)?;
        prepare(&lab.gateway)?;
        Ok(Site { lab, paths })
    }
}

fn prepare(namespace: &Namespace) -> ropewalk_lab::Result<()> {
    SYSCTLS.iter().try_for_each(|(key, value)| namespace.sysctl(key, value))
}
