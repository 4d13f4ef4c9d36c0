// SPDX-License-Identifier: Apache-2.0
//! Which message a buffer holds, which stream it speaks of, and when it says it was made.
//!
//! Only what a topic needs is looked at: the message is recorded byte for byte, whatever else it says.

/// Where in the body a message says something that a topic needs.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The message's name in its schema.
    pub name: &'static str,
    schema_id: u16,
    template_id: u16,
    stream_at: Option<usize>,
    time_at: Option<usize>,
}

const HEADER_BYTES: usize = 8;
const NULL_STREAM: u32 = u32::MAX;
const NULL_TIME: u64 = u64::MAX;

const fn known(
    schema_id: u16,
    template_id: u16,
    name: &'static str,
    stream_at: Option<usize>,
    time_at: Option<usize>,
) -> Known {
    Known { name, schema_id, template_id, stream_at, time_at }
}

/// Every message of the four schemas that travels; a test holds it to the codecs.
pub const KNOWN: [Known; 43] = [
    known(900, 4, "FrameDescriptor", Some(0), Some(20)),
    known(900, 51, "SlotHeader", None, Some(22)),
    known(920, 1, "CheckpointBarrier", Some(24), None),
    known(920, 2, "Watermark", Some(8), None),
    known(920, 3, "ControlSignal", Some(10), None),
    known(920, 4, "InjectBarrier", None, None),
    known(920, 5, "BarrierAck", None, None),
    known(920, 6, "CheckpointComplete", None, None),
    known(920, 7, "CheckpointAborted", None, None),
    known(920, 8, "OperatorHello", None, None),
    known(920, 9, "PipelineAnnounce", None, None),
    known(920, 10, "TriggerCheckpoint", None, None),
    known(920, 11, "TriggerProgress", None, None),
    known(920, 12, "TriggerSignal", None, None),
    known(920, 13, "IngressHello", Some(8), None),
    known(920, 14, "HoldIngress", Some(16), None),
    known(920, 15, "IngressPlace", Some(16), None),
    known(920, 16, "IngressCut", Some(24), None),
    known(920, 17, "StreamDeclaration", Some(0), None),
    known(900, 1, "ShmPoolAnnounce", Some(0), Some(16)),
    known(900, 2, "ConsumerHello", Some(0), None),
    known(900, 3, "ConsumerConfig", Some(0), None),
    known(900, 5, "QosConsumer", Some(0), None),
    known(900, 6, "QosProducer", Some(0), None),
    known(900, 7, "DataSourceAnnounce", Some(0), None),
    known(900, 8, "DataSourceMeta", Some(0), Some(8)),
    known(900, 9, "ControlResponse", None, None),
    known(900, 10, "MetaBlobAnnounce", Some(0), None),
    known(900, 11, "FrameProgress", Some(0), None),
    known(900, 12, "MetaBlobChunk", Some(0), None),
    known(900, 13, "MetaBlobComplete", Some(0), None),
    known(901, 1, "ShmAttachRequest", Some(8), None),
    known(901, 2, "ShmAttachResponse", Some(28), None),
    known(901, 3, "ShmDetachRequest", Some(16), None),
    known(901, 4, "ShmDetachResponse", None, None),
    known(901, 5, "ShmLeaseKeepalive", Some(8), Some(17)),
    known(901, 6, "ShmDriverShutdown", None, Some(0)),
    known(901, 7, "ShmLeaseRevoked", Some(16), Some(0)),
    known(901, 8, "ShmDriverShutdownRequest", None, None),
    known(903, 1, "SequenceMergeMapAnnounce", Some(0), None),
    known(903, 2, "SequenceMergeMapRequest", Some(0), None),
    known(903, 3, "TimestampMergeMapAnnounce", Some(0), None),
    known(903, 4, "TimestampMergeMapRequest", Some(0), None),
];

/// The place of the descriptor in [`KNOWN`].
pub const DESCRIPTOR: usize = 0;
/// The place of the slot header.
pub const SLOT_HEADER: usize = 1;

/// The XML of a schema, as it stands in a recording.
#[must_use]
pub fn xml_of(schema_id: u16) -> &'static str {
    match schema_id {
        900 => include_str!("../../../schema/xml/wire.xml"),
        901 => include_str!("../../../schema/xml/driver.xml"),
        903 => include_str!("../../../schema/xml/merge.xml"),
        920 => include_str!("../../../schema/xml/control.xml"),
        _ => "",
    }
}

impl Known {
    /// The schema that it belongs to.
    #[must_use]
    pub const fn schema_id(&self) -> u16 {
        self.schema_id
    }

    /// The stream that a message of this kind speaks of, if it says one.
    #[must_use]
    pub fn stream_of(&self, message: &[u8]) -> Option<u32> {
        let bytes = message.get(HEADER_BYTES + self.stream_at?..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes)).filter(|stream| *stream != NULL_STREAM)
    }

    /// The time that it says it was made at, by its sender's clock.
    #[must_use]
    pub fn time_of(&self, message: &[u8]) -> Option<u64> {
        let bytes = message.get(HEADER_BYTES + self.time_at?..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes)).filter(|time| *time != NULL_TIME)
    }
}

/// The template and the schema of a message; None when it is too short to say.
#[must_use]
pub fn ids_of(message: &[u8]) -> Option<(u16, u16)> {
    let header: &[u8; HEADER_BYTES] = message.first_chunk()?;
    Some((u16::from_le_bytes([header[2], header[3]]), u16::from_le_bytes([header[4], header[5]])))
}

/// The place in [`KNOWN`] of the message that a buffer holds.
#[must_use]
pub fn find(message: &[u8]) -> Option<usize> {
    let (template_id, schema_id) = ids_of(message)?;
    KNOWN.iter().position(|known| known.template_id == template_id && known.schema_id == schema_id)
}
