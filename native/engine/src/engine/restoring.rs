// SPDX-License-Identifier: Apache-2.0
//! How an engine takes back a checkpoint before it hears anything: the state if the journal has none of its own, the
//! waiting frames with their payloads, how far each stream was heard, and what was in flight.
//!
//! `join/restore.rs` has checked everything given here, because it comes from a file.

use std::collections::VecDeque;
use std::io;

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_codecs::control;
use framegate_core::pool::frame_record::FrameHead;
use framegate_core::pool::hold::Hold;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_join::stage::{Cause, Observed, Rest, Stage};

use super::hearing::END_KIND;
use super::{Engine, Outcome};
use crate::fed::FedAt;
use crate::wires::Wires;

/// A copy takes at most this many bytes more than its payload.
const GRAIN: usize = 8;
/// A copy that does not fit behind its stream's newest one begins a new chunk, so at least half of the memory is used.
const SLACK: usize = 2;
/// Each stream has one chunk that is not full.
const CHUNK: usize = 1 << 20;

/// One event that was in flight.
pub enum Record<'a> {
    Frame(FrameHead, &'a [u8]),
    /// A watermark or a signal, encoded.
    Message(&'a [u8]),
}

/// What a stream brought between the snapshot and its own late barrier.
pub struct Late<'a> {
    pub stream: usize,
    pub records: Vec<Record<'a>>,
    /// Epoch and sequence of frames that were overwritten before they could be copied.
    pub lost: Vec<(u64, u64)>,
}

/// A checkpoint to restore.
pub struct Restoring<'a> {
    /// The stage at the cut, if the journal holds no state. Otherwise the journal's own state is as new or newer.
    pub stage: Option<Stage>,
    pub barrier: CheckpointBarrier,
    /// Waiting frames: those of one stream by rising sequences, and all of them in the order in which they came.
    pub frames: Vec<(usize, FrameHead, &'a [u8])>,
    /// Lost frames: stream, epoch, first and last sequence, cause.
    pub lost: Vec<(usize, u64, u64, u64, Cause)>,
    pub rest: Rest,
    pub late: Vec<Late<'a>>,
    pub is_same_cut: bool,
    /// The time of a fed join, by its recording's clocks; None in a live join.
    pub fed_at: Option<FedAt>,
}

/// What a restore brought back.
#[derive(Clone, Copy, Default, Debug)]
pub struct Recalled {
    /// Frames that wait again.
    pub frames: u64,
    /// Frames that rows after the cut have decided since.
    pub decided: u64,
    /// Events that were in flight.
    pub inflight: u64,
    /// Signals that were in flight and do not take effect again.
    pub left_out: u64,
}

impl<W: Wires> Engine<W> {
    /// Restores a checkpoint. Call it once, before the first turn.
    pub fn restore(&mut self, restoring: Restoring<'_>, now_ns: u64) -> io::Result<Recalled> {
        let mut recalled = Recalled::default();
        let is_new = restoring.stage.is_some();
        self.cut.restored = arena_for(self.ports.len(), &restoring)?;
        if let Some(stage) = restoring.stage {
            self.output.epoch = stage.out_epoch();
            self.stage = stage;
        }
        self.time.fed_at = restoring.fed_at;
        let stage_ns = self.time.stage_ns(now_ns);
        self.checkpoint_id = self.checkpoint_id.max(restoring.barrier.checkpoint_id);
        if let Some(checkpointer) = self.cut.checkpointer_mut() {
            checkpointer.raise_floor(restoring.barrier.checkpoint_id);
        }

        let mut lost = vec![VecDeque::new(); self.ports.len()];
        for (stream, epoch, first, last, cause) in restoring.lost {
            lost[stream].push_back((epoch, first, last, cause));
        }
        lost.iter_mut().for_each(|lost| lost.make_contiguous().sort_by_key(|&(epoch, first, ..)| (epoch, first)));
        for (stream, head, payload) in &restoring.frames {
            self.recall_lost_before(*stream, &mut lost[*stream], Some((head.epoch, head.seq)), stage_ns);
            self.recall_frame(*stream, head, payload, stage_ns, &mut recalled);
        }
        for (stream, lost) in lost.iter_mut().enumerate() {
            self.recall_lost_before(stream, lost, None, stage_ns);
        }
        let keeps_clock = self.time.fed_at.is_some();
        self.stage.recall_rest(&restoring.rest, stage_ns, restoring.is_same_cut, keeps_clock);

        for late in &restoring.late {
            self.recall_late(late, stage_ns, &mut recalled);
            // The restored barrier follows what was in flight; the checkpointer ignores it, because its floor is this
            // id.
            self.on_barrier(late.stream, restoring.barrier, stage_ns);
        }
        self.release_copies();
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.resume(self.stage.heard_until(index));
        }
        if is_new {
            // Seals the restored state at once: a new journal must hold the state that it goes on from.
            self.seal(now_ns, &mut Outcome::default());
        }
        Ok(recalled)
    }

    /// Recalls a stream's losses up to a frame; all that are left if `before` is None.
    fn recall_lost_before(
        &mut self,
        stream: usize,
        lost: &mut VecDeque<(u64, u64, u64, Cause)>,
        before: Option<(u64, u64)>,
        now_ns: u64,
    ) {
        while let Some(&(epoch, first, last, cause)) = lost.front() {
            if before.is_some_and(|before| (epoch, first) >= before) {
                break;
            }
            lost.pop_front();
            self.stage.recall_lost(stream, epoch, (first, last), cause, now_ns);
            self.note_unmatched(now_ns);
        }
    }

    fn recall_frame(
        &mut self,
        stream: usize,
        head: &FrameHead,
        payload: &[u8],
        now_ns: u64,
        recalled: &mut Recalled,
    ) -> bool {
        // A slot's time is used only if the stage asks for it, or if the frame was fed with it, as when the frame first
        // came.
        let is_read = self.time.fed_at.is_some() || self.stage.needs_slot_time(stream);
        let seen = Observed {
            epoch: head.epoch,
            seq: head.seq,
            descriptor_timestamp_ns: head.descriptor_timestamp_ns,
            slot_timestamp_ns: if is_read { head.timestamp_ns } else { NULL_TIMESTAMP },
            trace_id: head.trace_id,
        };
        let is_needed = self.stage.recall_frame(stream, &seen, now_ns);
        if is_needed {
            let at = (head.epoch, head.seq);
            let is_kept = self.cut.restored.keep_bytes(stream, at, payload, head.timestamp_ns, &head.tensor);
            debug_assert!(is_kept, "the arena has space for all of them");
        }
        recalled.frames += u64::from(is_needed);
        recalled.decided += u64::from(!is_needed);
        self.note_unmatched(now_ns);
        is_needed
    }

    fn recall_late(&mut self, late: &Late<'_>, now_ns: u64, recalled: &mut Recalled) {
        let mut lost = late.lost.iter().peekable();
        for record in &late.records {
            recalled.inflight += 1;
            match record {
                Record::Frame(head, payload) => {
                    while let Some(&(epoch, seq)) = lost.next_if(|lost| **lost < (head.epoch, head.seq)) {
                        self.stage.recall_lost(late.stream, epoch, (seq, seq), Cause::Overwritten, now_ns);
                    }
                    self.recall_frame(late.stream, head, payload, now_ns, recalled);
                }
                Record::Message(message) => recalled.left_out += u64::from(!self.recall_message(message, now_ns)),
            }
        }
        for &(epoch, seq) in lost {
            self.stage.recall_lost(late.stream, epoch, (seq, seq), Cause::Overwritten, now_ns);
        }
        self.note_unmatched(now_ns);
    }

    /// Applies watermarks and ends again; false for any other signal. Those were being aligned with signals that other
    /// streams had already delivered, which no checkpoint keeps: one alone would wait for ever.
    fn recall_message(&mut self, message: &[u8], now_ns: u64) -> bool {
        if let Ok(watermark) = control::Watermark::checked(message) {
            if let Some(index) = self.hearing.route.place(watermark.stream_id()) {
                self.stage.watermark(index, watermark.timestamp_ms(), now_ns);
            }
            return true;
        }
        let Ok(signal) = control::ControlSignal::checked(message) else { return false };
        let index = signal.stream_id().and_then(|stream| self.hearing.route.place(stream));
        match index {
            Some(index) if u8::from(signal.kind()) == END_KIND => {
                self.stage.ended(index, signal.source_epoch(), now_ns);
                true
            }
            _ => false,
        }
    }
}

/// Makes an arena with space for every payload. The system provides the memory when it is written.
fn arena_for(streams: usize, restoring: &Restoring<'_>) -> io::Result<Hold> {
    let inflight = restoring.late.iter().flat_map(|late| &late.records).filter_map(|record| match record {
        Record::Frame(_, payload) => Some(payload.len()),
        Record::Message(_) => None,
    });
    let (mut bytes, mut frames) = (0, 0);
    for payload in restoring.frames.iter().map(|(_, _, payload)| payload.len()).chain(inflight) {
        bytes += payload + GRAIN;
        frames += 1;
    }
    if frames == 0 {
        return Hold::new(streams, 0, 0, 0);
    }
    Hold::new(streams, SLACK * (bytes + streams * CHUNK), frames, 0)
}
