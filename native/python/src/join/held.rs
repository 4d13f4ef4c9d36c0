// SPDX-License-Identifier: Apache-2.0
//! Frames that wait for their partners in memory of the agent's own (`pending = "copy"`), where no producer laps them.
//!
//! One arena for each stream, used as a ring: the oldest copy makes room for the newest. What was evicted is looked for
//! in the producer's ring once more, and is lost if it is not there either.

use std::collections::VecDeque;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::hold::HeldFrame;
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::tensor::Tensor;

/// The copies of one stream, oldest first.
pub(super) struct Held {
    arena: Vec<u8>,
    frames: VecDeque<HeldFrame>,
    most: usize,
    next: usize,
    pub(super) evicted: u64,
}

impl Held {
    /// Room for so many bytes and frames; all of it is touched now.
    pub(super) fn new(bytes: usize, frames: usize) -> Self {
        let mut arena = vec![0_u8; bytes];
        // A zeroed vector is untouched memory; the first touch is slow.
        arena.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        Self { arena, frames: VecDeque::with_capacity(frames), most: frames, next: 0, evicted: 0 }
    }

    /// Copies a frame; false when it was overwritten meanwhile, or is larger than the arena.
    pub(super) fn keep(&mut self, epoch: u64, frame: &FrameRef, tensor: &Tensor) -> bool {
        let bytes = frame.header.values_bytes as usize;
        let Some(start) = self.make_room(bytes) else { return false };
        let target = self.arena[start..start + bytes].as_mut_ptr();
        // SAFETY: the frame's regions are mapped by whoever read it just now; the target is as long as the payload.
        unsafe { copy(CopyKind::Plain, frame.payload, target, bytes) };
        if !frame.is_valid() {
            return false;
        }
        self.remember(epoch, frame.seq, start, frame.header.values_bytes, frame.header.timestamp_ns, tensor);
        true
    }

    /// Copies a frame that lies in no ring; false when it is larger than the arena.
    pub(super) fn keep_bytes(
        &mut self,
        (epoch, seq): (u64, u64),
        payload: &[u8],
        timestamp_ns: u64,
        tensor: &Tensor,
    ) -> bool {
        let Ok(bytes) = u32::try_from(payload.len()) else { return false };
        let Some(start) = self.make_room(payload.len()) else { return false };
        self.arena[start..start + payload.len()].copy_from_slice(payload);
        self.remember(epoch, seq, start, bytes, timestamp_ns, tensor);
        true
    }

    fn remember(&mut self, epoch: u64, seq: u64, start: usize, bytes: u32, timestamp_ns: u64, tensor: &Tensor) {
        self.next = start + bytes as usize;
        self.frames.push_back(HeldFrame { epoch, seq, start, bytes, timestamp_ns, tensor: *tensor });
    }

    /// Where so many bytes can lie, the oldest having made room; None where they never can.
    fn make_room(&mut self, bytes: usize) -> Option<usize> {
        if bytes > self.arena.len() {
            return None;
        }
        if self.arena.len() - self.next < bytes {
            // Payloads are not split: what lies between here and the end belongs to the oldest, which go.
            self.evict(self.next, self.arena.len());
            self.next = 0;
        }
        let start = self.next;
        self.evict(start, start + bytes);
        if self.frames.len() == self.most {
            self.frames.pop_front();
            self.evicted += 1;
        }
        Some(start)
    }

    /// The copy of a frame, if it is still there.
    pub(super) fn get(&self, epoch: u64, seq: u64) -> Option<&HeldFrame> {
        // Sequences rise within an epoch, and epochs rise.
        let at = self.frames.binary_search_by_key(&(epoch, seq), |frame| (frame.epoch, frame.seq)).ok()?;
        self.frames.get(at)
    }

    /// Where its payload is; valid until the next `keep`.
    pub(super) fn payload(&self, frame: &HeldFrame) -> *const u8 {
        self.arena[frame.start..frame.start + frame.bytes as usize].as_ptr()
    }

    /// Gives up the oldest copies that lie in this part of the arena.
    fn evict(&mut self, from: usize, to: usize) {
        while let Some(oldest) = self.frames.front() {
            let end = oldest.start + oldest.bytes as usize;
            if oldest.start >= to || end <= from {
                break;
            }
            self.frames.pop_front();
            self.evicted += 1;
        }
    }
}
