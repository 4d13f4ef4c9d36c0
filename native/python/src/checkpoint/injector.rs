// SPDX-License-Identifier: Apache-2.0
//! The command word and the injector as Python classes.

use std::path::PathBuf;
use std::sync::Arc;

use framegate_checkpoint::injector::{Handle, Injector};
use framegate_checkpoint::mapping::{Refused, SharedWord};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::word;
use framegate_core::clock::monotonic_ns;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;

/// The word in shared memory through which a barrier is requested; see
/// `framegate.joinbarrier.checkpoint.BarrierInjectorHandle`.
#[pyclass(module = "framegate._native", frozen)]
pub struct CommandWord {
    shared: Arc<SharedWord>,
    handle: Handle,
}

#[pymethods]
impl CommandWord {
    #[staticmethod]
    fn anonymous(py: Python<'_>) -> PyResult<Self> {
        Self::over(py, SharedWord::anonymous(), PathBuf::new())
    }

    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::over(py, SharedWord::create(&path), path)
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::over(py, SharedWord::open(&path), path)
    }

    #[staticmethod]
    fn is_lock_free() -> bool {
        word::is_lock_free()
    }

    fn inject(&self, py: Python<'_>, checkpoint_id: u64, epoch: u64, unaligned: bool) -> PyResult<()> {
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.handle.inject(barrier).map_err(|unfit| {
            let field = match unfit {
                word::Unfit::Id => "checkpoint_id",
                word::Unfit::Epoch => "epoch",
            };
            match field.into_pyobject(py) {
                Ok(field) => {
                    raise(py, "InvalidValue", "no barrier can have this value", &[("field", field.into_any())])
                }
                Err(never) => match never {},
            }
        })
    }
}

impl CommandWord {
    /// The word itself, for a producer that runs its injector beside its streams.
    pub(crate) fn shared(&self) -> Arc<SharedWord> {
        Arc::clone(&self.shared)
    }

    fn over(py: Python<'_>, found: Result<SharedWord, Refused>, path: PathBuf) -> PyResult<Self> {
        let shared = Arc::new(found.map_err(|refused| {
            let why = match refused {
                Refused::Io(failure) => format!("the file cannot be used: {failure}"),
                Refused::NotOurs => "it is not a regular file of this user".to_owned(),
                Refused::Bytes(bytes) => format!("it has {bytes} bytes"),
                Refused::Magic => "it does not begin as a command word does".to_owned(),
                Refused::Version(version) => format!("it is a command word of version {version}"),
                Refused::Busy => "another source uses it".to_owned(),
            };
            match path.display().to_string().into_pyobject(py) {
                Ok(path) => raise(py, "CommandWordRefused", &why, &[("path", path.into_any())]),
                Err(never) => match never {},
            }
        })?);
        Ok(Self { handle: Handle::new(Arc::clone(&shared)), shared })
    }
}

/// The native injector; users hold it as `framegate.joinbarrier.checkpoint.CheckpointBarrierInjector`.
#[pyclass(module = "framegate._native")]
pub struct BarrierInjector {
    injector: Injector,
}

#[pymethods]
impl BarrierInjector {
    #[new]
    #[pyo3(signature = (word, interval_ns))]
    fn new(word: &CommandWord, interval_ns: Option<u64>) -> Self {
        Self { injector: Injector::new(Arc::clone(&word.shared), interval_ns) }
    }

    #[pyo3(signature = (now_ns))]
    fn poll(&mut self, now_ns: Option<u64>) -> Option<(u64, u64, bool)> {
        let barrier = match now_ns {
            Some(now_ns) => self.injector.poll(now_ns),
            None => self.injector.poll_by_count(monotonic_ns),
        }?;
        Some((barrier.checkpoint_id, barrier.epoch, barrier.is_unaligned()))
    }

    fn counted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (name, value) in self.injector.counters().named() {
            found.set_item(name, value)?;
        }
        Ok(found)
    }
}
