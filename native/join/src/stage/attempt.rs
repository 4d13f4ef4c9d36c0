// SPDX-License-Identifier: Apache-2.0
//! What the stage proposes: an output, and for each input a frame to read or the reason why it goes without.

use super::Stage;
use super::config::PolicyKind;
use super::decide::Choice;
use super::unmatched::Cause;

/// Why a row goes without an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Absence {
    /// It was silent for longer than the map's time-out.
    Stale,
    /// The output waited for it until its deadline.
    Late,
    /// It is optional and had nothing, or the row is another input's.
    NotJoined,
}

impl Absence {
    /// The word that the journal holds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Late => "late",
            Self::NotJoined => "not_joined",
        }
    }
}

/// One input of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The frame to read.
    Frame {
        /// The stream's place in [`super::StageConfig::streams`].
        stream: u16,
        /// The producer's epoch.
        epoch: u64,
        /// The frame's sequence.
        seq: u64,
        /// Of the slot header, if it was read at arrival; all ones is null.
        timestamp_ns: u64,
        /// Of the descriptor; all ones is null.
        descriptor_timestamp_ns: u64,
        /// Of the descriptor.
        trace_id: u64,
    },
    /// No frame.
    Absent(Absence),
}

/// An output to try: read the picks, then say `joined`, or `failed` for each that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The output's epoch.
    pub out_epoch: u64,
    /// The output's sequence.
    pub out_seq: u64,
    /// The output's time, where the policy or the drive has one.
    pub out_time_ns: Option<i64>,
    pub(super) picks: &'a [Pick],
}

impl Attempt<'_> {
    /// One pick for each input, in their order.
    #[must_use]
    pub fn picks(&self) -> &[Pick] {
        self.picks
    }
}

impl Stage {
    /// An output whose frames to read, if one is possible.
    pub fn next(&mut self, now_ns: u64) -> Option<Attempt<'_>> {
        if self.has_fence && !self.is_finishing {
            self.closes();
        }
        if self.is_finishing || self.queue.is_backed_up() || !self.has_map {
            self.is_stuck = !self.is_finishing;
            return None;
        }
        self.is_waiting = false;
        if std::mem::take(&mut self.is_map_fresh) && self.config.policy == PolicyKind::Sequence {
            // What was there before the map may be all that an input needs: the output waits from now on.
            for stream in 0..self.sources.len() {
                self.touch(stream, now_ns);
            }
        }
        let is_possible = match self.config.policy {
            PolicyKind::Sequence => self.next_by_sequence(now_ns),
            PolicyKind::Timestamp => self.next_by_timestamp(now_ns),
            PolicyKind::Latest => self.next_by_latest(now_ns),
            PolicyKind::Union => self.next_by_union(),
        };
        if self.has_fence && !is_possible && !self.is_waiting && self.has_all_ended() {
            // Nothing comes that could make an output of what is left before the fence.
            self.close_epoch();
            self.is_waiting = true;
        }
        self.is_stuck = is_possible || self.is_waiting;
        is_possible.then(|| self.attempt())
    }

    fn attempt(&mut self) -> Attempt<'_> {
        for input in 0..self.inputs.len() {
            self.picks[input] = self.pick(input);
        }
        let (out_seq, out_time) = match self.config.policy {
            PolicyKind::Sequence => (self.counting.n.unwrap_or(0), None),
            PolicyKind::Timestamp => (self.out_seq, self.timing.t),
            PolicyKind::Latest => (self.out_seq, self.ticking.t),
            PolicyKind::Union => (self.out_seq, None),
        };
        let out_time_ns = out_time.and_then(|time| i64::try_from(time).ok());
        Attempt { out_epoch: self.out_epoch, out_seq, out_time_ns, picks: &self.picks }
    }

    #[inline]
    fn pick(&self, input: usize) -> Pick {
        let source = self.inputs[input].source;
        match self.chosen(input) {
            None => Pick::Absent(self.absent[input].unwrap_or(Absence::NotJoined)),
            Some(frame) => Pick::Frame {
                stream: source as u16,
                epoch: self.sources[source].epoch().unwrap_or(0),
                seq: frame.seq,
                timestamp_ns: frame.slot_ns,
                descriptor_timestamp_ns: frame.descriptor_ns,
                trace_id: frame.trace_id,
            },
        }
    }

    /// The attempt's frame of an input cannot be read: it never is tried again. Ask for the next attempt.
    pub fn failed(&mut self, input: usize, cause: Cause, _now_ns: u64) {
        let Some(seq) = self.chosen(input).map(|frame| frame.seq) else { return };
        self.counters.inputs[input].overwritten += u64::from(cause == Cause::Overwritten);
        match self.choices[input] {
            Choice::At(position) => self.inputs[input].at_mut(position).lost = Some(cause),
            Choice::Kept | Choice::Nothing => self.inputs[input].kept = None,
        }
        self.choices[input] = Choice::Nothing;
        self.settle(input);
        if self.config.policy == PolicyKind::Latest {
            self.failed_by_latest(input, seq);
        }
    }

    /// The attempt's row is written.
    pub fn joined(&mut self, now_ns: u64) {
        self.counters.rows += 1;
        for input in 0..self.inputs.len() {
            match self.choices[input] {
                Choice::Nothing => self.counters.inputs[input].absent += 1,
                choice => self.take(input, choice),
            }
        }
        match self.config.policy {
            PolicyKind::Sequence => self.joined_by_sequence(now_ns),
            PolicyKind::Timestamp => self.joined_by_timestamp(),
            PolicyKind::Latest => self.joined_by_latest(),
            PolicyKind::Union => {}
        }
        self.out_seq += 1;
    }
}
