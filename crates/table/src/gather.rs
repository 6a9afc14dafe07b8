//! Parts of a sweep's table into one, in the order of the runs and not of who was faster.

use crate::{Table, TableError, schema};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use std::collections::HashMap;

/// One table of one batch out of parts: runs in the order of `order`, others left out.
///
/// # Errors
/// There is no such table, or a part has other columns.
pub fn gather(
    name: &str,
    axes: &[String],
    parts: &[Table],
    order: &HashMap<String, usize>,
) -> Result<Table, TableError> {
    let known = schema::names().into_iter().find(|known| *known == name);
    let name = known.ok_or_else(|| TableError::Unknown { wanted: name.to_owned() })?;
    let schema = schema(name, axes)?;
    let mut pieces: Vec<(usize, RecordBatch)> = Vec::new();
    for batch in parts.iter().flat_map(|part| &part.batches) {
        for (run, from, length) in stretches(batch)? {
            if let Some(place) = order.get(run) {
                pieces.push((*place, batch.slice(from, length)));
            }
        }
    }
    // Stable: the rows of a run keep their order.
    pieces.sort_by_key(|(place, _)| *place);
    let whole = concat_batches(&schema, pieces.iter().map(|(_, piece)| piece))?;
    Ok(Table { name, schema, batches: vec![whole] })
}

/// Stretches of rows of one run: its name, the first row, how many.
pub(crate) fn stretches(batch: &RecordBatch) -> Result<Vec<(&str, usize, usize)>, TableError> {
    let runs = batch.column_by_name("run").and_then(|c| c.as_any().downcast_ref::<StringArray>());
    let runs = runs.ok_or_else(|| TableError::File("it has no column `run`".to_owned()))?;
    let mut out: Vec<(&str, usize, usize)> = Vec::new();
    for (i, run) in (0..runs.len()).map(|i| (i, runs.value(i))) {
        match out.last_mut().filter(|last| last.0 == run) {
            Some(last) => last.2 += 1,
            None => out.push((run, i, 1)),
        }
    }
    Ok(out)
}
