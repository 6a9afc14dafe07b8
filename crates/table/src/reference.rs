//! The page of the tables, `docs/guide/tables.md`, from their schema.

use crate::{names, schema};
use arrow_schema::{DataType, Field};
use std::fmt::Write;

/// In Markdown, without its first line.
pub fn page() -> String {
    let mut out = include_str!("reference.md").to_owned();
    for name in names() {
        let Ok(schema) = schema(name, &[]) else { continue };
        let about = schema.metadata().get("doc").map_or("", String::as_str);
        let _ = write!(
            out,
            "\n## `{name}`\n\n{about}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n"
        );
        let fixed = if ["runs", "series"].contains(&name) { 2 } else { 3 };
        for field in schema.fields().iter().skip(fixed) {
            let _ = writeln!(out, "{}", line(field));
        }
    }
    out
}

fn line(field: &Field) -> String {
    let about = |key: &str| field.metadata().get(key).map_or("", String::as_str);
    let kind = match field.data_type() {
        DataType::Utf8 => "text",
        DataType::Int64 => "int64",
        DataType::UInt64 => "uint64",
        _ => "float64",
    };
    let null = if field.is_nullable() { " or null" } else { "" };
    format!("| `{}` | {kind}{null} | {} | {} |", field.name(), about("unit"), about("doc"))
}
