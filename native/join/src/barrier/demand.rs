// SPDX-License-Identifier: Apache-2.0
//! Rules as they are evaluated: both kinds, offsets and windows, become a first output and a shift.

use super::inputs::Inputs;
use crate::map::{MergeMap, Need, Rule, Source};

/// Output `out` needs `out + shift` of its input, from output `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Index of the input.
    pub input: u16,
    /// Timestamp field: 0 slot header, 1 frame descriptor.
    pub source: u8,
    /// Every field that any rule of this input reads, as bits.
    pub sources: u8,
    /// The first output that the rule can be fulfilled for.
    pub start: u64,
    /// From output to input.
    pub shift: i64,
}

/// The place of a timestamp field in the pairs that inputs keep.
pub(super) fn place(source: Source) -> u8 {
    match source {
        Source::SlotHeader => 0,
        Source::FrameDescriptor => 1,
    }
}

/// One demand for each rule or, where parameters are ignored, for each input.
pub(super) fn compile<S: Copy + Default>(
    map: &MergeMap,
    inputs: &Inputs<S>,
    one_an_input: bool,
    into: &mut Vec<Demand>,
) {
    let mut sources = [0u8; crate::input_set::INPUTS_MAX];
    into.clear();
    for rule in &map.rules {
        let Some(index) = inputs.index_of(rule.stream) else { continue };
        if one_an_input && sources[index] != 0 {
            continue;
        }
        sources[index] |= 1 << place(rule.source);
        into.push(demand(rule, index as u16, map.times.is_some()));
    }
    for demand in into {
        demand.sources = sources[usize::from(demand.input)];
    }
}

fn demand(rule: &Rule, input: u16, is_by_time: bool) -> Demand {
    let (start, shift) = match rule.need {
        Need::Offset(offset) => (if offset < 0 { offset.unsigned_abs() } else { 0 }, offset),
        // [t - w, t] starts at t = w; [n - N + 1, n] one earlier.
        Need::Window(window) => (if is_by_time { window } else { window - 1 }, 0),
    };
    Demand { input, source: place(rule.source), sources: 0, start, shift }
}
