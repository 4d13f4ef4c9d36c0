// SPDX-License-Identifier: Apache-2.0
//! What an engine stores at a cut: every frame that came before the barriers and is in no sealed row yet, with its
//! payload. If the snapshot overtook, also what the late streams still bring.

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::unaligned::Switch;
use framegate_core::clock::{monotonic_ns, thread_cpu_ns};
use framegate_core::pool::frame_record::{FrameHead, HEAD_BYTES, write_head};
use framegate_core::pool::layout::NULL_META_VERSION;
use framegate_core::pool::tensor::Tensor;
use framegate_join::stage::{Observed, Pending};

use super::cut::{Inflight, News, Snapshot};
use super::row::Source;
use super::taking::Taking;
use super::{Engine, Outcome};
use crate::records::Records;
use crate::wires::Wires;

impl<W: Wires> Engine<W> {
    /// Takes a snapshot: joins what can be joined, seals it, and begins to copy the frames that still wait. Every later
    /// row carries the barrier's id.
    pub(super) fn snapshot(&mut self, barrier: CheckpointBarrier, overtakes: Option<(Switch, u128)>, now_ns: u64) {
        let (began_ns, cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        // The copies of two snapshots are never under way at the same time.
        self.copy_the_rest();
        let mut outcome = Outcome::default();
        self.join_what_came(now_ns);
        // If the journal has no space now, each turn tries again, and the snapshot waits for it.
        self.seal(now_ns, &mut outcome);
        let (why, owing) = overtakes.unzip();
        let (frames, lost) = self.stage.pending();
        let mut found = Snapshot {
            barrier,
            why,
            owing: owing.unwrap_or(0),
            duration_ns: self.cut.lasted_ns(now_ns),
            buffered: self.cut.buffered,
            next_row: self.ledger.writer.next_row(),
            map_version: self.stage.map_version(),
            state: Vec::with_capacity(self.stage.state_capacity()),
            rest: Vec::new(),
            records: None,
            lost,
            overwritten: Vec::new(),
        };
        self.stage.write_state(&mut found.state);
        self.stage.write_rest(&mut found.rest);
        self.cut.owing = found.owing;
        self.cut.news.push_back(News::Snapshot(Box::new(found)));
        self.checkpoint_id = barrier.checkpoint_id;
        let records = Records::new(&self.cut.spare, frames.len());
        self.cut.taking = Some(Box::new(Taking::new(barrier.checkpoint_id, frames, self.ports.len(), records)));
        self.copy_slice();
        self.cut.note_stall(began_ns, cpu_ns);
    }

    /// Copies a waiting frame from wherever it lies, to a place among the records or behind them; returns the bytes
    /// that it took, or 0 if it was overwritten.
    pub(super) fn copy_pending(&mut self, frame: &Pending, into: &mut Records, place: Option<usize>) -> usize {
        let Some((source, tensor, meta_version)) = self.find(frame.stream, frame.epoch, frame.seq) else {
            return 0;
        };
        let head = FrameHead {
            stream_id: self.hearing.mailbox.facts[frame.stream].stream_id,
            epoch: frame.epoch,
            seq: frame.seq,
            descriptor_timestamp_ns: frame.descriptor_timestamp_ns,
            timestamp_ns: source.timestamp_ns,
            meta_version,
            trace_id: frame.trace_id,
            values_bytes: source.bytes,
            tensor,
        };
        let most = HEAD_BYTES + source.bytes as usize;
        let fill = |into: &mut Vec<u8>| {
            write_head(&head, into);
            // SAFETY: the payload lies in regions that the port keeps mapped, or in an arena of this engine, and is as
            // long as its checked header says. `is_whole` rejects bytes that changed meanwhile.
            unsafe { append_bytes(into, source.payload, source.bytes as usize) };
            source.is_whole()
        };
        match place {
            Some(place) => into.put(place, most, fill),
            None => into.append(most, fill),
        }
    }

    /// Finds a frame: in a copy first, then in its ring.
    pub(super) fn find(&mut self, stream: usize, epoch: u64, seq: u64) -> Option<(Source, Tensor, u32)> {
        if let Some((frame, payload)) = self.copy_of(stream, epoch, seq) {
            return Some((Source::copied(payload, frame), frame.tensor, NULL_META_VERSION));
        }
        let port = &mut self.ports[stream];
        let frame = port.read(epoch, seq).ok()?;
        Some((Source::in_ring(&frame), *port.tensor()?, frame.header.meta_version))
    }

    // --- In flight -----------------------------------------------------------------------------------------

    /// Copies a frame of a stream that owes its barrier, because it belongs to the checkpoint; returns the bytes that
    /// it took.
    pub(super) fn capture_frame(&mut self, index: usize, seen: &Observed) -> u64 {
        let frame = Pending {
            order: 0,
            stream: index,
            epoch: seen.epoch,
            seq: seen.seq,
            descriptor_timestamp_ns: seen.descriptor_timestamp_ns,
            slot_timestamp_ns: seen.slot_timestamp_ns,
            trace_id: seen.trace_id,
        };
        let mut records = std::mem::take(&mut self.cut.inflight[index].records);
        let bytes = self.copy_pending(&frame, &mut records, None);
        let inflight = &mut self.cut.inflight[index];
        inflight.records = records;
        if bytes == 0 {
            inflight.lost.push((seen.epoch, seen.seq));
        }
        bytes as u64
    }

    /// Copies a fed frame, which lies in no ring, as `capture_frame` does.
    pub(super) fn capture_fed(&mut self, index: usize, seen: &Observed, tensor: &Tensor, payload: &[u8]) -> u64 {
        let head = FrameHead {
            stream_id: self.hearing.mailbox.facts[index].stream_id,
            epoch: seen.epoch,
            seq: seen.seq,
            descriptor_timestamp_ns: seen.descriptor_timestamp_ns,
            timestamp_ns: seen.slot_timestamp_ns,
            meta_version: NULL_META_VERSION,
            trace_id: seen.trace_id,
            values_bytes: payload.len() as u32,
            tensor: *tensor,
        };
        let most = HEAD_BYTES + payload.len();
        let bytes = self.cut.inflight[index].records.append(most, |into| {
            write_head(&head, into);
            into.extend_from_slice(payload);
            true
        });
        bytes as u64
    }

    /// Copies a message between frames of a stream that owes its barrier.
    pub(super) fn capture_message(&mut self, index: usize, message: &[u8]) {
        let inflight = &mut self.cut.inflight[index];
        if message.is_empty() {
            return;
        }
        inflight.records.append(message.len(), |into| {
            into.extend_from_slice(message);
            true
        });
    }

    /// Takes what the late streams of the checkpoint brought, and ends capturing.
    pub(super) fn take_inflight(&mut self) -> Vec<(usize, Inflight)> {
        let mut found = Vec::new();
        let mut owing = std::mem::take(&mut self.cut.owing);
        while owing != 0 {
            let index = owing.trailing_zeros() as usize;
            owing &= owing - 1;
            let next = Inflight::new(&self.cut.spare);
            found.push((index, std::mem::replace(&mut self.cut.inflight[index], next)));
        }
        found
    }
}

/// Appends bytes that another process may write at the same time.
///
/// # Safety
/// `source` must be readable for `bytes` bytes.
unsafe fn append_bytes(into: &mut Vec<u8>, source: *const u8, bytes: usize) {
    into.reserve(bytes);
    let end = into.len();
    // SAFETY: the caller vouches for the source; `reserve` made as much space behind the end of the vector.
    unsafe {
        std::ptr::copy_nonoverlapping(source, into.as_mut_ptr().add(end), bytes);
        into.set_len(end + bytes);
    }
}
