// SPDX-License-Identifier: Apache-2.0
//! What the engine seals, and in which order: unmatched frames go before the state that counts them. Also how a join
//! ends.

use std::io::Write;
use std::time::Duration;

use framegate_core::clock::{monotonic_ns, realtime_ns};
use framegate_join::stage::Stage;
use framegate_journal::{JournalError, Sealed, Unmatched, Writer};

use super::{Engine, Outcome};
use crate::doorbell::Doorbells;
use crate::wires::Wires;

/// How many files the end of a join waits for. A full stage fills fewer.
const FILES_AWAITED: usize = 64;
const FILE_PATIENCE: Duration = Duration::from_secs(1);
/// The pause before the next look whether the journal goes on.
const PAUSE: Duration = Duration::from_micros(50);

/// The journal of a join, with the bells of its readers.
pub struct Ledger {
    /// Writes the rows.
    pub writer: Writer,
    /// Wakes the journal's readers.
    pub bells: Doorbells,
    /// The error that ended writing.
    pub failure: Option<JournalError>,
    /// Why the journal takes no row now; empty if it does.
    pub full_reason: &'static str,
    /// Whether unmatched frames become rows of the side table; otherwise they are only counted.
    keeps_unmatched: bool,
}

impl Ledger {
    pub(super) fn new(writer: Writer, keeps_unmatched: bool) -> Self {
        Self { writer, bells: Doorbells::default(), failure: None, full_reason: "", keeps_unmatched }
    }
}

impl<W: Wires> Engine<W> {
    /// Moves the stage's unmatched frames to the journal's side table.
    pub(super) fn note_unmatched(&mut self, now_ns: u64) {
        if !self.ledger.keeps_unmatched {
            self.stage.drain_unmatched(|_| true);
            return;
        }
        let Self { stage, ledger, inputs, .. } = self;
        let at_ns = realtime_ns() as i64;
        stage.drain_unmatched(|entry| {
            let input = usize::from(entry.input);
            ledger.writer.unmatched(
                &Unmatched {
                    input,
                    stream: inputs[input].stream_id,
                    epoch: entry.epoch,
                    seq: entry.seq,
                    seq_last: entry.seq_last,
                    timestamp_ns: entry.timestamp_ns,
                    out_seq: entry.out_seq,
                    at_ns,
                    cause: entry.cause.name(),
                },
                now_ns,
            )
        });
    }

    /// Seals rows and state; false if that failed.
    pub(crate) fn seal(&mut self, now_ns: u64, outcome: &mut Outcome) -> bool {
        match self.seal_all(now_ns) {
            Ok(_) => {
                self.ledger.bells.ring();
                true
            }
            Err(failure) => {
                self.note_failure(failure, outcome);
                false
            }
        }
    }

    /// Seals all unmatched frames, however many they are, before the state. The state counts them as decided, so any
    /// that were left out would be lost with this process.
    fn seal_all(&mut self, now_ns: u64) -> Result<Sealed, JournalError> {
        self.note_unmatched(now_ns);
        while self.stage.has_unmatched() {
            self.ledger.writer.spill_unmatched(now_ns)?;
            self.note_unmatched(now_ns);
        }
        let (stage, checkpoint_id) = (&self.stage, self.checkpoint_id);
        // The turn's own time is too old: the rows were joined after it.
        self.ledger.writer.seal(monotonic_ns(), |state| write_state(stage, checkpoint_id, state))
    }

    /// Notes why sealing failed. The engine waits if space is missing; any other failure ends the join.
    pub(crate) fn note_failure(&mut self, failure: JournalError, outcome: &mut Outcome) {
        self.ledger.full_reason = match failure {
            // The next file will be ready in a moment; there is nothing to report.
            JournalError::SegmentComing => {
                self.ledger.full_reason = "";
                return;
            }
            JournalError::NoRoom { .. } => "the file system has no room",
            JournalError::Full => "no reader has committed",
            _ => {
                self.ledger.failure = Some(failure);
                return;
            }
        };
        outcome.is_full = true;
    }

    /// Joins what was sent until now, as far as its frames fit together: a join that is told to end does this first. It
    /// takes the given time at most, and stops when the caller has to decide something.
    pub fn join_what_was_sent(&mut self, most_ns: u64, outputs: u64) -> Outcome {
        let mut outcome = Outcome::default();
        let until_ns = monotonic_ns().saturating_add(most_ns);
        let mut is_all_heard = false;
        loop {
            let now_ns = monotonic_ns();
            let full_turns = self.counters.full_turns;
            let work = if is_all_heard {
                // Nothing is heard behind the search: a barrier would then cut behind frames that follow it.
                outcome.is_full = false;
                let work = self.join(now_ns, outputs, &mut outcome) + self.copy_slice();
                self.note_unmatched(now_ns);
                work
            } else {
                self.turn(now_ns, outputs, &mut outcome)
            };
            if self.is_over(&outcome) || outcome.is_full || now_ns >= until_ns {
                break;
            }
            if self.waits_for_journal(full_turns, now_ns, &mut outcome) || work > 0 {
                continue;
            }
            if is_all_heard {
                break;
            }
            // Everything that was announced is heard. What the rings hold besides has lost its descriptor, or was sent
            // before anybody listened to it; then the mark of its end tells of it.
            is_all_heard = true;
            for index in 0..self.ports.len() {
                self.recover_tail(index, self.time.stage_ns(now_ns));
                self.join_what_came(now_ns);
            }
            self.believe_marks(self.time.stage_ns(now_ns));
        }
        outcome.has_news = self.cut.has_news(self.ledger.writer.sealed_rows());
        self.publish_facts();
        outcome
    }

    /// Whether the journal holds a turn up that began with so many full ones: by unmatched frames, which are sealed now,
    /// or by a file that will be ready in a moment, which is waited for.
    pub(crate) fn waits_for_journal(&mut self, full_turns: u64, now_ns: u64, outcome: &mut Outcome) -> bool {
        let awaits_file =
            self.counters.full_turns != full_turns || self.cut.awaits_seal(self.ledger.writer.sealed_rows());
        let has_unmatched = self.stage.has_unmatched();
        if has_unmatched {
            self.seal(now_ns, outcome);
        }
        if awaits_file {
            std::thread::sleep(PAUSE);
        }
        awaits_file || has_unmatched
    }

    /// Ends the join cleanly: records pending frames as such, seals everything, and closes the journal. `is_to_go_on`:
    /// pending frames stay undecided, for a join that hears them again.
    pub fn finish(&mut self, is_to_go_on: bool) -> Result<(), JournalError> {
        let now_ns = monotonic_ns();
        self.take_commands(now_ns);
        (0..self.ports.len()).for_each(|index| self.recover_tail(index, self.time.stage_ns(now_ns)));
        // Releases what waits behind a barrier, so that it is recorded as well.
        self.abort_checkpoint(None, self.time.stage_ns(now_ns));
        self.believe_marks(self.time.stage_ns(now_ns));
        if !is_to_go_on {
            self.stage.finish(self.time.stage_ns(now_ns));
        }
        // From here on even a journal that is full takes the final state.
        self.ledger.writer.begin_close();
        for _ in 0..FILES_AWAITED {
            match self.seal_all(now_ns) {
                // The state must not be sealed before what it counts, so this waits for the file; `close` would not.
                Err(JournalError::SegmentComing) => _ = self.ledger.writer.wait_for_segment(now_ns, FILE_PATIENCE),
                sealed => {
                    self.ledger.bells.ring();
                    self.publish_facts();
                    return sealed.map(drop);
                }
            }
        }
        Err(JournalError::SegmentComing)
    }

    /// Closes the journal of an engine that has finished.
    pub fn close(self) -> Result<(), JournalError> {
        let Self { stage, ledger: Ledger { writer, bells, .. }, checkpoint_id, .. } = self;
        let closed = writer.close(monotonic_ns(), |state| write_state(&stage, checkpoint_id, state));
        bells.ring();
        closed.map(|_| ())
    }
}

/// An upper bound for the bytes that the checkpoint's id adds to the stage's state.
pub const CHECKPOINT_STATE_BYTES: usize = 40;
const CHECKPOINT_KEY: &str = ",\"checkpoint\":";

/// Writes the stage's state and, if there was one, the newest barrier that was snapshotted.
fn write_state(stage: &Stage, checkpoint_id: u64, into: &mut Vec<u8>) {
    stage.write_state(into);
    if checkpoint_id > 0 {
        into.pop();
        // Writing to a vector cannot fail.
        let _ = write!(into, "{CHECKPOINT_KEY}{checkpoint_id}}}");
    }
}

/// Splits a state into the stage's part and the id of the newest barrier that was snapshotted; 0: none.
pub fn split_state(state: &[u8]) -> (Vec<u8>, u64) {
    let Ok(text) = std::str::from_utf8(state) else { return (state.to_vec(), 0) };
    let Some((own, last)) = text.rsplit_once(CHECKPOINT_KEY) else { return (state.to_vec(), 0) };
    let checkpoint_id = last.trim_end_matches('}').parse().unwrap_or(0);
    (format!("{own}}}").into_bytes(), checkpoint_id)
}
