// SPDX-License-Identifier: Apache-2.0
//! Records of the file as bytes: the rare ones, whose fields the `mcap` crate knows.

use std::collections::BTreeMap;
use std::io::Cursor;

use binrw::BinWrite;
use mcap::records::{Channel, SchemaHeader, op};

/// Bytes before every record: what it is, and how long.
pub(crate) const RECORD_HEAD: usize = 9;

/// Appends a record.
pub(crate) fn put<T>(out: &mut Vec<u8>, opcode: u8, record: &T)
where
    T: for<'a> BinWrite<Args<'a> = ()>,
{
    let start = begin(out, opcode);
    let mut body = Cursor::new(Vec::new());
    // A vector takes what it is given, and the fields were made here: there is nothing to refuse.
    let _ = record.write_options(&mut body, binrw::Endian::Little, ());
    out.extend_from_slice(body.get_ref());
    end(out, start);
}

/// Appends a schema with its text.
pub(crate) fn put_schema(out: &mut Vec<u8>, id: u16, name: &str, encoding: &str, data: &[u8]) {
    let start = begin(out, op::SCHEMA);
    let header = SchemaHeader { id, name: name.to_owned(), encoding: encoding.to_owned() };
    let mut body = Cursor::new(Vec::new());
    let _ = header.write_le(&mut body);
    out.extend_from_slice(body.get_ref());
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    out.extend_from_slice(data);
    end(out, start);
}

/// Appends a channel.
pub(crate) fn put_channel(out: &mut Vec<u8>, channel: &Channel) {
    put(out, op::CHANNEL, channel);
}

/// A record's start, with room for its length.
pub(crate) fn begin(out: &mut Vec<u8>, opcode: u8) -> usize {
    let start = out.len();
    out.push(opcode);
    out.extend_from_slice(&[0; 8]);
    start
}

/// The record that began there ends here.
pub(crate) fn end(out: &mut [u8], start: usize) {
    let bytes = (out.len() - start - RECORD_HEAD) as u64;
    out[start + 1..start + RECORD_HEAD].copy_from_slice(&bytes.to_le_bytes());
}

/// A map of texts.
pub(crate) fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// CRC-32 as MCAP has it.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}
