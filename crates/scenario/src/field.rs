//! How a key is read, written and described: one trait, and two macros that write it for tables and for choices.
//!
//! A table of the file is declared once, by [`section!`](crate::section): the struct, the reader that finds every problem rather than the
//! first, the writer, and the page of the reference all come from that declaration, so none of them can lag behind.

use crate::problem::{Problem, remedy};
use crate::tree::{Node, Origin, Table, Value};
use indexmap::IndexMap;

/// What a key takes, for the reference.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A single value, described.
    One(String),
    /// A table of known keys.
    Section {
        /// What it is.
        doc: String,
        /// Its keys in order.
        keys: Vec<KeyForm>,
    },
    /// A table whose keys are names that the author chooses.
    Named(Box<Form>),
    /// A list.
    Many(Box<Form>),
    /// Either of them.
    Either(Box<Form>, Box<Form>),
}

impl Form {
    /// A single value, described.
    pub fn one(text: impl Into<String>) -> Form {
        Form::One(text.into())
    }
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyForm {
    /// As it is written.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// What it takes.
    pub form: Form,
    /// What holds if it is not there.
    pub absent: Absent,
}

/// What holds if a key is not there.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// It has to be there.
    Refused,
    /// Nothing is said; the description tells what follows.
    Nothing,
    /// This value.
    Default(String),
}

/// What a key can hold.
pub trait Field: Sized {
    /// Reads a value; what is wrong with it goes into the reader.
    fn read(node: &Node, reader: &mut Reader) -> Option<Self>;
    /// As it would stand in a file; none: the key would not be there.
    fn write(&self) -> Option<toml::Value>;
    /// For the reference.
    fn form() -> Form;
    /// What holds if the key is not there; none: it has to be.
    fn absent() -> Option<Self> {
        None
    }
}

/// Collects what is wrong, and knows the key that is being read.
#[derive(Debug, Default)]
pub struct Reader {
    path: Vec<String>,
    problems: Vec<Problem>,
    /// Something could not be read and had no default: what refers to it cannot be judged.
    incomplete: bool,
}

impl Reader {
    /// Says what is wrong with the value that is being read.
    pub fn fail<T>(&mut self, origin: &Origin, sentence: impl Into<String>) -> Option<T> {
        let problem = Problem { origin: origin.clone(), key: self.path.join("."), sentence: sentence.into() };
        self.problems.push(problem);
        None
    }

    /// Reads something below a key.
    pub fn within<T>(&mut self, key: &str, read: impl FnOnce(&mut Reader) -> T) -> T {
        self.path.push(key.into());
        let out = read(self);
        self.path.pop();
        out
    }

    /// The node as a table.
    pub fn table<'a>(&mut self, node: &'a Node) -> Option<&'a Table> {
        match &node.value {
            Value::Table(table) => Some(table),
            other => {
                self.fail(&node.origin, format!("this is {}, but has to be a table of keys", other.kind()))
            }
        }
    }

    /// Says of each key that is not among the known ones.
    pub fn refuse_unknown(&mut self, table: &Table, known: &[String]) {
        for (key, node) in table.iter().filter(|(key, _)| !known.contains(key)) {
            let remedy = remedy(key, known.iter().map(String::as_str));
            self.within(key, |r| r.fail::<()>(&node.origin, format!("there is no such key; {remedy}")));
        }
    }

    /// Reads one key of a table; if it is wrong, what follows is judged with its default.
    pub fn key<T: Field>(
        &mut self,
        (table, owner): (&Table, &Origin),
        key: &str,
        absent: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let value = match table.get(key) {
            Some(node) => self.within(key, |r| T::read(node, r)).or_else(absent),
            None => absent().or_else(|| {
                let sentence = format!("`{key}` is missing; give {}", example(&T::form()));
                self.within(key, |r| r.fail(owner, sentence))
            }),
        };
        self.incomplete |= value.is_none();
        value
    }

    /// What was wrong, and whether anything had to be left out.
    pub fn finish(self) -> (Vec<Problem>, bool) {
        (self.problems, self.incomplete)
    }
}

fn example(form: &Form) -> String {
    match form {
        Form::One(text) => text.clone(),
        Form::Section { .. } | Form::Named(_) => "a table".into(),
        Form::Many(form) => format!("a list: {}", example(form)),
        Form::Either(a, b) => format!("{} or {}", example(a), example(b)),
    }
}

/// `two_words` as a key: `two-words`.
pub fn kebab(field: &str) -> String {
    field.replace('_', "-")
}

impl<T: Field> Field for Option<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        T::read(node, reader).map(Some)
    }
    fn write(&self) -> Option<toml::Value> {
        self.as_ref()?.write()
    }
    fn form() -> Form {
        T::form()
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Value::List(list) = &node.value else {
            let sentence = format!("this is {}, but has to be a list: [[…]] or […]", node.value.kind());
            return reader.fail(&node.origin, sentence);
        };
        let mut out = Vec::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            match reader.within(&item_name(item, i), |r| T::read(item, r)) {
                Some(value) => out.push(value),
                None => reader.incomplete = true,
            }
        }
        Some(out)
    }
    fn write(&self) -> Option<toml::Value> {
        (!self.is_empty()).then(|| toml::Value::Array(self.iter().filter_map(Field::write).collect()))
    }
    fn form() -> Form {
        Form::Many(Box::new(T::form()))
    }
    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
}

/// What a list's item is called in a dotted key: its name if it has one, else its number from 0.
pub fn item_name(item: &Node, index: usize) -> String {
    if let Value::Table(table) = &item.value
        && let Some(Node { value: Value::Text(name), .. }) = table.get("name")
    {
        return name.clone();
    }
    index.to_string()
}

impl<T: Field> Field for IndexMap<String, T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let mut out = IndexMap::with_capacity(table.len());
        for (name, node) in table {
            match reader.within(name, |r| T::read(node, r)) {
                Some(value) => drop(out.insert(name.clone(), value)),
                None => reader.incomplete = true,
            }
        }
        Some(out)
    }
    fn write(&self) -> Option<toml::Value> {
        // What has a name is there, even if nothing more is said of it.
        let nothing = || toml::Value::Table(toml::Table::new());
        let entries = self.iter().map(|(k, v)| (k.clone(), v.write().unwrap_or_else(nothing)));
        (!self.is_empty()).then(|| toml::Value::Table(entries.collect()))
    }
    fn form() -> Form {
        Form::Named(Box::new(T::form()))
    }
    fn absent() -> Option<Self> {
        Some(IndexMap::new())
    }
}

/// Any value, kept as it stands.
impl Field for Node {
    fn read(node: &Node, _: &mut Reader) -> Option<Self> {
        Some(node.clone())
    }
    fn write(&self) -> Option<toml::Value> {
        Some(match &self.value {
            Value::Text(text) | Value::Date(text) => toml::Value::String(text.clone()),
            Value::Whole(n) => toml::Value::Integer(*n),
            Value::Real(x) => toml::Value::Float(*x),
            Value::Truth(b) => toml::Value::Boolean(*b),
            Value::List(list) => toml::Value::Array(list.iter().filter_map(Field::write).collect()),
            Value::Table(table) => {
                toml::Value::Table(table.iter().filter_map(|(k, v)| Some((k.clone(), v.write()?))).collect())
            }
        })
    }
    fn form() -> Form {
        Form::one("any value that the key takes")
    }
}

/// Declares a table of the file: each key with its meaning, its type and, after `=`, its default.
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $( $(#[doc = $key_doc:literal])+ $key:ident: $type:ty $(= $default:expr)?, )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $key_doc])+ $vis $key: $type, )*
        }

        impl $crate::field::Field for $name {
            fn read(node: &$crate::tree::Node, reader: &mut $crate::field::Reader) -> Option<Self> {
                let table = reader.table(node)?;
                let known = [$( $crate::field::kebab(stringify!($key)) ),*];
                reader.refuse_unknown(table, &known);
                let here = (table, &node.origin);
                $( let $key = reader.key::<$type>(here, &$crate::field::kebab(stringify!($key)), || $crate::section!(@absent $type $(, $default)?)); )*
                Some($name { $( $key: $key? ),* })
            }

            fn write(&self) -> Option<toml::Value> {
                let mut table = toml::Table::new();
                $( if let Some(value) = $crate::field::Field::write(&self.$key) {
                    table.insert($crate::field::kebab(stringify!($key)), value);
                } )*
                Some(toml::Value::Table(table))
            }

            fn form() -> $crate::field::Form {
                let keys = vec![$( $crate::field::key_form::<$type>(
                    stringify!($key),
                    &[$($key_doc),+],
                    $crate::section!(@absent $type $(, $default)?),
                ) ),*];
                $crate::field::Form::Section { doc: $crate::field::join_doc(&[$($doc),+]), keys }
            }

            fn absent() -> Option<Self> {
                $( let $key: $type = $crate::section!(@absent $type $(, $default)?)?; )*
                Some($name { $( $key ),* })
            }
        }
    };
    (@absent $type:ty) => { <$type as $crate::field::Field>::absent() };
    (@absent $type:ty, $default:expr) => { Some::<$type>($default) };
}

/// Declares a key that takes one of several names.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $( $(#[doc = $variant_doc:literal])+ $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[doc = $variant_doc])+ $variant, )+
        }

        impl $name {
            /// All of them, in the order of the reference.
            pub const ALL: &'static [$name] = &[$( $name::$variant ),+];

            /// As it is written.
            pub const fn name(self) -> &'static str {
                match self { $( $name::$variant => $text, )+ }
            }
        }

        impl $crate::field::Field for $name {
            fn read(node: &$crate::tree::Node, reader: &mut $crate::field::Reader) -> Option<Self> {
                $crate::field::read_choice(node, reader, $name::ALL, $name::name)
            }
            fn write(&self) -> Option<toml::Value> {
                Some(self.name().into())
            }
            fn form() -> $crate::field::Form {
                let meanings = [$( (($text), $crate::field::join_doc(&[$($variant_doc),+])) ),+];
                $crate::field::choice_form(&meanings)
            }
        }
    };
}

/// The text of a documentation comment, from its lines.
pub fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// For [`section!`](crate::section): describes a key.
pub fn key_form<T: Field>(field: &str, doc: &[&str], absent: Option<T>) -> KeyForm {
    let absent = match absent.as_ref().map(Field::write) {
        None => Absent::Refused,
        Some(None) => Absent::Nothing,
        Some(Some(value)) => Absent::Default(value.to_string()),
    };
    KeyForm { name: kebab(field), doc: join_doc(doc), form: T::form(), absent }
}

/// For [`choice!`](crate::choice): the names and their meanings.
pub fn choice_form(meanings: &[(&str, String)]) -> Form {
    let each: Vec<String> = meanings
        .iter()
        .map(|(name, meaning)| format!("`\"{name}\"` ({})", meaning.trim_end_matches('.')))
        .collect();
    Form::one(each.join(", "))
}

/// For [`choice!`](crate::choice): finds the name.
pub fn read_choice<T: Copy>(
    node: &Node,
    reader: &mut Reader,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Option<T> {
    let names: Vec<&str> = all.iter().map(|t| name(*t)).collect();
    let Value::Text(text) = &node.value else {
        let sentence = format!("this is {}, but has to be one of {}", node.value.kind(), names.join(", "));
        return reader.fail(&node.origin, sentence);
    };
    match all.iter().find(|t| name(**t) == text) {
        Some(found) => Some(*found),
        None => {
            let remedy = remedy(text, names.iter().copied());
            reader.fail(&node.origin, format!("there is no \"{text}\" here; {remedy}"))
        }
    }
}
