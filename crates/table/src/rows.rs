//! Rows of reports into columns.

use crate::{Run, Table, TableError, schema};
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use ropewalk_scenario::report::{Report, Row, TableVisitor};
use std::sync::Arc;

/// Most rows of a batch: texts of a batch have to stay below 2 GiB.
const BATCH: usize = 1 << 20;

/// A value of a row.
enum Value<'a> {
    Text(&'a str),
    Number(Option<f64>),
    Whole(u64),
}

/// A column that grows.
enum Column {
    Text(StringBuilder),
    Real(Float64Builder),
    Whole(Int64Builder),
    Seed(UInt64Builder),
}

impl Column {
    fn of(kind: &DataType) -> Column {
        match kind {
            DataType::Utf8 => Column::Text(StringBuilder::new()),
            DataType::Int64 => Column::Whole(Int64Builder::new()),
            DataType::UInt64 => Column::Seed(UInt64Builder::new()),
            _ => Column::Real(Float64Builder::new()),
        }
    }

    fn push(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Column::Text(column), Value::Text(text)) => column.append_value(text),
            (Column::Text(column), _) => column.append_null(),
            (Column::Real(column), Value::Number(number)) => column.append_option(*number),
            (Column::Real(column), _) => column.append_null(),
            // Counts of a run stay far below 2^53, where reals begin to leave whole numbers out.
            (Column::Whole(column), Value::Number(number)) => column.append_option(number.map(|n| n as i64)),
            (Column::Whole(column), Value::Whole(number)) => {
                column.append_value(i64::try_from(*number).unwrap_or(i64::MAX));
            }
            (Column::Whole(column), Value::Text(_)) => column.append_null(),
            (Column::Seed(column), Value::Whole(seed)) => column.append_value(*seed),
            (Column::Seed(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Text(column) => Arc::new(column.finish()),
            Column::Real(column) => Arc::new(column.finish()),
            Column::Whole(column) => Arc::new(column.finish()),
            Column::Seed(column) => Arc::new(column.finish()),
        }
    }
}

/// A table that grows.
struct Builder {
    name: &'static str,
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

impl Builder {
    fn new(name: &'static str, axes: &[String]) -> Result<Builder, TableError> {
        let schema = schema(name, axes)?;
        let columns = schema.fields().iter().map(|f| Column::of(f.data_type())).collect();
        Ok(Builder { name, schema, columns, rows: 0, batches: Vec::new() })
    }

    fn push<'a>(&mut self, values: impl Iterator<Item = Value<'a>>) -> Result<(), ArrowError> {
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(&value));
        self.rows += 1;
        if self.rows == BATCH { self.end_batch() } else { Ok(()) }
    }

    fn end_batch(&mut self) -> Result<(), ArrowError> {
        if self.rows > 0 {
            let columns = self.columns.iter_mut().map(Column::finish).collect();
            self.batches.push(RecordBatch::try_new(self.schema.clone(), columns)?);
            self.rows = 0;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Table, TableError> {
        self.end_batch()?;
        Ok(Table { name: self.name, schema: self.schema, batches: self.batches })
    }
}

/// All tables while they grow: `runs`, those of the reports, `series`.
pub(crate) struct Builders {
    all: Vec<Builder>,
}

impl Builders {
    pub(crate) fn of(runs: &[Run<'_>], axes: &[String]) -> Result<Vec<Table>, TableError> {
        let all = schema::names().into_iter().map(|name| Builder::new(name, axes));
        let mut builders = Builders { all: all.collect::<Result<_, _>>()? };
        for run in runs {
            builders.add(run, axes)?;
        }
        builders.all.into_iter().map(Builder::finish).collect()
    }

    fn add(&mut self, run: &Run<'_>, axes: &[String]) -> Result<(), TableError> {
        let labels: Vec<Option<&str>> = axes.iter().map(|axis| label(run.report, axis)).collect();
        let head = Head { name: &run.name, seed: run.report.provenance.seed, labels: &labels };
        if let Some(runs) = self.all.first_mut() {
            runs.push(head.values().chain(about(run.report)))?;
        }
        let mut visitor = Visitor { builders: &mut self.all[1..], place: 0, head: &head, failed: None };
        run.report.visit(&mut visitor);
        visitor.failed.map_or(Ok(()), Err)?;
        self.all.last_mut().map_or(Ok(()), |series| add_series(series, &head, run.report))?;
        Ok(())
    }
}

fn label<'a>(report: &'a Report, axis: &str) -> Option<&'a str> {
    report.provenance.point.iter().find(|(name, _)| name == axis).map(|(_, label)| label.as_str())
}

/// What every row begins with.
struct Head<'a> {
    name: &'a str,
    seed: u64,
    labels: &'a [Option<&'a str>],
}

impl<'a> Head<'a> {
    fn values(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let labels = self.labels.iter().map(|label| label.map_or(Value::Number(None), Value::Text));
        [Value::Text(self.name), Value::Whole(self.seed)].into_iter().chain(labels)
    }
}

/// As [`schema::RUNS`].
fn about(report: &Report) -> impl Iterator<Item = Value<'_>> {
    let p = &report.provenance;
    [
        Value::Text(&p.title),
        Value::Text(&p.file),
        Value::Text(&p.scenario),
        Value::Text(&p.version),
        Value::Number(Some(p.duration_s)),
        Value::Number(Some(p.warmup_s)),
        Value::Text(&p.trace),
        Value::Whole(p.events),
    ]
    .into_iter()
}

/// As [`schema::SERIES`]; what an interval has no value for has no row.
fn add_series(table: &mut Builder, head: &Head<'_>, report: &Report) -> Result<(), ArrowError> {
    let series = &report.series;
    for (i, row) in series.rows.iter().enumerate() {
        let time = end_of(i, series.interval_s);
        for (metric, value) in series.columns.iter().zip(row).filter(|(_, value)| value.is_some()) {
            let own = [Value::Number(Some(time)), Value::Text(metric), Value::Number(*value)];
            table.push(head.values().chain(own))?;
        }
    }
    Ok(())
}

/// When an interval ends, seconds. Intervals are whole nanoseconds: three of 0.1 s are 0.3 s, to the bit.
fn end_of(number: usize, interval_s: f64) -> f64 {
    (number + 1) as f64 * (interval_s * 1e9).round() / 1e9
}

/// Puts each table of a report into its builder.
struct Visitor<'a, 'b> {
    builders: &'a mut [Builder],
    place: usize,
    head: &'a Head<'b>,
    failed: Option<ArrowError>,
}

impl TableVisitor for Visitor<'_, '_> {
    fn table<R: Row>(&mut self, rows: &[R]) {
        let Some(builder) = self.builders.get_mut(self.place) else { return };
        self.place += 1;
        for row in rows {
            let texts = row.texts().into_iter().map(Value::Text);
            let numbers = row.numbers().into_iter().map(Value::Number);
            let values = self.head.values().chain([Value::Text(row.name())]).chain(texts).chain(numbers);
            if let Err(error) = builder.push(values) {
                self.failed.get_or_insert(error);
            }
        }
    }
}
