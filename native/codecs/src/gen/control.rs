// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/control.xml by `python -m framegate.tools.codegen`. Do not edit.
//! Checked decoders and owned messages of schema 920 (framegate.control), version 1.

use framegate_control as sbe;

use crate::check::{self, Expected, HEADER_LENGTH, Walk};
use crate::error::{DecodeError, EncodeError};

/// Number of the schema.
pub const SCHEMA_ID: u16 = 920;
/// Version that is written.
pub const SCHEMA_VERSION: u16 = 1;

/// AbortCause, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum AbortCause {
    /// The alignment, or the whole checkpoint, took too long.
    Timeout = 0,
    /// Buffers of all inputs together were full.
    MemoryLimit = 1,
    /// The buffer of one input was full.
    InputLimit = 2,
    /// In-flight data of one input outgrew its limit.
    InflightLimit = 3,
    /// A barrier with a higher id arrived first.
    HigherBarrier = 4,
    /// An input that owes a barrier crashed or lost its lease.
    InputLost = 5,
    /// An input that owes a barrier started a new epoch.
    InputEpochChanged = 6,
    /// A late input did not deliver its barrier in time.
    LateBarrierTimeout = 7,
    /// State or in-flight data could not be written.
    SerialisationFailed = 8,
    /// In-flight data could not be read.
    ChannelReadFailed = 9,
    /// A source could not send the barrier.
    InjectionFailed = 10,
    /// An agent acknowledged with FAILED, or is gone.
    OperatorFailed = 11,
    /// The manifest could not be written.
    StoreFailed = 12,
    /// The coordinator gave it up: asked to, ending, or restarted.
    Coordinator = 13,
}

impl AbortCause {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Timeout),
            1 => Some(Self::MemoryLimit),
            2 => Some(Self::InputLimit),
            3 => Some(Self::InflightLimit),
            4 => Some(Self::HigherBarrier),
            5 => Some(Self::InputLost),
            6 => Some(Self::InputEpochChanged),
            7 => Some(Self::LateBarrierTimeout),
            8 => Some(Self::SerialisationFailed),
            9 => Some(Self::ChannelReadFailed),
            10 => Some(Self::InjectionFailed),
            11 => Some(Self::OperatorFailed),
            12 => Some(Self::StoreFailed),
            13 => Some(Self::Coordinator),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<AbortCause> for u8 {
    #[inline]
    fn from(value: AbortCause) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for AbortCause {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("AbortCause has no value {number}"))
    }
}

/// AckStatus, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum AckStatus {
    /// The state is stored, in-flight data may still be recorded.
    SnapshotTaken = 0,
    /// State and in-flight data are stored.
    Complete = 1,
    /// Nothing of this checkpoint may be used; reason says why.
    Failed = 2,
}

impl AckStatus {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::SnapshotTaken),
            1 => Some(Self::Complete),
            2 => Some(Self::Failed),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<AckStatus> for u8 {
    #[inline]
    fn from(value: AckStatus) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for AckStatus {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("AckStatus has no value {number}"))
    }
}

/// SignalCategory, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum SignalCategory {
    /// Passes every agent at once.
    Instant = 0,
    /// Aligned by every agent over its inputs.
    Barrier = 1,
}

impl SignalCategory {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Instant),
            1 => Some(Self::Barrier),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<SignalCategory> for u8 {
    #[inline]
    fn from(value: SignalCategory) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for SignalCategory {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("SignalCategory has no value {number}"))
    }
}

/// SignalKind, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum SignalKind {
    /// Nothing follows on this stream and epoch.
    StreamGracefulEnd = 0,
    /// Probes the alignment; has no effect.
    SyncTest = 1,
}

impl SignalKind {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::StreamGracefulEnd),
            1 => Some(Self::SyncTest),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<SignalKind> for u8 {
    #[inline]
    fn from(value: SignalKind) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for SignalKind {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("SignalKind has no value {number}"))
    }
}

/// Cuts a stream between two frames; travels between its descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckpointBarrier {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0.
    pub flags: u64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    /// Epoch of the stream's regions.
    pub source_epoch: u64,
    /// Last sequence sent before it; null: nothing sent yet.
    pub after_seq: Option<u64>,
}

impl CheckpointBarrier {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 1;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 44;

    const EXPECTED: Expected = Expected {
        message: "CheckpointBarrier",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 44)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::checkpoint_barrier_codec::CheckpointBarrierDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_barrier_codec::CheckpointBarrierDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(
        buffer: &[u8],
    ) -> Result<sbe::checkpoint_barrier_codec::CheckpointBarrierDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_barrier_codec::CheckpointBarrierDecoder::default().wrap(
            buffer,
            0,
            Self::BLOCK_LENGTH,
            SCHEMA_VERSION,
        ))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        walk.take(usize::from(block), "CheckpointBarrier")?;
        Ok(())
    }

    fn read(decoder: sbe::checkpoint_barrier_codec::CheckpointBarrierDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            checkpoint_id: decoder.checkpoint_id(),
            epoch: decoder.epoch(),
            flags: decoder.flags(),
            stream_id: decoder.stream_id(),
            source_epoch: decoder.source_epoch(),
            after_seq: decoder.after_seq(),
        }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH)
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::checkpoint_barrier_codec::CheckpointBarrierEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(
            sbe::checkpoint_barrier_codec::CheckpointBarrierEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.after_seq != Some(u64::MAX), "CheckpointBarrier", "after_seq")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::checkpoint_barrier_codec::CheckpointBarrierEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.flags(self.flags);
        encoder.stream_id(self.stream_id);
        encoder.source_epoch(self.source_epoch);
        encoder.after_seq_opt(self.after_seq);
    }
}

/// Progress of event time; travels between descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct Watermark {
    /// No later frame of the stream is older.
    pub timestamp_ms: i64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    /// Epoch of the stream's regions.
    pub source_epoch: u64,
}

impl Watermark {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 2;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 20;

    const EXPECTED: Expected = Expected {
        message: "Watermark",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 20)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::watermark_codec::WatermarkDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::watermark_codec::WatermarkDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::watermark_codec::WatermarkDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::watermark_codec::WatermarkDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        walk.take(usize::from(block), "Watermark")?;
        Ok(())
    }

    fn read(decoder: sbe::watermark_codec::WatermarkDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            timestamp_ms: decoder.timestamp_ms(),
            stream_id: decoder.stream_id(),
            source_epoch: decoder.source_epoch(),
        }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH)
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(sbe::watermark_codec::WatermarkEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH));
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::watermark_codec::WatermarkEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::watermark_codec::WatermarkEncoder<'_>) {
        encoder.timestamp_ms(self.timestamp_ms);
        encoder.stream_id(self.stream_id);
        encoder.source_epoch(self.source_epoch);
    }
}

/// A signal in the data channel or on the control stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ControlSignal {
    pub category: SignalCategory,
    pub kind: SignalKind,
    /// 0 for instant signals and for the end of an independent producer.
    pub barrier_id: u64,
    /// Data-source id; null on the control channel.
    pub stream_id: Option<u32>,
    /// Epoch of the stream's regions; 0 on the control channel.
    pub source_epoch: u64,
    /// Last sequence sent before it; null: nothing sent yet.
    pub after_seq: Option<u64>,
    pub pipeline: String,
}

impl ControlSignal {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 3;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 30;

    const EXPECTED: Expected = Expected {
        message: "ControlSignal",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 30)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::control_signal_codec::ControlSignalDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::control_signal_codec::ControlSignalDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::control_signal_codec::ControlSignalDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::control_signal_codec::ControlSignalDecoder::default().wrap(
            buffer,
            0,
            Self::BLOCK_LENGTH,
            SCHEMA_VERSION,
        ))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        let fixed = walk.take(usize::from(block), "ControlSignal")?;
        let pipeline = walk.data(1073741824, "ControlSignal.pipeline")?;
        let number = check::u8_at(fixed, 0);
        check::known(SignalCategory::from_number(number).is_some(), "ControlSignal", "category", i64::from(number))?;
        let number = check::u8_at(fixed, 1);
        check::known(SignalKind::from_number(number).is_some(), "ControlSignal", "kind", i64::from(number))?;
        check::ascii(pipeline, "ControlSignal", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::control_signal_codec::ControlSignalDecoder<'_>, buffer: &[u8]) -> Self {
        let category = SignalCategory::from_number(decoder.category().into()).expect("the check knows the value");
        let kind = SignalKind::from_number(decoder.kind().into()).expect("the check knows the value");
        let barrier_id = decoder.barrier_id();
        let stream_id = decoder.stream_id();
        let source_epoch = decoder.source_epoch();
        let after_seq = decoder.after_seq();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { category, kind, barrier_id, stream_id, source_epoch, after_seq, pipeline }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len()
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::control_signal_codec::ControlSignalEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::control_signal_codec::ControlSignalEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.stream_id != Some(u32::MAX), "ControlSignal", "stream_id")?;
        check::writable(self.after_seq != Some(u64::MAX), "ControlSignal", "after_seq")?;
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "ControlSignal", "pipeline")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::control_signal_codec::ControlSignalEncoder<'_>) {
        encoder.category(self.category.number().into());
        encoder.kind(self.kind.number().into());
        encoder.barrier_id(self.barrier_id);
        encoder.stream_id_opt(self.stream_id);
        encoder.source_epoch(self.source_epoch);
        encoder.after_seq_opt(self.after_seq);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// The coordinator asks the sources of a pipeline for a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct InjectBarrier {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0.
    pub flags: u64,
    pub pipeline: String,
}

impl InjectBarrier {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 4;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 24;

    const EXPECTED: Expected = Expected {
        message: "InjectBarrier",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 24)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::inject_barrier_codec::InjectBarrierDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::inject_barrier_codec::InjectBarrierDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::inject_barrier_codec::InjectBarrierDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::inject_barrier_codec::InjectBarrierDecoder::default().wrap(
            buffer,
            0,
            Self::BLOCK_LENGTH,
            SCHEMA_VERSION,
        ))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        walk.take(usize::from(block), "InjectBarrier")?;
        let pipeline = walk.data(1073741824, "InjectBarrier.pipeline")?;
        check::ascii(pipeline, "InjectBarrier", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::inject_barrier_codec::InjectBarrierDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let flags = decoder.flags();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { checkpoint_id, epoch, flags, pipeline }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len()
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::inject_barrier_codec::InjectBarrierEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::inject_barrier_codec::InjectBarrierEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "InjectBarrier", "pipeline")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::inject_barrier_codec::InjectBarrierEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.flags(self.flags);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// An agent or source tells the coordinator how far a checkpoint is; twice per checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct BarrierAck {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    pub status: AckStatus,
    /// From the first barrier to this step.
    pub duration_ns: u64,
    /// Stored by this step.
    pub bytes: u64,
    pub pipeline: String,
    pub operator_id: String,
    pub reason: String,
}

impl BarrierAck {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 5;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 33;

    const EXPECTED: Expected = Expected {
        message: "BarrierAck",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 33)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::barrier_ack_codec::BarrierAckDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::barrier_ack_codec::BarrierAckDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::barrier_ack_codec::BarrierAckDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::barrier_ack_codec::BarrierAckDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        let fixed = walk.take(usize::from(block), "BarrierAck")?;
        let pipeline = walk.data(1073741824, "BarrierAck.pipeline")?;
        let operator_id = walk.data(1073741824, "BarrierAck.operator_id")?;
        let reason = walk.data(1073741824, "BarrierAck.reason")?;
        let number = check::u8_at(fixed, 16);
        check::known(AckStatus::from_number(number).is_some(), "BarrierAck", "status", i64::from(number))?;
        check::ascii(pipeline, "BarrierAck", "pipeline")?;
        check::ascii(operator_id, "BarrierAck", "operator_id")?;
        check::ascii(reason, "BarrierAck", "reason")?;
        Ok(())
    }

    fn read(mut decoder: sbe::barrier_ack_codec::BarrierAckDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let status = AckStatus::from_number(decoder.status().into()).expect("the check knows the value");
        let duration_ns = decoder.duration_ns();
        let bytes = decoder.bytes();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let operator_id = check::text(buffer, decoder.operator_id_decoder());
        let reason = check::text(buffer, decoder.reason_decoder());
        Self { checkpoint_id, epoch, status, duration_ns, bytes, pipeline, operator_id, reason }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.operator_id.len() + 4 + self.reason.len()
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::barrier_ack_codec::BarrierAckEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::barrier_ack_codec::BarrierAckEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "BarrierAck", "pipeline")?;
        check::writable(
            self.operator_id.len() <= 1073741824 && self.operator_id.is_ascii(),
            "BarrierAck",
            "operator_id",
        )?;
        check::writable(self.reason.len() <= 1073741824 && self.reason.is_ascii(), "BarrierAck", "reason")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::barrier_ack_codec::BarrierAckEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.status(self.status.number().into());
        encoder.duration_ns(self.duration_ns);
        encoder.bytes(self.bytes);
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.operator_id(self.operator_id.as_bytes());
        encoder.reason(self.reason.as_bytes());
    }
}

/// The manifest is written: the checkpoint exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckpointComplete {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    pub pipeline: String,
}

impl CheckpointComplete {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 6;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 16;

    const EXPECTED: Expected = Expected {
        message: "CheckpointComplete",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 16)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::checkpoint_complete_codec::CheckpointCompleteDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_complete_codec::CheckpointCompleteDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(
        buffer: &[u8],
    ) -> Result<sbe::checkpoint_complete_codec::CheckpointCompleteDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_complete_codec::CheckpointCompleteDecoder::default().wrap(
            buffer,
            0,
            Self::BLOCK_LENGTH,
            SCHEMA_VERSION,
        ))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        walk.take(usize::from(block), "CheckpointComplete")?;
        let pipeline = walk.data(1073741824, "CheckpointComplete.pipeline")?;
        check::ascii(pipeline, "CheckpointComplete", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::checkpoint_complete_codec::CheckpointCompleteDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { checkpoint_id, epoch, pipeline }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len()
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::checkpoint_complete_codec::CheckpointCompleteEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(
            sbe::checkpoint_complete_codec::CheckpointCompleteEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(),
            "CheckpointComplete",
            "pipeline",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::checkpoint_complete_codec::CheckpointCompleteEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// The checkpoint is given up everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckpointAborted {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    pub cause: AbortCause,
    pub pipeline: String,
    pub reason: String,
}

impl CheckpointAborted {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 7;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 17;

    const EXPECTED: Expected = Expected {
        message: "CheckpointAborted",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 17)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::checkpoint_aborted_codec::CheckpointAbortedDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_aborted_codec::CheckpointAbortedDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(
        buffer: &[u8],
    ) -> Result<sbe::checkpoint_aborted_codec::CheckpointAbortedDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::checkpoint_aborted_codec::CheckpointAbortedDecoder::default().wrap(
            buffer,
            0,
            Self::BLOCK_LENGTH,
            SCHEMA_VERSION,
        ))
    }

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }

    #[inline]
    fn check_body(buffer: &[u8], start: usize, block: u16, _version: u16) -> Result<(), DecodeError> {
        let mut walk = Walk::new(buffer, start);
        let fixed = walk.take(usize::from(block), "CheckpointAborted")?;
        let pipeline = walk.data(1073741824, "CheckpointAborted.pipeline")?;
        let reason = walk.data(1073741824, "CheckpointAborted.reason")?;
        let number = check::u8_at(fixed, 16);
        check::known(AbortCause::from_number(number).is_some(), "CheckpointAborted", "cause", i64::from(number))?;
        check::ascii(pipeline, "CheckpointAborted", "pipeline")?;
        check::ascii(reason, "CheckpointAborted", "reason")?;
        Ok(())
    }

    fn read(mut decoder: sbe::checkpoint_aborted_codec::CheckpointAbortedDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let cause = AbortCause::from_number(decoder.cause().into()).expect("the check knows the value");
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let reason = check::text(buffer, decoder.reason_decoder());
        Self { checkpoint_id, epoch, cause, pipeline, reason }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.reason.len()
    }

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write(
            sbe::checkpoint_aborted_codec::CheckpointAbortedEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(
            sbe::checkpoint_aborted_codec::CheckpointAbortedEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(),
            "CheckpointAborted",
            "pipeline",
        )?;
        check::writable(self.reason.len() <= 1073741824 && self.reason.is_ascii(), "CheckpointAborted", "reason")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::checkpoint_aborted_codec::CheckpointAbortedEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.cause(self.cause.number().into());
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.reason(self.reason.as_bytes());
    }
}
