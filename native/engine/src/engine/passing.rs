// SPDX-License-Identifier: Apache-2.0
//! Sends watermarks on the output, between the published frames.

use framegate_join::output_watermarks::OutputWatermarks;

use super::Engine;
use super::cut::Passing;
use crate::wires::Wires;

/// The output on which frames of one input are published again, and what goes between them.
pub struct Output<T> {
    /// The input, and where the engine publishes its frames; None if Python publishes, or nobody.
    pub target: Option<(usize, T)>,
    /// The input, whoever publishes its frames.
    pub(super) input: Option<usize>,
    pub(super) watermarks: OutputWatermarks,
    pub(super) epoch: u64,
}

impl<W: Wires> Engine<W> {
    /// Applies a stream's watermark, and sends one on the output if that makes one due.
    pub(super) fn take_watermark(&mut self, index: usize, ms: i64, now_ns: u64) {
        self.stage.watermark(index, ms, now_ns);
        let Some(stream) = self.output.watermarks.stream() else { return };
        if let Some(lowest_ms) = self.stage.lowest_watermark_ms() {
            self.output.watermarks.note(lowest_ms, self.stage.last_heard(stream));
        }
        if self.output.watermarks.is_waiting() {
            // The output's watermark must come after every row made of what came before it.
            self.join_what_came(now_ns);
            self.pass_watermarks();
        }
    }

    /// Sends the watermarks that no waiting frame holds back any more.
    #[cold]
    pub(super) fn pass_watermarks(&mut self) {
        let Some(stream) = self.output.watermarks.stream() else { return };
        let epoch = self.stage.last_heard(stream).map(|(epoch, _)| epoch);
        self.output.watermarks.release(self.stage.decided(stream), epoch);
        if let Some(ms) = self.output.watermarks.due() {
            self.cut.counters.watermarks_forwarded += 1;
            self.pass_on(Passing::Watermark(ms));
        }
    }
}
