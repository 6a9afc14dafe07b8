//! Tables in pages, between markers.

use super::Table;

fn markers(name: &str) -> (String, String) {
    (format!("<!-- table {name}: ./run models -->\n"), format!("<!-- end {name} -->"))
}

/// The page with the table put where its markers are; none if it has no such markers.
pub fn put(page: &str, table: &Table) -> Option<String> {
    between(page, &markers(table.name), &format!("\n{}\n", table.markdown()))
}

/// The same for a table beside the kernel's figures, which an example of its own makes.
pub fn put_kernel(page: &str, name: &str, text: &str) -> Option<String> {
    let markers = (format!("<!-- kernel {name}: ./run models -->\n"), format!("<!-- end {name} -->"));
    between(page, &markers, &format!("\n{}\n\n", text.trim()))
}

fn between(page: &str, (begin, end): &(String, String), text: &str) -> Option<String> {
    let from = page.find(begin)? + begin.len();
    let to = from + page[from..].find(end)?;
    Some(format!("{}{text}{}", &page[..from], &page[to..]))
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
        let page = "<!-- kernel y: ./run models -->\nold\n<!-- end y -->\n";
        let new = put_kernel(page, "y", "| a |\n").unwrap();
        assert_eq!(new, "<!-- kernel y: ./run models -->\n\n| a |\n\n<!-- end y -->\n");
        assert!(tables(&new).is_empty() && put_kernel(page, "z", "").is_none());
    }
}
