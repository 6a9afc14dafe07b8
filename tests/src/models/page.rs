//! Tables in pages, between markers.

use super::Table;

fn markers(name: &str) -> (String, String) {
    (format!("<!-- table {name}: ./run models -->\n"), format!("<!-- end {name} -->"))
}

/// The page with the table put where its markers are; none if it has no such markers.
pub fn put(page: &str, table: &Table) -> Option<String> {
    let (begin, end) = markers(table.name);
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(&end)?;
    Some(format!("{}\n{}\n{}", &page[..from], table.markdown(), &page[to..]))
}

/// The names of the tables that a page has markers for.
pub fn tables(page: &str) -> Vec<&str> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("<!-- table "));
    lines.filter_map(|rest| rest.split_once(':').map(|(name, _)| name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Row;

    #[test]
    fn a_table_replaces_what_is_between_its_markers() {
        let page = "before\n<!-- table x: ./run models -->\nold\n<!-- end x -->\nafter\n";
        let table =
            Table { name: "x", unit: "ours", source: "theory", rows: vec![Row::new("a", 2.0, 2.1, 0.01)] };
        let new = put(page, &table).unwrap();
        assert!(
            new.starts_with("before\n<!-- table x: ./run models -->\n\n| case | theory | ours |"),
            "{new}"
        );
        assert!(
            new.contains("| a | 2.000 | 2.100 | +5.00 % | 1.0 % **outside** |\n\n<!-- end x -->\nafter\n"),
            "{new}"
        );
        assert_eq!(put(&new, &table).unwrap(), new);
        assert_eq!(tables(&new), ["x"]);
        assert!(put("nothing", &table).is_none());
    }
}
