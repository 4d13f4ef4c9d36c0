use crate::*;

pub use decoder::ConsumerHelloDecoder;
pub use encoder::ConsumerHelloEncoder;

pub use crate::SBE_SCHEMA_ID;
pub use crate::SBE_SCHEMA_VERSION;
pub use crate::SBE_SEMANTIC_VERSION;

pub const SBE_BLOCK_LENGTH: u16 = 39;
pub const SBE_TEMPLATE_ID: u16 = 2;

pub mod encoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Debug, Default)]
    pub struct ConsumerHelloEncoder<'a> {
        buf: WriteBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
    }

    impl<'a> Writer<'a> for ConsumerHelloEncoder<'a> {
        #[inline]
        fn get_buf_mut(&mut self) -> &mut WriteBuf<'a> {
            &mut self.buf
        }
    }

    impl<'a> Encoder<'a> for ConsumerHelloEncoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }

        /// Set all optional fields to their 'null' values.
        #[inline]
        fn nullify_optional_fields(&mut self) -> &mut Self {
            self.progress_interval_us_opt(None);
            self.progress_bytes_delta_opt(None);
            self.progress_major_delta_units_opt(None);
            self
        }
    }

    impl<'a> ConsumerHelloEncoder<'a> {
        pub fn wrap(mut self, buf: WriteBuf<'a>, offset: usize) -> Self {
            let limit = offset + SBE_BLOCK_LENGTH as usize;
            self.buf = buf;
            self.initial_offset = offset;
            self.offset = offset;
            self.limit = limit;
            self
        }

        #[inline]
        pub const fn encoded_length(&self) -> usize {
            self.limit - self.offset
        }

        pub fn header(self, offset: usize) -> MessageHeaderEncoder<Self> {
            let mut header = MessageHeaderEncoder::default().wrap(self, offset);
            header.block_length(SBE_BLOCK_LENGTH);
            header.template_id(SBE_TEMPLATE_ID);
            header.schema_id(SBE_SCHEMA_ID);
            header.version(SBE_SCHEMA_VERSION);
            header
        }

        /// primitive field 'streamId'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 0
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn stream_id(&mut self, value: u32) -> &mut Self {
            let offset = self.offset;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// primitive field 'consumerId'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 4
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn consumer_id(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 4;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// REQUIRED enum
        #[inline]
        pub fn supports_shm(&mut self, value: bool::Bool) -> &mut Self {
            let offset = self.offset + 8;
            self.get_buf_mut().put_u8_at(offset, value as u8);
            self
        }

        /// REQUIRED enum
        #[inline]
        pub fn supports_progress(&mut self, value: bool::Bool) -> &mut Self {
            let offset = self.offset + 9;
            self.get_buf_mut().put_u8_at(offset, value as u8);
            self
        }

        /// REQUIRED enum
        #[inline]
        pub fn mode(&mut self, value: mode::Mode) -> &mut Self {
            let offset = self.offset + 10;
            self.get_buf_mut().put_u8_at(offset, value as u8);
            self
        }

        /// primitive field 'maxRateHz'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 11
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn max_rate_hz(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 11;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// primitive field 'expectedLayoutVersion'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 15
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn expected_layout_version(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 15;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// primitive field 'progressIntervalUs'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 19
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn progress_interval_us(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 19;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// optional primitive field 'progressIntervalUs'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 19
        /// - encodedLength: 4
        /// - version: 0
        /// Set to `None` to encode the field null value.
        #[inline]
        pub fn progress_interval_us_opt(&mut self, value: Option<u32>) -> &mut Self {
            match value {
                Some(value) => self.progress_interval_us(value),
                None => self.progress_interval_us(0xffffffff_u32),
            };
            self
        }

        /// primitive field 'progressBytesDelta'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 23
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn progress_bytes_delta(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 23;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// optional primitive field 'progressBytesDelta'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 23
        /// - encodedLength: 4
        /// - version: 0
        /// Set to `None` to encode the field null value.
        #[inline]
        pub fn progress_bytes_delta_opt(&mut self, value: Option<u32>) -> &mut Self {
            match value {
                Some(value) => self.progress_bytes_delta(value),
                None => self.progress_bytes_delta(0xffffffff_u32),
            };
            self
        }

        /// primitive field 'progressMajorDeltaUnits'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 27
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn progress_major_delta_units(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 27;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// optional primitive field 'progressMajorDeltaUnits'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 27
        /// - encodedLength: 4
        /// - version: 0
        /// Set to `None` to encode the field null value.
        #[inline]
        pub fn progress_major_delta_units_opt(&mut self, value: Option<u32>) -> &mut Self {
            match value {
                Some(value) => self.progress_major_delta_units(value),
                None => self.progress_major_delta_units(0xffffffff_u32),
            };
            self
        }

        /// primitive field 'descriptorStreamId'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 31
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn descriptor_stream_id(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 31;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// primitive field 'controlStreamId'
        /// - min value: 0
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 35
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn control_stream_id(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 35;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        /// VAR_DATA ENCODER - character encoding: 'US-ASCII'
        #[inline]
        pub fn descriptor_channel(&mut self, value: &[u8]) -> &mut Self {
            let limit = self.get_limit();
            let data_length = value.len().min((u32::MAX - 1) as usize);
            self.set_limit(limit + 4 + data_length);
            self.get_buf_mut().put_u32_at(limit, data_length as u32);
            self.get_buf_mut().put_slice_at(limit + 4, &value[0..data_length]);
            self
        }

        /// VAR_DATA ENCODER - character encoding: 'US-ASCII'
        #[inline]
        pub fn control_channel(&mut self, value: &[u8]) -> &mut Self {
            let limit = self.get_limit();
            let data_length = value.len().min((u32::MAX - 1) as usize);
            self.set_limit(limit + 4 + data_length);
            self.get_buf_mut().put_u32_at(limit, data_length as u32);
            self.get_buf_mut().put_slice_at(limit + 4, &value[0..data_length]);
            self
        }

    }

} // end encoder

pub mod decoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Clone, Copy, Debug, Default)]
    pub struct ConsumerHelloDecoder<'a> {
        buf: ReadBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
        pub acting_block_length: u16,
        pub acting_version: u16,
    }

    impl ActingVersion for ConsumerHelloDecoder<'_> {
        #[inline]
        fn acting_version(&self) -> u16 {
            self.acting_version
        }
    }

    impl<'a> Reader<'a> for ConsumerHelloDecoder<'a> {
        #[inline]
        fn get_buf(&self) -> &ReadBuf<'a> {
            &self.buf
        }
    }

    impl<'a> Decoder<'a> for ConsumerHelloDecoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }
    }

    impl<'a> ConsumerHelloDecoder<'a> {
        pub fn wrap(
            mut self,
            buf: ReadBuf<'a>,
            offset: usize,
            acting_block_length: u16,
            acting_version: u16,
        ) -> Self {
            let limit = offset + acting_block_length as usize;
            self.buf = buf;
            self.initial_offset = offset;
            self.offset = offset;
            self.limit = limit;
            self.acting_block_length = acting_block_length;
            self.acting_version = acting_version;
            self
        }

        #[inline]
        pub const fn encoded_length(&self) -> usize {
            self.limit - self.offset
        }

        pub fn header(self, mut header: MessageHeaderDecoder<ReadBuf<'a>>, offset: usize) -> Self {
            debug_assert_eq!(SBE_TEMPLATE_ID, header.template_id());
            let acting_block_length = header.block_length();
            let acting_version = header.version();

            self.wrap(
                header.parent().unwrap(),
                offset + message_header_codec::ENCODED_LENGTH,
                acting_block_length,
                acting_version,
            )
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn stream_id(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset)
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn consumer_id(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 4)
        }

        /// REQUIRED enum
        #[inline]
        pub fn supports_shm(&self) -> bool::Bool {
            self.get_buf().get_u8_at(self.offset + 8).into()
        }

        /// REQUIRED enum
        #[inline]
        pub fn supports_progress(&self) -> bool::Bool {
            self.get_buf().get_u8_at(self.offset + 9).into()
        }

        /// REQUIRED enum
        #[inline]
        pub fn mode(&self) -> mode::Mode {
            self.get_buf().get_u8_at(self.offset + 10).into()
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn max_rate_hz(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 11)
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn expected_layout_version(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 15)
        }

        /// primitive field - 'OPTIONAL' { null_value: '0xffffffff_u32' }
        #[inline]
        pub fn progress_interval_us(&self) -> Option<u32> {
            let value = self.get_buf().get_u32_at(self.offset + 19);
            if value == 0xffffffff_u32 {
                None
            } else {
                Some(value)
            }
        }

        /// primitive field - 'OPTIONAL' { null_value: '0xffffffff_u32' }
        #[inline]
        pub fn progress_bytes_delta(&self) -> Option<u32> {
            let value = self.get_buf().get_u32_at(self.offset + 23);
            if value == 0xffffffff_u32 {
                None
            } else {
                Some(value)
            }
        }

        /// primitive field - 'OPTIONAL' { null_value: '0xffffffff_u32' }
        #[inline]
        pub fn progress_major_delta_units(&self) -> Option<u32> {
            let value = self.get_buf().get_u32_at(self.offset + 27);
            if value == 0xffffffff_u32 {
                None
            } else {
                Some(value)
            }
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn descriptor_stream_id(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 31)
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn control_stream_id(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 35)
        }

        /// VAR_DATA DECODER - character encoding: 'US-ASCII'
        #[inline]
        pub fn descriptor_channel_decoder(&mut self) -> (usize, usize) {
            let offset = self.get_limit();
            let data_length = self.get_buf().get_u32_at(offset) as usize;
            self.set_limit(offset + 4 + data_length);
            (offset + 4, data_length)
        }

        #[inline]
        pub fn descriptor_channel_slice(&'a self, coordinates: (usize, usize)) -> &'a [u8] {
            debug_assert!(self.get_limit() >= coordinates.0 + coordinates.1);
            self.get_buf().get_slice_at(coordinates.0, coordinates.1)
        }

        /// VAR_DATA DECODER - character encoding: 'US-ASCII'
        #[inline]
        pub fn control_channel_decoder(&mut self) -> (usize, usize) {
            let offset = self.get_limit();
            let data_length = self.get_buf().get_u32_at(offset) as usize;
            self.set_limit(offset + 4 + data_length);
            (offset + 4, data_length)
        }

        #[inline]
        pub fn control_channel_slice(&'a self, coordinates: (usize, usize)) -> &'a [u8] {
            debug_assert!(self.get_limit() >= coordinates.0 + coordinates.1);
            self.get_buf().get_slice_at(coordinates.0, coordinates.1)
        }

    }

} // end decoder

