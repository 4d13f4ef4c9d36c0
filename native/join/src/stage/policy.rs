// SPDX-License-Identifier: Apache-2.0
//! The policies of a stage and how they differ: their names, what holds for each, and the trait that one file for each
//! implements: `sequence`, `timestamp`, `latest` and `union`. `joinbarrier/config/policies.py` is the list in Python.

use std::io::{Result as Written, Write};

use serde::Deserialize;

use super::Stage;
use super::config::{Drive, InputConfig, Preference, StageConfig};
use super::history::Frame;
use super::nearest::OneToOne;
use super::out_times::OutTimes;
use super::unmatched::Cause;
use super::{latest, sequence, timestamp};
use crate::barrier::Kind;

/// How the join decides which frames belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKind {
    /// Frames with matching sequences.
    Sequence,
    /// Frames with matching times.
    Timestamp,
    /// The newest frame of each input.
    Latest,
    /// Every frame alone.
    Union,
}

impl PolicyKind {
    /// The kind of readiness. None for a union, which waits for no map and no other input.
    pub(super) fn kind(self, is_ordered_by_time: bool) -> Option<Kind> {
        match self {
            Self::Sequence => Some(Kind::Sequence),
            Self::Timestamp => Some(Kind::Timestamp),
            Self::Latest if is_ordered_by_time => Some(Kind::LatestByTime),
            Self::Latest => Some(Kind::LatestBySeq),
            Self::Union => None,
        }
    }

    /// Whether outputs are numbered by sequences of frames.
    #[must_use]
    pub const fn is_by_sequence(self) -> bool {
        matches!(self, Self::Sequence)
    }

    /// Whether the times of frames decide.
    #[must_use]
    pub const fn is_by_time(self) -> bool {
        matches!(self, Self::Timestamp)
    }

    /// Whether only the newest frame of an input can be joined.
    #[must_use]
    pub const fn keeps_newest_only(self) -> bool {
        matches!(self, Self::Latest)
    }

    /// Whether a frame belongs to one output only.
    #[must_use]
    pub const fn has_place_of_its_own(self) -> bool {
        matches!(self, Self::Sequence | Self::Union)
    }

    /// Whether the order of frames alone decides when an epoch of the output closes.
    #[must_use]
    pub const fn closes_by_order(self) -> bool {
        matches!(self, Self::Union)
    }
}

/// Where the outputs stand, for each policy.
pub(super) struct Numbers {
    /// The input whose frames make the outputs under the sequence and timestamp policies.
    pub anchor: Option<usize>,
    pub counting: sequence::Counting,
    pub timing: timestamp::Timing,
    pub ticking: latest::Ticking,
    /// Times that will be outputs.
    pub times: OutTimes,
    pub last_watermark_ms: Option<u64>,
    /// Whether a frame may be waited for although the rule of its input is met.
    pub has_patient: bool,
    pub one_to_one: Option<OneToOne>,
}

impl Numbers {
    pub fn new(config: &StageConfig) -> Self {
        let policy = config.policy;
        let is_ordered = policy.is_by_sequence() || policy.is_by_time();
        let period_ns = if let Drive::Clock { period_ns } = config.drive { period_ns } else { 0 };
        let anchor = match config.drive {
            Drive::Input(input) if is_ordered => Some(input),
            _ => None,
        };
        let is_near = |(at, each): &(usize, &InputConfig)| each.is_nearest(anchor == Some(*at));
        let near = || config.inputs.iter().enumerate().filter(is_near).filter(|_| policy.is_by_time());
        let is_by_sequence = |each: &InputConfig| policy.is_by_time() && each.pick == Preference::Sequence;
        Self {
            anchor,
            counting: sequence::Counting { n: config.first, first: config.first, last_row: None },
            timing: timestamp::Timing::default(),
            ticking: latest::Ticking::default(),
            times: OutTimes::new(period_ns),
            last_watermark_ms: None,
            has_patient: near().next().is_some() || config.inputs.iter().any(is_by_sequence),
            one_to_one: near().any(|(_, each)| !each.reuse).then(|| OneToOne::new(config)),
        }
    }
}

/// Decides which frames belong together. A policy keeps no data itself: its numbers lie in the stage, so that the steps
/// that all policies share can use them.
pub(super) trait Policy {
    // --- Frames come ---

    /// Why a new frame can never be joined; None if it may be.
    fn arrival_cause(&self, _stage: &Stage, _input: usize, _frame: &Frame) -> Option<Cause> {
        None
    }

    /// Why a waiting frame can never be joined under a new map. `goes_back`: times decreased up to it.
    fn waiting_cause(&self, stage: &Stage, _input: usize, frame: &Frame, _goes_back: bool) -> Option<Cause> {
        (stage.config.reads_times() && !frame.has_time()).then_some(Cause::NullTimestamp)
    }

    /// Why a new frame behind a fence can never be joined. Its outputs are not known yet.
    fn fenced_cause(&self, _stage: &Stage, _input: usize, _frame: &Frame) -> Option<Cause> {
        None
    }

    /// Called when a frame, perhaps a lost one, was added to those that wait.
    fn arrived(&self, _stage: &mut Stage, _input: usize, _frame: &Frame) {}

    /// Called when a frame of a stream came; `is_new` if it was not decided before.
    fn observed(&self, _stage: &mut Stage, _stream: usize, _is_new: bool, _now_ns: u64) {}

    /// Called when a map was applied: frames that came without one, or that an earlier run heard, count from now on.
    fn map_applied(&self, _stage: &mut Stage, _now_ns: u64) {}

    // --- Outputs ---

    /// Chooses the frames of the next output; false if none is possible.
    fn next(&self, stage: &mut Stage, now_ns: u64) -> bool;

    /// Sequence and time of the output that `next` chose.
    fn out(&self, stage: &Stage) -> (u64, Option<u64>) {
        (stage.out_seq, None)
    }

    /// Called when the row was written.
    fn joined(&self, _stage: &mut Stage, _now_ns: u64) {}

    /// Called when a frame of the attempt could not be read.
    fn failed(&self, _stage: &mut Stage, _input: usize, _seq: u64) {}

    /// The current output, a sequence or a time, if it is known.
    fn proposed(&self, _stage: &Stage) -> Option<u64> {
        None
    }

    // --- Epochs ---

    /// Whether to close the output's epoch although frames of it wait, because the next one is nearer.
    fn is_next_nearer(&self, _stage: &Stage) -> bool {
        false
    }

    /// Called when a new epoch of the output begins.
    fn new_epoch(&self, stage: &mut Stage);

    // --- The state of a resumed stage ---

    /// How many numbers the policy keeps in the state.
    fn numbers_kept(&self) -> usize {
        0
    }

    /// Writes these numbers, each with its name.
    fn write(&self, _stage: &Stage, _into: &mut impl Write) -> Written<()> {
        Ok(())
    }

    /// Takes these numbers back.
    fn resume(&self, _stage: &mut Stage, _numbers: &[Option<u64>]) {}
}

/// Runs an expression with the policy of a stage. The compiler makes code for each policy, so no call is dynamic.
macro_rules! by_policy {
    ($stage:expr, $policy:ident => $done:expr) => {
        match $stage.config.policy {
            $crate::stage::PolicyKind::Sequence => {
                let $policy = $crate::stage::sequence::BySequence;
                $done
            }
            $crate::stage::PolicyKind::Timestamp => {
                let $policy = $crate::stage::timestamp::ByTimestamp;
                $done
            }
            $crate::stage::PolicyKind::Latest => {
                let $policy = $crate::stage::latest::Latest;
                $done
            }
            $crate::stage::PolicyKind::Union => {
                let $policy = $crate::stage::union::Union;
                $done
            }
        }
    };
}
pub(super) use by_policy;
