// SPDX-License-Identifier: Apache-2.0
//! What an engine keeps for checkpoints: which streams wait behind a barrier, copies of their frames, and news for the
//! agent.

use std::collections::VecDeque;
use std::io;

use framegate_checkpoint::INPUTS_MAX;
use framegate_checkpoint::aligner::{Aborted, Limits};
use framegate_checkpoint::input_signals::InputSignals;
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::unaligned::{Options, Switch, UnalignedCheckpointer};
use framegate_core::pool::hold::Hold;
use framegate_counters::counters;
use framegate_join::stage::{Lost, Observed};
use serde::Deserialize;

use super::hearing::END_KIND;
use super::ingress::Gates;
use super::taking::Taking;
use crate::records::{Records, SpareChunks};

/// Bytes that an event counts for beside a copied payload.
pub(super) const EVENT_BYTES: u64 = size_of::<Standing>() as u64;

/// Most events that one checkpoint can capture; space for them is reserved at the start.
const INFLIGHT_EVENTS_MAX: usize = 1 << 20;
/// The index of copies is sized for payloads of this size, so that many streams do not each reserve the largest one.
const FRAME_BYTES_LEAST: usize = 256;
const FRAMES_LEAST: usize = 1024;

/// Anything that stands at its place in a stream, and may have to wait there.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    Frame(Observed, Whereabouts),
    /// Sequences that passed unheard, or that nobody can read any more.
    Missed {
        epoch: u64,
        first: u64,
        last: u64,
    },
    Watermark(i64),
    Signal(Signal),
}

/// Where the payload of a frame can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// In its ring; it was just announced.
    InRing,
    /// In its ring; it was announced a while ago and has no copy.
    Waited,
    /// In the copies of frames that wait behind a barrier.
    Held,
    /// In the copies of frames that wait for partners.
    Kept,
    /// Nowhere: it was overwritten before it could be copied.
    Gone,
}

/// A signal that came on the data channel.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Whether it waits for every upstream, or takes effect at once.
    pub is_barrier: bool,
    pub kind: u8,
    pub barrier_id: u64,
    pub(super) epoch: u64,
    pub(super) after: Option<u64>,
}

impl Signal {
    /// Whether the signal ends its stream's epoch.
    pub(super) const fn is_end(&self) -> bool {
        self.is_barrier && self.kind == END_KIND
    }
}

/// How an engine takes part in checkpoints.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckpointHabits {
    pub pipeline: String,
    pub timeout_ns: u64,
    pub is_enabled: bool,
    pub is_forced: bool,
    pub late_timeout_ns: Option<u64>,
    pub events_per_input: usize,
    pub buffer_bytes: u64,
    pub inflight_bytes: u64,
    pub floor: u64,
    /// The input whose frames are published, natively or computed from rows; None if nothing is published.
    pub published_input: Option<usize>,
    /// Whether Python publishes the rows once they are sealed.
    pub is_computed: bool,
    /// Whether the payloads of waiting frames are copied; otherwise only their descriptors are kept.
    pub keeps_payload: bool,
    /// Whether the memory for waiting frames is taken from the system at the start.
    pub is_prefaulted: bool,
}

/// What a stream that owes its barrier delivered since the snapshot: the records of its in-flight file.
pub struct Inflight {
    pub records: Records,
    /// Frames that were overwritten before they could be copied.
    pub lost: Vec<(u64, u64)>,
}

impl Inflight {
    pub(super) fn new(spare: &SpareChunks) -> Self {
        Self { records: Records::new(spare, 0), lost: Vec::new() }
    }
}

/// What a snapshot holds, for the agent to write it to a file.
pub struct Snapshot {
    pub barrier: CheckpointBarrier,
    pub why: Option<Switch>,
    /// A bit for each stream whose barrier has not come.
    pub owing: u128,
    pub duration_ns: u64,
    /// How many events waited.
    pub buffered: usize,
    /// Every row below this one belongs to the checkpoint. They are sealed before the snapshot is handed out.
    pub next_row: u64,
    pub map_version: u64,
    /// The stage's state, as a sealed batch holds it.
    pub state: Vec<u8>,
    /// The rest of the stage's state, as `Stage::write_rest` gives it.
    pub rest: Vec<u8>,
    /// Waiting frames in the order in which they came; None while they are being copied.
    pub records: Option<Records>,
    /// Frames that wait to be recorded as not joined.
    pub lost: Vec<Lost>,
    /// Waiting frames that could not be read any more: stream, epoch and sequence.
    pub overwritten: Vec<(usize, u64, u64)>,
}

/// What the agent around the engine has to know or to do.
pub enum News {
    Snapshot(Box<Snapshot>),
    /// Everything that was in flight has come.
    Complete {
        barrier: CheckpointBarrier,
        duration_ns: u64,
        inflight: Vec<(usize, Inflight)>,
    },
    Aborted {
        aborted: Aborted,
        /// How many events waited.
        buffered: usize,
    },
    /// The agent must send the barrier behind this row, on a stream that is not published natively.
    Forward {
        barrier: CheckpointBarrier,
        row: u64,
    },
    /// The agent must send another message behind this row, as it does a barrier.
    Pass {
        what: Passing,
        row: u64,
    },
}

/// What goes between the frames of the output, apart from barriers.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    Signal(Signal),
    Watermark(u64),
}

counters! {
    /// What an engine counts of checkpoints, apart from what the checkpointer counts.
    pub struct CutCounters {
        /// Frames that waited behind a barrier, and were overwritten before they were copied or read.
        held_lost,
        /// Payload bytes copied for frames that waited.
        held_bytes,
        /// Copies that found no space.
        hold_full,
        /// Barriers and signals that were sent on.
        barriers_forwarded,
        /// Barriers and signals that could not be sent on, or that nobody heard.
        forward_failures,
        /// Barriers whose id or epoch is out of range.
        barriers_refused,
        /// Signals that every upstream has delivered.
        signals_aligned,
        /// Signals that waited for no other upstream.
        signals_instant,
        /// Signals that came twice, or while another one was being aligned.
        signals_refused,
        /// Watermarks sent on the output.
        watermarks_forwarded,
        /// The longest time that a part of a snapshot held up the loop.
        longest_snapshot_ns,
        /// The same by the CPU clock of the loop's thread.
        longest_snapshot_cpu_ns,
        /// Frames of a snapshot that were joined or given up before their turn to be copied, and so copied at once.
        snapshot_copied_early,
    }
}

pub struct Cut {
    /// The checkpointer. None while its steps are carried out, and if there are more streams than it can align.
    pub(super) checkpointer: Option<Box<UnalignedCheckpointer<Standing>>>,
    /// Whether a message may have to wait, to be captured, or to be a place to cut at. A frame asks nothing but this.
    pub(super) is_under_way: bool,
    /// Copies of frames that wait behind a barrier.
    pub(super) behind: Hold,
    /// Copies that a restored checkpoint gave back. Their memory is freed with the final one.
    pub(super) restored: Hold,
    pub(super) keeps_payload: bool,
    /// A bit for each stream that has ended; the checkpointer is told when the present step is done.
    pub(super) ended: u128,
    /// The most recent checkpoint and the time of its first barrier.
    pub(super) began: (u64, u64),
    pub(super) inflight: Vec<Inflight>,
    /// The snapshot whose frames are being copied.
    pub(super) taking: Option<Box<Taking>>,
    /// Memory for the records of snapshots and of what is in flight.
    pub(super) spare: SpareChunks,
    pub(super) owing: u128,
    /// The gates of streams that agents cut by themselves; they stand before the aligner.
    pub gates: Gates,
    /// Signals of the data channel. The agent handles those of the control channel.
    pub signals: InputSignals,
    /// The signal by which the join ends; the end of the output carries it.
    pub(super) end: Option<Signal>,
    /// Whether the join ends now, whatever its streams still bring.
    pub(super) is_terminated: bool,
    pub(super) is_computed: bool,
    pub(super) drained: usize,
    /// How many events waited when the checkpointer was last asked.
    pub(super) buffered: usize,
    pub(super) pipeline: String,
    pub news: VecDeque<News>,
    pub counters: CutCounters,
}

impl Cut {
    pub(crate) fn new(streams: usize, habits: &CheckpointHabits) -> io::Result<Self> {
        let limits = Limits {
            inputs: streams,
            events_per_input: habits.events_per_input,
            bytes: habits.buffer_bytes,
            timeout_ns: habits.timeout_ns,
            floor: habits.floor,
        };
        let options = Options {
            is_enabled: habits.is_enabled,
            is_forced: habits.is_forced,
            inflight_bytes: habits.inflight_bytes,
            inflight_events: habits.events_per_input.saturating_mul(streams).min(INFLIGHT_EVENTS_MAX),
            late_timeout_ns: habits.late_timeout_ns,
        };
        let can_align = (1..=INPUTS_MAX).contains(&streams);
        let share = (habits.buffer_bytes / streams.max(1) as u64) as usize;
        let most = (share / FRAME_BYTES_LEAST).max(FRAMES_LEAST);
        let bytes = if can_align && habits.keeps_payload { habits.buffer_bytes as usize } else { 0 };
        let ahead_bytes = if habits.is_prefaulted { bytes } else { 0 };
        let spare = SpareChunks::default();
        let mut cut = Self {
            checkpointer: can_align.then(|| Box::new(UnalignedCheckpointer::new(limits, options))),
            is_under_way: false,
            behind: Hold::new(streams, bytes, habits.events_per_input.min(most), ahead_bytes)?,
            restored: Hold::new(streams, 0, 0, 0)?,
            keeps_payload: habits.keeps_payload,
            ended: 0,
            began: (0, 0),
            inflight: (0..streams).map(|_| Inflight::new(&spare)).collect(),
            taking: None,
            spare,
            owing: 0,
            gates: Gates::new(streams, habits.events_per_input, habits.timeout_ns),
            signals: InputSignals::new(streams),
            end: None,
            is_terminated: false,
            is_computed: habits.is_computed,
            drained: 0,
            buffered: 0,
            pipeline: habits.pipeline.clone(),
            news: VecDeque::new(),
            counters: CutCounters::default(),
        };
        if let (true, Some(checkpointer)) = (habits.is_prefaulted, &mut cut.checkpointer) {
            checkpointer.prefault();
        }
        Ok(cut)
    }

    pub fn checkpointer(&self) -> Option<&UnalignedCheckpointer<Standing>> {
        self.checkpointer.as_deref()
    }

    pub fn checkpointer_mut(&mut self) -> Option<&mut UnalignedCheckpointer<Standing>> {
        self.checkpointer.as_deref_mut()
    }

    /// The newest checkpoint that is being aligned, or for which a gate is held or due.
    pub fn current(&self) -> Option<u64> {
        let aligned = self.checkpointer().and_then(UnalignedCheckpointer::current).map(|barrier| barrier.checkpoint_id);
        aligned.max(self.gates.current())
    }

    /// How many frames of a restored checkpoint may still be needed.
    pub const fn restored_waiting(&self) -> u64 {
        self.restored.len() as u64
    }

    #[inline]
    pub(super) fn owes(&self, index: usize) -> bool {
        self.checkpointer.as_ref().is_some_and(|checkpointer| checkpointer.owes(index))
    }

    #[inline]
    pub(super) fn is_blocked(&self, index: usize) -> bool {
        self.checkpointer.as_ref().is_some_and(|checkpointer| checkpointer.aligner().is_blocked(index))
    }

    /// Whether there is news to hand out. A snapshot waits until its rows are sealed and its frames copied, and later
    /// news waits behind it. What goes behind a row that Python publishes waits for that row.
    pub fn has_news(&self, sealed_rows: u64) -> bool {
        match self.news.front() {
            Some(News::Snapshot(snapshot)) if snapshot.records.is_none() => false,
            Some(_) => !self.awaits_seal(sealed_rows),
            None => false,
        }
    }

    /// Whether the next news waits for rows to be sealed.
    #[inline]
    pub(crate) fn awaits_seal(&self, sealed_rows: u64) -> bool {
        match self.news.front() {
            Some(News::Snapshot(snapshot)) => snapshot.next_row > sealed_rows,
            Some(News::Pass { row, .. }) => *row > sealed_rows,
            _ => false,
        }
    }

    /// Whether everything that belongs to the snapshots taken so far is sealed and copied.
    #[inline]
    pub(crate) fn is_stored(&self, sealed_rows: u64) -> bool {
        self.taking.is_none() && !self.awaits_seal(sealed_rows)
    }

    /// The time since the first barrier of the checkpoint came.
    pub(super) const fn lasted_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began.1)
    }
}
