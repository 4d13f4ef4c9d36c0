// SPDX-License-Identifier: Apache-2.0
//! What differs between the policies of a stage. One file implements each of them: `sequence`, `timestamp`, `latest` and
//! `union`.

use std::io::{Result as Written, Write};

use super::Stage;
use super::config::{Drive, InputConfig, Preference, StageConfig};
use super::history::Frame;
use super::nearest::OneToOne;
use super::out_times::OutTimes;
use super::unmatched::Cause;
use super::{latest, sequence, timestamp};

/// Where the outputs are, for the policies.
pub(super) struct Numbers {
    /// The input whose frames make the outputs of sequence and timestamp policies.
    pub anchor: Option<usize>,
    pub counting: sequence::Counting,
    pub timing: timestamp::Timing,
    pub ticking: latest::Ticking,
    /// Times that are to be outputs.
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

/// One way to tell which frames belong together. A policy keeps nothing itself: its numbers lie in the stage, where the
/// steps that all policies share find them.
pub(super) trait Policy {
    // --- Frames come ---

    /// Why a frame can never be joined, as it comes.
    fn arrival_cause(&self, _stage: &Stage, _input: usize, _frame: &Frame) -> Option<Cause> {
        None
    }

    /// The same for one that waits, under another map; `goes_back`: times decreased up to it.
    fn waiting_cause(&self, stage: &Stage, _input: usize, frame: &Frame, _goes_back: bool) -> Option<Cause> {
        (stage.config.reads_times() && !frame.has_time()).then_some(Cause::NullTimestamp)
    }

    /// The same for one behind a fence: the outputs that it may belong to are not known yet.
    fn cause_behind(&self, _stage: &Stage, _input: usize, _frame: &Frame) -> Option<Cause> {
        None
    }

    /// A frame, which may be lost, is among those that wait.
    fn arrived(&self, _stage: &mut Stage, _input: usize, _frame: &Frame) {}

    /// A frame of a stream came; whether it was new.
    fn observed(&self, _stage: &mut Stage, _stream: usize, _is_new: bool, _now_ns: u64) {}

    /// What was there before, under no map or in an earlier life, counts from now on.
    fn taken_up(&self, _stage: &mut Stage, _now_ns: u64) {}

    // --- Outputs ---

    /// Chooses the frames of the next output; whether there is one.
    fn next(&self, stage: &mut Stage, now_ns: u64) -> bool;

    /// Sequence and time of the output that `next` chose.
    fn out(&self, stage: &Stage) -> (u64, Option<u64>) {
        (stage.out_seq, None)
    }

    /// The row is written.
    fn joined(&self, _stage: &mut Stage, _now_ns: u64) {}

    /// A frame of the attempt could not be read.
    fn failed(&self, _stage: &mut Stage, _input: usize, _seq: u64) {}

    /// The current output, a sequence or a time, where it is known.
    fn proposed(&self, _stage: &Stage) -> Option<u64> {
        None
    }

    // --- Epochs ---

    /// Whether the output's epoch is over although frames of it wait: the next one is nearer.
    fn is_next_nearer(&self, _stage: &Stage) -> bool {
        false
    }

    /// The output goes on in another epoch.
    fn new_epoch(&self, stage: &mut Stage);

    // --- What a resumed stage goes on from ---

    /// How many numbers it keeps.
    fn numbers_kept(&self) -> usize {
        0
    }

    /// Writes them, each with its name.
    fn write(&self, _stage: &Stage, _into: &mut impl Write) -> Written<()> {
        Ok(())
    }

    /// Takes them up, as many as it keeps.
    fn resume(&self, _stage: &mut Stage, _numbers: &[Option<u64>]) {}
}

/// Does something by the policy of a stage. The compiler sees each policy's own code: no call goes through a table.
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
