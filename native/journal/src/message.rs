// SPDX-License-Identifier: Apache-2.0
//! The metadata of a batch message: always of the same length when written, and read back by recovery.

use std::io::Write as _;

use arrow_ipc::{
    Buffer, FieldNode, KeyValue, KeyValueArgs, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use flatbuffers::FlatBufferBuilder;

use crate::layout::{PREFIX_BYTES, aligned};

const BATCH_KEY: &str = "framegate.batch";
const STATE_KEY: &str = "framegate.state";
/// The keys of a batch's numbers, with the width of each.
const KEYS: [(&str, usize); 6] =
    [("first_row", 20), ("rows", 10), ("generation", 20), ("seal", 20), ("sealed_at_ns", 20), ("crc32c", 10)];
/// Spare bytes for differences of alignment inside a flatbuffer.
const SPARE_BYTES: usize = 64;

/// The numbers that describe a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchNumbers {
    pub(crate) first_row: u64,
    pub(crate) rows: u32,
    pub(crate) generation: u64,
    pub(crate) seal: u64,
    pub(crate) sealed_at_ns: u64,
    pub(crate) crc: u32,
}

impl BatchNumbers {
    fn values(&self) -> [u64; 6] {
        [self.first_row, self.rows.into(), self.generation, self.seal, self.sealed_at_ns, self.crc.into()]
    }

    fn write(&self, text: &mut Vec<u8>) {
        text.clear();
        for (index, ((key, width), value)) in KEYS.into_iter().zip(self.values()).enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            // Writing into a vector cannot fail.
            let _ = write!(text, "{opening}\"{key}\":{value:>width$}");
        }
        text.push(b'}');
    }

    /// Reads exactly what `write` writes; None for anything else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mut rest, mut values) = (text, [0; 6]);
        for (index, (key, width)) in KEYS.into_iter().enumerate() {
            rest = rest.strip_prefix(if index == 0 { '{' } else { ',' })?;
            rest = rest.strip_prefix('"')?.strip_prefix(key)?.strip_prefix("\":")?;
            values[index] = rest.get(..width)?.trim_start_matches(' ').parse().ok()?;
            rest = &rest[width..];
        }
        let [first_row, rows, generation, seal, sealed_at_ns, crc] = values;
        (rest == "}").then_some(())?;
        Some(Self { first_row, rows: rows.try_into().ok()?, generation, seal, sealed_at_ns, crc: crc.try_into().ok()? })
    }
}

/// The numbers and the padded state in a message; None if they are missing or malformed.
pub(crate) fn read_metadata<'a>(message: &arrow_ipc::Message<'a>) -> Option<(BatchNumbers, &'a str)> {
    let pairs = message.custom_metadata()?;
    let find = |key: &str| pairs.iter().find(|pair| pair.key() == Some(key)).and_then(|pair| pair.value());
    Some((BatchNumbers::read(find(BATCH_KEY)?)?, find(STATE_KEY)?))
}

/// Builds the metadata of one table's batches. It allocates nothing once it is made.
pub(crate) struct Encoder {
    builder: FlatBufferBuilder<'static>,
    pub(crate) nodes: Vec<FieldNode>,
    pub(crate) buffers: Vec<Buffer>,
    /// The state, padded with spaces to its capacity.
    state: Vec<u8>,
    state_capacity: usize,
    text: Vec<u8>,
    message_bytes: usize,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Encoder").field("message_bytes", &self.message_bytes).finish_non_exhaustive()
    }
}

impl Encoder {
    pub(crate) fn new(nodes: usize, buffers: usize, state_capacity: usize) -> Self {
        let mut encoder = Self {
            builder: FlatBufferBuilder::with_capacity(64),
            nodes: vec![FieldNode::new(1, 0); nodes],
            buffers: vec![Buffer::new(64, 64); buffers],
            state: vec![b' '; state_capacity],
            state_capacity,
            text: Vec::with_capacity(256),
            message_bytes: 0,
        };
        let longest = encoder.build(&BatchNumbers::default(), 64).len();
        encoder.message_bytes = aligned(PREFIX_BYTES + longest + SPARE_BYTES);
        encoder
    }

    /// The length of every batch's prefix and metadata.
    pub(crate) fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// The padded state.
    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    /// Sets the state to what `write` appends, which must be UTF-8; returns its length if it does not fit.
    pub(crate) fn set_state(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), usize> {
        self.state.clear();
        write(&mut self.state);
        let length = self.state.len();
        let is_sound = length <= self.state_capacity && std::str::from_utf8(&self.state).is_ok();
        self.state.truncate(if is_sound { length } else { 0 });
        self.state.resize(self.state_capacity, b' ');
        if is_sound { Ok(()) } else { Err(length) }
    }

    /// Builds the metadata for the nodes and buffers in this encoder.
    pub(crate) fn build(&mut self, numbers: &BatchNumbers, body_bytes: usize) -> &[u8] {
        numbers.write(&mut self.text);
        let builder = &mut self.builder;
        builder.reset();
        let pair = |builder: &mut FlatBufferBuilder<'static>, key: &str, value: &[u8]| {
            // Both values are made of text.
            let value = builder.create_string(std::str::from_utf8(value).unwrap_or_default());
            let key = builder.create_string(key);
            KeyValue::create(builder, &KeyValueArgs { key: Some(key), value: Some(value) })
        };
        let pairs = [pair(builder, BATCH_KEY, &self.text), pair(builder, STATE_KEY, &self.state)];
        let pairs = builder.create_vector(&pairs);
        let buffers = builder.create_vector(&self.buffers);
        let nodes = builder.create_vector(&self.nodes);
        let mut batch = RecordBatchBuilder::new(builder);
        batch.add_length(numbers.rows.into());
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        let batch = batch.finish().as_union_value();
        let mut message = MessageBuilder::new(builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_bodyLength(body_bytes as i64);
        message.add_header(batch);
        message.add_custom_metadata(pairs);
        let message = message.finish();
        builder.finish(message, None);
        builder.finished_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: BatchNumbers = BatchNumbers {
        first_row: u64::MAX,
        rows: u32::MAX,
        generation: 1,
        seal: 7,
        sealed_at_ns: u64::MAX,
        crc: u32::MAX,
    };

    #[test]
    fn numbers_of_every_length_make_text_of_one_length_and_come_back() {
        let (mut long, mut short) = (Vec::new(), Vec::new());
        NUMBERS.write(&mut long);
        BatchNumbers::default().write(&mut short);
        assert_eq!(long.len(), short.len());
        for text in [&long, &short] {
            let text = std::str::from_utf8(text).unwrap();
            let mut again = Vec::new();
            BatchNumbers::read(text).unwrap().write(&mut again);
            assert_eq!(text.as_bytes(), again);
        }
        assert_eq!(BatchNumbers::read(std::str::from_utf8(&long).unwrap()), Some(NUMBERS));
    }

    #[test]
    fn text_that_is_not_ours_is_refused() {
        let mut text = Vec::new();
        NUMBERS.write(&mut text);
        for index in 0..text.len() {
            let mut broken = text.clone();
            broken[index] = b'x';
            assert_eq!(BatchNumbers::read(std::str::from_utf8(&broken).unwrap()), None, "{index}");
        }
    }

    #[test]
    fn metadata_fits_its_length_whatever_it_says() {
        let mut encoder = Encoder::new(12, 30, 100);
        let bytes = encoder.message_bytes();
        for rows in [0, 1, u32::MAX] {
            for body in [0, 64, 1 << 40] {
                let numbers = BatchNumbers { rows, ..NUMBERS };
                let flat = encoder.build(&numbers, body).to_vec();
                assert!(PREFIX_BYTES + flat.len() <= bytes);
                let message = arrow_ipc::root_as_message(&flat).unwrap();
                assert_eq!(message.bodyLength(), body as i64);
                assert_eq!(read_metadata(&message).unwrap().0, numbers);
            }
        }
    }

    #[test]
    fn a_state_that_is_too_long_or_no_text_is_refused_and_leaves_nothing() {
        let mut encoder = Encoder::new(1, 1, 4);
        assert_eq!(encoder.set_state(|state| state.extend_from_slice(b"12345")), Err(5));
        assert_eq!(encoder.set_state(|state| state.extend_from_slice(&[0xFF])), Err(1));
        assert_eq!(encoder.state(), b"    ");
        assert_eq!(encoder.set_state(|state| state.extend_from_slice(b"{}")), Ok(()));
        assert_eq!(encoder.state(), b"{}  ");
    }
}
