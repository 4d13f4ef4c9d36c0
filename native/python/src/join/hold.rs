// SPDX-License-Identifier: Apache-2.0
//! Copies of what came behind a barrier, so that no producer laps it while its stream is blocked (`hold = "payload"`).
//!
//! One arena for each stream, used as a ring. Nothing is evicted: a copy stays until its frame is decided, and what finds
//! no room ends the wait instead.

use std::collections::VecDeque;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::tensor::Tensor;

use super::held::HeldFrame;

/// Copies begin at multiples of it, so that an empty payload has a place too.
const GRAIN: usize = 8;

/// The copies of one stream, oldest first.
pub(super) struct Hold {
    arena: Vec<u8>,
    frames: VecDeque<HeldFrame>,
    most: usize,
    next: usize,
}

impl Hold {
    /// Room for so many bytes and frames. The system gives the memory when it is first used, or in `prefault`.
    pub(super) fn new(bytes: usize, frames: usize) -> Self {
        Self { arena: vec![0; bytes], frames: VecDeque::with_capacity(frames), most: frames, next: 0 }
    }

    /// Takes the memory from the system now: the first touch is several times slower than a copy.
    pub(super) fn prefault(&mut self) {
        if self.frames.is_empty() {
            self.arena.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Copies a frame of a ring; None: there is no room; false: it was overwritten meanwhile.
    pub(super) fn keep(&mut self, epoch: u64, frame: &FrameRef, tensor: &Tensor) -> Option<bool> {
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
    pub(super) fn keep_bytes(&mut self, at: (u64, u64), payload: &[u8], timestamp_ns: u64, tensor: &Tensor) -> bool {
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
    pub(super) fn release(&mut self, before: (u64, u64)) {
        while self.frames.front().is_some_and(|oldest| (oldest.epoch, oldest.seq) < before) {
            self.frames.pop_front();
        }
    }

    /// The copy of a frame, if there is one.
    pub(super) fn get(&self, epoch: u64, seq: u64) -> Option<&HeldFrame> {
        // Sequences rise within an epoch, and epochs rise.
        let at = self.frames.binary_search_by_key(&(epoch, seq), |frame| (frame.epoch, frame.seq)).ok()?;
        self.frames.get(at)
    }

    /// Its payload; it stays where it is until it is released.
    pub(super) fn payload(&self, frame: &HeldFrame) -> &[u8] {
        &self.arena[frame.start..frame.start + frame.bytes as usize]
    }
}

const fn grains(bytes: usize) -> usize {
    if bytes == 0 { GRAIN } else { bytes.next_multiple_of(GRAIN) }
}
