// SPDX-License-Identifier: Apache-2.0
//! Checked decoders and owned messages of the four schemas.
//!
//! The SBE tool writes flyweights: fast, and they panic on a buffer that is too short. Here every message gets
//! `checked`, which looks at header, lengths, enums and text first, in the same order and with the same errors as the
//! Python codecs, so that the flyweight it returns cannot panic. It neither copies nor allocates. The owned structs are for
//! control messages, which are rare and want to be kept.
//!
//! ```
//! use framegate_codecs::merge::SequenceMergeMapRequest;
//!
//! let request = SequenceMergeMapRequest { out_stream_id: 11000, epoch: 9 };
//! let bytes = request.encode()?;
//! assert_eq!(SequenceMergeMapRequest::decode(&bytes)?, request);
//! assert_eq!(SequenceMergeMapRequest::checked(&bytes)?.epoch(), 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod error;
#[cfg(feature = "probe")]
mod hex;

#[path = "gen/mod.rs"]
mod generated;

pub use check::Header;
pub use error::{DecodeError, EncodeError, codes};
pub use generated::{Message, control, driver, merge, wire};
