//! What an uplink carried, interval by interval, as a Parquet file.

use crate::{Table, TableError, parquet};
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::errors::ParquetError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use std::sync::Arc;

/// One interval of one uplink.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its beginning, seconds since 1970 (UTC).
    pub at_s: i64,
    /// How long it was, seconds.
    pub length_s: f64,
    /// The uplink's name.
    pub uplink: String,
    /// What the uplink can carry, Mbit/s.
    pub rate_mbps: f64,
    /// What it carried, Mbit/s.
    pub used_mbps: f64,
}

impl Interval {
    /// What was left, Mbit/s.
    pub fn idle_mbps(&self) -> f64 {
        (self.rate_mbps - self.used_mbps).max(0.0)
    }
}

const COLUMNS: [(&str, DataType, &str); 6] = [
    ("at_s", DataType::Int64, "s"),
    ("length_s", DataType::Float64, "s"),
    ("uplink", DataType::Utf8, "1"),
    ("rate_mbps", DataType::Float64, "Mbit/s"),
    ("used_mbps", DataType::Float64, "Mbit/s"),
    ("idle_mbps", DataType::Float64, "Mbit/s"),
];

/// The bytes of a file.
///
/// # Errors
/// Parquet refuses the table.
pub fn encode(all: &[Interval]) -> Result<Vec<u8>, TableError> {
    let fields = COLUMNS.map(|(name, kind, unit)| {
        Field::new(name, kind, false).with_metadata([("unit".to_owned(), unit.to_owned())].into())
    });
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let numbers = |of: fn(&Interval) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(all.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(all.iter().map(|i| i.at_s))),
        numbers(|i| i.length_s),
        Arc::new(StringArray::from_iter_values(all.iter().map(|i| &i.uplink))),
        numbers(|i| i.rate_mbps),
        numbers(|i| i.used_mbps),
        numbers(Interval::idle_mbps),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    parquet::encode(&Table { name: "harvest", schema, batches: vec![batch] })
}

/// The intervals of a file that [`encode`] made.
///
/// # Errors
/// The bytes are no whole file, or one of something else.
pub fn decode(bytes: Bytes) -> Result<Vec<Interval>, TableError> {
    let read = || -> Result<Vec<RecordBatch>, ParquetError> {
        let batches = ParquetRecordBatchReaderBuilder::try_new(bytes)?.build()?;
        Ok(batches.collect::<Result<_, _>>()?)
    };
    let mut all = Vec::new();
    for batch in read().map_err(|e| TableError::File(e.to_string()))? {
        let wrong = |name: &str| TableError::File(format!("it has no column `{name}` of a harvest"));
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| wrong(name));
        let number = |name: &str| column(name)?.as_primitive_opt::<Float64Type>().ok_or_else(|| wrong(name));
        let at = column("at_s")?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong("at_s"))?;
        let uplink = column("uplink")?.as_string_opt::<i32>().ok_or_else(|| wrong("uplink"))?;
        let [length, rate, used] = [number("length_s")?, number("rate_mbps")?, number("used_mbps")?];
        all.extend((0..batch.num_rows()).map(|i| Interval {
            at_s: at.value(i),
            length_s: length.value(i),
            uplink: uplink.value(i).to_owned(),
            rate_mbps: rate.value(i),
            used_mbps: used.value(i),
        }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_what_it_was_made_of() {
        let one = |n: i64| Interval {
            at_s: 1_800_000_000 + 10 * n,
            length_s: 10.0,
            uplink: "wan0".into(),
            rate_mbps: 4.0,
            used_mbps: n as f64,
        };
        for count in [0, 1, 3000] {
            let all: Vec<Interval> = (0..count).map(one).collect();
            let bytes = encode(&all).unwrap();
            assert_eq!(decode(bytes.clone().into()).unwrap(), all);
            assert!(decode(bytes[..bytes.len() - 5].to_vec().into()).is_err(), "cut off");
        }
        assert_eq!((one(1).idle_mbps(), one(9).idle_mbps()), (3.0, 0.0));
        let other = crate::tables(&[], &[]).unwrap();
        let runs = parquet::encode(&other[0]).unwrap();
        assert!(decode(runs.into()).unwrap().is_empty(), "no rows, so no column is asked for");
        assert!(decode(Bytes::from_static(b"nothing")).is_err());
    }
}
