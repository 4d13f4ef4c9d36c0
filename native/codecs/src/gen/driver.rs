// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/driver.xml by `python -m dev.codegen`. Do not edit.
//! Checked decoders and owned messages of schema 901 (shm.tensorpool.driver), version 1.

use shm_tensorpool_driver as sbe;

use crate::check::{self, Expected, HEADER_LENGTH, Walk};
use crate::error::{DecodeError, EncodeError};

/// Number of the schema.
pub const SCHEMA_ID: u16 = 901;
/// Version that is written.
pub const SCHEMA_VERSION: u16 = 1;

/// HugepagesPolicy, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum HugepagesPolicy {
    /// UNSPECIFIED.
    Unspecified = 0,
    /// STANDARD.
    Standard = 1,
    /// HUGEPAGES.
    Hugepages = 2,
}

impl HugepagesPolicy {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Unspecified),
            1 => Some(Self::Standard),
            2 => Some(Self::Hugepages),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<HugepagesPolicy> for u8 {
    #[inline]
    fn from(value: HugepagesPolicy) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for HugepagesPolicy {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("HugepagesPolicy has no value {number}"))
    }
}

/// LeaseRevokeReason, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum LeaseRevokeReason {
    /// DETACHED.
    Detached = 1,
    /// EXPIRED.
    Expired = 2,
    /// REVOKED.
    Revoked = 3,
}

impl LeaseRevokeReason {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Detached),
            2 => Some(Self::Expired),
            3 => Some(Self::Revoked),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<LeaseRevokeReason> for u8 {
    #[inline]
    fn from(value: LeaseRevokeReason) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for LeaseRevokeReason {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("LeaseRevokeReason has no value {number}"))
    }
}

/// PublishMode, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum PublishMode {
    /// REQUIRE_EXISTING.
    RequireExisting = 1,
    /// EXISTING_OR_CREATE.
    ExistingOrCreate = 2,
}

impl PublishMode {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::RequireExisting),
            2 => Some(Self::ExistingOrCreate),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<PublishMode> for u8 {
    #[inline]
    fn from(value: PublishMode) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for PublishMode {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("PublishMode has no value {number}"))
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

/// Role, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum Role {
    /// PRODUCER.
    Producer = 1,
    /// CONSUMER.
    Consumer = 2,
}

impl Role {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Producer),
            2 => Some(Self::Consumer),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<Role> for u8 {
    #[inline]
    fn from(value: Role) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for Role {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("Role has no value {number}"))
    }
}

/// ShutdownReason, carried as u8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "probe", serde(into = "u8", try_from = "u8"))]
#[repr(u8)]
pub enum ShutdownReason {
    /// NORMAL.
    Normal = 0,
    /// ADMIN.
    Admin = 1,
    /// ERROR.
    Error = 2,
}

impl ShutdownReason {
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Normal),
            1 => Some(Self::Admin),
            2 => Some(Self::Error),
            _ => None,
        }
    }

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl From<ShutdownReason> for u8 {
    #[inline]
    fn from(value: ShutdownReason) -> Self {
        value.number()
    }
}

impl TryFrom<u8> for ShutdownReason {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::from_number(number).ok_or_else(|| format!("ShutdownReason has no value {number}"))
    }
}

/// A client asks for a lease on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmAttachRequest {
    /// Chosen by the client, echoed by the driver.
    pub correlation_id: i64,
    pub stream_id: u32,
    pub client_id: u32,
    pub role: Role,
    /// 0: any.
    pub expected_layout_version: u32,
    /// Null: 255.
    pub publish_mode: Option<PublishMode>,
    pub require_hugepages: HugepagesPolicy,
    pub desired_node_id: Option<u32>,
}

impl ShmAttachRequest {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 1;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 27;

    const EXPECTED: Expected = Expected {
        message: "ShmAttachRequest",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 27)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_attach_request_codec::ShmAttachRequestDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_attach_request_codec::ShmAttachRequestDecoder::default().wrap(
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
    ) -> Result<sbe::shm_attach_request_codec::ShmAttachRequestDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_attach_request_codec::ShmAttachRequestDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmAttachRequest")?;
        let number = check::u8_at(fixed, 16);
        check::known(Role::from_number(number).is_some(), "ShmAttachRequest", "role", i64::from(number))?;
        let number = check::u8_at(fixed, 21);
        check::known(
            number == 255 || PublishMode::from_number(number).is_some(),
            "ShmAttachRequest",
            "publish_mode",
            i64::from(number),
        )?;
        let number = check::u8_at(fixed, 22);
        check::known(
            HugepagesPolicy::from_number(number).is_some(),
            "ShmAttachRequest",
            "require_hugepages",
            i64::from(number),
        )?;
        Ok(())
    }

    fn read(decoder: sbe::shm_attach_request_codec::ShmAttachRequestDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            correlation_id: decoder.correlation_id(),
            stream_id: decoder.stream_id(),
            client_id: decoder.client_id(),
            role: Role::from_number(decoder.role().into()).expect("the check knows the value"),
            expected_layout_version: decoder.expected_layout_version(),
            publish_mode: PublishMode::from_number(decoder.publish_mode().into()),
            require_hugepages: HugepagesPolicy::from_number(decoder.require_hugepages().into())
                .expect("the check knows the value"),
            desired_node_id: decoder.desired_node_id(),
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
            sbe::shm_attach_request_codec::ShmAttachRequestEncoder::default()
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
            sbe::shm_attach_request_codec::ShmAttachRequestEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.desired_node_id != Some(u32::MAX), "ShmAttachRequest", "desired_node_id")?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_attach_request_codec::ShmAttachRequestEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.stream_id(self.stream_id);
        encoder.client_id(self.client_id);
        encoder.role(self.role.number().into());
        encoder.expected_layout_version(self.expected_layout_version);
        encoder.publish_mode_opt(self.publish_mode.map(|value| value.number().into()));
        encoder.require_hugepages(self.require_hugepages.number().into());
        encoder.desired_node_id_opt(self.desired_node_id);
    }
}

/// One entry of `ShmAttachResponse::payload_pools`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmAttachResponsePayloadPool {
    pub pool_id: u16,
    pub pool_nslots: u32,
    pub stride_bytes: u32,
    pub region_uri: String,
}

/// The lease and where its regions lie, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmAttachResponse {
    /// Chosen by the client, echoed by the driver.
    pub correlation_id: i64,
    pub code: ResponseCode,
    pub lease_id: Option<u64>,
    pub lease_expiry_timestamp_ns: Option<u64>,
    pub stream_id: Option<u32>,
    pub epoch: Option<u64>,
    pub layout_version: Option<u32>,
    pub header_nslots: Option<u32>,
    pub header_slot_bytes: Option<u16>,
    pub node_id: Option<u32>,
    pub payload_pools: Vec<ShmAttachResponsePayloadPool>,
    pub header_region_uri: String,
    pub error_message: String,
}

impl ShmAttachResponse {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 2;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 54;

    const EXPECTED: Expected = Expected {
        message: "ShmAttachResponse",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 54)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_attach_response_codec::ShmAttachResponseDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_attach_response_codec::ShmAttachResponseDecoder::default().wrap(
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
    ) -> Result<sbe::shm_attach_response_codec::ShmAttachResponseDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_attach_response_codec::ShmAttachResponseDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmAttachResponse")?;
        let mut payload_pools = walk;
        let dimensions = walk.group(10, "ShmAttachResponse.payload_pools")?;
        for _ in 0..dimensions.count {
            walk.take(dimensions.stride, "ShmAttachResponse.payload_pools")?;
            walk.data(1073741824, "ShmAttachResponse.payload_pools")?;
        }
        let header_region_uri = walk.data(1073741824, "ShmAttachResponse.header_region_uri")?;
        let error_message = walk.data(1073741824, "ShmAttachResponse.error_message")?;
        let number = check::i32_at(fixed, 8);
        check::known(ResponseCode::from_number(number).is_some(), "ShmAttachResponse", "code", i64::from(number))?;
        let dimensions = payload_pools.group(10, "ShmAttachResponse.payload_pools")?;
        for _ in 0..dimensions.count {
            payload_pools.take(dimensions.stride, "ShmAttachResponse.payload_pools")?;
            check::ascii(
                payload_pools.data(1073741824, "ShmAttachResponse.payload_pools")?,
                "ShmAttachResponse.PayloadPool",
                "region_uri",
            )?;
        }
        check::ascii(header_region_uri, "ShmAttachResponse", "header_region_uri")?;
        check::ascii(error_message, "ShmAttachResponse", "error_message")?;
        Ok(())
    }

    fn read(mut decoder: sbe::shm_attach_response_codec::ShmAttachResponseDecoder<'_>, buffer: &[u8]) -> Self {
        let correlation_id = decoder.correlation_id();
        let code = ResponseCode::from_number(decoder.code().into()).expect("the check knows the value");
        let lease_id = decoder.lease_id();
        let lease_expiry_timestamp_ns = decoder.lease_expiry_timestamp_ns();
        let stream_id = decoder.stream_id();
        let epoch = decoder.epoch();
        let layout_version = decoder.layout_version();
        let header_nslots = decoder.header_nslots();
        let header_slot_bytes = decoder.header_slot_bytes();
        let node_id = decoder.node_id();
        let mut group = decoder.payload_pools_decoder();
        let mut payload_pools = Vec::with_capacity(usize::from(group.count()));
        while let Ok(Some(_)) = group.advance() {
            payload_pools.push(ShmAttachResponsePayloadPool {
                pool_id: group.pool_id(),
                pool_nslots: group.pool_nslots(),
                stride_bytes: group.stride_bytes(),
                region_uri: check::text(buffer, group.region_uri_decoder()),
            });
        }
        decoder = group.parent().expect("a flyweight keeps its parent");
        let header_region_uri = check::text(buffer, decoder.header_region_uri_decoder());
        let error_message = check::text(buffer, decoder.error_message_decoder());
        Self {
            correlation_id,
            code,
            lease_id,
            lease_expiry_timestamp_ns,
            stream_id,
            epoch,
            layout_version,
            header_nslots,
            header_slot_bytes,
            node_id,
            payload_pools,
            header_region_uri,
            error_message,
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
            + 4
            + self.error_message.len()
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
            sbe::shm_attach_response_codec::ShmAttachResponseEncoder::default()
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
            sbe::shm_attach_response_codec::ShmAttachResponseEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.lease_id != Some(u64::MAX), "ShmAttachResponse", "lease_id")?;
        check::writable(
            self.lease_expiry_timestamp_ns != Some(u64::MAX),
            "ShmAttachResponse",
            "lease_expiry_timestamp_ns",
        )?;
        check::writable(self.stream_id != Some(u32::MAX), "ShmAttachResponse", "stream_id")?;
        check::writable(self.epoch != Some(u64::MAX), "ShmAttachResponse", "epoch")?;
        check::writable(self.layout_version != Some(u32::MAX), "ShmAttachResponse", "layout_version")?;
        check::writable(self.header_nslots != Some(u32::MAX), "ShmAttachResponse", "header_nslots")?;
        check::writable(self.header_slot_bytes != Some(u16::MAX), "ShmAttachResponse", "header_slot_bytes")?;
        check::writable(self.node_id != Some(u32::MAX), "ShmAttachResponse", "node_id")?;
        check::countable(self.payload_pools.len(), "ShmAttachResponse", "payload_pools")?;
        for entry in &self.payload_pools {
            check::writable(
                entry.region_uri.len() <= 1073741824 && entry.region_uri.is_ascii(),
                "ShmAttachResponse.PayloadPool",
                "region_uri",
            )?;
        }
        check::writable(
            self.header_region_uri.len() <= 1073741824 && self.header_region_uri.is_ascii(),
            "ShmAttachResponse",
            "header_region_uri",
        )?;
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ShmAttachResponse",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_attach_response_codec::ShmAttachResponseEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.code(self.code.number().into());
        encoder.lease_id_opt(self.lease_id);
        encoder.lease_expiry_timestamp_ns_opt(self.lease_expiry_timestamp_ns);
        encoder.stream_id_opt(self.stream_id);
        encoder.epoch_opt(self.epoch);
        encoder.layout_version_opt(self.layout_version);
        encoder.header_nslots_opt(self.header_nslots);
        encoder.header_slot_bytes_opt(self.header_slot_bytes);
        encoder.node_id_opt(self.node_id);
        let count = self.payload_pools.len() as u16;
        let mut group = encoder
            .payload_pools_encoder(count, sbe::shm_attach_response_codec::encoder::PayloadPoolsEncoder::default());
        for entry in &self.payload_pools {
            group.advance().expect("a flyweight keeps its parent");
            group.pool_id(entry.pool_id);
            group.pool_nslots(entry.pool_nslots);
            group.stride_bytes(entry.stride_bytes);
            group.region_uri(entry.region_uri.as_bytes());
        }
        encoder = group.parent().expect("a flyweight keeps its parent");
        encoder.header_region_uri(self.header_region_uri.as_bytes());
        encoder.error_message(self.error_message.as_bytes());
    }
}

/// A client gives its lease back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmDetachRequest {
    /// Chosen by the client, echoed by the driver.
    pub correlation_id: i64,
    pub lease_id: u64,
    pub stream_id: u32,
    pub client_id: u32,
    pub role: Role,
}

impl ShmDetachRequest {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 3;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 25;

    const EXPECTED: Expected = Expected {
        message: "ShmDetachRequest",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 25)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_detach_request_codec::ShmDetachRequestDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_detach_request_codec::ShmDetachRequestDecoder::default().wrap(
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
    ) -> Result<sbe::shm_detach_request_codec::ShmDetachRequestDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_detach_request_codec::ShmDetachRequestDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmDetachRequest")?;
        let number = check::u8_at(fixed, 24);
        check::known(Role::from_number(number).is_some(), "ShmDetachRequest", "role", i64::from(number))?;
        Ok(())
    }

    fn read(decoder: sbe::shm_detach_request_codec::ShmDetachRequestDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            correlation_id: decoder.correlation_id(),
            lease_id: decoder.lease_id(),
            stream_id: decoder.stream_id(),
            client_id: decoder.client_id(),
            role: Role::from_number(decoder.role().into()).expect("the check knows the value"),
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
            sbe::shm_detach_request_codec::ShmDetachRequestEncoder::default()
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
            sbe::shm_detach_request_codec::ShmDetachRequestEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_detach_request_codec::ShmDetachRequestEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.lease_id(self.lease_id);
        encoder.stream_id(self.stream_id);
        encoder.client_id(self.client_id);
        encoder.role(self.role.number().into());
    }
}

/// Result of a detach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmDetachResponse {
    /// Chosen by the client, echoed by the driver.
    pub correlation_id: i64,
    pub code: ResponseCode,
    pub error_message: String,
}

impl ShmDetachResponse {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 4;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 12;

    const EXPECTED: Expected = Expected {
        message: "ShmDetachResponse",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 12)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_detach_response_codec::ShmDetachResponseDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_detach_response_codec::ShmDetachResponseDecoder::default().wrap(
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
    ) -> Result<sbe::shm_detach_response_codec::ShmDetachResponseDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_detach_response_codec::ShmDetachResponseDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmDetachResponse")?;
        let error_message = walk.data(1073741824, "ShmDetachResponse.error_message")?;
        let number = check::i32_at(fixed, 8);
        check::known(ResponseCode::from_number(number).is_some(), "ShmDetachResponse", "code", i64::from(number))?;
        check::ascii(error_message, "ShmDetachResponse", "error_message")?;
        Ok(())
    }

    fn read(mut decoder: sbe::shm_detach_response_codec::ShmDetachResponseDecoder<'_>, buffer: &[u8]) -> Self {
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
            sbe::shm_detach_response_codec::ShmDetachResponseEncoder::default()
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
            sbe::shm_detach_response_codec::ShmDetachResponseEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ShmDetachResponse",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_detach_response_codec::ShmDetachResponseEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.code(self.code.number().into());
        encoder.error_message(self.error_message.as_bytes());
    }
}

/// Extends a lease; not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmLeaseKeepalive {
    pub lease_id: u64,
    pub stream_id: u32,
    pub client_id: u32,
    pub role: Role,
    pub client_timestamp_ns: u64,
}

impl ShmLeaseKeepalive {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 5;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 25;

    const EXPECTED: Expected = Expected {
        message: "ShmLeaseKeepalive",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 25)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveDecoder::default().wrap(
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
    ) -> Result<sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmLeaseKeepalive")?;
        let number = check::u8_at(fixed, 16);
        check::known(Role::from_number(number).is_some(), "ShmLeaseKeepalive", "role", i64::from(number))?;
        Ok(())
    }

    fn read(decoder: sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveDecoder<'_>, _buffer: &[u8]) -> Self {
        Self {
            lease_id: decoder.lease_id(),
            stream_id: decoder.stream_id(),
            client_id: decoder.client_id(),
            role: Role::from_number(decoder.role().into()).expect("the check knows the value"),
            client_timestamp_ns: decoder.client_timestamp_ns(),
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
            sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveEncoder::default()
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
            sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_lease_keepalive_codec::ShmLeaseKeepaliveEncoder<'_>) {
        encoder.lease_id(self.lease_id);
        encoder.stream_id(self.stream_id);
        encoder.client_id(self.client_id);
        encoder.role(self.role.number().into());
        encoder.client_timestamp_ns(self.client_timestamp_ns);
    }
}

/// The driver ends; all leases are void.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmDriverShutdown {
    pub timestamp_ns: u64,
    pub reason: ShutdownReason,
    pub error_message: String,
}

impl ShmDriverShutdown {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 6;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 9;

    const EXPECTED: Expected = Expected {
        message: "ShmDriverShutdown",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 9)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_driver_shutdown_codec::ShmDriverShutdownDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_driver_shutdown_codec::ShmDriverShutdownDecoder::default().wrap(
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
    ) -> Result<sbe::shm_driver_shutdown_codec::ShmDriverShutdownDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_driver_shutdown_codec::ShmDriverShutdownDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmDriverShutdown")?;
        let error_message = walk.data(1073741824, "ShmDriverShutdown.error_message")?;
        let number = check::u8_at(fixed, 8);
        check::known(ShutdownReason::from_number(number).is_some(), "ShmDriverShutdown", "reason", i64::from(number))?;
        check::ascii(error_message, "ShmDriverShutdown", "error_message")?;
        Ok(())
    }

    fn read(mut decoder: sbe::shm_driver_shutdown_codec::ShmDriverShutdownDecoder<'_>, buffer: &[u8]) -> Self {
        let timestamp_ns = decoder.timestamp_ns();
        let reason = ShutdownReason::from_number(decoder.reason().into()).expect("the check knows the value");
        let error_message = check::text(buffer, decoder.error_message_decoder());
        Self { timestamp_ns, reason, error_message }
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
            sbe::shm_driver_shutdown_codec::ShmDriverShutdownEncoder::default()
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
            sbe::shm_driver_shutdown_codec::ShmDriverShutdownEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ShmDriverShutdown",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_driver_shutdown_codec::ShmDriverShutdownEncoder<'_>) {
        encoder.timestamp_ns(self.timestamp_ns);
        encoder.reason(self.reason.number().into());
        encoder.error_message(self.error_message.as_bytes());
    }
}

/// A lease has ended, whatever the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmLeaseRevoked {
    pub timestamp_ns: u64,
    pub lease_id: u64,
    pub stream_id: u32,
    pub client_id: u32,
    pub role: Role,
    pub reason: LeaseRevokeReason,
    pub error_message: String,
}

impl ShmLeaseRevoked {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 7;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 26;

    const EXPECTED: Expected = Expected {
        message: "ShmLeaseRevoked",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 26)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<sbe::shm_lease_revoked_codec::ShmLeaseRevokedDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_lease_revoked_codec::ShmLeaseRevokedDecoder::default().wrap(
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
    ) -> Result<sbe::shm_lease_revoked_codec::ShmLeaseRevokedDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_lease_revoked_codec::ShmLeaseRevokedDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmLeaseRevoked")?;
        let error_message = walk.data(1073741824, "ShmLeaseRevoked.error_message")?;
        let number = check::u8_at(fixed, 24);
        check::known(Role::from_number(number).is_some(), "ShmLeaseRevoked", "role", i64::from(number))?;
        let number = check::u8_at(fixed, 25);
        check::known(LeaseRevokeReason::from_number(number).is_some(), "ShmLeaseRevoked", "reason", i64::from(number))?;
        check::ascii(error_message, "ShmLeaseRevoked", "error_message")?;
        Ok(())
    }

    fn read(mut decoder: sbe::shm_lease_revoked_codec::ShmLeaseRevokedDecoder<'_>, buffer: &[u8]) -> Self {
        let timestamp_ns = decoder.timestamp_ns();
        let lease_id = decoder.lease_id();
        let stream_id = decoder.stream_id();
        let client_id = decoder.client_id();
        let role = Role::from_number(decoder.role().into()).expect("the check knows the value");
        let reason = LeaseRevokeReason::from_number(decoder.reason().into()).expect("the check knows the value");
        let error_message = check::text(buffer, decoder.error_message_decoder());
        Self { timestamp_ns, lease_id, stream_id, client_id, role, reason, error_message }
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
            sbe::shm_lease_revoked_codec::ShmLeaseRevokedEncoder::default()
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
        self.write(sbe::shm_lease_revoked_codec::ShmLeaseRevokedEncoder::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ShmLeaseRevoked",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_lease_revoked_codec::ShmLeaseRevokedEncoder<'_>) {
        encoder.timestamp_ns(self.timestamp_ns);
        encoder.lease_id(self.lease_id);
        encoder.stream_id(self.stream_id);
        encoder.client_id(self.client_id);
        encoder.role(self.role.number().into());
        encoder.reason(self.reason.number().into());
        encoder.error_message(self.error_message.as_bytes());
    }
}

/// Asks the driver to end; ignored without the configured token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]
pub struct ShmDriverShutdownRequest {
    /// Chosen by the client, echoed by the driver.
    pub correlation_id: i64,
    pub reason: ShutdownReason,
    pub token: String,
    pub error_message: String,
}

impl ShmDriverShutdownRequest {
    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = 8;
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = 9;

    const EXPECTED: Expected = Expected {
        message: "ShmDriverShutdownRequest",
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: false,
        older_blocks: &[(0, 9)],
    };

    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(
        buffer: &[u8],
    ) -> Result<sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestDecoder<'_>, DecodeError> {
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestDecoder::default().wrap(
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
    ) -> Result<sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestDecoder<'_>, DecodeError> {
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok(sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestDecoder::default().wrap(
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
        let fixed = walk.take(usize::from(block), "ShmDriverShutdownRequest")?;
        let token = walk.data(1073741824, "ShmDriverShutdownRequest.token")?;
        let error_message = walk.data(1073741824, "ShmDriverShutdownRequest.error_message")?;
        let number = check::u8_at(fixed, 8);
        check::known(
            ShutdownReason::from_number(number).is_some(),
            "ShmDriverShutdownRequest",
            "reason",
            i64::from(number),
        )?;
        check::ascii(token, "ShmDriverShutdownRequest", "token")?;
        check::ascii(error_message, "ShmDriverShutdownRequest", "error_message")?;
        Ok(())
    }

    fn read(
        mut decoder: sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestDecoder<'_>,
        buffer: &[u8],
    ) -> Self {
        let correlation_id = decoder.correlation_id();
        let reason = ShutdownReason::from_number(decoder.reason().into()).expect("the check knows the value");
        let token = check::text(buffer, decoder.token_decoder());
        let error_message = check::text(buffer, decoder.error_message_decoder());
        Self { correlation_id, reason, token, error_message }
    }

    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {
        HEADER_LENGTH + self.body_length()
    }

    #[inline]
    fn body_length(&self) -> usize {
        usize::from(Self::BLOCK_LENGTH) + 4 + self.token.len() + 4 + self.error_message.len()
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
            sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestEncoder::default()
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
            sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestEncoder::default()
                .wrap(sbe::WriteBuf::new(buffer), 0),
        );
        Ok(length)
    }

    #[inline]
    fn check_values(&self) -> Result<(), EncodeError> {
        check::writable(self.token.len() <= 1073741824 && self.token.is_ascii(), "ShmDriverShutdownRequest", "token")?;
        check::writable(
            self.error_message.len() <= 1073741824 && self.error_message.is_ascii(),
            "ShmDriverShutdownRequest",
            "error_message",
        )?;
        Ok(())
    }

    #[inline]
    fn write(&self, mut encoder: sbe::shm_driver_shutdown_request_codec::ShmDriverShutdownRequestEncoder<'_>) {
        encoder.correlation_id(self.correlation_id);
        encoder.reason(self.reason.number().into());
        encoder.token(self.token.as_bytes());
        encoder.error_message(self.error_message.as_bytes());
    }
}
