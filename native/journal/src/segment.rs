// SPDX-License-Identifier: Apache-2.0
//! One segment file while it is written: begun from a prepared file, filled by seals, and finished as an Arrow file.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use flatbuffers::FlatBufferBuilder;
use framegate_core::pool::copy;

use crate::config::{Durability, JournalError};
use crate::faults::{fault, pass};
use crate::layout::{
    BATCHES_MAX, BLOCK_BYTES, CONTINUATION, END_MAGIC, END_OF_STREAM, PREFIX_BYTES, TRAILER_BYTES, aligned,
};
use crate::mapping::Mapping;
use crate::message::{BatchNumbers, Encoder};
use crate::schema::{SegmentNumbers, Table, TableSchema};
use crate::spare::{Prepared, Warm, unlock};

/// The fault points of a table's seal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SealPoints {
    pub(crate) metadata: usize,
    pub(crate) cleared: usize,
    pub(crate) prefix: usize,
}

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) mapping: Mapping,
    file: File,
    path: PathBuf,
    pub(crate) numbers: SegmentNumbers,
    pub(crate) first_row: u64,
    pub(crate) end_row: u64,
    /// The offset of the next message.
    pub(crate) next: usize,
    pub(crate) blocks: Vec<Block>,
    /// When the first batch was sealed, monotonic ns.
    pub(crate) first_sealed_ns: Option<u64>,
    /// The offset up to which everything is on the disk, if the durability asks for it.
    synced: usize,
    footer_base_bytes: usize,
    is_finished: bool,
}

/// The name of a segment: `00000003-0000000000012000` for rows, `00000003` for unmatched frames.
pub(crate) fn stem(table: Table, ordinal: u64, first_row: u64) -> String {
    match table {
        Table::Rows => format!("{ordinal:08}-{first_row:016}"),
        Table::Unmatched => format!("{ordinal:08}"),
    }
}

/// Whether a path still leads to an open file. It does not if its folder was deleted or replaced.
pub(crate) fn is_same_file(open: &File, path: &Path) -> bool {
    let is_same = |open: fs::Metadata, found: fs::Metadata| (open.dev(), open.ino()) == (found.dev(), found.ino());
    open.metadata().and_then(|open| Ok(is_same(open, fs::symlink_metadata(path)?))).unwrap_or(false)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> JournalError + '_ {
    move |error| JournalError::Io { path: path.to_owned(), error }
}

impl Segment {
    /// Makes a prepared file the open segment. It gets its first bytes under its old name, and its own name afterwards.
    pub(crate) fn begin(
        mut prepared: Prepared,
        schema: &TableSchema,
        numbers: SegmentNumbers,
        first_row: u64,
        message_bytes: usize,
    ) -> Result<Self, (JournalError, Prepared)> {
        let numbers = SegmentNumbers { generation: prepared.generation, ..numbers };
        let header = schema.header(&numbers);
        prepared.mapping.content_mut()[..header.len()].copy_from_slice(&header);
        prepared.mapping.publish(header.len(), 0);
        fault!("segment.header");
        // Readers may open the file from here on: they see an empty segment.
        unlock(&prepared.file);
        let path = prepared.path.with_file_name(stem(schema.table, numbers.ordinal, first_row) + ".open");
        if let Err(error) = fs::rename(&prepared.path, &path) {
            return Err((JournalError::Io { path, error }, prepared));
        }
        fault!("segment.opened");
        let batches = (prepared.mapping.bytes() / message_bytes).min(BATCHES_MAX);
        Ok(Self {
            mapping: prepared.mapping,
            file: prepared.file,
            path,
            numbers,
            first_row,
            end_row: first_row,
            next: header.len(),
            blocks: Vec::with_capacity(batches),
            first_sealed_ns: None,
            synced: 0,
            // Schema, vtables and alignment: the header holds the same schema as the footer.
            footer_base_bytes: header.len() + 256,
            is_finished: false,
        })
    }

    /// Takes a segment of an earlier writer, whose batches were found by walking.
    pub(crate) fn found(file: File, mapping: Mapping, path: PathBuf, numbers: SegmentNumbers, first_row: u64) -> Self {
        Self {
            mapping,
            file,
            path,
            numbers,
            first_row,
            end_row: first_row,
            next: 0,
            blocks: Vec::new(),
            first_sealed_ns: None,
            synced: 0,
            footer_base_bytes: 0,
            is_finished: false,
        }
    }

    pub(crate) const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Takes the segment apart into its file and mapping.
    pub(crate) fn into_warm(self) -> Warm {
        Warm { file: self.file, mapping: self.mapping }
    }

    pub(crate) fn has_batches(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// The offset that a message must not exceed: behind it the end mark and the footer must fit, and `kept_batches`
    /// more messages of `kept_bytes` together.
    pub(crate) fn limit(&self, kept_batches: usize, kept_bytes: usize) -> usize {
        let batches = self.blocks.len() + 1 + kept_batches;
        if self.is_finished || batches > self.blocks.capacity() {
            return 0;
        }
        let footer = self.footer_base_bytes + BLOCK_BYTES * batches;
        self.mapping.bytes().saturating_sub(PREFIX_BYTES + footer + TRAILER_BYTES + kept_bytes) & !63
    }

    /// Whether the segment's name still leads to this file.
    pub(crate) fn is_there(&self) -> bool {
        is_same_file(&self.file, &self.path)
    }

    /// Seals the batch whose body lies behind the next message's metadata. Writes the metadata, then a zero prefix
    /// behind the batch, and finally the batch's prefix, which lets readers see it.
    pub(crate) fn seal(
        &mut self,
        encoder: &mut Encoder,
        numbers: &BatchNumbers,
        body_bytes: usize,
        durability: Durability,
        points: &SealPoints,
    ) -> Result<(), JournalError> {
        let message_bytes = encoder.message_bytes();
        let (start, body) = (self.next, self.next + message_bytes);
        let end = body + body_bytes;
        let flat = encoder.build(numbers, body_bytes);
        let metadata = &mut self.mapping.content_mut()[start + PREFIX_BYTES..body];
        metadata[..flat.len()].copy_from_slice(flat);
        metadata[flat.len()..].fill(0);
        pass(points.metadata);
        self.mapping.publish(end, 0);
        pass(points.cleared);
        copy::fence();
        if durability == Durability::Fsync {
            self.mapping.sync(start, end + PREFIX_BYTES).map_err(failed(&self.path))?;
        }
        let length = (message_bytes - PREFIX_BYTES) as u64;
        self.mapping.publish(start, u64::from(CONTINUATION) | length << 32);
        pass(points.prefix);
        if durability == Durability::Fsync {
            self.mapping
                .sync(start, start + PREFIX_BYTES)
                .inspect_err(|_| self.mapping.publish(start, 0))
                .map_err(failed(&self.path))?;
            self.synced = end;
        }
        self.blocks.push(Block::new(start as i64, message_bytes as i32, body_bytes as i64));
        self.end_row += u64::from(numbers.rows);
        self.next = end;
        Ok(())
    }

    /// Waits until everything that was sealed is on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.mapping.sync(self.synced, self.next + PREFIX_BYTES).map_err(failed(&self.path))?;
        self.synced = self.next;
        Ok(())
    }

    /// Removes a segment that never got a batch.
    pub(crate) fn abandon(&mut self) {
        self.is_finished = true;
        // A segment without batches holds nothing; the next writer removes it if this one cannot.
        let _ = fs::remove_file(&self.path);
    }

    /// Ends the stream, writes the footer, and gives the file its final name. A file that is less than half full is
    /// shortened. Returns the file's length and its new path.
    pub(crate) fn finish(
        &mut self,
        schema: &TableSchema,
        durability: Durability,
    ) -> Result<(u64, PathBuf), JournalError> {
        let flat = self.footer(schema);
        let whole = self.mapping.bytes();
        let content = aligned(self.next + PREFIX_BYTES) + footer_bytes(&flat);
        let is_truncated = content < whole / 2 || !whole.is_multiple_of(8);
        let length = if is_truncated { content } else { whole };
        if content > whole {
            let reason = format!("it has {whole} bytes, and with its footer it needs {content}");
            return Err(JournalError::Damaged { path: self.path.clone(), reason });
        }
        write_footer(&mut self.mapping.content_mut()[..length], &flat);
        fault!("finish.footer");
        self.mapping.publish(self.next, END_OF_STREAM);
        fault!("finish.ended");
        if matches!(durability, Durability::Fsync | Durability::Checkpoint) {
            self.mapping.sync(0, length).map_err(failed(&self.path))?;
        }
        if is_truncated {
            self.file.set_len(length as u64).map_err(failed(&self.path))?;
        }
        fault!("finish.truncated");
        let path = self.path.with_extension("arrow");
        fs::rename(&self.path, &path).map_err(failed(&self.path))?;
        self.path.clone_from(&path);
        self.is_finished = true;
        fault!("finish.renamed");
        Ok((length as u64, path))
    }

    fn footer(&self, schema: &TableSchema) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let in_footer = schema.in_footer(&mut builder, &self.numbers);
        let blocks = builder.create_vector(&self.blocks);
        let none = builder.create_vector::<Block>(&[]);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(in_footer);
        footer.add_dictionaries(none);
        footer.add_recordBatches(blocks);
        let footer = footer.finish();
        builder.finish(footer, None);
        builder.finished_data().to_vec()
    }
}

/// The length of a footer and its trailer, such that the footer begins on 8 bytes if the file's length is a multiple of
/// 8.
fn footer_bytes(flat: &[u8]) -> usize {
    (flat.len() + TRAILER_BYTES).next_multiple_of(8)
}

fn write_footer(file: &mut [u8], flat: &[u8]) {
    let start = file.len() - footer_bytes(flat);
    let place = &mut file[start..];
    let trailer = place.len() - TRAILER_BYTES;
    place[..flat.len()].copy_from_slice(flat);
    place[flat.len()..trailer].fill(0);
    place[trailer..trailer + 4].copy_from_slice(&(trailer as u32).to_le_bytes());
    place[trailer + 4..].copy_from_slice(END_MAGIC);
}
