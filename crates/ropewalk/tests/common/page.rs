//! What stands on a page of the guide.

use std::path::Path;

/// A page's text.
pub(crate) fn text(page: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page);
    std::fs::read_to_string(page).unwrap()
}

/// Its blocks of a language.
pub(crate) fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text(page).split(fence.as_str()).skip(1).map(|b| b.split("```").next().unwrap().to_owned()).collect()
}

/// Its commands, without what is said behind them.
pub(crate) fn commands(page: &str) -> Vec<String> {
    let blocks = blocks(page, "sh");
    let lines = blocks.iter().flat_map(|b| b.lines());
    lines.map(|l| l.split(" #").next().unwrap().trim().to_owned()).collect()
}
