// SPDX-License-Identifier: Apache-2.0
//! Copies the frames of a snapshot in slices, so that the loop never stands still for long.
//!
//! The cut decides at once which frames belong to the snapshot. Each of them is copied before it stops waiting: when its
//! turn comes, or before that when it is joined or decided otherwise. While a frame waits it stays readable, because
//! frames are copied out of a ring before it comes round.

use framegate_core::clock::{monotonic_ns, thread_cpu_ns};
use framegate_join::stage::Pending;

use super::Engine;
use super::cut::{Cut, News};
use crate::records::Records;
use crate::wires::Wires;

/// The time after which no further frame is copied in one go. Memory that the system has yet to give is slow.
const SLICE_NS: u64 = 500_000;
/// Most bytes copied in one go.
const SLICE_BYTES: usize = 1 << 20;
/// Most frames copied in one go.
const SLICE_FRAMES: usize = 256;

/// The frames of a snapshot, and which of them are copied.
pub(super) struct Taking {
    checkpoint_id: u64,
    /// In the order in which they came; the index of a frame is its place among the records.
    frames: Vec<Pending>,
    is_done: Vec<bool>,
    /// The next frame whose turn it is.
    next: usize,
    /// For each stream, where its frames are in `frames`, by epoch and sequence; and how many of them are decided.
    by_stream: Vec<(Vec<usize>, usize)>,
    records: Records,
    overwritten: Vec<(usize, u64, u64)>,
}

impl Taking {
    pub(super) fn new(checkpoint_id: u64, frames: Vec<Pending>, streams: usize, records: Records) -> Self {
        let mut by_stream = vec![(Vec::new(), 0); streams];
        for (place, frame) in frames.iter().enumerate() {
            by_stream[frame.stream].0.push(place);
        }
        for (places, _) in &mut by_stream {
            places.sort_by_key(|place| (frames[*place].epoch, frames[*place].seq));
        }
        let is_done = vec![false; frames.len()];
        Self { checkpoint_id, frames, is_done, next: 0, by_stream, records, overwritten: Vec::new() }
    }

    /// The place of a frame that is not copied yet.
    fn place_of(&self, stream: usize, epoch: u64, seq: u64) -> Option<usize> {
        let places = &self.by_stream[stream].0;
        let key = |place: &usize| (self.frames[*place].epoch, self.frames[*place].seq);
        let found = places.binary_search_by_key(&(epoch, seq), key).ok()?;
        Some(places[found]).filter(|place| !self.is_done[*place])
    }
}

impl<W: Wires> Engine<W> {
    /// Copies the next frames of the snapshot; returns how many. Hands the snapshot out behind its last frame.
    #[inline]
    pub(super) fn copy_slice(&mut self) -> usize {
        if self.cut.taking.is_none() { 0 } else { self.copy_some(SLICE_NS, SLICE_BYTES, SLICE_FRAMES) }
    }

    /// Copies everything that is left of the snapshot.
    pub(super) fn copy_the_rest(&mut self) {
        if self.cut.taking.is_some() {
            self.copy_some(u64::MAX, usize::MAX, usize::MAX);
        }
    }

    #[cold]
    fn copy_some(&mut self, most_ns: u64, most_bytes: usize, most_frames: usize) -> usize {
        let Some(mut taking) = self.cut.taking.take() else { return 0 };
        let (began_ns, cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        let (mut bytes, mut frames) = (0, 0);
        while taking.next < taking.frames.len() && bytes < most_bytes && frames < most_frames {
            let place = taking.next;
            bytes += self.copy_place(&mut taking, place);
            taking.next += 1;
            frames += 1;
            if monotonic_ns() - began_ns >= most_ns {
                break;
            }
        }
        if taking.next < taking.frames.len() {
            self.cut.taking = Some(taking);
        } else {
            self.cut.hand_out(*taking);
        }
        self.cut.note_stall(began_ns, cpu_ns);
        frames
    }

    /// Copies a frame unless that is done; returns the bytes that it took.
    fn copy_place(&mut self, taking: &mut Taking, place: usize) -> usize {
        if std::mem::replace(&mut taking.is_done[place], true) {
            return 0;
        }
        let frame = taking.frames[place];
        let bytes = self.copy_pending(&frame, &mut taking.records, Some(place));
        if bytes == 0 {
            taking.overwritten.push((frame.stream, frame.epoch, frame.seq));
        }
        bytes
    }

    /// Copies a frame that is being joined, if it belongs to the snapshot.
    #[cold]
    pub(super) fn copy_joined(&mut self, stream: usize, epoch: u64, seq: u64) {
        let Some(mut taking) = self.cut.taking.take() else { return };
        if let Some(place) = taking.place_of(stream, epoch, seq) {
            self.copy_place(&mut taking, place);
            self.cut.counters.snapshot_copied_early += 1;
        }
        self.cut.taking = Some(taking);
    }

    /// Copies the frames of one stream, which may not be readable much longer.
    pub(super) fn copy_stream_of_snapshot(&mut self, stream: usize) {
        let Some(mut taking) = self.cut.taking.take() else { return };
        for index in 0..taking.by_stream[stream].0.len() {
            let place = taking.by_stream[stream].0[index];
            self.copy_place(&mut taking, place);
        }
        self.cut.taking = Some(taking);
    }

    /// Copies the frames that were decided since the cut, before their copies are released.
    #[cold]
    pub(super) fn copy_decided(&mut self) {
        let Some(mut taking) = self.cut.taking.take() else { return };
        for stream in 0..taking.by_stream.len() {
            let Some(undecided) = self.stage.undecided_from(stream) else { continue };
            loop {
                let (places, decided) = &mut taking.by_stream[stream];
                let Some(place) = places.get(*decided).copied() else { break };
                if (taking.frames[place].epoch, taking.frames[place].seq) >= undecided {
                    break;
                }
                *decided += 1;
                self.cut.counters.snapshot_copied_early += u64::from(!taking.is_done[place]);
                self.copy_place(&mut taking, place);
            }
        }
        self.cut.taking = Some(taking);
    }
}

impl Cut {
    /// Completes the snapshot that waits among the news.
    fn hand_out(&mut self, taking: Taking) {
        let Taking { checkpoint_id, records, overwritten, .. } = taking;
        if let Some(snapshot) = self.news.iter_mut().find_map(|news| match news {
            News::Snapshot(snapshot) if snapshot.barrier.checkpoint_id == checkpoint_id => Some(snapshot),
            _ => None,
        }) {
            (snapshot.records, snapshot.overwritten) = (Some(records), overwritten);
        }
    }

    /// Forgets the snapshot that is being copied: its checkpoint is given up.
    pub(super) fn forget_taking(&mut self, checkpoint_id: u64) {
        if self.taking.take_if(|taking| taking.checkpoint_id == checkpoint_id).is_some() {
            self.news.retain(|news| match news {
                News::Snapshot(snapshot) => snapshot.records.is_some(),
                News::Complete { barrier, .. } => barrier.checkpoint_id != checkpoint_id,
                _ => true,
            });
        }
    }

    /// Notes for how long the loop was kept, since these times by the wall clock and by the thread's CPU clock.
    pub(super) fn note_stall(&mut self, began_ns: u64, cpu_ns: u64) {
        let counters = &mut self.counters;
        counters.longest_snapshot_ns = counters.longest_snapshot_ns.max(monotonic_ns() - began_ns);
        counters.longest_snapshot_cpu_ns = counters.longest_snapshot_cpu_ns.max(thread_cpu_ns() - cpu_ns);
    }
}
