// SPDX-License-Identifier: Apache-2.0
//! How frames that belong together become a row: the engine reads their headers, copies each payload straight to its
//! place, and keeps the row only if every frame is still whole afterwards.

use framegate_core::clock::realtime_ns;
use framegate_core::pool::hold::HeldFrame;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::tensor::Tensor;
use framegate_join::stage::{Absence, Cause, Pick};
use framegate_journal::{Cell, Reserved, RowHead, Status};

use super::{Engine, Outcome};
use crate::wires::{Republished, Target, Wires};

/// Most rows in one turn. Then descriptors are polled again, or a fast input would overrun the history of a slow one.
pub(super) const ROWS: usize = 64;

/// A frame to be copied into a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) payload: *const u8,
    pub(super) bytes: u32,
    pub(super) timestamp_ns: u64,
    /// The frame in its ring, if it lies there: its commit word tells whether it was overwritten.
    in_ring: Option<FrameRef>,
}

// SAFETY: the pointer is used only while the engine's own ports and arenas keep the memory it points into.
unsafe impl Send for Source {}

impl Source {
    /// A frame that was copied to memory of the engine.
    pub(super) const fn copied(payload: &[u8], frame: &HeldFrame) -> Self {
        Self { payload: payload.as_ptr(), bytes: frame.bytes, timestamp_ns: frame.timestamp_ns, in_ring: None }
    }

    pub(super) const fn in_ring(frame: &FrameRef) -> Self {
        let (bytes, timestamp_ns) = (frame.header.values_bytes, frame.header.timestamp_ns);
        Self { payload: frame.payload, bytes, timestamp_ns, in_ring: Some(*frame) }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.in_ring.is_none_or(|frame| frame.is_valid())
    }
}

/// The row being made: for each input, the picked frame and where it lies.
pub(super) struct Draft {
    picks: Vec<Pick>,
    frames: Vec<Option<Source>>,
    /// Type and shape of each input's frame.
    tensors: Vec<Tensor>,
    sizes: Vec<u32>,
}

impl Draft {
    pub(super) fn new(inputs: usize) -> Self {
        Self {
            picks: Vec::with_capacity(inputs),
            frames: vec![None; inputs],
            tensors: vec![Tensor::contiguous(0, 0, &[]); inputs],
            sizes: vec![0; inputs],
        }
    }
}

impl<W: Wires> Engine<W> {
    /// Makes rows of the outputs that are ready; returns the number of attempts.
    pub(super) fn join(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        // No batch may hold rows from both sides of a cut.
        if self.cut.awaits_seal(self.ledger.writer.sealed_rows()) && !self.seal(now_ns, outcome) {
            return 0;
        }
        for attempt in 0..ROWS {
            if outputs > 0 && self.counters.rows >= outputs {
                outcome.has_all_outputs = true;
                return attempt;
            }
            let stage_ns = self.time.stage_ns(now_ns);
            let Some(next) = self.stage.next(stage_ns) else { return attempt };
            let head = (next.out_epoch, next.out_seq, next.out_time_ns);
            self.draft.picks.clear();
            self.draft.picks.extend_from_slice(next.picks());
            match self.write_row(head, now_ns, outcome) {
                Written::Row => {}
                Written::Unreadable => self.note_unmatched(now_ns),
                Written::Full => {
                    self.counters.full_turns += 1;
                    return attempt;
                }
            }
        }
        ROWS
    }

    fn write_row(
        &mut self,
        (out_epoch, out_seq, out_time_ns): (u64, u64, Option<i64>),
        now_ns: u64,
        outcome: &mut Outcome,
    ) -> Written {
        let stage_ns = self.time.stage_ns(now_ns);
        if let Err((input, cause)) = self.look() {
            self.fail(input, cause, stage_ns);
            return Written::Unreadable;
        }
        loop {
            match self.ledger.writer.reserve(&self.draft.sizes, now_ns) {
                Ok(Reserved::Ready) => break,
                Ok(Reserved::SealFirst) => {
                    if !self.seal(now_ns, outcome) {
                        return Written::Full;
                    }
                }
                Ok(Reserved::Full) => {
                    self.note_failure(self.ledger.writer.why_full(), outcome);
                    return Written::Full;
                }
                Err(failure) => {
                    self.note_failure(failure, outcome);
                    return Written::Full;
                }
            }
        }
        if self.cut.taking.is_some() {
            // Before the payloads are read for the row: what is in the row must be in the snapshot.
            for input in 0..self.draft.picks.len() {
                if let Pick::Frame { epoch, seq, .. } = self.draft.picks[input] {
                    self.copy_joined(self.inputs[input].stream, epoch, seq);
                }
            }
        }
        if let Some(input) = self.copy() {
            self.ledger.writer.abandon_row();
            self.ports[self.inputs[input].stream].on_torn();
            self.fail(input, Cause::Overwritten, stage_ns);
            return Written::Unreadable;
        }
        let skew_ns = self.fill_cells();
        let joined_at_us = (realtime_ns() / 1000) as i64;
        self.ledger.writer.commit_row(&RowHead {
            out_epoch,
            out_seq,
            out_time_ns,
            joined_at_us,
            skew_ns,
            map_version: self.stage.map_version(),
            checkpoint_id: self.checkpoint_id,
        });
        self.republish(out_seq);
        self.note_published();
        self.counters.rows += 1;
        self.counters.bytes += self.draft.sizes.iter().map(|bytes| u64::from(*bytes)).sum::<u64>();
        self.stage.joined(stage_ns);
        Written::Row
    }

    /// Reads the header of every picked frame; or says which input's frame cannot be read, and why.
    fn look(&mut self) -> Result<(), (usize, Cause)> {
        for input in 0..self.draft.picks.len() {
            self.draft.frames[input] = None;
            self.draft.sizes[input] = 0;
            if let Pick::Frame { epoch, seq, .. } = self.draft.picks[input] {
                let stream = self.inputs[input].stream;
                // Copies are searched first: the ring may have lost what they hold.
                let source = if let Some((frame, payload)) = self.copy_of(stream, epoch, seq) {
                    let (source, tensor) = (Source::copied(payload, frame), frame.tensor);
                    self.draft.tensors[input] = tensor;
                    source
                } else {
                    let port = &mut self.ports[stream];
                    let frame = port.read(epoch, seq).map_err(|cause| (input, cause))?;
                    if let Some(tensor) = port.tensor() {
                        self.draft.tensors[input] = *tensor;
                    }
                    Source::in_ring(&frame)
                };
                self.draft.sizes[input] = source.bytes;
                self.draft.frames[input] = Some(source);
            }
        }
        Ok(())
    }

    /// Copies every payload to its place in the row; or says which input's frame was overwritten meanwhile.
    fn copy(&mut self) -> Option<usize> {
        let Self { draft: Draft { frames, sizes, .. }, ledger, .. } = self;
        for (input, frame) in frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            // SAFETY: the payload lies in regions that the port keeps mapped, or in an arena, and is as long as its
            // checked header says; the writer has reserved as much. `is_whole` rejects bytes that changed meanwhile.
            unsafe { ledger.writer.copy_payload(input, frame.payload, sizes[input] as usize) };
            if !frame.is_whole() {
                return Some(input);
            }
        }
        None
    }

    /// Tells the stage that a picked frame cannot be read.
    #[cold]
    fn fail(&mut self, input: usize, cause: Cause, stage_ns: u64) {
        self.stage.failed(input, cause, stage_ns);
        if let (Pick::Frame { epoch, .. }, Cause::Overwritten) = (self.draft.picks[input], cause) {
            self.catch_up(self.inputs[input].stream, epoch);
        }
    }

    /// Writes every cell of the row except payloads; returns how far apart the row's times are.
    fn fill_cells(&mut self) -> Option<i64> {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for (input, pick) in self.draft.picks.iter().enumerate() {
            let (Pick::Frame { epoch, seq, descriptor_timestamp_ns, trace_id, .. }, Some(frame)) =
                (*pick, self.draft.frames[input])
            else {
                let status = match *pick {
                    Pick::Absent(Absence::Stale) => Status::Stale,
                    Pick::Absent(Absence::Late) => Status::Late,
                    _ => Status::NotJoined,
                };
                self.ledger.writer.cell(input, &Cell { status, ..NOTHING });
                continue;
            };
            let timestamp =
                if self.stage.reads_descriptor_time(input) { descriptor_timestamp_ns } else { frame.timestamp_ns };
            let timestamp_ns = Some(timestamp).filter(|time| *time != NULL_TIMESTAMP && *time <= i64::MAX as u64);
            if let Some(time) = timestamp_ns {
                (least, most) = (least.min(time as i64), most.max(time as i64));
            }
            let tensor = &self.draft.tensors[input];
            let cell = Cell {
                status: Status::Present,
                seq,
                timestamp_ns,
                epoch,
                trace_id,
                dtype: tensor.dtype,
                dims: &tensor.dims[..usize::from(tensor.ndims)],
                bytes: frame.bytes,
            };
            self.ledger.writer.cell(input, &cell);
        }
        (least <= most).then(|| most.saturating_sub(least))
    }

    /// Notes the time of the newest published frame, for the watermarks of the output.
    #[inline]
    fn note_published(&mut self) {
        if let Some(input) = self.output.input
            && let Some(frame) = self.draft.frames[input]
        {
            self.output.watermarks.note_published(frame.timestamp_ns);
        }
    }

    #[inline]
    fn republish(&mut self, out_seq: u64) {
        let Some((input, target)) = &self.output.target else { return };
        if let (Some(frame), Pick::Frame { trace_id, .. }) = (self.draft.frames[*input], self.draft.picks[*input]) {
            let again = Republished {
                payload: frame.payload,
                bytes: frame.bytes,
                tensor: &self.draft.tensors[*input],
                timestamp_ns: frame.timestamp_ns,
                trace_id,
                seq: out_seq,
            };
            // SAFETY: the pointer and its length are those of the copy into the row just before.
            if !unsafe { target.publish(&again, || frame.is_whole()) } {
                self.counters.publish_failures += 1;
            }
        }
    }
}

/// The cell of an absent input, apart from its status.
const NOTHING: Cell<'static> = Cell {
    status: Status::NotJoined,
    seq: 0,
    timestamp_ns: None,
    epoch: 0,
    trace_id: 0,
    dtype: 0,
    dims: &[],
    bytes: 0,
};

enum Written {
    Row,
    /// A frame could not be read; the stage decides what comes next.
    Unreadable,
    Full,
}
