// SPDX-License-Identifier: Apache-2.0
//! Recordings (PROTOCOL 18): what a stream carried, and on request its payloads, as an MCAP file. No Python, no Aeron.
//!
//! | file | what it is |
//! |---|---|
//! | `names` | which message a buffer holds, and which stream it speaks of |
//! | `records`, `chunk` | the file's records: rare ones through the `mcap` crate, messages laid out by hand |
//! | `file` | a file that is whole after every chunk, whatever the disk does |
//! | `queue` | chunks on their way between the thread that hears and the thread that writes |
//! | `loss`, `account` | what was not recorded, why, and what was |
//! | `channels`, `recorder` | topics, and the recorder itself |
//! | `live` | the engine that hears streams and records them |
//! | `stored` | records of a file that is there, and what its chunks hold |
//! | `recover` | a whole file out of one that was cut, or damaged in places |
#![deny(missing_docs)]

mod account;
mod channels;
mod chunk;
mod config;
mod file;
pub mod live;
mod loss;
pub mod names;
mod queue;
mod recorder;
mod records;
mod recover;
mod stored;

pub use account::Account;
pub use config::{Compression, Config, RecordingError};
pub use loss::{CAUSES, LossCause, Part};
pub use recorder::{Descriptor, Ended, Recorder, Totals};
pub use recover::{Recovered, Survey, recover};
