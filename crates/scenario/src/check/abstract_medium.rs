//! What the weighted-fair medium takes, and what it knows nothing of.

use super::Judge;
use crate::field::{Absent, Field, Form};
use crate::file::{Interface, MediumModel, Mode, NodeSpec, Radio, RadioDiscipline};

/// Keys that mean something on it; of the rest none may be set.
const MEDIUM_KEYS: [&str; 1] = ["model"];
const RADIO_KEYS: [&str; 7] =
    ["standard", "channel", "width", "packet-time", "weight", "queue.packets", "queue.kind"];
const INTERFACE_KEYS: [&str; 5] = ["radio", "mode", "ssid", "address", "mtu"];

pub(super) fn check(judge: &mut Judge) {
    let abstract_medium = judge.scenario.medium.model == MediumModel::WeightedFair;
    for (name, node) in &judge.scenario.node {
        for (radio, spec) in &node.radio {
            let key = format!("node.{name}.radio.{radio}");
            if abstract_medium { check_radio(judge, &key, spec) } else { refuse_weights(judge, &key, spec) }
        }
        if abstract_medium {
            check_node(judge, &format!("node.{name}"), node);
        }
    }
    if !abstract_medium {
        return;
    }
    refuse(judge, "medium", &judge.scenario.medium, &MEDIUM_KEYS);
    for interferer in &judge.scenario.interferer {
        refuse_key(judge, format!("interferer.{}", interferer.name));
    }
    for (i, event) in judge.scenario.event.iter().enumerate() {
        if !event.what.name().starts_with("link-") {
            refuse_key(judge, format!("event.{i}.what"));
        }
    }
}

fn check_radio(judge: &mut Judge, key: &str, radio: &Radio) {
    refuse(judge, key, radio, &RADIO_KEYS);
    judge.fail_if(radio.packet_time.is_some_and(|t| t.is_zero()), format!("{key}.packet-time"), || {
        "a packet that takes no time cannot share any; write a time above 0, such as \"500us\"".into()
    });
    let one_line = !matches!(radio.queue.kind, RadioDiscipline::TailDrop | RadioDiscipline::FqCodel);
    judge.fail_if(one_line, format!("{key}.queue.kind"), || {
        "a radio has one line for all its stations on this medium; write \"tail-drop\" or \"fq-codel\"".into()
    });
    judge.fail_if(!(1..=1024).contains(&radio.weight), format!("{key}.weight"), || {
        "a weight is from 1 to 1024".into()
    });
}

fn check_node(judge: &mut Judge, key: &str, node: &NodeSpec) {
    if !node.walk.is_empty() && !node.radio.is_empty() {
        refuse_key(judge, format!("{key}.walk"));
    }
    for (name, interface) in node.interface.iter().filter(|(_, i)| i.radio.is_some()) {
        check_interface(judge, &format!("{key}.interface.{name}"), interface);
    }
}

fn check_interface(judge: &mut Judge, key: &str, interface: &Interface) {
    refuse(judge, key, interface, &INTERFACE_KEYS);
    judge.fail_if(interface.mode == Some(Mode::Mesh), format!("{key}.mode"), || {
        "the weighted-fair medium has access points and stations only; write \"ap\" or \"station\"".into()
    });
}

fn refuse_weights(judge: &mut Judge, key: &str, radio: &Radio) {
    for (set, below) in [(radio.packet_time.is_some(), "packet-time"), (radio.weight != 1, "weight")] {
        judge.fail_if(set, format!("{key}.{below}"), || {
            "802.11 works this out; take it out, or set `medium.model = \"weighted-fair\"`".into()
        });
    }
}

fn refuse_key(judge: &mut Judge, key: String) {
    judge.fail(
        key,
        "the weighted-fair medium knows nothing of this; take it out, or set `medium.model = \"802.11\"`",
    );
}

/// Refuses what a table says besides the `known` keys: whatever is not as if nothing had been said.
fn refuse<T: Field>(judge: &mut Judge, key: &str, table: &T, known: &[&str]) {
    let mut said = Vec::new();
    if let Some(value) = table.write() {
        changed(&T::form(), &value, "", known, &mut said);
    }
    for below in said {
        refuse_key(judge, format!("{key}.{below}"));
    }
}

fn changed(form: &Form, value: &toml::Value, path: &str, known: &[&str], out: &mut Vec<String>) {
    let (Form::Section { keys, .. }, toml::Value::Table(table)) = (form, value) else { return };
    for key in keys {
        let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        let Some(value) = table.get(&key.name) else { continue };
        if known.contains(&path.as_str()) {
            continue;
        }
        match (&key.form, &key.absent) {
            (Form::Section { .. }, _) => changed(&key.form, value, &path, known, out),
            (_, Absent::Default(text)) if value.to_string() == *text => {}
            _ => out.push(path),
        }
    }
}
