// SPDX-License-Identifier: Apache-2.0
//! A journal is written, closed and recovered; and neither a row nor a seal allocates.

use std::path::PathBuf;
use std::time::Duration;

use framegate_journal::{
    Cell, Config, Durability, JournalError, Recovered, Reserved, RowHead, Status, Unmatched, WhenFull, Writer,
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(format!("/dev/shm/fg-journal-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(folder: &Folder, inputs: usize) -> Config {
    Config {
        dir: folder.0.clone(),
        out_stream: 20_001,
        journal_epoch: 7,
        inputs: (0..inputs).map(|index| format!("input_{index}")).collect(),
        seal_rows: 64,
        seal_bytes: 4 << 20,
        seal_ns: 1000,
        segment_bytes: 1 << 20,
        segment_ns: u64::MAX,
        max_bytes: 8 << 20,
        when_full: WhenFull::DropOldest,
        durability: Durability::Memory,
        prefault_all: false,
        state_capacity: 128,
        realtime_offset_ns: 0,
    }
}

/// Appends a row with the given payloads; returns the writer's answer.
fn append(writer: &mut Writer, seq: u64, payloads: &[&[u8]], now_ns: u64) -> Reserved {
    let mut lengths = [0_u32; 16];
    for (length, payload) in lengths.iter_mut().zip(payloads) {
        *length = payload.len() as u32;
    }
    let reserved = writer.reserve(&lengths[..payloads.len()], now_ns).unwrap();
    if reserved != Reserved::Ready {
        return reserved;
    }
    for (input, payload) in payloads.iter().enumerate() {
        // SAFETY: the source is as long as it says, and as long as was reserved.
        unsafe { writer.copy_payload(input, payload.as_ptr(), payload.len()) };
        let dims = [payload.len() as i32];
        let bytes = payload.len() as u32;
        let cell = Cell {
            status: Status::Present,
            seq,
            timestamp_ns: seq.is_multiple_of(2).then_some(seq),
            epoch: 3,
            trace_id: u64::MAX - seq,
            dtype: 1,
            dims: &dims,
            bytes,
        };
        writer.cell(input, &cell);
    }
    writer.commit_row(&RowHead { out_epoch: 1, out_seq: seq, ..RowHead::default() });
    Reserved::Ready
}

fn state(text: &str) -> impl FnOnce(&mut Vec<u8>) + '_ {
    move |state| state.extend_from_slice(text.as_bytes())
}

fn unmatched(seq: u64) -> Unmatched<'static> {
    Unmatched {
        input: 0,
        stream: 10_001,
        epoch: 1,
        seq,
        seq_last: seq,
        timestamp_ns: None,
        out_seq: Some(4),
        at_ns: 5,
        cause: "no_partner",
    }
}

#[test]
fn a_closed_journal_opens_with_its_rows_and_its_state() {
    let folder = Folder::new("closed");
    let (mut writer, recovered) = Writer::open(config(&folder, 2)).unwrap();
    assert_eq!(recovered, Recovered { was_clean: true, ..Recovered::default() });
    for seq in 0..3 {
        assert_eq!(append(&mut writer, seq, &[b"left", b"right"], 0), Reserved::Ready);
    }
    assert!(writer.unmatched(&unmatched(9), 0));
    let sealed = writer.seal(10, state("{\"first\":1}")).unwrap();
    assert_eq!((sealed.seal, sealed.first_row, sealed.rows, sealed.unmatched_rows), (1, 0, 3, 1));
    let counters = writer.close(20, state("{\"second\":2}")).unwrap();
    assert_eq!((counters.rows, counters.seals, counters.next_row, counters.bytes), (3, 2, 3, 27));
    let (writer, recovered) = Writer::open(config(&folder, 2)).unwrap();
    assert_eq!((recovered.next_row, recovered.seals, recovered.was_clean), (3, 2, true));
    assert_eq!(recovered.state.as_deref(), Some(&b"{\"second\":2}"[..]));
    assert_eq!(writer.next_row(), 3);
}

#[test]
fn what_was_not_sealed_is_gone_and_what_was_is_there() {
    let folder = Folder::new("dropped");
    let (mut writer, _) = Writer::open(config(&folder, 1)).unwrap();
    append(&mut writer, 0, &[b"sealed"], 0);
    writer.seal(0, state("{}")).unwrap();
    append(&mut writer, 1, &[b"not"], 0);
    drop(writer);
    let (_writer, recovered) = Writer::open(config(&folder, 1)).unwrap();
    assert_eq!((recovered.next_row, recovered.cut_batches, recovered.was_clean), (1, 0, false));
}

#[test]
fn more_unmatched_rows_than_wait_at_once_are_counted_by_the_one_seal_behind_them() {
    let folder = Folder::new("spill");
    let (mut writer, _) = Writer::open(config(&folder, 2)).unwrap();
    let fill = |writer: &mut Writer, first: u64| {
        (first..).take_while(|seq| writer.unmatched(&unmatched(*seq), 0)).count() as u64
    };
    let at_once = fill(&mut writer, 0);
    assert!(at_once > 0 && writer.is_seal_due(0));
    writer.spill_unmatched(0).unwrap();
    assert_eq!(fill(&mut writer, at_once), at_once);
    writer.seal(0, state("{}")).unwrap();
    assert_eq!(writer.counters().unmatched_rows, 2 * at_once);
    // These rows do not count.
    assert_eq!(fill(&mut writer, 2 * at_once), at_once);
    writer.spill_unmatched(0).unwrap();
    drop(writer);
    let (_, recovered) = Writer::open(config(&folder, 2)).unwrap();
    assert_eq!((recovered.seals, recovered.cut_batches, recovered.cut_rows), (1, 1, 0));
}

#[test]
fn a_file_that_is_being_made_is_told_from_a_journal_that_is_full() {
    // A file that was just ordered may already be there if the making thread is quick, so the order is repeated.
    assert!((0..20).any(|_| waits_for_files() > 0));
}

fn waits_for_files() -> u32 {
    let folder = Folder::new("coming");
    let (mut writer, _) = Writer::open(config(&folder, 2)).unwrap();
    let (mut seq, mut waits) = (0, 0);
    // Three segments of the side table: each time, the next file is ordered only when it is needed.
    while writer.counters().unmatched_rows < 3 * (2 << 20) / 64 {
        while writer.unmatched(&unmatched(seq), 0) {
            seq += 1;
        }
        if let Err(failure) = writer.spill_unmatched(0) {
            assert!(matches!(failure, JournalError::SegmentComing), "{failure}");
            assert!(writer.wait_for_segment(0, Duration::from_secs(20)));
            waits += 1;
            writer.spill_unmatched(0).unwrap();
        }
    }
    assert_eq!(writer.counters().unmatched_rows, seq);
    waits
}

#[test]
fn a_second_writer_is_refused() {
    let folder = Folder::new("locked");
    let (_writer, _) = Writer::open(config(&folder, 1)).unwrap();
    assert!(matches!(Writer::open(config(&folder, 1)), Err(JournalError::Locked { .. })));
}

#[test]
fn an_abandoned_row_leaves_nothing() {
    let folder = Folder::new("abandoned");
    let (mut writer, _) = Writer::open(config(&folder, 1)).unwrap();
    append(&mut writer, 0, &[b"first"], 0);
    assert_eq!(writer.reserve(&[5], 0).unwrap(), Reserved::Ready);
    // SAFETY: five bytes were reserved.
    unsafe { writer.copy_payload(0, b"never".as_ptr(), 5) };
    writer.abandon_row();
    append(&mut writer, 1, &[b"other"], 0);
    let sealed = writer.seal(0, state("{}")).unwrap();
    assert_eq!(sealed.rows, 2);
    drop(writer);
    // Recovery computes the CRC of the bytes in the segment.
    let (_writer, recovered) = Writer::open(config(&folder, 1)).unwrap();
    assert_eq!((recovered.next_row, recovered.cut_batches), (2, 0));
}

#[test]
fn a_state_that_is_too_long_seals_nothing_and_the_next_seal_has_the_rows() {
    let folder = Folder::new("state");
    let (mut writer, _) = Writer::open(config(&folder, 1)).unwrap();
    append(&mut writer, 0, &[b"row"], 0);
    let long = "x".repeat(129);
    let refused = writer.seal(0, state(&long));
    assert!(matches!(refused, Err(JournalError::StateTooLong { want_bytes: 129, capacity: 128 })));
    assert_eq!(writer.seal(0, state("{}")).unwrap().rows, 1);
}

#[test]
fn a_row_that_no_segment_holds_names_the_key() {
    let folder = Folder::new("large");
    let (mut writer, _) = Writer::open(config(&folder, 1)).unwrap();
    let refused = writer.reserve(&[1 << 20], 0).unwrap_err();
    assert!(matches!(refused, JournalError::RowTooLarge { segment_bytes: 1_048_576, .. }));
    assert!(refused.to_string().contains("segment_bytes"));
    assert_eq!(append(&mut writer, 0, &[b"a small one goes on"], 0), Reserved::Ready);
}

#[test]
fn a_seal_is_due_by_age_by_bytes_and_by_rows() {
    let folder = Folder::new("due");
    let (mut writer, _) = Writer::open(Config { seal_bytes: 100, ..config(&folder, 1) }).unwrap();
    assert!(!writer.is_seal_due(u64::MAX));
    append(&mut writer, 0, &[b"row"], 500);
    assert!(!writer.is_seal_due(1499));
    assert!(writer.is_seal_due(1500));
    writer.seal(1500, state("{}")).unwrap();
    append(&mut writer, 1, &[&[0; 100]], 2000);
    assert!(writer.is_seal_due(2000));
    writer.seal(2000, state("{}")).unwrap();
    assert!(writer.unmatched(&unmatched(1), 3000));
    assert!(!writer.is_seal_due(1_000_002_999));
    assert!(writer.is_seal_due(1_000_003_000));
}

#[test]
fn a_batch_that_fills_before_its_time_makes_the_next_one_larger() {
    let folder = Folder::new("adaptive");
    let (mut writer, _) = Writer::open(config(&folder, 1)).unwrap();
    let mut rows = Vec::new();
    for seq in 0..200 {
        if append(&mut writer, seq, &[&[7; 100]], 0) == Reserved::SealFirst {
            rows.push(writer.seal(0, state("{}")).unwrap().rows);
            assert_eq!(append(&mut writer, seq, &[&[7; 100]], 0), Reserved::Ready);
        }
    }
    assert_eq!(rows, [4, 8, 16, 32, 64, 64]);
    // Sealed by age with few rows, so the next layout is for exactly as many.
    writer.seal(0, state("{}")).unwrap();
    append(&mut writer, 200, &[&[7; 100]], 0);
    assert_eq!(writer.seal(0, state("{}")).unwrap().rows, 1);
    assert_eq!(append(&mut writer, 201, &[&[7; 100]], 0), Reserved::Ready);
    assert_eq!(append(&mut writer, 202, &[&[7; 100]], 0), Reserved::SealFirst);
}

#[test]
fn nothing_is_allocated_for_rows_and_seals() {
    let folder = Folder::new("allocations");
    let (mut writer, _) =
        Writer::open(Config { segment_bytes: 32 << 20, max_bytes: 96 << 20, ..config(&folder, 3) }).unwrap();
    let payload = [5_u8; 5000];
    let run = |writer: &mut Writer| {
        for round in 0..20_u64 {
            for seq in 0..30 {
                let length = 1 + (seq as usize * 977) % 5000;
                let payloads = [&payload[..length], &payload[..10], &payload[..length / 2]];
                if append(writer, seq, &payloads, round) != Reserved::Ready {
                    writer.seal(round, state("{\"round\":1}")).unwrap();
                    assert_eq!(append(writer, seq, &payloads, round), Reserved::Ready);
                }
                assert!(writer.unmatched(&unmatched(seq), round));
            }
            writer.seal(round, state("{\"round\":1}")).unwrap();
            writer.heartbeat(round).unwrap();
        }
    };
    // The flatbuffer builder and the lists of nodes grow to their length in the first seals.
    run(&mut writer);
    assert!(writer.wait_for_segment(0, Duration::from_secs(20)));
    assert_eq!(allocation_counter::measure(|| run(&mut writer)).count_total, 0);
    assert_eq!(writer.counters().rows, 1200);
}

#[test]
fn old_segments_are_used_again_and_the_newest_rows_stay() {
    let folder = Folder::new("recycled");
    let (mut writer, _) =
        Writer::open(Config { segment_bytes: 64 << 10, max_bytes: 256 << 10, ..config(&folder, 1) }).unwrap();
    let payload = [1_u8; 6000];
    for seq in 0..200 {
        while append(&mut writer, seq, &[&payload], 0) != Reserved::Ready {
            if writer.unsealed_rows() > 0 {
                writer.seal(0, state("{}")).unwrap();
            } else {
                assert!(writer.wait_for_segment(0, Duration::from_secs(20)));
            }
        }
    }
    let counters = writer.close(0, state("{}")).unwrap();
    assert!(counters.segments_recycled > 5, "{counters:?}");
    assert_eq!(counters.segments_made, 4, "{counters:?}");
    assert!(counters.first_row > 100, "{counters:?}");
    let (writer, recovered) =
        Writer::open(Config { segment_bytes: 64 << 10, max_bytes: 256 << 10, ..config(&folder, 1) }).unwrap();
    assert_eq!(recovered.next_row, 200);
    assert_eq!(writer.counters().first_row, counters.first_row);
}

#[test]
fn a_reader_that_has_not_read_on_blocks_the_writer_until_it_has() {
    let folder = Folder::new("blocked");
    let small =
        Config { segment_bytes: 64 << 10, max_bytes: 128 << 10, when_full: WhenFull::Block, ..config(&folder, 1) };
    let (mut writer, _) = Writer::open(small).unwrap();
    writer.set_floor(Some(0));
    let payload = [1_u8; 6000];
    let mut written = 0;
    loop {
        match append(&mut writer, written, &[&payload], 0) {
            Reserved::Ready => written += 1,
            Reserved::SealFirst => drop(writer.seal(0, state("{}")).unwrap()),
            Reserved::Full if writer.wait_for_segment(0, Duration::from_secs(20)) => {}
            Reserved::Full => break,
        }
    }
    assert_eq!(writer.counters().first_row, 0);
    writer.set_floor(Some(written));
    assert!(writer.wait_for_segment(0, Duration::from_secs(20)));
    assert_eq!(append(&mut writer, written, &[&payload], 0), Reserved::Ready);
    assert!(writer.counters().first_row > 0);
}

/// Writes rows of `inputs` frames, `gap_ns(row)` apart, and seals them when they are due. Returns the empty bytes of
/// batches, and the payload bytes.
fn slack(name: &str, inputs: usize, frame_bytes: usize, rows: u64, gap_ns: impl Fn(u64) -> u64) -> (u64, u64) {
    let folder = Folder::new(name);
    let sizes = Config {
        seal_rows: 1024,
        seal_bytes: 64 << 20,
        seal_ns: 10_000_000,
        segment_bytes: 32 << 20,
        max_bytes: 64 << 20,
        ..config(&folder, inputs)
    };
    let (mut writer, _) = Writer::open(sizes).unwrap();
    let frame = vec![7_u8; frame_bytes];
    let frames: Vec<&[u8]> = vec![&frame; inputs];
    let mut now_ns = 1_000_000_000;
    for row in 0..rows {
        // The agent checks many times a second whether a seal is due.
        let due_ns = now_ns + gap_ns(row);
        while now_ns < due_ns {
            now_ns = due_ns.min(now_ns + 500_000);
            if writer.is_seal_due(now_ns) {
                writer.seal(now_ns, state("{}")).unwrap();
            }
        }
        loop {
            match append(&mut writer, row, &frames, now_ns) {
                Reserved::Ready => break,
                Reserved::SealFirst => drop(writer.seal(now_ns, state("{}")).unwrap()),
                Reserved::Full => assert!(writer.wait_for_segment(now_ns, Duration::from_secs(20))),
            }
        }
        if writer.is_seal_due(now_ns) {
            writer.seal(now_ns, state("{}")).unwrap();
        }
    }
    writer.seal(now_ns, state("{}")).unwrap();
    let counters = writer.counters();
    (counters.slack_bytes, counters.bytes)
}

#[test]
fn batches_leave_less_than_a_tenth_of_the_data_empty_at_any_rate() {
    for (frame_bytes, rows) in [(4096, 2000), (640 << 10, 40)] {
        for rate in [1, 30, 1_000, 20_000] {
            let inputs = 3;
            // Irregular and in bursts: most rows come directly after the one before.
            let even = |row: u64| 1_000_000_000 / rate * (80 + row * 37 % 41) / 100;
            let bursts = |row: u64| if (row * 7919 / 64).is_multiple_of(9) { 9_000_000_000 / rate } else { 1000 };
            for (name, found) in [
                ("even", slack(&format!("even-{frame_bytes}-{rate}-{inputs}"), inputs, frame_bytes, rows, even)),
                ("bursts", slack(&format!("burst-{frame_bytes}-{rate}-{inputs}"), inputs, frame_bytes, rows, bursts)),
            ] {
                let (empty, data) = found;
                // Columns begin on 64 bytes, which costs space in a batch of one small row.
                let padding = if frame_bytes == 4096 { data / 4 } else { 0 };
                assert!(empty * 10 < data + padding * 10, "{frame_bytes} {rate} {inputs} {name}: {found:?}");
            }
        }
    }
}
