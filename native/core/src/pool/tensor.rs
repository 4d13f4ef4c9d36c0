// SPDX-License-Identifier: Apache-2.0
//! The tensor of a frame: its shape, strides and dtype, checked before any address is computed with them (PROTOCOL
//! 3.5).

use super::layout::MAX_DIMS;

/// Bytes of an element by dtype number; 0 for numbers that no frame may carry (unknown, unassigned).
const ELEMENT_BYTES: [u8; 15] = [0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 0, 1, 1];

/// The elements lie row by row, the last index fastest.
pub const ROW_MAJOR: i16 = 1;
/// The elements lie column by column, the first index fastest.
pub const COLUMN_MAJOR: i16 = 2;

/// The frame has no layout for progress within it.
pub const PROGRESS_NONE: u8 = 0;
/// Progress counts rows.
pub const PROGRESS_ROWS: u8 = 1;
/// Progress counts columns.
pub const PROGRESS_COLUMNS: u8 = 2;

/// What is wrong with a tensor header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorFault {
    /// A dtype that is unknown or unassigned.
    Dtype,
    /// An order other than row or column.
    MajorOrder,
    /// No dimension, or more than eight.
    Ndims,
    /// A negative dimension.
    Dims,
    /// A stride that is negative, overlaps, or contradicts the order.
    Strides,
    /// A progress unit or stride that does not fit the strides.
    Progress,
    /// The furthest element lies outside the payload.
    Extent,
}

/// The tensor header of a frame, as it is in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Dtype number.
    pub dtype: i16,
    /// [`ROW_MAJOR`] or [`COLUMN_MAJOR`].
    pub major_order: i16,
    /// Dimensions in use.
    pub ndims: u8,
    /// [`PROGRESS_NONE`], [`PROGRESS_ROWS`] or [`PROGRESS_COLUMNS`].
    pub progress_unit: u8,
    /// Bytes of a row or column, if the frame has a layout for progress.
    pub progress_stride_bytes: u32,
    /// Elements along each dimension; zero from `ndims` on.
    pub dims: [i32; MAX_DIMS],
    /// Bytes between neighbours along each dimension; zero if contiguous.
    pub strides: [i32; MAX_DIMS],
}

impl Tensor {
    /// Makes a contiguous tensor without progress.
    #[must_use]
    pub fn contiguous(dtype: i16, major_order: i16, shape: &[i32]) -> Self {
        let mut dims = [0; MAX_DIMS];
        let used = shape.len().min(MAX_DIMS);
        dims[..used].copy_from_slice(&shape[..used]);
        Self {
            dtype,
            major_order,
            // A shape that is too long keeps its length here, so that the check refuses it.
            ndims: u8::try_from(shape.len()).unwrap_or(u8::MAX),
            progress_unit: PROGRESS_NONE,
            progress_stride_bytes: 0,
            dims,
            strides: [0; MAX_DIMS],
        }
    }

    /// The strides, with zeros replaced by their values, and the bytes that all elements need, if the header is valid.
    ///
    /// # Errors
    /// The first fault, in the order of [`TensorFault`].
    #[inline]
    pub fn checked(&self) -> Result<CheckedTensor, TensorFault> {
        let element = element_bytes(self.dtype).ok_or(TensorFault::Dtype)?;
        if self.major_order != ROW_MAJOR && self.major_order != COLUMN_MAJOR {
            return Err(TensorFault::MajorOrder);
        }
        let ndims = usize::from(self.ndims);
        if ndims == 0 || ndims > MAX_DIMS {
            return Err(TensorFault::Ndims);
        }
        if self.dims[..ndims].iter().any(|dim| *dim < 0) {
            return Err(TensorFault::Dims);
        }
        let strides = self.resolved_strides(element)?;
        self.check_progress(&strides)?;
        Ok(CheckedTensor { tensor: *self, strides, extent_bytes: self.extent(&strides, element) })
    }

    /// Like `checked`, and requires that every element lies within `values_bytes`.
    ///
    /// # Errors
    /// The first fault, in the order of [`TensorFault`].
    #[inline]
    pub fn check(&self, values_bytes: u32) -> Result<[i64; MAX_DIMS], TensorFault> {
        let checked = self.checked()?;
        if checked.fits(values_bytes) { Ok(checked.strides) } else { Err(TensorFault::Extent) }
    }

    /// The strides from the fastest dimension to the slowest. Each must be at least as long as everything inside it.
    #[inline]
    fn resolved_strides(&self, element: i64) -> Result<[i64; MAX_DIMS], TensorFault> {
        let ndims = usize::from(self.ndims);
        let mut strides = [0; MAX_DIMS];
        let mut least = element;
        for step in 0..ndims {
            let index = if self.major_order == ROW_MAJOR { ndims - 1 - step } else { step };
            let given = i64::from(self.strides[index]);
            let stride = if given == 0 { least } else { given };
            if stride < least {
                return Err(TensorFault::Strides);
            }
            strides[index] = stride;
            // The product saturates: sizes like these can only fail the extent check, and must not wrap past it.
            least = stride.saturating_mul(i64::from(self.dims[index].max(1)));
        }
        Ok(strides)
    }

    #[inline]
    fn check_progress(&self, strides: &[i64; MAX_DIMS]) -> Result<(), TensorFault> {
        let stride = match self.progress_unit {
            PROGRESS_NONE => return Ok(()),
            PROGRESS_ROWS => strides[0],
            PROGRESS_COLUMNS if self.ndims >= 2 => strides[1],
            _ => return Err(TensorFault::Progress),
        };
        let is_consistent = self.progress_stride_bytes > 0 && i64::from(self.progress_stride_bytes) == stride;
        if is_consistent { Ok(()) } else { Err(TensorFault::Progress) }
    }

    /// Where the furthest element ends, in bytes.
    #[inline]
    fn extent(&self, strides: &[i64; MAX_DIMS], element: i64) -> i64 {
        let dims = &self.dims[..usize::from(self.ndims)];
        // An empty array addresses no byte, but a program that shows it must still be able to count its elements.
        if dims.contains(&0) {
            let count = dims.iter().fold(element, |product, dim| product.saturating_mul(i64::from(*dim).max(1)));
            return if count < i64::MAX { 0 } else { count };
        }
        let last = dims
            .iter()
            .zip(strides)
            .fold(0_i64, |offset, (dim, stride)| offset.saturating_add(stride.saturating_mul(i64::from(*dim) - 1)));
        last.saturating_add(element)
    }
}

/// A tensor header that was found valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedTensor {
    /// The header.
    pub tensor: Tensor,
    /// The strides, with zeros replaced by their values.
    pub strides: [i64; MAX_DIMS],
    /// Bytes up to the end of the furthest element.
    pub extent_bytes: i64,
}

impl CheckedTensor {
    /// Whether every element lies within a payload of this length.
    #[inline]
    #[must_use]
    pub fn fits(&self, values_bytes: u32) -> bool {
        self.extent_bytes <= i64::from(values_bytes)
    }
}

/// Bytes of an element; None for a dtype that no frame may carry.
#[inline]
#[must_use]
pub fn element_bytes(dtype: i16) -> Option<i64> {
    let bytes = *ELEMENT_BYTES.get(usize::try_from(dtype).ok()?)?;
    (bytes > 0).then_some(i64::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT32: i16 = 9;

    fn image() -> Tensor {
        Tensor::contiguous(FLOAT32, ROW_MAJOR, &[2, 3])
    }

    #[test]
    fn strides_are_inferred_in_both_orders() {
        assert_eq!(image().check(24).unwrap()[..2], [12, 4]);
        let column = Tensor { major_order: COLUMN_MAJOR, ..image() };
        assert_eq!(column.check(24).unwrap()[..2], [4, 8]);
    }

    #[test]
    fn given_strides_may_leave_gaps_but_not_overlap() {
        let padded = Tensor { strides: [16, 4, 0, 0, 0, 0, 0, 0], ..image() };
        assert_eq!(padded.check(28).unwrap()[..2], [16, 4]);
        for strides in [[8, 4], [12, 3], [4, 8], [-12, 4], [12, -4]] {
            let mut bad = image();
            bad.strides[..2].copy_from_slice(&strides);
            assert_eq!(bad.check(1000), Err(TensorFault::Strides), "{strides:?}");
        }
    }

    #[test]
    fn the_extent_must_fit_the_payload_to_the_byte() {
        assert!(image().check(24).is_ok());
        assert_eq!(image().check(23), Err(TensorFault::Extent));
        let huge = Tensor::contiguous(8, ROW_MAJOR, &[i32::MAX; 8]);
        assert_eq!(huge.check(u32::MAX), Err(TensorFault::Extent));
    }

    #[test]
    fn an_empty_array_needs_no_payload() {
        assert!(Tensor::contiguous(FLOAT32, ROW_MAJOR, &[0, 5]).check(0).is_ok());
        assert_eq!(Tensor::contiguous(FLOAT32, ROW_MAJOR, &[1]).check(0), Err(TensorFault::Extent));
        let vast = [0, i32::MAX, i32::MAX, i32::MAX, i32::MAX];
        assert_eq!(Tensor::contiguous(FLOAT32, ROW_MAJOR, &vast).check(0), Err(TensorFault::Extent));
    }

    #[test]
    fn every_field_out_of_its_values_is_refused() {
        for dtype in [-1, 0, 12, 15, i16::MAX, i16::MIN] {
            assert_eq!(Tensor { dtype, ..image() }.check(24), Err(TensorFault::Dtype), "{dtype}");
        }
        for major_order in [-1, 0, 3] {
            assert_eq!(Tensor { major_order, ..image() }.check(24), Err(TensorFault::MajorOrder));
        }
        for ndims in [0, 9, 255] {
            assert_eq!(Tensor { ndims, ..image() }.check(24), Err(TensorFault::Ndims));
        }
        assert_eq!(Tensor::contiguous(FLOAT32, ROW_MAJOR, &[-1]).check(24), Err(TensorFault::Dims));
        assert_eq!(Tensor::contiguous(FLOAT32, ROW_MAJOR, &[1; 9]).check(24), Err(TensorFault::Ndims));
    }

    #[test]
    fn dims_and_strides_behind_the_last_dimension_are_ignored() {
        let mut noisy = image();
        noisy.dims[5] = -7;
        noisy.strides[5] = -7;
        assert!(noisy.check(24).is_ok());
    }

    #[test]
    fn progress_is_consistent_with_the_strides_or_refused() {
        let rows = Tensor { progress_unit: PROGRESS_ROWS, progress_stride_bytes: 12, ..image() };
        assert!(rows.check(24).is_ok());
        let columns = Tensor { progress_unit: PROGRESS_COLUMNS, progress_stride_bytes: 4, ..image() };
        assert!(columns.check(24).is_ok());
        for bad in [
            Tensor { progress_stride_bytes: 0, ..rows },
            Tensor { progress_stride_bytes: 8, ..rows },
            Tensor { progress_unit: 3, ..rows },
            Tensor { progress_unit: PROGRESS_COLUMNS, ..Tensor::contiguous(FLOAT32, ROW_MAJOR, &[6]) },
        ] {
            assert_eq!(bad.check(24), Err(TensorFault::Progress));
        }
    }
}
