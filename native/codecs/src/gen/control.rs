// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/control.xml by `python -m dev.codegen`. Do not edit.
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
    /// Agents that share a stream read different epochs of it.
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

/// ClockDomain, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum ClockDomain {
    /// The host's monotonic clock.
    Monotonic = 1,
    /// The realtime clock, synchronised with other hosts.
    RealtimeSynced = 2,
}

impl ClockDomain {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Monotonic),
            2 => Some(Self::RealtimeSynced),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<ClockDomain> for u8 {
    #[inline]
    fn from(value: ClockDomain) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for ClockDomain {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("ClockDomain has no value {number}"))
    }
}

/// OperatorState, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum OperatorState {
    /// Takes part in the checkpoints of the pipeline.
    Present = 0,
    /// Ends in good order and takes part no more.
    Leaving = 1,
}

impl OperatorState {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Present),
            1 => Some(Self::Leaving),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<OperatorState> for u8 {
    #[inline]
    fn from(value: OperatorState) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for OperatorState {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("OperatorState has no value {number}"))
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

/// TriggerState, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum TriggerState {
    /// Heard; it begins when another one is over, or the operators are known.
    Waiting = 0,
    /// Its barrier is asked for.
    Started = 1,
    /// It exists.
    Complete = 2,
    /// It was begun and given up; reason says why.
    Aborted = 3,
    /// It was not begun; reason says why.
    Refused = 4,
}

impl TriggerState {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Waiting),
            1 => Some(Self::Started),
            2 => Some(Self::Complete),
            3 => Some(Self::Aborted),
            4 => Some(Self::Refused),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<TriggerState> for u8 {
    #[inline]
    fn from(value: TriggerState) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for TriggerState {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("TriggerState has no value {number}"))
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

/// An operator takes part in the checkpoints of a pipeline; again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct OperatorHello {
    /// Another one in each life of the operator.
    pub instance_id: u64,
    /// Highest id that it has met; 0: none.
    pub last_checkpoint_id: u64,
    pub state: OperatorState,
    pub pipeline: String,
    pub operator_id: String,
}

impl OperatorHello {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 8;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 17;

    const EXPECTED: Expected = Expected {
        message: "OperatorHello",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 17)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::operator_hello_codec::OperatorHelloDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::operator_hello_codec::OperatorHelloDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::operator_hello_codec::OperatorHelloDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::operator_hello_codec::OperatorHelloDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "OperatorHello")?;
        let pipeline = walk.data(1073741824, "OperatorHello.pipeline")?;
        let operator_id = walk.data(1073741824, "OperatorHello.operator_id")?;
        let number = check::u8_at(fixed, 16);
        check::known(OperatorState::from_number(number).is_some(), "OperatorHello", "state", i64::from(number))?;
        check::ascii(pipeline, "OperatorHello", "pipeline")?;
        check::ascii(operator_id, "OperatorHello", "operator_id")?;
        Ok(())
    }

    fn read(mut decoder: sbe::operator_hello_codec::OperatorHelloDecoder<'_>, buffer: &[u8]) -> Self {
        let instance_id = decoder.instance_id();
        let last_checkpoint_id = decoder.last_checkpoint_id();
        let state = OperatorState::from_number(decoder.state().into()).expect("the check knows the value");
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let operator_id = check::text(buffer, decoder.operator_id_decoder());
        Self { instance_id, last_checkpoint_id, state, pipeline, operator_id }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.operator_id.len()
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
            sbe::operator_hello_codec::OperatorHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::operator_hello_codec::OperatorHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "OperatorHello", "pipeline")?;
        check::writable(
            self.operator_id.len() <= 1073741824 && self.operator_id.is_ascii(),
            "OperatorHello",
            "operator_id",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::operator_hello_codec::OperatorHelloEncoder<'_>) {
        encoder.instance_id(self.instance_id);
        encoder.last_checkpoint_id(self.last_checkpoint_id);
        encoder.state(self.state.number().into());
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.operator_id(self.operator_id.as_bytes());
    }
}

/// The coordinator says what holds for its pipeline; again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct PipelineAnnounce {
    /// Highest id that was given out; 0: none.
    pub last_checkpoint_id: u64,
    /// The checkpoint under way; 0: none, and any other one is over.
    pub current_checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Bit 0: an alignment may become unaligned. Bit 1: every checkpoint is. Other bits are 0.
    pub flags: u64,
    /// How long an input may be blocked.
    pub alignment_timeout_ms: u32,
    /// How long a late input may take after the switch.
    pub late_barrier_timeout_ms: u32,
    /// An operator that says nothing for so long is lost.
    pub operator_timeout_ms: u32,
    pub pipeline: String,
    pub store: String,
}

impl PipelineAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 9;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 44;

    const EXPECTED: Expected = Expected {
        message: "PipelineAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 44)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::pipeline_announce_codec::PipelineAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::pipeline_announce_codec::PipelineAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::pipeline_announce_codec::PipelineAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::pipeline_announce_codec::PipelineAnnounceDecoder::default().wrap(
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
        walk.take(usize::from(block), "PipelineAnnounce")?;
        let pipeline = walk.data(1073741824, "PipelineAnnounce.pipeline")?;
        let store = walk.data(1073741824, "PipelineAnnounce.store")?;
        check::ascii(pipeline, "PipelineAnnounce", "pipeline")?;
        check::ascii(store, "PipelineAnnounce", "store")?;
        Ok(())
    }

    fn read(mut decoder: sbe::pipeline_announce_codec::PipelineAnnounceDecoder<'_>, buffer: &[u8]) -> Self {
        let last_checkpoint_id = decoder.last_checkpoint_id();
        let current_checkpoint_id = decoder.current_checkpoint_id();
        let epoch = decoder.epoch();
        let flags = decoder.flags();
        let alignment_timeout_ms = decoder.alignment_timeout_ms();
        let late_barrier_timeout_ms = decoder.late_barrier_timeout_ms();
        let operator_timeout_ms = decoder.operator_timeout_ms();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let store = check::text(buffer, decoder.store_decoder());
        Self {
            last_checkpoint_id,
            current_checkpoint_id,
            epoch,
            flags,
            alignment_timeout_ms,
            late_barrier_timeout_ms,
            operator_timeout_ms,
            pipeline,
            store,
        }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.store.len()
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
            sbe::pipeline_announce_codec::PipelineAnnounceEncoder::default()
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
            sbe::pipeline_announce_codec::PipelineAnnounceEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "PipelineAnnounce", "pipeline")?;
        check::writable(self.store.len() <= 1073741824 && self.store.is_ascii(), "PipelineAnnounce", "store")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::pipeline_announce_codec::PipelineAnnounceEncoder<'_>) {
        encoder.last_checkpoint_id(self.last_checkpoint_id);
        encoder.current_checkpoint_id(self.current_checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.flags(self.flags);
        encoder.alignment_timeout_ms(self.alignment_timeout_ms);
        encoder.late_barrier_timeout_ms(self.late_barrier_timeout_ms);
        encoder.operator_timeout_ms(self.operator_timeout_ms);
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.store(self.store.as_bytes());
    }
}

/// Somebody asks the coordinator for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TriggerCheckpoint {
    /// Chosen at random by who asks.
    pub correlation_id: u64,
    /// Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0.
    pub flags: u64,
    pub pipeline: String,
}

impl TriggerCheckpoint {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 10;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 16;

    const EXPECTED: Expected = Expected {
        message: "TriggerCheckpoint",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 16)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::trigger_checkpoint_codec::TriggerCheckpointDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_checkpoint_codec::TriggerCheckpointDecoder::default().wrap(
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
    ) -> Result<sbe::trigger_checkpoint_codec::TriggerCheckpointDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_checkpoint_codec::TriggerCheckpointDecoder::default().wrap(
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
        walk.take(usize::from(block), "TriggerCheckpoint")?;
        let pipeline = walk.data(1073741824, "TriggerCheckpoint.pipeline")?;
        check::ascii(pipeline, "TriggerCheckpoint", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::trigger_checkpoint_codec::TriggerCheckpointDecoder<'_>, buffer: &[u8]) -> Self {
        let correlation_id = decoder.correlation_id();
        let flags = decoder.flags();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { correlation_id, flags, pipeline }
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
            sbe::trigger_checkpoint_codec::TriggerCheckpointEncoder::default()
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
            sbe::trigger_checkpoint_codec::TriggerCheckpointEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(),
            "TriggerCheckpoint",
            "pipeline",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::trigger_checkpoint_codec::TriggerCheckpointEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.flags(self.flags);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// What becomes of a checkpoint that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TriggerProgress {
    /// Of the request.
    pub correlation_id: u64,
    /// 0 before it has one.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    pub state: TriggerState,
    /// From its start; 0 before it is over.
    pub duration_ns: u64,
    /// Of all its files but the manifest; 0 unless COMPLETE.
    pub bytes: u64,
    pub pipeline: String,
    pub reason: String,
}

impl TriggerProgress {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 11;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 41;

    const EXPECTED: Expected = Expected {
        message: "TriggerProgress",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 41)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::trigger_progress_codec::TriggerProgressDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_progress_codec::TriggerProgressDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::trigger_progress_codec::TriggerProgressDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_progress_codec::TriggerProgressDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "TriggerProgress")?;
        let pipeline = walk.data(1073741824, "TriggerProgress.pipeline")?;
        let reason = walk.data(1073741824, "TriggerProgress.reason")?;
        let number = check::u8_at(fixed, 24);
        check::known(TriggerState::from_number(number).is_some(), "TriggerProgress", "state", i64::from(number))?;
        check::ascii(pipeline, "TriggerProgress", "pipeline")?;
        check::ascii(reason, "TriggerProgress", "reason")?;
        Ok(())
    }

    fn read(mut decoder: sbe::trigger_progress_codec::TriggerProgressDecoder<'_>, buffer: &[u8]) -> Self {
        let correlation_id = decoder.correlation_id();
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let state = TriggerState::from_number(decoder.state().into()).expect("the check knows the value");
        let duration_ns = decoder.duration_ns();
        let bytes = decoder.bytes();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let reason = check::text(buffer, decoder.reason_decoder());
        Self { correlation_id, checkpoint_id, epoch, state, duration_ns, bytes, pipeline, reason }
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
            sbe::trigger_progress_codec::TriggerProgressEncoder::default()
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
        self.write(sbe::trigger_progress_codec::TriggerProgressEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "TriggerProgress", "pipeline")?;
        check::writable(self.reason.len() <= 1073741824 && self.reason.is_ascii(), "TriggerProgress", "reason")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::trigger_progress_codec::TriggerProgressEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.state(self.state.number().into());
        encoder.duration_ns(self.duration_ns);
        encoder.bytes(self.bytes);
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.reason(self.reason.as_bytes());
    }
}

/// Somebody asks the coordinator for a signal on the control channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TriggerSignal {
    /// Chosen at random by who asks.
    pub correlation_id: u64,
    pub category: SignalCategory,
    pub kind: SignalKind,
    pub pipeline: String,
}

impl TriggerSignal {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 12;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 10;

    const EXPECTED: Expected = Expected {
        message: "TriggerSignal",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 10)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::trigger_signal_codec::TriggerSignalDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_signal_codec::TriggerSignalDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::trigger_signal_codec::TriggerSignalDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::trigger_signal_codec::TriggerSignalDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "TriggerSignal")?;
        let pipeline = walk.data(1073741824, "TriggerSignal.pipeline")?;
        let number = check::u8_at(fixed, 8);
        check::known(SignalCategory::from_number(number).is_some(), "TriggerSignal", "category", i64::from(number))?;
        let number = check::u8_at(fixed, 9);
        check::known(SignalKind::from_number(number).is_some(), "TriggerSignal", "kind", i64::from(number))?;
        check::ascii(pipeline, "TriggerSignal", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::trigger_signal_codec::TriggerSignalDecoder<'_>, buffer: &[u8]) -> Self {
        let correlation_id = decoder.correlation_id();
        let category = SignalCategory::from_number(decoder.category().into()).expect("the check knows the value");
        let kind = SignalKind::from_number(decoder.kind().into()).expect("the check knows the value");
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { correlation_id, category, kind, pipeline }
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
            sbe::trigger_signal_codec::TriggerSignalEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::trigger_signal_codec::TriggerSignalEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "TriggerSignal", "pipeline")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::trigger_signal_codec::TriggerSignalEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.category(self.category.number().into());
        encoder.kind(self.kind.number().into());
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// An operator cuts this stream by itself; one for each such stream, before its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct IngressHello {
    /// Another one in each life of the operator.
    pub instance_id: u64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    pub pipeline: String,
    pub operator_id: String,
}

impl IngressHello {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 13;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 12;

    const EXPECTED: Expected = Expected {
        message: "IngressHello",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 12)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::ingress_hello_codec::IngressHelloDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_hello_codec::IngressHelloDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::ingress_hello_codec::IngressHelloDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_hello_codec::IngressHelloDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "IngressHello")?;
        let pipeline = walk.data(1073741824, "IngressHello.pipeline")?;
        let operator_id = walk.data(1073741824, "IngressHello.operator_id")?;
        check::ascii(pipeline, "IngressHello", "pipeline")?;
        check::ascii(operator_id, "IngressHello", "operator_id")?;
        Ok(())
    }

    fn read(mut decoder: sbe::ingress_hello_codec::IngressHelloDecoder<'_>, buffer: &[u8]) -> Self {
        let instance_id = decoder.instance_id();
        let stream_id = decoder.stream_id();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let operator_id = check::text(buffer, decoder.operator_id_decoder());
        Self { instance_id, stream_id, pipeline, operator_id }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.operator_id.len()
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
            sbe::ingress_hello_codec::IngressHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::ingress_hello_codec::IngressHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "IngressHello", "pipeline")?;
        check::writable(
            self.operator_id.len() <= 1073741824 && self.operator_id.is_ascii(),
            "IngressHello",
            "operator_id",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::ingress_hello_codec::IngressHelloEncoder<'_>) {
        encoder.instance_id(self.instance_id);
        encoder.stream_id(self.stream_id);
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.operator_id(self.operator_id.as_bytes());
    }
}

/// The coordinator asks the agents that share a stream to stop in it, and to say where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldIngress {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    pub pipeline: String,
}

impl HoldIngress {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 14;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 20;

    const EXPECTED: Expected = Expected {
        message: "HoldIngress",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 20)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::hold_ingress_codec::HoldIngressDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::hold_ingress_codec::HoldIngressDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::hold_ingress_codec::HoldIngressDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::hold_ingress_codec::HoldIngressDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "HoldIngress")?;
        let pipeline = walk.data(1073741824, "HoldIngress.pipeline")?;
        check::ascii(pipeline, "HoldIngress", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::hold_ingress_codec::HoldIngressDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let stream_id = decoder.stream_id();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { checkpoint_id, epoch, stream_id, pipeline }
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
            sbe::hold_ingress_codec::HoldIngressEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::hold_ingress_codec::HoldIngressEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "HoldIngress", "pipeline")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::hold_ingress_codec::HoldIngressEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.stream_id(self.stream_id);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// An agent has stopped in a stream: here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct IngressPlace {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    /// Epoch of the stream's regions; null: it reads none.
    pub source_epoch: Option<u64>,
    /// Last sequence that it took; null: none of that epoch.
    pub after_seq: Option<u64>,
    pub pipeline: String,
    pub operator_id: String,
}

impl IngressPlace {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 15;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 36;

    const EXPECTED: Expected = Expected {
        message: "IngressPlace",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 36)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::ingress_place_codec::IngressPlaceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_place_codec::IngressPlaceDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::ingress_place_codec::IngressPlaceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_place_codec::IngressPlaceDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "IngressPlace")?;
        let pipeline = walk.data(1073741824, "IngressPlace.pipeline")?;
        let operator_id = walk.data(1073741824, "IngressPlace.operator_id")?;
        check::ascii(pipeline, "IngressPlace", "pipeline")?;
        check::ascii(operator_id, "IngressPlace", "operator_id")?;
        Ok(())
    }

    fn read(mut decoder: sbe::ingress_place_codec::IngressPlaceDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let stream_id = decoder.stream_id();
        let source_epoch = decoder.source_epoch();
        let after_seq = decoder.after_seq();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        let operator_id = check::text(buffer, decoder.operator_id_decoder());
        Self { checkpoint_id, epoch, stream_id, source_epoch, after_seq, pipeline, operator_id }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.pipeline.len() + 4 + self.operator_id.len()
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
            sbe::ingress_place_codec::IngressPlaceEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::ingress_place_codec::IngressPlaceEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.source_epoch != Some(u64::MAX), "IngressPlace", "source_epoch")?;
        check::writable(self.after_seq != Some(u64::MAX), "IngressPlace", "after_seq")?;
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "IngressPlace", "pipeline")?;
        check::writable(
            self.operator_id.len() <= 1073741824 && self.operator_id.is_ascii(),
            "IngressPlace",
            "operator_id",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::ingress_place_codec::IngressPlaceEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.stream_id(self.stream_id);
        encoder.source_epoch_opt(self.source_epoch);
        encoder.after_seq_opt(self.after_seq);
        encoder.pipeline(self.pipeline.as_bytes());
        encoder.operator_id(self.operator_id.as_bytes());
    }
}

/// All agents that share a stream cut it here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct IngressCut {
    /// Allocated by the pipeline's coordinator, strictly increasing; 0 is none.
    pub checkpoint_id: u64,
    /// Checkpoint epoch, at most 2^48 - 1; never goes back.
    pub epoch: u64,
    /// Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0.
    pub flags: u64,
    /// Data-source id, not the Aeron stream.
    pub stream_id: u32,
    /// Epoch of the stream's regions; null: nobody reads any.
    pub source_epoch: Option<u64>,
    /// Behind this sequence; null: before the first of that epoch.
    pub after_seq: Option<u64>,
    pub pipeline: String,
}

impl IngressCut {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 16;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 44;

    const EXPECTED: Expected = Expected {
        message: "IngressCut",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 44)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::ingress_cut_codec::IngressCutDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_cut_codec::IngressCutDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::ingress_cut_codec::IngressCutDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::ingress_cut_codec::IngressCutDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "IngressCut")?;
        let pipeline = walk.data(1073741824, "IngressCut.pipeline")?;
        check::ascii(pipeline, "IngressCut", "pipeline")?;
        Ok(())
    }

    fn read(mut decoder: sbe::ingress_cut_codec::IngressCutDecoder<'_>, buffer: &[u8]) -> Self {
        let checkpoint_id = decoder.checkpoint_id();
        let epoch = decoder.epoch();
        let flags = decoder.flags();
        let stream_id = decoder.stream_id();
        let source_epoch = decoder.source_epoch();
        let after_seq = decoder.after_seq();
        let pipeline = check::text(buffer, decoder.pipeline_decoder());
        Self { checkpoint_id, epoch, flags, stream_id, source_epoch, after_seq, pipeline }
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
            sbe::ingress_cut_codec::IngressCutEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::ingress_cut_codec::IngressCutEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.source_epoch != Some(u64::MAX), "IngressCut", "source_epoch")?;
        check::writable(self.after_seq != Some(u64::MAX), "IngressCut", "after_seq")?;
        check::writable(self.pipeline.len() <= 1073741824 && self.pipeline.is_ascii(), "IngressCut", "pipeline")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::ingress_cut_codec::IngressCutEncoder<'_>) {
        encoder.checkpoint_id(self.checkpoint_id);
        encoder.epoch(self.epoch);
        encoder.flags(self.flags);
        encoder.stream_id(self.stream_id);
        encoder.source_epoch_opt(self.source_epoch);
        encoder.after_seq_opt(self.after_seq);
        encoder.pipeline(self.pipeline.as_bytes());
    }
}

/// What a producer is going to publish; goes to the lease driver before each of its attach requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamDeclaration {
    /// As in the attach request.
    pub stream_id: u32,
    /// As in the attach request.
    pub client_id: u32,
    /// Of the frames' timestamps; null, 255: not said.
    pub clock_domain: Option<ClockDomain>,
    /// Payload bytes of the largest frame; null: not said.
    pub frame_bytes: Option<u32>,
    /// Frames that the ring should hold, a power of two; null: as the driver thinks fit.
    pub nslots: Option<u32>,
}

impl StreamDeclaration {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 17;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 17;

    const EXPECTED: Expected = Expected {
        message: "StreamDeclaration",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 17)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::stream_declaration_codec::StreamDeclarationDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::stream_declaration_codec::StreamDeclarationDecoder::default().wrap(
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
    ) -> Result<sbe::stream_declaration_codec::StreamDeclarationDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::stream_declaration_codec::StreamDeclarationDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "StreamDeclaration")?;
        let number = check::u8_at(fixed, 8);
        check::known(
            number == 255 || ClockDomain::from_number(number).is_some(),
            "StreamDeclaration",
            "clock_domain",
            i64::from(number),
        )?;
        Ok(())
    }

    fn read(decoder: sbe::stream_declaration_codec::StreamDeclarationDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            client_id: decoder.client_id(),
            clock_domain: ClockDomain::from_number(decoder.clock_domain().into()),
            frame_bytes: decoder.frame_bytes(),
            nslots: decoder.nslots(),
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
            sbe::stream_declaration_codec::StreamDeclarationEncoder::default()
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
            sbe::stream_declaration_codec::StreamDeclarationEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.frame_bytes != Some(u32::MAX), "StreamDeclaration", "frame_bytes")?;
        check::writable(self.nslots != Some(u32::MAX), "StreamDeclaration", "nslots")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::stream_declaration_codec::StreamDeclarationEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.client_id(self.client_id);
        encoder.clock_domain_opt(self.clock_domain.map(|value| value.number().into()));
        encoder.frame_bytes_opt(self.frame_bytes);
        encoder.nslots_opt(self.nslots);
    }
}
