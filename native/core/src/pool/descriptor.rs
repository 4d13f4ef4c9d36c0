// SPDX-License-Identifier: Apache-2.0
//! FrameDescriptor messages, read from a stream that carries other messages too (PROTOCOL 2).
//!
//! ```text
//!   0         4         12        20            28            32        40
//!   +---------+---------+---------+-------------+-------------+---------+
//!   | stream  | epoch   | seq     | timestampNs | metaVersion | traceId |     behind the message header
//!   +---------+---------+---------+-------------+-------------+---------+
//! ```

use crate::record::{MESSAGE_HEADER_BYTES, RecordFilter, Verdict};

const BYTES: usize = 40;
const FILTER: RecordFilter = RecordFilter::new(BYTES as u16, 4, 900, 1, true);

/// The fields of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The stream of its frame.
    pub stream_id: u32,
    /// The epoch of the regions that the frame lies in.
    pub epoch: u64,
    /// The frame's place in its stream.
    pub seq: u64,
    /// The descriptor's own time, or null.
    pub timestamp_ns: u64,
    /// The trace id; 0 for none.
    pub trace_id: u64,
}

impl Descriptor {
    /// Reads a message. If it is not a descriptor, the error says what it is.
    ///
    /// # Errors
    /// Any verdict but `Record`.
    #[inline]
    pub fn read(message: &[u8]) -> Result<Self, Verdict> {
        match FILTER.verdict(message) {
            Verdict::Record => {
                message[MESSAGE_HEADER_BYTES..].first_chunk().map(Self::decode).ok_or(Verdict::Truncated)
            }
            other => Err(other),
        }
    }

    #[inline]
    fn decode(body: &[u8; BYTES]) -> Self {
        let u32_at =
            |offset: usize| u32::from_le_bytes([body[offset], body[offset + 1], body[offset + 2], body[offset + 3]]);
        let u64_at = |offset: usize| u64::from(u32_at(offset)) | u64::from(u32_at(offset + 4)) << 32;
        Self { stream_id: u32_at(0), epoch: u64_at(4), seq: u64_at(12), timestamp_ns: u64_at(20), trace_id: u64_at(32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(schema_id: u8) -> Vec<u8> {
        let mut message = vec![40, 0, 4, 0, schema_id, 3, 1, 0];
        message.extend(0..40_u8);
        message
    }

    #[test]
    fn every_field_is_where_the_layout_says() {
        let read = Descriptor::read(&message(0x84)).unwrap();
        assert_eq!(read.stream_id, 0x0302_0100);
        assert_eq!(read.epoch, 0x0b0a_0908_0706_0504);
        assert_eq!(read.seq, 0x1312_1110_0f0e_0d0c);
        assert_eq!(read.timestamp_ns, 0x1b1a_1918_1716_1514);
        assert_eq!(read.trace_id, 0x2726_2524_2322_2120);
    }

    #[test]
    fn what_is_no_descriptor_is_told() {
        assert_eq!(Descriptor::read(&message(0x98)), Err(Verdict::OtherSchema));
        assert_eq!(Descriptor::read(&message(0x84)[..47]), Err(Verdict::Truncated));
    }
}
