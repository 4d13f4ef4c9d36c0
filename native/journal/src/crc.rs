// SPDX-License-Identifier: Apache-2.0
//! CRC-32C (Castagnoli), with functions to continue and to join CRCs.

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC's polynomial, with its bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;
/// The size from which the vectorised crate is faster than the CPU's single instruction.
const VECTOR_FROM_BYTES: usize = 512;

/// Continues a CRC over more bytes. The CRC of no bytes is 0.
#[inline]
#[must_use]
pub fn extend(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() < VECTOR_FROM_BYTES && std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the CPU has the instruction.
        return unsafe { by_instruction(crc, bytes) };
    }
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_instruction(crc: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let mut register = u64::from(!crc);
    for word in words {
        register = _mm_crc32_u64(register, u64::from_le_bytes(*word));
    }
    let mut register = register as u32;
    for byte in rest {
        register = _mm_crc32_u8(register, *byte);
    }
    !register
}

/// Joins the CRCs of two parts. It keeps the previous length, because the parts of one input mostly have the same.
#[derive(Clone, Copy, Debug)]
pub struct Joiner {
    bytes: u64,
    shift: u32,
}

impl Default for Joiner {
    fn default() -> Self {
        Self { bytes: 0, shift: ONE }
    }
}

impl Joiner {
    /// The CRC of two parts one after the other, from the CRC of each and the length of the second.
    #[must_use]
    pub fn join(&mut self, first: u32, second: u32, second_bytes: u64) -> u32 {
        if self.bytes != second_bytes {
            *self = Self { bytes: second_bytes, shift: shift_by_bytes(second_bytes) };
        }
        multiply(self.shift, first) ^ second
    }
}

/// The polynomial 1, with its bits reversed.
const ONE: u32 = 1 << 31;

/// For each index, `x` to the power of two to the index, modulo the polynomial.
const POWERS: [u32; 64] = {
    let mut powers = [1 << 30; 64];
    let mut index = 1;
    while index < 64 {
        powers[index] = multiply(powers[index - 1], powers[index - 1]);
        index += 1;
    }
    powers
};

/// The product of two polynomials modulo the CRC's, with their bits reversed.
const fn multiply(a: u32, b: u32) -> u32 {
    let (mut product, mut b, mut bit) = (0, b, 32);
    while bit > 0 {
        bit -= 1;
        product ^= b & 0_u32.wrapping_sub((a >> bit) & 1);
        b = (b >> 1) ^ (POLYNOMIAL & 0_u32.wrapping_sub(b & 1));
    }
    product
}

/// `x` to the power of eight times `bytes`.
fn shift_by_bytes(bytes: u64) -> u32 {
    // The product wraps only for lengths that no file has.
    power(bytes.wrapping_mul(8))
}

/// `x` to a power modulo the polynomial, with its bits reversed.
pub(crate) const fn power(exponent: u64) -> u32 {
    let (mut found, mut rest, mut index) = (ONE, exponent, 0);
    while rest != 0 {
        if rest & 1 == 1 {
            found = multiply(POWERS[index], found);
        }
        rest >>= 1;
        index += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowly(bytes: &[u8]) -> u32 {
        let mut register = u32::MAX;
        for byte in bytes {
            register ^= u32::from(*byte);
            for _ in 0..8 {
                register = if register & 1 == 1 { (register >> 1) ^ POLYNOMIAL } else { register >> 1 };
            }
        }
        !register
    }

    fn sample(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|index| (index * 131 + 17) as u8).collect()
    }

    #[test]
    fn the_check_value_of_the_catalogue_comes_out() {
        assert_eq!(extend(0, b"123456789"), 0xE306_9283);
        assert_eq!(extend(0, b""), 0);
    }

    #[test]
    fn every_length_is_as_bit_by_bit_whole_and_continued() {
        let bytes = sample(1500);
        for length in (0..80).chain([255, 256, 257, 511, 512, 513, 1023, 1500]) {
            let want = slowly(&bytes[..length]);
            assert_eq!(extend(0, &bytes[..length]), want, "{length}");
            for cut in [0, 1, length / 3, length.saturating_sub(1)] {
                let cut = cut.min(length);
                assert_eq!(extend(extend(0, &bytes[..cut]), &bytes[cut..length]), want, "{length} at {cut}");
            }
        }
    }

    #[test]
    fn joined_parts_are_as_the_whole() {
        let bytes = sample(100_000);
        let mut joiner = Joiner::default();
        for (cut, end) in [(0, 0), (0, 9), (9, 9), (5, 12), (1000, 1008), (1, 100_000), (70_000, 100_000), (16, 24)] {
            let (first, second) = (extend(0, &bytes[..cut]), extend(0, &bytes[cut..end]));
            assert_eq!(joiner.join(first, second, (end - cut) as u64), extend(0, &bytes[..end]), "{cut}..{end}");
        }
    }
}
