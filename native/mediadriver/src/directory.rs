// SPDX-License-Identifier: Apache-2.0
//! The directory that a media driver serves: which names in it are Aeron's, and how those go without anything else.
//!
//! ```text
//! DIR/cnc.dat   DIR/loss-report.dat   DIR/publications/*.logbuffer   DIR/images/*.logbuffer
//! ```
//!
//! Aeron's own clean-up removes the whole tree, whoever made what lies in it. This one stops at the first foreign name.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const FILES: [&str; 2] = ["cnc.dat", "loss-report.dat"];
const FOLDERS: [&str; 2] = ["publications", "images"];
const LOG_BUFFER: &str = "logbuffer";

/// The first name in the directory, by order, that no media driver makes. None also where there is no directory.
pub fn first_foreign(directory: &Path) -> io::Result<Option<PathBuf>> {
    for entry in sorted(directory)? {
        let kind = entry.file_type()?;
        let (path, name) = (entry.path(), entry.file_name());
        if kind.is_dir() && FOLDERS.iter().any(|own| name == *own) {
            let log_buffer = |each: &DirEntry| each.path().extension().is_some_and(|end| end == LOG_BUFFER);
            if let Some(foreign) = sorted(&path)?.into_iter().find(|each| !log_buffer(each)) {
                return Ok(Some(foreign.path()));
            }
        } else if !(kind.is_file() && FILES.iter().any(|own| name == *own)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Removes what a media driver made, then the directory. A foreign name stays, and the directory with it.
pub fn clear(directory: &Path) -> io::Result<()> {
    for folder in FOLDERS.map(|name| directory.join(name)) {
        for entry in sorted(&folder)? {
            if entry.path().extension().is_some_and(|end| end == LOG_BUFFER) {
                absent_or(fs::remove_file(entry.path()))?;
            }
        }
        absent_or(fs::remove_dir(folder))?;
    }
    for file in FILES {
        absent_or(fs::remove_file(directory.join(file)))?;
    }
    absent_or(fs::remove_dir(directory))
}

fn sorted(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

/// What is not there need not be removed; a folder that is not empty holds something foreign, and stays.
fn absent_or(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| {
        let is_left = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty);
        if is_left { Ok(()) } else { Err(error) }
    })
}
