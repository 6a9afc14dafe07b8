//! `lab set`: what a user says becomes an event, as in a scenario file.

use super::Set;
use crate::exit::{Code, failure};
use ropewalk_lab::live::daemon::{About, Request};

/// Shown by `--help`.
pub(super) const EXAMPLES: &str = "Examples:
  ropewalk lab set sta position=12,3      the machine is somewhere else
  ropewalk lab set uplink down            the link is cut; up: it works again
  ropewalk lab set uplink rate=5Mbit/s delay=80ms
  ropewalk lab set ap:r0 power=3dBm       also: on, off, channel=44 (nobody is told)
  ropewalk lab set ap:wlan0 channel=44    announced to its stations
  ropewalk lab set sta:wlan0 disassociate also: associate, doze, awake
  ropewalk lab set ap:r0,sta:r0 loss=90dB
  ropewalk lab set ap:r0,sta:r0 blockage=20dB   somebody stands between them; off: not any more; duration=2s: not for longer
  ropewalk lab set oven on                the interferer; off: it is silent";

pub(super) fn run(args: &Set) -> anyhow::Result<()> {
    let mut client = args.name.open()?;
    let about = client.about()?;
    for request in requests(&about, &args.what, &args.changes)? {
        client.ask(&request)?;
    }
    Ok(())
}

/// The requests for what a user says; the lab checks names and values.
fn requests(about: &About, what: &str, changes: &[String]) -> anyhow::Result<Vec<Request>> {
    let (mut words, mut values) = (Vec::new(), Vec::new());
    for change in changes {
        match change.split_once('=') {
            Some((key, value)) => values.push((key, value)),
            None => words.push(change.as_str()),
        }
    }
    let mut all = Vec::new();
    for word in words {
        all.push(by_word(about, what, word)?);
    }
    if !values.is_empty() {
        all.push(Request::Change(by_values(about, what, &values)?));
    }
    Ok(all)
}

fn is_interface(about: &About, name: &str) -> bool {
    let Some((node, interface)) = name.split_once(':') else { return false };
    let node = about.nodes.iter().find(|n| n.name == node);
    node.is_some_and(|n| n.interfaces.iter().any(|(i, _)| i == interface))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn by_word(about: &About, what: &str, word: &str) -> anyhow::Result<Request> {
    let is_link = about.links.iter().any(|l| l == what);
    let event =
        |kind: &str, key: &str| Request::Change(format!("what = \"{kind}\"\n{key} = {}", quoted(what)));
    Ok(match word {
        "up" | "down" if is_link => event(&format!("link-{word}"), "link"),
        "on" | "up" if what.contains(':') => event("radio-up", "radio"),
        "off" | "down" if what.contains(':') => event("radio-down", "radio"),
        "up" | "down" => {
            let links = match about.links.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are {}", about.links.join(", ")),
            };
            return Err(failure(Code::Usage, format!("there is no link `{what}`; {links}")));
        }
        "on" | "off" => Request::Interferer { name: what.to_owned(), on: word == "on" },
        "associate" | "disassociate" => event(word, "interface"),
        "doze" => event("power-save-on", "interface"),
        "awake" => event("power-save-off", "interface"),
        _ => {
            let sentence = format!(
                "`{what}` cannot be told `{word}`; a link takes up and down, a radio and an interferer on and off, a station associate, \
                 disassociate, doze and awake"
            );
            return Err(failure(Code::Usage, sentence));
        }
    })
}

/// Keys of an event, in TOML.
fn by_values(about: &About, what: &str, values: &[(&str, &str)]) -> anyhow::Result<String> {
    let keys: Vec<&str> = values.iter().map(|(key, _)| *key).collect();
    let has = |key: &str| keys.contains(&key);
    let (kind, key) = match what.split_once(',') {
        Some(_) if has("blockage") => ("blockage", "between"),
        Some(_) if has("loss") => ("path-loss", "between"),
        _ if has("position") => ("move", "node"),
        _ if has("power") => ("tx-power", "radio"),
        _ if has("channel") && is_interface(about, what) => ("switch-channel", "interface"),
        _ if has("channel") => ("tune", "radio"),
        _ if about.links.iter().any(|l| l == what) => ("link-set", "link"),
        _ => {
            let sentence = format!(
                "nothing of `{what}` is called {}; `ropewalk lab set --help` shows what is",
                keys.join(", ")
            );
            return Err(failure(Code::Usage, sentence));
        }
    };
    let name = match key {
        "between" => {
            format!("[{}]", what.split(',').map(|r| quoted(r.trim())).collect::<Vec<_>>().join(", "))
        }
        _ => quoted(what),
    };
    let mut text = format!("what = \"{kind}\"\n{key} = {name}\n");
    for (key, value) in values {
        // A link's loss is packets, a pair's is dB, and so is what an obstacle adds.
        let (key, value) = match (kind, *key, *value) {
            ("link-set", "loss", value) => ("packet-loss", value),
            ("blockage", "blockage", "off") => ("loss", "0dB"),
            ("blockage", "blockage", value) => ("loss", value),
            (_, key, value) => (key, value),
        };
        let value = match (key, value.parse::<i64>()) {
            ("position", _) => position(value)?,
            (_, Ok(number)) => number.to_string(),
            _ => quoted(value),
        };
        text.push_str(&format!("{key} = {value}\n"));
    }
    Ok(text)
}

/// Metres with commas between, as a list.
fn position(text: &str) -> anyhow::Result<String> {
    let metres: Vec<Result<f64, _>> = text.split(',').map(|part| part.trim().parse()).collect();
    match (2..=3).contains(&metres.len())
        && metres.iter().all(|m| m.as_ref().is_ok_and(|m: &f64| m.is_finite()))
    {
        true => Ok(format!("[{text}]")),
        false => Err(failure(
            Code::Usage,
            format!("`{text}` is no position; write metres, such as position=12,3.5"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_lab::live::daemon::NodeAbout;

    fn said(what: &str, changes: &[&str]) -> anyhow::Result<Vec<Request>> {
        let node = NodeAbout {
            name: "ap".into(),
            namespace: "rw".into(),
            interfaces: vec![("wlan0".into(), "10.1.0.1".into())],
        };
        let about = About {
            name: "t".into(),
            pid: 1,
            file: "t.toml".into(),
            title: String::new(),
            up_s: 0.0,
            nodes: vec![node],
            links: vec!["uplink".into()],
            daemons: Vec::new(),
        };
        requests(&about, what, &changes.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>())
    }

    fn event(what: &str, changes: &[&str]) -> String {
        match said(what, changes).unwrap().remove(0) {
            Request::Change(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_and_values_become_events() {
        assert_eq!(event("uplink", &["down"]), "what = \"link-down\"\nlink = \"uplink\"");
        assert_eq!(
            event("sta", &["position=1.5,2"]),
            "what = \"move\"\nnode = \"sta\"\nposition = [1.5,2]\n"
        );
        assert_eq!(
            event("ap:wlan0", &["channel=44"]),
            "what = \"switch-channel\"\ninterface = \"ap:wlan0\"\nchannel = 44\n"
        );
        assert_eq!(event("ap:r0", &["channel=44"]), "what = \"tune\"\nradio = \"ap:r0\"\nchannel = 44\n");
        assert!(
            event("uplink", &["loss=2%", "delay=5ms"]).ends_with("packet-loss = \"2%\"\ndelay = \"5ms\"\n")
        );
        assert!(event("a:r0,b:r0", &["loss=90dB"]).contains("between = [\"a:r0\", \"b:r0\"]"));
        assert_eq!(
            event("a:r0,b:r0", &["blockage=20dB", "duration=2s"]),
            "what = \"blockage\"\nbetween = [\"a:r0\", \"b:r0\"]\nloss = \"20dB\"\nduration = \"2s\"\n"
        );
        assert!(event("a:r0,b:r0", &["blockage=off"]).ends_with("loss = \"0dB\"\n"));
        let oven = Request::Interferer { name: "oven".into(), on: true };
        assert_eq!(said("oven", &["on"]).unwrap(), [oven]);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(said("uplink", &["sideways"]).is_err());
        // An interface is no link, and the links there are are said.
        let unknown = said("wan1", &["down"]).unwrap_err().to_string();
        assert_eq!(unknown, "there is no link `wan1`; there are uplink");
        assert!(said("sta", &["colour=red"]).is_err());
        for nowhere in ["position=a", "position=1", "position=1,nan", "position=1,2]\nx=[3"] {
            assert!(said("sta", &[nowhere]).is_err(), "{nowhere}");
        }
    }
}
