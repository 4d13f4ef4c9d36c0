// SPDX-License-Identifier: Apache-2.0
//! Where an MCAP file can be read again behind bytes that make no sense, and the definitions that its end repeats.
//!
//! A chunk is known by its own fields, which have to agree with each other; any other record by leading to one, or to the
//! data's end, without a gap. The twin is `recording/pieces.py`.

use mcap::records::op;

use crate::records::{RECORD_HEAD, crc32};

/// A chunk that says it is longer than this is damaged: nobody writes such, and nobody could read it.
pub(crate) const CHUNK_BYTES_MAX: u64 = 4 << 30;
/// Two times, a length, a check sum, and the length of a name.
const CHUNK_FIELDS: usize = 32;
const INDEX_FIELDS: usize = 6;
const LENGTH_BYTES: usize = 8;
const DATA_END_BYTES: usize = 4;
const FOOTER_BYTES: usize = 20;
/// Records between a place and the chunk that makes it believed, at most.
const CHAIN: usize = 4096;

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub opcode: u8,
    pub body: &'a [u8],
    /// With its head.
    pub bytes: &'a [u8],
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The record at the beginning; None when it is not whole, or contradicts itself.
pub(crate) fn record_at(bytes: &[u8]) -> Option<Raw<'_>> {
    let head: &[u8; RECORD_HEAD] = bytes.first_chunk()?;
    let opcode = head[0];
    let length = usize::try_from(u64_at(head, 1)?).ok()?;
    let whole = bytes.get(..RECORD_HEAD.checked_add(length)?)?;
    let record = Raw { opcode, body: &whole[RECORD_HEAD..], bytes: whole };
    is_sound(&record).then_some(record)
}

fn is_sound(record: &Raw<'_>) -> bool {
    let body = record.body;
    match record.opcode {
        // No record has the number 0: where a file was made longer and not filled there are zeros.
        0 => false,
        op::CHUNK => is_chunk(body).unwrap_or(false),
        op::MESSAGE_INDEX => u32_at(body, 2).is_some_and(|bytes| body.len() - INDEX_FIELDS == bytes as usize),
        op::DATA_END => body.len() == DATA_END_BYTES,
        op::FOOTER => body.len() == FOOTER_BYTES,
        _ => true,
    }
}

fn is_chunk(body: &[u8]) -> Option<bool> {
    let (first, last, unpacked) = (u64_at(body, 0)?, u64_at(body, 8)?, u64_at(body, 16)?);
    let name_bytes = u32_at(body, 28)? as usize;
    let name = body.get(CHUNK_FIELDS..CHUNK_FIELDS.checked_add(name_bytes)?)?;
    let is_known = [b"".as_slice(), b"zstd", b"lz4"].contains(&name);
    let packed = u64_at(body, CHUNK_FIELDS + name_bytes)?;
    let behind = body.len() - CHUNK_FIELDS - name_bytes - LENGTH_BYTES;
    Some(is_known && first <= last && unpacked <= CHUNK_BYTES_MAX && packed == behind as u64)
}

/// Where the next record begins that can be believed, from a place on.
pub(crate) fn next_believed(data: &[u8], from: usize) -> Option<usize> {
    let is_head = |window: &[u8]| (1..=op::DATA_END).contains(&window[0]) && window[6..].iter().all(|byte| *byte == 0);
    let heads = data.get(from..)?.windows(RECORD_HEAD).enumerate().filter(|(_, window)| is_head(window));
    heads.map(|(at, _)| from + at).find(|at| leads_to_chunk(&data[*at..]))
}

fn leads_to_chunk(mut rest: &[u8]) -> bool {
    for _ in 0..CHAIN {
        match record_at(rest) {
            // Messages that stand alone are the inside of a chunk that is damaged.
            None | Some(Raw { opcode: op::MESSAGE, .. }) => return false,
            Some(Raw { opcode: op::CHUNK | op::DATA_END, .. }) => return true,
            Some(record) => rest = &rest[record.bytes.len()..],
        }
    }
    false
}

/// The schemas and channels that the file's end repeats; none where it has no end, or a damaged one.
pub(crate) fn repeated_definitions(data: &[u8]) -> Vec<Raw<'_>> {
    summary(data).unwrap_or_default()
}

fn summary(data: &[u8]) -> Option<Vec<Raw<'_>>> {
    let rest = data.strip_suffix(mcap::MAGIC)?;
    let footer_at = rest.len().checked_sub(RECORD_HEAD + FOOTER_BYTES)?;
    let footer = record_at(&rest[footer_at..]).filter(|record| record.opcode == op::FOOTER)?;
    let begin = usize::try_from(u64_at(footer.body, 0)?).ok().filter(|begin| *begin > 0)?;
    let crc = u32_at(footer.body, 16)?;
    // The sum covers the footer too, up to the sum itself.
    if crc != 0 && crc32(rest.get(begin..rest.len() - 4)?) != crc {
        return None;
    }
    let (mut content, mut found) = (rest.get(begin..footer_at)?, Vec::new());
    while !content.is_empty() {
        let record = record_at(content)?;
        content = &content[record.bytes.len()..];
        if matches!(record.opcode, op::SCHEMA | op::CHANNEL) {
            found.push(record);
        }
    }
    Some(found)
}
