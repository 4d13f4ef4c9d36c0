// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/merge.xml by `python -m dev.codegen`. Do not edit.
//! Checked decoders and owned messages of schema 903 (shm.tensorpool.merge), version 1.

use shm_tensorpool_merge as sbe;

use crate::check::{self, Expected, HEADER_LENGTH, Walk};
use crate::error::{DecodeError, EncodeError};

/// Number of the schema.
pub const SCHEMA_ID: u16 = 903;
/// Version that is written.
pub const SCHEMA_VERSION: u16 = 1;

/// ClockDomain, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum ClockDomain {
    /// MONOTONIC.
    Monotonic = 1,
    /// REALTIME_SYNCED.
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

/// MergeRuleType, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum MergeRuleType {
    /// OFFSET.
    Offset = 0,
    /// WINDOW.
    Window = 1,
}

impl MergeRuleType {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Offset),
            1 => Some(Self::Window),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<MergeRuleType> for u8 {
    #[inline]
    fn from(value: MergeRuleType) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for MergeRuleType {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("MergeRuleType has no value {number}"))
    }
}

/// MergeTimeRuleType, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum MergeTimeRuleType {
    /// OFFSET_NS.
    OffsetNs = 0,
    /// WINDOW_NS.
    WindowNs = 1,
}

impl MergeTimeRuleType {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::OffsetNs),
            1 => Some(Self::WindowNs),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<MergeTimeRuleType> for u8 {
    #[inline]
    fn from(value: MergeTimeRuleType) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for MergeTimeRuleType {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("MergeTimeRuleType has no value {number}"))
    }
}

/// TimestampSource, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum TimestampSource {
    /// FRAME_DESCRIPTOR.
    FrameDescriptor = 1,
    /// SLOT_HEADER.
    SlotHeader = 2,
}

impl TimestampSource {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::FrameDescriptor),
            2 => Some(Self::SlotHeader),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<TimestampSource> for u8 {
    #[inline]
    fn from(value: TimestampSource) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for TimestampSource {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("TimestampSource has no value {number}"))
    }
}

/// One entry of `SequenceMergeMapAnnounce::rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct SequenceMergeMapAnnounceRule {
    pub input_stream_id: u32,
    pub rule_type: MergeRuleType,
    /// OFFSET only.
    pub offset: Option<i32>,
    /// WINDOW only, above 0.
    pub window_size: Option<u32>,
}

/// The rules of a sequence join for one output stream and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct SequenceMergeMapAnnounce {
    pub out_stream_id: u32,
    pub epoch: u64,
    /// Null: no staleness policy.
    pub stale_timeout_ns: Option<u64>,
    pub rules: Vec<SequenceMergeMapAnnounceRule>,
}

impl SequenceMergeMapAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 1;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 20;

    const EXPECTED: Expected = Expected {
        message: "SequenceMergeMapAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 20)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceDecoder::default().wrap(
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
        walk.take(usize::from(block), "SequenceMergeMapAnnounce")?;
        let rules = walk.fixed_group(13, "SequenceMergeMapAnnounce.rules")?;
        for entry in rules {
            let number = check::u8_at(entry, 4);
            check::known(
                MergeRuleType::from_number(number).is_some(),
                "SequenceMergeMapAnnounce.Rule",
                "rule_type",
                i64::from(number),
            )?;
        }
        Ok(())
    }

    fn read(
        decoder: sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceDecoder<'_>,
        _buffer: &[u8],
    ) -> Self {
        let out_stream_id = decoder.out_stream_id();
        let epoch = decoder.epoch();
        let stale_timeout_ns = decoder.stale_timeout_ns();
        let mut group = decoder.rules_decoder();
        let mut rules = Vec::with_capacity(usize::from(group.count()));
        while let Ok(Some(_)) = group.advance() {
            rules.push(SequenceMergeMapAnnounceRule {
                input_stream_id: group.input_stream_id(),
                rule_type: MergeRuleType::from_number(group.rule_type().into()).expect("the check knows the value"),
                offset: group.offset(),
                window_size: group.window_size(),
            });
        }
        Self { out_stream_id, epoch, stale_timeout_ns, rules }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.rules.len() * 13
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
            sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceEncoder::default()
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
            sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.stale_timeout_ns != Some(u64::MAX), "SequenceMergeMapAnnounce", "stale_timeout_ns")?;
        check::countable(self.rules.len(), "SequenceMergeMapAnnounce", "rules")?;
        for entry in &self.rules {
            check::writable(entry.offset != Some(i32::MIN), "SequenceMergeMapAnnounce.Rule", "offset")?;
            check::writable(entry.window_size != Some(u32::MAX), "SequenceMergeMapAnnounce.Rule", "window_size")?;
        }
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::sequence_merge_map_announce_codec::SequenceMergeMapAnnounceEncoder<'_>) {
        encoder.out_stream_id(self.out_stream_id);
        encoder.epoch(self.epoch);
        encoder.stale_timeout_ns_opt(self.stale_timeout_ns);
        let count = self.rules.len() as u16;
        let mut group =
            encoder.rules_encoder(count, sbe::sequence_merge_map_announce_codec::encoder::RulesEncoder::default());
        for entry in &self.rules {
            group.advance().expect("a flyweight keeps its parent");
            group.input_stream_id(entry.input_stream_id);
            group.rule_type(entry.rule_type.number().into());
            group.offset_opt(entry.offset);
            group.window_size_opt(entry.window_size);
        }
    }
}

/// Asks for the sequence map of an output stream and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct SequenceMergeMapRequest {
    pub out_stream_id: u32,
    pub epoch: u64,
}

impl SequenceMergeMapRequest {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 2;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 12;

    const EXPECTED: Expected = Expected {
        message: "SequenceMergeMapRequest",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 12)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestDecoder::default().wrap(
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
    ) -> Result<sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestDecoder::default().wrap(
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
        walk.take(usize::from(block), "SequenceMergeMapRequest")?;
        Ok(())
    }

    fn read(
        decoder: sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestDecoder<'_>,
        _buffer: &[u8],
    ) -> Self {
        Self { out_stream_id: decoder.out_stream_id(), epoch: decoder.epoch() }
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
            sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestEncoder::default()
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
            sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::sequence_merge_map_request_codec::SequenceMergeMapRequestEncoder<'_>) {
        encoder.out_stream_id(self.out_stream_id);
        encoder.epoch(self.epoch);
    }
}

/// One entry of `TimestampMergeMapAnnounce::rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TimestampMergeMapAnnounceRule {
    pub input_stream_id: u32,
    pub rule_type: MergeTimeRuleType,
    pub timestamp_source: TimestampSource,
    /// OFFSET_NS only.
    pub offset_ns: Option<i64>,
    /// WINDOW_NS only, above 0.
    pub window_ns: Option<u64>,
}

/// The rules of a timestamp join for one output stream and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TimestampMergeMapAnnounce {
    pub out_stream_id: u32,
    pub epoch: u64,
    /// Null: no staleness policy.
    pub stale_timeout_ns: Option<u64>,
    pub clock_domain: ClockDomain,
    /// Null: 0.
    pub lateness_ns: Option<u64>,
    pub rules: Vec<TimestampMergeMapAnnounceRule>,
}

impl TimestampMergeMapAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 3;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 29;

    const EXPECTED: Expected = Expected {
        message: "TimestampMergeMapAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 29)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "TimestampMergeMapAnnounce")?;
        let rules = walk.fixed_group(22, "TimestampMergeMapAnnounce.rules")?;
        let number = check::u8_at(fixed, 20);
        check::known(
            ClockDomain::from_number(number).is_some(),
            "TimestampMergeMapAnnounce",
            "clock_domain",
            i64::from(number),
        )?;
        for entry in rules {
            let number = check::u8_at(entry, 4);
            check::known(
                MergeTimeRuleType::from_number(number).is_some(),
                "TimestampMergeMapAnnounce.Rule",
                "rule_type",
                i64::from(number),
            )?;
            let number = check::u8_at(entry, 5);
            check::known(
                TimestampSource::from_number(number).is_some(),
                "TimestampMergeMapAnnounce.Rule",
                "timestamp_source",
                i64::from(number),
            )?;
        }
        Ok(())
    }

    fn read(
        decoder: sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceDecoder<'_>,
        _buffer: &[u8],
    ) -> Self {
        let out_stream_id = decoder.out_stream_id();
        let epoch = decoder.epoch();
        let stale_timeout_ns = decoder.stale_timeout_ns();
        let clock_domain = ClockDomain::from_number(decoder.clock_domain().into()).expect("the check knows the value");
        let lateness_ns = decoder.lateness_ns();
        let mut group = decoder.rules_decoder();
        let mut rules = Vec::with_capacity(usize::from(group.count()));
        while let Ok(Some(_)) = group.advance() {
            rules.push(TimestampMergeMapAnnounceRule {
                input_stream_id: group.input_stream_id(),
                rule_type: MergeTimeRuleType::from_number(group.rule_type().into()).expect("the check knows the value"),
                timestamp_source: TimestampSource::from_number(group.timestamp_source().into())
                    .expect("the check knows the value"),
                offset_ns: group.offset_ns(),
                window_ns: group.window_ns(),
            });
        }
        Self { out_stream_id, epoch, stale_timeout_ns, clock_domain, lateness_ns, rules }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.rules.len() * 22
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
            sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceEncoder::default()
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
            sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.stale_timeout_ns != Some(u64::MAX), "TimestampMergeMapAnnounce", "stale_timeout_ns")?;
        check::writable(self.lateness_ns != Some(u64::MAX), "TimestampMergeMapAnnounce", "lateness_ns")?;
        check::countable(self.rules.len(), "TimestampMergeMapAnnounce", "rules")?;
        for entry in &self.rules {
            check::writable(entry.offset_ns != Some(i64::MIN), "TimestampMergeMapAnnounce.Rule", "offset_ns")?;
            check::writable(entry.window_ns != Some(u64::MAX), "TimestampMergeMapAnnounce.Rule", "window_ns")?;
        }
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::timestamp_merge_map_announce_codec::TimestampMergeMapAnnounceEncoder<'_>) {
        encoder.out_stream_id(self.out_stream_id);
        encoder.epoch(self.epoch);
        encoder.stale_timeout_ns_opt(self.stale_timeout_ns);
        encoder.clock_domain(self.clock_domain.number().into());
        encoder.lateness_ns_opt(self.lateness_ns);
        let count = self.rules.len() as u16;
        let mut group =
            encoder.rules_encoder(count, sbe::timestamp_merge_map_announce_codec::encoder::RulesEncoder::default());
        for entry in &self.rules {
            group.advance().expect("a flyweight keeps its parent");
            group.input_stream_id(entry.input_stream_id);
            group.rule_type(entry.rule_type.number().into());
            group.timestamp_source(entry.timestamp_source.number().into());
            group.offset_ns_opt(entry.offset_ns);
            group.window_ns_opt(entry.window_ns);
        }
    }
}

/// Asks for the timestamp map of an output stream and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TimestampMergeMapRequest {
    pub out_stream_id: u32,
    pub epoch: u64,
}

impl TimestampMergeMapRequest {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 4;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 12;

    const EXPECTED: Expected = Expected {
        message: "TimestampMergeMapRequest",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 12)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestDecoder::default().wrap(
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
    ) -> Result<sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestDecoder::default().wrap(
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
        walk.take(usize::from(block), "TimestampMergeMapRequest")?;
        Ok(())
    }

    fn read(
        decoder: sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestDecoder<'_>,
        _buffer: &[u8],
    ) -> Self {
        Self { out_stream_id: decoder.out_stream_id(), epoch: decoder.epoch() }
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
            sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestEncoder::default()
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
            sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::timestamp_merge_map_request_codec::TimestampMergeMapRequestEncoder<'_>) {
        encoder.out_stream_id(self.out_stream_id);
        encoder.epoch(self.epoch);
    }
}
