// SPDX-License-Identifier: Apache-2.0
//! Offering messages to a log: the number of retries is bounded, and every answer is counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use framegate_core::idle::{IdleStrategy, Idler};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rusteron_client::{AeronBufferClaim, AeronExclusivePublication, AeronOfferError, AeronPublication};

/// The numbers of `Outcome.NOT_CONNECTED` and its siblings, which are Aeron's own.
pub(crate) const NOT_CONNECTED: i64 = -1;
pub(crate) const BACK_PRESSURED: i64 = -2;
pub(crate) const ADMIN_ACTION: i64 = -3;
pub(crate) const CLOSED: i64 = -4;
pub(crate) const MAX_POSITION: i64 = -5;
/// Not an outcome: the call itself was wrong, and Aeron's text says why.
pub(crate) const REFUSED: i64 = -6;

/// Either kind of Aeron publication: exclusive, or shared between threads.
pub(crate) enum Log {
    Exclusive(AeronExclusivePublication),
    Shared(AeronPublication),
}

impl Log {
    /// Offers a message. Returns a position, or a negative outcome.
    #[inline]
    pub(crate) fn offer(&self, message: &[u8]) -> i64 {
        number(match self {
            Self::Exclusive(publication) => publication.offer(message),
            Self::Shared(publication) => publication.offer(message),
        })
    }

    /// Claims space for a message. Returns a position, or a negative outcome.
    pub(crate) fn claim(&self, length: usize, claim: &AeronBufferClaim) -> i64 {
        number(match self {
            Self::Exclusive(publication) => publication.try_claim(length, claim),
            Self::Shared(publication) => publication.try_claim(length, claim),
        })
    }

    pub(crate) fn is_connected(&self) -> bool {
        match self {
            Self::Exclusive(publication) => publication.is_connected(),
            Self::Shared(publication) => publication.is_connected(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Exclusive(publication) => publication.is_closed(),
            Self::Shared(publication) => publication.is_closed(),
        }
    }

    pub(crate) fn position(&self) -> i64 {
        match self {
            Self::Exclusive(publication) => publication.position(),
            Self::Shared(publication) => publication.position(),
        }
    }
}

#[inline]
fn number(result: Result<i64, AeronOfferError>) -> i64 {
    match result {
        Ok(position) => position,
        Err(error) => outcome_number(&error),
    }
}

pub(crate) fn outcome_number(error: &AeronOfferError) -> i64 {
    match error {
        AeronOfferError::NotConnected => NOT_CONNECTED,
        AeronOfferError::BackPressured => BACK_PRESSURED,
        AeronOfferError::AdminAction => ADMIN_ACTION,
        AeronOfferError::Closed => CLOSED,
        AeronOfferError::MaxPositionExceeded => MAX_POSITION,
        AeronOfferError::TooManyParts | AeronOfferError::Error(_) => REFUSED,
    }
}

/// How often a log gave each answer. The lock of the log guards these counters, because one atomic addition costs as
/// much as an offer.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferCounters {
    pub(crate) sent: u64,
    pub(crate) back_pressured: u64,
    pub(crate) admin_actions: u64,
    pub(crate) not_connected: u64,
}

impl OfferCounters {
    #[inline]
    pub(crate) fn note(&mut self, answer: i64) {
        match answer {
            0.. => self.sent += 1,
            BACK_PRESSURED => self.back_pressured += 1,
            ADMIN_ACTION => self.admin_actions += 1,
            NOT_CONNECTED => self.not_connected += 1,
            _ => {}
        }
    }
}

/// How long an offer is retried after back-pressure or an admin action: `OfferBound` of the Python protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryBound {
    pub(crate) attempts: u64,
    pub(crate) deadline: Duration,
}

#[inline]
pub(crate) fn is_retryable(answer: i64) -> bool {
    matches!(answer, BACK_PRESSURED | ADMIN_ACTION)
}

/// Retries an offer whose first attempt answered `first`, within the bound. `attempt` counts itself; `pause` idles
/// once, without the GIL; `gave_up` counts the messages whose retries ran out.
pub(crate) fn retry(
    bound: RetryBound,
    gave_up: &AtomicU64,
    first: i64,
    mut attempt: impl FnMut() -> i64,
    mut pause: impl FnMut(&mut Idler),
) -> i64 {
    let mut answer = first;
    let mut attempts = 1;
    let mut idler = Idler::new(IdleStrategy::Backoff);
    let began = Instant::now();
    while is_retryable(answer) {
        if attempts >= bound.attempts || began.elapsed() >= bound.deadline {
            gave_up.fetch_add(1, Ordering::Relaxed);
            break;
        }
        // An admin action is over as soon as it is reported, so only back-pressure is worth waiting for.
        if answer == BACK_PRESSURED {
            pause(&mut idler);
        }
        answer = attempt();
        attempts += 1;
    }
    answer
}

/// The answer as Python sees it: a position stays an int, a negative number becomes its `Outcome`.
pub(crate) fn to_python(py: Python<'_>, answer: i64) -> PyResult<Py<PyAny>> {
    if answer >= 0 {
        return Ok(answer.into_pyobject(py)?.into_any().unbind());
    }
    static OUTCOMES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
    let members = OUTCOMES.get_or_try_init(py, || {
        let class = py.import("framegate.shmpool.transport.interface")?.getattr("Outcome")?;
        (NOT_CONNECTED.abs()..=MAX_POSITION.abs())
            .map(|number| Ok(class.call1((-number,))?.unbind()))
            .collect::<PyResult<Vec<_>>>()
    })?;
    let index = usize::try_from(-answer - 1).unwrap_or(usize::MAX);
    Ok(members[index.min(members.len() - 1)].clone_ref(py))
}
