// SPDX-License-Identifier: Apache-2.0
//! The frames of one input that wait for a decision, oldest first. Address space for all of them is reserved at the
//! start, but memory is used only as they come.
//!
//! Frames are decided in order, so one number, `decided`, covers all older ones. A lost frame stays in its place until
//! everything older is decided.

use std::collections::VecDeque;

use super::I64_MAX;
use super::config::{InputConfig, Preference};
use super::fence::Side;
use super::unmatched::Cause;
use crate::barrier::NULL_TIMESTAMP;
use crate::map::{Need, Source};

/// A number wide enough for every sum of sequences and times.
pub(super) type Wide = i128;

/// One frame, or a range of frames that can never be joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub seq: u64,
    pub seq_last: u64,
    /// The time by the rule's source; all ones is null.
    pub time: u64,
    pub slot_ns: u64,
    pub descriptor_ns: u64,
    pub trace_id: u64,
    pub arrival_ns: u64,
    pub order: u64,
    pub lost: Option<Cause>,
}

impl Frame {
    /// Makes an entry for frames of which only the sequences are known.
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

    /// The time of a field; null if any of the frame's times is out of range.
    fn time_at(&self, place: usize) -> u64 {
        let times = [self.slot_ns, self.descriptor_ns];
        let is_out_of_range = times.iter().any(|time| *time > I64_MAX && *time != NULL_TIMESTAMP);
        if is_out_of_range { NULL_TIMESTAMP } else { times[place] }
    }
}

/// The index of a source in pairs of slot header's and frame descriptor's times.
fn place_of(source: Source) -> usize {
    usize::from(source == Source::FrameDescriptor)
}

/// One `[[input]]` and its waiting frames. Positions count all frames that ever waited. Candidates lie from `head` to
/// `tail`, before the fence if there is one.
#[derive(Debug)]
pub(super) struct Input {
    pub config: InputConfig,
    /// The index of its stream.
    pub source: usize,
    /// The shift from an output to what it asks of this input. This field and the next two come from the applied map.
    pub shift: Wide,
    /// The window, if its rule is one.
    pub window: Option<u64>,
    /// The index of its time's source in pairs of times.
    pub place: usize,
    pub is_anchor: bool,
    /// The index of its rule among the demands of the stage; None if it takes no part in outputs.
    pub demand: Option<usize>,
    frames: VecDeque<Frame>,
    /// How many frames may wait, apart from one range of lost frames at the end.
    capacity: usize,
    pub head: u64,
    pub tail: u64,
    /// Whether frames from `tail` on are of the next epoch.
    is_fenced: bool,
    /// The frame that was joined most recently; it may be joined again.
    pub kept: Option<Frame>,
    pub decided: Option<u64>,
    pub joined: Option<u64>,
    /// The newest sequence that a window has looked at.
    pub looked: Option<u64>,
}

impl Input {
    pub fn new(config: InputConfig, source: usize, is_anchor: bool, capacity: usize) -> Self {
        Self {
            config,
            source,
            shift: 0,
            window: None,
            place: place_of(config.source),
            is_anchor,
            demand: None,
            frames: VecDeque::with_capacity(capacity + 1),
            capacity,
            head: 0,
            tail: 0,
            is_fenced: false,
            kept: None,
            decided: None,
            joined: None,
            looked: None,
        }
    }

    /// Binds the input to another rule, or to none. True if its frames have other times now.
    pub fn bind(&mut self, demand: Option<usize>, need: Need, source: Source) -> bool {
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

    pub fn capacity(&self) -> usize {
        self.capacity
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
        self.len() >= self.capacity
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

    /// Inserts a frame beside a fence. A late frame of the epoch before it counts as if it had come before the fence.
    #[cold]
    fn push_beside_fence(&mut self, mut frame: Frame, side: Side) {
        if side == Side::Behind {
            return self.frames.push_back(frame);
        }
        frame.order = self.first_behind().map_or(frame.order, |first| first.order);
        self.frames.insert((self.tail - self.head) as usize, frame);
        self.tail += 1;
    }

    /// Sets a fence: what comes from now on is of the next epoch.
    pub fn fence(&mut self) {
        self.is_fenced = true;
    }

    /// The oldest frame behind the fence.
    pub fn first_behind(&self) -> Option<&Frame> {
        self.frames.get((self.tail - self.head) as usize)
    }

    /// The newest frame on one side of the fence.
    pub fn last(&self, side: Side) -> Option<&Frame> {
        match side {
            Side::Present => (!self.is_empty()).then(|| self.at(self.tail - 1)),
            Side::Behind => self.first_behind().and(self.frames.back()),
        }
    }

    /// All waiting frames, each with its side of the fence.
    pub fn all(&self) -> impl Iterator<Item = (Side, &Frame)> {
        let side = |position: u64| if position < self.tail { Side::Present } else { Side::Behind };
        (self.head..).map(side).zip(&self.frames)
    }

    /// Takes the oldest frame. An empty history starts at the beginning of its memory again.
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

    /// Adds lost frames to the range at the end, if they continue it and have the same cause.
    pub fn extend_lost(&mut self, frame: &Frame, cause: Cause) -> bool {
        let Some(newest) = self.frames.back_mut() else { return false };
        let goes_on = newest.lost == Some(cause) && newest.seq_last.checked_add(1) == Some(frame.seq);
        if goes_on {
            newest.seq_last = frame.seq_last;
        }
        goes_on
    }

    /// Whether even the range at the end is there already, so that nothing more can be added.
    pub fn is_overfull(&self) -> bool {
        self.len() > self.capacity
    }

    /// Makes space for more frames than wait now: a checkpoint may hold more than this join lets wait. Allocates.
    pub fn reserve(&mut self, more: usize) {
        self.capacity = self.capacity.max(self.len() + more);
        self.frames.reserve(self.capacity + 1 - self.len());
    }

    /// The most recently joined frame, if it may be joined again.
    #[inline]
    pub fn reusable(&self) -> Option<&Frame> {
        self.kept.as_ref().filter(|_| self.config.reuse)
    }

    /// The position of the first frame with this sequence or a later one.
    pub fn position_from(&self, seq: Wide) -> u64 {
        self.position_within(seq, self.head, self.tail)
    }

    /// The oldest readable frame behind the fence with this sequence or a later one.
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

    /// The position of the first readable frame from a position on.
    pub fn readable_from(&self, position: u64) -> Option<u64> {
        (position..self.tail).find(|at| self.at(*at).is_readable())
    }

    /// Positions and times of the readable frames from a position on.
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

    /// Whether each frame is joined at most once, with the output that it suits best.
    pub fn is_one_to_one(&self) -> bool {
        self.is_nearest() && !self.config.reuse
    }

    /// Begins the epoch behind the fence. Its sequences start anew, and the frames behind the fence become the
    /// candidates.
    pub fn begin(&mut self) {
        (self.tail, self.is_fenced) = (self.head + self.frames.len() as u64, false);
        (self.kept, self.decided, self.joined, self.looked) = (None, None, None, None);
    }
}

fn timed((position, frame): (u64, &Frame)) -> (u64, Wide) {
    (position, frame.time.into())
}
