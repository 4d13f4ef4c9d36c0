// SPDX-License-Identifier: Apache-2.0
//! The layout of a segment file and of `journal.head`.
//!
//! ```text
//!  segment
//!  0         8                 H                 M                                      file end
//!  +---------+-----------------+-----------------+-----+-------------+-----+- - -+--------+-----+--------+
//!  | ARROW1  | schema message  | batch message   | ... | FFFFFFFF, 0 | gap |     | footer | i32 | ARROW1 |
//!  +---------+-----------------+-----------------+-----+-------------+-----+- - -+--------+-----+--------+
//!              H, M and every further message on 64 bytes; everything from the end mark on only when finished
//!
//!  batch message
//!  0         4          8                                   8 + length                 8 + length + body
//!  +---------+----------+------------------------+----------+--------------------------+
//!  | FFFFFFFF| length   | flatbuffer Message     | padding  | body: buffers and gaps   |
//!  +---------+----------+------------------------+----------+--------------------------+
//!   one aligned store    length is the same for all batches of a segment; 8 + length a multiple of 64
//!
//!  body
//!  +----------------+-----+-----+----------------+-----+----------------+-----+---------+
//!  | payloads of 0  | gap | ... | payloads of N  |     | fixed columns, each on 64 bytes |
//!  +----------------+-----+-----+----------------+-----+----------------+-----+---------+
//! ```

/// The boundary on which messages, bodies and buffers begin.
pub const ALIGNMENT: usize = 64;
/// The first bytes of an Arrow file, padded.
pub const MAGIC: &[u8; 8] = b"ARROW1\0\0";
/// The final bytes of an Arrow file.
pub const END_MAGIC: &[u8; 6] = b"ARROW1";
/// The first four bytes of a message.
pub const CONTINUATION: u32 = u32::MAX;
/// The length of a message's prefix: continuation and length.
pub const PREFIX_BYTES: usize = 8;
/// The end mark behind the final message of a finished segment: a message of length 0.
pub const END_OF_STREAM: u64 = CONTINUATION as u64;
/// The length of what follows the footer: its length and the magic.
pub const TRAILER_BYTES: usize = 4 + END_MAGIC.len();
/// The longest payload column of a batch, well below what an i32 offset can reach.
pub const COLUMN_BYTES_MAX: usize = 1 << 30;
/// Most batches of a segment, so that its footer is bounded.
pub const BATCHES_MAX: usize = 1 << 16;
/// The length of a block in the footer: offset, metadata length, padding, body length.
pub const BLOCK_BYTES: usize = 24;
/// Most rows of the unmatched table that wait for a seal.
pub const UNMATCHED_ROWS_MAX: usize = 4096;
/// The length of a segment of the unmatched table.
pub const UNMATCHED_SEGMENT_BYTES: usize = 2 << 20;
/// Most segments of the unmatched table, the spare one included.
pub const UNMATCHED_SEGMENTS_MAX: usize = 32;
/// The longest name of an input.
pub const NAME_BYTES_MAX: usize = 128;
/// The longest cause of an unmatched row.
pub const CAUSE_BYTES: usize = 16;
/// Most dimensions of a frame.
pub const DIMS_MAX: usize = 8;

/// The length of `journal.head`.
pub const HEAD_BYTES: usize = 4096;
/// The magic of `journal.head`: `FGJHEAD1`.
pub const HEAD_MAGIC: u64 = u64::from_le_bytes(*b"FGJHEAD1");

/// The words of `journal.head`: little-endian u64, written only by the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "PROTOCOL names each")]
pub enum HeadWord {
    Magic = 0,
    Version = 1,
    JournalEpoch = 2,
    WriterPid = 3,
    State = 4,
    OpenOrdinal = 5,
    OpenFirstRow = 6,
    OpenSealedBytes = 7,
    FirstRow = 8,
    HeartbeatNs = 9,
    Seals = 10,
    NextRow = 11,
    UnmatchedRows = 12,
    OpenGeneration = 13,
    DoorbellEpoch = 14,
}

/// The `State` of a journal that a writer has open, or had open when it died.
pub const STATE_RUNNING: u64 = 1;
/// The `State` of a journal that its writer closed.
pub const STATE_CLOSED: u64 = 2;

const _: () = assert!(HEAD_MAGIC == 0x3144_4145_484A_4746);
const _: () = assert!((HeadWord::DoorbellEpoch as usize + 1) * 8 <= HEAD_BYTES);
const _: () = assert!(END_OF_STREAM == 0x0000_0000_FFFF_FFFF);
const _: () = assert!(MAGIC.len() == 8 && TRAILER_BYTES == 10 && BLOCK_BYTES == 24);
const _: () = assert!(ALIGNMENT.is_multiple_of(PREFIX_BYTES));

/// Rounds `bytes` up to the next multiple of the alignment.
#[inline]
#[must_use]
pub const fn aligned(bytes: usize) -> usize {
    (bytes + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// The names of the dtypes by number, as numpy spells them; empty for numbers that no frame may carry. Bytes are uint8,
/// and a bit is stored as one byte per element.
pub const DTYPE_NAMES: [&str; 15] = [
    "", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "bool", "",
    "uint8", "bool",
];
/// The length of the longest dtype name.
pub const DTYPE_NAME_BYTES: usize = 7;
