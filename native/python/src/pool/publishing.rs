// SPDX-License-Identifier: Apache-2.0
//! Publishing without Python: how a frame gets into its slot and onto the descriptor streams.
//!
//! One lock guards the writer and its publications, so that frames, barriers and ends have the same order on every
//! stream. A thread that holds it never takes the GIL: a thread that waits for the lock may hold the GIL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use framegate_checkpoint::between::{Between, Place};
use framegate_core::bell::StreamBells;
use framegate_core::biased::BiasedLock;
use framegate_core::clock::monotonic_ns;
use framegate_core::idle::{IdleStrategy, Idler};
use framegate_core::pool::layout::NULL_META_VERSION;
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::Tensor;
use framegate_core::pool::writer::{Claim, DESCRIPTOR_MESSAGE_BYTES, WriteFault, Writer};

use super::branch::Branch;
use super::pace::Pace;
use super::stamps::FrameStamps;
use crate::aeron::PublicationShared;

/// How long a message that must stand at its place waits for a full stream.
const SEND_HERE_PATIENCE: Duration = Duration::from_millis(100);

/// What the lock guards.
pub(super) struct Guarded {
    pub(super) writer: Option<Writer>,
    /// The bells of the stream's sleeping readers; None if there can be none.
    bells: Option<Arc<StreamBells>>,
    /// The last frame of the epoch that was announced. It need not be the one before the writer's next sequence,
    /// because sequences may be left out.
    pub(super) last_seq: Option<u64>,
    /// The position of the source after that frame, in the source's own measure. It outlives epochs, as the source
    /// does.
    pub(super) position: u64,
    pub(super) between: Between,
    pub(super) pace: Pace,
    pub(super) branches: Vec<Branch>,
    pub(super) meta_version: u32,
    pub(super) counters: Counters,
}

/// The counters of a producer. The lock guards them, because one atomic addition costs as much as claiming a slot.
#[derive(Clone, Default)]
pub(super) struct Counters {
    pub(super) frames: u64,
    pub(super) bytes: u64,
    pub(super) descriptors_unheard: u64,
    pub(super) descriptors_lost: u64,
    pub(super) branch_descriptors_lost: u64,
    pub(super) abandoned: u64,
}

/// What a producer and its open claim share.
pub(crate) struct Shared {
    pub(super) guarded: BiasedLock<Guarded>,
    pub(super) publication: Arc<PublicationShared>,
    stream_id: u32,
}

/// Why a frame was not published.
pub(crate) enum PublishFault {
    NotAttached,
    /// The source could not be copied; Python's error indicator says why.
    NotCopied,
    Write(WriteFault),
}

impl From<WriteFault> for PublishFault {
    fn from(fault: WriteFault) -> Self {
        Self::Write(fault)
    }
}

/// A published frame, and the answer to the offer of its descriptor on the shared stream.
pub(crate) struct Published {
    pub(crate) seq: u64,
    pub(crate) answer: i64,
}

impl Guarded {
    /// The state of a producer that holds no lease yet.
    pub(super) fn new(pace: Pace) -> Self {
        Self {
            writer: None,
            bells: None,
            last_seq: None,
            position: 0,
            between: Between::default(),
            pace,
            branches: Vec::new(),
            meta_version: NULL_META_VERSION,
            counters: Counters::default(),
        }
    }

    /// Sends what is due. If nothing is due, this costs one load.
    #[inline]
    fn before_frame(&mut self, shared: &PublicationShared) {
        // Without a writer a command stays in its word.
        if self.writer.is_some() && self.between.is_due(monotonic_ns) {
            self.send_between(shared);
        }
    }

    /// Sends what waits between the frames, if it can. Returns false if something still waits.
    #[cold]
    pub(super) fn send_between(&mut self, shared: &PublicationShared) -> bool {
        let Some(writer) = &self.writer else {
            return false;
        };
        // A stream without frames must be kept moving too: barriers and signals use it.
        self.pace.keep();
        let regions = writer.regions();
        let place = Place {
            stream_id: regions.stream_id,
            source_epoch: regions.epoch,
            after_seq: self.last_seq,
            position: self.position,
        };
        let own = self.branches.iter().map(|branch| &*branch.publication);
        let ways: Vec<&PublicationShared> = std::iter::once(shared).chain(own).collect();
        let is_sent = self.between.send(&ways, place, monotonic_ns());
        if let Some(bells) = &self.bells {
            bells.ring();
        }
        is_sent
    }

    /// Changes to the writer of another epoch, or to none. Its readers may sleep, so the bells are rung for them.
    pub(super) fn change_writer(&mut self, writer: Option<Writer>) {
        if let Some((writer, bells)) = self.writer.as_ref().zip(self.bells.as_ref()) {
            bells.take_back(writer.regions().epoch);
        }
        self.bells = writer.as_ref().and_then(|writer| writer.regions().bells());
        if let Some((writer, bells)) = writer.as_ref().zip(self.bells.as_ref()) {
            bells.promise(writer.regions().epoch);
        }
        self.writer = writer;
        self.last_seq = None;
        self.between.leave_epoch();
    }
}

impl Shared {
    pub(super) fn new(guarded: Guarded, publication: Arc<PublicationShared>, stream_id: u32) -> Self {
        Self { guarded: BiasedLock::new(guarded), publication, stream_id }
    }

    /// Offers a frame's descriptor on the shared stream and every branch, wakes its readers, and counts the frame.
    #[inline]
    fn announce(
        &self,
        branches: &mut [Branch],
        bells: Option<&StreamBells>,
        counters: &mut Counters,
        message: &[u8; DESCRIPTOR_MESSAGE_BYTES],
        values_bytes: u32,
    ) -> i64 {
        counters.frames += 1;
        counters.bytes += u64::from(values_bytes);
        let answer = self.publication.offer_within_bound(message);
        match answer {
            0.. => {}
            // Nobody listens, but the frame is in the ring.
            -1 => counters.descriptors_unheard += 1,
            _ => counters.descriptors_lost += 1,
        }
        for branch in branches {
            if branch.is_due() && branch.publication.offer_within_bound(message) < -1 {
                counters.branch_descriptors_lost += 1;
            }
        }
        if let Some(bells) = bells {
            bells.ring();
        }
        answer
    }

    /// Publishes one frame. `fill` copies it in, and returns whether it could. Takes the lock.
    pub(super) fn publish(
        &self,
        tensor: &Tensor,
        values_bytes: u32,
        stamps: FrameStamps,
        fill: impl FnOnce(&Claim) -> bool,
    ) -> Result<Published, PublishFault> {
        let mut guard = self.guarded.lock();
        guard.before_frame(&self.publication);
        let Guarded { writer, bells, last_seq, position, pace, branches, meta_version, counters, .. } = &mut *guard;
        let writer = writer.as_mut().ok_or(PublishFault::NotAttached)?;
        pace.keep();
        let claim = writer.begin(tensor, values_bytes, stamps.seq)?;
        if !fill(&claim) {
            writer.abandon(claim);
            return Err(PublishFault::NotCopied);
        }
        let message = writer.commit(&claim, stamps.of_frame(*meta_version))?;
        *last_seq = Some(claim.seq);
        *position = stamps.position.unwrap_or(*position);
        Ok(Published {
            seq: claim.seq,
            answer: self.announce(branches, bells.as_deref(), counters, message, values_bytes),
        })
    }

    /// Begins a frame that the caller fills in place.
    pub(crate) fn claim(
        &self,
        tensor: &Tensor,
        values_bytes: u32,
        seq: Option<u64>,
    ) -> Result<(Claim, Arc<Regions>), PublishFault> {
        let mut guard = self.guarded.lock();
        let writer = guard.writer.as_mut().ok_or(PublishFault::NotAttached)?;
        let claim = writer.begin(tensor, values_bytes, seq)?;
        Ok((claim, Arc::clone(writer.regions())))
    }

    pub(crate) const fn stream_id(&self) -> u32 {
        self.stream_id
    }

    /// The epoch of the regions that are being written.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.guarded.lock().writer.as_ref().map(|writer| writer.regions().epoch)
    }

    /// Puts a message between the published frames and the next one, and waits a moment for space. Returns false if it
    /// cannot be sent at this place; then it is not sent at all.
    pub(crate) fn send_here(&self, hold: impl FnOnce(&mut Between) -> bool) -> bool {
        let mut guard = self.guarded.lock();
        if guard.writer.is_none() || !hold(&mut guard.between) {
            return false;
        }
        let lost = guard.between.counters().lost;
        let given_up_at = Instant::now() + SEND_HERE_PATIENCE;
        let mut idler = Idler::new(IdleStrategy::Backoff);
        while !guard.send_between(&self.publication) {
            if Instant::now() >= given_up_at {
                guard.between.give_up_waiting();
                return false;
            }
            idler.idle();
        }
        guard.between.counters().lost == lost
    }

    /// Ends a claimed frame. Returns None if it was abandoned, or if the regions were lost meanwhile.
    pub(crate) fn finish(
        &self,
        claim: &Claim,
        regions: &Arc<Regions>,
        stamps: Option<FrameStamps>,
    ) -> Option<Published> {
        let mut guard = self.guarded.lock();
        guard.before_frame(&self.publication);
        let Guarded { writer, bells, last_seq, pace, branches, meta_version, counters, .. } = &mut *guard;
        pace.keep();
        let writer = writer.as_mut().filter(|writer| Arc::ptr_eq(writer.regions(), regions))?;
        let Some(stamps) = stamps else {
            writer.abandon(*claim);
            counters.abandoned += 1;
            return None;
        };
        let message = writer.commit(claim, stamps.of_frame(*meta_version)).ok()?;
        *last_seq = Some(claim.seq);
        Some(Published {
            seq: claim.seq,
            answer: self.announce(branches, bells.as_deref(), counters, message, claim.values_bytes),
        })
    }
}
