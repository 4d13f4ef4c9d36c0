// SPDX-License-Identifier: Apache-2.0
//! A whole file out of one that was cut, or damaged in places: every chunk that is whole, and an index over them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use binrw::BinRead;
use mcap::records::{Channel, ChunkHeader, Metadata, SchemaHeader, op};

use crate::account::{Account, Tally};
use crate::channels::LOSS_TOPIC;
use crate::chunk::Definition;
use crate::config::{Compression, RecordingError};
use crate::file::{FileWriter, Packed};
use crate::loss::{Cause, LostRange, Part};
use crate::recorder::final_record;
use crate::records::{crc32, map, put_channel};
use crate::resync::{CHUNK_BYTES_MAX, Raw, next_believed, record_at, repeated_definitions};

const MESSAGE_FIELDS: usize = 22;

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

/// Of each channel, when and where its messages are in a chunk.
type Index = Vec<Vec<(u64, u64)>>;

/// Writes `target`, which must not exist, from what is whole in `source`.
///
/// # Errors
/// Where `source` is no MCAP file, or `target` cannot be written.
pub fn recover(source: &Path, target: &Path) -> Result<Recovered, RecordingError> {
    let file = File::open(source)?;
    if file.metadata()?.len() == 0 {
        return Err(RecordingError::Damaged("the file is empty".to_owned()));
    }
    // SAFETY: the file is only read. Somebody who cuts it meanwhile gets this process a SIGBUS, which a recording that
    // is still being written does not do: it grows.
    let mapped = unsafe { memmap2::Mmap::map(&file)? };
    let data: &[u8] = &mapped;
    let begin = if data.starts_with(mcap::MAGIC) { Some(mcap::MAGIC.len()) } else { next_believed(data, 0) };
    let Some(mut at) = begin else {
        return Err(RecordingError::Damaged("the file does not begin as an MCAP file does".to_owned()));
    };
    let writer = FileWriter::create(target, "framegate recover", Compression::None)?;
    let mut work = Recovery {
        writer,
        found: Recovered::default(),
        channels: BTreeMap::new(),
        schemas: BTreeSet::new(),
        accounts: BTreeMap::new(),
    };
    let copied = (|| {
        for definition in repeated_definitions(data) {
            work.take(&definition)?;
        }
        // Where the last record began that may have led astray; a chunk's length is sound, for it is there twice.
        let mut suspect = None;
        loop {
            match record_at(&data[at..]) {
                Some(Raw { opcode: op::DATA_END | op::FOOTER, .. }) => {
                    work.found.was_whole = data.ends_with(mcap::MAGIC);
                    break;
                }
                Some(record) => {
                    work.take(&record)?;
                    suspect = (record.opcode != op::CHUNK).then_some(at);
                    at += record.bytes.len();
                }
                None => {
                    let Some(next) = next_believed(data, suspect.take().map_or(at, |before| before + 1)) else {
                        work.found.cut_bytes = (data.len() - at) as u64;
                        break;
                    };
                    work.found.damaged_chunks += 1;
                    at = next;
                }
            }
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
    fn take(&mut self, record: &Raw<'_>) -> Result<(), RecordingError> {
        match record.opcode {
            op::SCHEMA | op::CHANNEL => {
                if let Some(definition) = self.definition(record) {
                    self.writer.definitions(vec![definition])?;
                }
            }
            op::CHUNK => self.found.damaged_chunks += usize::from(!self.chunk(record.body)?),
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
        Ok(())
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
        if packed.len() as u64 != header.compressed_size || header.uncompressed_size > CHUNK_BYTES_MAX {
            return Ok(false);
        }
        let unpacked;
        let data = match header.compression.as_str() {
            "" => packed,
            "zstd" => {
                let Ok(bytes) = zstd::bulk::decompress(packed, header.uncompressed_size as usize) else {
                    return Ok(false);
                };
                unpacked = bytes;
                unpacked.as_slice()
            }
            _ => return Ok(false),
        };
        let is_sound = data.len() as u64 == header.uncompressed_size
            && (header.uncompressed_crc == 0 || crc32(data) == header.uncompressed_crc);
        if !is_sound {
            return Ok(false);
        }
        let Some((index, inner)) = self.index_of(data) else { return Ok(false) };
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
    fn index_of(&mut self, mut data: &[u8]) -> Option<(Index, Vec<Definition>)> {
        let (mut index, mut inner) = (Index::new(), Vec::new());
        let all = data.len();
        while !data.is_empty() {
            let offset = (all - data.len()) as u64;
            let record = record_at(data)?;
            data = &data[record.bytes.len()..];
            match record.opcode {
                op::SCHEMA | op::CHANNEL => inner.extend(self.definition(&record)),
                op::MESSAGE => {
                    let (fields, body) = record.body.split_first_chunk::<MESSAGE_FIELDS>()?;
                    let channel = u16::from_le_bytes([fields[0], fields[1]]);
                    let log_time = u64::from_le_bytes(*fields[6..].first_chunk()?);
                    let place = usize::from(channel);
                    if index.len() <= place {
                        index.resize_with(place + 1, Vec::new);
                    }
                    index[place].push((log_time, offset));
                    self.account(channel, body);
                }
                _ => {}
            }
        }
        Some((index, inner))
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
        cause: Cause::named(said.get("cause")?.as_str()?)?,
    })
}
