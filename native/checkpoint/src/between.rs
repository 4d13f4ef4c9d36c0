// SPDX-License-Identifier: Apache-2.0
//! What stands between a producer's descriptors: barriers, watermarks and signals, and how they get there (PROTOCOL
//! 12.4).
//!
//! A message goes to the shared descriptor stream and to every consumer's own, between the same two descriptors. So
//! room is claimed on all of them before anything is written to any, and where one is full all of it waits, frames
//! go on, and the message is sent at a later place. Its place is written into it when it goes: a barrier cuts where
//! it stands, not where it was asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::injector::{Injector, InjectorCounters};
use crate::mapping::SharedWord;
use crate::message::CheckpointBarrier;

/// Messages that wait for room, at most.
pub const WAITING_MAX: usize = 64;
/// For so long a consumer's own stream that is full holds up a message. Then the others get it, and that one does not:
/// a single consumer that stands still must not keep a pipeline from its checkpoints.
pub const BRANCH_PATIENCE_NS: u64 = 1_000_000_000;

/// Barriers that were sent and not asked after, at most; the oldest go.
pub const SENT_MAX: usize = 16;

/// Bytes of a CheckpointBarrier message, its header included.
const BARRIER_MESSAGE_BYTES: usize = 52;
const SCHEMA: u16 = 920;
const BARRIER: u16 = 1;
const WATERMARK: u16 = 2;
const SIGNAL: u16 = 3;
const GRACEFUL_END: u8 = 0;
const BARRIER_HEADER: u64 = 44 | (BARRIER as u64) << 16 | (SCHEMA as u64) << 32 | 1 << 48;

/// Offsets in whole messages.
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
    /// It has no room; later it will.
    Full,
    /// Nobody listens.
    Unheard,
    /// It will never take one again.
    Closed,
}

/// A stream of descriptors.
pub trait Way {
    /// Room for one message; dropped unused it is given back, and readers see nothing.
    type Room<'a>: Room
    where
        Self: 'a;

    /// Claims room for so many bytes.
    ///
    /// # Errors
    /// When there is none.
    fn claim(&self, bytes: usize) -> Result<Self::Room<'_>, Refusal>;
}

/// See [`Way`].
pub trait Room {
    /// Fills it, and lets readers see it.
    fn send(self, message: &[u8]);
}

/// Where a message stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The stream.
    pub stream_id: u32,
    /// The epoch of its regions.
    pub source_epoch: u64,
    /// The last frame that was announced in it.
    pub after_seq: Option<u64>,
    /// Where the source stands behind that frame, in a measure of its own.
    pub position: u64,
}

/// A barrier that was sent, and where.
#[derive(Clone, Copy, Debug)]
pub struct SentBarrier {
    /// The barrier.
    pub barrier: CheckpointBarrier,
    /// Its place when the offer succeeded, which is where it cuts (P13).
    pub place: Place,
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BetweenCounters {
    /// Sent, barriers and others.
    pub sent: u64,
    /// Barriers among them.
    pub barriers_sent: u64,
    /// Not sent at their first place, because a stream was full.
    pub delayed: u64,
    /// Barriers that waited until a newer one replaced them.
    pub barriers_superseded: u64,
    /// Not sent at all: their epoch ended, or their stream was closed, while they waited.
    pub lost: u64,
    /// Left out of a consumer's own stream that stayed full.
    pub branch_lost: u64,
}

enum Held {
    Barrier(CheckpointBarrier),
    Written(Vec<u8>),
}

struct Waiting {
    held: Held,
    /// When it was first refused.
    since_ns: Option<u64>,
}

/// The messages of one producer that are due, and the injector of its barriers. Its owner locks it with the streams.
pub struct Between {
    injector: Option<Injector>,
    waiting: VecDeque<Waiting>,
    /// A graceful end was given: nothing follows in this epoch.
    is_over: bool,
    /// The stream that was full at the last attempt. It is asked first: where it still is, no room is claimed in vain.
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
    /// Barriers are asked for by this word from now on, and come by themselves where there is an interval. Ids go on
    /// behind those of the word, and behind those that were sent here before.
    pub fn inject_by(&mut self, word: Arc<SharedWord>, interval_ns: Option<u64>) {
        let mut injector = Injector::new(word, interval_ns);
        if let Some(former) = &self.injector {
            injector.follow(former);
        }
        self.injector = Some(injector);
    }

    /// Lets the word go: another producer may poll it.
    pub fn stop_injecting(&mut self) {
        self.injector = None;
    }

    /// A coordinator was heard: its ids are the only ones from now on.
    pub fn leave_to_coordinator(&mut self) {
        if let Some(injector) = &mut self.injector {
            injector.set_interval(None);
        }
    }

    /// What waits could not be sent where it had to stand, and must not be sent elsewhere.
    pub fn give_up_waiting(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            self.lose(waiting);
        }
    }

    /// The epoch has ended, or another begins: what waited belonged between the frames of the old one.
    pub fn leave_epoch(&mut self) {
        self.give_up_waiting();
        self.is_over = false;
    }

    /// Whether something is to be sent before the next frame. Where nothing is, that costs one load.
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

    /// The same, where the time is known.
    pub fn is_due_at(&mut self, now_ns: u64) -> bool {
        if let Some(injector) = &mut self.injector
            && !self.is_over
            && let Some(barrier) = injector.poll(now_ns)
        {
            self.hold_barrier(barrier);
        }
        !self.waiting.is_empty()
    }

    /// Sends a message of schema 920 with the others that wait; false when too many do.
    #[must_use]
    pub fn hold(&mut self, message: Vec<u8>) -> bool {
        if is_of(&message, WATERMARK)
            && let Some(Waiting { held: Held::Written(newest), .. }) = self.waiting.back_mut()
            && is_of(newest, WATERMARK)
        {
            // Nothing stands between the two, so the later one says all.
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

    /// Sends a barrier that nobody asked the injector for; it will not send one at or below it.
    pub fn force(&mut self, barrier: CheckpointBarrier) {
        if let Some(injector) = &mut self.injector {
            injector.note(barrier);
        }
        self.hold_barrier(barrier);
    }

    #[cold]
    fn hold_barrier(&mut self, barrier: CheckpointBarrier) {
        let before = self.waiting.len();
        // The newest wins: who waits for the older one gives it up at the newer one anyway.
        self.waiting.retain(|waiting| !matches!(waiting.held, Held::Barrier(_)));
        self.counters.barriers_superseded += (before - self.waiting.len()) as u64;
        self.waiting.push_back(Waiting { held: Held::Barrier(barrier), since_ns: None });
    }

    /// Sends what waits, in its order, here; false when some of it goes on waiting. `ways` are the shared stream and
    /// behind it the consumers' own.
    #[cold]
    pub fn send<W: Way>(&mut self, ways: &[&W], place: Place, now_ns: u64) -> bool {
        while let Some(mut waiting) = self.waiting.pop_front() {
            let is_patient =
                waiting.since_ns.is_none_or(|since_ns| now_ns.saturating_sub(since_ns) < BRANCH_PATIENCE_NS);
            let mut barrier = [0; BARRIER_MESSAGE_BYTES];
            let message = waiting.held.placed(place, &mut barrier);
            match self.send_one(ways, message, is_patient) {
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

    /// On all streams or on none, but for consumers' own that are closed, or full for too long.
    fn send_one<W: Way>(&mut self, ways: &[&W], message: &[u8], is_patient: bool) -> Result<(), Refusal> {
        let first = if self.full < ways.len() { self.full } else { 0 };
        let mut rooms = Vec::with_capacity(ways.len());
        for index in std::iter::once(first).chain((0..ways.len()).filter(|index| *index != first)) {
            let is_shared = index == 0;
            match ways[index].claim(message.len()) {
                Ok(room) => rooms.push(room),
                Err(Refusal::Full) if is_shared || is_patient => {
                    self.full = index;
                    return Err(Refusal::Full);
                }
                Err(Refusal::Full) => self.counters.branch_lost += 1,
                Err(Refusal::Closed) if is_shared => return Err(Refusal::Closed),
                // Nobody is there to miss it.
                Err(Refusal::Closed | Refusal::Unheard) => {}
            }
        }
        for room in rooms {
            room.send(message);
        }
        Ok(())
    }

    /// All that waits, for what is behind a message that cannot go does not go either.
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

    /// The last barrier that was taken and could not be sent, once: its coordinator is to know.
    pub fn take_lost_barrier(&mut self) -> Option<CheckpointBarrier> {
        self.lost_barrier.take()
    }

    /// The barriers that were sent since the last call, oldest first. A source that a checkpoint can take back to where
    /// it stood asks for them; for all others the newest few are kept, and nobody asks.
    pub fn take_sent_barriers(&mut self) -> impl Iterator<Item = SentBarrier> + '_ {
        self.sent_barriers.drain(..)
    }

    /// What became of messages since the start.
    #[must_use]
    pub const fn counters(&self) -> BetweenCounters {
        self.counters
    }

    /// What became of commands since the present word was taken up.
    #[must_use]
    pub fn injected(&self) -> InjectorCounters {
        self.injector.as_ref().map(Injector::counters).unwrap_or_default()
    }
}

impl Held {
    /// The message, with its place in it.
    fn placed<'a>(&'a mut self, place: Place, barrier: &'a mut [u8; BARRIER_MESSAGE_BYTES]) -> &'a [u8] {
        // All ones is the null sequence, and no frame has it.
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

    /// A stream that remembers what it was given; what is claimed and not sent is counted.
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

    impl Way for Log {
        type Room<'a> = LogRoom<'a>;

        fn claim(&self, _bytes: usize) -> Result<LogRoom<'_>, Refusal> {
            if let Some(refusal) = self.refusal.get() {
                return Err(refusal);
            }
            self.claimed.set(self.claimed.get() + 1);
            Ok(LogRoom { log: self, is_open: true })
        }
    }

    impl Room for LogRoom<'_> {
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

    /// P13: where it stands is said when it goes, not when it was asked for.
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

    /// P13 again, for a source that goes back there: frames went on while the barrier waited.
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
            // The one that is still full is asked first, and nothing is claimed in vain again.
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
        // A barrier always has a place.
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
        // A forced one below it does not lower it.
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
