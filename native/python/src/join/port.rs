// SPDX-License-Identifier: Apache-2.0
//! One input stream of a join, as the engine reads it: its regions, and the order of its descriptors.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use framegate_core::pool::arrivals::{Arrivals, Order};
use framegate_core::pool::edge::Edge;
use framegate_core::pool::reader::{FrameRef, Reader};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::Tensor;

use super::mailbox::PORT_COUNTERS;

/// What is counted for each stream, beside what the stage decides.
#[derive(Clone, Copy, Default)]
pub(crate) struct PortCounters {
    /// Descriptors that were taken.
    pub(crate) frames: u64,
    /// Sequences that the producer left out, or could not announce: nobody can have them.
    pub(crate) gap_drops: u64,
    /// Frames that were overwritten before they were read.
    pub(crate) late_drops: u64,
    /// Sequences that passed while this agent was not listening.
    pub(crate) missed: u64,
    /// Descriptors whose sequence had already passed.
    pub(crate) regressions: u64,
    /// Descriptors that came while no regions were mapped.
    pub(crate) unmapped: u64,
    /// Descriptors of an epoch that is not mapped.
    pub(crate) other_epoch: u64,
}

impl PortCounters {
    pub(crate) const fn as_array(&self) -> [u64; PORT_COUNTERS.len()] {
        [self.frames, self.gap_drops, self.late_drops, self.missed, self.regressions, self.unmapped, self.other_epoch]
    }
}

/// A stream.
pub(super) struct Port {
    reader: Option<Reader>,
    /// The next epoch's, taken when its first descriptor comes or the log was read to its end.
    next: Option<Reader>,
    arrivals: Arrivals,
    /// An epoch of the regions, and the one that the join knows it as: its source may go on where an earlier one was.
    life: Option<(u64, u64)>,
    /// The epoch of the regions whose end was heard by this agent.
    pub(super) ended: Option<u64>,
    /// How many images its subscriptions had lost when its last descriptor came.
    pub(super) images_lost: u64,
    /// Whether there was a time without regions or subscriptions since its last descriptor: the lease was lost, or the
    /// media driver. What was announced then passed unheard.
    pub(super) was_away: bool,
    /// What is let go after a lap.
    pub(super) edge: Edge,
    pub(super) counters: PortCounters,
    pub(super) has_news: bool,
    /// Whether other regions are read than when this was looked at last.
    pub(super) has_switched: bool,
    /// The newest epoch that was announced without a producer, as long as nothing comes of it.
    vacant: Option<u64>,
}

impl Port {
    /// `resumed`: epoch and sequence of the last frame that an earlier life of this agent decided.
    pub(super) fn new(resumed: Option<(u64, u64)>) -> Self {
        Self {
            reader: None,
            next: None,
            arrivals: Arrivals::new(resumed),
            life: None,
            ended: None,
            images_lost: 0,
            was_away: false,
            edge: Edge::default(),
            counters: PortCounters::default(),
            has_news: true,
            has_switched: false,
            vacant: None,
        }
    }

    pub(super) fn epoch(&self) -> Option<u64> {
        self.reader.as_ref().map(|reader| reader.regions().epoch)
    }

    /// How deep the ring is that is read; 0: none is.
    pub(super) fn nslots(&self) -> u32 {
        self.reader.as_ref().map_or(0, |reader| reader.regions().nslots())
    }

    /// The same, where it has a producer.
    pub(super) fn written_epoch(&self) -> Option<u64> {
        self.epoch().filter(|epoch| self.vacant != Some(*epoch))
    }

    /// An epoch was announced without a producer; said once of each, in their order.
    pub(super) fn note_vacant(&mut self, epoch: u64) {
        self.vacant = Some(epoch);
    }

    pub(super) fn last_seq(&self) -> Option<u64> {
        let epoch = self.epoch()?;
        self.arrivals.last_seq(self.known_life(epoch).unwrap_or(epoch))
    }

    /// The epoch that the join knows this one of the regions as, if that was found out.
    #[inline]
    pub(super) fn known_life(&self, epoch: u64) -> Option<u64> {
        self.life.filter(|life| life.0 == epoch).map(|life| life.1)
    }

    /// The same before anything of it has come: its source may still be about to say it.
    pub(super) fn likely_life_of(&self, epoch: u64) -> u64 {
        self.known_life(epoch).unwrap_or_else(|| self.find_life(epoch))
    }

    /// Whether an end of that epoch means nothing any more: the present one is later, and either goes on where the one
    /// before it was, or nothing is known of that epoch.
    pub(super) fn is_past(&self, epoch: u64) -> bool {
        let Some(present) = self.epoch().filter(|present| epoch < *present) else { return false };
        self.arrivals.epoch() != Some(epoch) || self.likely_life_of(present) != present
    }

    /// Finds it out, now that something of it has come, so that a mark which its source made before is there.
    #[cold]
    pub(super) fn learn_life(&mut self, epoch: u64) -> u64 {
        let life = self.find_life(epoch);
        if self.epoch() == Some(epoch) {
            self.life = Some((epoch, life));
        }
        life
    }

    fn find_life(&self, epoch: u64) -> u64 {
        let reader = self.reader.as_ref().filter(|reader| reader.regions().epoch == epoch);
        let folder = reader.and_then(|reader| reader.regions().folder());
        let known = self.arrivals.epoch().filter(|known| *known < epoch);
        known.filter(|_| folder.is_some_and(|folder| is_marked_continued(folder, epoch))).unwrap_or(epoch)
    }

    /// The epoch is over after that sequence: what lies between the last one that was taken and it, and will not come.
    pub(super) fn unheard_until(&mut self, epoch: u64, after: u64) -> Option<(u64, u64)> {
        let unheard = self.arrivals.unheard_until(epoch, after);
        self.counters.missed += unheard.map_or(0, |(first, last)| last - first + 1);
        unheard
    }

    pub(super) fn attach(&mut self, regions: Arc<Regions>) {
        self.next = Some(Reader::new(regions));
        // Of an epoch that nobody writes into nothing is waited for; and whoever writes into the next one goes by our being there.
        if self.written_epoch().is_none() {
            self.switch();
        }
        self.has_news = true;
    }

    pub(super) fn detach(&mut self) {
        (self.reader, self.next) = (None, None);
        self.was_away = true;
        self.has_news = true;
    }

    /// Goes over to the next epoch's regions, if there are some.
    #[inline]
    pub(super) fn switch(&mut self) {
        if let Some(next) = self.next.take() {
            self.reader = Some(next);
            self.edge.forget();
            self.has_news = true;
            self.has_switched = true;
        }
    }

    /// Whether frames of that epoch can be read, now that one of them was announced.
    #[inline]
    pub(super) fn is_reading(&mut self, epoch: u64) -> bool {
        if self.next.as_ref().is_some_and(|next| next.regions().epoch == epoch) {
            self.switch();
        }
        match self.epoch() {
            Some(present) if present == epoch => {
                if self.vacant == Some(epoch) {
                    self.occupy();
                }
                true
            }
            Some(_) => {
                self.counters.other_epoch += 1;
                false
            }
            None => {
                self.counters.unmapped += 1;
                false
            }
        }
    }

    /// Something came of the epoch all the same: a driver need not say who its producer is.
    #[cold]
    fn occupy(&mut self) {
        (self.vacant, self.has_switched) = (None, true);
    }

    /// Takes a descriptor of the epoch that is read.
    /// `is_anew`: the log was left and joined again before this descriptor, perhaps at a place that had been read.
    #[inline]
    pub(super) fn take(&mut self, epoch: u64, seq: u64, is_anew: bool) -> Order {
        self.has_news = true;
        let order = self.arrivals.take(epoch, seq, is_anew);
        match order {
            Order::Regressed => self.counters.regressions += 1,
            Order::Repeated => {}
            Order::Next | Order::Gap(_) => self.counters.frames += 1,
        }
        order
    }

    /// Whether the last descriptor was the first that was heard since this agent began.
    pub(super) fn is_first(&self) -> bool {
        self.counters.frames == 1
    }

    /// Whether this agent has heard no frame of it since it began.
    pub(super) fn has_heard_nothing(&self) -> bool {
        self.counters.frames == 0
    }

    /// Whether an earlier life of this agent went on to a later epoch, of which nothing has come in this one yet.
    pub(super) fn is_before_resumed(&self, epoch: u64) -> bool {
        self.has_heard_nothing() && self.arrivals.epoch().is_some_and(|resumed| epoch < resumed)
    }

    /// What an earlier life heard, known only after this port was made. Nothing has been heard since.
    pub(super) fn resume(&mut self, heard: Option<(u64, u64)>) {
        self.arrivals = Arrivals::new(heard);
    }

    /// What the frame that was read last is.
    #[inline]
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        self.reader.as_ref().map(|reader| &reader.tensor().tensor)
    }

    /// One attempt at a frame.
    #[inline]
    pub(super) fn read(&mut self, epoch: u64, seq: u64) -> Option<FrameRef> {
        let own = self.epoch()?;
        if self.known_life(own).unwrap_or(own) != epoch {
            return None;
        }
        let reader = self.reader.as_mut()?;
        if self.edge.lets_go(seq) {
            self.counters.late_drops += 1;
            return None;
        }
        match reader.read(seq) {
            Ok(frame) => Some(frame),
            Err(cause) => {
                self.counters.late_drops += u64::from(cause.is_late());
                None
            }
        }
    }

    /// A frame was overwritten while it was copied.
    #[cold]
    pub(super) fn on_torn(&mut self, seq: u64) {
        self.counters.late_drops += 1;
        if let Some(reader) = &self.reader {
            self.edge.on_torn(seq, reader.regions().nslots());
        }
    }
}

/// Longer than any mark.
const MARK_BYTES: u64 = 64;

/// Whether the source of an epoch says that its sequences go on where those of the one before were. The twin that writes
/// it is `shmpool/continued.py`.
fn is_marked_continued(folder: &Path, epoch: u64) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    let Ok(file) = options.open(folder.join("continued.json")) else { return false };
    let mut text = String::new();
    // A mark that is anything else, or another epoch's, means nothing.
    file.take(MARK_BYTES).read_to_string(&mut text).is_ok() && text == format!("{{\"epoch\": {epoch}}}")
}
