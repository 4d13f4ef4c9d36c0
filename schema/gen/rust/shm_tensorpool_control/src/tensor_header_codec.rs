use crate::*;

pub use decoder::TensorHeaderDecoder;
pub use encoder::TensorHeaderEncoder;

pub use crate::SBE_SCHEMA_ID;
pub use crate::SBE_SCHEMA_VERSION;
pub use crate::SBE_SEMANTIC_VERSION;

pub const SBE_BLOCK_LENGTH: u16 = 184;
pub const SBE_TEMPLATE_ID: u16 = 52;

pub mod encoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Debug, Default)]
    pub struct TensorHeaderEncoder<'a> {
        buf: WriteBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
    }

    impl<'a> Writer<'a> for TensorHeaderEncoder<'a> {
        #[inline]
        fn get_buf_mut(&mut self) -> &mut WriteBuf<'a> {
            &mut self.buf
        }
    }

    impl<'a> Encoder<'a> for TensorHeaderEncoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }
    }

    impl<'a> TensorHeaderEncoder<'a> {
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

        /// REQUIRED enum
        #[inline]
        pub fn dtype(&mut self, value: dtype::Dtype) -> &mut Self {
            let offset = self.offset;
            self.get_buf_mut().put_i16_at(offset, value as i16);
            self
        }

        /// REQUIRED enum
        #[inline]
        pub fn major_order(&mut self, value: major_order::MajorOrder) -> &mut Self {
            let offset = self.offset + 2;
            self.get_buf_mut().put_i16_at(offset, value as i16);
            self
        }

        /// primitive field 'ndims'
        /// - min value: 0
        /// - max value: 254
        /// - null value: 0xff_u8
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 4
        /// - encodedLength: 1
        /// - version: 0
        #[inline]
        pub fn ndims(&mut self, value: u8) -> &mut Self {
            let offset = self.offset + 4;
            self.get_buf_mut().put_u8_at(offset, value);
            self
        }

        // skipping CONSTANT maxDims

        /// primitive field 'padAlign'
        /// - min value: 0
        /// - max value: 254
        /// - null value: 0xff_u8
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 5
        /// - encodedLength: 1
        /// - version: 0
        #[inline]
        pub fn pad_align(&mut self, value: u8) -> &mut Self {
            let offset = self.offset + 5;
            self.get_buf_mut().put_u8_at(offset, value);
            self
        }

        /// REQUIRED enum
        #[inline]
        pub fn progress_unit(&mut self, value: progress_unit::ProgressUnit) -> &mut Self {
            let offset = self.offset + 6;
            self.get_buf_mut().put_u8_at(offset, value as u8);
            self
        }

        /// primitive field 'progressStrideBytes'
        /// - min value: 1
        /// - max value: 4294967294
        /// - null value: 0xffffffff_u32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 7
        /// - encodedLength: 4
        /// - version: 0
        #[inline]
        pub fn progress_stride_bytes(&mut self, value: u32) -> &mut Self {
            let offset = self.offset + 7;
            self.get_buf_mut().put_u32_at(offset, value);
            self
        }

        #[inline]
        pub fn dims_at(&mut self, index: usize, value: i32) -> &mut Self {
            let offset = self.offset + 11;
            let buf = self.get_buf_mut();
            buf.put_i32_at(offset + index * 4, value);
            self
        }

        /// primitive array field 'dims'
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 11
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn dims(&mut self, value: &[i32]) -> &mut Self {
            debug_assert_eq!(8, value.len());
            let offset = self.offset + 11;
            let buf = self.get_buf_mut();
            buf.put_i32_at(offset, value[0]);
            buf.put_i32_at(offset + 4, value[1]);
            buf.put_i32_at(offset + 8, value[2]);
            buf.put_i32_at(offset + 12, value[3]);
            buf.put_i32_at(offset + 16, value[4]);
            buf.put_i32_at(offset + 20, value[5]);
            buf.put_i32_at(offset + 24, value[6]);
            buf.put_i32_at(offset + 28, value[7]);
            self
        }

        /// primitive array field 'dims' from an Iterator
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 11
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn dims_from_iter(&mut self, iter: impl Iterator<Item = i32>) -> &mut Self {
            let offset = self.offset + 11;
            let buf = self.get_buf_mut();
            for (i, v) in iter.enumerate() {
                buf.put_i32_at(offset + i * 4, v);
            }
            self
        }

        /// primitive array field 'dims' with zero padding
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 11
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn dims_zero_padded(&mut self, value: &[i32]) -> &mut Self {
            let iter = value.iter().copied().chain(std::iter::repeat(0_i32)).take(8);
            self.dims_from_iter(iter);
            self
        }

        #[inline]
        pub fn strides_at(&mut self, index: usize, value: i32) -> &mut Self {
            let offset = self.offset + 43;
            let buf = self.get_buf_mut();
            buf.put_i32_at(offset + index * 4, value);
            self
        }

        /// primitive array field 'strides'
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 43
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn strides(&mut self, value: &[i32]) -> &mut Self {
            debug_assert_eq!(8, value.len());
            let offset = self.offset + 43;
            let buf = self.get_buf_mut();
            buf.put_i32_at(offset, value[0]);
            buf.put_i32_at(offset + 4, value[1]);
            buf.put_i32_at(offset + 8, value[2]);
            buf.put_i32_at(offset + 12, value[3]);
            buf.put_i32_at(offset + 16, value[4]);
            buf.put_i32_at(offset + 20, value[5]);
            buf.put_i32_at(offset + 24, value[6]);
            buf.put_i32_at(offset + 28, value[7]);
            self
        }

        /// primitive array field 'strides' from an Iterator
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 43
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn strides_from_iter(&mut self, iter: impl Iterator<Item = i32>) -> &mut Self {
            let offset = self.offset + 43;
            let buf = self.get_buf_mut();
            for (i, v) in iter.enumerate() {
                buf.put_i32_at(offset + i * 4, v);
            }
            self
        }

        /// primitive array field 'strides' with zero padding
        /// - min value: -2147483647
        /// - max value: 2147483647
        /// - null value: -2147483648_i32
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 43
        /// - encodedLength: 32
        /// - version: 0
        #[inline]
        pub fn strides_zero_padded(&mut self, value: &[i32]) -> &mut Self {
            let iter = value.iter().copied().chain(std::iter::repeat(0_i32)).take(8);
            self.strides_from_iter(iter);
            self
        }

        #[inline]
        pub fn pad_at(&mut self, index: usize, value: u8) -> &mut Self {
            let offset = self.offset + 75;
            let buf = self.get_buf_mut();
            buf.put_u8_at(offset + index, value);
            self
        }

        /// primitive array field 'pad'
        /// - min value: 0
        /// - max value: 254
        /// - null value: 0xff_u8
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 75
        /// - encodedLength: 109
        /// - version: 0
        #[inline]
        pub fn pad(&mut self, value: &[u8]) -> &mut Self {
            debug_assert_eq!(109, value.len());
            let offset = self.offset + 75;
            let buf = self.get_buf_mut();
            buf.put_slice_at(offset, value);
            self
        }

        /// primitive array field 'pad' from an Iterator
        /// - min value: 0
        /// - max value: 254
        /// - null value: 0xff_u8
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 75
        /// - encodedLength: 109
        /// - version: 0
        #[inline]
        pub fn pad_from_iter(&mut self, iter: impl Iterator<Item = u8>) -> &mut Self {
            let offset = self.offset + 75;
            let buf = self.get_buf_mut();
            for (i, v) in iter.enumerate() {
                buf.put_u8_at(offset + i, v);
            }
            self
        }

        /// primitive array field 'pad' with zero padding
        /// - min value: 0
        /// - max value: 254
        /// - null value: 0xff_u8
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 75
        /// - encodedLength: 109
        /// - version: 0
        #[inline]
        pub fn pad_zero_padded(&mut self, value: &[u8]) -> &mut Self {
            let iter = value.iter().copied().chain(std::iter::repeat(0_u8)).take(109);
            self.pad_from_iter(iter);
            self
        }

    }

} // end encoder

pub mod decoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Clone, Copy, Debug, Default)]
    pub struct TensorHeaderDecoder<'a> {
        buf: ReadBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
        pub acting_block_length: u16,
        pub acting_version: u16,
    }

    impl ActingVersion for TensorHeaderDecoder<'_> {
        #[inline]
        fn acting_version(&self) -> u16 {
            self.acting_version
        }
    }

    impl<'a> Reader<'a> for TensorHeaderDecoder<'a> {
        #[inline]
        fn get_buf(&self) -> &ReadBuf<'a> {
            &self.buf
        }
    }

    impl<'a> Decoder<'a> for TensorHeaderDecoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }
    }

    impl<'a> TensorHeaderDecoder<'a> {
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

        /// REQUIRED enum
        #[inline]
        pub fn dtype(&self) -> dtype::Dtype {
            self.get_buf().get_i16_at(self.offset).into()
        }

        /// REQUIRED enum
        #[inline]
        pub fn major_order(&self) -> major_order::MajorOrder {
            self.get_buf().get_i16_at(self.offset + 2).into()
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn ndims(&self) -> u8 {
            self.get_buf().get_u8_at(self.offset + 4)
        }

        /// CONSTANT 
        #[inline]
        pub fn max_dims(&self) -> u8 {
            8
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn pad_align(&self) -> u8 {
            self.get_buf().get_u8_at(self.offset + 5)
        }

        /// REQUIRED enum
        #[inline]
        pub fn progress_unit(&self) -> progress_unit::ProgressUnit {
            self.get_buf().get_u8_at(self.offset + 6).into()
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn progress_stride_bytes(&self) -> u32 {
            self.get_buf().get_u32_at(self.offset + 7)
        }

        #[inline]
        pub fn dims(&self) -> [i32; 8] {
            let buf = self.get_buf();
            [
                buf.get_i32_at(self.offset + 11),
                buf.get_i32_at(self.offset + 11 + 4),
                buf.get_i32_at(self.offset + 11 + 8),
                buf.get_i32_at(self.offset + 11 + 12),
                buf.get_i32_at(self.offset + 11 + 16),
                buf.get_i32_at(self.offset + 11 + 20),
                buf.get_i32_at(self.offset + 11 + 24),
                buf.get_i32_at(self.offset + 11 + 28),
            ]
        }

        #[inline]
        pub fn strides(&self) -> [i32; 8] {
            let buf = self.get_buf();
            [
                buf.get_i32_at(self.offset + 43),
                buf.get_i32_at(self.offset + 43 + 4),
                buf.get_i32_at(self.offset + 43 + 8),
                buf.get_i32_at(self.offset + 43 + 12),
                buf.get_i32_at(self.offset + 43 + 16),
                buf.get_i32_at(self.offset + 43 + 20),
                buf.get_i32_at(self.offset + 43 + 24),
                buf.get_i32_at(self.offset + 43 + 28),
            ]
        }

        #[inline]
        pub fn pad(&self) -> [u8; 109] {
            let buf = self.get_buf();
            ReadBuf::get_bytes_at(buf.data, self.offset + 75)
        }

    }

} // end decoder

