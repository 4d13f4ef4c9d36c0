// SPDX-License-Identifier: Apache-2.0
//! Reads the batches of a segment one after the other, and accepts only whole ones.

use std::ops::Range;

use arrow_ipc::{Buffer, FieldNode, MessageHeader, MetadataVersion, root_as_message};
use arrow_schema::{DataType, Field, Fields};

use crate::crc;
use crate::layout::{ALIGNMENT, CONTINUATION, END_OF_STREAM, PREFIX_BYTES};
use crate::message::{BatchNumbers, read_metadata};
use crate::schema::{Table, TableSchema};

/// A whole batch of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) message_bytes: usize,
    pub(crate) body_bytes: usize,
    pub(crate) numbers: BatchNumbers,
    /// The batch's state, without padding.
    pub(crate) state: String,
}

/// What a segment holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) batches: Vec<Found>,
    /// The offset of the first message that is not a whole batch.
    pub(crate) end: usize,
    /// Why that message is not the end that a writer leaves; None if it is.
    pub(crate) fault: Option<String>,
}

/// Walks the messages of `content` from `start` on. `first_row` is the first batch's row, if it is known.
pub(crate) fn walk(
    content: &[u8],
    start: usize,
    schema: &TableSchema,
    generation: u64,
    first_row: Option<u64>,
) -> Walk {
    let mut walk = Walk { end: start, ..Walk::default() };
    let mut next_row = first_row;
    loop {
        match next_batch(content, walk.end, &schema.fields) {
            Ok(None) => return walk,
            Ok(Some(found)) => {
                let numbers = &found.numbers;
                let is_next = next_row.is_none_or(|row| row == numbers.first_row);
                let is_next_seal = walk.batches.last().is_none_or(|last| match schema.table {
                    // Each seal makes one batch of rows, but not always one of unmatched frames.
                    Table::Rows => numbers.seal.checked_sub(1) == Some(last.numbers.seal),
                    Table::Unmatched => last.numbers.seal <= numbers.seal,
                });
                if !is_next || !is_next_seal || numbers.generation != generation {
                    walk.fault = Some(format!("the batch at byte {} does not follow: {numbers:?}", found.start));
                    return walk;
                }
                next_row = numbers.first_row.checked_add(numbers.rows.into());
                walk.end = found.start + found.message_bytes + found.body_bytes;
                walk.batches.push(found);
            }
            Err(reason) => {
                walk.fault = Some(format!("the batch at byte {}: {reason}", walk.end));
                return walk;
            }
        }
    }
}

/// The batch whose prefix lies at `start`; None if the batches end there.
fn next_batch(content: &[u8], start: usize, fields: &Fields) -> Result<Option<Found>, String> {
    let prefix = content.get(start..start + PREFIX_BYTES).ok_or("the file ends before it")?;
    let prefix = u64::from_le_bytes(prefix.try_into().unwrap_or_default());
    if prefix == 0 || prefix == END_OF_STREAM {
        return Ok(None);
    }
    let length = (prefix >> 32) as usize;
    let body = start + PREFIX_BYTES + length;
    if prefix as u32 != CONTINUATION || !(PREFIX_BYTES + length).is_multiple_of(ALIGNMENT) {
        return Err(format!("its prefix is {prefix:#x}"));
    }
    let metadata = content.get(start + PREFIX_BYTES..body).ok_or("its metadata ends behind the file")?;
    let message = root_as_message(metadata).map_err(|fault| format!("its metadata: {fault}"))?;
    if message.version() != MetadataVersion::V5 || message.header_type() != MessageHeader::RecordBatch {
        return Err("it is another message".into());
    }
    let batch = message.header_as_record_batch().ok_or("it is not a record batch")?;
    let (numbers, state) = read_metadata(&message).ok_or("it does not say its numbers and its state")?;
    let body_bytes = usize::try_from(message.bodyLength()).map_err(|_| "a negative body")?;
    // The prefix behind the batch must exist too; without it nobody could tell that the batch is the final one.
    let end = body.checked_add(body_bytes).filter(|end| end + PREFIX_BYTES <= content.len());
    let bytes = &content[body..end.ok_or("its body ends behind the file")?];
    if body_bytes % ALIGNMENT != 0 || batch.length() != i64::from(numbers.rows) || batch.compression().is_some() {
        return Err("lengths that contradict each other".into());
    }
    let nodes = batch.nodes().ok_or("no nodes")?.iter().copied();
    let buffers = batch.buffers().ok_or("no buffers")?.iter().copied();
    let mut check = Check { bytes, nodes: nodes.collect(), buffers: buffers.collect(), node: 0, buffer: 0, crc: 0 };
    for field in fields {
        check.column(field, numbers.rows as usize).ok_or_else(|| format!("its column {}", field.name()))?;
    }
    if check.node != check.nodes.len() || check.buffer != check.buffers.len() {
        return Err("more columns than there are".into());
    }
    let crc = batch_crc(check.crc, state.as_bytes(), &numbers);
    if crc != numbers.crc {
        return Err(format!("its CRC is {:#010x}, and its bytes have {crc:#010x}", numbers.crc));
    }
    let state = state.trim_end_matches(' ').to_owned();
    Ok(Some(Found { start, message_bytes: PREFIX_BYTES + length, body_bytes, numbers, state }))
}

/// The CRC of a batch, from the CRC over its buffers.
pub(crate) fn batch_crc(buffers: u32, state: &[u8], numbers: &BatchNumbers) -> u32 {
    let mut tail = [0; 24];
    for (place, number) in
        tail.as_chunks_mut::<8>().0.iter_mut().zip([numbers.first_row, numbers.rows.into(), numbers.generation])
    {
        *place = number.to_le_bytes();
    }
    crc::extend(crc::extend(buffers, state), &tail)
}

/// Goes through a batch's columns, and checks that all lengths fit together.
struct Check<'a> {
    bytes: &'a [u8],
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    node: usize,
    buffer: usize,
    crc: u32,
}

impl Check<'_> {
    fn column(&mut self, field: &Field, length: usize) -> Option<()> {
        self.validity(length)?;
        match field.data_type() {
            DataType::Int64 | DataType::Timestamp(..) => self.exactly(length.checked_mul(8)?).map(drop),
            DataType::Int32 => self.exactly(length.checked_mul(4)?).map(drop),
            DataType::Utf8 | DataType::Binary => {
                let end = self.offsets(length)?;
                self.exactly(end).map(drop)
            }
            DataType::List(element) => {
                let end = self.offsets(length)?;
                self.column(element, end)
            }
            DataType::Struct(children) => {
                children.iter().try_for_each(|child| self.column(child, length).ok_or(())).ok()
            }
            _ => None,
        }
    }

    /// Checks a column's node and its validity buffer.
    fn validity(&mut self, length: usize) -> Option<()> {
        let node = *self.nodes.get(self.node)?;
        self.node += 1;
        let nulls = usize::try_from(node.null_count()).ok()?;
        let range = self.next_buffer()?;
        let bits = &self.bytes[range];
        let valid: usize = bits.iter().map(|byte| byte.count_ones() as usize).sum();
        let is_sound =
            if bits.is_empty() { nulls == 0 } else { bits.len() == length.div_ceil(8) && valid + nulls == length };
        (usize::try_from(node.length()).ok()? == length && is_sound).then_some(())
    }

    /// Checks offsets, which begin at 0 and never fall; returns the final one.
    fn offsets(&mut self, length: usize) -> Option<usize> {
        let range = self.exactly(length.checked_add(1)?.checked_mul(4)?)?;
        let mut last = 0;
        for (index, offset) in self.bytes[range].as_chunks::<4>().0.iter().enumerate() {
            let offset = i32::from_le_bytes(*offset);
            if offset < last || (index == 0 && offset != 0) {
                return None;
            }
            last = offset;
        }
        usize::try_from(last).ok()
    }

    fn exactly(&mut self, bytes: usize) -> Option<Range<usize>> {
        self.next_buffer().filter(|range| range.len() == bytes)
    }

    fn next_buffer(&mut self) -> Option<Range<usize>> {
        let buffer = *self.buffers.get(self.buffer)?;
        self.buffer += 1;
        let (start, length) = (usize::try_from(buffer.offset()).ok()?, usize::try_from(buffer.length()).ok()?);
        let end = start.checked_add(length).filter(|end| *end <= self.bytes.len() && start % ALIGNMENT == 0)?;
        self.crc = crc::extend(self.crc, &self.bytes[start..end]);
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::rows_fields;
    use crate::{Cell, Config, Durability, Reserved, RowHead, Status, WhenFull, Writer};

    /// An open segment with three batches, the second without rows.
    fn segment(name: &str) -> (Vec<u8>, TableSchema) {
        let dir = std::path::PathBuf::from(format!("/dev/shm/fg-walk-{}-{name}", std::process::id()));
        let inputs = vec!["left".to_owned(), "right".to_owned()];
        let config = Config {
            dir: dir.clone(),
            out_stream: 1,
            journal_epoch: 1,
            inputs: inputs.clone(),
            seal_rows: 8,
            seal_bytes: 1 << 20,
            seal_ns: 1,
            segment_bytes: 64 << 10,
            segment_ns: u64::MAX,
            max_bytes: 1 << 20,
            when_full: WhenFull::DropOldest,
            durability: Durability::Memory,
            prefault_all: false,
            state_capacity: 32,
            realtime_offset_ns: 0,
        };
        let (mut writer, _) = Writer::open(config).unwrap();
        for rows in [2, 0, 1] {
            for seq in 0..rows {
                assert_eq!(writer.reserve(&[20, 0], 0).unwrap(), Reserved::Ready);
                // SAFETY: the source has 20 bytes, and as many were reserved.
                unsafe { writer.copy_payload(0, [7_u8; 20].as_ptr(), 20) };
                let dims = [4, 5];
                let timestamp_ns = (seq == 0).then_some(9);
                let (status, epoch, trace_id, dtype) = (Status::Present, 1, 5, 1);
                writer.cell(0, &Cell { status, seq, timestamp_ns, epoch, trace_id, dtype, dims: &dims, bytes: 20 });
                writer.commit_row(&RowHead::default());
            }
            writer.seal(100, |state| state.extend_from_slice(b"{\"n\":1}")).unwrap();
        }
        let file = std::fs::read_dir(dir.join("segments"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|extension| extension == "open"));
        let content = std::fs::read(file.unwrap()).unwrap();
        drop(writer);
        std::fs::remove_dir_all(dir).unwrap();
        (content, TableSchema { table: Table::Rows, fields: rows_fields(&inputs) })
    }

    /// The bytes of a batch that its CRC covers.
    fn covered(found: &Found) -> (usize, u64, u32, u64, u32, &str) {
        let BatchNumbers { first_row, rows, generation, crc, .. } = found.numbers;
        (found.start, first_row, rows, generation, crc, &found.state)
    }

    #[test]
    fn whatever_bit_is_wrong_only_true_batches_are_believed() {
        let (content, schema) = segment("flips");
        let (start, _) = schema.read_header(&content).unwrap();
        let whole = walk(&content, start, &schema, 1, Some(0));
        assert_eq!((whole.batches.len(), &whole.fault), (3, &None));
        let first = &whole.batches[0];
        let payloads = first.start + first.message_bytes..first.start + first.message_bytes + 40;
        for at in 0..whole.end + PREFIX_BYTES {
            let mut broken = content.clone();
            broken[at] ^= 1 << (at % 8);
            let Ok((start, _)) = schema.read_header(&broken) else { continue };
            let found = walk(&broken, start, &schema, 1, Some(0));
            assert!(found.batches.len() <= 3);
            for (have, want) in found.batches.iter().zip(&whole.batches) {
                assert_eq!(covered(have), covered(want), "byte {at}");
            }
            assert!(!payloads.contains(&at) || found.batches.is_empty(), "byte {at} is a payload's");
        }
    }

    #[test]
    fn a_segment_cut_anywhere_holds_the_whole_batches_before_the_cut() {
        let (content, schema) = segment("cuts");
        let (start, _) = schema.read_header(&content).unwrap();
        let whole = walk(&content, start, &schema, 1, Some(0));
        for end in start..whole.end + PREFIX_BYTES {
            let found = walk(&content[..end], start, &schema, 1, Some(0));
            let ends = |batch: &&Found| batch.start + batch.message_bytes + batch.body_bytes + PREFIX_BYTES <= end;
            assert_eq!(found.batches.len(), whole.batches.iter().filter(ends).count(), "{end}");
            assert!(found.fault.is_some());
        }
    }

    #[test]
    fn a_batch_of_another_generation_or_another_row_is_not_believed() {
        let (content, schema) = segment("generation");
        let (start, _) = schema.read_header(&content).unwrap();
        assert!(walk(&content, start, &schema, 2, Some(0)).batches.is_empty());
        assert!(walk(&content, start, &schema, 1, Some(1)).batches.is_empty());
    }
}
