// SPDX-License-Identifier: Apache-2.0
//! What `joinbarrier/agent/restoring.py` read from a checkpoint. All of it is checked before any of it is used.

use std::collections::HashMap;

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::pool::frame_record::{self, FrameHead};
use framegate_engine::{FedAt, Late, Recalled, Record, Restoring};
use framegate_join::stage::{Cause, Stage};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;

use super::recall::rest_of;
use crate::errors::raise;

/// A waiting frame: the index of its stream, its head and its payload.
type Waiting<'a> = (usize, FrameHead, &'a [u8]);
/// In-flight frames of an input: the index of its stream, the records, and the ranges that were lost.
type GivenLate = (usize, Vec<PyBackedBytes>, Vec<(u64, u64)>);

/// Raises CheckpointDamaged unless all frames and events belong to these streams, given as (stream id, epoch).
#[pyfunction]
pub fn join_check_records(
    py: Python<'_>,
    streams: Vec<(u32, Option<u64>)>,
    frames: Vec<PyBackedBytes>,
    inflight: Vec<GivenLate>,
) -> PyResult<()> {
    let ids: Vec<u32> = streams.iter().map(|(stream_id, _)| *stream_id).collect();
    let given = Given { frames, late: inflight };
    let (frames, late) = given.checked(&ids).map_err(|reason| raise(py, "CheckpointDamaged", reason, &[]))?;
    let inflight = late.iter().flat_map(|late| {
        late.records.iter().filter_map(|record| match record {
            Record::Frame(head, _) => Some((late.stream, head.epoch)),
            Record::Message(_) => None,
        })
    });
    let waiting = frames.iter().map(|(stream, head, _)| (*stream, head.epoch));
    // The epoch of a stream is unknown if its frames were in flight before the stream was first heard.
    let is_other = |&(stream, epoch): &(usize, u64)| streams[stream].1.is_some_and(|own| own > epoch);
    if waiting.chain(inflight).any(|each| is_other(&each)) {
        return Err(raise(py, "CheckpointDamaged", "a frame has an earlier epoch than its stream", &[]));
    }
    Ok(())
}

/// The bytes that a `Restoring` borrows.
pub(super) struct Given {
    frames: Vec<PyBackedBytes>,
    late: Vec<GivenLate>,
}

impl Given {
    pub(super) fn of(plan: &Bound<'_, PyDict>) -> PyResult<Self> {
        let get = |key: &str| plan.as_any().get_item(key);
        Ok(Self { frames: get("frames")?.extract()?, late: get("inflight")?.extract()? })
    }

    /// The frames and messages, if they belong to these streams; otherwise what is wrong with them.
    fn checked(&self, streams: &[u32]) -> Result<(Vec<Waiting<'_>>, Vec<Late<'_>>), &'static str> {
        let mut order = Order { streams, last: HashMap::new() };
        let mut frames = Vec::with_capacity(self.frames.len());
        for record in &self.frames {
            let (head, payload) = frame_record::read(record).ok_or("a record is not a frame")?;
            frames.push((
                order.take(&head).ok_or("its frames are out of order, or belong to no input")?,
                head,
                payload,
            ));
        }
        let mut late = Vec::with_capacity(self.late.len());
        for (stream, records, lost) in &self.late {
            if *stream >= streams.len() {
                return Err("in-flight frames belong to an input that the join does not have");
            }
            let mut found = Vec::with_capacity(records.len());
            for record in records {
                found.push(match frame_record::read(record) {
                    None => Record::Message(record),
                    Some((head, payload)) => {
                        let place = order.take(&head).filter(|place| place == stream);
                        place.ok_or("in-flight frames are out of order, or belong to another input")?;
                        Record::Frame(head, payload)
                    }
                });
            }
            late.push(Late { stream: *stream, records: found, lost: lost.clone() });
        }
        Ok((frames, late))
    }
}

/// Builds the `Restoring` of a plan. Raises CheckpointDamaged for anything that no engine writes.
pub(super) fn restoring_of<'a>(plan: &Bound<'_, PyDict>, given: &'a Given, own: &Stage) -> PyResult<Restoring<'a>> {
    let py = plan.py();
    let get = |key: &str| plan.as_any().get_item(key);
    let damaged = |message: &str| raise(py, "CheckpointDamaged", message, &[]);
    let state: Option<String> = get("state")?.extract()?;
    let stage = match &state {
        None => None,
        Some(state) => {
            let resumed = own.resumed(state.as_bytes());
            Some(resumed.ok_or_else(|| damaged("its stage belongs to other inputs"))?)
        }
    };
    let streams = own.streams();
    let (frames, late) = given.checked(streams).map_err(&damaged)?;
    let mut lost = Vec::new();
    for each in get("lost")?.try_iter()? {
        let (stream_id, epoch, first, last, cause): (u32, u64, u64, u64, String) = each?.extract()?;
        let stream = streams.iter().position(|known| *known == stream_id);
        let (stream, cause) = stream
            .zip(Cause::named(&cause))
            .ok_or_else(|| damaged("a lost frame belongs to no input, or has no known cause"))?;
        lost.push((stream, epoch, first, last, cause));
    }
    let (checkpoint_id, epoch, is_unaligned): (u64, u64, bool) = get("barrier")?.extract()?;
    let fed_at: Option<(u64, u64)> = get("fed_at")?.extract()?;
    let rest = rest_of(streams, get("rest")?.cast::<PyDict>()?)?;
    Ok(Restoring {
        stage,
        barrier: CheckpointBarrier::with(checkpoint_id, epoch, is_unaligned),
        frames,
        lost,
        rest,
        late,
        is_same_cut: get("is_same_cut")?.extract()?,
        fed_at: fed_at.map(|(monotonic_ns, realtime_ns)| FedAt { monotonic_ns, realtime_ns }),
    })
}

/// Checks the order of restored frames: a stream has two epochs at most, one after the other, and sequences rise in
/// each.
struct Order<'a> {
    streams: &'a [u32],
    /// For each stream, the number of its epochs so far, and its last frame.
    last: HashMap<usize, (usize, (u64, u64))>,
}

impl Order<'_> {
    fn take(&mut self, head: &FrameHead) -> Option<usize> {
        let stream = self.streams.iter().position(|known| *known == head.stream_id)?;
        let at = (head.epoch, head.seq);
        let (epochs, last) = self.last.get(&stream).copied().unzip();
        let is_new = last.is_none_or(|(epoch, _)| epoch != head.epoch);
        let epochs = epochs.unwrap_or(0) + usize::from(is_new);
        let is_rising = last.is_none_or(|last| last < at);
        if epochs > 2 || !is_rising {
            return None;
        }
        self.last.insert(stream, (epochs, at));
        Some(stream)
    }
}

pub(super) fn told<'py>(py: Python<'py>, recalled: Recalled) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("frames", recalled.frames)?;
    found.set_item("decided", recalled.decided)?;
    found.set_item("inflight", recalled.inflight)?;
    found.set_item("left_out", recalled.left_out)?;
    Ok(found)
}
