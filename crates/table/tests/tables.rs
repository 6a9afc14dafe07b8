//! Reports become the same tables everywhere, and come back out of files as they were.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use ropewalk_scenario::report::{FlowRow, LinkRow, Provenance, Report, Series};
use ropewalk_table::parquet::{self, Bytes};
use ropewalk_table::{Run, Table, gather, names, tables};
use std::collections::HashMap;

fn report(seed: u64) -> Report {
    let flow = |name: &str, rtt_ms| FlowRow {
        name: name.into(),
        kind: "tcp".into(),
        bytes: (1 << 53) - seed,
        goodput_mbps: 0.1 + seed as f64,
        rtt_ms,
        timeouts: Some(7),
        ..FlowRow::default()
    };
    Report {
        provenance: Provenance {
            seed,
            trace: format!("{seed:016x}"),
            point: vec![("delay".into(), format!("{seed}ms"))],
            events: 1000 + seed,
            ..Provenance::default()
        },
        flow: vec![flow("down", Some(20.25)), flow("up", None)],
        link: vec![LinkRow { name: "wan1:back".into(), delivered: 5, ..LinkRow::default() }],
        series: Series {
            interval_s: 0.5,
            columns: vec!["flow.down.goodput_mbps".into(), "flow.up.rtt_ms".into()],
            rows: vec![vec![Some(1.0), None], vec![Some(2.0), Some(3.5)]],
        },
        ..Report::default()
    }
}

fn made(seeds: &[u64]) -> Vec<Table> {
    let reports: Vec<Report> = seeds.iter().map(|s| report(*s)).collect();
    let run = |report| Run { name: format!("run-{}", seeds_of(report)), report };
    tables(&reports.iter().map(run).collect::<Vec<_>>(), &["delay".to_owned(), "other".to_owned()]).unwrap()
}

fn seeds_of(report: &Report) -> u64 {
    report.provenance.seed
}

fn axes() -> Vec<String> {
    vec!["delay".to_owned(), "other".to_owned()]
}

#[test]
fn every_table_is_there_with_a_row_for_each_row_of_the_report() {
    let all = made(&[1, 2]);
    assert_eq!(all.iter().map(|t| t.name).collect::<Vec<_>>(), names());
    let rows = |name: &str| all.iter().find(|t| t.name == name).unwrap().rows();
    // A value that is not there makes no row of the series.
    assert_eq!((rows("runs"), rows("flow"), rows("link"), rows("station"), rows("series")), (2, 4, 2, 0, 6));
}

#[test]
fn times_of_a_series_are_multiples_of_its_interval() {
    let (columns, rows) = (vec!["flow.down.rtt_ms".into()], vec![vec![Some(2.5)]; 30]);
    let report = Report { series: Series { interval_s: 0.1, columns, rows }, ..report(1) };
    let all = tables(&[Run { name: "run".into(), report: &report }], &axes()).unwrap();
    let batch = &all.last().unwrap().batches[0];
    let times = batch.column_by_name("time_s").unwrap().as_primitive::<Float64Type>().values();
    assert_eq!(times[..3], [0.1, 0.2, 0.3]);
    assert_eq!(times[29], 3.0);
}

#[test]
fn files_give_back_what_was_written_to_the_bit() {
    for table in made(&[1, 2, u64::MAX >> 12]) {
        let bytes = parquet::encode(&table).unwrap();
        assert_eq!(&bytes[..4], b"PAR1");
        let read = parquet::decode(table.name, &axes(), bytes.into()).unwrap();
        assert_eq!(read.rows(), table.rows(), "{}", table.name);
        if table.rows() > 0 {
            assert_eq!(read, table, "{}", table.name);
        }
    }
}

#[test]
fn half_a_file_is_refused_wherever_it_ends() {
    let flow = made(&[1]).swap_remove(1);
    let bytes = parquet::encode(&flow).unwrap();
    for end in [0, 1, 4, bytes.len() / 2, bytes.len() - 1] {
        let half = Bytes::copy_from_slice(&bytes[..end]);
        let error = parquet::decode("flow", &axes(), half).unwrap_err().to_string();
        assert!(error.starts_with("this is no whole Parquet file of such a table"), "{end}: {error}");
    }
    let error = parquet::decode("link", &axes(), bytes.into()).unwrap_err().to_string();
    assert!(error.starts_with("this is no whole Parquet file of such a table"), "{error}");
}

#[test]
fn parts_come_in_the_order_of_the_runs_whoever_was_faster() {
    let whole = made(&[1, 2, 3, 4]);
    let parts = [made(&[3, 4]), made(&[2]), made(&[1])];
    let order: HashMap<String, usize> = (1..=4).map(|n| (format!("run-{n}"), n)).collect();
    for (i, table) in whole.iter().enumerate() {
        let of_table: Vec<Table> = parts.iter().map(|part| part[i].clone()).collect();
        let gathered = gather(table.name, &axes(), &of_table, &order).unwrap();
        assert_eq!(gathered.rows(), table.rows());
        if table.rows() > 0 {
            assert_eq!(gathered.batches, table.batches, "{}", table.name);
        }
    }
    // Null case: parts as they came are in another order.
    let runs = |part: &Vec<Table>| parquet::run_names(parquet::encode(&part[0]).unwrap().into()).unwrap();
    let came: Vec<String> = parts.iter().flat_map(runs).collect();
    assert_eq!(came, ["run-3", "run-4", "run-2", "run-1"]);
}
