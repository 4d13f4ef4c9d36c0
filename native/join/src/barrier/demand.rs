// SPDX-License-Identifier: Apache-2.0
//! Rules as they are evaluated: both kinds, offsets and windows, become a first output and what lies ahead or back.

use super::inputs::Inputs;
use crate::map::{MergeMap, Need, Rule, Source, Times};

/// Output `out` needs `out + ahead - back` of its input, not less than 0, from output `start` on.
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
    /// By how much the input must be ahead of the output. At most one of the two is not 0.
    ahead: u64,
    /// By how much it may be back: an offset or the map's lateness.
    back: u64,
}

impl Demand {
    /// What an output needs of the input; None: more than there can be.
    #[inline]
    pub(super) fn required(&self, out: u64) -> Option<u64> {
        Some(out.checked_add(self.ahead)?.saturating_sub(self.back))
    }
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
        into.push(demand(rule, index as u16, map.times.as_ref()));
    }
    for demand in into {
        demand.sources = sources[usize::from(demand.input)];
    }
}

fn demand(rule: &Rule, input: u16, times: Option<&Times>) -> Demand {
    let (start, shift) = match rule.need {
        Need::Offset(offset) => (if offset < 0 { offset.unsigned_abs() } else { 0 }, i128::from(offset)),
        // [t - w, t] starts at t = w; [n - N + 1, n] one earlier.
        Need::Window(window) => (if times.is_some() { window } else { window - 1 }, 0),
    };
    let shift = shift - times.map_or(0, |times| i128::from(times.lateness_ns));
    // More back than any output is as much as the last output.
    let part = |shift: i128| u64::try_from(shift.max(0)).unwrap_or(u64::MAX);
    let (ahead, back) = (part(shift), part(-shift));
    Demand { input, source: place(rule.source), sources: 0, start, ahead, back }
}
