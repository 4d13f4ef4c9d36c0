// SPDX-License-Identifier: Apache-2.0
//! Recovers what an earlier writer left: open segments are cut behind their final whole batch, and finished.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use arrow_ipc::Block;

use crate::chain::Finished;
use crate::config::{Durability, JournalError};
use crate::faults::fault;
use crate::mapping::Mapping;
use crate::message::BatchNumbers;
use crate::retired::{Retired, first_row_of};
use crate::schema::{SegmentNumbers, Table, TableSchema};
use crate::segment::Segment;
use crate::walk::{Found, Walk, walk};

/// What the files of a table must say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) out_stream: u64,
    pub(crate) journal_epoch: u64,
    /// The newest seal of rows. Batches whose state names a later seal are not accounted for.
    pub(crate) last_seal: Option<u64>,
    pub(crate) durability: Durability,
}

/// What a table held.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) finished: VecDeque<Finished>,
    pub(crate) last: Option<(BatchNumbers, String)>,
    pub(crate) next_ordinal: u64,
    pub(crate) cut_batches: u64,
    pub(crate) cut_rows: u64,
}

impl Recovery {
    pub(crate) fn next_row(&self) -> u64 {
        self.last.as_ref().map_or(0, |(numbers, _)| numbers.first_row + u64::from(numbers.rows))
    }
}

/// A file whose name is that of a segment.
struct Named {
    path: PathBuf,
    ordinal: u64,
    first_row: Option<u64>,
    is_open: bool,
}

/// Recovers a table's files, newest first, and says what they hold.
pub(crate) fn recover(folder: &Path, schema: &TableSchema, wanted: &Wanted) -> Result<Recovery, JournalError> {
    let mut table = Recovery::default();
    let mut next_first_row = None;
    for named in segments(folder, schema.table)? {
        table.next_ordinal = table.next_ordinal.max(named.ordinal + 1);
        let is_known = table.last.is_some() && !named.is_open;
        let found = if is_known {
            unwalked(&named, schema, next_first_row)?
        } else {
            recover_one(&named, schema, wanted, &mut table)?
        };
        let Some(finished) = found else { continue };
        if next_first_row.is_some_and(|row| row != finished.end_row) {
            let reason = format!("its rows end at {}, and the next segment begins elsewhere", finished.end_row);
            return Err(JournalError::Damaged { path: finished.path, reason });
        }
        next_first_row = Some(finished.first_row);
        table.finished.push_front(finished);
    }
    Ok(table)
}

/// Removes segments that a writer had counted as removed but not yet deleted. The newest segment stays, because it
/// holds the state.
pub(crate) fn finish_drops(table: &mut Recovery, retired: &Retired) -> Result<(), JournalError> {
    while table.finished.len() > 1
        && let Some(counted) = table.finished.front().filter(|oldest| oldest.end_row <= retired.before)
    {
        fs::remove_file(&counted.path).map_err(failed(&counted.path))?;
        table.finished.pop_front();
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> JournalError + '_ {
    move |error| JournalError::Io { path: path.to_owned(), error }
}

/// The segments of a folder, newest first. Files that had not become segments yet are removed.
fn segments(folder: &Path, table: Table) -> Result<Vec<Named>, JournalError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("free-") {
            fs::remove_file(&path).map_err(failed(&path))?;
        } else if let Some(named) = named(&path, name, table) {
            found.push(named);
        }
    }
    found.sort_by_key(|named| std::cmp::Reverse(named.ordinal));
    Ok(found)
}

fn named(path: &Path, name: &str, table: Table) -> Option<Named> {
    let (stem, extension) = name.split_once('.')?;
    let (ordinal, first_row) = match (table, stem.split_once('-')) {
        (Table::Rows, Some((ordinal, first_row))) => (ordinal, Some(first_row.parse().ok()?)),
        (Table::Unmatched, None) => (stem, None),
        _ => return None,
    };
    let is_open = match extension {
        "open" => true,
        "arrow" => false,
        _ => return None,
    };
    Some(Named { path: path.to_owned(), ordinal: ordinal.parse().ok()?, first_row, is_open })
}

/// Takes a finished segment without walking it, because a newer one with batches exists. The names of both give its
/// rows; its header tells how often the file was used, so that its next use gets a new number. An unreadable header
/// stops nothing here; `journal verify` reports it.
fn unwalked(named: &Named, schema: &TableSchema, end_row: Option<u64>) -> Result<Option<Finished>, JournalError> {
    let bytes = fs::symlink_metadata(&named.path).map_err(failed(&named.path))?.len();
    let end_row = end_row.unwrap_or(0);
    let mapping = map(&named.path).ok().map(|(_, mapping)| mapping);
    let header = mapping.as_ref().and_then(|mapping| schema.read_header(mapping.content()).ok());
    // The names of unmatched segments do not contain the row.
    let first_row = named.first_row.or_else(|| first_row_of(mapping.as_ref()?.content())).unwrap_or(end_row);
    let generation = header.map_or(1, |(_, numbers)| numbers.generation);
    Ok(Some(Finished { path: named.path.clone(), bytes, first_row, end_row, generation, warm: None }))
}

fn recover_one(
    named: &Named,
    schema: &TableSchema,
    wanted: &Wanted,
    table: &mut Recovery,
) -> Result<Option<Finished>, JournalError> {
    let damaged = |reason| JournalError::Damaged { path: named.path.clone(), reason };
    let (file, mapping) = map(&named.path).map_err(failed(&named.path))?;
    let (start, numbers) = schema.read_header(mapping.content()).map_err(damaged)?;
    check_numbers(&numbers, named, wanted).map_err(damaged)?;
    let mut walk = walk(mapping.content(), start, schema, numbers.generation, named.first_row);
    if let (Some(reason), false) = (&walk.fault, named.is_open) {
        return Err(damaged(reason.clone()));
    }
    let is_cut = cut(&mut walk, &mapping, wanted, table);
    let first_row = walk.batches.first().map(|found| found.numbers.first_row).or(named.first_row).unwrap_or(0);
    if let (None, Some(last)) = (&table.last, walk.batches.last()) {
        table.last = Some((last.numbers, last.state.clone()));
    }
    let end_row = walk.batches.last().map_or(first_row, |last| last.numbers.first_row + u64::from(last.numbers.rows));
    if walk.batches.is_empty() {
        fs::remove_file(&named.path).map_err(failed(&named.path))?;
        return Ok(None);
    }
    let (mut path, mut bytes) = (named.path.clone(), mapping.bytes() as u64);
    if named.is_open || is_cut {
        let open = path.with_extension("open");
        fs::rename(&path, &open).map_err(failed(&open))?;
        fault!("recovery.reopened");
        let mut segment = Segment::found(file, mapping, open, numbers, first_row);
        segment.next = walk.end;
        segment.blocks = walk.batches.iter().map(block).collect();
        segment.mapping.publish(walk.end, 0);
        fault!("recovery.cut");
        (bytes, path) = segment.finish(schema, wanted.durability)?;
        fault!("recovery.finished");
    }
    Ok(Some(Finished { path, bytes, first_row, end_row, generation: numbers.generation, warm: None }))
}

fn map(path: &Path) -> io::Result<(File, Mapping)> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path)?;
    let bytes = usize::try_from(file.metadata()?.len()).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    if bytes == 0 {
        return Err(io::Error::other("the file is empty"));
    }
    let mapping = Mapping::new(&file, bytes)?;
    Ok((file, mapping))
}

fn check_numbers(numbers: &SegmentNumbers, named: &Named, wanted: &Wanted) -> Result<(), String> {
    let want = (wanted.out_stream, wanted.journal_epoch, named.ordinal);
    let have = (numbers.out_stream, numbers.journal_epoch, numbers.ordinal);
    if want == have {
        return Ok(());
    }
    Err(format!("it says (out_stream, journal_epoch, ordinal) = {have:?}, and {want:?} belongs here"))
}

/// Cuts off batches that are not whole or not accounted for; true if a finished segment must be written again.
fn cut(walk: &mut Walk, mapping: &Mapping, wanted: &Wanted, table: &mut Recovery) -> bool {
    if walk.fault.is_some() {
        table.cut_batches += 1;
    }
    let Some(last_seal) = wanted.last_seal else { return false };
    let is_early = |found: &Found| seal_of(&found.state).is_none_or(|seal| seal > last_seal);
    let Some(first) = walk.batches.iter().position(is_early) else { return false };
    for found in walk.batches.drain(first..).collect::<Vec<_>>() {
        walk.end = walk.end.min(found.start);
        table.cut_batches += 1;
        table.cut_rows += u64::from(found.numbers.rows);
    }
    debug_assert!(walk.end < mapping.bytes());
    true
}

/// The seal of rows that accounts for an unmatched batch, from the batch's state.
fn seal_of(state: &str) -> Option<u64> {
    state.strip_prefix("{\"seal\":")?.strip_suffix('}')?.trim().parse().ok()
}

fn block(found: &Found) -> Block {
    Block::new(found.start as i64, found.message_bytes as i32, found.body_bytes as i64)
}
