// SPDX-License-Identifier: Apache-2.0
//! Records that a checkpoint stores, each with its length before it, in memory that never moves.
//!
//! Records are written in any order, and read in the order of their places. The memory is taken in chunks, so that no
//! growth copies what is there already. Chunks are used again: after the first checkpoint a copy seldom waits for memory
//! from the system.

use std::sync::{Arc, Mutex};

use framegate_core::unpoisoned;

const CHUNK_BYTES: usize = 4 << 20;
/// Most chunks that are kept for the next checkpoints. One may be copied while another one is stored.
const SPARE_CHUNKS: usize = 128;
/// Bytes of the length before each record.
const LENGTH_BYTES: usize = 4;

/// Chunks that are free, shared by everybody who keeps records of one engine.
#[derive(Clone, Debug, Default)]
pub struct SpareChunks(Arc<Mutex<Vec<Vec<u8>>>>);

impl SpareChunks {
    fn take(&self) -> Vec<u8> {
        let spare = unpoisoned(&self.0).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES))
    }

    fn give_back(&self, chunks: Vec<Vec<u8>>) {
        let mut spare = unpoisoned(&self.0);
        for mut chunk in chunks {
            // A chunk made for one large record fits nothing else.
            if chunk.capacity() == CHUNK_BYTES && spare.len() < SPARE_CHUNKS {
                chunk.clear();
                spare.push(chunk);
            }
        }
    }
}

/// Where a record lies, with its length before it.
#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: usize,
    start: usize,
    end: usize,
}

/// The records of one file.
#[derive(Debug, Default)]
pub struct Records {
    chunks: Vec<Vec<u8>>,
    /// Where each record lies, in the order of the file; None for one that is missing.
    places: Vec<Option<Place>>,
    spare: SpareChunks,
}

impl Records {
    /// Makes room for the places of so many records, all of them missing so far.
    #[must_use]
    pub fn new(spare: &SpareChunks, places: usize) -> Self {
        Self { chunks: Vec::new(), places: vec![None; places], spare: spare.clone() }
    }

    /// Writes the record of a place. `fill` appends at most `most` bytes, and may refuse it. Returns its bytes, with the
    /// length; 0 if it was refused.
    pub fn put(&mut self, place: usize, most: usize, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> usize {
        let wanted = most + LENGTH_BYTES;
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < wanted) {
            self.chunks.push(if wanted > CHUNK_BYTES { Vec::with_capacity(wanted) } else { self.spare.take() });
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let start = chunk.len();
        chunk.extend_from_slice(&[0; LENGTH_BYTES]);
        let is_whole = fill(chunk);
        let end = chunk.len();
        let (true, Ok(length)) = (is_whole, u32::try_from(end - start - LENGTH_BYTES)) else {
            chunk.truncate(start);
            return 0;
        };
        chunk[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        self.places[place] = Some(Place { chunk: index, start, end });
        end - start
    }

    /// Writes a record behind all others, as `put` does.
    pub fn append(&mut self, most: usize, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> usize {
        self.places.push(None);
        let bytes = self.put(self.places.len() - 1, most, fill);
        if bytes == 0 {
            self.places.pop();
        }
        bytes
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the file in pieces, of which each is as long as its memory allows.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut places = self.places.iter().flatten().peekable();
        std::iter::from_fn(move || {
            let Place { chunk, start, mut end } = *places.next()?;
            while let Some(next) = places.next_if(|next| next.chunk == chunk && next.start == end) {
                end = next.end;
            }
            Some(&self.chunks[chunk][start..end])
        })
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.spare.give_back(std::mem::take(&mut self.chunks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(records: &mut Records, place: usize, what: &[u8]) -> usize {
        records.put(place, what.len(), |into| {
            into.extend_from_slice(what);
            true
        })
    }

    fn bytes(records: &Records) -> Vec<u8> {
        records.pieces().flatten().copied().collect()
    }

    #[test]
    fn records_come_out_in_the_order_of_their_places() {
        let mut records = Records::new(&SpareChunks::default(), 4);
        assert_eq!(put(&mut records, 2, b"third"), 9);
        assert_eq!(put(&mut records, 0, b"first"), 9);
        assert_eq!(records.put(1, 1, |_| false), 0, "it was refused");
        put(&mut records, 3, b"");
        assert_eq!(bytes(&records), b"\x05\0\0\0first\x05\0\0\0third\0\0\0\0");
        assert_eq!((records.len(), records.is_empty()), (3, false));
    }

    #[test]
    fn neighbours_are_one_piece_and_nothing_ever_moves() {
        let mut records = Records::default();
        let large = vec![7; CHUNK_BYTES / 3];
        for _ in 0..7 {
            assert_eq!(
                records.append(large.len(), |into| {
                    into.extend_from_slice(&large);
                    true
                }),
                large.len() + 4
            );
        }
        assert_eq!(records.append(9, |_| false), 0);
        assert_eq!(records.pieces().map(<[u8]>::len).collect::<Vec<_>>(), [2, 2, 2, 1].map(|n| n * (large.len() + 4)));
        assert!(records.chunks.iter().all(|chunk| chunk.capacity() == CHUNK_BYTES));
    }

    #[test]
    fn chunks_are_used_again_but_for_those_of_a_large_record() {
        let spare = SpareChunks::default();
        let mut records = Records::new(&spare, 3);
        put(&mut records, 0, b"small");
        let address = records.chunks[0].as_ptr();
        put(&mut records, 1, &vec![1; 2 * CHUNK_BYTES]);
        put(&mut records, 2, b"small");
        drop(records);
        assert_eq!(spare.0.lock().unwrap().len(), 2);
        let mut next = Records::new(&spare, 2);
        put(&mut next, 0, b"a");
        put(&mut next, 1, &vec![1; CHUNK_BYTES - 6]);
        assert!(next.chunks.iter().any(|chunk| chunk.as_ptr() == address));
        assert_eq!(bytes(&next)[..5], *b"\x01\0\0\0a");
    }
}
