// SPDX-License-Identifier: Apache-2.0
//! What is recorded is read back by the `mcap` crate, which did not write it; and whatever is lost is accounted for.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framegate_core::pool::reader::{FrameRef, Reader};
use framegate_core::pool::region::{CreateOptions, Region};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::superblock::Expected;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};
use framegate_core::pool::writer::{Stamps, Writer};
use framegate_recording::{Compression, Config, Descriptor, Ended, LossCause, Part, Recorder, Survey, recover};

const STREAM: u32 = 10_001;
const EPOCH: u64 = 7;
const CHUNK: usize = 64 * 1024;

struct Bed(PathBuf);

impl Bed {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framegate-recording-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn regions(&self, nslots: u32) -> Arc<Regions> {
        let ring = Expected { stream_id: STREAM, epoch: EPOCH, pool_id: 0, nslots, stride_bytes: 0 };
        let options = CreateOptions { mode: 0o600, prefault: false, require_hugepages: false };
        let make =
            |name: &str, expected: &Expected| Region::create(&self.0.join(name), expected, 1, 1, options).unwrap();
        let pool = make("1.pool", &Expected { pool_id: 1, stride_bytes: 4096, ..ring });
        Arc::new(Regions::new(make("header.ring", &ring), vec![pool]).unwrap())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(path: PathBuf, compression: Compression) -> Config {
    Config {
        path,
        streams: vec![STREAM, STREAM + 1],
        has_payload: true,
        compression,
        chunk_bytes: CHUNK,
        queue_bytes: 8 * CHUNK,
        chunk_ns: 1_000_000_000,
        library: "test".to_owned(),
        notes: Vec::new(),
    }
}

fn descriptor(seq: u64, epoch: u64) -> [u8; 48] {
    let mut message = [0; 48];
    message[..8].copy_from_slice(&(40_u64 | 4 << 16 | 900 << 32 | 1 << 48).to_le_bytes());
    message[8..12].copy_from_slice(&STREAM.to_le_bytes());
    message[12..20].copy_from_slice(&epoch.to_le_bytes());
    message[20..28].copy_from_slice(&seq.to_le_bytes());
    message[28..36].copy_from_slice(&(1000 + seq).to_le_bytes());
    message
}

fn payload(seq: u64) -> Vec<u8> {
    (0..1000 + seq % 50).map(|index| (index * 7 + seq) as u8).collect()
}

fn publish(writer: &mut Writer, payload: &[u8]) {
    writer.set_tensor(Tensor::contiguous(1, ROW_MAJOR, &[payload.len() as i32])).unwrap();
    // SAFETY: the slice is valid for its length.
    unsafe { writer.publish(payload.as_ptr(), payload.len() as u32, Stamps::default()) }.unwrap();
}

fn at(seq: u64, epoch: u64) -> Descriptor {
    Descriptor { stream: 0, epoch, seq }
}

/// Waits until a chunk is free: these tests are about what is recorded, not about what has no room.
fn settle(recorder: &mut Recorder) {
    recorder.turn(0);
    std::thread::yield_now();
}

fn read(reader: &mut Reader, seq: u64) -> FrameRef {
    // SAFETY: the reader keeps the regions, and every test keeps the reader until it is done with the frame.
    unsafe { reader.read(seq) }.unwrap()
}

fn record(bed: &Bed, path: &Path, frames: u64, compression: Compression) -> Ended {
    let regions = bed.regions(8);
    let (mut writer, mut reader) =
        (Writer::new(Arc::clone(&regions), Tensor::contiguous(1, ROW_MAJOR, &[1])), Reader::new(Arc::clone(&regions)));
    let mut recorder = Recorder::create(&config(path.to_owned(), compression)).unwrap();
    for seq in 0..frames {
        publish(&mut writer, &payload(seq));
        let frame = read(&mut reader, seq);
        assert!(recorder.frame(&at(seq, EPOCH), &descriptor(seq, EPOCH), Ok(Some(&frame)), 10 * seq, 0));
        if seq % 16 == 15 {
            std::thread::sleep(std::time::Duration::from_micros(200));
            settle(&mut recorder);
        }
    }
    recorder.finish().unwrap()
}

/// Every message by its topic, in the order of the file.
fn messages(bytes: &[u8]) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut found: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for message in mcap::MessageStream::new(bytes).unwrap() {
        let message = message.unwrap();
        found.entry(message.channel.topic.clone()).or_default().push(message.data.into_owned());
    }
    found
}

fn final_record(bytes: &[u8], stream: u32) -> serde_json::Value {
    let summary = mcap::Summary::read(bytes).unwrap().unwrap();
    let index = summary.metadata_indexes.iter().find(|index| index.name == "framegate/loss").unwrap();
    let record = mcap::read::metadata(bytes, index).unwrap();
    serde_json::from_str(&record.metadata[&format!("stream/{stream}")]).unwrap()
}

#[test]
fn frames_are_read_back_byte_for_byte_packed_or_not() {
    for (name, compression) in [("none", Compression::None), ("zstd", Compression::Zstd)] {
        let bed = Bed::new(name);
        let path = bed.file("out.mcap");
        let ended = record(&bed, &path, 500, compression);
        assert!(ended.is_indexed && ended.failure.is_none());
        assert_eq!((ended.accounts[0].frames(), ended.accounts[0].payloads()), (500, 500));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, ended.file_bytes);
        let found = messages(&bytes);
        assert_eq!(found["stream/10001/payload"], (0..500).map(payload).collect::<Vec<_>>());
        let said: Vec<Vec<u8>> = (0..500).map(|seq| descriptor(seq, EPOCH).to_vec()).collect();
        assert_eq!(found["stream/10001/FrameDescriptor"], said);
        assert_eq!(found["stream/10001/SlotHeader"].len(), 500);
        assert_eq!(found["stream/10001/SlotHeader"][3][..8], [60, 0, 51, 0, 0x84, 3, 1, 0]);
        assert_eq!(found["stream/10001/SlotHeader"][3][8], 3 << 1 | 1);
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        let statistics = summary.stats.unwrap();
        assert_eq!((statistics.message_count, statistics.chunk_count as usize), (1500, ended.chunks));
        assert_eq!(summary.chunk_indexes.len(), ended.chunks);
        assert!(ended.chunks > 5);
        let schema = summary.channels.values().find_map(|channel| channel.schema.clone()).unwrap();
        assert!(!schema.data.is_empty());
        assert_eq!(final_record(&bytes, STREAM)["complete"], true);
    }
}

#[test]
fn the_index_finds_the_messages_of_one_channel() {
    let bed = Bed::new("index");
    let path = bed.file("out.mcap");
    record(&bed, &path, 200, Compression::None);
    let bytes = std::fs::read(&path).unwrap();
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let channel = summary.channels.values().find(|channel| channel.topic.ends_with("10001/payload")).unwrap();
    let mut found = 0;
    for chunk in &summary.chunk_indexes {
        let indexes = summary.read_message_indexes(&bytes, chunk).unwrap();
        for entry in indexes.iter().filter(|(of, _)| of.id == channel.id).flat_map(|(_, entries)| entries) {
            let message = summary.seek_message(&bytes, chunk, entry).unwrap();
            assert_eq!(message.data.as_ref(), payload(found), "frame {found}");
            assert_eq!(u64::from(message.sequence), found);
            found += 1;
        }
    }
    assert_eq!(found, 200);
}

#[test]
fn a_frame_that_was_overwritten_before_it_was_copied_leaves_its_descriptor_and_a_cause() {
    let bed = Bed::new("late");
    let regions = bed.regions(4);
    let mut writer = Writer::new(Arc::clone(&regions), Tensor::contiguous(1, ROW_MAJOR, &[1]));
    let mut reader = Reader::new(regions);
    let path = bed.file("out.mcap");
    let mut recorder = Recorder::create(&config(path.clone(), Compression::None)).unwrap();
    publish(&mut writer, &payload(0));
    let frame = read(&mut reader, 0);
    for seq in 1..=4 {
        publish(&mut writer, &payload(seq));
    }
    assert!(!recorder.frame(&at(0, EPOCH), &descriptor(0, EPOCH), Ok(Some(&frame)), 1, 0));
    recorder.frame(&at(1, EPOCH), &descriptor(1, EPOCH), Err(LossCause::Overwritten), 2, 0);
    recorder.lost(0, EPOCH, 2, 4, LossCause::Unheard);
    recorder.lost(0, EPOCH, 5, 6, LossCause::NotAnnounced);
    let ended = recorder.finish().unwrap();
    assert_eq!((ended.accounts[0].frames(), ended.accounts[0].payloads()), (2, 0));
    assert_eq!(ended.accounts[0].lost_to(Part::Payload, LossCause::Overwritten), 2);
    let bytes = std::fs::read(&path).unwrap();
    let found = messages(&bytes);
    assert!(!found.contains_key("stream/10001/payload"));
    assert!(!found.contains_key("stream/10001/SlotHeader"));
    let losses: Vec<serde_json::Value> =
        found["framegate/loss"].iter().map(|text| serde_json::from_slice(text).unwrap()).collect();
    assert_eq!(losses.len(), 3);
    let payloads = losses.iter().find(|loss| loss["part"] == "payload").unwrap();
    assert_eq!(
        (&payloads["first"], &payloads["last"], &payloads["cause"]),
        (&0.into(), &1.into(), &"overwritten".into())
    );
    let said = final_record(&bytes, STREAM);
    assert_eq!(said["complete"], false);
    assert_eq!(said["epochs"][0]["lost_frames"], serde_json::json!({"not_announced": 2, "unheard": 3}));
    assert_eq!(said["epochs"][0]["last"], 6);
    assert_eq!(final_record(&bytes, STREAM + 1)["complete"], true);
}

#[test]
fn every_frame_is_recorded_or_lost_when_more_comes_than_can_be_written() {
    const FRAMES: u64 = 20_000;
    let bed = Bed::new("flood");
    let regions = bed.regions(4);
    let mut writer = Writer::new(Arc::clone(&regions), Tensor::contiguous(1, ROW_MAJOR, &[1]));
    publish(&mut writer, &vec![5; 4096]);
    let mut reader = Reader::new(regions);
    let frame = read(&mut reader, 0);
    let path = bed.file("out.mcap");
    let flooded = Config { queue_bytes: 1, ..config(path.clone(), Compression::Zstd) };
    let mut recorder = Recorder::create(&flooded).unwrap();
    for seq in 0..FRAMES {
        recorder.frame(&at(seq, EPOCH), &descriptor(seq, EPOCH), Ok(Some(&frame)), seq, 0);
    }
    let ended = recorder.finish().unwrap();
    let account = &ended.accounts[0];
    let lost = account.lost_to(Part::Frame, LossCause::QueueFull);
    assert!(lost > 0, "the disk kept up with memory: nothing was shown");
    assert_eq!(account.frames() + lost, FRAMES);
    let bytes = std::fs::read(&path).unwrap();
    let found = messages(&bytes);
    assert_eq!(found["stream/10001/FrameDescriptor"].len() as u64, account.frames());
    let told: u64 = found["framegate/loss"]
        .iter()
        .map(|text| serde_json::from_slice::<serde_json::Value>(text).unwrap()["count"].as_u64().unwrap())
        .sum();
    assert_eq!(told, lost);
    assert_eq!(final_record(&bytes, STREAM)["complete"], false);
}

#[test]
fn other_messages_get_topics_of_their_own_and_those_of_other_streams_none() {
    let bed = Bed::new("control");
    let path = bed.file("out.mcap");
    let mut recorder = Recorder::create(&config(path.clone(), Compression::None)).unwrap();
    let message = |schema: u64, template: u64, body: &[u8]| {
        let mut bytes = (body.len() as u64 | template << 16 | schema << 32 | 1 << 48).to_le_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes
    };
    let mut barrier = [0_u8; 44];
    barrier[24..28].copy_from_slice(&STREAM.to_le_bytes());
    recorder.message(&message(920, 1, &barrier), 5, 0);
    barrier[24..28].copy_from_slice(&9_u32.to_le_bytes());
    recorder.message(&message(920, 1, &barrier), 6, 0);
    recorder.message(&message(920, 4, &[0; 28]), 7, 0);
    recorder.message(&message(4711, 3, &[1; 20]), 8, 0);
    recorder.message(&message(903, 2, &[3; 12]), 9, 0);
    recorder.message(b"short", 10, 0);
    let ended = recorder.finish().unwrap();
    assert_eq!((ended.totals.messages, ended.totals.other_streams), (4, 1));
    let topics: Vec<String> = messages(&std::fs::read(&path).unwrap()).into_keys().collect();
    assert_eq!(
        topics,
        [
            "control/InjectBarrier",
            "foreign/4711-3",
            "stream/10001/CheckpointBarrier",
            "stream/50529027/SequenceMergeMapRequest"
        ]
    );
}

#[test]
fn two_epochs_are_told_apart_in_the_account() {
    let bed = Bed::new("epochs");
    let path = bed.file("out.mcap");
    let mut recorder =
        Recorder::create(&Config { has_payload: false, ..config(path.clone(), Compression::None) }).unwrap();
    for (seq, epoch) in [(3, 7), (4, 7), (0, 8), (1, 8)] {
        recorder.frame(&at(seq, epoch), &descriptor(seq, epoch), Ok(None), 0, 0);
    }
    recorder.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let times: Vec<u64> = mcap::MessageStream::new(&bytes).unwrap().map(|message| message.unwrap().log_time).collect();
    assert_eq!(times, [1, 2, 3, 4], "log times rise where the clock stands still");
    let said = final_record(&bytes, STREAM);
    let bounds: Vec<_> = (0..2)
        .map(|index| (&said["epochs"][index]["epoch"], &said["epochs"][index]["first"], &said["epochs"][index]["last"]))
        .collect();
    assert_eq!(bounds, [(&7.into(), &3.into(), &4.into()), (&8.into(), &0.into(), &1.into())]);
}

#[test]
fn a_file_that_is_there_is_not_touched() {
    let bed = Bed::new("exists");
    let path = bed.file("out.mcap");
    std::fs::write(&path, b"mine").unwrap();
    assert!(Recorder::create(&config(path.clone(), Compression::None)).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_recording_without_a_single_frame_is_whole() {
    let bed = Bed::new("empty");
    let path = bed.file("out.mcap");
    let ended = Recorder::create(&config(path.clone(), Compression::None)).unwrap().finish().unwrap();
    assert!(ended.is_indexed);
    let bytes = std::fs::read(&path).unwrap();
    assert!(messages(&bytes).is_empty());
    assert_eq!(mcap::Summary::read(&bytes).unwrap().unwrap().channels.len(), 7);
}

/// Records from the first on, as far as one stands behind the other.
fn survey(path: &Path) -> Survey {
    let data = std::fs::read(path).unwrap();
    let (mut at, mut found) = (mcap::MAGIC.len(), Survey::default());
    while let Some(head) = data.get(at..).and_then(|rest| rest.first_chunk::<9>()) {
        let length = u64::from_le_bytes(*head.last_chunk().unwrap()) as usize;
        let Some(end) = at.checked_add(9).and_then(|begin| begin.checked_add(length)).filter(|end| *end <= data.len())
        else {
            break;
        };
        if head[0] == mcap::records::op::DATA_END {
            return found;
        }
        found.places.push(at..end);
        at = end;
    }
    found.cut_bytes = Some((data.len() - at) as u64);
    found
}

#[test]
fn whatever_is_cut_off_what_was_whole_before_it_is_recovered() {
    let bed = Bed::new("cut");
    let path = bed.file("out.mcap");
    record(&bed, &path, 200, Compression::Zstd);
    let whole = std::fs::read(&path).unwrap();
    let all = messages(&whole)["stream/10001/payload"].clone();
    let (cut, out) = (bed.file("cut.mcap"), bed.file("recovered.mcap"));
    let mut last = 0;
    let mut length = 8;
    while length <= whole.len() {
        std::fs::write(&cut, &whole[..length]).unwrap();
        let found = recover(&cut, &out, &survey(&cut)).unwrap();
        let bytes = std::fs::read(&out).unwrap();
        let payloads = messages(&bytes).remove("stream/10001/payload").unwrap_or_default();
        assert_eq!(payloads, all[..payloads.len()], "{length} bytes");
        assert!(payloads.len() >= last, "{length} bytes have less than fewer have");
        last = payloads.len();
        assert_eq!(found.was_whole, length == whole.len());
        assert!(mcap::Summary::read(&bytes).unwrap().is_some());
        std::fs::remove_file(&out).unwrap();
        length += if length + 97 <= whole.len() { 97 } else { (whole.len() - length).max(1) };
    }
    assert_eq!(last, all.len());
}

#[test]
fn a_recovered_recording_says_what_it_holds_and_that_it_was_cut() {
    let bed = Bed::new("account");
    let path = bed.file("out.mcap");
    record(&bed, &path, 300, Compression::None);
    let whole = std::fs::read(&path).unwrap();
    let (cut, out) = (bed.file("cut.mcap"), bed.file("recovered.mcap"));
    std::fs::write(&cut, &whole[..whole.len() * 2 / 3]).unwrap();
    let found = recover(&cut, &out, &survey(&cut)).unwrap();
    let bytes = std::fs::read(&out).unwrap();
    let frames = messages(&bytes)["stream/10001/FrameDescriptor"].len() as u64;
    let said = final_record(&bytes, STREAM);
    assert!(frames > 0 && frames < 300 && found.cut_bytes > 0 && !found.was_whole);
    assert_eq!((said["frames"].as_u64(), said["payloads"].as_u64()), (Some(frames), Some(frames)));
    assert_eq!(said["epochs"][0]["last"], frames - 1);
}

#[test]
fn whatever_is_flipped_recovering_gives_an_mcap_file_or_says_why_not() {
    let bed = Bed::new("flip");
    let path = bed.file("out.mcap");
    record(&bed, &path, 100, Compression::Zstd);
    let whole = std::fs::read(&path).unwrap();
    let (flipped, out) = (bed.file("flipped.mcap"), bed.file("recovered.mcap"));
    let mut chance = 0x9E37_79B9_7F4A_7C15_u64;
    let mut recovered = 0;
    let genuine: HashSet<Vec<u8>> = messages(&whole).into_values().flatten().collect();
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (chance >> 33) as usize % bytes.len();
            bytes[place] ^= (chance >> 17) as u8 | 1;
        }
        std::fs::write(&flipped, &bytes).unwrap();
        if recover(&flipped, &out, &survey(&flipped)).is_ok() {
            recovered += 1;
            let bytes = std::fs::read(&out).unwrap();
            assert!(mcap::Summary::read(&bytes).is_ok());
            for message in mcap::read::RawMessageStream::new(&bytes).unwrap() {
                assert!(genuine.contains(message.unwrap().data.as_ref()));
            }
            std::fs::remove_file(&out).unwrap();
        }
        assert!(!out.exists());
    }
    assert!(recovered > 300);
}
