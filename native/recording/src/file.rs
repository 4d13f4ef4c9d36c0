// SPDX-License-Identifier: Apache-2.0
//! The file: whole up to its last chunk at any time, and with an end that was made room for beforehand.
//!
//! ```text
//!   magic | Header | Metadata | [Schema, Channel] Chunk MessageIndex | ... | Metadata | DataEnd | summary | Footer | magic
//! ```
//!
//! A chunk that does not get to the disk whole is cut off again. Room for the end is asked for before each chunk, so
//! that a full disk costs what does not fit and not the index of what does.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use mcap::records::{
    ChunkHeader, ChunkIndex, DataEnd, Header, MessageIndexEntry, Metadata, MetadataIndex, Statistics, SummaryOffset, op,
};

use crate::chunk::{Chunk, Definition};
use crate::config::{Compression, RecordingError};
use crate::records::{RECORD_HEAD, begin, crc32, end, put};

/// Room that is kept for the end of a file, beside its index.
const ENDING_BYTES: u64 = 64 * 1024;
/// About what the index of a chunk takes.
const INDEX_BYTES: u64 = 200;
const LEVEL: i32 = 1;

/// A file that grows chunk by chunk.
pub(crate) struct FileWriter {
    file: File,
    /// Where the next record goes. What lies behind it is not believed by anybody.
    at: u64,
    limit: u64,
    compression: Compression,
    packer: Option<zstd::bulk::Compressor<'static>>,
    packed: Vec<u8>,
    tail: Vec<u8>,
    definitions: Vec<Definition>,
    definition_bytes: u64,
    chunk_indexes: Vec<ChunkIndex>,
    metadata_indexes: Vec<MetadataIndex>,
    counts: BTreeMap<u16, u64>,
    bounds: Option<(u64, u64)>,
}

/// A chunk as it stands in a file: its head's fields, its bytes, and where each channel's messages are in it.
pub(crate) struct Packed<'a> {
    pub(crate) header: ChunkHeader,
    pub(crate) data: &'a [u8],
    pub(crate) index: &'a [Vec<(u64, u64)>],
}

impl FileWriter {
    /// A new file with its header; it must not exist.
    pub(crate) fn create(path: &Path, library: &str, compression: Compression) -> Result<Self, RecordingError> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let packer = match compression {
            Compression::Zstd => Some(zstd::bulk::Compressor::new(LEVEL)?),
            Compression::None => None,
        };
        let mut writer = Self {
            file,
            at: 0,
            limit: size_limit(),
            compression,
            packer,
            packed: Vec::new(),
            tail: Vec::new(),
            definitions: Vec::new(),
            definition_bytes: 0,
            chunk_indexes: Vec::new(),
            metadata_indexes: Vec::new(),
            counts: BTreeMap::new(),
            bounds: None,
        };
        let mut start = mcap::MAGIC.to_vec();
        put(&mut start, op::HEADER, &Header { profile: "framegate".to_owned(), library: library.to_owned() });
        writer.append(&start)?;
        Ok(writer)
    }

    /// Bytes so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.at
    }

    /// Chunks so far.
    pub(crate) const fn chunks(&self) -> usize {
        self.chunk_indexes.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        self.make_room(bytes.len() as u64)?;
        self.write(bytes)
    }

    /// Writes at the end, without asking for room.
    fn write(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Room for so many bytes and for the end behind them.
    fn make_room(&self, bytes: u64) -> Result<(), RecordingError> {
        let ending = ENDING_BYTES + self.definition_bytes + INDEX_BYTES * (self.chunk_indexes.len() as u64 + 1);
        let wanted = bytes + ending;
        if self.at.saturating_add(wanted) > self.limit {
            return Err(RecordingError::NoRoom);
        }
        // SAFETY: the descriptor is open; the call changes nothing but which blocks the file has.
        let refused = unsafe {
            libc::fallocate(self.file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, self.at as i64, wanted as i64) != 0
        };
        if refused {
            let error = io::Error::last_os_error();
            let is_unable = matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINTR));
            if !is_unable {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Cuts off what was not written whole.
    fn cut_to(&mut self, at: u64) {
        self.at = at;
        // Where even that fails the torn part stays, and readers stop before it.
        let _ = self.file.set_len(at);
    }

    /// Appends a metadata record.
    pub(crate) fn metadata(&mut self, name: &str, pairs: BTreeMap<String, String>) -> Result<(), RecordingError> {
        let mut record = Vec::new();
        put(&mut record, op::METADATA, &Metadata { name: name.to_owned(), metadata: pairs });
        let index = MetadataIndex { offset: self.at, length: record.len() as u64, name: name.to_owned() };
        let start = self.at;
        // Its room was made when the chunk before it was written.
        self.write(&record).inspect_err(|_| self.cut_to(start))?;
        self.metadata_indexes.push(index);
        Ok(())
    }

    /// Appends a chunk with what has to stand before it, and its index; all or nothing.
    pub(crate) fn chunk(&mut self, chunk: &mut Chunk) -> Result<(), RecordingError> {
        let (first, last) = chunk.times.unwrap_or((0, 0));
        let uncompressed_size = chunk.data_bytes() as u64;
        let uncompressed_crc = crc32(chunk.data());
        let mut header = ChunkHeader {
            message_start_time: first,
            message_end_time: last,
            uncompressed_size,
            uncompressed_crc,
            compression: self.compression.name().to_owned(),
            compressed_size: uncompressed_size,
        };
        let start = self.at;
        let definitions: Vec<u8> = chunk.definitions.iter().flat_map(|each| &each.record).copied().collect();
        let mut packed = std::mem::take(&mut self.packed);
        let index = std::mem::take(&mut chunk.index);
        let written = (|| {
            let is_packed = if let Some(packer) = &mut self.packer {
                packed.clear();
                packed.reserve(zstd::zstd_safe::compress_bound(chunk.data_bytes()));
                packer.compress_to_buffer(chunk.data(), &mut packed)?;
                header.compressed_size = packed.len() as u64;
                true
            } else {
                false
            };
            let head = chunk_head(&header);
            self.make_room(
                definitions.len() as u64 + head.len() as u64 + header.compressed_size + index_bytes(&index),
            )?;
            self.write(&definitions)?;
            let at = self.at;
            if is_packed {
                self.write(&head)?;
                self.write(&packed)?;
            } else {
                self.write(chunk.with_head(&head))?;
            }
            self.indexes(at, &header, &index)
        })();
        (self.packed, chunk.index) = (packed, index);
        match written {
            Ok(()) => {
                self.define(std::mem::take(&mut chunk.definitions));
                Ok(())
            }
            Err(failure) => {
                self.cut_to(start);
                Err(failure)
            }
        }
    }

    /// Appends a chunk of another file as it is.
    pub(crate) fn packed_chunk(&mut self, chunk: &Packed<'_>) -> Result<(), RecordingError> {
        let start = self.at;
        let head = chunk_head(&chunk.header);
        let written = (|| {
            self.make_room((head.len() + chunk.data.len()) as u64 + index_bytes(chunk.index))?;
            self.write(&head)?;
            self.write(chunk.data)?;
            self.indexes(start, &chunk.header, chunk.index)
        })();
        written.inspect_err(|_| self.cut_to(start))
    }

    /// Appends schemas and channels that stand outside of chunks.
    pub(crate) fn definitions(&mut self, definitions: Vec<Definition>) -> Result<(), RecordingError> {
        let bytes: Vec<u8> = definitions.iter().flat_map(|each| &each.record).copied().collect();
        let start = self.at;
        self.append(&bytes).inspect_err(|_| self.cut_to(start))?;
        self.define(definitions);
        Ok(())
    }

    /// Remembers schemas and channels for the summary only.
    pub(crate) fn define(&mut self, definitions: Vec<Definition>) {
        self.definition_bytes += definitions.iter().map(|each| each.record.len() as u64).sum::<u64>();
        self.definitions.extend(definitions);
    }

    /// The index of the chunk that was written at `at` and ends here.
    fn indexes(&mut self, at: u64, header: &ChunkHeader, index: &[Vec<(u64, u64)>]) -> Result<(), RecordingError> {
        let chunk_length = self.at - at;
        self.tail.clear();
        let mut offsets = BTreeMap::new();
        let used = index.iter().enumerate().filter(|(_, entries)| !entries.is_empty());
        for (channel, entries) in used.clone() {
            offsets.insert(channel as u16, self.at + self.tail.len() as u64);
            put_index(&mut self.tail, channel as u16, entries);
        }
        let tail = std::mem::take(&mut self.tail);
        let written = self.write(&tail);
        self.tail = tail;
        written?;
        for (channel, entries) in used {
            *self.counts.entry(channel as u16).or_default() += entries.len() as u64;
        }
        let (first, last) = self.bounds.unwrap_or((header.message_start_time, header.message_end_time));
        self.bounds = Some((first.min(header.message_start_time), last.max(header.message_end_time)));
        self.chunk_indexes.push(ChunkIndex {
            message_start_time: header.message_start_time,
            message_end_time: header.message_end_time,
            chunk_start_offset: at,
            chunk_length,
            message_index_offsets: offsets,
            message_index_length: self.tail.len() as u64,
            compression: header.compression.clone(),
            compressed_size: header.compressed_size,
            uncompressed_size: header.uncompressed_size,
        });
        Ok(())
    }

    /// Writes the end: what makes the file an indexed one. It is on disk when this returns.
    pub(crate) fn finish(&mut self) -> Result<u64, RecordingError> {
        let start = self.at;
        let mut out = Vec::new();
        put(&mut out, op::DATA_END, &DataEnd { data_section_crc: 0 });
        let summary_at = out.len();
        let mut groups: Vec<SummaryOffset> = Vec::new();
        let base = self.at;
        let mut group = |out: &mut Vec<u8>, opcode: u8, fill: &mut dyn FnMut(&mut Vec<u8>)| {
            let before = out.len();
            fill(out);
            if out.len() > before {
                let (group_start, group_length) = (base + before as u64, (out.len() - before) as u64);
                groups.push(SummaryOffset { group_opcode: opcode, group_start, group_length });
            }
        };
        let of_kind = |is_schema: bool| self.definitions.iter().filter(move |each| each.is_schema == is_schema);
        group(&mut out, op::SCHEMA, &mut |out| of_kind(true).for_each(|each| out.extend_from_slice(&each.record)));
        group(&mut out, op::CHANNEL, &mut |out| of_kind(false).for_each(|each| out.extend_from_slice(&each.record)));
        let statistics = self.statistics();
        group(&mut out, op::STATISTICS, &mut |out| put(out, op::STATISTICS, &statistics));
        group(&mut out, op::CHUNK_INDEX, &mut |out| {
            self.chunk_indexes.iter().for_each(|index| put(out, op::CHUNK_INDEX, index));
        });
        group(&mut out, op::METADATA_INDEX, &mut |out| {
            self.metadata_indexes.iter().for_each(|index| put(out, op::METADATA_INDEX, index));
        });
        let offsets_at = out.len();
        groups.iter().for_each(|each| put(&mut out, op::SUMMARY_OFFSET, each));
        let footer = begin(&mut out, op::FOOTER);
        out.extend_from_slice(&(self.at + summary_at as u64).to_le_bytes());
        out.extend_from_slice(&(self.at + offsets_at as u64).to_le_bytes());
        // The check covers everything from the summary's first byte to here, with the footer's head as it will be.
        let length = (out.len() - footer - RECORD_HEAD + 4) as u64;
        out[footer + 1..footer + RECORD_HEAD].copy_from_slice(&length.to_le_bytes());
        let crc = crc32(&out[summary_at..]);
        out.extend_from_slice(&crc.to_le_bytes());
        end(&mut out, footer);
        out.extend_from_slice(mcap::MAGIC);
        self.write(&out).inspect_err(|_| self.cut_to(start))?;
        // Blocks that were asked for and not needed go back.
        self.file.set_len(self.at)?;
        self.file.sync_data()?;
        Ok(self.at)
    }

    fn statistics(&self) -> Statistics {
        let (message_start_time, message_end_time) = self.bounds.unwrap_or((0, 0));
        let schemas = self.definitions.iter().filter(|each| each.is_schema).count();
        Statistics {
            message_count: self.counts.values().sum(),
            schema_count: schemas as u16,
            channel_count: (self.definitions.len() - schemas) as u32,
            attachment_count: 0,
            metadata_count: self.metadata_indexes.len() as u32,
            chunk_count: self.chunk_indexes.len() as u32,
            message_start_time,
            message_end_time,
            channel_message_counts: self.counts.clone(),
        }
    }
}

/// A chunk record up to its data.
fn chunk_head(header: &ChunkHeader) -> Vec<u8> {
    let mut head = Vec::with_capacity(64);
    put(&mut head, op::CHUNK, header);
    let bytes = (head.len() - RECORD_HEAD) as u64 + header.compressed_size;
    head[1..RECORD_HEAD].copy_from_slice(&bytes.to_le_bytes());
    head
}

fn put_index(out: &mut Vec<u8>, channel: u16, entries: &[(u64, u64)]) {
    // By hand: there is an entry for each message, and no need for a copy of them.
    let start = begin(out, op::MESSAGE_INDEX);
    out.extend_from_slice(&channel.to_le_bytes());
    out.extend_from_slice(&((entries.len() * size_of::<MessageIndexEntry>()) as u32).to_le_bytes());
    for (log_time, offset) in entries {
        out.extend_from_slice(&log_time.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
    }
    end(out, start);
}

const _: () = assert!(size_of::<MessageIndexEntry>() == 16);

fn index_bytes(index: &[Vec<(u64, u64)>]) -> u64 {
    index.iter().filter(|entries| !entries.is_empty()).map(|entries| 15 + 16 * entries.len() as u64).sum()
}

/// How long a file of this process may become.
fn size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills the structure that it is given.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if asked == 0 && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { u64::MAX }
}
