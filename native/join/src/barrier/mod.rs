// SPDX-License-Identifier: Apache-2.0
//! The gate before one output stream (PROTOCOL 11.3 to 11.7). It is fed observations, and says which outputs may be
//! attempted.
//!
//! A barrier decides only from its observations. It reads no clock, waits for nothing, and allocates only in `apply`.
//! `spec/join` is the twin in plain Python.

mod demand;
mod inputs;
mod kind;
mod seen;

pub use demand::{Demand, Verdict, demands, start};
pub use kind::Kind;
pub use seen::{Cursor, Observation, Processed, Regression, Seen};

use inputs::Inputs;

use crate::input_set::InputSet;
use crate::map::{Announced, ClockDomain, MergeMap, Refusal};

/// The value of a timestamp field that means null.
pub const NULL_TIMESTAMP: u64 = u64::MAX;

/// Why an output is not ready. If several reasons hold, `ready` gives the first of this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// No valid map is applied for this output and epoch.
    NoMap,
    /// A time of another clock domain was observed.
    Domain,
    /// A later output time was already emitted.
    OutOfOrder,
    /// A rule asks for something before 0; waiting does not help.
    BeforeStart,
    /// An input's timestamps decreased.
    Rejected,
    /// An input showed no frame yet, or no frame with a timestamp.
    NotObserved,
    /// The selected frame could not be read, and no newer one has come.
    Invalid,
    /// An input was not observed, or not processed, as far as its rule asks.
    Behind,
}

/// The complete answer for one output. If it is ready, it goes without its `absent` inputs, which are stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    reason: Option<Reason>,
    waiting: InputSet,
    absent: InputSet,
}

impl Ready {
    /// Whether one attempt is permitted.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.reason.is_none()
    }

    /// Why the output is not ready; None if it is.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The inputs to wait for.
    #[must_use]
    pub fn waiting(&self) -> &InputSet {
        &self.waiting
    }

    /// The stale inputs.
    #[must_use]
    pub fn absent(&self) -> &InputSet {
        &self.absent
    }

    fn blocked(reason: Reason) -> Self {
        Self { reason: Some(reason), waiting: InputSet::EMPTY, absent: InputSet::EMPTY }
    }
}

/// What blocked an attempt: the first thing found, not the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The reason.
    pub reason: Reason,
    /// The input to wait for, if the reason concerns one.
    pub input: Option<u16>,
}

/// An output was emitted with an earlier time than the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputTimeDecreased {
    /// The time of the previous output.
    pub last_ns: u64,
}

/// The gate before one output stream.
pub struct Barrier {
    kind: Kind,
    out_stream: u32,
    epoch: u64,
    map: Option<MergeMap>,
    is_valid: bool,
    is_foreign_domain: bool,
    stale_timeout_ns: Option<u64>,
    demands: Vec<Demand>,
    inputs: Inputs,
    needs_processed: Vec<u32>,
    last_emitted_ns: u64,
    /// The demand that blocked the previous attempt. While it blocks, no other is looked at. Any index is correct, but
    /// some are quicker.
    blocker: usize,
    unknown_streams: u64,
    older_epochs: u64,
}

impl Barrier {
    /// Makes a barrier, which blocks until a map is applied.
    #[must_use]
    pub fn new(kind: Kind, out_stream: u32, epoch: u64, needs_processed: &[u32]) -> Self {
        Self {
            kind,
            out_stream,
            epoch,
            map: None,
            is_valid: false,
            is_foreign_domain: false,
            stale_timeout_ns: None,
            demands: Vec::new(),
            inputs: Inputs::default(),
            needs_processed: needs_processed.to_vec(),
            last_emitted_ns: 0,
            blocker: 0,
            unknown_streams: 0,
            older_epochs: 0,
        }
    }

    /// Applies a map. False if it is for another output or epoch, or of the other kind.
    ///
    /// An identical map changes nothing. A changed one keeps what is known of the inputs that stay.
    ///
    /// What is wrong with the map; then the barrier blocks.
    pub fn apply(&mut self, announced: &Announced<'_>) -> Result<bool, Refusal> {
        if (announced.out_stream, announced.epoch) != (self.out_stream, self.epoch)
            || !self.kind.takes(announced.times.is_some())
        {
            return Ok(false);
        }
        let outcome = self.take(announced);
        if outcome.is_err() {
            self.invalidate();
        }
        outcome.map(|()| true)
    }

    fn take(&mut self, announced: &Announced<'_>) -> Result<(), Refusal> {
        let fresh = MergeMap::checked(announced)?;
        if self.is_valid && self.map.as_ref() == Some(&fresh) {
            return Ok(());
        }
        self.kind.check(&fresh)?;
        let (kind, old) = (self.kind, self.map.as_ref());
        self.inputs.replace(&fresh, |stream| old.is_some_and(|old| kind.keeps(stream, old, &fresh)));
        self.demands = demands(&fresh, kind, &self.needs_processed, |stream| self.inputs.index_of(stream));
        self.stale_timeout_ns = fresh.stale_timeout_ns;
        self.map = Some(fresh);
        (self.is_valid, self.is_foreign_domain, self.blocker) = (true, false, 0);
        Ok(())
    }

    /// Blocks until a map is applied, because the authority announced another one, or an invalid one.
    pub fn invalidate(&mut self) {
        self.is_valid = false;
    }

    /// Blocks until a map of this higher output epoch is applied. False for an epoch that is not higher.
    pub fn new_epoch(&mut self, epoch: u64) -> bool {
        if epoch <= self.epoch {
            return false;
        }
        self.epoch = epoch;
        self.last_emitted_ns = 0;
        self.invalidate();
        true
    }

    /// The index of a stream's input, valid until a changed map is applied. None, and counted, if the stream is no
    /// input.
    #[inline]
    pub fn index_of(&mut self, stream: u32) -> Option<usize> {
        let found = self.inputs.index_of(stream);
        self.unknown_streams += u64::from(found.is_none());
        found
    }

    /// The streams of the inputs, by index.
    #[must_use]
    pub fn streams(&self) -> &[u32] {
        self.inputs.streams()
    }

    /// Whether a valid map is applied.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// The output's epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many observations were ignored: those of streams that are no inputs, and those of an input's earlier epochs.
    #[must_use]
    pub fn ignored(&self) -> (u64, u64) {
        (self.unknown_streams, self.older_epochs)
    }

    /// Whether times of this clock domain may be observed. Times of another domain reject the join until a new map is
    /// applied.
    pub fn admit_domain(&mut self, domain: ClockDomain) -> bool {
        let is_foreign = self.is_foreign(domain);
        self.is_foreign_domain |= is_foreign;
        !is_foreign
    }

    /// Whether the barrier reads times, and its map declares another clock domain than this.
    #[must_use]
    pub fn is_foreign(&self, domain: ClockDomain) -> bool {
        self.kind.reads_times() && self.declared_domain().is_some_and(|own| own != domain)
    }

    /// The clock domain that the applied map declares.
    #[must_use]
    pub fn declared_domain(&self) -> Option<ClockDomain> {
        self.map.as_ref().and_then(|map| map.times).map(|times| times.clock_domain)
    }

    /// Observes a frame by its descriptor. False if it belongs to an earlier epoch of its input.
    #[inline]
    pub fn observe(&mut self, index: usize, frame: &Observation, now_ns: u64) -> bool {
        let Some(seen) = self.inputs.get_mut(index) else { return false };
        if !seen.enter(frame.epoch) {
            self.older_epochs += 1;
            return false;
        }
        // Barriers by newest frame have one demand for each input.
        let place = if self.kind == Kind::LatestByTime { self.demands[index].place() } else { 0 };
        self.kind.see(seen, frame, place, now_ns);
        true
    }

    /// Notes a higher epoch of an input, of which no frame has come yet.
    pub fn input_epoch(&mut self, index: usize, epoch: u64) -> bool {
        let seen = self.inputs.get_mut(index);
        seen.is_some_and(|seen| seen.epoch.is_none_or(|own| epoch > own) && seen.enter(Some(epoch)))
    }

    /// Notes what consumers processed. False if it is not of the input's current epoch.
    #[inline]
    pub fn processed(&mut self, index: usize, processed: &Processed) -> bool {
        self.inputs.get_mut(index).is_some_and(|seen| seen.consumed(processed))
    }

    /// The sequence of an input's newest frame, under a latest policy; None while none can be read.
    #[inline]
    #[must_use]
    pub fn selected(&self, index: usize) -> Option<u64> {
        self.inputs.get(index)?.selected()
    }

    /// Notes that the newest frame could not be read, so that the input is absent until a newer one comes. False if
    /// another frame is the newest.
    #[inline]
    pub fn invalid(&mut self, index: usize, seq: u64) -> bool {
        self.inputs.get_mut(index).is_some_and(|seen| seen.invalid(seq))
    }

    /// Notes that an output was made. By timestamp, no earlier output is ready afterwards.
    ///
    /// # Errors
    /// The output is itself earlier than the previous one.
    pub fn emitted(&mut self, out: u64) -> Result<(), OutputTimeDecreased> {
        if self.kind != Kind::Timestamp {
            return Ok(());
        }
        let last_ns = self.last_emitted_ns;
        if out < last_ns {
            return Err(OutputTimeDecreased { last_ns });
        }
        self.last_emitted_ns = out;
        Ok(())
    }

    /// Whether one attempt at this output is permitted, and which inputs it goes without; or what blocks it.
    ///
    /// Starts at the demand that blocked the previous attempt. The outcome is that of `ready`, but only the first
    /// obstacle found is named.
    ///
    /// # Errors
    /// What blocks the output.
    #[inline]
    pub fn attempt(&mut self, out: u64, now_ns: u64) -> Result<InputSet, Blocked> {
        if let Some(reason) = self.closed(out) {
            return Err(Blocked { reason, input: None });
        }
        let count = self.demands.len();
        let mut absent = InputSet::EMPTY;
        let mut index = self.blocker;
        for _ in 0..count {
            let demand = &self.demands[index];
            match self.verdict(demand, out, now_ns) {
                Verdict::Met => {}
                Verdict::Stale => absent.insert(usize::from(demand.input)),
                // This is the usual outcome, mostly at the first look.
                Verdict::Waiting(reason) => {
                    self.blocker = index;
                    return Err(Blocked { reason, input: Some(demand.input) });
                }
            }
            index = if index + 1 == count { 0 } else { index + 1 };
        }
        Ok(absent)
    }

    /// The complete answer for an output. Changes nothing.
    #[must_use]
    pub fn ready(&self, out: u64, now_ns: u64) -> Ready {
        if let Some(reason) = self.closed(out) {
            return Ready::blocked(reason);
        }
        let (mut waiting, mut absent) = (InputSet::EMPTY, InputSet::EMPTY);
        let mut first = None;
        for demand in &self.demands {
            match self.verdict(demand, out, now_ns) {
                Verdict::Met => {}
                Verdict::Stale => absent.insert(usize::from(demand.input)),
                Verdict::Waiting(reason) => {
                    waiting.insert(usize::from(demand.input));
                    first = Some(first.map_or(reason, |known: Reason| known.min(reason)));
                }
            }
        }
        Ready { reason: first, waiting, absent: absent.without(&waiting) }
    }

    #[inline]
    fn closed(&self, out: u64) -> Option<Reason> {
        if !self.is_valid {
            return Some(Reason::NoMap);
        }
        if self.is_foreign_domain {
            return Some(Reason::Domain);
        }
        (out < self.last_emitted_ns).then_some(Reason::OutOfOrder)
    }

    #[inline]
    fn verdict(&self, demand: &Demand, out: u64, now_ns: u64) -> Verdict {
        demand.verdict(self.inputs.at(demand.input), out, now_ns, self.stale_timeout_ns)
    }
}
