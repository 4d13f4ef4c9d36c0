// SPDX-License-Identifier: Apache-2.0
//! What the conductor thread noticed, queued until Python asks for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use framegate_core::bell::Waker;
use framegate_core::{try_unpoisoned, unpoisoned};
use pyo3::Python;
use rusteron_client::{
    Aeron, AeronAvailableImageCallback, AeronErrorHandlerCallback, AeronImage, AeronSubscription,
    AeronUnavailableImageCallback,
};

/// How many events a queue keeps for a caller that does not drain it. Beyond that the oldest are dropped and counted.
const QUEUE_BOUND: usize = 1024;

/// A queue that never grows past its bound, and counts what it dropped.
#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    items: Mutex<VecDeque<T>>,
    dropped: AtomicU64,
}

impl<T> BoundedQueue<T> {
    pub(crate) fn new() -> Self {
        Self { items: Mutex::new(VecDeque::new()), dropped: AtomicU64::new(0) }
    }

    pub(crate) fn push(&self, item: T) {
        let mut items = unpoisoned(&self.items);
        if items.len() == QUEUE_BOUND {
            items.pop_front();
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        items.push_back(item);
    }

    pub(crate) fn drain(&self) -> Vec<T> {
        unpoisoned(&self.items).drain(..).collect()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Takes the lock, however long another thread holds it. The GIL is released while waiting.
pub(crate) fn unpoisoned_detached<'a, T: Send>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    loop {
        if let Some(guard) = try_unpoisoned(mutex) {
            return guard;
        }
        py.detach(|| drop(unpoisoned(mutex)));
    }
}

/// Whether the client is still alive, and the errors that it reported.
#[derive(Debug)]
pub(crate) struct ClientEvents {
    /// 0, or the Aeron error code that ended the client. Only the conductor thread writes it.
    fatal: AtomicI32,
    fatal_message: Mutex<String>,
    errors: BoundedQueue<String>,
}

/// The media driver stopped answering.
pub(crate) const DRIVER_TIMEOUT: i32 = 1000;
/// The media driver gave this client up, because the client did not run for its liveness time-out.
pub(crate) const CLIENT_TIMEOUT: i32 = 1001;
/// The conductor of this client did not run for its service time-out.
pub(crate) const SERVICE_TIMEOUT: i32 = 1002;
/// This client fell a whole buffer behind, and what the media driver sent was overwritten.
pub(crate) const BROADCAST_LAPPED: i32 = 1006;

impl ClientEvents {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            fatal: AtomicI32::new(0),
            fatal_message: Mutex::new(String::new()),
            errors: BoundedQueue::new(),
        })
    }

    /// 0 while the client lives.
    #[inline]
    pub(crate) fn fatal_code(&self) -> i32 {
        self.fatal.load(Ordering::Acquire)
    }

    pub(crate) fn fatal_message(&self) -> String {
        unpoisoned(&self.fatal_message).clone()
    }

    pub(crate) fn drain_errors(&self) -> Vec<String> {
        self.errors.drain()
    }

    fn on_error(&self, code: i32, message: &str) {
        if matches!(code, DRIVER_TIMEOUT | CLIENT_TIMEOUT | SERVICE_TIMEOUT | BROADCAST_LAPPED)
            && self.fatal_code() == 0
        {
            *unpoisoned(&self.fatal_message) = one_line(message);
            self.fatal.store(code, Ordering::Release);
        }
        self.errors.push(format!("{code}: {}", one_line(message)));
    }
}

/// The first line of an Aeron error without the C functions and line numbers that Aeron adds: `(code) what [function,
/// file:line]`.
pub(crate) fn one_line(message: &str) -> String {
    let first = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    let end = first.find(" [aeron_").unwrap_or(first.len());
    first[..end].to_owned()
}

/// The error handler that Aeron holds.
pub(crate) struct ErrorSink(pub(crate) Arc<ClientEvents>);

impl AeronErrorHandlerCallback for ErrorSink {
    fn handle_aeron_error_handler(&mut self, code: std::os::raw::c_int, message: &str) {
        self.0.on_error(code, message);
    }
}

/// One image that came or went.
#[derive(Clone, Debug)]
pub(crate) struct ImageEvent {
    pub(crate) is_available: bool,
    pub(crate) session_id: i32,
    pub(crate) source: String,
    pub(crate) at_ns: i64,
}

/// The image events of one subscription.
pub(crate) struct Images {
    pub(crate) events: BoundedQueue<ImageEvent>,
    /// How many images went away. What their publications sent until they came back was not received.
    lost: AtomicU64,
    /// How many there are now. Written by the conductor thread alone.
    present: AtomicU64,
    /// Wakes the one who waits for messages: whoever comes may send more of them than a sleeper can leave unread.
    waker: Mutex<Option<Waker>>,
}

impl Images {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            events: BoundedQueue::new(),
            lost: AtomicU64::new(0),
            present: AtomicU64::new(0),
            waker: Mutex::new(None),
        })
    }

    pub(crate) fn present(&self) -> u64 {
        self.present.load(Ordering::Acquire)
    }

    pub(crate) fn set_waker(&self, waker: Option<Waker>) {
        *unpoisoned(&self.waker) = waker;
    }

    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// The image handlers that Aeron holds. There is one for each direction, and both write to the same `Images`.
pub(crate) struct ImageSink {
    pub(crate) images: Arc<Images>,
}

impl ImageSink {
    fn note(&self, is_available: bool, image: &AeronImage) {
        if is_available {
            self.images.present.fetch_add(1, Ordering::Release);
        } else {
            self.images.present.fetch_sub(1, Ordering::Release);
        }
        if let Some(waker) = &*unpoisoned(&self.images.waker) {
            waker.ring();
        }
        let Ok(constants) = image.get_constants() else {
            return;
        };
        self.images.events.push(ImageEvent {
            is_available,
            session_id: constants.session_id(),
            source: constants.source_identity().to_owned(),
            at_ns: Aeron::nano_clock(),
        });
    }
}

impl AeronAvailableImageCallback for ImageSink {
    fn handle_aeron_on_available_image(&mut self, _subscription: AeronSubscription, image: AeronImage) {
        self.note(true, &image);
    }
}

impl AeronUnavailableImageCallback for ImageSink {
    fn handle_aeron_on_unavailable_image(&mut self, _subscription: AeronSubscription, image: AeronImage) {
        self.images.lost.fetch_add(1, Ordering::Relaxed);
        self.note(false, &image);
    }
}
