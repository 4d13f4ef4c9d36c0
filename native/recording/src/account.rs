// SPDX-License-Identifier: Apache-2.0
//! What became of every sequence of a stream, epoch by epoch: recorded, or missing for a cause.

use std::fmt::Write;

use crate::loss::{CAUSES, LossCause, LostRange, Part};

/// Ranges that the final record lists for a stream; the loss channel has more.
const RANGES_MAX: usize = 1000;
/// Epochs that it lists; a stream that restarts more often is summed up in the last.
const EPOCHS_MAX: usize = 1000;

/// What a chunk holds of one stream. It counts once the chunk is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) epoch: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) frames: u64,
    pub(crate) payloads: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) messages: u64,
}

#[derive(Clone, Debug, Default)]
struct EpochAccount {
    epoch: u64,
    bounds: Option<(u64, u64)>,
    frames: u64,
    payloads: u64,
    lost: [[u64; CAUSES.len()]; 2],
}

/// One stream's account.
#[derive(Clone, Debug)]
pub struct Account {
    /// The stream.
    pub stream_id: u32,
    /// Bytes of its recorded payloads.
    pub payload_bytes: u64,
    /// Messages beside frames.
    pub messages: u64,
    epochs: Vec<EpochAccount>,
    ranges: Vec<LostRange>,
    /// Ranges that are in the counts and not in the list.
    ranges_left_out: u64,
}

impl Account {
    pub(crate) fn new(stream_id: u32) -> Self {
        Self {
            stream_id,
            payload_bytes: 0,
            messages: 0,
            epochs: Vec::with_capacity(16),
            ranges: Vec::with_capacity(RANGES_MAX),
            ranges_left_out: 0,
        }
    }

    fn epoch(&mut self, epoch: u64) -> &mut EpochAccount {
        let found = self.epochs.iter().rposition(|known| known.epoch == epoch);
        let index = found.unwrap_or_else(|| {
            if self.epochs.len() < EPOCHS_MAX {
                self.epochs.push(EpochAccount { epoch, ..EpochAccount::default() });
            }
            self.epochs.len() - 1
        });
        &mut self.epochs[index]
    }

    /// A chunk is on disk.
    pub(crate) fn recorded(&mut self, tally: &Tally) {
        self.payload_bytes += tally.payload_bytes;
        self.messages += tally.messages;
        if tally.frames > 0 {
            let epoch = self.epoch(tally.epoch);
            epoch.frames += tally.frames;
            epoch.payloads += tally.payloads;
            epoch.spans(tally.first, tally.last);
        }
    }

    /// A payload that was found behind its descriptor, which was the last one.
    pub(crate) fn add_payload(&mut self, bytes: u64) {
        self.payload_bytes += bytes;
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.payloads += 1;
        }
    }

    /// Sequences are missing.
    pub(crate) fn lost(&mut self, range: &LostRange) {
        let epoch = self.epoch(range.epoch);
        epoch.lost[range.part as usize][range.cause as usize] += range.count;
        epoch.spans(range.first, range.last);
        if let Some(last) = self.ranges.iter_mut().rev().find(|known| known.part == range.part)
            && (last.epoch, last.cause, last.last.checked_add(1)) == (range.epoch, range.cause, Some(range.first))
        {
            last.last = range.last;
            last.count += range.count;
        } else if self.ranges.len() < RANGES_MAX {
            self.ranges.push(*range);
        } else {
            self.ranges_left_out += 1;
        }
    }

    /// Ranges that found no room where they were to wait: the loss channel lacks them, the list here may.
    pub(crate) fn range_left_out(&mut self) {
        self.ranges_left_out += 1;
    }

    /// Frames whose descriptors are recorded.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.frames).sum()
    }

    /// Payloads that are recorded.
    #[must_use]
    pub fn payloads(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.payloads).sum()
    }

    /// What is missing for a cause.
    #[must_use]
    pub fn lost_to(&self, part: Part, cause: LossCause) -> u64 {
        self.epochs.iter().map(|epoch| epoch.lost[part as usize][cause as usize]).sum()
    }

    /// Whether everything is there that anybody could have had.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let missing = |lost: &[u64; CAUSES.len()]| {
            lost.iter().enumerate().any(|(cause, count)| cause != LossCause::NotAnnounced as usize && *count > 0)
        };
        !self.epochs.iter().any(|epoch| epoch.lost.iter().any(missing))
    }

    /// As the final record carries it; `has_ranges` is false where there is no room for them.
    #[must_use]
    pub fn json(&self, has_ranges: bool) -> String {
        let mut out = String::with_capacity(256 + 64 * self.ranges.len());
        let _ = write!(
            out,
            "{{\"stream\":{},\"frames\":{},\"payloads\":{},\"payload_bytes\":{},\"messages\":{},\"complete\":{},\
             \"epochs\":[",
            self.stream_id,
            self.frames(),
            self.payloads(),
            self.payload_bytes,
            self.messages,
            self.is_complete()
        );
        for (index, epoch) in self.epochs.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            epoch.json(&mut out);
        }
        out.push_str("],\"ranges\":[");
        let shown = if has_ranges { self.ranges.as_slice() } else { &[] };
        for (index, range) in shown.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            range.json(&mut out);
        }
        let left_out = self.ranges_left_out + (self.ranges.len() - shown.len()) as u64;
        let _ = write!(out, "],\"ranges_left_out\":{left_out}}}");
        out
    }
}

impl EpochAccount {
    fn spans(&mut self, first: u64, last: u64) {
        let (from, to) = self.bounds.unwrap_or((first, last));
        self.bounds = Some((from.min(first), to.max(last)));
    }

    fn json(&self, out: &mut String) {
        let Some((first, last)) = self.bounds else { return };
        let (epoch, frames, payloads) = (self.epoch, self.frames, self.payloads);
        let _ = write!(
            out,
            "{{\"epoch\":{epoch},\"first\":{first},\"last\":{last},\"frames\":{frames},\"payloads\":{payloads}"
        );
        for (part, lost) in ["lost_frames", "lost_payloads"].iter().zip(&self.lost) {
            let _ = write!(out, ",\"{part}\":{{");
            let mut between = "";
            for (cause, count) in CAUSES.iter().zip(lost).filter(|(_, count)| **count > 0) {
                let _ = write!(out, "{between}\"{cause}\":{count}");
                between = ",";
            }
            out.push('}');
        }
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64, part: Part, cause: LossCause) -> LostRange {
        LostRange { stream_id: 7, epoch: 1, first, last, count: last - first + 1, part, cause }
    }

    #[test]
    fn what_was_never_announced_does_not_make_a_recording_incomplete() {
        let mut account = Account::new(7);
        account.lost(&range(3, 5, Part::Frame, LossCause::NotAnnounced));
        assert!(account.is_complete());
        account.lost(&range(6, 6, Part::Payload, LossCause::Overwritten));
        assert!(!account.is_complete());
        assert_eq!(account.lost_to(Part::Frame, LossCause::NotAnnounced), 3);
    }

    #[test]
    fn the_record_is_json_and_says_every_epoch_and_range() {
        let mut account = Account::new(7);
        account.recorded(&Tally { epoch: 1, first: 10, last: 12, frames: 3, payloads: 2, ..Tally::default() });
        account.lost(&range(12, 12, Part::Payload, LossCause::Overwritten));
        account.lost(&range(13, 14, Part::Frame, LossCause::QueueFull));
        account.lost(&range(15, 15, Part::Frame, LossCause::QueueFull));
        let said: serde_json::Value = serde_json::from_str(&account.json(true)).unwrap();
        assert_eq!(said["frames"], 3);
        assert_eq!(said["complete"], false);
        assert_eq!(said["epochs"][0]["first"], 10);
        assert_eq!(said["epochs"][0]["last"], 15);
        assert_eq!(said["epochs"][0]["lost_frames"]["queue_full"], 3);
        assert_eq!(said["ranges"].as_array().unwrap().len(), 2);
        assert_eq!(said["ranges"][1]["last"], 15);
        let short: serde_json::Value = serde_json::from_str(&account.json(false)).unwrap();
        assert_eq!((&short["ranges_left_out"], short["ranges"].as_array().unwrap().len()), (&2.into(), 0));
    }

    #[test]
    fn ranges_above_the_bound_are_counted() {
        let mut account = Account::new(7);
        for index in 0..RANGES_MAX as u64 + 5 {
            account.lost(&range(2 * index, 2 * index, Part::Frame, LossCause::Unheard));
        }
        let said: serde_json::Value = serde_json::from_str(&account.json(true)).unwrap();
        assert_eq!(said["ranges_left_out"], 5);
        assert_eq!(account.lost_to(Part::Frame, LossCause::Unheard), RANGES_MAX as u64 + 5);
    }
}
