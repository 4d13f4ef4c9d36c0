// SPDX-License-Identifier: Apache-2.0
//! A client of one media driver.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use framegate_core::unpoisoned;
use pyo3::prelude::*;
use rusteron_client::{Aeron, AeronCError, AeronContext, Handler};

use framegate_core::idle::IdleStrategy;

use super::c_string;
use super::events::{CLIENT_TIMEOUT, ClientEvents, DRIVER_TIMEOUT, ErrorSink, ImageSink, Images, one_line};
use super::offer::{Log, RetryBound};
use super::publication::{self, AeronPublication, Limits};
use super::subscription::{self, AeronSubscription};
use crate::errors::raise;

/// How often the conductor of a client reads what the media driver sent. Adding a stream takes about two turns.
const CONDUCTOR_SLEEP_NS: u64 = 1_000_000;
/// How often a call that adds a stream checks whether the media driver has answered.
const ADD_POLL: Duration = Duration::from_micros(200);

/// How long a call waits for the conductor to say why it closed everything.
const DEATH_NOTICE: Duration = Duration::from_secs(1);

/// What publications and subscriptions need of their client.
pub(crate) struct ClientShared {
    aeron_dir: String,
    driver_timeout_ms: u64,
    pub(crate) events: Arc<ClientEvents>,
}

impl ClientShared {
    /// Raises an error if the media driver is gone, or has given this client up.
    #[inline]
    pub(crate) fn check_alive(&self, py: Python<'_>) -> PyResult<()> {
        if self.events.fatal_code() == 0 {
            return Ok(());
        }
        Err(self.death(py)?)
    }

    /// Like `check_alive`, for the case that Aeron has closed something that this program did not close. The client is
    /// dying then, and its conductor reports the reason a moment after closing everything.
    pub(crate) fn check_alive_after_close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let deadline = Instant::now() + DEATH_NOTICE;
            while self.events.fatal_code() == 0 && Instant::now() < deadline {
                std::thread::sleep(ADD_POLL);
            }
        });
        self.check_alive(py)
    }

    #[cold]
    fn death(&self, py: Python<'_>) -> PyResult<PyErr> {
        let (name, what) = match self.events.fatal_code() {
            DRIVER_TIMEOUT => ("MediaDriverGone", "the media driver stopped answering"),
            CLIENT_TIMEOUT => ("ClientStalled", "the media driver gave this client up, which had not run for too long"),
            _ => ("ClientStalled", "this process did not run for too long"),
        };
        let timeout = self.driver_timeout_ms.into_pyobject(py)?.into_any();
        let aeron_says = self.events.fatal_message().into_pyobject(py)?.into_any();
        let facts = [("aeron_dir", self.directory(py)?), ("driver_timeout_ms", timeout), ("aeron", aeron_says)];
        Ok(raise(py, name, what, &facts))
    }

    fn directory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.aeron_dir.as_str().into_pyobject(py)?.into_any())
    }

    /// Builds an error that holds what the C client said of its last failure on this thread.
    pub(crate) fn refusal(
        &self,
        py: Python<'_>,
        class_name: &str,
        message: &str,
        facts: &[(&str, Bound<'_, PyAny>)],
    ) -> PyResult<PyErr> {
        let mut all = facts.to_vec();
        all.push(("aeron", one_line(Aeron::errmsg()).into_pyobject(py)?.into_any()));
        Ok(raise(py, class_name, message, &all))
    }
}

/// A publication or subscription that must be closed before its client. It may be gone already.
enum Child {
    Publication(Weak<publication::Shared>),
    Subscription(Weak<subscription::Shared>),
}

impl Child {
    fn is_gone(&self) -> bool {
        match self {
            Self::Publication(child) => child.strong_count() == 0,
            Self::Subscription(child) => child.strong_count() == 0,
        }
    }

    fn has_open_claim(&self) -> bool {
        matches!(self, Self::Publication(child) if child.upgrade().is_some_and(|child| child.has_open_claim()))
    }

    /// Closes the child. Returns false if a claim was opened in the meantime, and the child is still open.
    fn close(&self) -> bool {
        match self {
            Self::Publication(child) => child.upgrade().is_none_or(|child| child.close()),
            Self::Subscription(child) => {
                if let Some(child) = child.upgrade() {
                    child.close();
                }
                true
            }
        }
    }
}

/// The native client; users hold it as `framegate.shmpool.transport.aeron.AeronTransport`.
#[pyclass(frozen, module = "framegate._native")]
pub struct AeronClient {
    aeron: Mutex<Option<Aeron>>,
    /// None once the client is closed; nothing can be added after that.
    children: Mutex<Option<Vec<Child>>>,
    shared: Arc<ClientShared>,
}

/// Why a publication or subscription could not be added.
enum AddFailure {
    Refused(String),
    TimedOut,
    ClientDied,
}

#[pymethods]
impl AeronClient {
    #[new]
    #[pyo3(signature = (aeron_dir, *, driver_timeout_ms = 10_000, client_name = ""))]
    fn new(py: Python<'_>, aeron_dir: &str, driver_timeout_ms: u64, client_name: &str) -> PyResult<Self> {
        let shared =
            Arc::new(ClientShared { aeron_dir: aeron_dir.to_owned(), driver_timeout_ms, events: ClientEvents::new() });
        let (directory, name) = (c_string(py, "aeron_dir", aeron_dir)?, c_string(py, "client_name", client_name)?);
        let events = Arc::clone(&shared.events);
        // Connecting waits for the media driver, up to its time-out.
        let connected = py.detach(move || -> Result<Aeron, (i32, String)> {
            let said = |error: AeronCError| (error.code, one_line(Aeron::errmsg()));
            let context = AeronContext::new().map_err(said)?;
            context.set_dir(&directory).map_err(said)?;
            context.set_driver_timeout_ms(driver_timeout_ms).map_err(said)?;
            context.set_idle_sleep_duration_ns(CONDUCTOR_SLEEP_NS).map_err(said)?;
            context.set_client_name(&name).map_err(said)?;
            context.set_error_handler(Some(ErrorSink(events))).map_err(said)?;
            let aeron = Aeron::new(&context).map_err(said)?;
            aeron.start().map_err(said)?;
            Ok(aeron)
        });
        match connected {
            Ok(aeron) => Ok(Self { aeron: Mutex::new(Some(aeron)), children: Mutex::new(Some(Vec::new())), shared }),
            Err((_, said)) => {
                let facts = [("aeron_dir", shared.directory(py)?), ("aeron", said.into_pyobject(py)?.into_any())];
                Err(raise(py, "MediaDriverNotFound", "no media driver answered", &facts))
            }
        }
    }

    #[pyo3(signature = (channel, stream_id, *, exclusive, attempts, deadline_ns, timeout_ns))]
    #[allow(clippy::too_many_arguments)]
    fn add_publication(
        &self,
        py: Python<'_>,
        channel: &str,
        stream_id: i32,
        exclusive: bool,
        attempts: u64,
        deadline_ns: u64,
        timeout_ns: u64,
    ) -> PyResult<AeronPublication> {
        let aeron = self.client(py)?;
        let uri = c_string(py, "channel", channel)?;
        let added = py.detach(|| self.add_log(&aeron, &uri, stream_id, exclusive, timeout_ns));
        let (log, limits) = added.map_err(|failure| self.add_error(py, failure, "publication", channel, stream_id))?;
        let bound = RetryBound { attempts, deadline: Duration::from_nanos(deadline_ns) };
        let (publication, shared) = AeronPublication::new(log, limits, bound, Arc::clone(&self.shared));
        self.keep(py, Child::Publication(Arc::downgrade(&shared)))?;
        Ok(publication)
    }

    #[pyo3(signature = (channel, stream_id, *, idle, timeout_ns))]
    fn add_subscription(
        &self,
        py: Python<'_>,
        channel: &str,
        stream_id: i32,
        idle: &str,
        timeout_ns: u64,
    ) -> PyResult<AeronSubscription> {
        let aeron = self.client(py)?;
        let uri = c_string(py, "channel", channel)?;
        let Some(idle) = IdleStrategy::from_name(idle) else {
            let facts = [("idle", idle.into_pyobject(py)?.into_any())];
            return Err(raise(py, "InvalidValue", "an idle strategy is busy, yield, backoff or sleep", &facts));
        };
        let images = Images::new();
        let added = py.detach(|| {
            let sink = || Handler::new(ImageSink { images: Arc::clone(&images) });
            let (available, unavailable) = (sink(), sink());
            let adding =
                aeron.async_add_subscription(&uri, stream_id, Some(&available), Some(&unavailable)).map_err(refused)?;
            self.wait_for(timeout_ns, || adding.poll())
        });
        let found = added.map_err(|failure| self.add_error(py, failure, "subscription", channel, stream_id))?;
        let (subscription, shared) = AeronSubscription::new(found, stream_id, idle, images, Arc::clone(&self.shared));
        self.keep(py, Child::Subscription(Arc::downgrade(&shared)))?;
        Ok(subscription)
    }

    /// True after `close`, and after the media driver was lost.
    #[getter]
    fn is_closed(&self) -> bool {
        unpoisoned(&self.aeron).is_none() || self.shared.events.fatal_code() != 0
    }

    /// Raises the error that ended the client, if there was one.
    fn check_alive(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.check_alive(py)
    }

    /// The errors that the C client reported since the last call.
    fn errors(&self) -> Vec<String> {
        self.shared.events.drain_errors()
    }

    /// Closes every publication and subscription, then the client. Returns False, and closes nothing, if a claim is
    /// open.
    fn close(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            let mut children = unpoisoned(&self.children);
            let added = children.as_deref().unwrap_or_default();
            if added.iter().any(Child::has_open_claim) || !added.iter().all(Child::close) {
                return false;
            }
            // From here on `keep` refuses: a stream that another thread is adding now is closed by that thread.
            *children = None;
            drop(children);
            // This drops the last handle, and waits for the conductor thread to end.
            drop(unpoisoned(&self.aeron).take());
            true
        })
    }
}

impl AeronClient {
    fn client(&self, py: Python<'_>) -> PyResult<Aeron> {
        self.shared.check_alive(py)?;
        match unpoisoned(&self.aeron).as_ref() {
            Some(aeron) => Ok(aeron.clone()),
            None => Err(raise(py, "TransportClosed", "the client was closed before", &[])),
        }
    }

    /// Remembers a publication or subscription, so that `close` closes it too. If the client was closed in the
    /// meantime, it is closed at once.
    fn keep(&self, py: Python<'_>, child: Child) -> PyResult<()> {
        py.detach(|| match unpoisoned(&self.children).as_mut() {
            Some(children) => {
                children.retain(|child| !child.is_gone());
                children.push(child);
                true
            }
            None => {
                child.close();
                false
            }
        })
        .then_some(())
        .ok_or_else(|| raise(py, "TransportClosed", "the client was closed while it was being added", &[]))
    }

    fn add_log(
        &self,
        aeron: &Aeron,
        uri: &CStr,
        stream_id: i32,
        exclusive: bool,
        timeout_ns: u64,
    ) -> Result<(Log, Limits), AddFailure> {
        if exclusive {
            let adding = aeron.async_add_exclusive_publication(uri, stream_id).map_err(refused)?;
            let publication = self.wait_for(timeout_ns, || adding.poll())?;
            let limits = Limits::of(&publication.get_constants().map_err(refused)?);
            return Ok((Log::Exclusive(publication), limits));
        }
        let adding = aeron.async_add_publication(uri, stream_id).map_err(refused)?;
        let publication = self.wait_for(timeout_ns, || adding.poll())?;
        let limits = Limits::of(&publication.get_constants().map_err(refused)?);
        Ok((Log::Shared(publication), limits))
    }

    fn wait_for<T>(
        &self,
        timeout_ns: u64,
        mut poll: impl FnMut() -> Result<Option<T>, AeronCError>,
    ) -> Result<T, AddFailure> {
        let deadline = Instant::now() + Duration::from_nanos(timeout_ns);
        loop {
            if let Some(found) = poll().map_err(refused)? {
                return Ok(found);
            }
            if self.shared.events.fatal_code() != 0 {
                return Err(AddFailure::ClientDied);
            }
            if Instant::now() >= deadline {
                return Err(AddFailure::TimedOut);
            }
            std::thread::sleep(ADD_POLL);
        }
    }

    fn add_error(&self, py: Python<'_>, failure: AddFailure, kind: &str, channel: &str, stream_id: i32) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let mut facts = vec![
                ("kind", kind.into_pyobject(py)?.into_any()),
                ("channel", channel.into_pyobject(py)?.into_any()),
                ("stream_id", stream_id.into_pyobject(py)?.into_any()),
            ];
            Ok(match failure {
                AddFailure::ClientDied => self.shared.death(py)?,
                AddFailure::TimedOut => raise(py, "AddTimedOut", "the media driver did not answer in time", &facts),
                AddFailure::Refused(said) => {
                    facts.push(("aeron", said.into_pyobject(py)?.into_any()));
                    raise(py, "ChannelRefused", "the media driver refused it", &facts)
                }
            })
        };
        described().unwrap_or_else(|failure| failure)
    }
}

/// Reads Aeron's error text at once: the text belongs to this thread, and the next call overwrites it.
fn refused(_error: AeronCError) -> AddFailure {
    AddFailure::Refused(one_line(Aeron::errmsg()))
}
