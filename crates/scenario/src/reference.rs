//! The reference of the scenario file, `docs/guide/scenario.md`, from the tables' own declarations.

use crate::document::form;
use crate::field::{Absent, Form, KeyForm};
use crate::paper::{self, formula::FUNCTIONS};
use crate::report::{Column, tables};
use std::fmt::Write;

/// The page, in Markdown, without its first line.
pub fn page() -> String {
    let mut out = format!("# The scenario file\n\n{}", include_str!("reference.md"));
    if let Form::Section { doc, keys } = form() {
        let _ = write!(out, "\n## The file itself\n\n{doc}\n\n");
        table(&mut out, keys);
        below(&mut out, "", keys);
    }
    figures(&mut out);
    out
}

/// The page of papers' files, `docs/guide/paper.md`, in Markdown, without its first line.
pub fn paper_page() -> String {
    let mut out = format!("# The file of a paper\n\n{}", include_str!("paper/reference.md"));
    out.push_str("\n| function | what it makes |\n|---|---|\n");
    for (name, doc) in FUNCTIONS {
        let _ = writeln!(out, "| `{name}` | {doc} |");
    }
    if let Form::Section { doc, keys } = paper::form() {
        let _ = write!(out, "\n## The file itself\n\n{doc}\n\n");
        table(&mut out, &keys);
        below(&mut out, "", &keys);
    }
    out
}

/// The tables below a table, each under its own head.
fn below(out: &mut String, path: &str, keys: &[KeyForm]) {
    for key in keys {
        let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        section(out, &path, &key.form);
    }
}

fn section(out: &mut String, path: &str, form: &Form) {
    match form {
        Form::Section { doc, keys } => {
            let _ = write!(out, "\n## `[{path}]`\n\n{doc}\n\n");
            table(out, keys);
            below(out, path, keys);
        }
        Form::Named(form) => section(out, &format!("{path}.NAME"), form),
        Form::Many(form) => match &**form {
            Form::Section { doc, keys } => {
                let _ = write!(out, "\n## `[[{path}]]`\n\n{doc}\n\n");
                table(out, keys);
                below(out, path, keys);
            }
            Form::Either(_, table) => section(out, path, &Form::Many(table.clone())),
            _ => {}
        },
        Form::Either(_, form) => section(out, path, form),
        Form::One(_) => {}
    }
}

fn table(out: &mut String, keys: &[KeyForm]) {
    out.push_str("| key | takes | if not there | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let absent = match &key.absent {
            Absent::Refused => "has to be there".to_owned(),
            Absent::Nothing => String::new(),
            Absent::Default(value)
                if value.starts_with('{') || value.starts_with('[') && value.contains('{') =>
            {
                "its defaults".to_owned()
            }
            Absent::Default(value) => format!("`{value}`"),
        };
        let _ = writeln!(out, "| `{}` | {} | {absent} | {} |", key.name, takes(&key.form), key.doc);
    }
}

fn takes(form: &Form) -> String {
    match form {
        Form::One(text) => text.clone(),
        Form::Section { .. } => "a table".into(),
        Form::Named(form) => match &**form {
            Form::One(_) => "values by name".into(),
            _ => "tables by name".into(),
        },
        Form::Many(form) => match &**form {
            Form::Section { .. } => "a list of tables".into(),
            other => format!("a list: {}", takes(other)),
        },
        Form::Either(a, b) => format!("{}, or {}", takes(a), takes(b)),
    }
}

/// What a run reports.
fn figures(out: &mut String) {
    out.push_str(
        "\n## Figures\n\nWhat a run leaves behind, and what `expect` and `figure` can name: `TABLE.ROW.COLUMN`, such as \
         `flow.down.goodput_mbps`. `sum(…)`, `mean(…)`, `min(…)`, `max(…)` and `jain(…)` make one figure of several: \
         `sum(flow.*.goodput_mbps)`. Figures count from the end of the warm-up. With `--out`, each table is a CSV file.\n",
    );
    for form in tables() {
        let _ =
            write!(out, "\n### `{}`\n\n{}\n\n| column | meaning |\n|---|---|\n", form.name, form.doc.trim());
        let row = |out: &mut String, column: &Column, kind: &str| {
            let _ = writeln!(out, "| `{}`{kind} | {} |", column.name, column.doc.trim());
        };
        form.texts.iter().for_each(|column| row(out, column, " (text)"));
        form.numbers.iter().for_each(|column| row(out, column, ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence for each key; where it has a default, more than its name says.
    fn visit(form: &Form, path: &str, wrong: &mut Vec<String>) {
        match form {
            Form::Section { doc, keys } => {
                if doc.len() < 8 {
                    wrong.push(path.to_owned());
                }
                for key in keys {
                    let path = format!("{path}.{}", key.name);
                    if key.doc.len() < 8 || key.doc.contains('|') {
                        wrong.push(path.clone());
                    }
                    visit(&key.form, &path, wrong);
                }
            }
            Form::Named(form) | Form::Many(form) => visit(form, path, wrong),
            Form::Either(a, b) => [a, b].into_iter().for_each(|form| visit(form, path, wrong)),
            Form::One(_) => {}
        }
    }

    #[test]
    fn every_key_and_every_figure_is_explained() {
        let mut wrong = Vec::new();
        visit(form(), "", &mut wrong);
        visit(&paper::form(), "paper", &mut wrong);
        for table in tables() {
            let columns = table.texts.iter().chain(table.numbers);
            wrong.extend(columns.filter(|c| c.doc.len() < 8).map(|c| format!("{}.{}", table.name, c.name)));
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
