// SPDX-License-Identifier: Apache-2.0
//! Payload copies. A large payload is written past the cache: nobody on this core reads it again soon, and a
//! normal store would first fetch every line it is about to overwrite, from memory, or from the cache of the core that
//! read it last.

/// From this many bytes on, stores go past the cache. Below it the frame may well be read while it is still there.
pub const NON_TEMPORAL_FROM_BYTES: usize = 64 * 1024;

/// How a copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKind {
    /// `memcpy`.
    Plain,
    /// Stores past the cache, fenced on both sides.
    NonTemporal,
}

impl CopyKind {
    /// The faster one for a payload of `bytes` that another core will read.
    #[inline]
    #[must_use]
    pub fn for_payload(bytes: usize) -> Self {
        if bytes >= NON_TEMPORAL_FROM_BYTES { Self::NonTemporal } else { Self::Plain }
    }
}

/// Copies `bytes` from `source` to `target`.
///
/// With [`CopyKind::NonTemporal`] the stores are fenced before and after: neither a release store nor a release
/// fence orders them, so without the first fence they could be seen before the word that says "being written", and
/// without the second after the word that says "committed" (PROTOCOL 4.1). A CPU without such stores copies plainly
/// between them.
///
/// # Safety
/// Both ranges must be valid for `bytes` bytes and must not overlap. Readers of `target` must decide by its commit
/// word whether to believe what they saw.
#[inline]
pub unsafe fn copy(kind: CopyKind, source: *const u8, target: *mut u8, bytes: usize) {
    if kind == CopyKind::NonTemporal {
        fence();
    }
    // SAFETY: the caller vouches for the ranges.
    unsafe { copy_unfenced(kind, source, target, bytes) };
    if kind == CopyKind::NonTemporal {
        fence();
    }
}

/// The same without a fence: [`fence`] comes once, before something is shown that vouches for the copy.
///
/// # Safety
/// As [`copy`].
#[inline]
pub unsafe fn copy_unfenced(kind: CopyKind, source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if kind == CopyKind::NonTemporal && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2, and the caller vouches for the ranges.
        return unsafe { x86::copy_past_cache(source, target, bytes) };
    }
    let _ = kind;
    // SAFETY: the caller vouches for the ranges.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
}

/// Everything stored so far, past the cache too, is stored before anything that is stored later.
#[inline]
pub fn fence() {
    // SAFETY: a fence touches no memory; every x86-64 has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_stream_si256};

    const LANE: usize = size_of::<__m256i>();
    const LINE: usize = 64;
    /// A cache line a step keeps the write-combining buffers full.
    const STEP: usize = 4 * LANE;

    /// # Safety
    /// As [`super::copy`], on a CPU with AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn copy_past_cache(source: *const u8, target: *mut u8, bytes: usize) {
        // Whole cache lines are stored; payload slots begin with one, and then this is 0.
        let head = target.align_offset(LINE).min(bytes);
        let body = (bytes - head) / STEP * STEP;
        // SAFETY: head + body <= bytes, so every access lies within the caller's ranges; `target + head` is aligned.
        unsafe {
            std::ptr::copy_nonoverlapping(source, target, head);
            let (mut from, mut to) = (source.add(head), target.add(head));
            let end = from.add(body);
            while from < end {
                let lanes: [__m256i; 4] = std::array::from_fn(|lane| _mm256_loadu_si256(from.add(lane * LANE).cast()));
                for (lane, value) in lanes.into_iter().enumerate() {
                    _mm256_stream_si256(to.add(lane * LANE).cast(), value);
                }
                from = from.add(STEP);
                to = to.add(STEP);
            }
            std::ptr::copy_nonoverlapping(from, to, bytes - head - body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_copy_every_length_and_alignment_and_nothing_else() {
        let source: Vec<u8> = (0..2048_u32).map(|index| (index * 31 + 7) as u8).collect();
        for kind in [CopyKind::Plain, CopyKind::NonTemporal] {
            for length in (0..300).chain([511, 512, 513, 1024, 1500]) {
                for shift in [0, 1, 7, 32, 63] {
                    let mut target = vec![0xAA_u8; 2048];
                    // SAFETY: shift + length is below 2048 in both, which do not overlap.
                    unsafe { copy(kind, source.as_ptr().add(shift), target.as_mut_ptr().add(shift), length) };
                    assert_eq!(&target[shift..shift + length], &source[shift..shift + length]);
                    assert!(target[..shift].iter().chain(&target[shift + length..]).all(|byte| *byte == 0xAA));
                }
            }
        }
    }

    #[test]
    fn large_payloads_go_past_the_cache() {
        assert_eq!(CopyKind::for_payload(NON_TEMPORAL_FROM_BYTES - 1), CopyKind::Plain);
        assert_eq!(CopyKind::for_payload(NON_TEMPORAL_FROM_BYTES), CopyKind::NonTemporal);
    }
}
