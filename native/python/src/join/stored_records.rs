// SPDX-License-Identifier: Apache-2.0
//! Records of a checkpoint, on their way from an engine's memory to a file.

use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};

use framegate_engine::Records;
use framegate_journal::crc;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes that are written at once. Their checksum is taken just before, so that they lie in the cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Records, each a u32 length and then as many bytes. They go to a file without becoming Python's `bytes`.
#[pyclass(frozen, module = "framegate._native")]
pub struct StoredRecords {
    records: Records,
}

impl StoredRecords {
    pub(super) const fn new(records: Records) -> Self {
        Self { records }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

#[pymethods]
impl StoredRecords {
    /// How many records there are.
    fn __len__(&self) -> usize {
        self.len()
    }

    /// Writes `head` and then the records to an open file, without the GIL. Returns how many bytes these are, and their
    /// CRC-32C.
    fn write(&self, py: Python<'_>, descriptor: RawFd, head: &[u8]) -> PyResult<(u64, u32)> {
        let written = py.detach(|| {
            // SAFETY: the caller keeps the descriptor open during the call, and it is not closed here.
            let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
            let (mut bytes, mut sum) = (0, 0);
            for block in std::iter::once(head).chain(self.records.pieces()).flat_map(|piece| piece.chunks(BLOCK_BYTES))
            {
                sum = crc::extend(sum, block);
                file.write_all(block)?;
                bytes += block.len() as u64;
            }
            Ok::<_, std::io::Error>((bytes, sum))
        });
        Ok(written?)
    }

    /// All records in one piece of memory.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let pieces: Vec<&[u8]> = self.records.pieces().collect();
        PyBytes::new_with(py, pieces.iter().map(|piece| piece.len()).sum(), |mut into| {
            for piece in pieces {
                let (here, rest) = into.split_at_mut(piece.len());
                here.copy_from_slice(piece);
                into = rest;
            }
            Ok(())
        })
    }
}
