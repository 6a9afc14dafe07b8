//! The columns: names, types, units. They stand in the guide, and a test holds them: whoever reads
//! these files relies on them.

use crate::TableError;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ropewalk_scenario::report::{Column, TableForm, tables};
use std::collections::HashMap;
use std::sync::Arc;

/// Version of the schema: one more when a column is taken away or means another thing. New columns
/// do not count.
pub const VERSION: &str = "1";

/// What the name of an axis's column begins with, so that no axis takes the name of another column.
pub(crate) const AXIS: &str = "axis_";

/// Units by the ends of columns' names, the longer ones first.
const UNITS: [(&str, &str); 9] = [
    ("_percent", "%"),
    ("_points", "percentage points"),
    ("_mbps", "Mbit/s"),
    ("bytes", "B"),
    ("_dbm", "dBm"),
    ("_db", "dB"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("", "1"),
];

/// The unit of a column with numbers, by its name; `1` where it counts or compares.
pub fn unit(column: &str) -> &'static str {
    UNITS.iter().find(|(end, _)| column.ends_with(end)).map_or("1", |(_, unit)| unit)
}

/// What the runs were: columns after those that each table begins with.
pub(crate) const RUNS: [(&str, DataType, &str); 8] = [
    ("title", DataType::Utf8, "The scenario's title."),
    ("file", DataType::Utf8, "The scenario file, as it was named."),
    ("scenario", DataType::Utf8, "Hash of what was run, settings, axes and seed included."),
    ("version", DataType::Utf8, "The build that made the run."),
    ("duration_s", DataType::Float64, "Length of the run, seconds."),
    ("warmup_s", DataType::Float64, "Figures count from here, seconds."),
    ("trace", DataType::Utf8, "Hash of all that arrived anywhere, and when: equal runs have equal ones."),
    ("events", DataType::Int64, "Events that the simulator worked through."),
];

/// The time series, a value a row.
pub(crate) const SERIES: [(&str, DataType, &str); 3] = [
    (
        "time_s",
        DataType::Float64,
        "End of the interval that the value is about, seconds from the run's start.",
    ),
    ("metric", DataType::Utf8, "The figure, as TABLE.ROW.COLUMN; its unit is that of the column."),
    ("value", DataType::Float64, "Its value in the interval, in the unit of the figure."),
];

/// Names of all tables, in their order.
pub fn names() -> Vec<&'static str> {
    ["runs"].into_iter().chain(tables().iter().map(|t| t.name)).chain(["series"]).collect()
}

/// The columns of a table.
///
/// # Errors
/// There is no such table.
pub fn schema(table: &str, axes: &[String]) -> Result<SchemaRef, TableError> {
    let mut fields = vec![
        field("run", DataType::Utf8, false, "The run; joins the rows of all tables."),
        field("seed", DataType::UInt64, false, "The seed of its chance."),
    ];
    for axis in axes {
        let doc = format!("The run's label on the sweep's axis `{axis}`.");
        fields.push(field(&format!("{AXIS}{axis}"), DataType::Utf8, true, &doc));
    }
    let doc = match table {
        "runs" => {
            fields.extend(RUNS.iter().map(|(name, kind, doc)| field(name, kind.clone(), false, doc)));
            "What the runs were, a row for each."
        }
        "series" => {
            fields.extend(SERIES.iter().map(|(name, kind, doc)| field(name, kind.clone(), false, doc)));
            "The time series, where the scenario asks for one: a row for each value that there is."
        }
        _ => {
            let form = form(table).ok_or_else(|| TableError::Unknown { wanted: table.to_owned() })?;
            fields.push(field("name", DataType::Utf8, false, "The row's name, after the scenario."));
            fields.extend(form.texts.iter().map(|c| field(c.name, DataType::Utf8, false, c.doc)));
            fields.extend(form.numbers.iter().map(|c| field(c.name, kind(c), c.optional, c.doc)));
            form.doc
        }
    };
    let about = [("ropewalk.schema", VERSION), ("ropewalk.table", table), ("doc", doc.trim())];
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata(&about))))
}

pub(crate) fn form(table: &str) -> Option<TableForm> {
    tables().into_iter().find(|form| form.name == table)
}

fn kind(column: &Column) -> DataType {
    if column.whole { DataType::Int64 } else { DataType::Float64 }
}

fn field(name: &str, kind: DataType, optional: bool, doc: &str) -> Field {
    let mut about = vec![("doc", doc.trim())];
    if kind != DataType::Utf8 && !["seed", "value"].contains(&name) {
        about.push(("unit", unit(name)));
    }
    Field::new(name, kind, optional).with_metadata(metadata(&about))
}

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_that_the_documentation_of_the_columns_says() {
        let said = |doc: &str, unit: &str| match unit {
            "Mbit/s" => doc.contains("Mbit/s"),
            "ms" => doc.contains("ms") || doc.contains("the same"),
            "s" => doc.contains("seconds"),
            "%" => doc.contains("er cent") || doc.contains("The same"),
            "B" => doc.to_lowercase().contains("bytes"),
            "dB" | "dBm" | "percentage points" => doc.contains(unit),
            _ => !["Mbit/s", " ms", "seconds", "per cent"].iter().any(|u| doc.contains(u)),
        };
        for form in tables() {
            for column in form.numbers.iter().filter(|c| c.name != "windows") {
                let unit = unit(column.name);
                let doc = column.doc.replace("The same: ", "");
                assert!(
                    said(&doc, unit) || column.doc.contains("he same"),
                    "{}.{}: {unit}, but its documentation says: {}",
                    form.name,
                    column.name,
                    column.doc
                );
            }
        }
    }

    #[test]
    fn a_table_that_is_not_there_is_named_with_those_that_are() {
        let sentence = schema("flows", &[]).unwrap_err().to_string();
        assert!(
            sentence.starts_with("there is no table `flows`; there are runs, flow, subflow"),
            "{sentence}"
        );
    }

    #[test]
    fn an_axis_takes_no_other_columns_name() {
        let schema = schema("flow", &["seed".to_owned(), "kind".to_owned()]).unwrap();
        let mut columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        let all = columns.len();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), all);
        assert_eq!(schema.field(2).name(), "axis_seed");
    }
}
