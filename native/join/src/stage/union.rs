// SPDX-License-Identifier: Apache-2.0
//! Every frame a row of its own, in the order of arrival.

use super::Stage;
use super::attempt::Absence;
use super::decide::Choice;

impl Stage {
    pub(super) fn next_by_union(&mut self) -> bool {
        if self.has_fence {
            self.pass_in_order();
        }
        let fronts = self.inputs.iter().enumerate().filter_map(|(at, each)| Some((each.front()?.order, at)));
        let Some((_, oldest)) = fronts.min() else { return false };
        self.absent.fill(Some(Absence::NotJoined));
        self.choices.fill(Choice::Nothing);
        self.absent[oldest] = None;
        self.choices[oldest] = Choice::At(self.inputs[oldest].head);
        true
    }
}
