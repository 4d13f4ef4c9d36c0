// SPDX-License-Identifier: Apache-2.0
//! Copies waiting frames out of a ring before it comes round, so that no producer laps them.
//!
//! A frame stays in its ring until half of the slots have passed since it came, so streams in step are copied only
//! once, into their rows. An agent that lags copies nothing out: it has no time for that, and its newest frames are
//! still in the ring.

use std::io;

use framegate_core::pool::arena::NoPlace;
use framegate_core::pool::hold::{HeldFrame, Hold, Kept};

use super::{Engine, Habits};
use crate::wires::Wires;

/// Most bytes copied in one turn, so that descriptors do not wait long.
const BYTES: u64 = 8 << 20;
/// Most frames of one stream looked at in one turn.
const LOOKS: usize = 8192;

/// Copies of frames that wait for their partners, and how far each stream was copied out.
pub struct Copying {
    /// The copies themselves.
    pub waiting: Hold,
    /// Whether a frame is copied when it comes; otherwise when half a ring has passed since.
    pub(super) is_at_arrival: bool,
    /// Most bytes that all copies may take; 0: nothing is copied out.
    bytes_max: usize,
    streams: Vec<Stream>,
    /// The stream that the next turn looks at first.
    first: usize,
}

#[derive(Clone, Copy, Default)]
struct Stream {
    /// Epoch and sequence below which nothing is left to copy.
    done: (u64, u64),
    /// Epoch and sequence of the most recent frame that found no space.
    full_at: Option<(u64, u64)>,
    /// How many frames found no space.
    refused: u64,
    /// Bytes of the most recent frame that was copied out.
    frame_bytes: u32,
}

impl Copying {
    /// Makes the arena. `frames_max`: most copies for each stream.
    pub(super) fn new(streams: usize, frames_max: usize, habits: &Habits) -> io::Result<Self> {
        let bytes_max = habits.pending_bytes;
        Ok(Self {
            waiting: Hold::new(streams, bytes_max, frames_max, habits.ahead_bytes)?,
            is_at_arrival: habits.copies_at_arrival && bytes_max > 0,
            bytes_max,
            streams: vec![Stream::default(); streams],
            first: 0,
        })
    }

    /// How many frames of a stream should have been copied but found no space.
    pub fn refused(&self, stream: usize) -> u64 {
        self.streams[stream].refused
    }

    /// Bytes of a stream's most recent copy; 0 if there was none.
    pub fn frame_bytes(&self, stream: usize) -> u32 {
        self.streams[stream].frame_bytes
    }
}

impl<W: Wires> Engine<W> {
    /// The copy of a frame, if one exists.
    #[inline]
    pub(super) fn copy_of(&self, stream: usize, epoch: u64, seq: u64) -> Option<(&HeldFrame, &[u8])> {
        let Self { copying, cut, .. } = self;
        [&copying.waiting, &cut.behind, &cut.restored].into_iter().find_map(|hold| hold.get(stream, epoch, seq))
    }

    /// Releases copies of frames that are decided.
    #[inline]
    pub(super) fn release_copies(&mut self) {
        if self.cut.taking.is_some() {
            self.copy_decided();
        }
        let Self { copying: Copying { waiting, .. }, cut, stage, ports, .. } = self;
        if waiting.is_empty() && cut.behind.is_empty() && cut.restored.is_empty() {
            return;
        }
        let had_restored = !cut.restored.is_empty();
        for index in 0..ports.len() {
            if let Some(undecided) = stage.undecided_from(index) {
                let stays = |held: &HeldFrame| held.epoch == undecided.0 && stage.is_joined_last(index, held.seq);
                for hold in [&mut *waiting, &mut cut.behind, &mut cut.restored] {
                    hold.release(index, undecided, stays);
                }
            }
        }
        if had_restored && cut.restored.is_empty() {
            // The memory of restored copies is used for nothing else, so it goes with the final one.
            cut.restored = Hold::default();
        }
    }

    /// Gives up the frames that a lapped stream's ring will soon overwrite, so that the next rows are made of frames
    /// that stay readable.
    #[cold]
    pub(super) fn catch_up(&mut self, index: usize, epoch: u64) {
        self.copy_stream_of_snapshot(index);
        let Some(lap) = self.ports[index].catch_up(epoch) else { return };
        let Self { stage, copying, cut, .. } = self;
        let holds = [&copying.waiting, &cut.behind, &cut.restored];
        let is_copied = |seq| holds.iter().any(|hold| hold.get(index, epoch, seq).is_some());
        stage.lost_below(index, epoch, (lap.gone_below, lap.resume_at), is_copied);
    }

    /// Copies out waiting frames where half a ring has passed since they came; returns how many.
    #[inline]
    pub(super) fn copy_out(&mut self) -> usize {
        if self.copying.bytes_max == 0 {
            return 0;
        }
        let (streams, mut frames, mut left) = (self.ports.len(), 0, BYTES);
        for turn in 0..streams {
            let index = (self.copying.first + turn) % streams;
            if self.is_copy_due(index) {
                frames += self.copy_stream(index, &mut left);
            }
        }
        self.copying.first = (self.copying.first + usize::from(frames > 0)) % streams.max(1);
        frames
    }

    #[inline]
    fn is_copy_due(&self, index: usize) -> bool {
        let half = u64::from(self.ports[index].nslots() / 2).max(1);
        let oldest = self.stage.newest_needed_from(index).map(|needed| needed.max(self.copying.streams[index].done));
        let heard = self.stage.last_heard(index);
        heard.zip(oldest).is_some_and(|(heard, oldest)| heard.0 == oldest.0 && heard.1 >= oldest.1.saturating_add(half))
    }

    #[cold]
    fn copy_stream(&mut self, index: usize, left: &mut u64) -> usize {
        let half = u64::from(self.ports[index].nslots() / 2);
        let Some((epoch, heard)) = self.stage.last_heard(index).filter(|_| half > 0) else { return 0 };
        let mut frames = 0;
        for _ in 0..LOOKS {
            let done = self.copying.streams[index].done;
            let from = if done.0 == epoch { done.1 } else { 0 };
            let oldest = self.stage.waits_from(index, from).filter(|seq| seq.saturating_add(half) <= heard);
            let Some(seq) = oldest.filter(|_| *left > 0) else { break };
            let is_copied = self.copy_of(index, epoch, seq).is_some();
            let port = &mut self.ports[index];
            // A frame that cannot be read any more is recorded when the stage picks it.
            if let (false, Ok(frame)) = (is_copied, port.read(epoch, seq))
                && let Some(tensor) = port.tensor()
            {
                match self.copying.waiting.keep(index, epoch, &frame, tensor, false) {
                    Kept::Whole(bytes) => {
                        frames += 1;
                        self.copying.streams[index].frame_bytes = bytes;
                        *left = left.saturating_sub(u64::from(bytes));
                        self.counters.copied_out_frames += 1;
                        self.counters.copied_out_bytes += u64::from(bytes);
                    }
                    Kept::Torn => {}
                    Kept::No(NoPlace::NotYet) => break,
                    Kept::No(NoPlace::Full) => {
                        self.refuse_copy(index, (epoch, seq));
                        break;
                    }
                }
            }
            self.copying.streams[index].done = (epoch, seq + 1);
        }
        frames
    }

    /// Counts a frame that found no space, once. Each turn tries it again.
    pub(crate) fn refuse_copy(&mut self, index: usize, frame: (u64, u64)) {
        let stream = &mut self.copying.streams[index];
        if stream.full_at.replace(frame) != Some(frame) {
            stream.refused += 1;
            self.counters.arena_full += 1;
        }
    }

    /// How many frames of a stream can wait: in its ring, and in the agent's memory if all were as large as the newest
    /// copy.
    pub fn holds(&self, stream: usize) -> u64 {
        let copies = match (self.copying.bytes_max as u64, u64::from(self.copying.frame_bytes(stream))) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            (bytes, frame_bytes) => bytes / frame_bytes,
        };
        copies.saturating_add(self.ports[stream].nslots().into()).min(self.stage.history() as u64)
    }
}
