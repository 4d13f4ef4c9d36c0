// SPDX-License-Identifier: Apache-2.0
//! Writer against reader over real mapped files, and the proof that neither allocates once it is made.
#![cfg(not(loom))]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use framegate_core::pool::commit;
use framegate_core::pool::copy::CopyKind;
use framegate_core::pool::hold::{Hold, Kept};
use framegate_core::pool::reader::{Belief, Dropped, FrameRef, Holding, Reader};
use framegate_core::pool::region::{CreateOptions, Region};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::superblock::Expected;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};
use framegate_core::pool::writer::{Stamps, WriteFault, Writer};

fn allocations(act: impl FnOnce()) -> u64 {
    allocation_counter::measure(act).count_total
}

struct Bed(PathBuf);

impl Bed {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framegate-frames-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A ring of `nslots` with pools of 64 and 4096 bytes.
    fn regions(&self, nslots: u32) -> Arc<Regions> {
        let ring = Expected { stream_id: 10_001, epoch: 7, pool_id: 0, nslots, stride_bytes: 0 };
        let options = CreateOptions { mode: 0o600, prefault: true, require_hugepages: false };
        let make =
            |name: &str, expected: &Expected| Region::create(&self.0.join(name), expected, 1, 1, options).unwrap();
        let pools = [(1, 64), (2, 4096)].map(|(pool_id, stride_bytes)| {
            make(&format!("{pool_id}.pool"), &Expected { pool_id, stride_bytes, ..ring })
        });
        Arc::new(Regions::new(make("header.ring", &ring), pools.into()).unwrap())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bytes_of(length: i32) -> Tensor {
    Tensor::contiguous(1, ROW_MAJOR, &[length])
}

fn publish(writer: &mut Writer, payload: &[u8]) -> [u8; 48] {
    writer.set_tensor(bytes_of(payload.len() as i32)).unwrap();
    // SAFETY: the slice is valid for its length.
    *unsafe { writer.publish(payload.as_ptr(), payload.len() as u32, Stamps::default()) }.unwrap()
}

/// One attempt at a frame.
fn read(reader: &mut Reader, seq: u64) -> Result<FrameRef, Dropped> {
    // SAFETY: every test keeps its regions until it has ended.
    unsafe { reader.read(seq) }
}

fn payload_of(reader: &mut Reader, seq: u64) -> Result<Vec<u8>, Dropped> {
    let frame = read(reader, seq)?;
    let mut copied = vec![0; frame.header.values_bytes as usize];
    // SAFETY: the target has room for the payload, and the regions are mapped.
    assert!(unsafe { frame.copy_to(CopyKind::Plain, copied.as_mut_ptr()) });
    Ok(copied)
}

#[test]
fn frames_come_out_as_they_went_in_from_the_smallest_pool_that_holds_them() {
    let bed = Bed::new("round");
    let regions = bed.regions(8);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    for (seq, length) in [0_usize, 1, 64, 65, 4096].into_iter().enumerate() {
        let payload: Vec<u8> = (0..length).map(|index| (index + seq) as u8).collect();
        publish(&mut writer, &payload);
        assert_eq!(payload_of(&mut reader, seq as u64).unwrap(), payload, "{length} bytes");
    }
}

#[test]
fn a_descriptor_is_believed_by_the_commit_word_of_its_slot() {
    let bed = Bed::new("belief");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(Arc::clone(&regions)));
    assert_eq!((reader.newest(), reader.believe(0)), (None, Belief::False), "nothing was written yet");
    for _ in 0..6 {
        publish(&mut writer, b"x");
    }
    assert_eq!((reader.newest(), reader.oldest_beside(5)), (Some(5), 2));
    assert_eq!([1, 2, 5].map(|seq| reader.believe(seq)), [Belief::True; 3], "what was lapped was published once");
    assert_eq!([6, 9, 1 << 40, u64::MAX].map(|seq| reader.believe(seq)), [Belief::False; 4]);
    let holds = [1, 2, 5, 6, u64::MAX].map(|seq| reader.holds(seq));
    assert_eq!(holds, [Holding::Newer, Holding::This, Holding::This, Holding::Older, Holding::Older]);
    commit::commit(regions.slot(1).commit_word(), 1);
    assert_eq!(reader.believe(5), Belief::WentBack, "no writer of an epoch goes back");
}

#[test]
fn the_descriptor_has_the_bytes_of_the_protocol() {
    let bed = Bed::new("descriptor");
    let mut writer = Writer::new(bed.regions(8), bytes_of(1));
    for _ in 0..5 {
        publish(&mut writer, b"x");
    }
    let message = publish(&mut writer, b"x");
    let hex: String = message.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "2800040084030100112700000700000000000000050000000000\
         0000ffffffffffffffffffffffff0000000000000000"
            .replace(' ', "")
    );
}

#[test]
fn a_frame_that_fits_no_pool_touches_nothing() {
    let bed = Bed::new("large");
    let regions = bed.regions(1);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    publish(&mut writer, b"old");
    assert_eq!(writer.claim(4097).unwrap_err(), WriteFault::TooLarge { limit_bytes: 4096 });
    assert_eq!(payload_of(&mut reader, 0).unwrap(), b"old");
    assert_eq!(writer.next_seq(), 1);
}

#[test]
fn a_tensor_that_does_not_fit_its_payload_touches_nothing() {
    let bed = Bed::new("tensor");
    let regions = bed.regions(1);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    publish(&mut writer, b"old");
    writer.set_tensor(bytes_of(9)).unwrap();
    // SAFETY: three bytes are there.
    let refused = unsafe { writer.publish(b"new".as_ptr(), 3, Stamps::default()) };
    assert!(matches!(refused, Err(WriteFault::Tensor(_))));
    assert_eq!(payload_of(&mut reader, 0).unwrap(), b"old");
}

#[test]
fn a_lapped_reader_learns_which_frame_is_there() {
    let bed = Bed::new("lapped");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    for seq in 0..6_u8 {
        publish(&mut writer, &[seq]);
    }
    assert_eq!(read(&mut reader, 1).unwrap_err(), Dropped::OtherFrame { have_seq: 5 });
    assert_eq!(payload_of(&mut reader, 2).unwrap(), [2]);
}

#[test]
fn a_view_knows_that_its_slot_was_taken() {
    let bed = Bed::new("view");
    let regions = bed.regions(1);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    publish(&mut writer, b"a");
    let frame = read(&mut reader, 0).unwrap();
    assert!(frame.is_valid());
    let claim = writer.claim(1).unwrap();
    assert!(!frame.is_valid());
    assert_eq!(read(&mut reader, 0).unwrap_err(), Dropped::InProgress);
    writer.abandon(claim);
    assert_eq!(frame.slot_seq(), 1);
}

#[test]
fn an_abandoned_frame_leaves_no_gap() {
    let bed = Bed::new("abandon");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    let claim = writer.claim(1).unwrap();
    assert_eq!(writer.claim(1).unwrap_err(), WriteFault::ClaimOpen);
    writer.abandon(claim);
    publish(&mut writer, b"b");
    assert_eq!(payload_of(&mut reader, 0).unwrap(), b"b");
}

#[test]
fn an_open_frame_stays_what_it_was_begun_as() {
    let bed = Bed::new("open");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    let claim = writer.claim(1).unwrap();
    assert_eq!(writer.set_tensor(bytes_of(9)).unwrap_err(), WriteFault::ClaimOpen);
    writer.commit(&claim, Stamps::default()).unwrap();
    read(&mut reader, 0).unwrap();
    assert_eq!(reader.tensor().tensor, bytes_of(1));
}

#[test]
fn a_word_that_goes_back_is_not_believed() {
    let bed = Bed::new("back");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(Arc::clone(&regions)));
    for seq in 0..5_u8 {
        publish(&mut writer, &[seq]);
    }
    assert!(read(&mut reader, 4).is_ok());
    commit::commit(regions.slot(0).commit_word(), 0);
    assert_eq!(read(&mut reader, 0).unwrap_err(), Dropped::WentBack);
}

#[test]
fn the_largest_sequence_is_written_and_then_there_is_an_end() {
    let bed = Bed::new("end");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    let last = u64::MAX >> 1;
    writer.skip_to(last).unwrap();
    publish(&mut writer, b"z");
    assert_eq!(payload_of(&mut reader, last).unwrap(), b"z");
    assert_eq!(writer.claim(1).unwrap_err(), WriteFault::SequenceEnd);
    assert_eq!(writer.skip_to(3).unwrap_err(), WriteFault::SequenceEnd);
}

/// A word of a slot's pad, which no reader looks at: it goes when the slot is written as a whole.
fn mark(regions: &Regions, index: u32) -> &AtomicU64 {
    // SAFETY: a slot is 256 mapped bytes, and 31 the last of its 32 words.
    unsafe { &*std::ptr::from_ref(regions.slot(index).commit_word()).add(31) }
}

#[test]
fn a_slot_that_has_the_tensor_already_is_given_the_frames_own_words_alone() {
    let bed = Bed::new("refill");
    let regions = bed.regions(4);
    let mut writer = Writer::new(Arc::clone(&regions), bytes_of(1));
    let marked = |index| mark(&regions, index).load(Ordering::Relaxed) == 7;
    let publish_and_mark = |writer: &mut Writer, payload: &[u8]| {
        for index in 0..4 {
            publish(writer, payload);
            mark(&regions, index).store(7, Ordering::Relaxed);
        }
    };
    publish_and_mark(&mut writer, b"x");
    publish(&mut writer, b"y");
    assert!(marked(0), "the second frame of a slot writes its own words");
    publish(&mut writer, b"yy");
    assert!(!marked(1) && marked(2), "another tensor is written");
    // Slot 3 has a frame from before the gap, and the tensor from before that.
    writer.skip_to(7).unwrap();
    publish(&mut writer, b"yy");
    assert!(!marked(3));
}

#[test]
fn every_frame_has_its_own_tensor_whatever_stood_in_its_slot() {
    let bed = Bed::new("tensors");
    let regions = bed.regions(4);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(1)), Reader::new(regions));
    let mut dice = 1_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    for _ in 0..20_000 {
        match roll(8) {
            0 => writer.skip_to(writer.next_seq() + roll(6)).unwrap(),
            1 => {
                let claim = writer.claim(3).unwrap();
                writer.abandon(claim);
            }
            _ => {}
        }
        // Mostly long runs of one tensor, so that slots are filled both ways.
        let tensor = if roll(16) == 0 { bytes_of(1 + roll(3) as i32) } else { *writer.tensor() };
        writer.set_tensor(tensor).unwrap();
        let seq = writer.next_seq();
        // SAFETY: three bytes are there.
        unsafe { writer.publish(b"abc".as_ptr(), 3, Stamps { timestamp_ns: seq, ..Stamps::default() }) }.unwrap();
        let frame = read(&mut reader, seq).unwrap();
        assert_eq!((reader.tensor().tensor, frame.header.timestamp_ns), (tensor, seq), "frame {seq}");
    }
}

#[test]
fn nothing_is_allocated_once_writer_and_reader_are_made() {
    let bed = Bed::new("allocations");
    let regions = bed.regions(8);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(64)), Reader::new(regions));
    let (payload, mut copied) = ([7_u8; 64], [0_u8; 64]);
    let mut taken = 0;
    let allocated = allocations(|| {
        for seq in 0..1000 {
            // SAFETY: both arrays have the payload's length.
            unsafe {
                writer.publish(payload.as_ptr(), 64, Stamps::default()).unwrap();
                let frame = read(&mut reader, seq).unwrap();
                taken += usize::from(frame.copy_to(CopyKind::NonTemporal, copied.as_mut_ptr()) && frame.is_valid());
            }
        }
    });
    assert_eq!((taken, copied), (1000, payload));
    assert_eq!(allocated, 0);
    assert!(allocations(|| drop(vec![1_u8; 9])) > 0, "the counter counts");
}

#[test]
fn under_a_racing_writer_every_frame_that_is_taken_is_whole() {
    let bed = Bed::new("race");
    let regions = bed.regions(2);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (regions, stop) = (Arc::clone(&regions), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut writer = Writer::new(regions, bytes_of(4096));
            let mut payload = [0_u8; 4096];
            while !stop.load(Ordering::Relaxed) {
                payload.fill(writer.next_seq() as u8);
                // SAFETY: the array has the payload's length.
                unsafe { writer.publish(payload.as_ptr(), 4096, Stamps::default()) }.unwrap();
            }
        })
    };
    let mut reader = Reader::new(Arc::clone(&regions));
    let mut copied = [0_u8; 4096];
    let (mut whole, mut dropped) = (0, 0);
    while whole < 20_000 {
        let seq = commit::sequence(commit::look(regions.slot(0).commit_word()));
        match read(&mut reader, seq) {
            // SAFETY: the array has the payload's length.
            Ok(frame) if unsafe { frame.copy_to(CopyKind::Plain, copied.as_mut_ptr()) } => {
                assert!(copied.iter().all(|byte| *byte == seq as u8), "frame {seq} is torn");
                whole += 1;
            }
            _ => dropped += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    println!("{whole} whole, {dropped} dropped");
}

#[test]
fn a_superblock_that_changes_after_it_was_checked_changes_nothing() {
    let bed = Bed::new("racing");
    let ring = Expected { stream_id: 10_001, epoch: 7, pool_id: 0, nslots: 8, stride_bytes: 0 };
    let pool = Expected { pool_id: 1, stride_bytes: 64, ..ring };
    let options = CreateOptions { mode: 0o600, prefault: false, require_hugepages: false };
    let made = [("header.ring", ring), ("1.pool", pool)]
        .map(|(name, expected)| Region::create(&bed.0.join(name), &expected, 1, 1, options).unwrap());
    for (region, expected) in made.iter().zip([ring, pool]) {
        let larger = Expected { nslots: 1 << 24, ..expected };
        let block = larger.superblock(1, 1).encode();
        // SAFETY: a writable mapping that begins with a superblock.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), region.start(), block.len()) };
    }
    let [header, pool] = made;
    let regions = Regions::new(header, vec![pool]).unwrap();
    assert_eq!(regions.nslots(), 8);
    // Round the ring: no index leads out of the mapping.
    assert_eq!(regions.slot(8 + 3).commit_word().load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(regions.payload(0, 8 + 3), regions.payload(0, 3));
}

#[test]
fn a_hold_allocates_nothing_whatever_comes_and_goes() {
    let bed = Bed::new("hold");
    let regions = bed.regions(8);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&regions), bytes_of(3000)), Reader::new(regions));
    let mut hold = Hold::new(1, 1 << 20, 300, 1 << 20).unwrap();
    publish(&mut writer, &[0; 3000]);
    let taken = allocations(|| {
        for seq in 1..1000_u64 {
            publish(&mut writer, &[seq as u8; 3000]);
            let frame = read(&mut reader, seq).unwrap();
            let kept = hold.keep(0, 7, &frame, &reader.tensor().tensor, false);
            assert_eq!(kept, Kept::Whole(3000), "{seq}");
            hold.release(0, (7, seq.saturating_sub(200)), |_| false);
            assert!(hold.get(0, 7, seq.saturating_sub(150).max(1)).is_some_and(|(_, payload)| payload.len() == 3000));
        }
    });
    assert_eq!(taken, 0);
    assert_eq!(hold.len(), 201);
}
