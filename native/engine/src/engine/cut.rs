// SPDX-License-Identifier: Apache-2.0
//! What an engine keeps for checkpoints: who waits behind a barrier, what was copied for it, and what it has to tell.

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

/// What something holds that is no frame, and a frame whose payload is not copied.
pub(super) const EVENT_BYTES: u64 = size_of::<Standing>() as u64;

/// Events that one checkpoint can capture; their room is reserved at the start.
const INFLIGHT_EVENTS_MAX: usize = 1 << 20;
/// Room for what is said of copies is reserved for payloads of this size, so that many streams do not reserve it all.
const FRAME_BYTES_LEAST: usize = 256;
const FRAMES_LEAST: usize = 1024;

/// What stands at its place in a stream, and may have to wait there.
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

/// Where a frame's payload is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It has just been announced.
    InRing,
    /// It was announced a while ago, and not copied.
    Waited,
    /// In a hold.
    Held,
    /// Where frames wait in any case.
    Kept,
    /// It was overwritten before it could be copied.
    Gone,
}

/// A signal of the data channel.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Whether it waits for every upstream.
    pub is_barrier: bool,
    pub kind: u8,
    pub barrier_id: u64,
    pub(super) epoch: u64,
    pub(super) after: Option<u64>,
}

impl Signal {
    /// Whether its stream's epoch is over.
    pub(super) const fn is_end(&self) -> bool {
        self.is_barrier && self.kind == END_KIND
    }
}

/// How checkpoints are taken part in.
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
    /// Whose frames are published, natively or computed of rows; None: nothing is.
    pub published_input: Option<usize>,
    /// Rows are published by Python, once they are sealed.
    pub is_computed: bool,
    /// Copy what waits, or keep its descriptor alone.
    pub keeps_payload: bool,
    /// Take the memory for what waits from the system at the start.
    pub is_prefaulted: bool,
}

/// What an input that owes its barrier has delivered since the snapshot: the records of its file.
#[derive(Default)]
pub struct Inflight {
    /// Each with its length before it.
    pub records: Vec<u8>,
    pub events: u64,
    /// Frames that were overwritten before they could be copied.
    pub lost: Vec<(u64, u64)>,
}

/// What a snapshot holds, for whoever writes it down.
pub struct Snapshot {
    pub barrier: CheckpointBarrier,
    pub why: Option<Switch>,
    /// A bit for each stream whose barrier has not come.
    pub owing: u128,
    pub duration_ns: u64,
    /// Events that waited.
    pub buffered: usize,
    /// Every row below it belongs to the checkpoint; they are sealed when the snapshot is handed out.
    pub next_row: u64,
    pub map_version: u64,
    /// As a sealed batch has it.
    pub state: Vec<u8>,
    /// As `Stage::write_rest` gives it.
    pub rest: Vec<u8>,
    /// Frames that wait, each with its length before it, in the order in which they came.
    pub records: Vec<u8>,
    pub frames: u64,
    /// Frames that wait to be written down as not joined.
    pub lost: Vec<Lost>,
    /// Frames that waited and could not be read any more: stream, epoch and sequence.
    pub overwritten: Vec<(usize, u64, u64)>,
}

/// What the world around the engine has to know or to do.
pub enum News {
    Snapshot(Box<Snapshot>),
    /// Everything in flight has come.
    Complete {
        barrier: CheckpointBarrier,
        duration_ns: u64,
        inflight: Vec<(usize, Inflight)>,
    },
    Aborted {
        aborted: Aborted,
        /// Events that waited.
        buffered: usize,
    },
    /// The barrier is to go on behind this row, on a stream that is not published natively.
    Forward {
        barrier: CheckpointBarrier,
        row: u64,
    },
    /// The same with what else goes on behind this row.
    Pass {
        what: Passing,
        row: u64,
    },
}

/// What goes on between the frames of the output, beside barriers.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    Signal(Signal),
    Watermark(u64),
}

counters! {
    /// Beside what the checkpointer counts.
    pub struct CutCounters {
        /// Frames that waited for their turn and were overwritten meanwhile, or before they could be copied.
        held_lost,
        /// Payload bytes copied for frames that waited.
        held_bytes,
        /// Copies that found no room.
        hold_full,
        /// Barriers that were sent on.
        barriers_forwarded,
        /// Barriers and signals that could not be sent on, or that nobody heard.
        forward_failures,
        /// Barriers whose id or epoch is out of range.
        barriers_refused,
        /// Signals that every upstream has delivered.
        signals_aligned,
        /// Instant signals.
        signals_instant,
        /// Signals that came twice, or while another was waited for.
        signals_refused,
        /// Watermarks of the output.
        watermarks_forwarded,
        /// How long the longest snapshot kept the loop.
        longest_snapshot_ns,
    }
}

pub struct Cut {
    /// None while what it said is carried out, and with more streams than it can align.
    pub(super) checkpointer: Option<Box<UnalignedCheckpointer<Standing>>>,
    /// Whether a message may have to wait, or to be captured, or is a place to cut at. Nothing else is asked for a frame.
    pub(super) is_under_way: bool,
    /// Copies of what came behind a barrier.
    pub(super) behind: Hold,
    /// The copies that a checkpoint gave back. Their memory goes with the last of them.
    pub(super) restored: Hold,
    pub(super) keeps_payload: bool,
    /// A bit for each stream that has ended, to be told when the present step is done.
    pub(super) ended: u128,
    /// The checkpoint that is under way or was last, and when its first barrier came.
    pub(super) began: (u64, u64),
    pub(super) inflight: Vec<Inflight>,
    pub(super) owing: u128,
    /// Of the streams that are cut by agents; they stand before the aligner.
    pub gates: Gates,
    /// Those of the data channel; the control channel's are the agent's.
    pub signals: InputSignals,
    /// A signal by which the join ends; it goes on as the end of the output.
    pub(super) end: Option<Signal>,
    /// The join ends now, whatever its streams still bring.
    pub(super) is_terminated: bool,
    pub(super) is_computed: bool,
    pub(super) drained: usize,
    /// Events that waited when the checkpointer was asked last.
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
        let mut cut = Self {
            checkpointer: can_align.then(|| Box::new(UnalignedCheckpointer::new(limits, options))),
            is_under_way: false,
            behind: Hold::new(streams, bytes, habits.events_per_input.min(most), ahead_bytes)?,
            restored: Hold::new(streams, 0, 0, 0)?,
            keeps_payload: habits.keeps_payload,
            ended: 0,
            began: (0, 0),
            inflight: (0..streams).map(|_| Inflight::default()).collect(),
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

    /// The newest checkpoint that somebody aligns, or that a stream is held or due for.
    pub fn current(&self) -> Option<u64> {
        let aligned = self.checkpointer().and_then(UnalignedCheckpointer::current).map(|barrier| barrier.checkpoint_id);
        aligned.max(self.gates.current())
    }

    /// Frames of a checkpoint that was restored and may still be asked for.
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

    /// Whether there is something to tell. A snapshot waits until its rows are sealed, and what follows it with it; what
    /// stands behind a row that Python publishes waits for that row.
    pub fn has_news(&self, sealed_rows: u64) -> bool {
        match self.news.front() {
            Some(News::Snapshot(snapshot)) => snapshot.next_row <= sealed_rows,
            Some(News::Pass { row, .. }) => *row <= sealed_rows,
            Some(_) => true,
            None => false,
        }
    }

    /// Whether rows must be sealed before something can be told.
    #[inline]
    pub(crate) fn awaits_seal(&self, sealed_rows: u64) -> bool {
        !self.news.is_empty() && !self.has_news(sealed_rows)
    }

    /// How long it is since the first barrier of the checkpoint.
    pub(super) const fn lasted_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began.1)
    }
}

/// Appends a record with its length before it, which `fill` writes and may refuse.
pub(super) fn append(into: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    let start = into.len();
    into.extend_from_slice(&[0; 4]);
    let is_whole = fill(into);
    match u32::try_from(into.len() - start - 4) {
        Ok(length) if is_whole => {
            into[start..start + 4].copy_from_slice(&length.to_le_bytes());
            true
        }
        _ => {
            into.truncate(start);
            false
        }
    }
}
