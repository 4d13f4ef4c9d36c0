// SPDX-License-Identifier: Apache-2.0
//! What a stage is told once: the policy, the inputs, and what makes outputs. Rules come with maps alone.

use serde::Deserialize;

use crate::barrier::Kind;
use crate::map::Source;

/// Which frames belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKind {
    /// By sequence.
    Sequence,
    /// By timestamp.
    Timestamp,
    /// The newest of each input.
    Latest,
    /// Every frame for itself.
    Union,
}

impl PolicyKind {
    /// Whether sequences number the outputs.
    #[must_use]
    pub const fn is_by_sequence(self) -> bool {
        matches!(self, Self::Sequence)
    }

    /// Whether the times of frames decide.
    #[must_use]
    pub const fn is_by_time(self) -> bool {
        matches!(self, Self::Timestamp)
    }

    /// Whether the newest frame of an input is all that it can give.
    #[must_use]
    pub const fn keeps_newest_only(self) -> bool {
        matches!(self, Self::Latest)
    }

    /// Whether a frame has one output of its own, and no other.
    #[must_use]
    pub const fn has_place_of_its_own(self) -> bool {
        matches!(self, Self::Sequence | Self::Union)
    }

    /// Whether the order of frames alone closes an epoch of the output.
    #[must_use]
    pub const fn closes_by_order(self) -> bool {
        matches!(self, Self::Union)
    }
}

/// What makes an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// Counting up or, of the latest policy, every observation.
    Counter,
    /// The frames of this input, by index.
    Input(usize),
    /// A clock with this period.
    Clock {
        /// Between two outputs.
        period_ns: u64,
    },
    /// Every advance of the lowest watermark.
    Watermark,
    /// Times that are pushed.
    External,
}

/// Which frame a timestamp rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The newest that is not later than asked for.
    Newest,
    /// The one with the least distance, before or after.
    Nearest,
    /// The newest that is not later than asked for, without waiting for another.
    Latest,
    /// The one whose sequence is the anchor's plus the input's `seq_offset`.
    Sequence,
}

/// One `[[input]]`, which a map's rule may bind; several may name the same stream. What is said here chooses among the
/// frames that the rule admits.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct InputConfig {
    /// The stream's id.
    pub stream: u32,
    /// How far from the time asked for a frame may lie; None: any distance.
    pub tolerance_ns: Option<u64>,
    /// The timestamp that counts where a map names none.
    pub source: Source,
    /// Of a timestamp rule.
    pub pick: Preference,
    /// Of [`Preference::Sequence`].
    #[serde(default)]
    pub seq_offset: i64,
    /// Whether a frame may be joined again.
    pub reuse: bool,
    /// An output that waited longer goes on without this input; 0: it waits.
    pub deadline_ns: u64,
    /// Whether outputs never wait for it.
    pub optional: bool,
    /// Whether the processed cursor counts too.
    pub processed: bool,
    /// Whether a frame whose time goes back is left out, instead of the whole stream.
    pub drops_regressed: bool,
}

impl InputConfig {
    /// Whether the frame that is nearest to an output is picked, not the newest one. An anchor's own frames make outputs.
    pub(super) fn is_nearest(&self, is_anchor: bool) -> bool {
        self.pick == Preference::Nearest && !is_anchor
    }

    /// Whether a rule is fulfilled by any frame, whatever its time.
    pub(super) fn needs_first_only(&self) -> bool {
        matches!(self.pick, Preference::Latest | Preference::Sequence)
    }

    /// An input of which only the stream matters, for tests. What users get is decided in `joinbarrier/config`.
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

/// All of it. Staleness and lateness come with the map.
#[derive(Clone, Debug, Deserialize)]
pub struct StageConfig {
    /// Which frames belong together.
    pub policy: PolicyKind,
    /// The output stream that maps are announced for.
    pub out_stream: u32,
    /// The inputs, in the order of the columns.
    pub inputs: Vec<InputConfig>,
    /// What makes an output.
    pub drive: Drive,
    /// The first output of the sequence policy; None: the smallest that every rule can satisfy.
    pub first: Option<u64>,
    /// Lateness counts as 0: nothing comes too late, and every input is waited for.
    pub is_late_stalled: bool,
    /// Of the latest policy: newest by time, not by sequence.
    pub is_ordered_by_time: bool,
    /// Picks may lie this far apart; 0: any distance.
    pub max_skew_ns: u64,
    /// Older outputs are skipped for the newest possible; 0: never.
    pub max_age_ns: u64,
    /// Epoch of the output to begin with.
    pub out_epoch: u64,
    /// How many frames of each input may wait.
    pub history: u32,
}

impl StageConfig {
    /// The stream ids without repetition, in the order of the inputs. A stage counts streams by their place here.
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

    /// What readiness is about; None: nothing of a union waits for a map or for another input.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.policy {
            PolicyKind::Sequence => Some(Kind::Sequence),
            PolicyKind::Timestamp => Some(Kind::Timestamp),
            PolicyKind::Latest if self.is_ordered_by_time => Some(Kind::LatestByTime),
            PolicyKind::Latest => Some(Kind::LatestBySeq),
            PolicyKind::Union => None,
        }
    }

    /// Whether rules speak of times.
    pub(super) fn reads_times(&self) -> bool {
        self.kind().is_some_and(Kind::reads_times)
    }
}
