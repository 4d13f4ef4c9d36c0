// SPDX-License-Identifier: Apache-2.0
//! The recording engine as Python holds it. `tools/record/record_agent.py` runs it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use framegate_core::clock::{monotonic_ns, realtime_ns};
use framegate_core::idle::IdleStrategy;
use framegate_core::unpoisoned;
use framegate_recording::live;
use framegate_recording::{
    Account, Compression, Config, Ended, Recorder, RecordingError, Survey, Totals, names, recover,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aeron::{SubscriptionShared, unpoisoned_detached};
use crate::errors::raise;
use crate::intake::{JoinMailbox, Mailbox};

type Engine = live::Engine<SubscriptionShared>;

/// One recording. Call `run` for one slice after another, always on the same thread.
#[pyclass(frozen, module = "framegate._native")]
pub struct RecordEngine {
    engine: Mutex<Option<Engine>>,
    mailbox: Arc<Mailbox>,
    idle: IdleStrategy,
    path: PathBuf,
}

#[pymethods]
impl RecordEngine {
    /// Makes the file. The recording ends after `frames` frames; 0 sets no bound.
    #[new]
    #[pyo3(signature = (mailbox, path, *, payload, compression, chunk_bytes, queue_bytes, chunk_ns, frames, notes,
                        idle = "bell"))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        mailbox: &JoinMailbox,
        path: PathBuf,
        payload: bool,
        compression: &str,
        chunk_bytes: usize,
        queue_bytes: usize,
        chunk_ns: u64,
        frames: u64,
        mut notes: Vec<(String, String)>,
        idle: &str,
    ) -> PyResult<Self> {
        let idle =
            IdleStrategy::from_name(idle).ok_or_else(|| raise(py, "InvalidValue", "no such idle strategy", &[]))?;
        let compression = match compression {
            "none" => Compression::None,
            "zstd" => Compression::Zstd,
            _ => return Err(raise(py, "InvalidValue", "no such compression", &[])),
        };
        let mailbox = Arc::clone(&mailbox.shared);
        let offset_ns = realtime_ns() as i64 - monotonic_ns() as i64;
        notes.push(("realtime_minus_monotonic_ns".to_owned(), offset_ns.to_string()));
        let config = Config {
            path: path.clone(),
            streams: mailbox.facts.iter().map(|facts| facts.stream_id).collect(),
            has_payload: payload,
            compression,
            chunk_bytes,
            queue_bytes,
            chunk_ns,
            library: format!("framegate {}", env!("CARGO_PKG_VERSION")),
            notes,
        };
        let recorder =
            py.detach(|| Recorder::create(&config)).map_err(|failure| recording_error(py, &failure, &path))?;
        let engine = Engine::new(recorder, Arc::clone(&mailbox), payload, frames, offset_ns);
        Ok(Self { engine: Mutex::new(Some(engine)), mailbox, idle, path })
    }

    /// Records for one slice, or until the recording must end. Returns what happened.
    fn run<'py>(&self, py: Python<'py>, slice_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let outcome = py
            .detach(|| unpoisoned(&self.engine).as_mut().map(|engine| engine.run(slice_ns, self.idle)))
            .ok_or_else(|| closed(py))?;
        let found = PyDict::new(py);
        found.set_item("has_ended", outcome.has_ended)?;
        found.set_item("has_all_frames", outcome.has_all_frames)?;
        found.set_item("has_failed", outcome.has_failed)?;
        Ok(found)
    }

    /// Says that a stream's epoch ends after that sequence, as the mark beside its regions says.
    #[pyo3(signature = (stream_id, epoch, after_seq = None))]
    fn note_end(&self, py: Python<'_>, stream_id: u32, epoch: u64, after_seq: Option<u64>) -> PyResult<()> {
        let found = self.mailbox.place(stream_id);
        let index = found.ok_or_else(|| raise(py, "InvalidValue", "the recording has no such stream", &[]))?;
        self.locked(py).as_mut().map(|engine| engine.note_mark(index, epoch, after_seq)).ok_or_else(|| closed(py))
    }

    /// The totals of what was recorded so far.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let guard = self.locked(py);
        let engine = guard.as_ref().ok_or_else(|| closed(py))?;
        let found = PyDict::new(py);
        put_totals(&found, &engine.recorder.totals(), engine.other_streams)?;
        found.set_item("longest_turn_ns", engine.slices.longest_turn_ns)?;
        Ok(found)
    }

    /// Records what was already announced, and writes the end of the file. Returns what the recording holds and lacks.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut engine = py.detach(|| unpoisoned(&self.engine).take()).ok_or_else(|| closed(py))?;
        let (other_streams, longest_turn_ns) = (engine.other_streams, engine.slices.longest_turn_ns);
        let ended = py.detach(|| {
            engine.drain();
            engine.recorder.finish()
        });
        let ended = ended.map_err(|failure| recording_error(py, &failure, &self.path))?;
        let found = summary(py, &ended, other_streams)?;
        found.set_item("longest_turn_ns", longest_turn_ns)?;
        Ok(found)
    }
}

impl RecordEngine {
    /// Locks the engine. The thread that runs slices holds the lock during a slice.
    fn locked<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Option<Engine>> {
        unpoisoned_detached(py, &self.engine)
    }
}

fn put_totals(found: &Bound<'_, PyDict>, totals: &Totals, other_streams: u64) -> PyResult<()> {
    for (name, value) in [
        ("frames", totals.frames),
        ("payloads", totals.payloads),
        ("messages", totals.messages),
        ("bytes", totals.bytes),
        ("lost_frames", totals.lost_frames),
        ("lost_payloads", totals.lost_payloads),
        ("lost_messages", totals.lost_messages),
        ("other_streams", totals.other_streams + other_streams),
        ("grown_chunks", totals.grown),
    ] {
        found.set_item(name, value)?;
    }
    Ok(())
}

fn summary<'py>(py: Python<'py>, ended: &Ended, other_streams: u64) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    put_totals(&found, &ended.totals, other_streams)?;
    found.set_item("frames", ended.accounts.iter().map(Account::frames).sum::<u64>())?;
    found.set_item("payloads", ended.accounts.iter().map(Account::payloads).sum::<u64>())?;
    found.set_item("file_bytes", ended.file_bytes)?;
    found.set_item("chunks", ended.chunks)?;
    found.set_item("is_indexed", ended.is_indexed)?;
    let is_complete = ended.failure.is_none() && ended.totals.lost_messages == 0;
    found.set_item("complete", is_complete && ended.accounts.iter().all(Account::is_complete))?;
    found.set_item("failure", ended.failure.as_ref().map(ToString::to_string))?;
    found.set_item("no_room", matches!(ended.failure, Some(RecordingError::NoRoom)))?;
    // This is the text that the file holds too, so both say the same.
    found.set_item("accounts", ended.accounts.iter().map(|account| account.json(true)).collect::<Vec<_>>())?;
    Ok(found)
}

fn closed(py: Python<'_>) -> PyErr {
    raise(py, "RecordingFailed", "the recording was closed before", &[])
}

fn recording_error(py: Python<'_>, failure: &RecordingError, path: &Path) -> PyErr {
    let name = match failure {
        RecordingError::Exists => "RecordingExists",
        RecordingError::NoRoom => "NoRoom",
        RecordingError::Damaged(_) => "RecordingDamaged",
        RecordingError::Io(error) => match error.kind() {
            std::io::ErrorKind::NotFound => "RecordingMissing",
            std::io::ErrorKind::PermissionDenied => "NoPermission",
            _ => "RecordingFailed",
        },
    };
    let Ok(shown) = path.display().to_string().into_pyobject(py);
    raise(py, name, &failure.to_string(), &[("path", shown.into_any())])
}

/// Copies what is whole in one recording to a new one. Returns what was found.
///
/// `places` are the first byte and the end of each readable part; `gaps` is the number of unreadable parts between
/// them. `cut_bytes` at the end belong to nothing.
#[pyfunction]
#[pyo3(signature = (source, target, places, *, gaps, cut_bytes))]
pub fn recording_recover<'py>(
    py: Python<'py>,
    source: PathBuf,
    target: PathBuf,
    places: Vec<(usize, usize)>,
    gaps: usize,
    cut_bytes: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let survey = Survey { places: places.into_iter().map(|(at, end)| at..end).collect(), gaps, cut_bytes };
    let recovered = py.detach(|| recover(&source, &target, &survey)).map_err(|failure| match failure {
        RecordingError::Exists => recording_error(py, &failure, &target),
        _ => recording_error(py, &failure, &source),
    })?;
    let found = PyDict::new(py);
    found.set_item("chunks", recovered.chunks)?;
    found.set_item("damaged_chunks", recovered.damaged_chunks)?;
    found.set_item("messages", recovered.messages)?;
    found.set_item("cut_bytes", recovered.cut_bytes)?;
    found.set_item("was_whole", recovered.was_whole)?;
    found.set_item("file_bytes", recovered.file_bytes)?;
    Ok(found)
}

/// The name of the message in a buffer, and the stream and time that it refers to. None if the message is unknown.
#[pyfunction]
pub fn recording_topic(message: &[u8]) -> Option<(&'static str, Option<u32>, Option<u64>)> {
    let known = &names::KNOWN[names::find(message)?];
    Some((known.name, known.stream_of(message), known.time_of(message)))
}
