// SPDX-License-Identifier: Apache-2.0
//! The state that a stage of the same configuration resumes from: JSON that holds only numbers. -1 stands for none.

use std::fmt::{Display, Formatter, Result as Written};
use std::io::Write;

use super::Stage;
use super::clocks::NS_PER_MS;
use super::config::{Drive, StageConfig};
use super::policy::{Policy, by_policy};

/// A number, or -1 for none.
pub(super) struct Number(pub Option<u64>);

impl Display for Number {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Written {
        match self.0 {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str("-1"),
        }
    }
}

impl Stage {
    /// Appends the state. Allocates nothing if `into` has space for `state_capacity` bytes.
    pub fn write_state(&self, into: &mut Vec<u8>) {
        self.try_write_state(into).expect("a vector takes every byte");
    }

    fn try_write_state(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        let (out_epoch, out_seq, map) = (self.out_epoch, self.out_seq, self.rules.version);
        write!(into, "{{\"out_epoch\":{out_epoch},\"out_seq\":{out_seq},\"map\":{map},")?;
        by_policy!(self, policy => policy.write(self, into))?;
        into.write_all(b"\"inputs\":[")?;
        for (at, each) in self.inputs.iter().enumerate() {
            let source = &self.streams.sources[each.source];
            let comma = if at == 0 { "" } else { "," };
            // The producer of what waits behind a fence has not ended, so it will send that again.
            let is_ended = source.is_ended && self.streams.behind[each.source].is_none();
            let (epoch, decided, joined) = (Number(source.epoch()), Number(each.decided), Number(each.joined));
            write!(into, "{comma}[{epoch},{decided},{joined},{}]", u8::from(is_ended))?;
        }
        into.write_all(b"]}")
    }

    /// The length of the longest possible state.
    #[must_use]
    pub fn state_capacity(&self) -> usize {
        const NUMBER: usize = 20;
        128 + 6 * NUMBER + self.inputs.len() * (3 * NUMBER + 8)
    }

    /// Makes a stage of the same configuration that resumes from a state.
    #[must_use]
    pub fn resumed(&self, state: &[u8]) -> Option<Self> {
        Self::resume(self.config.clone(), state)
    }

    /// Makes a stage that resumes from what `write_state` wrote. None if the state is of other inputs or another
    /// policy.
    #[must_use]
    pub fn resume(config: StageConfig, state: &[u8]) -> Option<Self> {
        let mut stage = Self::new(config);
        let policy_numbers = by_policy!(stage, policy => policy.numbers_kept());
        let numbers = numbers(state)?;
        if numbers.len() != 3 + policy_numbers + 4 * stage.inputs.len() {
            return None;
        }
        let (head, rest) = numbers.split_at(3);
        let (own, inputs) = rest.split_at(policy_numbers);
        (stage.out_epoch, stage.out_seq, stage.rules.version) = (head[0]?, head[1]?, head[2]?);
        by_policy!(stage, policy => policy.resume(&mut stage, own));
        if stage.config.drive == Drive::Watermark {
            // The watermark that made the newest output must not make another one.
            stage.numbers.last_watermark_ms = stage.numbers.timing.last_ns.map(|last_ns| last_ns / NS_PER_MS);
        }
        for (each, known) in stage.inputs.iter_mut().zip(inputs.chunks_exact(4)) {
            (each.decided, each.joined) = (known[1], known[2]);
            let source = &mut stage.streams.sources[each.source];
            if known[0].is_some() {
                (source.seen.epoch, source.is_ended) = (known[0], known[3] == Some(1));
                stage.streams.has_ended |= source.is_ended;
            }
        }
        Some(stage)
    }
}

/// Every number of a state, with None for -1. None if the text holds anything else.
fn numbers(state: &[u8]) -> Option<Vec<Option<u64>>> {
    let text = std::str::from_utf8(state).ok()?;
    let words = text.split(|letter: char| !letter.is_ascii_digit() && letter != '-').filter(|word| !word.is_empty());
    words.map(|word| if word == "-1" { Some(None) } else { word.parse().ok().map(Some) }).collect()
}
