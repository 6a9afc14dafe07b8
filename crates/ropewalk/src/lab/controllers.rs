//! Coupled controllers of the kernel, for the time of a run.

use ropewalk_kern::Law;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::TcpControl;

/// Controllers that a run has loaded. Dropping it unloads them; what was loaded before stays.
#[derive(Debug, Default)]
pub(super) struct Controllers(Vec<Law>);

impl Controllers {
    /// Loads what the scenario asks for and this kernel lacks. What cannot be loaded is said; the
    /// run is refused for it later, with the key.
    pub(super) fn load(scenario: &Scenario) -> Controllers {
        let missing = |law: &Law| ropewalk_kern::status().iter().any(|s| s.law == *law && !s.is_registered);
        let mut loaded = Controllers::default();
        for law in wanted(scenario).into_iter().filter(missing) {
            match ropewalk_kern::load(law) {
                Ok(_) => loaded.0.push(law),
                Err(error) => eprintln!("ropewalk: {} cannot be loaded: {error}", law.kernel_name()),
            }
        }
        loaded
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        for law in &self.0 {
            if let Err(error) = ropewalk_kern::unload(*law) {
                eprintln!("ropewalk: {} stays loaded: {error}", law.kernel_name());
            }
        }
    }
}

/// The coupled controllers that flows of a scenario ask for, each once.
fn wanted(scenario: &Scenario) -> Vec<Law> {
    let of_flows = scenario.flow.iter().map(|flow| scenario.transport(flow).congestion);
    let asked: Vec<TcpControl> = of_flows.collect();
    let laws = [(TcpControl::Lia, Law::Lia), (TcpControl::Olia, Law::Olia), (TcpControl::Balia, Law::Balia)];
    laws.into_iter().filter(|(control, _)| asked.contains(control)).map(|(_, law)| law).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    #[test]
    fn coupled_controllers_are_wanted_once() {
        let text = "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\n\
             [[flow]]\nname = \"f\"\nkind = \"mptcp\"\nfrom = \"b\"\nto = \"a\"\ncongestion = \"olia\"\n\
             [[flow]]\nname = \"g\"\nkind = \"mptcp\"\nfrom = \"a\"\nto = \"b\"\ncongestion = \"balia\"\n";
        let scenario = Document::parse("test", text).unwrap().scenario().unwrap();
        assert_eq!(wanted(&scenario), [Law::Olia, Law::Balia]);
        let plain = Document::parse("test", &text.replace("olia", "cubic").replace("balia", "newreno"));
        assert_eq!(wanted(&plain.unwrap().scenario().unwrap()), []);
    }
}
