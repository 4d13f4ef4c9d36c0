// SPDX-License-Identifier: Apache-2.0
//! The recorder: takes what one thread hears, lays it out in chunks, and accounts for every sequence.
//!
//! Nothing here waits. Where no chunk is free, what comes is lost, and said to be.

use std::time::Duration;

use framegate_core::pool::layout::SLOT_BYTES;
use framegate_core::pool::reader::FrameRef;

use crate::account::Account;
use crate::channels::{Channels, Kind};
use crate::chunk::{Age, Chunk, LOSS_ROOM, MESSAGE_HEAD, MessageHead};
use crate::config::{Config, RecordingError};
use crate::file::FileWriter;
use crate::loss::{LossCause, Losses, LostRange, Part};
use crate::names::{DESCRIPTOR, KNOWN, SLOT_HEADER, find, ids_of};
use crate::queue::Queue;
use crate::records::map;

/// A SlotHeader message: its SBE header, and the slot.
const SLOT_MESSAGE_BYTES: usize = 8 + SLOT_BYTES;
/// blockLength 60, template 51, schema 900, version 1.
const SLOT_MESSAGE_HEADER: u64 = 60 | 51 << 16 | 900 << 32 | 1 << 48;
const MERGE_SCHEMA: u16 = 903;
const CHUNKS_MIN: usize = 3;

/// What a descriptor says that the account needs.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The place of its stream in the configuration.
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame.
    pub seq: u64,
}

/// Running totals, for people who watch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Frames taken; they count as recorded once their chunk is on disk.
    pub frames: u64,
    /// Payloads taken.
    pub payloads: u64,
    /// Messages beside frames.
    pub messages: u64,
    /// Bytes taken.
    pub bytes: u64,
    /// Frames of which nothing is recorded although they were announced.
    pub lost_frames: u64,
    /// Frames of which only the descriptor is recorded.
    pub lost_payloads: u64,
    /// Messages beside frames for which there was no room.
    pub lost_messages: u64,
    /// Messages of streams that are not recorded.
    pub other_streams: u64,
    /// Times that a chunk had to be made longer.
    pub grown: u64,
}

/// How a recording ended.
#[derive(Debug)]
pub struct Ended {
    /// Running totals at the end.
    pub totals: Totals,
    /// Of each stream what was recorded and what not.
    pub accounts: Vec<Account>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Its chunks.
    pub chunks: usize,
    /// Why it ended early, if it did.
    pub failure: Option<RecordingError>,
    /// Whether the file has its index.
    pub is_indexed: bool,
}

struct StreamChannels {
    descriptor: u16,
    slot_header: u16,
    payload: u16,
}

/// Records until it is finished or the disk fails.
pub struct Recorder {
    queue: Queue,
    free: Vec<Chunk>,
    current: Option<Chunk>,
    channels: Channels,
    streams: Vec<StreamChannels>,
    stream_ids: Vec<u32>,
    loss_channel: u16,
    losses: Losses,
    accounts: Vec<Account>,
    totals: Totals,
    failed: Option<LossCause>,
    age: Age,
    last_log_time: u64,
    text: String,
}

impl Recorder {
    /// Makes the file and starts the thread that writes it.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub fn create(config: &Config) -> Result<Self, RecordingError> {
        let mut file = FileWriter::create(&config.path, &config.library, config.compression)?;
        let begun = Self::begin(config, &mut file);
        match begun {
            Ok(channels) => Self::start(config, file, channels),
            Err(failure) => {
                // Made here a moment ago, and nothing is in it.
                let _ = std::fs::remove_file(&config.path);
                Err(failure)
            }
        }
    }

    fn begin(config: &Config, file: &mut FileWriter) -> Result<Channels, RecordingError> {
        let streams = config.streams.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let notes = config.notes.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let own = [("version", "1".to_owned()), ("streams", streams), ("payload", config.has_payload.to_string())];
        file.metadata("framegate/recording", map(own.into_iter().chain(notes)))?;
        let mut channels = Channels::new();
        channels.define_all(&config.streams, config.has_payload);
        file.definitions(channels.take_fresh())?;
        Ok(channels)
    }

    fn start(config: &Config, file: FileWriter, mut channels: Channels) -> Result<Self, RecordingError> {
        let count = (config.queue_bytes / config.chunk_bytes.max(1)).max(CHUNKS_MIN);
        let capacity = config.chunk_bytes.max(4 * LOSS_ROOM);
        let free: Vec<Chunk> = (0..count).map(|_| Chunk::new(capacity, config.streams.len())).collect();
        let mut id = |stream: u32, kind: Kind| channels.id(Some(stream), kind).unwrap_or(0);
        let mut own = Vec::with_capacity(config.streams.len());
        for stream in &config.streams {
            let descriptor = id(*stream, Kind::Known(DESCRIPTOR as u16));
            let (slot_header, payload) = if config.has_payload {
                (id(*stream, Kind::Known(SLOT_HEADER as u16)), id(*stream, Kind::Payload))
            } else {
                (0, 0)
            };
            own.push(StreamChannels { descriptor, slot_header, payload });
        }
        let loss_channel = channels.id(None, Kind::Loss).unwrap_or(0);
        Ok(Self {
            queue: Queue::start(file, count)?,
            free,
            current: None,
            channels,
            streams: own,
            stream_ids: config.streams.clone(),
            loss_channel,
            losses: Losses::new(config.streams.len()),
            accounts: config.streams.iter().map(|stream| Account::new(*stream)).collect(),
            totals: Totals::default(),
            failed: None,
            age: Age { most: Duration::from_nanos(config.chunk_ns), since_ns: None },
            last_log_time: 0,
            text: String::with_capacity(256),
        })
    }

    /// Running totals.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether nothing can be written any more.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Takes a descriptor and the frame that it announced: `Ok(None)` where payloads are not recorded, and the cause
    /// where this one could not be read. False when its slot was written while it was copied.
    pub fn frame(
        &mut self,
        descriptor: &Descriptor,
        message: &[u8],
        frame: Result<Option<&FrameRef>, LossCause>,
        log_time: u64,
        now_ns: u64,
    ) -> bool {
        let Descriptor { stream, epoch, seq } = *descriptor;
        let there = frame.as_ref().ok().copied().flatten();
        let payload_bytes = there.map_or(0, |frame| frame.header.values_bytes as usize);
        let with_payload = there.map_or(0, |_| 2 * MESSAGE_HEAD + SLOT_MESSAGE_BYTES + payload_bytes);
        let log_time = self.stamp(log_time);
        if !self.make_room(MESSAGE_HEAD + message.len() + with_payload, Some((stream, epoch)), now_ns) {
            self.lose(stream, epoch, (seq, seq), Part::Frame, self.failed.unwrap_or(LossCause::QueueFull));
            return true;
        }
        let Some(chunk) = &mut self.current else { return true };
        let channels = &self.streams[stream];
        let publish_time = KNOWN[DESCRIPTOR].time_of(message).unwrap_or(log_time);
        let head =
            |channel: u16, publish_time: u64| MessageHead { channel, sequence: seq as u32, log_time, publish_time };
        chunk.message(&head(channels.descriptor, publish_time), message);
        let tally = &mut chunk.tallies[stream];
        if tally.frames == 0 {
            (tally.epoch, tally.first) = (epoch, seq);
        }
        tally.last = seq;
        tally.frames += 1;
        self.totals.frames += 1;
        self.totals.bytes += message.len() as u64;
        let cause = match frame {
            Ok(None) => return true,
            Err(cause) => cause,
            Ok(Some(frame)) => {
                let slot = slot_message(frame);
                let publish_time = KNOWN[SLOT_HEADER].time_of(&slot).unwrap_or(log_time);
                let heads = [head(channels.slot_header, publish_time), head(channels.payload, publish_time)];
                if chunk.frame(&heads, &slot, frame) {
                    let tally = &mut chunk.tallies[stream];
                    tally.payloads += 1;
                    tally.payload_bytes += payload_bytes as u64;
                    self.totals.payloads += 1;
                    self.totals.bytes += payload_bytes as u64;
                    return true;
                }
                LossCause::Overwritten
            }
        };
        self.lose(stream, epoch, (seq, seq), Part::Payload, cause);
        there.is_none()
    }

    /// Takes any other message.
    pub fn message(&mut self, message: &[u8], log_time: u64, now_ns: u64) {
        let Some((template_id, schema_id)) = ids_of(message) else { return };
        let place = find(message);
        let known = place.map(|place| &KNOWN[place]);
        let stream = known.and_then(|known| known.stream_of(message));
        let index = stream.and_then(|stream| self.stream_ids.iter().position(|own| *own == stream));
        // A map speaks of its output, and is about the streams that are recorded here.
        if stream.is_some() && index.is_none() && schema_id != MERGE_SCHEMA {
            self.totals.other_streams += 1;
            return;
        }
        let kind = place.map_or(Kind::Foreign(schema_id, template_id), |place| Kind::Known(place as u16));
        let log_time = self.stamp(log_time);
        let publish_time = known.and_then(|known| known.time_of(message)).unwrap_or(log_time);
        let is_there = self.make_room(MESSAGE_HEAD + message.len(), None, now_ns);
        match (is_there, self.channels.id(stream, kind)) {
            (true, Some(channel)) => {
                let sequence = self.channels.count(channel);
                let Some(chunk) = &mut self.current else { return };
                chunk.message(&MessageHead { channel, sequence, log_time, publish_time }, message);
                chunk.definitions.extend(self.channels.take_fresh());
                if let Some(index) = index {
                    chunk.tallies[index].messages += 1;
                }
                self.totals.messages += 1;
                self.totals.bytes += message.len() as u64;
            }
            _ => self.totals.lost_messages += 1,
        }
    }

    /// Sequences that are not recorded.
    pub fn lost(&mut self, stream: usize, epoch: u64, first: u64, last: u64, cause: LossCause) {
        self.lose(stream, epoch, (first, last), Part::Frame, cause);
    }

    /// Writes a chunk that has waited long enough, and takes back those that were written.
    pub fn turn(&mut self, now_ns: u64) {
        self.take_back();
        if self.age.is_over(now_ns) {
            self.submit();
        }
    }

    /// Writes everything, and the end of the file.
    ///
    /// # Errors
    /// Where the writing thread failed. A full disk is no error here: `Ended::failure` says so.
    pub fn finish(mut self) -> Result<Ended, RecordingError> {
        self.losses.close_all();
        self.submit();
        // Nothing is heard any more: now there is time to wait for a chunk.
        while self.losses.next().is_some() && self.failed.is_none() {
            self.current = self.free.pop();
            if self.current.is_some() {
                self.submit();
                continue;
            }
            let Some(mut chunk) = self.queue.wait() else { break };
            self.settle(&chunk);
            chunk.clear();
            self.free.push(chunk);
        }
        let mut settled = Vec::with_capacity(self.queue.away);
        let written = self.queue.end(|chunk| settled.push(chunk))?;
        settled.iter().for_each(|chunk| self.settle(chunk));
        let (mut file, mut failure) = (written.file, written.failure);
        let is_indexed = match self.write_end(&mut file, failure.is_some()) {
            Ok(()) => true,
            Err(refused) => {
                failure = failure.or(Some(refused));
                false
            }
        };
        Ok(Ended {
            totals: self.totals,
            accounts: self.accounts,
            file_bytes: file.bytes(),
            chunks: file.chunks(),
            failure,
            is_indexed,
        })
    }

    fn write_end(&self, file: &mut FileWriter, has_failed: bool) -> Result<(), RecordingError> {
        let record = |has_ranges: bool| final_record(&self.accounts, self.totals.lost_messages, has_failed, has_ranges);
        match file.metadata("framegate/loss", record(true)) {
            // The counts are worth more than the list of ranges, which the loss channel has as well.
            Err(RecordingError::NoRoom) => file.metadata("framegate/loss", record(false))?,
            other => other?,
        }
        file.finish().map(drop)
    }

    /// Log times rise from message to message, so that sorting by them keeps the order in which they were heard.
    fn stamp(&mut self, log_time: u64) -> u64 {
        self.last_log_time = log_time.max(self.last_log_time + 1);
        self.last_log_time
    }

    /// A chunk that takes so many bytes, and frames of that epoch; false when there is none.
    fn make_room(&mut self, bytes: usize, epoch: Option<(usize, u64)>, now_ns: u64) -> bool {
        if let Some(chunk) = &self.current {
            let is_other = |(stream, epoch): (usize, u64)| {
                chunk.tallies[stream].frames > 0 && chunk.tallies[stream].epoch != epoch
            };
            if chunk.room() >= bytes && !epoch.is_some_and(is_other) {
                return true;
            }
            self.submit();
        }
        self.take_back();
        let Some(mut chunk) = self.free.pop() else { return false };
        if chunk.room() < bytes {
            chunk.grow(bytes + LOSS_ROOM);
            self.totals.grown += 1;
        }
        self.age.since_ns = Some(now_ns);
        self.current = Some(chunk);
        true
    }

    /// Hands the current chunk over, with what is to be said of losses.
    fn submit(&mut self) {
        self.losses.close_all();
        let Some(mut chunk) = self.current.take() else { return };
        self.age.since_ns = None;
        while let Some(range) = self.losses.next() {
            self.text.clear();
            range.json(&mut self.text);
            if chunk.full_room() < MESSAGE_HEAD + self.text.len() {
                break;
            }
            self.losses.drop_next();
            self.last_log_time += 1;
            let (channel, log_time) = (self.loss_channel, self.last_log_time);
            let sequence = self.channels.count(channel);
            let head = MessageHead { channel, sequence, log_time, publish_time: log_time };
            chunk.message(&head, self.text.as_bytes());
        }
        if chunk.is_empty() {
            self.free.push(chunk);
        } else {
            self.queue.submit(chunk);
        }
    }

    fn take_back(&mut self) {
        while let Some(mut chunk) = self.queue.returned() {
            self.settle(&chunk);
            chunk.clear();
            self.free.push(chunk);
        }
    }

    /// A chunk is on disk, or will never be.
    fn settle(&mut self, chunk: &Chunk) {
        for (stream, tally) in chunk.tallies.iter().enumerate() {
            match chunk.failure {
                None => self.accounts[stream].recorded(tally),
                Some(cause) if tally.frames > 0 => {
                    let Account { stream_id, .. } = self.accounts[stream];
                    let (epoch, first, last) = (tally.epoch, tally.first, tally.last);
                    let part = Part::Frame;
                    let range = LostRange { stream_id, epoch, first, last, count: tally.frames, part, cause };
                    self.accounts[stream].lost(&range);
                    self.totals.lost_frames += tally.frames;
                }
                Some(_) => {}
            }
        }
        self.failed = self.failed.or(chunk.failure);
    }

    fn lose(&mut self, stream: usize, epoch: u64, (first, last): (u64, u64), part: Part, cause: LossCause) {
        let count = last.saturating_sub(first).saturating_add(1);
        let range = LostRange { stream_id: self.stream_ids[stream], epoch, first, last, count, part, cause };
        self.accounts[stream].lost(&range);
        if !self.losses.note(stream, range) {
            self.accounts[stream].range_left_out();
        }
        match part {
            Part::Payload => self.totals.lost_payloads += count,
            Part::Frame if cause == LossCause::NotAnnounced => {}
            Part::Frame => self.totals.lost_frames += count,
        }
    }
}

/// The last metadata record: what is there and what not, by stream.
pub(crate) fn final_record(
    accounts: &[Account],
    lost_messages: u64,
    has_failed: bool,
    has_ranges: bool,
) -> std::collections::BTreeMap<String, String> {
    let is_complete = !has_failed && lost_messages == 0 && accounts.iter().all(Account::is_complete);
    let mut record = map([("complete", is_complete.to_string()), ("lost_messages", lost_messages.to_string())]);
    for account in accounts {
        record.insert(format!("stream/{}", account.stream_id), account.json(has_ranges));
    }
    record
}

fn slot_message(frame: &FrameRef) -> [u8; SLOT_MESSAGE_BYTES] {
    let mut message = [0; SLOT_MESSAGE_BYTES];
    message[..8].copy_from_slice(&SLOT_MESSAGE_HEADER.to_le_bytes());
    message[8..].copy_from_slice(&frame.slot_bytes());
    message
}
