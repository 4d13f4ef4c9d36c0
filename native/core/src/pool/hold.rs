// SPDX-License-Identifier: Apache-2.0
//! A hold: copies of frames that wait longer than their ring keeps them, or that wait behind a barrier. Its memory is a
//! bounded arena; nothing is evicted.
//!
//! The copies of a stream lie one after the other in chunks of an arena that all streams share. They are released in
//! their order; only the copy of the frame that was joined last may stay longer. So no stream blocks another, and a
//! frame that finds no space displaces no other frame.

use std::collections::VecDeque;
use std::io;

use super::arena::{Arena, NoPlace};
use super::copy::{CopyKind, copy};
use super::reader::FrameRef;
use super::tensor::Tensor;

/// Copies begin at multiples of this, so that an empty payload has a place too.
const GRAIN: usize = 8;

/// The copy of one frame.
#[derive(Clone, Copy, Debug)]
pub struct HeldFrame {
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame's sequence.
    pub seq: u64,
    /// Where the payload is in its arena.
    start: usize,
    /// Bytes of payload.
    pub bytes: u32,
    /// The slot's time, or null.
    pub timestamp_ns: u64,
    /// The shape, strides and dtype of the payload.
    pub tensor: Tensor,
}

/// The result of an attempt to keep a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The frame is kept, with this many bytes.
    Whole(u32),
    /// The frame was overwritten while it was copied.
    Torn,
    /// There is no place for it.
    No(NoPlace),
}

/// The copies of all streams that are kept for one purpose.
#[derive(Debug)]
pub struct Hold {
    arena: Arena,
    /// The copies of each stream, oldest first.
    streams: Vec<VecDeque<HeldFrame>>,
    /// The most copies of one stream.
    frames_max: usize,
    /// How many copies are kept.
    len: usize,
}

impl Default for Hold {
    /// Makes a hold that can keep nothing.
    fn default() -> Self {
        Self { arena: Arena::default(), streams: Vec::new(), frames_max: 0, len: 0 }
    }
}

impl Hold {
    /// Makes a hold for `bytes` of all streams together, and `frames_max` frames of each. `ahead_bytes` is that of
    /// [`Arena::new`].
    ///
    /// # Errors
    /// As [`Arena::new`].
    pub fn new(streams: usize, bytes: usize, frames_max: usize, ahead_bytes: usize) -> io::Result<Self> {
        let frames = if bytes == 0 { 0 } else { frames_max };
        let streams = (0..streams).map(|_| VecDeque::with_capacity(frames)).collect();
        Ok(Self { arena: Arena::new(bytes, ahead_bytes)?, streams, frames_max: frames, len: 0 })
    }

    /// Whether nothing is kept.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many copies are kept.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The most bytes that were in use at one time.
    #[must_use]
    pub const fn peak_bytes(&self) -> usize {
        self.arena.peak_bytes()
    }

    /// Copies a frame of a ring, after those of its stream. With `may_fault`, this thread takes memory from the system
    /// itself if the helper has not yet.
    pub fn keep(&mut self, stream: usize, epoch: u64, frame: &FrameRef, tensor: &Tensor, may_fault: bool) -> Kept {
        let bytes = frame.header.values_bytes;
        let start = match self.place(stream, bytes as usize, may_fault) {
            Ok(start) => start,
            Err(why) => return Kept::No(why),
        };
        let target = self.arena.bytes_mut(start, bytes as usize).as_mut_ptr();
        // SAFETY: the caller has just read the frame and keeps its regions mapped; the target is as long as the
        // payload.
        unsafe { copy(CopyKind::for_payload(bytes as usize), frame.payload, target, bytes as usize) };
        if !frame.is_valid() {
            return Kept::Torn;
        }
        let held =
            HeldFrame { epoch, seq: frame.seq, start, bytes, timestamp_ns: frame.header.timestamp_ns, tensor: *tensor };
        self.remember(stream, held);
        Kept::Whole(bytes)
    }

    /// Copies a frame that is in no ring. Returns false if there is no place for it.
    pub fn keep_bytes(
        &mut self,
        stream: usize,
        (epoch, seq): (u64, u64),
        payload: &[u8],
        timestamp_ns: u64,
        tensor: &Tensor,
    ) -> bool {
        let place = self.place(stream, payload.len(), true);
        let (Ok(start), Ok(bytes)) = (place, u32::try_from(payload.len())) else { return false };
        self.arena.bytes_mut(start, payload.len()).copy_from_slice(payload);
        self.remember(stream, HeldFrame { epoch, seq, start, bytes, timestamp_ns, tensor: *tensor });
        true
    }

    fn place(&self, stream: usize, bytes: usize, may_fault: bool) -> Result<usize, NoPlace> {
        let Some(frames) = self.streams.get(stream) else { return Err(NoPlace::Full) };
        if frames.len() == self.frames_max {
            return Err(NoPlace::Full);
        }
        self.arena.place(frames.back().map(|newest| newest.start + newest.grains()), grains(bytes), may_fault)
    }

    fn remember(&mut self, stream: usize, held: HeldFrame) {
        self.arena.take(held.start, held.grains());
        self.streams[stream].push_back(held);
        self.len += 1;
    }

    /// Releases the copies of a stream before this epoch and sequence, except those for which `stays` is true. A copy
    /// that stays does not keep later ones from being released.
    pub fn release(&mut self, stream: usize, before: (u64, u64), stays: impl Fn(&HeldFrame) -> bool) {
        let Some(frames) = self.streams.get_mut(stream) else { return };
        let mut at = 0;
        while let Some(oldest) = frames.get(at).filter(|oldest| (oldest.epoch, oldest.seq) < before) {
            if stays(oldest) {
                at += 1;
                continue;
            }
            self.arena.give_back(oldest.start, oldest.grains());
            frames.remove(at);
            self.len -= 1;
        }
    }

    /// The copy of a frame and its payload, if there is one. The payload stays at its address until it is released.
    #[inline]
    #[must_use]
    pub fn get(&self, stream: usize, epoch: u64, seq: u64) -> Option<(&HeldFrame, &[u8])> {
        if self.len == 0 {
            return None;
        }
        let frames = self.streams.get(stream)?;
        // Sequences rise within an epoch, and epochs rise.
        let at = frames.binary_search_by_key(&(epoch, seq), |frame| (frame.epoch, frame.seq)).ok()?;
        let frame = frames.get(at)?;
        Some((frame, self.arena.bytes(frame.start, frame.bytes as usize)))
    }
}

impl HeldFrame {
    const fn grains(&self) -> usize {
        grains(self.bytes as usize)
    }
}

const fn grains(bytes: usize) -> usize {
    if bytes == 0 { GRAIN } else { bytes.next_multiple_of(GRAIN) }
}

#[cfg(test)]
mod tests {
    use super::super::tensor::ROW_MAJOR;
    use super::*;

    const EPOCH: u64 = 7;
    const CHUNK: usize = 4096;

    fn hold(streams: usize, chunks: usize, frames: usize) -> Hold {
        Hold::new(streams, chunks * CHUNK, frames, 0).unwrap()
    }

    fn keep(hold: &mut Hold, stream: usize, seq: u64, bytes: usize) -> bool {
        let payload = vec![mark(stream, seq); bytes];
        let tensor = Tensor::contiguous(1, ROW_MAJOR, &[bytes as i32]);
        hold.keep_bytes(stream, (EPOCH, seq), &payload, seq, &tensor)
    }

    fn mark(stream: usize, seq: u64) -> u8 {
        (seq as u8).wrapping_mul(5).wrapping_add(stream as u8)
    }

    fn held(hold: &Hold, stream: usize, seq: u64) -> Option<Vec<u8>> {
        hold.get(stream, EPOCH, seq).map(|(_, payload)| payload.to_vec())
    }

    #[test]
    fn what_finds_no_place_takes_nobodys() {
        let mut hold = hold(1, 2, 16);
        assert!(keep(&mut hold, 0, 0, 30) && keep(&mut hold, 0, 1, 2 * CHUNK - 32));
        assert!(!keep(&mut hold, 0, 2, 1));
        assert_eq!(held(&hold, 0, 0), Some(vec![mark(0, 0); 30]));
        assert_eq!(held(&hold, 0, 1), Some(vec![mark(0, 1); 2 * CHUNK - 32]));
        assert_eq!(held(&hold, 0, 2), None);
    }

    #[test]
    fn a_stream_that_waits_long_holds_up_no_other() {
        let mut hold = hold(2, 2, 10_000);
        assert!(keep(&mut hold, 0, 0, 100));
        for seq in 0..10_000 {
            assert!(keep(&mut hold, 1, seq, 4000), "{seq}");
            hold.release(1, (EPOCH, seq + 1), |_| false);
        }
        assert_eq!(held(&hold, 0, 0), Some(vec![mark(0, 0); 100]));
        assert_eq!(hold.len(), 1);
    }

    #[test]
    fn what_is_decided_behind_a_copy_that_stays_gives_its_place_back() {
        let mut hold = hold(1, 2, 16);
        assert!(keep(&mut hold, 0, 0, 100));
        for seq in 1..1_000 {
            assert!(keep(&mut hold, 0, seq, 4000), "{seq}");
            hold.release(0, (EPOCH, seq + 1), |held| held.seq == 0);
        }
        assert_eq!(held(&hold, 0, 0), Some(vec![mark(0, 0); 100]));
        assert_eq!(hold.len(), 1);
    }

    #[test]
    fn an_empty_payload_has_a_place_and_the_frames_are_counted() {
        let mut hold = hold(1, 1, 3);
        for seq in 0..3 {
            assert!(keep(&mut hold, 0, seq, 0));
        }
        assert!(!keep(&mut hold, 0, 3, 0));
        assert_eq!(held(&hold, 0, 2), Some(vec![]));
    }

    #[test]
    fn every_kept_frame_keeps_its_bytes_however_they_come_and_go() {
        const STREAMS: usize = 3;
        let mut hold = hold(STREAMS, 16, 64);
        let (mut next, mut oldest, mut word, mut refused) = ([0_u64; STREAMS], [0_u64; STREAMS], 1_u64, 0);
        for _ in 0..4_000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let stream = (word >> 50) as usize % STREAMS;
            // Most are small, some as large as several chunks.
            let most = if word >> 60 == 15 { 3 * CHUNK } else { 900 };
            let bytes = (word >> 33) as usize % most;
            if word >> 62 == 0 {
                oldest[stream] = (oldest[stream] + (word >> 40) % 8).min(next[stream]);
                hold.release(stream, (EPOCH, oldest[stream]), |_| false);
            } else if keep(&mut hold, stream, next[stream], bytes) {
                next[stream] += 1;
            } else {
                refused += 1;
            }
            for stream in 0..STREAMS {
                for seq in oldest[stream]..next[stream] {
                    let found = held(&hold, stream, seq).expect("it was not released");
                    assert!(found.iter().all(|byte| *byte == mark(stream, seq)), "{stream} {seq}");
                }
            }
        }
        assert!(next.iter().all(|next| *next > 100) && refused > 100, "{next:?} {refused}");
        for (stream, next) in next.into_iter().enumerate() {
            hold.release(stream, (EPOCH, next), |_| false);
        }
        assert!(hold.is_empty());
        assert!(keep(&mut hold, 0, next[0], 16 * CHUNK), "all of it is free again");
    }
}
