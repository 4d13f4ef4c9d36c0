// SPDX-License-Identifier: Apache-2.0
//! A chunk that is being filled: records at their final places, so that a payload is copied once, from its slot.
//!
//! ```text
//!   0            HEAD - n   HEAD                                      used           capacity
//!   | (unused)   | record   | message record | message record | ...  | room           |
//! ```
//!
//! The chunk record's own head, n bytes, is put before the data when the chunk is written.

use std::time::Duration;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::reader::FrameRef;
use mcap::records::op;

use crate::account::Tally;
use crate::loss::LossCause;
use crate::records::RECORD_HEAD;

/// Room for the chunk record's head: 49 bytes and the name of a compression.
pub(crate) const HEAD: usize = 64;
/// Bytes of a message record before its data.
pub(crate) const MESSAGE_HEAD: usize = RECORD_HEAD + 2 + 4 + 8 + 8;
/// Kept free in every chunk for what is said of losses.
pub(crate) const LOSS_ROOM: usize = 8 * 1024;

/// What stands before a message's data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageHead {
    pub(crate) channel: u16,
    pub(crate) sequence: u32,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
}

/// A schema or channel that messages of a chunk are the first to use.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) is_schema: bool,
    pub(crate) record: Vec<u8>,
}

/// A chunk, used again and again.
#[derive(Debug)]
pub(crate) struct Chunk {
    bytes: Box<[u8]>,
    used: usize,
    /// Of each channel, when and where its messages are.
    pub(crate) index: Vec<Vec<(u64, u64)>>,
    /// First and last log time.
    pub(crate) times: Option<(u64, u64)>,
    /// What it holds of each stream.
    pub(crate) tallies: Vec<Tally>,
    /// What has to stand before it.
    pub(crate) definitions: Vec<Definition>,
    /// Why it did not get to the disk.
    pub(crate) failure: Option<LossCause>,
}

impl Chunk {
    /// A chunk of memory that was touched already.
    pub(crate) fn new(capacity: usize, streams: usize) -> Self {
        let mut bytes = vec![0_u8; HEAD + capacity].into_boxed_slice();
        // A zeroed allocation is untouched memory; the first touch is slow.
        bytes.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        Self {
            bytes,
            used: HEAD,
            index: Vec::new(),
            times: None,
            tallies: vec![Tally::default(); streams],
            definitions: Vec::new(),
            failure: None,
        }
    }

    /// Ready for other messages.
    pub(crate) fn clear(&mut self) {
        self.used = HEAD;
        self.index.iter_mut().for_each(Vec::clear);
        self.times = None;
        self.tallies.fill(Tally::default());
        self.definitions.clear();
        self.failure = None;
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.used == HEAD
    }

    /// Bytes of messages.
    pub(crate) const fn data_bytes(&self) -> usize {
        self.used - HEAD
    }

    /// How much more it takes, beside what is kept for losses.
    pub(crate) fn room(&self) -> usize {
        self.full_room().saturating_sub(LOSS_ROOM)
    }

    /// How much more it takes.
    pub(crate) fn full_room(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// Makes an empty chunk longer.
    pub(crate) fn grow(&mut self, capacity: usize) {
        if self.is_empty() && self.bytes.len() < HEAD + capacity {
            self.bytes = vec![0; HEAD + capacity].into_boxed_slice();
        }
    }

    /// Appends a message that fits, and gives the place of its data.
    fn begin(&mut self, head: &MessageHead, bytes: usize) -> &mut [u8] {
        let offset = self.data_bytes() as u64;
        let (start, end) = (self.used, self.used + MESSAGE_HEAD + bytes);
        let (record, data) = self.bytes[start..end].split_at_mut(MESSAGE_HEAD);
        record[0] = op::MESSAGE;
        record[1..9].copy_from_slice(&((MESSAGE_HEAD - RECORD_HEAD + bytes) as u64).to_le_bytes());
        record[9..11].copy_from_slice(&head.channel.to_le_bytes());
        record[11..15].copy_from_slice(&head.sequence.to_le_bytes());
        record[15..23].copy_from_slice(&head.log_time.to_le_bytes());
        record[23..31].copy_from_slice(&head.publish_time.to_le_bytes());
        self.used = end;
        let channel = usize::from(head.channel);
        if self.index.len() <= channel {
            self.index.resize_with(channel + 1, Vec::new);
        }
        self.index[channel].push((head.log_time, offset));
        let (first, last) = self.times.unwrap_or((head.log_time, head.log_time));
        self.times = Some((first.min(head.log_time), last.max(head.log_time)));
        data
    }

    /// Appends a message. The caller has looked at the room.
    pub(crate) fn message(&mut self, head: &MessageHead, data: &[u8]) {
        self.begin(head, data.len()).copy_from_slice(data);
    }

    /// Appends a frame's slot header, and its payload straight from its slot; false, and nothing is appended, when the
    /// slot was written meanwhile. The caller has looked at the room.
    pub(crate) fn frame(&mut self, heads: &[MessageHead; 2], slot: &[u8], frame: &FrameRef) -> bool {
        let before = self.used;
        self.message(&heads[0], slot);
        let bytes = frame.header.values_bytes as usize;
        let target = self.begin(&heads[1], bytes).as_mut_ptr();
        // SAFETY: whoever read the frame keeps its regions mapped, the target is as long as the payload. Bytes that
        // change meanwhile are not believed.
        unsafe { copy(CopyKind::for_payload(bytes), frame.payload, target, bytes) };
        if frame.is_valid() {
            return true;
        }
        self.used = before;
        for head in heads {
            self.index[usize::from(head.channel)].pop();
        }
        false
    }

    /// The messages.
    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[HEAD..self.used]
    }

    /// The messages behind a head: one piece for one write.
    pub(crate) fn with_head(&mut self, head: &[u8]) -> &[u8] {
        let start = HEAD - head.len();
        self.bytes[start..HEAD].copy_from_slice(head);
        &self.bytes[start..self.used]
    }
}

/// How old a chunk may become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    pub(crate) most: Duration,
    pub(crate) since_ns: Option<u64>,
}

impl Age {
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        self.since_ns.is_some_and(|since| now_ns.saturating_sub(since) >= self.most.as_nanos() as u64)
    }
}
