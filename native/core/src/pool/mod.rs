// SPDX-License-Identifier: Apache-2.0
//! The shared-memory pool: regions, slots, and the commit word that orders their use (PROTOCOL 3 and 4).
//!
//! | file | what it is |
//! |---|---|
//! | `layout` | byte offsets, drawn and asserted |
//! | `commit` | the commit word: its values, its stores and loads, its fences |
//! | `superblock` | the first 64 bytes of a region |
//! | `tensor` | shapes, strides and dtypes, checked |
//! | `slot` | a header slot, written and read |
//! | `copy` | payload copies, plain and past the cache |
//! | `region` | region files, made and opened safely |
//! | `regions` | the ring and pools of one stream together |
//! | `writer`, `reader` | writing frames into a ring, and reading them |
//! | `descriptor` | the messages that announce frames, read from a shared stream |
//! | `frame_record` | one frame as checkpoints keep it |
//! | `arena` | memory for copies: reserved at the start, taken in chunks, faulted in ahead |
//! | `hold` | a bounded arena of frame copies; nothing is evicted |
//! | `arrivals` | what a descriptor's sequence means after those before it |
//! | `catch_up` | how a reader that was lapped gets back to frames that last |

pub mod arrivals;
pub mod commit;
pub mod descriptor;
pub mod layout;
pub mod tensor;

// Under loom the commit word is a model of an atomic, and mapped memory cannot hold a model.
#[cfg(not(loom))]
pub mod arena;
#[cfg(not(loom))]
pub mod catch_up;
#[cfg(not(loom))]
pub mod copy;
#[cfg(not(loom))]
pub mod frame_record;
#[cfg(not(loom))]
pub mod hold;
#[cfg(not(loom))]
pub mod reader;
#[cfg(not(loom))]
pub mod region;
#[cfg(not(loom))]
pub mod regions;
#[cfg(not(loom))]
pub mod slot;
#[cfg(not(loom))]
pub mod superblock;
#[cfg(not(loom))]
pub mod writer;
