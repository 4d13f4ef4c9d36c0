// SPDX-License-Identifier: Apache-2.0
//! Copies of payloads. A large payload is written past the cache: no thread on this core reads it again soon. A normal
//! store would first fetch every line that it is about to overwrite, from memory or from the cache of the core that
//! read it last.

/// From this many bytes on, a copy goes past the cache. A smaller frame may well be read while it is still in the
/// cache.
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
/// With [`CopyKind::NonTemporal`] the stores are fenced before and after, because neither a release store nor a release
/// fence orders them. Without the first fence they could be seen before the word that says "being written". Without the
/// second they could be seen after the word that says "committed" (PROTOCOL 4.1). A CPU without such stores makes a
/// plain copy between the fences.
///
/// # Safety
/// Both ranges must be valid for `bytes` bytes and must not overlap. Readers of `target` must check its commit word
/// before they use what they read.
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

/// Like [`copy`], without the fences. The caller must call [`fence`] once before it publishes the copied bytes.
///
/// # Safety
/// Like [`copy`].
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

/// Orders all stores so far, past the cache too, before all later stores.
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
    /// One cache line for each step keeps the write-combining buffers full.
    const STEP: usize = 4 * LANE;

    /// # Safety
    /// As [`super::copy`], on a CPU with AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn copy_past_cache(source: *const u8, target: *mut u8, bytes: usize) {
        // Whole cache lines are stored. Payload slots begin at the start of one, and `head` is 0 then.
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
