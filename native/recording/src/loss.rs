// SPDX-License-Identifier: Apache-2.0
//! What a recording does not have, and why: ranges of sequences, joined where they touch.

use std::collections::VecDeque;
use std::fmt::Write;

/// Why a frame, or its payload, is not in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LossCause {
    /// The producer left the sequence out, or could not announce it: nobody had it.
    NotAnnounced,
    /// It was announced while nobody listened here: before the media driver came back, or behind a lost image.
    Unheard,
    /// No regions were mapped from which its payload could have been read.
    Unmapped,
    /// The producer needed the slot before its payload was copied.
    Overwritten,
    /// The slot's header is not one that may be believed.
    Damaged,
    /// Everything that may wait to be written was waiting.
    QueueFull,
    /// The file system had no room.
    NoRoom,
    /// The system refused the write.
    WriteFailed,
    /// It was recorded, and lay in a part of the file that was cut off or damaged.
    FileDamaged,
}

/// Names of the causes, in their order.
pub const CAUSES: [&str; 9] = [
    "not_announced",
    "unheard",
    "unmapped",
    "overwritten",
    "damaged",
    "queue_full",
    "no_room",
    "write_failed",
    "file_damaged",
];

impl LossCause {
    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        CAUSES[self as usize]
    }

    /// The cause of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        const ALL: [LossCause; CAUSES.len()] = [
            LossCause::NotAnnounced,
            LossCause::Unheard,
            LossCause::Unmapped,
            LossCause::Overwritten,
            LossCause::Damaged,
            LossCause::QueueFull,
            LossCause::NoRoom,
            LossCause::WriteFailed,
            LossCause::FileDamaged,
        ];
        CAUSES.iter().position(|known| *known == name).map(|index| ALL[index])
    }
}

/// Which part of a frame is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// All of it.
    Frame,
    /// Its payload; the descriptor is there.
    Payload,
}

impl Part {
    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Payload => "payload",
        }
    }
}

/// Sequences of one stream that are missing for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostRange {
    pub(crate) stream_id: u32,
    pub(crate) epoch: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// How many of them: fewer than the range is long where others in it are missing for causes of their own.
    pub(crate) count: u64,
    pub(crate) part: Part,
    pub(crate) cause: LossCause,
}

impl LostRange {
    /// Takes up a range that follows at once; false when it does not.
    fn joins(&mut self, next: &Self) -> bool {
        let same =
            (self.stream_id, self.epoch, self.part, self.cause) == (next.stream_id, next.epoch, next.part, next.cause);
        if !same || self.last.checked_add(1) != Some(next.first) {
            return false;
        }
        self.last = next.last;
        self.count += next.count;
        true
    }

    /// As the loss channel carries it.
    pub(crate) fn json(&self, out: &mut String) {
        let Self { stream_id, epoch, first, last, count, part, cause } = *self;
        let (part, cause) = (part.name(), cause.name());
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{{\"stream\":{stream_id},\"epoch\":{epoch},\"first\":{first},\"last\":{last},\"count\":{count},\
             \"part\":\"{part}\",\"cause\":\"{cause}\"}}"
        );
    }
}

/// Ranges that wait to be written down, open ones last.
#[derive(Debug)]
pub(crate) struct Losses {
    /// Of each stream and part, the range that may still grow.
    open: Vec<[Option<LostRange>; 2]>,
    closed: VecDeque<LostRange>,
}

/// Ranges that wait at most; what is above is counted, and told in the totals.
const WAITING_MAX: usize = 4096;

impl Losses {
    pub(crate) fn new(streams: usize) -> Self {
        Self { open: vec![[None; 2]; streams], closed: VecDeque::with_capacity(WAITING_MAX) }
    }

    /// Takes a range; whether there was room to remember the one before it.
    pub(crate) fn note(&mut self, stream: usize, range: LostRange) -> bool {
        let open = &mut self.open[stream][range.part as usize];
        if open.as_mut().is_some_and(|open| open.joins(&range)) {
            return true;
        }
        match open.replace(range) {
            Some(_) if self.closed.len() == WAITING_MAX => false,
            Some(before) => {
                self.closed.push_back(before);
                true
            }
            None => true,
        }
    }

    /// No range grows any more: what comes next in a stream was recorded, or the chunk ends.
    pub(crate) fn close_all(&mut self) {
        for open in self.open.iter_mut().flatten() {
            if self.closed.len() < WAITING_MAX
                && let Some(range) = open.take()
            {
                self.closed.push_back(range);
            }
        }
    }

    /// The next range that is to be written.
    pub(crate) fn next(&self) -> Option<&LostRange> {
        self.closed.front()
    }

    /// It was written.
    pub(crate) fn drop_next(&mut self) {
        self.closed.pop_front();
    }
}
