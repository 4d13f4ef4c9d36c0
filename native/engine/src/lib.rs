// SPDX-License-Identifier: Apache-2.0
//! The join engine: descriptors in, rows out. One thread runs it; nothing here knows Python or Aeron.
//!
//! | file | what it is |
//! |---|---|
//! | `wires` | what an engine is connected to |
//! | `port`, `ring`, `early` | one input stream: the mappings of its epochs, and the order of its descriptors |
//! | `engine` | the hot loop, a slice at a time |
//! | `engine/hearing`, `engine/recovering` | what is heard, and what is found in rings that no descriptor brought |
//! | `engine/row`, `engine/copying`, `engine/sealing` | frames become rows; those that wait are copied out; rows are sealed |
//! | `engine/aligning`, `engine/cut`, `engine/ingress`, `engine/restoring`, `engine/passing` | checkpoints and signals |
//! | `engine/snapshot`, `engine/taking`, `records` | what a checkpoint stores, copied in slices |
//! | `fed` | frames of a recording, which lie in no ring |
//! | `doorbell` | wakes readers of the journal |

mod doorbell;
mod early;
mod engine;
mod fed;
mod port;
mod records;
mod ring;
mod wires;

pub use doorbell::Doorbells;
pub use engine::{
    CHECKPOINT_STATE_BYTES, CheckpointHabits, Engine, Habits, InputPlan, Late, News, Outcome, Passing, Recalled,
    Record, Restoring, Snapshot, split_state,
};
pub use fed::{Fed, FedAt};
pub use records::{Records, SpareChunks};
pub use wires::{Republished, Target, Wires};
