// SPDX-License-Identifier: Apache-2.0
//! The frames of one input that wait for a decision, oldest first. Memory for all that may wait is reserved, not touched.
//!
//! Frames are decided in order, so one cursor, `decided`, tells what is behind. A frame that is known to be lost stays
//! in its place until everything older is decided.

use std::collections::VecDeque;

use super::I64_MAX;
use super::config::{InputConfig, Preference};
use super::fence::Side;
use super::unmatched::Cause;
use crate::barrier::NULL_TIMESTAMP;
use crate::map::{Need, Source};

/// Sequences and times with room for every sum of them.
pub(super) type Wide = i128;

/// One frame or, never to be joined, a range of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub seq: u64,
    pub seq_last: u64,
    /// By the rule's source; all ones: none.
    pub time: u64,
    pub slot_ns: u64,
    pub descriptor_ns: u64,
    pub trace_id: u64,
    pub arrival_ns: u64,
    pub order: u64,
    pub lost: Option<Cause>,
}

impl Frame {
    /// Frames of which nothing but the sequence is known.
    pub const fn gone(seq: u64, seq_last: u64, arrival_ns: u64, order: u64) -> Self {
        Self {
            seq,
            seq_last,
            time: NULL_TIMESTAMP,
            slot_ns: NULL_TIMESTAMP,
            descriptor_ns: NULL_TIMESTAMP,
            trace_id: 0,
            arrival_ns,
            order,
            lost: None,
        }
    }

    #[inline]
    pub fn is_readable(&self) -> bool {
        self.lost.is_none()
    }

    pub fn has_time(&self) -> bool {
        self.time != NULL_TIMESTAMP
    }

    /// The time of a place; none where either does not fit its field.
    fn time_at(&self, place: usize) -> u64 {
        let times = [self.slot_ns, self.descriptor_ns];
        let is_out_of_range = times.iter().any(|time| *time > I64_MAX && *time != NULL_TIMESTAMP);
        if is_out_of_range { NULL_TIMESTAMP } else { times[place] }
    }
}

/// Where a timestamp stands in pairs of slot header's and frame descriptor's.
fn place_of(source: Source) -> usize {
    usize::from(source == Source::FrameDescriptor)
}

/// One `[[input]]` and its frames. Positions count all frames that ever waited. Candidates stand from `head` to `tail`, in
/// front of the fence if there is one.
#[derive(Debug)]
pub(super) struct Input {
    pub config: InputConfig,
    /// Index of its stream.
    pub source: usize,
    /// From an output to what is asked of this input. Like what follows, of the map that was applied last.
    pub shift: Wide,
    /// Of a window rule.
    pub window: Option<u64>,
    /// Of the source of its times, in pairs of them.
    pub place: usize,
    pub is_anchor: bool,
    /// Its rule, among the demands of the stage; None: it takes no part in outputs.
    pub demand: Option<usize>,
    frames: VecDeque<Frame>,
    /// How many may wait, beside one range of lost frames at the end.
    room: usize,
    pub head: u64,
    pub tail: u64,
    /// Frames from `tail` on are of the next epoch.
    is_fenced: bool,
    /// The last joined frame; it may be joined again.
    pub kept: Option<Frame>,
    pub decided: Option<u64>,
    pub joined: Option<u64>,
    /// Up to which sequence a window has looked at frames.
    pub looked: Option<u64>,
}

impl Input {
    pub fn new(config: InputConfig, source: usize, is_anchor: bool, room: usize) -> Self {
        Self {
            config,
            source,
            shift: 0,
            window: None,
            place: place_of(config.source),
            is_anchor,
            demand: None,
            frames: VecDeque::with_capacity(room + 1),
            room,
            head: 0,
            tail: 0,
            is_fenced: false,
            kept: None,
            decided: None,
            joined: None,
            looked: None,
        }
    }

    /// Goes over to another rule; None: to none. Whether frames have another time now.
    pub fn obey(&mut self, demand: Option<usize>, need: Need, source: Source) -> bool {
        self.demand = demand;
        (self.shift, self.window) = match need {
            Need::Offset(offset) => (offset.into(), None),
            Need::Window(window) => (0, Some(window)),
        };
        let is_changed = self.place != place_of(source);
        self.place = place_of(source);
        if is_changed {
            for frame in self.frames.iter_mut().chain(&mut self.kept) {
                frame.time = frame.time_at(self.place);
            }
        }
        is_changed
    }

    pub fn room(&self) -> usize {
        self.room
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    pub fn is_full(&self) -> bool {
        self.len() >= self.room
    }

    #[inline]
    pub fn at(&self, position: u64) -> &Frame {
        &self.frames[(position - self.head) as usize]
    }

    #[inline]
    pub fn at_mut(&mut self, position: u64) -> &mut Frame {
        &mut self.frames[(position - self.head) as usize]
    }

    #[inline]
    pub fn front(&self) -> Option<&Frame> {
        if self.is_empty() { None } else { self.frames.front() }
    }

    #[inline]
    pub fn push(&mut self, frame: Frame, side: Side) {
        if self.is_fenced {
            return self.push_beside_fence(frame, side);
        }
        self.frames.push_back(frame);
        self.tail += 1;
    }

    /// A late frame of the epoch before the fence counts as if it had come before that.
    #[cold]
    fn push_beside_fence(&mut self, mut frame: Frame, side: Side) {
        if side == Side::Behind {
            return self.frames.push_back(frame);
        }
        frame.order = self.first_behind().map_or(frame.order, |first| first.order);
        self.frames.insert((self.tail - self.head) as usize, frame);
        self.tail += 1;
    }

    /// What comes from now on is of the next epoch.
    pub fn fence(&mut self) {
        self.is_fenced = true;
    }

    /// The oldest frame of the next epoch.
    pub fn first_behind(&self) -> Option<&Frame> {
        self.frames.get((self.tail - self.head) as usize)
    }

    /// The newest frame of a side.
    pub fn last(&self, side: Side) -> Option<&Frame> {
        match side {
            Side::Present => (!self.is_empty()).then(|| self.at(self.tail - 1)),
            Side::Behind => self.first_behind().and(self.frames.back()),
        }
    }

    /// All frames, those of the next epoch with their side.
    pub fn all(&self) -> impl Iterator<Item = (Side, &Frame)> {
        let side = |position: u64| if position < self.tail { Side::Present } else { Side::Behind };
        (self.head..).map(side).zip(&self.frames)
    }

    /// Takes the oldest frame. A history that is empty then begins at the start of its memory again.
    #[inline]
    pub fn pop(&mut self) -> Option<Frame> {
        if self.is_empty() {
            return None;
        }
        let frame = self.frames.pop_front()?;
        self.head += 1;
        if self.frames.is_empty() {
            self.frames.clear();
        }
        Some(frame)
    }

    /// Makes lost frames part of the range at the end, if it goes on with them and has the same cause.
    pub fn extend_lost(&mut self, frame: &Frame, cause: Cause) -> bool {
        let Some(newest) = self.frames.back_mut() else { return false };
        let goes_on = newest.lost == Some(cause) && newest.seq_last.checked_add(1) == Some(frame.seq);
        if goes_on {
            newest.seq_last = frame.seq_last;
        }
        goes_on
    }

    /// Whether nothing more can be added at all: the range at the end is there already.
    pub fn is_crammed(&self) -> bool {
        self.len() > self.room
    }

    /// Room for so many more than wait now: a checkpoint may hold more than this join lets wait. Takes memory.
    pub fn reserve(&mut self, more: usize) {
        self.room = self.room.max(self.len() + more);
        self.frames.reserve(self.room + 1 - self.len());
    }

    /// The last joined frame, if it may be joined again.
    #[inline]
    pub fn again(&self) -> Option<&Frame> {
        self.kept.as_ref().filter(|_| self.config.reuse)
    }

    /// Where the first frame with this sequence or a later one stands.
    pub fn position_from(&self, seq: Wide) -> u64 {
        self.position_within(seq, self.head, self.tail)
    }

    /// The oldest readable frame of the next epoch with this sequence or a later one.
    pub fn behind_from(&self, seq: u64) -> Option<&Frame> {
        let end = self.head + self.frames.len() as u64;
        let first = self.position_within(seq.into(), self.tail, end);
        (first..end).map(|at| self.at(at)).find(|frame| frame.is_readable())
    }

    fn position_within(&self, seq: Wide, mut low: u64, mut high: u64) -> u64 {
        while low < high {
            let middle = low + (high - low) / 2;
            if Wide::from(self.at(middle).seq) < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first frame from a position on that is not lost.
    pub fn readable_from(&self, position: u64) -> Option<u64> {
        (position..self.tail).find(|at| self.at(*at).is_readable())
    }

    /// Positions and times of the frames from a position on that are not lost.
    pub fn readable(&self, from: u64) -> impl Iterator<Item = (u64, Wide)> + '_ {
        let behind = (from - self.head) as usize;
        let positions = from..self.tail;
        positions.zip(self.frames.iter().skip(behind)).filter(|(_, frame)| frame.is_readable()).map(timed)
    }

    pub fn is_nearest(&self) -> bool {
        self.config.is_nearest(self.is_anchor)
    }

    /// Whether the anchor's sequence says which frame an output takes.
    pub fn is_by_sequence(&self) -> bool {
        self.config.pick == Preference::Sequence
    }

    /// Whether each frame is joined once at most, with the output that it suits best.
    pub fn is_one_to_one(&self) -> bool {
        self.is_nearest() && !self.config.reuse
    }

    /// A new epoch: its sequences start again, and what stood behind the fence are its frames.
    pub fn begin(&mut self) {
        (self.tail, self.is_fenced) = (self.head + self.frames.len() as u64, false);
        (self.kept, self.decided, self.joined, self.looked) = (None, None, None, None);
    }
}

fn timed((position, frame): (u64, &Frame)) -> (u64, Wide) {
    (position, frame.time.into())
}
