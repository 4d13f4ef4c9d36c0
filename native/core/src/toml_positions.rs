// SPDX-License-Identifier: Apache-2.0
//! TOML with positions: the values of a document, and where each of its keys and values is.
//!
//! An error message about a configuration should name a line and a column, and a plain tree of values has lost both.
//! [`parse`] returns the tree together with one [`Place`] for each key path. Tables, arrays of tables and arrays by
//! index, inline tables and dotted keys all have places. Two keys of the same name in two tables have two paths.

use std::ops::Range;

use toml_edit::{Array, ArrayOfTables, Document, InlineTable, Item, Key, Table, TomlError, Value as Parsed};

/// One step of a path: a key of a table, or an index into an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key, unquoted.
    Key(String),
    /// A place in an array, or in an array of tables, from 0.
    Index(usize),
}

/// A position in the text. Both numbers count from 1; columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

/// The place of one path. Array elements have no key of their own: both positions are those of the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path from the root of the document.
    pub path: Vec<Step>,
    /// Where the key begins; for a table, in the header that first names it.
    pub key: Position,
    /// Where the value begins; for a table, its header.
    pub value: Position,
}

/// A TOML value. Tables keep the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any of the four string forms.
    String(String),
    /// A 64-bit integer, whatever its base.
    Integer(i64),
    /// A float, `inf` and `nan` included.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date, a time or both, in RFC 3339 form.
    Datetime(String),
    /// An array, or an array of tables.
    Array(Vec<Value>),
    /// A table of any form.
    Table(Vec<(String, Value)>),
}

/// A document: its root table, and a place for every path in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Positioned {
    /// The root table.
    pub root: Vec<(String, Value)>,
    /// One place for each path, parents before their children.
    pub places: Vec<Place>,
}

/// Why a text is not TOML, and where the error was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlFault {
    /// The first character that cannot be right.
    pub at: Position,
    /// What is wrong, in one line.
    pub message: String,
}

/// Parses a document.
///
/// ```
/// use framegate_core::toml_positions::{parse, Position};
/// let parsed = parse("[[input]]\n[[input]]\nstream = 7\n").unwrap();
/// let stream = parsed.places.last().unwrap();
/// assert_eq!(stream.value, Position { line: 3, column: 10 });
/// ```
pub fn parse(text: &str) -> Result<Positioned, TomlFault> {
    let lines = Lines::of(text);
    let document = Document::parse(text).map_err(|error| fault(&lines, &error))?;
    let mut walk = Walk { lines: &lines, path: Vec::new(), places: Vec::new() };
    let root = walk.table(document.as_table());
    Ok(Positioned { root, places: walk.places })
}

fn fault(lines: &Lines, error: &TomlError) -> TomlFault {
    let offset = error.span().map_or(0, |span| span.start);
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    TomlFault { at: lines.position(offset), message }
}

/// Converts byte offsets to positions.
struct Lines<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> Lines<'text> {
    fn of(text: &'text str) -> Self {
        // A byte order mark does not count as a character of the first line: editors do not count it either.
        let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Lines { text, starts: std::iter::once(first).chain(breaks).collect() }
    }

    fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1].min(offset);
        let column = self.text[start..offset].chars().count() + 1;
        Position { line: saturated(line), column: saturated(column) }
    }
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Walks down the tree, keeps the path, and records a place at every step.
struct Walk<'text> {
    lines: &'text Lines<'text>,
    path: Vec<Step>,
    places: Vec<Place>,
}

type Span = Option<Range<usize>>;

impl Walk<'_> {
    fn table(&mut self, table: &Table) -> Vec<(String, Value)> {
        let step = |(name, item): (&str, &Item)| {
            let key = table.key(name).and_then(Key::span);
            (name.to_owned(), self.step(Step::Key(name.to_owned()), key, item.span(), |walk| walk.item(item)))
        };
        table.iter().map(step).collect()
    }

    fn inline_table(&mut self, table: &InlineTable) -> Vec<(String, Value)> {
        let step = |(name, value): (&str, &Parsed)| {
            let key = table.key(name).and_then(Key::span);
            (name.to_owned(), self.step(Step::Key(name.to_owned()), key, value.span(), |walk| walk.value(value)))
        };
        table.iter().map(step).collect()
    }

    fn array_of_tables(&mut self, tables: &ArrayOfTables) -> Value {
        let step = |(index, table): (usize, &Table)| {
            self.step(Step::Index(index), None, table.span(), |walk| Value::Table(walk.table(table)))
        };
        Value::Array(tables.iter().enumerate().map(step).collect())
    }

    fn array(&mut self, array: &Array) -> Value {
        let step = |(index, value): (usize, &Parsed)| {
            self.step(Step::Index(index), None, value.span(), |walk| walk.value(value))
        };
        Value::Array(array.iter().enumerate().map(step).collect())
    }

    fn item(&mut self, item: &Item) -> Value {
        match item {
            Item::Value(value) => self.value(value),
            Item::Table(table) => Value::Table(self.table(table)),
            Item::ArrayOfTables(tables) => self.array_of_tables(tables),
            // Iteration leaves these out; an empty table is the closest match.
            Item::None => Value::Table(Vec::new()),
        }
    }

    fn value(&mut self, value: &Parsed) -> Value {
        match value {
            Parsed::String(text) => Value::String(text.value().clone()),
            Parsed::Integer(number) => Value::Integer(*number.value()),
            Parsed::Float(number) => Value::Float(*number.value()),
            Parsed::Boolean(truth) => Value::Boolean(*truth.value()),
            Parsed::Datetime(time) => Value::Datetime(time.value().to_string()),
            Parsed::Array(array) => self.array(array),
            Parsed::InlineTable(table) => Value::Table(self.inline_table(table)),
        }
    }

    fn step(&mut self, step: Step, key: Span, value: Span, into: impl FnOnce(&mut Self) -> Value) -> Value {
        self.path.push(step);
        self.leave_place(key, value);
        let found = into(self);
        self.path.pop();
        found
    }

    /// Records a place. Tables that only a longer header implies have no span of their own, so their key's span is
    /// used.
    fn leave_place(&mut self, key: Span, value: Span) {
        let start = |span: &Span| span.as_ref().map(|span| self.lines.position(span.start));
        let (key, value) = (start(&key), start(&value));
        let either = key.or(value).unwrap_or(Position { line: 1, column: 1 });
        let (key, value) = (key.unwrap_or(either), value.unwrap_or(either));
        self.places.push(Place { path: self.path.clone(), key, value });
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Step, TomlFault, Value, parse};

    fn path(dotted: &str) -> Vec<Step> {
        let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index);
        dotted.split('.').map(step).collect()
    }

    fn place(text: &str, dotted: &str) -> Place {
        let wanted = path(dotted);
        let places = parse(text).expect("valid TOML").places;
        let mut found = places.into_iter().filter(|place| place.path == wanted);
        let place = found.next().unwrap_or_else(|| panic!("no place for {dotted}"));
        assert!(found.next().is_none(), "two places for {dotted}");
        place
    }

    /// (key line, key column, value line, value column)
    fn at(text: &str, dotted: &str) -> (u32, u32, u32, u32) {
        let place = place(text, dotted);
        (place.key.line, place.key.column, place.value.line, place.value.column)
    }

    fn fault(text: &str) -> TomlFault {
        parse(text).expect_err("not TOML")
    }

    #[test]
    fn same_key_in_two_tables_has_two_places() {
        let text = "[a]\nrate = 1\n\n[b]\n  rate = 2\n";
        assert_eq!(at(text, "a.rate"), (2, 1, 2, 8));
        assert_eq!(at(text, "b.rate"), (5, 3, 5, 10));
    }

    #[test]
    fn arrays_of_tables_are_told_apart_by_index() {
        let text = "[[input]]\nstream = 1\n[[input]]\nname = \"r\"\nstream = 2\n[input.deep]\nx = 1\n";
        assert_eq!(at(text, "input.0.stream"), (2, 1, 2, 10));
        assert_eq!(at(text, "input.1.stream"), (5, 1, 5, 10));
        assert_eq!(at(text, "input.1.deep.x"), (7, 1, 7, 5));
        assert_eq!(at(text, "input.1"), (3, 1, 3, 1));
    }

    #[test]
    fn headers_dotted_keys_and_inline_tables_all_have_places() {
        let text = "[a.b]\nc.d = 1\ne = { f = [10, 20], g.h = 3 }\n";
        assert_eq!(at(text, "a").0, 1);
        assert_eq!(at(text, "a.b"), (1, 4, 1, 1));
        assert_eq!(at(text, "a.b.c"), (2, 1, 2, 1));
        assert_eq!(at(text, "a.b.c.d"), (2, 3, 2, 7));
        assert_eq!(at(text, "a.b.e.f"), (3, 7, 3, 11));
        assert_eq!(at(text, "a.b.e.f.1"), (3, 16, 3, 16));
        assert_eq!(at(text, "a.b.e.g.h"), (3, 23, 3, 27));
    }

    #[test]
    fn pools_in_an_array_of_inline_tables_over_several_lines() {
        let text = "pools = [\n  { id = 1 },\n  { id = 2 },\n]\n";
        assert_eq!(at(text, "pools.1"), (3, 3, 3, 3));
        assert_eq!(at(text, "pools.1.id"), (3, 5, 3, 10));
    }

    #[test]
    fn columns_count_characters_and_survive_crlf_and_a_byte_order_mark() {
        assert_eq!(at("\"\u{e4}\u{1f600}\" = 1", "\u{e4}\u{1f600}"), (1, 1, 1, 8));
        assert_eq!(at("a = 1\r\nb = 2\r\n", "b"), (2, 1, 2, 5));
        assert_eq!(at("\u{feff}a = 1\n", "a"), (1, 1, 1, 5));
    }

    #[test]
    fn every_kind_of_value_arrives() {
        let text = "s='x'\ni=0x10\nf=1.5\nb=true\nd=2026-01-02T03:04:05Z\na=[1,'y']\nt={}\n";
        let found: Vec<Value> = parse(text).unwrap().root.into_iter().map(|(_, value)| value).collect();
        let wanted = vec![
            Value::String("x".into()),
            Value::Integer(16),
            Value::Float(1.5),
            Value::Boolean(true),
            Value::Datetime("2026-01-02T03:04:05Z".into()),
            Value::Array(vec![Value::Integer(1), Value::String("y".into())]),
            Value::Table(Vec::new()),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn an_unclosed_string_is_reported_on_its_line() {
        let fault = fault("a = 1\nb = \"x\n");
        assert_eq!(fault.at.line, 2);
        assert!(!fault.message.is_empty() && !fault.message.contains('\n'));
    }

    #[test]
    fn a_missing_value_a_second_key_and_an_endless_nesting_are_faults() {
        assert_eq!((fault("a =\n").at.line, fault("a =\n").at.column), (1, 4));
        assert_eq!((fault("a = 1\na = 2\n").at.line, fault("a = 1\na = 2\n").at.column), (2, 1));
        assert!(parse(&format!("a = {}", "[".repeat(100_000))).is_err());
    }

    #[test]
    fn no_cut_or_flipped_text_panics() {
        let text = "[a]\nb = { c = [1, 2], d = '\u{e4}' }\n[[e]]\nf.g = 1.5 # x\n";
        for (end, _) in text.char_indices() {
            let _ = parse(&text[..end]);
        }
        for index in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[index] ^= 1 << bit;
                if let Ok(flipped) = std::str::from_utf8(&bytes) {
                    let _ = parse(flipped);
                }
            }
        }
    }
}
