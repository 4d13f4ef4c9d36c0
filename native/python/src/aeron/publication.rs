// SPDX-License-Identifier: Apache-2.0
//! A publication: one sender on one stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use framegate_core::biased::{self, BiasedLock};
use framegate_core::idle::Idler;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};
use rusteron_client::{AeronBufferClaim, AeronPublicationConstants};

use super::claim::AeronClaim;
use super::client::ClientShared;
use super::offer::{self, ADMIN_ACTION, CLOSED, Log, OfferCounters, REFUSED, RetryBound};
use super::transport_class;
use crate::buffer::ExportedBuffer;
use crate::errors::raise;

/// How often a claim is retried after an admin action. Such an action is over as soon as it is reported; the end of a
/// term is one.
const ADMIN_ACTIONS_MAX: u32 = 8;

/// What a publication shares with its claims and its client.
pub(crate) struct Shared {
    counted: BiasedLock<Counted>,
    open_claims: AtomicUsize,
    gave_up: AtomicU64,
    bound: RetryBound,
    limits: Limits,
    client: Arc<ClientShared>,
}

/// The log until it is closed, and the counters of its answers.
#[derive(Default)]
struct Counted {
    log: Option<Log>,
    counters: OfferCounters,
}

impl Counted {
    /// Makes one call on the log, and counts its answer.
    #[inline]
    fn ask(&mut self, ask: impl FnOnce(&Log) -> i64) -> i64 {
        let answer = self.log.as_ref().map_or(CLOSED, ask);
        self.counters.note(answer);
        answer
    }
}

/// The limits of a publication. They do not change while it lives.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    session_id: i32,
    stream_id: i32,
    max_claim_bytes: usize,
    max_message_bytes: usize,
}

impl Limits {
    pub(crate) fn of(constants: &AeronPublicationConstants) -> Self {
        Self {
            session_id: constants.session_id(),
            stream_id: constants.stream_id(),
            max_claim_bytes: constants.max_payload_length(),
            max_message_bytes: constants.max_message_length(),
        }
    }
}

impl Shared {
    #[inline]
    fn attempt(&self, message: &[u8]) -> i64 {
        self.counted.lock().ask(|log| log.offer(message))
    }

    /// Offers a message within the retry bound. Returns a position, or a negative outcome. The GIL is not needed.
    #[inline]
    pub(crate) fn offer_within_bound(&self, message: &[u8]) -> i64 {
        let first = self.attempt(message);
        if !offer::is_retryable(first) {
            return first;
        }
        offer::retry(self.bound, &self.gave_up, first, || self.attempt(message), Idler::idle)
    }

    /// Claims space for a message, or returns a negative outcome. The log cannot be closed while the space is held.
    pub(crate) fn claim_room(&self, length: usize) -> Result<ClaimedRoom<'_>, i64> {
        let mut counted = self.counted.lock();
        let claim = AeronBufferClaim::new_zeroed_on_stack();
        let mut answer = CLOSED;
        for _ in 0..ADMIN_ACTIONS_MAX {
            answer = counted.ask(|log| log.claim(length, &claim));
            if answer != ADMIN_ACTION {
                break;
            }
        }
        if answer < 0 { Err(answer) } else { Ok(ClaimedRoom { claim, is_open: true, _log: counted }) }
    }

    pub(crate) fn check_alive(&self, py: Python<'_>) -> PyResult<()> {
        self.client.check_alive(py)
    }

    pub(crate) fn note_claim_opened(&self) {
        self.open_claims.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn note_claim_closed(&self) {
        self.open_claims.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether a claim points into the log. The log must stay mapped then.
    pub(crate) fn has_open_claim(&self) -> bool {
        self.open_claims.load(Ordering::Acquire) > 0
    }

    /// Closes the log, unless a claim points into it. Returns whether the log is closed now. Call it without the GIL.
    pub(crate) fn close(&self) -> bool {
        let mut counted = self.counted.lock();
        if self.has_open_claim() {
            return false;
        }
        drop(counted.log.take());
        true
    }

    fn read<T>(&self, closed: T, ask: impl FnOnce(&Log) -> T) -> T {
        self.counted.lock().log.as_ref().map_or(closed, ask)
    }
}

/// Space for one message. If it is dropped unused it becomes padding, which readers skip.
pub(crate) struct ClaimedRoom<'a> {
    claim: AeronBufferClaim,
    is_open: bool,
    /// Declared after the claim, so that it is dropped after it and the log outlives the claim.
    _log: biased::Guard<'a, Counted>,
}

impl ClaimedRoom<'_> {
    /// Fills the space and shows the message to readers. The message must be as long as the space.
    pub(crate) fn send(mut self, message: &[u8]) {
        self.claim.data_mut().copy_from_slice(message);
        self.is_open = false;
        // This fails only if the log has gone with its media driver, and the next call reports that.
        let _ = self.claim.commit();
    }
}

impl Drop for ClaimedRoom<'_> {
    fn drop(&mut self) {
        if self.is_open {
            let _ = self.claim.abort();
        }
    }
}

/// The native publication; its methods are described at `framegate.shmpool.transport.interface.Publication`.
#[pyclass(frozen, module = "framegate._native")]
pub struct AeronPublication {
    shared: Arc<Shared>,
}

impl AeronPublication {
    pub(crate) fn new(log: Log, limits: Limits, bound: RetryBound, client: Arc<ClientShared>) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared {
            counted: BiasedLock::new(Counted { log: Some(log), ..Counted::default() }),
            open_claims: AtomicUsize::new(0),
            gave_up: AtomicU64::new(0),
            bound,
            limits,
            client,
        });
        (Self { shared: Arc::clone(&shared) }, shared)
    }

    /// The same offer without Python around it, for the native benchmarks.
    pub(crate) fn offer_natively(&self, message: &[u8]) -> i64 {
        self.shared.offer_within_bound(message)
    }

    /// Runs `work` on the locked log, for the native benchmarks. Returns zeros if the log is closed.
    pub(crate) fn with_log(&self, work: impl FnOnce(&Log) -> (u64, u64)) -> (u64, u64) {
        self.shared.read((0, 0), work)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    fn check_length(&self, py: Python<'_>, bytes: usize, limit: usize, what: &str) -> PyResult<()> {
        if bytes <= limit {
            return Ok(());
        }
        let facts = [
            ("stream_id", self.shared.limits.stream_id.into_pyobject(py)?.into_any()),
            ("bytes", bytes.into_pyobject(py)?.into_any()),
            ("limit_bytes", limit.into_pyobject(py)?.into_any()),
        ];
        Err(raise(py, "MessageTooLong", what, &facts))
    }

    /// The answer for Python. If the client is dead, this is an error rather than an outcome.
    fn answer(&self, py: Python<'_>, answer: i64) -> PyResult<Py<PyAny>> {
        if answer == CLOSED && self.shared.read(false, |_| true) {
            self.shared.client.check_alive_after_close(py)?;
        } else if answer == CLOSED || answer == REFUSED {
            self.shared.client.check_alive(py)?;
        }
        if answer == REFUSED {
            return Err(self.shared.client.refusal(py, "OfferFailed", "Aeron refused the message", &[])?);
        }
        offer::to_python(py, answer)
    }

    fn offer_slice(&self, py: Python<'_>, message: &[u8]) -> PyResult<Py<PyAny>> {
        self.check_length(
            py,
            message.len(),
            self.shared.limits.max_message_bytes,
            "the message does not fit the channel",
        )?;
        let first = self.shared.attempt(message);
        if !offer::is_retryable(first) {
            return self.answer(py, first);
        }
        let shared = &self.shared;
        let last =
            py.detach(|| offer::retry(shared.bound, &shared.gave_up, first, || shared.attempt(message), Idler::idle));
        self.answer(py, last)
    }
}

/// Calls `act` with the bytes of any contiguous buffer, which stays exported until `act` returns.
///
/// If another Python thread writes into the buffer meanwhile, the message is torn. There is never an invalid read,
/// because the exporter cannot resize a buffer while it is exported.
pub(crate) fn with_bytes<T>(message: &Bound<'_, PyAny>, act: impl FnOnce(&[u8]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(bytes) = message.cast::<PyBytes>() {
        return act(bytes.as_bytes());
    }
    act(contiguous(message)?.bytes())
}

fn contiguous(message: &Bound<'_, PyAny>) -> PyResult<ExportedBuffer> {
    ExportedBuffer::of(message, pyo3::ffi::PyBUF_SIMPLE).or_else(|why| {
        let py = message.py();
        let reason = why.value(py).to_string().into_pyobject(py)?.into_any();
        Err(raise(py, "InvalidValue", "a message is a contiguous buffer", &[("reason", reason)]))
    })
}

#[pymethods]
impl AeronPublication {
    fn offer(&self, message: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        with_bytes(message, |bytes| self.offer_slice(message.py(), bytes))
    }

    fn try_offer(&self, message: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = message.py();
        with_bytes(message, |bytes| {
            self.check_length(
                py,
                bytes.len(),
                self.shared.limits.max_message_bytes,
                "the message does not fit the channel",
            )?;
            self.answer(py, self.shared.attempt(bytes))
        })
    }

    /// Offers messages that lie back to back. Returns how many were taken, and why it stopped there.
    fn offer_batch<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        message_bytes: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        static BATCH_RESULT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let messages = contiguous(messages)?;
        let bytes = messages.bytes();
        let total = bytes.len();
        if message_bytes == 0 || total % message_bytes != 0 {
            let facts = [
                ("buffer_bytes", total.into_pyobject(py)?.into_any()),
                ("message_bytes", message_bytes.into_pyobject(py)?.into_any()),
            ];
            let what = "a batch is a contiguous buffer of whole messages of one length";
            return Err(raise(py, "InvalidValue", what, &facts));
        }
        self.check_length(
            py,
            message_bytes,
            self.shared.limits.max_message_bytes,
            "the messages do not fit the channel",
        )?;
        let (sent, last) = py.detach(|| {
            let mut sent = 0;
            for message in bytes.chunks_exact(message_bytes) {
                let answer = self.offer_natively(message);
                if answer < 0 {
                    return (sent, answer);
                }
                sent += 1;
            }
            (sent, 0)
        });
        let outcome = if last < 0 { Some(self.answer(py, last)?) } else { None };
        transport_class(py, "BatchResult", &BATCH_RESULT)?.call1((sent, outcome))
    }

    fn claim(&self, py: Python<'_>, length: usize) -> PyResult<Py<PyAny>> {
        self.check_length(py, length, self.shared.limits.max_claim_bytes, "a claim is bound to one fragment")?;
        let claim = AeronBufferClaim::new_zeroed_on_stack();
        let attempt = || {
            self.shared.counted.lock().ask(|log| {
                let answer = log.claim(length, &claim);
                if answer >= 0 {
                    // The claim is counted while the lock is held, so that a `close` that comes next sees it.
                    self.shared.note_claim_opened();
                }
                answer
            })
        };
        if self.shared.read(true, |_| false) {
            self.shared.client.check_alive(py)?;
            return Err(raise(py, "TransportClosed", "the publication was closed before", &[]));
        }
        let answer = offer::retry(self.shared.bound, &self.shared.gave_up, attempt(), attempt, |idler| {
            py.detach(|| idler.idle())
        });
        if answer < 0 {
            return self.answer(py, answer);
        }
        let claim = AeronClaim::new(claim, answer, length, Arc::clone(&self.shared));
        Ok(Bound::new(py, claim)?.into_any().unbind())
    }

    #[getter]
    fn is_connected(&self) -> bool {
        self.shared.read(false, Log::is_connected)
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.shared.read(true, Log::is_closed)
    }

    #[getter]
    fn position(&self) -> i64 {
        self.shared.read(CLOSED, Log::position)
    }

    #[getter]
    fn session_id(&self) -> i32 {
        self.shared.limits.session_id
    }

    #[getter]
    fn stream_id(&self) -> i32 {
        self.shared.limits.stream_id
    }

    #[getter]
    fn max_claim_bytes(&self) -> usize {
        self.shared.limits.max_claim_bytes
    }

    #[getter]
    fn max_message_bytes(&self) -> usize {
        self.shared.limits.max_message_bytes
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.shared.counted.lock().counters.clone();
        let values = PyDict::new(py);
        for (name, value) in [
            ("sent", counters.sent),
            ("back_pressured", counters.back_pressured),
            ("admin_actions", counters.admin_actions),
            ("not_connected", counters.not_connected),
            ("gave_up", self.shared.gave_up.load(Ordering::Relaxed)),
        ] {
            values.set_item(name, value)?;
        }
        Ok(values)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.shared.close()) {
            return Ok(());
        }
        let claims = self.shared.open_claims.load(Ordering::Acquire).into_pyobject(py)?.into_any();
        Err(raise(py, "ClaimStillViewed", "the publication has an open claim", &[("open_claims", claims)]))
    }
}
