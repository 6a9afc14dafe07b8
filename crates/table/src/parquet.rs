//! Tables as Parquet files, compressed with Snappy. The same table gives the same columns, whoever
//! made it.

use crate::{Table, TableError, gather, schema};
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
pub use bytes::Bytes;

/// Most rows that are read at once.
const BATCH: usize = 1 << 16;

/// The bytes of a file.
///
/// # Errors
/// Parquet refuses the table.
pub fn encode(table: &Table) -> Result<Vec<u8>, TableError> {
    let made_by = concat!("ropewalk ", env!("CARGO_PKG_VERSION")).to_owned();
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(made_by).build();
    let write = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), table.schema.clone(), Some(properties))?;
        table.batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.into_inner()
    };
    write().map_err(|e| TableError::Encode(e.to_string()))
}

/// The table of a file that [`encode`] made.
///
/// # Errors
/// The bytes are no whole file, or not one of a table with this name and these axes.
pub fn decode(name: &str, axes: &[String], bytes: Bytes) -> Result<Table, TableError> {
    let known = schema::names().into_iter().find(|known| *known == name);
    let name = known.ok_or_else(|| TableError::Unknown { wanted: name.to_owned() })?;
    let wanted = schema(name, axes)?;
    let read = || -> Result<Vec<RecordBatch>, ParquetError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(BATCH);
        Ok(builder.build()?.collect::<Result<_, _>>()?)
    };
    let batches = read().map_err(|e| TableError::File(e.to_string()))?;
    let as_wanted = |batch: RecordBatch| {
        let (columns, rows) = (batch.columns().to_vec(), batch.num_rows());
        let made = RecordBatch::try_new(wanted.clone(), columns);
        made.map_err(|e| TableError::File(format!("{name}, {rows} rows: {e}")))
    };
    let batches = batches.into_iter().map(as_wanted).collect::<Result<_, _>>()?;
    Ok(Table { name, schema: wanted, batches })
}

/// The names of the runs of a file, whatever its other columns are.
///
/// # Errors
/// The bytes are no whole file, or none with runs.
pub fn run_names(bytes: Bytes) -> Result<Vec<String>, TableError> {
    let read = || -> Result<Vec<RecordBatch>, ParquetError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(BATCH);
        let mask = ProjectionMask::columns(builder.parquet_schema(), ["run"]);
        Ok(builder.with_projection(mask).build()?.collect::<Result<_, _>>()?)
    };
    let mut names = Vec::new();
    for batch in read().map_err(|e| TableError::File(e.to_string()))? {
        names.extend(gather::stretches(&batch)?.into_iter().map(|(run, ..)| run.to_owned()));
    }
    Ok(names)
}
