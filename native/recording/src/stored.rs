// SPDX-License-Identifier: Apache-2.0
//! Records of an MCAP file as they stand there: no length is believed before its bytes are there. The twin is
//! `recording/framing.py`.

use std::borrow::Cow;
use std::io::Read;

use mcap::records::{ChunkHeader, op};

use crate::chunk::MESSAGE_HEAD;
use crate::records::{RECORD_HEAD, crc32};

/// A chunk that says it is longer than this is damaged: nobody writes such, and nobody reads it.
const CHUNK_BYTES_MAX: u64 = 1 << 30;
/// No packing of LZ4 makes more of a byte.
const LZ4_RATIO_MAX: u64 = 255;
const FOOTER_BYTES: usize = 20;

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub opcode: u8,
    pub body: &'a [u8],
    /// With its head.
    pub bytes: &'a [u8],
}

/// What a message record says.
pub(crate) struct Message<'a> {
    pub channel: u16,
    pub log_time: u64,
    pub data: &'a [u8],
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The record at the beginning; None when it is not whole.
pub(crate) fn record_at(bytes: &[u8]) -> Option<Raw<'_>> {
    let length = usize::try_from(u64_at(bytes, 1)?).ok()?;
    let whole = bytes.get(..RECORD_HEAD.checked_add(length)?)?;
    // No record has the number 0: where a file was made longer and not filled there are zeros.
    (bytes[0] != 0).then(|| Raw { opcode: bytes[0], body: &whole[RECORD_HEAD..], bytes: whole })
}

/// The records that lie there one behind the other; None where one is not whole.
pub(crate) fn records_in(mut data: &[u8]) -> Option<Vec<Raw<'_>>> {
    let mut found = Vec::new();
    while !data.is_empty() {
        let record = record_at(data)?;
        if record.opcode == op::MESSAGE {
            message(&record)?;
        }
        data = &data[record.bytes.len()..];
        found.push(record);
    }
    Some(found)
}

/// The fields of a message; None for any other record, and for one that is shorter than them.
pub(crate) fn message<'a>(record: &Raw<'a>) -> Option<Message<'a>> {
    let (fields, data) = record.body.split_first_chunk::<{ MESSAGE_HEAD - RECORD_HEAD }>()?;
    let found = Message { channel: u16::from_le_bytes([fields[0], fields[1]]), log_time: u64_at(fields, 6)?, data };
    (record.opcode == op::MESSAGE).then_some(found)
}

/// What a chunk holds; None where that is not what its head says of it.
pub(crate) fn unpacked<'a>(header: &ChunkHeader, packed: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let size = header.uncompressed_size;
    if packed.len() as u64 != header.compressed_size || size > CHUNK_BYTES_MAX {
        return None;
    }
    let data = match header.compression.as_str() {
        "" => Cow::Borrowed(packed),
        "zstd" => Cow::Owned(zstd::bulk::decompress(packed, size as usize).ok()?),
        "lz4" => Cow::Owned(from_lz4(packed, size)?),
        _ => return None,
    };
    let is_sound =
        data.len() as u64 == size && (header.uncompressed_crc == 0 || crc32(&data) == header.uncompressed_crc);
    is_sound.then_some(data)
}

fn from_lz4(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    if size > LZ4_RATIO_MAX * packed.len() as u64 {
        return None;
    }
    let mut data = Vec::with_capacity(size as usize);
    // A byte more shows that there is more.
    lz4_flex::frame::FrameDecoder::new(packed).take(size + 1).read_to_end(&mut data).ok()?;
    Some(data)
}

/// The schemas and channels that the file's end repeats; none where it has no end, or a damaged one.
pub(crate) fn repeated_definitions(data: &[u8]) -> Vec<Raw<'_>> {
    summary(data).unwrap_or_default()
}

fn summary(data: &[u8]) -> Option<Vec<Raw<'_>>> {
    let rest = data.strip_suffix(mcap::MAGIC)?;
    let footer_at = rest.len().checked_sub(RECORD_HEAD + FOOTER_BYTES)?;
    let is_footer = |record: &Raw<'_>| record.opcode == op::FOOTER && record.body.len() == FOOTER_BYTES;
    let footer = record_at(&rest[footer_at..]).filter(is_footer)?;
    let begin = usize::try_from(u64_at(footer.body, 0)?).ok().filter(|begin| *begin > 0)?;
    let crc = u32_at(footer.body, 16)?;
    // The sum covers the footer too, up to the sum itself.
    if crc != 0 && crc32(rest.get(begin..rest.len() - 4)?) != crc {
        return None;
    }
    let mut found = records_in(rest.get(begin..footer_at)?)?;
    found.retain(|record| matches!(record.opcode, op::SCHEMA | op::CHANNEL));
    Some(found)
}
