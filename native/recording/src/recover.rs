// SPDX-License-Identifier: Apache-2.0
//! A whole file out of one that was cut, or damaged in places: every chunk that is whole, and an index over them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use binrw::BinRead;
use mcap::records::{Channel, ChunkHeader, Metadata, SchemaHeader, op};

use crate::account::{Account, Tally};
use crate::channels::LOSS_TOPIC;
use crate::chunk::Definition;
use crate::config::{Compression, RecordingError};
use crate::file::{FileWriter, Packed};
use crate::loss::{LossCause, LostRange, Part};
use crate::recorder::final_record;
use crate::records::{crc32, map, put_channel};
use crate::stored::{Raw, message, record_at, records_in, repeated_definitions, unpacked};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Chunks that are whole.
    pub chunks: usize,
    /// Chunks that are there and not whole.
    pub damaged_chunks: usize,
    /// Messages in the whole ones.
    pub messages: u64,
    /// Bytes at the end that belong to nothing whole.
    pub cut_bytes: u64,
    /// Whether the file had its end already.
    pub was_whole: bool,
    /// Bytes of the new file.
    pub file_bytes: u64,
}

/// What of a file can be read, as `recording/pieces.py` finds it.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// A record each, or messages that stand outside of chunks, one behind the other; in the order of the file.
    pub places: Vec<Range<usize>>,
    /// Places between them that hold no record.
    pub gaps: usize,
    /// Bytes behind the last of them that belong to nothing whole; None for a file that has its end.
    pub cut_bytes: Option<u64>,
}

/// Of each channel, when and where its messages are in a chunk.
type Index = Vec<Vec<(u64, u64)>>;

/// Writes `target`, which must not exist, from what is whole in `source`.
///
/// # Errors
/// Where `source` is no MCAP file, or `target` cannot be written.
pub fn recover(source: &Path, target: &Path, survey: &Survey) -> Result<Recovered, RecordingError> {
    let file = File::open(source)?;
    if file.metadata()?.len() == 0 {
        return Err(RecordingError::Damaged("the file is empty".to_owned()));
    }
    // SAFETY: the file is only read. Somebody who cuts it meanwhile gets this process a SIGBUS, which a recording that
    // is still being written does not do: it grows.
    let mapped = unsafe { memmap2::Mmap::map(&file)? };
    let data: &[u8] = &mapped;
    if survey.places.is_empty() && !data.starts_with(mcap::MAGIC) {
        return Err(RecordingError::Damaged("the file does not begin as an MCAP file does".to_owned()));
    }
    let found = Recovered {
        damaged_chunks: survey.gaps,
        cut_bytes: survey.cut_bytes.unwrap_or(0),
        was_whole: survey.cut_bytes.is_none() && data.ends_with(mcap::MAGIC),
        ..Recovered::default()
    };
    let writer = FileWriter::create(target, "framegate recover", Compression::None)?;
    let mut work =
        Recovery { writer, found, channels: BTreeMap::new(), schemas: BTreeSet::new(), accounts: BTreeMap::new() };
    let copied = (|| {
        for definition in repeated_definitions(data) {
            work.take(&definition)?;
        }
        for place in &survey.places {
            let bytes = data.get(place.clone()).unwrap_or_default();
            let is_sound = match record_at(bytes) {
                Some(Raw { opcode: op::MESSAGE, .. }) => work.outside_of_chunks(bytes)?,
                Some(record) => work.take(&record)?,
                None => false,
            };
            work.found.damaged_chunks += usize::from(!is_sound);
        }
        work.finish()
    })();
    if copied.is_err() {
        // Made here; what is in it is in the source too.
        let _ = std::fs::remove_file(target);
    }
    copied
}

fn read<T>(body: &[u8]) -> Option<(T, usize)>
where
    T: for<'a> BinRead<Args<'a> = ()>,
{
    let mut cursor = std::io::Cursor::new(body);
    let value = T::read_options(&mut cursor, binrw::Endian::Little, ()).ok()?;
    Some((value, cursor.position() as usize))
}

struct Recovery {
    writer: FileWriter,
    found: Recovered,
    /// Topics, by their channels' ids.
    channels: BTreeMap<u16, String>,
    schemas: BTreeSet<u16>,
    accounts: BTreeMap<u32, Account>,
}

impl Recovery {
    /// Takes a record over; false for a chunk that is not whole.
    fn take(&mut self, record: &Raw<'_>) -> Result<bool, RecordingError> {
        match record.opcode {
            op::SCHEMA | op::CHANNEL => {
                if let Some(definition) = self.definition(record) {
                    self.writer.definitions(vec![definition])?;
                }
            }
            op::CHUNK => return self.chunk(record.body),
            op::METADATA => {
                if let Some((metadata, _)) = read::<Metadata>(record.body)
                    && metadata.name != LOSS_TOPIC
                {
                    self.writer.metadata(&metadata.name, metadata.metadata)?;
                }
            }
            // Indexes are made anew.
            _ => {}
        }
        Ok(true)
    }

    /// A schema or channel that is new, and sound.
    fn definition(&mut self, record: &Raw<'_>) -> Option<Definition> {
        if record.opcode == op::SCHEMA {
            let (schema, _) = read::<SchemaHeader>(record.body)?;
            let is_new = schema.id != 0 && self.schemas.insert(schema.id);
            return is_new.then(|| Definition { is_schema: true, record: record.bytes.to_vec() });
        }
        let (mut channel, _) = read::<Channel>(record.body)?;
        if self.channels.contains_key(&channel.id) {
            return None;
        }
        if !self.schemas.contains(&channel.schema_id) {
            // Its schema was damaged. A channel without one is readable, one that names a missing one is not.
            channel.schema_id = 0;
        }
        Some(self.channel(channel))
    }

    fn channel(&mut self, channel: Channel) -> Definition {
        let stream = channel.topic.strip_prefix("stream/").and_then(|rest| rest.split('/').next());
        if let Some(stream) = stream.and_then(|stream| stream.parse().ok()) {
            self.accounts.entry(stream).or_insert_with(|| Account::new(stream));
        }
        let mut record = Vec::new();
        put_channel(&mut record, &channel);
        self.channels.insert(channel.id, channel.topic);
        Definition { is_schema: false, record }
    }

    /// Channels for messages whose own were damaged: what they hold is there, whatever it was called.
    fn nameless(&mut self, index: &Index) -> Vec<Definition> {
        let ids = index.iter().enumerate().filter(|(_, entries)| !entries.is_empty()).map(|(id, _)| id as u16);
        let missing: Vec<u16> = ids.filter(|id| !self.channels.contains_key(id)).collect();
        let nameless = |id: u16| Channel {
            id,
            schema_id: 0,
            topic: format!("recovered/channel-{id}"),
            message_encoding: String::new(),
            metadata: BTreeMap::new(),
        };
        missing.into_iter().map(|id| self.channel(nameless(id))).collect()
    }

    /// A chunk, copied as it is when it is whole; whether it was.
    fn chunk(&mut self, body: &[u8]) -> Result<bool, RecordingError> {
        let Some((header, at)) = read::<ChunkHeader>(body) else { return Ok(false) };
        let packed = &body[at..];
        let Some(data) = unpacked(&header, packed) else { return Ok(false) };
        let Some(records) = records_in(&data) else { return Ok(false) };
        self.content(header, packed, &records)
    }

    /// Messages without a chunk; they are a chunk of the new file.
    fn outside_of_chunks(&mut self, data: &[u8]) -> Result<bool, RecordingError> {
        let Some(records) = records_in(data) else { return Ok(false) };
        let times = || records.iter().filter_map(message).map(|message| message.log_time);
        let size = data.len() as u64;
        let header = ChunkHeader {
            message_start_time: times().min().unwrap_or(0),
            message_end_time: times().max().unwrap_or(0),
            uncompressed_size: size,
            uncompressed_crc: crc32(data),
            compression: String::new(),
            compressed_size: size,
        };
        self.content(header, data, &records)
    }

    /// Writes a chunk of these records, as it is packed already.
    fn content(&mut self, header: ChunkHeader, packed: &[u8], records: &[Raw<'_>]) -> Result<bool, RecordingError> {
        let (index, inner) = self.index_of(records);
        self.writer.define(inner);
        let nameless = self.nameless(&index);
        if !nameless.is_empty() {
            self.writer.definitions(nameless)?;
        }
        let messages = index.iter().map(|entries| entries.len() as u64).sum::<u64>();
        self.writer.packed_chunk(&Packed { header, data: packed, index: &index })?;
        self.found.chunks += 1;
        self.found.messages += messages;
        Ok(true)
    }

    /// Where each channel's messages are, and definitions within; what the messages say goes to the accounts.
    fn index_of(&mut self, records: &[Raw<'_>]) -> (Index, Vec<Definition>) {
        let (mut index, mut inner, mut offset) = (Index::new(), Vec::new(), 0);
        for record in records {
            if matches!(record.opcode, op::SCHEMA | op::CHANNEL) {
                inner.extend(self.definition(record));
            } else if let Some(message) = message(record) {
                let place = usize::from(message.channel);
                if index.len() <= place {
                    index.resize_with(place + 1, Vec::new);
                }
                index[place].push((message.log_time, offset));
                self.account(message.channel, message.data);
            }
            offset += record.bytes.len() as u64;
        }
        (index, inner)
    }

    fn account(&mut self, channel: u16, body: &[u8]) {
        let Some(topic) = self.channels.get(&channel) else { return };
        if topic == LOSS_TOPIC {
            if let Some(range) = loss_of(body)
                && let Some(account) = self.accounts.get_mut(&range.stream_id)
            {
                account.lost(&range);
            }
            return;
        }
        let mut words = topic.split('/').skip(1);
        let stream = words.next().and_then(|word| word.parse().ok());
        let Some(account) = stream.and_then(|stream: u32| self.accounts.get_mut(&stream)) else { return };
        match words.next() {
            Some("FrameDescriptor") => {
                let u64_at =
                    |at: usize| body.get(at..).and_then(|rest| rest.first_chunk()).map(|it| u64::from_le_bytes(*it));
                // Behind the message's head: the stream, the epoch, the sequence.
                if let (Some(epoch), Some(seq)) = (u64_at(12), u64_at(20)) {
                    account.recorded(&Tally { epoch, first: seq, last: seq, frames: 1, ..Tally::default() });
                }
            }
            Some("payload") => account.add_payload(body.len() as u64),
            Some("SlotHeader") => {}
            _ => account.messages += 1,
        }
    }

    fn finish(mut self) -> Result<Recovered, RecordingError> {
        let accounts: Vec<Account> = self.accounts.into_values().collect();
        let is_ours = !accounts.is_empty();
        // What was not written when the file was cut is not known; that something may be missing is.
        let is_cut = !self.found.was_whole || self.found.damaged_chunks > 0;
        if is_ours {
            let mut record = final_record(&accounts, 0, is_cut, true);
            record.extend(map([
                ("recovered", "true".to_owned()),
                ("cut_bytes", self.found.cut_bytes.to_string()),
                ("damaged_chunks", self.found.damaged_chunks.to_string()),
            ]));
            self.writer.metadata(LOSS_TOPIC, record)?;
        }
        self.found.file_bytes = self.writer.finish()?;
        Ok(self.found)
    }
}

/// A range from the loss channel.
fn loss_of(body: &[u8]) -> Option<LostRange> {
    let said: serde_json::Value = serde_json::from_slice(body).ok()?;
    let number = |name: &str| said.get(name)?.as_u64();
    let part = match said.get("part")?.as_str()? {
        "frame" => Part::Frame,
        "payload" => Part::Payload,
        _ => return None,
    };
    Some(LostRange {
        stream_id: u32::try_from(number("stream")?).ok()?,
        epoch: number("epoch")?,
        first: number("first")?,
        last: number("last")?,
        count: number("count")?,
        part,
        cause: LossCause::named(said.get("cause")?.as_str()?)?,
    })
}
