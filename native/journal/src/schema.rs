// SPDX-License-Identifier: Apache-2.0
//! The columns of both tables, and the first bytes of a segment.

use std::collections::HashMap;

use arrow_ipc::convert::{IpcSchemaEncoder, try_fb_to_schema};
use arrow_ipc::{MessageBuilder, MessageHeader, MetadataVersion, root_as_message};
use arrow_schema::{DataType, Field, Fields, Schema};
use flatbuffers::FlatBufferBuilder;

use crate::layout::{ALIGNMENT, CONTINUATION, MAGIC, PREFIX_BYTES, aligned};
use crate::{cell_columns, head_columns};

/// The key of a segment's description in its schema.
const SEGMENT_KEY: &str = "framegate.segment";
/// The length of the description, padded.
const SEGMENT_JSON_BYTES: usize = 256;

/// Field nodes of an unmatched row.
pub(crate) const UNMATCHED_NODES: usize = 9;
/// Buffers of an unmatched row: strings 2 x 3, integers 7 x 2.
pub(crate) const UNMATCHED_BUFFERS: usize = 20;

/// One of a journal's two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Rows,
    Unmatched,
}

impl Table {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Unmatched => "unmatched",
        }
    }
}

fn int64(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

/// The columns of the table of rows.
pub(crate) fn rows_fields(inputs: &[String]) -> Fields {
    head_columns::fields().chain(inputs.iter().map(|name| cell_columns::field(name))).collect()
}

/// The columns of the table of unmatched frames.
pub(crate) fn unmatched_fields() -> Fields {
    let numbers = ["stream", "epoch", "seq", "seq_last", "timestamp_ns", "out_seq", "at_ns"];
    [text("input")].into_iter().chain(numbers.map(int64)).chain([text("cause")]).collect()
}

/// The numbers that describe a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentNumbers {
    pub(crate) out_stream: u64,
    pub(crate) journal_epoch: u64,
    pub(crate) ordinal: u64,
    pub(crate) generation: u64,
}

/// A table's schema, with which every segment of it begins.
#[derive(Clone, Debug)]
pub(crate) struct TableSchema {
    pub(crate) table: Table,
    pub(crate) fields: Fields,
}

impl TableSchema {
    fn schema(&self, numbers: &SegmentNumbers) -> Schema {
        let SegmentNumbers { out_stream, journal_epoch, ordinal, generation } = *numbers;
        let json = format!(
            "{{\"format\":1,\"table\":\"{}\",\"out_stream\":{out_stream},\"journal_epoch\":{journal_epoch},\
             \"ordinal\":{ordinal},\"generation\":{generation}}}",
            self.table.name()
        );
        let padded = format!("{json:<SEGMENT_JSON_BYTES$}");
        Schema::new_with_metadata(self.fields.clone(), HashMap::from([(SEGMENT_KEY.to_owned(), padded)]))
    }

    /// The first bytes of a segment: the magic and the schema message, up to the first batch.
    pub(crate) fn header(&self, numbers: &SegmentNumbers) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, &self.schema(numbers));
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::Schema);
        message.add_header(schema.as_union_value());
        let message = message.finish();
        builder.finish(message, None);
        let flat = builder.finished_data();
        let end = aligned(MAGIC.len() + PREFIX_BYTES + flat.len());
        let metadata = end - MAGIC.len() - PREFIX_BYTES;
        let mut bytes = Vec::with_capacity(end);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&CONTINUATION.to_le_bytes());
        bytes.extend_from_slice(&(metadata as u32).to_le_bytes());
        bytes.extend_from_slice(flat);
        bytes.resize(end, 0);
        bytes
    }

    /// Writes the schema for a footer.
    pub(crate) fn in_footer<'a>(
        &self,
        builder: &mut FlatBufferBuilder<'a>,
        numbers: &SegmentNumbers,
    ) -> flatbuffers::WIPOffset<arrow_ipc::Schema<'a>> {
        IpcSchemaEncoder::new().schema_to_fb_offset(builder, &self.schema(numbers))
    }

    /// Reads a segment's first bytes: where its batches begin, and its description.
    pub(crate) fn read_header(&self, bytes: &[u8]) -> Result<(usize, SegmentNumbers), String> {
        let start = MAGIC.len() + PREFIX_BYTES;
        if bytes.len() < start || &bytes[..MAGIC.len()] != MAGIC {
            return Err("it does not begin as an Arrow file".into());
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (continuation, metadata) = (word(MAGIC.len()), word(MAGIC.len() + 4) as usize);
        let end = start.saturating_add(metadata);
        if continuation != CONTINUATION || end > bytes.len() || end % ALIGNMENT != 0 {
            return Err(format!("its schema message has an impossible length ({metadata} bytes)"));
        }
        let message = root_as_message(&bytes[start..end]).map_err(|fault| format!("its schema message: {fault}"))?;
        let schema = message.header_as_schema().ok_or("its first message is not a schema")?;
        let schema = try_fb_to_schema(schema).map_err(|fault| format!("its schema: {fault}"))?;
        if schema.fields != self.fields {
            return Err("it has other columns".into());
        }
        let json = schema.metadata.get(SEGMENT_KEY).ok_or("its schema does not say which segment it is")?;
        Ok((end, self.numbers(json).ok_or_else(|| format!("its description is not sound: {}", json.trim_end()))?))
    }

    fn numbers(&self, json: &str) -> Option<SegmentNumbers> {
        let number = |key: &str| -> Option<u64> {
            let rest = &json[json.find(&format!("\"{key}\":"))? + key.len() + 3..];
            rest[..rest.find([',', '}'])?].trim().parse().ok()
        };
        let numbers = SegmentNumbers {
            out_stream: number("out_stream")?,
            journal_epoch: number("journal_epoch")?,
            ordinal: number("ordinal")?,
            generation: number("generation")?,
        };
        // The text is fixed to the byte; anything else means damage.
        let ours = self.schema(&numbers);
        (ours.metadata.get(SEGMENT_KEY).map(String::as_str) == Some(json)).then_some(numbers)
    }
}
