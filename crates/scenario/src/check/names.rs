//! Names: what can be one, and who has which.

use super::Judge;
use crate::file::Scenario;
use std::collections::BTreeSet;

/// What can be referred to.
pub struct Names<'a> {
    /// Nodes.
    pub nodes: Vec<&'a str>,
    /// Interfaces and bridges as `node:interface`.
    pub interfaces: Vec<String>,
    /// Radios as `node:radio`, and nodes with one radio.
    pub radios: Vec<String>,
    /// Links, by name or by their ends.
    pub links: Vec<String>,
}

impl<'a> Names<'a> {
    /// Of a scenario.
    pub fn of(scenario: &'a Scenario) -> Names<'a> {
        let mut names =
            Names { nodes: Vec::new(), interfaces: Vec::new(), radios: Vec::new(), links: Vec::new() };
        for (name, node) in &scenario.node {
            names.nodes.push(name);
            let ports = node.interface.keys().chain(node.bridge.keys());
            names.interfaces.extend(ports.map(|i| format!("{name}:{i}")));
            names.radios.extend(node.radio.keys().map(|r| format!("{name}:{r}")));
            if node.radio.len() == 1 {
                names.radios.push(name.clone());
            }
        }
        names.links = scenario.link.iter().map(|l| l.label()).collect();
        names
    }
}

/// Whether something can be called so: it stands in dotted keys and in file names.
fn can_name(name: &str, most: usize) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=most).contains(&name.len()) && name.chars().all(fits)
}

pub(super) fn check(judge: &mut Judge) {
    let s = judge.scenario;
    let name = |judge: &mut Judge, key: String, name: &str, most: usize| {
        judge.fail_if(!can_name(name, most), key, || {
            format!("`{name}` is no name; take 1 to {most} letters, digits, `-` and `_`")
        });
    };
    for (node, spec) in &s.node {
        name(judge, format!("node.{node}"), node, 32);
        spec.radio.keys().for_each(|r| name(judge, format!("node.{node}.radio.{r}"), r, 15));
        // As long as Linux lets interfaces be called, for the lab.
        spec.interface.keys().for_each(|i| name(judge, format!("node.{node}.interface.{i}"), i, 15));
        for bridge in spec.bridge.keys() {
            name(judge, format!("node.{node}.bridge.{bridge}"), bridge, 15);
            judge.fail_if(
                spec.interface.contains_key(bridge),
                format!("node.{node}.bridge.{bridge}"),
                || format!("`{bridge}` is the name of an interface already; call one of them otherwise"),
            );
        }
    }
    s.bond.keys().for_each(|b| name(judge, format!("bond.{b}"), b, 15));
    s.bunch.keys().for_each(|b| name(judge, format!("bunch.{b}"), b, 15));
    let flows: Vec<(String, &str)> =
        s.flow.iter().map(|f| (format!("flow.{}.name", f.name), f.name.as_str())).collect();
    flows.iter().for_each(|(key, flow)| name(judge, key.clone(), flow, 64));
    unique(judge, "flow", flows);
    let links = s
        .link
        .iter()
        .filter_map(|l| l.name.as_deref())
        .map(|n| (format!("link.{n}.name"), n))
        .collect::<Vec<_>>();
    links.iter().for_each(|(key, link)| name(judge, key.clone(), link, 64));
    unique(judge, "link", links);
    let interferers: Vec<_> =
        s.interferer.iter().map(|i| (format!("interferer.{}.name", i.name), i.name.as_str())).collect();
    unique(judge, "interferer", interferers);
    let figures: Vec<_> =
        s.figure.iter().map(|f| (format!("figure.{}.name", f.name), f.name.as_str())).collect();
    figures.iter().for_each(|(key, figure)| name(judge, key.clone(), figure, 64));
    unique(judge, "figure", figures);
}

fn unique(judge: &mut Judge, what: &str, names: Vec<(String, &str)>) {
    let mut seen = BTreeSet::new();
    for (key, name) in names {
        judge.fail_if(!seen.insert(name), key, || {
            format!("there are two {what}s called `{name}`; call one of them otherwise")
        });
    }
}
