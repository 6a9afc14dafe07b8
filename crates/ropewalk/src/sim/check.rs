//! `ropewalk sim check`: says that files are well, or everything that is wrong with them.

use super::Check;
use crate::exit::{Code, failure};
use crate::report::count;
use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::Plan;

/// All files are looked at, whatever the first one holds.
pub(super) fn run(args: &Check) -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for file in &args.files {
        match Document::read(file).and_then(|document| Plan::of(&document)) {
            Ok(plan) => println!("{}: well; {}", file.display(), said(&plan)),
            Err(problems) => wrong.push(problems.to_string()),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(failure(Code::Usage, wrong.join("\n"))) }
}

fn said(plan: &Plan) -> String {
    let base = &plan.base;
    let runs = match plan.points.len() {
        1 => "one run".to_owned(),
        n => format!("{n} runs in its sweep"),
    };
    format!("{}, {}, {runs}", count(base.node.len(), "machine"), count(base.flow.len(), "flow"))
}
