// SPDX-License-Identifier: Apache-2.0
//! Opens a journal: its head and folders, what an earlier writer left, and the first segments.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::batch::{Batch, empty_body_bytes, fixed_bytes_max};
use crate::cell_columns::{BUFFERS_PER_INPUT, NODES_PER_INPUT};
use crate::chain::{Chain, ChainRules};
use crate::config::{Config, Counters, JournalError, Recovered};
use crate::faults::{arm_from_environment, fault};
use crate::head::Head;
use crate::head_columns::HEAD_COLUMNS;
use crate::layout::{
    BLOCK_BYTES, NAME_BYTES_MAX, PREFIX_BYTES, TRAILER_BYTES, UNMATCHED_SEGMENT_BYTES, UNMATCHED_SEGMENTS_MAX,
};
use crate::message::Encoder;
use crate::recovery::{Recovery, Wanted, finish_drops, recover};
use crate::retired::Retired;
use crate::schema::{
    SegmentNumbers, Table, TableSchema, UNMATCHED_BUFFERS, UNMATCHED_NODES, rows_fields, unmatched_fields,
};
use crate::unmatched::{self, UnmatchedRows};
use crate::writer::{CLOSING_BATCHES, Writer};

/// Most cells that are kept beside the open batch.
const CELLS_MAX: usize = 1 << 22;

/// Opens or makes a journal; see [`Writer::open`].
pub(crate) fn open(config: Config) -> Result<(Writer, Recovered), JournalError> {
    arm_from_environment();
    let inputs = config.inputs.len();
    let rows_schema = TableSchema { table: Table::Rows, fields: rows_fields(&config.inputs) };
    let unmatched_schema = TableSchema { table: Table::Unmatched, fields: unmatched_fields() };
    let nodes = HEAD_COLUMNS.len() + inputs * NODES_PER_INPUT;
    let buffers = HEAD_COLUMNS.len() * 2 + inputs * BUFFERS_PER_INPUT;
    let rows_encoder = Encoder::new(nodes, buffers, config.state_capacity);
    let unmatched_encoder = Encoder::new(UNMATCHED_NODES, UNMATCHED_BUFFERS, unmatched::STATE_BYTES);
    let closing_bytes = CLOSING_BATCHES * (rows_encoder.message_bytes() + empty_body_bytes(inputs));
    let fresh_space = fresh_space(&config, &rows_schema, closing_bytes);
    check(&config, fresh_space, rows_encoder.message_bytes())?;

    make_folders(&config.dir)?;
    let (head, was_closed) = Head::open(&config.dir.join("journal.head"))?;
    fault!("open.locked");
    let wanted = Wanted {
        out_stream: config.out_stream.into(),
        journal_epoch: config.journal_epoch,
        last_seal: None,
        durability: config.durability,
    };
    let rows_folder = config.dir.join("segments");
    let unmatched_folder = config.dir.join("unmatched");
    let mut rows = recover(&rows_folder, &rows_schema, &wanted)?;
    let seals = rows.last.as_ref().map_or(0, |(numbers, _)| numbers.seal);
    let mut unmatched = recover(&unmatched_folder, &unmatched_schema, &Wanted { last_seal: Some(seals), ..wanted })?;
    let account =
        |folder: &Path, schema: &TableSchema| Retired::open(folder, schema, config.journal_epoch, config.durability);
    let rows_retired = account(&rows_folder, &rows_schema)?;
    let unmatched_retired = account(&unmatched_folder, &unmatched_schema)?;
    finish_drops(&mut rows, &rows_retired)?;
    finish_drops(&mut unmatched, &unmatched_retired)?;
    let recovered = recovered(&rows, &unmatched, was_closed);

    let segment_bytes = config.segment_bytes as usize;
    let rules = ChainRules {
        folder: rows_folder,
        out_stream: wanted.out_stream,
        journal_epoch: wanted.journal_epoch,
        segment_bytes,
        max_bytes: config.max_bytes,
        durability: config.durability,
        message_bytes: rows_encoder.message_bytes(),
    };
    let unmatched_rules = ChainRules {
        folder: unmatched_folder,
        segment_bytes: UNMATCHED_SEGMENT_BYTES,
        max_bytes: (UNMATCHED_SEGMENTS_MAX * UNMATCHED_SEGMENT_BYTES) as u64,
        message_bytes: unmatched_encoder.message_bytes(),
        ..rules.clone()
    };
    let unmatched_next_row = unmatched.next_row();
    let start = |schema, rules, table: Recovery, retired| {
        let next_row = table.next_row();
        Chain::start(schema, rules, table.finished, table.next_ordinal, next_row, retired)
    };
    let mut writer = Writer {
        batch: Batch::new(&config),
        rows: start(rows_schema, rules, rows, rows_retired)?,
        rows_encoder,
        unmatched: start(unmatched_schema, unmatched_rules, unmatched, unmatched_retired)?,
        unmatched_encoder,
        unmatched_rows: UnmatchedRows::new(),
        head,
        seals,
        unmatched_next_row,
        floor: None,
        fresh_space,
        closing_bytes,
        is_closing: false,
        looked_at_ns: 0,
        counters: Counters::default(),
        config,
    };
    if writer.config.prefault_all {
        writer.rows.make_all()?;
    }
    writer.tell_sealed();
    writer.head.begin(writer.config.journal_epoch);
    Ok((writer, recovered))
}

fn recovered(rows: &Recovery, unmatched: &Recovery, was_closed: bool) -> Recovered {
    Recovered {
        next_row: rows.next_row(),
        seals: rows.last.as_ref().map_or(0, |(numbers, _)| numbers.seal),
        state: rows.last.as_ref().map(|(_, state)| state.clone().into_bytes()),
        cut_batches: rows.cut_batches + unmatched.cut_batches,
        cut_rows: rows.cut_rows,
        // A journal that was never written counts as clean.
        was_clean: was_closed || (rows.last.is_none() && rows.cut_batches == 0),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> JournalError + '_ {
    move |error| JournalError::Io { path: path.to_owned(), error }
}

/// The space for one message in an empty segment, without what is kept for the journal's end.
fn fresh_space(config: &Config, schema: &TableSchema, closing_bytes: usize) -> usize {
    let longest =
        SegmentNumbers { out_stream: u64::MAX, journal_epoch: u64::MAX, ordinal: u64::MAX, generation: u64::MAX };
    let header = schema.header(&longest).len();
    // This must equal `Segment::limit` for the first batch.
    let tail = PREFIX_BYTES + header + 256 + BLOCK_BYTES * (1 + CLOSING_BATCHES) + TRAILER_BYTES + closing_bytes;
    let segment_bytes = usize::try_from(config.segment_bytes).unwrap_or(usize::MAX);
    (segment_bytes.saturating_sub(tail) & !63).saturating_sub(header)
}

fn check(config: &Config, fresh_space: usize, message_bytes: usize) -> Result<(), JournalError> {
    let refused = |reason: String| Err(JournalError::Config(reason));
    let inputs = config.inputs.len();
    let Config { seal_rows, segment_bytes, max_bytes, .. } = config;
    if inputs == 0 || inputs > crate::INPUTS_MAX {
        return refused(format!("a journal has 1 to {} inputs, not {inputs}", crate::INPUTS_MAX));
    }
    if let Some(name) = config.inputs.iter().find(|name| name.is_empty() || name.len() > NAME_BYTES_MAX) {
        return refused(format!("an input's name has 1 to {NAME_BYTES_MAX} bytes, not {}", name.len()));
    }
    if *seal_rows == 0 || *seal_rows as usize * inputs > CELLS_MAX {
        return refused(format!("seal_rows={seal_rows}: 1 to {} for {inputs} inputs", CELLS_MAX / inputs));
    }
    if segment_bytes % 4096 != 0 {
        return refused(format!("segment_bytes={segment_bytes} is not a multiple of 4096"));
    }
    let least = message_bytes + fixed_bytes_max(inputs, 1);
    if fresh_space < least {
        return refused(format!(
            "segment_bytes={segment_bytes} holds no row: {least} bytes more than {fresh_space} are needed"
        ));
    }
    if *max_bytes < segment_bytes.saturating_mul(2) {
        return refused(format!(
            "max_bytes={max_bytes} holds fewer than two segments of segment_bytes={segment_bytes}"
        ));
    }
    Ok(())
}

fn make_folders(dir: &Path) -> Result<(), JournalError> {
    for folder in [dir.to_owned(), dir.join("segments"), dir.join("unmatched"), dir.join("readers")] {
        DirBuilder::new().recursive(true).mode(0o770).create(&folder).map_err(failed(&folder))?;
    }
    Ok(())
}
