// SPDX-License-Identifier: Apache-2.0
//! Watermarks of the output, between the frames that are published.

use framegate_join::output_watermarks::OutputWatermarks;

use super::Engine;
use super::cut::Passing;
use crate::wires::Wires;

/// The frames of one input that are published again, and what goes on between them.
pub struct Output<T> {
    /// That input, and where its frames go.
    pub target: Option<(usize, T)>,
    /// That input, whoever publishes its frames.
    pub(super) input: Option<usize>,
    pub(super) watermarks: OutputWatermarks,
    pub(super) epoch: u64,
}

impl<W: Wires> Engine<W> {
    /// A stream's watermark counts from now on.
    pub(super) fn take_watermark(&mut self, index: usize, ms: i64, now_ns: u64) {
        self.stage.watermark(index, ms, now_ns);
        let Some(stream) = self.output.watermarks.stream() else { return };
        if let Some(lowest_ms) = self.stage.lowest_watermark_ms() {
            self.output.watermarks.note(lowest_ms, self.stage.last_heard(stream));
        }
        if self.output.watermarks.is_waiting() {
            // In its place, where nothing that came before it waits for a partner.
            self.join_what_came(now_ns);
            self.pass_watermarks();
        }
    }

    /// Sends on what no frame holds up any more.
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
