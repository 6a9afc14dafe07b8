//! Copies: nodes with a `count`, and flows from or to several machines.

use crate::document::fits;
use crate::field::Reader;
use crate::tree::{Node, Table, Value};
use std::f64::consts::TAU;

/// Most machines that a scenario may have.
const MAX_NODES: i64 = 10_000;
/// Most flows that it may have.
const MAX_FLOWS: usize = 20_000;
/// Most that the copies of machines, and those of flows, may say: [`size`] in all. Ten thousand
/// machines of forty keys are a fifth of it.
const MAX_SIZE: usize = 1 << 28;
/// What a value counts for besides its text, bytes.
const VALUE: usize = 100;

/// The tree with every copy made. What is not as it should be is left for the reader to complain about.
pub(crate) fn expand(root: &Node, reader: &mut Reader) -> Node {
    let Value::Table(table) = &root.value else { return root.clone() };
    let mut table = table.clone();
    if let Some(Node { value: Value::Table(nodes), .. }) = table.get_mut("node") {
        *nodes = reader.within("node", |r| copies(nodes, r));
    }
    let machines: Vec<String> = match table.get("node") {
        Some(Node { value: Value::Table(nodes), .. }) => nodes.keys().cloned().collect(),
        _ => Vec::new(),
    };
    if let Some(Node { value: Value::List(flows), .. }) = table.get_mut("flow") {
        *flows = reader.within("flow", |r| fan_out(flows, &machines, r));
    }
    Node { value: Value::Table(table), origin: root.origin.clone() }
}

/// What a value says, with all in it.
fn size(node: &Node) -> usize {
    let below = match &node.value {
        Value::Text(text) | Value::Date(text) => text.len(),
        Value::List(list) => list.iter().map(size).sum(),
        Value::Table(table) => table.iter().map(|(key, node)| key.len() + size(node)).sum(),
        Value::Whole(_) | Value::Real(_) | Value::Truth(_) => 0,
    };
    VALUE + below
}

fn copies(nodes: &Table, reader: &mut Reader) -> Table {
    let (mut out, mut all) = (Table::new(), 0_usize);
    for (name, node) in nodes {
        let count = match &node.value {
            Value::Table(table) => table.get("count"),
            _ => None,
        };
        let Some(Node { value: Value::Whole(count), origin }) = count else {
            out.insert(name.clone(), node.clone());
            continue;
        };
        if !(1..=MAX_NODES).contains(count) {
            let sentence = format!("a count is from 1 to {MAX_NODES}");
            reader.within(name, |r| r.within("count", |r| r.fail::<()>(origin, sentence)));
            continue;
        }
        all = all.saturating_add(size(node).saturating_mul(*count as usize));
        let too_many = if out.len() as i64 + *count > MAX_NODES {
            Some(format!("with these there are more than {MAX_NODES} machines"))
        } else {
            (all > MAX_SIZE).then(|| "so many copies of so long a table are too much; make it shorter".into())
        };
        if let Some(sentence) = too_many {
            reader.within(name, |r| r.within("count", |r| r.fail::<()>(origin, sentence)));
            continue;
        }
        for n in 1..=*count {
            let mut copy = node.clone();
            place(&mut copy, n, *count);
            number(&mut copy, n);
            if out.insert(format!("{name}{n}"), copy).is_some() {
                let sentence =
                    format!("there is a machine called {name}{n} already; call one of them otherwise");
                reader.within(name, |r| r.fail::<()>(&node.origin, sentence));
            }
        }
    }
    out
}

/// Stands the `n`-th of `count` where `ring` and `step` say.
fn place(node: &mut Node, n: i64, count: i64) {
    let origin = node.origin.clone();
    let Value::Table(table) = &mut node.value else { return };
    let centre = table.get("position").and_then(metres).unwrap_or([0.0; 3]);
    let ring = table.shift_remove("ring").as_ref().and_then(one_number).unwrap_or(0.0);
    let step = table.shift_remove("step").as_ref().and_then(metres).unwrap_or([0.0; 3]);
    table.shift_remove("count");
    let angle = TAU * (n - 1) as f64 / count as f64;
    let offset = [ring * angle.cos(), ring * angle.sin(), 0.0];
    // Micrometres are enough, and hide the last bits in which machines' cosines differ.
    let at = |i: usize| ((centre[i] + offset[i] + step[i] * (n - 1) as f64) * 1e6).round() / 1e6;
    let list = (0..3).map(|i| Node { value: Value::Real(at(i)), origin: origin.clone() }).collect();
    table.insert("position".into(), Node { value: Value::List(list), origin });
}

fn one_number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Whole(n) => Some(n as f64),
        Value::Real(x) => Some(x),
        _ => None,
    }
}

fn metres(node: &Node) -> Option<[f64; 3]> {
    let Value::List(list) = &node.value else { return None };
    let all: Vec<f64> = list.iter().filter_map(one_number).collect();
    match all[..] {
        [x, y] => Some([x, y, 0.0]),
        [x, y, z] => Some([x, y, z]),
        _ => None,
    }
}

/// Writes the number in place of `{n}` and `{n+K}`, wherever a text has it.
fn number(node: &mut Node, n: i64) {
    match &mut node.value {
        Value::Text(text) => *text = numbered(text, n),
        Value::List(list) => list.iter_mut().for_each(|item| number(item, n)),
        Value::Table(table) => table.values_mut().for_each(|item| number(item, n)),
        _ => {}
    }
}

fn numbered(text: &str, n: i64) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("{n") {
        out.push_str(before);
        rest = match added(after) {
            Some((more, after)) => {
                out.push_str(&(n + i64::from(more)).to_string());
                after
            }
            None => {
                out.push_str("{n");
                after
            }
        };
    }
    out + rest
}

/// What `}` or `+K}` adds to the number, and what follows it.
fn added(text: &str) -> Option<(u32, &str)> {
    if let Some(after) = text.strip_prefix('}') {
        return Some((0, after));
    }
    let text = text.strip_prefix('+')?;
    let (number, after) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    Some((number.parse().ok()?, after.strip_prefix('}')?))
}

fn fan_out(flows: &[Node], machines: &[String], reader: &mut Reader) -> Vec<Node> {
    let (mut out, mut all) = (Vec::<Node>::new(), 0_usize);
    for flow in flows {
        let Value::Table(table) = &flow.value else {
            out.push(flow.clone());
            continue;
        };
        let text = |key: &str| match table.get(key) {
            Some(Node { value: Value::Text(text), .. }) => Some(text.as_str()),
            _ => None,
        };
        let wild = ["from", "to"].into_iter().find(|key| text(key).is_some_and(|t| t.contains('*')));
        let (Some(key), Some(name)) = (wild, text("name")) else {
            out.push(flow.clone());
            continue;
        };
        let pattern = text(key).unwrap_or_default();
        let fit: Vec<&String> = machines.iter().filter(|m| fits(pattern, m)).collect();
        all = all.saturating_add(size(flow).saturating_mul(fit.len()));
        if fit.is_empty() || out.len() + fit.len() > MAX_FLOWS || all > MAX_SIZE {
            let sentence = if fit.is_empty() {
                format!("no machine is called like `{pattern}`")
            } else if out.len() + fit.len() > MAX_FLOWS {
                format!("these are more than {MAX_FLOWS} flows")
            } else {
                "so many copies of so long a table are too much; make it shorter".into()
            };
            reader.within(name, |r| r.within(key, |r| r.fail::<()>(&flow.origin, sentence)));
            continue;
        }
        for machine in fit {
            let mut copy = flow.clone();
            if let Value::Table(table) = &mut copy.value {
                for (key, text) in [("name", format!("{name}-{machine}")), (key, machine.clone())] {
                    if let Some(node) = table.get_mut(key) {
                        node.value = Value::Text(text);
                    }
                }
            }
            out.push(copy);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Origin, parse};

    fn expanded(text: &str) -> Node {
        let root = Node { value: Value::Table(parse(text).unwrap()), origin: Origin::Line(1) };
        expand(&root, &mut Reader::default())
    }

    #[test]
    fn counted_nodes_get_numbers_places_and_names() {
        let root = expanded(
            "[node.s]\ncount = 2\nstep = [5, 1]\n[node.s.interface.w]\naddress = \"10.0.{n}.{n+9}/24\"",
        );
        assert_eq!(
            root.to_string(),
            "{ node = { s1 = { interface = { w = { address = \"10.0.1.10/24\" } }, position = [0.0, 0.0, 0.0] }, \
             s2 = { interface = { w = { address = \"10.0.2.11/24\" } }, position = [5.0, 1.0, 0.0] } } }"
        );
        let ring = expanded("[node.s]\ncount = 4\nring = 2\nposition = [1.0, 0.0]").to_string();
        assert!(
            ring.contains("s2 = { position = [1.0, 2.0, 0.0] }, s3 = { position = [-1.0, 0.0, 0.0] }"),
            "{ring}"
        );
    }

    #[test]
    fn each_number_of_a_text_is_written_and_nothing_else() {
        for (text, written) in [
            ("{n}", "7"),
            ("a{n}b{n+2}c", "a7b9c"),
            ("{n+}{n+x}{m}{n+1}", "{n+}{n+x}{m}8"),
            ("{n{n}}{n", "{n7}{n"),
            ("{n+4294967296}-{n+4294967295}", "{n+4294967296}-4294967302"),
        ] {
            assert_eq!(numbered(text, 7), written);
        }
    }

    /// What is said of the copies that a text asks for.
    fn refused(text: &str) -> Vec<String> {
        let root = Node { value: Value::Table(parse(text).unwrap()), origin: Origin::Line(1) };
        let mut reader = Reader::default();
        expand(&root, &mut reader);
        reader.finish().0.into_iter().map(|p| format!("{}: {}", p.key, p.sentence)).collect()
    }

    #[test]
    fn copies_have_a_bound_together() {
        let [a, b] = ["a", "b"].map(|name| format!("[node.{name}]\ncount = 6000\n"));
        assert_eq!(refused(&a), [""; 0]);
        assert_eq!(refused(&(a + &b)), ["node.b.count: with these there are more than 10000 machines"]);
        let long = "x".repeat(100_000);
        let too_long = "so many copies of so long a table are too much; make it shorter";
        let nodes = format!("[node.a]\ncount = 3000\nnat = [\"{long}\"]\n");
        assert_eq!(refused(&nodes), [format!("node.a.count: {too_long}")]);
        let flows = format!("[[flow]]\nname = \"f\"\nfrom = \"a*\"\nto = \"{long}\"\n");
        assert_eq!(
            refused(&format!("{flows}[node.a]\ncount = 3000\n")),
            [format!("flow.f.from: {too_long}")]
        );
    }

    #[test]
    fn flows_fan_out() {
        let root = expanded(
            "flow = [{ name = \"up\", from = \"s*\", to = \"ap\" }]\n[node]\ns1 = {}\nap = {}\ns2 = {}",
        );
        assert!(root.to_string().starts_with(
            "{ flow = [{ name = \"up-s1\", from = \"s1\", to = \"ap\" }, { name = \"up-s2\", from = \"s2\", to = \"ap\" }]"
        ));
    }
}
