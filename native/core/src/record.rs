// SPDX-License-Identifier: Apache-2.0
//! A filter for fixed-size records: it finds out with one comparison whether a message is of the kind that a caller
//! collects.
//!
//! A shared stream carries several schemas and templates. A collector of one of them (descriptors, QoS, barriers) looks
//! at the message header of every message:
//!
//! ```text
//!   0           2           4           6           8
//!   +-----------+-----------+-----------+-----------+------------------------
//!   |blockLength|templateId |schemaId   |version    | body, blockLength bytes
//!   +-----------+-----------+-----------+-----------+------------------------
//! ```
//!
//! Nearly always all four fields have the expected values, so they are compared as one u64 first. Only a message that
//! differs is examined field by field, in the order of PROTOCOL 13.

/// Bytes of the SBE message header.
pub const MESSAGE_HEADER_BYTES: usize = 8;

/// What kind of message a filter found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The wanted record; its body follows the header.
    Record = 0,
    /// Too short for a header, or for the block that its header promises.
    Truncated = 1,
    /// Another schema.
    OtherSchema = 2,
    /// The schema, but another template.
    OtherTemplate = 3,
    /// A newer version of a schema that does not allow one.
    NewerVersion = 4,
    /// A block of the wrong length for its version.
    WrongBlockLength = 5,
}

/// The number of verdicts, for arrays of counters that are indexed by verdict.
pub const VERDICTS: usize = 6;

/// The kind of record that a collector wants.
#[derive(Clone, Copy, Debug)]
pub struct RecordFilter {
    header: u64,
    block_length: u16,
    template_id: u16,
    schema_id: u16,
    version: u16,
    reads_newer: bool,
}

impl RecordFilter {
    /// Makes a filter. `reads_newer`: whether a newer version with a longer block is read (schemas 900 and 920) or
    /// refused.
    #[must_use]
    pub const fn new(block_length: u16, template_id: u16, schema_id: u16, version: u16, reads_newer: bool) -> Self {
        let header =
            (block_length as u64) | (template_id as u64) << 16 | (schema_id as u64) << 32 | (version as u64) << 48;
        Self { header, block_length, template_id, schema_id, version, reads_newer }
    }

    /// The length of a record's body in bytes.
    #[must_use]
    pub const fn record_bytes(&self) -> usize {
        self.block_length as usize
    }

    /// Examines a whole message.
    #[inline]
    #[must_use]
    pub fn verdict(&self, message: &[u8]) -> Verdict {
        let Some((header, body)) = message.split_first_chunk::<MESSAGE_HEADER_BYTES>() else {
            return Verdict::Truncated;
        };
        if u64::from_le_bytes(*header) == self.header && body.len() >= self.record_bytes() {
            return Verdict::Record;
        }
        self.slow_verdict(header, body)
    }

    #[cold]
    fn slow_verdict(&self, header: &[u8; MESSAGE_HEADER_BYTES], body: &[u8]) -> Verdict {
        let field = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let (block_length, template_id, schema_id, version) = (field(0), field(2), field(4), field(6));
        if schema_id != self.schema_id {
            return Verdict::OtherSchema;
        }
        if template_id != self.template_id {
            return Verdict::OtherTemplate;
        }
        if version > self.version && !self.reads_newer {
            return Verdict::NewerVersion;
        }
        let is_newer = version > self.version;
        if block_length < self.block_length || (block_length > self.block_length && !is_newer) {
            return Verdict::WrongBlockLength;
        }
        if body.len() < usize::from(block_length) {
            return Verdict::Truncated;
        }
        Verdict::Record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTOR: RecordFilter = RecordFilter::new(40, 4, 900, 1, true);
    const KEEPALIVE: RecordFilter = RecordFilter::new(25, 5, 901, 1, false);

    fn message(block_length: u16, template_id: u16, schema_id: u16, version: u16, body: usize) -> Vec<u8> {
        let header = [block_length, template_id, schema_id, version];
        let mut bytes: Vec<u8> = header.iter().flat_map(|field| field.to_le_bytes()).collect();
        bytes.resize(MESSAGE_HEADER_BYTES + body, 7);
        bytes
    }

    #[test]
    fn the_wanted_record_is_taken() {
        assert_eq!(DESCRIPTOR.verdict(&message(40, 4, 900, 1, 40)), Verdict::Record);
    }

    #[test]
    fn each_field_of_the_header_is_told_apart() {
        assert_eq!(DESCRIPTOR.verdict(&message(40, 4, 920, 1, 40)), Verdict::OtherSchema);
        assert_eq!(DESCRIPTOR.verdict(&message(40, 5, 900, 1, 40)), Verdict::OtherTemplate);
        assert_eq!(DESCRIPTOR.verdict(&message(39, 4, 900, 1, 40)), Verdict::WrongBlockLength);
        assert_eq!(DESCRIPTOR.verdict(&message(41, 4, 900, 1, 41)), Verdict::WrongBlockLength);
    }

    #[test]
    fn a_newer_version_is_read_by_block_length_or_refused() {
        assert_eq!(DESCRIPTOR.verdict(&message(44, 4, 900, 2, 44)), Verdict::Record);
        assert_eq!(DESCRIPTOR.verdict(&message(39, 4, 900, 2, 44)), Verdict::WrongBlockLength);
        assert_eq!(KEEPALIVE.verdict(&message(25, 5, 901, 2, 25)), Verdict::NewerVersion);
    }

    #[test]
    fn a_message_that_ends_early_is_never_a_record() {
        let whole = message(40, 4, 900, 1, 40);
        for length in 0..whole.len() {
            assert_eq!(DESCRIPTOR.verdict(&whole[..length]), Verdict::Truncated, "{length} bytes");
        }
        assert_eq!(DESCRIPTOR.verdict(&message(44, 4, 900, 2, 43)), Verdict::Truncated);
    }
}
