// SPDX-License-Identifier: Apache-2.0
//! The columns of an input within a row: name, type and value, one per line. This is their only list. The payload, which
//! is already written when a batch is sealed, follows as the final one.

use arrow_schema::{DataType, Field, Fields};

use crate::batch::CellRow;
use crate::columns::Columns;

/// The name of the column behind the others.
const PAYLOAD: (&str, &str) = ("payload", "binary");

macro_rules! cell_columns {
    (|$cell:ident| $($name:literal $kind:ident = $value:expr;)*) => {
        /// The columns of an input within a row, in order: the name of each, and its type.
        pub const CELL_COLUMNS: [(&str, &str); [$($name),*].len() + 1] = [$(($name, stringify!($kind)),)* PAYLOAD];

        /// Writes the values of these columns but the payloads, one column after the other.
        pub(crate) fn write(columns: &mut Columns<'_>, cells: &[CellRow]) {
            $(columns.$kind(|row| {
                let $cell = &cells[row];
                $value
            });)*
        }
    };
}

cell_columns! { |cell|
    "status" text = Some(cell.status.name());
    "seq" int64 = cell.seq();
    "timestamp_ns" int64 = cell.timestamp_ns();
    "epoch" int64 = cell.epoch();
    "trace_id" int64 = cell.trace_id();
    "dtype" text = cell.dtype();
    "shape" list = cell.shape();
}

/// How many Arrow field nodes and buffers the struct of an input and its first columns have.
const fn size(columns: usize) -> (usize, usize) {
    let (mut nodes, mut buffers, mut column) = (1, 1, 0);
    while column < columns {
        // Each has a validity buffer. A text and a payload have offsets and values; a list has offsets and an element.
        let (own_nodes, own_buffers) = match CELL_COLUMNS[column].1.as_bytes() {
            b"int64" => (1, 2),
            b"text" | b"binary" => (1, 3),
            b"list" => (2, 4),
            _ => panic!("a column has another type"),
        };
        (nodes, buffers, column) = (nodes + own_nodes, buffers + own_buffers, column + 1);
    }
    (nodes, buffers)
}

/// Field nodes of an input.
pub(crate) const NODES_PER_INPUT: usize = size(CELL_COLUMNS.len()).0;
/// Buffers of an input.
pub(crate) const BUFFERS_PER_INPUT: usize = size(CELL_COLUMNS.len()).1;

/// The buffers of an input that come before those of a column.
pub(crate) fn buffers_before(name: &str) -> usize {
    let column = CELL_COLUMNS.iter().position(|(column, _)| *column == name);
    size(column.unwrap_or(CELL_COLUMNS.len())).1
}

/// The column of an input of that name.
pub(crate) fn field(name: &str) -> Field {
    let children = CELL_COLUMNS.into_iter().map(|(name, kind)| {
        let kind = match kind {
            "int64" => DataType::Int64,
            "text" => DataType::Utf8,
            "list" => DataType::List(Field::new("item", DataType::Int32, true).into()),
            _ => DataType::Binary,
        };
        Field::new(name, kind, true)
    });
    Field::new(name, DataType::Struct(Fields::from_iter(children)), true)
}
