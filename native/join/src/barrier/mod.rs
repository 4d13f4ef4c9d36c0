// SPDX-License-Identifier: Apache-2.0
//! The gate before one output stream (PROTOCOL 11.3 to 11.7): told what was observed, asked what may be attempted.
//!
//! A barrier decides from what it was told; it asks no clock, waits for nothing and allocates only in `apply`.
//! The twin in plain Python is `joinbarrier/reference`.

mod demand;
mod inputs;
mod latest;
mod sequence;
mod timestamp;

pub use demand::Demand;
pub use inputs::{Entry, Observation, Processed};
pub use latest::{Latest, LatestBarrier};
pub use sequence::{Sequence, SequenceBarrier};
pub use timestamp::{OutputTimeDecreased, Timestamp, TimestampBarrier};

use crate::input_set::{INPUTS_MAX, InputSet};
use crate::map::{Announced, Cause, ClockDomain, MergeMap, Refusal};
use inputs::Inputs;

/// The value of a timestamp field that says there is none.
pub const NULL_TIMESTAMP: u64 = u64::MAX;

/// Why an output is not ready. Where several hold, a complete answer gives the first of this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// No valid map for this output and epoch is applied.
    NoMap,
    /// A time of another clock domain was observed.
    Domain,
    /// A later output time was emitted before.
    OutOfOrder,
    /// A rule asks for what lies before 0; no waiting helps.
    BeforeStart,
    /// An input's timestamps decreased.
    Rejected,
    /// An input showed no frame yet, or none with a timestamp.
    NotObserved,
    /// The selected frame could not be read, and none newer has come.
    Invalid,
    /// An input was not observed, or not processed, as far as its rule asks.
    Behind,
}

/// The complete answer for one output. `absent` inputs are stale: an output that is ready goes without them.
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

    /// Why not.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Inputs to wait for.
    #[must_use]
    pub fn waiting(&self) -> &InputSet {
        &self.waiting
    }

    /// Stale inputs.
    #[must_use]
    pub fn absent(&self) -> &InputSet {
        &self.absent
    }

    fn blocked(reason: Reason) -> Self {
        Self { reason: Some(reason), waiting: InputSet::EMPTY, absent: InputSet::EMPTY }
    }
}

/// What stood in the way of an attempt; the first thing found, not the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Why.
    pub reason: Reason,
    /// The input to wait for, if it is one.
    pub input: Option<u16>,
}

/// What differs between the three barriers.
pub trait Policy {
    /// What is kept of an input, in its epoch.
    type State: Copy + Default;
    /// Whether a stale input is absent even when nothing else is wrong with it.
    const STALE_IS_ABSENT: bool = false;
    /// Whether each rule is asked for, or each input once.
    const ONE_DEMAND_AN_INPUT: bool = false;

    /// Whether a map of that kind is for this barrier; the other kind is ignored.
    fn takes(&self, is_by_time: bool) -> bool;
    /// What else a map must fulfil.
    ///
    /// # Errors
    /// Why it does not.
    fn check(&self, _map: &MergeMap) -> Result<(), Refusal> {
        Ok(())
    }
    /// Whether times are read, so that their clock domain matters.
    fn reads_times(&self) -> bool;
    /// Whether what is known of a stream holds under another map too.
    fn keeps(&self, _stream: u32, _old: &MergeMap, _fresh: &MergeMap) -> bool {
        true
    }
    /// A map was taken; `demands` are its rules.
    fn applied(&mut self, _map: &MergeMap, _demands: &[Demand]) {}
    /// The output goes on in another epoch.
    fn new_epoch(&mut self) {}
    /// A descriptor of the input's current epoch.
    fn see(&self, index: usize, state: &mut Self::State, seen: &Observation);
    /// What the stage consumed of the input's current epoch.
    fn consumed(&self, state: &mut Self::State, processed: &Processed);
    /// Whether the output lies before one that was emitted.
    fn is_too_early(&self, _out: u64) -> bool {
        false
    }
    /// What a demand has to wait for.
    fn obstacle(&self, demand: &Demand, entry: &Entry<Self::State>, out: u64) -> Option<Reason>;
}

enum Verdict {
    Present,
    Absent,
    Waiting(Reason),
}

/// The gate; [`SequenceBarrier`], [`TimestampBarrier`] and [`LatestBarrier`] are its three kinds.
pub struct Barrier<P: Policy> {
    policy: P,
    out_stream: u32,
    epoch: u64,
    map: Option<MergeMap>,
    is_valid: bool,
    is_foreign_domain: bool,
    stale_timeout_ns: Option<u64>,
    demands: Vec<Demand>,
    inputs: Inputs<P::State>,
    needs_processed: Vec<u32>,
    /// The demand that blocked last: while it does, no other needs a look. Any value is right, some are quicker.
    blocker: usize,
    unknown_streams: u64,
    older_epochs: u64,
}

impl<P: Policy> Barrier<P> {
    fn with_policy(policy: P, out_stream: u32, epoch: u64, needs_processed: &[u32]) -> Self {
        Self {
            policy,
            out_stream,
            epoch,
            map: None,
            is_valid: false,
            is_foreign_domain: false,
            stale_timeout_ns: None,
            demands: Vec::new(),
            inputs: Inputs::default(),
            needs_processed: needs_processed.to_vec(),
            blocker: 0,
            unknown_streams: 0,
            older_epochs: 0,
        }
    }

    /// Whether this map is in force now; one for another pair, or of the other kind, is not applied.
    ///
    /// An identical map changes nothing. A changed one keeps what is known of the inputs that stay.
    ///
    /// # Errors
    /// What is wrong with the map; the barrier is blocked then.
    pub fn apply(&mut self, announced: &Announced<'_>) -> Result<bool, Refusal> {
        if (announced.out_stream, announced.epoch) != (self.out_stream, self.epoch)
            || !self.policy.takes(announced.times.is_some())
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
        let order = Inputs::<P::State>::order(&fresh);
        if order.len() > INPUTS_MAX {
            return Err(Cause::TooManyInputs.into());
        }
        self.policy.check(&fresh)?;
        let (policy, old) = (&self.policy, self.map.as_ref());
        self.inputs
            .replace(order, &self.needs_processed, |stream| old.is_some_and(|old| policy.keeps(stream, old, &fresh)));
        demand::compile(&fresh, &self.inputs, P::ONE_DEMAND_AN_INPUT, &mut self.demands);
        self.policy.applied(&fresh, &self.demands);
        self.stale_timeout_ns = fresh.stale_timeout_ns;
        self.map = Some(fresh);
        (self.is_valid, self.is_foreign_domain, self.blocker) = (true, false, 0);
        Ok(())
    }

    /// Blocks until a map is applied: the authority has announced another, or one that is invalid.
    pub fn invalidate(&mut self) {
        self.is_valid = false;
    }

    /// Blocks until a map of this higher output epoch is applied; a lower one is ignored.
    pub fn new_epoch(&mut self, epoch: u64) -> bool {
        if epoch <= self.epoch {
            return false;
        }
        self.epoch = epoch;
        self.policy.new_epoch();
        self.invalidate();
        true
    }

    /// Where a stream stands among the inputs; it holds until the next changed map. None, and counted: it is no input.
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

    /// Whether a map is in force.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// The output's epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What was told of streams that are no inputs, and what belonged to an input's earlier epoch.
    #[must_use]
    pub fn ignored(&self) -> (u64, u64) {
        (self.unknown_streams, self.older_epochs)
    }

    /// Whether times of this domain may be taken. Those of another reject the join until a fresh map is applied.
    pub fn admit_domain(&mut self, domain: ClockDomain) -> bool {
        let is_foreign = self.is_foreign(domain);
        self.is_foreign_domain |= is_foreign;
        !is_foreign
    }

    /// Whether times are read, and the last applied map declares another domain for them.
    #[must_use]
    pub fn is_foreign(&self, domain: ClockDomain) -> bool {
        self.policy.reads_times() && self.declared_domain().is_some_and(|own| own != domain)
    }

    /// The domain that the last applied map declared.
    #[must_use]
    pub fn declared_domain(&self) -> Option<ClockDomain> {
        self.map.as_ref().and_then(|map| map.times).map(|times| times.clock_domain)
    }

    /// A descriptor, with its slot's timestamp. False: it belongs to an earlier epoch of its input.
    #[inline]
    pub fn observe(&mut self, index: usize, seen: &Observation, now_ns: u64) -> bool {
        let Some(entry) = self.inputs.get_mut(index) else { return false };
        if !entry.enter(seen.epoch) {
            self.older_epochs += 1;
            return false;
        }
        entry.last_observed_ns = entry.last_observed_ns.max(now_ns);
        entry.is_observed = true;
        self.policy.see(index, &mut entry.state, seen);
        true
    }

    /// Something of an input came that is observed later: it is not silent.
    pub fn heard(&mut self, index: usize, now_ns: u64) {
        if let Some(entry) = self.inputs.get_mut(index) {
            entry.last_observed_ns = entry.last_observed_ns.max(now_ns);
        }
    }

    /// An input is known to go on in a higher epoch, of which no frame has come yet.
    pub fn input_epoch(&mut self, index: usize, epoch: u64) -> bool {
        self.inputs
            .get_mut(index)
            .is_some_and(|entry| entry.epoch.is_none_or(|own| epoch > own) && entry.enter(Some(epoch)))
    }

    /// What the stage consumed. False: it is not of the input's current epoch.
    #[inline]
    pub fn processed(&mut self, index: usize, processed: &Processed) -> bool {
        let Some(entry) = self.inputs.get_mut(index) else { return false };
        if processed.epoch.is_some() && processed.epoch != entry.epoch {
            return false;
        }
        self.policy.consumed(&mut entry.state, processed);
        true
    }

    /// Whether one attempt at this output is permitted: which inputs it goes without, or what blocks it.
    ///
    /// Looks at the demand that blocked last and, while it does, at nothing else. The same answer as `ready`, but what
    /// blocks is not all that does.
    ///
    /// # Errors
    /// What blocks.
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
                Verdict::Present => {}
                Verdict::Absent => absent.insert(usize::from(demand.input)),
                // The usual outcome, mostly of the first look.
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
                Verdict::Present => {}
                Verdict::Absent => absent.insert(usize::from(demand.input)),
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
        self.policy.is_too_early(out).then_some(Reason::OutOfOrder)
    }

    #[inline]
    fn verdict(&self, demand: &Demand, out: u64, now_ns: u64) -> Verdict {
        let entry = self.inputs.at(demand.input);
        match self.policy.obstacle(demand, entry, out) {
            None if !P::STALE_IS_ABSENT || !self.is_stale(entry, now_ns) => Verdict::Present,
            Some(Reason::BeforeStart) => Verdict::Waiting(Reason::BeforeStart),
            Some(reason) if !self.is_stale(entry, now_ns) => Verdict::Waiting(reason),
            _ => Verdict::Absent,
        }
    }

    /// Silent for longer than the time-out; an input that never was observed is not stale.
    #[inline]
    fn is_stale(&self, entry: &Entry<P::State>, now_ns: u64) -> bool {
        self.stale_timeout_ns
            .is_some_and(|timeout_ns| entry.is_observed && now_ns.saturating_sub(entry.last_observed_ns) > timeout_ns)
    }
}
