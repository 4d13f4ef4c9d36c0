// SPDX-License-Identifier: Apache-2.0
//! A stream's regions. A driver makes them, and its clients open them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use framegate_core::pool::layout::SUPERBLOCK_BYTES;
use framegate_core::pool::region::{CreateOptions, OpenOptionsForRegion, Region, RegionError};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::superblock::{Expected, Superblock, SuperblockFault};
use framegate_core::unpoisoned;
use pyo3::prelude::*;

use crate::errors::raise;

/// The mapped `header.ring` and pools of one stream in one epoch.
///
/// Frames, producers and consumers that use them keep the mapping alive after `close`.
#[pyclass(frozen, module = "framegate._native")]
pub struct PoolRegions {
    regions: Mutex<Option<Arc<Regions>>>,
    #[pyo3(get)]
    stream_id: u32,
    #[pyo3(get)]
    epoch: u64,
    #[pyo3(get)]
    nslots: u32,
    /// The paths of the files, the ring's first.
    #[pyo3(get)]
    paths: Vec<String>,
    #[pyo3(get)]
    nbytes: u64,
}

impl PoolRegions {
    fn new(ring: Region, pools: Vec<Region>) -> Result<Self, RegionError> {
        let all = || std::iter::once(&ring).chain(&pools);
        let paths = all().map(|region| region.path().display().to_string()).collect();
        let nbytes = all().map(|region| region.bytes() as u64).sum();
        let regions = Regions::new(ring, pools)?;
        let (stream_id, epoch, nslots) = (regions.stream_id, regions.epoch, regions.nslots());
        Ok(Self { regions: Mutex::new(Some(Arc::new(regions))), stream_id, epoch, nslots, paths, nbytes })
    }

    /// The mapping, for an object that uses it.
    pub(crate) fn mapped(&self, py: Python<'_>) -> PyResult<Arc<Regions>> {
        let regions = unpoisoned(&self.regions).as_ref().map(Arc::clone);
        regions.ok_or_else(|| raise(py, "NotAttached", "the regions were closed before", &[]))
    }
}

#[pymethods]
impl PoolRegions {
    /// Makes the files in `folder`, with all their memory. If that fails, nothing is left behind.
    #[staticmethod]
    #[pyo3(signature = (folder, *, stream_id, epoch, nslots, pools, mode, prefault, require_hugepages, lock, now_ns))]
    #[allow(clippy::too_many_arguments)]
    fn create(
        py: Python<'_>,
        folder: &str,
        stream_id: u32,
        epoch: u64,
        nslots: u32,
        pools: Vec<(u16, u32)>,
        mode: u32,
        prefault: bool,
        require_hugepages: bool,
        lock: bool,
        now_ns: u64,
    ) -> PyResult<Self> {
        let ring = Expected { stream_id, epoch, pool_id: 0, nslots, stride_bytes: 0 };
        let options = CreateOptions { mode, prefault, require_hugepages };
        let pid = u64::from(std::process::id());
        let folder = Path::new(folder);
        // Filling hundreds of megabytes takes a while, so the GIL is released.
        py.detach(|| {
            let mut made: Vec<Region> = Vec::with_capacity(pools.len() + 1);
            let filled = (|| {
                made.push(Region::create(&folder.join("header.ring"), &ring, pid, now_ns, options)?);
                for (pool_id, stride_bytes) in pools {
                    let pool = Expected { pool_id, stride_bytes, ..ring };
                    made.push(Region::create(&folder.join(format!("{pool_id}.pool")), &pool, pid, now_ns, options)?);
                }
                if lock {
                    made.iter().try_for_each(Region::lock).map_err(|error| {
                        RegionError::Refused(format!("its pages cannot be locked: {error}; look at `ulimit -l`"))
                    })?;
                }
                Ok(())
            })();
            let paths: Vec<PathBuf> = made.iter().map(|region| region.path().to_owned()).collect();
            let complete = filled.and_then(|()| {
                let ring = made.remove(0);
                Self::new(ring, made)
            });
            complete.inspect_err(|_| remove(&paths, folder))
        })
        .map_err(|error| region_error(py, &error, &folder.display().to_string()))
    }

    /// Opens the regions that a driver announced. `pools` are (id, stride, path), and every path must lie inside one of
    /// `allowed`.
    #[staticmethod]
    #[pyo3(signature = (ring, *, stream_id, epoch, nslots, pools, allowed, writable, require_hugepages, prefault))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        ring: &str,
        stream_id: u32,
        epoch: u64,
        nslots: u32,
        pools: Vec<(u16, u32, String)>,
        allowed: Vec<PathBuf>,
        writable: bool,
        require_hugepages: bool,
        prefault: bool,
    ) -> PyResult<Self> {
        let expected = Expected { stream_id, epoch, pool_id: 0, nslots, stride_bytes: 0 };
        let options = OpenOptionsForRegion { writable, require_hugepages, prefault };
        let open = |path: &str, expected: &Expected| {
            py.detach(|| Region::open(Path::new(path), &allowed, expected, options))
                .map_err(|error| region_error(py, &error, path))
        };
        let header = open(ring, &expected)?;
        let mut opened = Vec::with_capacity(pools.len());
        for (pool_id, stride_bytes, path) in &pools {
            opened.push(open(path, &Expected { pool_id: *pool_id, stride_bytes: *stride_bytes, ..expected })?);
        }
        Self::new(header, opened).map_err(|error| region_error(py, &error, ring))
    }

    /// Writes the present time into the regions, as a sign that they are in use.
    fn refresh_activity(&self, now_ns: u64) {
        if let Some(regions) = unpoisoned(&self.regions).as_ref() {
            regions.refresh_activity(now_ns);
        }
    }

    /// `(activity_ns, pid)` of the ring at this moment; None if its magic is gone.
    fn activity(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        let regions = self.mapped(py)?;
        Ok(regions.ring_superblock().ok().map(|block| (block.activity_timestamp_ns, block.pid)))
    }

    /// The epoch in the ring's superblock at this moment; None if its magic is gone.
    fn mapped_epoch(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.mapped(py)?.ring_superblock().ok().map(|block| block.epoch))
    }

    #[getter]
    fn is_closed(&self) -> bool {
        unpoisoned(&self.regions).is_none()
    }

    /// Releases the mapping. The memory is unmapped once the last frame in it is gone.
    fn close(&self, py: Python<'_>) {
        let regions = unpoisoned(&self.regions).take();
        py.detach(|| drop(regions));
    }
}

/// Removes the files that were made, by name, and the folder if that leaves it empty.
fn remove(paths: &[PathBuf], folder: &Path) {
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
    let _ = std::fs::remove_dir(folder);
}

/// `(epoch, stream_id, pid, activity_ns)` of a region file; None if the file is not a region.
#[pyfunction]
pub fn region_mark(path: PathBuf) -> Option<(u64, u32, u64, u64)> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;

    let mut file =
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let mut block = [0_u8; SUPERBLOCK_BYTES];
    file.read_exact(&mut block).ok()?;
    let block = Superblock::decode(&block).ok()?;
    Some((block.epoch, block.stream_id, block.pid, block.activity_timestamp_ns))
}

fn region_error(py: Python<'_>, error: &RegionError, path: &str) -> PyErr {
    let described = || -> PyResult<PyErr> {
        let named = ("path", path.into_pyobject(py)?.into_any());
        Ok(match error {
            RegionError::NoRoom { want_bytes } => {
                let want = ("want_bytes", want_bytes.into_pyobject(py)?.into_any());
                raise(py, "NoRoom", "the file system has no room for the region", &[named, want])
            }
            RegionError::NoPermission(error) => raise(py, "NoPermission", &error.to_string(), &[named]),
            RegionError::Refused(reason) => raise(py, "RegionRefused", reason, &[named]),
            RegionError::Io(error) => raise(py, "RegionRefused", &error.to_string(), &[named]),
            RegionError::Superblock(SuperblockFault { field, want, have }) => {
                let facts = [
                    named,
                    ("field", field.into_pyobject(py)?.into_any()),
                    ("want", want.into_pyobject(py)?.into_any()),
                    ("have", have.into_pyobject(py)?.into_any()),
                ];
                raise(py, "RegionMismatch", "the superblock is not the one that was announced", &facts)
            }
        })
    };
    described().unwrap_or_else(|failure| failure)
}
