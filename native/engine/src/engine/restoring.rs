// SPDX-License-Identifier: Apache-2.0
//! How an engine takes back what a checkpoint holds, before it hears anything: the state where the journal has none of
//! its own, the frames that waited with their payloads, how far every stream was heard, and what was in flight.
//!
//! Everything given here has been checked (`join/restore.rs`): it comes from a file.

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

/// A place in a hold is this much larger than its payload at most.
const GRAIN: usize = 8;
/// Copies that do not fit behind the newest of their stream begin a chunk: at least half of what is taken is used.
const SLACK: usize = 2;
/// Each stream has a chunk that is not full.
const CHUNK: usize = 1 << 20;

/// One event that was in flight.
pub enum Record<'a> {
    Frame(FrameHead, &'a [u8]),
    /// A watermark or a signal.
    Message(&'a [u8]),
}

/// What a stream brought between the snapshot and its barrier.
pub struct Late<'a> {
    pub stream: usize,
    pub records: Vec<Record<'a>>,
    /// Epoch and sequence of frames that were overwritten before they could be copied.
    pub lost: Vec<(u64, u64)>,
}

/// A checkpoint.
pub struct Restoring<'a> {
    /// The stage that was cut, where the journal holds no state; else the journal's own is further, or the same.
    pub stage: Option<Stage>,
    pub barrier: CheckpointBarrier,
    /// Of each stream by rising sequences, and over all streams in the order in which they came.
    pub frames: Vec<(usize, FrameHead, &'a [u8])>,
    /// Stream, epoch, first, last, cause.
    pub lost: Vec<(usize, u64, u64, u64, Cause)>,
    pub rest: Rest,
    pub late: Vec<Late<'a>>,
    pub is_same_cut: bool,
    /// The time of what is fed, by its own clocks; None: now.
    pub fed_at: Option<FedAt>,
}

/// What came of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Recalled {
    /// Frames that wait again.
    pub frames: u64,
    /// Frames that the journal's tail has decided since.
    pub decided: u64,
    /// Events that were in flight.
    pub inflight: u64,
    /// Signals that were in flight and are not given again.
    pub left_out: u64,
}

impl<W: Wires> Engine<W> {
    /// Restores a checkpoint. Called once, before the first turn.
    pub fn restore(&mut self, restoring: Restoring<'_>, now_ns: u64) -> io::Result<Recalled> {
        let mut recalled = Recalled::default();
        let is_new = restoring.stage.is_some();
        self.cut.restored = room_for(self.ports.len(), &restoring)?;
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
            // It follows what was in flight, and is over.
            self.on_barrier(late.stream, restoring.barrier, stage_ns);
        }
        self.release_copies();
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.resume(self.stage.heard_until(index));
        }
        if is_new {
            // The journal says from now on what it goes back to.
            self.seal(now_ns, &mut Outcome::default());
        }
        Ok(recalled)
    }

    /// What was lost of a stream before a frame of it, or at all.
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
        // As at its arrival: a time that nobody looks at is not asked for, unless it came with the frame.
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
            debug_assert!(is_kept, "there is room for all of them");
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

    /// Watermarks and ends count again. Other signals were aligned with those of streams that had delivered theirs, of
    /// which nothing is kept: one alone would be waited for without end.
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

/// Room for every payload. The system gives the memory when it is written.
fn room_for(streams: usize, restoring: &Restoring<'_>) -> io::Result<Hold> {
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
