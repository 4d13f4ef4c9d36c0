// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/wire.xml by `python -m dev.codegen`. Do not edit.
//! Checked decoders and owned messages of schema 900 (shm.tensorpool.control), version 1.

use shm_tensorpool_control as sbe;

use crate::check::{self, Expected, HEADER_LENGTH, Walk};
use crate::error::{DecodeError, EncodeError};

/// Number of the schema.
pub const SCHEMA_ID: u16 = 900;
/// Version that is written.
pub const SCHEMA_VERSION: u16 = 1;

/// Bool, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum Bool {
    /// FALSE.
    False = 0,
    /// TRUE.
    True = 1,
}

impl Bool {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::False),
            1 => Some(Self::True),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<Bool> for u8 {
    #[inline]
    fn from(value: Bool) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for Bool {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("Bool has no value {number}"))
    }
}

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

/// Dtype, carried as i16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "i16", try_from = "i16"))]
#[repr(i16)]
pub enum Dtype {
    /// UNKNOWN.
    Unknown = 0,
    /// UINT8.
    Uint8 = 1,
    /// INT8.
    Int8 = 2,
    /// UINT16.
    Uint16 = 3,
    /// INT16.
    Int16 = 4,
    /// UINT32.
    Uint32 = 5,
    /// INT32.
    Int32 = 6,
    /// UINT64.
    Uint64 = 7,
    /// INT64.
    Int64 = 8,
    /// FLOAT32.
    Float32 = 9,
    /// FLOAT64.
    Float64 = 10,
    /// BOOLEAN.
    Boolean = 11,
    /// BYTES.
    Bytes = 13,
    /// BIT.
    Bit = 14,
}

impl Dtype {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: i16) -> Option<Self> {
        match number {
            0 => Some(Self::Unknown),
            1 => Some(Self::Uint8),
            2 => Some(Self::Int8),
            3 => Some(Self::Uint16),
            4 => Some(Self::Int16),
            5 => Some(Self::Uint32),
            6 => Some(Self::Int32),
            7 => Some(Self::Uint64),
            8 => Some(Self::Int64),
            9 => Some(Self::Float32),
            10 => Some(Self::Float64),
            11 => Some(Self::Boolean),
            13 => Some(Self::Bytes),
            14 => Some(Self::Bit),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> i16 {
        self as i16
    }
}

impl From<Dtype> for i16 {
    #[inline]
    fn from(value: Dtype) -> Self {
        value.number()
    }
}

impl TryFrom<i16> for Dtype {
    type Error = String;

    fn try_from(number: i16) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("Dtype has no value {number}"))
    }
}

/// FrameProgressState, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum FrameProgressState {
    /// UNKNOWN.
    Unknown = 0,
    /// STARTED.
    Started = 1,
    /// PROGRESS.
    Progress = 2,
    /// COMPLETE.
    Complete = 3,
}

impl FrameProgressState {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Unknown),
            1 => Some(Self::Started),
            2 => Some(Self::Progress),
            3 => Some(Self::Complete),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<FrameProgressState> for u8 {
    #[inline]
    fn from(value: FrameProgressState) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for FrameProgressState {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("FrameProgressState has no value {number}"))
    }
}

/// MajorOrder, carried as i16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "i16", try_from = "i16"))]
#[repr(i16)]
pub enum MajorOrder {
    /// UNKNOWN.
    Unknown = 0,
    /// ROW.
    Row = 1,
    /// COLUMN.
    Column = 2,
}

impl MajorOrder {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: i16) -> Option<Self> {
        match number {
            0 => Some(Self::Unknown),
            1 => Some(Self::Row),
            2 => Some(Self::Column),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> i16 {
        self as i16
    }
}

impl From<MajorOrder> for i16 {
    #[inline]
    fn from(value: MajorOrder) -> Self {
        value.number()
    }
}

impl TryFrom<i16> for MajorOrder {
    type Error = String;

    fn try_from(number: i16) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("MajorOrder has no value {number}"))
    }
}

/// Mode, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum Mode {
    /// STREAM.
    Stream = 1,
    /// RATE_LIMITED.
    RateLimited = 2,
}

impl Mode {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Stream),
            2 => Some(Self::RateLimited),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<Mode> for u8 {
    #[inline]
    fn from(value: Mode) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for Mode {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("Mode has no value {number}"))
    }
}

/// ProgressUnit, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum ProgressUnit {
    /// NONE.
    None = 0,
    /// ROWS.
    Rows = 1,
    /// COLUMNS.
    Columns = 2,
}

impl ProgressUnit {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::Rows),
            2 => Some(Self::Columns),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<ProgressUnit> for u8 {
    #[inline]
    fn from(value: ProgressUnit) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for ProgressUnit {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("ProgressUnit has no value {number}"))
    }
}

/// RegionType, carried as i16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "i16", try_from = "i16"))]
#[repr(i16)]
pub enum RegionType {
    /// HEADER_RING.
    HeaderRing = 1,
    /// PAYLOAD_POOL.
    PayloadPool = 2,
}

impl RegionType {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: i16) -> Option<Self> {
        match number {
            1 => Some(Self::HeaderRing),
            2 => Some(Self::PayloadPool),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> i16 {
        self as i16
    }
}

impl From<RegionType> for i16 {
    #[inline]
    fn from(value: RegionType) -> Self {
        value.number()
    }
}

impl TryFrom<i16> for RegionType {
    type Error = String;

    fn try_from(number: i16) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("RegionType has no value {number}"))
    }
}

/// ResponseCode, carried as i32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "i32", try_from = "i32"))]
#[repr(i32)]
pub enum ResponseCode {
    /// OK.
    Ok = 0,
    /// UNSUPPORTED.
    Unsupported = 1,
    /// INVALID_PARAMS.
    InvalidParams = 2,
    /// REJECTED.
    Rejected = 3,
    /// INTERNAL_ERROR.
    InternalError = 4,
}

impl ResponseCode {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Ok),
            1 => Some(Self::Unsupported),
            2 => Some(Self::InvalidParams),
            3 => Some(Self::Rejected),
            4 => Some(Self::InternalError),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> i32 {
        self as i32
    }
}

impl From<ResponseCode> for i32 {
    #[inline]
    fn from(value: ResponseCode) -> Self {
        value.number()
    }
}

impl TryFrom<i32> for ResponseCode {
    type Error = String;

    fn try_from(number: i32) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("ResponseCode has no value {number}"))
    }
}

/// One entry of `ShmPoolAnnounce::payload_pools`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmPoolAnnouncePayloadPool {
    pub pool_id: u16,
    pub pool_nslots: u32,
    pub stride_bytes: u32,
    pub region_uri: String,
}

/// Where a stream's regions lie; soft state, about once a second.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmPoolAnnounce {
    pub stream_id: u32,
    pub producer_id: u32,
    pub epoch: u64,
    pub announce_timestamp_ns: u64,
    pub announce_clock_domain: ClockDomain,
    pub layout_version: u32,
    pub header_nslots: u32,
    pub header_slot_bytes: u16,
    pub payload_pools: Vec<ShmPoolAnnouncePayloadPool>,
    pub header_region_uri: String,
}

impl ShmPoolAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 1;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 35;

    const EXPECTED: Expected = Expected {
        message: "ShmPoolAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 35)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_pool_announce_codec::ShmPoolAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_pool_announce_codec::ShmPoolAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::shm_pool_announce_codec::ShmPoolAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_pool_announce_codec::ShmPoolAnnounceDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmPoolAnnounce")?;
        let mut payload_pools = walk;
        let dimensions = walk.group(10, "ShmPoolAnnounce.payload_pools")?;
        for _ in 0..dimensions.count {
            walk.take(dimensions.stride, "ShmPoolAnnounce.payload_pools")?;
            walk.data(1073741824, "ShmPoolAnnounce.payload_pools")?;
        }
        let header_region_uri = walk.data(1073741824, "ShmPoolAnnounce.header_region_uri")?;
        let number = check::u8_at(fixed, 24);
        check::known(
            ClockDomain::from_number(number).is_some(),
            "ShmPoolAnnounce",
            "announce_clock_domain",
            i64::from(number),
        )?;
        let dimensions = payload_pools.group(10, "ShmPoolAnnounce.payload_pools")?;
        for _ in 0..dimensions.count {
            payload_pools.take(dimensions.stride, "ShmPoolAnnounce.payload_pools")?;
            check::ascii(
                payload_pools.data(1073741824, "ShmPoolAnnounce.payload_pools")?,
                "ShmPoolAnnounce.PayloadPool",
                "region_uri",
            )?;
        }
        check::ascii(header_region_uri, "ShmPoolAnnounce", "header_region_uri")?;
        Ok(())
    }

    fn read(mut decoder: sbe::shm_pool_announce_codec::ShmPoolAnnounceDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let producer_id = decoder.producer_id();
        let epoch = decoder.epoch();
        let announce_timestamp_ns = decoder.announce_timestamp_ns();
        let announce_clock_domain =
            ClockDomain::from_number(decoder.announce_clock_domain().into()).expect("the check knows the value");
        let layout_version = decoder.layout_version();
        let header_nslots = decoder.header_nslots();
        let header_slot_bytes = decoder.header_slot_bytes();
        let mut group = decoder.payload_pools_decoder();
        let mut payload_pools = Vec::with_capacity(usize::from(group.count()));
        while let Ok(Some(_)) = group.advance() {
            payload_pools.push(ShmPoolAnnouncePayloadPool {
                pool_id: group.pool_id(),
                pool_nslots: group.pool_nslots(),
                stride_bytes: group.stride_bytes(),
                region_uri: check::text(buffer, group.region_uri_decoder()),
            });
        }
        decoder = group.parent().expect("a flyweight keeps its parent");
        let header_region_uri = check::text(buffer, decoder.header_region_uri_decoder());
        Self {
            stream_id,
            producer_id,
            epoch,
            announce_timestamp_ns,
            announce_clock_domain,
            layout_version,
            header_nslots,
            header_slot_bytes,
            payload_pools,
            header_region_uri,
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
            + 4
            + self.payload_pools.iter().map(|entry| 14 + entry.region_uri.len()).sum::<usize>()
            + 4
            + self.header_region_uri.len()
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
            sbe::shm_pool_announce_codec::ShmPoolAnnounceEncoder::default()
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
        self.write(sbe::shm_pool_announce_codec::ShmPoolAnnounceEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::countable(self.payload_pools.len(), "ShmPoolAnnounce", "payload_pools")?;
        for entry in &self.payload_pools {
            check::writable(
                entry.region_uri.len() <= 1073741824 && entry.region_uri.is_ascii(),
                "ShmPoolAnnounce.PayloadPool",
                "region_uri",
            )?;
        }
        check::writable(
            self.header_region_uri.len() <= 1073741824 && self.header_region_uri.is_ascii(),
            "ShmPoolAnnounce",
            "header_region_uri",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_pool_announce_codec::ShmPoolAnnounceEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.producer_id(self.producer_id);
        encoder.epoch(self.epoch);
        encoder.announce_timestamp_ns(self.announce_timestamp_ns);
        encoder.announce_clock_domain(self.announce_clock_domain.number().into());
        encoder.layout_version(self.layout_version);
        encoder.header_nslots(self.header_nslots);
        encoder.header_slot_bytes(self.header_slot_bytes);
        let count = self.payload_pools.len() as u16;
        let mut group =
            encoder.payload_pools_encoder(count, sbe::shm_pool_announce_codec::encoder::PayloadPoolsEncoder::default());
        for entry in &self.payload_pools {
            group.advance().expect("a flyweight keeps its parent");
            group.pool_id(entry.pool_id);
            group.pool_nslots(entry.pool_nslots);
            group.stride_bytes(entry.stride_bytes);
            group.region_uri(entry.region_uri.as_bytes());
        }
        encoder = group.parent().expect("a flyweight keeps its parent");
        encoder.header_region_uri(self.header_region_uri.as_bytes());
    }
}

/// A consumer's capabilities and wishes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ConsumerHello {
    pub stream_id: u32,
    pub consumer_id: u32,
    pub supports_shm: Bool,
    pub supports_progress: Bool,
    pub mode: Mode,
    /// 0: unlimited.
    pub max_rate_hz: u32,
    pub expected_layout_version: u32,
    pub progress_interval_us: Option<u32>,
    pub progress_bytes_delta: Option<u32>,
    pub progress_major_delta_units: Option<u32>,
    pub descriptor_stream_id: u32,
    pub control_stream_id: u32,
    pub descriptor_channel: String,
    pub control_channel: String,
}

impl ConsumerHello {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 2;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 39;

    const EXPECTED: Expected = Expected {
        message: "ConsumerHello",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 39)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::consumer_hello_codec::ConsumerHelloDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::consumer_hello_codec::ConsumerHelloDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::consumer_hello_codec::ConsumerHelloDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::consumer_hello_codec::ConsumerHelloDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ConsumerHello")?;
        let descriptor_channel = walk.data(1073741824, "ConsumerHello.descriptor_channel")?;
        let control_channel = walk.data(1073741824, "ConsumerHello.control_channel")?;
        let number = check::u8_at(fixed, 8);
        check::known(Bool::from_number(number).is_some(), "ConsumerHello", "supports_shm", i64::from(number))?;
        let number = check::u8_at(fixed, 9);
        check::known(Bool::from_number(number).is_some(), "ConsumerHello", "supports_progress", i64::from(number))?;
        let number = check::u8_at(fixed, 10);
        check::known(Mode::from_number(number).is_some(), "ConsumerHello", "mode", i64::from(number))?;
        check::ascii(descriptor_channel, "ConsumerHello", "descriptor_channel")?;
        check::ascii(control_channel, "ConsumerHello", "control_channel")?;
        Ok(())
    }

    fn read(mut decoder: sbe::consumer_hello_codec::ConsumerHelloDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let consumer_id = decoder.consumer_id();
        let supports_shm = Bool::from_number(decoder.supports_shm().into()).expect("the check knows the value");
        let supports_progress =
            Bool::from_number(decoder.supports_progress().into()).expect("the check knows the value");
        let mode = Mode::from_number(decoder.mode().into()).expect("the check knows the value");
        let max_rate_hz = decoder.max_rate_hz();
        let expected_layout_version = decoder.expected_layout_version();
        let progress_interval_us = decoder.progress_interval_us();
        let progress_bytes_delta = decoder.progress_bytes_delta();
        let progress_major_delta_units = decoder.progress_major_delta_units();
        let descriptor_stream_id = decoder.descriptor_stream_id();
        let control_stream_id = decoder.control_stream_id();
        let descriptor_channel = check::text(buffer, decoder.descriptor_channel_decoder());
        let control_channel = check::text(buffer, decoder.control_channel_decoder());
        Self {
            stream_id,
            consumer_id,
            supports_shm,
            supports_progress,
            mode,
            max_rate_hz,
            expected_layout_version,
            progress_interval_us,
            progress_bytes_delta,
            progress_major_delta_units,
            descriptor_stream_id,
            control_stream_id,
            descriptor_channel,
            control_channel,
        }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.descriptor_channel.len() + 4 + self.control_channel.len()
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
            sbe::consumer_hello_codec::ConsumerHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::consumer_hello_codec::ConsumerHelloEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.progress_interval_us != Some(u32::MAX), "ConsumerHello", "progress_interval_us")?;
        check::writable(self.progress_bytes_delta != Some(u32::MAX), "ConsumerHello", "progress_bytes_delta")?;
        check::writable(
            self.progress_major_delta_units != Some(u32::MAX),
            "ConsumerHello",
            "progress_major_delta_units",
        )?;
        check::writable(
            self.descriptor_channel.len() <= 1073741824 && self.descriptor_channel.is_ascii(),
            "ConsumerHello",
            "descriptor_channel",
        )?;
        check::writable(
            self.control_channel.len() <= 1073741824 && self.control_channel.is_ascii(),
            "ConsumerHello",
            "control_channel",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::consumer_hello_codec::ConsumerHelloEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.consumer_id(self.consumer_id);
        encoder.supports_shm(self.supports_shm.number().into());
        encoder.supports_progress(self.supports_progress.number().into());
        encoder.mode(self.mode.number().into());
        encoder.max_rate_hz(self.max_rate_hz);
        encoder.expected_layout_version(self.expected_layout_version);
        encoder.progress_interval_us_opt(self.progress_interval_us);
        encoder.progress_bytes_delta_opt(self.progress_bytes_delta);
        encoder.progress_major_delta_units_opt(self.progress_major_delta_units);
        encoder.descriptor_stream_id(self.descriptor_stream_id);
        encoder.control_stream_id(self.control_stream_id);
        encoder.descriptor_channel(self.descriptor_channel.as_bytes());
        encoder.control_channel(self.control_channel.as_bytes());
    }
}

/// The streams, mode and fallback that a consumer is given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ConsumerConfig {
    pub stream_id: u32,
    pub consumer_id: u32,
    pub use_shm: Bool,
    pub mode: Mode,
    pub descriptor_stream_id: u32,
    pub control_stream_id: u32,
    pub payload_fallback_uri: String,
    pub descriptor_channel: String,
    pub control_channel: String,
}

impl ConsumerConfig {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 3;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 18;

    const EXPECTED: Expected = Expected {
        message: "ConsumerConfig",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 18)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::consumer_config_codec::ConsumerConfigDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::consumer_config_codec::ConsumerConfigDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::consumer_config_codec::ConsumerConfigDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::consumer_config_codec::ConsumerConfigDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ConsumerConfig")?;
        let payload_fallback_uri = walk.data(1073741824, "ConsumerConfig.payload_fallback_uri")?;
        let descriptor_channel = walk.data(1073741824, "ConsumerConfig.descriptor_channel")?;
        let control_channel = walk.data(1073741824, "ConsumerConfig.control_channel")?;
        let number = check::u8_at(fixed, 8);
        check::known(Bool::from_number(number).is_some(), "ConsumerConfig", "use_shm", i64::from(number))?;
        let number = check::u8_at(fixed, 9);
        check::known(Mode::from_number(number).is_some(), "ConsumerConfig", "mode", i64::from(number))?;
        check::ascii(payload_fallback_uri, "ConsumerConfig", "payload_fallback_uri")?;
        check::ascii(descriptor_channel, "ConsumerConfig", "descriptor_channel")?;
        check::ascii(control_channel, "ConsumerConfig", "control_channel")?;
        Ok(())
    }

    fn read(mut decoder: sbe::consumer_config_codec::ConsumerConfigDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let consumer_id = decoder.consumer_id();
        let use_shm = Bool::from_number(decoder.use_shm().into()).expect("the check knows the value");
        let mode = Mode::from_number(decoder.mode().into()).expect("the check knows the value");
        let descriptor_stream_id = decoder.descriptor_stream_id();
        let control_stream_id = decoder.control_stream_id();
        let payload_fallback_uri = check::text(buffer, decoder.payload_fallback_uri_decoder());
        let descriptor_channel = check::text(buffer, decoder.descriptor_channel_decoder());
        let control_channel = check::text(buffer, decoder.control_channel_decoder());
        Self {
            stream_id,
            consumer_id,
            use_shm,
            mode,
            descriptor_stream_id,
            control_stream_id,
            payload_fallback_uri,
            descriptor_channel,
            control_channel,
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
            + 4
            + self.payload_fallback_uri.len()
            + 4
            + self.descriptor_channel.len()
            + 4
            + self.control_channel.len()
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
            sbe::consumer_config_codec::ConsumerConfigEncoder::default()
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
        self.write(sbe::consumer_config_codec::ConsumerConfigEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.payload_fallback_uri.len() <= 1073741824 && self.payload_fallback_uri.is_ascii(),
            "ConsumerConfig",
            "payload_fallback_uri",
        )?;
        check::writable(
            self.descriptor_channel.len() <= 1073741824 && self.descriptor_channel.is_ascii(),
            "ConsumerConfig",
            "descriptor_channel",
        )?;
        check::writable(
            self.control_channel.len() <= 1073741824 && self.control_channel.is_ascii(),
            "ConsumerConfig",
            "control_channel",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::consumer_config_codec::ConsumerConfigEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.consumer_id(self.consumer_id);
        encoder.use_shm(self.use_shm.number().into());
        encoder.mode(self.mode.number().into());
        encoder.descriptor_stream_id(self.descriptor_stream_id);
        encoder.control_stream_id(self.control_stream_id);
        encoder.payload_fallback_uri(self.payload_fallback_uri.as_bytes());
        encoder.descriptor_channel(self.descriptor_channel.as_bytes());
        encoder.control_channel(self.control_channel.as_bytes());
    }
}

/// A frame has been committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameDescriptor {
    pub stream_id: u32,
    pub epoch: u64,
    pub seq: u64,
    /// Publish time.
    pub timestamp_ns: Option<u64>,
    pub meta_version: Option<u32>,
    pub trace_id: Option<u64>,
}

impl FrameDescriptor {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 4;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 40;

    const EXPECTED: Expected = Expected {
        message: "FrameDescriptor",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 40)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::frame_descriptor_codec::FrameDescriptorDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::frame_descriptor_codec::FrameDescriptorDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::frame_descriptor_codec::FrameDescriptorDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::frame_descriptor_codec::FrameDescriptorDecoder::default().wrap(
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
        walk.take(usize::from(block), "FrameDescriptor")?;
        Ok(())
    }

    fn read(decoder: sbe::frame_descriptor_codec::FrameDescriptorDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            epoch: decoder.epoch(),
            seq: decoder.seq(),
            timestamp_ns: decoder.timestamp_ns(),
            meta_version: decoder.meta_version(),
            trace_id: decoder.trace_id(),
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
            sbe::frame_descriptor_codec::FrameDescriptorEncoder::default()
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
        self.write(sbe::frame_descriptor_codec::FrameDescriptorEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.timestamp_ns != Some(u64::MAX), "FrameDescriptor", "timestamp_ns")?;
        check::writable(self.meta_version != Some(u32::MAX), "FrameDescriptor", "meta_version")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::frame_descriptor_codec::FrameDescriptorEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.epoch(self.epoch);
        encoder.seq(self.seq);
        encoder.timestamp_ns_opt(self.timestamp_ns);
        encoder.meta_version_opt(self.meta_version);
        encoder.trace_id_opt(self.trace_id);
    }
}

/// What a consumer has seen and lost; also its sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct QosConsumer {
    pub stream_id: u32,
    pub consumer_id: u32,
    pub epoch: u64,
    pub last_seq_seen: u64,
    pub drops_gap: u64,
    pub drops_late: u64,
    pub mode: Mode,
}

impl QosConsumer {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 5;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 41;

    const EXPECTED: Expected = Expected {
        message: "QosConsumer",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 41)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::qos_consumer_codec::QosConsumerDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::qos_consumer_codec::QosConsumerDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::qos_consumer_codec::QosConsumerDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::qos_consumer_codec::QosConsumerDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        let fixed = walk.take(usize::from(block), "QosConsumer")?;
        let number = check::u8_at(fixed, 40);
        check::known(Mode::from_number(number).is_some(), "QosConsumer", "mode", i64::from(number))?;
        Ok(())
    }

    fn read(decoder: sbe::qos_consumer_codec::QosConsumerDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            consumer_id: decoder.consumer_id(),
            epoch: decoder.epoch(),
            last_seq_seen: decoder.last_seq_seen(),
            drops_gap: decoder.drops_gap(),
            drops_late: decoder.drops_late(),
            mode: Mode::from_number(decoder.mode().into()).expect("the check knows the value"),
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
            sbe::qos_consumer_codec::QosConsumerEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::qos_consumer_codec::QosConsumerEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::qos_consumer_codec::QosConsumerEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.consumer_id(self.consumer_id);
        encoder.epoch(self.epoch);
        encoder.last_seq_seen(self.last_seq_seen);
        encoder.drops_gap(self.drops_gap);
        encoder.drops_late(self.drops_late);
        encoder.mode(self.mode.number().into());
    }
}

/// How far a producer is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct QosProducer {
    pub stream_id: u32,
    pub producer_id: u32,
    pub epoch: u64,
    pub current_seq: u64,
    pub watermark: Option<u32>,
}

impl QosProducer {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 6;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 28;

    const EXPECTED: Expected = Expected {
        message: "QosProducer",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 28)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::qos_producer_codec::QosProducerDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::qos_producer_codec::QosProducerDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::qos_producer_codec::QosProducerDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::qos_producer_codec::QosProducerDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "QosProducer")?;
        Ok(())
    }

    fn read(decoder: sbe::qos_producer_codec::QosProducerDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            producer_id: decoder.producer_id(),
            epoch: decoder.epoch(),
            current_seq: decoder.current_seq(),
            watermark: decoder.watermark(),
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
            sbe::qos_producer_codec::QosProducerEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::qos_producer_codec::QosProducerEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.watermark != Some(u32::MAX), "QosProducer", "watermark")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::qos_producer_codec::QosProducerEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.producer_id(self.producer_id);
        encoder.epoch(self.epoch);
        encoder.current_seq(self.current_seq);
        encoder.watermark_opt(self.watermark);
    }
}

/// Name and summary of a data source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct DataSourceAnnounce {
    pub stream_id: u32,
    pub producer_id: u32,
    pub epoch: u64,
    pub meta_version: u32,
    pub name: String,
    pub summary: String,
}

impl DataSourceAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 7;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 20;

    const EXPECTED: Expected = Expected {
        message: "DataSourceAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 20)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::data_source_announce_codec::DataSourceAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::data_source_announce_codec::DataSourceAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::data_source_announce_codec::DataSourceAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::data_source_announce_codec::DataSourceAnnounceDecoder::default().wrap(
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
        walk.take(usize::from(block), "DataSourceAnnounce")?;
        let name = walk.data(1073741824, "DataSourceAnnounce.name")?;
        let summary = walk.data(1073741824, "DataSourceAnnounce.summary")?;
        check::ascii(name, "DataSourceAnnounce", "name")?;
        check::ascii(summary, "DataSourceAnnounce", "summary")?;
        Ok(())
    }

    fn read(mut decoder: sbe::data_source_announce_codec::DataSourceAnnounceDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let producer_id = decoder.producer_id();
        let epoch = decoder.epoch();
        let meta_version = decoder.meta_version();
        let name = check::text(buffer, decoder.name_decoder());
        let summary = check::text(buffer, decoder.summary_decoder());
        Self { stream_id, producer_id, epoch, meta_version, name, summary }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.name.len() + 4 + self.summary.len()
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
            sbe::data_source_announce_codec::DataSourceAnnounceEncoder::default()
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
            sbe::data_source_announce_codec::DataSourceAnnounceEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.name.len() <= 1073741824 && self.name.is_ascii(), "DataSourceAnnounce", "name")?;
        check::writable(self.summary.len() <= 1073741824 && self.summary.is_ascii(), "DataSourceAnnounce", "summary")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::data_source_announce_codec::DataSourceAnnounceEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.producer_id(self.producer_id);
        encoder.epoch(self.epoch);
        encoder.meta_version(self.meta_version);
        encoder.name(self.name.as_bytes());
        encoder.summary(self.summary.as_bytes());
    }
}

/// One entry of `DataSourceMeta::attributes`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct DataSourceMetaAttribute {
    pub key: String,
    pub format: String,
    #[cfg_attr(feature = "probe", serde(with = "crate::hex"))]
    pub value: Vec<u8>,
}

/// Attributes of a data source under one metadata version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct DataSourceMeta {
    pub stream_id: u32,
    pub meta_version: u32,
    pub timestamp_ns: u64,
    pub attributes: Vec<DataSourceMetaAttribute>,
}

impl DataSourceMeta {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 8;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 16;

    const EXPECTED: Expected = Expected {
        message: "DataSourceMeta",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 16)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::data_source_meta_codec::DataSourceMetaDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::data_source_meta_codec::DataSourceMetaDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::data_source_meta_codec::DataSourceMetaDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::data_source_meta_codec::DataSourceMetaDecoder::default().wrap(
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
        walk.take(usize::from(block), "DataSourceMeta")?;
        let mut attributes = walk;
        let dimensions = walk.group(0, "DataSourceMeta.attributes")?;
        for _ in 0..dimensions.count {
            walk.take(dimensions.stride, "DataSourceMeta.attributes")?;
            walk.data(1073741824, "DataSourceMeta.attributes")?;
            walk.data(1073741824, "DataSourceMeta.attributes")?;
            walk.data(1073741824, "DataSourceMeta.attributes")?;
        }
        let dimensions = attributes.group(0, "DataSourceMeta.attributes")?;
        for _ in 0..dimensions.count {
            attributes.take(dimensions.stride, "DataSourceMeta.attributes")?;
            check::ascii(attributes.data(1073741824, "DataSourceMeta.attributes")?, "DataSourceMeta.Attribute", "key")?;
            check::ascii(
                attributes.data(1073741824, "DataSourceMeta.attributes")?,
                "DataSourceMeta.Attribute",
                "format",
            )?;
            attributes.data(1073741824, "DataSourceMeta.attributes")?;
        }
        Ok(())
    }

    fn read(decoder: sbe::data_source_meta_codec::DataSourceMetaDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let meta_version = decoder.meta_version();
        let timestamp_ns = decoder.timestamp_ns();
        let mut group = decoder.attributes_decoder();
        let mut attributes = Vec::with_capacity(usize::from(group.count()));
        while let Ok(Some(_)) = group.advance() {
            attributes.push(DataSourceMetaAttribute {
                key: check::text(buffer, group.key_decoder()),
                format: check::text(buffer, group.format_decoder()),
                value: check::octets(buffer, group.value_decoder()),
            });
        }
        Self { stream_id, meta_version, timestamp_ns, attributes }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH)
            + 4
            + self
                .attributes
                .iter()
                .map(|entry| 12 + entry.key.len() + entry.format.len() + entry.value.len())
                .sum::<usize>()
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
            sbe::data_source_meta_codec::DataSourceMetaEncoder::default()
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
        self.write(sbe::data_source_meta_codec::DataSourceMetaEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::countable(self.attributes.len(), "DataSourceMeta", "attributes")?;
        for entry in &self.attributes {
            check::writable(entry.key.len() <= 1073741824 && entry.key.is_ascii(), "DataSourceMeta.Attribute", "key")?;
            check::writable(
                entry.format.len() <= 1073741824 && entry.format.is_ascii(),
                "DataSourceMeta.Attribute",
                "format",
            )?;
            check::writable(entry.value.len() <= 1073741824, "DataSourceMeta.Attribute", "value")?;
        }
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::data_source_meta_codec::DataSourceMetaEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.meta_version(self.meta_version);
        encoder.timestamp_ns(self.timestamp_ns);
        let count = self.attributes.len() as u16;
        let mut group =
            encoder.attributes_encoder(count, sbe::data_source_meta_codec::encoder::AttributesEncoder::default());
        for entry in &self.attributes {
            group.advance().expect("a flyweight keeps its parent");
            group.key(entry.key.as_bytes());
            group.format(entry.format.as_bytes());
            group.value(&entry.value);
        }
    }
}

/// Result of a control request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ControlResponse {
    pub correlation_id: i64,
    pub code: ResponseCode,
    pub error_message: String,
}

impl ControlResponse {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 9;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 12;

    const EXPECTED: Expected = Expected {
        message: "ControlResponse",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 12)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::control_response_codec::ControlResponseDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::control_response_codec::ControlResponseDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::control_response_codec::ControlResponseDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::control_response_codec::ControlResponseDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ControlResponse")?;
        let error_message = walk.data(1073741824, "ControlResponse.error_message")?;
        let number = check::i32_at(fixed, 8);
        check::known(ResponseCode::from_number(number).is_some(), "ControlResponse", "code", i64::from(number))?;
        check::ascii(error_message, "ControlResponse", "error_message")?;
        Ok(())
    }

    fn read(mut decoder: sbe::control_response_codec::ControlResponseDecoder<'_>, buffer: &[u8]) -> Self {
        let correlation_id = decoder.correlation_id();
        let code = ResponseCode::from_number(decoder.code().into()).expect("the check knows the value");
        let error_message = check::text(buffer, decoder.error_message_decoder());
        Self { correlation_id, code, error_message }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.error_message.len()
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
            sbe::control_response_codec::ControlResponseEncoder::default()
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
        self.write(sbe::control_response_codec::ControlResponseEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ControlResponse",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::control_response_codec::ControlResponseEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.code(self.code.number().into());
        encoder.error_message(self.error_message.as_bytes());
    }
}

/// Experimental: a metadata blob follows in chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct MetaBlobAnnounce {
    pub stream_id: u32,
    pub meta_version: u32,
    pub blob_type: u32,
    pub total_len: u64,
    pub checksum: u64,
}

impl MetaBlobAnnounce {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 10;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 28;

    const EXPECTED: Expected = Expected {
        message: "MetaBlobAnnounce",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 28)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::meta_blob_announce_codec::MetaBlobAnnounceDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_announce_codec::MetaBlobAnnounceDecoder::default().wrap(
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
    ) -> Result<sbe::meta_blob_announce_codec::MetaBlobAnnounceDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_announce_codec::MetaBlobAnnounceDecoder::default().wrap(
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
        walk.take(usize::from(block), "MetaBlobAnnounce")?;
        Ok(())
    }

    fn read(decoder: sbe::meta_blob_announce_codec::MetaBlobAnnounceDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            meta_version: decoder.meta_version(),
            blob_type: decoder.blob_type(),
            total_len: decoder.total_len(),
            checksum: decoder.checksum(),
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
            sbe::meta_blob_announce_codec::MetaBlobAnnounceEncoder::default()
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
            sbe::meta_blob_announce_codec::MetaBlobAnnounceEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::meta_blob_announce_codec::MetaBlobAnnounceEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.meta_version(self.meta_version);
        encoder.blob_type(self.blob_type);
        encoder.total_len(self.total_len);
        encoder.checksum(self.checksum);
    }
}

/// How much of a frame is filled; a hint only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameProgress {
    pub stream_id: u32,
    pub epoch: u64,
    pub seq: u64,
    pub payload_bytes_filled: u64,
    pub state: FrameProgressState,
}

impl FrameProgress {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 11;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 29;

    const EXPECTED: Expected = Expected {
        message: "FrameProgress",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 29)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::frame_progress_codec::FrameProgressDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::frame_progress_codec::FrameProgressDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::frame_progress_codec::FrameProgressDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::frame_progress_codec::FrameProgressDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "FrameProgress")?;
        let number = check::u8_at(fixed, 28);
        check::known(FrameProgressState::from_number(number).is_some(), "FrameProgress", "state", i64::from(number))?;
        Ok(())
    }

    fn read(decoder: sbe::frame_progress_codec::FrameProgressDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            stream_id: decoder.stream_id(),
            epoch: decoder.epoch(),
            seq: decoder.seq(),
            payload_bytes_filled: decoder.payload_bytes_filled(),
            state: FrameProgressState::from_number(decoder.state().into()).expect("the check knows the value"),
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
            sbe::frame_progress_codec::FrameProgressEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::frame_progress_codec::FrameProgressEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::frame_progress_codec::FrameProgressEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.epoch(self.epoch);
        encoder.seq(self.seq);
        encoder.payload_bytes_filled(self.payload_bytes_filled);
        encoder.state(self.state.number().into());
    }
}

/// Experimental: a piece of a metadata blob.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct MetaBlobChunk {
    pub stream_id: u32,
    pub meta_version: u32,
    pub chunk_offset: u64,
    #[cfg_attr(feature = "probe", serde(with = "crate::hex"))]
    pub bytes: Vec<u8>,
}

impl MetaBlobChunk {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 12;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 16;

    const EXPECTED: Expected = Expected {
        message: "MetaBlobChunk",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 16)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::meta_blob_chunk_codec::MetaBlobChunkDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_chunk_codec::MetaBlobChunkDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::meta_blob_chunk_codec::MetaBlobChunkDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_chunk_codec::MetaBlobChunkDecoder::default().wrap(
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
        walk.take(usize::from(block), "MetaBlobChunk")?;
        walk.data(1073741824, "MetaBlobChunk.bytes")?;
        Ok(())
    }

    fn read(mut decoder: sbe::meta_blob_chunk_codec::MetaBlobChunkDecoder<'_>, buffer: &[u8]) -> Self {
        let stream_id = decoder.stream_id();
        let meta_version = decoder.meta_version();
        let chunk_offset = decoder.chunk_offset();
        let bytes = check::octets(buffer, decoder.bytes_decoder());
        Self { stream_id, meta_version, chunk_offset, bytes }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.bytes.len()
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
            sbe::meta_blob_chunk_codec::MetaBlobChunkEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::meta_blob_chunk_codec::MetaBlobChunkEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.bytes.len() <= 1073741824, "MetaBlobChunk", "bytes")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::meta_blob_chunk_codec::MetaBlobChunkEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.meta_version(self.meta_version);
        encoder.chunk_offset(self.chunk_offset);
        encoder.bytes(&self.bytes);
    }
}

/// Experimental: all chunks of a metadata blob are out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct MetaBlobComplete {
    pub stream_id: u32,
    pub meta_version: u32,
    pub checksum: u64,
}

impl MetaBlobComplete {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 13;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 16;

    const EXPECTED: Expected = Expected {
        message: "MetaBlobComplete",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 16)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::meta_blob_complete_codec::MetaBlobCompleteDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_complete_codec::MetaBlobCompleteDecoder::default().wrap(
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
    ) -> Result<sbe::meta_blob_complete_codec::MetaBlobCompleteDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::meta_blob_complete_codec::MetaBlobCompleteDecoder::default().wrap(
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
        walk.take(usize::from(block), "MetaBlobComplete")?;
        Ok(())
    }

    fn read(decoder: sbe::meta_blob_complete_codec::MetaBlobCompleteDecoder<'_>, _buffer: &[u8]) -> Self {
        Self { stream_id: decoder.stream_id(), meta_version: decoder.meta_version(), checksum: decoder.checksum() }
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
            sbe::meta_blob_complete_codec::MetaBlobCompleteEncoder::default()
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
            sbe::meta_blob_complete_codec::MetaBlobCompleteEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::meta_blob_complete_codec::MetaBlobCompleteEncoder<'_>) {
        encoder.stream_id(self.stream_id);
        encoder.meta_version(self.meta_version);
        encoder.checksum(self.checksum);
    }
}

/// First 64 bytes of a region; stored without a message header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmRegionSuperblock {
    pub magic: u64,
    pub layout_version: u32,
    pub epoch: u64,
    pub stream_id: u32,
    pub region_type: RegionType,
    pub pool_id: u16,
    pub nslots: u32,
    pub slot_bytes: u32,
    pub stride_bytes: u32,
    pub pid: u64,
    pub start_timestamp_ns: u64,
    pub activity_timestamp_ns: u64,
}

impl ShmRegionSuperblock {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 50;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 64;

    const EXPECTED: Expected = Expected {
        message: "ShmRegionSuperblock",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 64)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::shm_region_superblock_codec::ShmRegionSuperblockDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_region_superblock_codec::ShmRegionSuperblockDecoder::default().wrap(
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
    ) -> Result<sbe::shm_region_superblock_codec::ShmRegionSuperblockDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_region_superblock_codec::ShmRegionSuperblockDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmRegionSuperblock")?;
        let number = check::i16_at(fixed, 24);
        check::known(
            RegionType::from_number(number).is_some(),
            "ShmRegionSuperblock",
            "region_type",
            i64::from(number),
        )?;
        Ok(())
    }

    fn read(decoder: sbe::shm_region_superblock_codec::ShmRegionSuperblockDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            magic: decoder.magic(),
            layout_version: decoder.layout_version(),
            epoch: decoder.epoch(),
            stream_id: decoder.stream_id(),
            region_type: RegionType::from_number(decoder.region_type().into()).expect("the check knows the value"),
            pool_id: decoder.pool_id(),
            nslots: decoder.nslots(),
            slot_bytes: decoder.slot_bytes(),
            stride_bytes: decoder.stride_bytes(),
            pid: decoder.pid(),
            start_timestamp_ns: decoder.start_timestamp_ns(),
            activity_timestamp_ns: decoder.activity_timestamp_ns(),
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
            sbe::shm_region_superblock_codec::ShmRegionSuperblockEncoder::default()
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
            sbe::shm_region_superblock_codec::ShmRegionSuperblockEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_region_superblock_codec::ShmRegionSuperblockEncoder<'_>) {
        encoder.magic(self.magic);
        encoder.layout_version(self.layout_version);
        encoder.epoch(self.epoch);
        encoder.stream_id(self.stream_id);
        encoder.region_type(self.region_type.number().into());
        encoder.pool_id(self.pool_id);
        encoder.nslots(self.nslots);
        encoder.slot_bytes(self.slot_bytes);
        encoder.stride_bytes(self.stride_bytes);
        encoder.pid(self.pid);
        encoder.start_timestamp_ns(self.start_timestamp_ns);
        encoder.activity_timestamp_ns(self.activity_timestamp_ns);
    }
}

/// One slot of the header ring; stored without a message header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct SlotHeader {
    pub seq_commit: u64,
    pub values_len_bytes: u32,
    pub payload_slot: u32,
    pub pool_id: u16,
    pub payload_offset: u32,
    /// Source or capture time.
    pub timestamp_ns: u64,
    pub meta_version: u32,
    #[cfg_attr(feature = "probe", serde(with = "crate::hex"))]
    pub pad: [u8; 26],
    #[cfg_attr(feature = "probe", serde(with = "crate::hex"))]
    pub header_bytes: Vec<u8>,
}

impl SlotHeader {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 51;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 60;

    const EXPECTED: Expected = Expected {
        message: "SlotHeader",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 60)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::slot_header_codec::SlotHeaderDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::slot_header_codec::SlotHeaderDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::slot_header_codec::SlotHeaderDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::slot_header_codec::SlotHeaderDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        walk.take(usize::from(block), "SlotHeader")?;
        walk.data(1073741824, "SlotHeader.header_bytes")?;
        Ok(())
    }

    fn read(mut decoder: sbe::slot_header_codec::SlotHeaderDecoder<'_>, buffer: &[u8]) -> Self {
        let seq_commit = decoder.seq_commit();
        let values_len_bytes = decoder.values_len_bytes();
        let payload_slot = decoder.payload_slot();
        let pool_id = decoder.pool_id();
        let payload_offset = decoder.payload_offset();
        let timestamp_ns = decoder.timestamp_ns();
        let meta_version = decoder.meta_version();
        let pad = decoder.pad();
        let header_bytes = check::octets(buffer, decoder.header_bytes_decoder());
        Self {
            seq_commit,
            values_len_bytes,
            payload_slot,
            pool_id,
            payload_offset,
            timestamp_ns,
            meta_version,
            pad,
            header_bytes,
        }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.header_bytes.len()
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
            sbe::slot_header_codec::SlotHeaderEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::slot_header_codec::SlotHeaderEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.header_bytes.len() <= 1073741824, "SlotHeader", "header_bytes")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::slot_header_codec::SlotHeaderEncoder<'_>) {
        encoder.seq_commit(self.seq_commit);
        encoder.values_len_bytes(self.values_len_bytes);
        encoder.payload_slot(self.payload_slot);
        encoder.pool_id(self.pool_id);
        encoder.payload_offset(self.payload_offset);
        encoder.timestamp_ns(self.timestamp_ns);
        encoder.meta_version(self.meta_version);
        encoder.pad(&self.pad);
        encoder.header_bytes(&self.header_bytes);
    }
}

/// Type and shape of a frame; lies in a slot with its message header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct TensorHeader {
    pub dtype: Dtype,
    pub major_order: MajorOrder,
    pub ndims: u8,
    pub pad_align: u8,
    pub progress_unit: ProgressUnit,
    pub progress_stride_bytes: u32,
    pub dims: [i32; 8],
    pub strides: [i32; 8],
    #[cfg_attr(feature = "probe", serde(with = "crate::hex"))]
    pub pad: [u8; 109],
}

impl TensorHeader {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 52;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 184;
    /// A constant, which takes no byte.
    pub const MAX_DIMS: u8 = 8;

    const EXPECTED: Expected = Expected {
        message: "TensorHeader",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: true,
        older_blocks: &[(0, 184)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::tensor_header_codec::TensorHeaderDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::tensor_header_codec::TensorHeaderDecoder::default().wrap(
            buffer,
            HEADER_LENGTH,
            header.block_length,
            header.version,
        ))
    }

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<sbe::tensor_header_codec::TensorHeaderDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::tensor_header_codec::TensorHeaderDecoder::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
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
        let fixed = walk.take(usize::from(block), "TensorHeader")?;
        let number = check::i16_at(fixed, 0);
        check::known(Dtype::from_number(number).is_some(), "TensorHeader", "dtype", i64::from(number))?;
        let number = check::i16_at(fixed, 2);
        check::known(MajorOrder::from_number(number).is_some(), "TensorHeader", "major_order", i64::from(number))?;
        let number = check::u8_at(fixed, 6);
        check::known(ProgressUnit::from_number(number).is_some(), "TensorHeader", "progress_unit", i64::from(number))?;
        Ok(())
    }

    fn read(decoder: sbe::tensor_header_codec::TensorHeaderDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            dtype: Dtype::from_number(decoder.dtype().into()).expect("the check knows the value"),
            major_order: MajorOrder::from_number(decoder.major_order().into()).expect("the check knows the value"),
            ndims: decoder.ndims(),
            pad_align: decoder.pad_align(),
            progress_unit: ProgressUnit::from_number(decoder.progress_unit().into())
                .expect("the check knows the value"),
            progress_stride_bytes: decoder.progress_stride_bytes(),
            dims: decoder.dims(),
            strides: decoder.strides(),
            pad: decoder.pad(),
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
            sbe::tensor_header_codec::TensorHeaderEncoder::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH),
        );
        Ok(length)
    }

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write(sbe::tensor_header_codec::TensorHeaderEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::tensor_header_codec::TensorHeaderEncoder<'_>) {
        encoder.dtype(self.dtype.number().into());
        encoder.major_order(self.major_order.number().into());
        encoder.ndims(self.ndims);
        encoder.pad_align(self.pad_align);
        encoder.progress_unit(self.progress_unit.number().into());
        encoder.progress_stride_bytes(self.progress_stride_bytes);
        encoder.dims(&self.dims);
        encoder.strides(&self.strides);
        encoder.pad(&self.pad);
    }
}
