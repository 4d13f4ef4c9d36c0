// SPDX-License-Identifier: Apache-2.0
//! Copies of what came behind a barrier, so that no producer laps it while its stream is blocked (`hold = "payload"`).
//!
//! One arena for each stream, used as a ring. Nothing is evicted: a copy stays until its frame is decided, and what finds
//! no room ends the wait instead.

use std::collections::VecDeque;

use super::copy::{CopyKind, copy};
use super::reader::FrameRef;
use super::tensor::Tensor;

/// Copies begin at multiples of it, so that an empty payload has a place too.
const GRAIN: usize = 8;

/// A copy.
#[derive(Clone, Copy, Debug)]
pub struct HeldFrame {
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame.
    pub seq: u64,
    /// Where its payload lies in its arena.
    pub start: usize,
    /// Bytes of payload.
    pub bytes: u32,
    /// The slot's time, or null.
    pub timestamp_ns: u64,
    /// What the payload is.
    pub tensor: Tensor,
}

/// The copies of one stream, oldest first.
#[derive(Debug)]
pub struct Hold {
    arena: Vec<u8>,
    frames: VecDeque<HeldFrame>,
    most: usize,
    next: usize,
}

impl Hold {
    /// Room for so many bytes and frames. The system gives the memory when it is first used, or in `prefault`.
    #[must_use]
    pub fn new(bytes: usize, frames: usize) -> Self {
        Self { arena: vec![0; bytes], frames: VecDeque::with_capacity(frames), most: frames, next: 0 }
    }

    /// Takes the memory from the system now: the first touch is several times slower than a copy.
    pub fn prefault(&mut self) {
        if self.frames.is_empty() {
            self.arena.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        }
    }

    /// Whether nothing is kept.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many copies are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Copies a frame of a ring; None: there is no room; false: it was overwritten meanwhile.
    pub fn keep(&mut self, epoch: u64, frame: &FrameRef, tensor: &Tensor) -> Option<bool> {
        let bytes = frame.header.values_bytes;
        let start = self.room(bytes as usize)?;
        let target = self.arena[start..start + bytes as usize].as_mut_ptr();
        // SAFETY: the frame's regions are mapped by whoever read it just now; the target is as long as the payload.
        unsafe { copy(CopyKind::Plain, frame.payload, target, bytes as usize) };
        if !frame.is_valid() {
            return Some(false);
        }
        self.remember((epoch, frame.seq), start, bytes, frame.header.timestamp_ns, tensor);
        Some(true)
    }

    /// Copies a frame that lies in no ring; false: there is no room.
    pub fn keep_bytes(&mut self, at: (u64, u64), payload: &[u8], timestamp_ns: u64, tensor: &Tensor) -> bool {
        let Some((start, bytes)) = self.room(payload.len()).zip(u32::try_from(payload.len()).ok()) else {
            return false;
        };
        self.arena[start..start + payload.len()].copy_from_slice(payload);
        self.remember(at, start, bytes, timestamp_ns, tensor);
        true
    }

    fn remember(&mut self, (epoch, seq): (u64, u64), start: usize, bytes: u32, timestamp_ns: u64, tensor: &Tensor) {
        self.next = start + grains(bytes as usize);
        self.frames.push_back(HeldFrame { epoch, seq, start, bytes, timestamp_ns, tensor: *tensor });
    }

    /// Where so many bytes can lie beside what is kept.
    fn room(&self, bytes: usize) -> Option<usize> {
        let (need, end) = (grains(bytes), self.arena.len());
        let Some(oldest) = self.frames.front() else { return (need <= end).then_some(0) };
        if self.frames.len() == self.most {
            return None;
        }
        // Payloads are not split: what does not fit behind the newest goes to the start.
        if self.next > oldest.start {
            let behind = end - self.next >= need;
            return if behind { Some(self.next) } else { (need <= oldest.start).then_some(0) };
        }
        (oldest.start - self.next >= need).then_some(self.next)
    }

    /// Lets go of what lies before this epoch and sequence.
    pub fn release(&mut self, before: (u64, u64)) {
        while self.frames.front().is_some_and(|oldest| (oldest.epoch, oldest.seq) < before) {
            self.frames.pop_front();
        }
    }

    /// The copy of a frame, if there is one.
    #[must_use]
    pub fn get(&self, epoch: u64, seq: u64) -> Option<&HeldFrame> {
        // Sequences rise within an epoch, and epochs rise.
        let at = self.frames.binary_search_by_key(&(epoch, seq), |frame| (frame.epoch, frame.seq)).ok()?;
        self.frames.get(at)
    }

    /// Its payload; it stays where it is until it is released.
    #[must_use]
    pub fn payload(&self, frame: &HeldFrame) -> &[u8] {
        &self.arena[frame.start..frame.start + frame.bytes as usize]
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

    fn keep(hold: &mut Hold, seq: u64, bytes: usize) -> bool {
        let payload = vec![seq as u8; bytes];
        hold.keep_bytes((EPOCH, seq), &payload, seq, &Tensor::contiguous(1, ROW_MAJOR, &[bytes as i32]))
    }

    fn held(hold: &Hold, seq: u64) -> Option<Vec<u8>> {
        hold.get(EPOCH, seq).map(|frame| hold.payload(frame).to_vec())
    }

    #[test]
    fn what_finds_no_room_takes_nobodys_place() {
        let mut hold = Hold::new(64, 16);
        assert!(keep(&mut hold, 0, 30) && keep(&mut hold, 1, 32));
        assert!(!keep(&mut hold, 2, 1));
        assert_eq!(held(&hold, 0), Some(vec![0; 30]));
        assert_eq!(held(&hold, 1), Some(vec![1; 32]));
        assert_eq!(held(&hold, 2), None);
    }

    #[test]
    fn released_room_is_used_again_and_a_payload_is_never_split() {
        let mut hold = Hold::new(64, 16);
        assert!(keep(&mut hold, 0, 24) && keep(&mut hold, 1, 24));
        assert!(!keep(&mut hold, 2, 24), "16 bytes are left behind, none before");
        hold.release((EPOCH, 1));
        assert!(keep(&mut hold, 2, 24), "at the start");
        assert!(!keep(&mut hold, 3, 8), "the oldest begins where the newest ends");
        assert_eq!(held(&hold, 1), Some(vec![1; 24]));
        hold.release((EPOCH + 1, 0));
        assert!(hold.is_empty() && keep(&mut hold, 4, 64));
    }

    #[test]
    fn an_empty_payload_has_a_place_and_the_frames_are_counted() {
        let mut hold = Hold::new(64, 3);
        for seq in 0..3 {
            assert!(keep(&mut hold, seq, 0));
        }
        assert!(!keep(&mut hold, 3, 0));
        assert_eq!(held(&hold, 2), Some(vec![]));
    }

    #[test]
    fn every_kept_frame_keeps_its_bytes_however_they_come_and_go() {
        let mut hold = Hold::new(1000, 64);
        let (mut next, mut oldest, mut word) = (0_u64, 0_u64, 1_u64);
        for _ in 0..20_000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bytes = (word >> 33) as usize % 200;
            if word >> 62 == 0 {
                oldest = (oldest + (word >> 40) % 4).min(next);
                hold.release((EPOCH, oldest));
            } else if keep(&mut hold, next, bytes) {
                next += 1;
            }
            for seq in oldest..next {
                let found = held(&hold, seq).expect("it was not released");
                assert!(found.iter().all(|byte| *byte == seq as u8), "{seq}");
            }
        }
        assert!(next > 1000);
    }
}
