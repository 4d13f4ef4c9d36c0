// SPDX-License-Identifier: Apache-2.0
//! The columns of a row before those of its inputs: name, type and value, one per line. This is their only list.

use arrow_schema::{DataType, Field, TimeUnit};

use crate::columns::Columns;
use crate::row::RowHead;
use crate::rows::Shared;

/// The type of a column. All are 64 bits wide and may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadType {
    /// A 64-bit integer.
    Int64,
    /// Microseconds since 1970, in UTC.
    Timestamp,
}

macro_rules! head_columns {
    (|$shared:ident, $head:ident, $row:ident| $($name:literal $kind:ident = $value:expr;)*) => {
        /// The columns of a row before those of its inputs, in order.
        pub const HEAD_COLUMNS: [(&str, HeadType); [$($name),*].len()] = [$(($name, HeadType::$kind)),*];

        /// Writes the values of these columns, one column after the other.
        pub(crate) fn write(columns: &mut Columns<'_>, $shared: &Shared, heads: &[RowHead]) {
            $(columns.int64(|$row| {
                let $head = &heads[$row];
                // Some columns do not use the row's head.
                let _ = $head;
                $value
            });)*
        }
    };
}

head_columns! { |shared, head, row|
    "row" Int64 = Some(shared.first_row as i64 + row as i64);
    "out_stream" Int64 = Some(shared.out_stream.into());
    "journal_epoch" Int64 = Some(shared.journal_epoch as i64);
    "out_epoch" Int64 = Some(head.out_epoch as i64);
    "out_seq" Int64 = Some(head.out_seq as i64);
    "out_time_ns" Int64 = head.out_time_ns;
    "joined_at" Timestamp = Some(head.joined_at_us);
    "skew_ns" Int64 = head.skew_ns;
    "map_version" Int64 = Some(head.map_version as i64);
    "checkpoint_id" Int64 = Some(head.checkpoint_id as i64);
}

/// The same columns as Arrow fields.
pub(crate) fn fields() -> impl Iterator<Item = Field> {
    HEAD_COLUMNS.into_iter().map(|(name, kind)| {
        let kind = match kind {
            HeadType::Int64 => DataType::Int64,
            HeadType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        };
        Field::new(name, kind, true)
    })
}
