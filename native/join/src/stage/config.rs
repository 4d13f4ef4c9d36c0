// SPDX-License-Identifier: Apache-2.0
//! The configuration of a stage, fixed for its whole run: policy, inputs, and what makes outputs. Rules come only with
//! maps.

use serde::Deserialize;

use super::policy::PolicyKind;
use crate::barrier::Kind;
use crate::map::Source;

/// What makes the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// Counting up; under the latest policy, every observation.
    Counter,
    /// The frames of this input, given by its index.
    Input(usize),
    /// A clock with this period.
    Clock {
        /// The time between two outputs.
        period_ns: u64,
    },
    /// Every advance of the lowest watermark.
    Watermark,
    /// Times that the caller pushes.
    External,
}

/// Which frame a timestamp rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The newest frame that is not later than the time asked for.
    Newest,
    /// The frame at the smallest distance, before or after.
    Nearest,
    /// The newest that is not later than asked for, without waiting for another.
    Latest,
    /// The one whose sequence is the anchor's plus the input's `seq_offset`.
    Sequence,
}

/// One `[[input]]`, which a rule of the map may bind; several may name the same stream. These settings choose among the
/// frames that the rule allows.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct InputConfig {
    /// The stream's id.
    pub stream: u32,
    /// How far from the time asked for a frame may lie; None: any distance.
    pub tolerance_ns: Option<u64>,
    /// The timestamp that counts if the map names none.
    pub source: Source,
    /// Which frame a timestamp rule takes.
    pub pick: Preference,
    /// Of [`Preference::Sequence`].
    #[serde(default)]
    pub seq_offset: i64,
    /// Whether a frame may be joined again.
    pub reuse: bool,
    /// How long an output waits for this input before it goes on without it; 0: for ever.
    pub deadline_ns: u64,
    /// Whether outputs never wait for this input.
    pub optional: bool,
    /// Whether the processed cursor must have come as far too.
    pub processed: bool,
    /// Whether a frame whose time goes back is dropped; otherwise the whole stream is rejected.
    pub drops_regressed: bool,
}

impl InputConfig {
    /// Whether the frame nearest to an output is picked, not the newest. An anchor's own frames make the outputs.
    pub(super) fn is_nearest(&self, is_anchor: bool) -> bool {
        self.pick == Preference::Nearest && !is_anchor
    }

    /// Whether a rule is fulfilled by any frame, whatever its time.
    pub(super) fn needs_first_only(&self) -> bool {
        matches!(self.pick, Preference::Latest | Preference::Sequence)
    }

    /// Makes an input with default settings, for tests. `joinbarrier/config` decides the defaults of users.
    #[must_use]
    pub const fn of(stream: u32) -> Self {
        Self {
            stream,
            tolerance_ns: None,
            source: Source::SlotHeader,
            pick: Preference::Newest,
            seq_offset: 0,
            reuse: true,
            deadline_ns: 0,
            optional: false,
            processed: false,
            drops_regressed: false,
        }
    }
}

/// The whole configuration of a stage. Staleness and lateness come with the map.
#[derive(Clone, Debug, Deserialize)]
pub struct StageConfig {
    /// How frames belong together.
    pub policy: PolicyKind,
    /// The output stream that maps are announced for.
    pub out_stream: u32,
    /// The inputs, in the order of the columns.
    pub inputs: Vec<InputConfig>,
    /// What makes the outputs.
    pub drive: Drive,
    /// The first output under the sequence policy; None: the smallest that every rule can satisfy.
    pub first: Option<u64>,
    /// Whether lateness counts as 0, so that nothing comes too late and every input is waited for.
    pub is_late_stalled: bool,
    /// Whether the latest policy takes the newest by time instead of by sequence.
    pub is_ordered_by_time: bool,
    /// How far apart the frames of a row may lie; 0: any distance.
    pub max_skew_ns: u64,
    /// The age beyond which outputs are skipped for the newest possible one; 0: never.
    pub max_age_ns: u64,
    /// The first epoch of the output.
    pub out_epoch: u64,
    /// How many frames of each input may wait.
    pub history: u32,
}

impl StageConfig {
    /// The stream ids without repetition, in the order of the inputs. Their position here is a stream's index in the
    /// stage.
    #[must_use]
    pub fn streams(&self) -> Vec<u32> {
        let mut streams = Vec::new();
        for input in &self.inputs {
            if !streams.contains(&input.stream) {
                streams.push(input.stream);
            }
        }
        streams
    }

    /// The kind of readiness. None for a policy that waits for no map and no other input.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.policy.kind(self.is_ordered_by_time)
    }

    /// Whether rules compare times.
    pub(super) fn reads_times(&self) -> bool {
        self.kind().is_some_and(Kind::reads_times)
    }
}
