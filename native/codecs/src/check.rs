// SPDX-License-Identifier: Apache-2.0
//! The steps that every generated check is made of. Each looks before it reads; none allocates.

use crate::error::{DecodeError, EncodeError};

/// Bytes before every message on a channel.
pub(crate) const HEADER_LENGTH: usize = 8;

/// numInGroup is a u16 whose all-ones value is SBE's null.
const GROUP_ENTRIES_MAX: usize = 65534;

/// The message header: four u16, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub block_length: u16,
    pub template_id: u16,
    pub schema_id: u16,
    pub version: u16,
}

impl Header {
    /// Reads the first eight bytes.
    #[inline]
    pub fn read(buffer: &[u8]) -> Result<Self, DecodeError> {
        let Some(bytes) = buffer.first_chunk::<HEADER_LENGTH>() else {
            return Err(truncated("message header", HEADER_LENGTH, buffer.len()));
        };
        Ok(Self {
            block_length: u16::from_le_bytes([bytes[0], bytes[1]]),
            template_id: u16::from_le_bytes([bytes[2], bytes[3]]),
            schema_id: u16::from_le_bytes([bytes[4], bytes[5]]),
            version: u16::from_le_bytes([bytes[6], bytes[7]]),
        })
    }
}

/// What a message's header has to say.
pub(crate) struct Expected {
    pub(crate) message: &'static str,
    pub(crate) schema_id: u16,
    pub(crate) template_id: u16,
    pub(crate) version: u16,
    pub(crate) block_length: u16,
    pub(crate) is_newer_version_readable: bool,
    /// Since which version each length of the block holds, for senders older than this code.
    pub(crate) older_blocks: &'static [(u16, u16)],
}

impl Expected {
    /// Checks schema, template, version and block length, in this order; gives the header.
    #[inline]
    pub(crate) fn open(&self, buffer: &[u8]) -> Result<Header, DecodeError> {
        // One comparison for what nearly every message says; who differs, and in what, is looked at behind it.
        if buffer.first_chunk::<HEADER_LENGTH>() == Some(&self.packed()) {
            return Ok(Header {
                block_length: self.block_length,
                template_id: self.template_id,
                schema_id: self.schema_id,
                version: self.version,
            });
        }
        self.open_other(buffer)
    }

    #[cold]
    fn open_other(&self, buffer: &[u8]) -> Result<Header, DecodeError> {
        let header = Header::read(buffer)?;
        if header.schema_id != self.schema_id {
            return Err(DecodeError::WrongSchema { wanted: Some(self.schema_id), found: header.schema_id });
        }
        if header.template_id != self.template_id {
            return Err(DecodeError::UnknownTemplate {
                schema: self.schema_id,
                wanted: Some(self.template_id),
                found: header.template_id,
            });
        }
        self.check_other_version(&header)?;
        Ok(header)
    }

    /// Writes the message header to the start of a buffer that has room for it.
    #[inline]
    pub(crate) fn put(&self, buffer: &mut [u8]) {
        buffer[..HEADER_LENGTH].copy_from_slice(&self.packed());
    }

    #[inline]
    const fn packed(&self) -> [u8; HEADER_LENGTH] {
        let low = (self.template_id as u64) << 16 | self.block_length as u64;
        let high = (self.version as u64) << 16 | self.schema_id as u64;
        (high << 32 | low).to_le_bytes()
    }

    fn check_other_version(&self, header: &Header) -> Result<(), DecodeError> {
        if header.version > self.version {
            if !self.is_newer_version_readable {
                return Err(DecodeError::UnsupportedVersion {
                    schema: self.schema_id,
                    supported: self.version,
                    found: header.version,
                });
            }
            // A newer sender may only have appended, so the tail of its block can be skipped.
            return check_block(self.message, self.block_length, header.block_length);
        }
        let wanted = self.block_length_at(header.version);
        if header.block_length != wanted {
            return Err(wrong_block(self.message, wanted, header.block_length));
        }
        Ok(())
    }

    fn block_length_at(&self, version: u16) -> u16 {
        let older = self.older_blocks.iter().rev();
        let mut fitting = older.filter(|(since, _)| *since <= version);
        fitting.next().map_or(self.block_length, |(_, length)| *length)
    }
}

fn check_block(what: &'static str, at_least: u16, found: u16) -> Result<(), DecodeError> {
    if found < at_least {
        return Err(wrong_block(what, at_least, found));
    }
    Ok(())
}

/// What is left of a buffer while a check goes through it.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Starts at the message body; a start behind the end is an empty body.
    #[inline]
    pub(crate) fn new(buffer: &'a [u8], start: usize) -> Self {
        Self { rest: buffer.get(start..).unwrap_or_default() }
    }

    /// The next bytes, which have to be there.
    #[inline]
    pub(crate) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        if self.rest.len() < length {
            return Err(truncated(what, length, self.rest.len()));
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    /// A group header: length and count of the entries that follow.
    #[inline]
    pub(crate) fn group(&mut self, block_length: u16, what: &'static str) -> Result<Dimensions, DecodeError> {
        let bytes = self.take(4, what)?;
        let stride = u16_at(bytes, 0);
        check_block(what, block_length, stride)?;
        Ok(Dimensions { stride: usize::from(stride), count: usize::from(u16_at(bytes, 2)) })
    }

    /// The entries of a group without variable data.
    #[inline]
    pub(crate) fn fixed_group(
        &mut self,
        block_length: u16,
        what: &'static str,
    ) -> Result<std::slice::ChunksExact<'a, u8>, DecodeError> {
        let group = self.group(block_length, what)?;
        // Both factors are u16: the product fits 32 bits.
        let entries = self.take(group.stride * group.count, what)?;
        Ok(entries.chunks_exact(group.stride.max(1)))
    }

    /// One piece of variable data.
    #[inline]
    pub(crate) fn data(&mut self, limit: u32, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = u32_at(self.take(4, what)?, 0);
        if length > limit {
            return Err(DecodeError::LengthLimit { what, limit_bytes: limit, found_bytes: length });
        }
        self.take(length as usize, what)
    }
}

/// The content of a group header.
#[derive(Clone, Copy)]
pub(crate) struct Dimensions {
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

#[cold]
fn truncated(what: &'static str, wanted_bytes: usize, have_bytes: usize) -> DecodeError {
    DecodeError::Truncated { what, wanted_bytes, have_bytes }
}

#[cold]
fn wrong_block(what: &'static str, wanted_bytes: u16, found_bytes: u16) -> DecodeError {
    DecodeError::WrongBlockLength { what, wanted_bytes, found_bytes }
}

/// Refuses an enum value that is not defined.
#[inline]
pub(crate) fn known(is_known: bool, message: &'static str, field: &'static str, found: i64) -> Result<(), DecodeError> {
    if is_known {
        return Ok(());
    }
    Err(DecodeError::InvalidValue { message, field, found })
}

/// Refuses text that is not ASCII.
#[inline]
pub(crate) fn ascii(bytes: &[u8], message: &'static str, field: &'static str) -> Result<(), DecodeError> {
    if bytes.is_ascii() {
        return Ok(());
    }
    let found = bytes.iter().find(|byte| !byte.is_ascii()).copied().map_or(0, i64::from);
    known(false, message, field, found)
}

#[inline]
pub(crate) fn u8_at(block: &[u8], offset: usize) -> u8 {
    block[offset]
}

#[inline]
pub(crate) fn u16_at(block: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(array_at(block, offset))
}

#[inline]
pub(crate) fn i16_at(block: &[u8], offset: usize) -> i16 {
    i16::from_le_bytes(array_at(block, offset))
}

#[inline]
pub(crate) fn i32_at(block: &[u8], offset: usize) -> i32 {
    i32::from_le_bytes(array_at(block, offset))
}

#[inline]
fn u32_at(block: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array_at(block, offset))
}

#[inline]
fn array_at<const N: usize>(block: &[u8], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&block[offset..offset + N]);
    bytes
}

/// A piece of checked text, by the coordinates that a flyweight gives.
pub(crate) fn text(buffer: &[u8], (start, length): (usize, usize)) -> String {
    String::from_utf8_lossy(&buffer[start..start + length]).into_owned()
}

/// A piece of checked data, by the coordinates that a flyweight gives.
pub(crate) fn octets(buffer: &[u8], (start, length): (usize, usize)) -> Vec<u8> {
    buffer[start..start + length].to_vec()
}

/// Refuses a value that cannot be written.
#[inline]
pub(crate) fn writable(is_writable: bool, message: &'static str, field: &'static str) -> Result<(), EncodeError> {
    if is_writable {
        return Ok(());
    }
    Err(EncodeError::InvalidValue { message, field })
}

/// Refuses a group with more entries than its header can count.
#[inline]
pub(crate) fn countable(entries: usize, message: &'static str, field: &'static str) -> Result<(), EncodeError> {
    writable(entries <= GROUP_ENTRIES_MAX, message, field)
}

/// Refuses a buffer that the message does not fit.
#[inline]
pub(crate) fn room(wanted_bytes: usize, have_bytes: usize) -> Result<(), EncodeError> {
    if wanted_bytes <= have_bytes {
        return Ok(());
    }
    Err(EncodeError::BufferTooSmall { wanted_bytes, have_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::codes::*;

    /// A message that grew in versions 2 and 3, in a schema that reads newer senders.
    const GROWN: Expected = Expected {
        message: "Grown",
        schema_id: 77,
        template_id: 5,
        version: 3,
        block_length: 9,
        is_newer_version_readable: true,
        older_blocks: &[(0, 2), (2, 6), (3, 9)],
    };

    fn opened(block: u16, template: u16, schema: u16, version: u16) -> Result<Header, u16> {
        let words = [block, template, schema, version];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        GROWN.open(&bytes).map_err(|error| error.code())
    }

    #[test]
    fn each_version_needs_its_own_length_and_newer_ones_at_least_ours() {
        for (version, block) in [(0, 2), (1, 2), (2, 6), (3, 9), (4, 9), (4, 200)] {
            assert_eq!(opened(block, 5, 77, version).unwrap().block_length, block);
        }
        for (version, block) in [(0, 6), (1, 3), (2, 2), (2, 9), (3, 6), (3, 10), (4, 8)] {
            assert_eq!(opened(block, 5, 77, version), Err(WRONG_BLOCK_LENGTH));
        }
    }

    #[test]
    fn schema_comes_before_template_before_version_before_length() {
        let strict = Expected { is_newer_version_readable: false, ..GROWN };
        assert_eq!(opened(1, 6, 78, 4), Err(WRONG_SCHEMA));
        assert_eq!(opened(1, 6, 77, 4), Err(UNKNOWN_TEMPLATE));
        let newer = [1, 0, 5, 0, 77, 0, 4, 0];
        assert_eq!(strict.open(&newer).unwrap_err().code(), UNSUPPORTED_VERSION);
        assert_eq!(GROWN.open(&newer[..7]).unwrap_err().code(), TRUNCATED);
    }

    #[test]
    fn header_that_is_written_is_the_one_that_opens() {
        let mut buffer = [0; 8];
        GROWN.put(&mut buffer);
        assert_eq!(buffer, [9, 0, 5, 0, 77, 0, 3, 0]);
        assert_eq!(GROWN.open(&buffer), Header::read(&buffer));
    }

    #[test]
    fn walk_never_leaves_the_buffer() {
        let mut behind = Walk::new(&[1, 2, 3], 4);
        assert_eq!(behind.take(1, "part").unwrap_err().code(), TRUNCATED);
        let mut group = Walk::new(&[4, 0, 255, 255, 0, 0, 0, 0], 0);
        assert_eq!(group.fixed_group(4, "group").unwrap_err().code(), TRUNCATED);
        let mut short = Walk::new(&[3, 0, 0, 0], 0);
        assert_eq!(short.group(4, "group").err().map(|e| e.code()), Some(WRONG_BLOCK_LENGTH));
        let mut long = Walk::new(&[255, 255, 255, 255], 0);
        assert_eq!(long.data(1_073_741_824, "data").unwrap_err().code(), LENGTH_LIMIT);
    }
}
