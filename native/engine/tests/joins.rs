// SPDX-License-Identifier: Apache-2.0
//! Runs an engine without Python and without Aeron: descriptors come from a queue in memory, frames lie in real rings, and
//! rows go to a real journal. Once it runs, it allocates nothing for a frame, and it finds frames without descriptors.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::idle::IdleStrategy;
use framegate_core::pool::frame_record;
use framegate_core::pool::region::{CreateOptions, Region};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::superblock::Expected;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};
use framegate_core::pool::writer::{Stamps, Writer};
use framegate_engine::{CheckpointHabits, Engine, Habits, InputPlan, News, Republished, Snapshot, Target, Wires};
use framegate_intake::descriptors::Descriptors;
use framegate_intake::mailbox::{Command, Mailbox};
use framegate_intake::mapping::Mapping;
use framegate_join::map::{Announced, RawRule};
use framegate_join::stage::{Cause, Drive, InputConfig, PolicyKind, Stage, StageConfig};
use framegate_journal::{Config, Durability, WhenFull};

const STREAMS: [u32; 2] = [10_001, 10_002];
const EPOCH: u64 = 7;
const SLOTS: u32 = 128;
const FRAME_BYTES: u32 = 64;
/// Of a bed whose frames are large.
const LARGE_BYTES: u32 = 64 << 10;
static PAYLOAD: [u8; LARGE_BYTES as usize] = [0x5A; LARGE_BYTES as usize];
const LONG_NS: u64 = 3_600_000_000_000;
const MESSAGE_BYTES: usize = 48;

/// A log in memory, with the messages that wait.
struct Log(Mutex<Vec<[u8; MESSAGE_BYTES]>>);

impl Descriptors for Log {
    fn poll_whole(&self, limit: usize, mut see: impl FnMut(&[u8])) -> usize {
        let mut waiting = self.0.lock().unwrap();
        let count = waiting.len().min(limit);
        waiting.drain(..count).for_each(|message| see(&message));
        count
    }

    fn poll_assembled(&self, limit: usize, see: impl FnMut(&[u8])) -> usize {
        self.poll_whole(limit, see)
    }

    fn images_lost(&self) -> u64 {
        0
    }
}

/// A target that publishes nothing. A writer laps its ring when so many rows were written.
struct Lapping {
    writer: Arc<Mutex<Writer>>,
    frame_bytes: u32,
    rows_left: Cell<u32>,
}

impl Target for Lapping {
    unsafe fn publish(&self, _frame: &Republished<'_>, _is_whole: impl FnOnce() -> bool) -> bool {
        self.rows_left.set(self.rows_left.get() - 1);
        if self.rows_left.get() == 0 {
            (0..2 * SLOTS).for_each(|_| _ = publish(&mut self.writer.lock().unwrap(), self.frame_bytes));
        }
        false
    }

    fn send_barrier(&self, _barrier: CheckpointBarrier) -> bool {
        false
    }

    fn send_between(&self, _make: impl FnOnce(u32, u64) -> Option<Vec<u8>>) -> bool {
        false
    }
}

struct Memory;

impl Wires for Memory {
    type Descriptors = Log;
    type Target = Lapping;
}

/// Two rings, a journal, and the engine that joins them.
struct Bed {
    folder: PathBuf,
    writers: Vec<Arc<Mutex<Writer>>>,
    log: Arc<Log>,
    mailbox: Arc<Mailbox<Log>>,
    engine: Engine<Memory>,
    frame_bytes: u32,
}

impl Bed {
    fn new(name: &str) -> Self {
        Self::of_frames(name, FRAME_BYTES)
    }

    fn of_frames(name: &str, frame_bytes: u32) -> Self {
        let folder = std::env::temp_dir().join(format!("framegate-engine-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mailbox = Arc::new(Mailbox::new(STREAMS.to_vec()));
        let log = Arc::new(Log(Mutex::new(Vec::with_capacity(4 * SLOTS as usize))));
        mailbox.post(Command::Listen(Arc::clone(&log)));
        let mut writers = Vec::new();
        for (place, stream_id) in STREAMS.into_iter().enumerate() {
            let ring = Expected { stream_id, epoch: EPOCH, pool_id: 0, nslots: SLOTS, stride_bytes: 0 };
            let regions = regions(&folder, &stream_id.to_string(), ring, frame_bytes);
            writers.push(Arc::new(Mutex::new(Writer::new(Arc::clone(&regions), tensor(frame_bytes)))));
            mailbox.post(Command::Announced(place, EPOCH, true));
            mailbox.post(Command::Attach(place, Box::new(Mapping::new(regions))));
        }
        let stage = stage();
        let mut journal = journal(folder.join("journal"));
        journal.state_capacity = stage.state_capacity() + 64;
        let (writer, _) = framegate_journal::Writer::open(journal).unwrap();
        let plans = (0..STREAMS.len()).map(|stream| InputPlan { stream, stream_id: STREAMS[stream] }).collect();
        let engine =
            Engine::new(stage, writer, plans, Arc::clone(&mailbox), vec![None; STREAMS.len()], &habits(frame_bytes));
        Self { folder, writers, log, mailbox, engine: engine.unwrap(), frame_bytes }
    }

    /// Publishes a frame of a stream. `is_told`: whether the engine gets its descriptor.
    fn publish(&self, stream: usize, is_told: bool) {
        let message = publish(&mut self.writers[stream].lock().unwrap(), self.frame_bytes);
        if is_told {
            self.log.0.lock().unwrap().push(message);
        }
    }

    /// Publishes so many frames of the left stream, which wait for their partners.
    fn wait(&mut self, frames: usize) {
        for _ in 0..frames.div_ceil(32) {
            (0..32).for_each(|_| self.publish(0, true));
            self.run();
        }
    }

    /// Brings the barriers of a checkpoint on both streams.
    fn cut(&mut self, checkpoint_id: u64) {
        let barrier = CheckpointBarrier::new(checkpoint_id, 1);
        (0..STREAMS.len()).for_each(|stream| self.engine.on_barrier(stream, barrier, 0));
    }

    /// Takes the snapshots that can be stored.
    fn snapshots(&mut self) -> Vec<Snapshot> {
        let mut found = Vec::new();
        while self.engine.cut.has_news(self.engine.ledger.writer.sealed_rows()) {
            if let Some(News::Snapshot(snapshot)) = self.engine.cut.news.pop_front() {
                found.push(*snapshot);
            }
        }
        found
    }

    /// Publishes this many frames on both streams, joins them, and lets the engine seal the rows.
    fn join(&mut self, frames: usize) {
        for _ in 0..frames {
            (0..STREAMS.len()).for_each(|stream| self.publish(stream, true));
        }
        self.run();
    }

    /// Runs the engine until it has heard and joined everything that was announced, and copied what a cut stores.
    fn run(&mut self) {
        while {
            let is_copying = self.engine.run(1_000_000, 0, IdleStrategy::Busy).is_copying;
            is_copying || !self.log.0.lock().unwrap().is_empty()
        } {}
        self.engine.run(1_000_000, 0, IdleStrategy::Busy);
    }
}

/// Writes a frame; returns its descriptor.
fn publish(writer: &mut Writer, bytes: u32) -> [u8; MESSAGE_BYTES] {
    // SAFETY: the array is valid for its length.
    *unsafe { writer.publish(PAYLOAD.as_ptr(), bytes, Stamps::default()) }.unwrap()
}

/// The sequences of the left stream's frames in a snapshot, which are in step, from the first to the last.
fn stored(snapshot: &Snapshot) -> RangeInclusive<u64> {
    let data: Vec<u8> = snapshot.records.as_ref().unwrap().pieces().flatten().copied().collect();
    let (mut at, mut found) = (0, Vec::new());
    while at < data.len() {
        let length = u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
        let (head, payload) = frame_record::read(&data[at + 4..at + 4 + length]).unwrap();
        assert!(payload == &PAYLOAD[..payload.len()]);
        if head.stream_id == STREAMS[0] {
            found.push(head.seq);
        }
        at += 4 + length;
    }
    assert!(found.windows(2).all(|two| two[0] + 1 == two[1]), "in their order, none missing and none twice");
    found[0]..=found[found.len() - 1]
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn regions(folder: &Path, name: &str, ring: Expected, frame_bytes: u32) -> Arc<Regions> {
    let options = CreateOptions { mode: 0o600, prefault: true, require_hugepages: false };
    let make = |file: &str, expected: &Expected| {
        Region::create(&folder.join(format!("{name}.{file}")), expected, 1, 1, options).unwrap()
    };
    let pool = make("pool", &Expected { pool_id: 1, stride_bytes: frame_bytes, ..ring });
    Arc::new(Regions::new(make("ring", &ring), vec![pool]).unwrap())
}

fn tensor(frame_bytes: u32) -> Tensor {
    Tensor::contiguous(1, ROW_MAJOR, &[frame_bytes as i32])
}

fn stage() -> Stage {
    let mut stage = Stage::new(StageConfig {
        policy: PolicyKind::Sequence,
        out_stream: 9,
        inputs: STREAMS.map(InputConfig::of).into(),
        drive: Drive::Counter,
        first: None,
        is_late_stalled: false,
        is_ordered_by_time: false,
        max_skew_ns: 0,
        max_age_ns: 0,
        out_epoch: 0,
        history: 4096,
    });
    let rules = STREAMS.map(|stream| RawRule { stream, rule_type: 0, source: 2, offset: Some(0), window: None });
    let announced = Announced { out_stream: 9, epoch: 0, stale_timeout_ns: None, times: None, rules: &rules };
    assert_eq!(stage.apply(&announced, 1), Ok(true));
    stage
}

fn journal(dir: PathBuf) -> Config {
    std::fs::create_dir_all(&dir).unwrap();
    Config {
        dir,
        out_stream: 9,
        journal_epoch: 1,
        inputs: vec!["left".to_owned(), "right".to_owned()],
        seal_rows: 64,
        seal_bytes: 1 << 20,
        seal_ns: 1_000_000,
        segment_bytes: 8 << 20,
        segment_ns: 3_600_000_000_000,
        max_bytes: 64 << 20,
        when_full: WhenFull::DropOldest,
        durability: Durability::Memory,
        prefault_all: true,
        state_capacity: 0,
        realtime_offset_ns: 0,
    }
}

fn habits(frame_bytes: u32) -> Habits {
    Habits {
        is_realtime: false,
        keeps_unmatched: true,
        is_one_by_one: false,
        pending_bytes: 1024 * frame_bytes.max(1024) as usize,
        ahead_bytes: 1 << 20,
        copies_at_arrival: false,
        checkpoints: CheckpointHabits {
            pipeline: "default".to_owned(),
            timeout_ns: 1_000_000_000,
            is_enabled: true,
            is_forced: false,
            late_timeout_ns: None,
            events_per_input: 64,
            buffer_bytes: 1 << 20,
            inflight_bytes: 1 << 20,
            floor: 0,
            published_input: None,
            is_computed: false,
            keeps_payload: true,
            is_prefaulted: true,
        },
        checkpoint_id: 0,
    }
}

/// How many frames were not joined.
fn unmatched(bed: &Bed) -> u64 {
    bed.engine.stage.input_counters().iter().flat_map(|each| each.unmatched).sum()
}

#[test]
fn frames_in_step_become_rows_and_nothing_is_taken_from_the_heap() {
    let mut bed = Bed::new("in-step");
    (0..20).for_each(|_| bed.join(32));
    assert_eq!(bed.engine.counters.rows, 20 * 32);
    let counted = allocation_counter::measure(|| (0..20).for_each(|_| bed.join(32)));
    assert_eq!(bed.engine.counters.rows, 40 * 32);
    assert_eq!(counted.count_total, 0, "allocations for 640 rows");
    assert_eq!(bed.engine.counters.copied_out_frames, 0);
}

#[test]
fn frames_that_wait_longer_than_the_ring_lasts_are_copied_out_and_joined() {
    let mut bed = Bed::new("apart");
    bed.join(8);
    let ahead = 2 * SLOTS as usize;
    for _ in 0..ahead / 32 {
        (0..32).for_each(|_| bed.publish(0, true));
        bed.run();
    }
    for _ in 0..ahead / 32 {
        (0..32).for_each(|_| bed.publish(1, true));
        bed.run();
    }
    assert_eq!(bed.engine.counters.rows as usize, 8 + ahead);
    assert!(bed.engine.counters.copied_out_frames > 0);
}

#[test]
fn frames_of_an_epoch_before_the_one_that_is_known_are_written_down_and_told() {
    let mut bed = Bed::new("older");
    let known = EPOCH + 2;
    bed.engine.stage.missed(1, known, 0, 3, 0);
    bed.join(8);
    let progress = bed.engine.stage.progress();
    assert_eq!(progress[0].older_epoch, None);
    assert_eq!(progress[1].older_epoch, Some((known, EPOCH)));
    assert_eq!(bed.engine.stage.input_counters()[1].unmatched[Cause::Epoch as usize], 8);
}

#[test]
fn a_mapping_of_an_epoch_before_the_one_that_is_read_is_told_until_frames_count_again() {
    let mut bed = Bed::new("back");
    bed.join(8);
    let older = Expected { stream_id: STREAMS[1], epoch: EPOCH - 1, pool_id: 0, nslots: SLOTS, stride_bytes: 0 };
    bed.mailbox.post(Command::Attach(1, Box::new(Mapping::new(regions(&bed.folder, "older", older, FRAME_BYTES)))));
    bed.run();
    assert_eq!(bed.engine.stage.progress()[1].older_epoch, Some((EPOCH, EPOCH - 1)));
    bed.join(8);
    assert_eq!(bed.engine.stage.progress()[1].older_epoch, None);
    assert_eq!(bed.engine.counters.rows, 16);
}

#[test]
fn what_no_descriptor_told_of_is_found_in_the_ring_when_the_join_ends() {
    let mut bed = Bed::new("untold");
    bed.join(8);
    for _ in 0..4 {
        (0..STREAMS.len()).for_each(|stream| bed.publish(stream, stream == 0));
    }
    bed.run();
    assert_eq!(bed.engine.counters.rows, 8);
    let outcome = bed.engine.join_what_was_sent(LONG_NS, 0);
    assert!(!outcome.is_finished, "the producers have not ended");
    assert_eq!((bed.engine.counters.rows, bed.engine.port_counters(1).recovered), (12, 4));
    bed.engine.finish(false).unwrap();
    assert_eq!(unmatched(&bed), 0);
}

#[test]
fn a_join_that_never_got_a_turn_joins_what_was_sent_before_it_was_told_to_end() {
    let mut bed = Bed::new("at-once");
    for _ in 0..32 {
        (0..STREAMS.len()).for_each(|stream| bed.publish(stream, true));
    }
    bed.engine.join_what_was_sent(LONG_NS, 20);
    assert_eq!(bed.engine.counters.rows, 20, "no more than it was asked for");
    bed.engine.join_what_was_sent(LONG_NS, 0);
    bed.engine.finish(false).unwrap();
    assert_eq!((bed.engine.counters.rows, unmatched(&bed)), (32, 0));
}

// --- Snapshots -----------------------------------------------------------------------------------------------

/// The frame that was joined most recently is stored only where it is still in its ring: 8 rows were joined.
const JOINED_LAST: [(usize, u64, u64); 1] = [(0, EPOCH, 7)];

#[test]
fn a_snapshot_is_handed_out_when_all_its_frames_are_copied_a_slice_in_each_turn() {
    let mut bed = Bed::new("slices");
    bed.join(8);
    bed.wait(1024);
    bed.cut(1);
    assert!(bed.snapshots().is_empty(), "not all of it is copied in one go");
    // What comes behind the cut is not in it.
    bed.wait(32);
    bed.run();
    let [snapshot] = &bed.snapshots()[..] else { panic!("one snapshot") };
    assert_eq!(stored(snapshot), 8..=1031);
    assert_eq!((&snapshot.overwritten[..], bed.engine.cut.counters.snapshot_copied_early), (&JOINED_LAST[..], 0));
    assert!(bed.engine.cut.counters.longest_snapshot_ns >= bed.engine.cut.counters.longest_snapshot_cpu_ns / 2);
}

#[test]
fn frames_that_are_given_up_before_their_turn_are_in_the_snapshot() {
    let mut bed = Bed::new("given-up");
    bed.join(8);
    bed.wait(2048);
    bed.cut(1);
    // All but the newest 128 of these are lost, so 1,400 frames of the other stream get no partner at once.
    (0..1500).for_each(|_| bed.publish(1, false));
    bed.publish(1, true);
    bed.run();
    let [snapshot] = &bed.snapshots()[..] else { panic!("one snapshot") };
    assert_eq!((stored(snapshot), &snapshot.overwritten[..]), (8..=2055, &JOINED_LAST[..]));
    assert!(bed.engine.cut.counters.snapshot_copied_early > 0);
    assert!(unmatched(&bed) > 1000);
}

#[test]
fn a_frame_that_is_joined_before_its_turn_is_in_the_snapshot_though_its_ring_comes_round() {
    let mut bed = Bed::of_frames("lapped", LARGE_BYTES);
    bed.join(8);
    // These are still in their ring when they are cut and joined, and are more than a slice.
    (0..60).for_each(|_| bed.publish(0, true));
    bed.run();
    bed.cut(1);
    (0..60).for_each(|_| bed.publish(1, true));
    let writer = Arc::clone(&bed.writers[0]);
    bed.engine.output.target = Some((0, Lapping { writer, frame_bytes: LARGE_BYTES, rows_left: Cell::new(30) }));
    bed.run();
    let [snapshot] = &bed.snapshots()[..] else { panic!("one snapshot") };
    assert_eq!(bed.engine.counters.rows, 8 + 30, "behind these, the ring came round before they were read");
    assert_eq!(stored(snapshot), 7..=37, "and the frame that was joined last at the cut");
    assert!(bed.engine.cut.counters.snapshot_copied_early > 0);
}

#[test]
fn a_checkpoint_that_is_given_up_while_it_is_copied_leaves_nothing_and_the_next_one_is_whole() {
    let mut bed = Bed::new("aborted");
    bed.join(8);
    bed.wait(1024);
    // The second input's barrier does not come, so the alignment goes on.
    bed.engine.on_barrier(0, CheckpointBarrier::new_unaligned(1, 1), 0);
    assert!(!bed.engine.cut.news.is_empty(), "the snapshot overtakes");
    bed.engine.abort_checkpoint(Some(1), 0);
    bed.run();
    assert!(bed.snapshots().is_empty());
    bed.cut(2);
    bed.cut(3);
    let mut found = bed.snapshots();
    bed.run();
    found.extend(bed.snapshots());
    let [second, third] = &found[..] else {
        panic!("{:?}", found.iter().map(|each| each.barrier.checkpoint_id).collect::<Vec<_>>())
    };
    assert_eq!((second.barrier.checkpoint_id, third.barrier.checkpoint_id), (2, 3));
    assert_eq!((stored(second), stored(third)), (8..=1031, 8..=1031));
}
