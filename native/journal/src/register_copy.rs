// SPDX-License-Identifier: Apache-2.0
//! Copies with stores that bypass the cache, and takes the CRC from the same registers, on CPUs that multiply
//! polynomials of 512 bits.
//!
//! Four registers hold 256 bytes with the same CRC as everything before. Each step multiplies them by `x` to the power
//! of 2,048, which moves them on by 256 bytes, and adds the next 256. The remainder is short, and [`crc::extend`] takes
//! its CRC; nothing is reduced here.

use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_clmulepi64_epi128, _mm512_loadu_si512, _mm512_set_epi64, _mm512_storeu_si512,
    _mm512_stream_si512, _mm512_ternarylogic_epi64, _mm512_xor_si512, _mm512_zextsi128_si512,
};

use crate::crc::{self, power};

/// The size of a register.
pub const LANE_BYTES: usize = size_of::<__m512i>();
const LANES: usize = 4;
/// How many bytes one step takes.
pub const STEP_BYTES: usize = LANES * LANE_BYTES;
/// The code of the ternary operation that adds three values.
const XOR: i32 = 0x96;

/// Whether this CPU has the instructions.
#[must_use]
pub fn is_supported() -> bool {
    std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("vpclmulqdq")
}

/// Copies and continues `crc`, like [`crate::copy::copy_with_crc`]. The stores are not fenced.
///
/// # Safety
/// [`is_supported`] must hold. Both ranges must be valid for `bytes` bytes and must not overlap; `target` must be a
/// multiple of `LANE_BYTES`, and `bytes` a non-zero multiple of `STEP_BYTES`.
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub unsafe fn copy_with_crc(source: *const u8, target: *mut u8, bytes: usize, crc: u32) -> u32 {
    // SAFETY: the contract guarantees a first step, whose registers lie in both ranges.
    let mut lanes: [__m512i; LANES] = std::array::from_fn(|lane| unsafe { moved(source, target, lane * LANE_BYTES) });
    // The CRC so far is added to the first bytes that follow.
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((!crc).cast_signed())));
    let [by_one, by_two, by_three, by_step] = FACTORS.map(|factors| factors.in_every_half());
    let mut done = STEP_BYTES;
    while done < bytes {
        for (index, lane) in lanes.iter_mut().enumerate() {
            // SAFETY: `bytes` is a multiple of the step, so the register lies in both ranges.
            let next = unsafe { moved(source, target, done + index * LANE_BYTES) };
            *lane = folded(*lane, by_step, next);
        }
        done += STEP_BYTES;
    }
    // Move the first three registers on to the place of the final one.
    let [first, second, third, last] = lanes;
    let last = folded(first, by_three, last);
    let last = folded(second, by_two, last);
    let last = folded(third, by_one, last);
    let mut left = [0_u8; LANE_BYTES];
    // SAFETY: the array has the size of the register.
    unsafe { _mm512_storeu_si512(left.as_mut_ptr().cast(), last) };
    // Begin with a register of 0: the CRC before is already in the sum.
    crc::extend(u32::MAX, &left)
}

/// # Safety
/// A register must lie in both ranges at `place`, and `target + place` must be a multiple of its size.
#[target_feature(enable = "avx512f")]
unsafe fn moved(source: *const u8, target: *mut u8, place: usize) -> __m512i {
    // SAFETY: the caller vouches for both accesses.
    unsafe {
        let lane = _mm512_loadu_si512(source.add(place).cast());
        _mm512_stream_si512(target.add(place).cast(), lane);
        lane
    }
}

/// Moves a lane on by the distance of the factors, and adds what lies there.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn folded(lane: __m512i, factors: __m512i, next: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(lane, factors);
    let high = _mm512_clmulepi64_epi128::<0x11>(lane, factors);
    _mm512_ternarylogic_epi64::<XOR>(low, high, next)
}

/// The factors that move 16 bytes on by a distance, one for each half.
///
/// Bits are reversed, so the low half has the higher powers. Its 64 bits move 64 further than those of the high half.
/// Both products are 32 bits longer than a reduced CRC, and 1 bit short of a whole half.
#[derive(Clone, Copy)]
struct Factors {
    low: i64,
    high: i64,
}

impl Factors {
    const fn moving(bytes: usize) -> Self {
        let bits = 8 * bytes as u64;
        Self { low: (power(bits + 32) as i64) << 1, high: (power(bits - 32) as i64) << 1 }
    }

    #[target_feature(enable = "avx512f")]
    fn in_every_half(self) -> __m512i {
        let Self { low, high } = self;
        _mm512_set_epi64(high, low, high, low, high, low, high, low)
    }
}

/// The factors for moving on by one to four registers.
const FACTORS: [Factors; LANES] = [
    Factors::moving(LANE_BYTES),
    Factors::moving(2 * LANE_BYTES),
    Factors::moving(3 * LANE_BYTES),
    Factors::moving(STEP_BYTES),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 8192]);

    #[test]
    fn bytes_arrive_with_the_crc_that_the_other_way_takes() {
        if !is_supported() {
            return;
        }
        let source: Vec<u8> = (0..8192_u32 + 9).map(|index| (index * 31 + index / 253) as u8).collect();
        for (bytes, shift, crc) in [(256, 0, 0), (512, 1, 5), (768, 9, u32::MAX), (1024, 8, 77), (8192, 3, 0xE306_9283)]
        {
            let mut target = Aligned([0xAA; 8192]);
            // SAFETY: the CPU can, the target is aligned, and shift + bytes lies within both.
            let found = unsafe { copy_with_crc(source.as_ptr().add(shift), target.0.as_mut_ptr(), bytes, crc) };
            framegate_core::pool::copy::fence();
            assert_eq!(found, crc::extend(crc, &source[shift..shift + bytes]), "{bytes}");
            assert_eq!(target.0[..bytes], source[shift..shift + bytes]);
            assert!(target.0[bytes..].iter().all(|byte| *byte == 0xAA));
        }
    }

    #[test]
    fn one_bit_anywhere_changes_the_crc() {
        if !is_supported() {
            return;
        }
        let mut target = Aligned([0; 8192]);
        let mut seen = std::collections::HashSet::new();
        for bit in (0..8 * 512).step_by(7) {
            let mut source = [0_u8; 512];
            source[bit / 8] |= 1 << (bit % 8);
            // SAFETY: the CPU can, the target is aligned, and both have 512 bytes.
            let found = unsafe { copy_with_crc(source.as_ptr(), target.0.as_mut_ptr(), 512, 0) };
            assert_eq!(found, crc::extend(0, &source));
            assert!(seen.insert(found));
        }
    }
}
