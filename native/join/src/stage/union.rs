// SPDX-License-Identifier: Apache-2.0
//! The union policy: every frame makes a row of its own, in the order of arrival.

use super::Stage;
use super::attempt::Absence;
use super::decide::Choice;
use super::policy::Policy;

/// The union policy: no frames belong together.
pub(super) struct Union;

impl Policy for Union {
    #[inline]
    fn next(&self, stage: &mut Stage, _now_ns: u64) -> bool {
        stage.next_by_union()
    }

    // An output is tried only when its frame is there, so there is none to begin anew.
    fn new_epoch(&self, _stage: &mut Stage) {}
}

impl Stage {
    fn next_by_union(&mut self) -> bool {
        if self.streams.has_fence {
            self.pass_in_order();
        }
        let fronts = self.inputs.iter().enumerate().filter_map(|(at, each)| Some((each.front()?.order, at)));
        let Some((_, oldest)) = fronts.min() else { return false };
        self.current.absent.fill(Some(Absence::NotJoined));
        self.current.choices.fill(Choice::Nothing);
        self.current.absent[oldest] = None;
        self.current.choices[oldest] = Choice::At(self.inputs[oldest].head);
        true
    }
}
