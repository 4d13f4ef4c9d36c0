// SPDX-License-Identifier: Apache-2.0
//! The account of what retention removed from a table, in a file of its folder (PROTOCOL 16.8).
//!
//! The thread that makes the table's files keeps the account. It counts a segment and replaces the file before the
//! segment is removed, so the account never lags behind what is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use arrow_ipc::root_as_message;
use serde_json::{Value, json};

use crate::cell_columns::{BUFFERS_PER_INPUT, buffers_before};
use crate::config::{Durability, JournalError};
use crate::faults::fault;
use crate::head_columns::HEAD_COLUMNS;
use crate::layout::{CONTINUATION, PREFIX_BYTES};
use crate::message::read_metadata;
use crate::schema::{Table, TableSchema};

const FORMAT: u64 = 1;
const FILE: &str = "retired.json";
const TEMPORARY: &str = "retired.tmp";
/// Most exact ranges of an entry.
const RANGES_MAX: usize = 64;
/// Most entries of one input and fate.
const EPOCHS_MAX: usize = 64;
/// The fate of a frame in the table of rows.
const JOINED: &str = "joined";

/// The account of one table.
#[derive(Debug)]
pub(crate) struct Retired {
    folder: PathBuf,
    table: Table,
    journal_epoch: u64,
    is_durable: bool,
    inputs: Vec<String>,
    /// Every row below this one is counted, or still exists.
    pub(crate) before: u64,
    segments: u64,
    unread_rows: u64,
    entries: Vec<Entry>,
}

/// How many frames of one input and epoch had one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    input: String,
    epoch: u64,
    epochs: u64,
    fate: String,
    frames: u64,
    repeats: u64,
    first: u64,
    last: u64,
    sum: u64,
    squares: u64,
    ranges: Option<Vec<(u64, u64)>>,
}

impl Retired {
    /// Reads the account of this journal epoch from the folder's file; empty if there is none.
    pub(crate) fn open(
        folder: &Path,
        schema: &TableSchema,
        journal_epoch: u64,
        durability: Durability,
    ) -> Result<Self, JournalError> {
        // A writer that was killed while it replaced the account leaves this file.
        let _ = fs::remove_file(folder.join(TEMPORARY));
        let path = folder.join(FILE);
        let inputs = schema.fields.iter().skip(HEAD_COLUMNS.len()).map(|field| field.name().clone()).collect();
        let mut account = Self {
            folder: folder.to_owned(),
            table: schema.table,
            journal_epoch,
            is_durable: matches!(durability, Durability::Fsync | Durability::Checkpoint),
            inputs,
            before: 0,
            segments: 0,
            unread_rows: 0,
            entries: Vec::new(),
        };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(account),
            Err(error) => return Err(JournalError::Io { path, error }),
        };
        let found: Value = serde_json::from_slice(&text).unwrap_or(Value::Null);
        account.read(&found).ok_or_else(|| {
            let reason = "the account of what was removed makes no sense; without it the journal opens all the same";
            JournalError::Damaged { path, reason: reason.into() }
        })?;
        Ok(account)
    }

    fn read(&mut self, found: &Value) -> Option<()> {
        let number = |key: &str| found[key].as_u64();
        if number("format")? != FORMAT || number("journal_epoch")? != self.journal_epoch {
            return Some(());
        }
        self.before = number("before")?;
        (self.segments, self.unread_rows) = (number("segments")?, number("unread_rows")?);
        self.entries = found["entries"].as_array()?.iter().map(Entry::read).collect::<Option<_>>()?;
        Some(())
    }

    /// Counts a segment whose rows end at `end_row`, and replaces the file. A segment that was already counted is
    /// ignored.
    pub(crate) fn count(&mut self, segment: &[u8], first_row: u64, end_row: u64) -> Result<(), JournalError> {
        if end_row <= self.before {
            return Ok(());
        }
        if let Err(read_rows) = self.fold(segment) {
            self.unread_rows += (end_row - first_row).saturating_sub(read_rows);
        }
        self.segments += 1;
        self.before = end_row;
        fault!("retired.counted");
        self.save()
    }

    /// Adds what a segment holds. The error is the number of rows read, if not all could be.
    fn fold(&mut self, segment: &[u8]) -> Result<(), u64> {
        let mut read_rows = 0;
        let mut next = first_batch(segment).ok_or(0_u64)?;
        loop {
            let Some(batch) = Batch::at(segment, next).ok_or(read_rows)? else { return Ok(()) };
            self.fold_batch(&batch).ok_or(read_rows)?;
            read_rows += batch.rows as u64;
            next = batch.end;
        }
    }

    fn fold_batch(&mut self, batch: &Batch<'_>) -> Option<()> {
        let rows = batch.rows;
        match self.table {
            Table::Rows => {
                let (seq_at, epoch_at) = (buffers_before("seq"), buffers_before("epoch"));
                for index in 0..self.inputs.len() {
                    let at = HEAD_COLUMNS.len() * 2 + index * BUFFERS_PER_INPUT;
                    let (seqs, epochs) = (batch.int64(at + seq_at)?, batch.int64(at + epoch_at)?);
                    let name = self.inputs[index].clone();
                    for row in 0..rows {
                        if let (Some(seq), Some(epoch)) = (seqs.get(row)?, epochs.get(row)?) {
                            self.entry(&name, epoch, JOINED).join(seq);
                        }
                    }
                }
            }
            Table::Unmatched => {
                let (inputs, causes) = (batch.text(0)?, batch.text(17)?);
                let (epochs, firsts, lasts) = (batch.int64(5)?, batch.int64(7)?, batch.int64(9)?);
                for row in 0..rows {
                    let (first, last) = (firsts.get(row)??, lasts.get(row)??);
                    self.entry(inputs.get(row)?, epochs.get(row)??, causes.get(row)?).mention(first, last.max(first));
                }
            }
        }
        Some(())
    }

    /// The entry of an epoch, added if it is missing. Entries are sorted; if there are too many, the oldest two are
    /// merged.
    fn entry(&mut self, input: &str, epoch: u64, fate: &str) -> &mut Entry {
        let is_of = |entry: &Entry| entry.input == input && entry.fate == fate;
        let holds = |entry: &Entry| entry.epoch == epoch || (entry.epochs > 1 && epoch < entry.epoch);
        if let Some(found) = self.entries.iter().position(|entry| is_of(entry) && holds(entry)) {
            return &mut self.entries[found];
        }
        let key = (input, fate, epoch);
        let at = self.entries.partition_point(|entry| (entry.input.as_str(), entry.fate.as_str(), entry.epoch) < key);
        self.entries.insert(at, Entry::new(input, epoch, fate));
        let of_this: Vec<usize> = (0..self.entries.len()).filter(|index| is_of(&self.entries[*index])).collect();
        if of_this.len() <= EPOCHS_MAX {
            return &mut self.entries[at];
        }
        let lowest = self.entries.remove(of_this[0]);
        self.entries[of_this[0]].merge(&lowest);
        &mut self.entries[at.saturating_sub(1).max(of_this[0])]
    }

    fn save(&self) -> Result<(), JournalError> {
        let (path, temporary) = (self.folder.join(FILE), self.folder.join(TEMPORARY));
        let written = self.write(&temporary).inspect_err(|_| {
            // Half a file is useless, and there may be no space for it.
            let _ = fs::remove_file(&temporary);
        });
        fault!("retired.written");
        let replaced = written.and_then(|()| fs::rename(&temporary, &path));
        fault!("retired.replaced");
        replaced.and_then(|()| if self.is_durable { File::open(&self.folder)?.sync_all() } else { Ok(()) }).map_err(
            |error| match error.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => JournalError::NoRoom { want_bytes: 0 },
                _ => JournalError::Io { path, error },
            },
        )
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let entries: Vec<Value> = self.entries.iter().map(Entry::as_json).collect();
        let account = json!({
            "format": FORMAT, "table": self.table.name(), "journal_epoch": self.journal_epoch, "before": self.before,
            "segments": self.segments, "unread_rows": self.unread_rows, "entries": entries,
        });
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o660).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let mut file = options.open(path)?;
        file.write_all(account.to_string().as_bytes())?;
        file.write_all(b"\n")?;
        if self.is_durable { file.sync_all() } else { Ok(()) }
    }
}

impl Entry {
    fn new(input: &str, epoch: u64, fate: &str) -> Self {
        let (input, fate) = (input.to_owned(), fate.to_owned());
        let ranges = Some(Vec::new());
        Self { input, epoch, epochs: 1, fate, frames: 0, repeats: 0, first: 0, last: 0, sum: 0, squares: 0, ranges }
    }

    fn read(found: &Value) -> Option<Self> {
        let number = |key: &str| found[key].as_u64();
        let range = |pair: &Value| Some((pair[0].as_u64()?, pair[1].as_u64()?));
        Some(Self {
            input: found["input"].as_str()?.to_owned(),
            epoch: number("epoch")?,
            epochs: number("epochs")?,
            fate: found["fate"].as_str()?.to_owned(),
            frames: number("frames")?,
            repeats: number("repeats")?,
            first: number("first")?,
            last: number("last")?,
            sum: number("sum")?,
            squares: number("squares")?,
            ranges: match found["ranges"].as_array() {
                Some(ranges) => Some(ranges.iter().map(range).collect::<Option<_>>()?),
                None => None,
            },
        })
    }

    fn as_json(&self) -> Value {
        json!({
            "input": self.input, "epoch": self.epoch, "epochs": self.epochs, "fate": self.fate, "frames": self.frames,
            "repeats": self.repeats, "first": self.first, "last": self.last, "sum": self.sum,
            "squares": self.squares, "ranges": self.ranges,
        })
    }

    /// Counts a frame of the table of rows, once.
    fn join(&mut self, seq: u64) {
        let is_known = match &self.ranges {
            Some(ranges) => ranges[..ranges.partition_point(|range| range.0 <= seq)].last().is_some_and(|r| seq <= r.1),
            None => self.frames > 0 && seq <= self.last,
        };
        if is_known {
            self.repeats += 1;
        } else {
            self.mention(seq, seq);
        }
    }

    /// Counts these frames, whether they were counted before or not.
    fn mention(&mut self, first: u64, last: u64) {
        let is_first = self.frames == 0;
        self.frames = self.frames.wrapping_add((last - first).wrapping_add(1));
        self.first = if is_first { first } else { self.first.min(first) };
        self.last = self.last.max(last);
        let below = first.wrapping_sub(1);
        let difference = |of: fn(u64) -> u64| of(last).wrapping_sub(if first == 0 { 0 } else { of(below) });
        self.sum = self.sum.wrapping_add(difference(sum));
        self.squares = self.squares.wrapping_add(difference(squares));
        if let Some(ranges) = &mut self.ranges {
            insert(ranges, first, last);
            if ranges.len() > RANGES_MAX {
                self.ranges = None;
            }
        }
    }

    /// Takes in the entry of earlier epochs.
    fn merge(&mut self, earlier: &Self) {
        self.epochs += earlier.epochs;
        (self.first, self.last) = match (self.frames, earlier.frames) {
            (_, 0) => (self.first, self.last),
            (0, _) => (earlier.first, earlier.last),
            _ => (self.first.min(earlier.first), self.last.max(earlier.last)),
        };
        self.frames = self.frames.wrapping_add(earlier.frames);
        self.repeats += earlier.repeats;
        self.sum = self.sum.wrapping_add(earlier.sum);
        self.squares = self.squares.wrapping_add(earlier.squares);
        self.ranges = None;
    }
}

/// Adds a range to sorted ranges that do not touch each other.
fn insert(ranges: &mut Vec<(u64, u64)>, first: u64, last: u64) {
    let from = ranges.partition_point(|range| range.1.saturating_add(1) < first);
    let to = ranges.partition_point(|range| range.0 <= last.saturating_add(1));
    let merged = ranges[from..to].iter().fold((first, last), |all, each| (all.0.min(each.0), all.1.max(each.1)));
    ranges.splice(from..to, [merged]);
}

/// The sum 0 + 1 + ... + `last`, modulo 2^64.
const fn sum(last: u64) -> u64 {
    let (a, b) = (last as u128, last as u128 + 1);
    let (a, b) = if a % 2 == 0 { (a / 2, b) } else { (a, b / 2) };
    (a as u64).wrapping_mul(b as u64)
}

/// The sum of the squares of 0 to `last`, modulo 2^64.
const fn squares(last: u64) -> u64 {
    let (mut a, mut b, mut c) = (last as u128, last as u128 + 1, 2 * last as u128 + 1);
    if a % 2 == 0 {
        a /= 2;
    } else {
        b /= 2;
    }
    if a % 3 == 0 {
        a /= 3;
    } else if b % 3 == 0 {
        b /= 3;
    } else {
        c /= 3;
    }
    (a as u64).wrapping_mul(b as u64).wrapping_mul(c as u64)
}

/// The number of a segment's first row, from its first batch.
pub(crate) fn first_row_of(segment: &[u8]) -> Option<u64> {
    let start = first_batch(segment)?;
    let length = (word(segment, start)? >> 32) as usize;
    let message = root_as_message(segment.get(start + PREFIX_BYTES..start + PREFIX_BYTES + length)?).ok()?;
    Some(read_metadata(&message)?.0.first_row)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The offset of the first batch, behind the magic and the schema message.
fn first_batch(segment: &[u8]) -> Option<usize> {
    let prefix = word(segment, 8)?;
    (prefix as u32 == CONTINUATION).then_some(8 + PREFIX_BYTES + (prefix >> 32) as usize)
}

/// One batch of a segment, without its payloads.
struct Batch<'a> {
    rows: usize,
    body: &'a [u8],
    buffers: Vec<(usize, usize)>,
    end: usize,
}

impl<'a> Batch<'a> {
    /// Reads the batch at an offset. The inner None is the end of the batches; the outer None means that no batch lies
    /// there.
    fn at(segment: &'a [u8], start: usize) -> Option<Option<Self>> {
        let prefix = word(segment, start)?;
        if prefix >> 32 == 0 {
            return Some(None);
        }
        let body = start.checked_add(PREFIX_BYTES)?.checked_add((prefix >> 32) as usize)?;
        let message = root_as_message(segment.get(start + PREFIX_BYTES..body)?).ok()?;
        let batch = message.header_as_record_batch()?;
        let end = body.checked_add(usize::try_from(message.bodyLength()).ok()?)?;
        let pair = |(offset, length): (i64, i64)| Some((usize::try_from(offset).ok()?, usize::try_from(length).ok()?));
        let buffers = batch.buffers()?.iter().map(|buffer| pair((buffer.offset(), buffer.length())));
        let rows = usize::try_from(batch.length()).ok()?;
        Some(Some(Self { rows, body: segment.get(body..end)?, buffers: buffers.collect::<Option<_>>()?, end }))
    }

    fn buffer(&self, index: usize) -> Option<&'a [u8]> {
        let (start, length) = *self.buffers.get(index)?;
        self.body.get(start..start.checked_add(length)?)
    }

    /// A column of integers, by the index of its validity buffer.
    fn int64(&self, index: usize) -> Option<Int64s<'a>> {
        Some(Int64s { validity: self.buffer(index)?, values: self.buffer(index + 1)? })
    }

    fn text(&self, index: usize) -> Option<Texts<'a>> {
        Some(Texts { offsets: self.buffer(index + 1)?, bytes: self.buffer(index + 2)? })
    }
}

struct Int64s<'a> {
    validity: &'a [u8],
    values: &'a [u8],
}

impl Int64s<'_> {
    /// The value of a row, None if it is null; the outer None if the column is too short.
    fn get(&self, row: usize) -> Option<Option<u64>> {
        let value = word(self.values, row * 8)?;
        if self.validity.is_empty() {
            return Some(Some(value));
        }
        let is_valid = self.validity.get(row / 8)? >> (row % 8) & 1 == 1;
        Some(is_valid.then_some(value))
    }
}

struct Texts<'a> {
    offsets: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Texts<'a> {
    fn get(&self, row: usize) -> Option<&'a str> {
        let offset =
            |at: usize| Some(u32::from_le_bytes(self.offsets.get(at * 4..at * 4 + 4)?.try_into().ok()?) as usize);
        std::str::from_utf8(self.bytes.get(offset(row)?..offset(row + 1)?)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_ranges_are_those_of_their_numbers() {
        for (first, last) in [(0, 0), (0, 9), (5, 5), (7, 100), (u64::MAX - 3, u64::MAX)] {
            let mut entry = Entry::new("a", 1, JOINED);
            entry.mention(first, last);
            let numbers = || first..=last;
            assert_eq!(entry.sum, numbers().fold(0_u64, u64::wrapping_add), "{first} {last}");
            assert_eq!(entry.squares, numbers().fold(0_u64, |all, each| all.wrapping_add(each.wrapping_mul(each))));
            assert_eq!((entry.first, entry.last, entry.frames), (first, last, last - first + 1));
        }
    }

    #[test]
    fn a_frame_of_several_rows_counts_once_with_ranges_and_without() {
        let mut entry = Entry::new("a", 1, JOINED);
        for seq in (0..400).step_by(2) {
            entry.join(seq);
            entry.join(seq);
        }
        assert_eq!((entry.frames, entry.repeats, entry.ranges.is_none()), (200, 200, true));
        assert_eq!(entry.sum, (0..400).step_by(2).sum::<u64>());
    }

    #[test]
    fn ranges_rise_and_do_not_touch_whatever_the_order() {
        let mut ranges = Vec::new();
        for (first, last) in [(5, 6), (0, 1), (9, 9), (7, 8), (3, 3), (2, 2)] {
            insert(&mut ranges, first, last);
        }
        assert_eq!(ranges, [(0, 3), (5, 9)]);
    }

    #[test]
    fn more_epochs_than_are_listed_are_merged_from_the_oldest_on() {
        let schema = TableSchema { table: Table::Unmatched, fields: crate::schema::unmatched_fields() };
        let mut account = Retired::open(Path::new("/nowhere"), &schema, 7, Durability::Memory).unwrap();
        for epoch in 0..100 {
            account.entry("a", epoch, "aged").mention(epoch, epoch);
        }
        account.entry("a", 3, "aged").mention(1000, 1000);
        assert_eq!(account.entries.len(), EPOCHS_MAX);
        let oldest = &account.entries[0];
        assert_eq!((oldest.epoch, oldest.epochs, oldest.frames, oldest.last), (36, 37, 38, 1000));
        assert!(account.entries[1..].iter().all(|entry| entry.epochs == 1 && entry.frames == 1));
    }
}
