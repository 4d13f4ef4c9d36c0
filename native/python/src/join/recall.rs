// SPDX-License-Identifier: Apache-2.0
//! What a checkpoint keeps of a stage besides its state, converted between Python and Rust.

use framegate_join::barrier::NULL_TIMESTAMP;
use framegate_join::stage::{Rest, Stage, StreamRest};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A waiting frame or loss: (stream, epoch, seq, seq_last, descriptor time, slot time, trace id, cause).
pub(super) type Waiting = (u32, u64, u64, u64, Option<u64>, Option<u64>, u64, Option<&'static str>);

/// The waiting frames in the order in which they arrived, then the losses.
pub(super) fn waiting(stage: &Stage) -> Vec<Waiting> {
    let (frames, lost) = stage.pending();
    let known = |time: u64| Some(time).filter(|time| *time != NULL_TIMESTAMP);
    let stream = |index: usize| stage.streams()[index];
    let frames = frames.iter().map(|frame| {
        let times = (known(frame.descriptor_timestamp_ns), known(frame.slot_timestamp_ns));
        (stream(frame.stream), frame.epoch, frame.seq, frame.seq, times.0, times.1, frame.trace_id, None)
    });
    let lost = lost
        .iter()
        .map(|lost| (stream(lost.stream), lost.epoch, lost.seq, lost.seq_last, None, None, 0, Some(lost.cause.name())));
    frames.chain(lost).collect()
}

fn record_of(stream: usize, record: &Bound<'_, PyAny>) -> PyResult<StreamRest> {
    let get = |key: &str| record.get_item(key);
    Ok(StreamRest {
        stream,
        epoch: get("epoch")?.extract()?,
        last_seq: get("last_seq")?.extract()?,
        watermark_ms: get("watermark_ms")?.extract()?,
        is_observed: get("is_observed")?.extract()?,
        is_ended: get("is_ended")?.extract()?,
        is_rejected: get("is_rejected")?.extract()?,
        last_times: [get("last_slot_ns")?.extract()?, get("last_descriptor_ns")?.extract()?],
    })
}

/// Reads what `Stage::write_rest` wrote. Streams that no input reads are left out.
pub(super) fn rest_of(streams: &[u32], rest: &Bound<'_, PyDict>) -> PyResult<Rest> {
    let get = |key: &str| rest.as_any().get_item(key);
    let mut found = Vec::new();
    for each in get("streams")?.try_iter()? {
        let each = each?;
        let stream_id: u32 = each.get_item("stream")?.extract()?;
        let Some(stream) = streams.iter().position(|known| *known == stream_id) else { continue };
        found.push(record_of(stream, &each)?);
        // A second record belongs to a stream that had gone on to another epoch while frames of this one waited.
        let then = each.cast::<PyDict>()?.get_item("then")?.filter(|then| !then.is_none());
        if let Some(then) = then {
            found.push(record_of(stream, &then)?);
        }
    }
    Ok(Rest {
        streams: found,
        watermark_ms: get("watermark_ms")?.extract()?,
        next_tick_ns: get("next_tick_ns")?.extract()?,
        out_times: get("out_times")?.extract()?,
    })
}
