// SPDX-License-Identifier: Apache-2.0
//! What a checkpoint keeps of a stage beside the state of a sealed batch. A stage that gets it back, and the same
//! frames again, continues as this one would have. Only used at a cut, because it allocates.

use std::fmt::{Display, Formatter, Result as Written};
use std::io::Write;

use super::Stage;
use super::fence::Side;
use super::history::Frame;
use super::source::Source;
use super::unmatched::Cause;

/// A frame that waits to be joined, or that was joined most recently and may be joined again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// A number that rises in the order in which frames came, over all streams.
    pub order: u64,
    /// The index of the stream in [`super::StageConfig::streams`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame's sequence.
    pub seq: u64,
    /// The descriptor's time; all ones is null.
    pub descriptor_timestamp_ns: u64,
    /// The slot header's time; all ones if it is null or was not read.
    pub slot_timestamp_ns: u64,
    /// The trace id; 0 is none.
    pub trace_id: u64,
}

/// Frames that can never be joined, to be recorded once everything older is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// See [`Pending::order`].
    pub order: u64,
    /// See [`Pending::stream`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: u64,
    /// The first sequence.
    pub seq: u64,
    /// The last sequence.
    pub seq_last: u64,
    /// Why they are not joined.
    pub cause: Cause,
}

/// A number, or null.
struct Number(Option<u64>);

impl Display for Number {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Written {
        match self.0 {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str("null"),
        }
    }
}

impl Stage {
    /// Notes that something of a stream came which the stage takes later, so the stream is not silent.
    pub fn heard(&mut self, stream: usize, now_ns: u64) {
        self.newest_mut(stream).seen.heard(now_ns);
    }

    /// Makes space for one more frame of a stream, which comes from a checkpoint or waited behind a barrier.
    pub fn reserve_one(&mut self, stream: usize) {
        for at in 0..self.streams.on[stream].len() {
            self.inputs[self.streams.on[stream][at]].reserve(1);
        }
    }

    /// Whether nothing more comes of a stream's newest epoch.
    #[must_use]
    pub fn has_ended(&self, stream: usize) -> bool {
        self.newest(stream).is_ended
    }

    /// Whether an epoch is over that is the stream's present one, or the one behind its fence.
    #[must_use]
    pub fn has_ended_in(&self, stream: usize, epoch: u64) -> bool {
        let records = [Some(self.streams.sources[stream]), self.streams.behind[stream]];
        records.iter().flatten().any(|record| record.is_ended && record.epoch() == Some(epoch))
    }

    /// All waiting frames, once each and in the order in which they came, and all lost ones.
    #[must_use]
    pub fn pending(&self) -> (Vec<Pending>, Vec<Lost>) {
        let (mut frames, mut lost) = (Vec::new(), Vec::new());
        for input in &self.inputs {
            for (side, frame) in input.kept.iter().map(|kept| (Side::Present, kept)).chain(input.all()) {
                let epoch = self.source_at(input.source, side).epoch().unwrap_or(0);
                match frame.lost {
                    None => frames.push(pending(input.source, epoch, frame)),
                    Some(cause) => lost.push(Lost {
                        order: frame.order,
                        stream: input.source,
                        epoch,
                        seq: frame.seq,
                        seq_last: frame.seq_last,
                        cause,
                    }),
                }
            }
        }
        // Several inputs may wait for the same frame of a stream.
        frames.sort_unstable_by_key(|frame| (frame.stream, frame.epoch, frame.seq, frame.order));
        frames.dedup_by_key(|frame| (frame.stream, frame.epoch, frame.seq));
        frames.sort_unstable_by_key(|frame| (frame.order, frame.epoch, frame.seq));
        lost.sort_unstable_by_key(|lost| (lost.stream, lost.epoch, lost.seq, lost.order));
        lost.dedup_by_key(|lost| (lost.stream, lost.epoch, lost.seq, lost.seq_last));
        lost.sort_unstable_by_key(|lost| (lost.order, lost.epoch, lost.seq));
        (frames, lost)
    }

    /// Appends, as JSON, what neither the state nor the frames say: how far each stream was heard, its times and
    /// watermark, and the times that wait to be outputs.
    pub fn write_rest(&self, into: &mut Vec<u8>) {
        self.try_write_rest(into).expect("a vector takes every byte");
    }

    /// Writes what is known of one epoch of a stream.
    fn try_write_record(&self, stream: usize, source: &Source, into: &mut Vec<u8>) -> std::io::Result<()> {
        write!(
            into,
            "\"epoch\":{},\"last_seq\":{},\"watermark_ms\":{},\"is_observed\":{},\"is_ended\":{},\"is_rejected\":{},\
             \"last_slot_ns\":{},\"last_descriptor_ns\":{}",
            Number(source.epoch()),
            Number(source.last_seq()),
            Number(source.watermark_ms),
            source.is_observed,
            source.is_ended,
            source.seen.rejected & self.streams.ordered[stream] != 0,
            Number(source.seen.observed.times[0]),
            Number(source.seen.observed.times[1]),
        )
    }

    fn try_write_rest(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        into.write_all(b"{\"streams\":[")?;
        for (at, stream) in self.streams.ids.iter().enumerate() {
            write!(into, "{}{{\"stream\":{stream},", if at == 0 { "" } else { "," })?;
            self.try_write_record(at, &self.streams.sources[at], into)?;
            if let Some(behind) = &self.streams.behind[at] {
                into.write_all(b",\"then\":{")?;
                self.try_write_record(at, behind, into)?;
                into.write_all(b"}")?;
            }
            into.write_all(b"}")?;
        }
        write!(into, "],\"watermark_ms\":{},", Number(self.numbers.last_watermark_ms))?;
        write!(into, "\"next_tick_ns\":{},\"out_times\":[", Number(self.numbers.times.next_tick))?;
        for (at, time_ns) in self.numbers.times.all().enumerate() {
            write!(into, "{}{time_ns}", if at == 0 { "" } else { "," })?;
        }
        into.write_all(b"]}")
    }
}

fn pending(stream: usize, epoch: u64, frame: &Frame) -> Pending {
    Pending {
        order: frame.order,
        stream,
        epoch,
        seq: frame.seq,
        descriptor_timestamp_ns: frame.descriptor_ns,
        slot_timestamp_ns: frame.slot_ns,
        trace_id: frame.trace_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barrier::NULL_TIMESTAMP;
    use crate::map::{Announced, RawRule};
    use crate::stage::{Drive, InputConfig, Observed, PolicyKind, StageConfig};

    fn stage(stale_timeout_ns: Option<u64>) -> Stage {
        let mut stage = Stage::new(StageConfig {
            policy: PolicyKind::Sequence,
            out_stream: 9,
            inputs: vec![InputConfig::of(1), InputConfig::of(2), InputConfig::of(2)],
            drive: Drive::Counter,
            first: None,
            is_late_stalled: false,
            is_ordered_by_time: false,
            max_skew_ns: 0,
            max_age_ns: 0,
            out_epoch: 1,
            history: 64,
        });
        let rule = |stream| RawRule { stream, rule_type: 0, source: 2, offset: Some(0), window: None };
        let rules = [rule(1), rule(2), rule(2)];
        let announced = Announced { out_stream: 9, epoch: 1, stale_timeout_ns, times: None, rules: &rules };
        assert_eq!(stage.apply(&announced, 1), Ok(true));
        stage
    }

    fn seen(seq: u64) -> Observed {
        let null = NULL_TIMESTAMP;
        Observed { epoch: 5, seq, descriptor_timestamp_ns: null, slot_timestamp_ns: null, trace_id: seq }
    }

    #[test]
    fn what_waits_is_told_once_and_in_the_order_in_which_it_came() {
        let mut stage = stage(None);
        for (stream, seq) in [(0, 0), (1, 0), (1, 1), (0, 1), (1, 2), (1, 3)] {
            stage.observe(stream, &seen(seq), 10);
        }
        assert!(stage.next(10).is_some());
        stage.joined(10);
        stage.missed(1, 5, 4, 6, 10);
        let (frames, lost) = stage.pending();
        let told: Vec<_> = frames.iter().map(|frame| (frame.stream, frame.seq)).collect();
        // A frame that was joined most recently may be needed again.
        assert_eq!(told, [(0, 0), (1, 0), (1, 1), (0, 1), (1, 2), (1, 3)]);
        assert_eq!(lost.len(), 1);
        assert_eq!((lost[0].seq, lost[0].seq_last, lost[0].cause), (4, 6, Cause::AgentDown));
    }

    #[test]
    fn copies_that_wait_are_not_given_up_for_want_of_a_ring() {
        let mut stage = stage(None);
        stage.observe(1, &seen(0), 10);
        for seq in 0..1000 {
            stage.reserve_one(0);
            stage.observe(0, &seen(seq), 10);
        }
        assert_eq!(stage.pending().0.iter().filter(|frame| frame.stream == 0).count(), 1000);
        assert!(stage.next(10).is_some());
        stage.joined(10);
        assert_eq!(stage.input_counters()[0].overwritten, 0);
    }

    #[test]
    fn a_stream_that_is_heard_is_not_stale() {
        let mut stage = stage(Some(100));
        for (stream, seq) in [(0, 0), (1, 0)] {
            stage.observe(stream, &seen(seq), 10);
        }
        assert!(stage.next(10).is_some());
        stage.joined(10);
        stage.observe(1, &seen(1), 150);
        stage.heard(0, 120);
        assert!(stage.next(150).is_none(), "its frame is on the way");
        assert!(stage.next(230).is_some(), "now it is silent");
    }

    #[test]
    fn the_rest_says_how_far_each_stream_was_heard() {
        let mut stage = stage(None);
        stage.observe(0, &seen(3), 10);
        stage.watermark(0, 70, 10);
        let mut rest = Vec::new();
        stage.write_rest(&mut rest);
        let text = String::from_utf8(rest).unwrap();
        assert!(
            text.starts_with("{\"streams\":[{\"stream\":1,\"epoch\":5,\"last_seq\":3,\"watermark_ms\":70,"),
            "{text}"
        );
        assert!(text.ends_with("\"watermark_ms\":null,\"next_tick_ns\":null,\"out_times\":[]}"), "{text}");
    }
}
