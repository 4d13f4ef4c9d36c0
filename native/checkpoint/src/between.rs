// SPDX-License-Identifier: Apache-2.0
//! Messages between a producer's descriptors: barriers, watermarks and signals, and how they are sent (PROTOCOL 12.4).
//!
//! A message goes to the shared descriptor stream and to every consumer's own stream, between the same two descriptors.
//! So space is claimed on all streams before anything is written. If one is full, the message waits while frames go on,
//! and is sent at a later place. The place is written into the message when it is sent: a barrier cuts where it stands,
//! not where it was asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::injector::{Injector, InjectorCounters};
use crate::mapping::SharedWord;
use crate::message::CheckpointBarrier;

/// Most messages that wait for space.
pub const WAITING_MAX: usize = 64;
/// How long a full consumer stream can hold up a message. Then the others get the message and that one does not,
/// because one consumer that stands still must not keep a pipeline from its checkpoints.
pub const BRANCH_PATIENCE_NS: u64 = 1_000_000_000;

/// Most sent barriers that are kept for `take_sent_barriers`; older ones are dropped.
pub const SENT_MAX: usize = 16;

/// The size of a CheckpointBarrier message with its header.
const BARRIER_MESSAGE_BYTES: usize = 52;
const SCHEMA: u16 = 920;
const BARRIER: u16 = 1;
const WATERMARK: u16 = 2;
const SIGNAL: u16 = 3;
const GRACEFUL_END: u8 = 0;
const BARRIER_HEADER: u64 = 44 | (BARRIER as u64) << 16 | (SCHEMA as u64) << 32 | 1 << 48;

/// Offsets of fields within a whole message.
mod at {
    pub(super) const BARRIER_STREAM: usize = 32;
    pub(super) const BARRIER_SOURCE_EPOCH: usize = 36;
    pub(super) const BARRIER_AFTER: usize = 44;
    pub(super) const SIGNAL_KIND: usize = 9;
    pub(super) const SIGNAL_AFTER: usize = 30;
}

/// Why a stream takes no message now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The stream has no space now, but will have later.
    Full,
    /// Nobody listens to the stream.
    Unheard,
    /// The stream is closed for good.
    Closed,
}

/// A descriptor stream that messages are sent on.
pub trait DescriptorStream {
    /// Space for one message. If dropped unused it is given back, and readers see nothing.
    type Claim<'a>: Claim
    where
        Self: 'a;

    /// Claims space for this many bytes.
    ///
    /// # Errors
    /// The stream takes no such message now.
    fn claim(&self, bytes: usize) -> Result<Self::Claim<'_>, Refusal>;
}

/// Claimed space on a [`DescriptorStream`].
pub trait Claim {
    /// Writes the message, and lets readers see it.
    fn send(self, message: &[u8]);
}

/// The place of a message in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The stream's id.
    pub stream_id: u32,
    /// The epoch of its regions.
    pub source_epoch: u64,
    /// The newest frame that was announced before the message.
    pub after_seq: Option<u64>,
    /// How far the source is at that frame, in a measure of its own.
    pub position: u64,
}

/// A barrier that was sent, with its place.
#[derive(Clone, Copy, Debug)]
pub struct SentBarrier {
    /// The barrier.
    pub barrier: CheckpointBarrier,
    /// Where it was sent, which is where it cuts (P13).
    pub place: Place,
}

/// What became of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BetweenCounters {
    /// Messages that were sent, barriers included.
    pub sent: u64,
    /// Barriers that were sent.
    pub barriers_sent: u64,
    /// Messages that were not sent at their first place, because a stream was full.
    pub delayed: u64,
    /// Barriers that a newer one replaced while they waited.
    pub barriers_superseded: u64,
    /// Messages that were never sent, because their epoch ended or their stream was closed while they waited.
    pub lost: u64,
    /// Messages that a full consumer stream did not get.
    pub branch_lost: u64,
}

enum Held {
    Barrier(CheckpointBarrier),
    Written(Vec<u8>),
}

struct Waiting {
    held: Held,
    /// When the message was first refused.
    since_ns: Option<u64>,
}

/// The due messages of one producer, and the injector of its barriers. The producer locks it together with its streams.
pub struct Between {
    injector: Option<Injector>,
    waiting: VecDeque<Waiting>,
    /// Whether a graceful end was given, after which nothing follows in this epoch.
    is_over: bool,
    /// The index of the stream that was full at the previous attempt. It is tried first, so that no space is claimed in
    /// vain.
    full: usize,
    lost_barrier: Option<CheckpointBarrier>,
    sent_barriers: VecDeque<SentBarrier>,
    counters: BetweenCounters,
}

impl Default for Between {
    fn default() -> Self {
        Self {
            injector: None,
            waiting: VecDeque::with_capacity(WAITING_MAX + 1),
            is_over: false,
            full: 0,
            lost_barrier: None,
            sent_barriers: VecDeque::with_capacity(SENT_MAX),
            counters: BetweenCounters::default(),
        }
    }
}

impl Between {
    /// Takes barriers from this command word from now on, and at the interval if there is one. Ids continue after those
    /// of the word, and after those sent here before.
    pub fn inject_by(&mut self, word: Arc<SharedWord>, interval_ns: Option<u64>) {
        let mut injector = Injector::new(word, interval_ns);
        if let Some(former) = &self.injector {
            injector.follow(former);
        }
        self.injector = Some(injector);
    }

    /// Releases the command word, so that another producer may poll it.
    pub fn stop_injecting(&mut self) {
        self.injector = None;
    }

    /// Stops periodic barriers once a coordinator is heard: from now on only its ids count.
    pub fn leave_to_coordinator(&mut self) {
        if let Some(injector) = &mut self.injector {
            injector.set_interval(None);
        }
    }

    /// Gives up all waiting messages: they could not be sent at their place, and must not be sent elsewhere.
    pub fn give_up_waiting(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            self.lose(waiting);
        }
    }

    /// Ends the epoch: messages that still wait belonged between its frames.
    pub fn leave_epoch(&mut self) {
        self.give_up_waiting();
        self.is_over = false;
    }

    /// Whether a message has to be sent before the next frame. Costs one load if there is none.
    #[inline]
    pub fn is_due(&mut self, clock: impl Fn() -> u64) -> bool {
        if let Some(injector) = &mut self.injector
            && !self.is_over
            && let Some(barrier) = injector.poll_by_count(clock)
        {
            self.hold_barrier(barrier);
        }
        !self.waiting.is_empty()
    }

    /// Like `is_due`, for callers that know the time.
    pub fn is_due_at(&mut self, now_ns: u64) -> bool {
        if let Some(injector) = &mut self.injector
            && !self.is_over
            && let Some(barrier) = injector.poll(now_ns)
        {
            self.hold_barrier(barrier);
        }
        !self.waiting.is_empty()
    }

    /// Adds a message of schema 920 to those that wait; false if too many do.
    #[must_use]
    pub fn hold(&mut self, message: Vec<u8>) -> bool {
        if is_of(&message, WATERMARK)
            && let Some(Waiting { held: Held::Written(newest), .. }) = self.waiting.back_mut()
            && is_of(newest, WATERMARK)
        {
            // No message stands between the two watermarks, so the later one replaces the earlier.
            *newest = message;
            return true;
        }
        if self.waiting.len() >= WAITING_MAX {
            return false;
        }
        self.is_over |= is_end(&message);
        self.waiting.push_back(Waiting { held: Held::Written(message), since_ns: None });
        true
    }

    /// Sends a barrier that did not come from the injector, which will send none at or below its id.
    pub fn force(&mut self, barrier: CheckpointBarrier) {
        if let Some(injector) = &mut self.injector {
            injector.note(barrier);
        }
        self.hold_barrier(barrier);
    }

    #[cold]
    fn hold_barrier(&mut self, barrier: CheckpointBarrier) {
        let before = self.waiting.len();
        // The newest barrier wins: who waits for the older one gives it up at the newer one anyway.
        self.waiting.retain(|waiting| !matches!(waiting.held, Held::Barrier(_)));
        self.counters.barriers_superseded += (before - self.waiting.len()) as u64;
        self.waiting.push_back(Waiting { held: Held::Barrier(barrier), since_ns: None });
    }

    /// Sends the waiting messages in order, at this place; false if some still wait. The first of `streams` is the
    /// shared one, the others are the consumers' own.
    #[cold]
    pub fn send<W: DescriptorStream>(&mut self, streams: &[&W], place: Place, now_ns: u64) -> bool {
        while let Some(mut waiting) = self.waiting.pop_front() {
            let is_patient =
                waiting.since_ns.is_none_or(|since_ns| now_ns.saturating_sub(since_ns) < BRANCH_PATIENCE_NS);
            let mut barrier = [0; BARRIER_MESSAGE_BYTES];
            let message = waiting.held.placed(place, &mut barrier);
            match self.send_one(streams, message, is_patient) {
                Ok(()) => self.note_sent(&waiting.held, place),
                Err(Refusal::Full) => {
                    self.waiting.push_front(waiting);
                    self.note_delayed(now_ns);
                    return false;
                }
                Err(Refusal::Closed | Refusal::Unheard) => self.lose(waiting),
            }
        }
        true
    }

    /// Sends a message on all streams or on none, except consumer streams that are closed, or full for too long.
    fn send_one<W: DescriptorStream>(
        &mut self,
        streams: &[&W],
        message: &[u8],
        is_patient: bool,
    ) -> Result<(), Refusal> {
        let first = if self.full < streams.len() { self.full } else { 0 };
        let mut claims = Vec::with_capacity(streams.len());
        for index in std::iter::once(first).chain((0..streams.len()).filter(|index| *index != first)) {
            let is_shared = index == 0;
            match streams[index].claim(message.len()) {
                Ok(claim) => claims.push(claim),
                Err(Refusal::Full) if is_shared || is_patient => {
                    self.full = index;
                    return Err(Refusal::Full);
                }
                Err(Refusal::Full) => self.counters.branch_lost += 1,
                Err(Refusal::Closed) if is_shared => return Err(Refusal::Closed),
                // Nobody listens there, so nobody misses it.
                Err(Refusal::Closed | Refusal::Unheard) => {}
            }
        }
        for claim in claims {
            claim.send(message);
        }
        Ok(())
    }

    /// Counts every waiting message as delayed: none may overtake the one that was refused.
    fn note_delayed(&mut self, now_ns: u64) {
        for waiting in &mut self.waiting {
            self.counters.delayed += u64::from(waiting.since_ns.is_none());
            waiting.since_ns.get_or_insert(now_ns);
        }
    }

    fn note_sent(&mut self, held: &Held, place: Place) {
        self.counters.sent += 1;
        if let Held::Barrier(barrier) = held {
            self.counters.barriers_sent += 1;
            if self.sent_barriers.len() == SENT_MAX {
                self.sent_barriers.pop_front();
            }
            self.sent_barriers.push_back(SentBarrier { barrier: *barrier, place });
        }
    }

    fn lose(&mut self, waiting: Waiting) {
        self.counters.lost += 1;
        if let Held::Barrier(barrier) = waiting.held {
            self.lost_barrier = Some(barrier);
        }
    }

    /// Takes the newest barrier that could not be sent, once: its coordinator has to know.
    pub fn take_lost_barrier(&mut self) -> Option<CheckpointBarrier> {
        self.lost_barrier.take()
    }

    /// Takes the barriers sent since the previous call, oldest first. Only a source that a checkpoint can set back to
    /// its place asks for them.
    pub fn take_sent_barriers(&mut self) -> impl Iterator<Item = SentBarrier> + '_ {
        self.sent_barriers.drain(..)
    }

    /// What became of messages since the start.
    #[must_use]
    pub const fn counters(&self) -> BetweenCounters {
        self.counters
    }

    /// What became of commands since the present command word was taken.
    #[must_use]
    pub fn injected(&self) -> InjectorCounters {
        self.injector.as_ref().map(Injector::counters).unwrap_or_default()
    }
}

impl Held {
    /// The message with its place written into it.
    fn placed<'a>(&'a mut self, place: Place, barrier: &'a mut [u8; BARRIER_MESSAGE_BYTES]) -> &'a [u8] {
        // All ones is the null sequence, which no frame has.
        let after = place.after_seq.unwrap_or(u64::MAX);
        match self {
            Self::Barrier(asked) => {
                put(barrier, 0, &BARRIER_HEADER.to_le_bytes());
                put(barrier, 8, &asked.checkpoint_id.to_le_bytes());
                put(barrier, 16, &asked.epoch.to_le_bytes());
                put(barrier, 24, &u64::from(asked.is_unaligned()).to_le_bytes());
                put(barrier, at::BARRIER_STREAM, &place.stream_id.to_le_bytes());
                put(barrier, at::BARRIER_SOURCE_EPOCH, &place.source_epoch.to_le_bytes());
                put(barrier, at::BARRIER_AFTER, &after.to_le_bytes());
                barrier
            }
            Self::Written(message) => {
                if is_of(message, BARRIER) && message.len() >= BARRIER_MESSAGE_BYTES {
                    put(message, at::BARRIER_AFTER, &after.to_le_bytes());
                } else if is_of(message, SIGNAL) && message.len() >= at::SIGNAL_AFTER + 8 {
                    put(message, at::SIGNAL_AFTER, &after.to_le_bytes());
                }
                message
            }
        }
    }
}

fn is_of(message: &[u8], template: u16) -> bool {
    message.get(2..6).is_some_and(|found| found[..2] == template.to_le_bytes() && found[2..] == SCHEMA.to_le_bytes())
}

fn is_end(message: &[u8]) -> bool {
    is_of(message, SIGNAL) && message.get(at::SIGNAL_KIND) == Some(&GRACEFUL_END)
}

fn put(bytes: &mut [u8], offset: usize, field: &[u8]) {
    bytes[offset..offset + field.len()].copy_from_slice(field);
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::injector::Handle;

    /// A stream that keeps what it got, and counts space that was claimed and not used.
    #[derive(Default)]
    struct Log {
        refusal: Cell<Option<Refusal>>,
        claimed: Cell<usize>,
        given_back: Cell<usize>,
        messages: RefCell<Vec<Vec<u8>>>,
    }

    struct LogRoom<'a> {
        log: &'a Log,
        is_open: bool,
    }

    impl DescriptorStream for Log {
        type Claim<'a> = LogRoom<'a>;

        fn claim(&self, _bytes: usize) -> Result<LogRoom<'_>, Refusal> {
            if let Some(refusal) = self.refusal.get() {
                return Err(refusal);
            }
            self.claimed.set(self.claimed.get() + 1);
            Ok(LogRoom { log: self, is_open: true })
        }
    }

    impl Claim for LogRoom<'_> {
        fn send(mut self, message: &[u8]) {
            self.is_open = false;
            self.log.messages.borrow_mut().push(message.to_vec());
        }
    }

    impl Drop for LogRoom<'_> {
        fn drop(&mut self) {
            self.log.given_back.set(self.log.given_back.get() + usize::from(self.is_open));
        }
    }

    impl Log {
        fn full() -> Self {
            let log = Self::default();
            log.refusal.set(Some(Refusal::Full));
            log
        }

        /// Id and afterSeq of each barrier.
        fn barriers(&self) -> Vec<(u64, u64)> {
            let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
            self.messages.borrow().iter().map(|bytes| (number(bytes, 8), number(bytes, at::BARRIER_AFTER))).collect()
        }
    }

    fn after(seq: u64) -> Place {
        Place { stream_id: 10_001, source_epoch: 7, after_seq: Some(seq), position: seq * 10 }
    }

    fn barrier(id: u64) -> CheckpointBarrier {
        CheckpointBarrier::new(id, 1)
    }

    fn injecting() -> (Between, Handle) {
        let word = Arc::new(SharedWord::anonymous().expect("a page"));
        let mut between = Between::default();
        between.inject_by(Arc::clone(&word), None);
        (between, Handle::new(word))
    }

    #[test]
    fn a_barrier_is_the_message_of_the_protocol() {
        let (mut between, log) = (Between::default(), Log::default());
        between.force(CheckpointBarrier::new_unaligned(12, 3));
        assert!(between.send(&[&log], after(41), 0));
        let hex: String = log.messages.borrow()[0].iter().map(|byte| format!("{byte:02x}")).collect();
        // Vector C1 of PROTOCOL 15.
        let vector =
            "2c000100980301000c00000000000000030000000000000001000000000000001127000007000000000000002900000000000000";
        assert_eq!(hex, vector);
    }

    #[test]
    fn before_the_first_frame_the_place_is_null() {
        let (mut between, log) = (Between::default(), Log::default());
        between.force(barrier(1));
        assert!(between.send(&[&log], Place { after_seq: None, ..after(0) }, 0));
        assert_eq!(log.barriers(), [(1, u64::MAX)]);
    }

    /// P13: the message's place is the one where it is sent, not where it was asked for.
    #[test]
    fn a_barrier_that_waited_says_the_place_where_it_went() {
        let (mut between, handle) = injecting();
        let (shared, own) = (Log::default(), Log::full());
        handle.inject(barrier(1)).expect("it fits");
        assert!(between.is_due(|| 0));
        assert!(!between.send(&[&shared, &own], after(4), 0));
        own.refusal.set(None);
        assert!(between.is_due(|| 0));
        assert!(between.send(&[&shared, &own], after(9), 1));
        assert_eq!((shared.barriers(), own.barriers()), (vec![(1, 9)], vec![(1, 9)]));
        assert_eq!(between.counters(), BetweenCounters { sent: 1, barriers_sent: 1, delayed: 1, ..Default::default() });
    }

    /// P13 for a source that goes back to its barrier: frames went on while the barrier waited.
    #[test]
    fn a_source_learns_where_its_barriers_went_and_not_where_they_were_asked_for() {
        let (mut between, handle) = injecting();
        let log = Log::full();
        handle.inject(barrier(1)).expect("it fits");
        assert!(between.is_due(|| 0));
        assert!(!between.send(&[&log], after(4), 0));
        assert_eq!(between.take_sent_barriers().count(), 0);
        log.refusal.set(None);
        assert!(between.send(&[&log], after(9), 1));
        let sent: Vec<_> = between
            .take_sent_barriers()
            .map(|sent| (sent.barrier.checkpoint_id, sent.place.after_seq, sent.place.position))
            .collect();
        assert_eq!(sent, [(1, Some(9), 90)]);
        assert_eq!(between.take_sent_barriers().count(), 0);
    }

    #[test]
    fn of_barriers_that_nobody_asks_after_the_newest_are_kept() {
        let (mut between, log) = (Between::default(), Log::default());
        for id in 1..=SENT_MAX as u64 + 3 {
            between.force(barrier(id));
            assert!(between.send(&[&log], after(id), 0));
        }
        let sent: Vec<_> = between.take_sent_barriers().map(|sent| sent.barrier.checkpoint_id).collect();
        assert_eq!(sent, (4..=SENT_MAX as u64 + 3).collect::<Vec<_>>());
    }

    #[test]
    fn it_goes_to_all_streams_or_to_none() {
        for full in 0..3 {
            let (mut between, logs) = (Between::default(), [Log::default(), Log::default(), Log::default()]);
            logs[full].refusal.set(Some(Refusal::Full));
            between.force(barrier(1));
            assert!(!between.send(&[&logs[0], &logs[1], &logs[2]], after(0), 0));
            assert!(logs.iter().all(|log| log.messages.borrow().is_empty()));
            assert!(logs.iter().all(|log| log.claimed.get() == log.given_back.get()));
            // The stream that is still full is tried first, so nothing is claimed in vain again.
            let claimed: usize = logs.iter().map(|log| log.claimed.get()).sum();
            assert!(!between.send(&[&logs[0], &logs[1], &logs[2]], after(0), 1));
            assert_eq!(logs.iter().map(|log| log.claimed.get()).sum::<usize>(), claimed);
        }
    }

    #[test]
    fn a_consumer_that_stands_still_is_left_out_after_a_second_and_the_shared_stream_never() {
        let (mut between, shared, own) = (Between::default(), Log::default(), Log::full());
        between.force(barrier(1));
        assert!(!between.send(&[&shared, &own], after(0), 5));
        assert!(!between.send(&[&shared, &own], after(1), BRANCH_PATIENCE_NS + 4));
        assert!(between.send(&[&shared, &own], after(2), BRANCH_PATIENCE_NS + 5));
        assert_eq!((shared.barriers(), own.barriers(), between.counters().branch_lost), (vec![(1, 2)], vec![], 1));
        shared.refusal.set(Some(Refusal::Full));
        between.force(barrier(2));
        assert!(!between.send(&[&shared], after(3), 0));
        assert!(!between.send(&[&shared], after(3), u64::MAX));
    }

    #[test]
    fn a_newer_barrier_replaces_one_that_waits_and_others_keep_their_order() {
        let (mut between, log) = (Between::default(), Log::full());
        between.force(barrier(1));
        assert!(between.hold(vec![1]));
        assert!(!between.send(&[&log], after(0), 0));
        between.force(barrier(2));
        assert!(between.hold(vec![2]));
        log.refusal.set(None);
        assert!(between.send(&[&log], after(0), 0));
        assert_eq!(between.counters().delayed, 2);
        let lengths: Vec<usize> = log.messages.borrow().iter().map(Vec::len).collect();
        assert_eq!(lengths, [1, BARRIER_MESSAGE_BYTES, 1]);
        assert_eq!((between.counters().barriers_superseded, between.counters().barriers_sent), (1, 1));
    }

    #[test]
    fn what_waits_is_bounded_and_who_asks_is_told() {
        let mut between = Between::default();
        assert!((0..WAITING_MAX).all(|_| between.hold(vec![0])));
        assert!(!between.hold(vec![0]));
        // There is always space for a barrier.
        between.force(barrier(1));
        assert_eq!(between.waiting.len(), WAITING_MAX + 1);
    }

    #[test]
    fn of_watermarks_that_wait_side_by_side_the_newest_goes() {
        let (mut between, log) = (Between::default(), Log::full());
        let watermark = |number: u8| {
            let mut message = vec![number; 28];
            put(&mut message, 0, &(20_u64 | 2 << 16 | 920 << 32 | 1 << 48).to_le_bytes());
            message
        };
        for _ in 0..2 * WAITING_MAX {
            assert!(between.hold(watermark(1)));
        }
        assert!(between.hold(watermark(2)));
        between.force(barrier(1));
        assert!(between.hold(watermark(3)));
        log.refusal.set(None);
        assert!(between.send(&[&log], after(0), 0));
        let last_bytes: Vec<u8> = log.messages.borrow().iter().map(|message| message[message.len() - 1]).collect();
        assert_eq!(last_bytes, [2, 0, 3]);
    }

    #[test]
    fn a_command_that_was_not_taken_moves_to_the_next_word() {
        let (mut between, handle) = injecting();
        let log = Log::default();
        handle.inject(barrier(4)).expect("it fits");
        between.inject_by(Arc::new(SharedWord::anonymous().expect("a page")), None);
        assert!(between.is_due(|| 0));
        assert!(between.send(&[&log], after(1), 0));
        assert_eq!(log.barriers(), [(4, 1)]);
    }

    #[test]
    fn an_id_is_not_sent_twice_over_another_word_and_a_forced_one_raises_the_floor() {
        let (mut between, _) = injecting();
        let log = Log::default();
        between.force(barrier(5));
        assert!(between.send(&[&log], after(0), 0));
        let word = Arc::new(SharedWord::anonymous().expect("a page"));
        between.inject_by(Arc::clone(&word), None);
        let handle = Handle::new(word);
        for id in [5, 4, 6, 6] {
            handle.inject(barrier(id)).expect("it fits");
            if between.is_due(|| 0) {
                assert!(between.send(&[&log], after(0), 0));
            }
        }
        assert_eq!(log.barriers(), [(5, 0), (6, 0)]);
        assert_eq!(between.injected().duplicates_ignored, 3);
        // A forced barrier with a lower id does not lower the floor.
        between.force(barrier(2));
        assert!(between.send(&[&log], after(0), 0));
        handle.inject(barrier(6)).expect("it fits");
        assert!(!between.is_due(|| 0));
    }

    #[test]
    fn what_waits_when_the_epoch_ends_is_lost_and_its_barrier_told() {
        let (mut between, log) = (Between::default(), Log::full());
        between.force(barrier(3));
        assert!(!between.send(&[&log], after(0), 0));
        between.leave_epoch();
        assert_eq!((between.take_lost_barrier(), between.take_lost_barrier()), (Some(barrier(3)), None));
        assert_eq!(between.counters().lost, 1);
        assert!(!between.is_due(|| 0));
    }

    #[test]
    fn a_closed_stream_loses_the_barrier_and_a_closed_branch_does_not() {
        let (mut between, shared, own) = (Between::default(), Log::default(), Log::default());
        own.refusal.set(Some(Refusal::Closed));
        between.force(barrier(1));
        assert!(between.send(&[&shared, &own], after(0), 0));
        shared.refusal.set(Some(Refusal::Closed));
        between.force(barrier(2));
        assert!(between.send(&[&shared, &own], after(0), 0));
        assert_eq!((shared.barriers(), between.take_lost_barrier()), (vec![(1, 0)], Some(barrier(2))));
    }

    #[test]
    fn nothing_follows_a_graceful_end_in_its_epoch() {
        let (mut between, handle) = injecting();
        let log = Log::default();
        let mut end = vec![0; 42];
        put(&mut end, 0, &(30_u64 | 3 << 16 | 920 << 32 | 1 << 48).to_le_bytes());
        assert!(between.hold(end));
        assert!(between.send(&[&log], after(8), 0));
        assert_eq!(log.messages.borrow()[0][at::SIGNAL_AFTER..at::SIGNAL_AFTER + 8], 8_u64.to_le_bytes());
        handle.inject(barrier(1)).expect("it fits");
        assert!(!between.is_due(|| 0) && !between.is_due_at(0));
        between.leave_epoch();
        assert!(between.is_due(|| 0));
    }

    #[test]
    fn a_coordinator_that_is_heard_ends_the_interval() {
        let mut between = Between::default();
        between.inject_by(Arc::new(SharedWord::anonymous().expect("a page")), Some(10));
        assert!(!between.is_due_at(0));
        assert!(between.is_due_at(10));
        assert!(between.send(&[&Log::default()], after(0), 10));
        between.leave_to_coordinator();
        assert!(!between.is_due_at(100));
    }
}
