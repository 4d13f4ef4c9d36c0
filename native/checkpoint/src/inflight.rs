// SPDX-License-Identifier: Apache-2.0
//! The file format of in-flight events, `inflight_<input>.buf`.
//!
//! ```text
//!   input_id u32 | event_count u64 | then for each event: length u32, bytes           all little-endian
//! ```

/// Bytes before the first event.
pub const HEADER_BYTES: usize = 12;
const LENGTH_BYTES: usize = 4;

/// Why bytes are not a valid file of in-flight events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// The bytes end too early.
    Short {
        /// How many bytes there must be, at least.
        wanted: u64,
    },
    /// Bytes follow the last event.
    Long {
        /// How many bytes there must be.
        wanted: u64,
    },
    /// The header names more events than the bytes can hold.
    Count(u64),
}

/// The size of the file with these records.
#[must_use]
pub fn encoded_bytes<'a>(records: impl Iterator<Item = &'a [u8]>) -> usize {
    records.fold(HEADER_BYTES, |bytes, record| bytes + LENGTH_BYTES + record.len())
}

/// Writes the file into `out`, and returns its size. None if it does not fit, or if a record is longer than 4 GiB.
pub fn write_records<'a>(input: u32, records: impl Iterator<Item = &'a [u8]>, out: &mut [u8]) -> Option<usize> {
    let (mut at, mut count) = (HEADER_BYTES, 0u64);
    for record in records {
        let length = u32::try_from(record.len()).ok()?.to_le_bytes();
        let end = at + LENGTH_BYTES + record.len();
        let (head, body) = out.get_mut(at..end)?.split_at_mut(LENGTH_BYTES);
        head.copy_from_slice(&length);
        body.copy_from_slice(record);
        (at, count) = (end, count + 1);
    }
    out.get_mut(..4)?.copy_from_slice(&input.to_le_bytes());
    out.get_mut(4..HEADER_BYTES)?.copy_from_slice(&count.to_le_bytes());
    Some(at)
}

/// Reads the input's id and the number of its events. Any bytes get an answer, and nothing past them is read.
pub fn read_header(data: &[u8]) -> Result<(u32, u64), Damaged> {
    let short = Damaged::Short { wanted: HEADER_BYTES as u64 };
    let input = data.first_chunk::<4>().ok_or(short)?;
    let count = data.get(4..).and_then(|rest| rest.first_chunk::<8>()).ok_or(short)?;
    let count = u64::from_le_bytes(*count);
    if count > ((data.len() - HEADER_BYTES) / LENGTH_BYTES) as u64 {
        return Err(Damaged::Count(count));
    }
    Ok((u32::from_le_bytes(*input), count))
}

/// Hands every event to `each`, in order, and returns the input's id. Stops at the first invalid byte.
pub fn read_records<'a>(data: &'a [u8], mut each: impl FnMut(&'a [u8])) -> Result<u32, Damaged> {
    let (input, count) = read_header(data)?;
    let mut at = HEADER_BYTES;
    for _ in 0..count {
        let body = at + LENGTH_BYTES;
        let length = data.get(at..).and_then(|rest| rest.first_chunk::<LENGTH_BYTES>());
        let length = length.ok_or(Damaged::Short { wanted: body as u64 })?;
        let end = body as u64 + u64::from(u32::from_le_bytes(*length));
        let short = Damaged::Short { wanted: end };
        let end = usize::try_from(end).map_err(|_| short)?;
        each(data.get(body..end).ok_or(short)?);
        at = end;
    }
    if at == data.len() { Ok(input) } else { Err(Damaged::Long { wanted: at as u64 }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let records: [&[u8]; 3] = [b"ab", b"", b"frame"];
        let mut out = vec![0; encoded_bytes(records.into_iter())];
        assert_eq!(write_records(7, records.into_iter(), &mut out), Some(out.len()));
        out
    }

    #[test]
    fn records_come_back_as_they_were() {
        let (data, mut found) = (file(), Vec::new());
        assert_eq!(read_records(&data, |record| found.push(record.to_vec())), Ok(7));
        assert_eq!(found, [b"ab".to_vec(), b"".to_vec(), b"frame".to_vec()]);
    }

    #[test]
    fn every_cut_and_every_surplus_is_found() {
        let data = file();
        for bytes in 0..data.len() {
            assert!(read_records(&data[..bytes], |_| ()).is_err(), "{bytes}");
        }
        let longer = [data.clone(), vec![0]].concat();
        assert_eq!(read_records(&longer, |_| ()), Err(Damaged::Long { wanted: data.len() as u64 }));
    }

    #[test]
    fn no_byte_makes_it_panic() {
        let data = file();
        for at in 0..data.len() {
            for value in 0..=255 {
                let mut other = data.clone();
                other[at] = value;
                let _ = read_records(&other, |_| ());
            }
        }
    }
}
