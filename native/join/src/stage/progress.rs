// SPDX-License-Identifier: Apache-2.0
//! Short answers for the engine around the stage.

use super::Stage;
use super::config::Drive;
use super::history::Wide;

/// How far an input has come. Making it allocates, so ask seldom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The newest sequence.
    pub last_seq: Option<u64>,
    /// The newest time, by the rule's source.
    pub last_time_ns: Option<u64>,
    /// When the newest frame came, by the local clock.
    pub last_at_ns: Option<u64>,
    /// The index of the stream in [`super::StageConfig::streams`].
    pub stream: usize,
    /// Whether its epoch is over.
    pub is_ended: bool,
    /// How many frames wait.
    pub pending: u64,
    /// How many frames were lapped before they could be read.
    pub overwritten: u64,
    /// The known epoch, and the earlier epoch of frames that came after it began.
    pub older_epoch: Option<(u64, u64)>,
    /// Under the sequence policy, how many frames the input is ahead of the one that is furthest behind.
    pub ahead: Option<u64>,
}

impl Stage {
    /// The epoch of the output.
    #[inline]
    #[must_use]
    pub fn out_epoch(&self) -> u64 {
        self.out_epoch
    }

    /// Whether output times have to be pushed.
    #[must_use]
    pub fn needs_time(&self) -> bool {
        self.config.drive == Drive::External
    }

    /// Whether there is something for `drain_unmatched`.
    #[must_use]
    pub fn has_unmatched(&self) -> bool {
        self.queue.len() > 0
    }

    /// Epoch and sequence up to which all inputs of a stream have decided every frame.
    #[must_use]
    pub fn decided(&self, stream: usize) -> Option<(u64, u64)> {
        let decided = self.streams.on[stream].iter().map(|input| self.inputs[*input].decided).min()??;
        Some((self.streams.sources[stream].epoch()?, decided))
    }

    /// Epoch and sequence of the newest frame that came of a stream.
    #[must_use]
    pub fn last_heard(&self, stream: usize) -> Option<(u64, u64)> {
        let newest = self.newest(stream);
        Some((newest.epoch()?, newest.last_seq()?))
    }

    /// How many frames of each input may wait.
    #[must_use]
    pub fn history(&self) -> usize {
        self.config.history as usize
    }

    /// Epoch and sequence from which frames of a stream's newest epoch may still be needed.
    #[inline]
    #[must_use]
    pub fn newest_needed_from(&self, stream: usize) -> Option<(u64, u64)> {
        let Some(behind) = &self.streams.behind[stream] else { return self.needed_from(stream) };
        Some((behind.epoch()?, self.waits_from(stream, 0)?))
    }

    /// The oldest frame of a stream's newest epoch, from a sequence on, that may still be needed.
    #[must_use]
    pub fn waits_from(&self, stream: usize, seq: u64) -> Option<u64> {
        let oldest = |input: &usize| {
            let each = &self.inputs[*input];
            if self.streams.behind[stream].is_some() {
                return each.behind_from(seq).map(|frame| frame.seq);
            }
            let reused = self.reused_by(*input).map(|frame| frame.seq).filter(|reused| *reused >= seq);
            reused.or_else(|| Some(each.at(each.readable_from(each.position_from(seq.into()))?).seq))
        };
        self.streams.on[stream].iter().filter_map(oldest).min()
    }

    /// Whether a joined frame may be joined again by a later output, under the applied map.
    #[must_use]
    pub fn is_reusing(&self) -> bool {
        !self.config.policy.has_place_of_its_own() || self.inputs.iter().any(|input| input.window.is_some())
    }

    /// Whether an input's time is the descriptor's instead of the slot header's.
    #[inline]
    #[must_use]
    pub fn reads_descriptor_time(&self, input: usize) -> bool {
        self.inputs[input].place == 1
    }

    /// How far each input has come.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        let place = |input: &super::Input| {
            let last = Wide::from(self.streams.sources[input.source].last_seq()?);
            Some(last - input.shift)
        };
        let furthest_behind =
            if self.config.policy.is_by_sequence() { self.inputs.iter().filter_map(place).min() } else { None };
        let progress = |(index, input): (usize, &super::Input)| {
            let source = &self.streams.sources[input.source];
            Progress {
                stream: input.source,
                last_seq: source.last_seq(),
                last_time_ns: source.seen.observed.times[input.place],
                last_at_ns: self.newest(input.source).seen.heard_ns.or(source.seen.heard_ns),
                is_ended: self.newest(input.source).is_ended,
                pending: input.len() as u64,
                overwritten: self.by_input[index].overwritten,
                older_epoch: self.newest(input.source).epoch().zip(self.newest(input.source).older_epoch),
                ahead: place(input).zip(furthest_behind).map(|(own, least)| (own - least) as u64),
            }
        };
        self.inputs.iter().enumerate().map(progress).collect()
    }
}
