// SPDX-License-Identifier: Apache-2.0
//! What the stage proposes: an output and, for each input, a frame to read or the reason why it is absent.

use super::Stage;
use super::decide::Choice;
use super::policy::{Policy, by_policy};
use super::unmatched::Cause;

/// Why a row goes without an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Absence {
    /// The input was silent for longer than the map's timeout.
    Stale,
    /// The output waited for the input until its deadline.
    Late,
    /// The input is optional and had no frame, or the row is another input's.
    NotJoined,
}

impl Absence {
    /// The word for this absence in the journal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Late => "late",
            Self::NotJoined => "not_joined",
        }
    }
}

/// What an attempt takes of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The frame to read.
    Frame {
        /// The index of the stream in [`super::StageConfig::streams`].
        stream: u16,
        /// The producer's epoch.
        epoch: u64,
        /// The frame's sequence.
        seq: u64,
        /// The slot header's time, if it was read when the frame came; all ones is null.
        timestamp_ns: u64,
        /// The descriptor's time; all ones is null.
        descriptor_timestamp_ns: u64,
        /// The descriptor's trace id.
        trace_id: u64,
    },
    /// The row goes without the input.
    Absent(Absence),
}

/// An output to try. Read its picks, then call `joined`, or `failed` for each frame that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The output's epoch.
    pub out_epoch: u64,
    /// The output's sequence.
    pub out_seq: u64,
    /// The output's time, if the policy or the drive gives one.
    pub out_time_ns: Option<i64>,
    pub(super) picks: &'a [Pick],
}

impl Attempt<'_> {
    /// The picks, one for each input, in their order.
    #[must_use]
    pub fn picks(&self) -> &[Pick] {
        self.picks
    }
}

impl Stage {
    /// The next output to try, if one is possible.
    pub fn next(&mut self, now_ns: u64) -> Option<Attempt<'_>> {
        if self.streams.has_fence && !self.is_finishing {
            self.close_if_due();
        }
        if self.is_finishing || self.queue.is_backed_up() || !self.rules.is_valid {
            self.is_stuck = !self.is_finishing;
            return None;
        }
        self.is_waiting = false;
        if std::mem::take(&mut self.rules.is_just_applied) {
            by_policy!(self, policy => policy.map_applied(self, now_ns));
        }
        let is_possible = by_policy!(self, policy => policy.next(self, now_ns));
        if self.streams.has_fence && !is_possible && !self.is_waiting && self.has_all_ended() {
            // No frame will come that could make another output of this epoch.
            self.close_epoch();
            self.is_waiting = true;
        }
        self.is_stuck = is_possible || self.is_waiting;
        is_possible.then(|| self.attempt())
    }

    fn attempt(&mut self) -> Attempt<'_> {
        for input in 0..self.inputs.len() {
            self.current.picks[input] = self.pick(input);
        }
        let (out_seq, out_time) = by_policy!(self, policy => policy.out(self));
        let out_time_ns = out_time.and_then(|time| i64::try_from(time).ok());
        Attempt { out_epoch: self.out_epoch, out_seq, out_time_ns, picks: &self.current.picks }
    }

    #[inline]
    fn pick(&self, input: usize) -> Pick {
        let source = self.inputs[input].source;
        match self.chosen(input) {
            None => Pick::Absent(self.current.absent[input].unwrap_or(Absence::NotJoined)),
            Some(frame) => Pick::Frame {
                stream: source as u16,
                epoch: self.streams.sources[source].epoch().unwrap_or(0),
                seq: frame.seq,
                timestamp_ns: frame.slot_ns,
                descriptor_timestamp_ns: frame.descriptor_ns,
                trace_id: frame.trace_id,
            },
        }
    }

    /// Notes that the attempt's frame of an input cannot be read; it is not tried again. Call `next` afterwards.
    pub fn failed(&mut self, input: usize, cause: Cause, _now_ns: u64) {
        let Some(seq) = self.chosen(input).map(|frame| frame.seq) else { return };
        self.by_input[input].overwritten += u64::from(cause == Cause::Overwritten);
        match self.current.choices[input] {
            Choice::At(position) => self.inputs[input].at_mut(position).lost = Some(cause),
            Choice::Kept | Choice::Nothing => self.inputs[input].kept = None,
        }
        self.current.choices[input] = Choice::Nothing;
        self.settle(input);
        by_policy!(self, policy => policy.failed(self, input, seq));
    }

    /// Notes that the attempt's row was written.
    pub fn joined(&mut self, now_ns: u64) {
        self.counters.rows += 1;
        for input in 0..self.inputs.len() {
            match self.current.choices[input] {
                Choice::Nothing => self.by_input[input].absent += 1,
                choice => self.take(input, choice),
            }
        }
        by_policy!(self, policy => policy.joined(self, now_ns));
        self.out_seq += 1;
    }
}
