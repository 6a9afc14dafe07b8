//! A TOML document whose every value knows where it was written.

use indexmap::IndexMap;
use std::fmt;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of the file, from 1.
    Line(u32),
    /// Not in the file: an option of the command line or a point of a sweep, as it was written.
    Given(Arc<str>),
}

/// A value with its origin.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is said.
    pub value: Value,
    /// Where.
    pub origin: Origin,
}

/// Origins do not count: two trees that say the same are the same.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

/// What TOML can say.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Whole(i64),
    /// A float.
    Real(f64),
    /// A boolean.
    Truth(bool),
    /// A date or time, which no key takes.
    Date(String),
    /// An array, or an array of tables.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Table),
}

/// A table in the order of the file.
pub type Table = IndexMap<String, Node>;

impl Value {
    /// What to call it in a sentence.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Whole(_) => "a whole number",
            Value::Real(_) => "a number",
            Value::Truth(_) => "true or false",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// As it would stand in a file, on one line.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Text(text) => write!(f, "{}", toml::Value::String(text.clone())),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Real(x) => write!(f, "{}", toml::Value::Float(*x)),
            Value::Truth(b) => write!(f, "{b}"),
            Value::Date(text) => f.write_str(text),
            Value::List(list) => {
                f.write_str("[")?;
                for (i, node) in list.iter().enumerate() {
                    write!(f, "{}{node}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Table(table) => {
                f.write_str("{ ")?;
                for (i, (key, node)) in table.iter().enumerate() {
                    write!(f, "{}{key} = {node}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// Something that is no TOML: the line and the parser's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub sentence: String,
}

/// Reads a document; every syntax error is found.
pub fn parse(text: &str) -> Result<Table, Vec<SyntaxError>> {
    let lines = Lines::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut wrong: Vec<SyntaxError> = errors
        .iter()
        .map(|e| SyntaxError {
            line: e.span().map_or(1, |span| lines.at(span.start)),
            sentence: e.message().trim().replace('\n', ", "),
        })
        .collect();
    let table = convert_table(document.get_ref(), &lines, &mut wrong);
    if wrong.is_empty() { Ok(table) } else { Err(wrong) }
}

/// One value as it may stand after an equals sign; anything else is taken for a text.
pub fn parse_value(text: &str, origin: &Origin) -> Node {
    let line = format!("v = {text}");
    let value = parse(&line).ok().filter(|t| t.len() == 1).and_then(|mut t| t.shift_remove("v"));
    let mut node = value.unwrap_or_else(|| Node { value: Value::Text(text.into()), origin: origin.clone() });
    node.set_origin(origin);
    node
}

impl Node {
    /// Says that it and all in it come from there.
    pub fn set_origin(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|n| n.set_origin(origin)),
            Value::Table(table) => table.values_mut().for_each(|n| n.set_origin(origin)),
            _ => {}
        }
    }
}

/// Byte offsets of line starts.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect())
    }

    fn at(&self, offset: usize) -> u32 {
        self.0.partition_point(|start| *start <= offset) as u32
    }
}

fn convert_table(table: &DeTable<'_>, lines: &Lines, wrong: &mut Vec<SyntaxError>) -> Table {
    let mut out = Table::new();
    for (key, value) in table {
        let line = lines.at(key.span().start);
        let value = convert(value.get_ref(), line, lines, wrong);
        out.insert(key.get_ref().to_string(), Node { value, origin: Origin::Line(line) });
    }
    out
}

fn convert(value: &DeValue<'_>, line: u32, lines: &Lines, wrong: &mut Vec<SyntaxError>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(b) => Value::Truth(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Whole(n),
            Err(_) => {
                wrong.push(SyntaxError { line, sentence: format!("the number {} is too large", n.as_str()) });
                Value::Whole(0)
            }
        },
        DeValue::Float(x) => Value::Real(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(list) => Value::List(
            list.iter()
                .map(|item| {
                    let line = lines.at(item.span().start);
                    Node { value: convert(item.get_ref(), line, lines, wrong), origin: Origin::Line(line) }
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(convert_table(table, lines, wrong)),
    }
}
